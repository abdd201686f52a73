"""Related: what replaces what, and where entries were said, kept as the log grows.

The rules are those of the log's chains, applied to the family of an entry: all that it
replaces, all that replaces it, and so on.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime

from wakebook.log import query
from wakebook.log.chains import resolve
from wakebook.log.entry import Entry


def relate(db: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    """Remember what entries replace and where they were said. They are in the index already."""
    for entry in entries:
        links = [(old, entry.id) for old in entry.replaces]
        db.executemany("INSERT OR IGNORE INTO replaces VALUES (?, ?)", links)
        if entry.transcript:
            said = [(entry.transcript, turn, entry.id) for turn in entry.evidence]
            db.executemany("INSERT OR IGNORE INTO said VALUES (?, ?, ?)", said)
    settled: set[str] = set()
    for entry in entries:
        if entry.id not in settled:
            settled |= _settle(db, entry.id)


def forget(db: sqlite3.Connection) -> None:
    """All of it: the log was rewritten. What was replaced is no longer in the index then."""
    db.execute("DELETE FROM replaces")
    db.execute("DELETE FROM said")


def _settle(db: sqlite3.Connection, name: str) -> set[str]:
    """Work out what holds in an entry's family. Returns the family."""
    family, links = _family(db, name)
    if not links:
        return family
    marks = ",".join("?" * len(family))
    rows = db.execute(
        f"SELECT name, type, own_status FROM chunk WHERE name IN ({marks}) ORDER BY place",  # noqa: S608
        list(family),
    ).fetchall()
    long_ago = datetime.fromtimestamp(0, UTC)
    chains = resolve(
        Entry(
            id=name,
            type=kind,
            status=status if kind == "task" else None,
            replaces=tuple(old for old, new in links if new == name),
            timestamp=long_ago,
            content="-",
            session="-",
        )
        for name, kind, status in rows
    )
    for entry in chains.entries:
        replaced_by = chains.replaced_by.get(entry.id, "")
        new = (replaced_by, query.status(entry, chains))
        db.execute("UPDATE chunk SET replaced_by = ?, status = ? WHERE name = ?", (*new, entry.id))
    return family


def _family(db: sqlite3.Connection, name: str) -> tuple[set[str], list[tuple[str, str]]]:
    """Every entry that an entry is connected with, and (old, new) for each connection."""
    family, links, waiting = {name}, set(), [name]
    while waiting:
        current = waiting.pop()
        sql = "SELECT old, new FROM replaces WHERE old = ?1 OR new = ?1"
        for old, new in db.execute(sql, (current,)):
            links.add((old, new))
            others = {old, new} - family
            family |= others
            waiting += others
    return family, sorted(links)
