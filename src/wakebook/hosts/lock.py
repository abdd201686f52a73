"""behind.lock: held as long as something that a host said is being read, in whatever process.

A session that starts waits for it a little, so that the session before is in what it is told.
"""

import fcntl
import os

LOCK = "behind.lock"  # in .cache/


def hold(cache: str) -> int:
    """Say that work is under way, until the descriptor is closed. -1 if that cannot be said."""
    lock = -1
    try:
        os.makedirs(cache, 0o700, exist_ok=True)  # noqa: PTH103
        lock = os.open(f"{cache}/{LOCK}", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # another process looks at it this moment: it only means less waiting
        if lock >= 0:
            os.close(lock)
        return -1
    return lock


def wait(cache: str, seconds: float) -> None:
    """Until no process works any more, but not longer than this."""
    from wakebook.base import clock

    until = clock.monotonic() + seconds
    try:
        lock = os.open(f"{cache}/{LOCK}", os.O_RDWR)
    except OSError:
        return  # there has never been any work
    try:
        while clock.monotonic() < until:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                clock.sleep(0.02)
    finally:
        os.close(lock)
