"""What waits for the user's word, found without reading the log: new entries that want approval,
notes that were edited by hand, and contradictions, which the briefing has found already."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from wakebook.base.decode import decode
from wakebook.log.entry import Entry
from wakebook.memory import Memory
from wakebook.notes.check import edited_blocks, note_files
from wakebook.notes.contradictions import CONFLICT, dismissed
from wakebook.notes.page import MEMORY, NoteLine, shown
from wakebook.service.page.data import Remembered, asked, entries
from wakebook.store.store import AMONG, Many

BRIEFING = f"{MEMORY}#briefing"
KEPT = 20_000  # files whose state is remembered
_seen: dict[Path, tuple[int, int, int]] = {}  # a note -> changed, size, edited blocks


class Needs(NamedTuple):
    waiting: list[Entry]
    edited: list[tuple[str, int]]  # notes, and how many of their blocks
    conflicts: list[tuple[Remembered, Remembered]]  # the older, the newer

    @property
    def number(self) -> int:
        return len(self.waiting) + len(self.edited) + len(self.conflicts)


def needs(memory: Memory) -> Needs:
    return Needs(memory.log.waiting(), edited(memory), conflicts(memory))


def edited(memory: Memory) -> list[tuple[str, int]]:
    """Notes whose generated blocks a person has changed."""
    found = []
    for path in note_files(memory.notes):
        with suppress(OSError, UnicodeDecodeError):
            there = os.stat(path)  # noqa: PTH116
            known = _seen.get(path)
            if known is None or known[:2] != (there.st_mtime_ns, there.st_size):
                blocks = sum(1 for _ in edited_blocks(path.read_bytes().decode("utf-8")))
                known = (there.st_mtime_ns, there.st_size, blocks)
                if len(_seen) > KEPT:
                    _seen.clear()
                _seen[path] = known
            if known[2]:
                found.append((shown(memory.home, path), known[2]))
    return found


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
