"""Recalled: what of all that is remembered may matter for a message, packed into a budget.

What a passage is worth falls with every other one from the same conversation or about the same
thing, so that a budget covers many conversations before it covers one of them whole. A long passage
is cut to the sentences that answer, and what is worth little beside the best is left out even if
there is room. docs/decisions.md has what each of these is worth.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from wakebook.index.hits import Passage
from wakebook.index.search import Passages
from wakebook.models import tokenizer
from wakebook.recall.excerpt import Asked, excerpt
from wakebook.recall.once import Once, bare
from wakebook.recall.slot import Item

TITLE = "# Found"
MOST = 120  # candidates
EXCERPT = 80  # tokens of a passage, at most
AGAIN = 0.97  # what is left of a passage's worth for every one from the same place
FLOOR = 0.15  # of the best one's worth: less is not worth reading
REFERRED = 5  # references that count, at most
MISSED = 8  # that are told
LABEL = 100  # characters
ELSEWHERE = ("identity", "topic")  # what has a slot of its own
HANDLE = 8  # characters of a session's id, if that is longer than ...
LONG = 12


class Line(NamedTuple):
    """A passage as it would stand in the context."""

    passage: Passage
    worth: float
    text: str
    tokens: int
    group: str  # its heading


class Packed(NamedTuple):
    text: str = ""
    tokens: int = 0
    items: tuple[Item, ...] = ()
    missed: tuple[Item, ...] = ()


def pack(
    found: Passages,
    room: int,
    once: Once,
    boost: float,
    session: str = "",
    handed: frozenset[str] = frozenset(),
) -> Packed:
    """The densest choice that fits. `session`: the one that is going on, which is known; `handed`:
    those whose handoff is told elsewhere."""
    asked = Asked.of(found.question, found.weights)
    wanted = [
        (passage, passage.score * (1 + boost * min(found.references.get(passage.id, 0), REFERRED)))
        for passage in found.found
        if not _known(passage, once, session, handed)
    ]
    chosen, missed = _chosen(wanted, asked, room - tokenizer.count(f"{TITLE}\n"), once)
    headings = {line.group for line in chosen} | {TITLE}
    sizes = [*(line.tokens for line in chosen), *(tokenizer.count(f"{one}\n") for one in headings)]
    return Packed(
        text=render(chosen) if chosen else "",
        tokens=sum(sizes),
        items=tuple(_item(line, line.passage.why) for line in chosen),
        missed=tuple(_item(line, "no room") for line in missed[:MISSED]),
    )


def _made(passage: Passage, worth: float, asked: Asked) -> Line:
    line = _line(passage, excerpt(passage.text, passage.language, asked, EXCERPT))
    return Line(passage, worth, line, tokenizer.count(f"{line}\n"), _group(passage))


def _known(passage: Passage, once: Once, session: str, handed: frozenset[str]) -> bool:
    """Whether it has a slot of its own, belongs to this session, no longer holds, or was told."""
    row = passage.row
    if row.category in ELSEWHERE or (row.turn and session and passage.session == session):
        return True
    if passage.replaced_by and not row.turn:
        return True
    if row.type == "handoff" and passage.session in handed:
        return True
    return all(once.has(line) for line in passage.text.split("\n") if line.strip())


def _line(passage: Passage, text: str) -> str:
    row = passage.row
    if row.name:
        kind = f"{row.type}, {row.status}" if row.status else row.type
        return f"- [{kind} {_day(row.at)}] {text} ({row.name})"
    if row.turn:
        holds = f" (no longer holds: {passage.replaced_by})" if passage.replaced_by else ""
        named = not row.speaker or text.startswith(f"{row.speaker}:")
        return f"- {'' if named else f'{row.speaker}: '}{text}{holds}"
    title = f"{passage.title}: " if passage.title else ""
    return f"- {title}{text}"


def _group(passage: Passage) -> str:
    """The heading that a passage stands below."""
    row = passage.row
    if row.name:
        return "## Remembered"
    if row.turn:
        return f"## {_day(row.at)} session:{_handle(passage.session)}"
    return f"## {passage.path}"


def _handle(session: str) -> str:
    """Enough of a session's id for `show`: most are long and begin differently."""
    return session if len(session) <= LONG else session[:HANDLE]


def _place(passage: Passage) -> str:
    """What counts as the same place: a conversation, a note, a subject."""
    row = passage.row
    if row.name:
        return f"subject {row.subject}" if row.subject else row.name
    return f"session {row.session} {row.file}" if row.turn else passage.path


def _chosen(
    wanted: Sequence[tuple[Passage, float]], asked: Asked, room: int, once: Once
) -> tuple[list[Line], list[Line]]:
    """The worthiest that fit, where worth falls with what is chosen already. What fits no more,
    best first."""
    floor = FLOOR * max((passage.score for passage, _ in wanted), default=0.0)
    said: set[str] = set()
    times: dict[str, int] = {}
    groups: set[str] = set()
    chosen: list[Line] = []
    missed: list[Line] = []
    heap = [(-worth, at, 0) for at, (_, worth) in enumerate(wanted)]
    heapq.heapify(heap)
    while heap and len(missed) < MISSED:
        value, at, counted = heapq.heappop(heap)
        passage, worth = wanted[at]
        place = _place(passage)
        before = times.get(place, 0)
        if counted != before:  # it has lost since
            heapq.heappush(heap, (-worth * AGAIN**before, at, before))
            continue
        if -value < floor:
            break
        line = _made(passage, worth, asked)
        if once.has(line.text) or bare(line.text) in said:
            continue
        size = line.tokens
        if line.group not in groups:
            size += tokenizer.count(f"{line.group}\n")
        if size > room:
            missed.append(line)
            continue
        chosen.append(line)
        room -= size
        said.add(bare(line.text))
        groups.add(line.group)
        times[place] = before + 1
    return chosen, missed


def render(chosen: Iterable[Line]) -> str:
    """What is remembered first, then notes, then conversations, each oldest first."""
    groups: dict[str, list[Line]] = {}
    for line in sorted(chosen, key=_order):
        groups.setdefault(line.group, []).append(line)
    parts = [TITLE]
    for heading, lines in groups.items():
        parts += [heading, *dict.fromkeys(line.text for line in lines)]
    return "\n".join(parts)


def _order(line: Line) -> tuple[int, str, int, int, int]:
    row = line.passage.row
    kind = 0 if row.name else 2 if row.turn else 1
    where = line.passage.path if kind == 1 else ""
    return kind, where, row.at if kind != 1 else 0, row.file, row.place


def _item(line: Line, reason: str) -> Item:
    return Item(
        label=line.text.removeprefix("- ")[:LABEL],
        tokens=line.tokens,
        score=round(line.worth, 4),
        reason=reason,
        ref=line.passage.ref,
    )


def _day(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d") if at else ""
