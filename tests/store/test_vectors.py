"""Vectors: the nearest ones, all but exactly."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.store.making import sentences
from wakebook.base.errors import BadModelOutput
from wakebook.models.builtin import Builtin
from wakebook.store import Edition, vectors
from wakebook.store.database import SCHEMA
from wakebook.store.question import Allowed
from wakebook.store.vectors import BLOCK, Nearest


def fresh() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.executescript(SCHEMA)
    return db


def on(db: sqlite3.Connection) -> Nearest:
    return Nearest(partial(vectors.signs, db), partial(vectors.numbers, db))


def near(
    nearest: Nearest,
    db: sqlite3.Connection,
    wanted: Any,
    most: int,
    allowed: Allowed | None = None,
    also: Sequence[int] = (),
) -> dict[int, float]:
    """The nearest chunks with their cosines, best first; of `also`, those that have a vector."""
    version, last = db.execute("SELECT max(version), max(block) FROM vectors").fetchone()
    last = max(BLOCK * (last or 0) + BLOCK - 1, *also, 0)
    extra = np.array(also, np.intp)
    ids, cosines = nearest.search(wanted, most, allowed, extra, Edition(version or 99, 0, 0, last))
    assert ids.tolist() == sorted(set(ids.tolist()) | set(also))
    found = {
        number: cosine
        for number, cosine in zip(ids.tolist(), cosines.tolist(), strict=True)
        if cosine
    }
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def some(count: int, dimension: int, seed: int = 5) -> list[list[float]]:
    """Vectors in clusters, as those of texts are."""
    chance = random.Random(seed)
    middles = [[chance.gauss(0, 1) for _ in range(dimension)] for _ in range(12)]
    found = []
    for _ in range(count):
        middle = chance.choice(middles)
        found.append([value + chance.gauss(0, 0.8) for value in middle])
    return found


def exact(rows: Any, wanted: Sequence[float]) -> Any:
    table = np.asarray(rows, np.float64)
    lengths = np.linalg.norm(table, axis=1)
    return table @ np.asarray(wanted) / np.maximum(lengths, 1e-12)


def test_ten_nearest_of_twenty_thousand_texts() -> None:
    texts = sentences(20_000)
    embedder = Builtin()
    rows = np.asarray(embedder.embed(texts), np.float32)
    db = fresh()
    vectors.add(db, range(1, len(texts) + 1), rows, 1)
    nearest = on(db)
    chance = random.Random(2)
    questions = [
        *(" ".join(chance.choice(texts).split()[2:6]) for _ in range(25)),
        *(f"who {what}" for what in ("fixed the bicycle", "forgot a cake", "sold the coat")),
        "what did the landlord paint?",
    ]
    met = 0
    for question in questions:
        wanted = embedder.embed([question], query=True)[0]
        true = exact(rows, wanted)
        found = near(nearest, db, list(wanted), 10)
        least = np.sort(true)[-10] - 1e-3  # of equals, any will do
        met += sum(bool(true[number - 1] >= least) for number in found)
        assert list(found.values()) == sorted(found.values(), reverse=True)
        for number, cosine in found.items():
            assert cosine == pytest.approx(true[number - 1], abs=0.02)
    assert met / (10 * len(questions)) >= 0.98


@pytest.mark.parametrize("dimension", [1, 8, 100, 256, 1536])
def test_any_dimension(dimension: int) -> None:
    rows = some(300, dimension)
    db = fresh()
    vectors.add(db, range(1, 301), rows, 1)
    nearest = on(db)
    for at in (0, 128, 299):
        found = near(nearest, db, rows[at], 5)
        true = exact(rows, rows[at]) / np.linalg.norm(rows[at])
        assert max(found.values()) == pytest.approx(1, abs=0.02)
        assert all(cosine == pytest.approx(true[n - 1], abs=0.03) for n, cosine in found.items())
        if dimension > 1:
            assert next(iter(found)) == at + 1


def test_zeros_find_nothing_and_are_not_found() -> None:
    db = fresh()
    vectors.add(db, [1, 2, 3], [[0.0] * 16, [1.0] + [0.0] * 15, [-1.0] + [0.0] * 15], 1)
    assert near(on(db), db, [0.0] * 16, 5) == {}
    found = near(on(db), db, [1.0] + [0.0] * 15, 5)
    assert list(found) == [2, 3]
    assert found[2] == pytest.approx(1) and found[3] == pytest.approx(-1)
    assert near(on(db), db, [1.0] + [0.0] * 15, 0, None, [1, 2, 77, 10_000]).keys() == {2}


def test_an_empty_index() -> None:
    db = fresh()
    assert near(on(db), db, [1.0, 2.0], 5) == {}
    assert near(on(db), db, [1.0, 2.0], 0, None, [1]) == {}


def test_what_is_removed_is_gone_also_from_what_was_read_before() -> None:
    rows = some(3 * BLOCK, 64)
    ids = list(range(1, len(rows) + 1))
    db = fresh()
    vectors.add(db, ids, rows, 1)
    kept = on(db)
    assert next(iter(near(kept, db, rows[200], 5))) == 201
    vectors.remove(db, [201, 5, 99_999], 2)
    for nearest in (kept, on(db)):
        found = near(nearest, db, rows[200], len(rows))
        assert 201 not in found and 5 not in found
        assert near(nearest, db, rows[200], 0, None, [201, 202]).keys() == {202}
    db.execute("DELETE FROM vectors")
    assert near(kept, db, rows[200], 5) == {}


def test_what_is_added_later_is_found() -> None:
    rows = some(700, 32)
    db = fresh()
    nearest = on(db)
    for number, start in enumerate(range(0, 700, 90), start=1):
        part = rows[start : start + 90]
        vectors.add(db, range(start + 1, start + 1 + len(part)), part, number)
        assert next(iter(near(nearest, db, part[-1], 3))) == start + len(part)
    vectors.add(db, [10], [rows[400]], 50)  # another one in its place
    assert set(near(nearest, db, rows[400], 2)) == {10, 401}


def test_only_what_is_allowed() -> None:
    rows = some(1000, 48)
    db = fresh()
    vectors.add(db, range(1, 1001), rows, 1)
    allowed = Allowed([3, 700, 701, 5000])
    found = near(on(db), db, rows[500], 10, allowed)
    assert set(found) == {3, 700, 701}
    assert near(on(db), db, rows[500], 10, Allowed(())) == {}


def test_vectors_that_cannot_be_compared_are_refused() -> None:
    vectors.check([[1.0, 2.0]], 2, "m")
    for bad in ([[1.0]], [[1.0, float("nan")]], [[float("inf"), 0.0]]):
        with pytest.raises(BadModelOutput, match="m gave"):
            vectors.check(bad, 2, "m")


def test_vectors_of_plus_and_minus_one() -> None:
    db = fresh()
    chance = random.Random(1)
    rows = [[chance.choice([-1.0, 1.0]) for _ in range(64)] for _ in range(3000)]
    vectors.add(db, range(1, 3001), rows, 1)
    assert [next(iter(near(on(db), db, rows[at], 200))) for at in (0, 1500, 2999)] == [
        1,
        1501,
        3000,
    ]


def test_more_than_two_stripes_are_compared_by_two_threads() -> None:
    count = 2 * vectors.STRIPE + 500
    rows = np.random.default_rng(3).normal(size=(count, 64)).astype(np.float32)
    db = fresh()
    vectors.add(db, range(1, count + 1), rows, 1)
    nearest = on(db)
    for at in (0, vectors.STRIPE, count - 1):
        found = near(nearest, db, rows[at] + 0.05, 10)
        true = exact(rows, rows[at] + 0.05)
        assert next(iter(found)) == int(true.argmax()) + 1 == at + 1
