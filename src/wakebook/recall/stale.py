"""Stale: sentences that say what has changed since.

An entry that was replaced is never told. Its words stand in the conversation as well, and the agent
repeated them: "Got it: reports go to Jonas." Such a sentence is known by the value that was lost
(what the old words have and the new ones do not) beside words of the old frame.

Not every change was booked. So what the user said later counts, too, if it gives another value for
the same thing (`outdates`): "We're on Postgres 16 now" after "We use Postgres 15". A sentence of
which nothing else is left is not told; any other is told with what holds instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from wakebook.base import words
from wakebook.base.text import whole
from wakebook.capture.transcript import one_line
from wakebook.learn.select.said import KINDS, OF_CHANGE, Said, different, read, recounted, usual
from wakebook.recall import days
from wakebook.store.hits import Passage, Replaced

FRAME = 2  # words of the old sentence that a stale one has, the lost value among them ...
SHARE = 0.5  # ... and this share of the shorter of the two
ALIKE = 0.4  # the same share, where only the form of the new one speaks for a change
LONGEST = 120  # characters of a correction that are told beside what it corrects
SOON = 4  # turns after which "no, 45" is no longer about a sentence
GONE = "no longer holds"
LIVE = words.stem("live")
REST = 1  # words of an old sentence beyond a change, with which it still says nothing else
_VALUE = re.compile(r"\d|^[A-ZÀ-Þ]")
_UNIT = re.compile(r"\d\s?([^\W\d_]+)")
_VERSION = re.compile(r"([^\W\d_][\w+#]*)[ :@-]v?(\d+(?:\.\d+)*)\b")
_MOVED = re.compile(  # where one lives, or a group does
    r"\b(?:i|we)(?:'ve| have| are|'re)?(?: \w+)? (?:moved|relocated) to\b"
    r"|\b(?:bin|sind) .{0,40}(?:um)?gezogen\b|\bme (?:he mudado|mudé) a\b|\bj'ai déménagé\b"
)
_TAGGED = re.compile(r"(?<=[a-z]):(?=\d)")  # postgres:15
_SENTENCES = re.compile(r"(?<=[.!?;])\s+|\n+")
_NOT = re.compile(
    r"(?i)\b(?:not|instead of|rather than|nicht|no|pas) (?:(?:the|on|in|at|am|el|le) )?\S+"
)


class Utterance(NamedTuple):
    """Something that was said, and where."""

    text: str
    at: int = 0
    talk: str = ""  # the conversation; nothing if that is not known
    turn: int = 0  # in it
    agent: bool = False  # said by the agent


class Correction(NamedTuple):
    text: str  # what holds instead
    wholly: bool = True  # of the old sentence, nothing else holds

    @property
    def mark(self) -> str:
        return f"(part of it {GONE}: {self.text})"


class _Booked(NamedTuple):
    lost: frozenset[str]
    old: frozenset[str]
    new: frozenset[str]
    whole: str  # what holds instead
    text: str  # the same, as it is shown
    at: int  # since when


class Stale:
    def __init__(self, pairs: Sequence[Replaced]) -> None:
        self._booked = _by_lost(tuple(pairs))  # the same for one message after the other
        self._later: dict[str, list[Utterance]] = {}
        self._bare: dict[str, list[Utterance]] = {}  # by conversation: "no wait, 45"

    def learn(self, said: Iterable[Utterance]) -> None:
        """Take in what the user has said, sentence by sentence."""
        for one in said:
            for text in sentences(one.text):
                if "?" in text[-2:]:
                    continue
                spoken, new = one._replace(text=text), read(text)
                moved = {LIVE} if _MOVED.search(new.low) else set()
                for term in new.terms - usual() | moved:
                    self._later.setdefault(term, []).append(spoken)
                if one.talk and "corrects" in new.cues:
                    self._bare.setdefault(one.talk, []).append(spoken)

    def correction(self, sentence: Utterance) -> Correction | None:
        """What holds instead of something that was said; None if it may hold."""
        booked = self._replaced(words.terms(sentence.text), sentence.at)
        if booked:
            return Correction(booked.text, settles(booked.whole, sentence.text))
        old = read(_TAGGED.sub(" ", sentence.text))
        later = (one for term in old.terms for one in self._later.get(term, ()))
        near = [one for one in self._bare.get(sentence.talk, ()) if _soon(one, sentence)]
        found: Utterance | None = None
        for one in {*later, *near}:
            how = "near" if one in near else "agent" if sentence.agent else ""
            if _after(one, sentence) and outdates(read(one.text), old, how):
                found = max(found or one, one, key=lambda it: (it.at, it.turn))
        if found is None:
            return None
        return Correction(_shown(found.text, found.at), _covers(read(found.text), old))

    def _replaced(self, said: frozenset[str], at: int) -> _Booked | None:
        for term in said:
            for one in self._booked.get(term, ()):
                shared = len(said & one.old)
                gained = (one.new - one.old) & said
                least = max(FRAME, SHARE * min(len(said), len(one.old)))
                if at <= one.at and shared >= least and not gained:
                    return one
        return None

    def current(self, text: str, said: Utterance) -> str:
        """A text without its sentences that no longer hold, and with what holds instead of those
        that hold in part; of an agent's turn, which only repeats, without these too. `said`: where
        and when."""
        kept = []
        for part in sentences(text):
            found = self.correction(said._replace(text=part))
            if found is None:
                kept.append(part)
            elif not (found.wholly or (said.agent and said.talk)):
                kept.append(f"{part} {found.mark}")
        return " ".join(kept)


def _covers(new: Said, old: Said) -> bool:
    """Whether nothing is left of an old sentence beside what a new one says of the same thing."""
    return bool(new.about) and len(_left(old, new)) <= REST and len(_lost(new, old)) <= 1


def _left(one: Said, other: Said) -> frozenset[str]:
    """What only one of two sentences is about; a unit goes with its number."""
    return one.frame - other.terms - usual() - words.terms(" ".join(_UNIT.findall(one.low)))


def _lost(new: Said, old: Said) -> frozenset[str]:
    ours, theirs = (one.values["number"] | one.values["day"] for one in (new, old))
    return theirs - ours


def settles(new: str, old: str) -> bool:
    """Whether a sentence that is booked as replaced is replaced with all that it says: one with
    two values, of which the new words give one, is not."""
    ours, theirs = read(new), read(old)
    return len(_lost(ours, theirs)) <= 1 or not _left(theirs, ours)


def outdates(new: Said, old: Said, how: str = "") -> bool:
    """Whether a later sentence gives another value for what an earlier one is about. `how`: "near"
    if it takes something back, soon after in the same conversation; "agent" if the earlier one was
    the agent's, in which only a value can be out of date."""
    if new.planned or {"also", "hypothetical"} & new.cues or new.terms <= old.terms:
        return False
    cued = bool(new.cues & OF_CHANGE)
    if cued and _versions(new, old):
        return True
    if _MOVED.search(new.low) and "slot 0" in old.cues:
        return True
    shared = (new.frame & old.terms) - usual()
    if any(it <= old.bare and (alone or how == "near" or shared - it) for it, alone in new.back):
        return True
    other = different(new.values, old.values) - {"degree"}
    again = any(recounted(new, old, kind) for kind in KINDS)
    if how == "near" and not new.back and (again or "day" in other or _shapes(new) & _shapes(old)):
        return True
    if new.back or not shared:
        return False
    slot = any(cue.startswith("slot") for cue in new.cues & old.cues)
    if slot and other:
        return True
    left = [len(_left(one, two)) for one, two in ((new, old), (old, new))]
    if not cued:
        return again and len(shared) >= FRAME and not min(left)
    least = max(FRAME, ALIKE * min(len(new.frame), len(old.frame)))
    loose = how != "agent" and all(left)
    return again or "day" in other or (len(shared) >= least and bool(other or loose))


def _shapes(said: Said) -> set[str]:
    """How its numbers look: "6:30" and "7:15" alike."""
    return {re.sub(r"\d", "0", one) for one in said.values["number"]}


def _versions(new: Said, old: Said) -> bool:
    """Whether both name something with its number, and the numbers differ: "Postgres 16"."""
    ours, theirs = (dict(_VERSION.findall(one.low)) for one in (new, old))
    named = new.values["name"] | old.values["name"]
    return any(ours[it] != theirs[it] for it in ours.keys() & theirs.keys() & named)


def spoken(passage: Passage) -> Utterance:
    row = passage.row
    talk = passage.path if row.turn else ""
    return Utterance(passage.content, row.at, talk, row.place, row.speaker == "agent")


def sentences(text: str) -> list[str]:
    return [one for one in _SENTENCES.split(text) if one.strip()]


def _after(one: Utterance, other: Utterance) -> bool:
    if one.talk and one.talk == other.talk:
        return one.turn > other.turn
    return one.at > other.at


def _soon(one: Utterance, other: Utterance) -> bool:
    return 0 < one.turn - other.turn <= SOON


def _shown(text: str, at: int) -> str:
    day = datetime.fromtimestamp(at, UTC).date()
    return days.resolved(one_line(whole(text), LONGEST), day)


@lru_cache(4)
def _by_lost(pairs: tuple[Replaced, ...]) -> dict[str, list[_Booked]]:
    """Corrections by what was lost in each."""
    found: dict[str, list[_Booked]] = {}
    for pair in pairs:
        old, new = words.terms(pair.old), _terms(pair.new)
        values = {words.stem(word.lower()) for word in _words(pair.old) if _VALUE.search(word)}
        lost = frozenset((values & old) - new) or old - new
        for term in lost:
            found.setdefault(term, []).append(
                _Booked(lost, old, new, pair.new, _shown(pair.new, pair.at), pair.at)
            )
    return found


def _terms(text: str) -> frozenset[str]:
    """What a sentence says, without what it says is not so."""
    return words.terms(_NOT.sub(" ", text))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_][\w.:'’-]*", text)
