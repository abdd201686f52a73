"""Store: index.db, one SQLite file with everything that a search needs. Never the truth.

Opening never fails for good: a file that is not a database, or whose insides are broken, is
set aside and a new one begun; one of a newer Wakebook is left alone and not used; and what
may not be written is read as it is. Readers never wait for a writer (WAL), and a writer
commits every batch together with how far it came, so a kill costs one batch.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from wakebook.base import clock
from wakebook.base.errors import IndexUnavailable
from wakebook.store import chunk as fields
from wakebook.store import postings, vectors, words
from wakebook.store.chunk import Chunk

if TYPE_CHECKING:
    from wakebook.models.embedder import Embedder, Rows

VERSION = 1
BUSY_SECONDS = 5.0
KEPT_ROWS = 100_000

SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, modified INTEGER NOT NULL,
  size INTEGER NOT NULL, digest BLOB NOT NULL, problem TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE session (id INTEGER PRIMARY KEY, name TEXT NOT NULL, host TEXT NOT NULL,
  UNIQUE (name, host)) STRICT;
CREATE TABLE chunk (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, file INTEGER NOT NULL,
  place INTEGER NOT NULL, line INTEGER NOT NULL, last_line INTEGER NOT NULL, at INTEGER NOT NULL,
  session INTEGER NOT NULL, category TEXT NOT NULL, type TEXT NOT NULL, subject TEXT NOT NULL,
  status TEXT NOT NULL, own_status TEXT NOT NULL, kind TEXT NOT NULL, speaker TEXT NOT NULL,
  pinned INTEGER NOT NULL, archived INTEGER NOT NULL, asks INTEGER NOT NULL,
  turn INTEGER NOT NULL, dated INTEGER NOT NULL,
  replaced_by TEXT NOT NULL DEFAULT '', digest BLOB NOT NULL) STRICT;
CREATE INDEX chunk_name ON chunk (name);
CREATE INDEX chunk_file ON chunk (file, place);
CREATE INDEX chunk_session ON chunk (session, place);
CREATE INDEX chunk_subject ON chunk (subject);
CREATE INDEX chunk_type ON chunk (type, at);
CREATE INDEX chunk_category ON chunk (category, at);
CREATE INDEX chunk_at ON chunk (at);
CREATE INDEX chunk_replaced ON chunk (replaced_by);
CREATE TABLE body (id INTEGER PRIMARY KEY, title TEXT NOT NULL, text TEXT NOT NULL,
  detail TEXT NOT NULL, language TEXT NOT NULL) STRICT;
CREATE TABLE replaces (old TEXT NOT NULL, new TEXT NOT NULL, PRIMARY KEY (old, new)) WITHOUT ROWID;
CREATE INDEX replaces_new ON replaces (new);
CREATE TABLE said (file TEXT NOT NULL, place INTEGER NOT NULL, entry TEXT NOT NULL,
  PRIMARY KEY (file, place, entry)) WITHOUT ROWID;
CREATE INDEX said_entry ON said (entry);
CREATE TABLE pending (id INTEGER PRIMARY KEY) STRICT;
{postings.SCHEMA}
{vectors.SCHEMA}
PRAGMA user_version = {VERSION};
"""


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


class Store:
    """The database of one home, opened when it is first used. For one thread at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.readonly = False
        self.set_aside: Path | None = None  # a broken file that was found on opening
        self.nearest = vectors.Nearest()
        self._db: sqlite3.Connection | None = None
        self._rows: dict[int, Row] = {}
        self._names: dict[tuple[str, int], Any] = {}  # of files and sessions
        self.kept: dict[Any, Any] = {}  # what others keep until somebody writes
        self._meta: dict[str, Any] = {}
        self._seen = (-1, -1)  # of the database, when these two were read

    @property
    def db(self) -> sqlite3.Connection:
        if self._db is None:
            self._db = self._open()
        return self._db

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
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
            _prepare(db)
            self._create_or_check(db)
        except sqlite3.OperationalError as error:
            if not _is_readonly(error) or not self.path.is_file():
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
        if version == VERSION:
            sql = "SELECT value FROM meta WHERE key = 'schema'"
            if db.execute(sql).fetchone() == (str(crc32(SCHEMA.encode())),):
                return
            raise sqlite3.DatabaseError("made by another version of Wakebook")
        db.execute("BEGIN IMMEDIATE")  # only one of two that start at once makes the tables
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version == 0:
            for statement in SCHEMA.split(";\n"):
                db.execute(statement)
            db.execute("INSERT INTO meta VALUES ('schema', ?)", (crc32(SCHEMA.encode()),))
        db.execute("COMMIT")
        if str(self.path) != ":memory:":
            self.path.chmod(0o600)

    def patience(self, seconds: float) -> None:
        """How long a write waits for another process."""
        self.db.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")

    def abandon(self) -> None:
        """Set a broken index aside, so that the next one starts from nothing."""
        self.close()
        if self.path.exists():
            stamp = clock.now().strftime("%Y%m%dT%H%M%S")
            for old in self.path.parent.glob(f"{self.path.name}.broken-*"):
                old.unlink()  # one is enough to look into
            self.set_aside = self.path.with_name(f"{self.path.name}.broken-{stamp}")
            self.path.replace(self.set_aside)
        for suffix in ("-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def delete(self) -> None:
        """Remove the index for good: it is made again from the files."""
        self.close()
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
        self._db = None
        self._seen = (-1, -1)
        self._rows, self._meta, self._names = {}, {}, {}
        self.kept.clear()
        self.nearest = vectors.Nearest()

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
            db.execute("SELECT 1 FROM meta LIMIT 1").fetchone()  # the moment
            self.fresh()
            yield
        finally:
            db.execute("COMMIT")

    # --- small things ----------------------------------------------------------------

    def fresh(self) -> None:
        """Forget what was read before somebody else wrote."""
        db = self.db
        (version,) = db.execute("PRAGMA data_version").fetchone()
        seen = (version, db.total_changes)
        if seen != self._seen:
            self._rows, self._meta, self._names, self._seen = {}, {}, {}, seen
            self.kept.clear()

    def get(self, key: str, default: Any = None) -> Any:
        if key not in self._meta:
            row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
            self._meta[key] = json.loads(row[0]) if row else None
        value = self._meta[key]
        return default if value is None else value

    def set(self, key: str, value: Any) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))
        self._meta[key] = value

    def size(self) -> postings.Size:
        return postings.Size(self.get("chunks", 0), self.get("words", 0))

    def count(self, table: str) -> int:
        (number,) = self.db.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
        return int(number)

    def source(self, row: Row) -> tuple[str, str, str]:
        """The file, the session and the host of a chunk."""
        file, session = ("file", row.file), ("session", row.session)
        for kind, number in (file, session):
            if (kind, number) not in self._names:
                columns = "path" if kind == "file" else "name, host"
                sql = f"SELECT {columns} FROM {kind} WHERE id = ?"  # noqa: S608
                self._names[kind, number] = self.db.execute(sql, (number,)).fetchone()
        path, where = self._names[file], self._names[session]
        return (path[0] if path else ""), *(where or ("", ""))

    def rows(self, ids: Iterable[int]) -> dict[int, Row]:
        """What is known about some chunks, of those that are there."""
        known = self._rows
        wanted = list(ids)
        missing = [number for number in wanted if number not in known]
        if missing:
            if len(known) > KEPT_ROWS:
                known.clear()
                self._names.clear()
                missing = wanted
            sql = (
                f"SELECT {', '.join(Row._fields)} FROM chunk "  # noqa: S608
                f"WHERE id IN ({','.join(map(str, missing))})"
            )
            known.update((row[0], Row._make(row)) for row in self.db.execute(sql))
        return {number: known[number] for number in wanted if number in known}


def _prepare(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA mmap_size = 0")  # a file that somebody shortens would kill the process
    db.execute("PRAGMA cache_size = -32768")
    db.execute("PRAGMA temp_store = MEMORY")


def is_broken(error: sqlite3.Error) -> bool:
    """Whether the file is to blame, rather than a lock, the disk or a permission."""
    if "not decode" in str(error):
        return True
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


def is_gone(error: BaseException) -> bool:
    """Whether somebody removed the file under an open connection, or left parts of it."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code == sqlite3.SQLITE_READONLY_DBMOVED or code & 0xFF == sqlite3.SQLITE_READONLY


def _is_readonly(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)


# -----------------------------------------------------------------------------
# Writer: puts chunks into the index and takes them out, with their words and vectors.

ROLES = ("", "user", "agent", "system")
SPEAKERS = 500  # names that are kept, at most


class Writer:
    """Every method is a part of a transaction of the caller's."""

    def __init__(self, store: Store, embedder: Embedder | None) -> None:
        self._store = store
        self._embedder = embedder
        self._sessions: dict[tuple[str, str], int] = {}
        self.added = self.removed = self.embedded = 0

    def put(self, db: sqlite3.Connection, items: Sequence[tuple[Chunk, int]]) -> None:
        """Add chunks of files (0 is the log), with vectors if those cost nothing."""
        if not items:
            return
        (top,) = db.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence").fetchone()
        ids = range(top + 1, top + 1 + len(items))
        found: dict[str, dict[int, int]] = {}
        rows, bodies, languages, length = [], [], set(), 0
        for number, (item, file) in zip(ids, items, strict=True):
            uses, size, language = fields.uses(item)
            length += size
            languages.add(language)
            for term, use in uses.items():
                found.setdefault(term, {})[number] = use
            rows.append(_row(number, item, file, self._session(db, item)))
            bodies.append((number, item.title, item.text, item.detail, language))
        db.executemany(_INSERT, rows)
        db.executemany("INSERT INTO body VALUES (?, ?, ?, ?, ?)", bodies)
        postings.add(db, found)
        self._resize(len(items), length)
        self._note(languages, {item.speaker for item, _ in items})
        self.added += len(items)
        if self._embedder is None:
            return
        if self._embedder.remote:
            db.executemany("INSERT INTO pending VALUES (?)", [(number,) for number in ids])
        else:
            self.embed(db, ids, self._embedder.embed([fields.meaning(item) for item, _ in items]))

    def drop(self, db: sqlite3.Connection, ids: Sequence[int]) -> None:
        if not ids:
            return
        found: dict[str, set[int]] = {}
        length = 0
        for number in ids:
            uses, size, _ = fields.uses(read(db, number))
            length += size
            for term in uses:
                found.setdefault(term, set()).add(number)
        postings.remove(db, found)
        vectors.remove(db, ids, self._version())
        gone = [(number,) for number in ids]
        for table in ("chunk", "body", "pending"):
            db.executemany(f"DELETE FROM {table} WHERE id = ?", gone)  # noqa: S608
        self._resize(-len(ids), -length)
        self.removed += len(ids)

    def embed(self, db: sqlite3.Connection, ids: Sequence[int], rows: Rows) -> None:
        """Keep the vectors of chunks. Raises BadModelOutput, and then nothing was written."""
        assert self._embedder is not None
        dimension = self._store.get("dimension", 0) or len(rows[0])
        vectors.check(rows, dimension, self._embedder.name)
        self._store.set("dimension", dimension)
        vectors.add(db, ids, rows, self._version())
        self.embedded += len(ids)

    # --- book-keeping ----------------------------------------------------------------

    def _resize(self, number: int, length: int) -> None:
        self._store.set("chunks", self._store.get("chunks", 0) + number)
        self._store.set("words", self._store.get("words", 0) + length)

    def _version(self) -> int:
        """Grows with every change of the vectors, so that readers see what to read again."""
        version: int = self._store.get("version", 0) + 1
        self._store.set("version", version)
        return version

    def _session(self, db: sqlite3.Connection, item: Chunk) -> int:
        wanted = (item.session, item.host)
        if not item.session:
            return 0
        if wanted not in self._sessions:
            # an entry does not say which host it was
            sql = "SELECT id, host FROM session WHERE name = ?1 AND (host IN (?2, '') OR ?2 = '')"
            row = db.execute(f"{sql} ORDER BY host = '', id", wanted).fetchone()
            if row is not None and item.host and not row[1]:
                db.execute("UPDATE session SET host = ? WHERE id = ?", (item.host, row[0]))
            if row is None:
                sql = "INSERT INTO session (name, host) VALUES (?, ?) RETURNING id"
                row = db.execute(sql, wanted).fetchone()
            self._sessions[wanted] = int(row[0])
        return self._sessions[wanted]

    def _note(self, languages: set[str], speakers: set[str]) -> None:
        """Keep which languages there are, and the names of those who took part."""
        known = set(self._store.get("languages", []))
        if not languages <= known:
            self._store.set("languages", sorted(known | languages))
        names: dict[str, str] = self._store.get("speakers", {})
        new = speakers - set(ROLES) - set(names.values())
        for name in sorted(new)[: max(0, SPEAKERS - len(names))]:
            for word in words.tokens(name):
                names.setdefault(word, name)
        if new:
            self._store.set("speakers", names)


_INSERT = (
    "INSERT INTO chunk (id, name, file, place, line, last_line, at, session, category, type, "
    "subject, status, own_status, kind, speaker, pinned, archived, asks, turn, dated, digest) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def _row(number: int, item: Chunk, file: int, session: int) -> tuple[object, ...]:
    return (
        number, item.name, file, item.place, item.line, item.last_line, item.at, session,
        item.category, item.type, item.subject, item.status, item.status, item.kind, item.speaker,
        item.pinned, item.archived, item.text.rstrip().endswith(("?", "？")),
        item.category == "conversation" and item.session != "", item.is_dated, item.digest(),
    )  # fmt: skip


def read(db: sqlite3.Connection, number: int) -> Chunk:
    """A chunk as it was put in, as far as its words and its meaning depend on it."""
    row = db.execute(
        "SELECT c.category, c.name, c.at, c.subject, c.speaker, c.type, b.title, b.text, b.detail "
        "FROM chunk c JOIN body b ON b.id = c.id WHERE c.id = ?",
        (number,),
    ).fetchone()
    category, name, at, subject, speaker, type_, title, text, detail = row
    return Chunk(
        category=category, name=name, at=at, subject=subject, speaker=speaker, type=type_,
        title=title, text=text, detail=detail,
    )  # fmt: skip
