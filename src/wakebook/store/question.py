"""Question: what was typed, taken apart: its words, names, dates and subjects."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from wakebook.base.config import AGENT
from wakebook.log.query import EVERYTHING
from wakebook.store import AMONG, Many, words
from wakebook.store.words import AskedWord

if TYPE_CHECKING:
    from wakebook.log.query import Query, Scope
    from wakebook.store import Store

_ASKS_AGENT = (
    r"\b(?:you|your)\b.{0,40}\b(?:said|say|mention|recommend|suggest|told|tell|gave|give|provid|list|"
    r"explain|describ|wrote)|\bremind me\b|\bour (?:previous|last|earlier) (?:conversation|chat)"
)
LONGEST = 10_000  # characters that are looked at
MOST_WORDS = 64
_JOINS = frozenset("_./-")


class Question(NamedTuple):
    text: str
    words: tuple[AskedWord, ...]  # those that count
    dates: tuple[tuple[int, int], ...] = ()  # days since 1970, first and last
    speaker: str = ""  # the only one whose name stands in the question
    names: frozenset[str] = frozenset()  # of speakers, as they stand in it
    vague: bool = False  # nothing but stop words
    asks_agent: bool = False  # what the agent said, rather than the user
    subjects: frozenset[str] = frozenset()

    @property
    def meant(self) -> str:
        """What is embedded: the question without the names of those who were there."""
        if not self.names:
            return self.text
        return " ".join(word for word in self.text.split() if not self._named(word)) or self.text

    def _named(self, word: str) -> bool:
        lower = word.lower()
        maybe = not word.isascii() or any(name in lower for name in self.names)
        return maybe and not self.names.isdisjoint(words.tokens(word))

    @property
    def exact(self) -> int:
        """The bits of the words that are names of files, functions and the like."""
        return sum(
            1 << at for at, word in enumerate(self.words) if not _JOINS.isdisjoint(word.word)
        )

    @property
    def terms(self) -> frozenset[str]:
        return frozenset(term for word in self.words for term in word.terms)


def ask(
    text: str,
    languages: Iterable[str],
    subjects: Mapping[str, Sequence[tuple[str, str]]],
    speakers: Mapping[str, str],
    now: datetime,
) -> Question:
    """`subjects` are as `phrases` gives them; `speakers` are the words of the names of those who
    took part, with the whole name."""
    text = text[:LONGEST]
    found = words.asked(text, languages)
    counted = [word for word in found if not word.common] or found
    named = {word.word.removesuffix("'s") for word in found} & speakers.keys()
    people = {speakers[name] for name in named}
    maybe = any(word in text.lower() for word in ("you", "remind", "our "))  # compiling is slow
    line = f" {' '.join(word.word for word in found)} "
    return Question(
        text=text,
        words=tuple(counted[:MOST_WORDS]),
        dates=tuple(named_dates(text, now)),
        vague=all(word.common for word in counted),
        speaker=people.pop() if len(people) == 1 else "",
        names=frozenset(named | {f"{name}'s" for name in named}),
        asks_agent=maybe and re.search(_ASKS_AGENT, text.lower()) is not None,
        subjects=frozenset(
            slug for word in found for name, slug in subjects.get(word.word, ()) if name in line
        ),
    )


def phrases(subjects: Mapping[str, str]) -> dict[str, list[tuple[str, str]]]:
    """Slugs and aliases with the slug that each stands for -> by the first word of each, what a
    question says that names it, and that slug."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, slug in subjects.items():
        phrase = name.replace("-", " ")
        found.setdefault(phrase.partition(" ")[0], []).append((f" {phrase} ", slug))
    return found


# --- dates that a question names: "in May 2023", "on 3 June", "last week", "two days ago" ----
_MONTHS = (
    "january february march april may june july august september october november december".split()
)
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_NUMBERS = {
    word: number
    for number, word in enumerate("one two three four five six seven eight nine ten".split(), 1)
} | {"a": 1, "an": 1, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3}
_MONTH = f"(?P<month>{'|'.join((*_MONTHS, *(name[:3] for name in _MONTHS), 'sept'))})"
_YEAR = r"(?P<year>\d{4})"
_NTH = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_COUNT = r"(\d{1,3}|a couple of|a few|couple of|few|" + "|".join(_NUMBERS) + ")"
_DAY = timedelta(days=1)
_EPOCH = date(1970, 1, 1)
_HINTS = (*"ago last past previous this yesterday today".split(), *(m[:3] for m in _MONTHS))

_RECALLS = r"\b(?:did|done|was|were|happened|said|told|talk\w*|discuss\w*|decided|learned|new)\b"

Span = tuple[date, date]


def named_dates(text: str, now: datetime) -> list[tuple[int, int]]:
    """First and last day of every date in the text, in days since 1970."""
    left = text.lower()
    if not (any(map(left.__contains__, _HINTS)) or any(map(str.isdigit, left))):
        return []
    found: list[Span] = []
    for pattern, read in _RULES:
        for match in re.finditer(pattern, left):
            if match[0] == "today" and not re.search(_RECALLS, left):
                continue  # "how are you today?"
            with suppress(ValueError, OverflowError):  # the 31st of June, three million years ago
                found.append(read(match, now.date()))
        left = re.sub(pattern, " ", left)
    return [((first - _EPOCH).days, (last - _EPOCH).days) for first, last in found]


def _calendar(match: re.Match[str], today: date) -> Span:
    """A day, a month or a year; without its year, the last one that was not in the future."""
    year, month, day = (match.groupdict().get(name) for name in ("year", "month", "day"))
    if not month:
        return date(int(match["year"]), 1, 1), date(int(match["year"]), 12, 31)
    number = next((at for at, name in enumerate(_MONTHS, 1) if name.startswith(month[:3])), 0)
    number = number or int(month)
    future = (number, int(day or 1)) > (today.month, today.day)
    own = int(year) if year else today.year - future
    first = date(own, number, int(day or 1))
    return first, first if day else date(own + number // 12, number % 12 + 1, 1) - _DAY


def _number(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS[word]


def _ago(match: re.Match[str], today: date) -> Span:
    days = {"day": 1, "week": 7, "month": 30, "year": 365}[match[2]]
    slack = {"day": 1, "week": 4, "month": 16, "year": 190}[match[2]] * _DAY
    middle = today - _number(match[1]) * days * _DAY
    return middle - slack, middle + slack


def _last(match: re.Match[str], today: date) -> Span:
    if match[1]:
        days = {"day": 1, "week": 7, "weekend": 7, "month": 31, "year": 365}[match[2]]
        return today - _number(match[1]) * days * _DAY, today
    if match[2] == "weekend":
        sunday = today - ((today.weekday() - 6) % 7 or 7) * _DAY
        return sunday - 2 * _DAY, sunday
    if match[2] == "year":
        return date(today.year - 1, 1, 1), date(today.year - 1, 12, 31)
    return today - {"day": 1, "week": 14, "month": 62}[match[2]] * _DAY, today


def _this(match: re.Match[str], today: date) -> Span:
    if match[1] == "week":
        return today - today.weekday() * _DAY, today
    return today.replace(day=1, month=1 if match[1] == "year" else today.month), today


def _near(match: re.Match[str], today: date) -> Span:
    day = today - _DAY if match[0] == "yesterday" else today
    return day, day


def _weekday(match: re.Match[str], today: date) -> Span:
    day = today - ((today.weekday() - _DAYS.index(match[1])) % 7 or 7) * _DAY
    return day - _DAY, day + _DAY


_RULES: tuple[tuple[str, Callable[[re.Match[str], date], Span]], ...] = (
    (rf"\b{_YEAR}[-/](?P<month>\d{{1,2}})[-/](?P<day>\d{{1,2}})\b", _calendar),
    (rf"\b{_NTH}(?: of)? {_MONTH}\b\.?,?(?: {_YEAR})?", _calendar),
    (rf"\b{_MONTH}\b\.? {_NTH}\b(?:,? {_YEAR})?", _calendar),
    (rf"\b{_MONTH}\b\.?,?(?: of)? {_YEAR}\b", _calendar),
    (rf"\b(?:in|of|during|since|until|by|mid|late|early|last)[ -]{_MONTH}\b", _calendar),
    (r"\b(?:in|during|of|since) (?P<year>(?:19|20)\d\d)\b", _calendar),
    (rf"\b{_COUNT} (day|week|month|year)s? ago\b", _ago),
    (rf"\b(?:last|past|previous) (?:{_COUNT} )?(day|week|weekend|month|year)s?\b", _last),
    (r"\bthis (week|month|year)\b", _this),
    (r"\byesterday\b|\btoday\b", _near),
    (rf"\b(?:last|past) ({'|'.join(_DAYS)})\b", _weekday),
)


# --- scope: which chunks a question may see at all ---------------------------------------
class Allowed:
    """A set of chunk ids."""

    def __init__(self, ids: Iterable[int]) -> None:
        import numpy as np

        found = np.fromiter(ids, np.intp)
        self._mask: Any = np.zeros(int(found.max(initial=0)) + 1, bool)
        self._mask[found] = True

    def __contains__(self, number: int) -> bool:
        return number < len(self._mask) and bool(self._mask[number])

    def mask(self, last: int) -> Any:
        """True for every allowed id from 0 to the last."""
        if len(self._mask) <= last:
            import numpy as np

            self._mask = np.pad(self._mask, (0, last + 1 - len(self._mask)))
        return self._mask[: last + 1]


def where(
    query: Query, aliases: Mapping[str, str], types: Mapping[str, str] = MappingProxyType({})
) -> tuple[str, list[Any]]:
    """The query's filters as a condition on `chunk`, and its values. `types`: of subjects."""
    parts: list[str] = [] if query.shows_replaced else ["replaced_by = ''"]
    values: list[Any] = []
    names = {aliases.get(name, name) for name in query.subjects}
    names |= {old for old, new in aliases.items() if new in names}
    for column, wanted in (
        ("type", query.types),
        ("kind", query.kinds),
        ("subject", names),
        ("status", [query.status] if query.status else ()),
    ):
        if wanted:
            parts.append(f"{column} {AMONG}")
            values.append(wanted)
    if query.categories:
        parts.append(_in_categories(query, types, values))
    if query.session:
        parts.append(
            "session IN (SELECT id FROM session WHERE substr(name, 1, CAST(? AS INTEGER)) = ?)"
        )
        values += [len(query.session), query.session]
    if query.host:
        parts.append("session IN (SELECT id FROM session WHERE host = ?)")
        values.append(query.host)
    if query.projects:
        parts.append(f"project {AMONG}")
        values.append(query.projects)
    _in_scope(query.scope, parts, values)
    if query.since:
        parts.append("at >= ?")
        values.append(int(query.since.timestamp()))
    if query.until:
        parts.append("at < ? AND at > 0")
        values.append(int(query.until.timestamp()))
    return " AND ".join(parts) or "1 = 1", [_sound(value) for value in values]


def _sound(value: Any) -> Any:
    """As the database takes it: half a character, of an odd argument, matches nothing."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
    return Many(map(_sound, value)) if isinstance(value, Collection) else value


def _in_scope(scope: Scope, parts: list[str], values: list[Any]) -> None:
    if scope.agents is not None:
        parts.append(f"(substr(project, 1, {len(AGENT)}) <> '{AGENT}' OR project {AMONG})")
        values.append(scope.agents)
    if scope.projects is not None:
        here = f"project {AMONG}"
        parts.append(f"({here} OR own)" if "" in scope.projects else here)
        values.append(scope.projects)
    if scope.unread != ():
        parts.append(f"NOT (turn AND project {AMONG})" if scope.unread else "NOT turn")
        values += [scope.unread] if scope.unread else []


def _in_categories(query: Query, types: Mapping[str, str], values: list[Any]) -> str:
    """Files of the categories, and the entries that stand in their notes."""
    wanted = query.categories
    values.append(wanted)
    parts = [f"category {AMONG}"]
    for name in () if query.files else wanted:
        subjects = [slug for slug, type_ in types.items() if type_ == name]
        others = [slug for slug, type_ in types.items() if type_ in ("person", "project")]
        if name in ("person", "project"):
            also = " OR kind = 'relationship'" if name == "person" else ""
            parts.append(f"(name <> '' AND (subject {AMONG}{also}))")
            values.append(subjects)
        elif name == "procedure":
            parts.append("kind = 'procedure'")
        elif name == "journal":
            parts.append("name <> ''")
        elif name == "reference":
            parts.append(f"(type = 'fact' AND kind <> 'procedure' AND NOT subject {AMONG})")
            values.append(others)
    return f"({' OR '.join(parts)})"


def allowed_rows(store: Store, query: Query, aliases: Mapping[str, str]) -> Allowed | None:
    """The chunks within the query's filters, or None if there are none to apply. That replaced
    entries are hidden is not a filter here: `rank` hides them, because what they matched belongs to
    what replaced them."""
    if not query.filtered and query.scope == EVERYTHING:
        return None
    from dataclasses import replace

    condition, values = where(replace(query, all=True), aliases, store.get("subject_types", {}))
    sql = f"SELECT id FROM chunk WHERE {condition}"  # noqa: S608
    rows = partial(store.db.execute, sql, values)
    return store.keep((sql, repr(values)), lambda: Allowed(row[0] for row in rows()))


def newest(store: Store, query: Query, aliases: Mapping[str, str], most: int) -> list[int]:
    """What the filters alone find, newest first."""
    condition, values = where(query, aliases, store.get("subject_types", {}))
    sql = f"SELECT id FROM chunk WHERE {condition} ORDER BY at DESC, id DESC LIMIT ?"  # noqa: S608
    return [row[0] for row in store.db.execute(sql, [*values, most])]
