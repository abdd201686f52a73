"""Once: no line twice. What has been said in one part of a context is not said again in another.

Lines are compared by their words: list marks, links, emphasis and ids do not count, nor does a
check box or a day that only one of them has. Code stays whole. A heading that was there before
gets the name of its part.
"""

from __future__ import annotations

import re
from functools import lru_cache

from wakebook import markdown
from wakebook.recall.texts import filled, headings

_LEAD = re.compile(
    r"^\s*(?:[-*+>]|\d+[.)])?\s*(?P<box>\[[ xX]\]\s*)?(?:[^\w\s\"'(\[`*#]+\s+)?"
    r"(?P<day>\d{4}-\d\d-\d\d:?\s+)?(?:\*\*(?:Decided|Open):\*\* )?"
)
_ID = re.compile(r"\s*\((?=[^()]*(?:[\d_-]|\w[A-Z]))[\w-]{12}(?:, [^()]*)?\)\s*$|\s*\^[\w-]+$")
_MARKS = re.compile(r"[*_`\[\]]+")
_WORD = re.compile(r"\w")


def bare(line: str) -> str:
    """The words of a line, for comparing."""
    return _taken_apart(line)[0]


@lru_cache(8192)
def _taken_apart(line: str) -> tuple[str, tuple[str, str]]:
    """A line's words; its check box and day: lines that differ in those say different things."""
    lead = _LEAD.match(line)
    assert lead is not None  # it matches nothing at all, too
    text = _MARKS.sub("", _ID.sub("", line[lead.end() :]))
    marks = (lead["box"] or "").strip().lower(), (lead["day"] or "").strip(" :")
    return " ".join(text.casefold().split()), marks


class Once:
    def __init__(self) -> None:
        self._seen: dict[str, tuple[tuple[str, str], ...]] = {}  # words -> marks of the lines

    def copy(self) -> Once:
        other = Once()
        other._seen = dict(self._seen)
        return other

    def has(self, line: str) -> bool:
        """Whether a line says this, with the same box and day or without any."""
        words, own = _taken_apart(line)
        return any(
            all(one == other or not one or not other for one, other in zip(own, marks, strict=True))
            for marks in self._seen.get(words, ())
        )

    def add(self, text: str) -> None:
        """This is in the context, or the host has it."""
        for line in text.split("\n"):
            self._note(line)

    def _note(self, line: str) -> None:
        words, marks = _taken_apart(line)
        if _WORD.search(words):
            self._seen[words] = (*self._seen.get(words, ()), marks)

    def _titled(self, line: str, name: str) -> str:
        """A heading that was there before, with the name of its part; with a number, if need be."""
        tried = f"{line} ({name})" if name else line
        number = 2
        while self.has(tried):
            tried = f"{line} ({f'{name} {number}'.strip()})"
            number += 1
        return tried

    def fresh(self, text: str, name: str = "") -> str:
        """The text without lines that were there before, in the text itself or elsewhere."""
        seen = self.copy()
        lines = text.split("\n")
        titles = {number for number, _ in headings(lines)}
        code = markdown.code_lines(lines)
        kept: list[str] = []
        for number, line in enumerate(lines):
            if number in code:
                kept.append(line)
                continue
            if seen.has(line):
                if number not in titles:
                    continue
                line = seen._titled(line, name)
            kept.append(line)
            seen._note(line)
        return filled("\n".join(kept))
