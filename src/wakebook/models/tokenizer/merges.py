"""A word's tokens: its bytes, merged two by two. The pair whose token is the oldest goes first.

A heap holds the pairs, so a word of 200,000 letters takes a second and not an hour.
"""

from __future__ import annotations

from functools import cache
from heapq import heapify, heappop, heappush
from pathlib import Path

KEPT = 30_000_000  # bytes, about, of words whose number of tokens is remembered
_ENTRY = 150  # bytes that a remembered word needs beside its letters


class Counts(dict[str, int]):
    """The number of tokens of every word that was asked for, until they are too many."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept, self._held = kept, 0

    def __missing__(self, word: str) -> int:
        data = word.encode()
        number = 1 if data in _ranks() else len(merged(data))
        if self._held > self._kept:
            self.clear()
            self._held = 0
        self._held += len(data) + _ENTRY
        self[word] = number
        return number


def merged(word: bytes) -> list[int]:
    """Where each token of a word ends. A word that is a token by itself is not for this."""
    ranks, size = _ranks(), len(word)
    stop = [*range(1, size + 1), 0]  # where the part that starts here ends, 0 if none does
    start = [0, *range(size)]  # where the part that ends here starts
    pairs = [(ranks.get(word[at : at + 2], -1), at, at + 2) for at in range(size - 1)]
    pairs = [pair for pair in pairs if pair[0] >= 0]
    heapify(pairs)
    while pairs:
        _, left, right = heappop(pairs)
        middle = stop[left]
        if not middle or stop[middle] != right:
            continue  # one of the two has been merged with another part meanwhile
        stop[left], stop[middle], start[right] = right, 0, left
        for first, last in ((start[left], right), (left, stop[right])):
            rank = ranks.get(word[first:last]) if last - first > right - left else None
            if rank is not None:
                heappush(pairs, (rank, first, last))
    return [end for end in stop if end]


@cache
def _ranks() -> dict[bytes, int]:
    """Every token's rank: 256 single bytes, then the others, parted by a byte that none holds."""
    data = (Path(__file__).parent / "tokens.bin").read_bytes()
    tokens = [bytes([byte]) for byte in data[:256]] + data[256:].split(b"\xff")
    return dict(zip(tokens, range(len(tokens)), strict=True))
