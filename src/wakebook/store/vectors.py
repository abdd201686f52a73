"""Vectors: which chunks lie near a question.

Every vector is kept twice, in blocks of 128 chunks: its signs as bits, and its numbers as
int8 with one scale. A search first compares bits over all chunks, where the directions in
which the question points most count twice and those in which it hardly points not at all;
then the numbers of the nearest. A chunk stands at the place of its id; the place of a chunk
that is gone has the scale 0.

The first search of a process in a small index does without numpy, whose import takes longer.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from array import array
from collections.abc import Collection, Iterable, Sequence
from math import dist, isfinite, sqrt
from operator import mul
from struct import Struct
from typing import Any

from wakebook.base.errors import BadModelOutput

BLOCK = 128  # chunks
FEW = 30_000  # chunks that are searched without numpy, unless it is there already
NEAREST = 400  # chunks whose numbers are compared ...
SHARE = 300  # ... and one more for this many chunks
STRIPE = 1 << 16  # chunks compared at a time: what fits into the processor's cache
SAMPLE = 1 << 16
STRETCH = 500.0  # makes a question about as long as a row of int8 numbers
LITTLE, MUCH = 0.3, 0.75  # shares of the directions that count not at all, and not twice

_DIGITS = bytes.maketrans(b"\0\1", b"01")

SCHEMA = """
CREATE TABLE vectors (block INTEGER PRIMARY KEY, version INTEGER NOT NULL, scales BLOB NOT NULL,
  signs BLOB NOT NULL, numbers BLOB NOT NULL) STRICT;
CREATE INDEX vectors_version ON vectors (version);
"""


def check(rows: Any, dimension: int, name: str) -> None:
    """Refuse vectors that cannot be compared with the others."""
    sizes = {rows.shape[1]} if hasattr(rows, "shape") else {len(row) for row in rows}
    if sizes - {dimension}:
        raise BadModelOutput(
            f"{name} gave {max(sizes - {dimension})} numbers where the index has {dimension}. "
            "`wakebook index --full` makes the index anew."
        )
    total = rows.sum() if hasattr(rows, "sum") else sum(map(sum, rows))
    if not isfinite(total):
        raise BadModelOutput(f"{name} gave a vector that holds no numbers (NaN or infinity).")


def width(dimension: int) -> int:
    """Bytes of a vector's signs, in whole 64-bit words."""
    return (dimension + 63) // 64 * 8


def _bits(flags: Sequence[bool]) -> int:
    """The flags as a number, the first one as its lowest bit."""
    return int(bytes(flags)[::-1].translate(_DIGITS) or b"0", 2)


# --- keeping -----------------------------------------------------------------------------


def add(db: sqlite3.Connection, ids: Sequence[int], rows: Any, version: int) -> None:
    """Keep the vectors of some chunks. Zeros (a text without known words) find nothing."""
    if not ids:
        return
    dimension = len(rows[0])
    blocks: dict[int, _Block] = {}
    packed = _pack_many(rows) if "numpy" in sys.modules else _pack_few(rows)
    for chunk, (scale, signs, numbers) in zip(ids, packed, strict=True):
        number, place = divmod(chunk, BLOCK)
        if number not in blocks:
            blocks[number] = _Block.read(db, number, dimension)
        blocks[number].put(place, scale, signs, numbers)
    for number, block in blocks.items():
        block.write(db, number, version)


def remove(db: sqlite3.Connection, ids: Iterable[int], version: int) -> None:
    blocks: dict[int, _Block] = {}
    for chunk in ids:
        number, place = divmod(chunk, BLOCK)
        sql = "SELECT length(numbers) FROM vectors WHERE block = ?"
        row = None if number in blocks else db.execute(sql, (number,)).fetchone()
        if row:
            blocks[number] = _Block.read(db, number, row[0] // BLOCK)
        if number in blocks:
            blocks[number].clear(place)
    for number, block in blocks.items():
        block.write(db, number, version)


def clear(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM vectors")


class _Block:
    def __init__(self, dimension: int, scales: bytes, signs: bytes, numbers: bytes) -> None:
        self._dimension, self._width = dimension, width(dimension)
        self._scales = array("f", scales)
        self._signs, self._numbers = bytearray(signs), bytearray(numbers)

    @staticmethod
    def read(db: sqlite3.Connection, number: int, dimension: int) -> _Block:
        sql = "SELECT scales, signs, numbers FROM vectors WHERE block = ?"
        row = db.execute(sql, (number,)).fetchone()
        empty = (bytes(4 * BLOCK), bytes(width(dimension) * BLOCK), bytes(dimension * BLOCK))
        return _Block(dimension, *(row or empty))

    def put(self, place: int, scale: float, signs: bytes, numbers: bytes) -> None:
        self._scales[place] = scale
        self._signs[place * self._width : (place + 1) * self._width] = signs
        self._numbers[place * self._dimension : (place + 1) * self._dimension] = numbers

    def clear(self, place: int) -> None:
        self.put(place, 0.0, bytes(self._width), bytes(self._dimension))

    def write(self, db: sqlite3.Connection, number: int, version: int) -> None:
        parts = self._scales.tobytes(), bytes(self._signs), bytes(self._numbers)
        db.execute(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", (number, version, *parts)
        )


def _pack_few(rows: Any) -> Iterable[tuple[float, bytes, bytes]]:
    for row in rows:
        scale = max(map(abs, row)) / 127 or 1.0
        length = sqrt(sum(map(mul, row, row)))
        signs = _bits([value > 0 for value in row]).to_bytes(width(len(row)), "little")
        numbers = array("b", [round(value / scale) for value in row]).tobytes()
        yield scale / length if length else 0.0, signs, numbers


def _pack_many(rows: Any) -> Iterable[tuple[float, bytes, bytes]]:
    import numpy as np

    rows = np.asarray(rows, np.float32)
    top = np.abs(rows).max(axis=1)
    scale = np.where(top > 0, top / 127, 1)
    lengths = np.linalg.norm(rows, axis=1)
    scales = np.divide(scale, lengths, out=np.zeros_like(scale), where=lengths > 0).tolist()
    numbers = np.rint(rows / scale[:, None]).astype(np.int8)
    flags = np.zeros((len(rows), width(rows.shape[1]) * 8), bool)
    flags[:, : rows.shape[1]] = rows > 0
    signs = np.packbits(flags, axis=1, bitorder="little")
    for at, value in enumerate(scales):
        yield value, signs[at].tobytes(), numbers[at].tobytes()


# --- searching ---------------------------------------------------------------------------


class _Question:
    """A question as bits: which signs it has, and which directions count (twice).

    Numbers of Python, or with `many` rows of 64-bit words.
    """

    def __init__(self, wanted: Sequence[float], many: bool) -> None:
        self.size = width(len(wanted))
        if many:
            self._as_arrays(wanted)
            return
        length = sqrt(sum(map(mul, wanted, wanted))) or 1.0
        self.unit: Any = [value / length for value in wanted]
        steep = list(map(abs, self.unit))
        order = sorted(steep)
        some, much = order[int(LITTLE * len(order))], order[int(MUCH * len(order))]
        self.signs: Any = _bits([value > 0 for value in self.unit])
        self.once: Any = _bits([value >= some for value in steep])
        self.twice: Any = _bits([value > much for value in steep])

    def _as_arrays(self, wanted: Sequence[float]) -> None:
        import numpy as np

        unit = np.asarray(wanted, np.float64)
        unit = unit / (np.linalg.norm(unit) or 1.0)
        steep = np.abs(unit)
        some, much = np.sort(steep)[[int(LITTLE * len(unit)), int(MUCH * len(unit))]]
        flags = np.zeros((3, self.size * 8), bool)
        flags[:, : len(unit)] = unit > 0, steep >= some, steep > much
        self.farthest = int(flags[1:].sum())
        self.signs, self.once, self.twice = np.packbits(flags, axis=1, bitorder="little").view(
            np.uint64
        )
        self.unit = unit.astype(np.float32)


class Nearest:
    """Searches the vectors of one index. With numpy, what was read stays in memory."""

    def __init__(self) -> None:
        self._searches = 0
        self._version = -1
        self._signs: Any = None  # a row for every 64 bits, a column for every chunk id
        self._numbers: Any = None
        self._scales: Any = None
        self._empty: Any = None  # places without a vector
        self._read: Any = None  # which blocks of numbers were read

    def search(
        self,
        db: sqlite3.Connection,
        wanted: Sequence[float],
        most: int,
        allowed: Any = None,
        also: Collection[int] = (),
    ) -> dict[int, float]:
        """The nearest chunks with their cosine similarity; those of `also` with theirs."""
        (last,) = db.execute("SELECT max(block) FROM vectors").fetchone()
        if last is None or not any(wanted):
            return {}
        self._searches += 1
        few = self._searches == 1 and last * BLOCK <= FEW and "numpy" not in sys.modules
        question = _Question(wanted, many=not few)
        several = max(NEAREST, most) + (last + 1) * BLOCK // SHARE
        if few:
            near = _near_few(db, question, several, allowed)
            found = _cosines_few(db, question.unit, {*near, *also})
            best = sorted(found, key=found.__getitem__, reverse=True)[:most]
            return {chunk: found[chunk] for chunk in (*best, *also) if chunk in found}
        self._refresh(db, question.size)
        near = self._near_many(question, several, allowed)
        found = self._best(self._cosines_many(db, question, near), near, most)
        missing = [chunk for chunk in also if chunk not in found and chunk // BLOCK <= last]
        if missing:
            cosines = self._cosines_many(db, question, missing)
            found |= self._best(cosines, missing, len(missing))
        return found

    def _near_many(self, question: _Question, several: int, allowed: Any) -> Any:
        """The ids of the chunks with the nearest bits."""
        import numpy as np

        distances = _distances(self._signs, question)
        size, farthest = len(distances), question.farthest
        distances[self._empty] = farthest + 1
        if allowed is not None:
            distances[~allowed.mask(size - 1)] = farthest + 1
        step = max(1, size // SAMPLE)  # a sample tells how far the nearest ones lie
        counts = np.cumsum(np.bincount(distances[::step], minlength=farthest + 2)[:-1]) * step
        limit = min(int(np.searchsorted(counts, several)), farthest)
        found = np.flatnonzero(distances <= limit)
        while len(found) < several and limit < farthest:
            limit += 1
            found = np.flatnonzero(distances <= limit)
        return found

    def _cosines_many(self, db: sqlite3.Connection, question: _Question, ids: Any) -> Any:
        """Their cosine similarities; -2 where there is no vector."""
        import numpy as np

        places = np.asarray(ids, np.int64)
        self._load(db, np.unique(places // BLOCK), len(question.unit))
        scales = self._scales[places]
        found = self._numbers[places].astype(np.float32) @ question.unit
        return np.where(scales > 0, found * scales, np.float32(-2))

    @staticmethod
    def _best(cosines: Any, ids: Any, most: int) -> dict[int, float]:
        import numpy as np

        places = np.asarray(ids, np.int64)
        if len(places) > most:
            chosen = np.argpartition(-cosines, most)[:most]
            places, cosines = places[chosen], cosines[chosen]
        order = np.lexsort((places, -cosines))
        pairs = zip(places[order].tolist(), cosines[order].tolist(), strict=True)
        return {chunk: cosine for chunk, cosine in pairs if cosine > -2}

    def _refresh(self, db: sqlite3.Connection, size: int) -> None:
        """Read the bits and scales of the blocks that changed since the last search."""
        import numpy as np

        (newest,) = db.execute("SELECT max(version) FROM vectors").fetchone()
        if newest == self._version and self._signs is not None:
            return
        (last,) = db.execute("SELECT max(block) FROM vectors").fetchone()
        words, blocks = size // 8, last + 1
        if self._signs is None or len(self._signs) != words or newest < self._version:
            self._signs, self._version = np.zeros((words, 0), np.uint64), -1
            self._scales, self._numbers = np.zeros(0, np.float32), None
            self._read = np.zeros(0, bool)
        known = len(self._read)
        if blocks > known:
            more = (blocks - known) * BLOCK
            self._signs = np.pad(self._signs, ((0, 0), (0, more)))
            self._scales = np.pad(self._scales, (0, more))
            self._read = np.pad(self._read, (0, blocks - known))
        sql = "SELECT block, scales, signs FROM vectors WHERE version > ?"
        for block, scales, signs in db.execute(sql, (self._version,)):
            places = slice(block * BLOCK, (block + 1) * BLOCK)
            self._signs[:, places] = np.frombuffer(signs, np.uint64).reshape(BLOCK, words).T
            self._scales[places] = np.frombuffer(scales, np.float32)
            self._read[block] = False
        self._empty = np.flatnonzero(self._scales == 0)
        self._version = newest

    def _load(self, db: sqlite3.Connection, blocks: Any, dimension: int) -> None:
        """Read the numbers of some blocks that were not needed before."""
        import numpy as np

        size = len(self._scales)
        if self._numbers is None or len(self._numbers) < size:
            numbers = np.zeros(
                (2 * size, dimension), np.int8
            )  # room that is not used costs nothing
            if self._numbers is not None:
                numbers[: len(self._numbers)] = self._numbers
            self._numbers = numbers
        wanted = blocks[~self._read[blocks]].tolist()
        sql = f"SELECT block, numbers FROM vectors WHERE block IN ({_list(wanted)})"  # noqa: S608
        for block, numbers in db.execute(sql) if wanted else ():
            table = np.frombuffer(numbers, np.int8).reshape(BLOCK, dimension)
            self._numbers[block * BLOCK : (block + 1) * BLOCK] = table
        self._read[wanted] = True


def _distances(columns: Any, question: _Question) -> Any:
    """The weighted Hamming distance of the question and every chunk."""
    import numpy as np

    size = columns.shape[1]
    kind = np.uint8 if question.farthest < 255 else np.uint16
    result = np.zeros(size, kind)
    plan = list(zip(columns, question.signs, question.once, question.twice, strict=True))

    def compare(start: int) -> None:
        stop = min(start + STRIPE, size)
        total = result[start:stop]
        mixed, masked = np.empty((2, stop - start), np.uint64)
        count = np.empty(stop - start, np.uint8)
        for column, sign, once, twice in plan:
            np.bitwise_xor(column[start:stop], sign, out=mixed)
            for mask in (once, twice):
                np.bitwise_and(mixed, mask, out=masked)
                np.bitwise_count(masked, out=count)
                np.add(total, count, out=total)

    starts = range(0, size, STRIPE)
    if len(starts) > 4 and (os.cpu_count() or 1) > 1:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(2) as threads:
            list(threads.map(compare, starts))
    else:
        for start in starts:
            compare(start)
    return result


def _near_few(db: sqlite3.Connection, question: _Question, several: int, allowed: Any) -> list[int]:
    found: dict[int, list[int]] = {}  # distance -> chunks
    masks = _Masks(question)
    for block, scales, data in db.execute("SELECT block, scales, signs FROM vectors"):
        first, lengths = block * BLOCK, array("f", scales)
        for place, near in enumerate(masks.distances(data), start=first):
            if near in found:
                found[near].append(place)
            else:
                found[near] = [place]
        if 0.0 in lengths:
            empty = {first + place for place, length in enumerate(lengths) if not length}
            found = {
                near: [one for one in those if one not in empty] for near, those in found.items()
            }
    chosen: list[int] = []
    for near in sorted(found):  # all that are as near as the last of them
        if len(chosen) >= several:
            break
        chosen += found[near] if allowed is None else filter(allowed.__contains__, found[near])
    return chosen


class _Masks:
    """Counts the bits of a whole block at once, as one number of Python: in every byte, then
    in pairs of bytes, then the pairs of each chunk together."""

    def __init__(self, question: _Question) -> None:
        self._size, self._bytes = question.size, question.size * BLOCK
        self._signs, self._once, self._twice = (
            self._all(bits.to_bytes(question.size, "little"))
            for bits in (question.signs, question.once, question.twice)
        )
        self._ones, self._twos, self._fours = map(self._all, (b"\x55", b"\x33", b"\x0f"))
        self._pairs = self._all(b"\xff\x00")
        self._words = self._all(b"\xff" * 8 + bytes(question.size - 8))

    def _all(self, pattern: bytes) -> int:
        return int.from_bytes(pattern * (self._bytes // len(pattern)), "little")

    def distances(self, data: bytes) -> Iterable[int]:
        other = int.from_bytes(data, "little") ^ self._signs
        both = self._in_bytes(other & self._once) + self._in_bytes(other & self._twice)
        both = (both & self._pairs) + (both >> 8 & self._pairs)
        total = both & self._words
        for word in range(1, self._size // 8):
            total += both >> 64 * word & self._words
        total += total >> 32
        total += total >> 16
        counts = total.to_bytes(self._bytes + 8, "little")
        low, high = counts[: self._bytes : self._size], counts[1 : self._bytes : self._size]
        return (
            low if not any(high) else [one | two << 8 for one, two in zip(low, high, strict=True)]
        )

    def _in_bytes(self, bits: int) -> int:
        """How many bits are set in each byte."""
        bits -= bits >> 1 & self._ones
        bits = (bits & self._twos) + (bits >> 2 & self._twos)
        return bits + (bits >> 4) & self._fours


def _cosines_few(
    db: sqlite3.Connection, unit: Sequence[float], ids: Collection[int]
) -> dict[int, float]:
    """By two distances, which Python computes faster than a product: |a + b|² - |a - b|² = 4ab."""
    near = tuple(STRETCH * value for value in unit)
    far = tuple(-value for value in near)
    wanted: dict[int, list[int]] = {}
    for chunk in ids:
        wanted.setdefault(chunk // BLOCK, []).append(chunk % BLOCK)
    sql = f"SELECT block, scales, numbers FROM vectors WHERE block IN ({_list(wanted)})"  # noqa: S608
    row = Struct(f"{len(unit)}b")
    found: dict[int, float] = {}
    for block, scales, numbers in db.execute(sql):
        lengths = array("f", scales)
        for place in wanted[block]:
            if lengths[place]:
                values = row.unpack_from(numbers, place * len(unit))
                product = dist(far, values) ** 2 - dist(near, values) ** 2
                found[block * BLOCK + place] = lengths[place] * product / (4 * STRETCH)
    return found


def _list(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))
