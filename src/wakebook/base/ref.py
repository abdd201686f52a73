"""Ref: how a person or an agent points at something in the home.

k3J_x9QmZ2aB                      an entry (a unique beginning of 4+ characters will do)
session:5560                      a session (a unique beginning of its id will do)
raw/conversations/…md#12-20       lines of a file in the home
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from wakebook.base.errors import NotFound

_FILES = (".md", ".txt", ".jsonl", ".json", ".toml")
_LINES = re.compile(r"L?(\d+)(?:-L?(\d+))?")


@dataclass(frozen=True, slots=True)
class Ref:
    kind: Literal["entry", "session", "path"]
    name: str
    first: int = 0  # lines, from 1; 0 means the whole
    last: int = 0


def parse(text: str) -> Ref:
    text = text.strip()
    if not text:
        raise NotFound("An empty reference. Give an entry id, session:ID or a path in the home.")
    if text.startswith("session:"):
        return Ref("session", text.removeprefix("session:"))
    name, _, lines = text.rpartition("#")
    if not name or not (_LINES.fullmatch(lines) or name.endswith(_FILES)):
        name, lines = text, ""  # a file's name may have a # in it
    if "/" in name or name.endswith(_FILES):
        found = _LINES.fullmatch(lines) if lines else None
        if lines and not found:
            raise NotFound(f"{text}: lines are written as path#12 or path#12-20.")
        first = int(found[1]) if found else 0
        return Ref("path", name, first, int(found[2] or first) if found else 0)
    return Ref("entry", text)
