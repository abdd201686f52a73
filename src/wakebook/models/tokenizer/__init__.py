"""Tokens, counted exactly as OpenAI's o200k_base does it. Offline, without a dependency.

A text is cut into words by a pattern, and a word is made of tokens by merging bytes. How many
tokens a word has is remembered, so a text in known words costs little more than the pattern.
Nothing is special: `<|endoftext|>` is counted as the letters that it is made of. The tables
are read at the first call. NOTICE says where they are from.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate

from wakebook.models.tokenizer.merges import Counts, merged
from wakebook.models.tokenizer.words import split

SHORT = 1000  # characters of a text whose count is kept ...
KEPT = 4096  # ... among so many others
LOST = 16  # tokens that a cut may give away in order to end with a whole word
_COUNTS = Counts()
_CHARACTER = "(?s)[\ud800-\udbff][\udc00-\udfff]|."


def count(text: str) -> int:
    """The number of tokens. Halves of characters are counted as what replaces them."""
    return _short(text) if len(text) <= SHORT else _count(text)


@lru_cache(KEPT)
def _short(text: str) -> int:
    """The same lines are counted again and again."""
    return _count(text)


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
