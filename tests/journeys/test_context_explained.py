"""`wakebook context --explain`: what is in a context, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journeys.command import run, run_json
from tests.journeys.test_context_commands import (
    ASKED,
    PYTHON,
    SLOTS,
    TIDES,
    database,
    home,
    learned,
    write,
)

__all__ = ["database", "home"]  # fixtures


def test_everything_is_explained(home: Path, database: str) -> None:
    write(home, "topics/tides.md", TIDES.replace("---\n#", "activation: manual\n---\n#"))
    write(home, "topics/python.md", PYTHON)
    message = f"{ASKED} main.py, at high water"
    text = run("context", message, "--path", "main.py", "--explain", "--budget", "3000")
    lines = text.splitlines()
    assert lines[0] == f"Context for “{message}”"
    assert " of 3,000 tokens, " in lines[1] and " left, " in lines[1] and lines[1].endswith(" ms")
    rows = [line.split() for line in lines[3:11]]
    assert [row[1] for row in rows] == SLOTS
    assert [row[0] for row in rows] == ["P0", "P1", "P1", "P1", "P1", "P2", "P3", "P4"]
    assert "knowledge/identity/" in lines[3] and "no history was given" in lines[10]
    assert "  ● topic python " in text and "glob *.py" in text
    assert "○ tides not told: keyword tide, high water; activated by hand only" in text
    assert "`wakebook topics decisions` has the ids" in text
    found = text.partition("\nRecalled\n")[2].splitlines()
    assert "We take Postgres" in found[0] and float(found[0].split()[0]) > 0.3
    assert "tokens, words: " in found[1] and found[1].endswith(database)
    assert "\nMilliseconds: activate " in text
    for step in ("fixed", "topics", "search", "recalled", "history", "assemble"):
        assert f", {step} " in lines[-1]


def test_what_a_slot_used_is_at_most_what_it_might_and_all_is_the_sum(
    home: Path, database: str
) -> None:
    write(home, "topics/tides.md", TIDES)
    alone = ["--have", "identity", "--have", "memory"]
    for arguments in ([ASKED], ["the tide at high water"], ["high water", *alone]):
        found = run_json("context", *arguments)
        assert all(slot["tokens"] <= slot["budget"] for slot in found["slots"])
        spent = sum(slot["tokens"] for slot in found["slots"])
        assert spent <= found["tokens"] + 2 * len(SLOTS)
        assert max(slot["tokens"] for slot in found["slots"]) <= found["tokens"]


def test_what_just_missed_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    learned(
        monkeypatch,
        *(f"The bookings database number {n} is on machine {n * 7} in Lund" for n in range(60)),
    )
    text = run("context", "bookings database machine", "--budget", "700", "--explain")
    missed = text.partition("\nJust missed\n")[2].partition("\n\n")[0].splitlines()
    assert missed and all("bookings database" in line for line in missed)
    assert all(line.rstrip().endswith("no room") for line in missed)
    assert "and " in text and "more (--json has all)" in text
    found = run_json("context", "bookings database machine", "--budget", "700")
    assert len(found["missed"]) == len(missed)
    scores = [item["score"] for item in found["missed"]]
    assert scores == sorted(scores, reverse=True)


def test_a_long_message_is_shortened_and_is_no_markup() -> None:
    message = "[bold]What[/bold] about [/x] and [link=x]this[/link]\n" + "word " * 40
    first = run("context", message, "--explain").splitlines()[0]
    assert first.startswith(
        "Context for “[bold]What[/bold] about [/x] and [link=x]this[/link] word"
    )
    assert first.endswith("…”") and len(first) < 90


def test_markup_in_what_is_told_is_text(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home, "topics/python.md", PYTHON)
    learned(monkeypatch, "The colour of [bold]boats[/bold] is [/red] green")
    text = run("context", "colour of boats", "--path", "a.py")
    assert "[bold]boats[/bold] is [/red] green" in text and "[red]ruff[/red]" in text
    told = run("context", "colour of boats", "--path", "a.py", "--explain")
    assert "[bold]boats[/bold] is [/red] green" in told


def test_escapes_reach_no_terminal(home: Path) -> None:
    write(home, "topics/tides.md", TIDES)
    run("context", "-", stdin="\x1b]0;owned\x07 the tide \x1b[2J at high water")
    text = run("context", "\x1b[2J the tide at high water", "--explain")
    assert "\x1b" not in text
