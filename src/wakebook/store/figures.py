"""Figures: counts over the whole memory, for pictures of it. Each is one question to index.db.

All of them take a `Store` that is being read (`Index.peek`); what is expensive is kept until the
index changes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import date, datetime, tzinfo
from typing import TYPE_CHECKING, NamedTuple

from wakebook.log.entry import decode
from wakebook.store import AMONG, Many

if TYPE_CHECKING:
    from wakebook.log.entry import Entry
    from wakebook.store import Store

RELATED = 79  # subjects around another one, at most
NEWEST = 4_000  # conversations about a subject that are looked at, the newest


_days: dict[tuple[str, str], tuple[object, int, dict[date, dict[str, int]]]] = {}
_one_at_a_time = threading.Lock()


def by_day(store: Store, zone: tzinfo) -> dict[date, dict[str, int]]:
    """How many entries of each type were said on each day, of all days. What the log has gained
    since the last time is counted alone, for all threads together."""
    key = (str(store.path), str(zone))
    same = store.get("log", {}).get("same") or [0, 0, None]
    log = (same[0], same[2])  # which file it is, and how often it was rewritten
    with _one_at_a_time:
        known, last, found = _days.get(key, (None, 0, {}))
        (end,) = store.db.execute("SELECT coalesce(max(seq), 0) FROM entry").fetchone()
        if known != log or end < last:
            last, found = 0, {}
        if end > last:
            found = {day: dict(counts) for day, counts in found.items()}
            _count(store, zone, last, found)
        _days[key] = (log, end, found)
        return found


def _count(store: Store, zone: tzinfo, last: int, found: dict[date, dict[str, int]]) -> None:
    """By the quarter of an hour, where days of all time zones begin."""
    sql = (
        "SELECT type, CAST(at AS INTEGER) / 900 AS quarter, count(*) FROM entry WHERE seq > ? "
        "GROUP BY type, quarter"
    )
    days: dict[int, date] = {}
    for kind, quarter, number in store.db.execute(sql, [last]):
        if quarter not in days:
            days[quarter] = datetime.fromtimestamp(quarter * 900, zone).date()
        counts = found.setdefault(days[quarter], {})
        counts[kind] = counts.get(kind, 0) + number


class EntryNow(NamedTuple):
    """An entry as it is now."""

    entry: Entry
    status: str
    replaced_by: str


def entries(store: Store, ids: Iterable[str]) -> dict[str, EntryNow]:
    """Of these, the ones that are there."""
    sql = f"SELECT id, line, status, replaced_by FROM entry WHERE id {AMONG}"  # noqa: S608
    rows = store.db.execute(sql, [Many(ids)]).fetchall()
    return {name: EntryNow(decode(line), *rest) for name, line, *rest in rows}


class StripTurn(NamedTuple):
    """One turn of a conversation, as a picture shows it."""

    place: int
    speaker: str
    at: int
    size: int  # characters
    learned: tuple[tuple[str, str], ...]  # id and type of the entries that came from it


def strip(store: Store, path: str) -> list[StripTurn]:
    """A transcript, turn by turn, with what was learned from each."""
    sql = (
        "SELECT s.place, e.id, e.type FROM said s JOIN entry e ON e.id = s.entry "
        "WHERE s.file = ? ORDER BY e.seq"
    )
    learned: dict[int, list[tuple[str, str]]] = {}
    for place, name, kind in store.db.execute(sql, [path.removeprefix("archive/")]):
        learned.setdefault(place, []).append((name, kind))
    sql = (
        "SELECT c.place, max(c.speaker), min(c.at), sum(length(b.text)) FROM file f "
        "JOIN chunk c ON c.file = f.id JOIN body b ON b.id = c.id "
        "WHERE f.path = ? AND c.turn GROUP BY c.place ORDER BY c.place"
    )
    rows = store.keep(("turns", path), lambda: store.db.execute(sql, [path]).fetchall())
    return [
        StripTurn(place, speaker, at, size, tuple(learned.get(place, ())))
        for place, speaker, at, size in rows
    ]


class Neighbours(NamedTuple):
    """A subject, those that came up in the same conversations, and how often together."""

    subject: str
    entries: int
    conversations: int
    around: tuple[tuple[str, int], ...]  # subjects, with conversations that they share
    between: tuple[tuple[str, str, int], ...]  # two of those around, with what they share
    more: int = 0  # subjects that are not shown


def neighbours(store: Store, subject: str, most: int = RELATED) -> Neighbours:
    key = ("neighbours", subject, most)
    return store.keep(key, lambda: _neighbours(store, subject, most))


def _neighbours(store: Store, subject: str, most: int) -> Neighbours:
    db = store.db
    sql = "SELECT count(*) FROM entry WHERE subject = ? AND replaced_by = ''"
    (number,) = db.execute(sql, [subject]).fetchone()
    sql = (
        "SELECT s.file FROM entry e JOIN said s ON s.entry = e.id "
        "WHERE e.subject = ? AND e.replaced_by = '' "
        "GROUP BY s.file ORDER BY max(e.at) DESC LIMIT ?"
    )
    files = [file for (file,) in db.execute(sql, [subject, NEWEST])]
    sql = (
        f"SELECT DISTINCT s.file, e.subject FROM said s JOIN entry e ON e.id = s.entry "  # noqa: S608
        f"WHERE s.file {AMONG} AND e.subject NOT IN ('', ?) AND e.replaced_by = ''"
    )
    together: dict[str, set[str]] = {}
    for file, other in db.execute(sql, [Many(files), subject]):
        together.setdefault(other, set()).add(file)
    order = sorted(together, key=lambda one: (-len(together[one]), one))
    shown = order[:most]
    pairs = (
        (one, other, len(together[one] & together[other]))
        for at, one in enumerate(shown)
        for other in shown[at + 1 :]
    )
    return Neighbours(
        subject,
        number,
        len(files),
        tuple((one, len(together[one])) for one in shown),
        tuple(pair for pair in pairs if pair[2] > 1),
        len(order) - len(shown),
    )


def projects(store: Store, ids: Iterable[int]) -> dict[int, tuple[str, bool]]:
    """Of chunks: their project, and whether they are about the user."""
    rows = store.read("chunk", "id, project, own", [*ids])
    return {number: (project, bool(own)) for number, project, own in rows}
