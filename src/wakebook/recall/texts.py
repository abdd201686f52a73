"""Texts: notes as an agent reads them: without frontmatter, markers and empty sections.

A file is read once and again when its size or time changes. A starter file that the user has not
filled in says nothing, and is as good as empty.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from wakebook.base import markdown
from wakebook.base.text import EMPTY
from wakebook.log.entry import has_past, present
from wakebook.models import tokenizer
from wakebook.store import words

if TYPE_CHECKING:
    from wakebook.store.question import Question

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
        """What a note says; nothing if it is not there or cannot be read. `own`: what its author
        wrote, without what was generated from the log."""
        key = (str(path), own)
        try:
            found = os.stat(path)  # noqa: PTH116
            signature = (found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_size)
            kept = self._kept.get(key)
            if kept and kept[0] == signature:
                return kept[1]
            with path.open("rb") as stream:
                data = stream.read(LARGEST)
        except OSError as error:
            self._kept.pop(key, None)
            self._troubles[str(path)] = f"{path} cannot be read: {error.strerror}."
            if isinstance(error, FileNotFoundError):
                del self._troubles[str(path)]
            return ""
        self._troubles.pop(str(path), None)
        text = clean(_current(data.decode("utf-8", "replace")), path.name, own)
        self._kept[key] = (signature, text)
        return text


def _current(text: str) -> str:
    """What was generated leaves out what corrections keep of the old words."""
    lines = text.split("\n")
    for number in markdown.generated(lines) if has_past(text) else ():
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
    lines = kept[::-1]
    code = markdown.code_lines(lines)
    spaced = (
        line
        for number, line in enumerate(lines)
        if line.strip() or number in code or (number and lines[number - 1].strip())
    )
    return "\n".join(spaced).strip("\n")


# Once: no line twice. What has been said in one part of a context is not said again in another.
# Lines are compared by their words: list marks, links, emphasis, ids and Wakebook's own marks do
# not count, nor does a check box, a day or a subject that only one of them has. Code stays whole.
# A heading that was there before gets the name of its part.

# What notes put before an item; marks of the user's own may be what makes the difference
_LEAD = re.compile(
    r"^\s*(?:[-*+]|\d+[.)])?\s*(?P<box>\[[ xX]\]\s*)?(?:[🔴🟡🟢📌]\s*)*"
    r"(?P<day>(?:\d{4}-\d\d-\d\d|\[\[\d{4}-\d\d-\d\d\]\]):?\s+)?(?:\*\*(?:Decided|Open):\*\* )?"
    r"(?:📌\s*)?(?:(?P<subject>\*\*\[\[[^\]\n]+\]\]\*\*|[\w-]{1,60}) — )?"
)
_DAY = re.compile(r" \(\[\[(\d{4}-\d\d-\d\d)\]\]\)$")
# (k3J_x9QmZ2aB), (k3J_x9QmZ2aB, since replaced by …), ^block
_ID = re.compile(
    r"\((?=[^()]*[A-Za-z])(?=[^()]*(?:[\d_-]|\w[A-Z]))[\w-]{12}(?:, [^()]*)?\)$|(?<=\s)\^[\w-]+$"
)
_MARKS = re.compile(r"[*_`\[\]]+")
_WORD = re.compile(r"\w")
_GIVEN = re.compile(
    r"(?i)(?<!\bi )(?<!don't )(?<!dont )\bforget (?:it|this|that)\b"
    r"|\bpass(?:word|phrase)\b.{0,20}"
    r"(?:\bis\b(?! (?:in|at|with|under|on|kept|stored|the same|wrong)\b)|[:=])"
)
SAME = 0.8  # of a line's words, in a text that was told: it says nothing new
FEW = 3  # words: with fewer, only the same ones say the same
HALF = 0.5  # of the words of both: they say the same, unless a number differs


def bare(line: str) -> str:
    """The words of a line, for comparing."""
    return _taken_apart(line)[0]


@lru_cache(8192)
def _taken_apart(line: str) -> tuple[str, tuple[str, ...]]:
    """A line's words; its check box, day and subject: lines that differ in those say different
    things."""
    lead = _LEAD.match(line)
    assert lead is not None  # it matches nothing at all, too
    text = line[lead.end() :].rstrip()
    last = _DAY.search(text)
    day = lead["day"] or (last[1] if last else "")
    text = _MARKS.sub("", _ID.sub("", text[: last.start()] if last else text))
    subject = (lead["subject"] or "").strip("*[]").rpartition("|")[2].replace(" ", "-")
    marks = (lead["box"] or "").strip().lower(), day.strip(" :[]"), subject.casefold()
    return " ".join(text.casefold().split()), marks


class Once:
    def __init__(self) -> None:
        self._seen: dict[str, tuple[tuple[str, ...], ...]] = {}  # words -> marks of the lines
        self._again: dict[str, int] = {}  # heading -> its last number

    def copy(self) -> Once:
        other = Once()
        other._seen, other._again = dict(self._seen), dict(self._again)
        return other

    def has(self, line: str) -> bool:
        """Whether a line says this, with the same box, day and subject or without any."""
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
        Instructions may say the same at two places, and mean it."""
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


def in_confidence(text: str) -> bool:
    """Whether a text was only meant for the moment: a password, or what to forget."""
    return _GIVEN.search(text) is not None


def says(told: frozenset[str], terms: frozenset[str]) -> bool:
    """Whether what was told says this, too: most of its words, or half of both, and each number."""
    if len(terms) < FEW:
        return bool(terms) and terms <= told
    least = min(SAME * len(terms), max(2, HALF * max(len(terms), len(told))))
    if len(told & terms) < least:
        return False
    return not any(any(map(str.isdigit, term)) for term in terms - told)


def _with_lists(lines: Sequence[str], kept: Sequence[tuple[int, str]]) -> Iterator[str]:
    """What is kept, without a line that announces a list of which nothing is left."""
    for place, (number, line) in enumerate(kept):
        announced = line.rstrip().endswith(":") and _item(lines[number + 1 : number + 2])
        if not announced or _item([text for _, text in kept[place + 1 : place + 2]]):
            yield line


def _item(line: Sequence[str]) -> bool:
    return bool(line) and line[0].lstrip().startswith("- ")


# Trim: a text that is too long, cut at the ends of sections, with a note of what is missing.

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
    """At most `limit` tokens. `where`: what to read for the rest. A section that does not fit is
    left out, and those behind it may still be told. If too little is left by that, the first of
    them is cut after a line."""
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
    if whole and tokenizer.count(whole) <= limit:
        return Trimmed(whole, f"left out: {_names(left)}" if left else "cut short")
    note = _CUT.format(where)  # no section can be told: the first lines can, or the note alone
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
    most = 1  # lines that may fit: looked for in ever larger steps, then in ever smaller ones
    while most < len(lines) and tokenizer.count("\n".join(lines[:most])) <= room:
        most *= 2

    def size(number: int) -> int:
        return tokenizer.count("\n".join(lines[: number + 1]))

    fit = bisect_right(range(min(most, len(lines))), room, lo=most // 2, key=size)
    kept = "\n".join(lines[:fit])
    if fit == len(lines):
        return kept
    left = room - tokenizer.count(f"{kept}\n")
    return f"{kept}\n{tokenizer.cut(lines[fit], left)}" if left >= WORTH else kept


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


# --- excerpts: the sentences of a long text that answer a question, in their order -----------
GAP = " … "
GOES_ON = 12  # tokens: with fewer left, the next sentence is not begun
LONG_TEXT = 10  # characters for a token: a text with more is too long for sure
SHORT = 20  # characters: a shorter sentence is read with the one before
FIRST = 0.15  # of the best: the first sentence says what the rest is about
BESIDE = 0.3  # of its better neighbour's worth
ENDS = re.compile(r"(?<=[.!?])\s+|(?<=[.!?][\"')\]])\s+|(?<=[。！？])|\n+")


class Asked(NamedTuple):
    """What a question looks for: stem -> what it tells; and all stems as one expression."""

    terms: Mapping[str, float]
    begins: re.Pattern[str] | None = None  # for plain text: a stem is how its word begins

    @classmethod
    def of(cls, question: Question | None, weights: Sequence[float]) -> Asked:
        terms: dict[str, float] = {}
        if question is not None:
            for word, weight in zip(question.words, weights, strict=False):
                for term in word.terms:
                    terms[term] = max(terms.get(term, 0.0), weight)
        plain = sorted((term for term in terms if term.isascii() and term.isalnum()), reverse=True)
        forms = "|".join(re.sub("i$", "[iy]", term) for term in plain)  # company, companies
        found = re.compile(rf"(?<![a-z0-9])(?:{forms})") if plain else None
        return cls(terms, found)

    def worth(self, text: str, language: str) -> float:
        """What a sentence tells of what was asked."""
        if text.isascii() and self.begins is not None:
            found = self.begins.findall(text.lower())
            there = {*found, *(f"{word[:-1]}i" for word in found if word[-1] == "y")}
        else:
            there = set(words.terms(words.tokens(text), language))
        return fsum(self.terms[term] for term in there if term in self.terms)


def sentences(text: str) -> list[str]:
    found: list[str] = []
    for part in ENDS.split(text):
        bare = " ".join(part.split())
        if not bare:
            continue
        if found and len(bare) < SHORT:
            found[-1] = f"{found[-1]} {bare}"
        else:
            found.append(bare)
    return found


def excerpt(text: str, language: str, asked: Asked, limit: int) -> str:
    """At most `limit` tokens of the text on one line: all of it, or its best sentences."""
    flat = " ".join(text.split())
    if flat.isascii() and len(flat) <= limit:
        return flat
    if len(flat) <= LONG_TEXT * limit and tokenizer.count(flat) <= limit:
        return flat
    parts = sentences(text)
    worth = _worths(parts, language, asked)
    order = sorted(range(len(parts)), key=lambda at: (-worth[at], at))
    kept: set[int] = set()
    room = limit
    for at in order:
        size = tokenizer.count(parts[at]) + 2
        if size > room and not kept:
            return tokenizer.cut(parts[at], limit - 1) + "…"
        if size <= room:
            kept.add(at)
            room -= size
        elif room < limit // 4:
            break
    return _rejoined(parts, kept, room)


def _worths(parts: Sequence[str], language: str, asked: Asked) -> list[float]:
    """What each sentence tells of what was asked; its neighbours' share."""
    own = [asked.worth(part, language) for part in parts]
    around = zip([0.0, *own], own, [*own[1:], 0.0], strict=False)
    worth = [value + BESIDE * max(before, after) for before, value, after in around]
    worth[:1] = [value + FIRST * (max(own) or 1.0) for value in worth[:1]]
    return worth


def _rejoined(parts: Sequence[str], kept: set[int], room: int) -> str:
    """What is kept, in order, and in what room is left how the last of it goes on."""
    text = ""
    for at in sorted(kept):
        gap = "" if not text and at == 0 else (" " if at - 1 in kept else GAP)
        text += (gap.lstrip() if not text else gap) + parts[at]
    last = max(kept, default=-1)
    if last == len(parts) - 1:
        return text
    more = tokenizer.cut(parts[last + 1], room - 2).rstrip() if room > GOES_ON else ""
    return f"{text} {more} …" if more else f"{text} …"


def still_left(detail: str, done: Iterable[str]) -> str:
    """A handoff's detail, where what was left and is done by now reads no longer as a task."""
    lines = detail.split("\n")
    for number, line in enumerate(lines):
        if line.startswith("Left: "):
            for task in done:
                line = line.replace(task, "")
            left = [part for part in line.removeprefix("Left: ").split("; ") if part.strip()]
            lines[number] = f"Left: {'; '.join(left)}" if left else ""
    return "\n".join(filter(None, lines))


def said_once(heading: list[str], text: str) -> list[str]:
    """A handoff without what it says twice."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        others = [bare(other) for other in (*lines[:number], *lines[number + 1 :])]
        if line.startswith("Left: "):
            parts = line.removeprefix("Left: ").split("; ")
            left = [part for part in parts if not any(bare(part) in other for other in others)]
            lines[number] = f"Left: {'; '.join(left)}" if left else ""
        elif not number and any(bare(line) in other for other in others):
            lines[number] = ""
    return [*heading, *filter(None, lines)]
