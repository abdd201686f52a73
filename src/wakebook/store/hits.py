"""Hits: what a search gives back, and how often something refers to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from wakebook.store.database import Row, Store
from wakebook.store.question import Question


class Options(NamedTuple):
    """How much is wanted."""

    limit: int = 0  # 0: as many as the settings say
    min_score: float | None = None
    sessions: bool = False  # whole conversations instead of places in them
    explain: bool = False  # with what each score is made of


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """The hits of a search, and how they came about."""

    hits: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()  # what a reader should know: a fall-back, an index that is behind
    embedder: str = ""  # whose vectors were used; nothing if words alone were
    problem: str = ""  # why not, if it should have been more
    candidates: int = 0
    steps: dict[str, float] = field(default_factory=dict)  # milliseconds


class Passage(NamedTuple):
    """Something that was found, as it stands: for the compiler of a context."""

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


class Passages(NamedTuple):
    """What was found, for the compiler of a context."""

    found: Sequence[Passage] = ()
    question: Question | None = None
    weights: Sequence[float] = ()  # what each word of the question tells
    references: Mapping[int, int] = {}  # passage -> how often something refers to it
    notes: Sequence[str] = ()
    steps: Mapping[str, float] = {}


# --- references --------------------------------------------------------------------------

_LINK = re.compile(r"\[\[([^\]|#\n]+)")


def references(store: Store, found: Sequence[Passage]) -> dict[int, int]:
    """How often something refers to each: an entry counts the entries that it replaced, a turn
    the entries that were learned from it, a note the links to it in other notes."""
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
        links = store.keep("links", lambda: _links(store))
        times = {path: _linked(path, links) for path in notes}
        counts |= {one.id: times[one.path] for one in found if times.get(one.path)}
    return counts


def _links(store: Store) -> dict[str, set[str]]:
    """What notes link to -> those notes."""
    rows = store.db.execute(
        "SELECT f.path, b.text FROM chunk c JOIN body b ON b.id = c.id "
        "JOIN file f ON f.id = c.file WHERE c.turn = 0 AND b.text LIKE '%[[%'"
    )
    found: dict[str, set[str]] = {}
    for path, text in rows:
        for name in _LINK.findall(text):
            found.setdefault(_bare(name), set()).add(path)
    return found


def _linked(path: str, links: dict[str, set[str]]) -> int:
    """How many other notes link to this one: by its name, or by the end of its path."""
    parts = _bare(path).split("/")
    ends = ("/".join(parts[at:]) for at in range(len(parts)))
    return len({other for end in ends for other in links.get(end, ())} - {path})


def _bare(name: str) -> str:
    return name.strip().removesuffix(".md").casefold()
