"""Notes as an agent reads them: no frontmatter, no markers, no empty sections, whole code."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakebook import Memory
from wakebook.recall.texts import LARGEST, Texts, clean, filled, headings, sections

LINES = st.sampled_from(
    [
        "",
        " ",
        "# A",
        "## B",
        "### C",
        "#### D",
        "text",
        "- item",
        "```",
        "~~~",
        "````",
        "#no",
        "x #",
    ]
)
NOTES = st.lists(LINES, max_size=14).map("\n".join)


# --- what goes ---------------------------------------------------------------------------


def test_frontmatter_and_markers_go() -> None:
    text = (
        "---\ntype: memory\n---\n# Core\n\nBefore\n<!-- BEGIN GENERATED BRIEFING -->\n- a fact\n"
        "<!-- wakebook:sum 0123abcd -->\n<!-- END GENERATED BRIEFING -->\nAfter\n"
    )
    assert clean(text) == "# Core\n\nBefore\n- a fact\nAfter"


def test_a_comment_beside_words_stays() -> None:
    assert clean("See <!-- the --> boat") == "See <!-- the --> boat"


def test_windows_lines_are_lines() -> None:
    text = "---\r\ntype: x\r\n---\r\n# A\r\n\r\nwords\r\n\r\n## Empty\r\n"
    assert clean(text) == "# A\n\nwords"


def test_empty_headings_go() -> None:
    text = "# Day\n\n## Done\n\n- sailed\n\n## Next\n\n### Soon\n\n## Blocked\n"
    assert clean(text) == "# Day\n\n## Done\n\n- sailed"


def test_a_heading_stays_for_what_stands_in_a_lower_one() -> None:
    assert filled("# A\n\n## B\n\n### C\n\nwords\n") == "# A\n\n## B\n\n### C\n\nwords"
    assert filled("# A\n\n#### D\n\nwords") == "# A\n\n#### D\n\nwords"


def test_a_heading_goes_if_only_a_sibling_says_something() -> None:
    assert filled("# A\n\n## B\n\n## C\n\nwords") == "# A\n\n## C\n\nwords"
    assert filled("### B\n\n## C\n\nwords") == "## C\n\nwords"


def test_nothing_but_headings_is_nothing() -> None:
    assert filled("# A\n## B\n\n# C\n") == ""


def test_more_than_one_empty_line_is_one() -> None:
    assert filled("a\n\n\n\nb\n") == "a\n\nb"


def _words(text: str) -> list[str]:
    """The lines that are neither empty nor headings."""
    lines = text.split("\n")
    marks = dict(headings(lines))
    return [line.strip() for n, line in enumerate(lines) if n not in marks and line.strip()]


@given(NOTES)
def test_what_is_filled_stays_and_no_words_are_lost(text: str) -> None:
    once = filled(text)
    assert filled(once) == once
    assert _words(once) == _words(text)
    assert bool(once) == bool(_words(text))


# --- starters ----------------------------------------------------------------------------


STARTERS = sorted(
    path.name for path in (resources.files("wakebook") / "starter" / "identity").iterdir()
)


def test_there_are_starters() -> None:
    assert "AGENTS.md" in STARTERS


@pytest.mark.parametrize("name", STARTERS)
def test_a_starter_that_nobody_has_filled_in_says_nothing(name: str) -> None:
    text = (resources.files("wakebook") / "starter" / "identity" / name).read_text()
    assert text.strip()
    assert clean(text, name) == ""
    assert clean(text.replace("\n", "\r\n"), name) == ""
    assert clean(text + "\nIn the morning, tea.\n", name).endswith("In the morning, tea.")
    assert clean(text, "OTHER.md")  # only in the file that it was made for


@pytest.mark.parametrize("name", ["..", "../MEMORY.md", "no/such.md", "", "AGENTS"])
def test_other_names_have_no_starter(name: str) -> None:
    assert clean("words", name) == "words"


def test_the_starters_of_a_new_home_say_nothing(memory: Memory) -> None:
    texts = Texts()
    found = {path.name: texts.read(path) for path in memory.home.root.glob("knowledge/identity/*")}
    assert set(STARTERS) <= set(found)
    assert set(found.values()) == {""}


# --- sections ----------------------------------------------------------------------------


def test_a_text_is_cut_before_each_heading() -> None:
    text = "lead\n\n# A\n\na\n\n## B\nb\n"
    assert sections(text) == ["lead", "# A\n\na", "## B\nb"]


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_nothing_has_no_sections(text: str) -> None:
    assert sections(text) == []


@pytest.mark.parametrize(
    "code",
    [
        "```\n# comment\n```",
        "~~~sh\n# comment\n~~~",
        "   ```\n# comment\n   ```",
        "````\n```\n# comment\n```\n````",
        "~~~\n```\n# comment\n~~~",
        "```\n~~~\n# comment\n```",
        "````\n# comment\n```\n# more\n````",  # a shorter one ends nothing
        "```\n# comment\n``` no end\n# more\n```",  # words after it: no end
    ],
)
def test_a_heading_in_code_is_none(code: str) -> None:
    assert sections(f"# A\n\n{code}\n\n# B\n\nb") == [f"# A\n\n{code}", "# B\n\nb"]


def test_code_on_one_line_opens_nothing() -> None:
    assert sections("# A\n\n```x```\n\n# B\n\nb") == ["# A\n\n```x```", "# B\n\nb"]


@pytest.mark.parametrize("line", ["#tag", "####### seven", "    # code", "#", "# ", "\\# x"])
def test_what_is_no_heading(line: str) -> None:
    assert headings([line]) == []


@pytest.mark.parametrize(("line", "level"), [("# a", 1), ("###### a", 6), ("##   a", 2)])
def test_what_is_a_heading(line: str, level: int) -> None:
    assert headings(["", line]) == [(1, level)]


@given(NOTES)
def test_sections_have_every_line_of_a_text(text: str) -> None:
    again = "\n".join(sections(text)).split("\n")
    assert [line for line in again if line.strip()] == [
        line for line in text.split("\n") if line.strip()
    ]


# --- files -------------------------------------------------------------------------------


def test_a_note_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    texts = Texts()
    assert texts.read(path) == ""
    path.write_text("one")
    assert texts.read(path) == "one"
    path.write_text("longer")
    assert texts.read(path) == "longer"
    path.write_text("LONGER")
    os.utime(path, (1, 1))
    assert texts.read(path) == "LONGER"
    path.unlink()
    assert texts.read(path) == ""


def test_what_cannot_be_read_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder.md").mkdir()
    assert Texts().read(tmp_path / "folder.md") == ""
    (tmp_path / "loop.md").symlink_to("loop.md")
    assert Texts().read(tmp_path / "loop.md") == ""


def test_bytes_that_are_no_text_are_read_as_well_as_can_be(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"# A\n\nb\xff\xfew\n")
    assert Texts().read(path) == "# A\n\nb\ufffd\ufffdw"


def test_of_a_huge_note_the_beginning_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"beginning\n" + "é".encode() * LARGEST)
    text = Texts().read(path)
    assert text.startswith("beginning")
    assert LARGEST // 2 - 10 < len(text) < LARGEST // 2 + 10


@pytest.mark.parametrize("front", ["---\n[\n---\n", "---\nno end: of it\n", "---\n- a\n---\n"])
def test_broken_frontmatter_does_not_stop_the_reading(front: str) -> None:
    assert "words of it" in clean(f"{front}# A\n\nwords of it\n")


def test_empty_lines_in_code_stay() -> None:
    code = "```python\na = 1\n\n\nb = 2\n```"
    assert clean(f"# A\n\n{code}\n") == f"# A\n\n{code}"
