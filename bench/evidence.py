"""Recognise what was said in a text that was made of it: turns by their sentences.

For bench/context.py, whose definitions say what counts.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from bench.retrieval import Store

from wakebook.store.hits import MARK
from wakebook.store.words import STOP_WORDS

LEAST = 25  # characters of a sentence that can be recognised
SPEAKER = re.compile(r"[A-Z][\w'’-]*: ")
_SENTENCE = re.compile(r"(?<=[.!?…。！？])[\"'”’)\]*]*\s+|\n+")
_WORD = re.compile(r"[^\W_]+")


def normal(text: str) -> str:
    """The words of a text, between single spaces."""
    return f" {' '.join(_WORD.findall(text.replace(MARK, '').casefold()))} "


_STOP = frozenset(normal(" ".join(STOP_WORDS["english"])).split())


def content(answer: str) -> frozenset[str]:
    """The words of an answer that say something."""
    return frozenset(normal(answer).split()) - _STOP


class Text:
    """A text in which pieces are looked for."""

    def __init__(self, text: str) -> None:
        self.normal = normal(text)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self.normal.split())

    @cached_property
    def _threes(self) -> frozenset[tuple[str, ...]]:
        words = self.normal.split()
        return frozenset(zip(words, words[1:], words[2:], strict=False))

    def has(self, piece: str) -> bool:
        first = tuple(piece.split()[:3])  # most pieces fail here already
        return (len(first) < 3 or first in self._threes) and piece in self.normal


class Sentence(NamedTuple):
    words: str
    counts: bool  # long enough to be recognised


class Parts:
    """A turn, sentence by sentence."""

    def __init__(self, text: str) -> None:
        said = SPEAKER.sub("", text.strip(), count=1) if SPEAKER.match(text.strip()) else text
        cut = [part.strip() for part in _SENTENCE.split(said)]
        found = [Sentence(normal(part), len(part) >= LEAST) for part in cut]
        self._sentences = [one for one in found if one.words.strip()]
        long = tuple(one.words for one in self._sentences if one.counts)
        self.pieces = long or ((normal(said),) if self._sentences else ())

    def share(self, text: Text) -> float:
        """The share of its words that a text has."""
        held = [
            len(one.words.split()) if self._is_in(number, text) else 0
            for number, one in enumerate(self._sentences)
        ]
        return sum(held) / sum(len(one.words.split()) for one in self._sentences)

    def _is_in(self, number: int, text: Text) -> bool:
        """A short sentence is recognised only beside its neighbour."""
        one = self._sentences[number]
        if one.counts or len(self._sentences) == 1:
            return text.has(one.words)
        near = self._sentences[max(number - 1, 0) : number + 2]
        return any(text.has(one.words + two.words[1:]) for one, two in pairwise(near))


class Evidence:
    """The turns of a store, and how to recognise them."""

    def __init__(self, store: Store) -> None:
        self._turns = {turn.id: turn.text for one in store.sessions for turn in one.turns}
        self._session = {turn.id: one.id for one in store.sessions for turn in one.turns}
        self._parts: dict[str, Parts] = {}
        self._own: dict[tuple[str, str], bool] = {}

    @cached_property
    def _sessions(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for turn, session in self._session.items():
            found.setdefault(session, []).append(turn)
        return found

    @cached_property
    def _words(self) -> dict[str, str]:
        """All words of each session."""
        return {
            session: normal("\n".join(self._turns[turn] for turn in turns))
            for session, turns in self._sessions.items()
        }

    def _of(self, turn: str) -> Parts:
        if turn not in self._parts:
            self._parts[turn] = Parts(self._turns[turn])
        return self._parts[turn]

    def has_turn(self, text: Text, turn: str) -> bool:
        session = self._session[turn]
        return any(
            text.has(piece) and self._is_own(session, piece) for piece in self._of(turn).pieces
        )

    def has_session(self, text: Text, session: str) -> bool:
        return any(self.has_turn(text, turn) for turn in self._sessions[session])

    def spread(self, text: Text) -> float:
        """The share of all sessions that a text has, evidence or not."""
        return fmean(self.has_session(text, session) for session in self._sessions)

    def share(self, text: Text, turn: str) -> float:
        return self._of(turn).share(text)

    def _is_own(self, session: str, piece: str) -> bool:
        """Whether no other session says it as well."""
        key = (session, piece)
        if key not in self._own:
            others = (words for name, words in self._words.items() if name != session)
            self._own[key] = not any(piece in words for words in others)
        return self._own[key]
