"""Scope: which chunks a question may see at all. Every way of reading the index asks here."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wakebook.index.store import Store
    from wakebook.log.query import Query


class Allowed:
    """A set of chunk ids, as a set or as numpy's mask, whichever is asked for."""

    def __init__(self, ids: Iterable[int]) -> None:
        self._ids = list(ids)
        self._set: frozenset[int] | None = None
        self._mask: Any = None

    def __contains__(self, number: int) -> bool:
        if self._set is None:
            self._set = frozenset(self._ids)
        return number in self._set

    def __len__(self) -> int:
        return len(self._ids)

    def mask(self, top: int) -> Any:
        """True for every allowed id from 0 to `top`."""
        import numpy as np

        if self._mask is None or len(self._mask) <= top:
            ids = np.array(self._ids, np.int64)
            self._mask = np.zeros(max(top, int(ids.max(initial=0))) + 1, bool)
            self._mask[ids] = True
        return self._mask[: top + 1]


def where(query: Query, aliases: Mapping[str, str]) -> tuple[str, list[Any]]:
    """The query's filters as a condition on `chunk`, and its values."""
    parts: list[str] = [] if query.shows_replaced else ["replaced_by = ''"]
    values: list[Any] = []

    def among(column: str, wanted: Iterable[Any]) -> None:
        items = list(wanted)
        parts.append(f"{column} IN ({','.join('?' * len(items))})")
        values.extend(items)

    if query.types:
        among("type", query.types)
    if query.kinds:
        among("kind", query.kinds)
    if query.categories:
        among("category", query.categories)
    if query.subjects:
        names = {aliases.get(name, name) for name in query.subjects}
        among("subject", names | {old for old, new in aliases.items() if new in names})
    if query.status:
        among("status", [query.status])
    if query.session:
        parts.append("session IN (SELECT id FROM session WHERE substr(name, 1, ?) = ?)")
        values += [len(query.session), query.session]
    if query.host:
        parts.append("session IN (SELECT id FROM session WHERE host = ?)")
        values.append(query.host)
    if query.since:
        parts.append("at >= ?")
        values.append(int(query.since.timestamp()))
    if query.until:
        parts.append("at < ? AND at > 0")
        values.append(int(query.until.timestamp()))
    return " AND ".join(parts) or "1", [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    """What the database can take: half a character (of an odd argument) matches nothing."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def allowed(store: Store, query: Query, aliases: Mapping[str, str]) -> Allowed | None:
    """The chunks within the query's filters, or None if there are none to apply.

    That replaced entries are hidden is not a filter here: `rank` hides them, because what
    they matched belongs to what replaced them.
    """
    if not query.filtered:
        return None
    from dataclasses import replace

    condition, values = where(replace(query, all=True), aliases)
    key = (condition, *values)
    if key not in store.kept:
        rows = store.db.execute(f"SELECT id FROM chunk WHERE {condition}", values)  # noqa: S608
        store.kept[key] = Allowed(row[0] for row in rows)
    found: Allowed = store.kept[key]
    return found


def newest(
    db: sqlite3.Connection, query: Query, aliases: Mapping[str, str], most: int
) -> list[int]:
    """What the filters alone find, newest first."""
    condition, values = where(query, aliases)
    sql = f"SELECT id FROM chunk WHERE {condition} ORDER BY at DESC, id DESC LIMIT ?"  # noqa: S608
    return [row[0] for row in db.execute(sql, [*values, most])]
