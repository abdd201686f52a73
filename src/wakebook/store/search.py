"""Search: a Query -> Hits. What is found by its words and by its meaning, in which order, and
as what a reader gets: text, where it comes from, and why.

What was replaced gives way to what replaced it. A turn in which something was said that no
longer holds stays below the entry that corrected it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from math import prod
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wakebook.base.config import Search
from wakebook.base.errors import ModelError
from wakebook.models.embedder import Embedder
from wakebook.store import AMONG, Many, Row, Store, vectors
from wakebook.store.hits import (
    WITHIN,
    Found,
    Hit,
    Marker,
    Options,
    Passage,
    Passages,
    Replaced,
    references,
)
from wakebook.store.question import Allowed, Question, allowed_rows, ask, newest, phrases
from wakebook.store.rank import Ranked, Ranking, Scored, boosts, diverse

if TYPE_CHECKING:
    from wakebook.log.query import Query

CANDIDATES = 150  # by words, and as many by meaning
MORE = 6  # so many more than are wanted are read, to choose from
BELOW = 0.98  # a replaced thing's share of the score of what replaced it
ASKED_FOR = 0.15  # of what a date or a speaker adds: it is the one that was asked for
DATED = 0.3  # the fit of what is only of the right time, or by the right speaker
VAGUE = 0.3  # the fit of what only has stop words in common with the question
ALONE = 0.5  # a hit's share of the score that it owes to its surroundings, at most
NEAR = 0.35  # cosine similarity that means nothing
TOLD = ("open", "pinned", "subject", "archived", "exact")  # of the boosts
KEPT = 10_000  # texts that stay in memory


@dataclass(eq=False)
class Searcher:
    """One question to one index."""

    store: Store
    settings: Search
    embedder: Embedder | None
    subjects: Mapping[str, str]  # slugs and aliases -> slugs
    now: datetime
    notes: list[str] = field(default_factory=list)  # what a reader should know

    def __post_init__(self) -> None:
        self.steps: dict[str, float] = {}
        self._used = self._problem = ""
        self._candidates = 0
        self._allowed: Allowed | None = None
        self._since = perf_counter()

    def search(self, query: Query, options: Options) -> Found:
        limit = options.limit or self.settings.max_results
        floor = self.settings.min_score if options.min_score is None else options.min_score
        if not query.text.strip():
            return self._filtered(query, limit)
        most = None if options.sessions else 2 * limit + 20
        ranked, question, _ = self.ranked(query, options.sessions, most)
        hits = Hits(self.store, question, self.settings, explain=options.explain)
        if options.sessions:
            chosen = hits.sessions(ranked, limit, floor)
        else:
            settled = hits.settled(ranked, query, self._allowed, limit)
            chosen = hits.chosen(settled, limit, floor)
        self._step("read")
        if not chosen and query.filtered and (newest := self._filtered(query, limit)).hits:
            said = f"Nothing within the filters says {query.text.strip()!r}. These are the newest."
            return replace(newest, notes=(*newest.notes, said))
        return self._told(chosen)

    def _told(self, hits: Sequence[Hit]) -> Found:
        return Found(
            hits=tuple(hits),
            notes=tuple(self.notes),
            embedder=self._used,
            problem=self._problem,
            candidates=self._candidates,
            steps=self.steps,
        )

    def passages(self, query: Query, most: int) -> Passages:
        """The best candidates with their whole texts, whether or not they say the same."""
        ranked, question, weights = self.ranked(query, False, 2 * most + 20)
        hits = Hits(self.store, question, self.settings)
        found = hits.passages(hits.settled(ranked, query, self._allowed, most)[:most])
        self._step("read")
        refers = references(self.store, found)
        replaced = self.store.keep("replaced", self._replaced)
        return Passages(found, question, weights, refers, self.notes, self.steps, replaced)

    def _replaced(self) -> list[Replaced]:
        from wakebook.log.entry import doubts

        sql = (
            "SELECT old.text, new.text, n.at FROM chunk c JOIN body old ON old.id = c.id "
            "JOIN chunk n ON n.name = c.replaced_by JOIN body new ON new.id = n.id "
            "WHERE c.replaced_by <> '' AND c.type <> 'handoff' AND old.text <> new.text "
            "ORDER BY c.id"
        )
        found = [Replaced(*row) for row in self.store.db.execute(sql)]
        sql = (  # as the index body_doubts has it; what holds in place of it casts the doubt
            "WITH RECURSIVE ends (detail, id, named, id_at_end) AS ("
            "  SELECT b.detail, c.id, c.replaced_by, c.id FROM body b JOIN chunk c ON c.id = b.id "
            "  WHERE b.detail LIKE '%Perhaps no longer: %' "
            "  UNION SELECT e.detail, e.id, c.replaced_by, c.id FROM ends e "
            "  JOIN chunk c ON c.name = e.named WHERE e.named <> ''"
            ") SELECT e.detail, b.text, c.at FROM ends e JOIN chunk c ON c.id = e.id_at_end "
            "JOIN body b ON b.id = c.id WHERE e.named = '' ORDER BY e.id"
        )
        rows = self.store.db.execute(sql)
        return found + [
            Replaced(old, new, at, False) for detail, new, at in rows for old in doubts(detail)
        ]

    def ranked(
        self, query: Query, whole: bool, most: int | None
    ) -> tuple[Ranked, Question, list[float]]:
        """The best candidates, without their texts; what each word tells."""
        store = self.store
        languages, speakers = store.get("languages", []), store.get("speakers", {})
        subjects = store.keep("phrases", lambda: phrases(self.subjects))
        question = ask(query.text, languages, subjects, speakers, self.now)
        allowed = self._allowed = allowed_rows(store, query, self.subjects)
        self._step("question")
        lexical = store.postings.search(question.words, store.edition(), CANDIDATES, allowed)
        self._step("words")
        near = self._nearest(question, lexical.ids, allowed)
        self._step("meaning")
        ranking = Ranking(store, question, self.settings, self.now.timestamp(), whole)
        ranked = ranking.best(lexical, near, most)
        self._candidates = ranking.candidates
        self._step("rank")
        return ranked, question, lexical.weights

    def _step(self, name: str) -> None:
        now = perf_counter()
        self.steps[name] = round((now - self._since) * 1000, 3)
        self._since = now

    def _nearest(self, question: Question, also: Any, allowed: Allowed | None) -> tuple[Any, Any]:
        """Chunks that mean something like the question, and how near they and `also` lie."""
        store, nothing = self.store, (also, np.zeros(len(also)))
        if self.embedder is None or store.get("embedder") != self.embedder.name:
            return nothing
        waiting = store.keep("pending", lambda: store.count("pending"))
        if waiting > store.edition().chunks // 20:
            self.notes.append(
                f"{waiting:,} texts have no vector of {self.embedder.name} yet, so this was found "
                "by words alone. `wakebook index` goes on with it."
            )
            return nothing
        try:
            wanted = self.embedder.embed([question.meant], query=True)
            vectors.check(wanted, store.get("dimension", 0) or len(wanted[0]), self.embedder.name)
        except ModelError as error:
            self._problem = str(error)
            self.notes.append(f"Found by words alone: {error}")
            return nothing
        self._used = self.embedder.name
        return store.nearest.search(wanted[0], CANDIDATES, allowed, also, store.edition())

    def _filtered(self, query: Query, limit: int) -> Found:
        """Filters alone: the newest first."""
        ids = newest(self.store, query, self.subjects, limit)
        rows = self.store.rows(ids)
        hits = Hits(self.store, Question(text="", words=()), self.settings)
        self._step("filters")
        self._candidates = len(ids)
        found = [Scored(number, rows[number], score=1.0) for number in ids]
        return self._told(hits.within(found))


# --- from candidates to hits -------------------------------------------------------------
class Body(NamedTuple):
    title: str
    text: str
    detail: str
    language: str

    def whole(self, row: Row) -> str:
        """With the detail of an entry."""
        return f"{self.text} — {self.detail}" if self.detail and row.name else self.text


class Hits:
    def __init__(
        self, store: Store, question: Question, settings: Search, *, explain: bool = False
    ) -> None:
        self._store = store
        self._question = question
        self._settings = settings
        self._explain = explain
        self._marker = Marker(question.terms)
        self._bodies: dict[int, Body] = store.keep("bodies", dict)
        self._words: dict[int, Set[str]] = store.keep("words", dict)
        self._stale: dict[int, str] = store.keep("stale", dict)
        self._places: dict[str, str] = store.keep("places", dict)
        sql = "SELECT 1 FROM said LIMIT 1"  # whether any entry says where it was said
        self._said = store.keep("said", lambda: store.db.execute(sql).fetchone() is not None)
        if len(self._bodies) > KEPT:
            for kept in (self._bodies, self._words, self._stale, self._places):
                kept.clear()

    def settled(
        self, ranked: Ranked, query: Query, allowed: Allowed | None, limit: int
    ) -> list[Scored]:
        """The best candidates, with corrections above what they correct."""
        by_name: dict[str, Scored] = {}  # made if one of them no longer holds
        kept: dict[int, Scored] = {}
        corrected: dict[int, Scored] = {}  # by session
        for item in ranked:
            stale = item.row.replaced_by or (item.row.turn and self._corrected(item, ranked))
            if stale:
                by_name = by_name or {other.row.name: other for other in ranked if other.row.name}
                item.corrected_by = self._latest(stale)
                holds = self._raise(item, by_name, kept, allowed)
                if holds and item.row.session:
                    corrected.setdefault(item.row.session, holds)
            if query.shows_replaced or not item.row.replaced_by:
                kept[item.id] = item
            if len(kept) >= limit + MORE:
                break
        for item in kept.values():  # a handoff repeats what was learned in its session
            if item.row.type == "handoff" and item.row.session in corrected:
                holds = corrected[item.row.session]
                item.score = min(item.score, holds.score * BELOW)
                item.partly = holds.row.name
        return sorted(kept.values(), key=lambda item: -item.score)

    def _raise(
        self, item: Scored, by_name: dict[str, Scored], kept: dict[int, Scored], allowed: Any
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

    def _corrected(self, item: Scored, ranked: Ranked) -> str:
        """For a turn: the entry that replaced all that was learned from it, if one did."""
        if self._said and item.id not in self._stale:
            self._stale |= self._replaced_turns([one.row for one in ranked.made if one.row.turn])
        return self._stale.get(item.id, "")

    def _replaced_turns(self, rows: Sequence[Row]) -> dict[int, str]:
        """The same for some turns: "" for those that hold."""
        self._store.sources(rows)
        paths = {row.id: self._store.source(row)[0] for row in rows}
        names = {*paths.values(), *(path.removeprefix("archive/") for path in paths.values())}
        sql = "SELECT s.file, s.place, c.replaced_by FROM said s JOIN chunk c ON c.name = s.entry"
        where = f"s.file {AMONG} AND s.place {AMONG} AND c.type <> 'handoff'"
        values = (Many(names), Many({row.place for row in rows}))
        learned: dict[tuple[str, int], list[str]] = {}
        run = self._store.db.execute
        for file, place, by in run(f"{sql} WHERE {where} ORDER BY s.entry", values):
            learned.setdefault((file, place), []).append(by)
        found = {}
        for row in rows:
            path = paths[row.id]
            files = dict.fromkeys((path, path.removeprefix("archive/")))
            by = [one for file in files for one in learned.get((file, row.place), ())]
            found[row.id] = by[-1] if by and all(by) else ""
        return found

    def chosen(self, found: Sequence[Scored], limit: int, floor: float) -> list[Hit]:
        """The best that do not say the same, as hits. `floor` is the least score."""
        self._fetch(found)
        best = diverse(found, self._words_of, limit, self._settings.diversity)
        scored = self._scored(sorted(best, key=lambda item: -item.score), floor)
        return self._made(scored)

    def passages(self, found: Sequence[Scored]) -> list[Passage]:
        """All of them with their whole text, best first."""
        self._fetch(found)
        self._store.sources([item.row for item in found])
        return [self._passage(item, score) for item, score in self._scored(found, 0.0)]

    def _passage(self, item: Scored, score: float) -> Passage:
        row, body = item.row, self._bodies[item.id]
        path, session, _ = self._store.source(row)
        sql = "SELECT 1 FROM chunk WHERE name = ? AND type = 'task' AND status = 'done'"
        by = item.corrected_by
        done = bool(by) and self._store.db.execute(sql, (by,)).fetchone() is not None
        return Passage(
            id=item.id,
            row=row,
            score=score,
            text=body.whole(row),
            content=body.text,
            title=body.title,
            language=body.language,
            path=path,
            session=session,
            replaced_by=item.corrected_by or row.replaced_by,
            done=done,
            partly=item.partly,
            why=partial(self._why, item),  # of what is told, for people
            cosine=item.cosine,
            holds=item.holds,
        )

    def _scored(self, best: Sequence[Scored], floor: float) -> list[tuple[Scored, float]]:
        """Each with a score that says how sure it is, without those below the floor. The best fit
        among the first sets the scale; what a hit owes to its surroundings alone counts half."""
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

    def sessions(self, ranked: Iterable[Scored], limit: int, floor: float) -> list[Hit]:
        """Whole conversations, each with its best turn."""
        best: dict[int, Scored] = {}
        for item in ranked:
            if item.row.session and item.row.turn:
                best.setdefault(item.row.session, item)
                if len(best) == limit:
                    break
        hits = self._made(self._scored(list(best.values()), floor))
        return [replace(hit, ref=f"session:{hit.session}") for hit in hits]

    def _fit(self, item: Scored) -> float:
        """How sure it is that this answers: by words that it has, and by how near it lies."""
        near = max(0.0, (item.cosine - NEAR) / (1 - NEAR))
        held = 1.0 if item.instead_of and item.covers else item.covers  # by what it replaced
        held = VAGUE * held if self._question.vague else held
        asked_for = DATED if item.about >= ASKED_FOR else 0.0
        return 1 - (1 - held) * (1 - near) * (1 - asked_for)

    # --- one hit ---------------------------------------------------------------------

    def _words_of(self, item: Scored) -> Set[str]:
        """As they are written: enough to see that two texts say the same."""
        if item.id not in self._words:
            body = self._bodies[item.id]
            self._words[item.id] = frozenset(f"{body.text} {body.detail}".casefold().split())
        return self._words[item.id]

    def _fetch(self, items: Sequence[Scored]) -> None:
        columns = "id, title, text, detail, language"
        wanted = [item.id for item in items if item.id not in self._bodies]
        for number, *body in self._store.read("body", columns, wanted) if wanted else ():
            self._bodies[number] = Body(*body)

    def _made(self, scored: Sequence[tuple[Scored, float]], why: str = "") -> list[Hit]:
        """Hits, whose sources are read together."""
        rows = [item.row for item, _ in scored]
        self._fetch([item for item, _ in scored])
        self._store.sources(rows)
        if self._said:
            self._locate([row.name for row in rows if row.name])
        bodies = [(self._bodies[row.id], row) for row in rows]
        texts = [(body.whole(row) or body.detail, body.language) for body, row in bodies]
        snippets = iter(self._marker.snippets(texts, self._settings.snippet_characters))
        return [self._hit(item, score, next(snippets), why) for item, score in scored]

    def _hit(self, item: Scored, score: float, snippet: str, why: str) -> Hit:
        row = item.row
        path, session, host = self._store.source(row)
        return Hit(
            ref=row.name or f"{path}#{row.line}-{row.last_line}",
            score=score,
            snippet=snippet,
            category=row.category,
            type=row.type,
            subject=row.subject,
            status=row.status,
            timestamp=datetime.fromtimestamp(row.at, UTC) if row.at else None,
            provenance=self._provenance(row, path, session, host),
            why=why or self._why(item),
            title=self._bodies[row.id].title,
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
        return f"{host} session:{session} {self._places.get(row.name, '')}".strip()

    def _locate(self, names: Sequence[str]) -> None:
        """Find where entries were said, as file#lines."""
        missing = [name for name in names if name not in self._places]
        self._places.update(dict.fromkeys(missing, ""))
        if not missing:
            return
        run = self._store.db.execute
        sql = "SELECT entry, file, place FROM said"
        where = f"entry {AMONG} ORDER BY entry, file"
        said = run(f"{sql} WHERE {where}", (Many(missing),)).fetchall()
        files = {file for _, file, _ in said}
        paths = Many({*files, *(f"archive/{file}" for file in files)})
        sql = (
            "SELECT f.path, c.place, c.line, c.last_line FROM file f JOIN chunk c ON c.file = f.id"
        )
        where = f"f.path {AMONG} AND c.place {AMONG}"
        values = (paths, Many({one[2] for one in said}))
        lines: dict[tuple[str, int], list[int]] = {}
        for path, place, first, last in run(f"{sql} WHERE {where}", values):
            lines.setdefault((path.removeprefix("archive/"), place), []).extend((first, last))
        found: dict[tuple[str, str], list[int]] = {}
        for name, file, place in said:
            found.setdefault((name, file), []).extend(lines.get((file, place), ()))
        for (name, file), numbers in reversed(found.items()):  # of several files the first counts
            if numbers:
                self._places[name] = f"{file}#{min(numbers)}-{max(numbers)}"

    def within(self, found: Sequence[Scored]) -> list[Hit]:
        """All of them, which no question was asked about."""
        return self._made([(item, 1.0) for item in found], WITHIN)

    def _why(self, item: Scored) -> str:
        asked = self._question.words
        shared = [word.word for number, word in enumerate(asked) if item.holds >> number & 1]
        parts = [f"words: {', '.join(shared[:6])}"] if shared else []
        if item.cosine > NEAR:
            parts.append(f"meaning {item.cosine:.2f}")
        if item.about >= ASKED_FOR:
            parts.append("the time or speaker that was asked for")
        if item.asked or not item.row.turn or item.row.archived:
            known = {name for name, _ in (*boosts(item.row), *item.asked)}
            parts += [name for name in TOLD if name in known]
        if item.instead_of:
            parts.append(f"corrects {item.instead_of}")
        if item.partly:
            parts.append(f"part of it no longer holds, see {item.partly}")
        if item.corrected_by:
            parts.append(f"no longer holds, see {item.corrected_by}")
        return " · ".join(parts) or "near in meaning"


def _parts(item: Scored) -> dict[str, float]:
    named = {
        "bm25": item.lexical,
        "cosine": item.cosine,
        "words": item.words,
        "meaning": item.meaning,
        "context": item.context,
        "about": item.about,
        "recency": item.recency,
        "boost": prod((factor for _, factor in (*boosts(item.row), *item.asked)), start=1.0),
        "total": item.score,
    }
    return {name: round(value, 4) for name, value in named.items()}
