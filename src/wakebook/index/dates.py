"""Dates that a question names: "in May 2023", "on 3 June", "last week", "two days ago"."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta

_MONTHS = (
    "january february march april may june july august september october november december".split()
)
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_NUMBERS = {
    word: number
    for number, word in enumerate("one two three four five six seven eight nine ten".split(), 1)
} | {"a": 1, "an": 1, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3}
_MONTH = "(" + "|".join((*_MONTHS, *(name[:3] for name in _MONTHS), "sept")) + ")"
_COUNT = r"(\d{1,3}|a couple of|a few|couple of|few|" + "|".join(_NUMBERS) + ")"
_DAY = timedelta(days=1)
_EPOCH = date(1970, 1, 1)
_HINTS = (
    "ago",
    "last",
    "past",
    "previous",
    "this",
    "yesterday",
    "today",
    *(m[:3] for m in _MONTHS),
)

Span = tuple[date, date]


def named(text: str, now: datetime) -> list[tuple[int, int]]:
    """First and last day of every date in the text, in days since 1970."""
    left = text.lower()
    if not (any(map(left.__contains__, _HINTS)) or any(map(str.isdigit, left))):
        return []
    found: list[Span] = []
    for pattern, read in _RULES:
        for match in re.finditer(pattern, left):
            span = _safely(read, match, now.date())
            if span:
                found.append(span)
        left = re.sub(pattern, " ", left)
    return [((first - _EPOCH).days, (last - _EPOCH).days) for first, last in found]


def _safely(
    read: Callable[[re.Match[str], date], Span | None], match: re.Match[str], today: date
) -> Span | None:
    try:
        return read(match, today)
    except (ValueError, OverflowError):  # the 31st of June, three million years ago
        return None


def _month(name: str) -> int:
    return next(number for number, month in enumerate(_MONTHS, 1) if month.startswith(name[:3]))


def _year(today: date, month: int, day: int = 1) -> int:
    """The last year in which this day was not in the future."""
    return today.year if (month, day) <= (today.month, today.day) else today.year - 1


def _one(year: int, month: int, day: int) -> Span:
    return date(year, month, day), date(year, month, day)


def _whole_month(year: int, month: int) -> Span:
    after = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, 1), after - _DAY


def _number(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS[word]


def _iso(match: re.Match[str], today: date) -> Span:
    return _one(int(match[1]), int(match[2]), int(match[3]))


def _day_month(match: re.Match[str], today: date) -> Span:
    day, month = int(match[1]), _month(match[2])
    return _one(int(match[3]) if match[3] else _year(today, month, day), month, day)


def _month_day(match: re.Match[str], today: date) -> Span:
    month, day = _month(match[1]), int(match[2])
    return _one(int(match[3]) if match[3] else _year(today, month, day), month, day)


def _month_year(match: re.Match[str], today: date) -> Span:
    return _whole_month(int(match[2]), _month(match[1]))


def _in_month(match: re.Match[str], today: date) -> Span:
    month = _month(match[1])
    return _whole_month(_year(today, month), month)


def _in_year(match: re.Match[str], today: date) -> Span:
    return date(int(match[1]), 1, 1), date(int(match[1]), 12, 31)


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


_RULES: tuple[tuple[str, Callable[[re.Match[str], date], Span | None]], ...] = (
    (r"\b(\d{4})[-/](\d{1,2})[-/](\d{1,2})\b", _iso),
    (rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}\b\.?,?(?: (\d{{4}}))?", _day_month),
    (rf"\b{_MONTH}\b\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}}))?", _month_day),
    (rf"\b{_MONTH}\b\.?,?(?: of)? (\d{{4}})\b", _month_year),
    (rf"\b(?:in|of|during|since|until|by|mid|late|early|last)[ -]{_MONTH}\b", _in_month),
    (r"\b(?:in|during|of|since) ((?:19|20)\d\d)\b", _in_year),
    (rf"\b{_COUNT} (day|week|month|year)s? ago\b", _ago),
    (rf"\b(?:last|past|previous) (?:{_COUNT} )?(day|week|weekend|month|year)s?\b", _last),
    (r"\bthis (week|month|year)\b", _this),
    (r"\byesterday\b|\btoday\b", _near),
    (rf"\b(?:last|past) ({'|'.join(_DAYS)})\b", _weekday),
)
