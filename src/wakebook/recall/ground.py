"""Ground: the fixed slots, laid out. They are never dropped; one that is too long is cut.

They are the same for one message after the other, so the last few layouts are kept.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from wakebook.models import tokenizer
from wakebook.recall import budget, trim
from wakebook.recall.fixed import Part
from wakebook.recall.once import Once
from wakebook.recall.slot import Item, Slot, priority

JOINT = 2  # tokens between two texts


class Wanted(NamedTuple):
    """A fixed slot that has to be filled."""

    name: str
    part: Part
    cap: int  # tokens


class Ground(NamedTuple):
    texts: dict[str, str]
    slots: dict[str, Slot]
    once: Once  # what has been said
    tokens: int


@lru_cache(16)
def lay(wanted: tuple[Wanted, ...], known: tuple[str, ...], room: int) -> Ground:
    """`known`: what the host says by itself. `room`: tokens for all of them together."""
    once = Once()
    for text in known:
        once.add(text)
    needs = _needs(wanted, once.copy())
    least = {one.name: trim.least(one.part.where) + JOINT for one in wanted}
    granted = budget.shares(needs, {one.name: one.cap for one in wanted}, least, room)
    texts: dict[str, str] = {}
    slots: dict[str, Slot] = {}
    for name, part, _ in wanted:
        fresh = once.fresh(part.text, name)  # what the slots before had to leave out is fresh again
        if not fresh:
            why = "told elsewhere already" if part.text.strip() else "nothing there yet"
            slots[name] = Slot(name=name, priority=priority(name), note=why)
            continue
        room = granted.get(name, least[name])
        text, note = trim.trim(fresh, room - JOINT, part.where)
        once.add(text)
        texts[name] = text
        slots[name] = _slot(name, tokenizer.count(text) + JOINT, room, part.where, note)
    return Ground(texts, slots, once, sum(slot.tokens for slot in slots.values()))


def _needs(wanted: tuple[Wanted, ...], seen: Once) -> dict[str, int]:
    """Tokens of each slot that has something to say, if nothing were cut."""
    needs = {}
    for name, part, _ in wanted:
        text = seen.fresh(part.text, name)
        seen.add(text)
        if text:
            needs[name] = tokenizer.count(text) + JOINT
    return needs


def _slot(name: str, tokens: int, granted: int, where: str, note: str) -> Slot:
    return Slot(
        name=name,
        priority=priority(name),
        tokens=tokens,
        budget=max(granted, tokens),
        items=(Item(label=where, tokens=tokens, reason="always told", ref=where),),
        note=note,
    )
