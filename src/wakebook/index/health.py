"""Health: how the index is doing, for `wakebook index --status` and `wakebook status`."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from wakebook.errors import ConfigError, IndexUnavailable

if TYPE_CHECKING:
    from wakebook.index.index import Index


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStatus:
    """How the index is doing."""

    path: str
    bytes: int = 0
    chunks: dict[str, int] = field(default_factory=dict)  # by category
    embedder: str = ""
    why: str = ""  # it is this one
    vectors: int = 0
    pending: int = 0  # chunks that wait for a vector
    behind: int = 0  # bytes of the log that are not indexed
    languages: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def health(index: Index) -> IndexStatus:
    """What there is, what is behind, and what is wrong."""
    path = index.store.path
    try:
        choice = index.choice
    except ConfigError as error:
        return IndexStatus(path=str(path), why=str(error))
    found = IndexStatus(path=str(path), embedder=choice.name, why=choice.why)
    if not path.exists():
        return found
    try:
        index.store.fresh()
        return _measured(index, found)
    except (sqlite3.Error, IndexUnavailable) as error:
        return replace(found, problems=(str(error),))


def _measured(index: Index, found: IndexStatus) -> IndexStatus:
    from wakebook.index.sync import problems

    store = index.store
    by_category = "SELECT category, count(*) FROM chunk GROUP BY category ORDER BY category"
    chunks: dict[str, int] = dict(store.db.execute(by_category).fetchall())
    pending = store.count("pending")
    wrong = index.told()
    wrong += [f"{path} is not indexed: {reason}" for path, reason in problems(store)]
    made_with = store.get("embedder", found.embedder)
    if made_with != (found.embedder if index.choice.embedder else ""):
        wrong.append(f"vectors are of {made_with or 'no embedder'}; the next sync makes them anew")
    if pending > sum(chunks.values()) // 20:
        wrong.append(
            f"{pending:,} texts wait for a vector of {found.embedder}, so search goes by words "
            "alone; `wakebook index` gets them"
        )
    return replace(
        found,
        bytes=_size(store.path),
        chunks=chunks,
        vectors=sum(chunks.values()) - pending if made_with else 0,
        pending=pending,
        behind=index.behind(),
        languages=tuple(store.get("languages", [])),
        problems=tuple(wrong),
    )


def _size(path: Path) -> int:
    names = (path, path.with_name(path.name + "-wal"))
    return sum(name.stat().st_size for name in names if name.exists())
