"""Contradictions, without a model: same subject, same matter, opposed values.

An older statement and a newer one are about the same matter when they share enough telling
words, and they oppose each other when their numbers differ, when one negates what the other
affirms, or when they name opposites. The newer one is assumed right; the flag asks a human
to replace or dismiss the older one, so few and good ones count: recall is not the aim.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from wakebook.log.entry import Entry

SHARE = 0.34  # of the shorter statement's telling words
REACH = 400  # older statements of a subject that a new one is compared with
_TOKEN = re.compile(r"[^\W_]+(?:[.,:]\d+)*")
_STOP = frozenset(
    "a an and any are as at be been but by can could did do does for from had has have he her his "
    "i if in into is it its just me my no not now of on or our out she so some than that the their "
    "them then there they this to up us use used uses using user was we were what when which who "
    "will with would you your max min most least only per each all day days".split()
)
_NEGATION = frozenset("no not never without don doesn isn aren won cannot stop stopped".split())
_NUMBERS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_OPPOSITES = [
    frozenset(pair.split("/"))
    for pair in (
        "synchronous/queue synchronous/asynchronous sync/async enable/disable enabled/disabled "
        "public/private manual/automatic monthly/weekly weekly/daily morning/evening "
        "mornings/evenings always/never accept/reject allow/forbid light/dark tabs/spaces"
    ).split()
]


def contradictions(current: Sequence[Entry], since: datetime) -> list[tuple[Entry, Entry]]:
    """(older, newer) pairs, the newest first. `newer` is not older than `since`."""
    by_subject: dict[str, list[Entry]] = {}
    for entry in current:
        if entry.subject and entry.type in ("decision", "fact"):
            by_subject.setdefault(entry.subject, []).append(entry)
    found: list[tuple[float, Entry, Entry]] = []
    for entries in by_subject.values():
        entries.sort(key=lambda entry: entry.timestamp)
        if entries[-1].timestamp < since:
            continue
        entries = entries[-REACH:]
        terms = {entry.id: _terms(entry.content) for entry in entries}
        for index, new in enumerate(entries):
            if new.timestamp < since:
                continue
            for old in entries[:index]:
                strength = _opposed(terms[old.id], terms[new.id])
                if strength:
                    found.append((strength, old, new))
    found.sort(key=lambda pair: (pair[0], pair[2].timestamp), reverse=True)
    return [(old, new) for _, old, new in found]


class _Terms:
    """A statement as a set of telling words, its numbers, and whether it negates."""

    def __init__(self, text: str) -> None:
        tokens = [token.lower() for token in _TOKEN.findall(text.replace("n't", " not"))]
        tokens = [_NUMBERS.get(token, token) for token in tokens]
        self.numbers = {token for token in tokens if token[0].isdigit()}
        self.negated = any(token in _NEGATION for token in tokens)
        self.words = {
            _stem(token)
            for token in tokens
            if not token[0].isdigit() and token not in _STOP and len(token) > 2
        }
        self.raw = set(tokens)


@lru_cache(maxsize=8192)  # a briefing, a wake and the next briefing compare the same statements
def _terms(text: str) -> _Terms:
    return _Terms(text)


def _stem(word: str) -> str:
    for ending in ("ies", "ing", "ed", "es", "s", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _opposed(old: _Terms, new: _Terms) -> float:
    """How strongly two statements oppose each other; 0 if they do not."""
    shared = old.words & new.words
    smaller = min(len(old.words), len(new.words))
    if not shared or not smaller or (old.words == new.words and old.numbers == new.numbers):
        return 0.0 if old.negated == new.negated or not shared else 1.0
    share = len(shared) / smaller
    numbers_differ = bool(
        old.numbers and new.numbers and not old.numbers & new.numbers and share >= SHARE
    )
    opposites = any(
        len(pair & old.raw) == 1 and len(pair & new.raw) == 1 and pair & old.raw != pair & new.raw
        for pair in _OPPOSITES
    )
    negation = old.negated != new.negated and share >= 0.6 and len(shared) >= 2
    if numbers_differ or opposites or negation:
        return share + 0.5 * opposites
    return 0.0
