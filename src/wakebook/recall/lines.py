"""Lines: what was found, as it stands in a context, in groups with the best line first."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from typing import NamedTuple

from wakebook.base import words
from wakebook.learn.select.said import CLAUSES, different, heard, usual
from wakebook.log.entry import PARTLY
from wakebook.recall import days
from wakebook.recall.slot import Item, label
from wakebook.recall.stale import GONE, Stale, Utterance
from wakebook.store.hits import Passage

TITLE = "# Found"
REPORT = "Report: "  # before what an agent says of its work, in a handoff
_IN_PART = re.compile(rf" \((?i:{PARTLY})(.+)\)$")
HANDLE, LONG = 8, 12  # characters of a session's id, if that is longer than these


class Told(NamedTuple):
    """A passage as it would stand in the context."""

    passage: Passage
    worth: float
    text: str
    tokens: int
    group: str  # its heading
    words: str  # of the passage that it tells, for comparing


def line_of(passage: Passage, text: str, zone: tzinfo | None) -> str:
    row = passage.row
    if row.name:
        kind = f"{row.type}, {row.status}" if row.status else row.type
        partly = f"; part of it {GONE}: {passage.partly}" if passage.partly else ""
        return f"- [{kind} {_day(row.at, zone)}] {dated(text, row.at, zone)} ({row.name}{partly})"
    if row.turn:
        word = "since done" if passage.done else GONE
        marked = not passage.replaced_by or GONE in text
        holds = "" if marked else f" ({word}: {passage.replaced_by})"
        named = not row.speaker or text.startswith(f"{row.speaker}:")
        line = f"{'' if named else f'{row.speaker}: '}{text}{holds}"
        return f"- {dated(line, row.at, zone)}"
    title = f"{passage.title}: " if passage.title else ""
    return f"- {title}{text}"


def group_of(passage: Passage, zone: tzinfo | None) -> str:
    """The heading that a passage stands below."""
    row, session = passage.row, passage.session
    origin, _, _ = passage.ref.partition("/") if passage.ref.startswith("@") else ("", "", "")
    if row.name:
        return f"## Remembered in {origin}" if origin else "## Remembered"
    if not row.turn:
        return f"## {passage.path}"
    handle = session if len(session) <= LONG else session[:HANDLE]  # enough for `show`
    return f"## {_day(row.at, zone)} {origin and f'{origin}/'}session:{handle}"


def render(chosen: Iterable[Told], title: str = TITLE) -> str:
    """The best line first: groups by their best line, and so the lines of each."""
    groups: dict[str, list[Told]] = {}
    for line in sorted(chosen, key=_order):
        groups.setdefault(line.group, []).append(line)
    parts = [title]
    for heading, lines in groups.items():
        parts += [heading, *dict.fromkeys(line.text for line in lines)]
    return "\n".join(parts)


def _order(line: Told) -> tuple[float, int, int, str, str, int]:
    """By worth; of equals, what is remembered first, then notes, then conversations."""
    row = line.passage.row
    kind = 0 if row.name else 2 if row.turn else 1
    at = row.at if kind != 1 else 0
    return -round(line.worth, 4), kind, at, line.passage.path, row.name, row.place


def item_of(line: Told, reason: str) -> Item:
    return Item(
        label=label(line.text.removeprefix("- ")),
        tokens=line.tokens,
        score=round(line.worth, 4),
        reason=reason,
        ref=line.passage.ref,
    )


def _day(at: int, zone: tzinfo | None) -> str:
    return f"{datetime.fromtimestamp(at, UTC).astimezone(zone or UTC):%Y-%m-%d}" if at else ""


def dated(text: str, at: int, zone: tzinfo | None) -> str:
    """With the days that "tomorrow" and "next Friday" meant then."""
    said = datetime.fromtimestamp(at, UTC).astimezone(zone or UTC)
    return days.resolved(text, said.date()) if at else text


def in_part(text: str, stale: Stale, said: Utterance) -> str:
    """What an entry tells, with what it has replaced in part as far as that still holds: without
    the clause that has another value of the same thing."""

    def held(rest: re.Match[str]) -> str:
        old, new = rest[1], heard(text[: rest.start()])
        near = [
            (bool(one.shapes & new.shapes), len(shared), one.text)
            for one in map(heard, CLAUSES.split(old))
            if (shared := one.terms & new.terms - usual()) and different(one.values, new.values)
        ]
        first = max(near, default=(False, 0, ""))
        if [one[:2] for one in near].count(first[:2]) == 1:
            old = old.replace(first[2].strip(" ,;."), "…")
        if found := stale.correction(said._replace(text=old, at=said.at + 1)):
            old = found.told(old)
        return f" ({PARTLY[0].lower()}{PARTLY[1:]}{old})" if words.terms(old) else ""

    return _IN_PART.sub(held, text)
