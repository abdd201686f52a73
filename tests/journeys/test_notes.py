"""Notes through the real command line: written, edited, reviewed, explained, mended."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.history.test_git import git
from tests.journeys.command import run, run_json

NOTHING: dict[str, list[str]] = {"waiting": [], "edits": [], "contradictions": [], "clashes": []}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("WAKEBOOK_HOME", str(home))
    run("init")
    return home


def number(path: Path, part: str) -> int:
    lines = path.read_text().split("\n")
    return next(count for count, line in enumerate(lines, 1) if part in line)


def test_from_a_remembered_fact_to_a_reviewed_correction(home: Path) -> None:
    run("remember", "Tokens live 15 min", "--subject", "auth")
    run("remember", "Send the form [to] <them>", "--type", "task", "--subject", "auth")
    notes = home / "knowledge/projects/auth/notes.md"
    progress = home / "knowledge/projects/auth/progress.md"
    assert "- Tokens live 15 min ([[2026-11-09]])" in notes.read_text()
    assert "Nothing to review." in run("review")
    assert run_json("review") == NOTHING

    said = run("why", f"projects/auth/notes.md:{number(notes, '15 min')}")
    assert "Tokens live 15 min" in said
    [entry] = run_json("why", f"projects/auth/notes.md:{number(notes, '15 min')}")["why"]["entries"]
    assert entry["content"] == "Tokens live 15 min"

    notes.write_text(notes.read_text().replace("15 min", "[20] min") + "\nmine\n")
    progress.write_text(progress.read_text().replace("- [ ] Send", "- [x] Send"))
    listed = run("review")
    assert "1. knowledge/projects/auth/notes.md:" in listed
    assert "- Tokens live 15 min" in listed
    assert "+ - Tokens live [20] min" in listed
    assert "✓" in listed
    assert "2 edited blocks to review" in listed
    assert [len(one["changes"]) for one in run_json("review")["edits"]] == [1, 1]
    assert "was edited by hand" in run("status")

    assert "1 entry from 1 block" in run("review", "accept", "1")
    done = run_json("review", "accept", "projects/auth/progress.md")
    [entry] = done["entries"]
    assert (entry["content"], entry["status"]) == ("Send the form [to] <them>", "done")
    assert run_json("review") == NOTHING
    assert "- Tokens live [20] min" in notes.read_text()
    assert notes.read_text().endswith("\nmine\n")
    assert run_json("review", "accept")["entries"] == []


def test_rejecting_brings_the_generated_text_back(home: Path) -> None:
    run("remember", "Tokens live 15 min", "--subject", "auth")
    run("commit")
    notes = home / "knowledge/projects/auth/notes.md"
    before = notes.read_text()
    notes.write_text(before.replace("15 min", "20 min"))
    assert len(run_json("review", "reject", "1")["rejected"]) == 1
    assert notes.read_text() == before
    assert "20 min" in git(home, "log", "-p", "--", "knowledge/projects/auth/notes.md")
    assert "0 blocks written anew" in run("review", "reject")
    assert "wakebook review" in run("review", "reject", "7", code=9)


def test_writing_the_notes_by_hand(home: Path) -> None:
    run("remember", "Tokens live 15 min", "--subject", "auth")
    assert "0 notes written" in run("notes")
    notes = home / "knowledge/projects/auth/notes.md"
    notes.unlink()
    assert "knowledge/projects/auth/notes.md" in run("notes", "--full")
    assert "15 min" in notes.read_text()
    notes.unlink()
    done = run_json("notes", "--full")
    assert done["updated"]["written"] == ["knowledge/projects/auth/notes.md"]
    assert done["broken_links"] == []
    assert "wakebook review" in " ".join(run("notes", "--help").split())


def test_a_broken_note_is_told_of_everywhere_and_heals(home: Path) -> None:
    run("remember", "Tokens live 15 min", "--subject", "auth")
    notes = home / "knowledge/projects/auth/notes.md"
    good = notes.read_text()
    notes.write_text(good.replace("<!-- wakebook:end notes -->\n", "mine\n"))
    run("remember", "Uses RS256", "--subject", "auth")
    line = number(notes, "wakebook:begin")
    said = run("notes", code=1)
    assert "to be mended: knowledge/projects/auth/notes.md" in said
    assert f"line {line}" in said
    problems = run_json("notes", code=1)["updated"]["problems"]
    assert list(problems) == ["knowledge/projects/auth/notes.md"]
    status = run("status", code=1)
    assert "knowledge/projects/auth/notes.md" in status
    assert f"line {line}" in status
    notes.write_text(f"{good}mine\n")
    assert "1 note written" in run("notes")
    assert "Uses RS256" in notes.read_text()
    run("status")


def test_links_that_lead_nowhere(home: Path) -> None:
    run("remember", "Tokens live 15 min", "--subject", "auth")
    assert "Every link leads to a note." in run("notes", "--check")
    assert run_json("notes", "--check") == []
    mine = home / "knowledge/reference/mine.md"
    mine.write_text("# Mine\n\nsee [[nowhere]]\n")
    assert "knowledge/reference/mine.md:3: no note nowhere" in run("notes", "--check", code=1)
    [link] = run_json("notes", "--check", code=1)
    assert (link["path"], link["line"], link["target"]) == (
        "knowledge/reference/mine.md",
        3,
        "nowhere",
    )
    assert "mine.md:3 links to nowhere" in run("status")


def test_why_of_lines_that_nobody_generated(home: Path) -> None:
    run("remember", "Tokens live 15 min", "--subject", "auth")
    notes = home / "knowledge/projects/auth/notes.md"
    notes.write_text(notes.read_text() + "\nmine\n")
    run("commit", "-m", "my own words")
    place = f"projects/auth/notes.md:{number(notes, 'mine')}"
    said = run("why", place)
    assert "a person wrote it" in said
    assert "memory: my own words" in said
    assert run_json("why", place)["why"]["entries"] == []
    assert "Write it like" in run("why", "nonsense", code=2)
    assert "no note or other text" in run("why", "none.md:1", code=9)


def test_renaming_moves_the_notes_at_once(home: Path) -> None:
    run("remember", "Tokens live 15 min", "--subject", "auth")
    notes = home / "knowledge/projects/auth/notes.md"
    notes.write_text(notes.read_text() + "\nmine\n")
    run("subjects", "rename", "auth", "login")
    moved = home / "knowledge/projects/login/notes.md"
    assert moved.read_text().endswith("\nmine\n")
    assert not notes.exists()
    assert run_json("notes", "--check") == []
