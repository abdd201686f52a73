"""Texts: notes as an agent reads them: without frontmatter, markers and empty sections.

A file is read once and again when its size or time changes. A starter file that nobody has
filled in says nothing, and is as good as empty.
"""

from __future__ import annotations

import os
import re
from functools import cache
from importlib import resources
from itertools import pairwise
from pathlib import Path

from wakebook import markdown
from wakebook.derive.briefing import EMPTY
from wakebook.log.entry import present

_COMMENT = re.compile(r"\s*<!--(?:(?!-->).)*-->\s*")
_HEADING = re.compile(r"(#{1,6}) +\S")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
LARGEST = 1 << 20  # bytes that are read of a note


class Texts:
    """The notes of a home, kept until they change."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, bool], tuple[tuple[int, ...], str]] = {}
        self._troubles: dict[str, str] = {}

    def troubles(self) -> list[str]:
        """What is there and could not be read."""
        return list(self._troubles.values())

    def read(self, path: Path, own: bool = False) -> str:
        """What a note says; nothing if it is not there or cannot be read.

        `own`: what its author wrote, without what was generated from the log.
        """
        key = (str(path), own)
        try:
            found = os.stat(path)  # noqa: PTH116
            signature = (found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_size)
            kept = self._kept.get(key)
            if kept and kept[0] == signature:
                return kept[1]
            with path.open("rb") as stream:
                data = stream.read(LARGEST)
        except FileNotFoundError:
            self._kept.pop(key, None)
            self._troubles.pop(str(path), None)
            return ""
        except OSError as error:
            self._kept.pop(key, None)
            self._troubles[str(path)] = f"{path} cannot be read: {error.strerror}."
            return ""
        self._troubles.pop(str(path), None)
        text = clean(_current(data.decode("utf-8", "replace")), path.name, own)
        self._kept[key] = (signature, text)
        return text


def _current(text: str) -> str:
    """What was generated leaves out what corrections keep of the old words."""
    if "Was: " not in text:
        return text
    lines = text.split("\n")
    for number in markdown.generated(lines):
        lines[number] = present(lines[number])
    return "\n".join(lines)


def clean(text: str, name: str = "", own: bool = False) -> str:
    body = markdown.split(text.replace("\r\n", "\n"))[1]
    if body.strip() == _starter(name):
        return ""
    lines = body.split("\n")
    if own:
        generated = markdown.generated(lines)
        lines = [line for number, line in enumerate(lines) if number not in generated]
    kept = (line for line in lines if line != EMPTY and not _COMMENT.fullmatch(line))
    return closed(filled("\n".join(kept)))


def closed(text: str) -> str:
    """Code that has no end would go on in whatever follows: it ends here."""
    lines = text.split("\n")
    code = markdown.code_lines(lines)
    marks = (_FENCE.match(line) for number, line in enumerate(lines) if number not in code)
    mark = next((found[1] for found in marks if found), "")
    return f"{text.rstrip()}\n{mark}" if mark else text


@cache
def _starter(name: str) -> str:
    """The text that `wakebook init` puts into a file of this name."""
    found = resources.files("wakebook") / "starter" / "identity" / name
    if not name.endswith(".md") or not found.is_file():
        return "\0"
    return markdown.split(found.read_text(encoding="utf-8"))[1].strip()


def headings(lines: list[str]) -> list[tuple[int, int]]:
    """Line and level of every heading that stands in no code."""
    code = markdown.code_lines(lines)
    matches = ((number, _HEADING.match(line)) for number, line in enumerate(lines))
    return [(number, len(found[1])) for number, found in matches if found and number not in code]


def sections(text: str) -> list[str]:
    """The text cut before each heading; what stands before the first one comes first."""
    lines = text.split("\n")
    starts = [number for number, _ in headings(lines)]
    bounds = sorted({0, *starts, len(lines)})
    parts = ["\n".join(lines[first:last]).strip("\n") for first, last in pairwise(bounds)]
    return [part for part in parts if part.strip()]


def filled(text: str) -> str:
    """Without headings that nothing stands below, and without more than one empty line."""
    lines = text.split("\n")
    kept: list[str] = []  # from the last line on
    below = 7  # the level of the heading that follows, if anything stands below it
    said = False
    marks = dict(headings(lines))
    for number in range(len(lines) - 1, -1, -1):
        level = marks.get(number)
        if level is None:
            said = said or bool(lines[number].strip())
        elif said or (below > level and below < 7):
            below, said = level, False
        else:
            continue
        kept.append(lines[number])
    return "\n".join(_spaced(kept[::-1])).strip("\n")


def _spaced(lines: list[str]) -> list[str]:
    """With one empty line instead of several, but for code."""
    code = markdown.code_lines(lines)
    return [
        line
        for number, line in enumerate(lines)
        if line.strip() or number in code or (number and lines[number - 1].strip())
    ]
