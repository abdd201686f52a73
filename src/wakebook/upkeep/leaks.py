"""Leaks: secrets that a home holds although today's rules would have kept them out.

Every file and every object of git is looked at; files in which secrets belong (the token, keys,
.env) are not. A leak is told by its kind, its places and a hint, never by itself. A short one, or
one that is a plain word, cannot be redacted wherever it stands: ordinary text would go with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from wakebook.base.home import Home
from wakebook.capture import secrets
from wakebook.upkeep.scrub import DERIVED, KEEPS, Spot, inside, is_binary, pieces

if TYPE_CHECKING:
    from wakebook.history.repository import Repository
    from wakebook.store.sync import Progress

LEAST = 8  # characters of one that can be redacted wherever it stands
WORD = 20  # characters of a word, at most


class Leak(msgspec.Struct, frozen=True, kw_only=True):
    """One secret. It can be told: `hint` is all that it shows of it."""

    kind: str
    hint: str
    places: tuple[str, ...]
    common: bool  # it may be a part of ordinary text, and stays


class Leaks(msgspec.Struct, frozen=True, kw_only=True):
    found: tuple[Leak, ...]
    strings: tuple[str, ...]  # the secrets themselves, those that are not common: for `erase`
    files: int
    objects: int
    bytes: int


def leaks(home: Home, repository: Repository | None, progress: Progress) -> Leaks:
    """Look at everything."""
    kinds: dict[str, str] = {}
    places: dict[str, dict[str, None]] = {}
    counts = [0, 0]  # files, objects
    size = 0
    for piece in pieces(home, repository):
        counts[not piece.name] += 1
        size += len(piece.data)
        progress("files" if piece.name else "git objects", sum(counts), sum(counts))
        for kind, text in () if _is_apart(piece) else _in(piece):
            kinds.setdefault(text, kind)
            places.setdefault(text, {})[piece.place] = None
    found = {
        text: Leak(kind=kind, hint=hint(text), places=tuple(places[text]), common=is_common(text))
        for text, kind in kinds.items()
    }
    strings = tuple(text for text, leak in found.items() if not leak.common)
    order = sorted(found.values(), key=lambda one: (one.common, one.kind, one.hint))
    return Leaks(
        found=tuple(order), strings=strings, files=counts[0], objects=counts[1], bytes=size
    )


def _is_apart(piece: Spot) -> bool:
    """Git's own settings, what is made again anyway, and what is meant to hold secrets."""
    own = bool(piece.name)  # a file, and no version of one in git
    return (own and not piece.path) or is_binary(piece.data) or (
        own and bool(KEEPS.fullmatch(piece.path) or DERIVED.fullmatch(inside(piece.path)))
    )  # fmt: skip


def _in(piece: Spot) -> Iterator[tuple[str, str]]:
    """The kind and the text of each secret."""
    data = piece.data[piece.known :]
    for one in secrets.find(data):
        text = data[one.start : one.end].decode("utf-8", "replace")
        yield one.rule.kind, _unquoted(text) if piece.path.endswith((".json", ".jsonl")) else text


def _unquoted(text: str) -> str:
    """Without the escapes of JSON, which stand in no other file."""
    try:
        return msgspec.json.decode(f'"{text}"', type=str)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return text


def is_common(text: str) -> bool:
    """Whether it may stand in ordinary text: it is short, a word, or a number."""
    word = text.isdigit() or (text.isalpha() and text[1:] in (text[1:].lower(), text[1:].upper()))
    return len(text) < LEAST or (word and len(text) < WORD)


def hint(text: str) -> str:
    """Enough to recognise it by, and too little to use it."""
    shown = 4 if len(text) >= 3 * LEAST else 2 if len(text) >= LEAST else 0
    return f"{' '.join(text[:shown].split())}… ({len(text)} characters)"
