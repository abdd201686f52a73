"""The verbs that learn: reading sessions, and what a person tells by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from wakebook.base import clock
from wakebook.base.errors import WakebookError
from wakebook.memory.keeping import Keeping

if TYPE_CHECKING:
    from wakebook.capture.state import Session
    from wakebook.learn.catch_up import Sweep
    from wakebook.learn.reading import Report
    from wakebook.learn.reread import Upgraded
    from wakebook.log.entry import Entry
    from wakebook.log.subjects import Subject
    from wakebook.store.sync import Progress
    from wakebook.upkeep.init import Made


class Learning(Keeping):
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
        progress: Progress = lambda what, done, total: None,
    ) -> Sweep:
        """Bring sessions up to date: all, those at some paths, or the one with this id.

        `sparing`: what was said is archived at once, but a model reads an open window only when
        [watch] writes messages of it are new. For who calls after every turn.
        """
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
            sparing=sparing,
        )

    def _sweep(self, found: Sequence[Session], *, sparing: bool = False, **options: Any) -> Sweep:
        from wakebook.learn.catch_up import sweep

        history = self.history()

        def told(session: Session, report: Report) -> None:
            for path in report.closed:
                history.conversation(path)

        done = sweep(self._work(sparing), found, told=told, **options)
        self._afterwards(bool(done.entries))
        return done

    def _afterwards(self, learned: bool) -> None:
        """What follows from new entries, so that nobody has to wait for it later."""
        if self._dry:
            return
        history = self.history()
        if learned:
            self._quietly("brief", lambda: self.brief(ask=False))
        self._quietly("notes", self.notes)
        self._quietly("git", history.leftovers)
        self._quietly("git", lambda: history.batch(clock.now()))
        self._quietly("wake", self.wake)
        self._quietly("index", self._index.sync)

    def upgrade(
        self, session: str = "", progress: Progress = lambda what, done, total: None
    ) -> Upgraded:
        """Have the model read again what rules have read. New entries replace the old ones."""
        from wakebook.learn.reread import upgrade

        self.home.require()
        done = upgrade(self._work(), session, progress)
        self._afterwards(bool(done.entries))
        return done

    @contextmanager
    def rehearsal(self) -> Iterator[Self]:
        """A copy of this memory. No model is asked: its `models.planned` says what would be."""
        from wakebook.upkeep.init import rehearsal

        self.home.require()
        with rehearsal(self.home, self.config) as (home, config):
            yield type(self)(home.root, lend=self._lend, config=config, dry=True)

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
        """Keep something that was not said in a conversation.

        A correction is about what it corrects, unless it says otherwise.
        """
        from wakebook.learn.remember import remember

        with self._writing():
            old = [self.entry(name) for name in replaces]
            entry = remember(
                self.home,
                text,
                type_=type_,
                subject=subject or self._subject_of(old),
                detail=detail,
                replaces=[one.id for one in old],
                status=status,
                pinned=pinned,
            )
        self._quietly("notes", self.notes)
        self._quietly("git", lambda: self.history().batch(clock.now(), ask=False))  # somebody waits
        return entry

    def _subject_of(self, entries: Sequence[Entry]) -> str:
        """What entries are about, if that is still a subject."""
        registry = self.registry()
        found = (registry.for_entry(one.subject) for one in entries if one.subject)
        return next((slug for slug in found if slug), "")

    def subjects(self) -> list[tuple[Subject, int]]:
        """Every subject with the number of its current entries."""
        return self.registry().counted(self.chains().current())

    def add_subject(self, name: str, type_: str = "project", display: str = "") -> Subject:
        from wakebook.log import subjects

        with self._writing():
            after = subjects.add(self.registry(), name, type_, display)
            subjects.save(self.home, after)
        self._quietly("notes", self.notes)
        return after.get(subjects.slug_of(name))

    def rename_subject(self, old: str, new: str, *, merge: bool = False) -> tuple[str, int]:
        """Rename in registry and log, or merge into an existing subject. Entries changed."""
        from wakebook.notes.rename import rename

        with self._writing():
            if merge:
                self._require_reviewed(self.registry().get(old).slug)
            done = rename(self.home, self.history(), old, new, merge=merge)
        self._quietly("notes", self.notes)
        return done

    def _require_reviewed(self, slug: str) -> None:
        """What somebody has edited in a subject's notes must not get lost with them."""
        waiting = [
            one.path for one in self.proposals() if slug in one.path.removesuffix(".md").split("/")
        ]
        if waiting:
            raise WakebookError(
                f"{waiting[0]} was edited by hand: `wakebook review` first, then merge {slug}."
            )

    def retype_subject(self, name: str, type_: str) -> Subject:
        """Say what a subject is: its notes move to where such things stand."""
        from wakebook.log import subjects

        with self._writing():
            after = subjects.retype(self.registry(), name, type_)
            subjects.save(self.home, after)
        self._quietly("notes", self.notes)
        return after.get(name)

    def delete_subject(self, name: str) -> Subject:
        from wakebook.log import subjects

        with self._writing():
            registry = self.registry()
            gone = registry.get(name)
            subjects.save(self.home, subjects.delete(registry, name))
        self._quietly("notes", self.notes)
        return gone
