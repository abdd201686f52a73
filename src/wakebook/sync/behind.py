"""Behind: syncing in a process of its own, so that nothing has to wait for a network."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta

from wakebook.base import clock
from wakebook.base.home import Home
from wakebook.history.repository import POINTERS
from wakebook.sync import machine, together

PAUSE = timedelta(seconds=60)  # between two that nobody has asked for
AWAY = timedelta(days=3)  # without a network, until it is said
LONGEST = 60  # minutes between two attempts


def remote(home: Home) -> str:
    """The remote that was added, if there is one."""
    return machine.this(home).remote if (home.root / machine.FILE).exists() else ""


def problem(home: Home) -> str:
    """What `status` says: nothing if all is well, or if there is just no network for a while."""
    went, name = together.load(home), remote(home)
    if not name:
        return ""
    if machine.this(home).paused:
        return "a sync was taken back, so syncing is paused until you run `wakebook sync`"
    since = went.at or went.failed_at
    away = went.offline and since and clock.now() - since < AWAY
    if not went.failures or away:
        return ""
    last = f", last done {went.at:%Y-%m-%d %H:%M}" if went.at else ""
    return f"syncing with {name} failed{last}: {went.error}"


def due(home: Home) -> bool:
    """Whether a remote was added, and it is time to look at it again."""
    if not (home.root / machine.FILE).exists():
        return False
    me, went = machine.this(home), together.load(home)
    if not me.remote or me.paused:
        return False
    wait, last = PAUSE, went.at
    if went.failures and went.failed_at:
        wait, last = timedelta(minutes=min(2 ** min(went.failures - 1, 6), LONGEST)), went.failed_at
    return last is None or not last <= clock.now() < last + wait


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
            env={key: value for key, value in os.environ.items() if key not in POINTERS},
        )
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    except OSError as error:
        home.trace("sync", error=f"no process could be started: {error}")
    return True
