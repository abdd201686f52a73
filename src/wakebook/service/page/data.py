"""What several views ask of the index. Nothing here reads the whole log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from wakebook.base.errors import NotFound
from wakebook.base.home import Home
from wakebook.log.entry import RETRACTED, Entry, decode
from wakebook.log.subjects import Registry
from wakebook.memory import Memory
from wakebook.service.page.layout import Frame
from wakebook.service.page.request import Done
from wakebook.store import AMONG, Connection, Many

HOLDS = "SELECT count(*) FROM entry WHERE replaced_by = ''"
COUNTED_SECONDS = 600.0  # that an answer of a question to all of the index is kept
COLUMNS = "id, status, replaced_by, depth, line"


class Remembered(NamedTuple):
    """An entry, and what the index knows about it."""

    entry: Entry
    status: str = ""  # open, done, answered, replaced, or nothing
    replaced_by: str = ""
    was: str = ""  # the words that it corrects
    host: str = ""  # that it was said to
    subject: str = ""  # as people write it

    @property
    def state(self) -> str:
        """What a person should see at once."""
        if self.replaced_by:
            return "replaced"
        if self.status == "open":
            return "open"
        if self.entry.extra.get(RETRACTED):
            return "no longer"
        return "corrected" if self.was else "pinned" if self.entry.pinned else ""


def frame_of(memory: Memory, done: Done | None = None) -> Frame:
    [(entries,)] = counted(memory, HOLDS)
    from wakebook.service.page.needs import number

    return Frame(named(memory.home), entries, number(memory), done)


def named(home: Home) -> str:
    """A home as people write it."""
    try:
        return f"~/{home.root.relative_to(Path.home())}"
    except ValueError:
        return str(home.root)


def entries(
    memory: Memory,
    where: str,
    *values: Any,
    order: str = "at DESC, seq DESC",
    most: int = 50,
    skip: int = 0,
) -> list[Remembered]:
    """Entries by a condition on the index's table, the newest first."""
    registry = memory.log.registry()

    def ask(db: Connection) -> list[Remembered]:
        sql = f"SELECT {COLUMNS} FROM entry WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?"  # noqa: S608
        return completed(db, registry, db.execute(sql, [*values, most, skip]).fetchall())

    return memory.index.ask(ask)


def completed(
    db: Connection, registry: Registry, found: Sequence[tuple[Any, ...]]
) -> list[Remembered]:
    """Rows of the index as entries, with the words that they correct and their hosts."""
    read = [(decode(line), status, by, depth) for _, status, by, depth, line in found]
    old = {name for entry, *_ in read for name in entry.replaces}
    sql = f"SELECT id, line FROM entry WHERE id {AMONG}"  # noqa: S608
    known = {name: decode(line) for name, line in db.execute(sql, [Many(old)])}
    names = Many(sorted({entry.session for entry, *_ in read}))
    sql = f"SELECT name, host FROM session WHERE name {AMONG}"  # noqa: S608
    hosts = dict(db.execute(sql, [names]).fetchall())
    called = {one.slug: one.display for one in registry.known()}
    return [
        Remembered(
            entry,
            status,
            by,
            next(
                (known[one].content for one in entry.replaces if _differs(entry, known.get(one))),
                "",
            ),
            hosts.get(entry.session, ""),
            called.get(entry.subject, entry.subject),
        )
        for entry, status, by, _ in read
    ]


def _differs(entry: Entry, old: Entry | None) -> bool:
    """Whether a correction has other words: one that only pins, or is done, has not."""
    return old is not None and old.content != entry.content and old.type != "handoff"


def one(memory: Memory, name: str) -> Remembered:
    """An entry by its id, or the beginning of it. Raises NotFound."""
    found = entries(memory, "id >= ? AND id < ?", name, f"{name}\U0010ffff", order="seq", most=2)
    exact = [one for one in found if one.entry.id == name]
    if exact or len(found) == 1:
        return (exact or found)[0]
    several = "More than one entry begins so." if found else "It may have been forgotten."
    raise NotFound(f"There is no entry {name!r} in the log. {several}")


def family(db: Connection, name: str) -> list[str]:
    """The ids of all that an entry has replaced, and that has replaced it."""
    sql = (
        "WITH RECURSIVE kin(id) AS (SELECT ?1 UNION SELECT r.new FROM replaces r JOIN kin "
        "ON r.old = kin.id UNION SELECT r.old FROM replaces r JOIN kin ON r.new = kin.id) "
        "SELECT id FROM kin LIMIT 500"
    )
    return [row[0] for row in db.execute(sql, [name])]


def by_day(memory: Memory, days: int, now: datetime) -> list[int]:
    """How many entries each of the last days has brought, today's last."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    edges = [(midnight - timedelta(days=days - 1 - at)).timestamp() for at in range(days)]
    edges.append((midnight + timedelta(days=1)).timestamp())
    sql = "SELECT count(*) FROM entry WHERE at >= ? AND at < ?"

    def ask(db: Connection) -> list[int]:
        spans = pairwise(edges)
        return [int(db.execute(sql, span).fetchone()[0]) for span in spans]

    return memory.index.ask(ask)


def last_day(memory: Memory, before: datetime) -> tuple[datetime, datetime] | None:
    """The last day that brought something, before the one of a moment."""
    until = before.replace(hour=0, minute=0, second=0, microsecond=0)
    where = "at < ? AND type <> 'handoff' AND replaced_by = '' ORDER BY at DESC LIMIT 1"
    found = asked(memory, f"SELECT at FROM entry WHERE {where}", until.timestamp())  # noqa: S608
    if not found:
        return None
    at = datetime.fromtimestamp(found[0][0], before.tzinfo)
    begin = at.replace(hour=0, minute=0, second=0, microsecond=0)
    return begin, begin + timedelta(days=1)


def asked(memory: Memory, sql: str, *values: Any) -> list[Any]:
    """The rows of a question to the index."""
    return memory.index.ask(lambda db: db.execute(sql, values).fetchall())


def counted(memory: Memory, sql: str, *values: Any) -> list[Any]:
    """The same for a question that looks at everything: asked anew when the index has changed."""
    from wakebook.service.page.behind import kept

    store = memory.index.store

    def ask(db: Connection) -> list[Any]:
        def rows() -> list[Any]:
            return db.execute(sql, values).fetchall()

        if store.fed:
            return rows()
        mark = store.get("version", 0), repr(store.get("log"))
        return kept((str(store.path), sql, values, mark), COUNTED_SECONDS, rows)

    return memory.index.ask(ask)


def titles(memory: Memory, paths: Iterable[str]) -> dict[str, str]:
    """The titles of conversations, by path."""
    first = "file f JOIN chunk c ON c.file = f.id AND c.place = 1 JOIN body b ON b.id = c.id"
    sql = f"SELECT f.path, b.title FROM {first} WHERE f.path {AMONG}"  # noqa: S608
    return dict(asked(memory, sql, Many(paths)))
