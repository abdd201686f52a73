"""Once: no line twice. What has been said in one part of a context is not said again in another.

Lines are compared by their words: list marks, links, emphasis, ids and Wakebook's own marks do not
count, nor does a check box or a day that only one of them has. Code stays whole. A heading that
was there before gets the name of its part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from wakebook import markdown
from wakebook.recall.texts import filled, headings

# What notes put before an item; marks of the user's own may be what makes the difference
_LEAD = re.compile(
    r"^\s*(?:[-*+]|\d+[.)])?\s*(?P<box>\[[ xX]\]\s*)?(?:[🔴🟡🟢📌]\s*)*"
    r"(?P<day>\d{4}-\d\d-\d\d:?\s+)?(?:\*\*(?:Decided|Open):\*\* )?"
)
# (k3J_x9QmZ2aB), (k3J_x9QmZ2aB, since replaced by …), ^block
_ID = re.compile(
    r"\((?=[^()]*[A-Za-z])(?=[^()]*(?:[\d_-]|\w[A-Z]))[\w-]{12}(?:, [^()]*)?\)$|(?<=\s)\^[\w-]+$"
)
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
    text = _MARKS.sub("", _ID.sub("", line[lead.end() :].rstrip()))
    marks = (lead["box"] or "").strip().lower(), (lead["day"] or "").strip(" :")
    return " ".join(text.casefold().split()), marks


class Once:
    def __init__(self) -> None:
        self._seen: dict[str, tuple[tuple[str, str], ...]] = {}  # words -> marks of the lines
        self._again: dict[str, int] = {}  # heading -> its last number

    def copy(self) -> Once:
        other = Once()
        other._seen, other._again = dict(self._seen), dict(self._again)
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
        known = self._seen.get(words, ())
        if marks not in known and _WORD.search(words):
            self._seen[words] = (*known, marks)

    def fresh(self, text: str, name: str = "", within: bool = True) -> str:
        """The text without lines that were there before; with `within`, in the text itself, too.

        Instructions may say the same at two places, and mean it.
        """
        seen = self.copy()
        lines = text.split("\n")
        titles = {number for number, _ in headings(lines)}
        code = markdown.code_lines(lines)
        kept: list[tuple[int, str]] = []
        for number, line in enumerate(lines):
            if number in code:
                kept.append((number, line))
                continue
            if (seen if within else self).has(line):
                if number not in titles:
                    continue
                line = seen._titled(line, name)
            kept.append((number, line))
            seen._note(line)
        return filled("\n".join(_with_lists(lines, kept)))

    def _titled(self, line: str, name: str) -> str:
        """A heading that was there before, with the name of its part; with a number, if need be."""
        base = f"{line} ({name})" if name else line
        if name and not self.has(base):
            return base
        while True:
            number = self._again[base] = self._again.get(base, 1) + 1
            tried = f"{line} ({f'{name} {number}'.strip()})"
            if not self.has(tried):
                return tried


def _with_lists(lines: Sequence[str], kept: Sequence[tuple[int, str]]) -> Iterator[str]:
    """What is kept, without a line that announces a list of which nothing is left."""
    for place, (number, line) in enumerate(kept):
        announced = line.rstrip().endswith(":") and _item(lines[number + 1 : number + 2])
        if not announced or _item([text for _, text in kept[place + 1 : place + 2]]):
            yield line


def _item(line: Sequence[str]) -> bool:
    return bool(line) and line[0].lstrip().startswith("- ")
