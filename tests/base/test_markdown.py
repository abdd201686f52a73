"""Managed blocks and frontmatter: what is ours changes, and not a byte of what is not."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakebook.base import markdown
from wakebook.base.markdown import BEGIN, BRIEFING, END, BrokenBlock

FIRST, LAST = "<!-- wakebook:begin notes -->", "<!-- wakebook:end notes -->"

# what people write: any text, and often what looks like ours
_PIECES = st.sampled_from(
    (
        *("```\n", "~~~\n", "---\n", "\n", "\r\n", "    ", "# Title\n", "<!-- ", " -->", "ü"),
        *("wakebook:begin", "<!-- wakebook:sum 00ff -->\n", "<!-- wakebook:end", "\x0c"),
        *("updated: 1\n", "- [ ] x\n"),
    )
)
_VALUES = st.text(st.characters(exclude_categories=["Cc", "Cs"]) | st.just("\n"), max_size=20)
_LINES = st.lists(st.text("ab -[]#`~ü|", max_size=12).map("- {}!".format), max_size=6)


@st.composite
def outside(draw: st.DrawFn) -> str:
    """Text of a person's that has no marker of the block in it and no open fence."""
    text = "".join(draw(st.lists(_PIECES | st.text(max_size=8), max_size=12)))
    text = text.replace(FIRST, "").replace(LAST, "")
    text = re.sub(r"[`~]{3,}", "``", text)
    return text if draw(st.booleans()) else f"```\n{text}\n```\n"


# --- every byte outside stays -----------------------------------------------------------


@given(outside(), outside(), _LINES, _LINES)
def test_only_what_stands_between_the_markers_changes(
    above: str, below: str, old: list[str], new: list[str]
) -> None:
    above = above if above.endswith("\n") or not above else f"{above}\n"
    text = f"{above}{FIRST}\n" + "".join(f"{line}\n" for line in old) + f"{LAST}\n{below}"
    after = markdown.put(text, "notes", new)
    assert after.startswith(f"{above}{FIRST}")
    assert after.endswith(text[text.rindex(LAST) :])
    there = markdown.block(after, "notes")
    assert there is not None
    assert not there.edited
    assert list(there.lines) == new


@given(outside(), _LINES)
def test_a_text_without_markers_gets_them_at_its_end(text: str, lines: list[str]) -> None:
    after = markdown.put(text, "notes", lines)
    assert after.startswith(text)
    assert markdown.put(after, "notes", lines) == after
    assert after.count(FIRST) == 1


@given(outside(), _LINES, _LINES)
def test_what_was_put_twice_is_what_was_put_last(text: str, one: list[str], two: list[str]) -> None:
    once = markdown.put(text, "notes", two)
    assert markdown.put(markdown.put(text, "notes", one), "notes", two) == once


def test_line_ends_of_windows_stay_outside_and_are_no_edit_inside() -> None:
    text = markdown.put("# Mine\r\n\r\nwords\r\n", "notes", ["- one", "- two"])
    windows = text.replace("\r\n", "\n").replace("\n", "\r\n")
    there = markdown.block(windows, "notes")
    assert there is not None
    assert not there.edited
    assert there.lines == ("- one", "- two")
    after = markdown.put(windows, "notes", ["- three"])
    assert after.startswith("# Mine\r\n\r\nwords\r\n")
    assert after.endswith(f"{LAST}\r\n")


def test_words_behind_a_marker_are_not_swallowed() -> None:
    """Kept, or refused with the line: never gone."""
    text = f"a\n{FIRST} my own words\n- x\n{LAST} and more\nz\n"
    try:
        after = markdown.put(text, "notes", ["- y"])
    except BrokenBlock as error:
        assert "line 2" in str(error)
    else:
        assert "my own words" in after
        assert "and more" in after


# --- which markers count -----------------------------------------------------------------


def test_markers_in_a_code_fence_or_indented_code_are_an_example() -> None:
    example = f"~~~~md\n```\n{FIRST}\nx\n{LAST}\n~~~\n~~~~\n\n    {FIRST}\n    {LAST}\n"
    assert markdown.names(example) == []
    assert markdown.block(example, "notes") is None
    after = markdown.put(example, "notes", ["- y"])
    assert after.startswith(example)
    assert markdown.put(after, "notes", ["- z"]).startswith(example)


def test_a_fence_that_is_never_closed_does_not_add_a_block_each_time() -> None:
    text = f"# Mine\n```\ncode\n\n{FIRST}\n- x\n{LAST}\n"
    for number in range(3):
        try:
            text = markdown.put(text, "notes", [f"- {number}"])
        except BrokenBlock as error:
            assert "line 2" in str(error)
    assert text.count(FIRST) == 1


def test_a_marker_in_the_middle_of_a_line_is_somebodys_words() -> None:
    text = f"they wrote {FIRST} and {LAST}\n"
    assert markdown.block(text, "notes") is None
    assert markdown.put(text, "notes", ["- y"]).startswith(text)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (f"a\n{FIRST}\nx\n", "line 2"),
        (f"a\nb\n{LAST}\nx\n", "line 3"),
        (f"{LAST}\n{FIRST}\n", "line 1, 2"),
        (f"{FIRST}\nx\n{FIRST}\ny\n{LAST}\n", "line 1, 3, 5"),
        (f"{FIRST}\nx\n{LAST}\ny\n{LAST}\n", "line 1, 3, 5"),
        (f"{FIRST}\nx\n{LAST}\n{FIRST}\ny\n{LAST}\n", "line 1, 3, 4, 6"),
    ],
    ids=["no end", "no begin", "out of order", "two begins", "two ends", "doubled"],
)
def test_markers_that_do_not_pair_up_are_refused_with_their_lines(text: str, lines: str) -> None:
    for call in (lambda: markdown.put(text, "notes", ["y"]), lambda: markdown.block(text, "notes")):
        with pytest.raises(BrokenBlock, match=f"{lines}:"):
            call()
    assert "notes" in markdown.names(text)  # so that somebody who looks is told


def test_blocks_of_other_names_are_left_alone() -> None:
    text = markdown.put(markdown.put("mine\n", "one", ["- 1"]), "two", ["- 2"])
    text = markdown.put(text, BRIEFING, ["- b"])
    assert markdown.names(text) == [BRIEFING, "one", "two"]
    after = markdown.put(text, "two", ["- 3"])
    for name in ("one", BRIEFING):
        assert markdown.block(after, name) == markdown.block(text, name)
    assert f"{BEGIN}\n- b\n" in after
    assert END in after


def test_a_block_says_where_it_stands() -> None:
    text = f"one\ntwo\n{FIRST}\n- x\n- y\n\n{LAST}\n"
    there = markdown.block(text, "notes")
    assert there is not None
    assert there.first == 4
    assert there.lines == ("- x", "- y")
    assert text.splitlines()[there.first - 1] == "- x"


def test_lines_are_counted_as_editors_do() -> None:
    text = f"a\x0cb\u2028c\n{FIRST}\n- x\n{LAST}\n"
    there = markdown.block(text, "notes")
    assert there is not None
    assert text.split("\n")[there.first - 1] == "- x"


# --- whether somebody edited it -----------------------------------------------------------


@given(_LINES.filter(bool), st.data())
def test_any_changed_line_is_an_edit_and_spaces_at_its_end_are_not(
    lines: list[str], data: st.DataObject
) -> None:
    text = markdown.put("", "notes", lines)
    number = data.draw(st.integers(0, len(lines) - 1))
    spaced = text.split("\n")
    spaced[number + 1] += "  \t"
    spaced_block = markdown.block("\n".join(spaced), "notes")
    assert spaced_block is not None
    assert not spaced_block.edited
    changed = text.split("\n")
    changed[number + 1] += "!"
    changed_block = markdown.block("\n".join(changed), "notes")
    assert changed_block is not None
    assert changed_block.edited


def test_a_block_with_lines_and_no_sum_was_written_by_somebody() -> None:
    there = markdown.block(f"{FIRST}\n- mine\n{LAST}\n", "notes")
    assert there is not None
    assert there.edited
    empty = markdown.block(f"{FIRST}\n\n{LAST}\n", "notes")
    assert empty is not None
    assert not empty.edited


def test_a_briefing_without_a_sum_is_an_earlier_versions_and_one_with_another_sum_an_edit() -> None:
    old = markdown.block(f"{BEGIN}\n- from before\n{END}\n", BRIEFING)
    assert old is not None
    assert not old.edited
    text = markdown.put("", BRIEFING, ["- a"]).replace("- a", "- b")
    new = markdown.block(text, BRIEFING)
    assert new is not None
    assert new.edited


# --- frontmatter --------------------------------------------------------------------------


def test_values_change_only_where_their_keys_stand() -> None:
    text = "---\ntype: note\nupdated: 2026-01-01 # mine\ntags: [a, b]\n---\nupdated: no\n"
    after = markdown.set_front(text, {"updated": "2026-02-02T00:00:00Z", "line_count": 5})
    assert after == text.replace("2026-01-01 # mine", "2026-02-02T00:00:00Z")
    assert markdown.split(after)[0]["updated"] == "2026-02-02T00:00:00Z"


@pytest.mark.parametrize(
    "text",
    [
        "updated: 1\n",
        "---\nupdated: 1\n",
        "---\nsessions:\n  - a\n  - b\nother: 1\n---\n",
        "---\nsessions:\n- a\n---\n",
        "---\nsessions: >\n  long\n  text\n---\n",
        "---\nnested:\n  sessions: 1\n  updated: 2\nsessionsmore: 1\n---\n",
        "",
    ],
    ids=["none", "no end", "list", "flat list", "folded", "nested", "empty"],
)
def test_frontmatter_that_cannot_be_set_line_by_line_comes_back_as_it_is(text: str) -> None:
    assert markdown.set_front(text, {"sessions": ["x"], "updated": "2026-01-01"}) == text


@given(outside(), _VALUES, st.lists(_VALUES, max_size=3))
def test_setting_values_touches_nothing_below(body: str, value: str, many: list[str]) -> None:
    text = markdown.front({"type": "note", "name": "x", "sessions": []}) + body
    after = markdown.set_front(text, {"name": value, "sessions": many})
    assert after.endswith(body)
    found, rest = markdown.split(after)
    assert (found["name"], found["sessions"], rest) == (value, many, body)


@given(_VALUES, st.lists(_VALUES, max_size=3))
def test_what_front_writes_can_be_read(value: str, many: list[str]) -> None:
    text = markdown.front({"type": "x", "name": value, "list": many, "date": "2026-11-09"})
    assert markdown.front_problem(text) == ""
    assert text.count("\n") == 6  # a line each
    read = markdown.split(text)[0]
    assert read == {"type": "x", "name": value, "list": many, "date": "2026-11-09"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no frontmatter\n", ""),
        ("---\n---\n", ""),
        ("---\ntype: note\n---\n", ""),
        ("---\ntype: note\n", "line 1: "),
        ("---\ntype: note\nbroken: [a\n---\n", "line 4: "),
        ("---\ntype: note\n\tx: 1\n---\n", "line 3: "),
        ("---\na: b: c\n---\n", "line 2: "),
        ("---\n- a\n- b\n---\n", "line 2: "),
    ],
    ids=["none", "empty", "fine", "no end", "list", "tab", "colon", "no keys"],
)
def test_what_is_wrong_with_frontmatter_is_said_with_its_line(text: str, said: str) -> None:
    found = markdown.front_problem(text)
    assert found.startswith(said) if said else found == ""


@pytest.mark.parametrize(
    ("text", "values", "said"),
    [
        ("---\ndate: 2026-02-30\n---\nx\n", {"date": "2026-02-30"}, ""),
        ("---\na line across\n", {}, ""),
        ("---\nDear diary,\n---\nx\n", {}, ""),
        ("---\na: 1\n---", {"a": 1}, ""),
        ("---\r\na: 1\r\n---\r\nx\r\n", {"a": 1}, ""),
        ("\ufeff---\na: 1\n---\nx\n", {"a": 1}, ""),
        ("---\r\na: 1\r\nb: [\r\n---\r\n", {}, "line 4: "),
    ],
    ids=["no such day", "a rule", "two rules", "no last line end", "windows", "mark", "broken"],
)
def test_everybody_reads_frontmatter_in_the_same_way(
    text: str, values: dict[str, object], said: str
) -> None:
    assert markdown.split(text)[0] == values
    assert markdown.front_problem(text)[: len(said) or None] == said
    body = markdown.split(text)[1]
    assert text.endswith(body) and ("---" not in body or not values)


def test_frontmatter_of_windows_is_set_and_keeps_its_line_ends() -> None:
    text = "---\r\ntype: note\r\nupdated: 2026-01-01\r\nline_count:\r\n---\r\nupdated: no\r\n"
    after = markdown.set_front(text, {"updated": "2026-02-02", "line_count": 5, "type": "x"})
    assert after == (
        text.replace("2026-01-01", "2026-02-02")
        .replace("line_count:", "line_count: 5")
        .replace("type: note", "type: x")
    )


def test_a_block_ends_its_lines_as_the_rest_of_the_file_does() -> None:
    for text in ("# Mine\r\nwords\r\n", f"# Mine\r\n{FIRST}\n- old\n{LAST}\r\n"):
        after = markdown.put(text, "notes", ["- one", "- two"])
        assert after.count("\n") == after.count("\r\n")
        assert markdown.put(after, "notes", ["- one", "- two"]) == after
    mixed = markdown.put("# Mine\r\nwords\n", "notes", ["- one"])
    assert mixed.startswith("# Mine\r\nwords\n") and mixed.count("\r\n") == 1


def test_frontmatter_that_nobody_can_read_is_not_edited() -> None:
    diary = "---\nDear diary\nupdated: never, as I said\n: [ broken\n---\ntext\n"
    assert markdown.set_front(diary, {"updated": "2026-01-01"}) == diary
    rules = "---\nupdated often, and\nso on\n---\n"
    assert markdown.set_front(rules, {"updated often, and": 1}) == rules


def _calls(text: str) -> int:
    """How many functions are called to find a block: work that is the same on every machine."""
    count = 0

    def called(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(called)
    try:
        markdown.names(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("line", ["```x\n", "~~~~\n```\n", "```\n````\n`````x\n"])
def test_fences_that_never_end_take_no_more_time_than_other_lines(line: str) -> None:
    end = f"{FIRST}\n{LAST}\n"
    assert _calls(line * 400 + end) < 3 * _calls(line * 200 + end)


@pytest.mark.parametrize("size", [3, markdown.SHORT])
def test_frontmatter_that_was_read_is_the_readers_own(size: int) -> None:
    text = f"---\nname: {'x' * size}\ntags: [a, b]\n---\nwords\n"
    first, _ = markdown.split(text)
    first["tags"].append("c")
    first["more"] = 1
    assert markdown.split(text) == ({"name": "x" * size, "tags": ["a", "b"]}, "words\n")
