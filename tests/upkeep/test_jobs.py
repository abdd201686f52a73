from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as some

from wakebook.base.config import Schedule
from wakebook.base.errors import ConfigError, NotFound
from wakebook.capture.state import JobRun
from wakebook.upkeep.jobs import Job, due, named, standing, table, upcoming

LISBON = ZoneInfo("Europe/Lisbon")
NEW_YORK = ZoneInfo("America/New_York")
ZONES = [LISBON, NEW_YORK, ZoneInfo("UTC"), ZoneInfo("Australia/Lord_Howe"), ZoneInfo("Asia/Kabul")]
CONFIG = Path("config.toml")


def job(expression: str) -> Job:
    return Job(name="daily", expression=expression)


def at(text: str, zone: ZoneInfo = LISBON) -> datetime:
    """A moment in UTC, as the user's clock shows it."""
    return datetime.fromisoformat(f"{text}Z").astimezone(zone)


def ended(slot: str, outcome: str = "ok", ended: str = "", failures: int = 0) -> JobRun:
    moment = at(ended or slot)
    return JobRun(
        slot=at(slot).astimezone(UTC),
        started=moment,
        ended=moment.astimezone(UTC),
        outcome=outcome,
        failures=failures,
    )


def ticked(one: Job, start: datetime, days: int, minutes: int = 5) -> list[datetime]:
    """Tick every few minutes, and record every run: when it ran, on the user's clock."""
    run = JobRun(slot=start, started=start, ended=start, outcome="ok")
    ran: list[datetime] = []
    moment = start.astimezone(UTC)
    for _ in range(days * 24 * 60 // minutes):
        moment += timedelta(minutes=minutes)
        slot = due(one, run, moment.astimezone(start.tzinfo))
        if slot is not None:
            run = JobRun(slot=slot, started=moment, ended=moment, outcome="ok")
            ran.append(moment.astimezone(start.tzinfo))
    return ran


def test_the_table_as_it_is_shipped() -> None:
    jobs = table(Schedule(), CONFIG)
    order = "observe topics briefing daily weekly monthly prune commit tags sync"
    assert [one.name for one in jobs] == order.split()
    assert {one.name: one.words() for one in jobs} == {
        "observe": "every 15th minute of every hour",
        "topics": "every fifth minute of every hour",
        "briefing": "at 03:00 every day",
        "daily": "at 23:00 every day",
        "weekly": "at 23:30 on Sunday",
        "monthly": "at 04:00 on the first day of every month",
        "prune": "at 00:00 on Sunday",
        "commit": "every 30th minute of every hour",
        "tags": "at 23:59 every day",
        "sync": "every fifth minute of every hour",
    }
    assert all(one.about for one in jobs)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("61 * * * *", "Bad minute"),
        ("0 24 * * *", "Bad hour"),
        ("0 0 * * 8", "Bad day-of-week"),
        ("0 23 * *", "five fields"),
        ("0 0 23 * * *", "five fields"),
        ("@daily", "five fields"),
        ("*/0 * * * *", "Bad minute"),
        ("0 0 31 2 *", "Bad day-of-month"),
        ("0 0 * 2 MON#6", "Bad day-of-week"),
    ],
)
def test_a_wrong_expression_names_the_file_the_setting_and_the_reason(
    expression: str, reason: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        table(Schedule(weekly=expression), Path("home/config.toml"))
    text = str(raised.value)
    assert "home/config.toml: [schedule] weekly:" in text and repr(expression) in text
    assert reason in text and "0 23 * * *" in text


def test_an_empty_expression_switches_a_job_off() -> None:
    [weekly] = named(table(Schedule(weekly="  "), CONFIG), ["weekly"])
    found = standing(weekly, None, at("2026-11-09T08:00:00"))
    assert (found.due, found.next, found.words) == (False, None, "switched off")


def test_a_name_that_is_no_job() -> None:
    jobs = table(Schedule(), CONFIG)
    with pytest.raises(NotFound, match="Did you mean 'daily'"):
        named(jobs, ["dayly"])
    with pytest.raises(NotFound, match="There are observe, "):
        named(jobs, ["x"])
    assert [one.name for one in named(jobs, ["tags", "observe", "tags"])] == ["observe", "tags"]


@pytest.mark.parametrize("sunday", ["0", "7", "SUN"])
def test_sunday_has_three_names(sunday: str) -> None:
    one = job(f"30 23 * * {sunday}")
    now = at("2026-11-11T12:00:00")  # a Wednesday
    assert one.previous(now) == at("2026-11-08T23:30:00")
    assert one.following(now) == at("2026-11-15T23:30:00")


def test_slots_are_in_the_users_time_zone() -> None:
    one = job("0 23 * * *")
    now = at("2026-07-02T01:00:00", NEW_YORK)  # nine in the evening there
    assert one.following(now) == datetime(2026, 7, 2, 3, tzinfo=UTC)
    assert one.previous(now) == datetime(2026, 7, 1, 3, tzinfo=UTC)


def test_what_never_ran_is_due_and_then_it_is_not_until_its_next_slot() -> None:
    one = job("0 23 * * *")
    now = at("2026-11-09T08:00:00")
    assert due(one, None, now) == at("2026-11-08T23:00:00")
    run = ended("2026-11-08T23:00:00", ended="2026-11-09T08:00:00")
    assert due(one, run, now) is None
    assert due(one, run, at("2026-11-09T22:59:59")) is None
    assert due(one, run, at("2026-11-09T23:00:00")) == at("2026-11-09T23:00:00")
    assert upcoming(one, run, now) == at("2026-11-09T23:00:00")


def test_after_a_week_of_sleep_the_newest_slot_is_due_and_no_other() -> None:
    one = job("*/15 * * * *")
    now = at("2026-11-09T08:07:00")
    assert due(one, ended("2026-11-02T08:00:00"), now) == at("2026-11-09T08:00:00")
    assert due(one, ended("2026-11-09T08:00:00"), now) is None


SPRING = [
    (LISBON, "2026-03-28T00:00:00", "30 1 * * *", datetime(2026, 3, 29, 2, 0)),
    (NEW_YORK, "2026-03-07T05:00:00", "30 2 * * *", datetime(2026, 3, 8, 3, 0)),
]
AUTUMN = [
    (LISBON, "2026-10-23T23:00:00", "30 1 * * *", datetime(2026, 10, 25, 1, 30)),
    (NEW_YORK, "2026-10-31T04:00:00", "30 1 * * *", datetime(2026, 11, 1, 1, 30)),
]


@pytest.mark.parametrize(("zone", "midnight", "expression", "when"), SPRING + AUTUMN)
def test_once_on_the_night_without_the_hour_and_once_on_the_night_with_two(
    zone: ZoneInfo, midnight: str, expression: str, when: datetime
) -> None:
    start = at(midnight, zone)
    assert (start.hour, start.minute) == (0, 0)
    ran = ticked(job(expression), start, days=3)
    assert [moment.date() for moment in ran] == [start.date() + timedelta(days=n) for n in range(3)]
    assert ran[1].replace(tzinfo=None, fold=0) == when and ran[1].fold == 0


@pytest.mark.parametrize(("zone", "midnight", "expression", "when"), AUTUMN)
def test_missed_in_the_first_of_the_two_hours_it_runs_in_the_second(
    zone: ZoneInfo, midnight: str, expression: str, when: datetime
) -> None:
    slot = when.replace(tzinfo=zone).astimezone(UTC)
    later = (slot + timedelta(minutes=45)).astimezone(zone)
    assert (later.hour, later.minute, later.fold) == (1, 15, 1)  # earlier, says the wall
    one = job(expression)
    assert one.previous(later) == slot
    assert one.following(later) == slot + timedelta(hours=25)  # the next day at half past one
    assert due(one, ended("2026-10-20T00:00:00"), later) == slot


@pytest.mark.parametrize("start", ["2026-03-28T12:00:00", "2026-10-24T12:00:00"])
def test_every_quarter_of_an_hour_is_one_whatever_the_clocks_do(start: str) -> None:
    ran = ticked(job("*/15 * * * *"), at(start), days=1)
    assert len(ran) == 24 * 4


EXPRESSIONS = ["*/15 * * * *", "30 1 * * *", "30 2 * * 7", "0 0,1,2,3 * * *", "59 23 L * *"]


@given(
    zone=some.sampled_from(ZONES),
    expression=some.sampled_from(EXPRESSIONS),
    day=some.sampled_from(["2026-03-08", "2026-03-29", "2026-04-05", "2026-10-04", "2026-10-25"]),
    seconds=some.integers(-86400, 2 * 86400),
)
def test_no_slot_lies_between_the_previous_and_the_following(
    zone: ZoneInfo, expression: str, day: str, seconds: int
) -> None:
    now = (datetime.fromisoformat(f"{day}T00:00:00Z") + timedelta(seconds=seconds)).astimezone(zone)
    one = job(expression)
    before, after = one.previous(now), one.following(now)
    assert before is not None and after is not None
    assert before <= now.astimezone(UTC) < after
    assert one.following(before.astimezone(zone)) == after
    assert one.previous(after.astimezone(zone)) == after
    assert one.previous((after - timedelta(seconds=1)).astimezone(zone)) == before


@pytest.mark.parametrize(("failures", "minutes"), [(1, 15), (2, 30), (3, 60), (4, 120)])
def test_a_failed_job_is_tried_again_after_longer_and_longer_pauses(
    failures: int, minutes: int
) -> None:
    one = job("0 23 * * *")
    run = ended("2026-11-08T23:00:00", "failed", "2026-11-08T23:05:00", failures)
    again = at("2026-11-08T23:05:00") + timedelta(minutes=minutes)
    assert due(one, run, again - timedelta(seconds=1)) is None
    assert due(one, run, again) == run.slot
    assert upcoming(one, run, at("2026-11-08T23:06:00")) == again


def test_but_never_later_than_its_next_slot() -> None:
    one = job("*/15 * * * *")
    run = ended("2026-11-09T08:00:00", "failed", failures=40)
    assert due(one, run, at("2026-11-09T08:14:59")) is None
    assert due(one, run, at("2026-11-09T08:15:00")) == at("2026-11-09T08:15:00")
    assert upcoming(one, run, at("2026-11-09T08:01:00")) == at("2026-11-09T08:15:00")


def test_a_record_from_a_clock_that_was_ahead_neither_blocks_nor_repeats() -> None:
    one = job("0 23 * * *")
    now = at("2026-11-09T08:00:00")
    slot = due(one, ended("2031-01-01T23:00:00"), now)
    assert slot == at("2026-11-08T23:00:00")
    assert due(one, ended("2026-11-08T23:00:00"), now) is None  # recorded, it is over


def test_a_clock_set_back_a_little_does_not_run_a_slot_twice() -> None:
    one = job("0 23 * * *")
    run = ended("2026-11-09T23:00:00")
    assert due(one, run, at("2026-11-09T22:59:58")) is None
    assert due(one, run, at("2026-11-09T23:00:00")) is None
    assert due(one, run, at("2026-11-10T23:00:00")) == at("2026-11-10T23:00:00")


def test_a_failure_in_the_future_is_tried_again_now() -> None:
    one = job("0 23 * * *")
    run = ended("2026-11-08T23:00:00", "failed", "2026-11-09T20:00:00", 1)
    assert due(one, run, at("2026-11-09T08:00:00")) == run.slot


def test_what_ran_by_hand_counts_for_its_slot() -> None:
    one = job("0 23 * * *")
    run = ended("2026-11-09T15:00:00")
    assert due(one, run, at("2026-11-09T22:59:00")) is None
    assert due(one, run, at("2026-11-09T23:00:00")) == at("2026-11-09T23:00:00")
