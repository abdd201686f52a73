"""Filters: what lies outside is never found, by words, by meaning, alone or without an index."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.store.making import (
    NOW,
    again,
    append,
    entry,
    find,
    fresh,
    name,
    note,
    paths,
    refs,
    transcript,
)
from wakebook import Memory
from wakebook.log.query import Query
from wakebook.store.hits import Hit


@pytest.fixture
def home(tmp_path: Path) -> Memory:
    memory = fresh(tmp_path / "home")
    path = transcript(
        memory, "5e55-one", [("user", "zebra in the talk"), ("agent", "a zebra, yes")]
    )
    transcript(
        memory,
        "5e66-two",
        [("user", "another zebra")],
        host="codex",
        start=NOW - timedelta(days=30),
    )
    note(memory, "knowledge/people/mira.md", "---\nupdated: 2026-11-01\n---\nMira likes a zebra\n")
    note(memory, "knowledge/projects/tidepool/plan.md", "---\ndate: 2026-10-01\n---\nzebra plan\n")
    note(memory, "archive/topics/2026-03-03.md", "an old zebra\n")
    memory.log.add_subject("tidepool")
    memory.log.add_subject("pets")
    append(
        memory,
        entry(1, "feed the zebra", type="task", subject="pets"),
        entry(2, "fed the zebra", type="task", status="done", days=9),
        entry(3, "is the zebra ill?", type="question", days=8),
        entry(4, "where does the zebra sleep?", type="question", days=20),
        entry(5, "the zebra sleeps in the barn", replaces=(name(4),), kind="lesson", days=15),
        entry(6, "we keep the zebra", type="decision", subject="tidepool", days=40),
        entry(7, "zebras like grass", kind="preference", session="5e55-one", transcript=path,
              evidence=(1,), days=2),
        entry(8, "handed over the zebra", type="handoff", session="5e66-two", days=30),
    )  # fmt: skip
    return memory


CASES: list[tuple[dict[str, Any], Callable[[Hit], bool], int]] = [
    ({"types": ("task",)}, lambda hit: hit.type == "task", 2),
    ({"types": ("task", "decision")}, lambda hit: hit.type in ("task", "decision"), 3),
    ({"subjects": ("pets",)}, lambda hit: hit.subject == "pets", 1),
    ({"subjects": ("tidepool",)}, lambda hit: hit.subject == "tidepool", 2),
    ({"status": "open"}, lambda hit: hit.ref in (name(1), name(3)), 2),
    ({"status": "done"}, lambda hit: hit.ref == name(2), 1),
    ({"status": "answered", "all": True}, lambda hit: hit.ref == name(4), 1),
    ({"kinds": ("lesson",)}, lambda hit: hit.ref == name(5), 1),
    ({"session": "5e55"}, lambda hit: hit.session == "5e55-one", 3),
    ({"session": "5e"}, lambda hit: hit.session.startswith("5e"), 5),
    ({"host": "codex"}, lambda hit: hit.session == "5e66-two", 2),
    ({"host": "claude-code"}, lambda hit: hit.session == "5e55-one", 3),
    ({"categories": ("person",)}, lambda hit: hit.category == "person", 1),
    ({"categories": ("conversation",)}, lambda hit: hit.category == "conversation", 3),
    (
        {"categories": ("topic", "project")},
        lambda hit: hit.category in ("topic", "project") or hit.subject in ("pets", "tidepool"),
        4,
    ),
    (
        {"since": NOW - timedelta(days=9.5)},
        lambda hit: hit.timestamp is not None and hit.timestamp >= NOW - timedelta(days=9.5),
        7,
    ),
    (
        {"until": NOW - timedelta(days=25)},
        lambda hit: hit.timestamp is not None and hit.timestamp < NOW - timedelta(days=25),
        5,
    ),
    (
        {"since": NOW - timedelta(days=21), "until": NOW - timedelta(days=8.5), "types": ("fact",)},
        lambda hit: hit.ref == name(5),
        1,
    ),
    ({"types": ("task",), "status": "open", "subjects": ("pets",)}, lambda h: h.ref == name(1), 1),
    ({"types": ("task",), "subjects": ("tidepool",)}, lambda hit: False, 0),
    ({"subjects": ("no-such-thing",)}, lambda hit: False, 0),
    ({"session": "%"}, lambda hit: False, 0),
    ({"host": "' OR 1=1 --"}, lambda hit: False, 0),
]  # fmt: skip


@pytest.mark.parametrize(("filters", "inside", "count"), CASES, ids=range(len(CASES)))
def test_nothing_outside_is_found(
    home: Memory, filters: dict[str, Any], inside: Callable[[Hit], bool], count: int
) -> None:
    alone = find(home, "", **filters)
    assert len(alone.hits) == count
    stamps = [hit.timestamp for hit in alone.hits if hit.timestamp]
    assert stamps == sorted(stamps, reverse=True)
    worded = find(home, "zebra", **filters)
    meant = find(home, "an animal with stripes", **filters)
    scanned = _without_index(home, "zebra", **filters)
    for found in (alone, worded, meant, scanned):
        assert all(inside(hit) for hit in found.hits), refs(found)
    assert set(refs(worded)) == set(refs(alone)) == set(refs(scanned))
    assert set(refs(_without_index(home, "", **filters))) == set(refs(alone))


def _without_index(home: Memory, text: str, **filters: Any) -> Any:
    for path in home.home.root.glob("index.db*"):
        path.rmdir() if path.is_dir() else path.unlink()
    home.home.index.mkdir()
    try:
        found = find(home, text, **filters)
    finally:
        home.home.index.rmdir()
    assert any("Found by reading the files" in note for note in found.notes)
    return found


def test_a_renamed_subject_by_its_old_name(home: Memory) -> None:
    home.log.rename_subject("pets", "animals")
    for subject in ("pets", "animals"):
        assert refs(find(home, "zebra", subjects=(subject,))) == [name(1)]
        assert refs(_without_index(home, "zebra", subjects=(subject,))) == [name(1)]


def test_replaced_entries_only_if_they_are_asked_for(home: Memory) -> None:
    assert name(4) not in refs(find(home, "", types=("question",)))
    assert name(4) in refs(find(home, "", types=("question",), all=True))
    assert name(4) in refs(find(home, "zebra", types=("question",), all=True))


def test_everything_newest_first(home: Memory) -> None:
    everything = again(home).search(Query(all=True), limit=100)
    assert len(everything.hits) == 14
    assert len(again(home).search(Query(all=True), limit=3).hits) == 3


def test_a_narrow_filter_among_much_else(tmp_path: Path) -> None:
    """What is allowed ranks far below what is not, by words and by meaning."""
    memory = fresh(tmp_path / "home")
    chance = random.Random(4)
    append(
        memory,
        *(entry(n, f"the zebra eats grass {chance.random()}", subject="a") for n in range(500)),
        entry(700, "a zebra somewhere in a much longer text about boats", subject="b"),
        entry(701, "the horse grazes", subject="b"),
    )
    assert refs(find(memory, "zebra eats grass", subjects=("b",)))[0] == name(700)
    assert name(701) in refs(find(memory, "the donkey eats", subjects=("b",)))


def test_no_words_and_no_filters_is_everything_that_holds(home: Memory) -> None:
    found = again(home).search("  ", limit=50)
    assert name(4) not in refs(found) and len(found.hits) == 13


def test_the_archive_counts_as_its_category(home: Memory) -> None:
    assert paths(find(home, "zebra", categories=("topic",))) == ["archive/topics/2026-03-03.md"]


@pytest.mark.parametrize("name_of", ["session", "host", "subjects", "types"])
def test_odd_characters_in_a_filter(home: Memory, name_of: str) -> None:
    for odd in ("\udcff", "\0", "'", "😀"):
        value = (odd,) if name_of.endswith("s") else odd
        assert refs(find(home, "zebra", **{name_of: value})) == []
        assert refs(find(home, "", **{name_of: value})) == []


def test_ordinary_words_list_what_the_filter_holds(memory: Memory) -> None:
    home = memory
    home.remember("Caulk the dinghy", type_="task")
    home.remember("Gannets nest on the cliff")
    found = home.search(Query(text="open tasks please", types=("task",), status="open"))
    assert [hit.snippet for hit in found.hits] == ["Caulk the dinghy"]
    assert "Nothing within the filters says 'open tasks please'" in found.notes[0]
    assert not home.search(Query(text="dinghy", types=("task",))).notes
    assert not home.search(Query(text="open questions", types=("question",))).notes


def test_a_category_finds_the_entries_of_its_notes(memory: Memory) -> None:
    home = memory
    home.remember("Ylva has the boat key", subject="ylva")
    home.remember("Tidepool opens at nine", subject="tidepool")
    append(home, entry(91, "Rinse the pump after each tide", kind="procedure"))
    home.remember("Gannets nest on the cliff")
    home.log.retype_subject("ylva", "person")
    home.log.retype_subject("tidepool", "project")

    def found(category: str) -> set[str]:
        return {hit.snippet for hit in home.search(Query(categories=(category,))).hits if hit.type}

    assert found("person") == {"Ylva has the boat key"}
    assert found("project") == {"Tidepool opens at nine"}
    assert found("procedure") == {"Rinse the pump after each tide"}
    assert found("reference") == {"Gannets nest on the cliff"}
    assert len(found("journal")) == 4
