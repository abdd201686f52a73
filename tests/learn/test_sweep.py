"""Sessions side by side, sources that go away, files that change under our feet."""

from __future__ import annotations

import json
import os
import shutil
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.crash import run_and_die
from tests.journeys.test_crash import fresh, outcome
from tests.learn.test_catch_up import Verbatim, contents, transcripts, verbatim
from tests.story import WORKDAY, Claude, chat
from wakebook import Memory, Query, WakebookError
from wakebook.base import markdown
from wakebook.base.errors import TranscriptError
from wakebook.base.home import Home


def overlapping(folder: Path) -> None:
    """Two sessions that take turns: 8:00, 12:00, 20:00."""
    first = Claude(folder, "aaaaaaaa-0000-4000-8000-000000000001")
    second = Claude(folder, "bbbbbbbb-0000-4000-8000-000000000002")
    first.at = datetime(2026, 11, 7, 8, 0, tzinfo=UTC)
    first.user("The launch is on 7 November.").agent("Noted.")
    second.at = datetime(2026, 11, 7, 12, 0, tzinfo=UTC)
    second.user("No, actually the launch is on 14 November.").agent("Noted.")
    first.at = datetime(2026, 11, 7, 20, 0, tzinfo=UTC)
    first.user("No, actually the launch is on 21 November.").agent("Noted.")


def test_windows_are_taken_in_the_order_in_which_they_were_said(
    memory: Memory, projects: Path
) -> None:
    overlapping(projects)
    verbatim(memory).catch_up()
    kept = contents(memory, "fact")
    assert [text.split()[-2] for text in kept] == ["7", "14", "21"]


def test_a_kill_between_overlapping_sessions_changes_nothing(
    tmp_path: Path, projects: Path
) -> None:
    overlapping(projects)
    reference = fresh(tmp_path / "reference")
    Memory(reference.home.root, Verbatim()).catch_up()
    expected = outcome(reference)
    for step in range(1, 200, 3):
        memory = fresh(tmp_path / "home")
        root = memory.home.root
        died = run_and_die(lambda at=root: Memory(at, Verbatim()).catch_up(), step)  # type: ignore[misc]
        Memory(root, Verbatim()).catch_up()
        assert outcome(memory) == expected, f"after dying at step {step}"
        shutil.rmtree(root)
        if not died:
            return
    raise AssertionError("it never got through")


def test_older_words_never_replace_newer_ones(memory: Memory, projects: Path) -> None:
    new = Claude(projects, "aaaaaaaa-0000-4000-8000-000000000001")
    new.user("The launch is on 21 November.")
    memory.catch_up()
    late = Claude(projects, "bbbbbbbb-0000-4000-8000-000000000002")
    late.at = new.at - timedelta(days=5)
    late.user("No, actually the launch is on 14 November.")
    memory.catch_up()
    newest = memory.log.entries(Query(text="21 november", types=("fact", "decision"), all=True))[0]
    assert newest.id not in memory.log.chains().replaced_by


def recent(projects: Path, session: str = "cccccccc-0000-4000-8000-000000000003") -> Claude:
    claude = Claude(projects, session)
    claude.at = datetime(2026, 11, 9, 7, 30, tzinfo=UTC)
    return claude


def test_a_source_that_goes_away_leaves_its_handoff(
    memory: Memory, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude = chat(recent(projects), WORKDAY)
    memory = verbatim(memory)
    memory.catch_up()
    claude.path.unlink()
    memory.catch_up()
    assert contents(memory, "handoff") == []  # it may still come back
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T20:00:00Z")
    assert len(memory.catch_up().closed) == 1
    assert contents(memory, "handoff") == ["6 turns"]
    [(name, text)] = transcripts(memory).items()
    front, _ = markdown.split(text)
    assert front["closed"] is True and len(front["source"]["sha256"]) == 64
    assert (memory.home.conversations / name).stat().st_mode & 0o777 == 0o400
    assert "Still Open" not in memory.wake()
    assert memory.catch_up().closed == ()


def test_a_lost_state_costs_nothing_of_an_open_window(memory: Memory, projects: Path) -> None:
    claude = recent(projects).user("one").agent("fine")
    memory = verbatim(memory)
    memory.catch_up()
    memory.home.state.unlink()
    claude.user("two").agent("good")
    memory.catch_up(closing=True)
    assert contents(memory, "fact") == ["one", "two"]
    assert contents(memory, "handoff") == ["4 turns"]
    assert len(transcripts(memory)) == 1


def test_two_files_with_one_id_are_two_sessions(memory: Memory) -> None:
    chats = Path.home() / "chats"
    for folder, text in (("a", "I like tea."), ("b", "I like coffee.")):
        (chats / folder).mkdir(parents=True)
        message = {"role": "user", "content": text, "timestamp": "2026-11-08T10:00:00Z"}
        (chats / folder / "chat.jsonl").write_text(json.dumps(message) + "\n")
    memory.home.config.write_text(f'[hosts]\nplain = ["{chats}"]\n')
    memory = verbatim(Memory(memory.home.root))
    assert memory.catch_up().messages == 2
    assert sorted(contents(memory, "fact")) == ["I like coffee.", "I like tea."]
    assert memory.catch_up().messages == 0
    assert [account.status for account in memory.audit()] == ["ok", "ok"]


def test_a_file_with_a_name_that_is_no_text_stops_nobody(memory: Memory, projects: Path) -> None:
    chat(Claude(projects), WORKDAY)
    with open(os.fsencode(projects) + b"/bad\xff.jsonl", "wb") as stream:  # noqa: PTH123
        stream.write((projects / f"{Claude(projects).session}.jsonl").read_bytes())
    done = memory.catch_up()
    assert done.messages == len(WORKDAY)
    assert ["not UTF-8" in error for error in done.failed.values()] == [True]
    assert memory.catch_up().failed


def test_a_pipe_and_a_link_are_no_sessions(memory: Memory, projects: Path) -> None:
    claude = chat(Claude(projects), WORKDAY)
    os.mkfifo(projects / "pipe.jsonl")
    (projects / "link.jsonl").symlink_to(claude.path)
    assert memory.catch_up().messages == len(WORKDAY)
    assert len(memory.audit()) == 1
    with pytest.raises(TranscriptError, match="neither a file nor a folder"):
        memory.catch_up([projects / "pipe.jsonl"])


@pytest.mark.parametrize("keep", [0, 4])
def test_a_file_that_was_rewritten_behind_its_first_line(
    memory: Memory, projects: Path, keep: int
) -> None:
    claude = Claude(projects)
    for number in range(6):
        claude.user(f"message {number}")
    memory = verbatim(memory)
    memory.catch_up()
    lines = claude.path.read_text().splitlines(keepends=True)
    claude.path.write_text("".join(lines[: keep + 1]))
    claude.session = "5e551011-0000-4000-8000-00000000ffff"  # new ids
    for number in range(6, 12):
        claude.user(f"message {number}, rewritten and longer than before")
    memory.catch_up()
    kept = [int(text.split()[1].rstrip(",")) for text in contents(memory, "fact")]
    assert kept == list(range(12))


def test_a_file_that_shrank_to_what_was_read_is_not_read_again(
    memory: Memory, projects: Path
) -> None:
    claude = Claude(projects)
    for number in range(10):
        claude.user(f"message {number}")
    memory = verbatim(memory)
    memory.catch_up()
    lines = claude.path.read_text().splitlines(keepends=True)
    claude.path.write_text("".join(lines[:8]))
    assert memory.catch_up().messages == 0
    assert len(transcripts(memory)) == 1


def test_a_broken_registry_fails_the_sweep_and_no_session(memory: Memory, projects: Path) -> None:
    chat(Claude(projects), WORKDAY)
    memory.home.subjects.write_text("[]")
    for _ in range(3):
        with pytest.raises(WakebookError, match=r"subjects.json"):
            memory.catch_up()
    memory.home.subjects.write_text("{}")
    assert memory.catch_up().messages == len(WORKDAY)


def test_what_was_removed_from_the_home_is_missed(memory: Memory, projects: Path) -> None:
    chat(Claude(projects), WORKDAY)
    memory.catch_up()
    [path] = memory.home.conversations.glob("*/*/*/*.md")
    path.unlink()
    [account, removed] = memory.audit()
    assert removed.status == "changed" and "was removed" in removed.note
    assert account.status == "missing" and "1 of 1 transcripts" in account.note
    memory.home.log.write_text("")
    account, _ = memory.audit()
    assert "entries are gone" in account.note


def test_a_stop_ends_a_sweep_between_portions(memory: Memory, projects: Path) -> None:
    overlapping(projects)
    looks = iter([False, True])
    memory._caught_up(memory.opened.sessions(), stopped=lambda: next(looks))
    assert len(transcripts(memory)) == 1
    memory.catch_up()
    assert len(transcripts(memory)) == 3


def test_two_threads_with_one_home_take_turns(tmp_path: Path) -> None:
    home = Home(tmp_path)
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        for _ in range(50):
            with home.locked(), home.locked():
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
