"""Passages: what was found with its whole text, for whoever puts a text together."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from tests.store.making import (
    NOW,
    WORDS_ALONE,
    again,
    append,
    entry,
    fresh,
    name,
    note,
    sentences,
    transcript,
)
from wakebook import Memory
from wakebook.log.query import Query
from wakebook.store.hits import Options, Passage, Passages
from wakebook.store.index import Index


@pytest.fixture
def home(tmp_path: Path) -> Memory:
    return fresh(tmp_path / "home", WORDS_ALONE)


def passages(memory: Memory, text: str, most: int = 50, **filters: object) -> Passages:
    opened = again(memory)
    query = Query(text=text, **filters)  # type: ignore[arg-type]
    return Index(opened.home, opened.config).passages(query, NOW, most)


def refs(found: Passages) -> list[str]:
    return [one.ref for one in found.found]


def only(found: Passages) -> Passage:
    [one] = found.found
    return one


# --- what is in them ---------------------------------------------------------------------


def test_an_entry_with_its_detail(home: Memory) -> None:
    append(home, entry(1, "the zebra eats grass", detail="In the morning.", subject="zoo"))
    one = only(passages(home, "zebra"))
    assert (one.ref, one.text) == (name(1), "the zebra eats grass — In the morning.")
    assert (one.path, one.row.subject, one.replaced_by) == ("", "zoo", "")
    assert one.score > 0.5
    assert "zebra" in one.why()


def test_the_whole_text_of_a_long_turn(home: Memory) -> None:
    long = "The zebra comes first. " + "Much is said about other things. " * 300
    path = transcript(home, "s1", [("user", long)])
    one = only(passages(home, "zebra"))
    assert one.text.strip() == long.strip()
    assert (one.path, one.session, one.row.turn) == (path, "s1", 1)
    assert one.ref.startswith(f"{path}#")


def test_a_section_of_a_note_with_its_title(home: Memory) -> None:
    note(home, "knowledge/reference/zoo.md", "# Zoo\n\nwords\n\n## Stripes\n\nA zebra has them.\n")
    one = only(passages(home, "zebra"))
    assert one.text.strip() == "A zebra has them."
    assert "Stripes" in one.title
    assert one.ref == "knowledge/reference/zoo.md#5-8"


def test_best_first_and_no_more_than_are_wanted(home: Memory) -> None:
    append(home, *(entry(n, f"{text} zebra") for n, text in enumerate(sentences(60))))
    append(home, entry(99, "the zebra postponed the retry queue"))
    found = passages(home, "zebra postponed the retry queue", most=20)
    assert len(found.found) == 20
    scores = [one.score for one in found.found]
    assert scores == sorted(scores, reverse=True)
    assert found.found[0].ref == name(99)
    assert all(0 <= score <= 1 for score in scores)


def test_what_says_the_same_is_all_there(home: Memory) -> None:
    """A search shows only one of them; here somebody else chooses."""
    append(home, *(entry(n, "the zebra eats grass", days=n + 1) for n in range(5)))
    assert len(passages(home, "zebra grass").found) == 5


def test_the_order_and_scores_are_those_of_a_search(home: Memory) -> None:
    texts = sentences(30)
    append(home, *(entry(n, text) for n, text in enumerate(texts)))
    index = Index(home.home, home.config)
    query = Query(text="Mira moved the launch")
    hits = index.search(query, NOW, Options(limit=1, min_score=0.0)).hits
    assert refs(index.passages(query, NOW, 30))[0] == hits[0].ref


# --- what holds --------------------------------------------------------------------------


def test_what_was_replaced_gives_way_to_what_replaced_it(home: Memory) -> None:
    append(
        home,
        entry(1, "the launch of the zebra is on 14 November"),
        entry(2, "it is on the 21st", replaces=(name(1),)),
    )
    found = passages(home, "launch of the zebra")
    assert refs(found) == [name(2)]


def test_a_turn_that_no_longer_holds_says_so_and_stands_below(home: Memory) -> None:
    path = transcript(home, "s1", [("user", "The launch of the zebra is on 14 November")])
    append(
        home,
        entry(1, "launch on 14 November", evidence=(1,), session="s1", transcript=path),
        entry(2, "the zebra launch is on 21 November", replaces=(name(1),)),
    )
    found = passages(home, "launch of the zebra")
    assert found.found[0].ref == name(2)
    [turn] = [one for one in found.found if one.row.turn]
    assert turn.replaced_by == name(2)
    assert turn.score < found.found[0].score


# --- filters -----------------------------------------------------------------------------


def test_categories_narrow_it(home: Memory) -> None:
    append(home, entry(1, "a zebra of the log"))
    transcript(home, "s1", [("user", "a zebra of a talk")])
    for folder in ("identity", "memory", "journal", "people", "projects/zoo", "reference"):
        note(home, f"knowledge/{folder}/zebra.md", "# Z\n\nthe zebra of a note\n")
    note(home, "archive/journal/2026-01-01.md", "# Z\n\nan old zebra\n")
    found = passages(home, "zebra", categories=("project", "procedure", "reference"), files=True)
    assert sorted(one.path for one in found.found) == [
        "knowledge/projects/zoo/zebra.md",
        "knowledge/reference/zebra.md",
    ]


def test_what_replaced_a_thing_is_within_the_filters_too(home: Memory) -> None:
    """An entry that corrects what was found does not come along through the back door."""
    path = transcript(home, "s1", [("user", "a zebra on 14 November")])
    append(
        home,
        entry(1, "a zebra", evidence=(1,), session="s1", transcript=path),
        entry(2, "no zebra, a horse", replaces=(name(1),)),
    )
    found = passages(home, "zebra", categories=("conversation",))
    assert [one.row.category for one in found.found] == ["conversation"]


# --- questions that are none -------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["?", "...", "🙂", "the", "\x00", "half \ud83d", "x " * 30_000, "%", "a' OR 1=1 --"]
)
def test_any_message_is_a_question(home: Memory, text: str) -> None:
    append(home, entry(1, "the zebra eats grass"))
    passages(home, text)


def test_an_empty_home(home: Memory) -> None:
    found = passages(home, "zebra")
    assert (list(found.found), list(found.notes)) == ([], [])


def test_what_the_question_asks_comes_along(home: Memory) -> None:
    append(home, entry(1, "the zebra eats grass"), entry(2, "more about grass"))
    found = passages(home, "Which zebra eats grass?")
    assert found.question is not None
    words = [word.word for word in found.question.words]
    assert len(found.weights) == len(words)
    weights = dict(zip(words, found.weights, strict=True))
    assert weights["zebra"] > weights["grass"]  # which is more common


# --- whatever is wrong with the index ----------------------------------------------------


def fill(memory: Memory) -> None:
    append(memory, entry(1, "the zebra eats grass"))
    transcript(memory, "s1", [("user", "I saw a zebra")])
    note(memory, "knowledge/reference/zoo.md", "# Zoo\n\nOne zebra.\n")


def answers(memory: Memory) -> list[str]:
    found = passages(memory, "zebra")
    assert len(found.found) == 3
    return list(found.notes)


def test_nothing_is_wrong(home: Memory) -> None:
    fill(home)
    assert answers(home) == []
    assert answers(home) == []


@pytest.mark.parametrize("data", [b"", b"not a database, but long enough to be looked at" * 50])
def test_a_broken_index_is_made_anew(home: Memory, data: bytes) -> None:
    fill(home)
    home.home.index.write_bytes(data)
    told = answers(home)
    assert len(told) == bool(data)  # nothing at all is an index that is to be filled
    assert all("The index was broken" in one for one in told)
    assert answers(home) == []


def test_pages_of_the_index_are_overwritten(home: Memory) -> None:
    fill(home)
    home.index.sync()
    home.opened.index.store.close()
    data = bytearray(home.home.index.read_bytes())
    for at in range(4096, len(data), 4096):
        data[at : at + 64] = b"\xff" * 64
    home.home.index.write_bytes(bytes(data))
    assert any("The index was broken" in one for one in answers(home))
    assert answers(home) == []


def test_a_folder_in_its_place(home: Memory) -> None:
    fill(home)
    home.home.index.mkdir()
    [told] = answers(home)
    assert "Found by reading the files" in told
    assert home.home.traces("failure")[-1]["where"] == "index"


def test_filters_hold_without_an_index(home: Memory) -> None:
    fill(home)
    home.home.index.mkdir()
    found = passages(home, "zebra", categories=("reference",), files=True)
    assert [one.path for one in found.found] == ["knowledge/reference/zoo.md"]


def test_an_index_of_a_newer_wakebook(home: Memory) -> None:
    fill(home)
    home.index.sync()
    db = sqlite3.connect(home.home.index)
    db.execute("PRAGMA user_version = 99")
    db.close()
    [told] = answers(home)
    assert "newer Wakebook" in told


def test_what_was_just_written_is_found(home: Memory) -> None:
    fill(home)
    index = Index(home.home, home.config)
    assert len(index.passages(Query(text="zebra"), NOW, 50).found) == 3
    append(home, entry(2, "a zebra more"))
    assert len(index.passages(Query(text="zebra"), NOW + timedelta(seconds=1), 50).found) == 4
