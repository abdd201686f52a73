"""Writer: puts chunks into the index and takes them out, with their words and vectors."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wakebook.index import fields, postings, vectors, words
from wakebook.index.chunk import Chunk
from wakebook.index.store import Store

if TYPE_CHECKING:
    from wakebook.models.embedder import Embedder, Rows

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
