"""A rebuild that is only thought through: rules stand in for answers, nothing is changed."""

from __future__ import annotations

import shutil
from datetime import datetime

import msgspec

from wakebook import clock
from wakebook.home import Home
from wakebook.lifecycle.rebuild import plan as plans
from wakebook.lifecycle.rebuild.build import SHARED, Builder
from wakebook.lifecycle.rebuild.journal import Journal
from wakebook.lifecycle.rebuild.plan import Plan
from wakebook.lifecycle.rebuild.replay import Progress
from wakebook.log import log
from wakebook.log.chains import resolve


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
