"""Questions to vectors that a process without numpy can be asked, too."""

from __future__ import annotations

import random
import sqlite3

from wakebook.store import vectors
from wakebook.store.question import Allowed
from wakebook.store.vectors import Nearest


def answers() -> list[list[tuple[int, float]]]:
    found = []
    chance = random.Random(9)
    for dimension in (8, 100, 256):
        db = sqlite3.connect(":memory:", isolation_level=None)
        db.executescript(vectors.SCHEMA)
        rows = [[chance.gauss(0, 1) for _ in range(dimension)] for _ in range(240)]
        rows[7] = [0.0] * dimension
        vectors.add(db, range(1, 241), rows, 1)
        vectors.remove(db, [20, 21], 2)
        for at in (0, 19, 100, 239):
            for allowed in (None, Allowed(range(1, 240, 7))):
                near = Nearest().search(db, rows[at], 200, allowed)  # as many as a search wants
                best = list(near.items())[:10]
                found.append([(number, round(cosine, 5)) for number, cosine in best])
        db.close()
    return found
