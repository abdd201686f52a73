"""Tokens, counted exactly as OpenAI's o200k_base does it. Offline, without a dependency.

A text is cut into words by a pattern, and a word is made of tokens by merging bytes. How many
tokens a word has is remembered, so a text in known words costs little more than the pattern.
Nothing is special: `<|endoftext|>` is counted as the letters that it is made of. The tables
are read at the first call. NOTICE says where they are from.
"""

import re
import zlib
from bisect import bisect_right
from functools import cache, lru_cache
from hashlib import blake2b
from heapq import heapify, heappop, heappush
from itertools import accumulate
from pathlib import Path

KEPT_WORDS = 30_000_000  # bytes, about, of words whose number of tokens is remembered
_ENTRY = 150  # bytes that a remembered word needs beside its letters


class Counts(dict[str, int]):
    """The number of tokens of every word that was asked for, until they are too many."""

    def __init__(self, kept: int = KEPT_WORDS) -> None:
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
    """Where each token of a word ends. A word that is a token by itself is not for this.

    Its bytes are merged two by two; the pair whose token is the oldest goes first. A heap holds
    the pairs, so that a word of 200,000 letters takes a second and not an hour.
    """
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


# The pattern of o200k_base asks for classes of Unicode characters, which `re` does not know. So it
# is written for ASCII and one stand-in for each class, and finds the words in a copy of the text
# in which every other character is its stand-in. Dashes, quotes and arrows need none: most texts
# that are not ASCII hold nothing else. The classes come from a table and not from `unicodedata`,
# whose Unicode is that of the Python in use: words must be the same everywhere.
UPPER, LOWER, LETTER, MARK, NUMBER, BLANK, OTHER = "Ààª¨²\xa0¡"
LONG_S = "ß"  # stands for ſ, the one letter beyond ASCII that ends an English short form
SIGNS = "\u2010-\u2027\u2030-\u205e\u2190-\u23ff"  # all of them in the class OTHER
_U = f"A-Z{UPPER}{LETTER}{MARK}"
_L = f"a-z{LOWER}{LONG_S}{LETTER}{MARK}"
_S = rf"\t-\r {BLANK}"
_N = f"0-9{NUMBER}"
_LN = f"A-Za-z{UPPER}{LOWER}{LONG_S}{LETTER}{_N}"
_SHORT = f"(?:'(?:[sStTmMdD{LONG_S}]|[rRvV][eE]|[lL][lL]))?"
_WORD = (
    rf"[^\r\n{_LN}]?[{_U}]*[{_L}]+{_SHORT}|[^\r\n{_LN}]?[{_U}]+[{_L}]*{_SHORT}|[{_N}]{{1,3}}"
    rf"| ?[^{_S}{_LN}]+[\r\n/]*|[{_S}]*[\r\n]+|[{_S}]+(?![^{_S}])|[{_S}]+"
)


def split(text: str) -> list[str]:
    """The words, which put together are the text again: no token reaches into the next one."""
    find = _pattern().findall
    if text.isascii() or not re.search(rf"[^\0-\x7f{SIGNS}]", text):
        return find(text)
    found: list[str] = find(text.translate(_classes()))
    end = 0
    for place, word in enumerate(found):
        end += len(word)
        if not word.isascii():  # all stand-ins are beyond ASCII, too
            found[place] = text[end - len(word) : end]
    return found


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_WORD)


@cache
def _classes() -> str:
    """For every character what stands for it; ASCII for itself."""
    return zlib.decompress((Path(__file__).parent / "classes.bin").read_bytes()).decode("latin-1")


SHORT = 1000  # characters of a text that is kept with its count ...
KEPT = 4096  # ... among so many others
LOST = 16  # tokens that a cut may give away in order to end with a whole word
_COUNTS = Counts()
_LONG: dict[bytes, int] = {}  # the digest of a longer text -> its tokens
_CHARACTER = "(?s)[\ud800-\udbff][\udc00-\udfff]|."


def count(text: str) -> int:
    """The number of tokens. Halves of characters are counted as what replaces them."""
    return _short(text) if len(text) <= SHORT else _long(text)


@lru_cache(KEPT)
def _short(text: str) -> int:
    """The same lines are counted again and again."""
    return _count(text)


def _long(text: str) -> int:
    """What a tool has said is counted with every turn; only the count is kept, not the text."""
    key = blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
    known = _LONG.get(key)
    if known is None:
        known = _count(text)
        if len(_LONG) >= KEPT:
            _LONG.clear()
        _LONG[key] = known
    return known


def _count(text: str) -> int:
    return sum(map(_COUNTS.__getitem__, split(_whole(text))))


def cut(text: str, limit: int) -> str:
    """The beginning of the text that has at most `limit` tokens, if possible up to a word's end."""
    whole = _whole(text)
    if limit <= 0:
        return ""
    near = whole[: 16 * limit]  # more than enough, unless most of it is blank
    end = _end(near, limit)
    if end == len(near) < len(whole):
        end = _end(whole, limit)
    if whole is text:
        return text[:end]
    return "".join(re.findall(_CHARACTER, text)[:end])


def _whole(text: str) -> str:
    """The text, in which halves of characters are put together, or replaced if they are alone."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _end(text: str, limit: int) -> int:
    """Where a text is to be cut: before a blank that is near enough, or else within a word."""
    parts = split(text)
    totals = [0, *accumulate(map(_COUNTS.__getitem__, parts))]
    ends = [0, *accumulate(map(len, parts))]
    fits = bisect_right(totals, limit) - 1  # this many words
    if fits == len(parts):
        return len(text)
    for place in range(fits, bisect_right(totals, limit - LOST - 1) - 1, -1):
        if _between(text, ends[place]):
            return ends[place]
    end = ends[fits] + _within(parts[fits], limit - totals[fits])
    while count(text[:end]) > limit:
        end -= 1
    return end


def _between(text: str, at: int) -> bool:
    """Is this the end of what people call a word, or of a line?"""
    last, following = text[at - 1 : at], text[at]
    return last in ("\n", "\r") or (following.isspace() and not last.isspace() and at > 0)


def _within(word: str, limit: int) -> int:
    """How many characters the first tokens of a word hold."""
    data = word.encode()
    end = [0, *merged(data)][limit]
    return len(data[:end].decode(errors="ignore"))
