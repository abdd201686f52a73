"""Likeness: whether two readings of a conversation say the same.

Another extractor finds other words for what was said, but at the same place: the turns
that two things point at tell more than how they are worded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from wakebook.derive.extract import Draft
from wakebook.derive.rules import words
from wakebook.log.entry import Entry

MUCH = 0.6
ENOUGH = 0.3  # of the terms: to be the successor, if it was said at the same place

Said = TypeVar("Said", Draft, Entry)


def likeness(one: Draft | Entry, other: Entry) -> float:
    """How much two readings of the same conversation say the same. 0: not at all."""
    if "handoff" in (one.type, other.type) or not _near(one.evidence, other.evidence):
        return 0.0
    terms = words.terms(f"{one.content} {one.detail}")
    alike = words.alike(terms, words.terms(f"{other.content} {other.detail}"))
    return alike + 0.1 * (one.type == other.type)


def matches(new: Sequence[Said], old: Sequence[Entry]) -> dict[str, Entry]:
    """New id -> the old entry that says the same, each at most once, the most alike first."""
    pairs = [
        (alike, -number, one, entry)
        for one in new
        for number, entry in enumerate(old)
        if (alike := likeness(one, entry)) >= ENOUGH
    ]
    pairs.sort(key=lambda pair: pair[:2], reverse=True)
    found: dict[str, Entry] = {}
    taken: set[str] = set()
    for _, _, one, entry in pairs:
        if one.id not in found and entry.id not in taken:
            found[one.id] = entry
            taken.add(entry.id)
    return found


def _near(one: Sequence[int], other: Sequence[int]) -> bool:
    return any(abs(a - b) <= 1 for a in one for b in other)
