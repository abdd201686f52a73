"""Build: one rebuild from its beginning to its commit, or from where it was killed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from wakebook.base import clock
from wakebook.base.config import Config
from wakebook.base.errors import Locked, TranscriptError, WakebookError
from wakebook.base.home import TRACKED, Home
from wakebook.capture import archive
from wakebook.capture import state as states
from wakebook.history.history import History
from wakebook.learn import reread as whole
from wakebook.learn.entries import settle
from wakebook.learn.extract import RULES, Extractor, Scene
from wakebook.learn.select import ledger as by_rules
from wakebook.learn.select.ledger import Finding
from wakebook.log import forgotten, log, subjects
from wakebook.log.chains import Chains, resolve
from wakebook.log.entry import Entry, encode
from wakebook.log.subjects import Registry, Subject
from wakebook.notes import write as notes
from wakebook.rebuild import compare as condensed
from wakebook.rebuild import plan as plans
from wakebook.rebuild.order import InOrder, InRounds
from wakebook.rebuild.plan import Done, Listed, Plan
from wakebook.rebuild.replay import Journal, Progress, Replay, Spending, Stopped
from wakebook.rebuild.site import Site, names

# what the work tree takes from the home as it is, whether it is committed or not
SHARED = ("config.toml", "prices.toml", "subjects.json", forgotten.FILE)


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for, besides the extractor."""

    since: datetime | None = None


class Built(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    done: Done | None  # None: not complete
    stopped: Stopped
    read: int = 0  # transcripts, this time
    resumed: int = 0  # transcripts that were read before


class Builder:
    def __init__(
        self,
        home: Home,
        config: Config,
        history: History,
        extractor: Extractor,
        spending: Spending,
        now: datetime,
    ) -> None:
        self._home = home
        self._config = config
        self._history = history
        self.extractor = extractor
        self._spending = spending
        self._now = now

    def build(self, site: Site, wanted: Wanted, progress: Progress) -> Built:
        """Begin, or go on. A rebuild that is complete is left as it is."""
        with self._home.reading(f"rebuild/{site.name}") as alone:
            if not alone:
                raise Locked(
                    f"Another process is at the rebuild {site.name}. Wait for it, or choose "
                    "another --branch."
                )
            if done := self._complete(site, wanted):
                return Built(
                    name=site.name, done=done, stopped=Stopped(), resumed=len(done.plan.transcripts)
                )
            journal = self._begun(site, wanted)
            return self._replay(site, journal, progress)

    def _complete(self, site: Site, wanted: Wanted) -> Done | None:
        done = site.done()
        if done is None:
            return None
        self._same(site, done.plan, wanted)
        return site.required()

    def _same(self, site: Site, plan: Plan, wanted: Wanted) -> None:
        """Whether a rebuild of this name is the one that is asked for."""
        if plan.extractor == self.extractor.name and _day(plan.since) == _day(wanted.since):
            return
        since = f" since {_day(plan.since)}" if plan.since else ""
        raise WakebookError(
            f"The rebuild {site.name} was begun with {plan.extractor}{since}. Go on with that, "
            f"choose another --branch, or `wakebook rebuild --drop {site.name}`."
        )

    # --- the beginning -----------------------------------------------------------------

    def _begun(self, site: Site, wanted: Wanted) -> Journal:
        if site.merged():
            raise WakebookError(
                f"A rebuild {site.name} was merged already ({site.merged_tag}). Choose another "
                "--branch."
            )
        if site.there() and site.commit() and site.home.root.is_dir():
            journal = Journal(site.home)
            if journal.plan is not None:
                self._same(site, journal.plan, wanted)
                return journal
        items = plans.wanted(plans.listed(self._home), wanted.since)
        base = self._committed(site)
        site.make(base)
        journal = Journal(site.home)
        journal.begin(
            Plan(
                name=site.name,
                extractor=self.extractor.name,
                since=wanted.since,
                began=clock.now(),
                base=base,
                transcripts=tuple(item.path for item in items),
            )
        )
        return journal

    def _committed(self, site: Site) -> str:
        """The newest commit, with everything that was waiting, and notes that are current."""
        with self._home.locked():
            settle(self._home)
            before = self._history.before_touching
            notes.update(self._home, self._config, self._now, before=lambda paths: before(*paths))
            self._history.now(clock.now(), f"before the rebuild {site.name}", ask=False)
        return site.repository.head()

    # --- reading -----------------------------------------------------------------------

    def _replay(self, site: Site, journal: Journal, progress: Progress) -> Built:
        plan = journal.plan
        assert plan is not None
        self._share(site)
        main = resolve(log.read(self._home).entries)
        items = _ordered(plans.listed(self._home), plan)
        replay = self.replaying(site.home, main, items, plan)
        before = len(journal.read())
        stopped = replay.run(items, journal, progress)
        read = len(journal.read())
        done = None
        if not stopped.failed and not stopped.left:
            done = self._finish(site, journal, plan, replay, main)
        return Built(name=site.name, done=done, stopped=stopped, read=read - before, resumed=before)

    def replaying(self, scratch: Home, main: Chains, items: Sequence[Listed], plan: Plan) -> Replay:
        registry = subjects.load(self._home)
        known = first_registry(registry, main, self.extractor.name, _Projects(self._home, items))
        given = (self._home, scratch, self.extractor, main, known, plan.began, self._spending)
        if self.extractor.name == RULES:
            return InOrder(*given)
        rounds = InRounds(*given)
        rounds.together = self._config.models.concurrency
        return rounds

    def _share(self, site: Site) -> None:
        for name in SHARED:
            there, here = self._home.root / name, site.home.root / name
            if there.exists():
                shutil.copyfile(there, here)
            else:
                here.unlink(missing_ok=True)

    # --- the end -----------------------------------------------------------------------

    def _finish(
        self, site: Site, journal: Journal, plan: Plan, replay: Replay, main: Chains
    ) -> Done:
        home = site.home
        entries = replay.log()
        done = Done(
            plan=plan,
            kept=journal.kept(),
            entries=len(entries),
            calls=sum(step.calls for step in journal.steps),
            cost=round(sum(step.cost for step in journal.steps), 8),
            unpriced=sum(step.unpriced for step in journal.steps),
        )
        before = subjects.load(self._home)
        with home.locked():
            log.rewrite(home, [encode(entry) for entry in entries])
            subjects.save(home, completed(
                replay.registry, before, _subjects(entries), _subjects(main.entries)
            ))  # fmt: skip
            condensed.follow(home, main, resolve(entries))
            notes.update(home, quiet(self._config), self._now, full=True)
            home.replace(home.root / plans.FILE, plans.encode(done))
            self._commit(site, done)
        return done

    def _commit(self, site: Site, done: Done) -> None:
        repository = type(site.repository).find(site.home.root)
        assert repository is not None
        paths = [*repository.changed(*TRACKED), site.home.root / plans.FILE]
        body = f"Extractor: {done.plan.extractor}\nTranscripts: {len(done.plan.transcripts)}"
        repository.commit("extract", site.name, paths, body)


def quiet(config: Config) -> Config:
    """Settings for a work tree: nothing of it is written or sent elsewhere."""
    return config.with_(
        briefing=config.briefing.with_(memory_file=""), git=config.git.with_(push="")
    )


def _ordered(found: Sequence[Listed], plan: Plan) -> list[Listed]:
    """The transcripts of the plan, also those that somebody has removed since."""
    by_path = {one.path: one for one in found}
    gone = datetime.min.replace(tzinfo=UTC)
    return [
        by_path.get(path)
        or Listed(path=path, session=path, started=gone, key=(gone, path, 0, path))
        for path in plan.transcripts
    ]


class _Projects:
    """The working folders' subjects of conversations, read when they are asked for."""

    def __init__(self, home: Home, items: Sequence[Listed]) -> None:
        self._home = home
        self._paths = {item.path for item in items}
        self._folders = {one.id: one.cwd for one in states.load(home).sessions.values()}

    def __call__(self, entry: Entry) -> str:
        if entry.transcript not in self._paths:
            return ""
        try:
            front = archive.read(self._home, entry.transcript).front
        except TranscriptError:
            return ""
        return whole.subject_of(front, (), self._folders.get(entry.session, ""))


def _subjects(entries: Iterable[Entry]) -> set[str]:
    return {entry.subject for entry in entries}


def _day(since: datetime | None) -> str:
    """An age, like 7d, is another moment each time, and means a day."""
    return f"{since.astimezone(UTC):%Y-%m-%d}" if since else ""


def _unfinished(home: Home, history: History, extractor: str) -> list[Plan]:
    """The plans of rebuilds with an extractor that were begun and are not complete."""
    found: list[Plan] = []
    for name in names(home, history):
        with suppress(WakebookError):  # one that cannot be read, or that somebody else made
            site = Site(home, history, name)
            begun = site.there() and site.commit() and not site.done()
            plan = Journal(site.home).plan if begun else None
            found += [plan] if plan and plan.extractor == extractor else []
    return found


def default_name(home: Home, history: History, extractor: str, now: datetime) -> str:
    """That of the last rebuild with the extractor that is not complete, so that it goes on.

    Otherwise extractor and day; with a number if one of that name has been merged.
    """
    if begun := _unfinished(home, history, extractor):
        return max(begun, key=lambda plan: plan.began).name
    stem = f"{'rules' if extractor == RULES else 'model'}-{now:%Y-%m-%d}"
    for number in range(1, 100):
        name = stem if number == 1 else f"{stem}-{number}"
        if not Site(home, history, name).merged():
            return name
    raise WakebookError(f"A hundred rebuilds are called {stem}. Choose a name with --branch.")


# -----------------------------------------------------------------------------
# Start: the subjects that a replay knows before its first conversation.
#
# Everything that a person has made or changed: names, aliases, types, deletions. A subject that
# rules came upon by themselves is left out: they come upon it again, at the same place, and not
# before it was first mentioned. A model is shown all of them, so that names stay as they are.


def first_registry(
    before: Registry, main: Chains, extractor: str, project: Callable[[Entry], str]
) -> Registry:
    """`project`: the working folder's subject of the conversation that an entry is from."""
    if extractor != RULES:
        return before
    first: dict[str, Entry] = {}
    for entry in main.entries:
        first.setdefault(entry.subject, entry)
    kept = {
        slug: item
        for slug, item in before.subjects.items()
        if not (_plain(item) and slug in first and _introduces(first[slug], project))
    }
    return Registry(kept)


def _plain(item: Subject) -> bool:
    return item == Subject(item.slug, subjects.title(item.slug))


def _introduces(entry: Entry, project: Callable[[Entry], str]) -> bool:
    """Whether rules would find the subject in this entry without knowing it."""
    if not entry.transcript:
        return False
    finding = Finding(entry.type, entry.content, detail=entry.detail)
    known = project(entry)
    return entry.subject in (known, by_rules.subject(finding, Scene(subject=known)))


def completed(
    after: Registry, before: Registry, used: Collection[str], was_used: Collection[str]
) -> Registry:
    """The registry of a new log: what it uses, as it was known, and what a person made.

    What nobody made and only the old log used is gone.
    """
    new = {slug: item for slug, item in after.subjects.items() if slug in used}
    kept = {
        slug: item
        for slug, item in before.subjects.items()
        if slug in used or slug not in was_used or not _plain(item)
    }
    return Registry(new | kept)
