"""Catalogue: the log by subject, day and state, and what has to be done for each entry.

`sync` takes in what the log has gained since the last time, or all of it if the log was rewritten.
What holds is worked out for the family of an entry: all that it replaces, all that replaces it,
and so on, by the rules of the log's chains. Every entry that came or changed stands on two lists
until it is worked off: `dirty` for the notes, `waiting` for the search.
"""

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from wakebook.base.errors import IndexUnavailable
from wakebook.base.home import Home
from wakebook.log import log
from wakebook.log.chains import resolve
from wakebook.log.entry import RETRACTED, Entry, decode, encode
from wakebook.store import AMONG, Connection, Many, Store, database
from wakebook.store.changes import log_mark
from wakebook.store.database import LocalStore, is_broken

SLICE = 8 << 20  # bytes of the log that are read at a time
WRITE_SECONDS = 60.0  # how long to wait for another process that writes
_entry = lru_cache(maxsize=8192)(decode)  # each note of a subject asks for the same ones


def destroy(home: Home) -> None:
    """Set a broken database aside: the next one is made from the log and the files."""
    store = database.of(home)
    store.abandon()
    if store.set_aside:
        with suppress(OSError):
            told = f"broken; kept as {store.set_aside.name}"
            home.trace("failure", where="index", error=told)


def digest(line: bytes) -> bytes:
    """Changes when anything of an entry does."""
    return blake2b(line, digest_size=16).digest()


def _opened(home: Home) -> Store:
    """The database of a home; if it cannot be used, one in memory, made from the log."""
    store = database.of(home)
    try:
        store.patience(WRITE_SECONDS)
    except IndexUnavailable as error:  # of a newer Wakebook, or no file
        if "locked" in str(error):
            raise
    else:
        if not store.readonly:
            return store
    store.close()
    return LocalStore(Path(":memory:"))


class Catalogue:
    """Open it, `sync`, then ask. Under the writer lock where something is worked off."""

    def __init__(self, home: Home, store: Store | None = None) -> None:
        self._home = home
        self._store = store or _opened(home)

    def close(self) -> None:
        self._store.close()

    @property
    def _db(self) -> Connection:
        return self._store.db

    def forget(self) -> None:
        """Start over with the next sync."""
        with self._store.writing():
            self._store.set("log", {})

    @property
    def anew(self) -> bool:
        """Whether the log was read from its beginning since all notes were last written."""
        return self.get("anew") == "yes"

    def sync(self) -> None:
        """Take in what the log has gained; if it was rewritten, all of it (`anew`)."""
        try:
            self.read()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and not is_broken(error):
                raise  # locked, or a full disk
            self.close()
            destroy(self._home)
            self._store = _opened(self._home)
            self.read()

    def read(self) -> None:
        """The same; what is wrong with the database is for the caller to mend."""
        store = self._store
        store.fresh()
        mark = store.get("log", {})
        while mark != log_mark(self._home, mark.get("size", 0)):
            with store.writing() as db:
                more = self._take(db)
            mark = store.get("log")
            if not more:
                break

    def _take(self, db: Connection) -> bool:
        """Take in the next entries, as a part of a transaction. Whether there is more to read."""
        mark = self._store.get("log", {})
        size = mark.get("size", 0)
        now = log_mark(self._home, size)  # what is written after this is for the next time
        if not mark or mark.get("same") != now.get("same") or now["end"] < size:
            size = 0  # the log is another one: all that is known of it is in question
            sql = "INSERT INTO waiting SELECT name, 0 FROM chunk WHERE name <> ''"
            db.execute(f"{sql} ON CONFLICT (name) DO NOTHING")
            for table in ("entry", "dirty", "replaces", "said"):
                db.execute(f"DELETE FROM {table}")  # noqa: S608
            self.set("anew", "yes")
        reading = log.read(self._home, size, SLICE)
        settled: set[str] = set()
        for name in self._insert(db, reading.entries):
            if name not in settled:
                settled |= self._settle(db, name)
        more: bool = size < reading.size < now["end"]
        end = reading.size if more else max(now["end"], reading.size)
        self._store.set("log", log_mark(self._home, reading.size) | {"end": end})
        return more

    @property
    def current(self) -> bool:
        """Whether all of the log has been taken in."""
        mark = self._store.get("log", {})
        return bool(mark) and mark == log_mark(self._home, mark.get("size", 0))

    def read_from(self, size: int, names: Collection[str], lines: int) -> None:
        """The log was rewritten from this byte on, after all of its lines had been taken in.
        `names`: the entries that stood there and stand there again, among others."""
        with self._store.writing() as db:
            if db.execute("SELECT count(*) FROM entry").fetchone()[0] != lines:
                return  # an id stood there twice: all of the log is read anew
            old = [Many(names)]
            sql = f"SELECT old FROM replaces WHERE new {AMONG}"  # noqa: S608
            earlier = {row[0] for row in db.execute(sql, old)} - set(names)
            sql = f"DELETE FROM dirty WHERE seq IN (SELECT seq FROM entry WHERE id {AMONG})"  # noqa: S608
            db.execute(sql, old)
            for table, column in (("entry", "id"), ("replaces", "new"), ("said", "entry")):
                db.execute(f"DELETE FROM {table} WHERE {column} {AMONG}", old)  # noqa: S608
            for name in earlier:
                self._settle(db, name)
            self._store.set("log", log_mark(self._home, size) | {"end": size})

    def _insert(self, db: Connection, entries: Sequence[Entry]) -> list[str]:
        """Add the entries that are not there. Returns those that replace or are replaced."""
        ids = Many({entry.id for entry in entries})
        found = db.execute(f"SELECT id FROM entry WHERE id {AMONG}", [ids])  # noqa: S608
        known = {name for (name,) in found}
        new: dict[str, Entry] = {}
        for entry in entries:  # the first of an id counts
            if entry.id not in known:
                new.setdefault(entry.id, entry)
        if not new:
            return []
        first = self._store.highest("entry", "seq") + 1
        rows = [_row(seq, entry) for seq, entry in enumerate(new.values(), first)]
        names = "seq, id, subject, at, type, kind, status, pinned, line"
        sql = f"INSERT INTO entry ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
        db.executemany(sql, rows)
        db.executemany("INSERT INTO dirty (seq) VALUES (?)", [row[:1] for row in rows])
        links = [(old, entry.id) for entry in new.values() for old in entry.replaces]
        sql = "INSERT INTO replaces (old, new) VALUES (?, ?) ON CONFLICT (old, new) DO NOTHING"
        db.executemany(sql, links)
        said = [
            (entry.transcript, turn, entry.id)
            for entry in new.values()
            for turn in (entry.evidence if entry.transcript else ())
        ]
        sql = "INSERT INTO said (file, place, entry) VALUES (?, ?, ?)"
        db.executemany(f"{sql} ON CONFLICT (file, place, entry) DO NOTHING", said)
        self._wait(db, rows)
        sql = f"SELECT DISTINCT old FROM replaces WHERE old {AMONG}"  # noqa: S608
        named = {name for (name,) in db.execute(sql, [Many(new)])} | {name for _, name in links}
        return [name for name in new if name in named]

    def _wait(self, db: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
        """Put those on the list that the search does not have as they are."""
        sql = f"SELECT name, digest FROM chunk WHERE name {AMONG}"  # noqa: S608
        known = dict(db.execute(sql, [Many(row[1] for row in rows)]).fetchall())
        same = [row for row in rows if row[1] in known and known[row[1]] == digest(row[8])]
        sql = "UPDATE chunk SET replaced_by = '', status = ? WHERE name = ?"
        db.executemany(sql, [(row[6], row[1]) for row in same])
        db.executemany("DELETE FROM waiting WHERE name = ?", [(row[1],) for row in same])
        there = {row[1] for row in same}
        sql = "INSERT INTO waiting (name, seq) VALUES (?, ?)"
        db.executemany(
            f"{sql} ON CONFLICT (name) DO UPDATE SET seq = excluded.seq",
            [(row[1], row[0]) for row in rows if row[1] not in there],
        )

    def _settle(self, db: Connection, name: str) -> set[str]:
        """Work out what holds in an entry's family. Returns the family."""
        family = _family(db, name)
        sql = "SELECT seq, line, replaced_by, status, depth FROM entry"
        rows = db.execute(f"{sql} WHERE id {AMONG} ORDER BY seq", [Many(family)]).fetchall()
        chains = resolve(decode(line) for _, line, *_ in rows)
        depths: dict[str, int] = {}  # how often each was refined
        for entry, (seq, _, *before) in zip(chains.entries, rows, strict=True):
            earlier = (depths[old] + 1 for old in entry.replaces if old in depths)
            depths[entry.id] = max(earlier, default=0)
            holds = [chains.replaced_by.get(entry.id, ""), chains.status(entry)]
            if [*holds, depths[entry.id]] != before:
                sql = "UPDATE entry SET replaced_by = ?, status = ?, depth = ? WHERE seq = ?"
                db.execute(sql, (*holds, depths[entry.id], seq))
                sql = "UPDATE chunk SET replaced_by = ?, status = ? WHERE name = ?"
                if db.execute(sql, (*holds, entry.id)).rowcount:
                    self._store.touch()
            db.execute("INSERT INTO dirty (seq) VALUES (?) ON CONFLICT (seq) DO NOTHING", (seq,))
        return family

    # --- working off -----------------------------------------------------------------------

    def dirty(self) -> tuple[list[int], list[Entry]]:
        """The entries that have changed since their notes were last written."""
        sql = "SELECT e.seq, e.line FROM dirty d CROSS JOIN entry e WHERE e.seq = d.seq"
        rows = self._db.execute(f"{sql} ORDER BY d.seq").fetchall()
        return [row[0] for row in rows], [decode(row[1]) for row in rows]

    def done(self, numbers: Sequence[int]) -> None:
        with self._store.writing() as db:
            db.executemany("DELETE FROM dirty WHERE seq = ?", [(one,) for one in numbers])

    def written(self, path: str) -> bytes | None:
        """What was written to a file the last time, as a digest."""
        row = self._db.execute("SELECT digest FROM written WHERE path = ?", [path]).fetchone()
        return row[0] if row else None

    def note_written(self, path: str, digest: bytes) -> None:
        sql = "INSERT INTO written (path, digest) VALUES (?, ?) ON CONFLICT (path) DO UPDATE"
        self._db.execute(f"{sql} SET digest = excluded.digest", [path, digest])

    def block(self, key: str) -> str:
        """What was last written into a block, as its writer had put it down."""
        row = self._db.execute("SELECT lines FROM block WHERE key = ?", [key]).fetchone()
        return row[0] if row else ""

    def note_block(self, key: str, lines: str) -> None:
        sql = "INSERT INTO block (key, lines) VALUES (?, ?) ON CONFLICT (key) DO UPDATE"
        self._db.execute(f"{sql} SET lines = excluded.lines", [key, lines])

    def get(self, key: str, default: str = "") -> str:
        """What the notes keep from one time to the next."""
        return str(self._store.get(f"notes: {key}", default))

    def set(self, key: str, value: str) -> None:
        self._store.set(f"notes: {key}", value)

    # --- asking -----------------------------------------------------------------------------

    def _many(self, where: str, *values: Any) -> list[Entry]:
        sql = f"SELECT line FROM entry WHERE {where}"  # noqa: S608
        return [_entry(row[0]) for row in self._db.execute(sql, values)]

    def about(self, slugs: Sequence[str], order: str = "seq") -> list[Entry]:
        """What holds about a subject, under all its names, in log order."""
        where = f"subject {AMONG} AND replaced_by = '' ORDER BY {order}"
        return self._many(where, Many(slugs))

    def newest(self, slugs: Sequence[str]) -> Entry | None:
        """The newest thing that holds about a subject; of two, where a session stopped."""
        found = self.about(slugs, "at DESC, type = 'handoff' DESC, seq DESC LIMIT 5")
        return next((entry for entry in found if not entry.extra.get(RETRACTED)), None)

    def ever_about(self, slugs: Iterable[str]) -> list[Entry]:
        """All that was ever said about a subject."""
        return [one for slug in slugs for one in self._many("subject = ? ORDER BY seq", slug)]

    def said(self, since: datetime, until: datetime) -> list[tuple[Entry, Entry | None]]:
        """What was said in a span of time, each with what holds instead, in log order."""
        sql = "SELECT line, replaced_by FROM entry WHERE at >= ? AND at < ? ORDER BY seq"
        rows = self._db.execute(sql, [since.timestamp(), until.timestamp()]).fetchall()
        return [(_entry(line), self.latest(by) if by else None) for line, by in rows]

    def latest(self, identity: str) -> Entry | None:
        """What holds today, of an entry's chain."""
        for _ in range(10_000):
            sql = "SELECT line, replaced_by FROM entry WHERE id = ?"
            row = self._db.execute(sql, [identity]).fetchone()
            if row is None:
                return None
            if not row[1]:
                return _entry(row[0])
            identity = row[1]
        return None

    def depths(self, ids: Iterable[str]) -> dict[str, int]:
        """How often each has been refined."""
        sql = f"SELECT id, depth FROM entry WHERE id {AMONG}"  # noqa: S608
        return dict(self._db.execute(sql, [Many(ids)]).fetchall())

    def of_kind(self, kind: str) -> list[Entry]:
        return self._many("kind = ? AND kind != '' AND replaced_by = '' ORDER BY seq", kind)

    def days(self) -> list[float]:
        """When something was said, as moments, one for each quarter of an hour at most."""
        return [*{at // 900 * 900 for (at,) in self._db.execute("SELECT at FROM entry")}]

    def subjects(self) -> list[str]:
        """Every subject of an entry that holds."""
        rows = self._db.execute("SELECT DISTINCT subject FROM entry WHERE replaced_by = ''")
        return [row[0] for row in rows]

    def since(self, moment: datetime) -> dict[str, float]:
        """The subjects of what holds and was said since then, with when it was last."""
        where = "WHERE at >= ? AND replaced_by = '' GROUP BY subject"
        sql = f"SELECT subject, max(at) FROM entry {where}"  # noqa: S608
        return dict(self._db.execute(sql, [moment.timestamp()]).fetchall())

    def pending(self) -> list[Entry]:
        """All that is open, the newest first."""
        return self._many("status = 'open' ORDER BY at DESC, seq DESC")

    def pinned(self) -> list[Entry]:
        return self._many("pinned AND replaced_by = '' ORDER BY seq")

    def recent(self, since: datetime, most: int, *, telling: bool = False) -> list[Entry]:
        """What holds and was said since then, the newest first; `telling`: more than a fact."""
        more = " AND (type = 'decision' OR kind != '' OR depth > 0)" if telling else ""
        where = f"at >= ? AND replaced_by = '' AND type != 'handoff'{more}"
        return self._many(f"{where} ORDER BY at DESC, seq DESC LIMIT ?", since.timestamp(), most)


def _row(seq: int, entry: Entry) -> tuple[Any, ...]:
    status = entry.status or ("open" if entry.type == "question" else "")
    at, kind = entry.timestamp.timestamp(), entry.kind or ""
    known = (entry.id, entry.subject, at, entry.type, kind, status, bool(entry.pinned))
    return (seq, *known, encode(entry))


def _family(db: Connection, name: str) -> set[str]:
    """Every entry that an entry is connected with by replacements."""
    family, waiting = {name}, [name]
    while waiting:
        current = waiting.pop()
        sql = "SELECT old, new FROM replaces WHERE old = ? OR new = ?"
        for pair in db.execute(sql, (current, current)).fetchall():
            others = {*pair} - family
            family |= others
            waiting += others
    return family
