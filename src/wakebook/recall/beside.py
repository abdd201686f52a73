"""Beside: team memories, which may be read here, asked together with this one.

What comes from one of them says so: its references begin with @NAME/, and `get` takes them so. A
team memory is told as far as its own settings allow it to others: its agents that are apart stay
apart, what waits for a review waits, and a handoff is for its own next session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from wakebook.base.config import AGENT
from wakebook.base.errors import NotFound
from wakebook.capture import project as projects
from wakebook.log.query import Query, Scope
from wakebook.recall import lines, recalled
from wakebook.recall.lately import said_after, said_before
from wakebook.recall.recalled import Around
from wakebook.recall.scope import joined, waiting
from wakebook.recall.slot import JOINT, Packed
from wakebook.store.hits import WITHIN, Found, Hit, Options, Passage, Passages

if TYPE_CHECKING:
    from wakebook.opened import Opened
    from wakebook.recall.context import Request
    from wakebook.recall.stale import Utterance
    from wakebook.store.sync import Progress

MARK = "@"
OWN = 70  # percent of the room, for this memory, if a team memory has something to tell
EARLY = datetime.min.replace(tzinfo=UTC)


def lent(opened: Opened, ref: str) -> tuple[Opened, str, str]:
    """The memory that a reference is about, its name, and the reference there."""
    if not ref.startswith(MARK):
        return opened, "", ref
    name, _, rest = ref.removeprefix(MARK).partition("/")
    if name not in opened.beside:
        raise NotFound(f"There is no team memory {name!r} that may be read here.")
    return opened.beside[name], name, rest


def readable(opened: Opened, here: Scope) -> Iterator[tuple[str, Opened, Scope]]:
    """The team memories, and what of each may be told to whoever is told this here."""
    for name, other in opened.beside.items():
        known = projects.load(other.home)
        open_, unread = joined(other, known), waiting(other, known)
        if here.projects is None:
            yield name, other, Scope(None, open_, unread)
        elif keys := [key for key in here.projects if not key.startswith(AGENT)]:
            yield name, other, Scope((*keys, *open_), open_, unread)


def search(
    opened: Opened, query: Query, now: datetime, options: Options, progress: Progress | None = None
) -> Found:
    """The best hits of this memory and of the team memories."""
    found = {"": opened.index.search(query, now, options, progress)}
    for name, other, scope in readable(opened, query.scope):
        found[name] = other.index.search(replace(query, scope=scope), now, options)
    return _merged(query, found, options.limit or opened.config.search.max_results)


def _merged(query: Query, found: Mapping[str, Found], limit: int) -> Found:
    """Scores say how sure a hit is, so they can be compared. Where one memory has an answer, what
    another shows for want of one is left out."""
    answers = {name: one for name, one in found.items() if any(map(_answers, one.hits))}
    told = answers if query.text.strip() and answers else found
    hits = [_marked(name, hit) for name, one in told.items() for hit in one.hits]
    if told is answers:
        hits.sort(key=lambda hit: -hit.score)
    else:
        hits.sort(key=lambda hit: hit.timestamp or EARLY, reverse=True)
    own, others = found[""], {name: one for name, one in told.items() if name}
    notes = (f"{MARK}{name}: {note}" for name, one in others.items() for note in one.notes)
    took = {f"{MARK}{name}": sum(one.steps.values()) for name, one in others.items()}
    return replace(
        own,
        hits=tuple(hits[:limit]),
        notes=(*(own.notes if "" in told else ()), *notes),
        candidates=sum(one.candidates for one in found.values()),
        steps=own.steps | took,
    )


def _answers(hit: Hit) -> bool:
    return hit.why != WITHIN


def _marked(name: str, hit: Hit) -> Hit:
    if not name:
        return hit
    by = f"{MARK}{name}/{hit.replaced_by}" if hit.replaced_by else ""
    return replace(hit, ref=f"{MARK}{name}/{hit.ref}", origin=name, replaced_by=by)


def marked(name: str, found: Passages) -> Passages:
    """Passages whose references lead to a team memory."""
    begin = f"{MARK}{name}/"

    def at(ref: str) -> str:
        return begin + ref if ref else ""

    def one(passage: Passage) -> Passage:
        return passage._replace(
            row=passage.row._replace(name=at(passage.row.name)),
            path=at(passage.path),
            replaced_by=at(passage.replaced_by),
            partly=at(passage.partly),
        )

    return found._replace(found=[one(passage) for passage in found.found])


def packed_together(
    opened: Opened, request: Request, own: Passages, room: int, around: Around, boost: float
) -> Packed:
    """What was found here and in the team memories, each below its own heading. This memory has
    most of the room, and what is worth little beside the best of all is told of none."""
    found = {"": (opened, own)}
    for name, other, scope in readable(opened, request.scope):
        kind = "subagent" if request.kind == "main" else request.kind  # no handoffs, no MEMORY.md
        there = recalled.passages(other, request._replace(scope=scope, kind=kind), room)
        found[name] = other, marked(name, there)
    best = max((one.score for _, some in found.values() for one in some.found), default=0.0)
    others = any(some.found for name, (_, some) in found.items() if name)
    most = room * OWN // 100 if others else room
    done: list[Packed] = []
    for name, (memory, some) in found.items():
        if name:
            most = room - sum(one.tokens + JOINT for one in done)
            around = around._replace(
                told="\n".join([around.told, *(one.text for one in done)]),
                after=partial(_said, said_after, memory),
                before=partial(_said, said_before, memory),
            )
        title = f"{lines.TITLE} in {MARK}{name}, a team memory" if name else lines.TITLE
        done.append(recalled.pack(some, most, around, boost, title, best))
    told = [one for one in done if one.text]
    return Packed(
        text="\n\n".join(one.text for one in told),
        tokens=sum(one.tokens for one in told) + JOINT * max(0, len(told) - 1),
        items=tuple(item for one in told for item in one.items),
        missed=tuple(item for one in done for item in one.missed),
    )


def _said(
    ask: Callable[[Opened, Passage], list[Utterance]], memory: Opened, passage: Passage
) -> list[Utterance]:
    """What was said around a passage, in the memory that it is of."""
    path = passage.path.partition("/")[2]
    return ask(memory, passage._replace(path=path)) if path else []
