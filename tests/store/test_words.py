"""Words: what is found by which words, in which language, and that nothing is syntax."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.store.making import WORDS_ALONE, append, entry, find, fresh, name, refs
from wakebook import Memory
from wakebook.store import words

OTHERS = (
    "The ferry leaves at noon",
    "Priya paints the kitchen shelf",
    "La réunion est dans le bureau de Paul",
    "Der Vertrag liegt auf dem Tisch und ist nicht unterschrieben",
    "明日は晴れるでしょう",
)
ODD = (
    '"',
    '"unbalanced',
    "a-b --c -d",
    "NEAR(launch, 3)",
    "NEAR(",
    "AND OR NOT",
    "launch AND NOT",
    "'; DROP TABLE chunk; --",
    "*",
    "lau*",
    "content:launch",
    "^launch",
    "(((((",
    "launch \\",
    "%_%",
    "😀",
    "👩‍👩‍👧‍👦 launch",
    "the of and is",
    "\ud800",
    "launch\udcff",
    "\ufffe\uffff",
    "\0",
    "launch\0launch",
    "\u202e launch",
    "ﬀ ﷺ ß İ",
    "e" + "\u0301" * 500,
    "x" * 10_000,
    "launch " * 1500,
    "日" * 10_000,
)


@pytest.fixture
def home(tmp_path: Path) -> Memory:
    memory = fresh(tmp_path / "home", WORDS_ALONE)
    append(memory, *(entry(100 + number, text) for number, text in enumerate(OTHERS)))
    return memory


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("She went running in the park", "run"),
        ("He runs every Tuesday", "running"),
        ("The bookings were migrated", "migrate booking"),
        ("Die Häuser stehen an der Straße und sind alt", "Haus"),
        ("Das Haus ist nicht weit von der Schule", "Häuser"),
        ("Elle a acheté des chevaux et les voitures sont dans le garage", "voiture"),
        ("Nous avons mangé dans le jardin avec les enfants", "enfant"),
        ("L'école est fermée pour les vacances", "ecole"),
        ("Nos vemos mañana en el café", "manana cafe"),
        ("Zoë lives in Łódź near the café", "cafe"),
        ("Zoe met the cafe owner", "café"),
        ("我们决定使用数据库来保存预订", "数据库"),
        ("我们决定使用数据库来保存预订", "保存预订"),
        ("会議は東京で行われます", "東京"),
        ("カメラを買いました", "カメラ"),
        ("犬を飼っています", "犬"),
        ("ประชุมที่กรุงเทพวันจันทร์", "กรุงเทพ"),
        ("서울에서 회의가 있습니다", "회의"),
        ("데이터베이스를 선택했다", "데이터"),
        ("Встреча перенесена на вторник", "встречи"),
        ("call parseHttpRequest first", "http"),
        ("call parseHttpRequest first", "parseHttpRequest"),
        ("call parseHttpRequest first", "parsehttprequest"),
        ("set max_retry_count to five", "retry"),
        ("set max_retry_count to five", "max_retry_count"),
        ("Mira's bicycle is red", "Mira"),
        ("Mira’s bicycle is red", "mira's bicycle"),
        ("The o'clock rule", "o’clock"),
        ("version v2.14.3 is out", "2.14.3"),
        ("ＦＵＬＬ width letters", "full"),
        ("see docs/formats.md for it", "formats"),
        ("मेरा घर दिल्ली में है", "दिल्ली"),
        ("the tls cert is renewed", "which certificates expire"),
        ("all repositories moved in May", "repo"),
    ],
)
def test_found_by_its_words(home: Memory, text: str, question: str) -> None:
    append(home, entry(1, text))
    assert refs(find(home, question))[:1] == [name(1)]


@pytest.mark.parametrize("question", ["会议", "กาแฟ", "회사", "zebra", "shel"])
def test_what_is_not_there_is_not_found(home: Memory, question: str) -> None:
    append(home, entry(1, "ประชุมที่กรุงเทพ 서울 数据库"))
    assert refs(find(home, question)) == []


def test_stop_words_do_not_outweigh_what_was_asked(home: Memory) -> None:
    append(home, entry(1, "the the the what is it what is it"), entry(2, "a zebra crossed"))
    assert refs(find(home, "what is it with the zebra"))[0] == name(2)


def test_stop_words_alone_still_find_what_has_them(home: Memory) -> None:
    append(home, entry(1, "to be or not to be"))
    assert name(1) in refs(find(home, "to be or not to be"))


@pytest.mark.parametrize("question", ODD, ids=range(len(ODD)))
def test_odd_text_is_no_error(home: Memory, question: str) -> None:
    append(home, entry(1, "The launch is on Monday"))
    found = find(home, question)
    assert not found.notes
    if "launch" in question:
        assert name(1) in refs(found)


@given(st.text(st.characters(exclude_categories=()), max_size=80))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_is_an_error(tmp_path: Path, text: str) -> None:
    memory = fresh(tmp_path / "home")
    if not memory.home.log.exists():
        append(memory, entry(1, "The launch is on Monday", detail="数据库 and l'école"))
    found = memory.search(text, min_score=0)
    assert not found.notes
    assert set(refs(found)) <= {name(1)}


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_what_is_indexed_can_be_asked_for(text: str) -> None:
    """Whatever the text, asking for it literally meets its own terms."""
    tokens = words.tokens(text)
    indexed = set(words.terms(tokens, words.language(tokens)))
    asked = words.asked(text, [words.language(tokens)])
    for word in asked:
        assert not indexed.isdisjoint(word.terms) or not any(word.terms)


def test_languages_are_told_apart() -> None:
    for text, language in (
        ("the house is on the hill", "english"),
        ("das ist nicht das Haus von der Frau", "german"),
        ("nous avons une maison dans la rue", "french"),
        ("no sé dónde está el libro", "spanish"),
        ("это не мой дом", "russian"),
        ("zzz qqq", "english"),
    ):
        assert words.language(words.tokens(text)) == language


def test_stems_of_one_language_do_not_match_texts_of_another() -> None:
    english = set(words.terms(words.tokens("have you ever been there"), "english"))
    [everest] = words.asked("everest", ["english", "german"])
    assert english.isdisjoint(everest.terms)


def test_an_identifier_is_a_word_of_its_own() -> None:
    for text in ("apply_voucher", "worker.py", "auth-migration", "src/web.py"):
        assert text in words.tokens(f"see {text}, please")
