from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.story import Claude
from wakebook import Memory
from wakebook.base.config import Config, Hosts
from wakebook.base.errors import ConfigError, WakebookError
from wakebook.capture.state import Session
from wakebook.learn.catch_up import Sweep
from wakebook.upkeep.jobs import JOBS, ORDER, Jobs, JobSlot, Ran, Rooms
from wakebook.upkeep.watch import Watcher, watch


def test_forty_writes_then_a_cooldown_of_five_minutes(memory: Memory, projects: Path) -> None:
    watcher = Watcher(Config())
    claude = Claude(projects)

    def due(now: float) -> int:
        return len(watcher.due([claude.path], memory.opened.state(), now))

    for number in range(39):
        claude.agent(f"step {number}")
    assert due(0) == 0
    claude.agent("step 39")
    assert due(1) == 1
    assert due(2) == 0  # still behind, but within the cooldown
    assert due(300) == 0
    assert due(302) == 1
    memory.catch_up()
    assert due(900) == 0  # nothing new


def test_only_main_sessions_fire(memory: Memory, projects: Path) -> None:
    folder = projects / "5e551011" / "subagents"
    folder.mkdir(parents=True)
    helper = Claude(folder, "agent-a1")
    for number in range(50):
        helper.agent(f"step {number}")
    assert Watcher(Config()).due([helper.path], memory.opened.state(), 0) == []


def test_files_that_are_no_sessions_and_files_that_are_gone_are_nothing(
    memory: Memory, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    paths = [tmp_path / "notes.txt", tmp_path / "gone.jsonl", tmp_path]
    assert Watcher(Config()).due(paths, memory.opened.state(), 0) == []


def at(*folders: Path) -> Hosts:
    """These folders of Claude Code's, and no other host."""
    none = dict.fromkeys(Hosts.settings, ())
    return Hosts(**none | {"claude_code": tuple(map(str, folders))})


def run_to_the_end(work: Callable[[], None]) -> None:
    thread = Thread(target=work)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize("somewhere", [True, False])
def test_a_tick_at_the_start_and_then_with_every_minute_of_the_clock(
    memory: Memory, projects: Path, monkeypatch: pytest.MonkeyPatch, somewhere: bool
) -> None:
    """Whether there is a folder to watch or not, and if the clock is set back."""
    config = Config(hosts=at(projects) if somewhere else at())
    minutes = iter(["08:01:59", "08:02:00", "07:00:00"])
    ticks: list[str] = []
    stop = Event()

    def tick() -> None:
        now = next(minutes, None)
        ticks.append(now or "enough")
        monkeypatch.setenv("WAKEBOOK_NOW", f"2026-11-09T{now}Z") if now else stop.set()

    caught: list[list[Session]] = []
    run_to_the_end(lambda: watch(config, memory.opened.state, caught.append, stop, tick))
    assert ticks == ["08:01:59", "08:02:00", "07:00:00", "enough"] and caught == []


def forty(folder: Path) -> None:
    claude = Claude(folder)
    for number in range(40):
        claude.agent(f"step {number}")


def test_between_ticks_forty_writes_are_caught_up_on(memory: Memory, projects: Path) -> None:
    """The clock stands still: one tick, and what is written during it is not missed."""
    stop = Event()
    happened: list[object] = []

    def tick() -> None:
        happened.append("tick")
        forty(projects)

    def catch_up(found: list[Session]) -> None:
        happened.append([session.host for session in found])
        stop.set()

    run_to_the_end(
        lambda: watch(Config(hosts=at(projects)), memory.opened.state, catch_up, stop, tick)
    )
    assert happened == ["tick", ["claude-code"]]


def test_a_folder_that_appears_later_is_watched(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path.home() / "later"
    stop = Event()
    caught: list[Session] = []

    def tick() -> None:
        if folder.exists():  # so it is watched by now
            forty(folder)
        folder.mkdir(exist_ok=True)
        monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T08:01:00Z")

    def catch_up(found: list[Session]) -> None:
        caught.extend(found)
        stop.set()

    run_to_the_end(
        lambda: watch(Config(hosts=at(folder)), memory.opened.state, catch_up, stop, tick)
    )
    assert len(caught) == 1


# --- the watch of a whole memory ------------------------------------------------------

RUN = [name for name in ORDER if name not in ("topics", "sync")]  # no cron trigger, no remote


class Stubbed(Memory):
    """Whose bigger jobs say for which day they were asked; one of them fails."""

    @cached_property
    def jobs(self) -> Jobs:
        def rough(rooms: Rooms, slot: JobSlot) -> str:
            raise WakebookError("the sea is rough")

        def said(rooms: Rooms, slot: JobSlot) -> str:
            return f"{slot.at:%Y-%m-%d %H:%M}"

        named = dict.fromkeys(("weekly", "monthly", "prune", "tags"), said)
        return Jobs(self, self._caught_up, lambda: None, JOBS | {"daily": rough, **named})


class Watched:
    """A watch that is over when a job or a clock says so."""

    def __init__(self, memory: Memory, until: str) -> None:
        self.memory = Stubbed(memory.home.root)
        self.until = until
        self.stop = Event()
        self.ran: list[Ran] = []
        self.swept: list[Sweep] = []
        self.errors: list[str] = []

    def _ran(self, ran: Ran) -> None:
        self.ran.append(ran)
        if ran.job == self.until:
            self.stop.set()

    def run(self) -> Watched:
        see = self.swept.append, self.errors.append, self._ran
        run_to_the_end(lambda: self.memory.jobs.watch(self.stop, *see))
        return self

    @property
    def names(self) -> list[str]:
        return [ran.job for ran in self.ran]


def test_the_watch_recovers_first_and_no_failing_job_ends_it(
    memory: Memory, projects: Path
) -> None:
    Claude(projects).user("I prefer uv over pip.")
    watched = Watched(memory, until="tags").run()
    assert watched.names == RUN and [done.messages for done in watched.swept] == [1]
    outcomes = {ran.job: ran.outcome for ran in watched.ran}
    assert outcomes == dict.fromkeys(RUN, "ok") | {"daily": "failed"}
    assert {ran.job: ran.said for ran in watched.ran}["weekly"] == "2026-11-08 23:30"
    assert watched.errors == []


def test_it_ends_between_two_jobs_when_it_is_told_to(memory: Memory, projects: Path) -> None:
    assert Watched(memory, until="weekly").run().names == RUN[:4]


def test_recovery_comes_first_even_if_nothing_is_due(memory: Memory, projects: Path) -> None:
    Watched(memory, until="tags").run()
    Claude(projects).user("I prefer uv over pip.")
    watched = Watched(memory, until="observe").run()
    assert watched.names == ["observe"] and watched.swept[0].messages == 1


def test_without_the_observe_job_only_the_others_run(memory: Memory, projects: Path) -> None:
    memory.home.config.write_text('[schedule]\nobserve = ""\n')
    Claude(projects).user("I prefer uv over pip.")
    watched = Watched(memory, until="tags").run()
    assert watched.names == RUN[1:] and watched.swept == []


def test_a_home_that_breaks_is_told_of_and_the_watch_goes_on(
    memory: Memory, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(memory, until="")
    whole: list[bytes] = []

    def failed(error: str) -> None:
        watched.errors.append(error)
        memory.home.state.write_bytes(whole[0])
        watched.until = "observe"
        monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T08:30:00Z")

    def ran(ran: Ran) -> None:
        watched._ran(ran)
        if ran.job == "tags":
            whole.append(memory.home.state.read_bytes())
            memory.home.state.write_bytes(b'{"version":99}')
            monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T08:15:00Z")

    stop = watched.stop
    run_to_the_end(lambda: watched.memory.jobs.watch(stop, watched.swept.append, failed, ran))
    assert "state.json: has version 99" in watched.errors[0]
    assert watched.names == [*RUN, "observe"]


def test_a_wrong_expression_is_told_at_once(memory: Memory) -> None:
    memory.home.config.write_text('[schedule]\ndaily = "25:00"\n')
    with pytest.raises(ConfigError, match=r"\[schedule\] daily"):
        Stubbed(memory.home.root).jobs.watch(Event())
