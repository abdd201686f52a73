"""kill -9 at every step of catch_up, then again at random: the log is the same."""

from __future__ import annotations

import random
import shutil
from datetime import UTC, datetime
from pathlib import Path

from tests import homes
from tests.crash import Bare, run_and_die
from tests.learn.test_catch_up import transcripts
from tests.story import NEXT_DAY, WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.capture import state as states


def fresh(folder: Path) -> Memory:
    memory = homes.made(folder)
    memory.home.config.write_text("[git]\nenabled = false\n")
    return memory


def outcome(memory: Memory) -> tuple[bytes, dict[str, str], str]:
    memory = Memory(memory.home.root)
    assert states.load(memory.home).pending is None
    assert not list(memory.home.root.rglob(".*.tmp"))
    return memory.home.log.read_bytes(), transcripts(memory), memory.home.subjects.read_text()


def two_sessions(folder: Path) -> None:
    first = chat(Claude(folder), WORKDAY)
    first.call("Bash", "c1", command="make").result("c1", "ok").pause(hours=9)
    chat(first, NEXT_DAY[:2])
    chat(Claude(folder, "5e551011-0000-4000-8000-000000000002").pause(hours=20), NEXT_DAY)


def test_killed_at_every_step_and_recovered_the_log_is_identical(
    tmp_path: Path, projects: Path
) -> None:
    two_sessions(projects)
    reference = fresh(tmp_path / "reference")
    reference.catch_up()
    expected = outcome(reference)
    step = 0
    while True:
        step += 1
        memory = fresh(tmp_path / "home")
        died = run_and_die(memory.catch_up, step)
        Bare(memory.home.root).catch_up()
        assert outcome(memory) == expected, f"after dying at step {step}"
        shutil.rmtree(memory.home.root)
        if not died:
            break
    assert step > 40  # otherwise nothing was counted


def test_killed_again_and_again_while_the_conversation_goes_on(
    tmp_path: Path, projects: Path
) -> None:
    """Twenty-five kills at random steps, with new words between them."""
    chance = random.Random(7)
    memory = fresh(tmp_path / "home")
    claude = Claude(projects)
    claude.at = datetime(2026, 11, 9, 6, 0, tzinfo=UTC)
    turns = (WORKDAY + NEXT_DAY) * 3
    kills = 0
    for role, text in turns:
        claude.user(text) if role == "user" else claude.agent(text)
        kills += run_and_die(lambda: Memory(memory.home.root).catch_up(), chance.randint(1, 30))
    assert kills >= 25
    Memory(memory.home.root).catch_up(closing=True)
    reference = fresh(tmp_path / "reference")
    reference.catch_up(closing=True)
    log, files, subjects = outcome(memory)
    expected_log, expected_files, expected_subjects = outcome(reference)
    assert log == expected_log
    assert subjects == expected_subjects
    assert files == expected_files


def test_two_processes_at_once_do_the_work_of_one(tmp_path: Path, projects: Path) -> None:
    import os

    two_sessions(projects)
    reference = fresh(tmp_path / "reference")
    reference.catch_up()
    memory = fresh(tmp_path / "home")
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                Memory(memory.home.root).catch_up()
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0, 0]
    assert outcome(memory) == outcome(reference)
