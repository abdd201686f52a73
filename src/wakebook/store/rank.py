"""Rank: from two lists of scores to one order, with what is known about each chunk.

Words and meaning are each brought to 0..1 over the candidates of one question and added up.
A turn of a conversation is helped by its neighbours and by the best turns of its session:
what was said around it is part of what it says. Then comes what the home knows: whether the
question names who spoke or when, how old a chunk is, and whether it is open, pinned, about
the subject that was asked for, archived or replaced. docs/decisions.md has what each is worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from math import exp, prod
from operator import add, mul

from wakebook.base.config import Search
from wakebook.store.database import Row
from wakebook.store.postings import Found
from wakebook.store.question import Question

NEIGHBOUR = 0.35  # of the better neighbour's score
ANSWER = 0.2  # more of the one before, if that is a question and this is not
SESSION = 0.6  # of the mean of the session's best turns
BEST_TURNS = 3
COVER = 0.4  # with that, of the share of the question's words that the session has
WHOLE_COVER = 0.3  # the same when whole sessions are ranked
SPEAKER = 0.4
DATE = 0.25
DATE_DAYS = 7  # how fast a date that is not quite the one named loses
AGENT = 0.8  # what the agent said, unless the question asks for that
DISTILLED = 1.3  # an entry or a note, against the same thing in a conversation
HANDOFF = 0.6  # it repeats what its session's other entries say
EXACT = 1.5  # it has a name that the question has, like apply_voucher or worker.py
OPEN = 1.1
PINNED = 1.2
SUBJECT = 1.25
ARCHIVED = 0.7
DAY = 86_400

Boosts = tuple[tuple[str, float], ...]
PLAIN: Boosts = (("distilled", DISTILLED),)


@dataclass(slots=True, eq=False, repr=False)
class Scored:
    """A candidate, and what its score is made of."""

    id: int
    row: Row
    score: float = 0.0
    lexical: float = 0.0  # BM25
    cosine: float = 0.0
    holds: int = 0  # a bit for every word of the question
    words: float = 0.0  # its share of the score
    meaning: float = 0.0
    context: float = 0.0
    about: float = 0.0
    recency: float = 1.0
    boosts: Boosts = ()
    instead_of: str = ""  # the replaced entry that matched
    corrected_by: str = ""  # what holds instead of this
    partly: str = ""  # what holds instead of a part of this


def rank(
    question: Question,
    lexical: Found,
    cosine: Mapping[int, float],
    rows: Mapping[int, Row],
    settings: Search,
    now: float,
    *,
    whole: bool = False,
    most: int | None = None,
) -> list[Scored]:
    """The candidates, best first. Replaced entries are among them.

    With `whole`, what counts is the session: its best turn stands for it. Everything is in
    lists side by side, one for each part of the score: this runs for hundreds of candidates
    while somebody waits.
    """
    found = list(rows.values())
    if not found:
        return []
    bm25 = [lexical.scores.get(row.id, 0.0) for row in found]
    near = [cosine.get(row.id, 0.0) for row in found]
    holds = [lexical.holds.get(row.id, 0) for row in found]
    words, meaning = _shares(found, bm25, near, settings, question.asks_agent)
    score = list(map(add, words, meaning))
    context = [0.0] * len(found) if whole else _surroundings(found, score)
    about = _about(found, question)
    recency = _recency(found, settings, now)
    score = list(map(mul, map(add, map(add, score, context), about), recency))
    session = _sessions(found, score, holds, lexical.weights, whole)
    boosts = [
        () if row.turn and not row.archived else _boosts(row, question.subjects) for row in found
    ]
    if question.exact:
        boosts = [
            (*known, ("exact", EXACT)) if bits & question.exact else known
            for known, bits in zip(boosts, holds, strict=True)
        ]
    total = [
        (one + more) * prod(factor for _, factor in factors) if factors else one + more
        for one, more, factors in zip(score, session, boosts, strict=True)
    ]
    order = sorted(range(len(found)), key=total.__getitem__, reverse=True)
    return [
        Scored(
            id=found[at].id,
            row=found[at],
            score=total[at],
            lexical=bm25[at],
            cosine=near[at],
            holds=holds[at],
            words=words[at],
            meaning=meaning[at],
            context=context[at] + session[at],
            about=about[at],
            recency=recency[at],
            boosts=boosts[at],
        )
        for at in order[:most]
    ]


def _shares(
    found: Sequence[Row],
    bm25: Sequence[float],
    near: Sequence[float],
    settings: Search,
    asks_agent: bool,
) -> tuple[list[float], list[float]]:
    """Words and meaning, each as a share of the best, weighted."""
    there = [value for value in near if value]
    text, vector = settings.text_weight, settings.vector_weight if there else 0.0
    total = text + vector or 1.0
    high, low = max(bm25) or 1.0, min(there, default=0.0)
    wide = max(there, default=0.0) - low
    if wide <= 0:  # a single one, or all alike: as near as can be
        low, wide = 0.0, max(there, default=0.0) or 1.0
    text, vector = text / total / high, vector / total / wide
    words = [text * value for value in bm25]
    meaning = [vector * (value - low) if value > low else 0.0 for value in near]
    if not asks_agent:
        for at, row in enumerate(found):
            if row.speaker == "agent":
                words[at] *= AGENT
                meaning[at] *= AGENT
    return words, meaning


def _surroundings(found: Sequence[Row], score: Sequence[float]) -> list[float]:
    """A share of the better neighbour. What stands alone is its own neighbour, half."""
    turns = {row.file << 24 | row.place: at for at, row in enumerate(found) if row.turn}
    more = [NEIGHBOUR * value / 2 for value in score]
    for key, at in turns.items():
        before, after = turns.get(key - 1), turns.get(key + 1)
        one = score[before] if before is not None else 0.0
        other = score[after] if after is not None else 0.0
        more[at] = NEIGHBOUR * (one if one > other else other)
        if before is not None and found[before].asks and not found[at].asks:
            more[at] += ANSWER * one
    return more


def _sessions(
    found: Sequence[Row],
    score: Sequence[float],
    holds: Sequence[int],
    weights: Sequence[float],
    whole: bool,
) -> list[float]:
    """A share of how well the session as a whole fits. What stands alone is its own."""
    scores: dict[int, list[float]] = {}
    held: dict[int, int] = {}
    for row, value, bits in zip(found, score, holds, strict=True):
        if row.turn:
            session = row.session
            if session in scores:
                scores[session].append(value)
                held[session] |= bits
            else:
                scores[session], held[session] = [value], bits
    factor = WHOLE_COVER if whole else SESSION * COVER
    cover = {bits: factor * covered(bits, weights) for bits in {*holds, *held.values()}}
    shares = {
        session: SESSION * sum(sorted(values)[-BEST_TURNS:]) / BEST_TURNS + cover[held[session]]
        for session, values in scores.items()
    }
    return [
        shares[row.session]
        if row.turn
        else max(shares.get(row.session, 0.0), SESSION * value + cover[bits])
        for row, value, bits in zip(found, score, holds, strict=True)
    ]


def covered(holds: int, weights: Sequence[float]) -> float:
    """The share of the question's words, by what they tell, of which the bits are set."""
    there = sum(weight for number, weight in enumerate(weights) if holds >> number & 1)
    return there / (sum(weights) or 1.0)


def _about(found: Sequence[Row], question: Question) -> list[float]:
    """Whether it was said by whom, and when, the question says."""
    if not question.speaker and not question.dates:
        return [0.0] * len(found)
    return [
        (SPEAKER if question.speaker and row.speaker == question.speaker else 0.0)
        + (_dated(row.at // DAY, question.dates) if question.dates and row.at else 0.0)
        for row in found
    ]


def _dated(day: int, dates: Sequence[tuple[int, int]]) -> float:
    off = min(max(first - day, day - last, 0) for first, last in dates)
    return DATE * exp(-off / DATE_DAYS)


def _recency(found: Sequence[Row], settings: Search, now: float) -> list[float]:
    """Older is less, down to a floor; pins and notes without a date of their own do not age."""
    weight, days = settings.recency_weight, settings.half_life_days
    if not weight or not days:
        return [1.0] * len(found)
    half = days * DAY
    return [
        1 - weight + weight * 0.5 ** ((now - row.at) / half)
        if row.dated and not row.pinned and row.at < now
        else 1.0
        for row in found
    ]


def _boosts(row: Row, subjects: Set[str]) -> Boosts:
    if not (row.turn or row.pinned or row.archived or row.subject in subjects) and (
        row.type in ("fact", "decision") or not row.type
    ):
        return PLAIN
    found = [] if row.turn else [*PLAIN]
    if row.type == "handoff":
        found.append(("handoff", HANDOFF))
    if row.status == "open" and not row.replaced_by:
        found.append(("open", OPEN))
    if row.pinned:
        found.append(("pinned", PINNED))
    if row.subject and row.subject in subjects:
        found.append(("subject", SUBJECT))
    if row.archived:
        found.append(("archived", ARCHIVED))
    return tuple(found)


def diverse(
    found: Sequence[Scored], said: Mapping[int, Set[str]], most: int, weight: float
) -> list[Scored]:
    """The best ones that do not say the same (maximal marginal relevance)."""
    top = max((item.score for item in found), default=1.0) or 1.0
    waiting = list(found)
    worth = [weight * item.score / top for item in waiting]
    alike = [0.0] * len(waiting)
    chosen: list[Scored] = []
    while waiting and len(chosen) < most:
        best = max(
            range(len(waiting)),
            key=[
                one - (1 - weight) * like for one, like in zip(worth, alike, strict=True)
            ].__getitem__,
        )
        item = waiting.pop(best)
        del worth[best], alike[best]
        chosen.append(item)
        words = said[item.id]
        for at, other in enumerate(waiting):
            like = _overlap(words, said[other.id])
            if like > alike[at]:
                alike[at] = like
    return chosen


def _overlap(one: Set[str], other: Set[str]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both) if both else 0.0
