"""Stale: sentences of conversations that say what has been corrected since.

An entry that was replaced is never told. Its words stand in the conversation as well, and the agent
repeated them: "Got it: reports go to Jonas." Such a sentence is known by the value that was lost
(what the old words have and the new ones do not) beside words of the old frame. What was said
twice in conversations alone counts, too, if the later words say that something has changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
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
    def __init__(self, pairs: Iterable[Replaced]) -> None:
        self._by_lost: dict[str, list[Correction]] = {}
        for pair in pairs:
            self._add(pair)

    def _add(self, pair: Replaced) -> None:
        old, new = words.terms(pair.old), words.terms(_NOT.sub(" ", pair.new))
        values = {words.stem(word.lower()) for word in _words(pair.old) if _VALUE.search(word)}
        lost = frozenset((values & old) - new) or old - new
        if lost:
            found = Correction(lost, old, new, one_line(whole(pair.new), LONGEST), pair.at)
            for term in lost:
                self._by_lost.setdefault(term, []).append(found)

    def learn(self, passages: Iterable[Passage]) -> None:
        """Take in what was said anew in the conversations that were found."""
        said = [
            (sentence, words.terms(_NOT.sub(" ", sentence)), one.row.at, one.row.turn)
            for one in passages
            if one.row.speaker != "agent" and not one.replaced_by
            for sentence in re.split(r"(?<=[.!?;])\s+|\n+", one.content)
        ]
        for new, fresh, at, _ in said:
            if not _CHANGES.search(new):
                continue
            for old, terms, before, turn in said:
                shared = len(terms & fresh)
                least = max(FRAME, SHARE * min(len(terms), len(fresh)))
                if turn and before < at and shared >= least and terms - fresh and fresh - terms:
                    self._add(Replaced(old, new, at))

    def correction(self, sentence: str, at: int = 0) -> str:
        """What holds instead of a sentence that was said at a time; nothing if it may hold."""
        said = words.terms(sentence)
        for term in said & self._by_lost.keys():
            for one in self._by_lost[term]:
                shared = len(said & one.old)
                gained = (one.new - one.old) & said
                least = max(FRAME, SHARE * min(len(said), len(one.old)))
                if at <= one.at and shared >= least and not gained:
                    return one.text
        return ""


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_][\w.:'’-]*", text)
