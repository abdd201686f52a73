"""Schedule: in which order rules read, so that nothing but the reading differs.

Sweeps read conversations that overlap in portions, and end them hours later. The log shows in
which order that was: each entry has its transcript and its turns. The replay goes through it
in the same order, and comes to the same log if the rules are the same. Turns in which nothing
was found leave no trace: where conversations were read in portions, they are read when they
were said. A conversation that the log does not know (it may be lost) is read as a whole, in
the order in which they were said.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import datetime

import msgspec

from wakebook.lifecycle.rebuild.plan import Listed
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry


class Carry(msgspec.Struct, frozen=True):
    """An entry that is not read anew."""

    entry: Entry


class Read(msgspec.Struct):
    """Some more turns of a conversation."""

    path: str
    upto: int = 0  # turns, from the first one on
    ends: bool = False  # all of them, and the conversation ends
    until: datetime | None = None  # when what the log has next was said
    first: int = 0  # the first of these turns in which something was found; 0: none
    said: datetime | None = None  # when that was


def schedule(main: Chains, items: Sequence[Listed]) -> list[Carry | Read]:
    """`items`: the transcripts to read, in the order in which they were said."""
    steps = _Steps(main, items)
    for entry in main.entries:
        steps.add(entry)
    steps.rest()
    return steps.steps


class _Steps:
    def __init__(self, main: Chains, items: Sequence[Listed]) -> None:
        self._items = {item.path: item for item in items}
        self._ends = _ends(main)
        known = {entry.transcript for entry in main.entries}
        self._unknown = deque(item for item in items if item.path not in known)
        self._ended: set[str] = set()
        self.steps: list[Carry | Read] = []

    def add(self, entry: Entry) -> None:
        item = self._items.get(entry.transcript)
        self._before(item.started if item else entry.timestamp)
        last = self.steps[-1] if self.steps else None
        if item is None:
            self._step(Carry(entry), entry)
        elif item.path not in self._ended:
            if not (isinstance(last, Read) and last.path == item.path):
                last = Read(item.path)
                self._step(last, entry)
            self._more(last, entry)

    def rest(self) -> None:
        """What the log does not know, or has not seen the end of."""
        self._before(None)
        left = [path for path in self._items if path not in self._ended]
        self.steps += [Read(path, ends=True) for path in left]

    def _more(self, step: Read, entry: Entry) -> None:
        turn = max(entry.evidence, default=0)
        step.upto = max(step.upto, turn)
        if entry.type not in ("question", "handoff"):  # those are found when it ends
            step.first = min(step.first or turn, turn)
            step.said = step.said or entry.timestamp
        if entry.id in self._ends:
            step.ends = True
            self._ended.add(step.path)

    def _step(self, step: Carry | Read, entry: Entry) -> None:
        last = self.steps[-1] if self.steps else None
        if isinstance(last, Read):
            last.until = entry.timestamp
        self.steps.append(step)

    def _before(self, moment: datetime | None) -> None:
        while self._unknown and (moment is None or self._unknown[0].started < moment):
            path = self._unknown.popleft().path
            self.steps.append(Read(path, ends=True))
            self._ended.add(path)


def _ends(main: Chains) -> set[str]:
    """The entries with which a conversation ended: its first handoff, or the last that it has."""
    found: dict[str, Entry] = {}
    for entry in main.entries:
        known = found.get(entry.transcript)
        if known is None or known.type != "handoff":
            found[entry.transcript] = entry
    return {entry.id for entry in found.values()}
