"""References: how often something in the home refers to what was found.

An entry counts the entries that it replaced (it was refined so often), a turn the entries that
were learned from it, a note the links to it in other notes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wakebook.index.store import Store

if TYPE_CHECKING:
    from wakebook.index.hits import Passage

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
