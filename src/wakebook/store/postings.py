"""Postings: which chunks hold a term, and how well they answer a question (BM25).

A term's chunks stand in blocks of a few kilobytes: two arrays, the chunk ids (ascending) and
for each a 16-bit number with how often the term occurs and how long the chunk is, so that
scoring reads nothing else. Adding a chunk extends the last block of each of its terms.

Why not FTS5: ranking 5 words among a million rows takes it 40 ms, because it looks up the
length of every row that holds any of them; docs/decisions.md has the measurements.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from wakebook.store import Edition, Many
from wakebook.store.question import Allowed
from wakebook.store.words import AskedWord

K1 = 1.2
B = 0.75
BLOCK = 640  # postings in a block: 6 bytes each, about a page of the database
UNIT = 2  # an occurrence counts in halves
MOST_OFTEN = 63  # six bits
LONGEST = 1023  # ten bits
KEPT = 8_000_000  # postings that stay in memory, at 12 bytes each
STRIPES = 64  # parts of a long list of scores of which only the best are compared


def pack(uses: Mapping[str, float], length: int) -> dict[str, int]:
    """How often each term occurs in a chunk of some length, in 16 bits."""
    short = min(length, LONGEST)
    known = {
        weight: min(max(round(weight * UNIT), 1), MOST_OFTEN) << 10 | short
        for weight in set(uses.values())
    }
    return {term: known[weight] for term, weight in uses.items()}


# --- in SQLite ---------------------------------------------------------------------------
def add(db: sqlite3.Connection, found: Mapping[str, Mapping[int, int]]) -> None:
    """Add term -> chunk id -> packed use. Ids are higher than all before."""
    for word, uses in sorted(found.items()):
        term, chunks, blocks = _term(db, word) or (0, 0, 0)
        if not term:
            sql = "INSERT INTO term (word, chunks, blocks) VALUES (?, 0, 0)"
            term = db.execute(sql, (word,)).lastrowid or 0
        ids = np.array(sorted(uses), np.uint32)
        packed = np.array([uses[chunk] for chunk in ids.tolist()], np.uint16)
        _extend(db, term, chunks, blocks, ids, packed)


def _term(db: sqlite3.Connection, word: str) -> tuple[int, int, int] | None:
    """A term's number, how many chunks hold it, and in how many blocks they stand."""
    sql = "SELECT id, chunks, blocks FROM term WHERE word = ?"
    row: tuple[int, int, int] | None = db.execute(sql, (word,)).fetchone()
    return row


def _extend(
    db: sqlite3.Connection, term: int, chunks: int, blocks: int, ids: Any, uses: Any
) -> None:
    """Write behind a term's last block."""
    start, chunks = term << 24, chunks + len(ids)
    if blocks:
        sql = "SELECT ids, uses FROM posting WHERE id = ?"
        last = db.execute(sql, (start + blocks - 1,)).fetchone()
        if len(last[0]) < 4 * BLOCK:
            blocks -= 1
            ids = np.concatenate((np.frombuffer(last[0], np.uint32), ids))
            uses = np.concatenate((np.frombuffer(last[1], np.uint16), uses))
    for at in range(0, len(ids), BLOCK):
        db.execute(
            "INSERT OR REPLACE INTO posting VALUES (?, ?, ?)",
            (start + blocks, ids[at : at + BLOCK].tobytes(), uses[at : at + BLOCK].tobytes()),
        )
        blocks += 1
    db.execute("UPDATE term SET chunks = ?, blocks = ? WHERE id = ?", (chunks, blocks, term))


def remove(db: sqlite3.Connection, found: Mapping[str, Iterable[int]]) -> None:
    """Take chunks out of the blocks of their terms, and terms without chunks out of the list."""
    for word, gone in found.items():
        row = _term(db, word)
        if row is None:
            continue
        term, _, blocks = row
        ids, uses = _read(db, term, blocks)
        kept = ~np.isin(ids, list(gone))
        start = term << 24
        db.execute("DELETE FROM posting WHERE id >= ? AND id < ?", (start, start + blocks))
        if kept.any():
            _extend(db, term, 0, 0, ids[kept], uses[kept])
        else:
            db.execute("DELETE FROM term WHERE id = ?", (term,))


def _read(db: sqlite3.Connection, term: int, blocks: int) -> tuple[Any, Any]:
    """The chunks of a term, and the packed use of each."""
    sql = "SELECT ids, uses FROM posting WHERE id >= ? AND id < ? ORDER BY id"
    rows = db.execute(sql, (term << 24, (term << 24) + blocks)).fetchall()
    return _joined(*zip(*rows, strict=True)) if rows else _joined((), ())


def uses(db: sqlite3.Connection, terms: Sequence[str]) -> dict[str, tuple[Any, Any]]:
    """The chunks of terms, and the packed use of each."""
    sql = (
        "SELECT word, posting.id, ids, uses FROM (SELECT value FROM json_each(?)) CROSS JOIN term "
        "CROSS JOIN posting WHERE word = value "
        "AND posting.id >= term.id << 24 AND posting.id < (term.id << 24) + blocks"
    )
    each = Many(set(terms))  # two words of a question may have one stem
    found: dict[str, tuple[list[bytes], list[bytes]]] = {}
    for word, _, *block in sorted(db.execute(sql, (each,)), key=itemgetter(1)):
        for part, data in zip(found.setdefault(word, ([], [])), block, strict=True):
            part.append(data)
    return {word: _joined(*parts) for word, parts in found.items()}


def _joined(ids: Sequence[bytes], uses: Sequence[bytes]) -> tuple[Any, Any]:
    return np.frombuffer(b"".join(ids), np.uint32), np.frombuffer(b"".join(uses), np.uint16)


# --- searching ---------------------------------------------------------------------------
class WordHits(NamedTuple):
    """The chunks that hold words of a question, ascending, side by side with their scores."""

    ids: Any
    scores: Any
    holds: Any  # a bit for every word of the question, in its order
    weights: list[float]  # how much each word tells


def rarity(edition: Edition, chunks: int) -> float:
    """The weight of a term that this many chunks hold (BM25's IDF)."""
    return log(1 + (edition.chunks - chunks + 0.5) / (chunks + 0.5))


class Postings:
    """Searches one index. What was read stays in memory until the index has changed."""

    def __init__(self, uses: Callable[[Sequence[str]], Mapping[str, tuple[Any, Any]]]) -> None:
        """`uses` reads the chunks of terms, and the packed use of each."""
        self._uses = uses
        self.forget()

    def forget(self) -> None:
        self._terms: dict[str, tuple[Any, Any] | None] = {}
        self._kept = 0
        self._values: Any = None  # of all 65,536 packed uses

    def search(
        self,
        asked: Sequence[AskedWord],
        edition: Edition,
        most: int,
        allowed: Allowed | None = None,
    ) -> WordHits:
        """The best chunks, of those that are allowed."""
        plan: list[tuple[int, Any]] = []  # a word's bit, and a term's chunks
        weights: list[float] = []
        scores = np.zeros(edition.last + 1, np.float32)
        self._read([term for word in asked for term in word.terms], edition)
        for number, word in enumerate(asked):
            parts = [part for term in word.terms if (part := self._terms[term])]
            # a word's variants count as one word, as rare as all of them together
            chunks = min(sum(len(ids) for ids, _ in parts), edition.chunks)
            weights.append(word.weight * rarity(edition, chunks))
            for ids, values in parts:
                scores[ids] += values * np.float32(weights[-1])  # a term has a chunk once
                plan.append((1 << number, ids))
        if allowed is not None:
            scores *= allowed.mask(edition.last)
        best = _best(scores, most)
        return WordHits(best, scores[best], _holds(plan, best), weights)

    def _read(self, terms: Iterable[str], edition: Edition) -> None:
        """For each term its chunks, and BM25's term-frequency part of each."""
        if self._kept > KEPT:
            self.forget()
        missing = [term for term in terms if term not in self._terms]
        if missing:
            self._terms.update(dict.fromkeys(missing))
            for term, (ids, uses) in self._uses(missing).items():
                self._terms[term] = self._scored(ids, uses, edition)

    def _scored(self, ids: Any, uses: Any, edition: Edition) -> tuple[Any, Any]:
        if not len(ids) or int(ids.max()) > edition.last:
            raise ValueError("A term of the index has chunks that are not there.")
        if self._values is None:
            every = np.arange(1 << 16)
            often = (every >> 10) / UNIT
            norm = K1 * (1 - B + B * (every & LONGEST) / edition.average)
            self._values = (often * (K1 + 1) / (often + norm)).astype(np.float32)
        self._kept += len(ids)
        return ids.astype(np.intp), self._values[uses]


def _best(scores: Any, most: int) -> Any:
    """Where the highest scores stand, ascending; of equal ones the first. Zeros do not count."""
    width = len(scores) // STRIPES
    least = 0.0
    if width > 4 * most:  # at least so many reach the least of the best of all columns
        columns = scores[: STRIPES * width].reshape(STRIPES, width).max(axis=0)
        columns.partition(width - most)
        least = float(columns[width - most])
    found = (scores >= least if least else scores > 0).nonzero()[0]
    if len(found) > most:
        values = scores.take(found)
        least = np.partition(values, -most)[-most]
        kept = values >= least
        more = int(np.count_nonzero(kept)) - most
        if more:
            kept[(values == least).nonzero()[0][-more:]] = False
        found = found[kept]
    return found


def _holds(plan: Sequence[tuple[int, Any]], chunks: Any) -> Any:
    """Which words each of the chunks holds."""
    held = np.zeros(len(chunks), np.uint64)
    for bit, ids in plan:
        there = ids.take(ids.searchsorted(chunks), mode="clip") == chunks
        held |= there * np.uint64(bit)
    return held
