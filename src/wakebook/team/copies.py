"""Copies: working copies of tenants' homes in a folder of this machine. All of it is disposable.

A process has a folder to itself, claimed by a lock that dies with it. A copy is marked before its
files change, and the mark goes when they are like their rows again: a marked one, which a kill has
left, is thrown away. So is one whose work failed, or lost against another commit; the work is then
done again from what the database has.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import msgspec

from wakebook.base import clock
from wakebook.base import config as configs
from wakebook.base.decode import decode
from wakebook.base.errors import Locked, Unavailable, WakebookError
from wakebook.base.home import FOLDERS, Home
from wakebook.team import bundles, rows
from wakebook.team.rows import Manifest, Overtaken

if TYPE_CHECKING:
    from wakebook.base.config import Config
    from wakebook.team.database import Database

TRIES = 6  # of a piece of work that loses against other commits ...
POLITE = 2  # ... of which so many let others write meanwhile
LEASE = 30  # seconds; renewed while the work goes on
IDLE = 3600.0  # seconds after which a copy that is behind is removed ...
KEPT = 86_400.0  # ... and any other

T = TypeVar("T")
Open = Callable[[int, Path, "Config"], Any]  # makes the Memory of a tenant
Work = Callable[[Any], bytes]  # with a Memory; its result


class Copy:
    """The working copy of one tenant. One piece of work at a time."""

    def __init__(self, db: Database, tenant: int, folder: Path, open_: Open) -> None:
        self.tenant, self.root = tenant, folder / "home"
        self.lock = threading.RLock()
        self.used = clock.monotonic()
        self._db, self._folder, self._open = db, folder, open_
        self._dirty = folder / "dirty"
        self._kept: Manifest | None = None
        self._memory: Any = None
        self._mark: object = None

    @property
    def change(self) -> int:
        """How far it is."""
        return self._manifest.change

    # --- reading ---------------------------------------------------------------------------------

    def read(self, work: Callable[[Any], T]) -> T:
        """Ask something of the memory as it is now. What it notes by the way is kept."""
        with self.lock:
            memory = self._fresh()
            try:
                return work(memory)
            finally:
                self._loose()

    def _loose(self) -> None:
        with suppress(WakebookError):
            found = rows.differences(self.root, self._manifest, loose=True)
            if found:
                done = rows.commit(self._db, self.tenant, self.root, self._manifest, found)
                self._save(done.manifest)

    # --- writing ---------------------------------------------------------------------------------

    def write(self, work: Work, *, name: str = "", long: bool = False) -> bytes:
        """Do a piece of work and commit what it has changed: its result. With a `name` it is done
        once, however often it is asked for. `long`: it may take minutes, and holds a lease."""
        name = name or f"once {uuid4()}"
        with self.lock:
            for tries in range(1, TRIES + 1):
                try:
                    return self._done(work, name, long, polite=tries <= POLITE)
                except Overtaken:
                    self._save_paid()
                    self.discard()
                except Unavailable:  # a commit whose answer was lost may be done: `name` tells
                    self.discard()
                    if tries == TRIES:
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
            memory = self._fresh()
            self._dirty.touch()
            try:
                result = work(memory)
                return self._commit(name, result, holder.removeprefix("!"))
            except (Overtaken, Unavailable):
                raise
            except BaseException:
                self._save_paid()
                self.discard()
                raise

    def _before(self, name: str) -> bytes | None:
        with self._db.tenant(self.tenant) as connection:
            found = connection.execute("SELECT result FROM done WHERE work = %s", (name,))
            row = found.fetchone()
        return None if row is None else bytes(row[0])

    def _commit(self, name: str, result: bytes, holder: str) -> bytes:
        manifest = self._manifest
        deltas = rows.differences(self.root, manifest)
        made = bundles.make(self.root, manifest.refs)
        done = rows.commit(
            self._db,
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
        if done.again:  # by another, from the same state: what was done here counts for nothing
            self.discard()
            return done.result
        self._save(done.manifest)
        return result

    def _save_paid(self) -> None:
        """Keep the notes about work that is thrown away: what models have cost above all."""
        with suppress(WakebookError, OSError):
            found = rows.differences(self.root, self._manifest, loose=True)
            if found:
                rows.commit(self._db, self.tenant, self.root, self._manifest, found)

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

    def _fresh(self) -> Any:
        """The memory, as the database has it now."""
        self.used = clock.monotonic()
        if self._dirty.exists():
            self.discard()
        if self._kept is None and not self._read_manifest():
            self._begin()
        manifest = self._manifest
        before = manifest.change
        self._dirty.touch()
        changed = rows.refresh(self._db, self.tenant, self.root, manifest)
        if "log.jsonl" in changed:
            home = Home(self.root)
            home.folder(home.cache)
            home.rewrites.write_text(os.urandom(6).hex())
        if manifest.change != before or changed or self._memory is None:
            self._save(manifest)
        else:
            self._dirty.unlink(missing_ok=True)
        return self._opened(changed)

    def _opened(self, changed: set[str]) -> Any:
        config, most = self.root / "config.toml", self._manifest.most
        mark = (rows.stat_of(config) if config.exists() else None, most)
        if self._memory is None or mark != self._mark:
            self._close()
            self._memory = self._open(self.tenant, self.root, settings(self.root, most))
            self._mark = mark
        elif changed:
            self._memory.opened.index.changed()
        return self._memory

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
        if self._memory is not None:
            with suppress(WakebookError, OSError):
                self._memory.close()
        self._memory = None

    def discard(self) -> None:
        self._close()
        self._kept = None
        shutil.rmtree(self._folder, ignore_errors=True)


class Copies:
    """The working copies of one process."""

    def __init__(self, db: Database, folder: Path, open_: Open) -> None:
        self.db, self._open = db, open_
        self.folder, self._claim = _claimed(folder)
        self._lock = threading.Lock()
        self._copies: dict[int, Copy] = {}

    def __call__(self, tenant: int) -> Copy:
        with self._lock:
            if tenant not in self._copies:
                folder = self.folder / str(tenant)
                self._copies[tenant] = Copy(self.db, tenant, folder, self._open)
            return self._copies[tenant]

    def sweep(self) -> int:
        """Remove copies of tenants that are gone, that hold what was erased, or that are idle."""
        numbers = [int(path.name) for path in self.folder.iterdir() if path.name.isdigit()]
        with self.db.anyone() as connection:
            found = connection.execute(
                "SELECT tenant, change, extract(epoch FROM erased_at) FROM standing(%s)", (numbers,)
            ).fetchall()
        there = {row[0]: row[1:] for row in found}
        count = 0
        for number in numbers:
            copy = self(number)
            if not copy.lock.acquire(blocking=False):
                continue  # it is at work, and up to date
            try:
                if self._old(copy, there.get(number)):
                    copy.discard()
                    with self._lock:
                        self._copies.pop(number, None)
                    count += 1
            finally:
                copy.lock.release()
        return count

    def _old(self, copy: Copy, standing: tuple[Any, ...] | None) -> bool:
        file = copy.root.parent / "manifest.json"
        try:
            at, manifest = file.stat().st_mtime, decode(file.read_bytes(), Manifest)
        except (OSError, msgspec.MsgspecError):
            return True
        if standing is None:
            return True
        behind = standing[0] != manifest.change
        idle = max(0.0, clock.age(at))
        return (behind and (idle > IDLE or at < float(standing[1]))) or idle > KEPT

    def close(self) -> None:
        for copy in self._copies.values():
            copy._close()
        os.close(self._claim)


def _claimed(folder: Path) -> tuple[Path, int]:
    """A folder for this process alone: the first that no other has."""
    for number in range(1000):
        place = folder / str(number)
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        claim = os.open(place / ".claim", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(claim)
            continue
        return place, claim
    raise Locked(f"{folder}: a thousand processes keep working copies here. Choose another folder.")


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
