"""Stale: sentences of conversations that say what has been corrected since.

An entry that was replaced is never told. Its words stand in the conversation as well, and the agent
repeated them: "Got it: reports go to Jonas." Such a sentence is known by the value that was lost
(what the old words have and the new ones do not) beside words of the old frame. What was said
twice in conversations alone counts, too, if the later words say that something has changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from wakebook.base import words
from wakebook.base.text import whole
from wakebook.capture.transcript import one_line
from wakebook.store.hits import Passage, Replaced

FRAME = 2  # words of the old sentence that a stale one has, the lost value among them ...
SHARE = 0.5  # ... and this share of the shorter of the two
LONGEST = 120  # characters of a correction that are told beside what it corrects
_VALUE = re.compile(r"\d|^[A-ZÀ-Þ]")
_CHANGES = re.compile(
    r"(?i)\b(?:now|from now on|no longer|any ?more|instead|actually|changed?|moved|switched|renamed"
    r"|correction|scratch that|not the|rather than|left|since|nicht mehr|jetzt|doch|geändert"
    r"|verschoben|ahora|ya no|cambio|cambia|pasa a|désormais|change)\b"
    r"|, not\b"
)
_SENTENCES = re.compile(r"(?<=[.!?;])\s+|\n+")
_NOT = re.compile(
    r"(?i)\b(?:not|instead of|rather than|nicht|no|pas) (?:(?:the|on|in|at|am|el|le) )?\S+"
)


class Correction(NamedTuple):
    lost: frozenset[str]
    old: frozenset[str]
    new: frozenset[str]
    text: str  # what holds instead
    at: int  # since when


class Stale:
    def __init__(self, pairs: Sequence[Replaced]) -> None:
        self._known = _by_lost(tuple(pairs))  # the same for one message after the other
        self._learned: dict[str, list[Correction]] = {}

    def learn(self, passages: Sequence[Passage]) -> None:
        """Take in what was said anew in the conversations that were found."""
        said = [
            (sentence, one.row.at, one.row.turn)
            for one in passages
            if one.row.speaker != "agent" and not one.replaced_by
            for sentence in _SENTENCES.split(one.content)
        ]
        changes = [(text, at) for text, at, _ in said if _CHANGES.search(text)]
        earlier = [(text, at, _terms(text)) for text, at, turn in said if turn] if changes else []
        for new, at in changes:
            fresh = _terms(new)
            for old, before, terms in earlier:
                least = max(FRAME, SHARE * min(len(terms), len(fresh)))
                if before < at and len(terms & fresh) >= least and terms - fresh and fresh - terms:
                    _add(self._learned, Replaced(old, new, at))

    def correction(self, sentence: str, at: int = 0) -> str:
        """What holds instead of a sentence that was said at a time; nothing if it may hold."""
        said = words.terms(sentence)
        for term in said:
            one: Correction
            for one in (*self._known.get(term, ()), *self._learned.get(term, ())):
                shared = len(said & one.old)
                gained = (one.new - one.old) & said
                least = max(FRAME, SHARE * min(len(said), len(one.old)))
                if at <= one.at and shared >= least and not gained:
                    return one.text
        return ""


@lru_cache(4)
def _by_lost(pairs: tuple[Replaced, ...]) -> dict[str, list[Correction]]:
    """Corrections by what was lost in each."""
    found: dict[str, list[Correction]] = {}
    for pair in pairs:
        _add(found, pair)
    return found


def _add(found: dict[str, list[Correction]], pair: Replaced) -> None:
    old, new = words.terms(pair.old), _terms(pair.new)
    values = {words.stem(word.lower()) for word in _words(pair.old) if _VALUE.search(word)}
    lost = frozenset((values & old) - new) or old - new
    correction = Correction(lost, old, new, one_line(whole(pair.new), LONGEST), pair.at)
    for term in lost:
        found.setdefault(term, []).append(correction)


def _terms(text: str) -> frozenset[str]:
    """What a sentence says, without what it says is not so."""
    return words.terms(_NOT.sub(" ", text))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_][\w.:'’-]*", text)
