"""Vectors: which chunks lie near a question.

Every vector is kept twice, in blocks of 128 chunks: its signs as bits, and its numbers as int8 with
one scale. A search first compares bits over all chunks, where the directions in which the question
points most count twice and those in which it hardly points not at all; then the numbers of the
nearest. A chunk stands at the place of its id; the place of a chunk that is gone has the scale 0.
"""

from __future__ import annotations

import os
import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from wakebook.base.errors import BadModelOutput
from wakebook.store import Edition
from wakebook.store.question import Allowed

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

BLOCK = 128  # chunks
NEAREST = 400  # chunks whose numbers are compared ...
SHARE = 300  # ... and one more for this many chunks
STRIPE = 1 << 14  # chunks compared at a time: what fits into the processor's cache
SAMPLE = 1 << 16
LITTLE, MUCH = 0.3, 0.75  # shares of the directions that count not at all, and not twice
FAR = np.float32(-3)  # farther than any vector


def check(rows: Any, dimension: int, name: str) -> None:
    """Refuse vectors that cannot be compared with the others."""
    sizes = {len(row) for row in rows}
    if sizes - {dimension}:
        raise BadModelOutput(
            f"{name} gave {max(sizes - {dimension})} numbers where the index has {dimension}. "
            "`wakebook index --full` makes the index anew."
        )
    if not np.isfinite(np.asarray(rows).sum()):
        raise BadModelOutput(f"{name} gave a vector that holds no numbers (NaN or infinity).")


def _bits(flags: Any) -> Any:
    """Rows of flags as rows of 64-bit words, the first flag as the lowest bit."""
    if flags.shape[1] % 64:
        flags = np.pad(flags, ((0, 0), (0, -flags.shape[1] % 64)))
    return np.packbits(flags, axis=1, bitorder="little").view(np.uint64)


def packed(rows: Any) -> tuple[Any, Any, Any]:
    """Vectors as they are kept: scales, signs and numbers. Zeros (a text without known words) have
    the scale 0 and find nothing."""
    table = np.asarray(rows, np.float32)
    top = np.abs(table).max(axis=1)
    step = np.where(top > 0, top / 127, 1)
    lengths = np.linalg.norm(table, axis=1)
    scales = np.divide(step, lengths, out=np.zeros_like(step), where=lengths > 0)
    numbers = np.rint(table / step[:, None]).astype(np.int8)
    return scales.astype(np.float32), _bits(table > 0), numbers


# --- in SQLite ---------------------------------------------------------------------------
def add(db: sqlite3.Connection, ids: Sequence[int], rows: Any, version: int) -> None:
    """Keep the vectors of some chunks."""
    if ids:
        _write(db, np.asarray(ids), version, *packed(rows))


def remove(db: sqlite3.Connection, ids: Iterable[int], version: int) -> None:
    row = db.execute("SELECT length(numbers) FROM vectors LIMIT 1").fetchone()
    places = np.asarray([*ids])
    if row is None or not len(places):
        return
    there = [number for (number,) in db.execute("SELECT block FROM vectors")]
    places = places[np.isin(places // BLOCK, there)]
    numbers = np.zeros((len(places), row[0] // BLOCK), np.int8)
    _write(db, places, version, np.zeros(len(places)), _bits(numbers > 0), numbers)


def _write(
    db: sqlite3.Connection, ids: Any, version: int, scales: Any, signs: Any, numbers: Any
) -> None:
    """Put rows at the places of their chunks, block by block."""
    sql = "SELECT scales, signs, numbers FROM vectors WHERE block = ?"
    kinds = [(scales, np.float32), (signs, np.uint64), (numbers, np.int8)]
    for block in np.unique(ids // BLOCK).tolist():
        mine = ids // BLOCK == block
        old = db.execute(sql, (block,)).fetchone() or (b"", b"", b"")
        parts = []
        for before, (values, kind) in zip(old, kinds, strict=True):
            shape = (BLOCK, *values.shape[1:])
            part = np.zeros(shape, kind)
            if before:
                part[:] = np.frombuffer(before, kind).reshape(shape)
            part[ids[mine] % BLOCK] = values[mine]
            parts.append(part.tobytes())
        db.execute(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", (block, version, *parts)
        )


def signs(db: sqlite3.Connection, version: int) -> list[tuple[Any, Any, Any]] | None:
    """Places, scales and signs of the blocks that changed since a version."""
    sql = "SELECT block, scales, signs FROM vectors WHERE version > ?"
    rows = db.execute(sql, (version,)).fetchall()
    if not rows and db.execute("SELECT 1 FROM vectors LIMIT 1").fetchone() is None:
        return None
    return [
        (
            slice(block * BLOCK, (block + 1) * BLOCK),
            np.frombuffer(scales, np.float32),
            np.frombuffer(bits, np.uint64).reshape(BLOCK, -1),
        )
        for block, scales, bits in rows
    ]


def numbers(db: sqlite3.Connection, blocks: Sequence[int]) -> Iterator[tuple[Any, Any]]:
    """Places and numbers of some blocks."""
    marks = ",".join(map(str, blocks))
    sql = f"SELECT block, numbers FROM vectors WHERE block IN ({marks})"  # noqa: S608
    for block, data in db.execute(sql):
        table = np.frombuffer(data, np.int8).reshape(BLOCK, -1)
        yield slice(block * BLOCK, (block + 1) * BLOCK), table


# --- searching ---------------------------------------------------------------------------
class Nearest:
    """Searches the vectors of one index. What was read stays in memory."""

    def __init__(
        self,
        changed: Callable[[int], Sequence[tuple[Any, Any, Any]] | None],
        numbers: Callable[[Sequence[int]], Iterable[tuple[Any, Any]]],
    ) -> None:
        """`changed` and `numbers` read as `Store.signs` and `Store.numbers` do."""
        self._changed, self._numbers_of = changed, numbers
        self._version = -1
        self._signs: Any = None  # a row for every 64 bits, a column for every chunk id
        self._numbers: Any = None
        self._scales: Any = None
        self._empty: Any = None  # places without a vector
        self._read: Any = None  # which blocks of numbers were read
        self._all_read = False

    def search(
        self, wanted: Any, most: int, allowed: Allowed | None, also: Any, edition: Edition
    ) -> tuple[Any, Any]:
        """The ids of the nearest chunks and of those in `also`, both ascending, with their cosine
        similarity: 0 if a chunk has no vector."""
        unit = np.asarray(wanted, np.float64)
        length = sqrt(unit @ unit)
        if not length or not self._refresh(len(unit), edition):
            return also, np.zeros(len(also))
        unit = unit / length
        near = self._near(unit, max(NEAREST, most) + len(self._scales) // SHARE, allowed)
        both = near.copy()
        both[also] = True
        ids = both.nonzero()[0]
        if not self._all_read:
            self._load(np.unique(ids // BLOCK), len(unit))
        numbers = self._numbers.take(ids, axis=0).astype(np.float32)
        cosines = numbers @ unit.astype(np.float32) * self._scales.take(ids)
        values = np.where(near.take(ids), cosines, FAR)
        most = min(most, len(values))
        least = np.partition(values, -most)[-most] if most else np.inf
        kept = values >= max(least, FAR / 2)
        kept[ids.searchsorted(also)] = True
        return ids[kept], cosines[kept]

    def _near(self, unit: Any, several: int, allowed: Allowed | None) -> Any:
        """Which chunks have the nearest bits: all that are as near as the last of several."""
        steep = np.abs(unit)
        few, many = int(LITTLE * len(unit)), int(MUCH * len(unit))
        order = np.partition(steep, (few, many))
        flags = np.array((unit > 0, steep >= order[few], steep > order[many]))
        farthest = int(np.count_nonzero(flags[1:]))
        distances = _distances(self._signs, _bits(flags), farthest)
        distances[self._empty] = farthest + 1
        if allowed is not None:
            distances[~allowed.mask(len(distances) - 1)] = farthest + 1
        step = max(1, len(distances) // SAMPLE)  # a sample tells how far the nearest ones lie
        sample = distances[::step].copy()
        limit = bisect_left(
            range(farthest), several, key=lambda near: step * int(np.count_nonzero(sample <= near))
        )
        near = distances <= limit
        while step > 1 and limit < farthest and np.count_nonzero(near) < several:
            limit += 1
            near = distances <= limit
        return near

    def _refresh(self, dimension: int, edition: Edition) -> bool:
        """Read the bits and scales of the vectors that changed. Whether there are any vectors."""
        if edition.version == self._version:
            return len(self._empty) < len(self._scales)
        words = (dimension + 63) // 64
        fits = self._signs is not None and len(self._signs) == words
        changed = self._changed(self._version if fits else -1)
        if not fits or changed is None:
            self._signs = np.zeros((words, 0), np.uint64)
            self._scales, self._numbers = np.zeros(0, np.float32), None
            self._read = np.zeros(0, bool)
        last = max([edition.last, *(_last(places) for places, *_ in changed or ())])
        more = last // BLOCK + 1 - len(self._read)
        if more > 0:
            self._signs = np.pad(self._signs, ((0, 0), (0, more * BLOCK)))
            self._scales = np.pad(self._scales, (0, more * BLOCK))
            self._read = np.pad(self._read, (0, more))
        for places, scales, signs in changed or ():
            self._signs[:, places] = signs.T
            self._scales[places] = scales
            self._read[_blocks(places)] = False
        self._empty = np.flatnonzero(self._scales == 0)
        self._version, self._all_read = edition.version, False
        return changed is not None

    def _load(self, blocks: Any, dimension: int) -> None:
        """Read the numbers of some blocks that were not needed before."""
        size = len(self._scales)
        if self._numbers is None or len(self._numbers) < size:
            numbers = np.zeros((2 * size, dimension), np.int8)  # unused room costs nothing
            if self._numbers is not None:
                numbers[: len(self._numbers)] = self._numbers
            self._numbers = numbers
        wanted = blocks[~self._read[blocks]].tolist()
        if not wanted:
            return
        for places, numbers in self._numbers_of(wanted):
            self._numbers[places] = numbers
        self._read[wanted] = True
        self._all_read = bool(self._read.all())


def _last(places: Any) -> int:
    return places.stop - 1 if isinstance(places, slice) else int(places[-1])


def _blocks(places: Any) -> Any:
    return places.start // BLOCK if isinstance(places, slice) else np.unique(places // BLOCK)


def _distances(columns: Any, question: Any, farthest: int) -> Any:
    """The weighted Hamming distance of every chunk from a question: its signs, and the bits
    that count once and once more."""
    signs, masks = question[0][:, None], question[1:, :, None]
    result = np.empty(columns.shape[1], np.uint8 if farthest < 255 else np.uint16)

    def compare(start: int) -> None:
        stripe = slice(start, start + STRIPE)
        differ = (columns[:, stripe] ^ signs) & masks
        counts = np.bitwise_count(differ).reshape(-1, differ.shape[2])
        counts.sum(axis=0, dtype=result.dtype, out=result[stripe])

    starts = range(0, len(result), STRIPE)
    if len(starts) > 2 and (os.cpu_count() or 1) > 1:
        list(_threads().map(compare, starts))
    else:
        for start in starts:
            compare(start)
    return result


@cache
def _threads() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(2, thread_name_prefix="vectors")
