"""InOrder: rules read everything again in the order in which sweeps have read it (`schedule`).

Each turn is read with what was known by then: the log comes out as the sweeps have made it,
and byte for byte the same each time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import datetime

from wakebook.capture.archive import Turn
from wakebook.derive import whole
from wakebook.derive.entries import complete
from wakebook.errors import TranscriptError
from wakebook.lifecycle.rebuild.journal import Journal
from wakebook.lifecycle.rebuild.plan import Listed
from wakebook.lifecycle.rebuild.replay import Position, Progress, Replay, Stopped
from wakebook.lifecycle.rebuild.schedule import Carry, Read, schedule

BUNCH = 50  # transcripts between two writes


class InOrder(Replay):
    def run(self, items: Sequence[Listed], journal: Journal, progress: Progress) -> Stopped:
        self._resume(journal)
        read = Position(journal)
        steps = schedule(self._main, items)
        found = _Found(steps)
        begun = _Begun(items)
        for one in steps:
            if isinstance(one, Carry):
                self._carry(one.entry)
                continue
            found.passed(one.path)
            if one.said and not one.ends:  # a sweep that read portions: others were read, too
                for path in begun.by(one.said, read.done):
                    if path != one.path:
                        self._try(Read(path, until=one.said), found, read)
            self._try(one, found, read)
            if len(read.fresh) >= BUNCH:
                self._write(journal, read)
                progress(read.last, len(read.done), len(items))
        self._write(journal, read)
        return Stopped()

    def _try(self, one: Read, found: _Found, read: Position) -> None:
        if one.path in read.done:
            return
        try:
            self._some_more(one, found.next(one.path), read)
        except TranscriptError as error:
            self._stays(one.path, str(error))
            read.ended(one.path, kept=True)

    def _some_more(self, one: Read, found: int, read: Position) -> None:
        """Read on to where the sweep was then, and to the end if it ended."""
        source, subject = read.open.get(one.path) or self._source(one.path)
        read.open[one.path] = (source, subject)
        first = read.turns.get(one.path, 0)
        last = None if one.ends else _reached(source.turns, one, first, found)
        if last is not None and last <= first:
            return
        scene = self._scene(one.path, subject, one.ends)
        drafts = whole.read(self._scratch, self._extractor, source, scene, first, last)
        self._admit(source, drafts)
        if last is None:
            read.ended(one.path)
        else:
            read.turns[one.path] = last


class _Found:
    """For each conversation, the turns in which the log has something, in their order."""

    def __init__(self, steps: Sequence[Carry | Read]) -> None:
        self._left: dict[str, deque[int]] = {}
        for one in steps:
            if isinstance(one, Read):
                self._left.setdefault(one.path, deque()).append(one.first)

    def passed(self, path: str) -> None:
        self._left[path].popleft()

    def next(self, path: str) -> int:
        return next((turn for turn in self._left.get(path, ()) if turn), 0)


class _Begun:
    """The conversations that had begun at a moment that moves on."""

    def __init__(self, items: Sequence[Listed]) -> None:
        self._items = deque(items)
        self._open: list[str] = []

    def by(self, moment: datetime, done: set[str]) -> list[str]:
        """Without those that are done."""
        while self._items and self._items[0].started <= moment:
            self._open.append(self._items.popleft().path)
        self._open = [path for path in self._open if path not in done]
        return list(self._open)


def _reached(turns: Sequence[Turn], one: Read, first: int, found: int) -> int:
    """How many turns had been read: to what was found, and what else was said by then."""
    certain = min(max(one.upto, first), len(turns))
    count = certain
    while (
        count < len(turns)
        and count + 1 != found
        and one.until is not None
        and turns[count].at <= one.until
    ):
        count += 1
    return max(certain, complete(turns[:count]))  # an agent's last turn could still grow
