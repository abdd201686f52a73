"""The sentences of a long text that answer, in their order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakebook.models.tokenizer import count
from wakebook.recall.texts import Asked, excerpt, sentences
from wakebook.store.question import Question, ask

NOTHING = Asked({})
FILLER = "The weather over the harbour was calm and the gulls were loud that morning. "


def asked(text: str) -> Asked:
    from tests.store.making import NOW

    question: Question = ask(text, ["english"], {}, {}, NOW)
    return Asked.of(question, [1.0] * len(question.words))


def test_a_short_text_is_told_whole_on_one_line() -> None:
    assert excerpt("One.\n\n  Two  three.\n", "english", NOTHING, 80) == "One. Two three."


def test_the_sentences_that_answer_are_kept_in_order() -> None:
    text = (
        FILLER * 3 + "Jonas painted the hull of the otter in green. " + FILLER * 3
        + "Then Mira varnished the hull a second time. " + FILLER * 3
    )  # fmt: skip
    told = excerpt(text, "english", asked("Who painted and varnished the hull?"), 50)
    first, second = told.index("Jonas painted the hull"), told.index("Mira varnished the hull")
    assert first < second
    assert count(told) <= 50
    assert " … " in told and told.endswith(" …")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which company had the party?", "The company gave a party."),
        ("Do we retry daily?", "There is a retry at noon, daily."),
        ("What do they study in the cities?", "One studies maps of the city."),
        ("What is in worker.py?", "The queue is emptied by worker.py at night."),
        ("Who calls apply_voucher?", "The till calls apply_voucher twice."),
        ("Où est l'église?", "Nous avons visité une église ancienne."),
        ("数据库", "我们的数据库在这里保存所有的预订信息。"),
    ],
)
def test_the_answer_is_found_whatever_its_form(question: str, answer: str) -> None:
    text = FILLER * 6 + f"{answer} " + FILLER * 6
    assert answer in excerpt(text, "english", asked(question), 45)


def test_the_end_is_not_marked_if_it_is_there() -> None:
    text = FILLER * 9 + "The hull of the otter was painted."
    told = excerpt(text, "english", asked("the hull of the otter"), 40)
    assert told.endswith("The hull of the otter was painted.")
    assert "…" in told


def test_the_beginning_is_not_marked_if_it_is_there() -> None:
    text = "The hull of the otter was painted. " + FILLER * 9
    told = excerpt(text, "english", asked("the hull of the otter"), 40)
    assert told.startswith("The hull of the otter was painted.")


def test_with_nothing_to_go_by_it_is_the_beginning() -> None:
    text = "".join(f"Sentence number {n} is about something. " for n in range(40))
    told = excerpt(text, "english", NOTHING, 30)
    assert told.startswith("Sentence number 0 is about something.")
    assert count(told) <= 30


def test_a_sentence_that_is_too_long_is_cut() -> None:
    text = "the hull " * 300
    told = excerpt(text, "english", asked("hull"), 40)
    assert told.startswith("the hull the hull") and told.endswith("…")
    assert 30 <= count(told) <= 40


@pytest.mark.parametrize("character", ["🫨", "𠀀", "﷽", "𐍈", "👩\u200d👧", "a\u0301", "f7-", "3 ,"])
@pytest.mark.parametrize("length", [20, 60, 80, 81, 500])
def test_the_limit_is_in_tokens(character: str, length: int) -> None:
    assert count(excerpt(character * length, "english", NOTHING, 80)) <= 80


def test_sentences() -> None:
    text = (
        "This is the first of them. Is this really the second? We think that it is!\n"
        "- and this is a line of a list\n"
    )
    assert sentences(text) == [
        "This is the first of them.",
        "Is this really the second?",
        "We think that it is!",
        "- and this is a line of a list",
    ]


def test_quotes_and_brackets_stay_closed() -> None:
    text = 'He said: "We take the green boat." Then (as the log says.) he went home at once.'
    assert " ".join(sentences(text)) == text


def test_chinese_and_japanese_sentences_have_no_blanks_between_them() -> None:
    first, second = (
        "我们决定使用数据库来保存所有的预订信息和顾客资料。",
        "然后我们继续开发新的功能并且测试它们直到完成！",
    )
    assert sentences(first + second) == [first, second]


def test_a_short_sentence_belongs_to_the_one_before() -> None:
    assert sentences("Shall we paint the whole hull? Yes. It was green before the winter.") == [
        "Shall we paint the whole hull? Yes.",
        "It was green before the winter.",
    ]


def test_abbreviations_and_numbers_lose_nothing() -> None:
    text = "Version 1.2.3 of e.g. the tool costs 3.50 Euro. " * 10
    assert " ".join(sentences(text)) == text.strip()


@given(
    st.lists(
        st.sampled_from(
            ["hull", "otter", ".", "!", "\n", "数据库。", "🫨", "words", "x" * 30, "…"]
        ),
        max_size=150,
    ),
    st.integers(20, 90),
)
def test_it_fits_and_every_word_comes_from_the_text(words: list[str], limit: int) -> None:
    text = " ".join(words)
    told = excerpt(text, "english", asked("the hull of the otter"), limit)
    assert count(told) <= limit
    assert "\n" not in told
    flat = "".join(text.split()).replace("…", "")
    for piece in told.split("…"):
        assert "".join(piece.split()) in flat
    if flat:
        assert told.strip(" …") or set(flat) <= set("…")
