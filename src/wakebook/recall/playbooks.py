"""Playbooks: the topics slot. Instructions of active topics, and the files they subscribe to.

Instructions are the user's own and come as such, with hints about what the agent itself has said;
subscriptions and payloads are reference data.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from wakebook.models import tokenizer
from wakebook.recall.slot import Item
from wakebook.recall.texts import Once, trim
from wakebook.recall.topics.activation import Activation
from wakebook.recall.topics.book import Fired
from wakebook.recall.topics.topic import Topic

TOKENS_A_KB = 256
CHARACTERS = 60_000  # of a text that are looked at
LEAST = 24  # tokens: less of a playbook is not worth its heading


class Active(NamedTuple):
    """A topic that is to be told, and why."""

    topic: Topic
    why: str
    score: float | None = None
    fired: tuple[Fired, ...] = ()

    @property
    def hints(self) -> list[str]:
        return list(dict.fromkeys(one.hint for one in self.fired if one.hint))


class Piece(NamedTuple):
    """One text of a topic: what it is, where it stands, and whether it instructs."""

    label: str
    text: str
    where: str
    instructs: bool = False
    fired: tuple[Fired, ...] = ()


Read = Callable[[str], str | None]  # a file below the home; None: not for this session


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
        if topic is not None:
            known = told.get(one.topic) or Active(topic, one.why)
            told[one.topic] = known._replace(fired=(*known.fired, one))
    for each in found:
        decision = each.decision
        if decision.activated:
            why = "; ".join(filter(None, (", ".join(decision.matched), decision.reason)))
            told.setdefault(each.topic.name, Active(each.topic, why, decision.similarity))
    return sorted(told.values(), key=lambda one: (-one.topic.rank, -(one.score or 1.0)))


class Told:
    """Topic by topic: instructions first, then payloads and subscriptions, within its own limit."""

    def __init__(
        self, active: Sequence[Active], room: int, read: Read, ruled: Once, once: Once
    ) -> None:
        self._room, self._ruled, self._once = room, ruled, once
        self.instructions: list[str] = []
        self.reference: list[str] = []
        self.items: list[Item] = []
        self.missed: list[Item] = []
        self.fired: list[Fired] = []  # those that were told
        for one in active:
            limit = min(self._room, int(one.topic.max_context_kb * TOKENS_A_KB))
            payloads = any(each.payload for each in one.fired)
            for piece in _pieces(one, read):
                most = limit // 2 if piece.instructs and payloads else limit
                limit -= self._piece(one, piece, most)

    def _piece(self, one: Active, piece: Piece, limit: int) -> int:
        """The tokens that it takes; 0 if it is not told."""
        whole = piece.text[:CHARACTERS]
        if piece.instructs:
            fresh = self._ruled.fresh(whole, one.topic.name, within=False)
        else:
            fresh = self._once.fresh(whole, one.topic.name)
        if not fresh:
            self.fired += piece.fired
            return 0  # all of it is there already
        text, note = trim(fresh, max(limit - 2, 0), piece.where)
        size = tokenizer.count(f"{text}\n\n")
        reason = f"{one.why}; {note}" if note else one.why
        item = Item(label=piece.label, tokens=size, reason=reason, score=one.score, ref=piece.where)
        if size > limit or limit < LEAST:
            self.missed.append(item)
            return 0
        (self.instructions if piece.instructs else self.reference).append(text)
        self._once.add(text)
        if piece.instructs:
            self._ruled.add(text)
        self.items.append(item)
        self.fired += piece.fired
        self._room -= size
        return size


def _pieces(one: Active, read: Read) -> Iterator[Piece]:
    topic = one.topic
    hints = "".join(f"\nAbout your last words: {hint}" for hint in one.hints)
    heading = f"# {topic.title or topic.name}{hints}"
    body = f"{heading}\n\n{topic.body}"
    alone = tuple(each for each in one.fired if not each.payload)
    yield Piece(f"topic {topic.name}", body, topic.path, True, alone)
    for each in one.fired:
        if each.payload:
            mark = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", each.payload + "`")))
            heading = f"# What {topic.name} was fired with ({each.why})"
            text = f"{heading}\n\n{mark}\n{each.payload}\n{mark}"
            yield Piece(f"payload of {topic.name}", text, "its sender", False, (each,))
    for name in topic.subscriptions:
        there = read(name)
        if there:
            yield Piece(f"{name} (for {topic.name})", f"# {name}\n\n{there}", name)
