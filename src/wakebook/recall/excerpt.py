"""Excerpt: the sentences of a long text that answer a question, in their order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import fsum
from typing import NamedTuple

from wakebook.index import words
from wakebook.index.question import Question
from wakebook.models import tokenizer

GAP = " … "
GOES_ON = 12  # tokens: with fewer left, the next sentence is not begun
LONG = 10  # characters for a token: a text with more is too long for sure
SHORT = 20  # characters: a shorter sentence is read with the one before
FIRST = 0.15  # of the best: the first sentence says what the rest is about
BESIDE = 0.3  # of its better neighbour's worth
_END = re.compile(r"(?<=[.!?])\s+|(?<=[.!?][\"')\]])\s+|(?<=[。！？])|\n+")


class Asked(NamedTuple):
    """What a question looks for: stem -> what it tells; and all stems as one expression."""

    terms: Mapping[str, float]
    begins: re.Pattern[str] | None = None  # for plain text: a stem is how its word begins

    @classmethod
    def of(cls, question: Question | None, weights: Sequence[float]) -> Asked:
        terms: dict[str, float] = {}
        if question is not None:
            for word, weight in zip(question.words, weights, strict=False):
                for term in word.terms:
                    terms[term] = max(terms.get(term, 0.0), weight)
        plain = sorted((term for term in terms if term.isascii() and term.isalnum()), reverse=True)
        forms = "|".join(re.sub("i$", "[iy]", term) for term in plain)  # company, companies
        found = re.compile(rf"(?<![a-z0-9])(?:{forms})") if plain else None
        return cls(terms, found)

    def worth(self, text: str, language: str) -> float:
        """What a sentence tells of what was asked."""
        if text.isascii() and self.begins is not None:
            found = self.begins.findall(text.lower())
            there = {*found, *(f"{word[:-1]}i" for word in found if word[-1] == "y")}
        else:
            there = set(words.terms(words.tokens(text), language))
        return fsum(self.terms[term] for term in there if term in self.terms)


def sentences(text: str) -> list[str]:
    found: list[str] = []
    for part in _END.split(text):
        bare = " ".join(part.split())
        if not bare:
            continue
        if found and len(bare) < SHORT:
            found[-1] = f"{found[-1]} {bare}"
        else:
            found.append(bare)
    return found


def excerpt(text: str, language: str, asked: Asked, limit: int) -> str:
    """At most `limit` tokens of the text on one line: all of it, or its best sentences."""
    flat = " ".join(text.split())
    if flat.isascii() and len(flat) <= limit:
        return flat
    if len(flat) <= LONG * limit and tokenizer.count(flat) <= limit:
        return flat
    parts = sentences(text)
    worth = _worth(parts, language, asked)
    order = sorted(range(len(parts)), key=lambda at: (-worth[at], at))
    kept: set[int] = set()
    room = limit
    for at in order:
        size = tokenizer.count(parts[at]) + 2
        if size > room and not kept:
            return tokenizer.cut(parts[at], limit - 1) + "…"
        if size <= room:
            kept.add(at)
            room -= size
        elif room < limit // 4:
            break
    return _joined(parts, kept, room)


def _worth(parts: Sequence[str], language: str, asked: Asked) -> list[float]:
    """What each sentence tells of what was asked; its neighbours' share."""
    own = [asked.worth(part, language) for part in parts]
    best = max(own, default=0.0) or 1.0
    worth = []
    for at, value in enumerate(own):
        beside = max(own[at - 1] if at else 0.0, own[at + 1] if at + 1 < len(own) else 0.0)
        worth.append(value + BESIDE * beside + (FIRST * best if at == 0 else 0.0))
    return worth


def _joined(parts: Sequence[str], kept: set[int], room: int) -> str:
    """What is kept, in order, and in what room is left how the last of it goes on."""
    text = ""
    for at in sorted(kept):
        gap = "" if not text and at == 0 else (" " if at - 1 in kept else GAP)
        text += (gap.lstrip() if not text else gap) + parts[at]
    last = max(kept, default=-1)
    if last == len(parts) - 1:
        return text
    more = tokenizer.cut(parts[last + 1], room - 2).rstrip() if room > GOES_ON else ""
    return f"{text} {more} …" if more else f"{text} …"
