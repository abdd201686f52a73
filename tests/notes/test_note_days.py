"""Days in the user's time zone, and the notes that are read first."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.notes.test_pages import NOW, Shelf, shelf
from wakebook.log.subjects import Registry, Subject
from wakebook.notes import book as overview
from wakebook.notes.book import NOTHING
from wakebook.notes.condensed import Condensed, CondensedLine

__all__ = ["shelf"]  # the fixture

# --- days ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "moment", "day"),
    [
        ("Pacific/Auckland", "2026-11-08T10:59:59+00:00", "2026-11-08"),
        ("Pacific/Auckland", "2026-11-08T11:00:00+00:00", "2026-11-09"),
        ("America/New_York", "2026-11-09T04:59:59+00:00", "2026-11-08"),
        ("America/New_York", "2026-11-01T03:59:59+00:00", "2026-10-31"),  # 25 hours
        ("America/New_York", "2026-11-01T04:00:00+00:00", "2026-11-01"),
        ("America/New_York", "2026-11-02T04:59:59+00:00", "2026-11-01"),
        ("America/New_York", "2026-11-02T05:00:00+00:00", "2026-11-02"),
        ("Europe/Lisbon", "2026-03-29T22:59:59+00:00", "2026-03-29"),  # 23 hours
        ("Europe/Lisbon", "2026-03-29T23:00:00+00:00", "2026-03-30"),
        ("Asia/Kathmandu", "2026-11-08T18:14:59+00:00", "2026-11-08"),
        ("Asia/Kathmandu", "2026-11-08T18:15:00+00:00", "2026-11-09"),
        ("Asia/Beirut", "2026-03-28T22:00:00+00:00", "2026-03-29"),  # begins at one o'clock
        ("Asia/Beirut", "2026-03-28T21:59:59+00:00", "2026-03-28"),
    ],
)
def test_days_begin_and_end_where_the_user_lives(
    shelf: Shelf, zone: str, moment: str, day: str
) -> None:
    shelf.now = NOW.astimezone(ZoneInfo(zone))
    entry_ = shelf.say("it happened", at=moment)
    book = shelf.book
    journals = [page for page in book.all_pages() if page.startswith("journal/")]
    assert journals == [f"journal/{day}"]
    assert f"journal/{day}" in book.pages_of([entry_])
    assert shelf.lines(f"journal/{day}")[1] == "- it happened"
    around = datetime.fromisoformat(day)
    for other in (around - timedelta(days=1), around + timedelta(days=1)):
        assert shelf.lines(f"journal/{other:%Y-%m-%d}") == [NOTHING]
    assert f"([[{day}]])" in shelf.lines("project/auth", "notes")[1]


@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/New_York", "UTC"])
@pytest.mark.parametrize("moment", ["9999-12-31T23:59:00+00:00", "0001-01-01T00:00:00+00:00"])
def test_the_first_and_the_last_day_of_all_are_days(shelf: Shelf, zone: str, moment: str) -> None:
    shelf.now = NOW.astimezone(ZoneInfo(zone))
    shelf.say("far away", at=moment)
    found = shelf.book.all_pages()
    told = [
        line for page in sorted(found) for block in shelf.book.blocks(page) for line in block.text
    ]
    assert any("far away" in line for line in told)


# --- what is read first -------------------------------------------------------------------


def test_active_projects_are_those_with_news_newest_first(shelf: Shelf) -> None:
    shelf.registry = Registry({name: Subject(name, name.title()) for name in ("a", "b", "c")})
    shelf.say("old news", subject="a", at="2026-10-01T10:00:00+00:00")
    shelf.say("news of b", subject="b", at="2026-11-05T10:00:00+00:00")
    shelf.say("state of b", subject="b", type="handoff", at="2026-11-05T10:00:00+00:00")
    shelf.say("news of c", subject="c", at="2026-11-06T10:00:00+00:00")
    assert shelf.lines("active") == [
        "## Active Projects",
        "- **[[projects/c/context|C]]** — news of c",
        "- **[[projects/b/context|B]]** — state of b",
    ]


def test_observations_by_priority_and_age(shelf: Shelf) -> None:
    shelf.task("do it")
    shelf.say("what now?", type="question", subject="")
    shelf.say("remember this", pinned=True, at="2025-01-01T00:00:00+00:00")
    shelf.say("we decided", type="decision", at="2026-08-01T00:00:00+00:00")
    shelf.say("we decided long ago", type="decision", at="2026-01-01T00:00:00+00:00")
    old = shelf.say("first said", at="2026-07-31T00:00:00+00:00")
    shelf.say("refined", at="2026-08-01T00:00:01+00:00", replaces=(old.id,))
    shelf.say("a fact", at="2026-11-01T00:00:00+00:00")
    shelf.say("an old fact", at="2026-09-01T00:00:00+00:00")
    shelf.task("finished", status="done")
    shelf.say("stopped", type="handoff")
    assert shelf.lines("observations") == [
        "## 🔴 High",
        "- 🔴 2026-11-09 Open: what now?",
        "- 🔴 2026-11-09 To do: do it (auth)",
        "- 🔴 2025-01-01 remember this (auth)",
        "",
        "## 🟡 Medium",
        "- 🟡 2026-08-01 refined (auth)",
        "- 🟡 2026-08-01 we decided (auth)",
        "",
        "## 🟢 Low",
        "- 🟢 2026-11-01 a fact (auth)",
    ]


def test_observations_fade_with_the_days(shelf: Shelf) -> None:
    shelf.say("a fact", at="2026-11-01T00:00:00+00:00")
    fact = shelf.book.catalogue.about(["auth"])[0]
    low, gone = timedelta(days=overview.LOW_DAYS), timedelta(days=overview.LOW_DAYS, seconds=1)
    assert overview.priority(fact, 0, fact.timestamp + low) == overview.LOW
    assert overview.priority(fact, 0, fact.timestamp + gone) == ""
    assert overview.priority(fact, 1, fact.timestamp + gone) == overview.MEDIUM
    shelf.now = NOW + timedelta(days=60)
    assert shelf.lines("observations") == [NOTHING]


def test_memory_keeps_what_the_rollup_has_chosen_as_it_holds_today(shelf: Shelf) -> None:
    old = shelf.say("We use uv", type="decision", at="2026-11-01T00:00:00+00:00")
    shelf.say("Test before you ship", kind="lesson", pinned=True)
    shelf.say("not chosen", kind="lesson")
    new = shelf.say("We use pixi", type="decision", replaces=(old.id,))
    ids = [old.id, shelf.book.catalogue.of_kind("lesson")[0].id]
    shelf.condensed = {
        "memory/MEMORY.md#memory": Condensed(
            at=NOW, by="rules", lines=(CondensedLine((ids[0],)), CondensedLine((ids[1],)))
        )
    }
    block = shelf.block("memory", "memory")
    assert block.text == [
        "## Key Decisions",
        "- 2026-11-09: We use pixi",
        "",
        "## Lessons Learned",
        "- 2026-11-09: 📌 Test before you ship",
    ]
    assert block.lines[1].ids == (new.id,)
