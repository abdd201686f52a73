"""InRounds: a model reads conversations of different sessions at the same time.

What it found is taken in the order in which it was said. A transcript at which it fails is
tried again by the next run; if it fails again, what was found in it before stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from wakebook.derive import whole
from wakebook.derive.entries import Source
from wakebook.derive.extract import Draft, Scene
from wakebook.derive.rules.ledger import Ledger
from wakebook.errors import LeftAlone, ModelError, NotAsked, TranscriptError
from wakebook.lifecycle.rebuild import carry
from wakebook.lifecycle.rebuild.journal import Journal
from wakebook.lifecycle.rebuild.plan import Listed
from wakebook.lifecycle.rebuild.replay import Position, Progress, Replay, Stopped
from wakebook.log.entry import Entry

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
