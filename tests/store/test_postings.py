"""Postings: BM25 as the books have it, with numpy and without, added to and taken from."""

from __future__ import annotations

import json
import math
import random
import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from tests.store.making import python
from wakebook.store import postings
from wakebook.store.postings import BLOCK, K1, B, Size, Sought
from wakebook.store.question import Allowed

VOCABULARY = [f"w{number}" for number in range(60)]


def documents(count: int, seed: int = 3) -> dict[int, list[str]]:
    chance = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(len(VOCABULARY))]
    return {
        number: chance.choices(VOCABULARY, weights, k=chance.randint(1, 40))
        for number in range(1, count + 1)
    }


def put(db: sqlite3.Connection, found: dict[int, list[str]]) -> Size:
    terms: dict[str, dict[int, int]] = {}
    for number, text in found.items():
        for word, use in postings.pack(dict(Counter(text)), len(text)).items():
            terms.setdefault(word, {})[number] = use
    postings.add(db, terms)
    return Size(len(found), sum(map(len, found.values())))


def fresh() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript(postings.SCHEMA)
    return db


def search(
    db: sqlite3.Connection, sought: list[Sought], size: Size, most: int, allowed: Any = None
) -> dict[int, float]:
    return postings.search(db, sought, size, most, allowed).scores


def reference(
    found: dict[int, list[str]], asked: Sequence[tuple[str, float]]
) -> list[tuple[int, float]]:
    """BM25, straight from its definition."""
    average = sum(map(len, found.values())) / len(found)
    scores: dict[int, float] = {}
    for word, weight in asked:
        holding = sum(word in text for text in found.values())
        rarity = math.log(1 + (len(found) - holding + 0.5) / (holding + 0.5))
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
        sought = [Sought((word,), weight) for word, weight in asked]
        agree(search(db, sought, size, most), reference(found, asked), most)


def test_forms_of_a_word_count_as_one_word() -> None:
    db = fresh()
    found = {number: ["run"] if number % 2 else ["running"] for number in range(1, 9)}
    found[9] = ["walk", "rare"]
    size = put(db, found)
    together = search(db, [Sought(("run", "running"))], size, 20)
    assert len(together) == 8 and len(set(together.values())) == 1
    alone = search(db, [Sought(("run",))], size, 20)
    assert min(alone.values()) > max(together.values())  # rarer, so it tells more


def test_more_postings_than_fit_into_a_block_in_portions_of_any_size() -> None:
    found = {number: ["common", f"own{number}"] for number in range(1, 3 * BLOCK)}
    found |= {number: ["common"] * 3 for number in range(3 * BLOCK, 3 * BLOCK + 50)}
    db = fresh()
    items = sorted(found.items())
    at = 0
    for portion in (1, BLOCK - 1, 1, BLOCK + 7, 3, len(items)):
        put(db, dict(items[at : at + portion]))
        at += portion
    whole = Size(len(found), sum(map(len, found.values())))
    agree(
        search(db, [Sought(("common",))], whole, 10_000),
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
    size = Size(len(kept), sum(map(len, kept.values())))
    for word in VOCABULARY[:20]:
        agree(search(db, [Sought((word,))], size, 5000), reference(kept, [(word, 1)]), 5000)
    rest: dict[str, set[int]] = {}
    for number, text in kept.items():
        for word in text:
            rest.setdefault(word, set()).add(number)
    postings.remove(db, rest)
    assert db.execute("SELECT count(*) FROM term").fetchone() == (0,)
    assert db.execute("SELECT count(*) FROM posting").fetchone() == (0,)
    assert search(db, [Sought(("w1",))], Size(0, 0), 10) == {}


def test_added_again_after_removing() -> None:
    db = fresh()
    put(db, {1: ["a"], 2: ["a"]})
    postings.remove(db, {"a": {1}, "never": {1}})
    put(db, {3: ["a"]})
    assert sorted(search(db, [Sought(("a",))], Size(2, 2), 10)) == [2, 3]


def test_which_words_a_chunk_holds_and_how_much_they_tell() -> None:
    db = fresh()
    size = put(db, {1: ["a", "b"], 2: ["b"], 3: ["c", "a"], 4: ["b"]})
    sought = [Sought(("a",)), Sought(("b", "z")), Sought(("none",))]
    found = postings.search(db, sought, size, 10)
    assert found.holds == {1: 0b011, 2: 0b010, 3: 0b001, 4: 0b010}
    assert found.weights[2] > found.weights[0] > found.weights[1] > 0


def test_only_what_is_allowed() -> None:
    found = documents(500)
    db = fresh()
    size = put(db, found)
    allowed = Allowed(range(100, 120))
    hits = search(db, [Sought((word,)) for word in VOCABULARY[:5]], size, 50, allowed)
    assert hits and set(hits) <= set(range(100, 120))
    assert search(db, [Sought(("w1",))], size, 50, Allowed(())) == {}


def test_odd_lengths_are_bounded() -> None:
    db = fresh()
    much, little = postings.pack({"a": 1e6}, 10**6), postings.pack({"a": 0.01}, 0)
    postings.add(db, {"a": {1: much["a"], 2: little["a"]}})
    assert set(search(db, [Sought(("a",))], Size(2, 2000), 10)) == {1, 2}
    assert search(db, [], Size(2, 2000), 10) == {}
    assert search(db, [Sought(())], Size(2, 2000), 10) == {}


def test_equal_scores_are_cut_at_the_oldest() -> None:
    import numpy  # noqa: F401 - without it, this is so anyway

    db = fresh()
    size = put(db, {number: ["a", "b"] for number in range(1, 2000)})
    found = search(db, [Sought(("a",)), Sought(("b",))], size, 10)
    assert list(found) == list(range(1, 11))


_PURE = """
import json, sys
from tests.store.test_postings import VOCABULARY, documents, fresh, put, search
from wakebook.index.postings import Sought
from wakebook.index.scope import Allowed
for name in [name for name in sys.modules if name.split(".")[0] == "numpy"]:
    del sys.modules[name]
db = fresh()
size = put(db, documents(900))
answers = []
for at in range(0, 50, 5):
    sought = [Sought((word, f"{word}0"), 1 + at / 50) for word in VOCABULARY[at : at + 5]]
    allowed = Allowed(range(1, 900, 3)) if at % 2 else None
    answers.append(list(search(db, sought, size, 40, allowed).items()))
assert "numpy" not in sys.modules
print(json.dumps(answers))
"""


def test_with_numpy_it_is_the_same_as_without() -> None:
    import numpy  # noqa: F401 - from here on, it is used

    pure: list[Any] = json.loads(python(_PURE))
    db = fresh()
    size = put(db, documents(900))
    for at, answer in zip(range(0, 50, 5), pure, strict=True):
        sought = [Sought((word, f"{word}0"), 1 + at / 50) for word in VOCABULARY[at : at + 5]]
        allowed = Allowed(range(1, 900, 3)) if at % 2 else None
        found = search(db, sought, size, 40, allowed)
        assert len(found) == len(answer)
        close = {number: pytest.approx(score, abs=1e-3) for number, score in answer}
        shared = found.keys() & close.keys()
        assert len(shared) >= 0.9 * len(answer)  # scores that are equal may cut either way
        assert {number: found[number] for number in shared} == {
            number: close[number] for number in shared
        }
