"""Slot, Item, Context: what an agent is told, and how it came about."""

from __future__ import annotations

import msgspec

from wakebook.models.text import printable
from wakebook.recall.topics.activation import Decision

# What kinds of session are told. MEMORY.md and what follows from it is for the user alone.
KINDS = {
    "main": "identity memory projects handoff journal topics recalled history".split(),
    "group": "identity topics recalled history".split(),
    "cron": "identity projects journal topics recalled history".split(),
    "hook": "identity projects journal topics recalled history".split(),
    "subagent": "identity history".split(),
}
PUBLIC = ("project", "procedure", "reference")  # notes that may be told in a group
LABEL = 100  # characters
FIXED = ("identity", "memory", "projects", "handoff", "journal")  # in this order in the text
PRIORITY = {"identity": 0, "topics": 2, "recalled": 3, "history": 4}  # all others: 1


class Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing in a slot, or one that just missed it."""

    label: str
    tokens: int
    reason: str = ""
    score: float | None = None
    ref: str = ""  # what `wakebook show` takes


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    priority: int
    tokens: int = 0
    budget: int = 0  # that it might have used
    items: tuple[Item, ...] = ()
    note: str = ""  # why it is empty, or what was cut


class Context(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    tokens: int
    budget: int
    left: int
    slots: tuple[Slot, ...]
    missed: tuple[Item, ...] = ()  # that just missed the cut, best first
    decisions: tuple[Decision, ...] = ()  # about topics
    notes: tuple[str, ...] = ()  # what a reader should know
    steps: dict[str, float] = {}  # milliseconds


def label(text: str) -> str:
    """The first words of a text, on one line, for people."""
    shown = printable(text[: 2 * LABEL])
    return shown if len(shown) <= LABEL else f"{shown[:LABEL].rpartition(' ')[0] or shown[:LABEL]}…"


def priority(name: str) -> int:
    return PRIORITY.get(name, 1)
