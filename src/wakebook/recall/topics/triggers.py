"""Triggers: tier 1. Which topics have a trigger that matches what was said.

Nothing here costs more than a look at the text: all expressions are searched in one pass, words
are looked up, and what no topic asks for (languages, code) is not computed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from wakebook.base.text import whole
from wakebook.recall.topics import speech
from wakebook.recall.topics.expressions import SCHEME, Set, expression
from wakebook.recall.topics.topic import Topic, Trigger
from wakebook.store import words

LONGEST = 20_000  # characters that are looked at
_AROUND = ".,;:!?)]}*_|”“’»。、）」』】"  # what may follow an address and is no part of it
_SIGNS = re.compile(r"[^\w\s'’./-]")
_URL = re.compile(
    r"(?:(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}://|\bwww\.)[^\s<>\"'`|（）「」『』【】。、，]+",
    re.IGNORECASE,
)
_TEXT = ("pattern", "mention")  # looked for in the text itself


class Said(NamedTuple):
    """What topics are matched with."""

    text: str
    direction: str = "input"  # input: somebody to the agent; output: the agent itself
    paths: tuple[str, ...] = ()  # of files in its tool calls


class Matched(NamedTuple):
    topic: str
    trigger: Trigger


class Spoken:
    """What was said, taken apart as far as triggers ask for it."""

    def __init__(self, said: Said) -> None:
        self.text = whole(said.text[:LONGEST])
        self.paths = [whole(path).replace("\\", "/") for path in said.paths]

    @cached_property
    def tokens(self) -> list[str]:
        return words.in_order(self.text)

    @cached_property
    def forms(self) -> list[frozenset[str]]:
        """Of each word: as it stands, and its stems."""
        return [forms(word, self.language) for word in self.tokens]

    @cached_property
    def places(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for at, several in enumerate(self.forms):
            for form in several:
                found.setdefault(form, []).append(at)
        return found

    @cached_property
    def language(self) -> str:
        return words.language(self.tokens)

    @cached_property
    def addresses(self) -> list[str]:
        return [SCHEME.sub("", url).rstrip(_AROUND) for url in _URL.findall(self.text)]

    @cached_property
    def code(self) -> frozenset[str]:
        return speech.code(self.text)

    @cached_property
    def spoken(self) -> str:
        return speech.language(self.text)

    @cached_property
    def urgent(self) -> bool:
        return speech.urgent(self.text)


def forms(word: str, *languages: str) -> frozenset[str]:
    found = {word}
    for name in {"english", *languages}:
        found |= {words.plain(term) for term in words.terms((word,), name)}
    return frozenset(found)


class Phrase(NamedTuple):
    topic: int
    trigger: Trigger
    words: tuple[frozenset[str], ...]


class Triggers:
    """The triggers of all topics, for one direction."""

    def __init__(self, topics: Sequence[Topic], direction: str) -> None:
        self._names = [topic.name for topic in topics]
        seen = [
            (number, trigger)
            for number, topic in enumerate(topics)
            for trigger in topic.triggers
            if trigger.sees(direction)
        ]
        self._seen = seen
        self._text = _searched(seen, *_TEXT)
        self._paths = _searched(seen, "glob")
        self._addresses = _searched(seen, "url")
        self._by_language: dict[str, dict[str, list[Phrase]]] = {}
        self._parts = _unspaced(seen)
        self._other = [
            (number, trigger)
            for number, trigger in seen
            if trigger.type in ("code", "language", "urgency")
            or (trigger.type == "url" and not trigger.match)
        ]

    def match(self, spoken: Spoken) -> list[Matched]:
        """Every trigger that matches, in the order of the topics."""
        found: list[tuple[int, Trigger]] = []
        found += _found(self._text, [spoken.text])
        if spoken.paths:
            found += _found(self._paths, spoken.paths)
        if self._addresses[1] and spoken.addresses:
            found += _found(self._addresses, spoken.addresses)
        found += self._spoken(spoken)
        found += [(at, trigger) for at, trigger in self._other if _holds(trigger, spoken)]
        once = dict.fromkeys(sorted(found, key=lambda one: one[0]))
        return [Matched(self._names[number], trigger) for number, trigger in once]

    def _spoken(self, spoken: Spoken) -> list[tuple[int, Trigger]]:
        if spoken.language not in self._by_language:
            self._by_language[spoken.language] = _phrases(self._seen, spoken.language)
        found = []
        for first, several in self._by_language[spoken.language].items():
            if first in spoken.places:
                found += [
                    (phrase.topic, phrase.trigger)
                    for phrase in several
                    if any(_follows(phrase, at, spoken) for at in spoken.places[first])
                ]
        folded = spoken.text.casefold()
        found += [(number, trigger) for part, number, trigger in self._parts if part in folded]
        return found


def _follows(phrase: Phrase, at: int, spoken: Spoken) -> bool:
    there = spoken.forms[at : at + len(phrase.words)]
    return len(there) == len(phrase.words) and all(
        not wanted.isdisjoint(found) for wanted, found in zip(phrase.words, there, strict=True)
    )


def _phrases(seen: Sequence[tuple[int, Trigger]], language: str) -> dict[str, list[Phrase]]:
    """Keywords as they would stand in a text of this language, by the forms of the first word."""
    phrases: dict[str, list[Phrase]] = {}
    for number, trigger in seen:
        for text in trigger.match if trigger.type == "keyword" else ():
            tokens = words.in_order(text)
            if not tokens or _is_sign(text) or any(map(words.is_unspaced, tokens)):
                continue
            phrase = Phrase(number, trigger, tuple(forms(word, language) for word in tokens))
            for form in phrase.words[0]:
                phrases.setdefault(form, []).append(phrase)
    return phrases


def _unspaced(seen: Sequence[tuple[int, Trigger]]) -> list[tuple[str, int, Trigger]]:
    """Keywords in scripts that are written without spaces."""
    return [
        (text.casefold().strip(), number, trigger)
        for number, trigger in seen
        if trigger.type == "keyword"
        for text in trigger.match
        if any(map(words.is_unspaced, words.in_order(text)))
    ]


def _is_sign(text: str) -> bool:
    """Whether a keyword would be another one without its signs, like C++, or nothing at all."""
    return not words.in_order(text) or (_SIGNS.search(text) is not None and text.isascii())


Searched = tuple[Set, list[tuple[int, Trigger]]]


def _searched(seen: Sequence[tuple[int, Trigger]], *kinds: str) -> Searched:
    owners = [
        (number, trigger, trigger.type, text)
        for number, trigger in seen
        if trigger.type in kinds
        for text in trigger.match
    ]
    if "pattern" in kinds:
        owners += [
            (number, trigger, "sign", text)
            for number, trigger in seen
            if trigger.type == "keyword"
            for text in trigger.match
            if _is_sign(text)
        ]
    found = Set([expression(kind, text) for _, _, kind, text in owners])
    return found, [(number, trigger) for number, trigger, _, _ in owners]


def _found(searched: Searched, texts: Sequence[str]) -> list[tuple[int, Trigger]]:
    expressions, owners = searched
    return [owners[at] for text in texts for at in expressions.match(text)] if owners else []


def _holds(trigger: Trigger, spoken: Spoken) -> bool:
    if trigger.type == "urgency":
        return spoken.urgent
    if trigger.type == "url":
        return bool(spoken.addresses)
    if trigger.type == "language":
        return spoken.spoken in {speech.language_name(name) for name in trigger.match}
    wanted = {speech.code_name(name) for name in trigger.match}
    return bool(spoken.code & wanted if wanted else spoken.code)
