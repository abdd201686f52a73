"""Report: how the rebuilds stand, and what one of them would change."""

from __future__ import annotations

import functools
import shutil
from datetime import datetime
from pathlib import Path

import msgspec

from wakebook.base import clock
from wakebook.base.config import Config
from wakebook.base.home import Home
from wakebook.history.history import History
from wakebook.history.revisions import changes
from wakebook.log import log, subjects
from wakebook.log.chains import resolve
from wakebook.rebuild import plan as plans
from wakebook.rebuild import quality as qualities
from wakebook.rebuild.build import SHARED, Builder, quiet
from wakebook.rebuild.compare import Comparison, compare
from wakebook.rebuild.plan import Done, Plan
from wakebook.rebuild.quality import Quality
from wakebook.rebuild.replay import Journal, Progress
from wakebook.rebuild.site import Site, names

FILES = 10


class NotesDiff(msgspec.Struct, frozen=True):
    files: int
    added: int  # lines
    removed: int
    most: tuple[tuple[str, int, int], ...] = ()  # the files that change most


class Rebuild(msgspec.Struct, frozen=True, kw_only=True):
    """A complete rebuild, compared with the home as it is."""

    name: str
    branch: str
    commit: str
    path: str  # of its work tree, a home
    done: Done
    comparison: Comparison
    notes: NotesDiff
    quality: Quality | None = None


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    extractor: str = ""
    began: datetime | None = None
    transcripts: int = 0
    read: int = 0
    complete: bool = False
    note: str = ""  # what is wrong with it


def report(
    home: Home, config: Config, site: Site, questions: Path | None, now: datetime
) -> Rebuild:
    asked = qualities.load(questions) if questions else []
    done = site.required()
    name = functools.cache(subjects.load(home).canonical)  # a new name is no difference
    main, new = (
        resolve(
            one.with_(subject=name(one.subject)) if one.subject else one
            for one in log.read(where).entries
        )
        for where in (home, site.home)
    )
    found: Quality | None = None
    if asked:
        before = qualities.answered(home, config, asked, now)
        after = qualities.answered(site.home, quiet(config), asked, now)
        found = qualities.quality(asked, before, after)
    return Rebuild(
        name=site.name,
        branch=site.branch,
        commit=site.commit()[:12],
        path=str(site.home.root),
        done=done,
        comparison=compare(main, new),
        notes=_notes(site),
        quality=found,
    )


def _notes(site: Site) -> NotesDiff:
    found = changes(site.repository, "HEAD", site.commit(), ["knowledge"])
    most = sorted(found, key=lambda one: (-one.added - one.removed, one.path))[:FILES]
    return NotesDiff(
        len(found),
        sum(one.added for one in found),
        sum(one.removed for one in found),
        tuple((one.path, one.added, one.removed) for one in most),
    )


def standings(home: Home, history: History) -> list[Standing]:
    return [_standing(Site(home, history, name)) for name in names(home, history)]


def _standing(site: Site) -> Standing:
    done = site.done()
    if done:
        total = len(done.plan.transcripts)
        return Standing(
            name=site.name,
            extractor=done.plan.extractor,
            began=done.plan.began,
            transcripts=total,
            read=total,
            complete=True,
            note="merged; `--merge` again removes what is left of it" if site.merged() else "",
        )
    if not site.there():
        return Standing(name=site.name, note="its work tree was removed before it was complete")
    if not site.commit():
        return Standing(name=site.name, note="its branch was removed")
    journal = Journal(site.home)
    if journal.plan is None:
        return Standing(name=site.name, note="it was stopped before it began")
    return Standing(
        name=site.name,
        extractor=journal.plan.extractor,
        began=journal.plan.began,
        transcripts=len(journal.plan.transcripts),
        read=len(journal.read()),
    )


# -----------------------------------------------------------------------------
# A rebuild that is only thought through: rules stand in for answers, nothing is changed.


class Rehearsed(msgspec.Struct, frozen=True):
    transcripts: int
    entries: int  # that rules find in them


def rehearse(
    home: Home, scratch: Home, builder: Builder, since: datetime | None, progress: Progress
) -> Rehearsed:
    """`scratch`: an empty folder for what it notes down."""
    items = plans.wanted(plans.listed(home), since)
    for name in SHARED:
        if (home.root / name).exists():
            shutil.copyfile(home.root / name, scratch.root / name)
    plan = Plan(
        name="rehearsal",
        extractor=builder.extractor.name,
        began=clock.now(),
        base="",
        transcripts=tuple(item.path for item in items),
    )
    journal = Journal(scratch)
    journal.begin(plan)
    replay = builder.replaying(scratch, resolve(log.read(home).entries), items, plan)
    replay.run(items, journal, progress)
    found = len(replay.chains.by_id) - len(replay.carried)
    return Rehearsed(len(items), found)
