"""Rank: from two lists of scores to one order, with what is known about each chunk.

Words and meaning are each brought to 0..1 over the candidates of one question and added up.
A turn of a conversation is helped by its neighbours and by the best turns of its session:
what was said around it is part of what it says. Then comes what the home knows: whether the
question names who spoke or when, how old a chunk is, and whether it is open, pinned, about
the subject that was asked for, archived or replaced. docs/decisions.md has what each is worth.

Every part of a score is an array, with a place for every candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import compress
from math import inf, prod
from typing import Any

import numpy as np

from wakebook.base.config import Search
from wakebook.store import Row, Store
from wakebook.store.postings import WordHits
from wakebook.store.question import MOST_WORDS, Question

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
SOME = 16  # candidates that are made at a time
ROOM = 4096  # chunks for which a table of columns has room at first
ALONE = -1  # the group of what was not said in a conversation
FIRST = -1 << 52
APART = 16.0  # more than any score
BITS = np.uint64(1) << np.arange(MOST_WORDS, dtype=np.uint64)[:, None]


@dataclass(slots=True, eq=False, repr=False)
class Scored:
    """A candidate, and what its score is made of."""

    id: int
    row: Row
    holds: int = 0  # a bit for every word of the question
    score: float = 0.0
    lexical: float = 0.0  # BM25
    cosine: float = 0.0
    covers: float = 0.0  # the share of the question that those words are
    words: float = 0.0  # its share of the score
    meaning: float = 0.0
    context: float = 0.0
    about: float = 0.0
    recency: float = 1.0
    asked: tuple[tuple[str, float], ...] = ()  # factors that it owes to the question
    instead_of: str = ""  # the replaced entry that matched
    corrected_by: str = ""  # what holds instead of this
    partly: str = ""  # what holds instead of a part of this


class Ranked:
    """Candidates in order, some at a time: most are never looked at."""

    def __init__(self, count: int, make: Callable[[slice], list[Scored]]) -> None:
        self._count, self._make = count, make
        self.made: list[Scored] = []  # those that were looked at, and a few more

    def __iter__(self) -> Iterator[Scored]:
        for at in range(self._count):
            if at == len(self.made):
                self.made += self._make(slice(at, at + SOME))
            yield self.made[at]


class Columns:
    """What a ranking needs to know about chunks, as numbers; read when it is first needed.

    speaker, subject   as `code` gives them
    speaks    the factor of who speaks
    boost     the product of `boosts`
    group     the session of a turn; -1 for what stands alone
    key       the file and the number of a turn, so that the next turn has the next key
    session   also of an entry
    at, aged  when it was said; the same if it loses by its age, otherwise the end of time
    asks      1 for a question
    """

    NAMES = "there speaker subject speaks boost group key session at aged asks".split()

    def __init__(self) -> None:
        self._table = np.zeros((ROOM, len(self.NAMES)))
        self._codes: dict[str, int] = {"": 0}

    def code(self, text: str) -> int:
        return self._codes.setdefault(text, len(self._codes))

    def of(self, store: Store, ids: Any) -> tuple[Any, Any]:
        """The columns of some chunks after `there`, by group and key, and that order."""
        if len(ids) and ids[-1] >= len(self._table):
            grown = np.zeros((2 * int(ids[-1]), len(self.NAMES)))
            grown[: len(self._table)] = self._table
            self._table = grown
        rows = self._table.take(ids, axis=0)
        if not rows[:, 0].all():
            self._read(store, ids[rows[:, 0] == 0].tolist())
            rows = self._table.take(ids, axis=0)
            if not rows[:, 0].all():
                raise ValueError("The index has words or vectors of chunks that are not there.")
        order = np.lexsort((rows[:, 6], rows[:, 5]))
        return rows.take(order, axis=0).T[1:], order

    def _read(self, store: Store, ids: list[int]) -> None:
        found = store.read("chunk", READ, ids)
        if not found:
            return
        numbers, speakers, subjects, *rest = zip(*found, strict=True)
        number, flags, ages, asks, turn, key, session, at = map(np.array, (numbers, *rest))
        known = (
            np.ones(len(number)),
            [self.code(name) for name in speakers],
            [self.code(name) for name in subjects],
            [AGENT if name == "agent" else 1 for name in speakers],
            BOOST.take(flags),
            np.where(turn, session, ALONE),
            np.where(turn, key, FIRST + 2 * number),
            session,
            at,
            np.where(ages, at, inf),
            asks,
        )
        self._table[number] = np.array(known).T


# What ranks a chunk up or down, whatever the question
BOOSTS = (
    ("distilled", DISTILLED),
    ("handoff", HANDOFF),
    ("open", OPEN),
    ("pinned", PINNED),
    ("archived", ARCHIVED),
)
BOOST = np.array([prod(f for at, (_, f) in enumerate(BOOSTS) if n >> at & 1) for n in range(32)])
READ = """id, speaker, subject, CASE WHEN turn THEN 0 ELSE 1 END
    + CASE WHEN type = 'handoff' THEN 2 ELSE 0 END
    + CASE WHEN status = 'open' AND replaced_by = '' THEN 4 ELSE 0 END
    + CASE WHEN pinned THEN 8 ELSE 0 END + CASE WHEN archived THEN 16 ELSE 0 END,
    dated AND NOT pinned, asks, turn, file << 24 | place, session, at"""


def boosts(row: Row) -> list[tuple[str, float]]:
    """Those that a chunk has: the name of each, and its factor."""
    open_ = row.status == "open" and not row.replaced_by
    has = (not row.turn, row.type == "handoff", open_, row.pinned, row.archived)
    return [*compress(BOOSTS, has)]


class Ranking:
    """The order of the candidates of one question. With `whole`, what counts is the session: its
    best turn stands for it."""

    def __init__(
        self, store: Store, question: Question, settings: Search, now: float, whole: bool
    ) -> None:
        self._store, self._question, self._settings = store, question, settings
        self._now, self._whole = now, whole
        self._columns = store.keep("columns", Columns)
        self.candidates = 0

    def best(self, lexical: WordHits, near: tuple[Any, Any], most: int | None) -> Ranked:
        """The best candidates, in order. Replaced entries are among them. `near` are the ids of all
        candidates, ascending, and their cosines. Of equals, the chunk that was indexed first comes
        first."""
        ids, cosines = near
        self.candidates = size = len(ids)
        if not size:
            return Ranked(0, lambda _: [])
        columns, order = self._columns.of(self._store, ids)
        speaker, subject, speaks, boost, group, key, session, at, aged, asks = columns
        parts, holds = np.zeros((9, size)), np.zeros(size, np.uint64)
        places = ids.searchsorted(lexical.ids)
        parts[1, places], parts[2], holds[places] = lexical.scores, cosines, lexical.holds
        parts[1:3], holds, ids = parts[1:3].take(order, axis=1), holds.take(order), ids.take(order)
        total, bm25, cosine, covers, words, meaning, context, about, recency = parts
        words_of = _Words(lexical.weights)
        covers += words_of.covered(holds)
        self._share(bm25, cosine, words, meaning)
        if not self._question.asks_agent:
            words *= speaks
            meaning *= speaks
        np.add(words, meaning, out=total)
        if not self._whole:
            _surroundings(total, key, asks, int(group.searchsorted(0)), context)
        self._about(at, speaker, about)
        self._recency(aged, recency)
        total += context
        total += about
        total *= recency
        more = self._sessions(total, covers, holds, words_of, group, session)
        total += more
        context += more
        total *= boost
        asked = self._asked(subject, holds)
        for has, (_, factor) in asked:
            total[has] *= factor
        best = np.lexsort((ids, -total))[:most]

        def made(some: slice) -> list[Scored]:
            chosen = best[some]
            rows = self._store.rows(ids.take(chosen).tolist())
            values = parts.take(chosen, axis=1).tolist()
            its = zip(rows.items(), holds.take(chosen).tolist(), *values, strict=True)
            found = [Scored(number, row, *value) for (number, row), *value in its]
            for has, named in asked:
                for place in has.take(chosen).nonzero()[0].tolist():
                    found[place].asked += (named,)
            return found

        return Ranked(len(best), made)

    def _asked(self, subject: Any, holds: Any) -> list[tuple[Any, tuple[str, float]]]:
        """Which have what the question names: one of its subjects, an exact name."""
        code, exact = self._columns.code, self._question.exact
        found: list[tuple[Any, tuple[str, float]]] = [
            (subject == code(name), ("subject", SUBJECT)) for name in self._question.subjects
        ]
        if exact:
            found.append(((holds & np.uint64(exact)) != 0, ("exact", EXACT)))
        return found

    def _share(self, bm25: Any, cosine: Any, words: Any, meaning: Any) -> None:
        """Words and meaning, each as a share of the best, weighted."""
        there = cosine if cosine.all() else cosine[cosine != 0]
        text, vector = self._settings.text_weight, self._settings.vector_weight
        low, top = (float(there.min()), float(there.max())) if len(there) else (0.0, 0.0)
        total = text + (vector if len(there) else 0.0) or 1.0
        if top <= low:  # a single one, or all alike: as near as can be
            low, top = 0.0, top or 1.0
        np.multiply(bm25, text / total / (float(bm25.max()) or 1.0), out=words)
        np.maximum(cosine - low, 0, out=meaning)
        meaning *= vector / total / (top - low)

    def _sessions(
        self, score: Any, covers: Any, holds: Any, words: _Words, group: Any, session: Any
    ) -> Any:
        """A share of how well the session as a whole fits. What stands alone is its own."""
        factor = WHOLE_COVER if self._whole else SESSION * COVER
        found = SESSION * score + factor * covers
        alone = int(group.searchsorted(0))
        if alone == len(found):
            return found
        group, score = group[alone:], score[alone:]
        begins = np.ones(len(group), bool)
        np.not_equal(group[1:], group[:-1], out=begins[1:])
        first, number = begins.nonzero()[0], begins.cumsum() - 1
        ordered = score.take((APART * number + score).argsort())  # each session's best turns last
        ordered[:-BEST_TURNS] *= number[BEST_TURNS:] != number[:-BEST_TURNS]
        held = np.bitwise_or.reduceat(holds[alone:], first)
        total = np.add.reduceat(ordered, first)
        share = SESSION * total / BEST_TURNS + factor * words.covered(held)
        found[alone:] = share.take(number)
        if alone:
            names, mine = group.take(first), session[:alone]
            place = names.searchsorted(mine)
            shared = (names.take(place, mode="clip") == mine) * share.take(place, mode="clip")
            np.maximum(found[:alone], shared, out=found[:alone])
        return found

    def _about(self, at: Any, speaker: Any, about: Any) -> None:
        """Whether it was said by whom, and when, the question says."""
        question = self._question
        if question.speaker:
            about[speaker == self._columns.code(question.speaker)] = SPEAKER
        if question.dates:
            days = at // DAY
            first, last = np.array(question.dates).T[:, :, None]
            off = np.maximum(np.maximum(first - days, days - last), 0).min(axis=0)
            about += (at != 0) * DATE * np.exp(-off / DATE_DAYS)

    def _recency(self, aged: Any, recency: Any) -> None:
        """Older is less, down to a floor; pins and notes without a date of their own do not age."""
        weight, days = self._settings.recency_weight, self._settings.half_life_days
        recency += 1
        if weight and days:
            np.subtract(self._now, aged, out=recency)
            recency /= days * DAY
            np.power(0.5, np.maximum(recency, 0, out=recency), out=recency)
            recency *= weight
            recency += 1 - weight


def _surroundings(score: Any, key: Any, asks: Any, alone: int, context: Any) -> None:
    """A share of the better neighbour. What stands alone is its own neighbour, half."""
    follows = key[1:] - key[:-1] == 1  # each but the first: whether it comes right after
    before = score[:-1] * follows
    context[1:] = before
    np.maximum(context[:-1], score[1:] * follows, out=context[:-1])
    context *= NEIGHBOUR
    context[1:] += ANSWER * before * (asks[:-1] > asks[1:])
    context[:alone] = NEIGHBOUR / 2 * score[:alone]


class _Words:
    """How much each word of a question tells."""

    def __init__(self, weights: Sequence[float]) -> None:
        self._weights = np.array(weights)[:, None]
        self._bits = BITS[: len(weights)]
        self._total = sum(weights) or 1.0

    def covered(self, holds: Any) -> Any:
        """The share of the words whose bits are set."""
        return np.where(holds & self._bits, self._weights, 0.0).sum(axis=0) / self._total


def diverse(
    found: Sequence[Scored],
    words_of: Callable[[Scored], AbstractSet[str]],
    most: int,
    weight: float,
) -> list[Scored]:
    """The best ones that do not say the same (maximal marginal relevance)."""
    top = max((item.score for item in found), default=1.0) or 1.0
    worth = [weight * item.score / top for item in found]
    words = [words_of(item) for item in found]
    again = [0.0] * len(found)  # how much of it was said by what was chosen
    waiting = list(range(len(found)))
    chosen: list[Scored] = []
    while waiting and len(chosen) < most:
        values = [worth[at] - (1 - weight) * again[at] for at in waiting]
        best = waiting.pop(values.index(max(values)))
        chosen.append(found[best])
        mine, size = words[best], len(words[best])
        for at in waiting:
            both = len(mine & words[at])
            if both and (like := both / (size + len(words[at]) - both)) > again[at]:
                again[at] = like
    return chosen
