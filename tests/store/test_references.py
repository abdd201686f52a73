"""How often something refers to what was found: replacements, evidence, links."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.making import WORDS_ALONE, again, append, entry, fresh, name, note, transcript
from wakebook import Memory
from wakebook.log.query import Query
from wakebook.store.index import Index


@pytest.fixture
def home(tmp_path: Path) -> Memory:
    return fresh(tmp_path / "home", WORDS_ALONE)


def counted(memory: Memory, text: str = "zebra") -> dict[str, int]:
    """What was found, by entry, file or file and turn, and how often it is referred to."""
    opened = again(memory)
    found = Index(opened.home, opened.config).passages(Query(text=text), opened.opened.now(), 50)
    return {
        one.row.name or (f"{one.path} {one.row.place}" if one.row.turn else one.path): (
            found.references.get(one.id, 0)
        )
        for one in found.found
    }


# --- entries -----------------------------------------------------------------------------


def test_an_entry_counts_what_it_replaced(home: Memory) -> None:
    append(
        home,
        entry(1, "the zebra eats grass"),
        entry(2, "the zebra eats hay"),
        entry(3, "the zebra eats oats", replaces=(name(1), name(2))),
        entry(4, "a zebra has stripes"),
    )
    assert counted(home) == {name(3): 2, name(4): 0}


def test_a_turn_counts_what_was_learned_from_it(home: Memory) -> None:
    path = transcript(home, "s1", [("user", "I saw a zebra"), ("agent", "A zebra, how nice.")])
    said = {"session": "s1", "transcript": path}
    append(
        home,
        entry(1, "Mira saw it", evidence=(1,), **said),
        entry(2, "Mira was glad", evidence=(1, 2), **said),
    )
    assert counted(home) == {f"{path} 1": 2, f"{path} 2": 1}


def test_turns_of_other_conversations_do_not_count(home: Memory) -> None:
    first = transcript(home, "s1", [("user", "I saw a zebra")])
    second = transcript(home, "s2", [("user", "One more zebra")])
    append(home, entry(1, "Mira saw it", evidence=(1,), session="s1", transcript=first))
    assert counted(home) == {f"{first} 1": 1, f"{second} 1": 0}


def test_an_archived_conversation_keeps_its_count(home: Memory) -> None:
    path = transcript(home, "s1", [("user", "I saw a zebra")])
    append(home, entry(1, "Mira saw it", evidence=(1,), session="s1", transcript=path))
    there = home.home.root / "archive" / path
    there.parent.mkdir(parents=True)
    (home.home.root / path).rename(there)
    assert counted(home) == {f"archive/{path} 1": 1}


# --- notes -------------------------------------------------------------------------------


def test_a_note_counts_the_notes_that_link_to_it(home: Memory) -> None:
    note(home, "knowledge/reference/zebra.md", "# Zebra\n\nIt has stripes.\n")
    note(home, "knowledge/reference/a.md", "# A\n\nSee [[zebra]], and again [[Zebra|it]].\n")
    note(home, "knowledge/reference/b.md", "# B\n\nSee [[reference/zebra#stripes]].\n")
    note(home, "knowledge/reference/c.md", "# C\n\nNo link.\n")
    found = counted(home, "stripes")
    assert found["knowledge/reference/zebra.md"] == 2


def test_a_link_counts_for_the_note_that_it_names(home: Memory) -> None:
    """The notes of all projects have the same names."""
    for slug in ("otter", "heron"):
        note(home, f"knowledge/projects/{slug}/context.md", f"# {slug}\n\nThe zebra of {slug}\n")
    note(home, "knowledge/reference/x.md", "# X\n\n[[projects/otter/context|Otter]]\n")
    found = counted(home)
    assert found["knowledge/projects/otter/context.md"] == 1
    assert found["knowledge/projects/heron/context.md"] == 0


def test_a_note_does_not_refer_to_itself(home: Memory) -> None:
    note(home, "knowledge/reference/zebra.md", "# Zebra\n\nA zebra, see [[zebra]] and [[#Zebra]]\n")
    assert counted(home) == {"knowledge/reference/zebra.md": 0}


@pytest.mark.parametrize(
    "link", ["[[zebras]]", "[[my zebra]]", "[[", "[[]]", "[[zebra\n]]", "zebra"]
)
def test_what_is_no_link_to_it(home: Memory, link: str) -> None:
    note(home, "knowledge/reference/zebra.md", "# Z\n\nIt has stripes.\n")
    note(home, "knowledge/reference/a.md", f"# A\n\nSee {link} there.\n")
    expected = 1 if link == "[[zebra\n]]" else 0
    assert counted(home, "stripes")["knowledge/reference/zebra.md"] <= expected


def test_every_piece_of_a_long_note_has_the_count_of_the_note(home: Memory) -> None:
    long = "\n\n".join(f"## Part {n}\n\nA zebra in part {n}." for n in range(5))
    note(home, "knowledge/reference/zebra.md", long)
    note(home, "knowledge/reference/a.md", "# A\n\nSee [[zebra]].\n")
    opened = again(home)
    index = Index(opened.home, opened.config)
    found = index.passages(Query(text="zebra part"), opened.opened.now(), 50)
    pieces = [one for one in found.found if one.path.endswith("/zebra.md")]
    assert len(pieces) == 5
    assert {found.references.get(one.id, 0) for one in pieces} == {1}


def test_a_new_link_counts_from_now_on(home: Memory) -> None:
    """In the same process, which keeps what it has counted."""
    note(home, "knowledge/reference/zebra.md", "# Zebra\n\nIt has stripes.\n")
    note(home, "knowledge/reference/a.md", "# A\n\nNothing.\n")
    index = Index(home.home, home.config)

    def times() -> int:
        index.changed()
        found = index.passages(Query(text="stripes"), home.opened.now(), 50)
        [one] = [one for one in found.found if one.path.endswith("/zebra.md")]
        return found.references.get(one.id, 0)

    assert times() == 0
    note(home, "knowledge/reference/a.md", "# A\n\nSee [[zebra]] now.\n")
    assert times() == 1
    note(home, "knowledge/reference/b.md", "# B\n\nSee [[zebra]], too.\n")
    assert times() == 2
    (home.home.root / "knowledge/reference/a.md").unlink()
    assert times() == 1
