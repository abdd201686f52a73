"""Wikilinks between notes, and which of them lead nowhere.

A target is found as Obsidian finds it: a path from the top, or the end of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from wakebook.derive.notes import page as pages
from wakebook.derive.notes.item import plain
from wakebook.log.subjects import Subject

_LINK = re.compile(r"(?<!\\)\[\[([^\[\]|#^\n]+)(?:[#^][^\[\]|\n]*)?(?:\\?\|[^\[\]\n]*)?\]\]")
_CODE = re.compile(r"`[^`\n]*`")


class Broken(msgspec.Struct, frozen=True):
    path: str
    line: int
    target: str


def target(subject: Subject) -> str:
    """What a link to a subject's note names."""
    kind, _, name = pages.home_page(subject).partition("/")
    return pages.files(f"{kind}/{name}")[0].removesuffix(".md")


def link(subject: Subject) -> str:
    shown = re.sub(r"[\[\]|]", " ", plain(subject.display, 120)).strip() or subject.slug
    return f"[[{target(subject)}|{shown}]]"


def found_in(text: str) -> list[tuple[int, str]]:
    """Line and target of every link outside of code."""
    found: list[tuple[int, str]] = []
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.lstrip()
        if bare.startswith(("```", "~~~")):
            fence = "" if fence and bare.startswith(fence) else fence or bare[:3]
        elif not fence and "[[" in line:
            spoken = _CODE.sub(lambda match: " " * len(match[0]), line)
            found += [(number, match[1].rstrip("\\").strip()) for match in _LINK.finditer(spoken)]
    return found


class Targets:
    """What can be linked to: the files of a folder tree, by every end of their paths."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._ends: set[str] = set()
        for path in paths:
            parts = path.lower().split("/")
            ends = ["/".join(parts[first:]) for first in range(len(parts))]
            self._ends.update(ends)
            self._ends.update(end.removesuffix(".md") for end in ends)

    def has(self, name: str) -> bool:
        return name.lower().strip("/").removeprefix("./") in self._ends
