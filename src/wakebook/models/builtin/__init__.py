"""The built-in embedder: a table of token vectors, summed. Offline, no key, no download.

A text is cut into word pieces (uncased, as BERT does), each piece has a row of 256 numbers
whose length is its weight, and the text's vector is their sum at unit length. The table was
distilled from a sentence encoder by tools/distil.py; NOTICE says from which.
"""

import mmap
import re
import unicodedata
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

DIMENSION = 256
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
        self._pieces = _pieces(self._folder)

    @cached_property
    def _table(self) -> tuple[Any, Any]:
        return _table(self._folder)

    def _row(self, token: str) -> int | None:
        """A token's row. A few are looked up in the text: quicker than making a dictionary."""
        if len(self._pieces) > FEW_WORDS:
            return _vocabulary(self._folder).get(token)
        lines = _lines(self._folder)
        at = lines.find(f"\n{token}\n")
        return lines.count("\n", 0, at) if at >= 0 else None

    def rank(self, word: str) -> int | None:
        """A word's place in the vocabulary, in which common words stand first."""
        return self._row(word)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Sequence[Sequence[float]]:
        import numpy as np

        table, scales = self._table
        sums = np.empty((len(texts), DIMENSION), np.float32)
        for at, text in enumerate(texts):
            rows = np.array(self.tokens(text), np.intp)
            sums[at] = (table.take(rows, axis=0) * scales.take(rows)[:, None]).sum(axis=0)
        lengths = np.sqrt((sums * sums).sum(axis=1, keepdims=True))
        found: Sequence[Sequence[float]] = sums / np.maximum(lengths, 1e-12)
        return found

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


# --- read once, for all embedders of a process: a service has several --------------------
@cache
def _pieces(folder: Path) -> dict[str, tuple[int, ...]]:
    """The pieces of words that were cut before."""
    return {}


@cache
def _lines(folder: Path) -> str:
    """The vocabulary, each token between two line ends."""
    return "\n" + (folder / "vocab.txt").read_text(encoding="utf-8")


@cache
def _vocabulary(folder: Path) -> dict[str, int]:
    return {token: row for row, token in enumerate(_lines(folder)[1:-1].split("\n"))}


@cache
def _table(folder: Path) -> tuple[Any, Any]:
    """The rows of all tokens, and the scale of each."""
    import numpy as np

    with (folder / "table.bin").open("rb") as stream:
        data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    size = _lines(folder).count("\n") - 1
    rows = np.frombuffer(data, np.int8, size * DIMENSION).reshape(size, DIMENSION)
    scales = np.frombuffer(data, "<f2", size, size * DIMENSION)
    return rows, scales.astype(np.float32)
