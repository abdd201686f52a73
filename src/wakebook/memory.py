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
from wakebook.errors import NotFound, TranscriptError, WakebookError
from wakebook.home import Home, locate
from wakebook.log.query import Query

# The rest is imported where it is used: a search does not need what a sweep needs, and
# somebody waits for both.
if TYPE_CHECKING:
    from threading import Event

    from wakebook.capture.session import Session
    from wakebook.capture.state import State
    from wakebook.derive.catch_up import Report
    from wakebook.derive.extract import Extractor
    from wakebook.index.health import IndexStatus
    from wakebook.index.hits import Hit
    from wakebook.index.index import Index
    from wakebook.index.search import Found
    from wakebook.index.sync import Progress, Synced
    from wakebook.lifecycle.audit import UNACCOUNTED, Account
    from wakebook.lifecycle.brief import Brief
    from wakebook.lifecycle.history import History
    from wakebook.lifecycle.init import Made
    from wakebook.lifecycle.status import Status
    from wakebook.lifecycle.sweep import Sweep
    from wakebook.log.chains import Chains
    from wakebook.log.entry import Entry, as_dict
    from wakebook.log.ledger import Ledger
    from wakebook.log.subjects import Registry, Subject
    from wakebook.recall.show import Shown

_PUBLIC = {  # what adapters get from here -> where it is
    "Entry": "log.entry",
    "as_dict": "log.entry",
    "UNACCOUNTED": "lifecycle.audit",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'wakebook.memory' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"wakebook.{_PUBLIC[name]}"), name)


class Memory:
    """One home, opened. Nothing is read before it is needed."""

    def __init__(
        self, home: str | os.PathLike[str] | None = None, extractor: Extractor | None = None
    ) -> None:
        self.home = Home(locate(home))
        self._extractor = extractor

    # --- parts -----------------------------------------------------------------------

    @cached_property
    def config(self) -> Config:
        self.home.require()
        return configs.load(self.home.config)

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
            from wakebook.derive.rules import RuleExtractor

            self._extractor = RuleExtractor()
        return self._extractor

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
        from wakebook.derive.catch_up import settle

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
        from wakebook.capture.discover import discover, distinct, sessions_at

        state = self.state()
        if paths:
            found = [session for path in paths for session in sessions_at(path)]
            return distinct(found, state)
        found = list(discover(self.config.hosts))
        there = {session.path for session in found}
        for known in state.sessions.values():
            path = Path(known.path)
            if path not in there and path.exists():
                there.add(path)
                with suppress(TranscriptError):  # the audit reports it
                    found += sessions_at(path)
        return distinct(found, state)

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
        self.home.require()
        found = self.sessions(paths)
        if session:
            found = self._named(found, session)
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

    def _named(self, found: Sequence[Session], name: str) -> list[Session]:
        exact = [item for item in found if name in (item.id, item.ref)]
        matching = exact or [item for item in found if item.id.startswith(name)]
        if not matching:
            raise NotFound(
                f"No session {name!r} in the hosts' folders. `wakebook audit` lists all; a file "
                "elsewhere is caught up on with `wakebook catch-up PATH`."
            )
        if len({item.id for item in matching}) > 1:
            names = ", ".join(sorted(item.id for item in matching)[:5])
            raise NotFound(f"{name!r} fits several sessions: {names}. Give more of the id.")
        return matching

    def _sweep(self, found: Sequence[Session], **options: Any) -> Sweep:
        from wakebook.derive.catch_up import Work
        from wakebook.lifecycle.sweep import sweep

        now = clock.now()
        history = self.history()

        def told(session: Session, report: Report) -> None:
            for path in report.closed:
                history.conversation(path)

        work = Work(self.home, self.config, self._ledger, self.extractor, now)
        done = sweep(work, found, told=told, **options)
        if done.entries:
            self._brief_quietly()
        history.leftovers()
        history.batch(now)
        self.wake()  # so that the next session does not wait for it
        self._index_quietly()
        return done

    def _index_quietly(self) -> None:
        """So that the next search does not wait for it, either."""
        try:
            self._index.sync()
        except (WakebookError, OSError) as error:
            self.home.trace("failure", where="index", error=str(error))

    def _brief_quietly(self) -> None:
        try:
            self.brief()
        except (WakebookError, OSError) as error:
            self.home.trace("failure", where="brief", error=str(error))

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
        from wakebook.capture import redact
        from wakebook.log import log, subjects
        from wakebook.log.entry import TYPES, Entry, new_id, validate

        if type_ not in TYPES:
            raise WakebookError(f"type {type_!r} is not one of {', '.join(TYPES)}.")
        with self._writing():
            registry = self.registry()
            if subject:
                subject = subjects.slug_of(subject)
                registry = registry.ensure([registry.for_entry(subject) or _deleted(subject)])
            old = tuple(self.entry(name).id for name in replaces)
            entry = validate(
                Entry(
                    id=new_id(),
                    timestamp=clock.now(),
                    type=type_,  # type: ignore[arg-type]
                    content=redact.redact(text.strip())[0],
                    detail=redact.redact(detail.strip())[0],
                    session="manual",
                    subject=registry.for_entry(subject) if subject else "",
                    replaces=old,
                    status=(status or "open") if type_ == "task" else None,  # type: ignore[arg-type]
                    pinned=pinned,
                )
            )
            if registry != self.registry():  # first: a subject without entries harms nobody
                subjects.save(self.home, registry)
            log.append(self.home, [entry])
        self.history().batch(clock.now())
        return entry

    def wake(self) -> str:
        """What a new session should be told. Cached until something changes."""
        from wakebook import cache

        self.home.require()
        kept = cache.read(str(self.home.root), "wake.md")
        if kept is not None:
            return kept
        from wakebook.derive.wake import wake

        key = cache.key(str(self.home.root))
        text = wake(
            self.chains(),
            self.registry(),
            self.state().sessions.values(),
            clock.now(),
            self.config.briefing,
        )
        with suppress(OSError):  # a read-only home still wakes, only slower
            self.home.replace(self.home.cache / "wake.md", f"{key}\n{text}")
        return text

    def brief(self) -> Brief:
        """Write the briefing between its markers in MEMORY.md."""
        from wakebook.derive.briefing import briefing
        from wakebook.lifecycle.brief import write

        with self._writing():
            lines = briefing(self.chains(), self.registry(), clock.now(), self.config.briefing)
            return write(self.home, self.history(), self._memory_file(), lines)

    def _memory_file(self) -> Path:
        chosen = self.config.briefing.memory_file
        path = self.home.root / configs.expand(chosen) if chosen else self.home.memory
        return path.resolve()  # a link stays a link

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
        registry = self.registry()
        counts: dict[str, int] = {}
        for entry in self.chains().current():
            if entry.subject:
                slug = registry.canonical(entry.subject)
                counts[slug] = counts.get(slug, 0) + 1
        return [(item, counts.get(item.slug, 0)) for item in registry.known()]

    def add_subject(self, name: str, type_: str = "project", display: str = "") -> Subject:
        from wakebook.log import subjects

        with self._writing():
            before = self.registry()
            after = subjects.add(before, name, type_, display)
            subjects.save(self.home, after)
        return next(
            item for slug, item in after.subjects.items() if item != before.subjects.get(slug)
        )

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
            self._index.status(),
            clock.now(),
        )

    def commit(self, summary: str = "") -> str | None:
        """Commit every change now, except transcripts that are still being written."""
        with self._writing():
            return self.history().now(clock.now(), summary)

    def history(self) -> History:
        from wakebook.lifecycle.history import History

        return History(self.home, self.config)

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

        def roots() -> list[Path]:
            hosts = self.config.hosts
            named = hosts.values().values()
            folders = [configs.expand(path) for paths in named for path in paths]
            return [folder for folder in folders if folder.is_dir()]

        def go(found: list[Session] | None) -> None:
            try:
                sessions = self.sessions() if found is None else found
                told(self._sweep(sessions, absent=found is None, stopped=stop.is_set))
            except (WakebookError, OSError) as error:
                failed(str(error))
                with suppress(OSError):
                    self.home.trace("failure", where="watch", error=str(error))

        watch(self.config, roots, self.state, go, stop)


def _deleted(subject: str) -> str:
    raise WakebookError(f"The subject {subject!r} was deleted. Add it again, or use another one.")


__all__ = [
    "UNACCOUNTED",
    "Account",
    "Brief",
    "Entry",
    "Found",
    "Hit",
    "IndexStatus",
    "Memory",
    "Query",
    "Shown",
    "Status",
    "Subject",
    "Sweep",
    "Synced",
    "as_dict",
]
