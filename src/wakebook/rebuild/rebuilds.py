"""Rebuilds: the handle of this room. All conversations read anew, compared, merged or dropped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from wakebook.base import clock
from wakebook.base.config import Config
from wakebook.base.errors import ConfigError, Locked, WakebookError
from wakebook.base.home import TRACKED, WITHHELD, Home
from wakebook.history.history import History
from wakebook.history.repository import Repository
from wakebook.history.timeline import Timeline
from wakebook.learn.entries import settle
from wakebook.learn.extract import RULES, Extractor
from wakebook.learn.select.extractor import Selector
from wakebook.log import forgotten, log, subjects
from wakebook.log.chains import resolve
from wakebook.log.entry import encode
from wakebook.models import batch as batches
from wakebook.models.chat import Models
from wakebook.notes import write as notes
from wakebook.opened import Opened, quiet
from wakebook.rebuild import answers, carry, compare, merge
from wakebook.rebuild import site as sites
from wakebook.rebuild.compare import Rebuild
from wakebook.rebuild.merge import DroppedRebuild, Merged
from wakebook.rebuild.replay import CountedCalls, InOrder, InRounds, Progress, Replay, Stopped
from wakebook.rebuild.site import FIRST, Journal, Listed, Plan, RebuildStatus, Redone, Site, names

# what the work tree takes from the home as it is, whether it is committed or not
SHARED = (
    *"config.toml prices.toml subjects.json projects.json".split(),
    forgotten.FILE,
    WITHHELD,
)


class Built(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    done: Redone | None  # None: not complete
    stopped: Stopped
    read: int = 0  # transcripts, this time
    resumed: int = 0  # transcripts that were read before


class Rehearsed(msgspec.Struct, frozen=True):
    transcripts: int
    entries: int  # that rules find in them


class Rebuilds:
    def __init__(self, opened: Opened, history: Timeline, followed: Callable[[], None]) -> None:
        """`followed`: what has to be done when the log has become another one."""
        self._opened, self._home = opened, opened.home
        self._history, self._followed = history, followed

    def build(
        self,
        *,
        extractor: str = "rules",
        model: str = "",
        branch: str = "",
        since: datetime | None = None,
        batch: bool = False,
        progress: Progress = quiet,
    ) -> Built:
        """Read all archived conversations anew, on a branch of their own; or go on with it.
        `extractor`: rules or model. `model`: another one than [models] main. `batch`: ask for half
        the price, in rounds that later runs collect."""
        self._home.require()
        builder, models = self._builder(extractor, model)
        site = self._site(branch or builder.default_name())
        if models:
            builder.together = batches.MOST if batch else models.concurrency
        with _batched(models, f"rebuild {site.name}", batch):
            return builder.build(site, since, progress)

    def plan(
        self,
        *,
        extractor: str = "rules",
        model: str = "",
        since: datetime | None = None,
        batch: bool = False,
        progress: Progress = quiet,
    ) -> tuple[Rehearsed, Models | None]:
        """What a rebuild would read, and what it would ask a model. Nothing is changed."""
        self._home.require()
        builder, models = self._builder(extractor, model, dry=True)
        with self._home.scratch("rehearsal-") as scratch, _batched(models, "rebuild", batch):
            done = builder.rehearse(scratch, since, progress)
        return done, models

    def listed(self) -> list[RebuildStatus]:
        """Every rebuild that is not merged or dropped, and how it stands."""
        self._home.require()
        return [self._site(name).standing() for name in names(self._home, self._history.git())]

    def check_questions(self, path: Path) -> int:
        """How many labelled questions a file holds. Raises if one is not as it should be."""
        return len(answers.load_questions(path))

    def compare(self, name: str, questions: Path | None = None) -> Rebuild:
        """What would be different. With labelled questions, also how well they are answered."""
        self._home.require()
        site, config = self._site(name), self._opened.config
        return compare.report(self._home, config, site, questions, clock.now())

    def merge(self, name: str) -> Merged:
        """The rebuilt log in the place of this one, with what came since."""
        opened, git = self._opened, self._history.git()
        opened.settle()
        done = merge.merge(self._home, opened.config, git, self._site(name), opened.now())
        self._followed()
        return done

    def drop(self, name: str) -> DroppedRebuild:
        self._home.require()
        return merge.drop(self._home, self._site(name))

    def restore(self, dropped: DroppedRebuild) -> None:
        """A complete one that was dropped is there again."""
        self._site(dropped.name).make(dropped.commit)

    def _site(self, name: str) -> Site:
        return Site(self._home, self._history.git(), name)

    def _builder(
        self, extractor: str, model: str, dry: bool = False
    ) -> tuple[Builder, Models | None]:
        opened, config, models = self._opened, self._opened.config, None
        calls = CountedCalls(self._home)
        reader: Extractor
        if extractor == "model":
            from wakebook.learn.reading import choose

            if model:
                config = config.with_(models=config.models.with_(main=model))
            models = opened.models_with(config, dry=dry)
            models.calls = calls
            if not models.has("extract"):
                raise ConfigError(
                    "No model reads conversations: name one with --model, or as main in [models] "
                    "of config.toml, and leave extract out of off."
                )
            reader = choose(models, self._home, config)
        else:
            reader = Selector()
        git = self._history.git()
        return Builder(self._home, config, git, reader, calls, opened.now()), models


def _batched(models: Models | None, purpose: str, put: bool) -> AbstractContextManager[None]:
    return models.batched(purpose, put) if models else nullcontext()


@dataclass
class Builder:
    """One rebuild from its beginning to its commit, or from where it was killed."""

    home: Home
    config: Config
    history: History
    extractor: Extractor
    calls: CountedCalls
    now: datetime
    together: int = 1  # conversations that a model reads at the same time

    def default_name(self) -> str:
        """That of the last rebuild with the extractor that is not complete, so that it goes on.
        Otherwise extractor and day; with a number if one of that name has been merged."""
        begun: list[Plan] = []
        for name in names(self.home, self.history):
            with suppress(WakebookError):  # one that cannot be read, or that is no rebuild
                site = Site(self.home, self.history, name)
                there = site.there() and site.commit() and not site.done()
                plan = Journal(site.home).plan if there else None
                begun += [plan] if plan and plan.extractor == self.extractor.name else []
        if begun:
            return max(begun, key=lambda plan: plan.began).name
        kind = "rules" if self.extractor.name == RULES else "model"
        stem = f"{kind}-{self.now:%Y-%m-%d}"
        for name in (stem, *(f"{stem}-{number}" for number in range(2, 100))):
            if not Site(self.home, self.history, name).merged():
                return name
        raise WakebookError(f"A hundred rebuilds are called {stem}. Choose a name with --branch.")

    def build(self, site: Site, since: datetime | None, progress: Progress) -> Built:
        """Begin, or go on. A rebuild that is complete is left as it is."""
        with self.home.reading(f"rebuild/{site.name}") as alone:
            if not alone:
                raise Locked(
                    f"Another process is at the rebuild {site.name}. Wait for it, or choose "
                    "another --branch."
                )
            if done := site.done():
                self._check_same(site, done.plan, since)
                done, resumed = site.required(), len(done.plan.transcripts)
                return Built(name=site.name, done=done, stopped=Stopped(), resumed=resumed)
            return self._read(site, self._begun(site, since), progress)

    def rehearse(self, scratch: Home, since: datetime | None, progress: Progress) -> Rehearsed:
        """A rebuild that is only thought through: rules stand in for answers, nothing is changed.
        `scratch`: an empty folder for what it notes down."""
        items = sites.wanted(sites.listed(self.home), since)
        self._share(scratch)
        journal = self._journal(scratch, "rehearsal", items, since, base="")
        replay = self._replay(scratch, journal)
        replay.run(items, progress)
        return Rehearsed(len(items), len(replay.chains.by_id) - len(replay.carried))

    # --- the beginning -----------------------------------------------------------------

    def _check_same(self, site: Site, plan: Plan, since: datetime | None) -> None:
        """Complains if a rebuild of this name is another than the one that is asked for."""
        if plan.extractor == self.extractor.name and _day(plan.since) == _day(since):
            return
        begun = f" since {_day(plan.since)}" if plan.since else ""
        raise WakebookError(
            f"The rebuild {site.name} was begun with {plan.extractor}{begun}. Go on with that, "
            f"choose another --branch, or `wakebook rebuild drop {site.name}`."
        )

    def _begun(self, site: Site, since: datetime | None) -> Journal:
        if site.merged():
            raise WakebookError(
                f"A rebuild {site.name} was merged already ({site.merged_tag}). Choose another "
                "--branch."
            )
        if site.there() and site.commit() and site.home.root.is_dir():
            journal = Journal(site.home)
            if journal.plan is not None:
                self._check_same(site, journal.plan, since)
                return journal
        items = sites.wanted(sites.listed(self.home), since)
        with self.home.locked():  # all that was waiting is committed, and the notes are current
            settle(self.home)
            before = self.history.before_touching
            notes.update(self.home, self.config, self.now, before=before)
            self.history.now(clock.now(), f"before the rebuild {site.name}", ask=False)
        base = site.repository.head()
        site.make(base)
        return self._journal(site.home, site.name, items, since, base)

    def _journal(
        self, home: Home, name: str, items: Sequence[Listed], since: datetime | None, base: str
    ) -> Journal:
        journal = Journal(home)
        journal.begin(
            Plan(
                name=name,
                extractor=self.extractor.name,
                since=since,
                began=clock.now(),
                base=base,
                transcripts=tuple(item.path for item in items),
            )
        )
        return journal

    # --- reading -----------------------------------------------------------------------

    def _read(self, site: Site, journal: Journal, progress: Progress) -> Built:
        assert journal.plan is not None
        self._share(site.home)
        known = {one.path: one for one in sites.listed(self.home)}
        # also those that were removed since
        items = [known.get(path) or Listed(path, path, FIRST) for path in journal.plan.transcripts]
        replay = self._replay(site.home, journal)
        before = len(journal.read())
        stopped = replay.run(items, progress)
        complete = not stopped.failed and not stopped.left
        done = self._finish(site, journal.plan, journal, replay) if complete else None
        read = len(journal.read()) - before
        return Built(name=site.name, done=done, stopped=stopped, read=read, resumed=before)

    def _share(self, scratch: Home) -> None:
        for name in SHARED:
            there, here = self.home.root / name, scratch.root / name
            if there.exists():
                shutil.copyfile(there, here)
            else:
                here.unlink(missing_ok=True)

    def _replay(self, scratch: Home, journal: Journal) -> Replay:
        main = resolve(log.read(self.home).entries)
        if self.extractor.name == RULES:
            rules = Selector(scratch)
            return InOrder(self.home, scratch, rules, main, journal, self.calls)
        given = (self.home, scratch, self.extractor, main, journal, self.calls)
        return InRounds(*given, together=self.together)

    # --- the end -----------------------------------------------------------------------

    def _finish(self, site: Site, plan: Plan, journal: Journal, replay: Replay) -> Redone:
        home, main, entries = site.home, replay.main, replay.log()
        done = Redone(
            plan=plan,
            kept=journal.kept(),
            held=journal.held(),
            entries=len(entries),
            calls=sum(step.calls for step in journal.steps),
            cost=round(sum(step.cost for step in journal.steps), 8),
            unpriced=sum(step.unpriced for step in journal.steps),
        )
        before = subjects.load(self.home)
        used, was = ({one.subject for one in every} for every in (entries, main.entries))
        with home.locked():
            log.rewrite(home, [encode(entry) for entry in entries])
            subjects.save(home, carry.completed(replay.registry, before, used, was))
            carry.follow(home, main, resolve(entries))
            notes.update(home, compare.quiet(self.config), self.now, full=True)
            home.replace(home.root / sites.FILE, sites.encode(done))
            repository = Repository.find(home.root)
            assert repository is not None
            paths = [*repository.changed(*TRACKED), home.root / sites.FILE]
            body = f"Extractor: {plan.extractor}\nTranscripts: {len(plan.transcripts)}"
            repository.commit("extract", site.name, paths, body)
        return done


def _day(since: datetime | None) -> str:
    """An age, like 7d, is another moment each time, and means a day."""
    return f"{since.astimezone(UTC):%Y-%m-%d}" if since else ""
