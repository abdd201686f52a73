"""Ranking: the arrays give what its rules, written out for one chunk after the other, give.

The numbers stand here once more: a change of one of them in the code has to be meant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from math import exp, prod
from pathlib import Path
from typing import Any

import pytest

from tests.store import golden
from tests.store.making import NOW, append, entry, fresh, name, note, transcript
from wakebook import Memory
from wakebook.log.query import Query
from wakebook.store import Row
from wakebook.store.question import Question, ask, phrases
from wakebook.store.rank import Ranked, Scored
from wakebook.store.search import Hits, Searcher

DAY = 86_400
ASKED = [
    *(query.text for query in golden.QUERIES),
    "Okoro and Tamsin in the shed on 2 March",
    "what did you recommend about the pantry?",
    "worker.py in lanternfish",
    "who is where and what",
    "tide tables",
    "zzz",
]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    return golden.home(tmp_path_factory.mktemp("rank") / "home")


def searcher(memory: Memory) -> Searcher:
    index = memory.index
    names = index.store.get("subjects", {})
    return Searcher(index.store, memory.config.search, index.embedder, names, NOW)


def ranked(memory: Memory, text: str, whole: bool) -> tuple[list[Scored], Question, list[float]]:
    found, question, weights = searcher(memory).ranked(Query(text=text), whole, None)
    return [*found], question, weights


# --- the rules, one chunk at a time ------------------------------------------------------


def expected(
    found: Sequence[Scored], question: Question, weights: Sequence[float], whole: bool
) -> dict[int, dict[str, float]]:
    """What each score should be made of, given what words and vectors say about each."""
    rows = {item.id: item.row for item in found}
    words, meaning = shares(found, question)
    own = {number: words[number] + meaning[number] for number in rows}
    around = dict.fromkeys(rows, 0.0) if whole else surroundings(rows, own)
    about = {number: named(row, question) for number, row in rows.items()}
    recency = {number: fresh_share(row) for number, row in rows.items()}
    score = {n: (own[n] + around[n] + about[n]) * recency[n] for n in rows}
    covers = {item.id: covered(item.holds, weights) for item in found}
    session = sessions(found, score, weights, whole)
    boost = {item.id: prod(boosts(item, question)) for item in found}
    return {
        n: {
            "words": words[n],
            "meaning": meaning[n],
            "context": around[n] + session[n],
            "about": about[n],
            "recency": recency[n],
            "covers": covers[n],
            "score": (score[n] + session[n]) * boost[n],
        }
        for n in rows
    }


def shares(
    found: Sequence[Scored], question: Question
) -> tuple[dict[int, float], dict[int, float]]:
    near = [item.cosine for item in found if item.cosine]
    high, low, top = max(item.lexical for item in found) or 1.0, min(near), max(near)
    words, meaning = {}, {}
    for item in found:
        factor = 0.8 if item.row.speaker == "agent" and not question.asks_agent else 1.0
        words[item.id] = factor * 0.5 * item.lexical / high
        share = (item.cosine - low) / (top - low) if item.cosine > low else 0.0
        meaning[item.id] = factor * 0.5 * share
    return words, meaning


def surroundings(rows: Mapping[int, Row], own: Mapping[int, float]) -> dict[int, float]:
    turns = {(row.file, row.place): number for number, row in rows.items() if row.turn}
    found = {}
    for number, row in rows.items():
        found[number] = 0.35 * own[number] / 2
        if row.turn:
            before = turns.get((row.file, row.place - 1))
            after = turns.get((row.file, row.place + 1))
            one, other = own[before] if before else 0.0, own[after] if after else 0.0
            found[number] = 0.35 * max(one, other)
            if before and rows[before].asks and not row.asks:
                found[number] += 0.2 * one
    return found


def sessions(
    found: Sequence[Scored], score: Mapping[int, float], weights: Sequence[float], whole: bool
) -> dict[int, float]:
    cover = 0.3 if whole else 0.6 * 0.4
    turns: dict[int, list[Scored]] = {}
    for item in found:
        if item.row.turn:
            turns.setdefault(item.row.session, []).append(item)
    shared = {}
    for session, items in turns.items():
        held = 0
        for item in items:
            held |= item.holds
        best = sorted((score[item.id] for item in items), reverse=True)[:3]
        shared[session] = 0.6 * sum(best) / 3 + cover * covered(held, weights)
    return {
        item.id: shared[item.row.session]
        if item.row.turn
        else max(
            shared.get(item.row.session, 0.0),
            0.6 * score[item.id] + cover * covered(item.holds, weights),
        )
        for item in found
    }


def covered(holds: int, weights: Sequence[float]) -> float:
    return sum(weight for at, weight in enumerate(weights) if holds >> at & 1) / sum(weights)


def named(row: Row, question: Question) -> float:
    found = 0.4 if question.speaker and row.speaker == question.speaker else 0.0
    if question.dates and row.at:
        day = row.at // DAY
        off = min(max(first - day, day - last, 0) for first, last in question.dates)
        found += 0.25 * exp(-off / 7)
    return found


def fresh_share(row: Row) -> float:
    if not row.dated or row.pinned or row.at >= NOW.timestamp():
        return 1.0
    age = (NOW.timestamp() - row.at) / DAY
    return 1 - 0.03 * float(1 - 0.5 ** (age / 30))


def boosts(item: Scored, question: Question) -> list[float]:
    row = item.row
    return [
        factor
        for factor, has in (
            (1.3, not row.turn),
            (0.6, row.type == "handoff"),
            (1.1, row.status == "open" and not row.replaced_by),
            (1.2, row.pinned),
            (1.25, row.subject in question.subjects),
            (0.7, row.archived),
            (1.5, item.holds & question.exact),
        )
        if has
    ]


# --- and what the arrays make of them ----------------------------------------------------


@pytest.mark.parametrize("whole", [False, True], ids=["places", "sessions"])
@pytest.mark.parametrize("text", ASKED)
def test_every_part_of_a_score_follows_the_rules(memory: Memory, text: str, whole: bool) -> None:
    found, question, weights = ranked(memory, text, whole)
    parts = expected(found, question, weights, whole)
    for item in found:
        for part, value in parts[item.id].items():
            assert getattr(item, part) == pytest.approx(value, abs=1e-9), (part, item.row)
    assert [item.id for item in found] == sorted(
        parts, key=lambda number: (-round(parts[number]["score"], 9), number)
    )


def test_the_golden_queries_use_all_of_the_rules(memory: Memory) -> None:
    """Or a rule could change without a sign."""
    seen: dict[str, set[Any]] = {}
    for text in ASKED:
        found, question, _ = ranked(memory, text, False)
        for item in found:
            row = item.row
            seen.setdefault("boosts", set()).update(boosts(item, question))
            seen.setdefault("agent", set()).add((row.speaker == "agent", question.asks_agent))
            seen.setdefault("about", set()).add(round(item.about, 2))
            seen.setdefault("answers", set()).add((row.turn, row.asks))
            seen.setdefault("covers", set()).add(item.covers)
    assert seen["boosts"] == {1.3, 0.6, 1.1, 1.2, 1.25, 0.7, 1.5}
    assert {(True, False), (True, True)} <= seen["agent"]
    assert {0.0, 0.25, 0.4, 0.65} <= seen["about"] and len(seen["about"]) > 10
    assert len(seen["answers"]) == 4 and len(seen["covers"]) > 20


# --- how sure it is ----------------------------------------------------------------------


@pytest.mark.parametrize("text", ASKED)
def test_a_score_says_how_sure_it_is(memory: Memory, text: str) -> None:
    search = searcher(memory)
    found, question, _ = search.ranked(Query(text=text), False, 40)
    hits = Hits(memory.index.store, question, memory.config.search)
    settled = hits.settled(found, Query(text=text), None, 10)
    scores = {passage.id: passage.score for passage in hits.passages(settled)}
    fits = {item.id: fit(item, question) for item in settled}
    sure = max(fits[item.id] for item in settled[:3])
    top = max(item.score for item in settled)
    alone = {
        item.id: sure * item.score / top * (0.5 + 0.5 * min(1.0, fits[item.id] / sure))
        if sure
        else 0.0
        for item in settled
    }
    holding = {item.row.name: item.id for item in settled if item.row.name}
    for item in settled:
        holds = holding.get(item.corrected_by or item.partly)
        if holds is not None:
            alone[item.id] = min(alone[item.id], 0.98 * alone[holds])
    least = 0.0
    for item in reversed(settled):
        least = max(least, alone[item.id])
        assert scores[item.id] == pytest.approx(least, abs=6e-5), item.row


def fit(item: Scored, question: Question) -> float:
    near = max(0.0, (item.cosine - 0.35) / 0.65)
    held = 1.0 if item.instead_of and item.covers else item.covers
    held = 0.3 * held if question.vague else held
    asked_for = 0.3 if item.about >= 0.15 else 0.0
    return 1 - (1 - held) * (1 - near) * (1 - asked_for)


def test_what_was_replaced_stays_just_below_what_replaced_it(tmp_path: Path) -> None:
    memory = fresh(tmp_path / "home")
    path = transcript(memory, "s1", [("user", "The launch is on Monday at noon in the big hall")])
    fields = {"transcript": path, "evidence": (1,), "session": "s1"}
    append(memory, entry(1, "The launch is on Monday at noon in the big hall", **fields))
    append(memory, entry(2, "The launch is on Friday", replaces=(name(1),)))
    append(memory, entry(3, "Launch moved, see the hall's plan", type="handoff", session="s1"))
    text = "launch on Monday at noon in the big hall"
    found = memory.search(Query(text=text, all=True), min_score=0, explain=True).hits
    totals = {hit.ref: hit.parts["total"] for hit in found}
    assert next(iter(totals)) == name(2)
    turn = next(ref for ref in totals if ref.startswith(path))
    below = max(totals[name(1)], totals[turn])
    assert below == pytest.approx(0.98 * totals[name(2)], abs=2e-4)
    assert totals[name(3)] <= 0.98 * totals[name(2)] + 1e-4


def test_six_more_than_are_wanted_are_read_to_choose_from(memory: Memory) -> None:
    query = Query(text="the harbour office")
    found, question, _ = ranked(memory, query.text, False)
    hits = Hits(memory.index.store, question, memory.config.search)
    assert len(found) > 40
    several = Ranked(len(found), lambda some: found[some])
    assert len(hits.settled(several, query, None, 10)) == 16


def test_the_newest_of_a_note_is_not_its_age(tmp_path: Path) -> None:
    """A note without a date of its own does not lose by its file's age."""
    memory = fresh(tmp_path / "home")
    old = int((NOW - timedelta(days=900)).timestamp())
    note(memory, "knowledge/reference/plain.md", "zebras eat grass\n", modified=old)
    append(memory, entry(1, "zebras eat grass", days=900))
    parts = {hit.category: hit.parts for hit in memory.search("zebras", explain=True).hits}
    assert parts["reference"]["recency"] == 1.0 > parts["memory"]["recency"]


def test_what_says_the_same_again_gives_way(tmp_path: Path) -> None:
    memory = fresh(tmp_path / "home", '[embedding]\nprovider = "none"\n')
    same = "the zebra of the circus eats fresh grass and hay"
    append(memory, entry(1, f"{same} today"), entry(2, f"{same} again"))
    append(memory, entry(3, "a zebra may eat grass, leaves, bark and whatever a keeper brings"))
    found = memory.search("zebra eats grass", limit=3, min_score=0, explain=True).hits
    totals = {hit.ref: hit.parts["total"] for hit in found}
    assert totals[name(2)] > totals[name(3)]
    best = [hit.ref for hit in memory.search("zebra eats grass", limit=2, min_score=0).hits]
    assert best == [name(1), name(3)]


# --- what is read ------------------------------------------------------------------------


def test_only_those_that_may_be_told_are_read(memory: Memory) -> None:
    memory.close()
    found = memory.search("the harbour office", limit=10)
    assert found.candidates > 40
    assert len(memory.index.store.keep("rows", dict)) == 16


def test_rows_come_in_the_order_that_was_asked_for(memory: Memory) -> None:
    memory.search("tide tables")
    assert memory.index.store.read("chunk", "id", [3, 999_999, 1, 2]) == [(3,), (1,), (2,)]


def test_words_of_a_chunk_that_is_not_there_are_an_error(tmp_path: Path) -> None:
    memory = fresh(tmp_path / "home")
    append(memory, entry(1, "zebras eat grass"), entry(2, "zebras sleep"))
    memory.index.sync()
    memory.index.store.db.execute("DELETE FROM chunk WHERE id = 1")
    with pytest.raises(ValueError, match="not there"):
        ranked(memory, "zebras", False)


@pytest.mark.parametrize("text", ["the tide tables of June", "old tide-tables", "about tables"])
def test_a_question_names_a_subject_by_all_of_its_words(text: str) -> None:
    names = phrases({"tide-tables": "tide-tables", "tables of june": "june", "tide": "tide"})
    named = ask(text, (), names, {}, NOW).subjects
    assert (
        named
        == {
            "the tide tables of June": {"tide-tables", "june", "tide"},
            "old tide-tables": {"tide-tables", "tide"},
            "about tables": set(),
        }[text]
    )
