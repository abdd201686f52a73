"""Backlog: work that no host waits for, and the thread that works it off.

The same work that waits already is not put a second time; one that runs is, because more may
have been said since it began. At the end it is worked off first: a clean stop leaves nothing.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable
from pathlib import Path

from wakebook.base import clock
from wakebook.hosts.events import Work

ENDINGS = ("close", "reset", "sweep")  # what a new session wants to know about


class Backlog:
    def __init__(self, cache: Path, do: Callable[[Work], None]) -> None:
        """`cache`: of the home, where other processes see that there is work. `do` raises
        nothing."""
        self._cache = cache
        self._do = do
        self._lock = -1
        self._waiting: dict[Work, int] = {}  # each with its number, oldest first
        self._number = 0  # of the last work that was put
        self._running: tuple[Work, int] | None = None  # the one that runs, with its number
        self._ended = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="behind")
        self._thread.start()

    def put(self, work: Work) -> None:
        with self._changed:
            ended = self._ended and not self._thread.is_alive()
        if ended:  # late, but not lost
            self._do(work)
            return
        with self._changed:
            if work.act == "close":  # which does what keeping does, and more
                self._waiting.pop(work._replace(act="keep"), None)
            if work not in self._waiting:
                self._number += 1
                self._waiting[work] = self._number
            if self._lock < 0:
                self._lock = hold(self._cache)
            self._changed.notify_all()

    def wait(self, seconds: float) -> None:
        """Until the sessions that have ended are read, here and elsewhere, but not longer."""
        until = clock.monotonic() + seconds
        with self._changed:
            last = self._number
            self._changed.wait_for(lambda: not self._ending(last), seconds)
            ours = self._lock >= 0
        if not ours:
            wait(self._cache, until - clock.monotonic())

    def __len__(self) -> int:
        with self._changed:
            return len(self._waiting) + bool(self._running)

    def end(self) -> None:
        """Work off what waits, and then no more."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self._thread.join()

    def _ending(self, last: int) -> bool:
        """Whether a session that ended up to this number is still to be read."""
        left = [*self._waiting.items(), *([self._running] if self._running else [])]
        return any(number <= last and work.act in ENDINGS for work, number in left)

    def _run(self) -> None:
        while work := self._next():
            self._do(work)

    def _next(self) -> Work | None:
        with self._changed:
            self._running = None
            if not self._waiting and self._lock >= 0:
                os.close(self._lock)
                self._lock = -1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting or self._ended)
            if not self._waiting:
                return None
            work = next(iter(self._waiting))
            self._running = work, self._waiting.pop(work)
            return work


# -----------------------------------------------------------------------------
# behind.lock: held as long as somebody reads what hosts have said, in whatever process.
#
# Whoever starts a session waits for it a little, so that the session before is in what it is told.

NAME = "behind.lock"  # in .cache/


def hold(cache: Path) -> int:
    """Say that work is under way, until the descriptor is closed. -1 if that cannot be said."""
    try:
        cache.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(cache / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return -1
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # somebody looks at it this moment: it only means less waiting
        os.close(lock)
        return -1
    return lock


def wait(cache: Path, seconds: float) -> None:
    """Until nobody works any more, but not longer than this."""
    until = clock.monotonic() + seconds
    try:
        lock = os.open(cache / NAME, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return  # nobody has ever been behind
    try:
        while not _alone(lock) and clock.monotonic() < until:
            clock.sleep(0.02)
    finally:
        os.close(lock)


def _alone(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
