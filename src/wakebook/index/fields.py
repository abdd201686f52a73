"""Fields: which words of a chunk count how much, and what its meaning is taken from."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from wakebook.index import postings, words
from wakebook.index.chunk import Chunk

VERSION = "1"  # part of the index's fingerprint
TEXT = 1.0
TITLE = 0.5
SUBJECT = 1.5
DETAIL = 0.5
ABOUT = 1.0  # who said it and when


def uses(chunk: Chunk) -> tuple[dict[str, int], int, str]:
    """How much a chunk uses each term, packed; its length; its language."""
    text = words.tokens(chunk.text)
    detail = words.tokens(chunk.detail)
    language = words.language(text or detail)
    counted: dict[str, float] = {}
    length = 0
    for found, weight in (
        (text, TEXT),
        (detail, DETAIL),
        (words.tokens(heading(chunk)), TITLE),
        (chunk.subject.split("-"), SUBJECT),
        (about(chunk), ABOUT),
    ):
        for term in words.terms(found, language):
            counted[term] = counted.get(term, 0.0) + weight
            length += weight >= TEXT
    counted.pop("", None)
    return postings.pack(counted, length), length, language


def about(chunk: Chunk) -> list[str]:
    """Who said it and when, as words that a question may use."""
    return list(_about(chunk))


def _about(chunk: Chunk) -> Iterator[str]:
    if chunk.speaker:
        yield from words.tokens(chunk.speaker)
    if chunk.at and chunk.is_dated:
        day = datetime.fromtimestamp(chunk.at, UTC)
        yield from (str(day.day), f"{day:%B}".lower(), str(day.year))


def heading(chunk: Chunk) -> str:
    """What stands above it and is about it. A conversation's title is about its beginning."""
    return chunk.title if chunk.category != "conversation" else ""


def meaning(chunk: Chunk) -> str:
    """The text that is embedded."""
    text = chunk.text.removeprefix(f"{chunk.speaker}: ") if chunk.speaker else chunk.text
    parts = (heading(chunk), chunk.subject.replace("-", " "))
    return "\n".join(part for part in (*parts, text, chunk.detail) if part)
