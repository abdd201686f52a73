"""Erasing from the command line, killed half-way, and what undo and rereading make of it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.crash import run_and_die
from tests.history.test_git import git
from tests.journeys.command import call, run
from tests.upkeep.erasing import CHAT, CODE, SAID, everywhere, holding, lived, told
from wakebook import Memory
from wakebook.service import tools
from wakebook.upkeep.scrub import JOURNAL


def contents(memory: Memory) -> set[str]:
    return {one.content for one in memory.log.chains().entries}


def test_it_is_shown_first_and_the_receipt_says_nothing(memory: Memory, tmp_path: Path) -> None:
    root = memory.home.root
    at = ("--home", str(root))
    chat = lived(memory, tmp_path)
    memory.close()
    before = dict(everywhere(root))
    asked = run("erase", *at, CODE, "--dry-run")
    assert "2 entries will go" in asked and "written anew" in asked
    assert str(chat) in asked.replace("\n", "")
    run("erase", *at, CODE, "--json", code=2)
    assert {name for name in before if not name.startswith(("index", ".cache"))} <= {
        name for name, _ in everywhere(root)
    }
    done = run("erase", *at, CODE, "--yes")
    assert "nothing is left" in done.replace("\n", " ")
    receipt = done[done.index("Receipt") :]
    assert CODE not in receipt and "2 entries" in receipt
    assert holding(root, CODE) == []
    assert "erase" not in tools.NAMES


def test_a_conversation_goes_with_all_that_was_learned_from_it(
    memory: Memory, tmp_path: Path
) -> None:
    root = memory.home.root
    chat = lived(memory, tmp_path)
    kept = {one.content for one in memory.log.chains().entries if one.session != CHAT}
    done = memory.eraser.erase(session=CHAT)
    assert done.scan.found == () and done.removed == 1
    assert holding(root, CHAT, SAID) == []
    memory = Memory(root)
    assert contents(memory) == kept
    assert git(root, "fsck", "--strict") == ""
    memory.catch_up([chat], closing=True)  # its file is still there, and is not read again
    assert contents(memory) == kept
    assert {one.status for one in memory.audit([chat])} == {"ok"}


def test_what_was_said_since_a_day_goes(memory: Memory, tmp_path: Path) -> None:
    root = memory.home.root
    memory.catch_up([told(tmp_path, "earlier", "2026-11-01")], closing=True)
    before = contents(memory)
    later = told(tmp_path, "later", "2026-11-05")
    later.write_text(later.read_text().replace("Harbour", "Lakeside"))
    memory.catch_up([later], closing=True)
    memory.remember("Something of today")
    memory.history.commit("all")
    done = memory.eraser.erase(since=datetime(2026, 11, 4, tzinfo=UTC))
    assert done.scan.found == ()
    assert holding(root, "Lakeside", "Something of today") == []
    assert contents(Memory(root)) == before
    memory.catch_up([later], closing=True)
    assert holding(root, "Lakeside") == []


def test_killed_anywhere_it_is_finished_by_doctor(memory: Memory, tmp_path: Path) -> None:
    root = memory.home.root
    lived(memory, tmp_path)
    kept = {one for one in contents(memory) if CODE not in one}
    for step in (2, 6, 14, 30, 60, 95):
        if not run_and_die(lambda: Memory(root).eraser.erase(CODE), step):
            break
        assert kept <= contents(Memory(root))
        if (root / JOURNAL).exists():
            assert any("interrupted" in one for one in Memory(root).status().problems)
    Memory(root).doctor(quick=True)
    Memory(root).eraser.erase(CODE)  # where it was killed before it had begun
    assert not (root / JOURNAL).exists()
    assert holding(root, CODE) == []
    assert kept <= contents(Memory(root))
    assert git(root, "fsck", "--strict") == ""


def test_undo_does_not_bring_it_back_and_says_so(memory: Memory) -> None:
    root = memory.home.root
    note = root / "knowledge" / "reference" / "mine.md"
    note.write_text(f"one\n{CODE}\nthree\n")
    memory.history.commit("mine")
    with memory.home.locked(), memory.history.git().rewrite("maintenance", "shorter", [note]):
        note.write_text("one\nthree\n")
    memory.eraser.erase(CODE)
    assert "stays erased" in run("history", "undo", "--home", str(root))
    assert note.read_text() == "one\n[erased]\nthree\n"
    assert holding(root, CODE) == []
    assert all(one.undone for one in Memory(root).rewrites())


@pytest.mark.parametrize("given", [["erase"], ["erase", "abc", "--yes"], ["erase", "--redact"]])
def test_bad_input_gets_a_sentence(memory: Memory, given: list[str]) -> None:
    assert call(*given, "--home", str(memory.home.root)).code in (1, 2)


def test_what_is_not_there_changes_nothing(memory: Memory) -> None:
    memory.remember("one thing")
    before = dict(everywhere(memory.home.root))
    said = run("erase", "no such words", "--yes", "--home", str(memory.home.root))
    assert "Nothing in the home holds it" in said
    assert {n: d for n, d in everywhere(memory.home.root) if n.startswith("git")} == {
        n: d for n, d in before.items() if n.startswith("git")
    }


@pytest.mark.parametrize("name", ["index.lock", "refs/heads/main.lock"])
def test_a_lock_that_a_killed_erasure_has_left_is_removed(memory: Memory, name: str) -> None:
    memory.remember(f"The safe holds {CODE}")
    memory.history.commit()
    lock = memory.home.root / ".git" / name
    lock.write_text("")
    os.utime(lock, (0, 0))  # as if some time had passed
    assert memory.eraser.erase(CODE).well
    assert not lock.exists() and holding(memory.home.root, CODE) == []
