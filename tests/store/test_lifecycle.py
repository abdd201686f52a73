"""Lifecycle: what was replaced gives way, and what is known about a thing moves it up or down."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.store.making import (
    NOW,
    WORDS_ALONE,
    again,
    append,
    entry,
    find,
    fresh,
    name,
    note,
    paths,
    refs,
    rewrite,
    rows,
    transcript,
)
from wakebook import Memory
from wakebook.store.hits import Hit


@pytest.fixture(params=[WORDS_ALONE, ""], ids=["words", "words and meaning"])
def home(tmp_path: Path, request: pytest.FixtureRequest) -> Memory:
    """A home with a few things that have nothing to do with the questions."""
    memory = fresh(tmp_path / "home", request.param)
    other = ("the kitchen shelf is painted", "Jonas sold an old bicycle", "rain in the mountains")
    append(memory, *(entry(900 + number, text) for number, text in enumerate(other)))
    return memory


def hits(memory: Memory, text: str, **filters: Any) -> dict[str, Hit]:
    return {hit.ref: hit for hit in find(memory, text, **filters).hits}


LAUNCH = (
    entry(1, "The launch is on 14 November", days=5),
    entry(2, "The launch is on 21 November", days=3, replaces=(name(1),)),
)


def test_what_was_replaced_is_hidden(home: Memory) -> None:
    append(home, *LAUNCH)
    found = refs(find(home, "when is the launch"))
    assert found[0] == name(2) and name(1) not in found


def test_asked_for_it_stands_below_what_replaced_it(home: Memory) -> None:
    append(home, *LAUNCH)
    for question in ("launch", "launch on 14 November", "14"):
        found = hits(home, question, all=True)
        order = list(found)
        assert order.index(name(2)) < order.index(name(1))
        assert found[name(1)].replaced_by == name(2)
        assert found[name(1)].score < found[name(2)].score
        assert f"no longer holds, see {name(2)}" in found[name(1)].why


def test_words_of_what_was_replaced_find_what_replaced_it(home: Memory) -> None:
    append(home, entry(1, "We take SQLite for the bookings"))
    append(home, entry(2, "Postgres it is", replaces=(name(1),)))
    found = find(home, "sqlite")
    assert refs(found)[0] == name(2)
    assert f"corrects {name(1)}" in found.hits[0].why
    assert name(1) not in refs(found)


def test_the_end_of_a_chain_answers(home: Memory) -> None:
    append(
        home,
        entry(1, "the zebra sleeps"),
        entry(2, "it walks", replaces=(name(1),)),
        entry(3, "it flies", replaces=(name(2),)),
    )
    found = find(home, "zebra sleeps")
    assert refs(found)[0] == name(3)
    assert name(1) not in refs(found) and name(2) not in refs(found)


def test_what_replaces_is_not_shown_where_the_filters_leave_it_out(home: Memory) -> None:
    append(home, entry(1, "We take SQLite"), entry(2, "No", type="decision", replaces=(name(1),)))
    assert name(2) not in refs(find(home, "sqlite", types=("fact",)))
    assert refs(find(home, "sqlite", types=("decision",))) in ([name(2)], [])


def talk(memory: Memory) -> tuple[str, dict[str, Hit]]:
    turns = [
        ("user", "The launch party is on 14 November in the harbour"),
        ("agent", "Understood."),
        ("user", "Also buy bread"),
    ]
    path = transcript(memory, "s1", turns)
    append(
        memory,
        entry(1, "launch party 14 November", session="s1", transcript=path, evidence=(1,)),
        entry(2, "launch party 21 November", replaces=(name(1),)),
    )
    return path, hits(memory, "launch party harbour 14 November")


def test_a_turn_that_no_longer_holds_stays_below_its_correction(home: Memory) -> None:
    path, found = talk(home)
    order = [ref.partition("#")[0] for ref in found]
    assert order[0] == name(2)
    turn = found[next(ref for ref in found if ref.startswith(path))]
    assert turn.replaced_by == name(2) and name(2) in turn.why


def test_a_turn_with_something_that_still_holds_stays(home: Memory) -> None:
    path, _ = talk(home)
    append(home, entry(3, "the harbour", session="s1", transcript=path, evidence=(1,)))
    found = hits(home, "launch party harbour 14 November")
    turn = found[next(ref for ref in found if ref.startswith(path))]
    assert turn.replaced_by == ""


def test_provenance_of_an_entry(home: Memory) -> None:
    path, _ = talk(home)
    append(home, entry(3, "bread is needed", session="s1", transcript=path, evidence=(3,)))
    hit = hits(home, "bread needed")[name(3)]
    assert hit.session == "s1"
    assert hit.provenance.startswith(f"claude-code session:s1 {path}#")
    lines = again(home).get(hit.provenance.split()[-1]).lines
    assert any("Also buy bread" in text for _, text in lines)
    assert hits(home, "kitchen")[name(900)].provenance == "by hand"


# --- the same rules as the log -----------------------------------------------------------


def settled(memory: Memory) -> tuple[dict[str, str], dict[str, str]]:
    found = rows(memory, "SELECT name, replaced_by, status FROM chunk WHERE name <> ''")
    return {a: b for a, b, _ in found if b}, {a: c for a, _, c in found}


def agrees(memory: Memory) -> None:
    again(memory).search("x")
    chains = again(memory).log.chains()
    replaced_by, states = settled(memory)
    assert replaced_by == chains.replaced_by
    assert states == {item.id: chains.status(item) for item in chains.entries}


def test_several_for_one_one_for_several_and_none_there(home: Memory) -> None:
    append(
        home,
        entry(1, "a zebra"),
        entry(2, "a lion"),
        entry(3, "both", replaces=(name(1), name(2))),
        entry(4, "newer", replaces=(name(1),)),
        entry(5, "dangling", replaces=("nowhere00000",)),
    )
    agrees(home)
    assert name(5) in refs(find(home, "dangling"))


def test_a_replacement_that_came_before_what_it_replaces(home: Memory) -> None:
    append(home, entry(2, "the new zebra", replaces=(name(1),)))
    again(home).search("zebra")
    append(home, entry(1, "the old zebra"))
    agrees(home)
    assert name(1) not in refs(find(home, "old zebra"))


def test_entries_that_replace_each_other(home: Memory) -> None:
    append(home, entry(1, "zebra one", replaces=(name(3),)))
    append(home, entry(2, "zebra two", replaces=(name(1),)))
    append(home, entry(3, "zebra three", replaces=(name(2),)))
    agrees(home)
    found = refs(find(home, "zebra"))
    assert name(3) in found and name(1) not in found and name(2) not in found


def test_open_done_and_answered(home: Memory) -> None:
    append(
        home,
        entry(1, "send the form", type="task"),
        entry(2, "buy bread", type="task"),
        entry(3, "is it enough?", type="question"),
        entry(4, "who pays?", type="question"),
        entry(5, "call Mira", type="task", status="done"),
    )
    agrees(home)
    append(
        home,
        entry(6, "sent the form", type="task", status="done", replaces=(name(1),)),
        entry(7, "it is enough", replaces=(name(3),)),
        entry(8, "buy rye bread", type="task", replaces=(name(2),)),
    )
    agrees(home)


def test_the_newest_replacement_counts_after_a_rename(home: Memory) -> None:
    append(
        home,
        entry(1, "launch alpha"),
        entry(2, "launch beta", subject="cat", replaces=(name(1),)),
        entry(3, "launch gamma", replaces=(name(1),)),
    )
    home.log.add_subject("cat")
    agrees(home)
    home.log.rename_subject("cat", "tiger")
    agrees(home)


def test_an_answer_that_is_taken_back(home: Memory) -> None:
    append(home, entry(1, "enough?", type="question"), entry(2, "yes", replaces=(name(1),)))
    agrees(home)
    rewrite(home, lambda item: item.id != name(2))
    agrees(home)
    assert refs(find(home, "", status="open")) == [name(1)]


def test_a_task_that_was_opened_again(home: Memory) -> None:
    append(home, entry(1, "deploy", type="task"))
    append(home, entry(2, "deployed", type="task", status="done", replaces=(name(1),)))
    agrees(home)
    append(home, entry(3, "deploy again", type="task", replaces=(name(2),)))
    agrees(home)


_LOGS = st.lists(
    st.tuples(
        st.sampled_from(["fact", "task", "task done", "question"]),
        st.lists(st.integers(1, 9), max_size=2),
    ),
    min_size=1,
    max_size=8,
)


@given(_LOGS, st.booleans(), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_log_at_once_or_line_by_line(
    tmp_path_factory: pytest.TempPathFactory,
    log: list[tuple[str, list[int]]],
    slowly: bool,
    ahead: bool,
) -> None:
    memory = fresh(tmp_path_factory.mktemp("home"), WORDS_ALONE)
    for number, (kind, old) in enumerate(log, start=1):
        replaces = tuple(
            name(item) for item in dict.fromkeys(old) if item < number or (ahead and item > number)
        )
        what, _, done = kind.partition(" ")
        extra = {"status": "done"} if done else {}
        append(memory, entry(number, "x", type=what, replaces=replaces, **extra))
        if slowly:
            again(memory).search("x")
    agrees(memory)


# --- what moves things up and down -------------------------------------------------------


def first_of(memory: Memory, question: str, **filters: Any) -> str:
    return refs(find(memory, question, **filters))[0]


def pair(memory: Memory, one: dict[str, Any], other: dict[str, Any]) -> None:
    """Two entries that say the same."""
    append(
        memory, entry(1, "the zebra eats grass", **one), entry(2, "the zebra eats grass", **other)
    )


def test_of_two_equal_facts_the_newer_comes_first(home: Memory) -> None:
    pair(home, {"days": 1}, {"days": 60})
    found = hits(home, "zebra grass")
    assert list(found)[:2] == [name(1), name(2)]
    assert found[name(1)].score > found[name(2)].score


def test_a_pin_does_not_age(home: Memory) -> None:
    pair(home, {"days": 1}, {"days": 900, "pinned": True})
    found = hits(home, "zebra grass")
    assert next(iter(found)) == name(2)
    assert found[name(2)].parts["recency"] == 1
    assert "pinned" in found[name(2)].why


def test_an_open_task_comes_before_one_that_is_done(home: Memory) -> None:
    pair(home, {"type": "task", "status": "done"}, {"type": "task", "days": 1.01})
    assert first_of(home, "zebra grass") == name(2)


def test_what_is_about_the_subject_that_was_named_comes_first(home: Memory) -> None:
    home.log.add_subject("tidepool")
    append(
        home,
        entry(1, "the zebra eats grass in tidepool"),
        entry(2, "the zebra eats grass", subject="tidepool", days=1.01),
    )
    found = hits(home, "what eats the zebra of tidepool")
    assert next(iter(found)) == name(2) and "subject" in found[name(2)].why


def test_recency_can_be_switched_off(tmp_path: Path) -> None:
    memory = fresh(tmp_path / "home", "[search]\nrecency_weight = 0\n" + WORDS_ALONE)
    pair(memory, {"days": 1}, {"days": 900})
    found = hits(memory, "zebra grass")
    assert {hit.parts["recency"] for hit in found.values()} == {1}


def test_the_date_in_a_question_counts(tmp_path: Path) -> None:
    memory = fresh(tmp_path / "home", WORDS_ALONE)
    append(
        memory,
        entry(1, "met the zebra keeper", timestamp=NOW - timedelta(days=100)),
        entry(2, "met the zebra keeper", timestamp=NOW - timedelta(days=10)),
    )
    day = NOW - timedelta(days=100)
    found = hits(memory, f"whom did I meet on {day:%Y-%m-%d} with the zebra")
    assert next(iter(found)) == name(1)
    assert "time" in found[name(1)].why


def test_who_said_it_counts(tmp_path: Path) -> None:
    memory = fresh(tmp_path / "home", WORDS_ALONE)
    turns = [
        ("user", "Mira: the zebra is fine"),
        ("user", "Jonas: the zebra is ill"),
        ("user", "Mira: good"),
        ("user", "Jonas: bad"),
    ]
    transcript(memory, "s1", turns)
    for who in ("Mira", "Jonas"):
        assert find(memory, f"what did {who} say about the zebra").hits[0].speaker == who


def test_the_same_is_not_said_over_and_over(tmp_path: Path) -> None:
    memory = fresh(tmp_path / "home", "[search]\ndiversity = 0.7\n" + WORDS_ALONE)
    append(memory, *(entry(number, "the zebra eats grass") for number in range(1, 9)))
    append(memory, entry(20, "one zebra sleeps standing"))
    assert name(20) in refs(find(memory, "zebra", limit=3))


def test_a_score_says_how_sure_it_is(home: Memory) -> None:
    append(home, entry(1, "the zebra eats grass"))
    sure = find(home, "zebra eats grass").hits[0].score
    unsure = find(home, "zebra who plays chess in Lagos").hits[0].score
    assert 1 >= sure > unsure > 0
    for hit in find(home, "zebra").hits:
        assert 0 <= hit.score <= 1


def test_sessions_instead_of_places(home: Memory) -> None:
    transcript(home, "aaa", [("user", "zebra one"), ("agent", "zebra two"), ("user", "zebra")])
    transcript(home, "bbb", [("user", "a lion"), ("agent", "yes")], start=NOW - timedelta(days=4))
    append(home, entry(1, "zebra"))
    found = find(home, "zebra", sessions=True)
    assert refs(found)[0] == "session:aaa"
    assert len(refs(found)) == len(set(refs(found)))
    assert again(home).get(refs(found)[0]).name == "aaa"


def test_a_snippet_shows_what_matched(home: Memory) -> None:
    note(home, "topics/long.md", "filler words here. " * 60 + "the zebra eats. " + "more. " * 80)
    hit = find(home, "zebra eats").hits[0]
    assert "**zebra** **eats**" in hit.snippet
    assert len(hit.snippet) <= 700
    assert paths(find(home, "zebra eats"))[0] == "topics/long.md"


def test_a_stale_turn_in_the_archive(home: Memory) -> None:
    path, _ = talk(home)
    there = home.home.root / "archive" / path
    there.parent.mkdir(parents=True)
    (home.home.root / path).rename(there)
    found = hits(home, "launch party harbour 14 November")
    turn = found[next(ref for ref in found if ref.startswith(f"archive/{path}"))]
    assert turn.replaced_by == name(2)


def test_answered_questions_can_be_listed(home: Memory) -> None:
    append(
        home,
        entry(1, "Which database do we take?", type="question"),
        entry(2, "We take Postgres", type="decision", replaces=(name(1),)),
    )
    assert list(hits(home, "", status="answered")) == [name(1)]
    assert name(1) in hits(home, "which database", status="answered")
