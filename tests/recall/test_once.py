"""No line twice: what counts as the same line, and what never does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakebook.recall.texts import Once, bare

SAME = "We take Postgres for the bookings"


def once(*texts: str) -> Once:
    made = Once()
    for text in texts:
        made.add(text)
    return made


@pytest.mark.parametrize(
    "line",
    [
        "We take Postgres for the bookings",
        "- We take Postgres for the bookings",
        "* We take **Postgres** for the bookings",
        "  + We take Postgres for the bookings",
        "1. We take Postgres for the bookings",
        "12) We take Postgres for the bookings",
        "- [ ] We take Postgres for the bookings",
        "- [x] We take Postgres for the bookings",
        "- we take [[Postgres]] for  the bookings ",
        "- We take `Postgres` for _the_ bookings",
        "- We take Postgres for the bookings (cLHcLH9rb3Sn)",
        "- We take Postgres for the bookings (3TaOqg-mU1Gs, since replaced by vKTZ85mL52ia)",
        "- We take Postgres for the bookings ^abc-123",
        "- 2026-11-05: We take Postgres for the bookings",
        "- 🔴 We take Postgres for the bookings",
        "We take Postgres for the bookings\r",
        "- **Decided:** We take Postgres for the bookings",
        "- tidepool — We take Postgres for the bookings",
        "- **[[projects/tidepool/context|Tidepool]]** — We take Postgres for the bookings",
        "- We take Postgres for the bookings ([[2026-11-05]])",
        "- [[2026-11-05]]: We take Postgres for the bookings",
        "- **Decided:** 📌 We take Postgres for the bookings",
    ],
)
def test_the_same_words_are_the_same_line(line: str) -> None:
    assert once(SAME).has(line)
    assert once(line).has(SAME)
    assert once(line).fresh(SAME) == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("We take Postgres", "We do not take Postgres"),
        ("- Ask Jonas (today)", "- Ask Jonas (tomorrow)"),
        ("- Port 5432 (db)", "- Port 5433 (db)"),
        ("- 3 boats", "- 4 boats"),
        ("- -5 degrees", "- 5 degrees"),
        ("Otter: 3 seats", "Heron: 3 seats"),
        ("- otter — 3 seats", "- **[[projects/heron/context|Heron]]** — 3 seats"),
        ("- Deploy ([[2026-11-05]])", "- Deploy ([[2026-11-06]])"),
        ("naïve", "naive"),
        ("> We take Postgres", "We take Postgres"),  # somebody else says it
        ("✅ Deploy", "❌ Deploy"),
        ("- (123456789012)", "- (210987654321)"),
        # a word of twelve letters is no id
        ("- Ask Jonas (about the presentation)", "- Ask Jonas (about the architecture)"),
        ("- Jonas (photographer)", "- Jonas (manufacturer)"),
        ("- Ask (Photographer)", "- Ask (Manufacturer)"),
        # it happened twice
        ("- 2026-11-05: Backup failed", "- 2026-11-06: Backup failed"),
        # it is done by now
        ("- [ ] Deploy to lagoon", "- [x] Deploy to lagoon"),
    ],
)
def test_other_words_are_another_line(one: str, other: str) -> None:
    assert once().fresh(f"{one}\n{other}") == f"{one}\n{other}"
    assert once(one).fresh(other) == other
    assert not once(one).has(other)


@pytest.mark.parametrize("line", ["", "---", "***", "|---|---|", "…", "🙂", "- "])
def test_what_has_no_words_is_never_a_repetition(line: str) -> None:
    text = f"a b\n{line}\nc d\n{line}\ne f"
    assert once(line).fresh(text) == text
    assert not once(line).has(line)


def test_a_line_is_said_once_in_a_text_and_over_texts() -> None:
    seen = once("- The launch is on 21 November")
    text = "# Day\n\n- sailed\n- The launch is on 21 November (cLHcLH9rb3Sn)\n- Sailed\n- slept"
    assert seen.fresh(text) == "# Day\n\n- sailed\n- slept"


def test_asking_does_not_add() -> None:
    seen = once()
    assert seen.fresh("words") == "words"
    assert seen.fresh("words") == "words"
    seen.add("words")
    assert seen.fresh("words") == ""


def test_instructions_may_repeat_themselves() -> None:
    seen = once("- Be brief.")
    text = "# Rules\n\n- Ask first.\n\n# At night\n\n- Ask first.\n- be brief."
    assert seen.fresh(text, within=False) == text.removesuffix("\n- be brief.")


def test_a_copy_goes_its_own_way() -> None:
    first = once("a b")
    second = first.copy()
    second.add("c d")
    assert second.has("a b") and second.has("c d")
    assert not first.has("c d")


@pytest.mark.parametrize("mark", ["```", "~~~", "  ```"])
def test_code_stays_whole(mark: str) -> None:
    code = f"So:\n{mark}python\nreturn x\nreturn x\n{mark}"
    assert once("return x").fresh(f"{code}\nreturn x\nwords") == f"{code}\nwords"


def test_code_in_code_stays_whole() -> None:
    code = "````\n```\nreturn x\n```\nreturn x\n````"
    assert once("return x").fresh(f"{code}\nwords") == f"{code}\nwords"


def test_code_on_one_line_is_no_beginning() -> None:
    assert once("words").fresh("```x```\nwords\nmore") == "```x```\nmore"


def test_a_heading_that_was_there_gets_the_name_of_its_part() -> None:
    seen = once("# Notes\n\n- a b")
    assert seen.fresh("# Notes\n\n- c d", "journal") == "# Notes (journal)\n\n- c d"
    assert seen.fresh("# Notes\n\n- c d") == "# Notes (2)\n\n- c d"  # no name to give


def test_a_third_heading_of_the_same_name_stays_a_heading() -> None:
    """Its words would stand below another heading."""
    text = "# Notes\n\na\n\n# Notes\n\nb\n\n# Notes\n\nc"
    found = once().fresh(text, "identity").split("\n")
    assert len([line for line in found if line.startswith("# Notes")]) == 3
    assert [line for line in found if len(line) == 1] == ["a", "b", "c"]
    assert len({line for line in found if line}) == 6  # and yet none twice


LINES = st.sampled_from(
    [
        "", "# A", "## B", "- x y", "* x y", "x y (cLHcLH9rb3Sn)", "- [ ] x y", "- z", "z",
        "2026-11-05: z", "plain words", "**plain** words", "---", "1. x y", "# x y",
    ]
)  # fmt: skip
TEXTS = st.lists(LINES, max_size=12).map("\n".join)


@given(TEXTS, TEXTS, st.sampled_from(["", "journal"]))
def test_together_they_say_nothing_twice_and_leave_nothing_out(
    first: str, second: str, name: str
) -> None:
    seen = Once()
    one = seen.fresh(first, name)
    seen.add(one)
    other = seen.fresh(second, name)
    said = [bare(line) for line in f"{one}\n{other}".split("\n") if any(map(str.isalnum, line))]
    assert len(said) == len(set(said))
    for line in f"{first}\n{second}".split("\n"):
        empty = line.startswith("#") or not any(map(str.isalnum, line))  # headings may go
        assert empty or bare(line) in said
    seen.add(other)
    rest = seen.fresh(f"{first}\n{second}").split("\n")
    assert not [line for line in rest if line[:1] != "#" and any(map(str.isalnum, line))]


@given(st.text(max_size=60))
def test_any_line_is_compared_with_itself(line: str) -> None:
    line = line.replace("\n", " ")
    assert once(line).has(line) == any(c.isalnum() or c == "_" for c in bare(line))
