"""LocalStore: index.db, the one SQLite file with all that is derived from a home.

Opening never fails for good: a file that is not a database, or whose insides are broken, is
set aside and a new one begun; one of an older Wakebook is made anew; one of a newer Wakebook
is left alone and not used; and what may not be written is read as it is. Readers never wait
for a writer (WAL), and a writer commits every batch together with how far it came, so that a
kill costs one batch.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from wakebook.base import clock
from wakebook.base.errors import IndexUnavailable
from wakebook.store import Many, Store

if TYPE_CHECKING:
    from wakebook.base.home import Home

VERSION = 2
BUSY_SECONDS = 5.0
READ_ONLY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)
# with mmap, a file that another program shortens would kill the process
PRAGMAS = "journal_mode=WAL synchronous=NORMAL mmap_size=0 cache_size=-32768 temp_store=2".split()
SCHEMA = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")


class _Outdated(Exception):
    """The database is of an older Wakebook."""


def of(home: Home) -> Store:
    """Where a home keeps what is derived from it."""
    made: Store = home.opens() if home.opens else LocalStore(home.index)
    return made


class LocalStore(Store):
    """The database of one home, opened when it is first used."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._db: sqlite3.Connection | None = None
        self._patience = BUSY_SECONDS
        self._seen = (-1, -1)  # of the database, when something was last read

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
            if not isinstance(error, sqlite3.OperationalError) or is_broken(error):
                self.abandon()
            elif not is_gone(error) and self.path.is_file():  # no other program has set it aside
                raise IndexUnavailable(f"{self.path}: {error}.") from error
        try:
            return self._connect()
        except sqlite3.OperationalError as error:
            raise IndexUnavailable(f"{self.path}: {error}.") from error

    def _connect(self) -> sqlite3.Connection:
        try:
            db = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            for pragma in PRAGMAS:
                db.execute(f"PRAGMA {pragma}")
            self._create_or_check(db)
        except sqlite3.OperationalError as error:
            code = getattr(error, "sqlite_errorcode", 0)
            moved = code == sqlite3.SQLITE_READONLY_DBMOVED or not self.path.is_file()
            if code & 0xFF not in READ_ONLY or moved:
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
        db = self.db
        if seconds != self._patience:
            db.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
            self._patience = seconds

    def abandon(self) -> None:
        self.close()
        stamp = clock.now().strftime("%Y%m%dT%H%M%S")
        aside = self.path.with_name(f"{self.path.name}.broken-{stamp}")
        with suppress(FileNotFoundError):  # another thread does the same
            earlier = list(self.path.parent.glob(f"{self.path.name}.broken-*"))
            self.path.replace(aside)
            self.set_aside = aside
            for old in earlier:
                if old != aside:
                    old.unlink(missing_ok=True)  # one is enough to look into
        self.delete()

    def delete(self) -> None:
        self.close()
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def wipe(self) -> None:
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
        self._db, self._patience, self._seen = None, BUSY_SECONDS, (-1, -1)
        super().close()

    def size(self) -> int:
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
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
        db = self.db
        db.execute("BEGIN")
        try:
            self.fresh()  # the moment: its question is the first one
            yield
        finally:
            db.execute("COMMIT")

    def fresh(self) -> None:
        db = self.db
        (version,) = db.execute("PRAGMA data_version").fetchone()
        seen = (version, db.total_changes)
        if seen != self._seen:
            self._meta, self._seen = {}, seen
            if self.get("version", 0) != self._version:
                self._kept, self._version = {}, self.get("version", 0)

    def read(self, table: str, columns: str, ids: Sequence[int]) -> list[Any]:
        # the same for any number of ids, so that SQLite does not have to plan it anew
        wanted = "(SELECT value AS number FROM json_each(?))"
        sql = f"SELECT {columns} FROM {wanted} CROSS JOIN {table} WHERE id = number"  # noqa: S608
        return self.db.execute(sql, (Many(ids),)).fetchall()

    # --- words and vectors -------------------------------------------------------------------

    def uses(self, terms: Sequence[str]) -> Mapping[str, tuple[Any, Any]]:
        from wakebook.store import postings

        return postings.uses(self.db, terms)

    def add_uses(self, found: Mapping[str, Mapping[int, int]]) -> None:
        from wakebook.store import postings

        postings.add(self.db, found)

    def remove_uses(self, found: Mapping[str, Iterable[int]]) -> None:
        from wakebook.store import postings

        postings.remove(self.db, found)

    def add_vectors(self, ids: Sequence[int], rows: Any) -> None:
        from wakebook.store import vectors

        vectors.add(self.db, ids, rows, self.get("version", 0))

    def remove_vectors(self, ids: Sequence[int]) -> None:
        from wakebook.store import vectors

        vectors.remove(self.db, ids, self.get("version", 0))

    def signs(self, version: int) -> Sequence[tuple[Any, Any, Any]] | None:
        from wakebook.store import vectors

        return vectors.signs(self.db, version)

    def numbers(self, blocks: Sequence[int]) -> Iterable[tuple[Any, Any]]:
        from wakebook.store import vectors

        return vectors.numbers(self.db, blocks)


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
