"""What a speaker wrote themselves, as sentences and clauses.

Code, quotes, tables, logs and pasted documents are somebody else's words and are dropped.
Text and sentences are capped, and every pattern is bounded, so that time stays linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from wakebook.learn.select.phrases import pattern, phrases

TEXT = 12_000  # characters of a message that are read
SENTENCE = 400  # characters of a sentence that are read
EDGES = " \t.,;:!?…-–—*_~|>()[]{}=+#"
CLAUSES = 12  # clauses of a sentence that are read

_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_SPAN = re.compile(r"(?<![\w\"”.,])[\"“](?=\S)[^\"“”]{25,3000}[\"“”]")
_BULLET = re.compile(r"\s{0,12}(?:[-*+•]|\d{1,2}[.)]|[A-Ea-e]\))\s+(?:\[[ xX]?\]\s+)?")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+")
_LINK = re.compile(r"\[([^\]\n]{1,200})\]\([^)\s]{1,500}\)")
_URL = re.compile(r"\S*https?://\S+")
_END = re.compile(r"(?:[.!?…]+[\"')\]]*(?=\s)|\s*\n)\s*")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|approx|ca|dr|mr|mrs|ms|prof|st|no|(?-i:[A-Z]))\.$", re.I
)
_BREAK = re.compile(
    r"\s*;\s*|\s+[-–—]{1,3}\s+|\s*,\s+(?:(?:and|but|so|plus|also|then|though|while)\s+){0,2}"
    r"|\s+(?:(?:and|but|so|plus|while)\s+){1,2}(?:also\s+|then\s+)?"
)


class Clause(NamedTuple):
    text: str  # without lead-in words
    link: str  # what stood before it: "", ",", "and", "so", ";", "-"


class Sentence(NamedTuple):
    text: str
    asked: bool  # ends with a question mark
    heading: str  # the line that introduces the list this sentence stands in

    @property
    def clauses(self) -> tuple[Clause, ...]:
        return clauses(self.text)


class Item(NamedTuple):
    """A line of a list, with its number or its place in the list."""

    number: int
    text: str


@lru_cache(maxsize=128)
def sentences(text: str) -> tuple[Sentence, ...]:
    found: list[Sentence] = []
    heading = ""
    for line, bullet in _lines(_own(text)):
        if not bullet:
            heading = line[:80] if line.endswith(":") else ""
        for part, asked in _parts(line):
            found.append(Sentence(part, asked, heading if bullet else ""))
    return tuple(found)


def items(text: str) -> list[Item]:
    """The list items of an agent's message, as its options."""
    found: list[Item] = []
    for line, bullet in _lines(text[:TEXT]):
        if bullet:
            found.append(Item(len(found) + 1, line[:SENTENCE]))
    return found


@lru_cache(maxsize=512)
def clauses(sentence: str) -> tuple[Clause, ...]:
    """Where a sentence bundles several statements, one clause for each."""
    found: list[Clause] = []
    start, link = 0, ""
    for mark in _BREAK.finditer(sentence):
        if len(found) == CLAUSES - 1:
            break
        if mark.start() <= start or not _stands_alone(mark.group(), sentence[mark.end() :]):
            continue
        _add(found, sentence[start : mark.start()], link)
        start, link = mark.end(), _link(mark.group())
    _add(found, sentence[start:], link)
    return tuple(found)


def trimmed(text: str) -> str:
    """Without lead-in words ("ok so", "btw") and without marks at its ends."""
    text = text.strip(EDGES)
    for _ in range(6):
        lead = pattern(phrases.LEAD).match(text)
        if not lead or lead.end() >= len(text):
            break
        text = text[lead.end() :].lstrip(EDGES)
    tail = pattern(phrases.TAIL).search(text[-40:])
    if tail and tail.start() > 0:
        text = text[: len(text) - len(text[-40:]) + tail.start()]
    text = text.strip(EDGES)
    return text.strip('"“”') if sum(map(text.count, '"“”')) % 2 else text


def _add(found: list[Clause], text: str, link: str) -> None:
    text = trimmed(text)
    if any(letter.isalnum() for letter in text):
        found.append(Clause(text, link))


def _link(mark: str) -> str:
    words = mark.replace(",", " ").split()
    return words[0] if words else mark.strip() or ","


def _stands_alone(mark: str, right: str) -> bool:
    mark = mark.strip()
    if mark in (";", "-", "–", "—", "--", "---"):
        return True
    right = right[:90]
    if pattern(phrases.OWN_SUBJECT).match(right):
        return True
    if mark.endswith("so") and pattern(phrases.SO_CHOICE).match(right):
        return True
    if not mark.startswith(",") or pattern(rf"{phrases.VERB}\b").match(right):
        return False
    return pattern(phrases.STATEMENT).match(right) is not None


def _own(text: str) -> str:
    """The text without fenced code, quoted lines, long quotes and what was pasted."""
    kept: list[str] = []
    fenced = False
    for line in text[:TEXT].split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith(">"):
            kept.append(line)
    body = _SPAN.sub(" ", "\n".join(kept)).strip()
    first, _, _ = body.partition("\n")
    paste = pattern(phrases.PASTE).search(first[:SENTENCE])
    if not paste:
        return body
    before, colon, _ = first.partition(":")
    return before if colon else first


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    for line in text.split("\n"):
        if not line.strip() or pattern(phrases.MACHINE, 0).match(line[:200]) or _FENCE.match(line):
            continue
        bullet = _BULLET.match(line)
        line = line[bullet.end() :] if bullet else _HEADING.sub("", line)
        if "://" in line:
            line = _URL.sub("", _LINK.sub(r"\1", line))
        line = line.replace("**", "").replace("`", "").strip()
        letters = sum(map(str.isalpha, line))
        if letters * 2 >= len(line) or letters >= 12:
            yield line, bullet is not None


def _parts(line: str) -> Iterator[tuple[str, bool]]:
    start = 0
    for mark in _END.finditer(line):
        if _ABBREVIATION.search(line[max(0, mark.start() - 8) : mark.start() + 1]):
            continue
        yield from _part(line[start : mark.start()], mark.group())
        start = mark.end()
    rest = line[start:].rstrip()
    yield from _part(rest.rstrip("?!.…"), rest[len(rest.rstrip("?!.…")) :])


def _part(text: str, mark: str) -> Iterator[tuple[str, bool]]:
    text = " ".join(text[: SENTENCE * 2].replace("’", "'").split())
    if len(text) > SENTENCE:
        text = text[:SENTENCE].rpartition(" ")[0] or text[:SENTENCE]
    if any(letter.isalnum() for letter in text):
        yield text, "?" in mark
