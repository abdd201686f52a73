"""Cutting a text that is too long: at sections, with a note of what is missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakebook.models.tokenizer import count
from wakebook.recall.texts import least, trim

WHERE = "knowledge/memory/MEMORY.md"


def part(title: str, lines: int = 6) -> str:
    return f"## {title}\n\n" + "\n".join(f"- {title} has the boat number {n}" for n in range(lines))


TEXT = "\n\n".join(["# Core", part("Otter"), part("Heron"), part("Seal"), part("Crab")])


def apart(text: str) -> tuple[str, str]:
    """What is told, and the note at the end."""
    told, _, note = text.rpartition("\n")
    assert note.startswith("[… ") and note.endswith(f"see {WHERE}]")
    return told.rstrip("\n"), note


def in_order(told: str, whole: str) -> None:
    """Every line is one of the text, in its order; the last of a section may be cut, and code
    that breaks off is closed."""
    lines = iter(whole.split("\n"))
    for line in told.split("\n"):
        if line in ("", "```", "~~~"):
            continue
        assert any(one.startswith(line) for one in lines), line


def test_what_fits_stays_as_it_is() -> None:
    assert trim(TEXT, count(TEXT), WHERE) == (TEXT, "")


def test_it_is_cut_at_sections_and_says_what_is_left_out() -> None:
    text, note = trim(TEXT, count(TEXT) - 1, WHERE)
    told, shown = apart(text)
    assert told == "\n\n".join(["# Core", part("Otter"), part("Heron"), part("Seal")])
    assert note == "left out: Crab" and shown == f"[… left out: Crab; see {WHERE}]"


def test_several_are_named() -> None:
    text, note = trim(TEXT, count(f"# Core\n\n{part('Otter')}") + 40, WHERE)
    told, shown = apart(text)
    assert told == f"# Core\n\n{part('Otter')}"
    assert "left out: Heron, Seal, Crab;" in shown and note == "left out: Heron, Seal, Crab"


def test_of_many_the_first_four_are_named() -> None:
    many = "\n\n".join(["# Core\n\nwords", *(part(f"Boat{n}") for n in range(9))])
    text, note = trim(many, 60, WHERE)
    assert apart(text)[0] == "# Core\n\nwords"
    assert note == "left out: Boat0, Boat1, Boat2, Boat3 and 5 more"
    assert note in text


def test_a_long_section_does_not_keep_a_short_one_out() -> None:
    whole = f"# Core\n\nwords\n\n{part('Otter', 90)}\n\n{part('Heron')}"
    told, shown = apart(trim(whole, 120, WHERE).text)
    assert told == f"# Core\n\nwords\n\n{part('Heron')}"
    assert "left out: Otter;" in shown


def test_a_long_heading_is_named_in_short() -> None:
    text, note = trim(f"# Core\n\nwords\n\n{part('Heron ' * 40)}", 60, WHERE)
    assert "words" in text
    assert len(note) < 90


def test_a_heading_in_code_is_no_boundary() -> None:
    code = (
        "## Code\n\n```sh\n" + "\n".join(f"# step {n}\nmake boat{n}" for n in range(12)) + "\n```"
    )
    whole = f"# Core\n\nwords\n\n{code}\n\n{part('Crab')}"
    for limit in range(30, count(whole)):
        text, note = trim(whole, limit, WHERE)
        assert "step" not in note and "step" not in text.split("\n")[-1]
        assert text.count("```") in (0, 2)  # what breaks off is closed
        in_order(apart(text)[0], whole)


def test_the_first_section_alone_is_too_long() -> None:
    whole = f"{part('Otter', 50)}\n\n{part('Heron', 50)}"
    text, note = trim(whole, 80, WHERE)
    told, _ = apart(text)
    assert whole.startswith(told) and told.count("boat number") >= 4
    assert "Heron" in note
    assert 60 < count(text) <= 80


def test_it_does_not_end_with_a_heading() -> None:
    whole = f"lead\n\n{part('Otter', 50)}"
    for limit in range(20, 60):
        told, _ = apart(trim(whole, limit, WHERE).text)
        assert told and not told.split("\n")[-1].startswith("#")


@pytest.mark.parametrize("head", ["", "# Soul\n\n", "## Last Handoff\nSession: s1 (2026-11-08)\n"])
@pytest.mark.parametrize("line", ["word " * 400, "x" * 4000, "数据库" * 700, "🙂" * 900])
def test_of_an_endless_line_its_beginning_is_told(head: str, line: str) -> None:
    text, note = trim(f"{head}{line}", 120, WHERE)
    told, _ = apart(text)
    assert f"{head}{line}".startswith(told)
    assert len(told) > len(head) + 20
    assert 75 < count(text) <= 120
    assert note


@pytest.mark.parametrize("limit", [-9, 0, 1, 2, 3, 5, 10, 14])
def test_with_no_room_the_note_is_still_there(limit: int) -> None:
    text, note = trim(TEXT, limit, WHERE)
    told, shown = apart(f"\n{text}")
    assert shown == f"[… cut short: see {WHERE}]"
    assert note
    assert told == "" or any(map(str.isalnum, told.split("\n")[0]))  # half a heading is nothing
    assert count(text) <= max(limit, least(WHERE))


@pytest.mark.parametrize("limit", [-9, 0, 5])
@pytest.mark.parametrize("text", ["", "\n", " \n\n"])
def test_nothing_stays_nothing(text: str, limit: int) -> None:
    assert trim(text, limit, WHERE).text.strip() == ""


def test_a_cut_in_code_closes_it() -> None:
    """All that follows would be code."""
    whole = "# A\n\n```\n" + "\n".join(f"make boat{n}" for n in range(100)) + "\n```"
    text, _ = trim(whole, 60, WHERE)
    assert "make boat3" in text
    assert text.split("\n").count("```") == 2
    assert apart(text)[0].endswith("```")


LINES = st.sampled_from(
    ["", "# A", "## B b b", "### C", "words of a line", "- item", "x" * 90, "数据库" * 9, "🙂" * 20]
)


@given(st.lists(LINES, max_size=30).map("\n".join), st.integers(40, 300))
def test_it_fits_and_is_of_the_text(whole: str, limit: int) -> None:
    text, note = trim(whole, limit, WHERE)
    assert count(text) <= limit
    if not note:
        assert text.strip() == whole.strip()
        return
    told, _ = apart(f"\n{text}")
    in_order(told, whole)


@given(st.lists(LINES, max_size=30).map("\n".join), st.integers(40, 300))
def test_what_is_cut_once_is_cut(whole: str, limit: int) -> None:
    text, _ = trim(whole, limit, WHERE)
    assert trim(text, limit, WHERE) == (text.strip("\n"), "")
