"""Trim: a text that is too long, cut at the ends of sections, with a note of what is missing."""

from __future__ import annotations

import re
from typing import NamedTuple

from wakebook.models import tokenizer
from wakebook.recall.texts import closed, filled, sections

_LINK = re.compile(r"\[\[(?:[^\]|]*\|)?([^\]|]*)\]\]")
_CUT = "[… cut short: see {}]"
FENCE = 8  # tokens of a mark that ends code
WORTH = 12  # tokens of a line: fewer are not worth cutting it
NAMED = 4  # sections that are named in the note
NAME = 40  # characters of a name


class Trimmed(NamedTuple):
    text: str
    note: str = ""  # what was cut, for people


def least(where: str) -> int:
    """Tokens of the note that stands there if there is no room for anything else."""
    return tokenizer.count(_CUT.format(where))


def trim(text: str, limit: int, where: str) -> Trimmed:
    """At most `limit` tokens. `where`: what to read for the rest.

    A section that does not fit is left out, and those behind it may still be told. If too little
    is left by that, the first of them is cut after a line.
    """
    parts = sections(text)
    if not parts or tokenizer.count(text) <= limit:
        return Trimmed(text.strip("\n"))
    room = limit - tokenizer.count(f"\n\n{_noted(parts, where)}")
    kept: dict[int, str] = {}
    for number, part in enumerate(parts):
        size = tokenizer.count(f"{part}\n\n")
        if size <= room:
            kept[number] = part
            room -= size
    long = next((number for number in range(len(parts)) if number not in kept), None)
    if long is not None and room > limit // 2:
        begun = _begun(parts[long], room)
        kept |= {long: begun} if begun else {}
    left = [part for number, part in enumerate(parts) if number not in kept]
    told = filled("\n\n".join(kept[number] for number in sorted(kept)))
    note = _noted(left, where) if left else _CUT.format(where)
    whole = f"{told}\n\n{note}" if told.strip("# \n") else ""
    if not whole or tokenizer.count(whole) > limit:
        return _begins(text, limit, where)
    return Trimmed(whole, f"left out: {_names(left)}" if left else "cut short")


def _begins(text: str, limit: int, where: str) -> Trimmed:
    """No section can be told: the first lines can, or the note alone."""
    note = _CUT.format(where)
    begun = _begun(text, limit - tokenizer.count(f"\n{note}"))
    return Trimmed(f"{begun}\n{note}" if begun else note, "cut short")


def _begun(text: str, room: int) -> str:
    """The first lines of a text, and the first words of the next one."""
    for spare in (0, FENCE):  # the mark that ends code takes room, too
        kept = closed(filled(_first(text, room - spare)))
        if kept.strip("# \n") and tokenizer.count(kept) <= room:
            return kept
    return ""


def _first(text: str, room: int) -> str:
    lines = text.split("\n")
    fit = _fitting(lines, room)
    kept = "\n".join(lines[:fit])
    if fit == len(lines):
        return kept
    left = room - tokenizer.count(f"{kept}\n")
    return f"{kept}\n{tokenizer.cut(lines[fit], left)}" if left >= WORTH else kept


def _fitting(lines: list[str], room: int) -> int:
    """How many lines fit: looked for in ever larger steps, then in ever smaller ones."""
    least, most = 0, 1
    while most < len(lines) and tokenizer.count("\n".join(lines[:most])) <= room:
        least, most = most, most * 2
    most = min(most, len(lines))
    while least < most:
        middle = (least + most + 1) // 2
        if tokenizer.count("\n".join(lines[:middle])) <= room:
            least = middle
        else:
            most = middle - 1
    return least


def _noted(left: list[str], where: str) -> str:
    return f"[… left out: {_names(left)}; see {where}]"


def _name(part: str) -> str:
    """The heading of a section, without links and brackets, whole or up to a word's end."""
    title = _LINK.sub(r"\1", part.split("\n", 1)[0]).strip("# ").partition(" (")[0]
    return title if len(title) <= NAME else f"{title[:NAME].rpartition(' ')[0] or title[:NAME]}…"


def _names(left: list[str]) -> str:
    named = [_name(part) for part in left[:NAMED]]
    more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
    return f"{', '.join(named)}{more}"
