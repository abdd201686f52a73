"""Index: the index of one home, as the rest of Wakebook uses it: sync, search, status.

A search first brings the index up to date, so that what was just written is found. Whatever
is wrong with the index, a search still answers, and says what was wrong.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wakebook.base import clock
from wakebook.base.config import Config, expand
from wakebook.base.errors import ConfigError, IndexUnavailable
from wakebook.base.home import Home
from wakebook.models.embedder import Choice, Embedder, Kept, choose
from wakebook.store import changes, database
from wakebook.store.database import LocalStore, is_broken, is_gone
from wakebook.store.hits import Found, Options, Passages

if TYPE_CHECKING:
    from wakebook.log.query import Query
    from wakebook.store import Connection, Store
    from wakebook.store.search import Searcher
    from wakebook.store.sync import Progress, Sync, Synced

T = TypeVar("T")

SEARCH_SECONDS = 1.0  # a search waits this long for another process that writes ...
SYNC_SECONDS = 60.0  # ... and a sync this long
LOOK_SECONDS = 1.0  # a process that stays looks for changed files this often
# What reading a database raises whose bytes were changed in places that SQLite does not check
GARBLED = (ValueError, TypeError, IndexError, KeyError, OverflowError, MemoryError)
MOST_RIGHT_NOW = 2000  # waiting chunks that a search embeds before it answers


class Index:
    def __init__(self, home: Home, config: Config) -> None:
        self._home = home
        self._config = config
        self._looked = -LOOK_SECONDS
        self._lock = threading.RLock()  # the store is for one thread at a time
        self.store = database.of(home)

    @cached_property
    def choice(self) -> Choice:
        return choose(self._config.embedding, os.environ)

    @cached_property
    def embedder(self) -> Embedder | None:
        chosen = self.choice.embedder
        if chosen is None or not chosen.remote:
            return chosen
        from wakebook.models.model import OverHttp

        if isinstance(chosen, OverHttp):
            chosen.pay = self._paid
        return Kept(chosen, self._home.cache / "embeddings.db")

    def _paid(self, name: str, texts: Sequence[str], ask: Callable[[], tuple[T, int]]) -> T:
        """Texts that a provider embeds: afforded out of the same budget as questions, and written
        down like them. `ask` also says how many tokens the provider has counted; 0: it does not."""
        from wakebook.base import text
        from wakebook.base.errors import BadModelOutput, ModelError
        from wakebook.models.calls import Called
        from wakebook.models.chat import Models
        from wakebook.models.transport import on_this_machine

        models = Models(self._home, self._config, os.environ)
        free = name.startswith("compatible/") and on_this_machine(self._config.embedding.base_url)
        tokens, price = sum(map(text.tokens, texts)), models.price(name, free)
        models.afford(name, price.cost(tokens, 0) if price else None, tokens)
        at, began = clock.iso(clock.now()), clock.monotonic()
        call = Called(at=at, operation="embed", model=name, prompt="", outcome="ok")
        try:
            found, counted = ask()
        except ModelError as error:
            bad = "bad" if isinstance(error, BadModelOutput) else "unavailable"
            models.note(call, began, outcome=bad, error=str(error))
            raise
        cost = round(price.cost(counted or tokens, 0), 8) if price else None
        known = {"tokens_in": counted or tokens, "estimated": not counted, "cost": cost}
        models.note(call, began, **known)
        return found

    def changed(self) -> None:
        """Something was written by this process: look at the next search, not some time."""
        self._looked = -LOOK_SECONDS

    def close(self) -> None:
        """Let go of the database; it is opened again when it is needed."""
        with self._lock:
            self.store.close()

    def wipe(self) -> None:
        """Leave nothing of what it holds; the next look makes it from the files."""
        with self._lock:
            try:
                self.store.patience(SYNC_SECONDS)
                self.store.wipe()
            except (sqlite3.Error, IndexUnavailable):
                self.store.delete()
            self.changed()

    def only_current_vectors(self) -> None:
        """Of the kept vectors of a paid embedder, those go that no text of the index has."""
        from contextlib import closing

        from wakebook.store import chunk
        from wakebook.store.sync import read

        path = self._home.cache / "embeddings.db"
        for damaged in self._home.cache.glob("embeddings.db.damaged*"):
            damaged.unlink()
        embedder = self.embedder
        if not path.exists():
            return
        if not isinstance(embedder, Kept):
            path.unlink()  # it is not used now
            return
        with self._lock, self._mended():
            numbers = [number for (number,) in self.store.db.execute("SELECT id FROM chunk")]
            texts = (chunk.meaning(item) for item in read(self.store, numbers).values())
            keys = [(embedder.key(text, False),) for text in texts]
        with closing(sqlite3.connect(path, isolation_level=None)) as kept:
            kept.execute("PRAGMA secure_delete = ON")
            kept.execute("CREATE TEMP TABLE used (key BLOB PRIMARY KEY)")
            kept.executemany("INSERT OR IGNORE INTO used VALUES (?)", keys)
            kept.execute("DELETE FROM vectors_1 WHERE key NOT IN (SELECT key FROM used)")
            kept.execute("VACUUM")

    def sync(self, *, full: bool = False, progress: Progress | None = None) -> Synced:
        """Bring everything up to date, vectors included. `full` starts from nothing."""
        with self._lock:
            if full:
                self.store.delete()
            with self._mended():
                self.store.patience(SYNC_SECONDS)
                done = self._sync(progress).run()
            self.told()
        if done.problem:
            self._home.trace("failure", where="embedding", error=done.problem)
        return done

    def _sync(self, progress: Progress | None) -> Sync:
        from wakebook.store.sync import Sync, quiet

        return Sync(
            self.store,
            self._home,
            self.embedder,
            extra=self._elsewhere(),
            mounted=self._mounted(),
            max_file_bytes=self._config.search.max_file_megabytes << 20,
            progress=progress or quiet,
        )

    def _elsewhere(self) -> Sequence[Path]:
        """MEMORY.md, if it lives outside of the home, and the notes of mounted homes."""
        chosen = self._config.briefing.memory_file
        path = (self._home.root / expand(chosen)).resolve() if chosen else None
        own = [path] if path and not path.is_relative_to(self._home.root) else []
        return [*own, *self._mounted()]

    def _mounted(self) -> Sequence[Path]:
        mounts = self._config.mounts
        return notes(self._home, self._config) if mounts.homes or mounts.notes else ()

    @contextmanager
    def _mended(self) -> Iterator[None]:
        """A database that turns out to be broken is set aside, and the work done again by
        whoever asks next."""
        try:
            yield
        except (sqlite3.DatabaseError, *GARBLED) as error:
            reason = f"{self.store.path}: {type(error).__name__}: {error}."
            if is_gone(error) and not self.store.readonly:
                self.store.delete()  # what is left of it
                raise _Broken(reason) from error
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_PROTOCOL:
                self.store.close()  # several opened it at once, while one made it anew
                raise _Broken(reason) from error
            if isinstance(error, sqlite3.OperationalError) and not is_broken(error):
                raise IndexUnavailable(reason) from error
            self.store.abandon()
            raise _Broken(reason) from error

    def look(self) -> None:
        """Bring in what changed, as a search does first."""
        with self._lock, self._mended():
            self.changed()
            self._look(None)

    def _look(self, progress: Progress | None) -> list[str]:
        """Index what changed since the last look. Returns what a reader should know."""
        now = clock.monotonic()
        store = self.store
        if store.fed:
            return []
        store.db  # noqa: B018 - opens it
        if store.readonly:
            if not changes.any_(store, self._home, self._elsewhere()):
                return []
            return ["The index may not be written; what changed since the last time is not in it."]
        store.patience(SEARCH_SECONDS)
        if now - self._looked < LOOK_SECONDS and not self.behind():
            return []
        remote = self.embedder is not None and self.embedder.remote
        name = self.embedder.name if self.embedder else ""
        store.fresh()
        if store.get("embedder") == name and not changes.any_(store, self._home, self._elsewhere()):
            self._looked = now
            return []
        try:
            done = self._sync(progress).run(embed=0 if remote else MOST_RIGHT_NOW)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            return ["Another process is writing the index; the newest things may be missing."]
        self._looked = now
        return [f"Found by words alone: {done.problem}"] if done.problem else []

    def told(self) -> list[str]:
        """Tell of a broken index that was found, once."""
        broken, self.store.set_aside = self.store.set_aside, None
        if broken is None:
            return []
        self._failed("index", f"broken; kept as {broken.name}")
        return [f"The index was broken; it is kept as {broken.name}, and a new one was made."]

    def behind(self) -> int:
        """Bytes of the log that are not indexed."""
        try:
            size = self._home.log.stat().st_size
        except FileNotFoundError:
            return 0
        return abs(size - int(self.store.get("indexed", {}).get("end", 0)))

    def ask(self, question: Callable[[Connection], T]) -> T:
        """The answer of the database to a question that only reads, with all of the log in it, at
        one moment. A broken one is made anew. Raises IndexUnavailable."""
        try:
            return self._asked(question)
        except _Broken:
            return self._asked(question)

    def _asked(self, question: Callable[[Connection], T]) -> T:
        from wakebook.store.catalogue import Catalogue

        store = self.store
        with self._lock:
            with self._mended():
                store.patience(SEARCH_SECONDS)
                if not (store.readonly or store.fed):
                    try:
                        Catalogue(self._home, store).read()
                    except sqlite3.OperationalError as error:
                        if "locked" not in str(error):
                            raise
            try:
                with store.reading():
                    return question(store.db)
            except sqlite3.ProgrammingError:
                raise  # a wrong question is no reason to throw the database away
            except sqlite3.DatabaseError as error:
                with self._mended():
                    raise error

    def transcripts(self) -> dict[str, str]:
        """The projects of transcripts, by path."""
        from wakebook.store.sync import transcripts

        def read(store: Store) -> dict[str, str]:
            return store.keep("transcripts", lambda: transcripts(store.db))

        return self.peek(read, {})

    def peek(self, read: Callable[[Store], T], empty: T) -> T:
        """What a question to the database itself gives; `empty` if it cannot be used."""
        try:
            with self._lock, self._mended(), self.store.reading():
                return read(self.store)
        except (IndexUnavailable, OSError) as error:
            self._failed("index", str(error))
            return empty

    def said(
        self, *, path: str = "", since: int = 0, project: str = "", most: int = 100
    ) -> list[tuple[str, int, str, int]]:
        """What users said, with time, transcript and place: in a transcript the first words after
        a place, or else the last ones in a project."""
        place = ("f.path = ? AND c.place > ?", "c.place", [path, since])
        where, order, values = place if path else ("c.project = ?", "c.at DESC", [project])
        said = (
            "SELECT b.text, c.at, f.path, c.place FROM chunk c JOIN body b ON b.id = c.id "
            "JOIN file f ON f.id = c.file WHERE c.turn AND c.speaker NOT IN ('agent', 'tool')"
        )
        sql = f"{said} AND {where} ORDER BY {order} LIMIT ?"
        return self.peek(lambda store: store.db.execute(sql, [*values, most]).fetchall(), [])

    def search(
        self, query: Query, now: datetime, options: Options, progress: Progress | None = None
    ) -> Found:
        """What fits best. Whatever is wrong with the index, this answers."""
        found = self._answer(query, now, lambda one: one.search(query, options), progress)
        if found.problem:
            self._failed("embedding", found.problem)
        return found

    def passages(self, query: Query, now: datetime, most: int) -> Passages:
        """What may matter, with whole texts."""
        return self._answer(query, now, lambda one: one.passages(query, most))

    def _answer(
        self, query: Query, now: datetime, ask: Callable[[Searcher], T], progress: Any = None
    ) -> T:
        try:
            try:
                return self._indexed(now, ask, progress)
            except _Broken:  # set aside by now: the second time it is made anew
                return self._indexed(now, ask, progress)
        except (IndexUnavailable, OSError) as error:
            self._failed("index", str(error))
            with self._scanned(query) as (store, tool):
                note = f"Found by reading the files ({tool}), by words alone: {error}"
                return ask(self._searcher(store, None, now, [note]))

    def _indexed(self, now: datetime, ask: Callable[[Searcher], T], progress: Progress | None) -> T:
        with self._lock, self._mended():
            notes = [*self._look(progress), *self.told()]
            with self.store.reading():
                return ask(self._searcher(self.store, self.embedder, now, notes))

    def _searcher(
        self, store: Store, embedder: Embedder | None, now: datetime, notes: list[str]
    ) -> Searcher:
        from wakebook.store.search import Searcher

        names = store.get("subjects", {})
        return Searcher(store, self._config.search, embedder, names, now, notes)

    def _failed(self, where: str, error: str) -> None:
        with suppress(OSError):
            self._home.trace("failure", where=where, error=error)

    @contextmanager
    def _scanned(self, query: Query) -> Iterator[tuple[Store, str]]:
        """Without an index: the files that hold a word of the question, to be found by words."""
        from wakebook.store.sync import Sync

        tool, paths = changes.holding(self._home.root, query.text)
        store = LocalStore(Path(":memory:"))
        extra, mounted = self._elsewhere(), self._mounted()
        try:
            Sync(store, self._home, None, extra=extra, mounted=mounted, only=paths).run()
            yield store, tool
        finally:
            store.close()

    def status(self) -> IndexStatus:
        """Never fails: what is wrong stands in its `problems`."""
        try:
            choice = self.choice
        except ConfigError as error:
            return IndexStatus(path=str(self.store.path), why=str(error))
        found = IndexStatus(path=str(self.store.path), embedder=choice.name, why=choice.why)
        if isinstance(self.store, LocalStore) and not self.store.path.exists():
            return found
        try:
            with self._lock:
                self.store.fresh()
                return self._measured(found)
        except (sqlite3.Error, IndexUnavailable) as error:
            return replace(found, problems=(str(error),))

    def _measured(self, found: IndexStatus) -> IndexStatus:
        store = self.store
        by_category = "SELECT category, count(*) FROM chunk GROUP BY category ORDER BY category"
        chunks: dict[str, int] = dict(store.db.execute(by_category).fetchall())
        pending, total = store.count("pending"), sum(chunks.values())
        wrong = self.told()
        unread = store.db.execute("SELECT path, problem FROM file WHERE problem <> ''")
        wrong += [f"{path} is not indexed: {reason}" for path, reason in unread]
        made_with = store.get("embedder", found.embedder)
        if made_with != (found.embedder if self.choice.embedder else ""):
            made = made_with or "no embedder"
            wrong.append(f"vectors are of {made}; the next sync makes them anew")
        if pending > total // 20:
            wrong.append(
                f"{pending:,} texts wait for a vector of {found.embedder}, so search goes by words "
                "alone; `wakebook index` gets them"
            )
        return replace(
            found,
            bytes=store.size(),
            chunks=chunks,
            vectors=total - pending if made_with else 0,
            pending=pending,
            behind=self.behind(),
            languages=tuple(store.get("languages", [])),
            problems=tuple(wrong),
        )


class _Broken(IndexUnavailable):
    """The database was broken and is set aside, or has to be opened once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStatus:
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


# --- mounts: other homes, and folders, whose notes can be found here and are never written --
# What they know about projects, people and things is taken whole, generated lines included. A
# home's log, journal, MEMORY.md and identity stay its own.
SHARED = ("projects", "people", "procedures", "reference")
FOLDERS = (*(f"{top}/{name}" for top in ("knowledge", "archive") for name in SHARED), "topics")


def notes(home: Home, config: Config) -> list[Path]:
    """The notes of the mounted homes and folders, without those that a link brings in from
    elsewhere."""

    def placed(names: Sequence[str]) -> list[Path]:
        found = [(home.root / expand(name)).resolve() for name in names]
        return [root for root in dict.fromkeys(found) if root != home.root.resolve()]

    homes = [(root, root / top) for root in placed(config.mounts.homes) for top in FOLDERS]
    folders = [(root, root) for root in placed(config.mounts.notes)]
    return [
        path.resolve()
        for root, top in (*homes, *folders)
        for path in sorted(top.rglob("*.md"))
        if path.is_file() and path.resolve().is_relative_to(root)
        if path.name not in ("_active.md", "_index.md")  # which say it all again
    ]


def mount_problems(home: Home, config: Config) -> Iterator[str]:
    """Mounts that are not there, or are no homes."""
    for name in config.mounts.homes:
        root = (home.root / expand(name)).resolve()
        if root == home.root.resolve():
            yield f"[mounts] homes: {name} is this home itself"
        elif not Home(root).exists():
            yield f"[mounts] homes: there is no Wakebook home in {name}"
    for name in config.mounts.notes:
        if not (home.root / expand(name)).parent.is_dir():  # the folder itself may come later
            yield f"[mounts] notes: there is no folder {name}"
