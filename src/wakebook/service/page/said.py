"""Said: the words of a conversation around one place, with what was learned from them.

It reads a few turns from the index, however long the conversation is.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from wakebook.base.errors import NotFound
from wakebook.memory import Memory
from wakebook.service.page import parts
from wakebook.service.page.data import Remembered, asked, entries, one
from wakebook.service.page.html import Html, h
from wakebook.service.page.parts import card, none, rows, section
from wakebook.service.page.request import Request, Sheet, to
from wakebook.store import AMONG, Many
from wakebook.store.hits import Marker
from wakebook.store.question import ask as understood

AROUND, LONGEST, MOST = 3, 4000, 24  # turns before and after; characters of a turn; turns
TURN = (
    "SELECT c.place, c.speaker, c.at, b.text, b.title, b.language FROM chunk c "
    "JOIN body b ON b.id = c.id JOIN file f ON f.id = c.file WHERE f.path = ?"
)


class Said(NamedTuple):
    place: int
    speaker: str
    at: datetime
    text: str
    title: str
    language: str


def said(request: Request, memory: Memory) -> Sheet:
    """By `entry`, or by `ref`: a path and its lines."""
    now, name = memory.opened.now(), request.get("entry")
    found = one(memory, name) if name else None
    path, places = (
        (found.entry.transcript, list(found.entry.evidence)) if found else _place(memory, request)
    )
    turns = around(memory, path, places)
    body = [conversation(memory, turns, places, now, request.get("q"))]
    if not path:
        body = [none("Nobody said it in a conversation: it was written by hand.")]
    elif not turns:
        body = [none(f"{path} is not in the index: it may have been moved or erased.")]
    title = (turns[0].title if turns else "") or "What was said"
    learned = _learned(memory, path, turns)
    aside = section("Learned from it", card(rows(parts.remembered(i, now) for i in learned)))
    back = h.a("the entry", href=to(f"/entry/{found.entry.id}")) if found else None
    whole = h.a("the whole conversation", href=to(f"/conversations/{path}")) if path else None
    at = parts.moment(turns[0].at, now) if turns else ""
    peek = h.div(
        h.h2(title), h.p(parts.dotted((at, back, whole)), class_="facts"), *body, id="peek"
    )
    return Sheet(
        title,
        h.div(peek, h.div(aside if learned else None), class_="columns"),
        path,
        source=path or "the log",
        command=f"wakebook show {name or request.get('ref')}",
    )


def _place(memory: Memory, request: Request) -> tuple[str, list[int]]:
    path, _, lines = request.get("ref").partition("#")
    first = lines.partition("-")[0].lstrip("L")
    sql = (
        "SELECT c.place FROM chunk c JOIN file f ON f.id = c.file "
        "WHERE f.path = ? AND c.line <= ? ORDER BY c.place DESC LIMIT 1"
    )
    found = asked(memory, sql, path, int(first) if first.isdecimal() else 1)
    if not found:
        raise NotFound(f"There is no {path!r} in the index. It may have been moved or erased.")
    return path, [found[0][0]]


def around(memory: Memory, path: str, places: list[int]) -> list[Said]:
    """The turns at these places of a conversation, with some before and after them."""
    if not path:
        return []
    wanted = sorted({near for at in places or [1] for near in range(at - AROUND, at + AROUND + 1)})
    sql = f"{TURN} AND c.place {AMONG} ORDER BY c.place"
    found = asked(memory, sql, path, Many(wanted[:MOST]))
    return [_turn(row) for row in found]


def _turn(row: tuple[Any, ...]) -> Said:
    place, speaker, at, text, title, language = row
    return Said(place, speaker, datetime.fromtimestamp(at, UTC), text, title, language)


def conversation(
    memory: Memory, turns: list[Said], places: list[int], now: datetime, asked_for: str = ""
) -> Html:
    """Turns as people read them; those that matter are tinted, the words asked for marked."""
    marker = _marker(memory, asked_for, now)
    return h.div(_one(turn, turn.place in places, now, marker) for turn in turns)


def _marker(memory: Memory, text: str, now: datetime) -> Marker | None:
    if not text:
        return None
    return Marker(understood(text, ["en"], {}, {}, now).terms)


def _one(turn: Said, matters: bool, now: datetime, marker: Marker | None) -> Html:
    text = parts.short(turn.text, LONGEST)
    words = parts.marked(marker.snippet(text, turn.language, LONGEST)) if marker else text
    who = parts.dotted((_speaker(turn.speaker), parts.moment(turn.at, now)))
    return h.div(
        h.p(who, class_="who"), h.p(words, class_="words", dir="auto"),
        class_="turn said-here" if matters else "turn", id=f"turn-{turn.place}",
    )  # fmt: skip


def _speaker(name: str) -> str:
    return {"user": "you", "agent": "the agent"}.get(name, name)


def _learned(memory: Memory, path: str, turns: list[Said]) -> list[Remembered]:
    if not turns:
        return []
    sql = "SELECT DISTINCT entry FROM said WHERE file = ? AND place BETWEEN ? AND ? LIMIT 40"
    names = [name for (name,) in asked(memory, sql, path, turns[0].place, turns[-1].place)]
    return entries(memory, f"id {AMONG}", Many(names), order="seq", most=40)
