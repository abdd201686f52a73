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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wakebook.base.errors import ModelError, TranscriptError
from wakebook.base.home import WITHHELD, Home
from wakebook.capture import project as projects
from wakebook.capture.project import Projects, project_of
from wakebook.learn.about import is_own
from wakebook.log import subjects
from wakebook.log.entry import decode
from wakebook.log.subjects import Registry
from wakebook.store import AMONG, Connection, Many, Store, changes, chunk, words
from wakebook.store.catalogue import Catalogue, digest
from wakebook.store.chunk import Chunk

if TYPE_CHECKING:
    from wakebook.models.embedder import Embedder, Rows

BATCH = 8000  # chunks in one transaction
EMBED_BATCH = 256

Progress = Callable[[str, int, int], None]  # what, done, of how many
Cut = tuple[bytes, list[Chunk], str]  # a file's digest and chunks, or why it has none


def quiet(what: str, done: int, total: int) -> None:
    pass


@dataclass(slots=True)
class Synced:
    added: int = 0
    removed: int = 0
    embedded: int = 0
    pending: int = 0  # chunks without a vector still
    problem: str = ""  # why the embedder could not be used
    files: list[str] = field(default_factory=list)  # that were read


@dataclass(eq=False)
class Sync:
    store: Store
    home: Home
    embedder: Embedder | None
    _: KW_ONLY
    extra: Sequence[Path] = ()  # files outside of the home
    mounted: Sequence[Path] = ()  # those of them that are of another home
    only: set[str] | None = None  # the only files to read, if not all
    max_file_bytes: int = 10 << 20
    progress: Progress = quiet

    def __post_init__(self) -> None:
        self._known = frozenset(self.extra)
        self._mounted = frozenset(map(str, self.mounted))
        self.done = Synced()
        self.writer = Writer(self.store, self.embedder, self.done)

    def run(self, *, embed: int | None = None) -> Synced:
        """Everything. `embed` limits how many waiting chunks are embedded (None: all)."""
        self.store.fresh()
        self._check_fingerprint()
        self._withheld()
        self._files()  # first: they know the hosts of the sessions
        self._log()
        self._subjects()
        self.embed_pending(embed)
        return self.done

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self.store.writing() as db:
            self.store.touch()
            yield db

    def _check_fingerprint(self) -> None:
        """Start over where the words or the vectors of the index are not those of today."""
        store = self.store
        cut = f"words {words.VERSION} chunks {chunk.VERSION} fields {chunk.FIELDS_VERSION}"
        name = self.embedder.name if self.embedder else ""
        if store.get("cut") == cut and store.get("embedder") == name:
            return
        with self._writing() as db:
            if store.get("cut", cut) != cut:
                for table in "file session chunk body pending term posting".split():
                    db.execute(f"DELETE FROM {table}")  # noqa: S608
                sql = "INSERT INTO waiting SELECT id, seq FROM entry WHERE 1 = 1"
                db.execute(f"{sql} ON CONFLICT (name) DO NOTHING")
                for key in "chunks words languages speakers dimension indexed".split():
                    store.set(key, None)
                db.execute("DELETE FROM vectors")
            elif store.get("embedder", name) != name:
                db.execute("DELETE FROM vectors")
                db.execute("DELETE FROM pending")
                store.set("dimension", None)
                if name:
                    db.execute("INSERT INTO pending (id) SELECT id FROM chunk")
            store.set("cut", cut)
            store.set("embedder", name)

    def _log(self) -> None:
        """Index the entries that came or changed, in the order of the log."""
        store = self.store
        if not changes.in_log(store, self.home):
            return
        Catalogue(self.home, store).read()
        hosts = dict(store.db.execute("SELECT name, host FROM session WHERE host <> ''").fetchall())
        done, total, more = 0, store.count("waiting"), True
        while more:
            with self._writing() as db:
                rows = db.execute(
                    "SELECT w.name, e.line, e.replaced_by, e.status FROM waiting w "
                    "LEFT JOIN entry e ON e.id = w.name ORDER BY w.seq, w.name LIMIT ?",
                    (BATCH,),
                ).fetchall()
                self._put_entries(db, rows, hosts)
                more = len(rows) == BATCH
                if not more:
                    store.set("indexed", store.get("log"))
            done += len(rows)
            self.progress("log", done, max(done, total))

    def _put_entries(
        self, db: Connection, rows: Sequence[tuple[Any, ...]], hosts: Mapping[str, str]
    ) -> None:
        names = Many(row[0] for row in rows)
        old = db.execute(f"SELECT id FROM chunk WHERE name {AMONG}", [names])  # noqa: S608
        self.writer.drop(db, [number for (number,) in old.fetchall()])
        new = []
        said_in = transcripts(db)
        for _, line, replaced_by, status in rows:
            if line is not None:  # it is still in the log
                entry = decode(line)
                own = is_own(entry, self._registry)
                item = chunk.of_entry(entry, hosts.get(entry.session, ""), own=own)
                project = entry.project or said_in.get(entry.transcript, "")
                item = replace(item, status=status, replaced_by=replaced_by, project=project)
                new.append((item, 0, digest(line)))
        self.writer.put(db, new)
        db.execute(f"DELETE FROM waiting WHERE name {AMONG}", [names])  # noqa: S608

    @cached_property
    def _registry(self) -> Registry:
        return subjects.load(self.home)

    @cached_property
    def _projects(self) -> Projects:
        return projects.load(self.home)

    def _subjects(self) -> None:
        """Slugs and aliases, for questions that name a subject."""
        mark = changes.mark(self.home, self.home.subjects)
        if self.store.get("subjects_mark") == mark:
            return
        registry = self._registry
        names = {item.slug: item.slug for item in registry.known()} | registry.aliases()
        with self._writing():
            self.store.set("subjects", names)
            types = {name: registry.subjects[slug].type for name, slug in names.items()}
            self.store.set("subject_types", types)
            self.store.set("subjects_mark", mark)

    def _withheld(self) -> None:
        """Transcripts are read again of which something is told no more."""
        known: dict[str, Any] = self.store.get("withheld", {})
        mark = changes.mark(self.home, self.home.root / WITHHELD)
        if known.get("mark") == mark:
            return
        from wakebook.capture import withheld

        now = list(withheld.load(self.home)[0])
        with self._writing() as db:
            paths = {*known.get("paths", ()), *now}
            both = Many({*paths, *(f"archive/{path}" for path in paths)})
            sql = f"UPDATE file SET modified = 0, digest = ? WHERE path {AMONG}"  # noqa: S608
            db.execute(sql, (b"", both))
            self.store.set("withheld", {"mark": mark, "paths": now})

    def _files(self) -> None:
        rows = self.store.db.execute("SELECT path, id, modified, size FROM file")
        known = {path: row for path, *row in rows}
        found = dict(changes.files(self.home, self.extra))
        if self.only is not None:
            found = {path: stat for path, stat in found.items() if path in self.only}
        gone = [known[path][0] for path in known if path not in found]
        if gone:
            with self._writing() as db:
                sql = f"SELECT id FROM chunk WHERE file {AMONG}"  # noqa: S608
                old = db.execute(sql, [Many(gone)]).fetchall()
                self.writer.drop(db, [number for (number,) in old])
                db.execute(f"DELETE FROM file WHERE id {AMONG}", [Many(gone)])  # noqa: S608
        changed = [
            path
            for path, (modified, size) in found.items()
            if path not in known or known[path][1:] != [modified, size]
        ]
        self._read_files(sorted(changed), found)

    def _read_files(self, paths: Sequence[str], found: dict[str, tuple[int, int]]) -> None:
        waiting: dict[str, Cut] = {}
        count = 0
        for number, path in enumerate(paths, start=1):
            waiting[path] = self._cut(path, found[path])
            count += len(waiting[path][1])
            if count >= BATCH or number == len(paths):
                with self._writing() as db:
                    self.writer.put(db, self._changed(db, waiting, found))
                self.done.files += waiting
                waiting, count = {}, 0
                self.progress("files", number, len(paths))

    def _cut(self, path: str, stat: tuple[int, int]) -> Cut:
        if path.endswith("/"):
            return b"", [], "the folder cannot be read"
        whole = (self.home.root / path).resolve()
        if not whole.is_relative_to(self.home.root.resolve()) and whole not in self._known:
            return b"", [], "a link that leads out of the home"
        if "\N{REPLACEMENT CHARACTER}" in path:
            return b"", [], "its name is not UTF-8; rename it"
        if stat[1] > self.max_file_bytes:
            most = self.max_file_bytes >> 20
            return b"", [], f"larger than {most} MB ([search] max_file_megabytes)"
        try:
            data = (self.home.root / path).read_bytes()
        except OSError as error:
            return b"", [], f"{error.strerror or error}"
        digest = hashlib.blake2b(data, digest_size=16).digest()
        if b"\0" in data[:8192]:
            return digest, [], "not text"
        text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
        if chunk.category(path)[0] == "conversation":
            from wakebook.capture import archive

            with suppress(TranscriptError, UnicodeDecodeError):  # a person's own file
                found = archive.read(self.home, path)
                project = project_of(found.front, self._projects)
                return digest, list(chunk.of_transcript(found, project)), ""
        mounted = path in self._mounted  # its entries are in another log
        return digest, list(chunk.of_note(path, text, stat[0] // 10**9, mounted)), ""

    def _changed(
        self, db: Connection, cuts: Mapping[str, Cut], found: Mapping[str, tuple[int, int]]
    ) -> list[tuple[Chunk, int, bytes]]:
        """Note files as they are now, drop what is no longer in them, return what is new."""
        sql = f"SELECT path, id, digest FROM file WHERE path {AMONG}"  # noqa: S608
        known = {path: (id_, mark) for path, id_, mark in db.execute(sql, [Many(cuts)])}
        last = self.store.highest("file")
        files: list[tuple[Any, ...]] = []
        pieces: dict[int, list[Chunk]] = {}
        for path, (content, cut, problem) in cuts.items():
            number, before = known.get(path, (0, b""))
            if not number:
                number = last = last + 1
            modified, size = found[path]
            if not content:  # it could not be read: look again the next time
                modified = 0
            files.append((number, path, modified, size, content, problem))
            if not content or before != content:
                pieces[number] = cut
        names = "modified size digest problem".split()
        changes_ = ", ".join(f"{name} = excluded.{name}" for name in names)
        sql = f"INSERT INTO file (id, path, {', '.join(names)}) VALUES (?, ?, ?, ?, ?, ?)"  # noqa: S608
        db.executemany(f"{sql} ON CONFLICT (id) DO UPDATE SET {changes_}", files)
        return self._differing(db, pieces)

    def _differing(
        self, db: Connection, pieces: Mapping[int, Sequence[Chunk]]
    ) -> list[tuple[Chunk, int, bytes]]:
        """Drop the chunks that are no longer in their files, return those that are new."""
        sql = f"SELECT file, id, digest FROM chunk WHERE file {AMONG} ORDER BY id"  # noqa: S608
        old: dict[tuple[int, bytes], list[int]] = {}
        for file, number, known in db.execute(sql, [Many(pieces)]):
            old.setdefault((file, known), []).append(number)
        new, moved = [], []
        for file, several in pieces.items():
            for piece in several:
                mark = piece.digest()
                if same := old.get((file, mark)):
                    moved.append((piece.line, piece.last_line, piece.place, piece.at, same.pop()))
                else:
                    new.append((piece, file, mark))
        sql = "UPDATE chunk SET line = ?, last_line = ?, place = ?, at = ? WHERE id = ?"
        db.executemany(sql, moved)
        self.writer.drop(db, [left for same in old.values() for left in same])
        return new

    def embed_pending(self, most: int | None = None) -> None:
        """Give vectors to chunks that wait for them. A dead embedder leaves them waiting."""
        total = self.store.count("pending")
        done, wanted = 0, total if most is None else min(most, total)
        try:
            while self.embedder and done < wanted:
                sql = "SELECT id FROM pending ORDER BY id DESC LIMIT ?"  # what is new matters most
                some = self.store.db.execute(sql, (min(EMBED_BATCH, wanted - done),)).fetchall()
                if not some:  # another process was faster
                    break
                items = read(self.store, [number for (number,) in some])
                texts = [chunk.meaning(items[number]) for (number,) in some]
                rows = self.embedder.embed(texts)  # outside of the transaction: it may take a while
                with self._writing() as db:
                    self.writer.embed([number for (number,) in some], rows)
                    db.executemany("DELETE FROM pending WHERE id = ?", some)
                done += len(some)
                self.progress("vectors", done, wanted)
        except ModelError as error:
            self.done.problem = str(error)
        self.done.pending = self.store.count("pending")


# --- chunks in and out ------------------------------------------------------------------
SAME = """name place line last_line at category type subject status kind speaker pinned archived
    replaced_by project own""".split()  # columns that a chunk has as they are
COLUMNS = [*SAME, *"id file session digest asks turn dated".split()]
ROLES = ("", "user", "agent", "system")
SPEAKERS = 500  # names that are kept, at most


class Writer:
    """Every method is a part of a transaction of the caller's."""

    def __init__(self, store: Store, embedder: Embedder | None, done: Synced) -> None:
        self._store, self._embedder, self._done = store, embedder, done
        self._sessions: dict[tuple[str, str], int] = {}

    def put(self, db: Connection, items: Sequence[tuple[Chunk, int, bytes]]) -> None:
        """Add chunks of files (0 is the log), each with its digest, and with vectors if those
        cost nothing."""
        if not items:
            return
        from wakebook.store.postings import pack  # with numpy, which a look alone does not need

        last = self._store.get("last", 0)
        ids = range(last + 1, last + 1 + len(items))
        self._store.set("last", ids[-1])
        found: dict[str, dict[int, int]] = {}
        same = attrgetter(*SAME)
        rows, bodies, languages, length = [], [], set(), 0
        for number, (item, file, mark) in zip(ids, items, strict=True):
            uses, size, language = chunk.uses(item)
            length += size
            languages.add(language)
            for term, use in pack(uses, size).items():
                found.setdefault(term, {})[number] = use
            asks = item.text.rstrip().endswith(("?", "？"))
            turn = item.category == "conversation" and item.session != ""
            own = (number, file, self._session(db, item), mark, asks, turn, item.is_dated)
            rows.append((*same(item), *own))
            bodies.append((number, item.title, item.text, item.detail, language))
        names, marks = ",".join(COLUMNS), ",".join("?" * len(COLUMNS))
        db.executemany(f"INSERT INTO chunk ({names}) VALUES ({marks})", rows)  # noqa: S608
        sql = "INSERT INTO body (id, title, text, detail, language) VALUES (?, ?, ?, ?, ?)"
        db.executemany(sql, bodies)
        self._store.add_uses(found)
        self._resize(len(items), length)
        self._note(languages, {item.speaker for item, _, _ in items})
        self._done.added += len(items)
        if self._embedder is None:
            return
        if self._embedder.remote:
            db.executemany("INSERT INTO pending (id) VALUES (?)", [(number,) for number in ids])
        else:
            self.embed(ids, self._embedder.embed([chunk.meaning(item) for item, _, _ in items]))

    def drop(self, db: Connection, ids: Sequence[int]) -> None:
        if not ids:
            return
        found: dict[str, set[int]] = {}
        length = 0
        for number, item in read(self._store, ids).items():
            uses, size, _ = chunk.uses(item)
            length += size
            for term in uses:
                found.setdefault(term, set()).add(number)
        self._store.remove_uses(found)
        self._store.remove_vectors(ids)
        for table in ("chunk", "body", "pending"):
            db.execute(f"DELETE FROM {table} WHERE id {AMONG}", [Many(ids)])  # noqa: S608
        self._resize(-len(ids), -length)
        self._done.removed += len(ids)

    def embed(self, ids: Sequence[int], rows: Rows) -> None:
        """Keep the vectors of chunk. Raises BadModelOutput, and then nothing was written."""
        from wakebook.store import vectors

        assert self._embedder is not None
        dimension = self._store.get("dimension", 0) or len(rows[0])
        vectors.check(rows, dimension, self._embedder.name)
        self._store.set("dimension", dimension)
        self._store.add_vectors(ids, rows)
        self._done.embedded += len(ids)

    def _resize(self, number: int, length: int) -> None:
        self._store.set("chunks", self._store.get("chunks", 0) + number)
        self._store.set("words", self._store.get("words", 0) + length)

    def _session(self, db: Connection, item: Chunk) -> int:
        wanted = (item.session, item.host)
        if not item.session:
            return 0
        if wanted not in self._sessions:
            # an entry does not say which host it was
            hosts, any_ = ("host IN (?, '')", wanted) if item.host else ("1 = 1", wanted[:1])
            sql = f"SELECT id, host FROM session WHERE name = ? AND {hosts}"  # noqa: S608
            row = db.execute(f"{sql} ORDER BY host = '', id", any_).fetchone()
            if row is not None and item.host and not row[1]:
                db.execute("UPDATE session SET host = ? WHERE id = ?", (item.host, row[0]))
            if row is None:
                row = (self._store.highest("session") + 1,)
                sql = "INSERT INTO session (id, name, host) VALUES (?, ?, ?)"
                db.execute(sql, (*row, *wanted))
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


def transcripts(db: Connection) -> dict[str, str]:
    """The projects of transcripts, by path: entries of older logs do not say theirs."""
    sql = "SELECT DISTINCT f.path, c.project FROM chunk c JOIN file f ON f.id = c.file "
    rows = db.execute(f"{sql}WHERE c.turn AND c.project <> '' ORDER BY f.path, c.project")
    return {path.removeprefix("archive/"): project for path, project in rows}


def read(store: Store, ids: Sequence[int]) -> dict[int, Chunk]:
    """Chunks as they were put in, as far as their words and their meaning depend on it."""
    names = "category name at subject speaker type title text detail".split()
    found = store.read("chunk JOIN body USING (id)", f"id, {', '.join(names)}", ids)
    return {number: Chunk(**dict(zip(names, row, strict=True))) for number, *row in found}
