"""Behind: syncing in a process of its own, so that nothing has to wait for a network."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta

from wakebook.base import clock
from wakebook.base.home import Home
from wakebook.history.repository import environment
from wakebook.sync import machine
from wakebook.sync.went import load

PAUSE = timedelta(seconds=60)  # between two that nobody has asked for
AWAY = timedelta(days=3)  # without a network, until it is said
LONGEST = 60  # minutes between two attempts


def remote(home: Home) -> str:
    """The remote that was added, if there is one."""
    return machine.this(home).remote if (home.root / machine.FILE).exists() else ""


def problem(home: Home) -> str:
    """What `status` says: nothing if all is well, or if there is just no network for a while."""
    last, name = load(home), remote(home)
    if not name:
        return ""
    if machine.this(home).paused:
        return "a sync was taken back, so syncing is paused until you run `wakebook sync`"
    since = last.at or last.failed_at
    away = last.offline and since and clock.now() - since < AWAY
    if not last.failures or away:
        return ""
    done = f", last done {last.at:%Y-%m-%d %H:%M}" if last.at else ""
    return f"syncing with {name} failed{done}: {last.error}"


def due(home: Home) -> bool:
    """Whether a remote was added, and it is time to look at it again."""
    if not (home.root / machine.FILE).exists():
        return False
    me, last = machine.this(home), load(home)
    if not me.remote or me.paused:
        return False
    wait, at = PAUSE, last.at
    if last.failures and last.failed_at:
        wait, at = timedelta(minutes=min(2 ** min(last.failures - 1, 6), LONGEST)), last.failed_at
    return at is None or not at <= clock.now() < at + wait


def start(home: Home, seconds: float = 0.0) -> bool:
    """Start one if it is due, and wait so long for it. Whether it has ended by then."""
    if not due(home):
        return True
    command = [sys.executable, "-P", "-m", "wakebook", "--home", str(home.root), "sync", "--quiet"]
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=environment(),
        )
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    except OSError as error:
        home.trace("sync", error=f"no process could be started: {error}")
    return True
