"""Show: an entry with its whole history, and the words that it came from."""

from __future__ import annotations

import msgspec

from wakebook import ref
from wakebook.capture import archive
from wakebook.capture.state import State
from wakebook.errors import NotFound, TranscriptError
from wakebook.home import Home
from wakebook.log import query
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry


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


def find_entry(chains: Chains, name: str) -> Entry:
    """An entry by its id, or a unique beginning of it."""
    if name in chains.by_id:
        return chains.by_id[name]
    fitting = [entry for key, entry in chains.by_id.items() if key.startswith(name)]
    if len(name) >= 4 and len(fitting) == 1:
        return fitting[0]
    several = f" {len(fitting)} entries begin with it; give more of it." if fitting else ""
    raise NotFound(f"There is no entry {name!r}.{several} `wakebook log` shows the ids.")


def show(home: Home, chains: Chains, state: State, text: str) -> Shown:
    wanted = ref.parse(text)
    if wanted.kind == "session":
        return _session(home, chains, state, wanted.name)
    if wanted.kind == "path":
        return _path(home, wanted)
    return _entry(home, chains, find_entry(chains, wanted.name))


def _entry(home: Home, chains: Chains, entry: Entry) -> Shown:
    lines: tuple[tuple[int, str], ...] = ()
    note = ""
    if entry.transcript:
        try:
            lines = _said(home, entry)
        except TranscriptError as error:
            note = str(error)
    elif entry.session == "manual":
        note = "Written by hand with `wakebook remember`."
    return Shown(
        kind="entry",
        name=entry.id,
        entry=entry,
        status=query.status(entry, chains),
        history=tuple(chains.history(entry.id)),
        lines=lines,
        file=entry.transcript,
        note=note,
    )


def _said(home: Home, entry: Entry) -> tuple[tuple[int, str], ...]:
    """The lines of the conversation that an entry came from."""
    turns = archive.read(home, entry.transcript).turns
    text = (home.root / entry.transcript).read_text(encoding="utf-8").split("\n")
    return tuple(
        (number, text[number - 1])
        for turn in turns
        if turn.number in entry.evidence
        for number in range(turn.line, turn.last_line + 1)
    )


def _session(home: Home, chains: Chains, state: State, name: str) -> Shown:
    known = {item.id for item in state.sessions.values()}
    known |= {entry.session for entry in chains.entries}
    fitting = [name] if name in known else sorted(item for item in known if item.startswith(name))
    if len(fitting) != 1 or not name:
        several = f" It fits {len(fitting)} sessions." if fitting else ""
        raise NotFound(f"There is no session {name!r}.{several} `wakebook audit` lists all.")
    identity = fitting[0]
    return Shown(
        kind="session",
        name=identity,
        transcripts=tuple(archive.paths_of(home, identity)),
        entries=tuple(entry for entry in chains.entries if entry.session == identity),
    )


def _path(home: Home, wanted: ref.Ref) -> Shown:
    path = (home.root / wanted.name).resolve()
    if not path.is_relative_to(home.root.resolve()) or not path.is_file():
        raise NotFound(f"There is no file {wanted.name!r} in {home.root}.")
    text = path.read_text(encoding="utf-8", errors="replace").removesuffix("\n").split("\n")
    last = min(wanted.last or len(text), len(text))
    lines = [(number, text[number - 1]) for number in range(wanted.first or 1, last + 1)]
    return Shown(kind="path", name=wanted.name, file=wanted.name, lines=tuple(lines))
