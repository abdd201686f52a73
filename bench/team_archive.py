"""One large archive: all vectors compared, or those that an approximate index (HNSW) finds.

    python bench/team_archive.py [--vectors 200000] [--longmemeval PATH] [--asked 100]

Starts a PostgreSQL of its own, and fills the vectors of one tenant: of LongMemEval's sentences
(longmemeval_s.json, or the same as .xz), asked by its questions, or, without it, of random
directions around random centres, which is harder for an approximate index. Only the search by
meaning is measured:

recall@10, @150   of the really nearest ones, by cosines of the whole vectors, the share that is
                  found (all compared: first by their signs, then the best by their numbers, as
                  Wakebook does everywhere)
CPU               of this process and PostgreSQL together, a question
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
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


def sentences(path: Path) -> tuple[Iterator[str], list[str]]:
    """The different sentences of all sessions, and the questions."""
    with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as stream:
        data = json.loads(stream.read())

    def every() -> Iterator[str]:
        seen = set[str]()
        for session in data["sessions"].values():
            for turn in session:
                for one in re.split(r"(?<=[.!?])\s+|\n+", turn["content"]):
                    if 20 <= len(one) <= 400 and one not in seen:
                        seen.add(one)
                        yield one

    return every(), [one["question"] for one in data["questions"]]


def source(given: argparse.Namespace) -> tuple[Callable[[int], Any], Any]:
    """More vectors, so many at a time, and those of the questions."""
    if given.longmemeval:
        from wakebook.learn.select import said

        texts, questions = sentences(given.longmemeval)
        embed = said.embedder().embed
        asked = np.array(embed(questions[: given.asked], query=True), np.float32)
        return lambda count: np.array(embed([*islice(texts, count)]), np.float32), asked
    chance = np.random.default_rng(22)
    centres = chance.normal(0, 1, (CENTRES, DIMENSION))
    asked = directions(chance, centres, given.asked)
    return lambda count: directions(chance, centres, count), asked


def run(url: str, given: argparse.Namespace) -> dict[str, Any]:
    db, clock = Database(url), Clock(url)
    tenant = tenants.add(db, "archive")
    more, asked = source(given)
    store = TenantStore(db, tenant)
    begun, kept, total = time.monotonic(), list[Any](), 0
    while total < given.vectors:
        rows = more(min(BATCH, given.vectors - total))
        if not len(rows):
            break
        with store.writing():
            store.touch()
            store.set("dimension", rows.shape[1])
            store.set("last", total + len(rows))
            store.add_vectors(range(total + 1, total + len(rows) + 1), rows)
        kept.append(rows)
        total += len(rows)
    edition = Edition(store.get("version"), total, 0, total)
    nothing = np.zeros(0, np.intp)
    table = np.concatenate(kept)
    table /= np.maximum(np.linalg.norm(table, axis=1), 1e-9)[:, None]
    best = [(np.argsort(-(table @ one))[:MOST] + 1).tolist() for one in asked]
    found: dict[str, Any] = {"vectors": total, "dimension": table.shape[1]}
    found["filled, s"] = round(time.monotonic() - begun)

    def search() -> list[list[int]]:
        with store.reading():
            lists = (store.nearest.search(one, MOST, None, nothing, edition) for one in asked)
            return [ids[np.argsort(-near, kind="stable")].tolist() for ids, near in lists]

    def recall(lists: list[list[int]], most: int) -> float:
        both = zip(best, lists, strict=True)
        return round(sum(len({*a[:most]} & {*b[:most]}) for a, b in both) / most / len(asked), 3)

    def timed(name: str) -> None:
        search()
        begun, lists = time.monotonic(), list[list[int]]()
        spent = sum(clock.spent(lambda: lists.extend(search())))
        found[name] = {
            "ms CPU a question": round(1000 * spent / len(asked), 2),
            "ms": round(1000 * (time.monotonic() - begun) / len(asked), 2),
            "recall@10": recall(lists, 10),
            f"recall@{MOST}": recall(lists, MOST),
        }

    timed("all compared")
    begun = time.monotonic()
    spent = clock.spent(lambda: nearby.switch(db, tenant, on=True))
    found["index made, s"] = round(time.monotonic() - begun)
    found["index made, s CPU"] = round(sum(spent))
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
        "table": round(sizes[0] / total),
        "index": round(sizes[1] / total),
    }
    db.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--vectors", type=int, default=200_000)
    parser.add_argument("--longmemeval", type=Path, help="whose sentences they are")
    parser.add_argument("--asked", type=int, default=100, help="questions")
    given = parser.parse_args()
    with postgres() as server, database(server) as url:
        print(json.dumps(run(url, given), indent=1))


if __name__ == "__main__":
    main()
