"""Start and stop: the first hook of a wired host starts the service for those that follow.

One a home: the lock of the service is taken here and handed on to the process that is started, so
that of any number of hooks one starts it. That process belongs to nobody: it is no child of the
host, has its own process session, no open file of the host's, and the home as its folder. It ends
by itself when no request has come for a while.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import time

from wakebook.base import clock
from wakebook.base.config import Service
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.service.address import Running, is_locked, lock, look

STARTING = "service.starting"  # in .cache/: left there by a service that did not get ready
WIRED = "hosts/{}/wired.json"
PAUSE = 300.0  # seconds after a start that failed, or after one that took too much memory
STARTING_SECONDS = 30.0  # that a person waits for one
STOPPING = 40.0  # seconds that a service may take to finish what it has begun
# the one in the middle ends at once, so that init becomes the parent of the other
CODE = (
    "import os, sys; os.fork() and os._exit(0); os.setsid(); sys.path[:0] = [sys.argv.pop(1)]; "
    "from wakebook.__main__ import main; main()"
)


def start(home: Home, settings: Service, host: str, by: str = "") -> bool:
    """Start the service, if it does not run and may be started for this host. `by`: what does it,
    if it is not a hook."""
    if not settings.auto or not (home.root / WIRED.format(host)).exists():
        return False
    with suppress(OSError):
        if time() - (home.cache / STARTING).stat().st_mtime < PAUSE:
            return False
    try:
        return _start(home, by or f"a hook of {host}")
    except OSError as error:  # whoever asked for it does the work without it
        with suppress(OSError):
            home.trace("failure", where="service", error=f"It could not be started: {error}")
        return False


def up(home: Home, by: str, seconds: float = STARTING_SECONDS) -> Running:
    """The service of a home, which is started if none runs. Raises WakebookError."""
    home.require()
    found, until = look(home), clock.monotonic() + seconds
    if found.state not in ("up", "silent"):
        _start(home, by)
    while found.state != "up" and clock.monotonic() < until:
        clock.sleep(0.05)
        found = look(home)
    if found.state != "up":
        said = home.cache / "service.log"
        raise WakebookError(f"The service has not started within {seconds:g} s; see {said}.")
    return found


def _start(home: Home, by: str) -> bool:
    held = lock(home)
    if held is None:
        return False
    try:
        failed(home)  # until it is ready
        packages = str(Path(__file__).parents[2])
        line = [sys.executable, "-I", "-c", CODE, packages, "serve", "--home", str(home.root)]
        with (home.cache / "service.log").open("wb") as said:
            subprocess.run(
                [*line, "--by", by, "--lock", str(held)],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd=home.root,
                pass_fds=(held,),
            )
    finally:
        os.close(held)  # which the service holds now
    return True


def ready(home: Home) -> None:
    """The service answers."""
    (home.cache / STARTING).unlink(missing_ok=True)


def failed(home: Home) -> None:
    """It should not be started again at once."""
    (home.cache / STARTING).touch(mode=0o600)


def stop(home: Home, seconds: float = STOPPING) -> Running | None:
    """End the service and wait for its end. None if none runs; raises WakebookError if it is still
    at work after that time."""
    found = look(home)
    if not is_locked(home):
        return None
    for number in (signal.SIGTERM, signal.SIGCONT):  # one that was stopped hears of it, too
        with suppress(ProcessLookupError):
            os.kill(found.pid, number) if found.pid > 0 else None
    until = clock.monotonic() + seconds
    while clock.monotonic() < until:
        if not is_locked(home):
            return found
        clock.sleep(0.05)
    said = f"The service (process {found.pid or 'unknown'}) still finishes what it has begun."
    raise WakebookError(f"{said} `kill -9 {found.pid}` ends it at once; nothing is lost.")
