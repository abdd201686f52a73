"""Similarity: tier 2. How much a message is like what a topic says. No model is asked.

Two measures, each from 0 to 1, of which either can speak for a topic. By words: the cosine of
TF-IDF vectors of stems, of the part of the topic that fits best (what it is about, and each of its
sections), so that a long playbook is no less like a message than a short one. By meaning: how near
the built-in table of word vectors puts the message to what the topic is about.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log, sqrt
from operator import mul

from wakebook.index import words
from wakebook.index.stopwords import STOP_WORDS, WEAK_WORDS
from wakebook.models.builtin import Builtin
from wakebook.recall.topics.topic import Topic

MOST_WORDS = 400  # of a message
NEAR = 0.2  # a cosine of meanings that means nothing
PRIOR = 20  # topics that are imagined beside the real ones: with two, no word is rare
_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)
_LITERAL = re.compile(r"[^\W\d_]{3,}")

Vector = Mapping[str, float]


class Similarity:
    def __init__(self, topics: Sequence[Topic]) -> None:
        parts = [[_counted(part) for part in _parts(topic)] for topic in topics]
        seen = Counter(term for one in parts for term in {t for part in one for t in part})
        total = PRIOR + len(topics)
        self._rarity = {term: log(1 + total / (1 + count)) for term, count in seen.items()}
        self._unseen = log(1 + total)
        self._of: list[str] = []  # whose part
        self._postings: dict[str, list[tuple[int, float]]] = {}
        self._embedder = Builtin()
        self._names = [topic.name for topic in topics]
        meant = self._embedder.embed([_about(topic) for topic in topics]) if topics else ()
        self._meanings = [list(map(float, row)) for row in meant]
        for topic, several in zip(topics, parts, strict=True):
            for part in several:
                number = len(self._of)
                self._of.append(topic.name)
                for term, weight in _unit(self._weighted(part)).items():
                    self._postings.setdefault(term, []).append((number, weight))

    def scores(self, text: str) -> dict[str, float]:
        """How alike, 0 to 1, of every topic that is alike at all."""
        by_words, by_meaning = self._by_words(text), self._by_meaning(text)
        found = {
            name: 1 - (1 - by_words.get(name, 0.0)) * (1 - near)
            for name, near in by_meaning.items()
        }
        return {name: round(score, 4) for name, score in found.items() if score > 0}

    def _by_meaning(self, text: str) -> dict[str, float]:
        if not self._names:
            return {}
        short = " ".join(text.split()[:MOST_WORDS])
        asked = list(map(float, self._embedder.embed([short], query=True)[0]))
        return {
            name: max(0.0, (sum(map(mul, asked, meaning)) - NEAR) / (1 - NEAR))
            for name, meaning in zip(self._names, self._meanings, strict=True)
        }

    def _by_words(self, text: str) -> dict[str, float]:
        asked = _unit(self._weighted(_counted(text, MOST_WORDS)))
        sums: dict[int, float] = {}
        for term, weight in asked.items():
            for number, other in self._postings.get(term, ()):
                sums[number] = sums.get(number, 0.0) + weight * other
        best: dict[str, float] = {}
        for number, score in sums.items():
            name = self._of[number]
            best[name] = max(best.get(name, 0.0), score)
        return {name: min(1.0, score) for name, score in best.items()}

    def _weighted(self, counts: Mapping[str, float]) -> dict[str, float]:
        known, unseen = self._rarity, self._unseen
        return {
            term: (1 + log(count)) * known.get(term, unseen) * WEAK_WORDS.get(term, 1.0)
            for term, count in counts.items()
        }


def _unit(weights: Mapping[str, float]) -> dict[str, float]:
    length = sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {term: weight / length for term, weight in weights.items()}


def _parts(topic: Topic) -> list[str]:
    """What it is about, and its sections."""
    return [_about(topic), *filter(str.strip, _HEADING.split(topic.body))]


def _about(topic: Topic) -> str:
    """Its name, title and description, and what it looks for."""
    looked_for = " ".join(
        " ".join(trigger.match if trigger.type == "keyword" else _LITERAL.findall(text))
        for trigger in topic.triggers
        if trigger.type in ("pattern", "keyword") and trigger.sees("input")
        for text in (" ".join(trigger.match),)
    )
    name = topic.name.replace("/", " ").replace("-", " ")
    return f"{topic.title} {name} {topic.description} {looked_for}"


def _counted(text: str, most: int | None = None) -> dict[str, float]:
    tokens = words.tokens(text)[:most]
    language = words.language(tokens)
    common = STOP_WORDS.get(language, frozenset())
    kept: Iterable[str] = (token for token in tokens if token not in common)
    return dict(Counter(words.plain(term) for term in words.terms(kept, language) if term))
