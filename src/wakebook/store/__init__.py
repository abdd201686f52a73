"""4. Index: everything that can be read, made findable. Deletable at any time.

    entries, notes, topics, transcripts -> Chunks -> words (postings) and meaning (vectors)

`sync` brings in what changed, `search` answers a question, `index` does both for one home. The
first line of each file says the rest.

Here is the Store: all that is derived from one home, in whichever database. Two can hold it: a
file of the home (SQLite, `database.py`), and a server for many homes (PostgreSQL,
`team/store.py`). Both run the same statements, in the SQL that they share: marks are `?`, truth
values stand bare, any number of values is a `Many`, an upsert says `ON CONFLICT (key)`, a new
number is the highest one plus 1, and whoever needs an order says so. Only where speed depends on
the database has each its own way: words, vectors, and how a transaction begins.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from wakebook.store.postings import Postings
    from wakebook.store.vectors import Nearest

T = TypeVar("T")

KEPT_ROWS = 100_000
AMONG = "IN (SELECT value FROM json_each(?))"  # takes a `Many`


class Many(list[Any]):
    """Any number of values in one place, so that the statement stays the same."""

    def __conform__(self, _: object) -> str:
        return json.dumps(self)  # for SQLite


class Row(NamedTuple):
    """What is known about a chunk, except its text."""

    id: int
    name: str  # an entry's id
    file: int  # 0 is the log
    place: int
    line: int
    last_line: int
    at: int
    session: int
    category: str
    type: str
    subject: str
    status: str
    speaker: str
    pinned: int
    archived: int
    asks: int  # it ends with a question mark
    turn: int  # it was said in a conversation
    dated: int  # its time belongs to it, rather than to the file that it stands in
    replaced_by: str


class Edition(NamedTuple):
    """Which state of the index it is, and how much that holds."""

    version: int  # grows with every change
    chunks: int
    words: int  # of all chunks together
    last: int  # the highest id that a chunk ever had

    @property
    def average(self) -> float:
        return max(self.words / self.chunks, 1.0) if self.chunks else 1.0


class Answer(Protocol):
    """The rows of one statement."""

    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...
    @property
    def rowcount(self) -> int: ...


class Connection(Protocol):
    """What runs statements."""

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Answer: ...
    def executemany(self, sql: str, values: Iterable[Sequence[Any]], /) -> Any: ...


class Store(ABC):
    """The derived tables of one home. For one thread at a time."""

    path: Path  # what messages call it
    readonly = False
    fed = False  # others keep it up to date: a search does not look for changes
    set_aside: Path | None = None  # a broken file that was found on opening

    def __init__(self) -> None:
        self._kept: dict[Any, Any] = {}  # what was read, until the index changes
        self._meta: dict[str, Any] = {}
        self._version = -1  # of the index, when that was read

    # --- what each database does in its own way ----------------------------------------------

    @property
    @abstractmethod
    def db(self) -> Connection: ...

    @abstractmethod
    def writing(self) -> AbstractContextManager[Connection]:
        """One transaction, whole or not at all, and one writer at a time."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[None]:
        """Everything as it was at one moment, whatever others write meanwhile."""

    @abstractmethod
    def fresh(self) -> None:
        """Forget what was read before another connection wrote."""

    @abstractmethod
    def patience(self, seconds: float) -> None:
        """How long a write waits for another process."""

    @abstractmethod
    def abandon(self) -> None:
        """Set a broken index aside, so that the next one starts from nothing."""

    @abstractmethod
    def delete(self) -> None:
        """Remove the index for good: it is made again from the files."""

    @abstractmethod
    def wipe(self) -> None:
        """Empty the index, so that no byte of it is left, without taking it from others."""

    @abstractmethod
    def size(self) -> int:
        """Bytes that it takes."""

    @abstractmethod
    def read(self, table: str, columns: str, ids: Sequence[int]) -> list[Any]:
        """The rows of a table with these ids, of those that are there, in any order."""

    @abstractmethod
    def uses(self, terms: Sequence[str]) -> Mapping[str, tuple[Any, Any]]:
        """The chunks of each term, ascending, and the packed use of each; of those that are
        there."""

    @abstractmethod
    def add_uses(self, found: Mapping[str, Mapping[int, int]]) -> None:
        """Add term -> chunk id -> packed use. Ids are higher than all before."""

    @abstractmethod
    def remove_uses(self, found: Mapping[str, Iterable[int]]) -> None:
        """Take chunks out of their terms, and terms without chunks out of the list."""

    @abstractmethod
    def add_vectors(self, ids: Sequence[int], rows: Any) -> None:
        """Keep the vectors of some chunks. Zeros (a text without known words) find nothing."""

    @abstractmethod
    def remove_vectors(self, ids: Sequence[int]) -> None: ...

    @abstractmethod
    def signs(self, version: int) -> Sequence[tuple[Any, Any, Any]] | None:
        """Of the vectors that changed since a version: places, scales, and signs in rows. None if
        there are no vectors at all."""

    @abstractmethod
    def numbers(self, blocks: Sequence[int]) -> Iterable[tuple[Any, Any]]:
        """Of some blocks of vectors: places, and numbers in rows."""

    # --- what is the same for all ------------------------------------------------------------

    def close(self) -> None:
        """Forget what was read."""
        self._kept, self._meta, self._version = {}, {}, -1
        vars(self).pop("nearest", None)

    def keep(self, key: Any, make: Callable[[], T]) -> T:
        """What was read before, until the index changes."""
        if key not in self._kept:
            self._kept[key] = make()
        found: T = self._kept[key]
        return found

    def get(self, key: str, default: Any = None) -> Any:
        if key not in self._meta:
            row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
            self._meta[key] = json.loads(row[0]) if row else None
        value = self._meta[key]
        return default if value is None else value

    def set(self, key: str, value: Any) -> None:
        sql = "INSERT INTO meta (key, value) VALUES (?, ?)"
        self.db.execute(
            f"{sql} ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, json.dumps(value)),
        )
        self._meta[key] = value

    def touch(self) -> None:
        """What a search reads changes, as a part of this transaction."""
        self.set("version", self.get("version", 0) + 1)

    @property
    def postings(self) -> Postings:
        from wakebook.store.postings import Postings

        return self.keep("postings", lambda: Postings(self.uses))

    @cached_property
    def nearest(self) -> Nearest:
        from wakebook.store.vectors import Nearest

        return Nearest(self.signs, self.numbers)

    def edition(self) -> Edition:
        return self.keep("edition", self._edition)

    def _edition(self) -> Edition:
        return Edition(self.get("version", 0), *(self.get(key, 0) for key in Edition._fields[1:]))

    def count(self, table: str) -> int:
        (number,) = self.db.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
        return int(number)

    def highest(self, table: str, column: str = "id") -> int:
        sql = f"SELECT coalesce(max({column}), 0) FROM {table}"  # noqa: S608
        return int(self.db.execute(sql).fetchone()[0])

    def source(self, row: Row) -> tuple[str, str, str]:
        """The file, the session and the host of a chunk."""
        files, sessions = self._sources()
        if row.file not in files or row.session not in sessions:
            self.sources([row])
        return (files[row.file], *sessions[row.session])

    def sources(self, rows: Iterable[Row]) -> None:
        """Read the files and sessions of some chunks at once."""
        files, sessions = self._sources()
        wanted = {row.file for row in rows if row.file not in files}
        if wanted:
            files.update(dict.fromkeys(wanted, ""))
            files.update(self.read("file", "id, path", [*wanted]))
        wanted = {row.session for row in rows if row.session not in sessions}
        if wanted:
            sessions.update(dict.fromkeys(wanted, ("", "")))
            found = self.read("session", "id, name, host", [*wanted])
            sessions.update((number, (name, host)) for number, name, host in found)

    def _sources(self) -> tuple[dict[int, str], dict[int, tuple[str, str]]]:
        return self.keep("sources", lambda: ({0: ""}, {0: ("", "")}))

    def rows(self, ids: Sequence[int]) -> dict[int, Row]:
        """What is known about some chunks, of those that are there."""
        known: dict[int, Row] = self.keep("rows", dict)
        if len(known) > KEPT_ROWS:
            known.clear()
        missing = [number for number in ids if number not in known]
        if missing:
            found = self.read("chunk", ", ".join(Row._fields), missing)
            known.update((row[0], Row._make(row)) for row in found)
        return {number: known[number] for number in ids if number in known}
