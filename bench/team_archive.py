"""One large archive: all vectors compared, or those that an approximate index (HNSW) finds.

    python bench/team_archive.py [--chunks 30000] [--questions 100]

Starts a PostgreSQL of its own, and fills the vectors of one tenant with random directions around
random centres, which is harder for an approximate index than directions of real sentences are. Only
the search by meaning is measured, the 150 nearest of each question: recall is the share of the
really nearest ones among them (all of them compared first by their signs, then the best by their
numbers, is what Wakebook does everywhere); CPU is that of this process and PostgreSQL together.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

import numpy as np
from bench.team import Clock
from tests.team.postgres import database, postgres

from wakebook.store import Edition
from wakebook.team import nearby, tenants
from wakebook.team.database import Database
from wakebook.team.store import TenantStore

DIMENSION, CENTRES, MOST, BATCH = 256, 2000, 150, 5000


def directions(chance: np.random.Generator, centres: Any, count: int) -> Any:
    near = centres[chance.integers(0, len(centres), count)]
    return (near + chance.normal(0, 1, (count, DIMENSION))).astype(np.float32)


def run(url: str, given: argparse.Namespace) -> dict[str, Any]:
    db, clock, chance = Database(url), Clock(url), np.random.default_rng(22)
    tenant = tenants.add(db, "archive")
    centres = chance.normal(0, 1, (CENTRES, DIMENSION))
    store = TenantStore(db, tenant)
    begun, kept = time.monotonic(), []
    for first in range(1, given.chunks + 1, BATCH):
        count = min(BATCH, given.chunks + 1 - first)
        with store.writing():
            store.touch()
            store.set("dimension", DIMENSION)
            store.set("last", first + count - 1)
            kept.append(directions(chance, centres, count))
            store.add_vectors(range(first, first + count), kept[-1])
    edition = Edition(store.get("version"), given.chunks, 0, given.chunks)
    asked = directions(chance, centres, given.questions)
    nothing = np.zeros(0, np.intp)
    table = np.concatenate(kept)
    table /= np.linalg.norm(table, axis=1)[:, None]
    best = [set((np.argsort(-(table @ one))[:MOST] + 1).tolist()) for one in asked]
    found: dict[str, Any] = {"vectors": given.chunks, "filled, s": round(time.monotonic() - begun)}

    def search() -> list[set[int]]:
        with store.reading():
            lists = (store.nearest.search(one, MOST, None, nothing, edition) for one in asked)
            return [set(ids.tolist()) for ids, _ in lists]

    def found_of_best(lists: list[set[int]]) -> float:
        both = zip(best, lists, strict=True)
        return sum(len(one & other) for one, other in both) / MOST / len(asked)

    def timed(name: str) -> None:
        search()
        begun, lists = time.monotonic(), list[set[int]]()
        spent = sum(clock.spent(lambda: lists.extend(search())))
        found[name] = {
            "ms CPU a question": round(1000 * spent / len(asked), 2),
            "ms": round(1000 * (time.monotonic() - begun) / len(asked), 2),
            "recall": round(found_of_best(lists), 3),
        }

    timed("all compared")
    begun = time.monotonic()
    nearby.switch(db, tenant, on=True)
    found["index made, s"] = round(time.monotonic() - begun)
    store.close()
    for looked in (150, 200, 400):
        nearby.LOOKED = looked
        timed(f"approximate, {looked} looked at")
    with db.admin() as connection:
        part = f"wakebook_index.near_of_{tenant}"
        sql = "SELECT pg_table_size(%s::regclass), pg_indexes_size(%s::regclass)"
        sizes = connection.execute(sql, (part, part)).fetchone()
    assert sizes is not None
    found["bytes a vector"] = {
        "table": round(sizes[0] / given.chunks),
        "index": round(sizes[1] / given.chunks),
    }
    db.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chunks", type=int, default=30_000)
    parser.add_argument("--questions", type=int, default=100)
    given = parser.parse_args()
    with postgres() as server, database(server) as url:
        print(json.dumps(run(url, given), indent=1))


if __name__ == "__main__":
    main()
