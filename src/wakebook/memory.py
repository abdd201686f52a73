"""Memory: the façade. It composes the rooms of one home, and decides nothing itself.

Its verbs are commands, paths of the service and tools of agents. A room with more to offer has a
handle. Rooms are imported when they are first used: a host waits for a search.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar

from wakebook.base import clock
from wakebook.log.query import Query
from wakebook.opened import Opened, quiet

if TYPE_CHECKING:
    from datetime import datetime

    from wakebook.base.config import Config
    from wakebook.base.home import Home
    from wakebook.capture.state import Session
    from wakebook.conversation import Conversation
    from wakebook.history.past import Moment
    from wakebook.history.timeline import Bring, Timeline
    from wakebook.imports.take import Imported
    from wakebook.learn.account import Account
    from wakebook.learn.catch_up import Sweep
    from wakebook.learn.extract import Extractor
    from wakebook.learn.reading import Report
    from wakebook.learn.reread import Upgraded
    from wakebook.log.entry import Entry
    from wakebook.log.logbook import Logbook
    from wakebook.log.subjects import Registry
    from wakebook.models.chat import Models
    from wakebook.models.model import Lend
    from wakebook.notes.notes import Notes
    from wakebook.rebuild.rebuilds import Rebuilds
    from wakebook.recall.show import Shown
    from wakebook.recall.told import Tellings
    from wakebook.recall.topics.book import Book
    from wakebook.recall.turn import Turns
    from wakebook.recall.window import Windows
    from wakebook.store.hits import Found
    from wakebook.store.index import Index
    from wakebook.store.sync import Progress
    from wakebook.sync.sync import Syncing
    from wakebook.upkeep.again import Forgettings
    from wakebook.upkeep.doctor import Check, Examination
    from wakebook.upkeep.erase import Eraser
    from wakebook.upkeep.forget import Forgetting
    from wakebook.upkeep.init import Made
    from wakebook.upkeep.jobs import Jobs
    from wakebook.upkeep.status import Costs, Status
    from wakebook.upkeep.undo import Rewrite, Undone


P = ParamSpec("P")
T = TypeVar("T")


def _room(place: str, *needs: str) -> Any:
    """A room: its class, and what it takes of the façade. It is made when it is first used."""

    def made(memory: Memory) -> Any:
        module, _, name = place.rpartition(".")
        kind = getattr(import_module(f"wakebook.{module}"), name)
        return kind(*(getattr(memory, need) for need in needs))

    return cached_property(made)


class _Verb(Generic[P, T]):
    """A verb that a room has as it is."""

    def __init__(self, of: Callable[[Memory], Callable[P, T]]) -> None:
        self._of = of

    def __get__(self, memory: Memory | None, kind: type[Memory]) -> Callable[P, T]:
        return self._of(memory) if memory else self  # type: ignore[return-value]


class Memory:
    """One home, opened, or one on a server (service/remote). It reads nothing before it has to."""

    def __new__(cls, home: str | os.PathLike[str] | None = None, *_: Any, **__: Any) -> Self:
        if isinstance(home, str) and home.startswith(("http://", "https://")):
            made: Self = object.__new__(import_module("wakebook.service.remote").Remote)
            return made
        return object.__new__(cls)

    def __init__(
        self,
        home: str | os.PathLike[str] | None = None,
        extractor: Extractor | None = None,
        *,
        lend: Lend | None = None,
        config: Config | None = None,
        dry: bool = False,
        token: str = "",
    ) -> None:
        """`token`: for a server, whose address `home` is. `lend`: the host's own model, as a
        function of (system, prompt, most tokens). `config`: instead of config.toml. `dry`: ask no
        model, note what would be asked."""

        def verbatim() -> Extractor:
            from wakebook.imports.extractor import ImportExtractor

            return ImportExtractor(self.home)

        def notes(entries: Sequence[Entry], registry: Registry) -> Mapping[str, str]:
            from wakebook.notes.book import files_of

            return files_of(entries, registry, self.opened.now().tzinfo)

        rooms: dict[str, Any] = {"verbatim": verbatim, "notes": notes}
        self.opened = Opened(home, extractor, lend=lend, config=config, dry=dry, **rooms)

    # --- the rooms -----------------------------------------------------------------------------

    @property
    def home(self) -> Home:
        return self.opened.home

    @property
    def config(self) -> Config:
        return self.opened.config

    @property
    def models(self) -> Models:
        return self.opened.models

    @property
    def index(self) -> Index:
        self.home.require()
        return self.opened.index

    @cached_property
    def log(self) -> Logbook:
        from wakebook.log.logbook import Logbook

        opened = self.opened
        return Logbook(
            opened.home,
            opened.ledger,
            opened.writing,
            lambda: self.notes.refresh(),
            lambda old, new, merge: self.notes.rename(old, new, merge=merge),
        )

    history: Timeline = _room("history.timeline.Timeline", "opened")
    notes: Notes = _room("notes.notes.Notes", "opened", "history")
    topics: Book = _room("recall.topics.book.Book", "opened")
    turns: Turns = _room("recall.turn.Turns", "opened", "topics")
    told: Tellings = _room("recall.told.Tellings", "opened", "topics", "turns")
    window: Windows = _room("recall.window.Windows", "opened", "_caught_up")
    sync: Syncing = _room("sync.sync.Syncing", "opened", "history", "notes", "_followed", "init")
    rebuilds: Rebuilds = _room("rebuild.rebuilds.Rebuilds", "opened", "history", "_followed")
    forgettings: Forgettings = _room("upkeep.again.Forgettings", "opened", "history", "remember")
    eraser: Eraser = _room("upkeep.erase.Eraser", "opened", "history", "_shown_anew")

    @cached_property
    def jobs(self) -> Jobs:
        from wakebook.upkeep.jobs import Jobs

        # what a new session is told depends on state.json, which has changed
        return Jobs(self, self._caught_up, lambda: self.opened.quietly("wake", self.wake))

    # --- learning ------------------------------------------------------------------------------

    def init(self) -> Made:
        from wakebook.upkeep.init import init

        return init(self.home)

    def catch_up(
        self,
        paths: Sequence[Path] = (),
        session: str = "",
        *,
        closing: bool = False,
        retry_failed: bool = False,
        sparing: bool = False,
        since: datetime | None = None,
        until: datetime | None = None,
        progress: Progress = quiet,
    ) -> Sweep:
        """Bring sessions up to date: all, those at some paths, or the one with this id. `since`,
        `until`: those whose files were last written to in this time. `sparing`: a model reads an
        open window only when it pauses ([watch] pause_minutes), or [watch] writes messages of it
        are new."""
        from wakebook.capture.discover import named, written

        self.home.require()
        self.models.insist = retry_failed
        return self._caught_up(
            named(written(self.opened.sessions(paths), since, until), session),
            closing=closing,
            retry_failed=retry_failed,
            absent=not (paths or session or since or until),
            sparing=sparing,
            progress=progress,
        )

    def _caught_up(
        self,
        found: Sequence[Session],
        *,
        reader: Extractor | None = None,
        sparing: bool = False,
        wakes: bool = True,
        progress: Progress = quiet,
        **options: Any,
    ) -> Sweep:
        from wakebook.learn.catch_up import catch_up

        work, git, read = self.opened.work(reader, sparing=sparing), self.history.git(), 0

        def told(session: Session, report: Report) -> None:
            for path in report.closed:
                git.conversation(path)

        def finished(session: Session) -> None:
            nonlocal read
            read += 1
            progress(session.ref, read, len(found))

        done = catch_up(work, found, told=told, finished=finished, **options)
        self._afterwards(bool(done.entries), wakes)
        return done

    def _afterwards(self, learned: bool, wakes: bool = True) -> None:
        """The steps after catching up, so that no one has to wait for them later."""
        if self.opened.dry:
            return
        git, quietly = self.history.git(), self.opened.quietly
        if learned:
            quietly("brief", lambda: self.notes.brief(ask=False))
        quietly("notes", self.notes.update)
        quietly("git", git.leftovers)
        quietly("git", lambda: git.batch(clock.now()))
        if wakes:
            quietly("wake", self.wake)
        quietly("index", self.opened.index.sync)
        self.sync_soon()

    def upgrade(
        self, session: str = "", progress: Progress = quiet, *, batch: bool = False
    ) -> Upgraded:
        """Have the model read again what rules have read. New entries replace the old ones.
        `batch`: ask for half the price, and let a later run collect the answers."""
        from wakebook.learn.reread import upgrade

        self.home.require()
        work = self.opened.work()
        with self.models.batched(f"upgrade {session}".strip(), batch):
            done = upgrade(work, session, progress)
        self._afterwards(bool(done.entries))
        return done

    flush = _Verb(lambda memory: memory.window.flush)

    def import_(
        self,
        source: str,
        path: str | os.PathLike[str],
        *,
        dry: bool = False,
        progress: Progress = quiet,
    ) -> Imported:
        """Take over an export or an old memory. `dry`: into a copy of the home, and no model."""
        from wakebook.imports.take import lend_shelf, priced, take_over

        if not dry:
            return take_over(self.opened, source, path, self._caught_up, progress)
        with self.rehearsal() as copy:
            lend_shelf(self.home.root, copy.home.root)
            return priced(copy.import_(source, path, progress=progress), copy.models.planned)

    @contextmanager
    def rehearsal(self) -> Iterator[Self]:
        """A copy of this memory. No model is asked: its `models.planned` says what would be."""
        from wakebook.upkeep.init import rehearsal

        self.home.require()
        with rehearsal(self.home, self.config) as (home, config):
            yield type(self)(home.root, lend=self.opened.lend, config=config, dry=True)

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
        project: str = "",
        cwd: str = "",
        by: str = "",
        origin: str = "",
    ) -> Entry:
        """Keep something that was not said in a conversation. `project`, or that of `cwd` if the
        memory knows it: where it belongs. `by`: who writes it, if not a person. `origin`: where it
        comes from if these are not the user's own words: then it waits for `log.accept`."""
        from wakebook.learn.entries import remember

        here = self.log.projects([project])[0] if project else self.opened.project(cwd)
        with self.opened.writing():
            entry = remember(
                self.home, text, self.log.chains(), type_=type_, subject=subject, detail=detail,
                replaces=replaces, status=status, pinned=pinned, project=here, by=by, origin=origin,
            )  # fmt: skip
        self.notes.refresh()
        self.opened.quietly("git", lambda: self.history.git().batch(clock.now(), ask=False))
        self.sync_soon()
        return entry

    def handoff(self, text: str, *, detail: str = "") -> str:
        """Leave a handoff, for the end of the session that the agent is in: its id. The answer has
        to stand in the transcript; there it is checked when the session ends."""
        from wakebook.learn.written import kept

        with self.opened.writing() as state:
            return kept(self.home, state, text, detail)

    def plan_forget(self, names: Sequence[str], *, chain: bool = False) -> Forgetting:
        """What would go, and what would follow from it."""
        from wakebook.upkeep.forget import plan

        return plan(self.log.chains(), [self.log.entry(name).id for name in names], chain)

    def forget(self, names: Sequence[str], *, chain: bool = False) -> Forgetting:
        """Take entries out of the log for good: they leave the notes and the index, too."""
        from wakebook.notes.condensed import forgetting
        from wakebook.recall import ratings, tellings
        from wakebook.upkeep.forget import drafts, take_out

        return take_out(
            self.opened,
            self.history.git(),
            lambda: self.plan_forget(names, chain=chain),
            steps=(forgetting, drafts, tellings.forgetting, ratings.forgetting),  # of each room
            after=self._shown_anew,
        )

    def _shown_anew(self) -> None:
        """Everything that shows the log, written anew."""
        self.opened.quietly("notes", lambda: self.notes.update(full=True))
        self._followed()

    def _followed(self) -> None:
        """What follows from another log, so that nothing shows the old one."""
        self.opened.quietly("brief", lambda: self.notes.brief(ask=False))
        self.history.git().batch(clock.now(), ask=False)
        self.opened.index.changed()
        self.opened.quietly("index", self.opened.index.sync)

    def undo(self) -> Undone:
        """Take the last rewrite back."""
        from wakebook.notes.condensed import taken_back
        from wakebook.upkeep.undo import of_sync, take_back

        at = self.sync.brought() if self.opened.syncs else None
        if at and not any(one.at >= at for one in self.rewrites() if not one.undone):
            return of_sync(self.sync.undo(), at)
        return take_back(self.opened, self.history.git(), self.notes, rules=(taken_back,))

    def sync_soon(self, seconds: float = 0.0) -> None:
        """Sync in the background if it is time to, and wait so long for it."""
        if self.opened.syncs and self.config.schedule.sync and not self.opened.dry:
            self.opened.quietly("sync", lambda: self.sync.start(seconds))

    def rewrites(self) -> list[Rewrite]:
        """What `undo` could take back, and has taken back; newest first."""
        from wakebook.upkeep.undo import rewrites

        return rewrites(self.history.git())

    # --- recalling -----------------------------------------------------------------------------

    def session(
        self, id: str = "", *, channel: str = "", model: str = "", cwd: str = ""
    ) -> Conversation:
        """A conversation of your own agent; the same id goes on with it (see `Conversation`)."""
        from wakebook.conversation import Conversation

        return Conversation(self, id, channel=channel, model=model, cwd=cwd)

    def wake(self, cwd: str = "", *, project: str = "", everywhere: bool = False) -> str:
        """What a new session should be told; in a folder, what it would be told there, if the
        memory knows its project. Cached until something changes."""
        from wakebook.recall.scope import Place, scope
        from wakebook.recall.turn import woken

        here = cwd if self.opened.project(cwd) else ""
        told = scope(self.opened, Place(here, project, everywhere))
        return woken(self.opened, told, cwd="" if project or everywhere else cwd)

    context = _Verb(lambda memory: memory.turns.context)
    observe = _Verb(lambda memory: memory.topics.observe)

    def search(
        self,
        wanted: Query | str,
        *,
        limit: int = 0,
        min_score: float | None = None,
        sessions: bool = False,
        explain: bool = False,
        cwd: str = "",
        everywhere: bool = False,
        progress: Progress | None = None,
    ) -> Found:
        """What fits best, of everything that is remembered. Filters alone need no words.

        With `sessions`, the hits are whole conversations; with `explain`, each says why. `cwd`: of
        what may be told in this folder, unless `everywhere`.
        """
        from dataclasses import replace

        from wakebook.store.hits import Options

        query = Query(text=wanted) if isinstance(wanted, str) else wanted
        if query.projects:
            query = replace(query, projects=self.log.projects(query.projects))
        elif cwd and not everywhere:
            query = replace(query, scope=self.turns.scope(cwd=cwd, message=query.text))
        options = Options(limit, min_score, sessions, explain)
        if self.opened.beside:
            from wakebook.recall import beside

            return beside.search(self.opened, query, clock.now(), options, progress)
        return self.index.search(query, clock.now(), options, progress)

    def get(self, ref: str, first: int = 0, lines: int = 0) -> Shown:
        """An entry, a session or lines of a file, by reference (see `wakebook.base.ref`)."""
        from wakebook.recall.show import show

        return show(self.opened, ref, first, lines)

    @contextmanager
    def at(self, when: str) -> Iterator[tuple[Self, Moment, Bring]]:
        """This memory as it was at a moment, with a function that brings conversations into it."""
        with self.history.then(when) as (home, config, moment, bring):
            yield type(self)(home.root, config=config, dry=True), moment, bring

    # --- upkeep --------------------------------------------------------------------------------

    tick = _Verb(lambda memory: memory.jobs.tick)

    def audit(self, paths: Sequence[Path] = ()) -> list[Account]:
        """An account of every source that exists or was ever read. Writes nothing."""
        from wakebook.learn.account import audit

        one, changed = self.opened, self.history.git().rewritten()
        return audit(one.home, one.chains(), one.state(), one.sessions(paths), one.config, changed)

    def _examination(self) -> Examination:
        from wakebook.upkeep.doctor import Examination

        return Examination(
            self.opened,
            self.history,
            self.notes,
            topics=lambda: self.topics.read(),
            jobs=lambda: self.jobs.listed(),
            audit=self.audit,
            finish=lambda: self.eraser.finish(),
        )

    def status(self) -> Status:
        """How the memory is doing, with every failure of the last days."""
        return self._examination().status()

    def doctor(self, *, quick: bool = False, ask: bool = False) -> list[Check]:
        """What is well, what is not, and what to run for it. Never raises. `quick`: without the
        round trip in a temporary home. `ask`: the models, too."""
        from wakebook.upkeep.doctor import tried

        found = self._examination().checks(ask=ask)
        if not quick:
            found += tried(lambda root, config: Memory(root, config=config), found)
        return found

    def costs(self, by: str = "operation", since: datetime | None = None) -> Costs:
        """What the models have cost, by operation, model or day."""
        from wakebook.upkeep.status import costs

        return costs(self.home, self.models, by, since, clock.now())

    def close(self) -> None:
        """Close the index. The memory can be used again: it opens by itself."""
        if "index" in vars(self.opened):
            self.opened.index.close()
