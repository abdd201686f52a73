"""Question: what was typed, taken apart: its words, names, dates and subjects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from wakebook.index import dates, words
from wakebook.index.postings import Sought
from wakebook.index.words import Asked

_ASKS_AGENT = (
    r"\b(?:you|your)\b.{0,40}\b(?:said|say|mention|recommend|suggest|told|tell|gave|give|provid|list|"
    r"explain|describ|wrote)|\bremind me\b|\bour (?:previous|last|earlier) (?:conversation|chat)"
)
LONGEST = 10_000  # characters that are looked at
MOST_WORDS = 64


class Question(NamedTuple):
    text: str
    words: tuple[Asked, ...]  # those that count
    dates: tuple[tuple[int, int], ...] = ()  # days since 1970, first and last
    speaker: str = ""  # the only one whose name stands in the question
    names: frozenset[str] = frozenset()  # of speakers, as they stand in it
    vague: bool = False  # nothing but stop words
    asks_agent: bool = False  # what the agent said, rather than the user
    subjects: frozenset[str] = frozenset()

    @property
    def meant(self) -> str:
        """What is embedded: the question without the names of those who were there."""
        if not self.names:
            return self.text
        kept = [word for word in self.text.split() if not self.names & set(words.tokens(word))]
        return " ".join(kept) or self.text

    @property
    def exact(self) -> int:
        """The bits of the words that are names of files, functions and the like."""
        return sum(1 << at for at, word in enumerate(self.words) if set("_./-") & set(word.word))

    @property
    def sought(self) -> list[Sought]:
        return [Sought(word.terms, word.weight) for word in self.words]

    @property
    def terms(self) -> frozenset[str]:
        return frozenset(term for word in self.words for term in word.terms)


def ask(
    text: str,
    languages: Iterable[str],
    subjects: Mapping[str, str],
    speakers: Mapping[str, str],
    now: datetime,
) -> Question:
    """`subjects` are slugs and aliases with the slug that each stands for; `speakers` the
    words of the names of those who took part, with the whole name."""
    text = text[:LONGEST]
    found = words.asked(text, languages)
    counted = [word for word in found if not word.common] or found
    named = {word.word.removesuffix("'s") for word in found} & speakers.keys()
    people = {speakers[name] for name in named}
    return Question(
        text=text,
        words=tuple(counted[:MOST_WORDS]),
        dates=tuple(dates.named(text, now)),
        vague=all(word.common for word in counted),
        speaker=people.pop() if len(people) == 1 else "",
        names=frozenset(named | {f"{name}'s" for name in named}),
        asks_agent=_asks_agent(text.lower()),
        subjects=_named_subjects([word.word for word in found], subjects),
    )


def _asks_agent(text: str) -> bool:
    """Whether it asks what the agent said."""
    maybe = any(word in text for word in ("you", "remind", "our "))  # compiling takes a while
    return maybe and re.search(_ASKS_AGENT, text) is not None


def _named_subjects(asked: list[str], subjects: Mapping[str, str]) -> frozenset[str]:
    """Subjects whose name stands in the question, word for word."""
    line = f" {' '.join(asked)} "
    return frozenset(
        slug for name, slug in subjects.items() if f" {name.replace('-', ' ')} " in line
    )
