"""Decisions: every decision about a topic, whether it helped, and what follows from that.

Decisions are traced (trace.jsonl, which is kept small). Feedback is a person's word and is kept
for good, with the decision that it is about, in feedback.jsonl.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import pairwise

import msgspec

from wakebook.base import clock
from wakebook.base.decode import convert, decode
from wakebook.base.errors import NotFound
from wakebook.base.home import Home
from wakebook.base.text import printable
from wakebook.capture.clean import redact
from wakebook.recall.topics.activation import Activation, Decision
from wakebook.recall.topics.topic import Topic

LOOKED_AT = 10_000  # characters of a message, for secrets
EXCERPT = 80  # characters of the message, without secrets
FEW = 5  # judged decisions of a topic from which thresholds are proposed
SHOWN = 2000  # decisions that are looked through
SHORTEST = 4  # characters of a decision's id
EVENT = "gate"
NAME = "feedback.jsonl"


class Feedback(msgspec.Struct, frozen=True, kw_only=True):
    at: str
    useful: bool
    decision: Decision


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How a topic has done."""

    topic: str
    decided: int  # times it was in question
    activated: int
    useful: int  # of those that were activated
    useless: int
    missed: int  # not activated, though it would have helped
    precision: float | None  # useful / judged, of the activated ones
    threshold: float | None = None  # its own, as it is
    proposed: float | None = None
    why: str = ""


def trace(home: Home, found: Iterable[Activation], message: str) -> list[Activation]:
    """Write decisions down. They get an id, and the first words of the message."""
    from wakebook.log.entry import new_id

    words = printable(redact(message[:LOOKED_AT])[0])[:EXCERPT]
    traced = []
    for one in found:
        decision = msgspec.structs.replace(one.decision, id=new_id(), message=words)
        record = {k: v for k, v in msgspec.to_builtins(decision).items() if k != "at"}
        with suppress(OSError):  # a full disk, a read-only home: what was decided still holds
            home.trace(EVENT, **record)
        traced.append(one._replace(decision=decision))
    return traced


def decisions(home: Home, topic: str = "", last: int = SHOWN) -> list[Decision]:
    """The newest, oldest first."""
    found: list[Decision] = []
    for record in home.traces(EVENT, last):
        try:
            decision = convert(
                {key: value for key, value in record.items() if key != "event"}, Decision
            )
        except msgspec.ValidationError:
            continue
        if not topic or decision.topic == topic:
            found.append(decision)
    return found


def feedback(home: Home) -> list[Feedback]:
    """What people said, the last word about each decision."""
    try:
        lines = (home.root / NAME).read_bytes().splitlines()
    except FileNotFoundError:
        return []
    last: dict[str, Feedback] = {}
    for line in lines:
        try:
            one = decode(line, Feedback)
        except msgspec.DecodeError:
            continue
        last[one.decision.id] = one
    return list(last.values())


def judge(home: Home, name: str, useful: bool, now: datetime) -> Decision:
    """Say whether a decision helped. `name`: its id, or a unique beginning of it."""
    known = {one.id: one for one in decisions(home)}
    known |= {one.decision.id: one.decision for one in feedback(home)}
    fitting = (
        [known[name]]
        if name in known
        else [one for key, one in known.items() if key.startswith(name) and len(name) >= 4]
    )
    if len(fitting) != 1:
        several = f" {len(fitting)} begin with it; give more of it." if fitting else ""
        raise NotFound(
            f"There is no decision {name!r}.{several} `wakebook topics decisions` shows the ids."
        )
    record = Feedback(at=clock.iso(now), useful=useful, decision=fitting[0])
    path = home.root / NAME
    with home.locked():
        torn = path.exists() and not path.read_bytes().endswith(b"\n") and path.stat().st_size
        home.append(path, (b"\n" if torn else b"") + msgspec.json.encode(record) + b"\n")
    return fitting[0]


def standings(
    found: Sequence[Decision], judged: Sequence[Feedback], topics: Sequence[Topic]
) -> list[Standing]:
    """How every topic has done, those that were in question most first."""
    own = {topic.name: topic for topic in topics}
    names = {one.topic for one in found} | {one.decision.topic for one in judged} | own.keys()
    rows = [
        _standing(
            name,
            [one for one in found if one.topic == name],
            [one for one in judged if one.decision.topic == name],
            own.get(name),
        )
        for name in names
    ]
    return sorted(rows, key=lambda row: (-row.decided, row.topic))


def _standing(
    name: str, found: Sequence[Decision], judged: Sequence[Feedback], topic: Topic | None
) -> Standing:
    active = [one for one in judged if one.decision.activated]
    useful = sum(one.useful for one in active)
    # "useful" about one that was not activated: it would have helped
    missed = sum(one.useful for one in judged if not one.decision.activated)
    threshold = topic.threshold if topic else None
    proposed, why = _proposed(judged, threshold)
    return Standing(
        topic=name,
        decided=len(found),
        activated=sum(one.activated for one in found),
        useful=useful,
        useless=len(active) - useful,
        missed=missed,
        precision=round(useful / len(active), 3) if active else None,
        threshold=threshold,
        proposed=proposed,
        why=why,
    )


def _proposed(judged: Sequence[Feedback], threshold: float | None) -> tuple[float | None, str]:
    """The likeness that parts the useful from the useless with the fewest mistakes.

    Only of decisions that a threshold made: beside a trigger, and not by the gate.
    """
    judged = [
        one
        for one in judged
        if one.decision.matched and one.decision.threshold and not one.decision.gate
    ]
    if len(judged) < FEW:
        return None, f"{len(judged)} of {FEW} judgements" if judged else ""
    scores = [(one.decision.similarity, one.useful) for one in judged]
    points = sorted({0.0, *(score for score, _ in scores), 1.0})
    gaps = {round((low + high) / 2, 3): high - low for low, high in pairwise(points)}

    def mistakes(cut: float) -> int:
        return sum((score >= cut) != useful for score, useful in scores)

    best = min(gaps, key=lambda cut: (mistakes(cut), -gaps[cut]))  # in the middle of a wide gap
    now = sum(one.useful != one.decision.activated for one in judged)
    if threshold is not None:
        now = min(now, mistakes(threshold))
    left = mistakes(best)
    if left >= now:
        return None, f"no threshold does better ({now} of {len(judged)} were wrong)"
    return best, f"{left} of {len(judged)} would be wrong, instead of {now}"
