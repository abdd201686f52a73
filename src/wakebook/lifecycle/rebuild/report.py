"""Report: how the rebuilds stand, and what one of them would change."""

from __future__ import annotations

import functools
from datetime import datetime
from pathlib import Path

import msgspec

from wakebook.config import Config
from wakebook.home import Home
from wakebook.lifecycle.history import History
from wakebook.lifecycle.rebuild import quality as qualities
from wakebook.lifecycle.rebuild.build import quiet
from wakebook.lifecycle.rebuild.compare import Comparison, compare
from wakebook.lifecycle.rebuild.journal import Journal
from wakebook.lifecycle.rebuild.plan import Done
from wakebook.lifecycle.rebuild.quality import Quality
from wakebook.lifecycle.rebuild.site import Site, names
from wakebook.log import log, subjects
from wakebook.log.chains import resolve

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
    changes = site.repository.changes("HEAD", site.commit(), ["knowledge"])
    most = sorted(changes, key=lambda one: (-one.added - one.removed, one.path))[:FILES]
    return NotesDiff(
        len(changes),
        sum(one.added for one in changes),
        sum(one.removed for one in changes),
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
