"""Snippets: short, marked, and nothing but the text."""

from __future__ import annotations

import re
from collections.abc import Set

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakebook.store import words
from wakebook.store.hits import LONGEST, Marker

LONG = " ".join(f"word{number}" for number in range(400))


def terms(text: str) -> frozenset[str]:
    return frozenset(term for word in words.asked(text, ()) for term in word.terms)


def snippet(text: str, wanted: Set[str], language: str, longest: int = LONGEST) -> str:
    return Marker(wanted).snippet(text, language, longest)


def test_a_short_text_stays_whole_with_its_matches_marked() -> None:
    found = snippet("She was  running\nto the shop", terms("run shop"), "english")
    assert found == "She was **running** to the **shop**"


def test_a_long_text_is_cut_around_the_match() -> None:
    text = LONG.replace("word300", "zebra")
    found = snippet(text, terms("zebra"), "english")
    assert "word299 **zebra** word301" in found
    assert found.startswith("…word") and found.endswith("…")
    assert 500 < len(found) <= 700


def test_the_densest_part_is_taken() -> None:
    text = LONG.replace("word20 ", "zebra ").replace("word300 word301", "zebra lion")
    found = snippet(text, terms("zebra lion"), "english")
    assert "**zebra** **lion**" in found and "word20" not in found.split()


def test_without_a_match_it_is_the_beginning() -> None:
    found = snippet(LONG, terms("zebra"), "english")
    assert LONG.startswith(found.removesuffix("…")) and 600 < len(found) <= 700


def test_characters_without_spaces() -> None:
    assert snippet("我们使用数据库", terms("数据库"), "english") == "我们使用**数据库**"
    assert snippet("犬を飼う", terms("犬"), "english") == "**犬**を飼う"


@pytest.mark.parametrize(
    ("text", "language", "question"),
    [
        ("Die Häuser stehen dort", "german", "Haus"),
        ("Das Haus steht dort", "german", "Häuser"),
        ("oh, l'école est grande", "french", "ecole"),
        ("in the café", "english", "cafe"),
        ("call parseHttpRequest now", "english", "http"),
        ("set max_retry_count to", "english", "retry"),
        ("Mira’s bicycle", "english", "mira"),
        ("ＦＵＬＬ width", "english", "full"),
        ("サーバーを", "english", "バー"),
        ("the flies", "english", "fly"),
    ],
)
def test_whatever_is_found_is_marked(text: str, language: str, question: str) -> None:
    wanted = frozenset(term for word in words.asked(question, [language]) for term in word.terms)
    found = snippet(text, wanted, language)
    assert found.count("**") == 2 and found.replace("**", "") == text


def test_many_matches_and_their_marks_fit() -> None:
    text = " ".join("ab"[number % 2] if number > 300 else "a" for number in range(900))
    assert len(snippet(text, frozenset({"a"}), "english")) <= LONGEST


def test_another_length() -> None:
    assert len(snippet(LONG, terms("word200"), "english", 100)) <= 100


_WORD = st.sampled_from(
    [
        "zebra",
        "zebras",
        "lion",
        "a",
        "the",
        "数据",
        "库",
        "犬犬",
        "x" * 50,
        "\n",
        "—",
        "l'école",
        "b.c",
    ]
)


@given(
    st.one_of(
        st.text(st.characters(exclude_characters="*"), max_size=300),
        st.lists(_WORD, max_size=400).map(" ".join),
        st.lists(_WORD, max_size=400).map("".join),
    ),
    st.sets(st.sampled_from(["zebra", "lion", "a", "the", "数据", "库", "犬", "ecol", "x" * 50])),
)
def test_without_its_marks_it_is_a_part_of_the_text(text: str, wanted: set[str]) -> None:
    found = snippet(text, wanted, "english")
    whole = re.sub(r"\s+", " ", text).strip()
    bare = found.replace("**", "").removeprefix("…").removesuffix("…")
    if whole.startswith("…") or whole.endswith("…"):
        bare = bare.strip("…")
    assert bare in whole
    assert found.count("**") % 2 == 0
    assert len(found) <= LONGEST
