"""Withhold: the sentences of a conversation that say what an entry says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wakebook.base import words
from wakebook.base.errors import TranscriptError
from wakebook.base.home import Home
from wakebook.capture import archive
from wakebook.capture.archive import Turn
from wakebook.learn.select.speech import split
from wakebook.log.entry import Entry
from wakebook.log.forgotten import HALF, LEAST

Span = tuple[int, int]  # of a turn's text


def sentences(home: Home, entry: Entry) -> list[str]:
    """What the entry's own conversation says of it, sentence by sentence."""
    if not entry.transcript:
        return []
    try:
        turns = archive.read(home, entry.transcript).turns
    except TranscriptError:
        return []
    return [turn.text[start:end] for turn, (start, end) in behind(turns, entry)]


def behind(turns: Sequence[Turn], entry: Entry) -> Iterator[tuple[Turn, Span]]:
    """Where turns say what an entry says. At the turns that it came from, a sentence with half of
    its words will do, and if there is none, the whole turn is meant; elsewhere it needs all words.
    """
    if entry.type == "handoff":
        return  # it sums up a whole conversation
    wanted = words.terms(entry.content)
    for turn in turns:
        parts = list(_parts(turn.text))
        if turn.number in entry.evidence:
            near = [one for one in parts if _share(wanted, turn.text, one) >= HALF]
            whole = [(0, len(turn.text))] if turn.role == "user" and turn.text else []
            yield from ((turn, span) for span in near or whole)
        elif len(wanted) >= LEAST:
            yield from ((turn, one) for one in parts if _share(wanted, turn.text, one) == 1)


def _share(wanted: frozenset[str], text: str, span: Span) -> float:
    """How many of the words a sentence has; or how many of its own words are among them, where an
    entry is made of several sentences."""
    said = words.terms(text[span[0] : span[1]])
    if not wanted or not said:
        return 0.0
    both = len(wanted & said)
    return max(both / len(wanted), both / len(said) if both >= LEAST else 0.0)


def _parts(text: str) -> Iterator[Span]:
    """The sentences of a text, by their places."""
    start = 0
    for line in text.split("\n"):
        at = start
        for part in split(line):
            place = text.find(part, at, start + len(line))
            if place < 0:  # its spaces were put together
                place, end = start, start + len(line)
            else:
                end = place + len(part)
            yield place, end
            at = end
        start += len(line) + 1
