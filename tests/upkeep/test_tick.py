from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from tests.crash import run_and_die
from tests.story import Claude
from wakebook import Memory
from wakebook.base import cache, clock
from wakebook.base.config import Schedule
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.capture import state as states
from wakebook.capture.state import JobRun, Progress
from wakebook.upkeep.jobs import ORDER, Body, JobSlot, Ran, named, table, tick

JOBS = table(Schedule(), Path("config.toml"))
Go = Callable[[str], None]


@pytest.fixture
def home(memory: Memory) -> Home:
    return memory.home


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Go:
    return lambda text: monkeypatch.setenv("WAKEBOOK_NOW", f"2026-11-{text}Z")


class Diary:
    """Bodies that write down what they were asked to do."""

    def __init__(self, **special: Body) -> None:
        self.slots: list[JobSlot] = []
        self.bodies: dict[str, Body] = dict.fromkeys(ORDER, self._write) | special

    def _write(self, slot: JobSlot) -> str:
        self.slots.append(slot)
        return f"did {slot.job}"

    @property
    def names(self) -> list[str]:
        return [slot.job for slot in self.slots]

    def tick(self, home: Home, *names: str) -> list[Ran]:
        jobs = named(JOBS, names) if names else JOBS
        return tick(home, jobs, self.bodies, clock.now, asked=bool(names))


def refuse(slot: JobSlot) -> str:
    raise WakebookError("the sea is\n  rough")


def last(home: Home, name: str) -> JobRun:
    return states.load(home).jobs[name]


def runs(home: Home, name: str) -> int:
    return sum(record["job"] == name for record in home.traces("job", 1000))


def test_all_that_is_due_runs_once_in_order_and_is_recorded_and_traced(home: Home) -> None:
    diary = Diary()
    done = diary.tick(home)
    assert diary.names == list(ORDER) == [ran.job for ran in done]
    assert diary.tick(home) == [] and len(diary.slots) == len(ORDER)
    run = last(home, "daily")
    assert (run.outcome, run.said, run.failures) == ("ok", "did daily", 0)
    assert run.slot == datetime.fromisoformat("2026-11-08T23:00:00Z")
    assert run.started == run.ended == clock.now()
    [trace] = [record for record in home.traces("job") if record["job"] == "daily"]
    assert trace["slot"] == "2026-11-08T23:00:00Z" and trace["outcome"] == "ok"
    assert trace["said"] == "did daily" and trace["seconds"] >= 0


def test_a_week_of_sleep_costs_one_run_of_each(home: Home, at: Go) -> None:
    diary = Diary()
    diary.tick(home)
    at("16T08:07:00")
    diary.tick(home)
    diary.tick(home)
    assert diary.names == [*ORDER, *(name for name in ORDER if name != "monthly")]
    assert {slot.job: f"{slot.at:%d %H:%M}" for slot in diary.slots}["daily"] == "15 23:00"


def test_a_failing_job_is_recorded_and_the_others_run(memory: Memory, home: Home) -> None:
    diary = Diary(daily=refuse)
    done = {ran.job: ran for ran in diary.tick(home)}
    assert done["daily"].outcome == "failed" and done["daily"].said == "the sea is rough"
    assert diary.names == [name for name in ORDER if name != "daily"]
    run = last(home, "daily")
    assert (run.outcome, run.error, run.said, run.failures) == ("failed", "the sea is rough", "", 1)
    assert any("job daily: the sea is rough" in problem for problem in memory.status().problems)


def test_it_is_tried_again_with_patience_until_it_does_well(home: Home, at: Go) -> None:
    diary = Diary(daily=refuse)
    diary.tick(home)
    for moment, failures in (
        ("09T08:14:00", 1),
        ("09T08:15:00", 2),
        ("09T08:44:00", 2),
        ("09T08:45:00", 3),
        ("09T09:30:00", 3),
    ):
        at(moment)
        diary.tick(home)
        assert last(home, "daily").failures == failures, moment
    at("09T09:45:00")
    well = Diary()
    well.tick(home)
    assert [slot.at for slot in well.slots if slot.job == "daily"] == [last(home, "daily").slot]
    assert (last(home, "daily").outcome, last(home, "daily").failures) == ("ok", 0)
    assert runs(home, "daily") == 4


def test_what_nobody_foresaw_is_a_failure_with_its_origin(home: Home) -> None:
    def divide(slot: JobSlot) -> str:
        return str(1 // 0)

    [ran] = Diary(tags=divide).tick(home, "tags")
    assert ran.outcome == "failed" and "ZeroDivisionError" in ran.said
    [trace] = home.traces("failure")
    assert trace["where"] == "job tags" and "divide" in trace["origin"]


def test_what_a_job_says_becomes_one_short_line(home: Home) -> None:
    [ran] = Diary(tags=lambda slot: "a\n b" + "c" * 9999).tick(home, "tags")
    assert ran.said.startswith("a bccc") and len(ran.said) == 500
    assert last(home, "tags").said == ran.said


def test_by_name_a_job_runs_now_due_or_not(home: Home) -> None:
    diary = Diary()
    diary.tick(home, "tags", "daily")
    diary.tick(home, "daily")
    assert diary.names == ["daily", "tags", "daily"]
    assert all(slot.asked and slot.at == clock.now() for slot in diary.slots)
    assert "daily" not in [ran.job for ran in diary.tick(home)]  # it counts


def test_by_name_even_one_that_is_switched_off(home: Home) -> None:
    off = table(Schedule(tags=""), Path("config.toml"))
    diary = Diary()
    assert "tags" not in [ran.job for ran in tick(home, off, diary.bodies, clock.now)]
    [ran] = tick(home, named(off, ["tags"]), diary.bodies, clock.now, asked=True)
    assert ran.outcome == "ok"


def test_what_others_wrote_into_the_state_meanwhile_stays(home: Home) -> None:
    def learn(slot: JobSlot) -> str:
        with home.locked():
            known = Progress(host="plain", id="a", path="a.md", position=7)
            states.save(home, states.load(home).with_session("plain/a", known))
        return "learned"

    Diary(observe=learn).tick(home)
    state = states.load(home)
    assert state.sessions["plain/a"].position == 7 and len(state.jobs) == len(ORDER)


def test_a_job_that_another_process_has_claimed_is_left_to_it(home: Home) -> None:
    diary = Diary()
    with home.reading("job/daily"):
        done = diary.tick(home)
    busy = Ran(job="daily", outcome="busy", said="another process is running it")
    assert done[ORDER.index("daily")] == busy and "daily" not in states.load(home).jobs
    assert diary.names == [name for name in ORDER if name != "daily"]
    assert [ran.job for ran in diary.tick(home)] == ["daily"]


def test_jobs_that_build_on_what_another_process_is_reading_are_left_to_it(home: Home) -> None:
    diary = Diary()
    with home.reading("job/observe"):
        assert [ran.outcome for ran in diary.tick(home)] == ["busy"]
    assert diary.names == [] and states.load(home).jobs == {}
    assert [ran.job for ran in diary.tick(home)] == list(ORDER)


def test_a_job_that_another_process_has_just_done_is_not_done_again(home: Home) -> None:
    """Both saw that it was due; the second one looks again once it has the claim."""
    late = Diary()

    def meanwhile(slot: JobSlot) -> str:
        Diary().tick(home, *(name for name in ORDER if name != "observe"))
        return "slow"

    late.bodies["observe"] = meanwhile
    assert [ran.job for ran in late.tick(home)] == ["observe"]
    assert late.names == []


def test_it_ends_between_two_jobs(home: Home) -> None:
    diary = Diary()
    tick(home, JOBS, diary.bodies, clock.now, stopped=lambda: len(diary.slots) == 2)
    assert diary.names == list(ORDER[:2]) == list(states.load(home).jobs)


def test_an_interruption_is_no_outcome(home: Home) -> None:
    def interrupt(slot: JobSlot) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Diary(briefing=interrupt).tick(home)
    assert list(states.load(home).jobs) == ["observe", "topics"]


# --- other processes -----------------------------------------------------------------


def child(action: Callable[[], object]) -> int:
    """Run in a process of its own."""
    number = os.fork()
    if number:
        return number
    code = 1
    try:
        action()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def test_many_processes_that_tick_at_once_run_every_job_once(home: Home) -> None:
    gate, opened = os.pipe()

    def race() -> None:
        os.close(opened)
        os.read(gate, 1)  # until all are there
        Diary().tick(Home(home.root))

    children = [child(race) for _ in range(5)]
    os.close(gate)
    os.close(opened)
    assert [os.waitpid(number, 0)[1] for number in children] == [0] * 5
    assert {name: runs(home, name) for name in ORDER} == dict.fromkeys(ORDER, 1)


def test_a_job_killed_half_way_runs_again_with_the_next_tick(home: Home) -> None:
    def die(slot: JobSlot) -> str:
        os.kill(os.getpid(), signal.SIGKILL)
        return "unreachable"

    _, status = os.waitpid(child(lambda: Diary(weekly=die).tick(Home(home.root))), 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert list(states.load(home).jobs) == ["observe", "topics", "briefing", "daily"]
    diary = Diary()
    diary.tick(home)
    assert diary.names == ["weekly", "monthly", "prune", "commit", "tags", "sync"]


def test_killed_at_any_step_the_state_is_whole_and_the_job_runs_to_its_end(home: Home) -> None:
    jobs = named(JOBS, ["commit"])
    before = home.state.read_bytes() if home.state.exists() else None
    step, died = 0, True
    while died:
        step += 1
        home.state.unlink(missing_ok=True)
        if before is not None:
            home.state.write_bytes(before)
        died = run_and_die(lambda: tick(home, jobs, Diary().bodies, clock.now), step)
        recorded = "commit" in states.load(home).jobs
        again = tick(home, jobs, Diary().bodies, clock.now)
        assert [ran.outcome for ran in again] == ([] if recorded else ["ok"])
        assert last(home, "commit").said == "did commit"
    assert step > 5


def test_a_state_from_before_there_were_jobs_is_read(home: Home) -> None:
    states.save(home, states.State())
    old = msgspec.json.decode(home.state.read_bytes())
    del old["jobs"]
    home.state.write_bytes(msgspec.json.encode(old))
    assert states.load(home).jobs == {}
    assert len(Diary().tick(home)) == len(ORDER)


class Counting(Memory):
    woken = 0

    def wake(self, cwd: str = "", *, project: str = "", everywhere: bool = False) -> str:
        Counting.woken += 1
        return super().wake(cwd, project=project, everywhere=everywhere)


def test_what_a_session_is_told_is_made_once_when_all_jobs_are_done(
    memory: Memory, claude: Claude
) -> None:
    done = Counting(memory.home.root).tick()
    assert "observe" in [ran.job for ran in done] and len(done) > 1
    assert Counting.woken == 1
    kept = list((memory.home.cache / "start").glob("*.md"))
    assert [path.read_text().split("\n", 1)[0] for path in kept] == [
        cache.key(str(memory.home.root))
    ]
