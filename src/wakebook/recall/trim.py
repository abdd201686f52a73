"""Trim: a text that is too long, cut at the ends of sections, with a note of what is missing."""

from __future__ import annotations

import re
from typing import NamedTuple

from wakebook import markdown
from wakebook.models import tokenizer
from wakebook.recall.texts import filled, sections

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CUT = "[… cut short: see {}]"
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
    left = [part for number, part in enumerate(parts) if kept.get(number) != part]
    told = filled("\n\n".join(kept[number] for number in sorted(kept)))
    whole = f"{told}\n\n{_noted(left, where)}" if told.strip("# \n") else ""
    if not whole or tokenizer.count(whole) > limit:
        return _begins(text, limit, where)
    return Trimmed(whole, f"left out: {_names(left)}")


def _begins(text: str, limit: int, where: str) -> Trimmed:
    """No section can be told: the first lines can, or the note alone."""
    note = _CUT.format(where)
    begun = _begun(text, limit - tokenizer.count(f"\n{note}"))
    return Trimmed(f"{begun}\n{note}" if begun else note, "cut short")


def _begun(text: str, room: int) -> str:
    """The first lines of a text, and the first words of the next one."""
    kept = ""
    for line in text.split("\n"):
        longer = f"{kept}\n{line}" if kept else line
        if tokenizer.count(longer) > room:
            left = room - tokenizer.count(f"{kept}\n")
            kept = f"{kept}\n{tokenizer.cut(line, left)}" if left >= WORTH else kept
            break
        kept = longer
    if fence := _open_fence(kept):
        kept = f"{kept.rstrip()}\n{fence}"
    return kept.rstrip() if kept.strip("# \n") and tokenizer.count(kept) <= room else ""


def _open_fence(text: str) -> str:
    """The mark that would end the code in which a text breaks off; nothing if it does not."""
    lines = text.split("\n")
    code = markdown.code_lines(lines)
    marks = (_FENCE.match(line) for number, line in enumerate(lines) if number not in code)
    return next((found[1] for found in marks if found), "")


def _noted(left: list[str], where: str) -> str:
    return f"[… left out: {_names(left)}; see {where}]"


def _names(left: list[str]) -> str:
    named = [part.split("\n", 1)[0].strip("# ").strip()[:NAME] for part in left[:NAMED]]
    more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
    return f"{', '.join(named)}{more}"
