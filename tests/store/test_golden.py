"""Golden queries: what search finds, by difficulty, does not get worse.

The floors lie a little below what is reached today. Whoever raises a figure raises its floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import pytest

from tests.store import golden
from tests.store.golden import QUERIES, Golden
from wakebook import Memory
from wakebook.store.hits import MARK

FLOORS = {  # recall@1, recall@5, MRR
    "literal": (0.75, 0.95, 0.87),
    "people and days": (0.45, 0.95, 0.68),
    "meaning": (0.0, 0.5, 0.24),
    "what holds": (0.95, 0.95, 0.95),
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    return golden.home(tmp_path_factory.mktemp("golden") / "home")


def ranks(memory: Memory, query: Golden) -> list[int]:
    """At which place each of the answers is found, from 1; 0 if it is not among the first ten."""
    hits = memory.search(query.text, limit=10, min_score=0).hits
    texts = [hit.snippet.replace(MARK, "") for hit in hits]
    return [
        next((at for at, text in enumerate(texts, 1) if want in text), 0) for want in query.wants
    ]


def recall(found: Sequence[Sequence[int]], most: int) -> float:
    return fmean(fmean(0 < rank <= most for rank in each) for each in found)


@pytest.mark.parametrize("level", FLOORS)
def test_nothing_gets_worse(memory: Memory, level: str) -> None:
    asked = [query for query in QUERIES if query.level == level]
    found = [ranks(memory, query) for query in asked]
    firsts = [min((rank for rank in each if rank), default=0) for each in found]
    reached = (
        recall(found, 1),
        recall(found, 5),
        fmean(1 / rank if rank else 0 for rank in firsts),
    )
    told = "\n".join(f"{each} {query.text}" for each, query in zip(found, asked, strict=True))
    assert all(a >= b for a, b in zip(reached, FLOORS[level], strict=True)), f"{reached}\n{told}"


def test_every_query_has_its_answers(memory: Memory) -> None:
    texts = [row[0] for row in memory.index.store.db.execute("SELECT text FROM body")]
    for query in QUERIES:
        assert all(sum(want in text for text in texts) == 1 for want in query.wants), query.text
