"""Importing: chats and memories from elsewhere go through the one flow.

They are put on the shelf, <home>/imports, as plain sessions, and those are caught up on: archived,
read, closed, as any host's. So an import can be killed and run again, and the same one twice adds
nothing. A file on the shelf only ever grows: what a later export says in addition is put behind
what was there, by the ids of the messages, so that a cursor stays where it is. What one
conversation holds is not put into another: a chat that was branched off begins where it differs.
Secrets are gone before a file is written.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from wakebook.base import clock
from wakebook.base.decode import decoder
from wakebook.base.errors import TranscriptError
from wakebook.base.home import PREFIX, Home
from wakebook.capture import archive
from wakebook.capture.hosts import jsonl
from wakebook.capture.read import clean
from wakebook.capture.state import holds_memories
from wakebook.capture.transcript import Message
from wakebook.imports import chatgpt, claude, markdown, mem0
from wakebook.imports.export import Bad, Export, Passed, Post, Thread, members
from wakebook.imports.extractor import ImportExtractor
from wakebook.learn.catch_up import Sweep
from wakebook.log import erased
from wakebook.models.chat import Planned
from wakebook.opened import IMPORTS, Opened

Progress = Callable[[str, int, int], None]
LONGEST = 200_000  # characters of one message
SOURCES: dict[str, Callable[[Path], Export]] = {
    chatgpt.NAME: chatgpt.read,
    claude.NAME: claude.read,
    markdown.NAME: markdown.read,
    mem0.NAME: mem0.read,
    markdown.OPENCLAW: markdown.read_workspace,
}
HINTS = {
    chatgpt.NAME: "Name the zip of ChatGPT's data export, its folder, or conversations.json.",
    claude.NAME: "Name the zip of claude.ai's data export, its folder, or conversations.json.",
    markdown.NAME: "Name a note that ends in .md, or a folder with such notes.",
    mem0.NAME: "Name a .json or .jsonl export of mem0, or its history.db.",
    markdown.OPENCLAW: "Name OpenClaw's workspace (with MEMORY.md) or its memory folder.",
}
TALK = (chatgpt.NAME, claude.NAME)
GIVEN_UP = "failed before: `wakebook catch-up --retry-failed`"
HEAD = 1 << 18  # bytes of a file that `guess` looks at
SIGNS = {b'"chat_messages"': "claude", b'"mapping"': "chatgpt", b'"memory"': "mem0"}


class Imported(msgspec.Struct, kw_only=True):
    """What an import found, and what became of it."""

    source: str
    path: str
    talk: bool  # conversations; otherwise the items of memories
    found: int = 0  # conversations, or files with something in them
    new: int = 0  # of them, those with something new
    messages: int = 0  # messages or items in them
    fresh: int = 0  # that were not imported before
    entries: int = 0  # remembered now
    known: int = 0  # items that the log said already
    refused: int = 0  # items that gave orders to their reader, or were forgotten
    gone: int = 0  # items that were imported before, and are not there any more: they stay
    elsewhere: int = 0  # messages that another conversation holds, which this one branched off
    redacted: int = 0  # secrets
    cut: int = 0  # messages that were too long
    skipped: Counter[str]  # why messages, items or files were left out -> how many
    passed: dict[str, str] = {}  # files that were left out, and why
    bad: dict[str, str] = {}  # what could not be read, and why
    failed: dict[str, str] = {}  # sessions that could not be archived or read, and why
    first: datetime | None = None
    last: datetime | None = None
    dry: bool = False
    questions: int = 0  # that a model would be asked, of a dry run
    cost: float | None = 0.0  # dollars; None: not known

    @property
    def ok(self) -> bool:
        return not self.bad and not self.failed


def take_over(
    opened: Opened,
    source: str,
    path: str | os.PathLike[str],
    catch_up: Callable[..., Sweep],
    progress: Progress,
) -> Imported:
    """Put an export or an old memory on the shelf, and catch up on it."""
    place = Path(os.path.abspath(os.path.expanduser(path)))  # noqa: PTH100, PTH111
    opened.settle()
    done, paths = gather(opened.home, source, place, progress)
    found = opened.sessions(paths) if paths else []
    reader = ImportExtractor(opened.home)

    def shown(ref: str, read: int, total: int) -> None:
        progress(ref if done.talk else "remembering", read, total)

    opened.models.insist = False
    swept = Sweep()
    if found:
        by = None if done.talk else reader
        swept = catch_up(found, reader=by, closing=True, progress=shown)
    done.entries, done.known, done.dry = swept.entries, len(reader.known), opened.dry
    done.refused = 0 if done.talk else max(len(reader.drafted) - swept.entries, 0)
    done.failed = {**swept.failed, **swept.held, **dict.fromkeys(swept.given_up, GIVEN_UP)}
    return done


def priced(done: Imported, planned: Sequence[Planned]) -> Imported:
    """With what a model would have been asked."""
    costs = [one.cost for one in planned]
    known = None if None in costs else sum(cost for cost in costs if cost)
    return msgspec.structs.replace(done, questions=len(planned), cost=known)


def lend_shelf(home: Path, copy: Path) -> None:
    """What was imported before, for a rehearsal. Its files are replaced, never written into."""
    if (home / IMPORTS).is_dir():
        shutil.copytree(home / IMPORTS, copy / IMPORTS, copy_function=_linked)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


# --- what lies at a path -----------------------------------------------------------------
def gather(home: Home, source: str, path: Path, progress: Progress) -> tuple[Imported, list[Path]]:
    """Put everything that lies at a path on the shelf: what that is, and the files there.

    Raises TranscriptError if there is nothing of this kind, with what would fit.
    """
    if source not in SOURCES:
        known = ", ".join(SOURCES)
        raise TranscriptError(f"There is no import from {source!r}. There are {known}.")
    if path.resolve().is_relative_to(home.root.resolve()):
        raise TranscriptError(
            f"{path}: lies in this home, and is known already. Import what comes from elsewhere."
        )
    export = SOURCES[source](path)
    done = Imported(source=source, path=str(path), talk=source in TALK, skipped=Counter())
    shelf, files = Shelf(home, source), dict[Path, None]()
    for number, part in enumerate(export.parts, 1):
        if isinstance(part, Passed):
            done.passed[part.name] = part.why
        elif isinstance(part, Bad):
            name = part.name
            while name in done.bad:
                name += "'"
            done.bad[name] = part.why
        elif part.pieces:
            _count(done, part, shelf.put(part), files)
        else:
            done.skipped.update(part.skipped)
            done.skipped["without words"] += 1
        progress(f"reading {source}", number, max(export.count, number + 1))
    if not (done.found or done.skipped["without words"] or done.passed):
        raise _nothing(done, path)
    return done, list(files)


def _count(done: Imported, part: Thread, placed: Placed, files: dict[Path, None]) -> None:
    if placed.path in files and not placed.fresh:
        return  # the same one, in another file of the export
    done.found += 1
    done.new += bool(placed.fresh)
    done.messages += len(part.pieces)
    done.fresh += placed.fresh
    done.elsewhere += placed.elsewhere
    done.redacted += placed.redacted
    done.cut += placed.cut
    if not done.talk:  # a message that a person edited away was said all the same
        done.gone += placed.gone
    done.skipped.update(part.skipped)
    times = [piece.at for piece in part.pieces if piece.at]
    done.first = min([*times, *filter(None, [done.first])], default=None)
    done.last = max([*times, *filter(None, [done.last])], default=None)
    if placed.fresh or placed.held:
        files[placed.path] = None


def _nothing(done: Imported, path: Path) -> TranscriptError:
    fits = guess(path)
    if fits and fits != done.source:
        return TranscriptError(
            f"{path}: nothing of {done.source} is in it, but it looks like {fits}. Run "
            f"`wakebook import {fits} {path}`."
        )
    if done.bad:
        name, why = next(iter(done.bad.items()))
        more = f" {len(done.bad) - 1} more like that." if len(done.bad) > 1 else ""
        return TranscriptError(f"{name}: {why.rstrip('.')}.{more}")
    return TranscriptError(f"{path}: nothing to import. {HINTS[done.source]}")


def guess(path: Path) -> str:
    """Which import fits what lies at a path: the name of a source, or nothing."""
    if path.is_dir():
        if fits := next(filter(None, (guess(member.path) for member in members(path))), ""):
            return fits
        if markdown.is_workspace(path):
            return markdown.OPENCLAW
        return markdown.NAME if markdown.files(path) else ""
    if path.suffix.lower() in markdown.SUFFIXES:
        return markdown.NAME
    head = _head(path)
    if head.startswith(mem0.SQLITE):
        return mem0.NAME
    places = {head.find(sign): name for sign, name in SIGNS.items() if sign in head}
    return places[min(places)] if places else ""


def _head(path: Path) -> bytes:
    try:
        if path.suffix.lower() != ".zip":
            with path.open("rb") as stream:
                return stream.read(HEAD)
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith(".json")]
            wanted = [name for name in names if "conversations" in name] or names
            return archive.open(wanted[0]).read(HEAD) if wanted else b""
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError):
        return b""


# --- the shelf ---------------------------------------------------------------------------
class Placed(msgspec.Struct):
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


class Shelf:
    def __init__(self, home: Home, source: str) -> None:
        self._home = home
        self._source = source
        self._folder = home.root / IMPORTS / source
        self._held: dict[str, set[str]] = {}  # file -> ids of its messages
        with home.locked():
            for leftover in self._folder.glob(f"{PREFIX}*.tmp"):  # of an import that was killed
                leftover.unlink(missing_ok=True)
        for path, _ in jsonl.files(self._folder, ".jsonl"):
            lines = path.read_bytes().split(b"\n")
            found = {one.id for line in lines if line and (one := jsonl.load(decoder(_Id), line))}
            self._held[path.name] = found - {""}
        self._owned = set().union(*self._held.values())  # all of these ids

    def put(self, conversation: Thread) -> Placed:
        """Write what is new of a conversation. The same export twice changes nothing."""
        session = f"{self._source}-{conversation.id}"
        path = self._folder / f"{archive.file_part(session)}.jsonl"
        talk = not holds_memories(conversation.channel)
        stones = erased.load(self._home)  # what was erased is not imported again
        held = self._held.get(path.name, set())
        fresh: dict[str, _Kept] = {}
        seen: set[str] = set()
        placed = Placed(path)
        for number, piece in enumerate(conversation.pieces):
            kept, secrets = _cleaned(piece, f"{conversation.id}/{number}" if talk else "")
            if stones:
                said = Message(role="user", text=kept.content, id="", at=piece.at)
                left = stones.of_session(session)(said).text
                kept = msgspec.structs.replace(kept, content=left)
            seen.add(kept.id)
            if kept.id in held or kept.id in fresh or not kept.content:
                continue
            if talk and kept.id in self._owned:
                placed.elsewhere += 1
                continue
            fresh[kept.id] = kept
            placed.redacted += secrets
            placed.cut += len(piece.text) > LONGEST
        if fresh:
            self._grow(path, session, conversation.channel, list(fresh.values()))
            self._held[path.name] = held | fresh.keys()
            self._owned |= fresh.keys()
        placed.fresh, placed.held, placed.gone = len(fresh), len(held & seen), len(held - seen)
        return placed

    def _grow(self, path: Path, session: str, channel: str, fresh: list[_Kept]) -> None:
        with self._home.locked():
            before = path.read_bytes() if path.exists() else b""
            header = [] if before else [{"session": session, "channel": channel}]
            added = b"".join(msgspec.json.encode(line) + b"\n" for line in (*header, *fresh))
            self._home.replace(path, before + added)


def _cleaned(piece: Post, place: str) -> tuple[_Kept, int]:
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
