"""InOrder: rules read everything again in the order in which sweeps have read it (`schedule`).

Each turn is read with what was known by then: the log comes out as the sweeps have made it,
and byte for byte the same each time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from wakebook.base.errors import LeftAlone, ModelError, NotAsked, TranscriptError
from wakebook.capture.archive import Turn
from wakebook.learn import reread as whole
from wakebook.learn.entries import Source, complete
from wakebook.learn.extract import Draft, Scene
from wakebook.learn.select.ledger import Ledger
from wakebook.log.entry import Entry
from wakebook.rebuild import compare as carry
from wakebook.rebuild.plan import Carry, Listed, Read, schedule
from wakebook.rebuild.replay import Journal, Position, Progress, Replay, Stopped

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


# -----------------------------------------------------------------------------
# InRounds: a model reads conversations of different sessions at the same time.
#
# What it found is taken in the order in which it was said. A transcript at which it fails is
# tried again by the next run; if it fails again, what was found in it before stays.

PATIENCE = 3  # failures in a row
TRIES = 2  # of one transcript, before it stays as it was read


class InRounds(Replay):
    together = 1  # conversations, at most
    _waiting: list[Entry]  # still to be carried, oldest last

    def run(self, items: Sequence[Listed], journal: Journal, progress: Progress) -> Stopped:
        self._resume(journal)
        replayed = frozenset(one.path for one in items) - frozenset(journal.kept())
        waiting = carry.carried(self._main, replayed)
        self._waiting = [one for one in reversed(waiting) if one.id not in self.chains.by_id]
        stopped = self._in_rounds(items, journal, progress)
        if not stopped.failed and not stopped.left:
            self._carry_until(None)
        self._write(journal, Position(journal))
        return stopped

    def _in_rounds(self, items: Sequence[Listed], journal: Journal, progress: Progress) -> Stopped:
        tries = journal.failures()
        failed: dict[str, str] = {}
        read = Position(journal)
        left = [one for one in items if one.path not in read.done]
        streak = 0
        with ThreadPoolExecutor(self.together) as pool:
            while left:
                self._carry_until(left[0].started)
                now, left = self._round(left)
                asked = [self._ask(item) for item in now]
                results = list(pool.map(lambda one: self._attempt(*one), asked))
                for item, result in zip(now, results, strict=True):
                    if isinstance(result, ModelError | TranscriptError):
                        streak += not isinstance(result, TranscriptError)
                        self._failed(item, result, tries, read, failed)
                    else:
                        streak = 0
                        self._admit(result[0], _unsaid(result[1], self._fresh))
                        read.ended(item.path)
                self._write(journal, read)
                progress(now[-1].path, len(items) - len(left), len(items))
                stop = next((one for one in results if isinstance(one, NotAsked | LeftAlone)), None)
                if stop or streak >= PATIENCE:
                    reason = str(stop) if stop else "The model failed too often in a row."
                    return Stopped(failed, len(left), reason)
        return Stopped(failed)

    def _round(self, left: list[Listed]) -> tuple[list[Listed], list[Listed]]:
        """The next conversations of different sessions, and the rest."""
        count = 1
        sessions = {left[0].session}
        until = self._waiting[-1].timestamp if self._waiting else None
        while count < min(self.together, len(left)):
            item = left[count]
            if item.session in sessions or (until and item.started > until):
                break  # what it says builds on what is read now
            sessions.add(item.session)
            count += 1
        return left[:count], left[count:]

    def _ask(self, item: Listed) -> tuple[Listed, Scene | None]:
        """With the scene as it is before the round: nothing of it changes while others read."""
        try:
            _, subject = self._source(item.path)
        except TranscriptError:
            return item, None
        return item, self._scene(item.path, subject, True)

    def _attempt(
        self, item: Listed, scene: Scene | None
    ) -> tuple[Source, list[Draft]] | ModelError | TranscriptError:
        try:
            source, _ = self._source(item.path)
            assert scene is not None
            return source, whole.read(self._scratch, self._extractor, source, scene)
        except (ModelError, TranscriptError) as error:
            return error

    def _failed(
        self,
        item: Listed,
        error: ModelError | TranscriptError,
        tries: dict[str, int],
        read: Position,
        failed: dict[str, str],
    ) -> None:
        tried = not isinstance(error, NotAsked | LeftAlone)
        if isinstance(error, TranscriptError) or (tried and tries.get(item.path, 0) + 1 >= TRIES):
            self._stays(item.path, str(error))
            read.ended(item.path, kept=True)
            return
        failed[item.path] = str(error)
        if tried:
            read.failed[item.path] = str(error)

    def _carry_until(self, moment: datetime | None) -> None:
        while self._waiting and (moment is None or self._waiting[-1].timestamp < moment):
            self._carry(self._waiting.pop())


def _unsaid(drafts: Sequence[Draft], round_: Sequence[Entry]) -> list[Draft]:
    """Without what another conversation of the same round says already."""
    if not round_:
        return list(drafts)
    ledger = Ledger(round_)
    return [one for one in drafts if one.type == "handoff" or not ledger.holds(one)]
