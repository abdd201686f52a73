"""Copy: the working copy of one tenant's home, and its index. All of it is disposable.

A copy is marked before its files change, and the mark goes when they are like their rows again: a
marked one, which a kill has left, is thrown away. So is one whose work failed, or lost against
another commit; the work is then done again from what the database has.

A read is one moment: files, index and shares are those of one snapshot. A piece of work is one
transaction: files, history, index, version and its name are there together, or not at all.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import msgspec

from wakebook.base import clock
from wakebook.base import config as configs
from wakebook.base.decode import decode
from wakebook.base.errors import Locked, Unavailable, WakebookError
from wakebook.base.home import FOLDERS, Home
from wakebook.team import bring, bundles, rows
from wakebook.team.bring import Standing
from wakebook.team.database import INDEX, TABLES
from wakebook.team.rows import Manifest, Overtaken
from wakebook.team.store import TenantStore, Transaction

if TYPE_CHECKING:
    from psycopg import Connection

    from wakebook.base.config import Config
    from wakebook.team.database import Database, Row

TRIES = 6  # of a piece of work that loses against other commits ...
POLITE = 2  # ... of which so many let others write meanwhile
LEASE = 30  # seconds; renewed while the work goes on


T = TypeVar("T")
Open = Callable[[int, Path, "Config"], Any]  # makes the Memory of a tenant
Work = Callable[[Any], bytes]  # with a Memory; its result


class Depth(Enum):
    """How much of a working copy a question needs."""

    INDEX = "index"  # nothing but its settings: what is found is in the database
    FILES = "files"
    WHOLE = "whole"  # with git's history and the uploads


class _Behind(Exception):
    """The index is not of the version that the home has: an older Wakebook has written, or none."""


class _Moved(Exception):
    """Another commit came between two looks."""


class Copy:
    """A working copy of one tenant, and its index. One piece of work at a time."""

    def __init__(
        self,
        db: Database,
        tenant: int,
        folder: Path,
        open_: Open,
        others: Callable[[int], Copy] | None = None,
    ) -> None:
        """`others`: the copies of team memories, in the same folder."""
        self.tenant, self.root = tenant, folder / "home"
        self.lock = threading.RLock()
        self.used = clock.monotonic()
        self._db, self._folder, self._open, self._others = db, folder, open_, others
        self._dirty = folder / "dirty"
        self._kept: Manifest | None = None
        self._memory: Any = None
        self._mark: object = None
        self._looked: tuple[int, float | None, bool] | None = None  # when all of it was last read
        self._edition = -1  # of the index, then
        self._known: tuple[bytes, float | None] = (b"", None)  # its settings: sum, and dollars
        self._within: Transaction | None = None
        self._beside: dict[int, str] = {}  # as it was the last time

    @property
    def change(self) -> int:
        """How far it is."""
        return self._manifest.change

    # --- reading ---------------------------------------------------------------------------------

    def read(self, work: Callable[[Any], T], depth: Depth = Depth.WHOLE) -> T:
        """Ask something of the memory as it is now, files and index at the same moment, and of the
        team memories that it may read at that moment. What it notes by the way is kept."""
        if depth is Depth.INDEX and (done := self._at_once(work)):
            if self._noted():
                with self.lock:
                    self._loose()
            return done[0]
        for _ in range(TRIES):
            beside, others = self._beside, self._others
            team = {number: others(number) for number in beside} if others else {}
            with _all(self, *team.values()):
                try:
                    with self._snapshot() as (transaction, now):
                        if others and now.beside != beside:
                            self._beside = now.beside
                            continue
                        memory = self._joined(transaction, now, depth)
                        memory.opened.beside = {
                            name: team[number]._lent(transaction) for number, name in beside.items()
                        }
                        transaction.connection(self.tenant)
                        self._looked = None if now.beside else (now.change, now.most, False)
                        self._edition = now.edition
                        return work(memory)
                except _Behind as behind:
                    late: Copy = behind.args[0]
                finally:
                    for copy in (self, *team.values()):
                        copy._within = None
                    if self._memory is not None:
                        self._memory.opened.beside = {}
                        self._loose()
            late.index()
        raise Locked("This memory's shares change all the time. Try again.")

    def _at_once(self, work: Callable[[Any], T]) -> tuple[T] | None:
        """The answer, if nothing has changed since the index was last read: then most of it is in
        memory. What is not is read in a snapshot, unless another commit came before that."""
        with self.lock, ExitStack() as stack:
            if self._memory is None or self._looked is None or self._dirty.exists():
                return None
            if self._db.look(self.tenant) != self._looked:
                return None
            seen = self._memory.opened.index.store.seen
            if seen != self._edition:
                return None

            def begin() -> Connection[Row]:
                connection = stack.enter_context(
                    self._db.tenant(self.tenant, path=INDEX, still=True)
                )
                there = bring.standing(connection, self.tenant)
                if there.edition != seen or there.beside:
                    raise _Moved
                return connection

            self.used = clock.monotonic()
            self._within = Transaction(begin, self.tenant)
            self._within.editions[self.tenant] = seen
            try:
                return (work(self._memory),)
            except _Moved:
                return None
            finally:
                self._within = None

    @contextmanager
    def _snapshot(self) -> Iterator[tuple[Transaction, Standing]]:
        """The database as it is at one moment."""
        with self._db.tenant(self.tenant, path=INDEX, still=True) as connection:
            now = bring.standing(connection, self.tenant)
            yield Transaction(lambda: connection, self.tenant), now

    def _joined(self, transaction: Transaction, now: Standing, depth: Depth) -> Any:
        """The memory, whose index is read in this transaction."""
        memory = self._fresh(transaction.connection(self.tenant), now, depth)
        if memory.home.exists() and now.indexed != now.version:
            raise _Behind(self)
        transaction.editions[self.tenant] = now.edition
        self._within = transaction
        return memory

    def _lent(self, transaction: Transaction) -> Any:
        """The same as a team memory, for a reader."""
        now = bring.standing(transaction.connection(self.tenant), self.tenant)
        return self._joined(transaction, now, Depth.FILES).opened

    def index(self) -> None:
        """Bring the index up to what the home holds."""
        with self.lock:
            for _ in range(TRIES):
                with suppress(Overtaken), self._working() as (memory, transaction):
                    self._index(memory, transaction, self._manifest.version)
                    sql = "UPDATE wakebook.home SET change = change + 1"  # readers look again
                    transaction.connection().execute(sql)
                    return
        raise Locked("This memory was changed by others while it was indexed. Try again.")

    def _noted(self) -> bool:
        """Whether something went wrong, which is noted."""
        try:
            known = self._manifest.files.get("trace.jsonl") if self._kept else None
            return rows.stat_of(self.root / "trace.jsonl") != (known.stat if known else None)
        except FileNotFoundError:
            return False

    def _loose(self) -> None:
        trace = self.root / "trace.jsonl"
        with suppress(WakebookError, OSError):
            if self._kept is None:
                return
            if not self._manifest.files:  # nothing but settings is here: the other lines are not
                if trace.exists():
                    lines = trace.read_bytes()
                    trace.unlink()
                    self.read(lambda memory: _added(trace, lines), Depth.FILES)
                return
            found = rows.differences(self.root, self._manifest, loose=True)
            if found:
                self._save(self._written(found))

    def _written(self, found: list[rows.Delta]) -> Manifest:
        with self._db.tenant(self.tenant) as connection:
            done = rows.commit(connection, self.tenant, self.root, self._manifest, found)
        return done.manifest

    # --- writing ---------------------------------------------------------------------------------

    def write(self, work: Work, *, name: str = "", long: bool = False) -> bytes:
        """Do a piece of work and commit what it has changed: its result. With a `name` it is done
        once, however often it is asked for. `long`: it may take minutes, and holds a lease."""
        name, until = name or f"once {uuid4()}", clock.monotonic() + self._db.patience
        with self.lock:
            for tries in range(1, TRIES + 1):
                try:
                    return self._done(work, name, long, polite=tries <= POLITE)
                except Overtaken:
                    self._save_paid()
                    self.discard()
                except Unavailable:  # a commit whose answer was lost may be done: `name` tells
                    self.discard()
                    if tries == TRIES or clock.monotonic() > until:
                        raise
                clock.sleep(min(0.02 * 2**tries, 1.0))
        raise Locked(
            f"This memory was changed by others {TRIES} times while this was done. Try again."
        )

    def _done(self, work: Work, name: str, long: bool, polite: bool) -> bytes:
        if (before := self._before(name)) is not None:
            return before
        holder = ("" if polite else "!") + name if long else ""
        with self._leased(holder):
            try:
                with self._working() as (memory, transaction):
                    result = work(memory)
                    done = self._commit(memory, transaction, name, result, holder.strip("!"))
            except (Overtaken, Unavailable):
                raise
            except BaseException:
                self._save_paid()
                self.discard()
                raise
        if done.again:  # by another, from the same state: what was done here counts for nothing
            self.discard()
            return done.result
        self._save(done.manifest)
        return result

    @contextmanager
    def _working(self) -> Iterator[tuple[Any, Transaction]]:
        """The memory, to be changed. The transaction begins when the index is first asked; nobody
        waits for it before the index is first written."""
        with self._db.tenant(self.tenant, still=True) as connection:
            now = bring.standing(connection, self.tenant)
            memory = self._fresh(connection, now, Depth.WHOLE)
        version = self._manifest.version
        self._dirty.touch()

        def check(connection: Connection[Row]) -> None:
            found = connection.execute("SELECT version FROM wakebook.home").fetchone()
            if found is None or found[0] != version:
                raise Overtaken(f"Tenant {self.tenant} was changed by another commit.")

        with ExitStack() as stack:

            def begin() -> Connection[Row]:
                return stack.enter_context(self._db.tenant(self.tenant, path=INDEX))

            self._within = Transaction(begin, self.tenant, check)
            try:
                yield memory, self._within
            finally:
                self._within = None

    def _before(self, name: str) -> bytes | None:
        with self._db.tenant(self.tenant) as connection:
            found = connection.execute("SELECT result FROM done WHERE work = %s", (name,))
            row = found.fetchone()
        return None if row is None else bytes(row[0])

    def _commit(
        self, memory: Any, transaction: Transaction, name: str, result: bytes, holder: str
    ) -> rows.Committed:
        """Files, history, index, version and the name of the work, in one transaction."""
        manifest = self._manifest
        deltas = rows.differences(self.root, manifest)
        made = bundles.make(self.root, manifest.refs)
        own = bool(made) or any(rows.kind_of(one.path) == "own" for one in deltas)
        if (own or transaction.written) and memory.home.exists():
            self._index(memory, transaction, manifest.version + own)
        connection = transaction.connection()
        connection.execute("SELECT set_config('search_path', %s, true)", (TABLES,))
        done = rows.commit(
            connection,
            self.tenant,
            self.root,
            manifest,
            deltas,
            work=name,
            result=result,
            holder=holder,
            made=made,
            erased=bool(made and made.whole and manifest.refs.head),
        )
        if done.again:
            connection.execute("ROLLBACK")
        return done

    def _index(self, memory: Any, transaction: Transaction, version: int) -> None:
        """Bring the index up to date, as a part of the transaction: it is of this version now."""
        transaction.lock()
        index = memory.opened.index
        index.look()
        with index.store.writing():
            index.store.set("home", version)

    def _save_paid(self) -> None:
        """Keep the notes about work that is thrown away: what models have cost above all."""
        with suppress(WakebookError, OSError):
            if self._kept is None:
                return
            found = rows.differences(self.root, self._manifest, loose=True)
            if found:
                self._written(found)

    @contextmanager
    def _leased(self, holder: str) -> Iterator[None]:
        """Say that long work is being done, so that no other long work begins; "!": and that
        quick work has to wait, too. Nothing but the version check keeps the rows whole."""
        if not holder:
            yield
            return
        over = threading.Event()
        self._lease(holder)

        def renew() -> None:
            while not over.wait(LEASE / 3):
                with suppress(WakebookError):
                    self._lease(holder)

        thread = threading.Thread(target=renew, name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            with suppress(WakebookError), self._db.tenant(self.tenant) as connection:
                connection.execute("UPDATE home SET holder = '' WHERE holder = %s", (holder,))

    def _lease(self, holder: str) -> None:
        name = holder.removeprefix("!")
        with self._db.tenant(self.tenant) as connection:
            done = connection.execute(
                "UPDATE home SET holder = %s, held_until = now() + %s * interval '1 second' "
                "WHERE held_until <= now() OR holder IN ('', %s, %s)",
                (holder, LEASE, name, f"!{name}"),
            )
            if done.rowcount == 0:
                raise Locked("Another long piece of work holds this memory. Try again later.")

    # --- the files -------------------------------------------------------------------------------

    def _fresh(self, connection: Connection[Row], now: Standing, depth: Depth) -> Any:
        """The memory, as the database has it now, as far as it is needed."""
        self.used = clock.monotonic()
        if self._dirty.exists():
            self.discard()
        if self._kept is None and not self._read_manifest():
            self._begin()
        manifest = self._manifest
        if depth is Depth.INDEX:
            if self._memory is not None and self._known == (now.config, now.most):
                return self._memory
            if not manifest.files and now.config:
                bring.settings_alone(connection, self.root)
                self._save(manifest)
                return self._opened(now, set())
        changed: set[str] = set()
        whole = depth is Depth.WHOLE
        if bring.behind(manifest, now, whole=whole):
            self._dirty.touch()
            changed = bring.refresh(connection, self.root, manifest, now, whole=whole)
            self._save(manifest)
        manifest.most = now.most
        return self._opened(now, changed)

    def _opened(self, now: Standing, changed: set[str]) -> Any:
        config = self.root / "config.toml"
        mark = (rows.stat_of(config) if config.exists() else None, now.most)
        if self._memory is None or mark != self._mark:
            self._close()
            self._memory = self._open(self.tenant, self.root, settings(self.root, now.most))
            self._memory.home.opens = self._store
            self._mark, self._known = mark, (now.config, now.most)
        elif changed:
            self._memory.opened.index.changed()
        return self._memory

    def _store(self) -> TenantStore:
        return TenantStore(self._db, self.tenant, within=lambda: self._within)

    def _begin(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self.root.mkdir(parents=True, mode=0o700)
        home = Home(self.root)
        for name in FOLDERS:
            home.folder(self.root / name)
        self._kept = Manifest()

    @property
    def _manifest(self) -> Manifest:
        assert self._kept is not None
        return self._kept

    def _read_manifest(self) -> bool:
        try:
            self._kept = decode((self._folder / "manifest.json").read_bytes(), Manifest)
        except (OSError, msgspec.MsgspecError):
            return False
        return True

    def _save(self, manifest: Manifest) -> None:
        """The files are like these rows."""
        self._kept = manifest
        file = self._folder / "manifest.json"
        file.with_suffix(".tmp").write_bytes(msgspec.json.encode(manifest))
        file.with_suffix(".tmp").replace(file)
        self._dirty.unlink(missing_ok=True)

    def _close(self) -> None:
        self._looked = None
        if self._memory is not None:
            with suppress(WakebookError, OSError):
                self._memory.close()
        self._memory = None

    def discard(self) -> None:
        self._close()
        self._kept = None
        shutil.rmtree(self._folder, ignore_errors=True)


def _added(path: Path, lines: bytes) -> None:
    with path.open("ab") as stream:
        stream.write(lines)


@contextmanager
def _all(*copies: Copy) -> Iterator[None]:
    """Several copies at once, taken in the same order by everybody."""
    with ExitStack() as stack:
        for copy in sorted(copies, key=lambda one: one.tenant):
            stack.enter_context(copy.lock)
        yield


def settings(root: Path, most: float | None = None) -> Config:
    """A tenant's config.toml, without what would reach beyond its home: other folders, other
    people's files, remotes. Sessions are those that were uploaded."""
    from wakebook.capture.hosts import HOSTS

    found = configs.load(root / "config.toml")
    places = {name.replace("-", "_"): (str(root / "uploads" / name),) for name in HOSTS}
    models = found.models
    if most is not None:
        models = models.with_(monthly_budget=min(models.monthly_budget, most))
    return found.with_(
        hosts=configs.Hosts(**places),
        mounts=configs.Mounts(),
        briefing=found.briefing.with_(memory_file=""),
        notes=found.notes.with_(vault=""),
        git=found.git.with_(push="", hooks=False),
        schedule=found.schedule.with_(sync=""),
        service=found.service.with_(auto=False),
        models=models.with_(program=""),
    )
