"""Condensing and retiring from the command line, and killed -9 at every step."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests import homes
from tests.crash import run_and_die
from tests.history.test_git import git
from tests.journeys.command import run, run_json
from tests.lend import entry, known
from tests.notes.condensing import HELD, OWN, TODAY, day_of, note, own_words, sayings, shown
from wakebook import Memory
from wakebook.notes import condensed

FLEET = "projects/fleet/notes.md"


def lived_in(root: Path, git_too: bool = False) -> Memory:
    """A home with a long day, and a project that nobody has spoken of for a year."""
    memory = homes.made(root)
    if not git_too:
        memory.home.config.write_text("[git]\nenabled = false\n")
        memory = Memory(root)
    memory.log.add_subject("fleet")
    known(
        memory,
        *day_of(60),
        entry(0.3, HELD[0], "task"),
        entry(0.3, HELD[1], "question"),
        entry(0.3, HELD[2], pinned=True),
        *[entry(400, one, subject="fleet") for one in sayings(3, seed=3)],
        entry(400, "Sell Otter in spring", "decision", subject="fleet"),
    )
    memory.notes.update()
    own_words(memory, TODAY)
    own_words(memory, FLEET)
    memory.notes.update()
    if git_too:
        memory.history.commit("as it was")
    return memory


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.setenv("WAKEBOOK_HOME", str(tmp_path / "home"))
    return lived_in(tmp_path / "home", git_too=True)


# --- from the command line -------------------------------------------------------------------


def test_a_day_condensed_and_taken_back(home: Memory) -> None:
    before = note(home, TODAY).read_bytes()
    said = run("tick", "daily")
    assert "1 condensed" in said
    assert len(shown(home)) <= 40 and all(held in "\n".join(shown(home)) for held in HELD)
    assert "journal/2026-11-09.md" in run("undo", "--list")
    done = run_json("undo")
    assert set(done["restored"]) == {f"knowledge/{TODAY}"} | (
        {condensed.NAME} if (home.home.root / condensed.NAME).exists() else set()
    )
    assert note(home, TODAY).read_bytes() == before
    run("notes")
    run("tick", "observe", "commit", "briefing")
    assert note(home, TODAY).read_bytes() == before
    assert "taken back" in run("undo", "--list")
    assert "1 condensed" in run("tick", "daily"), "whoever runs the job wants it"


def test_why_of_a_condensed_line(home: Memory) -> None:
    said = "Mira stores the bookings of the boat school in Postgres"
    one, other = known(home, entry(0.002, said), entry(0.001, f"{said} now"))
    run("tick", "daily")
    lines = note(home, TODAY).read_text().splitlines()
    [number] = [n for n, line in enumerate(lines, 1) if said in line]
    found = run_json("why", f"journal/2026-11-09.md:{number}")["why"]
    assert {one_["id"] for one_ in found["entries"]} == {one.id, other.id}
    assert found["rewritten"] == "rules"
    told = run("why", f"{TODAY}:{number}")
    assert one.id in told and other.id in told and "rules" in told


def test_a_refusal_is_told_by_the_job_and_by_status(home: Memory) -> None:
    known(home, *[entry(0.1, one, "task") for one in sayings(50, seed=8)])
    run("notes")
    before = note(home, TODAY).read_bytes()
    said = " ".join(run("tick", "daily").split())
    assert "stays as it is" in said and "over its cap" in said
    assert note(home, TODAY).read_bytes() == before
    assert "over its cap" in " ".join(run("status", code=1).split())


def test_a_broken_record_fails_the_job_with_a_clear_message(home: Memory) -> None:
    run("tick", "daily")
    (home.home.root / condensed.NAME).write_text("{")
    said = " ".join(run("tick", "daily", code=1).split())
    assert "condensed.json: cannot be read" in said and "checkout condensed.json" in said
    assert "condensed.json" in " ".join(run("notes", code=1).split())
    run("remember", "It goes on")
    assert "condensed.json" in " ".join(run("status", code=1).split())


def test_a_project_retires_is_found_and_comes_back(home: Memory) -> None:
    assert "retired to archive/" in run("tick", "monthly")
    assert not note(home, FLEET).exists()
    text = (home.home.root / "archive" / FLEET).read_text()
    assert text.endswith(OWN)
    run("notes", "--check")
    assert f"archive/{FLEET}" in run("search", "Mira's own words")
    assert "Mira's own words" in run("show", f"archive/{FLEET}")
    log = git(home.home.root, "log", "-M", "--diff-filter=D", "--format=", "--name-only")
    assert log == "", "nothing was ever deleted"
    done = run_json("restore", f"archive/{FLEET}")
    assert done == {"from": f"archive/{FLEET}", "to": f"knowledge/{FLEET}"}
    assert note(home, FLEET).read_text() == text
    run("notes", "--check")


def test_what_cannot_be_restored(home: Memory) -> None:
    run("tick", "monthly")
    assert "does not exist" in run("restore", "projects/nowhere", code=9)
    assert "not in the archive" in " ".join(run("restore", "../config.toml", code=1).split())
    note(home, FLEET).parent.mkdir(parents=True, exist_ok=True)
    note(home, FLEET).write_text("A new one.\n")
    assert "exists already" in " ".join(run("restore", FLEET, code=1).split())
    assert note(home, FLEET).read_text() == "A new one.\n"


def test_undo_says_when_there_is_nothing_to_take_back(home: Memory) -> None:
    assert "no rewrite" in run("undo", "--list")
    assert "no rewrite to take back" in run("undo", code=9)


def test_a_memory_that_is_too_long_is_told(home: Memory) -> None:
    own = "".join(f"- Mira's line {n}\n" for n in range(230))
    own_words(home, "memory/MEMORY.md", own)
    run("tick", "weekly", "prune", "briefing")
    assert home.home.memory.read_text().count(own) == 1
    assert "MEMORY.md has 2" in " ".join(run("status", code=1).split())
    assert "Not committed" in run("commit", code=8)


# --- kill -9 ---------------------------------------------------------------------------------


def files(memory: Memory) -> dict[str, bytes]:
    """Every note, and what is known about rewrites."""
    root = memory.home.root
    found = [path for top in ("knowledge", "archive") for path in (root / top).rglob("*")]
    record = [root / condensed.NAME]
    paths = [path for path in (*found, *record) if path.is_file() and path.suffix != ".tmp"]
    return {memory.home.relative(path): path.read_bytes() for path in paths}


def work(root: Path, job: str) -> None:
    memory = Memory(root)
    memory.notes.daily(memory.opened.now()) if job == "daily" else memory.notes.retire()


@pytest.mark.parametrize("job", ["daily", "retire"])
def test_killed_at_every_step_it_is_done_or_not_and_then_done(tmp_path: Path, job: str) -> None:
    lived_in(tmp_path / "template")

    def fresh(name: str) -> Memory:
        shutil.copytree(tmp_path / "template", tmp_path / name, symlinks=True)
        return Memory(tmp_path / name)

    reference = fresh("reference")
    before = files(reference)
    reference.notes.update()
    work(reference.home.root, job)
    after = files(reference)
    assert before != after
    step = 0
    while True:
        step += 1
        memory = fresh("home")
        died = run_and_die(lambda: work(tmp_path / "home", job), step)
        for path, data in files(memory).items():
            assert data in (before.get(path), after.get(path)), f"{path}, died at step {step}"
        assert _all_text(memory).count(OWN) == 2, step
        memory = Memory(memory.home.root)
        memory.notes.update()
        work(memory.home.root, job)
        assert files(memory) == after, f"after dying at step {step}"
        memory.catch_up()
        assert not list(memory.home.root.rglob("*.tmp")), step
        shutil.rmtree(memory.home.root)
        if not died:
            break
    assert step > 5  # otherwise nothing was counted


def versions(root: Path, path: str) -> list[bytes]:
    """What the history holds of a file."""
    found: list[bytes] = []
    for commit in git(root, "log", "--diff-filter=AM", "--format=%H", "--", path).split():
        command = ["git", "-C", str(root), "show", f"{commit}:{path}"]
        found.append(subprocess.run(command, capture_output=True, check=True).stdout)
    return found


def _all_text(memory: Memory) -> str:
    return "\n".join(data.decode() for data in files(memory).values())


@pytest.mark.parametrize("job", ["daily", "retire"])
def test_killed_with_git_the_backup_is_there_and_nothing_is_lost(tmp_path: Path, job: str) -> None:
    lived_in(tmp_path / "template", git_too=True)
    kills = 0
    root = tmp_path / "home"
    for step in range(2, 40, 3):
        shutil.copytree(tmp_path / "template", root, symlinks=True)
        memory = Memory(root)
        own_words(memory, TODAY, "Not committed yet.\n")
        before = files(memory)
        died = run_and_die(lambda: work(root, job), step)
        kills += died
        for path, data in before.items():
            if files(memory).get(path) != data:
                assert data in versions(root, path), f"{path}: no backup, died at step {step}"
        memory = Memory(root)
        memory.notes.update()
        work(root, job)
        assert "Not committed yet." in _all_text(memory) and OWN in _all_text(memory)
        memory.history.commit()
        assert git(root, "status", "--porcelain") == "", step
        assert git(root, "fsck", "--no-dangling") == ""
        shutil.rmtree(root)
        if not died:
            break
    assert kills >= 2
