"""Store: index.db, the one SQLite file with all that is derived. Never the truth.

Opening never fails for good: a file that is not a database, or whose insides are broken, is
set aside and a new one begun; one of an older Wakebook is made anew; one of a newer Wakebook
is left alone and not used; and what may not be written is read as it is. Readers never wait
for a writer (WAL), and a writer commits every batch together with how far it came, so that a
kill costs one batch.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from zlib import crc32

from wakebook.base import clock
from wakebook.base.errors import IndexUnavailable

if TYPE_CHECKING:
    from wakebook.store.vectors import Nearest

T = TypeVar("T")

VERSION = 2
BUSY_SECONDS = 5.0
KEPT_ROWS = 100_000
READ_ONLY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)
# with mmap, a file that another program shortens would kill the process
PRAGMAS = "journal_mode=WAL synchronous=NORMAL mmap_size=0 cache_size=-32768 temp_store=2".split()
SCHEMA = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")


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
    last: int  # the highest id of a chunk

    @property
    def average(self) -> float:
        return max(self.words / self.chunks, 1.0) if self.chunks else 1.0


class _Outdated(Exception):
    """The database is of an older Wakebook."""


class Store:
    """The database of one home, opened when it is first used. For one thread at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.readonly = False
        self.set_aside: Path | None = None  # a broken file that was found on opening
        self._db: sqlite3.Connection | None = None
        self._patience = BUSY_SECONDS
        self._kept: dict[Any, Any] = {}  # what was read, until the index changes
        self._meta: dict[str, Any] = {}
        self._seen = (-1, -1)  # of the database, when these two were read ...
        self._version = -1  # ... and of the index

    @property
    def db(self) -> sqlite3.Connection:
        if self._db is None:
            self._db = self._open()
        return self._db

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except _Outdated:
            self.delete()
        except (sqlite3.DatabaseError, UnicodeError) as error:
            if isinstance(error, sqlite3.OperationalError) and not is_broken(error):
                raise IndexUnavailable(f"{self.path}: {error}.") from error
            self.abandon()
        return self._connect()

    def _connect(self) -> sqlite3.Connection:
        try:
            db = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            for pragma in PRAGMAS:
                db.execute(f"PRAGMA {pragma}")
            self._create_or_check(db)
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code not in READ_ONLY or not self.path.is_file():
                raise
            self.readonly = True
            address = f"{self.path.as_uri()}?mode=ro&immutable=1"
            db = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
            self._create_or_check(db)
        return db

    def _create_or_check(self, db: sqlite3.Connection) -> None:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            db.close()
            raise IndexUnavailable(
                f"{self.path} was made by a newer Wakebook (version {version}, this one knows "
                f"{VERSION}). Upgrade, or make it anew with `wakebook index --full`."
            )
        if version:
            sql = "SELECT value FROM meta WHERE key = 'schema'"
            if version < VERSION or db.execute(sql).fetchone() != (str(crc32(SCHEMA.encode())),):
                db.close()
                raise _Outdated
            return
        db.execute("BEGIN IMMEDIATE")  # only one of two that start at once makes the tables
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version == 0:
            for statement in (*SCHEMA.split(";\n"), f"PRAGMA user_version = {VERSION}"):
                db.execute(statement)
            db.execute("INSERT INTO meta VALUES ('schema', ?)", (crc32(SCHEMA.encode()),))
        db.execute("COMMIT")
        if str(self.path) != ":memory:":
            self.path.chmod(0o600)
            for old in (self.path.parent / ".cache").glob("catalogue.db*"):
                old.unlink(missing_ok=True)  # until version 2, a database of its own

    def patience(self, seconds: float) -> None:
        """How long a write waits for another process."""
        db = self.db
        if seconds != self._patience:
            db.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
            self._patience = seconds

    def abandon(self) -> None:
        """Set a broken index aside, so that the next one starts from nothing."""
        self.close()
        if self.path.exists():
            stamp = clock.now().strftime("%Y%m%dT%H%M%S")
            for old in self.path.parent.glob(f"{self.path.name}.broken-*"):
                old.unlink()  # one is enough to look into
            self.set_aside = self.path.with_name(f"{self.path.name}.broken-{stamp}")
            self.path.replace(self.set_aside)
        self.delete()

    def delete(self) -> None:
        """Remove the index for good: it is made again from the files."""
        self.close()
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def wipe(self) -> None:
        """Empty the index, so that no byte of it is left, without taking the file from others."""
        with self.writing() as db:
            sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
            for (table,) in db.execute(sql).fetchall():
                if table != "meta":
                    db.execute(f"DELETE FROM {table}")  # noqa: S608
            version = self.get("version", 0) + 1
            db.execute("DELETE FROM meta WHERE key <> 'schema'")
            self._meta = {}
            self.set("version", version)
        self.db.execute("VACUUM")
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
        self._db, self._patience = None, BUSY_SECONDS
        self._seen, self._version = (-1, -1), -1
        self._kept, self._meta = {}, {}
        vars(self).pop("nearest", None)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, whole or not at all."""
        db = self.db
        db.execute("BEGIN IMMEDIATE")
        self.fresh()  # what another process wrote while this one waited
        try:
            yield db
        except BaseException:
            db.execute("ROLLBACK")
            self._meta = {}
            raise
        db.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Everything as it was at one moment, whatever others write meanwhile."""
        db = self.db
        db.execute("BEGIN")
        try:
            self.fresh()  # the moment: its question is the first one
            yield
        finally:
            db.execute("COMMIT")

    def fresh(self) -> None:
        """Forget what was read before another connection wrote."""
        db = self.db
        (version,) = db.execute("PRAGMA data_version").fetchone()
        seen = (version, db.total_changes)
        if seen != self._seen:
            self._meta, self._seen = {}, seen
            if self.get("version", 0) != self._version:
                self._kept, self._version = {}, self.get("version", 0)

    def touch(self) -> None:
        """What a search reads changes, as a part of this transaction."""
        self.set("version", self.get("version", 0) + 1)

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
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))
        self._meta[key] = value

    @cached_property
    def nearest(self) -> Nearest:
        from wakebook.store.vectors import Nearest

        return Nearest()

    def edition(self) -> Edition:
        return self.keep("edition", self._edition)

    def _edition(self) -> Edition:
        (last,) = self.db.execute("SELECT coalesce(max(id), 0) FROM chunk").fetchone()
        return Edition(self.get("version", 0), self.get("chunks", 0), self.get("words", 0), last)

    def count(self, table: str) -> int:
        (number,) = self.db.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
        return int(number)

    def source(self, row: Row) -> tuple[str, str, str]:
        """The file, the session and the host of a chunk."""
        known: dict[tuple[int, int], tuple[str, str, str]] = self.keep("sources", dict)
        key = row.file, row.session
        if key not in known:
            sql = (
                "SELECT ifnull(path, ''), ifnull(name, ''), ifnull(host, '') FROM (SELECT 1) "
                "LEFT JOIN file ON file.id = ? LEFT JOIN session ON session.id = ?"
            )
            known[key] = self.db.execute(sql, key).fetchone()
        return known[key]

    def read(self, table: str, columns: str, ids: Sequence[int]) -> list[Any]:
        """Rows of a table in the order of the ids, of those that are there. The statement is the
        same for any number of ids, so that SQLite does not have to plan it anew."""
        wanted = "(SELECT value AS number FROM json_each(?))"
        sql = f"SELECT {columns} FROM {wanted} CROSS JOIN {table} ON id = number"  # noqa: S608
        return self.db.execute(sql, (json.dumps(ids),)).fetchall()

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


def is_broken(error: sqlite3.Error) -> bool:
    """Whether the file is to blame, rather than a lock, the disk or a permission."""
    if "not decode" in str(error):
        return True
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


def is_gone(error: BaseException) -> bool:
    """Whether another program removed the file under an open connection, or left parts of it."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code == sqlite3.SQLITE_READONLY_DBMOVED or code & 0xFF == sqlite3.SQLITE_READONLY
