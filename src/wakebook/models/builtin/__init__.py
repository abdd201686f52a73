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
from functools import cached_property
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wakebook.models.embedder import Rows

DIMENSION = 256
FEW = 2000  # this many pieces are summed without numpy, unless it is there already
LONGEST_WORD = 100
KEPT_WORDS = 200_000
_PLAIN = re.compile(r"[a-z0-9]+|[^a-z0-9\s]")
_ANY = re.compile(
    r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f]"  # a CJK character
    r"|(?:(?![\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f])[^\W_])+"
    r"|[^\w\s]|_"
)


class Builtin:
    name = "builtin"
    remote = False

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(__file__).parent
        self._pieces: dict[str, tuple[int, ...]] = {}

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        text = (self._folder / "vocab.txt").read_text(encoding="utf-8")
        return {token: row for row, token in enumerate(text.removesuffix("\n").split("\n"))}

    @cached_property
    def _table(self) -> mmap.mmap:
        """All rows, then a scale for each of them."""
        with (self._folder / "table.bin").open("rb") as stream:
            return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Rows:
        tokens = [self.tokens(text) for text in texts]
        if "numpy" not in sys.modules and sum(map(len, tokens)) <= FEW:
            return [self._sum(rows) for rows in tokens]
        rows: Rows = self._sums(tokens)
        return rows

    def tokens(self, text: str) -> list[int]:
        """The rows of a text's word pieces."""
        text = text.lower()
        if text.isascii():
            words = _PLAIN.findall(text)
        else:
            text = unicodedata.normalize("NFD", text)
            text = "".join(char for char in text if unicodedata.category(char) != "Mn")
            words = _ANY.findall(text)
        known = self._pieces
        found: list[int] = []
        for word in words:
            pieces = known.get(word)
            found += self._cut(word) if pieces is None else pieces
        return found

    def _cut(self, word: str) -> tuple[int, ...]:
        """A word's pieces, the longest that fits first. None if one is not in the table."""
        vocabulary = self._vocabulary
        rows: list[int] = []
        start, size = 0, len(word)
        while start < size <= LONGEST_WORD:
            before = "##" if start else ""
            for end in range(size, start, -1):
                row = vocabulary.get(before + word[start:end])
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

    # --- a few, without numpy --------------------------------------------------------

    def _sum(self, tokens: Sequence[int]) -> list[float]:
        total = [0.0] * DIMENSION
        table = memoryview(self._table).cast("b")
        scales = len(self._vocabulary) * DIMENSION
        for token in tokens:
            (scale,) = struct.unpack_from("<e", self._table, scales + 2 * token)
            row = table[token * DIMENSION : (token + 1) * DIMENSION]
            total = [value + scale * part for value, part in zip(total, row, strict=True)]
        length = sqrt(sum(value * value for value in total))
        return [value / length for value in total] if length else total

    # --- many, with numpy ------------------------------------------------------------

    @cached_property
    def _arrays(self) -> tuple[Any, Any]:
        import numpy as np

        size = len(self._vocabulary)
        rows = np.frombuffer(self._table, np.int8, size * DIMENSION).reshape(size, DIMENSION)
        scales = np.frombuffer(self._table, np.float16, size, size * DIMENSION)
        return rows, scales.astype(np.float32)

    def _sums(self, tokens: Sequence[Sequence[int]], batch: int = 256) -> Any:
        import numpy as np

        rows, scales = self._arrays
        result = np.zeros((len(tokens), DIMENSION), np.float32)
        for start in range(0, len(tokens), batch):
            part = tokens[start : start + batch]
            sizes = np.array([len(item) for item in part])
            filled = np.flatnonzero(sizes)
            if not len(filled):
                continue
            flat = np.array([token for item in part for token in item])
            weighted = rows[flat] * scales[flat][:, None]
            ends = np.cumsum(sizes[filled])
            result[start + filled] = np.add.reduceat(weighted, np.r_[0, ends[:-1]], axis=0)
        lengths = np.linalg.norm(result, axis=1, keepdims=True)
        return result / np.maximum(lengths, 1e-12)
