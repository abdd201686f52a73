from __future__ import annotations

import time
from pathlib import Path
from threading import Event, Thread

from tests.story import Claude
from wakebook import Memory
from wakebook.capture.session import Session
from wakebook.config import Config, Hosts, Watch
from wakebook.lifecycle.watch import Watcher, watch


def test_forty_writes_then_a_cooldown_of_five_minutes(memory: Memory, projects: Path) -> None:
    watcher = Watcher(Config())
    claude = Claude(projects)

    def due(now: float) -> int:
        return len(watcher.due([claude.path], memory.state(), now))

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
    assert Watcher(Config()).due([helper.path], memory.state(), 0) == []


def test_files_that_are_no_sessions_and_files_that_are_gone_are_nothing(
    memory: Memory, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    paths = [tmp_path / "notes.txt", tmp_path / "gone.jsonl", tmp_path]
    assert Watcher(Config()).due(paths, memory.state(), 0) == []


def at(*folders: Path) -> Hosts:
    """These folders of Claude Code's, and no other host."""
    none = dict.fromkeys(Hosts.settings, ())
    return Hosts(**none | {"claude_code": tuple(map(str, folders))})


def test_the_baseline_catches_up_on_everything_again_and_again(
    memory: Memory, projects: Path
) -> None:
    """With a baseline of no minutes: at the start, and then at every look."""
    config = Config(watch=Watch(baseline_minutes=0), hosts=at(projects))
    calls: list[list[Session] | None] = []
    stop = Event()

    def catch_up(found: list[Session] | None) -> None:
        calls.append(found)
        if len(calls) == 3:
            stop.set()

    thread = Thread(target=watch, args=(config, memory.state, catch_up, stop))
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    assert calls == [None, None, None]


def test_without_any_folder_it_waits_for_one(memory: Memory) -> None:
    stop = Event()
    calls: list[object] = []

    config = Config(hosts=at())
    thread = Thread(target=watch, args=(config, memory.state, calls.append, stop))
    thread.start()
    time.sleep(0.2)
    assert thread.is_alive() and calls == [None]
    stop.set()
    thread.join(10)
    assert not thread.is_alive()
