"""Hits: from ranked chunks to what a reader gets: text, where it comes from, and why.

What was replaced gives way to what replaced it. A turn in which something was said that no
longer holds stays below the entry that corrected it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from wakebook.base.config import Search
from wakebook.store import rank
from wakebook.store.database import Row, Store
from wakebook.store.question import Allowed, Question
from wakebook.store.rank import Scored
from wakebook.store.snippet import Marker

if TYPE_CHECKING:
    from wakebook.log.query import Query

MORE = 6  # so many more than are wanted are read, to choose from
BELOW = 0.98  # a replaced thing's share of the score of what replaced it
ASKED_FOR = 0.15  # of what a date or a speaker adds: it is the one that was asked for
DATED = 0.3  # the fit of what is only of the right time, or by the right speaker
VAGUE = 0.3  # the fit of what only has stop words in common with the question
ALONE = 0.5  # a hit's share of the score that it owes to its surroundings, at most
NEAR = 0.35  # cosine similarity that means nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Something that was found."""

    ref: str  # what `get` and `show` take: an entry's id, or path#lines
    score: float  # how well it fits, 0 to 1
    snippet: str
    category: str
    type: str = ""
    subject: str = ""
    status: str = ""
    timestamp: datetime | None = None
    provenance: str = ""  # where it was said
    why: str = ""  # what made it fit, for people
    title: str = ""
    speaker: str = ""
    session: str = ""
    replaced_by: str = ""  # what holds instead
    parts: dict[str, float] = field(default_factory=dict)  # what the score is made of


class Passage(NamedTuple):
    """Something that was found, as it stands: for whoever puts a text together."""

    id: int
    row: Row
    score: float  # as a hit's
    text: str
    content: str  # an entry's text without its detail
    title: str
    language: str
    path: str  # of its file; empty for an entry
    session: str
    replaced_by: str
    done: bool  # what replaced it says that it is done
    partly: str  # what holds instead of a part of it
    why: str

    @property
    def ref(self) -> str:
        row = self.row
        return row.name or f"{self.path}#{row.line}-{row.last_line}"


class Body(NamedTuple):
    title: str
    text: str
    detail: str
    language: str

    def words(self) -> frozenset[str]:
        """As they are written: enough to see that two texts say the same."""
        return frozenset(f"{self.text} {self.detail}".casefold().split())


class Hits:
    def __init__(
        self,
        store: Store,
        question: Question,
        settings: Search,
        weights: Sequence[float],
        *,
        explain: bool = False,
    ) -> None:
        self._store = store
        self._question = question
        self._settings = settings
        self._weights = weights  # what each word of the question tells
        self._explain = explain
        self._marker = Marker(question.terms)
        self._bodies: dict[int, Body] = {}

    # --- what holds ------------------------------------------------------------------

    def settled(
        self, ranked: Sequence[Scored], query: Query, allowed: Allowed | None, limit: int
    ) -> list[Scored]:
        """The best candidates, with corrections above what they correct."""
        by_name = {item.row.name: item for item in ranked if item.row.name}
        kept: dict[int, Scored] = {}
        corrected: dict[int, Scored] = {}  # by session
        for item in ranked:
            if len(kept) >= limit + MORE:
                break
            stale = item.row.replaced_by or self._corrected(item)
            if stale:
                item.corrected_by = self._latest(stale)
                holds = self._raise(item, by_name, kept, allowed)
                if holds and item.row.session:
                    corrected.setdefault(item.row.session, holds)
            if query.shows_replaced or not item.row.replaced_by:
                kept[item.id] = item
        for item in kept.values():  # a handoff repeats what was learned in its session
            if item.row.type == "handoff" and item.row.session in corrected:
                holds = corrected[item.row.session]
                item.score = min(item.score, holds.score * BELOW)
                item.partly = holds.row.name
        return sorted(kept.values(), key=lambda item: -item.score)

    def _raise(
        self,
        item: Scored,
        by_name: dict[str, Scored],
        kept: dict[int, Scored],
        allowed: Allowed | None,
    ) -> Scored | None:
        """Put what holds above an item that does not. Returns what holds, if it may be seen."""
        name = item.corrected_by
        holds = by_name.get(name)
        if holds is None:
            sql = "SELECT id FROM chunk WHERE name = ?"
            row = self._store.db.execute(sql, (name,)).fetchone()
            if row is None or (allowed is not None and row[0] not in allowed):
                return None
            holds = by_name[name] = Scored(row[0], self._store.rows([row[0]])[row[0]])
        if holds.score < item.score:
            holds.score = item.score
            holds.instead_of = item.row.name or "what was said before"
        item.score = min(item.score, holds.score * BELOW)
        kept[holds.id] = holds
        return holds

    def _latest(self, name: str) -> str:
        seen = {""}
        while name not in seen:
            seen.add(name)
            sql = "SELECT replaced_by FROM chunk WHERE name = ? AND replaced_by <> ''"
            row = self._store.db.execute(sql, (name,)).fetchone()
            name = row[0] if row else name
        return name

    def _corrected(self, item: Scored) -> str:
        """For a turn: the entry that replaced all that was learned from it, if one did."""
        if not item.row.turn or not self._anything_said:
            return ""
        rows = self._store.db.execute(
            "SELECT c.replaced_by FROM file f "
            "JOIN said s ON s.file IN (f.path, substr(f.path, 9)) AND s.place = ? "
            "JOIN chunk c ON c.name = s.entry WHERE f.id = ? AND c.type <> 'handoff'",
            (item.row.place, item.row.file),
        ).fetchall()
        replaced = [row[0] for row in rows]
        return replaced[-1] if replaced and all(replaced) else ""

    @cached_property
    def _anything_said(self) -> bool:
        """Whether any entry says where it was said."""
        return self._store.db.execute("SELECT 1 FROM said LIMIT 1").fetchone() is not None

    # --- choosing --------------------------------------------------------------------

    def chosen(self, found: Sequence[Scored], limit: int, floor: float) -> list[Hit]:
        """The best that do not say the same, as hits. `floor` is the least score."""
        self._fetch([item.id for item in found])
        said = {item.id: self._bodies[item.id].words() for item in found}
        best = rank.diverse(found, said, limit, self._settings.diversity)
        scored = self._scored(sorted(best, key=lambda item: -item.score), floor)
        return [self.made(item, score, self._why(item)) for item, score in scored]

    def passages(self, found: Sequence[Scored]) -> list[Passage]:
        """All of them with their whole text, best first."""
        self._fetch([item.id for item in found])
        return [self._passage(item, score) for item, score in self._scored(found, 0.0)]

    def _passage(self, item: Scored, score: float) -> Passage:
        row, body = item.row, self._body(item)
        path, session, _ = self._store.source(row)
        return Passage(
            id=item.id,
            row=row,
            score=score,
            text=f"{body.text} — {body.detail}" if body.detail and row.name else body.text,
            content=body.text,
            title=body.title,
            language=body.language,
            path=path,
            session=session,
            replaced_by=item.corrected_by or row.replaced_by,
            done=self._is_done(item.corrected_by),
            partly=item.partly,
            why=self._why(item),
        )

    def _is_done(self, name: str) -> bool:
        sql = "SELECT 1 FROM chunk WHERE name = ? AND type = 'task' AND status = 'done'"
        return bool(name) and self._store.db.execute(sql, (name,)).fetchone() is not None

    def _scored(self, best: Sequence[Scored], floor: float) -> list[tuple[Scored, float]]:
        """Each with a score that says how sure it is, without those below the floor.

        The best fit among the first sets the scale; what a hit owes to its surroundings alone
        counts half.
        """
        fits = {item.id: self._fit(item) for item in best}
        sure = max([fits[item.id] for item in best[:3]], default=0.0)
        top = max((item.score for item in best), default=0.0) or 1.0
        scores: dict[int, float] = {}
        for item in best:
            own = min(1.0, fits[item.id] / sure) if sure else 0.0
            scores[item.id] = sure * item.score / top * (ALONE + (1 - ALONE) * own)
        named = {item.row.name: item.id for item in best if item.row.name}
        for item in best:  # what holds stays above what does not
            holds = named.get(item.corrected_by or item.partly)
            if holds is not None:
                scores[item.id] = min(scores[item.id], scores[holds] * BELOW)
        least, found = 0.0, []
        for item in reversed(best):  # one that its surroundings put first is as good as the next
            least = max(least, scores[item.id])
            if least >= floor:
                found.append((item, round(least, 4)))
        return found[::-1]

    def sessions(self, ranked: Sequence[Scored], limit: int, floor: float) -> list[Hit]:
        """Whole conversations, each with its best turn."""
        best: dict[int, Scored] = {}
        for item in ranked:
            if item.row.session and item.row.turn:
                best.setdefault(item.row.session, item)
        scored = self._scored(list(best.values())[:limit], floor)
        hits = [self.made(item, score, self._why(item)) for item, score in scored]
        return [replace(hit, ref=f"session:{hit.session}") for hit in hits]

    def _fit(self, item: Scored) -> float:
        """How sure it is that this answers: by words that it has, and by how near it lies."""
        near = max(0.0, (item.cosine - NEAR) / (1 - NEAR))
        held = rank.covered(item.holds, self._weights)
        if item.instead_of:  # by the words of what it replaced
            held = 1.0 if held else held
        held = VAGUE * held if self._question.vague else held
        asked_for = DATED if item.about >= ASKED_FOR else 0.0
        return 1 - (1 - held) * (1 - near) * (1 - asked_for)

    # --- one hit ---------------------------------------------------------------------

    def _body(self, item: Scored) -> Body:
        if item.id not in self._bodies:
            self._fetch([item.id])
        return self._bodies[item.id]

    def _fetch(self, ids: Sequence[int]) -> None:
        wanted = ",".join(map(str, ids))
        sql = f"SELECT id, title, text, detail, language FROM body WHERE id IN ({wanted})"  # noqa: S608
        for number, *body in self._store.db.execute(sql):
            self._bodies[number] = Body(*body)

    def made(self, item: Scored, score: float, why: str) -> Hit:
        row, body = item.row, self._body(item)
        path, session, host = self._store.source(row)
        text = f"{body.text} — {body.detail}" if body.detail and row.name else body.text
        return Hit(
            ref=row.name or f"{path}#{row.line}-{row.last_line}",
            score=score,
            snippet=self._marker.snippet(
                text or body.detail, body.language, self._settings.snippet_characters
            ),
            category=row.category,
            type=row.type,
            subject=row.subject,
            status=row.status,
            timestamp=datetime.fromtimestamp(row.at, UTC) if row.at else None,
            provenance=self._provenance(row, path, session, host),
            why=why,
            title=body.title,
            speaker=row.speaker,
            session=session,
            replaced_by=item.corrected_by or row.replaced_by,
            parts=_parts(item) if self._explain else {},
        )

    def _provenance(self, row: Row, path: str, session: str, host: str) -> str:
        if not row.name:
            where = f"{path}#{row.line}-{row.last_line}"
            return f"{host} session:{session} {where}".strip() if session else where
        if session == "manual":
            return "by hand"
        said = self._store.db.execute(
            "SELECT s.file, min(c.line), max(c.last_line) FROM said s "
            "JOIN file f ON f.path IN (s.file, 'archive/' || s.file) "
            "JOIN chunk c ON c.file = f.id AND c.place = s.place "
            "WHERE s.entry = ? GROUP BY s.file",
            (row.name,),
        ).fetchone()
        where = f"{said[0]}#{said[1]}-{said[2]}" if said else ""
        return f"{host} session:{session} {where}".strip()

    def _why(self, item: Scored) -> str:
        asked = self._question.words
        shared = [word.word for number, word in enumerate(asked) if item.holds >> number & 1]
        parts = []
        if shared:
            parts.append(f"words: {', '.join(shared[:6])}")
        if item.cosine > NEAR:
            parts.append(f"meaning {item.cosine:.2f}")
        if item.about >= ASKED_FOR:
            parts.append("the time or speaker that was asked for")
        parts += [name for name, _ in item.boosts if name not in ("distilled", "handoff")]
        if item.instead_of:
            parts.append(f"corrects {item.instead_of}")
        if item.partly:
            parts.append(f"part of it no longer holds, see {item.partly}")
        if item.corrected_by:
            parts.append(f"no longer holds, see {item.corrected_by}")
        return " · ".join(parts) or "near in meaning"


def _parts(item: Scored) -> dict[str, float]:
    boost = 1.0
    for _, factor in item.boosts:
        boost *= factor
    named = {
        "bm25": item.lexical,
        "cosine": item.cosine,
        "words": item.words,
        "meaning": item.meaning,
        "context": item.context,
        "about": item.about,
        "recency": item.recency,
        "boost": boost,
        "total": item.score,
    }
    return {name: round(value, 4) for name, value in named.items()}
