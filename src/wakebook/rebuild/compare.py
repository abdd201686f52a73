"""Compare: what would hold after a rebuild, and what holds now.

Only what holds is compared: an entry that something else has replaced is no loss. Two entries
are the same if their ids are, and all that notes tell of them: one that is about another
subject has changed. One has changed into another if both were said at the same place of the same
conversation and are alike, or if the new log has it replaced.

How much the entries of both know, and how sound they are, is measured in `answers`.
"""

import functools
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import msgspec

from wakebook.base.config import Config
from wakebook.base.home import Home
from wakebook.history.past import changes
from wakebook.log import log, subjects
from wakebook.log.chains import Chains, resolve
from wakebook.log.entry import Entry
from wakebook.rebuild.answers import Answers, load_questions, measure
from wakebook.rebuild.carry import pairs
from wakebook.rebuild.site import Redone, Site

SAMPLES = 5
FILES = 10
TOP = 6
TOLD = ("subject", "type", "content", "detail", "status", "kind", "pinned")


class Tally(msgspec.Struct, frozen=True):
    same: int = 0
    added: int = 0
    lost: int = 0
    changed: int = 0


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    total: Tally
    by_type: dict[str, Tally]
    by_subject: dict[str, Tally]
    added: tuple[Entry, ...] = ()  # samples
    lost: tuple[Entry, ...] = ()
    changed: tuple[tuple[Entry, Entry], ...] = ()  # was, is
    moved: int = 0  # of those that have changed: said the same, about another subject


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
    done: Redone
    comparison: Comparison
    notes: NotesDiff
    answers: Answers


def report(home: Home, config: Config, site: Site, asked: Path | None, now: datetime) -> Rebuild:
    """`asked`: a file of labelled questions."""
    questions = load_questions(asked) if asked else []
    done = site.required()
    name = functools.cache(subjects.load(home).canonical)  # a new name is no difference
    main, new = (
        resolve(
            one.with_(subject=name(one.subject)) if one.subject else one
            for one in log.read(where).entries
        )
        for where in (home, site.home)
    )
    return Rebuild(
        name=site.name,
        branch=site.branch,
        commit=site.commit()[:12],
        path=str(site.home.root),
        done=done,
        comparison=compare(main, new),
        notes=_notes(site),
        answers=measure(home, config, main, new, questions, now),
    )


def quiet(config: Config) -> Config:
    """Settings for a work tree: nothing of it is written or sent elsewhere."""
    return config.with_(
        briefing=config.briefing.with_(memory_file=""), git=config.git.with_(push="")
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


# --- two logs ----------------------------------------------------------------------------
class _Sides(msgspec.Struct):
    same: list[Entry] = []
    added: list[Entry] = []
    lost: list[Entry] = []
    changed: list[tuple[Entry, Entry]] = []

    def tally(self, key: Callable[[Entry], str]) -> dict[str, Tally]:
        """How many there are of each, by type, say."""
        after = [is_ for _, is_ in self.changed]
        sides = [Counter(map(key, side)) for side in (self.same, self.added, self.lost, after)]
        names = sorted({name for side in sides for name in side})
        return {name: Tally(*(side[name] for side in sides)) for name in names}


def compare(main: Chains, new: Chains, samples: int = SAMPLES) -> Comparison:
    """A pure function of two logs."""
    found = _sides(main, new)
    return Comparison(
        total=found.tally(lambda entry: "").get("", Tally()),
        by_type=found.tally(lambda entry: entry.type),
        by_subject=found.tally(lambda entry: entry.subject),
        # handoffs last: they say least about what was understood
        added=tuple(sorted(found.added, key=_is_handoff)[:samples]),
        lost=tuple(sorted(found.lost, key=_is_handoff)[:samples]),
        changed=tuple(sorted(found.changed, key=lambda pair: _is_handoff(pair[0]))[:samples]),
        moved=sum(
            was.subject != is_.subject and was.content == is_.content for was, is_ in found.changed
        ),
    )


def _is_handoff(entry: Entry) -> bool:
    return entry.type == "handoff"


def _sides(main: Chains, new: Chains) -> _Sides:
    found = _Sides()
    there = {entry.id: entry for entry in new.current()}
    rest: list[Entry] = []
    for entry in main.current():
        after = there.pop(entry.id, None)
        if after is None:
            rest.append(entry)
        elif _told(entry) == _told(after):
            found.same.append(after)
        else:
            found.changed.append((entry, after))
    became = pairs(rest, list(there.values()))
    for entry in rest:
        after = became.get(entry.id)
        if after is None and entry.id in new.by_id:  # something replaces it now
            after = new.by_id[new.latest(entry.id)]
        if after is None:
            found.lost.append(entry)
            continue
        there.pop(after.id, None)
        found.changed.append((entry, after))
    found.added = list(there.values())
    return found


def _told(entry: Entry) -> tuple[object, ...]:
    """All of an entry that notes tell."""
    return tuple(getattr(entry, name) for name in TOLD)
