"""`wakebook rebuild` and `wakebook forget`, as somebody types them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.journeys.command import run, run_json
from tests.rebuild.test_rebuild import DAY, misread, session, three_days
from tests.story import chat
from wakebook import Memory


@pytest.fixture
def home(memory: Memory, projects: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.setenv("WAKEBOOK_HOME", str(memory.home.root))
    three_days(projects)
    run("catch-up")
    return Memory(memory.home.root)


def test_build_compare_merge(home: Memory, tmp_path: Path) -> None:
    misread(home, "Petra owns", "The [billing] service belongs to a colleague, Petra")
    told = run("rebuild", "--dry-run")
    assert "3 conversations would be read" in told and "Nothing was changed" in told
    assert "No rebuilds" in run("rebuild", "--list")
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"question": "When is the launch?", "expect": "21 November"}\n')
    told = run("rebuild", "--branch", "better", "--questions", str(questions))
    assert "3 conversations read" in told
    assert "0 added, 0 lost, 1 changed" in told
    assert "The [billing] service belongs to a colleague, Petra" in told
    assert "100% answered now, 100% by the rebuild, of 1 (an expected text occurs" in told
    assert "cost: nothing" in told and "wakebook rebuild merge better" in told
    assert "better" in run("rebuild", "--list") and "complete" in run("rebuild", "--list")
    assert "is complete" in run("rebuild", "--branch", "better")
    told = run("rebuild", "--merge", "better")
    assert "Merged:" in told and "memory/before/extract-better" in told
    assert "was merged before" in run("rebuild", "--merge", "better")
    assert "belongs to a colleague" not in home.home.log.read_text()


def test_for_machines(home: Memory) -> None:
    assert run_json("rebuild", "--dry-run")["transcripts"] == 3
    built = run_json("rebuild", "--branch", "a")
    assert built["complete"] and built["read"] == 3
    total = built["rebuild"]["comparison"]["total"]
    assert total["same"] and not total["lost"]
    assert run_json("rebuild", "--show", "a")["rebuild"]["branch"] == "extract/a"
    [listed] = run_json("rebuild", "--list")
    assert listed["name"] == "a" and listed["complete"]
    dropped = run_json("rebuild", "--drop", "a")
    assert dropped["restore"].startswith("git -C ")
    assert run_json("rebuild", "--drop", "a", code=9)["error"]["kind"] == "NotFound"
    assert run_json("rebuild", "--list") == []


@pytest.mark.parametrize(
    "given",
    [
        ("--model", "anthropic/x"),
        ("--list", "--show", "a"),
        ("--merge", "a", "--branch", "b"),
        ("--merge", "a", "--questions", "x"),
        ("--since", "someday"),
    ],
)
def test_what_does_not_go_together(home: Memory, given: tuple[str, ...]) -> None:
    run("rebuild", *given, code=2)


def test_messages_say_what_to_do(home: Memory, tmp_path: Path) -> None:
    assert "name one with --model" in run("rebuild", "--extractor", "model", code=5)
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{}\n")
    assert "bad.jsonl, line 1" in run("rebuild", "--questions", str(bad), code=1)
    assert not (home.home.cache / "rebuild").exists()  # before anything was read
    assert "cannot be a branch" in run("rebuild", "--branch", "a b", code=8)
    assert "--list" in run("rebuild", "--merge", "nothing", code=9)


def test_killed_from_outside_it_goes_on(home: Memory, projects: Path) -> None:
    for number in range(10, 90):
        text = f"We decided to number the boats from {number}."
        at = DAY.replace(month=9, day=1 + number % 28, hour=number % 24)
        chat(session(projects, number, at), [("user", text), ("agent", "Fine.")])
    home.home.config.write_text("[git]\nenabled = false\n")
    run("catch-up")
    home.home.config.write_text("")
    command = [sys.executable, "-m", "wakebook", "rebuild", "--branch", "a"]
    journal = home.home.cache / "rebuild" / "a" / ".cache" / "rebuild.jsonl"
    with subprocess.Popen(command, env=os.environ, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None and not _has_step(journal):
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    built = run_json("rebuild", "--branch", "a")
    assert built["complete"]
    rebuilt = (home.home.cache / "rebuild" / "a" / "log.jsonl").read_bytes()
    run("rebuild", "--branch", "b")
    assert (home.home.cache / "rebuild" / "b" / "log.jsonl").read_bytes() == rebuilt


def _has_step(journal: Path) -> bool:
    try:
        return journal.read_bytes().count(b"\n") > 1
    except OSError:
        return False


def test_forgetting_shows_what_goes_and_asks(home: Memory) -> None:
    [entry] = [one for one in home.log.chains().entries if "Petra owns" in one.content]
    told = run("forget", entry.id[:6], stdin="n\n", code=130)
    assert "1 entry will be forgotten" in told and "Petra owns" in told
    assert entry.id in home.home.log.read_text()
    run("forget", entry.id, "--json", code=2)
    told = run("forget", entry.id, stdin="y\n")
    assert "1 entry forgotten" in told
    assert "sentence of conversations: told no more" in told
    assert "git's history" in told
    assert entry.id not in home.home.log.read_text()
    assert "Petra" not in run("log", "--all")
    run("forget", entry.id, "--yes", code=9)


def test_forgetting_a_correction_says_what_holds_again(home: Memory) -> None:
    first = home.remember("The deposit is 100 euros")
    second = home.remember("The deposit is 200 euros", replaces=[first.id])
    told = run("forget", second.id, stdin="n\n", code=130)
    assert "holds again" in told and "100 euros" in told and "--chain" in told
    done = run_json("forget", second.id, "--chain", "--yes")
    assert {one["id"] for one in done["forgotten"]} == {first.id, second.id}
    assert done["hold_again"] == []
    assert run_json("search", "deposit", code=1)["hits"] == []
