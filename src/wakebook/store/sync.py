"""Sync: bring the index up to what the home holds now, reading only what changed.

The log is read from the byte where the last sync stopped; a file is read when its size or
time changed, cut anew when its content did, and only the chunks that differ are replaced.
Every batch is one transaction together with how far it came: a sync that was killed goes on
where it stopped, and two at once do the work once.

The built-in embedder keeps up as chunks come in. A slow or paid one gets its turn after
everything can be found by its words (`embed_pending`), and an index made with another
embedder is embedded anew, never mixed.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakebook.base.errors import ModelError, TranscriptError
from wakebook.base.home import Home
from wakebook.log import query
from wakebook.log.chains import resolve
from wakebook.log.entry import Entry
from wakebook.store import changes, postings, vectors, words
from wakebook.store import chunk as chunks
from wakebook.store.chunk import Chunk
from wakebook.store.database import Store

if TYPE_CHECKING:
    from wakebook.models.embedder import Embedder, Rows

BATCH = 8000  # chunks in one transaction
EMBED_BATCH = 256
SLICE = 8 << 20  # bytes of the log that are read at a time

Progress = Callable[[str, int, int], None]  # what, done, of how many


def quiet(what: str, done: int, total: int) -> None:
    pass


@dataclass(slots=True)
class Synced:
    """What a sync did."""

    added: int = 0
    removed: int = 0
    embedded: int = 0
    pending: int = 0  # chunks without a vector still
    problem: str = ""  # why the embedder could not be used
    files: list[str] = field(default_factory=list)  # that were read


class Sync:
    def __init__(
        self,
        store: Store,
        home: Home,
        embedder: Embedder | None,
        *,
        extra: Sequence[Path] = (),
        mounted: Sequence[Path] = (),
        only: set[str] | None = None,
        max_file_bytes: int = 10 << 20,
        progress: Progress = quiet,
    ) -> None:
        self.store = store
        self.home = home
        self.embedder = embedder
        self.extra = extra  # files outside of the home
        self._known = frozenset(extra)
        self._mounted = frozenset(map(str, mounted))  # those of them that are of another home
        self.only = only  # the only files to read, if not all
        self.max_file_bytes = max_file_bytes
        self.progress = progress
        self.done = Synced()
        self.writer = Writer(store, embedder)

    def run(self, *, embed: int | None = None) -> Synced:
        """Everything. `embed` limits how many waiting chunks are embedded (None: all)."""
        self.store.fresh()
        self._check_fingerprint()
        self._files()  # first: they know the hosts of the sessions
        self._log()
        self._subjects()
        self.embed_pending(embed)
        done = self.done
        done.added, done.removed = self.writer.added, self.writer.removed
        done.embedded = self.writer.embedded
        return done

    def _check_fingerprint(self) -> None:
        """Start over where the words or the vectors of the index are not those of today."""
        cut = f"words {words.VERSION} chunks {chunks.VERSION} fields {chunks.FIELDS_VERSION}"
        name = self.embedder.name if self.embedder else ""
        if self.store.get("cut") == cut and self.store.get("embedder") == name:
            return
        with self.store.writing() as db:
            if self.store.get("cut", cut) != cut:
                for table in "file session chunk body replaces said pending term posting".split():
                    db.execute(f"DELETE FROM {table}")  # noqa: S608
                db.execute("DELETE FROM meta WHERE key <> 'schema'")
                vectors.clear(db)
            elif self.store.get("embedder", name) != name:
                vectors.clear(db)
                db.execute("DELETE FROM pending")
                self.store.set("dimension", 0)
                if name:
                    db.execute("INSERT INTO pending SELECT id FROM chunk")
            self.store.set("cut", cut)
            self.store.set("embedder", name)

    # --- the log ---------------------------------------------------------------------

    def _log(self) -> None:
        mark = self.store.get("log", {})
        if not changes.in_log(self.store, self.home):
            return
        if not mark and not self.home.log.exists():
            return
        from wakebook.log import log

        size, before = 0, 0  # bytes, and entries
        if mark and self._is_same_log(mark):
            size, before = mark["size"], mark["entries"]
        hosts = self._hosts()
        if mark and not size:
            self._forget_entries(hosts)
        end = -1
        while size != end:
            # what is written after this is for the next sync
            end = changes.log_mark(self.home, 0)["end"]
            reading = log.read(self.home, size, SLICE)
            for start in range(0, max(len(reading.entries), 1), BATCH):
                part = reading.entries[start : start + BATCH]
                with self.store.writing() as db:
                    self._put_entries(db, part, before, hosts)
                    before += len(part)
                    if start + BATCH >= len(reading.entries):
                        self._note_log(reading.size, end, before)
            self.progress("log", min(reading.size, end), end)
            if reading.size == size:  # nothing more, or half a line
                return
            size = reading.size

    def _note_log(self, size: int, end: int, entries: int) -> None:
        """How far the log was read, how long it was then, and how many entries that were."""
        mark = changes.log_mark(self.home, size)
        self.store.set("log", mark | {"end": max(end, size), "entries": entries})

    def _is_same_log(self, mark: dict[str, Any]) -> bool:
        """Whether the log only grew since then."""
        now = changes.log_mark(self.home, mark["size"])
        same = all(now[name] == mark[name] for name in ("tail", "inode"))
        return same and bool(now["end"] >= mark["size"])

    def _put_entries(
        self, db: sqlite3.Connection, entries: Sequence[Entry], before: int, hosts: dict[str, str]
    ) -> None:
        """`before` is how many entries come before these in the log."""

        names = [entry.id for entry in entries]
        marks = ",".join("?" * len(names))
        sql = f"SELECT name FROM chunk WHERE name IN ({marks})"  # noqa: S608
        have = {row[0] for row in db.execute(sql, names)}
        new: dict[str, Chunk] = {}
        for place, entry in enumerate(entries, start=before + 1):
            if entry.id in have:
                db.execute("UPDATE chunk SET place = ? WHERE name = ?", (place, entry.id))
            elif entry.id not in new:  # the first of an id counts
                item = chunks.of_entry(entry, hosts.get(entry.session, ""))
                new[entry.id] = replace(item, place=place)
        self.writer.put(db, [(item, 0) for item in new.values()])
        relate(db, entries)

    def _forget_entries(self, hosts: dict[str, str]) -> None:
        """The log was rewritten: drop what is not in it any more, or not in this way."""
        from wakebook.log import log

        digests = {
            entry.id: chunks.of_entry(entry, hosts.get(entry.session, "")).digest()
            for entry in log.read(self.home).entries
        }
        with self.store.writing() as db:
            sql = "SELECT id, name, digest, replaced_by FROM chunk WHERE name <> ''"
            rows = db.execute(sql).fetchall()
            self.writer.drop(
                db, [row[0] for row in rows if row[3] or digests.get(row[1]) != row[2]]
            )
            forget(db)
            self.store.set("log", {})

    def _hosts(self) -> dict[str, str]:
        """session -> host, for entries, which do not say."""
        rows = self.store.db.execute("SELECT name, host FROM session WHERE host <> ''")
        return dict(rows.fetchall())

    def _subjects(self) -> None:
        """Slugs and aliases, for questions that name a subject."""
        mark = changes.subjects_mark(self.home)
        if mark is None or self.store.get("subjects_mark") == mark:
            return
        from wakebook.log import subjects

        registry = subjects.load(self.home)
        names = {item.slug: item.slug for item in registry.known()} | registry.aliases()
        with self.store.writing():
            self.store.set("subjects", names)
            self.store.set("subjects_mark", mark)

    # --- files -----------------------------------------------------------------------

    def _files(self) -> None:
        known = {
            path: (number, modified, size)
            for number, path, modified, size in self.store.db.execute(
                "SELECT id, path, modified, size FROM file"
            )
        }
        found = dict(changes.files(self.home, self.extra))
        if self.only is not None:
            found = {path: stat for path, stat in found.items() if path in self.only}
        gone = [known[path][0] for path in known if path not in found]
        if gone:
            with self.store.writing() as db:
                for number in gone:
                    self.writer.drop(db, _chunks_of(db, number))
                    db.execute("DELETE FROM file WHERE id = ?", (number,))
        changed = [
            path
            for path, (modified, size) in found.items()
            if path not in known or known[path][1:] != (modified, size)
        ]
        self._read_files(sorted(changed), found)

    def _read_files(self, paths: Sequence[str], found: dict[str, tuple[int, int]]) -> None:
        waiting: list[tuple[str, bytes, list[Chunk], str]] = []
        count = 0
        for number, path in enumerate(paths, start=1):
            digest, pieces, problem = self._cut(path, found[path])
            waiting.append((path, digest, pieces, problem))
            count += len(pieces)
            if count >= BATCH or number == len(paths):
                with self.store.writing() as db:
                    new: list[tuple[Chunk, int]] = []
                    for item in waiting:
                        new += self._changed(db, *item, found[item[0]])
                    self.writer.put(db, new)
                self.done.files += [item[0] for item in waiting]
                waiting, count = [], 0
                self.progress("files", number, len(paths))

    def _cut(self, path: str, stat: tuple[int, int]) -> tuple[bytes, list[Chunk], str]:
        """A file's digest and chunks, or why it has none."""
        if path.endswith("/"):
            return b"", [], "the folder cannot be read"
        if not self._is_ours(path):
            return b"", [], "a link that leads out of the home"
        if "\N{REPLACEMENT CHARACTER}" in path:
            return b"", [], "its name is not UTF-8; rename it"
        if stat[1] > self.max_file_bytes:
            limit = f"{self.max_file_bytes >> 20} MB ([search] max_file_megabytes)"
            return b"", [], f"larger than {limit}"
        try:
            data = (self.home.root / path).read_bytes()
        except OSError as error:
            return b"", [], f"{error.strerror or error}"
        digest = hashlib.blake2b(data, digest_size=16).digest()
        if b"\0" in data[:8192]:
            return digest, [], "not text"
        text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        category, _ = chunks.category(path)
        if category != "conversation":
            return digest, self._note(path, text, stat), ""
        from wakebook.capture import archive

        try:
            transcript = archive.read(self.home, path)
        except (TranscriptError, UnicodeDecodeError):  # somebody's own file
            return digest, self._note(path, text, stat), ""
        return digest, list(chunks.of_transcript(transcript)), ""

    def _note(self, path: str, text: str, stat: tuple[int, int]) -> list[Chunk]:
        whole = path in self._mounted  # its entries are in another log
        return list(chunks.of_note(path, text, stat[0] // 10**9, whole))

    def _is_ours(self, path: str) -> bool:
        whole = (self.home.root / path).resolve()
        return whole.is_relative_to(self.home.root.resolve()) or whole in self._known

    def _changed(
        self,
        db: sqlite3.Connection,
        path: str,
        digest: bytes,
        pieces: Sequence[Chunk],
        problem: str,
        stat: tuple[int, int],
    ) -> list[tuple[Chunk, int]]:
        """Note a file as it is now, drop what is no longer in it, return what is new in it."""
        row = db.execute("SELECT id, digest FROM file WHERE path = ?", (path,)).fetchone()
        if row and row[1] == digest and digest:
            sql = "UPDATE file SET modified = ?, size = ? WHERE id = ?"
            db.execute(sql, (*stat, row[0]))
            return []
        number = row[0] if row else None
        if not digest:  # it could not be read: look again the next time
            stat = (0, stat[1])
        sql = "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?)"
        number = db.execute(sql, (number, path, *stat, digest, problem)).lastrowid
        assert number is not None
        old: dict[bytes, list[int]] = {}
        for chunk, known in db.execute("SELECT id, digest FROM chunk WHERE file = ?", (number,)):
            old.setdefault(known, []).append(chunk)
        new = []
        for piece in pieces:
            same = old.get(piece.digest())
            if same:
                sql = "UPDATE chunk SET line = ?, last_line = ?, place = ?, at = ? WHERE id = ?"
                db.execute(sql, (piece.line, piece.last_line, piece.place, piece.at, same.pop()))
            else:
                new.append((piece, number))
        self.writer.drop(db, [chunk for chunks_ in old.values() for chunk in chunks_])
        return new

    # --- vectors ---------------------------------------------------------------------

    def embed_pending(self, most: int | None = None) -> None:
        """Give vectors to chunks that wait for them. A dead embedder leaves them waiting."""
        total = self.store.count("pending")
        self.done.pending = total
        if not total or self.embedder is None or most == 0:
            return
        done = 0
        wanted = total if most is None else min(most, total)
        try:
            while done < wanted:
                done += self._embed_some(min(EMBED_BATCH, wanted - done))
                self.progress("vectors", done, wanted)
                if not self.store.count("pending"):
                    break
        except ModelError as error:
            self.done.problem = str(error)
        self.done.pending = self.store.count("pending")

    def _embed_some(self, most: int) -> int:
        sql = "SELECT id FROM pending ORDER BY id DESC LIMIT ?"  # what is new matters most
        ids = [row[0] for row in self.store.db.execute(sql, (most,))]
        texts = [chunks.meaning(read(self.store.db, number)) for number in ids]
        assert self.embedder is not None
        rows = self.embedder.embed(texts)  # outside of the transaction: it may take a while
        with self.store.writing() as db:
            self.writer.embed(db, ids, rows)
            db.executemany("DELETE FROM pending WHERE id = ?", [(number,) for number in ids])
        return len(ids)


def _chunks_of(db: sqlite3.Connection, file: int) -> list[int]:
    return [row[0] for row in db.execute("SELECT id FROM chunk WHERE file = ?", (file,))]


def problems(store: Store) -> Iterable[tuple[str, str]]:
    """Files that could not be indexed, and why."""
    return store.db.execute("SELECT path, problem FROM file WHERE problem <> ''").fetchall()


# -----------------------------------------------------------------------------
# Related: what replaces what, and where entries were said, kept as the log grows.
#
# The rules are those of the log's chains, applied to the family of an entry: all that it
# replaces, all that replaces it, and so on.


def relate(db: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    """Remember what entries replace and where they were said. They are in the index already."""
    for entry in entries:
        links = [(old, entry.id) for old in entry.replaces]
        db.executemany("INSERT OR IGNORE INTO replaces VALUES (?, ?)", links)
        if entry.transcript:
            said = [(entry.transcript, turn, entry.id) for turn in entry.evidence]
            db.executemany("INSERT OR IGNORE INTO said VALUES (?, ?, ?)", said)
    settled: set[str] = set()
    for entry in entries:
        if entry.id not in settled:
            settled |= _settle(db, entry.id)


def forget(db: sqlite3.Connection) -> None:
    """All of it: the log was rewritten. What was replaced is no longer in the index then."""
    db.execute("DELETE FROM replaces")
    db.execute("DELETE FROM said")


def _settle(db: sqlite3.Connection, name: str) -> set[str]:
    """Work out what holds in an entry's family. Returns the family."""
    family, links = _family(db, name)
    if not links:
        return family
    marks = ",".join("?" * len(family))
    rows = db.execute(
        f"SELECT name, type, own_status FROM chunk WHERE name IN ({marks}) ORDER BY place",  # noqa: S608
        list(family),
    ).fetchall()
    long_ago = datetime.fromtimestamp(0, UTC)
    chains = resolve(
        Entry(
            id=name,
            type=kind,
            status=status if kind == "task" else None,
            replaces=tuple(old for old, new in links if new == name),
            timestamp=long_ago,
            content="-",
            session="-",
        )
        for name, kind, status in rows
    )
    for entry in chains.entries:
        replaced_by = chains.replaced_by.get(entry.id, "")
        new = (replaced_by, query.status(entry, chains))
        db.execute("UPDATE chunk SET replaced_by = ?, status = ? WHERE name = ?", (*new, entry.id))
    return family


def _family(db: sqlite3.Connection, name: str) -> tuple[set[str], list[tuple[str, str]]]:
    """Every entry that an entry is connected with, and (old, new) for each connection."""
    family, links, waiting = {name}, set(), [name]
    while waiting:
        current = waiting.pop()
        sql = "SELECT old, new FROM replaces WHERE old = ?1 OR new = ?1"
        for old, new in db.execute(sql, (current,)):
            links.add((old, new))
            others = {old, new} - family
            family |= others
            waiting += others
    return family, sorted(links)


# --- chunks in and out ------------------------------------------------------------------

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
            uses, size, language = chunks.uses(item)
            length += size
            languages.add(language)
            for term, use in postings.pack(uses, size).items():
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
            self.embed(db, ids, self._embedder.embed([chunks.meaning(item) for item, _ in items]))

    def drop(self, db: sqlite3.Connection, ids: Sequence[int]) -> None:
        if not ids:
            return
        found: dict[str, set[int]] = {}
        length = 0
        for number in ids:
            uses, size, _ = chunks.uses(read(db, number))
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
        self._version()
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
