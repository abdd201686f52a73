"""Memory: the façade, and the only place where things are wired together.

Its verbs are the commands of the command line and will be the tools and paths of every
other adapter. Everything that writes takes the home's lock and first finishes what a crash
may have left half done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakebook import clock
from wakebook import config as configs
from wakebook.config import Config
from wakebook.errors import WakebookError
from wakebook.home import Home, locate
from wakebook.log.query import Query

# The rest is imported where it is used: a search does not need what a sweep needs, and
# somebody waits for both.
if TYPE_CHECKING:
    from datetime import datetime
    from threading import Event

    from wakebook.capture.session import Session
    from wakebook.capture.state import State
    from wakebook.derive.distil import Report, Work
    from wakebook.derive.extract import Extractor
    from wakebook.index.health import IndexStatus
    from wakebook.index.hits import Hit
    from wakebook.index.index import Index
    from wakebook.index.search import Found
    from wakebook.index.sync import Progress, Synced
    from wakebook.lifecycle.audit import UNACCOUNTED, Account
    from wakebook.lifecycle.brief import Brief
    from wakebook.lifecycle.costs import Costs
    from wakebook.lifecycle.history import History
    from wakebook.lifecycle.init import Made
    from wakebook.lifecycle.status import Status
    from wakebook.lifecycle.sweep import Sweep
    from wakebook.lifecycle.upgrade import Upgraded
    from wakebook.log.chains import Chains
    from wakebook.log.entry import Entry, as_dict
    from wakebook.log.ledger import Ledger
    from wakebook.log.subjects import Registry, Subject
    from wakebook.models.chat import Models, Planned
    from wakebook.models.model import Lend
    from wakebook.models.prices import dollars
    from wakebook.recall.show import Shown

_PUBLIC = {  # what adapters get from here -> where it is
    "Entry": "log.entry",
    "as_dict": "log.entry",
    "UNACCOUNTED": "lifecycle.audit",
    "dollars": "models.prices",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'wakebook.memory' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"wakebook.{_PUBLIC[name]}"), name)


class Memory:
    """One home, opened. Nothing is read before it is needed."""

    def __init__(
        self,
        home: str | os.PathLike[str] | None = None,
        extractor: Extractor | None = None,
        *,
        lend: Lend | None = None,
        config: Config | None = None,
        dry: bool = False,
    ) -> None:
        """`lend`: the host's own model, as a function of (system, prompt, most tokens).
        `config`: instead of config.toml. `dry`: ask no model, note what would be asked."""
        self.home = Home(locate(home))
        self._extractor = extractor
        self._lend = lend
        self._config = config
        self._dry = dry

    # --- parts -----------------------------------------------------------------------

    @cached_property
    def config(self) -> Config:
        self.home.require()
        return self._config or configs.load(self.home.config)

    @cached_property
    def models(self) -> Models:
        from wakebook.models.chat import Models

        return Models(self.home, self.config, os.environ, lend=self._lend, dry=self._dry)

    @cached_property
    def _ledger(self) -> Ledger:
        from wakebook.log.ledger import Ledger

        return Ledger(self.home)

    @cached_property
    def _index(self) -> Index:
        from wakebook.index.index import Index

        return Index(self.home, self.config)

    @property
    def extractor(self) -> Extractor:
        if self._extractor is None:
            from wakebook.derive.by_model import choose

            self._extractor = choose(self.models, self.home, self.config)
        return self._extractor

    def _work(self) -> Work:
        from wakebook.derive.distil import Work

        return Work(self.home, self.config, self._ledger, self.extractor)

    def chains(self) -> Chains:
        self.home.require()
        return self._ledger.chains()

    def registry(self) -> Registry:
        from wakebook.log import subjects

        return subjects.load(self.home)

    def state(self) -> State:
        from wakebook.capture import state as states

        return states.load(self.home)

    @contextmanager
    def _writing(self) -> Iterator[State]:
        from wakebook.derive.batch import settle

        self.home.require()
        with self.home.locked():
            yield settle(self.home)
        self._index.changed()

    # --- verbs -----------------------------------------------------------------------

    def init(self) -> Made:
        from wakebook.lifecycle.init import init

        return init(self.home)

    def sessions(self, paths: Sequence[Path] = ()) -> list[Session]:
        """Every session that can be found: the hosts' folders, or the given paths."""
        from wakebook.capture.discover import sessions

        return sessions(self.config.hosts, self.state(), paths)

    def catch_up(
        self,
        paths: Sequence[Path] = (),
        session: str = "",
        *,
        closing: bool = False,
        retry_failed: bool = False,
        progress: Progress = lambda what, done, total: None,
    ) -> Sweep:
        """Bring sessions up to date: all, those at some paths, or the one with this id."""
        from wakebook.capture.discover import named

        self.home.require()
        self.models.insist = retry_failed
        found = named(self.sessions(paths), session)
        done = 0

        def finished(session: Session) -> None:
            nonlocal done
            done += 1
            progress(session.ref, done, len(found))

        return self._sweep(
            found,
            closing=closing,
            retry_failed=retry_failed,
            absent=not (paths or session),
            finished=finished,
        )

    def _sweep(self, found: Sequence[Session], **options: Any) -> Sweep:
        from wakebook.lifecycle.sweep import sweep

        history = self.history()

        def told(session: Session, report: Report) -> None:
            for path in report.closed:
                history.conversation(path)

        done = sweep(self._work(), found, told=told, **options)
        self._afterwards(bool(done.entries))
        return done

    def _afterwards(self, learned: bool) -> None:
        """What follows from new entries, so that nobody has to wait for it later."""
        if self._dry:
            return
        history = self.history()
        if learned:
            self._quietly("brief", lambda: self.brief(ask=False))
        history.leftovers()
        history.batch(clock.now())
        self.wake()
        self._quietly("index", self._index.sync)

    def upgrade(
        self, session: str = "", progress: Progress = lambda what, done, total: None
    ) -> Upgraded:
        """Have the model read again what rules have read. New entries replace the old ones."""
        from wakebook.lifecycle.upgrade import upgrade

        self.home.require()
        done = upgrade(self._work(), session, progress)
        self._afterwards(bool(done.entries))
        return done

    @contextmanager
    def rehearsal(self) -> Iterator[Memory]:
        """A copy of this memory. No model is asked: its `models.planned` says what would be."""
        from wakebook.lifecycle.rehearse import rehearsal

        self.home.require()
        with rehearsal(self.home, self.config) as (home, config):
            yield Memory(home.root, lend=self._lend, config=config, dry=True)

    def costs(self, by: str = "operation", since: datetime | None = None) -> Costs:
        """What the models have cost, by operation, model or day."""
        from wakebook.lifecycle.costs import costs

        self.home.require()
        return costs(self.home, self.models, by, since, clock.now())

    def _quietly(self, where: str, work: Callable[[], object]) -> None:
        """What went wrong is in `status`; nothing else depends on it."""
        try:
            work()
        except (WakebookError, OSError) as error:
            self.home.trace("failure", where=where, error=str(error))

    def remember(
        self,
        text: str,
        *,
        type_: str = "fact",
        subject: str = "",
        detail: str = "",
        replaces: Sequence[str] = (),
        status: str = "",
        pinned: bool = False,
    ) -> Entry:
        """Keep something that was not said in a conversation."""
        from wakebook.lifecycle.remember import remember

        with self._writing():
            entry = remember(
                self.home,
                text,
                type_=type_,
                subject=subject,
                detail=detail,
                replaces=[self.entry(name).id for name in replaces],
                status=status,
                pinned=pinned,
            )
        self.history().batch(clock.now(), ask=False)  # somebody waits
        return entry

    def wake(self) -> str:
        """What a new session should be told. Cached until something changes."""
        from wakebook import cache

        self.home.require()
        kept = cache.read(str(self.home.root), "wake.md")
        if kept is not None:
            return kept
        from wakebook.derive import prose
        from wakebook.derive.wake import wake

        key = cache.key(str(self.home.root))
        text = wake(
            self.chains(),
            self.registry(),
            self.state().sessions.values(),
            clock.now(),
            self.config.briefing,
            prose.load(self.home),
        )
        with suppress(OSError):  # a read-only home still wakes, only slower
            self.home.replace(self.home.cache / "wake.md", f"{key}\n{text}")
        return text

    def brief(self, *, ask: bool = True) -> Brief:
        """Write the briefing between its markers in MEMORY.md.

        With `ask`, a model puts what is active into words and looks for contradictions;
        without, what it said the last time is used where it still holds.
        """
        from wakebook.lifecycle import brief

        self.home.require()
        now, settings = clock.now(), self.config.briefing
        said = brief.prose(self.home, self.models, self._ledger, now, settings, ask)
        with self._writing():
            return brief.write(self.home, self.history(), self._ledger, now, settings, said)

    # --- looking ---------------------------------------------------------------------

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
        from wakebook.index.search import Options

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

        return show(self.home, self.chains(), self.state(), ref, first, lines)

    # --- subjects --------------------------------------------------------------------

    def subjects(self) -> list[tuple[Subject, int]]:
        """Every subject with the number of its current entries."""
        return self.registry().counted(self.chains().current())

    def add_subject(self, name: str, type_: str = "project", display: str = "") -> Subject:
        from wakebook.log import subjects

        with self._writing():
            after = subjects.add(self.registry(), name, type_, display)
            subjects.save(self.home, after)
        return after.get(subjects.slug_of(name))

    def rename_subject(self, old: str, new: str, *, merge: bool = False) -> tuple[str, int]:
        """Rename in registry and log, or merge into an existing subject. Entries changed."""
        from wakebook.lifecycle.rename import rename

        with self._writing():
            return rename(self.home, self.history(), old, new, merge=merge)

    def delete_subject(self, name: str) -> Subject:
        from wakebook.log import subjects

        with self._writing():
            registry = self.registry()
            gone = registry.get(name)
            subjects.save(self.home, subjects.delete(registry, name))
        return gone

    # --- accounts --------------------------------------------------------------------

    def audit(self, paths: Sequence[Path] = ()) -> list[Account]:
        from wakebook.lifecycle.audit import audit

        self.home.require()
        return audit(self.home, self.chains(), self.state(), self.sessions(paths), self.config)

    def status(self) -> Status:
        from wakebook.lifecycle.status import status

        return status(
            self.home,
            self._ledger,
            self.registry(),
            self.history(),
            self.audit(),
            self.extractor.name,
            self.models,
            self._index.status(),
            clock.now(),
        )

    def commit(self, summary: str = "") -> str | None:
        """Commit every change now, except transcripts that are still being written."""
        with self._writing():
            pass  # what a crash left half done is finished first
        return self.history().now(clock.now(), summary)

    def plan_commit(self, summary: str = "") -> Models:
        """The models, not asked, with what they would be asked for a commit's message."""
        models = self.models.unasked()
        if not summary:
            self.history(models).proposal()
        return models

    def history(self, models: Models | None = None) -> History:
        from wakebook.lifecycle.history import History

        return History(self.home, self.config, models or self.models)

    # --- watching --------------------------------------------------------------------

    def watch(
        self,
        stop: Event,
        told: Callable[[Sweep], None] = lambda done: None,
        failed: Callable[[str], None] = lambda error: None,
    ) -> None:
        """Catch up as things are said, until `stop` is set. A passing error is told of."""
        from wakebook.lifecycle.watch import watch

        self.home.require()

        def go(found: list[Session] | None) -> None:
            try:
                sessions = self.sessions() if found is None else found
                told(self._sweep(sessions, absent=found is None, stopped=stop.is_set))
            except (WakebookError, OSError) as error:
                failed(str(error))
                with suppress(OSError):
                    self.home.trace("failure", where="watch", error=str(error))

        watch(self.config, self.state, go, stop)


__all__ = [
    "UNACCOUNTED",
    "Account",
    "Brief",
    "Costs",
    "Entry",
    "Found",
    "Hit",
    "IndexStatus",
    "Memory",
    "Models",
    "Planned",
    "Query",
    "Shown",
    "Status",
    "Subject",
    "Sweep",
    "Synced",
    "Upgraded",
    "as_dict",
    "dollars",
]
