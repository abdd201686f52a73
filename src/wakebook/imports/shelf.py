"""Shelf: <home>/imports, where what was brought from elsewhere stands as plain sessions.

A file only ever grows: what a later export says in addition is put behind what was there, by the
ids of the messages. So a cursor stays where it is, and the same export changes nothing. What one
conversation holds is not put into another: a chat that was branched off begins where it differs.
Secrets are gone before a file is written.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from wakebook.base import clock
from wakebook.base.home import PREFIX, Home
from wakebook.capture import archive
from wakebook.capture.clean import clean
from wakebook.capture.hosts import jsonl
from wakebook.capture.state import holds_memories
from wakebook.capture.transcript import Message
from wakebook.imports.export import Conversation, Piece

FOLDER = "imports"
LONGEST = 200_000  # characters of one message


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a conversation: how many of its messages were what."""

    path: Path
    fresh: int = 0  # not there before
    held: int = 0  # there before
    elsewhere: int = 0  # in another conversation's file
    gone: int = 0  # there, and not in this export any more
    redacted: int = 0  # secrets
    cut: int = 0  # too long: not all of it was taken


class _Kept(msgspec.Struct, omit_defaults=True):
    """A message in a plain file."""

    role: str
    content: str
    id: str
    timestamp: str = ""
    model: str = ""


class _Id(msgspec.Struct):
    id: str = ""


_ids = msgspec.json.Decoder(_Id)


class Shelf:
    def __init__(self, home: Home, source: str) -> None:
        self._home = home
        self._source = source
        self._folder = home.root / FOLDER / source
        self._held: dict[str, list[str]] = {}  # file -> ids of its messages
        self._owned: set[str] = set()  # all of these ids
        with home.locked():
            for leftover in self._folder.glob(f"{PREFIX}*.tmp"):  # of an import that was killed
                leftover.unlink(missing_ok=True)
        for path, _ in jsonl.files(self._folder, ".jsonl"):
            lines = path.read_bytes().split(b"\n")
            found = [one.id for line in lines if line and (one := jsonl.load(_ids, line))]
            self._hold(path.name, [name for name in found if name])

    def _hold(self, name: str, ids: list[str]) -> None:
        self._held.setdefault(name, []).extend(ids)
        self._owned.update(ids)

    def put(self, conversation: Conversation) -> Placed:
        """Write what is new of a conversation. The same export twice changes nothing."""
        session = f"{self._source}-{conversation.id}"
        path = self._folder / f"{archive.file_part(session)}.jsonl"
        talk = not holds_memories(conversation.channel)
        held = set(self._held.get(path.name, ()))
        fresh: dict[str, _Kept] = {}
        seen: set[str] = set()
        redacted = cut = elsewhere = 0
        for number, piece in enumerate(conversation.pieces):
            kept, secrets = _cleaned(piece, f"{conversation.id}/{number}" if talk else "")
            seen.add(kept.id)
            if kept.id in held or kept.id in fresh or not kept.content:
                continue
            if talk and kept.id in self._owned:
                elsewhere += 1
                continue
            fresh[kept.id] = kept
            redacted += secrets
            cut += len(piece.text) > LONGEST
        if fresh:
            self._grow(path, session, conversation.channel, list(fresh.values()))
        return Placed(
            path=path,
            fresh=len(fresh),
            held=len(held & seen),
            elsewhere=elsewhere,
            gone=len(held - seen),
            redacted=redacted,
            cut=cut,
        )

    def _grow(self, path: Path, session: str, channel: str, fresh: list[_Kept]) -> None:
        with self._home.locked():
            before = path.read_bytes() if path.exists() else b""
            header = [] if before else [{"session": session, "channel": channel}]
            added = b"".join(msgspec.json.encode(line) + b"\n" for line in (*header, *fresh))
            self._home.replace(path, before + added)
        self._hold(path.name, [one.id for one in fresh])


def _cleaned(piece: Piece, place: str) -> tuple[_Kept, int]:
    """A message as it is kept: without secrets and Wakebook's own words, and not too long."""
    text = piece.text
    if len(text) > LONGEST:
        left = len(text) - LONGEST
        text = f"{text[:LONGEST]}\n\n[{left:,} more characters were not imported]"
    done = clean(Message(role="user", text=text, id=""))
    said = done.message.text
    kept = _Kept(
        role=piece.role,
        content=said,
        id=piece.id or hashlib.sha256(f"{place}\x1f{said}".encode()).hexdigest()[:16],
        timestamp=clock.iso(piece.at) if piece.at else "",
        model=piece.model,
    )
    return kept, done.redacted
