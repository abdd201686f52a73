"""The job `topics`: cron triggers fire once a slot, in the user's time zone, whoever ticks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

import pytest

from wakebook import Memory
from wakebook.capture import state as states
from wakebook.recall.topics.book import Fired
from wakebook.upkeep.jobs import JobStatus, Ran

STANDUP = "Say what was done, what comes next, and what is in the way."
Go = Callable[[str], None]


@pytest.fixture(autouse=True)
def _utc(memory: Memory) -> None:
    settings(memory)
    (memory.home.root / "topics/release-day.md").unlink()


def settings(memory: Memory, zone: str = "UTC", more: str = "") -> None:
    memory.home.config.write_text(f'[schedule]\ntime_zone = "{zone}"\n{more}')


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Go:
    return lambda text: monkeypatch.setenv("WAKEBOOK_NOW", f"2026-11-{text}:00Z")


def scheduled(memory: Memory, *schedules: str, name: str = "standup") -> Path:
    triggers = "".join(f'  - type: cron\n    schedule: "{one}"\n' for one in schedules)
    path = memory.home.root / "topics" / f"{name}.md"
    path.write_text(f"---\ntype: topic\ntriggers:\n{triggers}---\n# Standup\n\n{STANDUP}\n")
    return path


def tick(memory: Memory, *names: str) -> str:
    """What the job says in a tick of a process that has just begun; nothing if it did not run."""
    done = Memory(memory.home.root).tick(names)
    return next((ran.said for ran in done if ran.job == "topics"), "")


def waiting(memory: Memory) -> list[Fired]:
    return Memory(memory.home.root).topics.waiting()


def told(memory: Memory, session: str = "5560") -> bool:
    """Whether the next turn is told of it; after which it waits no longer."""
    return STANDUP in Memory(memory.home.root).context("Hello", session=session).text


# --- once a slot ---------------------------------------------------------------------------


def test_it_fires_once_a_slot_and_comes_with_the_next_turn(memory: Memory, at: Go) -> None:
    scheduled(memory, "0 8 * * *")
    at("09T07:58")
    assert tick(memory) == "nothing is due" and not told(memory)
    at("09T08:00")
    assert tick(memory) == "fired: standup"
    [one] = waiting(memory)
    assert (one.topic, one.why, one.session) == ("standup", "schedule 0 8 * * *", "")
    assert told(memory) and not told(memory)
    for moment in ("09T08:01", "09T08:05", "09T08:10", "09T23:55", "10T07:55"):
        at(moment)
        assert tick(memory) in ("", "nothing is due"), moment
    at("10T08:00")
    assert tick(memory) == "fired: standup" and told(memory)


@pytest.mark.parametrize("minute", range(10))
def test_late_ticks_fire_it_once(memory: Memory, at: Go, minute: int) -> None:
    """The job has slots of its own, every five minutes; somebody may tick between them."""
    scheduled(memory, f"{minute} 8 * * *")
    times = 0
    for moment in ("07:52", "08:03", "08:05", "08:07", "08:13", "08:15", "08:16", "08:20"):
        at(f"09T{moment}")
        times += tick(memory) == "fired: standup"
        told(memory)
    assert times == 1


def test_every_slot_of_a_frequent_schedule(memory: Memory, at: Go) -> None:
    scheduled(memory, "*/15 * * * *")
    heard = []
    for minute in range(0, 60, 5):
        at(f"09T09:{minute:02}")
        if tick(memory) == "fired: standup":
            heard.append(minute)
            assert told(memory)
    assert heard == [0, 15, 30, 45]


def test_a_week_that_was_missed_is_one_standup(memory: Memory, at: Go) -> None:
    scheduled(memory, "0 8 * * *")
    at("09T08:00")
    tick(memory)
    assert told(memory)
    at("16T12:07")
    assert tick(memory) == "fired: standup"
    assert len(waiting(memory)) == 1 and told(memory) and not told(memory)
    at("16T12:10")
    assert tick(memory) == "nothing is due"


def test_the_first_look_goes_back_a_quarter_of_an_hour(memory: Memory, at: Go) -> None:
    scheduled(memory, "50 7 * * *")
    scheduled(memory, "30 7 * * *", name="long-ago")
    assert tick(memory) == "fired: standup"


def test_two_schedules_and_two_topics(memory: Memory) -> None:
    scheduled(memory, "0 8 * * *", "55 7 * * 1", "0 9 * * *")
    scheduled(memory, "0 8 * * 1-5", name="tea")
    assert tick(memory) == "fired: standup, tea"
    assert {one.topic for one in waiting(memory)} == {"standup", "tea"}
    assert {one.why for one in waiting(memory)} >= {"schedule 0 8 * * *", "schedule 55 7 * * 1"}


def test_a_slot_that_fires_again_before_a_turn_waits_once(memory: Memory, at: Go) -> None:
    scheduled(memory, "0 * * * *")
    for hour in ("08", "09", "10"):
        at(f"09T{hour}:00")
        assert tick(memory) == "fired: standup"
    assert len(waiting(memory)) == 1


# --- the user's time zone ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "moment"),
    [("Europe/Lisbon", "09T08:00"), ("America/New_York", "09T13:00"), ("Asia/Kolkata", "09T02:30")],
)
def test_eight_is_eight_where_the_user_is(memory: Memory, at: Go, zone: str, moment: str) -> None:
    settings(memory, zone)
    scheduled(memory, "0 8 * * *")
    at("09T00:00")
    tick(memory)
    hour, minute = int(moment[3:5]), moment[6:]
    at(f"09T{hour - 1:02}:{minute}")
    assert tick(memory) == "nothing is due"
    at(moment)
    assert tick(memory) == "fired: standup"


def test_an_hour_that_comes_twice_is_one_slot(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(memory, "America/New_York")
    scheduled(memory, "30 1 * * *")
    heard = []
    for now in ("01T04:00", "01T05:30", "01T06:30", "01T07:00", "02T06:30"):
        monkeypatch.setenv("WAKEBOOK_NOW", f"2026-11-{now}:00Z")
        if tick(memory) == "fired: standup":
            heard.append(now)
            told(memory)
    assert heard == ["01T05:30", "02T06:30"]


# --- nothing to do -------------------------------------------------------------------------


def test_nothing_without_a_cron_trigger(memory: Memory) -> None:
    path = memory.home.root / "topics/mail.md"
    path.write_text(
        "---\ntype: topic\ntriggers:\n  - type: webhook\n    source: email\n"
        "  - type: keyword\n    match: mail\n    schedule: '* * * * *'\n---\nRead it.\n"
    )
    assert tick(memory) in ("", "nothing is due") and waiting(memory) == []
    path.unlink()
    assert tick(memory, "topics") == "nothing is due"
    assert not (memory.home.root / "fired.json").exists()


def test_a_bad_file_stops_no_other(memory: Memory) -> None:
    scheduled(memory, "0 25 * * *", name="bad")
    scheduled(memory, "0 8 * * *")
    assert tick(memory) == "fired: standup"


def test_a_file_that_cannot_be_read_stops_nothing(memory: Memory) -> None:
    scheduled(memory, "0 8 * * *")
    (memory.home.root / "topics/a.md").symlink_to("/proc/self/mem")  # which gives an I/O error
    assert tick(memory) == "fired: standup"
    assert standing(memory).last


def test_switched_off_it_runs_by_name_only(memory: Memory) -> None:
    settings(memory, more='topics = ""\n')
    scheduled(memory, "0 8 * * *")
    assert tick(memory) == "" and waiting(memory) == []
    assert tick(memory, "topics") == "fired: standup"


def standing(memory: Memory) -> JobStatus:
    [job] = [one for one in Memory(memory.home.root).jobs.listed() if one.job == "topics"]
    return job


def test_it_is_in_the_table(memory: Memory) -> None:
    assert standing(memory).about == "fire the topics whose cron trigger is due"
    assert standing(memory).words == "when a topic has a cron trigger"
    scheduled(memory, "0 9 * * *")
    job = standing(memory)
    assert job.expression == "*/5 * * * *" and job.due and job.last is None
    tick(memory)
    job = standing(memory)
    assert job.last and job.last.outcome == "ok" and job.last.said == "nothing is due"
    assert job.next and f"{job.next:%H:%M}" == "08:05"
    settings(memory, more='topics = ""\n')
    assert standing(memory).words == "switched off"
    (memory.home.root / "topics/standup.md").unlink()
    assert standing(memory).words == "switched off"


def test_a_topic_that_comes_later_fires_too(memory: Memory, at: Go) -> None:
    at("09T07:50")
    tick(memory)
    scheduled(memory, "0 8 * * *")
    at("09T08:00")
    assert tick(memory) == "fired: standup"


def test_by_name_it_is_as_with_any_tick(memory: Memory, at: Go) -> None:
    scheduled(memory, "2 8 * * *")
    assert tick(memory, "topics") == "nothing is due"
    at("09T08:03")
    assert tick(memory, "topics") == "fired: standup" and told(memory)
    assert tick(memory, "topics") == "nothing is due"
    at("09T08:05")
    assert tick(memory) == "nothing is due" and not told(memory)


# --- what goes wrong -----------------------------------------------------------------------


def test_what_is_due_while_the_job_fails_is_made_up_for(memory: Memory, at: Go) -> None:
    scheduled(memory, "0 8 * * *")
    at("09T07:55")
    assert tick(memory) == "nothing is due"
    obstacle = memory.home.root / "fired.json"
    obstacle.mkdir()
    (memory.home.root / "fired.broken").write_text("so that it cannot be put there")
    at("09T08:00")
    assert "fired.json" in tick(memory)
    assert states.load(memory.home).jobs["topics"].outcome == "failed"
    assert any("job topics" in problem for problem in memory.status().problems)
    obstacle.rmdir()
    at("09T08:05")
    assert tick(memory) == "fired: standup" and told(memory)
    at("09T08:20")
    assert tick(memory) == "nothing is due"


def test_a_clock_that_was_ahead_silences_nothing(memory: Memory, at: Go) -> None:
    scheduled(memory, "0 8 * * *")
    at("25T12:00")
    tick(memory)
    told(memory)
    at("09T08:00")
    assert tick(memory) == "fired: standup"


def test_what_cannot_be_read_of_those_that_wait_is_begun_anew(memory: Memory) -> None:
    (memory.home.root / "fired.json").write_text('[{"topic": "x"')
    scheduled(memory, "0 8 * * *")
    assert tick(memory) == "fired: standup" and told(memory)
    assert any("fired.json" in problem for problem in memory.status().problems)
    repository = ["git", "-C", str(memory.home.root)]
    left = subprocess.run([*repository, "status", "--short"], capture_output=True, text=True)
    assert "fired" not in left.stdout


# --- processes -----------------------------------------------------------------------------


def wakebook(memory: Memory, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "wakebook", "--home", str(memory.home.root), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)


@pytest.mark.parametrize("name", [[], ["topics"]])
def test_ticks_at_the_same_time_fire_once(memory: Memory, name: list[str]) -> None:
    off = "".join(
        f'{job} = ""\n' for job in "observe commit briefing daily weekly monthly prune tags".split()
    )
    settings(memory, more=off)
    scheduled(memory, "0 8 * * *")
    children = [wakebook(memory, "tick", *name) for _ in range(4)]
    said = "".join(child.communicate(timeout=120)[0] for child in children)
    assert [child.returncode for child in children] == [0] * 4
    assert said.count("fired: standup") == 1
    assert len(waiting(memory)) == 1


def watched(
    memory: Memory, ran: Callable[[Ran, Event], None], failed: Callable[[str], None] = print
) -> list[str]:
    """A watch until `ran`, which hears of every job, ends it. What the jobs have said."""
    stop, heard = Event(), list[str]()

    def tell(done: Ran) -> None:
        heard.append(f"{done.job} {done.said}")
        ran(done, stop)

    watch = Thread(target=lambda: memory.jobs.watch(stop, failed=failed, ran=tell), daemon=True)
    watch.start()
    watch.join(90)
    assert not watch.is_alive() and stop.is_set(), heard
    return heard


def test_a_watch_fires_what_gets_its_schedule_later(memory: Memory, at: Go) -> None:
    def ran(done: Ran, stop: Event) -> None:
        if done.job == "tags":  # the last of the first round
            scheduled(memory, "20 8 * * *")
            at("09T08:30")
        elif done.job == "commit" and done.slot and f"{done.slot:%H:%M}" == "08:30":
            stop.set()

    assert "topics fired: standup" in watched(memory, ran)


def test_a_home_that_is_away_for_a_minute_does_not_end_the_watch(memory: Memory, at: Go) -> None:
    away = memory.home.config.with_name("config.away")
    errors: list[str] = []

    def ran(done: Ran, stop: Event) -> None:
        if done.job == "tags":
            memory.home.config.rename(away)
            at("09T08:15")
        elif done.job == "commit" and done.slot and f"{done.slot:%H:%M}" == "08:30":
            stop.set()

    def failed(error: str) -> None:
        errors.append(error)
        away.rename(memory.home.config)
        at("09T08:30")

    scheduled(memory, "20 8 * * *")
    assert "topics fired: standup" in watched(memory, ran, failed)
    assert ["There is no Wakebook home" in one for one in errors] == [True]


def test_from_the_command_line_to_the_next_context(memory: Memory) -> None:
    scheduled(memory, "0 8 * * *")

    def run(*arguments: str) -> str:
        child = wakebook(memory, *arguments)
        out, _ = child.communicate(timeout=120)
        assert child.returncode == 0
        return out

    assert "fire the topics whose cron trigger is due" in run("jobs")
    assert run("tick", "topics").startswith("● topics    fired: standup")
    assert "● standup waits: schedule 0 8 * * *" in run("topics", "list")
    assert "schedule 0 8 * * *" in run("context", "Hello", "--explain")
    assert STANDUP in run("context", "Hello", "--session", "5560")
    assert STANDUP not in run("context", "Hello", "--session", "5560")
    assert "waits" not in run("topics", "list")
    assert run("tick", "topics").startswith("● topics    nothing is due")
