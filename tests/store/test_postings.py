"""Postings: BM25 as the books have it, added to and taken from."""

from __future__ import annotations

import math
import random
import sqlite3
from collections import Counter
from collections.abc import Sequence
from functools import partial

import pytest

from wakebook.store import Edition, postings
from wakebook.store.database import SCHEMA
from wakebook.store.postings import BLOCK, Postings
from wakebook.store.question import Allowed
from wakebook.store.words import AskedWord

K1, B = 1.2, 0.75  # not those of the code: a change there has to show
VOCABULARY = [f"w{number}" for number in range(60)]


def documents(count: int, seed: int = 3) -> dict[int, list[str]]:
    chance = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(len(VOCABULARY))]
    return {
        number: chance.choices(VOCABULARY, weights, k=chance.randint(1, 40))
        for number in range(1, count + 1)
    }


def holding(chunks: int, words: int, last: int = 10_000) -> Edition:
    return Edition(1, chunks, words, last)


def sought(*terms: str, weight: float = 1.0) -> AskedWord:
    return AskedWord(terms[0] if terms else "", terms, weight=weight)


def put(db: sqlite3.Connection, found: dict[int, list[str]]) -> Edition:
    terms: dict[str, dict[int, int]] = {}
    for number, text in found.items():
        for word, use in postings.pack(dict(Counter(text)), len(text)).items():
            terms.setdefault(word, {})[number] = use
    postings.add(db, terms)
    return holding(len(found), sum(map(len, found.values())))


def fresh() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript(SCHEMA)
    return db


def on(db: sqlite3.Connection) -> Postings:
    return Postings(partial(postings.uses, db))


def search(
    db: sqlite3.Connection,
    asked: list[AskedWord],
    edition: Edition,
    most: int,
    allowed: Allowed | None = None,
) -> dict[int, float]:
    """Chunks and their scores, best first; of equal ones the oldest."""
    found = on(db).search(asked, edition, most, allowed)
    numbers, scores = found.ids.tolist(), found.scores.tolist()
    assert numbers == sorted(numbers)
    return dict(sorted(zip(numbers, scores, strict=True), key=lambda pair: (-pair[1], pair[0])))


def reference(
    found: dict[int, list[str]], asked: Sequence[tuple[str, float]]
) -> list[tuple[int, float]]:
    """BM25, straight from its definition."""
    average = sum(map(len, found.values())) / len(found)
    scores: dict[int, float] = {}
    for word, weight in asked:
        holders = sum(word in text for text in found.values())
        rarity = math.log(1 + (len(found) - holders + 0.5) / (holders + 0.5))
        for number, text in found.items():
            often = text.count(word)
            if often:
                norm = K1 * (1 - B + B * len(text) / average)
                value = weight * rarity * often * (K1 + 1) / (often + norm)
                scores[number] = scores.get(number, 0.0) + value
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def agree(found: dict[int, float], wanted: list[tuple[int, float]], most: int) -> None:
    """The same chunks in the same order, but for those whose scores are all but equal."""
    assert len(found) == min(most, len(wanted))
    expected = dict(wanted)
    for (number, score), (_, best) in zip(found.items(), wanted, strict=False):
        assert score == pytest.approx(expected[number], abs=1e-3)
        assert score == pytest.approx(best, abs=1e-3)
    assert list(found.values()) == sorted(found.values(), reverse=True)


@pytest.mark.parametrize("seed", range(4))
def test_scores_are_those_of_bm25(seed: int) -> None:
    found = documents(300, seed)
    db = fresh()
    size = put(db, found)
    chance = random.Random(seed)
    for most in (5, 1000):
        asked = [(word, chance.choice([1.0, 0.3])) for word in chance.sample(VOCABULARY, 4)]
        words = [sought(word, weight=weight) for word, weight in asked]
        agree(search(db, words, size, most), reference(found, asked), most)


def test_forms_of_a_word_count_as_one_word() -> None:
    db = fresh()
    found = {number: ["run"] if number % 2 else ["running"] for number in range(1, 9)}
    found[9] = ["walk", "rare"]
    size = put(db, found)
    together = search(db, [sought("run", "running")], size, 20)
    assert len(together) == 8 and len(set(together.values())) == 1
    alone = search(db, [sought("run")], size, 20)
    assert min(alone.values()) > max(together.values())  # rarer, so it tells more


def test_a_term_that_is_asked_for_twice_is_read_once() -> None:
    db = fresh()
    put(db, documents(200))
    once, twice = (postings.uses(db, asked)["w3"] for asked in (["w3"], ["w3", "w1", "w3"]))
    assert [part.tolist() for part in once] == [part.tolist() for part in twice]


def test_more_postings_than_fit_into_a_block_in_portions_of_any_size() -> None:
    found = {number: ["common", f"own{number}"] for number in range(1, 3 * BLOCK)}
    found |= {number: ["common"] * 3 for number in range(3 * BLOCK, 3 * BLOCK + 50)}
    db = fresh()
    items = sorted(found.items())
    at = 0
    for portion in (1, BLOCK - 1, 1, BLOCK + 7, 3, len(items)):
        put(db, dict(items[at : at + portion]))
        at += portion
    whole = holding(len(found), sum(map(len, found.values())))
    agree(
        search(db, [sought("common")], whole, 10_000),
        reference(found, [("common", 1.0)]),
        10_000,
    )
    assert db.execute("SELECT max(length(ids)) FROM posting").fetchone() == (4 * BLOCK,)


def test_what_is_removed_is_gone() -> None:
    found = documents(2 * BLOCK)
    db = fresh()
    put(db, found)
    chance = random.Random(1)
    kept = {number: text for number, text in found.items() if chance.random() < 0.3}
    gone: dict[str, set[int]] = {}
    for number in found.keys() - kept.keys():
        for word in found[number]:
            gone.setdefault(word, set()).add(number)
    postings.remove(db, gone)
    size = holding(len(kept), sum(map(len, kept.values())))
    for word in VOCABULARY[:20]:
        agree(search(db, [sought(word)], size, 5000), reference(kept, [(word, 1)]), 5000)
    rest: dict[str, set[int]] = {}
    for number, text in kept.items():
        for word in text:
            rest.setdefault(word, set()).add(number)
    postings.remove(db, rest)
    assert db.execute("SELECT count(*) FROM term").fetchone() == (0,)
    assert db.execute("SELECT count(*) FROM posting").fetchone() == (0,)
    assert search(db, [sought("w1")], holding(0, 0), 10) == {}


def test_added_again_after_removing() -> None:
    db = fresh()
    put(db, {1: ["a"], 2: ["a"]})
    postings.remove(db, {"a": {1}, "never": {1}})
    put(db, {3: ["a"]})
    assert sorted(search(db, [sought("a")], holding(2, 2), 10)) == [2, 3]


def test_which_words_a_chunk_holds_and_how_much_they_tell() -> None:
    db = fresh()
    size = put(db, {1: ["a", "b"], 2: ["b"], 3: ["c", "a"], 4: ["b"]})
    words = [sought("a"), sought("b", "z"), sought("none")]
    found = on(db).search(words, size, 10)
    assert dict(zip(found.ids.tolist(), found.holds.tolist(), strict=True)) == {
        1: 0b011,
        2: 0b010,
        3: 0b001,
        4: 0b010,
    }
    assert found.weights[2] > found.weights[0] > found.weights[1] > 0


def test_only_what_is_allowed() -> None:
    found = documents(500)
    db = fresh()
    size = put(db, found)
    allowed = Allowed(range(100, 120))
    hits = search(db, [sought(word) for word in VOCABULARY[:5]], size, 50, allowed)
    assert hits and set(hits) <= set(range(100, 120))
    assert search(db, [sought("w1")], size, 50, Allowed(())) == {}


def test_odd_lengths_are_bounded() -> None:
    db = fresh()
    much, little = postings.pack({"a": 1e6}, 10**6), postings.pack({"a": 0.01}, 0)
    postings.add(db, {"a": {1: much["a"], 2: little["a"]}})
    assert set(search(db, [sought("a")], holding(2, 2000), 10)) == {1, 2}
    assert search(db, [], holding(2, 2000), 10) == {}
    assert search(db, [sought()], holding(2, 2000), 10) == {}


def test_an_occurrence_may_count_half() -> None:
    db = fresh()
    uses = [0.5, 1.0, 1.5, 4.0]
    packed = {number: postings.pack({"a": use}, 10)["a"] for number, use in enumerate(uses, 1)}
    postings.add(db, {"a": packed})
    found = search(db, [sought("a")], holding(4, 40), 10)
    rarity = math.log(1 + 0.5 / 4.5)
    for number, use in enumerate(uses, 1):
        assert found[number] == pytest.approx(rarity * use * (K1 + 1) / (use + K1), rel=1e-5)


def test_equal_scores_are_cut_at_the_oldest() -> None:
    db = fresh()
    size = put(db, {number: ["a", "b"] for number in range(1, 2000)})
    found = search(db, [sought("a"), sought("b")], size, 10)
    assert list(found) == list(range(1, 11))


def test_the_best_of_many_are_those_of_all() -> None:
    """In a long index only the best of each stripe are compared."""
    chance = random.Random(4)
    found = {
        number: ["a"] * chance.randint(1, 9) + ["b"] * chance.randint(0, 30)
        for number in sorted(chance.sample(range(1, 300_000), 2000))
    }
    db = fresh()
    size = put(db, found)._replace(last=300_000)
    for most in (1, 10, 150):
        agree(search(db, [sought("a")], size, most), reference(found, [("a", 1.0)]), most)
    assert len(search(db, [sought("a")], size, 3000)) == 2000


def test_what_was_read_is_not_read_again() -> None:
    db = fresh()
    size = put(db, {1: ["a"], 2: ["a", "b"]})
    kept = on(db)
    first = kept.search([sought("a"), sought("none")], size, 10)
    db.execute("DELETE FROM posting")
    db.execute("INSERT INTO term (word, chunks, blocks) VALUES ('none', 1, 1)")
    again = kept.search([sought("a"), sought("none")], size, 10)
    assert again.ids.tolist() == first.ids.tolist() == [1, 2]


def test_chunks_that_are_not_there_are_an_error() -> None:
    """The bytes of an index may have been changed under it."""
    db = fresh()
    size = put(db, {1: ["a"], 2: ["a"]})
    with pytest.raises(ValueError, match="not there"):
        search(db, [sought("a")], size._replace(last=1), 10)
