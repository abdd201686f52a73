"""Snippet: the part of a text that answers, with the words that were asked for marked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence, Set
from functools import cached_property

from wakebook.store import words

LONGEST = 700  # characters, marks included
MARK = "**"
_MARKS = 2 * len(MARK)


class Marker:
    """Finds the words of a question in texts."""

    def __init__(self, terms: Set[str]) -> None:
        self._terms = terms
        pairs = sorted((re.escape(term) for term in terms if words.is_unspaced(term)), key=len)
        self._pairs = re.compile(f"(?=({'|'.join(reversed(pairs))}))") if pairs else None
        plain = {words.plain(term) for term in terms if not words.is_unspaced(term)}
        # a stem keeps the beginning of its word
        begins = sorted({term[: max(2, len(term) - 2)].translate(_FOLD) for term in plain})
        self._begins = "|".join(map(re.escape, begins))

    def snippet(self, text: str, language: str, longest: int = LONGEST) -> str:
        """At most `longest` characters around the densest matches, on one line."""
        text = " ".join(text.split())
        spans = self._spans(text, language)
        start, stop = 0, len(text)
        if stop + _MARKS * len(spans) > longest:
            start, stop = _window(text, spans, longest - 2)  # room for the ellipses
        inside = [(first, last) for first, last in spans if start <= first and last <= stop]
        inside = inside[: max(0, longest - 2 - (stop - start)) // _MARKS]
        parts, at = ["…" if start else ""], start
        for first, last in inside:
            parts += [text[at:first], MARK, text[first:last], MARK]
            at = last
        parts += [text[at:stop], "…" if stop < len(text) else ""]
        return "".join(parts)

    def _spans(self, text: str, language: str) -> list[tuple[int, int]]:
        """Where words stand that were asked for; what touches counts as one."""
        found = []
        for start, stop in self._candidates(text):
            if not self._terms.isdisjoint(words.terms(words.tokens(text[start:stop]), language)):
                found.append((start, stop))
        if self._pairs:
            found += [match.span(1) for match in self._pairs.finditer(text.translate(_FOLD))]
        spans: list[tuple[int, int]] = []
        for start, stop in sorted(found):
            if spans and spans[-1][1] >= start:
                spans[-1] = (spans[-1][0], max(stop, spans[-1][1]))
            else:
                spans.append((start, stop))
        return spans

    def _candidates(self, text: str) -> list[tuple[int, int]]:
        """Whatever may turn out to be one of the words."""
        if not self._begins:
            return []
        if text.isascii() and not words.has_camel(text):
            return [match.span() for match in self._in_ascii.finditer(text.lower())]
        return [match.span() for match in self._in_any.finditer(text.translate(_FOLD))]

    @cached_property
    def _in_ascii(self) -> re.Pattern[str]:
        return re.compile(rf"(?<![a-z0-9])(?:{self._begins})[a-z0-9]*(?:['_./-][a-z0-9]+)*")

    @cached_property
    def _in_any(self) -> re.Pattern[str]:
        """A word may begin inside a camelCase one, and an accent may follow its letter."""
        at = r"(?:(?<![^\W_])|(?<=[a-z0-9])(?=[A-Z]))"
        rest = r"(?:[^\W_]|[\u0300-\u036f])*(?:['’_./-][^\W_]+)*"
        return re.compile(rf"{at}(?i:{self._begins}){rest}")


class _Fold(dict[int, str]):
    """For str.translate: every letter without its accent, and as long as it was."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        plain = unicodedata.normalize("NFKD", char)[0]
        self[code] = char if words.is_unspaced(char) else plain
        return self[code]


_FOLD = _Fold()


def _window(text: str, spans: Sequence[tuple[int, int]], room: int) -> tuple[int, int]:
    """The part with the most matches, cut at spaces, with room for their marks."""
    best, last = (0, 0), 0  # matches, minus the first of them
    for first in range(len(spans)):
        last = max(last, first)
        while (
            last + 1 < len(spans)
            and spans[last + 1][1] - spans[first][0] + _MARKS * (last + 2 - first) <= room
        ):
            last += 1
        best = max(best, (last - first + 1, -first))
    matches, first = best[0], -best[1]
    size = room - _MARKS * matches
    left, right = (spans[first][0], spans[first + matches - 1][1]) if matches else (0, 0)
    start = min(max(0, min((left + right - size) // 2, len(text) - size)), left)
    stop = min(len(text), start + size)
    if start:
        space = text.find(" ", start, min(start + 40, left))
        start = space + 1 if space >= 0 else start
    if stop < len(text):
        space = text.rfind(" ", max(right, stop - 40), stop)
        stop = space if space > start else stop
    return start, stop
