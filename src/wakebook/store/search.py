"""Search: a Query -> Hits. What is found by its words, by its meaning, and in which order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from wakebook.base.config import Search
from wakebook.base.errors import ModelError
from wakebook.models.embedder import Embedder
from wakebook.store import postings, rank, vectors
from wakebook.store.database import Store
from wakebook.store.hits import Hit, Hits, Passage
from wakebook.store.question import Allowed, Question, allowed_rows, ask, newest
from wakebook.store.rank import Scored

if TYPE_CHECKING:
    from wakebook.log.query import Query
    from wakebook.store.database import Store
    from wakebook.store.hits import Passage

CANDIDATES = 150  # by words, and as many by meaning


class Options(NamedTuple):
    """How much is wanted."""

    limit: int = 0  # 0: as many as the settings say
    min_score: float | None = None
    sessions: bool = False  # whole conversations instead of places in them
    explain: bool = False  # with what each score is made of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """The hits of a search, and how they came about."""

    hits: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()  # what a reader should know: a fall-back, an index that is behind
    embedder: str = ""  # whose vectors were used; nothing if words alone were
    problem: str = ""  # why not, if it should have been more
    candidates: int = 0
    steps: dict[str, float] = field(default_factory=dict)  # milliseconds


class Passages(NamedTuple):
    """What was found for whoever puts a text together."""

    found: Sequence[Passage] = ()
    question: Question | None = None
    weights: Sequence[float] = ()  # what each word of the question tells
    references: Mapping[int, int] = {}  # passage -> how often something refers to it
    notes: Sequence[str] = ()
    steps: Mapping[str, float] = {}


class Searcher:
    """One question to one index."""

    def __init__(
        self,
        store: Store,
        settings: Search,
        embedder: Embedder | None,
        subjects: Mapping[str, str],
        now: datetime,
    ) -> None:
        self.store = store
        self.settings = settings
        self.embedder = embedder
        self.subjects = subjects  # slugs and aliases -> slugs
        self.now = now
        self.notes: list[str] = []
        self.steps: dict[str, float] = {}
        self._used = ""
        self._problem = ""
        self._candidates = 0
        self._allowed: Allowed | None = None
        self._since = perf_counter()

    def search(self, query: Query, options: Options) -> Found:
        limit = options.limit or self.settings.max_results
        floor = options.min_score
        if floor is None:
            floor = self.settings.min_score
        if not query.text.strip():
            return self._filtered(query, limit)
        ranked, question, weights = self.ranked(
            query, options.sessions, None if options.sessions else 2 * limit + 20
        )
        hits = Hits(self.store, question, self.settings, weights, explain=options.explain)
        if options.sessions:
            chosen = hits.sessions(ranked, limit, floor)
        else:
            settled = hits.settled(ranked, query, self._allowed, limit)
            chosen = hits.chosen(settled, limit, floor)
        self._step("read")
        return Found(
            hits=tuple(chosen),
            notes=tuple(self.notes),
            embedder=self._used,
            problem=self._problem,
            candidates=self._candidates,
            steps=self.steps,
        )

    def passages(self, query: Query, most: int) -> Passages:
        """The best candidates with their whole texts, whether or not they say the same."""
        ranked, question, weights = self.ranked(query, False, 2 * most + 20)
        hits = Hits(self.store, question, self.settings, weights)
        found = hits.passages(hits.settled(ranked, query, self._allowed, most)[:most])
        self._step("read")
        return Passages(
            found, question, weights, counted(self.store, found), self.notes, self.steps
        )

    def ranked(
        self, query: Query, whole: bool, most: int | None
    ) -> tuple[list[Scored], Question, list[float]]:
        """The best candidates, without their texts; what each word tells."""
        store = self.store
        languages, speakers = store.get("languages", []), store.get("speakers", {})
        question = ask(query.text, languages, self.subjects, speakers, self.now)
        allowed = self._allowed = allowed_rows(store, query, self.subjects)
        self._step("question")
        size = store.size()
        lexical = postings.search(store.db, question.sought, size, CANDIDATES, allowed)
        self._step("words")
        cosine = self._nearest(question, lexical.scores, allowed)
        self._step("meaning")
        rows = store.rows({*lexical.scores, *cosine})
        self._candidates = len(rows)
        now = self.now.timestamp()
        ranked = rank.rank(
            question, lexical, cosine, rows, self.settings, now, whole=whole, most=most
        )
        self._step("rank")
        return ranked, question, lexical.weights

    def _step(self, name: str) -> None:
        now = perf_counter()
        self.steps[name] = round((now - self._since) * 1000, 3)
        self._since = now

    # --- meaning ---------------------------------------------------------------------

    def _nearest(
        self, question: Question, lexical: Mapping[int, float], allowed: Any
    ) -> dict[int, float]:
        store = self.store
        if self.embedder is None or store.get("embedder") != self.embedder.name:
            return {}
        waiting = store.count("pending")
        if waiting > store.size().chunks // 20:
            self.notes.append(
                f"{waiting:,} texts have no vector of {self.embedder.name} yet, so this was found "
                "by words alone. `wakebook index` goes on with it."
            )
            return {}
        try:
            wanted = self.embedder.embed([question.meant], query=True)[0]
            vectors.check([wanted], store.get("dimension", 0) or len(wanted), self.embedder.name)
        except ModelError as error:
            self._problem = str(error)
            self.notes.append(f"Found by words alone: {error}")
            return {}
        self._used = self.embedder.name
        return store.nearest.search(store.db, wanted, CANDIDATES, allowed, lexical)

    # --- hits ------------------------------------------------------------------------

    def _filtered(self, query: Query, limit: int) -> Found:
        """Filters alone: the newest first."""
        ids = newest(self.store.db, query, self.subjects, limit)
        rows = self.store.rows(ids)
        found = [Scored(number, rows[number], score=1.0) for number in ids]
        nothing = Question(text="", words=())
        hits = Hits(self.store, nothing, self.settings, [])
        self._step("filters")
        return Found(
            hits=tuple(hits.made(item, 1.0, "within the filters") for item in found),
            candidates=len(found),
            steps=self.steps,
        )


# -----------------------------------------------------------------------------
# References: how often something in the home refers to what was found.
#
# An entry counts the entries that it replaced (it was refined so often), a turn the entries that
# were learned from it, a note the links to it in other notes.

_LINK = re.compile(r"\[\[([^\]|#\n]+)")


def counted(store: Store, found: Sequence[Passage]) -> dict[int, int]:
    entries = {one.row.name: one.id for one in found if one.row.name}
    turns = {
        (one.path.removeprefix("archive/"), one.row.place): one.id for one in found if one.row.turn
    }
    counts: dict[int, int] = {}
    if entries:
        marks = ",".join("?" * len(entries))
        sql = f"SELECT new, count(*) FROM replaces WHERE new IN ({marks}) GROUP BY new"  # noqa: S608
        counts |= {entries[name]: times for name, times in store.db.execute(sql, [*entries])}
    for file in {file for file, _ in turns}:
        sql = "SELECT place, count(*) FROM said WHERE file = ? GROUP BY place"
        for place, times in store.db.execute(sql, (file,)):
            if (file, place) in turns:
                counts[turns[file, place]] = times
    notes = {one.path for one in found if one.path and not one.row.turn}
    if notes:
        links = _links(store)
        times = {path: _linked(path, links) for path in notes}
        counts |= {one.id: times[one.path] for one in found if times.get(one.path)}
    return counts


def _links(store: Store) -> dict[str, set[str]]:
    """What notes link to -> those notes. Kept until somebody writes the index."""
    kept: dict[str, set[str]] | None = store.kept.get("links")
    if kept is None:
        rows = store.db.execute(
            "SELECT f.path, b.text FROM chunk c JOIN body b ON b.id = c.id "
            "JOIN file f ON f.id = c.file WHERE c.turn = 0 AND b.text LIKE '%[[%'"
        )
        kept = {}
        for path, text in rows:
            for name in _LINK.findall(text):
                kept.setdefault(_bare(name), set()).add(path)
        store.kept["links"] = kept
    return kept


def _linked(path: str, links: dict[str, set[str]]) -> int:
    """How many other notes link to this one: by its name, or by the end of its path."""
    parts = _bare(path).split("/")
    ends = ("/".join(parts[at:]) for at in range(len(parts)))
    return len({other for end in ends for other in links.get(end, ())} - {path})


def _bare(name: str) -> str:
    return name.strip().removesuffix(".md").casefold()
