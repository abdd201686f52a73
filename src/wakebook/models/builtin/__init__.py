"""The built-in embedder: a table of token vectors, summed. Offline, no key, no download.

A text is cut into word pieces (uncased, as BERT does), each piece has a row of 256 numbers
whose length is its weight, and the text's vector is their sum at unit length. The table was
distilled from a sentence encoder by tools/distil.py; NOTICE says from which.

Many texts are embedded with numpy. A few are embedded without it: importing numpy takes
longer than everything else that `wakebook search` does.
"""

from __future__ import annotations

import mmap
import re
import struct
import sys
import unicodedata
from collections.abc import Sequence
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any

DIMENSION = 256
FEW = 2000  # this many pieces are summed without numpy, unless it is there already
FEW_WORDS = 100  # words that are cut without a dictionary
LONGEST_WORD = 100
KEPT_WORDS = 200_000
_PLAIN = re.compile(r"[a-z0-9]+|[^a-z0-9\s]")
_CJK = "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f]"
_ANY = rf"{_CJK}|(?:(?!{_CJK})[^\W_])+|[^\w\s]|_"  # compiled (slowly) if it is needed


class Builtin:
    name = "builtin"
    remote = False

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(__file__).parent
        self._pieces: dict[str, tuple[int, ...]] = {}

    def _row(self, token: str) -> int | None:
        """A token's row. A few are looked up in the text: quicker than making a dictionary."""
        if len(self._pieces) > FEW_WORDS:
            return _vocabulary(self._folder).get(token)
        lines = _lines(self._folder)
        at = lines.find(f"\n{token}\n")
        return lines.count("\n", 0, at) if at >= 0 else None

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Sequence[Sequence[float]]:
        tokens = [self.tokens(text) for text in texts]
        if "numpy" not in sys.modules and sum(map(len, tokens)) <= FEW:
            return [self._sum(rows) for rows in tokens]
        rows: Sequence[Sequence[float]] = self._sums(tokens)
        return rows

    def tokens(self, text: str) -> list[int]:
        """The rows of a text's word pieces."""
        text = text.lower()
        if text.isascii():
            words = _PLAIN.findall(text)
        else:
            text = unicodedata.normalize("NFD", text)
            text = "".join(char for char in text if unicodedata.category(char) != "Mn")
            words = re.findall(_ANY, text)
        known = self._pieces
        found: list[int] = []
        for word in words:
            pieces = known.get(word)
            found += self._cut(word) if pieces is None else pieces
        return found

    def _cut(self, word: str) -> tuple[int, ...]:
        """A word's pieces, the longest that fits first. None if one is not in the table."""
        rows: list[int] = []
        start, size = 0, len(word)
        while start < size <= LONGEST_WORD:
            before = "##" if start else ""
            for end in range(size, start, -1):
                row = self._row(before + word[start:end])
                if row is not None:
                    rows.append(row)
                    start = end
                    break
            else:
                rows = []
                break
        if len(self._pieces) >= KEPT_WORDS:
            self._pieces.clear()
        self._pieces[word] = tuple(rows)
        return self._pieces[word]

    def _sum(self, tokens: Sequence[int]) -> list[float]:
        """Without numpy."""
        total = [0.0] * DIMENSION
        table = _table(self._folder)
        numbers = memoryview(table).cast("b")
        scales = (_lines(self._folder).count("\n") - 1) * DIMENSION
        for token in tokens:
            (scale,) = struct.unpack_from("<e", table, scales + 2 * token)
            row = numbers[token * DIMENSION : (token + 1) * DIMENSION]
            total = [value + scale * part for value, part in zip(total, row, strict=True)]
        length = sqrt(sum(value * value for value in total))
        return [value / length for value in total] if length else total

    def _sums(self, tokens: Sequence[Sequence[int]]) -> Any:
        """The first pieces of all texts, plus the second ones of those that have one, ..."""
        import numpy as np

        table = _rows(self._folder)
        order = sorted(range(len(tokens)), key=lambda at: -len(tokens[at]))
        longest = [tokens[at] for at in order]
        sums = np.zeros((len(tokens), DIMENSION), np.float32)
        count = len(longest)
        for place in range(len(longest[0]) if longest else 0):
            while len(longest[count - 1]) <= place:
                count -= 1
            sums[:count] += table[[row[place] for row in longest[:count]]]
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        result = np.empty_like(sums)
        result[order] = sums / np.maximum(lengths, 1e-12)
        return result


# --- read once, for all embedders of a process: a service has several --------------------


@cache
def _lines(folder: Path) -> str:
    """The vocabulary, each token between two line ends."""
    return "\n" + (folder / "vocab.txt").read_text(encoding="utf-8")


@cache
def _vocabulary(folder: Path) -> dict[str, int]:
    return {token: row for row, token in enumerate(_lines(folder)[1:-1].split("\n"))}


@cache
def _table(folder: Path) -> mmap.mmap:
    """All rows, then a scale for each of them."""
    with (folder / "table.bin").open("rb") as stream:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


@cache
def _rows(folder: Path) -> Any:
    """The table as numbers of full size: 30 MB, for those who embed many texts."""
    import numpy as np

    table, size = _table(folder), len(_vocabulary(folder))
    rows = np.frombuffer(table, np.int8, size * DIMENSION).reshape(size, DIMENSION)
    scales = np.frombuffer(table, "<f2", size, size * DIMENSION)
    return rows * scales.astype(np.float32)[:, None]
