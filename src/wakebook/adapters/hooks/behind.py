"""behind.lock: held as long as somebody reads what hosts have said, in whatever process.

Whoever starts a session waits for it a little, so that the session before is in what it is told.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from wakebook import clock

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
