"""Hits: what a search gives back, and how often something refers to it."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from wakebook.store import AMONG, Many, Row, Store, words
from wakebook.store.question import Question

WITHIN = "within the filters"  # why a hit is one that no words were found for
LONGEST = 700  # characters, marks included
MARK = "**"
_MARKS = 2 * len(MARK)


class Marker:
    """Finds the words of a question in texts."""

    def __init__(self, terms: Set[str]) -> None:
        self._terms = terms
        unspaced = {term for term in terms if not term.isascii() and words.is_unspaced(term)}
        pairs = sorted(map(re.escape, unspaced), key=len, reverse=True)
        self._pairs = re.compile(f"(?=({'|'.join(pairs)}))") if pairs else None
        self._begins = sorted({_begin(term) for term in terms - unspaced} - {""})

    def snippet(self, text: str, language: str, longest: int = LONGEST) -> str:
        """At most `longest` characters around the densest matches, on one line."""
        return self.snippets([(text, language)], longest)[0]

    def snippets(self, texts: Sequence[tuple[str, str]], longest: int = LONGEST) -> list[str]:
        """The same of several texts, each with its language. Those that are alike are looked
        through at once: a word of a question stands in few of them."""
        ready = [_prepared(text) for text, _ in texts]
        alike: dict[tuple[str, bool], list[int]] = {}
        for number, ((_, language), (text, folded, _)) in enumerate(zip(texts, ready, strict=True)):
            alike.setdefault((language, folded is text), []).append(number)
        found = [""] * len(texts)
        for (language, plain), numbers in alike.items():
            each = zip(*(ready[number] for number in numbers), strict=True)
            text, folded, lower = map("\n".join, each)
            spans = self._spans(text, text if plain else folded, lower, language)
            at = begin = 0
            for number in numbers:
                text = ready[number][0]
                own = []
                while at < len(spans) and spans[at][0] < begin + len(text):
                    first, last = spans[at]
                    own.append((first - begin, last - begin))
                    at += 1
                found[number] = _marked(text, own, longest)
                begin += len(text) + 1
        return found

    def _spans(self, text: str, folded: str, lower: str, language: str) -> list[tuple[int, int]]:
        """Where words stand that were asked for; what touches counts as one. Looking for each
        beginning is quicker than an expression with all of them, which would have to be compiled
        for every question."""
        plain = folded is text
        starts: dict[int, str] = {}  # of whatever may turn out to be one: it begins like one
        for begin in self._begins:
            at = lower.find(begin)
            while at >= 0:
                if not at or not lower[at - 1].isalnum() or (not plain and _HUMP.match(folded, at)):
                    starts.setdefault(at, begin)
                at = lower.find(begin, at + 1)
        found, end, rest = [], 0, _PLAIN_REST if plain else words.compiled(_ANY_REST)
        within, wanted = lower if plain else folded, {}
        for at, begin in sorted(starts.items()):
            if at >= end:
                match = rest.match(within, at + len(begin))
                end = match.end() if match else at + len(begin)
                word = text[at:end]
                if word not in wanted:
                    wanted[word] = not self._terms.isdisjoint(_terms(word, language))
                if wanted[word]:
                    found.append((at, end))
        if self._pairs:
            found += [match.span(1) for match in self._pairs.finditer(text.translate(_FOLD))]
        spans: list[tuple[int, int]] = []
        for start, stop in sorted(found):
            if spans and spans[-1][1] >= start:
                spans[-1] = (spans[-1][0], max(stop, spans[-1][1]))
            else:
                spans.append((start, stop))
        return spans


@lru_cache(maxsize=20_000)
def _begin(term: str) -> str:
    """The beginning that a stem shares with its word, as it is compared."""
    stem = words.plain(term)
    begin = stem[: max(2, len(stem) - 2)]
    return begin if begin.isascii() else begin.translate(_FOLD).translate(_LOWER)


@lru_cache(maxsize=5_000)
def _prepared(text: str) -> tuple[str, str, str]:
    """A text on one line; the same without accents, if it is not plain; and in lower case."""
    text = " ".join(text.split())
    if text.isascii() and not words.has_camel(text):
        return text, text, text.lower()
    folded = text.translate(_FOLD)
    return text, folded, folded.translate(_LOWER)


@lru_cache(maxsize=20_000)
def _terms(text: str, language: str) -> frozenset[str]:
    return frozenset(words.terms(words.tokens(text), language))


_HUMP = re.compile("(?<=[a-z0-9])[A-Z]")  # where a part of a camelCase name begins
_PLAIN_REST = re.compile(r"[a-z0-9]*(?:['_./-][a-z0-9]+)*")

_ANY_REST = r"(?:[^\W_]|[\u0300-\u036f])*(?:['’_./-][^\W_]+)*"  # an accent may follow its letter


class _Fold(dict[int, str]):
    """For str.translate: every letter without its accent. The text stays as long as it was."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        plain = unicodedata.normalize("NFKD", char)[0]
        self[code] = char if words.is_unspaced(char) else plain
        return self[code]


class _Lower(dict[int, str]):
    """For str.translate: every letter as it is compared. The text stays as long as it was."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        folded = "i" if char == "ı" else char.casefold()
        self[code] = folded if len(folded) == 1 else char.lower()[0]
        return self[code]


_FOLD = _Fold()
_LOWER = _Lower()


def _marked(text: str, spans: Sequence[tuple[int, int]], longest: int) -> str:
    """A text with its spans marked, cut to what fits."""
    start, stop = 0, len(text)
    if stop + _MARKS * len(spans) > longest:
        start, stop = _window(text, spans, longest - 2)  # room for the ellipses
        spans = [(first, last) for first, last in spans if start <= first and last <= stop]
    spans = spans[: max(0, longest - 2 - (stop - start)) // _MARKS]
    parts, at = ["…" if start else ""], start
    for first, last in spans:
        parts += (text[at:first], MARK, text[first:last], MARK)
        at = last
    parts += (text[at:stop], "…" if stop < len(text) else "")
    return "".join(parts)


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


class Options(NamedTuple):
    limit: int = 0  # 0: as many as the settings say
    min_score: float | None = None
    sessions: bool = False  # whole conversations instead of places in them
    explain: bool = False  # with what each score is made of


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    ref: str  # what `get` and `show` take: an entry's id, or path#lines
    score: float  # how well it fits, 0 to 1
    snippet: str
    category: str
    type: str = ""
    subject: str = ""
    status: str = ""
    timestamp: datetime | None = None
    provenance: str = ""  # where it was said
    why: str = ""  # what made it fit, for people
    title: str = ""
    speaker: str = ""
    session: str = ""
    replaced_by: str = ""  # what holds instead
    origin: str = ""  # the team memory that it comes from; nothing for one's own
    parts: dict[str, float] = field(default_factory=dict)  # what the score is made of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """The hits of a search, and how they came about."""

    hits: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()  # what a reader should know: a fall-back, an index that is behind
    embedder: str = ""  # whose vectors were used; nothing if words alone were
    problem: str = ""  # why not, if it should have been more
    candidates: int = 0
    steps: dict[str, float] = field(default_factory=dict)  # milliseconds


class Passage(NamedTuple):
    """Something that was found, as it stands: for the compiler of a context."""

    id: int
    row: Row
    score: float  # as a hit's
    text: str
    content: str  # an entry's text without its detail
    title: str
    language: str
    path: str  # of its file; empty for an entry
    session: str
    replaced_by: str
    done: bool  # what replaced it says that it is done
    partly: str  # what holds instead of a part of it
    why: Callable[[], str]
    cosine: float = 0.0  # how near it lies to the question
    holds: int = 0  # a bit for every word of the question that it has

    @property
    def ref(self) -> str:
        row = self.row
        return row.name or f"{self.path}#{row.line}-{row.last_line}"


class Replaced(NamedTuple):
    """Words that no longer hold, those that hold instead, and since when."""

    old: str
    new: str
    at: int
    surely: bool = True


class Passages(NamedTuple):
    found: Sequence[Passage] = ()
    question: Question | None = None
    weights: Sequence[float] = ()  # what each word of the question tells
    references: Mapping[int, int] = {}  # passage -> how often something refers to it
    notes: Sequence[str] = ()
    steps: Mapping[str, float] = {}
    replaced: Sequence[Replaced] = ()  # entries of the whole memory


# --- references --------------------------------------------------------------------------
_LINK = re.compile(r"\[\[([^\]|#\n]+)")


def references(store: Store, found: Sequence[Passage]) -> dict[int, int]:
    """How often something refers to each: an entry counts the entries that it replaced, a turn
    the entries that were learned from it, a note the links to it in other notes."""
    entries = {one.row.name: one.id for one in found if one.row.name}
    said = ((one.path.removeprefix("archive/"), one) for one in found if one.row.turn)
    turns = {(file, one.row.place): one.id for file, one in said}
    counts: dict[int, int] = {}
    if entries:
        sql = f"SELECT new, count(*) FROM replaces WHERE new {AMONG} GROUP BY new"  # noqa: S608
        found_ = store.db.execute(sql, [Many(entries)])
        counts |= {entries[name]: times for name, times in found_}
    if turns:
        sql = f"SELECT file, place, count(*) FROM said WHERE file {AMONG} GROUP BY file, place"  # noqa: S608
        for file, place, times in store.db.execute(sql, [Many({file for file, _ in turns})]):
            if (file, place) in turns:
                counts[turns[file, place]] = times
    notes = {one.path for one in found if one.path and not one.row.turn}
    if notes:
        links = store.keep("links", lambda: _links(store))
        times = {path: _linked(path, links) for path in notes}
        counts |= {one.id: times[one.path] for one in found if times.get(one.path)}
    return counts


def _links(store: Store) -> dict[str, set[str]]:
    """What notes link to -> those notes."""
    rows = store.db.execute(
        "SELECT f.path, b.text FROM chunk c JOIN body b ON b.id = c.id "
        "JOIN file f ON f.id = c.file WHERE NOT c.turn AND b.text LIKE '%[[%'"
    )
    found: dict[str, set[str]] = {}
    for path, text in rows:
        for name in _LINK.findall(text):
            found.setdefault(_bare(name), set()).add(path)
    return found


def _linked(path: str, links: dict[str, set[str]]) -> int:
    """How many other notes link to this one: by its name, or by the end of its path."""
    parts = _bare(path).split("/")
    ends = ("/".join(parts[at:]) for at in range(len(parts)))
    return len({other for end in ends for other in links.get(end, ())} - {path})


def _bare(name: str) -> str:
    return name.strip().removesuffix(".md").casefold()
