"""Copies: working copies of tenants' homes in a folder of this machine. All of it is disposable.

A process has a folder to itself, claimed by a lock that dies with it.
"""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from wakebook.base import clock
from wakebook.base.decode import decode
from wakebook.base.errors import Locked
from wakebook.team.rows import Manifest
from wakebook.team.working import Copy

if TYPE_CHECKING:
    from wakebook.team.database import Database
    from wakebook.team.working import Open

IDLE = 3600.0  # seconds after which a copy that is behind is removed ...
KEPT = 86_400.0  # ... and any other
PROBE = 1 << 18  # bytes that a disk takes if it is not full
OPEN = 500  # copies whose index stays in memory, at most


class Copies:
    """The working copies of one process."""

    def __init__(self, db: Database, folder: Path, open_: Open, most: int = OPEN) -> None:
        """`most`: copies that stay open."""
        self.db, self._open, self._most = db, open_, most
        self.folder, self._claim = _claimed(folder)
        self._lock = threading.Lock()
        self._copies: dict[int, Copy] = {}
        self._lately: dict[int, Copy] = {}  # those that may be open, the last one last

    def __call__(self, tenant: int) -> Copy:
        with self._lock:
            if tenant not in self._copies:
                folder = self.folder / str(tenant)
                self._copies[tenant] = Copy(self.db, tenant, folder, self._open, self)
            found = self._copies[tenant]
            self._lately.pop(tenant, None)
            self._lately[tenant] = found
            oldest = next(iter(self._lately)) if len(self._lately) > self._most else None
            old = self._lately.pop(oldest) if oldest is not None else None
        if old is not None and old.lock.acquire(blocking=False):
            try:
                old._close()
            finally:
                old.lock.release()
        return found

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

    def probe(self) -> None:
        """Raises OSError if this machine's disk takes no more."""
        path = self.folder / ".probe"
        try:
            path.write_bytes(bytes(PROBE))
        finally:
            path.unlink(missing_ok=True)

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
