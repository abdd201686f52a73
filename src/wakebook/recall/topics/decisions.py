"""Decisions: every decision about a topic, whether it helped, and what follows from that.

Decisions are traced (trace.jsonl, which is kept small). Feedback is a person's word and is kept
for good, with the decision that it is about, in feedback.jsonl.
"""

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
from wakebook.recall.topics.activation import Activation, Decision
from wakebook.recall.topics.topic import Topic

LOOKED_AT = 10_000  # characters of a message, for secrets
EXCERPT = 80  # characters of the message, without secrets
FEW = 5  # judged decisions of a topic from which thresholds are proposed
SHOWN = 2000  # decisions that are looked through
EVENT = "gate"
NAME = "feedback.jsonl"


class Feedback(msgspec.Struct, frozen=True, kw_only=True):
    at: str
    useful: bool | None  # None: taken back
    decision: Decision


class Standing(msgspec.Struct, frozen=True, kw_only=True):
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
    from wakebook.capture.secrets import redact
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
        del record["event"]
        with suppress(msgspec.ValidationError):
            found.append(convert(record, Decision))
    return [one for one in found if topic in ("", one.topic)]


def feedback(home: Home) -> list[Feedback]:
    """What people said, the last word about each decision."""
    try:
        lines = (home.root / NAME).read_bytes().splitlines()
    except FileNotFoundError:
        return []
    last: dict[str, Feedback] = {}
    for line in lines:
        with suppress(msgspec.DecodeError):
            one = decode(line, Feedback)
            last[one.decision.id] = one
    return [one for one in last.values() if one.useful is not None]


def judge(home: Home, name: str, useful: bool | None, now: datetime) -> Decision:
    """Say whether a decision helped; None takes it back. `name`: its id, or a unique beginning."""
    from wakebook.recall.ratings import append

    known = {one.id: one for one in decisions(home)}
    known |= {one.decision.id: one.decision for one in feedback(home)}
    begins = [one for key, one in known.items() if key.startswith(name) and len(name) >= 4]
    fitting = [known[name]] if name in known else begins
    if len(fitting) != 1:
        several = f" {len(fitting)} begin with it; give more of it." if fitting else ""
        raise NotFound(
            f"There is no decision {name!r}.{several} `wakebook topics decisions` shows the ids."
        )
    append(home, Feedback(at=clock.iso(now), useful=useful, decision=fitting[0]))
    return fitting[0]


def standings(
    found: Sequence[Decision], judged: Sequence[Feedback], topics: Sequence[Topic]
) -> list[Standing]:
    """How every topic has done, those that were in question most first."""
    own = {topic.name: topic.threshold for topic in topics}
    names = {one.topic for one in found} | {one.decision.topic for one in judged} | own.keys()
    rows = []
    for name in names:
        said = [one for one in judged if one.decision.topic == name]
        active = [one for one in said if one.decision.activated]
        useful = sum(bool(one.useful) for one in active)
        proposed, why = _proposed(said, own.get(name))
        rows.append(
            Standing(
                topic=name,
                decided=sum(one.topic == name for one in found),
                activated=sum(one.topic == name and one.activated for one in found),
                useful=useful,
                useless=len(active) - useful,
                # "useful" about one that was not activated: it would have helped
                missed=sum(bool(one.useful) for one in said) - useful,
                precision=round(useful / len(active), 3) if active else None,
                threshold=own.get(name),
                proposed=proposed,
                why=why,
            )
        )
    return sorted(rows, key=lambda row: (-row.decided, row.topic))


def _proposed(judged: Sequence[Feedback], threshold: float | None) -> tuple[float | None, str]:
    """The likeness that parts the useful from the useless with the fewest mistakes. Only of
    decisions that a threshold made: beside a trigger, and not by the gate."""
    both = ((one, one.decision) for one in judged)
    judged = [one for one, by in both if by.matched and by.threshold and not by.gate]
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
