"""Show: an entry with its whole history, and the words that it came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wakebook.base import ref
from wakebook.base.errors import NotFound, TranscriptError
from wakebook.base.home import CONTENT, Home
from wakebook.capture import archive
from wakebook.capture.state import State
from wakebook.log.chains import Chains, find_entry
from wakebook.log.entry import Entry

if TYPE_CHECKING:
    from wakebook.opened import Opened

SHOWN = tuple((name,) for name in CONTENT)


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What `show` found: an entry, a session, or lines of a file."""

    kind: str
    name: str
    entry: Entry | None = None
    status: str = ""
    history: tuple[Entry, ...] = ()  # the entry's whole chain, oldest first
    lines: tuple[tuple[int, str], ...] = ()  # line number and text, of `file`
    file: str = ""
    transcripts: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()
    note: str = ""
    origin: str = ""  # the team memory that it is of; nothing for one's own


def show(opened: Opened, text: str, first: int = 0, lines: int = 0) -> Shown:
    """What a reference points at, here or in a team memory (see beside). `first` and `lines` narrow
    what has lines."""
    if text.startswith("@"):
        from wakebook.recall.beside import lent

        opened, name, text = lent(opened, text)
        return msgspec.structs.replace(show(opened, text, first, lines), origin=name)
    home, chains, state = opened.home, opened.chains(), opened.state()
    wanted = ref.parse(text)
    if first or lines:
        first = max(first, 1)
        wanted = replace(wanted, first=first, last=first + lines - 1 if lines else 0)
    if wanted.kind == "session":
        return _session(home, chains, state, wanted)
    if wanted.kind == "path":
        return _path(home, wanted, opened.elsewhere())
    return _entry(home, chains, find_entry(chains, wanted.name))


def _entry(home: Home, chains: Chains, entry: Entry) -> Shown:
    by_hand = entry.session == "manual" and not entry.transcript
    note = "Written by hand with `wakebook remember`." if by_hand else ""
    lines: list[tuple[int, str]] = []  # of the conversation that it came from
    try:
        turns = archive.read(home, entry.transcript).turns if entry.transcript else ()
    except TranscriptError as error:
        turns, note = (), str(error)
    if turns:
        said = (home.root / entry.transcript).read_text(encoding="utf-8")
        text = archive.shown(home, entry.transcript, said).split("\n")
        for turn in (one for one in turns if one.number in entry.evidence):
            lines += enumerate(text[turn.line - 1 : turn.last_line], turn.line)
    return Shown(
        kind="entry",
        name=entry.id,
        entry=entry,
        status=chains.status(entry),
        history=tuple(chains.history(entry.id)),
        lines=tuple(lines),
        file=entry.transcript,
        note=note,
    )


def _session(home: Home, chains: Chains, state: State, wanted: ref.Ref) -> Shown:
    name = wanted.name
    known = {item.id for item in state.sessions.values()}
    known |= {entry.session for entry in chains.entries}
    fitting = [name] if name in known else sorted(item for item in known if item.startswith(name))
    if not fitting and name and archive.paths_of(home, name):  # its cursor may be forgotten
        fitting = [name]
    if len(fitting) != 1 or not name:
        several = f" It fits {len(fitting)} sessions." if fitting else ""
        raise NotFound(
            f"There is no session {name!r}.{several} `wakebook status --sessions` lists all."
        )
    identity = fitting[0]
    paths = archive.paths_of(home, identity)
    return Shown(
        kind="session",
        name=identity,
        transcripts=tuple(paths),
        lines=tuple(_conversation(home, paths, wanted)) if wanted.first else (),
        entries=tuple(entry for entry in chains.entries if entry.session == identity),
    )


def _conversation(home: Home, paths: Sequence[str], wanted: ref.Ref) -> Iterator[tuple[int, str]]:
    """Lines of what was said in a session, its transcripts one after the other."""
    number = 0
    for path in paths:
        for turn in archive.read(home, path).turns:
            for line in (f"{turn.at:%Y-%m-%d %H:%M} {turn.role}:", *turn.text.split("\n")):
                number += 1
                if wanted.first <= number and (not wanted.last or number <= wanted.last):
                    yield number, line


def _path(home: Home, wanted: ref.Ref, mounted: Sequence[Path]) -> Shown:
    """A file that may be shown: what is in git, not how this machine is wired to its hosts."""
    allowed = False
    with suppress(OSError, ValueError):  # a name that no file can have
        path, root = (home.root / wanted.name).resolve(), home.root.resolve()
        ours = path.is_relative_to(root) and path.relative_to(root).parts[:1] in SHOWN
        allowed = (ours or path in mounted) and path.is_file()
    if not allowed:
        raise NotFound(f"There is no file {wanted.name!r} in {home.root}.")
    said = path.read_text(encoding="utf-8", errors="replace").removesuffix("\n")
    if ours:
        said = archive.shown(home, path.relative_to(root).as_posix(), said)
    text = said.split("\n")
    if wanted.first > len(text):
        raise NotFound(f"{wanted.name} has {len(text)} lines, not {wanted.first}.")
    last = min(wanted.last or len(text), len(text))
    lines = [(number, text[number - 1]) for number in range(wanted.first or 1, last + 1)]
    return Shown(kind="path", name=wanted.name, file=wanted.name, lines=tuple(lines))
