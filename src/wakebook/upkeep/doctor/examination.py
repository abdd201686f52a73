"""Examination: one look at everything in a home, for `status` and `doctor`.

What several looks need is found out once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from wakebook.base import clock
from wakebook.upkeep.doctor import Check, Look, contents, examine, place, work
from wakebook.upkeep.status import Status, status

if TYPE_CHECKING:
    from wakebook.history.timeline import Timeline
    from wakebook.learn.account import Account
    from wakebook.notes.knowledge import Knowledge
    from wakebook.notes.notes import Notes
    from wakebook.opened import Opened
    from wakebook.recall.topics.topic import Read
    from wakebook.store.index import IndexStatus
    from wakebook.upkeep.jobs import Standing


class Examination:
    def __init__(
        self,
        opened: Opened,
        history: Timeline,
        notes: Notes,
        *,
        topics: Callable[[], Read],
        jobs: Callable[[], list[Standing]],
        accounts: Callable[[], list[Account]],
    ) -> None:
        self._opened = opened
        self._home = opened.home
        self._history = history
        self._notes = notes
        self._topics = topics
        self._jobs = jobs
        self._accounts = accounts

    def checks(self, *, ask: bool = False) -> list[Check]:
        """What is well, what is not, and what to run for it. `ask`: ask the models, too."""
        found = examine([("home: folder", lambda: place.checks(self._home))])
        if self._home.exists():
            found += examine([*self.looks(ask)], found)
            found += examine([("lately: failures", lambda: self.lately(found))], found)
        return found

    def looks(self, ask: bool) -> Iterator[tuple[str, Look]]:
        home, opened = self._home, self._opened
        yield "log: lines", lambda: contents.log(home, opened.ledger)
        yield "git: repository", lambda: contents.history(self._history.git())
        yield "index: content", lambda: contents.index(home, self.index)
        yield "notes: files", lambda: contents.notes(home, self.knowledge, self._topics())
        yield "model: chat", lambda: work.model(home, opened.models)
        if ask:
            yield (
                "model: answer",
                lambda: work.asked(home, opened.config, opened.models),
            )
        yield "sessions: read", lambda: work.sessions(home, self.accounts)
        yield "hooks: failures", self._hooks
        yield "jobs: runs", lambda: work.jobs(home, self._jobs())

    def _hooks(self) -> Iterable[Check]:
        return work.hooks(self._home, self._opened.state().jobs.get("observe"), self._opened.now())

    def lately(self, so_far: list[Check]) -> Iterable[Check]:
        """What `status` tells beyond that."""
        found = self.status()
        return work.lately(self._home, found.problems, so_far)

    def status(self) -> Status:
        """How the memory is doing."""
        opened = self._opened
        return status(
            self._home,
            opened.ledger,
            opened.registry(),
            self._history.git(),
            self.accounts,
            opened.extractor.name,
            opened.models,
            self.index,
            self.knowledge,
            clock.now(),
        )

    @cached_property
    def accounts(self) -> list[Account]:
        return self._accounts()

    @cached_property
    def index(self) -> IndexStatus:
        return self._opened.index.status()

    @cached_property
    def knowledge(self) -> Knowledge:
        return self._notes.knowledge()
