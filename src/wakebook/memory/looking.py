"""The verbs that look: search, get, wake, and the accounts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wakebook.base import clock
from wakebook.base.config import expand
from wakebook.log.query import Query
from wakebook.memory.parts import Parts

if TYPE_CHECKING:
    from datetime import datetime

    from wakebook.learn.account import Account
    from wakebook.log.entry import Entry
    from wakebook.recall.show import Shown
    from wakebook.store.index import IndexStatus
    from wakebook.store.search import Found
    from wakebook.store.sync import Progress, Synced
    from wakebook.upkeep.costs import Costs
    from wakebook.upkeep.status import Status


class Looking(Parts):
    def wake(self) -> str:
        """What a new session should be told. Cached until something changes."""
        from wakebook.base import cache

        self.home.require()
        kept = cache.read(str(self.home.root), "wake.md")
        if kept is not None:
            return kept
        from wakebook.notes import prose
        from wakebook.notes.briefing import briefing
        from wakebook.recall.wake import wake

        key = cache.key(str(self.home.root))
        chains, said, settings = self.chains(), prose.load(self.home), self.config.briefing
        lines = briefing(chains, self.registry(), clock.now(), settings, said)
        text = wake(chains, self.state().sessions.values(), lines)
        with suppress(OSError):  # a read-only home still wakes, only slower
            self.home.replace(self.home.cache / "wake.md", f"{key}\n{text}")
        return text

    def search(
        self,
        wanted: Query | str,
        *,
        limit: int = 0,
        min_score: float | None = None,
        sessions: bool = False,
        explain: bool = False,
        progress: Progress | None = None,
    ) -> Found:
        """What fits best, of everything that is remembered. Filters alone need no words.

        `limit` and `min_score` default to [search] in config.toml. With `sessions`, the hits
        are whole conversations; with `explain`, each says what its score is made of.
        """
        self.home.require()
        from wakebook.store.search import Options

        query = Query(text=wanted) if isinstance(wanted, str) else wanted
        options = Options(limit, min_score, sessions, explain)
        return self._index.search(query, clock.now(), options, progress)

    def index(self, *, full: bool = False, progress: Progress | None = None) -> Synced:
        """Bring the index up to date, or make it anew."""
        self.home.require()
        return self._index.sync(full=full, progress=progress)

    def index_status(self) -> IndexStatus:
        self.home.require()
        return self._index.status()

    def entries(self, wanted: Query) -> list[Entry]:
        """Entries of the log that match, in log order. Every word has to occur."""
        from wakebook.log import query

        registry = self.registry()
        slugs = tuple(registry.canonical(name) for name in wanted.subjects)
        return query.pick(self.chains(), replace(wanted, subjects=slugs), registry.aliases())

    def status_of(self, entry: Entry) -> str:
        from wakebook.log import query

        return query.status(entry, self.chains())

    def entry(self, name: str) -> Entry:
        """An entry by its id, or a unique beginning of it."""
        from wakebook.recall.show import find_entry

        return find_entry(self.chains(), name)

    def get(self, ref: str, first: int = 0, lines: int = 0) -> Shown:
        """An entry, a session or lines of a file, by reference (see `wakebook.ref`).

        `first` and `lines` narrow a file, or a session's conversation.
        """
        from wakebook.recall.show import show

        return show(self.home, self.chains(), self.state(), ref, first, lines, self.elsewhere())

    def elsewhere(self) -> list[Path]:
        """Files outside of the home that belong to the memory: MEMORY.md, mounted notes."""
        found: list[Path] = []
        if self.config.briefing.memory_file:
            found.append(self.memory_file().resolve())
        if self.config.mounts.homes:
            from wakebook.store import index as mounts

            found += mounts.notes(self.home, self.config)
        return found

    def memory_file(self) -> Path:
        """MEMORY.md: in the home, or wherever config.toml says."""
        chosen = self.config.briefing.memory_file
        return self.home.root / expand(chosen) if chosen else self.home.memory

    def audit(self, paths: Sequence[Path] = ()) -> list[Account]:
        from wakebook.learn.account import audit

        self.home.require()
        return audit(self.home, self.chains(), self.state(), self.sessions(paths), self.config)

    def status(self) -> Status:
        from wakebook.notes.desk import Desk
        from wakebook.notes.knowledge import knowledge
        from wakebook.upkeep.status import status

        history = self.history()
        return status(
            self.home,
            self._ledger,
            self.registry(),
            history,
            self.audit(),
            self.extractor.name,
            self.models,
            self._index.status(),
            knowledge(Desk(self.home, self.config, history, self.now())),
            clock.now(),
        )

    def costs(self, by: str = "operation", since: datetime | None = None) -> Costs:
        """What the models have cost, by operation, model or day."""
        from wakebook.upkeep.costs import costs

        self.home.require()
        return costs(self.home, self.models, by, since, clock.now())
