"""The verb that looks whether everything is well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from wakebook.memory.schedule import Schedule

if TYPE_CHECKING:
    from wakebook.learn.account import Account
    from wakebook.notes.knowledge import Knowledge
    from wakebook.store.index import IndexStatus
    from wakebook.upkeep.doctor import Check, Look


class Doctoring(Schedule):
    def doctor(self, *, quick: bool = False, ask: bool = False) -> list[Check]:
        """What is well, what is not, and what to run for it. Never raises.

        `quick`: without writing and finding something in a temporary home. `ask`: ask the
        models, which may cost a little.
        """
        from wakebook.memory import Memory
        from wakebook.memory.roundtrip import round_trip
        from wakebook.upkeep.doctor import examine, place

        found = examine([("home: folder", lambda: place.checks(self.home))])
        if self.home.exists():
            known = _Found(self)
            found += examine([*known.looks(ask)], found)
            found += examine([("lately: failures", lambda: known.lately(found))], found)
        if not quick:
            found += examine([("round trip: all of it", lambda: round_trip(Memory))], found)
        return found


class _Found:
    """What several looks need, found out once."""

    def __init__(self, memory: Doctoring) -> None:
        self._memory = memory

    def looks(self, ask: bool) -> Iterator[tuple[str, Look]]:
        from wakebook.upkeep.doctor import contents, work

        memory = self._memory
        home = memory.home
        yield "log: lines", lambda: contents.log(home, memory._ledger)
        yield "git: repository", lambda: contents.history(memory.history())
        yield "index: content", lambda: contents.index(home, self.index)
        yield "notes: files", lambda: contents.notes(home, self.knowledge, memory.topics())
        yield "model: chat", lambda: work.model(home, memory.models)
        if ask:
            yield "model: answer", lambda: work.asked(home, memory.config, memory.models)
        yield "sessions: read", lambda: work.sessions(home, self.accounts)
        yield "hooks: failures", self._hooks
        yield "jobs: runs", lambda: work.jobs(home, memory.jobs())

    def _hooks(self) -> Iterable[Check]:
        from wakebook.upkeep.doctor import work

        memory = self._memory
        return work.hooks(memory.home, memory.state().jobs.get("observe"), memory.now())

    def lately(self, so_far: list[Check]) -> Iterable[Check]:
        """What `status` tells beyond that."""
        from wakebook.base import clock
        from wakebook.upkeep.doctor import work
        from wakebook.upkeep.status import status

        memory = self._memory
        found = status(
            memory.home,
            memory._ledger,
            memory.registry(),
            memory.history(),
            self.accounts,
            memory.extractor.name,
            memory.models,
            self.index,
            self.knowledge,
            clock.now(),
        )
        return work.lately(memory.home, found.problems, so_far)

    @cached_property
    def accounts(self) -> list[Account]:
        return self._memory.audit()

    @cached_property
    def index(self) -> IndexStatus:
        return self._memory.index_status()

    @cached_property
    def knowledge(self) -> Knowledge:
        from wakebook.notes.desk import Desk
        from wakebook.notes.knowledge import knowledge

        memory = self._memory
        return knowledge(Desk(memory.home, memory.config, memory.history(), memory.now()))
