"""The same home twice: with index.db, and with a tenant's rows in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tests.store.making import NOW
from wakebook import Memory
from wakebook.log.query import Query
from wakebook.store.hits import Found, Options
from wakebook.team.database import Database
from wakebook.team.store import TenantStore

TABLES = {
    "chunk": "name, place, line, last_line, at, category, type, subject, status, kind, speaker, "
    "project, own, pinned, archived, asks, turn, dated, replaced_by, digest",
    "body": "id, title, text, detail, language",
    "replaces": "old, new",
    "said": "file, place, entry",
    "entry": "id, subject, at, type, kind, status, pinned, depth, replaced_by, line",
    "pending": "id",
}


def added(db: Database, name: str) -> int:
    """A new tenant."""
    sql = "INSERT INTO home (name) VALUES (%s) RETURNING tenant"
    with db.admin() as connection:
        row = connection.execute(sql, (name,)).fetchone()
    assert row is not None
    return int(row[0])


def opened(root: Path, db: Database, tenant: int) -> Memory:
    """A home whose index is a tenant's."""
    memory = Memory(root)
    memory.home.opens = lambda: TenantStore(db, tenant)
    return memory


class Pair:
    def __init__(self, plain: Memory, db: Database, tenant: int) -> None:
        self.root, self.db, self.tenant = plain.home.root, db, tenant
        self.plain = Memory(self.root)
        self.team = opened(self.root, db, tenant)

    def search(self, query: Query, options: Options) -> Found:
        """What both find, which is the same to the last digit."""
        found = [memory.index.search(query, NOW, options) for memory in (self.plain, self.team)]
        told = [[msgspec.to_builtins(hit) for hit in one.hits] for one in found]
        assert told[0] == told[1], query
        assert found[0].notes == found[1].notes
        assert (found[0].candidates, found[0].embedder) == (found[1].candidates, found[1].embedder)
        return found[1]

    def find(self, text: str, *, limit: int = 10, sessions: bool = False, **filters: Any) -> Found:
        options = Options(limit=limit, min_score=0, sessions=sessions, explain=True)
        return self.search(Query(text=text, **filters), options)

    def passages(self, text: str, **filters: Any) -> None:
        query = Query(text=text, **filters)
        both = [memory.index.passages(query, NOW, 30) for memory in (self.plain, self.team)]
        found = [[one._replace(why=str) for one in several.found] for several in both]
        assert found[0] == found[1]
        for name in ("weights", "references", "replaced"):
            assert getattr(both[0], name) == getattr(both[1], name)

    def changed(self) -> None:
        """Something was written: both look at once."""
        for memory in (self.plain, self.team):
            memory.opened.index.changed()

    def same_rows(self) -> None:
        """Both hold the same, whatever was done to them."""
        self.changed()
        for memory in (self.plain, self.team):
            memory.index.sync()
        for table, columns in TABLES.items():
            order = ", ".join(str(at + 1) for at in range(columns.count(",") + 1))
            sql = f"SELECT {columns} FROM {table} ORDER BY {order}"
            one, other = (self._rows(memory, sql) for memory in (self.plain, self.team))
            assert one == other, table
        assert self._terms(self.plain) == self._terms(self.team)

    def _rows(self, memory: Memory, sql: str) -> list[Any]:
        return [tuple(row) for row in memory.index.store.db.execute(sql).fetchall()]

    def _terms(self, memory: Memory) -> Mapping[str, Any]:
        store = memory.index.store
        table = "posting" if isinstance(store, TenantStore) else "term"
        words = [word for (word,) in store.db.execute(f"SELECT DISTINCT word FROM {table}")]
        found = store.uses(words)
        return {word: (ids.tolist(), uses.tolist()) for word, (ids, uses) in found.items()}
