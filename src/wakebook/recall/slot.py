"""Slot, Item, Context: what an agent is told, and how it came about."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from wakebook.base.text import printable
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


# -----------------------------------------------------------------------------
# Budget: how many tokens each of the fixed slots gets.


def shares(
    needs: Mapping[str, int], caps: Mapping[str, int], least: Mapping[str, int], room: int
) -> dict[str, int]:
    """Of `room` tokens, what each slot may use, in the order of the caps.

    Every slot has its cap, all of them in proportion if they are too much together, and `least`
    in any case. What one does not need goes to those behind it, and to them only: a slot that
    grows leaves those before it as they were, and with them the beginning of the text.
    """
    total = sum(caps.values())
    scale = min(1.0, room / total) if total else 1.0
    spare = max(0, room - int(total * scale))
    granted: dict[str, int] = {}
    behind = sum(least.values())
    for name, cap in caps.items():
        behind -= least[name]
        mine = min(int(cap * scale) + spare, room - behind - sum(granted.values()))
        if needs.get(name, 0):
            granted[name] = min(needs[name], max(mine, least[name]))
        spare = max(0, mine - granted.get(name, 0))
    return granted


def fair(needs: Mapping[str, int], room: int) -> dict[str, int]:
    """Of `room` tokens, an equal share for each; what one does not need goes to the others."""
    given: dict[str, int] = {}
    left = room
    for number, (name, need) in enumerate(sorted(needs.items(), key=lambda one: one[1])):
        given[name] = min(need, left // (len(needs) - number))
        left -= given[name]
    return given
