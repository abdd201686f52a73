"""What a clause is, judged by its features: a task, a fact, a decision, or nothing to keep."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from math import exp
from typing import Literal

from wakebook.derive.rules import weights
from wakebook.derive.rules.vocabulary import listed

Label = Literal["task", "fact", "decision", "none"]
LABELS: tuple[Label, ...] = ("task", "fact", "decision", "none")
OWED = listed("cue:task duty will need task:list task:owe task:wait task:other")
NEEDED: dict[Label, frozenset[str]] = {  # a clause without any of these is none of its kind
    "task": OWED | {"time:deadline", "time:later"},
    "decision": listed(
        """cue:decision choice:over choice:final choice:stays choice:limit choice:drop choice:it-is
        wont verb:choose verb:change verb:keep verb:drop verb:make time:rule time:start lead:so
        lead:then lead:ok who:lets who:no who:we who:all who:name will colon negative progress"""
    ),
}


def shares(found: Iterable[str]) -> dict[Label, float]:
    """How likely each label is; together they are 1."""
    table = _table()
    totals = [0.0] * len(LABELS)
    for name in sorted(found):
        for place, weight in enumerate(table.get(name, ())):
            totals[place] += weight
    top = max(totals)
    powers = [exp(total - top) for total in totals]
    whole = sum(powers)
    return {label: power / whole for label, power in zip(LABELS, powers, strict=True)}


def label(found: frozenset[str]) -> Label:
    """The likeliest, if it is likely enough to be kept and has what its kind cannot do without.

    A clause in a frame of its kind needs less than one that only looks like it.
    """
    likely = shares({*found, "bias"})
    least = {one: _least(one, found) for one in LABELS[:3]}
    best = max(LABELS[:3], key=lambda one: likely[one] / least[one])
    if likely[best] < least[best] or not found & NEEDED.get(best, found):
        return "none"
    told = best == "task" and "past" in found and not found & OWED  # what happened is not owed
    return "none" if told else best


def _least(one: Label, found: frozenset[str]) -> float:
    framed = f"cue:{one}" in found and not (one == "fact" and "cue:weak fact" in found)
    return weights.LEAST[one] * (weights.FRAMED if framed else 1)


@cache
def _table() -> dict[str, tuple[float, ...]]:
    found = {}
    for line in weights.TABLE.strip().splitlines():
        name, *numbers = line.rsplit(None, len(LABELS))
        found[name.strip()] = tuple(map(float, numbers))
    return found
