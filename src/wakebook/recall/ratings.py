"""Ratings: a person's word on whether something that was told helped (feedback.jsonl).

A rating is about one finding and one message. It counts for messages like that one: there, what
was useful is told sooner, and even if it is not surely about the message; what was useless is told
later, and after two such words not at all. The last word about the same finding and message
counts, and can be taken back. The newest ones count, KEPT of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wakebook.base import clock
from wakebook.base.decode import decode
from wakebook.base.words import terms
from wakebook.models.builtin import Builtin
from wakebook.recall.gate import weight

if TYPE_CHECKING:
    from collections.abc import Callable

    from wakebook.base.home import Home

NAME = "feedback.jsonl"
KEPT = 500
ALIKE = 0.5  # of two messages: less says nothing about the other
NEAR = 0.35  # cosine similarity that means nothing
MORE, LESS = 0.25, 0.6  # what a word adds to the worth of a finding, and what it leaves of it
MOST = 3.0  # words that count for one finding
OUT = -1.5  # from here on it is not told
IN = 0.6  # from here on it is told, sure or not


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What was rated. `id`: of an entry, so that erasing the entry takes this line out."""

    id: str = ""
    ref: str
    message: str


class Rating(msgspec.Struct, frozen=True, kw_only=True):
    at: str
    useful: bool | None  # None: taken back
    finding: Finding


def rate(home: Home, ref: str, message: str, useful: bool | None, now: datetime) -> Rating:
    """Say whether a finding helped with a message."""
    found = Finding(id="" if "#" in ref or "/" in ref else ref, ref=ref, message=message)
    rating = Rating(at=clock.iso(now), useful=useful, finding=found)
    append(home, rating)
    return rating


def append(home: Home, record: msgspec.Struct) -> None:
    """A line of feedback.jsonl."""
    path = home.root / NAME
    with home.locked():
        torn = path.exists() and not path.read_bytes().endswith(b"\n") and path.stat().st_size
        home.append(path, (b"\n" if torn else b"") + msgspec.json.encode(record) + b"\n")


def ratings(home: Home) -> list[Rating]:
    """The last word about each finding and message, the oldest first."""
    path = home.root / NAME
    try:
        mark = path.stat()
    except OSError:
        return []
    return _read(path, mark.st_mtime_ns, mark.st_size)


@lru_cache(4)
def _read(path: Path, changed: int, size: int) -> list[Rating]:
    last: dict[tuple[str, str], Rating] = {}
    for line in path.read_bytes().splitlines():
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):  # a judgement of a topic
            one = decode(line, Rating)
            key = one.finding.ref, one.finding.message
            if key not in last or one.at >= last[key].at:
                last.pop(key, None)
                last[key] = one
    return [one for one in last.values() if one.useful is not None][-KEPT:]


def weighed(home: Home, message: str, refs: Collection[str]) -> Mapping[str, float]:
    """What people said of these findings for messages like this one: above 0 useful, below not."""
    found: dict[str, float] = {}
    for one in ratings(home):
        if one.finding.ref in refs:
            like = likeness(message, one.finding.message)
            if like >= ALIKE:
                said = like if one.useful else -like
                found[one.finding.ref] = found.get(one.finding.ref, 0.0) + said
    return found


def factor(said: float) -> float:
    """What a finding is worth beside one that was never rated."""
    return 1 + MORE * min(said, MOST) if said >= 0 else LESS ** min(-said, MOST)


def likeness(one: str, other: str) -> float:
    """Of two messages, from 0 to 1: by the words that they share, or by their meaning."""
    mine, theirs = terms(one), terms(other)
    if mine == theirs:
        return 1.0
    shared = _weight(mine & theirs)
    words = shared / sqrt((_weight(mine) * _weight(theirs)) or 1.0)
    cosine = sum(a * b for a, b in zip(_vector(one), _vector(other), strict=True))
    return max(words, (cosine - NEAR) / (1 - NEAR))


def _weight(found: Iterable[str]) -> float:
    return sum(map(weight, found))


@lru_cache(KEPT)
def _vector(text: str) -> tuple[float, ...]:
    return tuple(map(float, _embedder().embed([text], query=True)[0]))


@lru_cache(1)
def _embedder() -> Builtin:
    return Builtin()


def forgetting(
    home: Home, ids: Collection[str], transcripts: Collection[str]
) -> Callable[[], Iterable[Path]]:
    """The step of `forget`: no rating is left of these entries, nor a message that says them."""
    from wakebook.recall.tellings import saying

    says, path = saying(home, ids, transcripts), home.root / NAME

    def take_back() -> Iterable[Path]:
        if not path.exists():
            return ()
        kept = []
        lines = path.read_bytes().splitlines(keepends=True)
        for line in lines:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                found = decode(line, Rating).finding
                if found.ref in ids or says.text(found.message):
                    continue
            kept.append(line)
        if kept == lines:
            return ()
        home.replace(path, b"".join(kept))
        return (path,)

    return take_back
