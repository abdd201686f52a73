"""Postings: which chunks hold a term, and how well they answer a question (BM25).

A term's chunks stand in blocks of a few kilobytes: two arrays, the chunk ids (ascending) and
for each a 16-bit number with how often the term occurs and how long the chunk is, so that
scoring reads nothing else. Adding a chunk extends the last block of each of its terms.

Why not FTS5: ranking 5 words among a million rows takes it 40 ms, because it looks up the
length of every row that holds any of them; docs/decisions.md has the measurements. Small
indexes are scored without numpy, whose import takes longer than the scoring.
"""

from __future__ import annotations

import heapq
import sqlite3
import sys
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import log
from typing import Any, NamedTuple

K1 = 1.2
B = 0.75
BLOCK = 640  # postings in a block: 6 bytes each, about a page of the database
UNIT = 2  # an occurrence counts in halves
MOST_OFTEN = 63  # six bits
LONGEST = 1023  # ten bits
MANY = 100_000  # postings that are scored without numpy, unless it is there already

SCHEMA = """
CREATE TABLE term (id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE, chunks INTEGER NOT NULL,
  blocks INTEGER NOT NULL) STRICT;
CREATE TABLE posting (id INTEGER PRIMARY KEY, ids BLOB NOT NULL, uses BLOB NOT NULL) STRICT;
"""


class Sought(NamedTuple):
    """A word of a question: the terms it may stand under, how much it counts."""

    terms: tuple[str, ...]
    weight: float = 1.0


class Size(NamedTuple):
    chunks: int
    words: int  # of all chunks together

    @property
    def average(self) -> float:
        return max(self.words / self.chunks, 1.0) if self.chunks else 1.0


def pack(uses: Mapping[str, float], length: int) -> dict[str, int]:
    """How often each term occurs in a chunk of some length, in 16 bits."""
    short = min(length, LONGEST)
    known = {
        weight: min(max(round(weight * UNIT), 1), MOST_OFTEN) << 10 | short
        for weight in set(uses.values())
    }
    return {term: known[weight] for term, weight in uses.items()}


def _first(term: int) -> int:
    return term << 24


def add(db: sqlite3.Connection, found: Mapping[str, Mapping[int, int]]) -> None:
    """Add term -> chunk id -> packed use. Ids are higher than all before."""
    for word, uses in sorted(found.items()):
        row = db.execute("SELECT id, chunks, blocks FROM term WHERE word = ?", (word,)).fetchone()
        ids, packed = array("I", sorted(uses)), array("H")
        packed.extend(uses[chunk] for chunk in ids)
        if row is None:
            sql = "INSERT INTO term (word, chunks, blocks) VALUES (?, 0, 0)"
            term, chunks, blocks = db.execute(sql, (word,)).lastrowid, 0, 0
            assert term is not None
        else:
            term, chunks, blocks = row
        blocks = _extend(db, term, blocks, ids, packed)
        db.execute(
            "UPDATE term SET chunks = ?, blocks = ? WHERE id = ?",
            (chunks + len(ids), blocks, term),
        )


def _extend(
    db: sqlite3.Connection, term: int, blocks: int, ids: array[int], uses: array[int]
) -> int:
    """Write behind a term's last block. Returns the number of blocks."""
    start = _first(term)
    if blocks:
        sql = "SELECT ids, uses FROM posting WHERE id = ?"
        last = db.execute(sql, (start + blocks - 1,)).fetchone()
        if len(last[0]) < 4 * BLOCK:
            blocks -= 1
            ids = array("I", last[0]) + ids
            uses = array("H", last[1]) + uses
    for at in range(0, len(ids), BLOCK):
        db.execute(
            "INSERT OR REPLACE INTO posting VALUES (?, ?, ?)",
            (start + blocks, ids[at : at + BLOCK].tobytes(), uses[at : at + BLOCK].tobytes()),
        )
        blocks += 1
    return blocks


def remove(db: sqlite3.Connection, found: Mapping[str, Collection[int]]) -> None:
    """Take chunks out of the blocks of their terms, and terms without chunks out of the list."""
    for word, gone in found.items():
        row = db.execute("SELECT id, chunks, blocks FROM term WHERE word = ?", (word,)).fetchone()
        if row is None:
            continue
        term, _, blocks = row
        ids, uses = _read(db, term, blocks)
        kept = [at for at, chunk in enumerate(ids) if chunk not in gone]
        start = _first(term)
        db.execute("DELETE FROM posting WHERE id >= ? AND id < ?", (start, start + blocks))
        if kept:
            ids, uses = array("I", [ids[at] for at in kept]), array("H", [uses[at] for at in kept])
            blocks = _extend(db, term, 0, ids, uses)
            sql = "UPDATE term SET chunks = ?, blocks = ? WHERE id = ?"
            db.execute(sql, (len(kept), blocks, term))
        else:
            db.execute("DELETE FROM term WHERE id = ?", (term,))


def _read(db: sqlite3.Connection, term: int, blocks: int) -> tuple[array[int], array[int]]:
    ids, uses = array("I"), array("H")
    sql = "SELECT ids, uses FROM posting WHERE id >= ? AND id < ? ORDER BY id"
    for some, their in db.execute(sql, (_first(term), _first(term) + blocks)):
        ids.frombytes(some)
        uses.frombytes(their)
    return ids, uses


def frequencies(db: sqlite3.Connection, words: Iterable[str]) -> dict[str, tuple[int, int, int]]:
    """word -> (term, chunks, blocks), for the words that occur at all."""
    sql = "SELECT id, chunks, blocks FROM term WHERE word = ?"
    rows = ((word, db.execute(sql, (word,)).fetchone()) for word in words)
    return {word: row for word, row in rows if row is not None}


def rarity(size: Size, chunks: int) -> float:
    """The weight of a term that this many chunks hold (BM25's IDF)."""
    return log(1 + (size.chunks - chunks + 0.5) / (chunks + 0.5))


class Found(NamedTuple):
    """Chunks with their scores, and which words of the question each of them holds."""

    scores: dict[int, float]
    holds: dict[int, int]  # a bit for every word, in the order of the question
    weights: list[float]  # how much each word tells


def search(
    db: sqlite3.Connection,
    sought: Sequence[Sought],
    size: Size,
    most: int,
    allowed: Any = None,
) -> Found:
    """The best chunks. `allowed` is a container of ids, or None for all."""
    known = frequencies(db, {term for word in sought for term in word.terms})
    plan: list[_Part] = []
    weights: list[float] = []
    for number, word in enumerate(sought):
        present = [known[term] for term in word.terms if term in known]
        # a word's variants count as one word, as rare as all of them together
        chunks = min(sum(row[1] for row in present), size.chunks)
        weights.append(word.weight * rarity(size, chunks))
        for term, _, blocks in present:
            plan.append(_Part(1 << number, weights[-1], *_read(db, term, blocks)))
    total = sum(row[1] for row in known.values())
    few = total <= MANY and "numpy" not in sys.modules
    scores = (_score_few if few else _score_many)(plan, size, most, allowed)
    return Found(scores, _holds(plan, sorted(scores)), weights)


class _Part(NamedTuple):
    """A term of the question: its word's bit and weight, its chunks and their uses."""

    bit: int
    weight: float
    ids: array[int]
    uses: array[int]


def _holds(plan: Sequence[_Part], chunks: Sequence[int]) -> dict[int, int]:
    held = dict.fromkeys(chunks, 0)
    for part in plan:
        ids, at = part.ids, 0
        if len(ids) < 4 * len(chunks):  # few: look at each of them
            for chunk in ids:
                if chunk in held:
                    held[chunk] |= part.bit
            continue
        for chunk in chunks:
            at = bisect_left(ids, chunk, at)
            if at == len(ids):
                break
            if ids[at] == chunk:
                held[chunk] |= part.bit
    return held


def _value(use: int, average: float) -> float:
    """BM25's term-frequency part of a packed use."""
    often = (use >> 10) / UNIT
    return often * (K1 + 1) / (often + K1 * (1 - B + B * (use & LONGEST) / average))


def _score_few(plan: Sequence[_Part], size: Size, most: int, allowed: Any) -> dict[int, float]:
    scores: dict[int, float] = {}
    values: dict[int, float] = {}
    for _, weight, ids, uses in plan:
        for chunk, use in zip(ids, uses, strict=True):
            value = values.get(use)
            if value is None:
                value = values[use] = _value(use, size.average)
            scores[chunk] = scores.get(chunk, 0.0) + weight * value
    if allowed is not None:
        scores = {chunk: score for chunk, score in scores.items() if chunk in allowed}
    best = heapq.nlargest(most, scores.items(), key=lambda item: (item[1], -item[0]))
    return dict(best)


def _score_many(plan: Sequence[_Part], size: Size, most: int, allowed: Any) -> dict[int, float]:
    import numpy as np

    if not plan:
        return {}
    values = _values(size.average)
    lists, parts, top = [], [], 0
    for _, weight, ids, uses in plan:
        chunks = np.frombuffer(ids, np.uint32)
        lists.append(chunks)
        parts.append(values[np.frombuffer(uses, np.uint16)] * np.float32(weight))
        top = max(top, int(chunks[-1]))
    scores = np.zeros(top + 1, np.float32)
    for chunks, part in zip(lists, parts, strict=True):
        scores[chunks] += part  # a term has a chunk once
    seen = np.concatenate(lists)
    if allowed is not None:
        seen = seen[allowed.mask(top)[seen]]
    found = scores[seen]
    enough = most * len(lists)  # a chunk may stand there once for each term
    if len(seen) > enough:
        seen = seen[found >= np.partition(found, len(found) - enough)[len(found) - enough]]
    seen = np.unique(seen)
    found = scores[seen]
    order = np.lexsort((seen, -found))[:most]
    return dict(zip(seen[order].tolist(), found[order].tolist(), strict=True))


_kept: tuple[float, Any] = (0.0, None)


def _values(average: float) -> Any:
    """`_value` of all 65,536 packed uses."""
    global _kept
    if _kept[0] != average:
        import numpy as np

        uses = np.arange(1 << 16)
        often = (uses >> 10) / UNIT
        norm = K1 * (1 - B + B * (uses & LONGEST) / average)
        _kept = (average, (often * (K1 + 1) / (often + norm)).astype(np.float32))
    return _kept[1]
