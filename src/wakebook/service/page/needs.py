"""What waits for the user's word, found without reading the log: new entries that want approval,
notes that were edited by hand, and contradictions, which the briefing has found already."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from wakebook.base import clock
from wakebook.base.decode import decode
from wakebook.log.entry import Entry
from wakebook.memory import Memory
from wakebook.notes.contradictions import CONFLICT, dismissed
from wakebook.notes.page import ARCHIVE, EDITS, KNOWLEDGE, MEMORY, MERGED, NoteLine
from wakebook.notes.review import edited_in
from wakebook.service.page.data import Remembered, asked, entries
from wakebook.store import AMONG, Many, changes

BRIEFING = f"{MEMORY}#briefing"
_seen: dict[Path, dict[NoteFile, int]] = {}  # by home: how many of a note's blocks were edited
_last: dict[Path, tuple[float, int]] = {}  # by home: when it was counted, and how much waits
FRESH_SECONDS = 5.0
SCAN_SECONDS = 0.1  # that a page waits for notes to be looked into


class Needs(NamedTuple):
    waiting: list[Entry]
    edited: list[tuple[str, int]]  # notes, and how many of their blocks
    conflicts: list[tuple[Remembered, Remembered]]  # the older, the newer
    clashes: tuple[str, ...]  # what two machines have changed

    @property
    def number(self) -> int:
        return len(self.waiting) + len(self.edited) + len(self.conflicts) + len(self.clashes)


def needs(memory: Memory) -> Needs:
    found = Needs(memory.log.waiting(), edited(memory), conflicts(memory), clashes(memory))
    _last[memory.home.root] = (clock.monotonic(), found.number)
    return found


def number(memory: Memory) -> int:
    """How much waits, as of a moment ago: every page shows it."""
    at, known = _last.get(memory.home.root, (-FRESH_SECONDS, 0))
    return known if clock.monotonic() - at < FRESH_SECONDS else needs(memory).number


def changed() -> None:
    """Something was decided, or written."""
    _last.clear()


def edited(memory: Memory, seconds: float = SCAN_SECONDS) -> list[tuple[str, int]]:
    """Notes whose generated blocks a person has changed. Of many notes that were never looked into,
    the newest are, for so long; the others the next time."""
    root, now, until = memory.home.root, files(memory), clock.monotonic() + seconds
    known = _seen.setdefault(root, {})
    if len(known) > 2 * len(now) + 100:
        known.clear()  # mostly of files as they were
    for file in sorted(now, key=lambda one: -one.changed):
        if file not in known:
            known[file] = len(edited_in(root / file.name))
            if clock.monotonic() > until:
                break
    return [(file.name, known[file]) for file in now if known.get(file)]


class NoteFile(NamedTuple):
    name: str  # relative to the home, or absolute where it lies elsewhere
    changed: int  # nanoseconds
    size: int


def files(memory: Memory) -> list[NoteFile]:
    """Every note (see `notes.check.note_files`), without looking into one."""
    elsewhere = [memory.notes.memory] if memory.config.briefing.memory_file else []
    found = changes.files(memory.home, elsewhere, (KNOWLEDGE, ARCHIVE))
    away = tuple(f"{ARCHIVE}/{name}/" for name in (MERGED, EDITS))
    notes = (NoteFile(name, *stat) for name, stat in found if name.endswith(".md"))
    return sorted(one for one in notes if not one.name.startswith(away))


def clashes(memory: Memory) -> tuple[str, ...]:
    return memory.sync.clashes() if memory.opened.syncs else ()


def conflicts(memory: Memory) -> list[tuple[Remembered, Remembered]]:
    """Entries that seem to contradict each other, as the briefing has noted them down."""
    from wakebook.notes import condensed

    rows = asked(memory, "SELECT lines FROM block WHERE key = ?", BRIEFING)
    lines = decode(rows[0][0] or "[]", list[NoteLine]) if rows else []
    pairs = [one.ids for one in lines if CONFLICT in one.text and len(one.ids) == 2]
    if not pairs:
        return []
    gone = dismissed(condensed.load(memory.home))
    names = Many([name for pair in pairs for name in pair])
    where = f"id {AMONG} AND replaced_by = ''"
    known = {one.entry.id: one for one in entries(memory, where, names, most=200)}
    return [
        (known[old], known[new])
        for old, new in pairs
        if {old, new} <= known.keys() and frozenset((old, new)) not in gone
    ]
