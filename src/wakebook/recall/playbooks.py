"""Playbooks: the topics slot. Instructions of active topics, and the files they subscribe to.

Instructions are the user's own and come as such; subscriptions, payloads and hints about what
the agent itself has said are reference data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from wakebook.models import tokenizer
from wakebook.recall.once import Once
from wakebook.recall.slot import Item
from wakebook.recall.topics.activation import Activation
from wakebook.recall.topics.fired import Fired
from wakebook.recall.topics.topic import Topic
from wakebook.recall.trim import trim

TOKENS_A_KB = 256
LEAST = 24  # tokens: less of a playbook is not worth its heading


class Active(NamedTuple):
    """A topic that is to be told, and why."""

    topic: Topic
    why: str
    score: float | None = None
    hints: tuple[str, ...] = ()
    payloads: tuple[str, ...] = ()


class Told(NamedTuple):
    instructions: str = ""
    reference: str = ""
    items: tuple[Item, ...] = ()
    missed: tuple[Item, ...] = ()


def active(
    found: Sequence[Activation],
    fired: Sequence[Fired],
    asked: Sequence[Topic],
    topics: Sequence[Topic],
) -> list[Active]:
    """Every topic once: those that were asked for, that were fired, and that the message
    activates; the more important first."""
    by_name = {topic.name: topic for topic in topics}
    told: dict[str, Active] = {topic.name: Active(topic, "asked for by name") for topic in asked}
    for one in fired:
        topic = by_name.get(one.topic)
        if topic is None:
            continue
        known = told.get(one.topic) or Active(topic, one.why)
        hints = dict.fromkeys((*known.hints, one.hint)) if one.hint else known.hints
        payloads = (*known.payloads, one.payload) if one.payload else known.payloads
        told[one.topic] = known._replace(hints=tuple(hints), payloads=payloads)
    for each in found:
        decision = each.decision
        if decision.activated:
            why = "; ".join(filter(None, (", ".join(decision.matched), decision.reason)))
            told.setdefault(each.topic.name, Active(each.topic, why, decision.similarity))
    return sorted(told.values(), key=lambda one: (-one.topic.rank, -(one.score or 1.0)))


class Piece(NamedTuple):
    """One text of a topic: what it is, where it stands, and whether it instructs."""

    label: str
    text: str
    where: str
    instructs: bool = False


Read = Callable[[str], str | None]  # a file below the home; None: not for this session


def pack(told: Sequence[Active], room: int, read: Read, once: Once) -> Told:
    """Topic by topic: instructions first, then subscriptions, each within its own limit."""
    instructions: list[str] = []
    reference: list[str] = []
    items: list[Item] = []
    missed: list[Item] = []
    for one in told:
        limit = min(room, int(one.topic.max_context_kb * TOKENS_A_KB))
        for piece in _pieces(one, read):
            fresh = once.fresh(piece.text, one.topic.name)
            if not fresh:
                continue  # all of it is there already
            text, note = trim(fresh, max(limit - 2, 0), piece.where)
            size = tokenizer.count(f"{text}\n\n")
            reason = f"{one.why}; {note}" if note else one.why
            item = Item(
                label=piece.label, tokens=size, reason=reason, score=one.score, ref=piece.where
            )
            if size > limit or limit < LEAST:
                missed.append(item)
                continue
            (instructions if piece.instructs else reference).append(text)
            once.add(text)
            items.append(item)
            limit -= size
            room -= size
    return Told("\n\n".join(instructions), "\n\n".join(reference), tuple(items), tuple(missed))


def _pieces(one: Active, read: Read) -> Iterator[Piece]:
    topic = one.topic
    hints = "".join(f"\nAbout your last words: {hint}" for hint in one.hints)
    heading = f"# {topic.title or topic.name}{hints}"
    yield Piece(f"topic {topic.name}", f"{heading}\n\n{topic.body}", topic.path, True)
    for payload in one.payloads:
        text = f"# What {topic.name} was fired with\n{payload}"
        yield Piece(f"payload of {topic.name}", text, topic.path)
    for name in topic.subscriptions:
        there = read(name)
        if there:
            yield Piece(f"{name} (for {topic.name})", f"# {name}\n\n{there}", name)
