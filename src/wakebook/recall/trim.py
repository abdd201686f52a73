"""Trim: a text that is too long, cut at the end of a section, with a note of what is missing."""

from __future__ import annotations

import re
from typing import NamedTuple

from wakebook import markdown
from wakebook.models import tokenizer
from wakebook.recall.texts import sections

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CUT = "[… cut short: see {}]"
WORTH = 12  # tokens of a line: fewer are not worth cutting it
NAMED = 4  # sections that are named in the note


class Trimmed(NamedTuple):
    text: str
    note: str = ""  # what was cut, for people


def trim(text: str, limit: int, where: str) -> Trimmed:
    """At most `limit` tokens. `where`: what to read for the rest."""
    parts = sections(text)
    if not parts or tokenizer.count(text) <= limit:
        return Trimmed(text.strip())
    kept: list[str] = []
    for number in range(1, len(parts) + 1):
        tried = _noted(parts[:number], parts[number:], where)
        if tokenizer.count(tried) > limit:
            break
        kept = parts[:number]
    if kept:
        return Trimmed(_noted(kept, parts[len(kept) :], where), _left(parts[len(kept) :]))
    return _lines(parts[0], parts[1:], limit, where)


def least(where: str) -> int:
    """Tokens of the note that stands there if there is no room for anything else."""
    return tokenizer.count(_CUT.format(where))


def _lines(first: str, rest: list[str], limit: int, where: str) -> Trimmed:
    """Not even the first section fits: its first lines do, and the first words of the next."""
    note = _CUT.format(where)
    room = limit - tokenizer.count(f"\n{note}")
    text = ""
    for line in first.split("\n"):
        longer = f"{text}\n{line}" if text else line
        size = tokenizer.count(longer)
        if size > room:
            left = room - tokenizer.count(f"{text}\n")
            if left >= WORTH:
                text = f"{text}\n{tokenizer.cut(line, left)}".strip()
            break
        text = longer
    if not text.strip("# \n"):
        text = ""
    if text and (fence := _open_fence(text)):
        text = f"{text.rstrip()}\n{fence}"
    short = f"{text.rstrip()}\n{note}" if text else note
    return Trimmed(short, f"cut within its first section{_and(rest)}")


def _open_fence(text: str) -> str:
    """The mark that would end the code in which a text breaks off; nothing if it does not."""
    lines = text.split("\n")
    code = markdown.code_lines(lines)
    marks = (_FENCE.match(line) for number, line in enumerate(lines) if number not in code)
    return next((found[1] for found in marks if found), "")


def _noted(kept: list[str], left: list[str], where: str) -> str:
    text = "\n\n".join(kept)
    return f"{text}\n\n[… left out: {_names(left)}; see {where}]" if left else text


def _names(left: list[str]) -> str:
    named = [part.split("\n", 1)[0].strip("# ").strip()[:60] for part in left[:NAMED]]
    more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
    return f"{', '.join(named)}{more}"


def _left(left: list[str]) -> str:
    return f"left out: {_names(left)}" if left else ""


def _and(rest: list[str]) -> str:
    return f"; {_left(rest)}" if rest else ""
