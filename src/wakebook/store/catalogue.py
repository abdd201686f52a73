"""Catalogue: the log by subject, day and state, so that nobody has to read all of it.

A small database in the cache. It is brought up to date by reading what was added to the log,
and made anew when the log was rewritten or the file is gone. It answers as `Chains` would
(which entries hold, which are open), and remembers which entries have changed since somebody
last worked them off: those are what the notes have to be written for.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any
from zlib import crc32

from wakebook.base.home import Home
from wakebook.log import log
from wakebook.log.chains import resolve
from wakebook.log.entry import RETRACTED, Entry, decode, encode

VERSION = 4
NAME = "catalogue.db"
SLICE = 8 << 20  # bytes of the log that are read at a time
TAIL = 256

_SCHEMA = """
CREATE TABLE entry (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, subject TEXT NOT NULL, at REAL NOT NULL,
  type TEXT NOT NULL, kind TEXT NOT NULL, open INTEGER NOT NULL, pinned INTEGER NOT NULL,
  depth INTEGER NOT NULL, replaced_by TEXT NOT NULL, line BLOB NOT NULL
);
CREATE INDEX by_subject ON entry (subject, at) WHERE replaced_by = '';
CREATE INDEX by_time ON entry (at);
CREATE INDEX by_open ON entry (at) WHERE open = 1;
CREATE INDEX by_replacement ON entry (replaced_by) WHERE replaced_by != '';
CREATE INDEX by_kind ON entry (kind, seq) WHERE kind != '';
CREATE INDEX by_pin ON entry (seq) WHERE pinned = 1 AND replaced_by = '';
CREATE TABLE missing (old TEXT NOT NULL, new TEXT NOT NULL);
CREATE INDEX by_missing ON missing (old);
CREATE TABLE dirty (seq INTEGER PRIMARY KEY);
CREATE TABLE written (path TEXT PRIMARY KEY, digest BLOB NOT NULL);
CREATE TABLE block (key TEXT PRIMARY KEY, lines TEXT NOT NULL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


def destroy(home: Home) -> None:
    """Remove it: the next one is made from the log."""
    for ending in ("", "-wal", "-shm", "-journal"):
        (home.cache / f"{NAME}{ending}").unlink(missing_ok=True)


class Catalogue:
    """Open it, `sync`, then ask. Under the writer lock where something is worked off."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._path = home.cache / NAME
        self._db = self._open()

    def close(self) -> None:
        self._db.close()

    # --- keeping up --------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        self._home.folder(self._home.cache)
        db = sqlite3.connect(self._path, isolation_level=None, timeout=60)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = OFF")  # it can be made anew at any time
            known = db.execute("PRAGMA user_version").fetchone()[0]
            if known == VERSION:
                return db
            damaged = known != 0
        except sqlite3.DatabaseError:
            damaged = True
        if damaged:
            db.close()
            destroy(self._home)
            db = sqlite3.connect(self._path, isolation_level=None, timeout=60)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = OFF")
        with suppress(OSError):
            self._path.chmod(0o600)
        db.executescript(f"BEGIN;{_SCHEMA}PRAGMA user_version = {VERSION};COMMIT;")
        return db

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def forget(self) -> None:
        """Start over with the next sync."""
        self._db.execute("DELETE FROM meta WHERE key = 'log'")

    def sync(self) -> None:
        """Take in what the log has gained; if it was rewritten, all of it (`anew`)."""
        try:
            self._sync()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
                raise  # locked, or a full disk
            self._db.close()
            destroy(self._home)
            self._db = self._open()
            self._sync()

    @property
    def anew(self) -> bool:
        """Whether the log was read from its beginning since somebody last worked everything off."""
        return self.get("anew") == "yes"

    def _sync(self) -> None:
        mark = self.get("log", "")
        size = int(mark.partition(" ")[0] or 0)
        if mark == self._mark(size) and mark.endswith(f" {size}"):
            return
        anew = mark == "" or mark.rpartition(" ")[0] != self._mark(size).rpartition(" ")[0]
        with self._transaction():
            if anew:
                for table in ("entry", "missing", "dirty"):
                    self._db.execute(f"DELETE FROM {table}")  # noqa: S608
                self.set("anew", "yes")
                self.set("tangled", "")
                size = 0
            while True:
                reading = log.read(self._home, size, SLICE)
                self._add(reading.entries)
                if reading.size <= size:
                    break
                size = reading.size
            self.set("log", self._mark(size))

    def _mark(self, size: int) -> str:
        """How far the log was read, which log it was, and how long it is now."""
        try:
            with self._home.log.open("rb") as stream:
                there = os.fstat(stream.fileno())
                stream.seek(max(0, size - TAIL))
                tail = crc32(stream.read(min(size, TAIL)))
        except FileNotFoundError:
            return "0 0 0 - 0"
        return f"{size} {there.st_ino} {tail} {log.rewrites(self._home) or '-'} {there.st_size}"

    def _add(self, entries: Iterable[Entry]) -> None:
        tangled = self.get("tangled") == "yes"  # once there was a circle, each entry may free one
        for entry in entries:
            row = self._db.execute("SELECT 1 FROM entry WHERE id = ?", [entry.id]).fetchone()
            if row is None:
                tangled = self._insert(entry) or tangled
        if tangled:
            self.set("tangled", "yes")
            self._resolve()

    def _insert(self, entry: Entry) -> bool:
        """Add one entry. Whether an earlier one names it already, which makes circles possible."""
        depth = 0
        for old in entry.replaces:
            row = self._db.execute("SELECT seq, depth FROM entry WHERE id = ?", [old]).fetchone()
            if row is None:
                self._db.execute("INSERT INTO missing VALUES (?, ?)", [old, entry.id])
                continue
            depth = max(depth, row[1] + 1)
            self._db.execute(
                "UPDATE entry SET replaced_by = ?, open = 0 WHERE seq = ?", [entry.id, row[0]]
            )
            self._db.execute("INSERT OR IGNORE INTO dirty VALUES (?)", [row[0]])
            self._mark_earlier(old)
        is_open = entry.type == "question" or (entry.type == "task" and entry.status == "open")
        done = self._db.execute(
            "INSERT INTO entry (id, subject, at, type, kind, open, pinned, depth, "
            "replaced_by, line) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', ?)",
            [
                entry.id,
                entry.subject,
                entry.timestamp.timestamp(),
                entry.type,
                entry.kind or "",
                is_open,
                entry.pinned,
                depth,
                encode(entry),
            ],
        )
        self._db.execute("INSERT OR IGNORE INTO dirty VALUES (?)", [done.lastrowid])
        awaited = self._db.execute("SELECT 1 FROM missing WHERE old = ?", [entry.id])
        return awaited.fetchone() is not None

    def _mark_earlier(self, identity: str) -> None:
        """What an entry had replaced is told with what holds instead: that has changed."""
        waiting, seen = [identity], {identity}
        while waiting:
            sql = "SELECT seq, id FROM entry WHERE replaced_by = ? AND replaced_by != ''"
            for seq, earlier in self._db.execute(sql, [waiting.pop()]).fetchall():
                self._db.execute("INSERT OR IGNORE INTO dirty VALUES (?)", [seq])
                if earlier not in seen:
                    seen.add(earlier)
                    waiting.append(earlier)

    def _resolve(self) -> None:
        """Work out from scratch what holds."""
        chains = resolve(self._many("SELECT line FROM entry ORDER BY seq"))
        for entry in chains.entries:
            by = chains.replaced_by.get(entry.id, "")
            self._db.execute(
                "UPDATE entry SET replaced_by = ?, open = ? WHERE id = ?",
                [by, chains.is_open(entry), entry.id],
            )
        self._db.execute("INSERT OR IGNORE INTO dirty SELECT seq FROM entry")

    # --- what is to be worked off ---------------------------------------------------------

    def dirty(self) -> tuple[list[int], list[Entry]]:
        """The entries that have changed since they were last worked off."""
        rows = self._db.execute(
            "SELECT seq, line FROM dirty CROSS JOIN entry USING (seq)"
        ).fetchall()
        return [row[0] for row in rows], [decode(row[1]) for row in rows]

    def done(self, numbers: Sequence[int]) -> None:
        with self._transaction():
            self._db.executemany("DELETE FROM dirty WHERE seq = ?", [[one] for one in numbers])

    def written(self, path: str) -> bytes | None:
        """What was written to a file the last time, as a digest."""
        row = self._db.execute("SELECT digest FROM written WHERE path = ?", [path]).fetchone()
        return row[0] if row else None

    def note_written(self, path: str, digest: bytes) -> None:
        self._db.execute("INSERT OR REPLACE INTO written VALUES (?, ?)", [path, digest])

    def block(self, key: str) -> str:
        """What was last written into a block, as its writer had put it down."""
        row = self._db.execute("SELECT lines FROM block WHERE key = ?", [key]).fetchone()
        return row[0] if row else ""

    def note_block(self, key: str, lines: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO block VALUES (?, ?)", [key, lines])

    def get(self, key: str, default: str = "") -> str:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", [key]).fetchone()
        return row[0] if row else default

    def set(self, key: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [key, value])

    # --- asking -----------------------------------------------------------------------------

    def _many(self, sql: str, values: Sequence[Any] = ()) -> list[Entry]:
        return [decode(row[0]) for row in self._db.execute(sql, values)]

    def about(self, slugs: Iterable[str]) -> list[Entry]:
        """What holds about a subject, under all its names, in log order."""
        names = list(slugs)
        marks = ",".join("?" * len(names))
        return self._many(
            f"SELECT line FROM entry WHERE subject IN ({marks}) AND replaced_by = '' "  # noqa: S608
            "ORDER BY seq",
            names,
        )

    def ever_about(self, slugs: Iterable[str]) -> list[Entry]:
        """All that was ever said about a subject."""
        sql = "SELECT line FROM entry WHERE subject = ? ORDER BY seq"
        return [entry for slug in slugs for entry in self._many(sql, [slug])]

    def said(self, since: datetime, until: datetime) -> list[tuple[Entry, Entry | None]]:
        """What was said in a span of time, each with what holds instead, in log order."""
        rows = self._db.execute(
            "SELECT line, replaced_by FROM entry WHERE at >= ? AND at < ? ORDER BY seq",
            [since.timestamp(), until.timestamp()],
        ).fetchall()
        return [(decode(line), self.latest(by) if by else None) for line, by in rows]

    def said_on(self, day: datetime) -> list[tuple[Entry, Entry | None]]:
        """What was said on the first or the last day of the calendar."""
        return self.said(day, day.replace(hour=23, minute=59, second=59, microsecond=999999))

    def latest(self, identity: str) -> Entry | None:
        """What holds today, of an entry's chain."""
        for _ in range(10_000):
            row = self._db.execute(
                "SELECT line, replaced_by FROM entry WHERE id = ?", [identity]
            ).fetchone()
            if row is None:
                return None
            if not row[1]:
                return decode(row[0])
            identity = row[1]
        return None

    def holding(self, ids: Iterable[str]) -> dict[str, Entry]:
        """Those of these entries that hold."""
        found: dict[str, Entry] = {}
        for identity in ids:
            row = self._db.execute(
                "SELECT line FROM entry WHERE id = ? AND replaced_by = ''", [identity]
            ).fetchone()
            if row:
                found[identity] = decode(row[0])
        return found

    def depths(self, ids: Iterable[str]) -> dict[str, int]:
        """How often each has been refined."""
        wanted = list(ids)
        found: dict[str, int] = {}
        for first in range(0, len(wanted), 500):
            some = wanted[first : first + 500]
            marks = ",".join("?" * len(some))
            sql = f"SELECT id, depth FROM entry WHERE id IN ({marks})"  # noqa: S608
            found.update(self._db.execute(sql, some).fetchall())
        return found

    def newest(self, slugs: Iterable[str]) -> Entry | None:
        """The newest thing that holds about a subject; of two, where a session stopped."""
        names = list(slugs)
        marks = ",".join("?" * len(names))
        found = self._many(
            f"SELECT line FROM entry WHERE subject IN ({marks}) AND replaced_by = '' "  # noqa: S608
            "ORDER BY at DESC, type = 'handoff' DESC, seq DESC LIMIT 5",
            names,
        )
        return next((entry for entry in found if not entry.extra.get(RETRACTED)), None)

    def of_kind(self, kind: str) -> list[Entry]:
        sql = (
            "SELECT line FROM entry WHERE kind = ? AND kind != '' AND replaced_by = '' ORDER BY seq"
        )
        return self._many(sql, [kind])

    def days(self) -> list[float]:
        """When something was said, as moments, one for each quarter of an hour at most."""
        sql = "SELECT DISTINCT CAST(at / 900 AS INTEGER) * 900 FROM entry"
        return [row[0] for row in self._db.execute(sql)]

    def subjects(self) -> list[str]:
        """Every subject of an entry that holds."""
        rows = self._db.execute("SELECT DISTINCT subject FROM entry WHERE replaced_by = ''")
        return [row[0] for row in rows]

    def since(self, moment: datetime) -> dict[str, float]:
        """The subjects of what holds and was said since then, with when it was last."""
        rows = self._db.execute(
            "SELECT subject, max(at) FROM entry WHERE at >= ? AND replaced_by = '' "
            "GROUP BY subject",
            [moment.timestamp()],
        )
        return dict(rows.fetchall())

    def pending(self) -> list[Entry]:
        """All that is open, the newest first."""
        return self._many("SELECT line FROM entry WHERE open = 1 ORDER BY at DESC, seq DESC")

    def pinned(self) -> list[Entry]:
        sql = "SELECT line FROM entry WHERE pinned = 1 AND replaced_by = '' ORDER BY seq"
        return self._many(sql)

    def recent(self, since: datetime, most: int, *, telling: bool = False) -> list[Entry]:
        """What holds and was said since then, the newest first; `telling`: more than a fact."""
        more = " AND (type = 'decision' OR kind != '' OR depth > 0)" if telling else ""
        return self._many(
            "SELECT line FROM entry WHERE at >= ? AND replaced_by = '' AND type != 'handoff'"  # noqa: S608
            f"{more} ORDER BY at DESC, seq DESC LIMIT ?",
            [since.timestamp(), most],
        )
