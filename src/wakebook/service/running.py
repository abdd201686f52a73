"""Running: what is known of the service of a home, however it was started.

service.json says where it is, and whether it answers there decides. A file that a killed
service left behind is told from one whose service hangs by its process and by its lock.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.service.call import FILE, call
from wakebook.service.unit import Unit, is_ours
from wakebook.upkeep.doctor import Check, to_run
from wakebook.version import __version__

SECONDS = 2.0
LOCK = ".cache/service.lock"
HEALTH = "/health"


class Running(msgspec.Struct, frozen=True, kw_only=True):
    state: Literal["up", "off", "silent", "dead"]  # silent: there, but it does not answer
    pid: int = 0
    port: int = 0
    socket: str = ""
    version: str = ""
    started: str = ""
    problem: str = ""  # what is wrong with service.json


class _Written(msgspec.Struct):
    """service.json"""

    pid: int
    port: int
    socket: str
    version: str = ""
    started: str = ""


def look(home: Home, seconds: float = SECONDS) -> Running:
    """How the service of a home is doing. Asks it, over its socket."""
    path = home.root / FILE
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_Written)
    except FileNotFoundError:
        return Running(state="off")
    except (OSError, msgspec.MsgspecError) as error:
        return Running(state="dead", problem=f"{path} cannot be read: {error}")
    state: Literal["up", "silent", "dead"] = "dead"
    if _answers(home, seconds):
        state = "up"
    elif _lives(found.pid) and _locked(home):
        state = "silent"
    return Running(
        state=state,
        pid=found.pid,
        port=found.port,
        socket=found.socket,
        version=found.version,
        started=found.started,
    )


def _answers(home: Home, seconds: float) -> bool:
    try:
        answer = call(str(home.root), HEALTH, b"", seconds, method="GET")
    except (OSError, ValueError):  # too slow, or nothing that we understand
        return False
    return answer is not None and answer[0] == 200


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return pid > 0


def _locked(home: Home) -> bool:
    """Whether a service holds its lock: a process with the same number may be another one."""
    try:
        descriptor = os.open(home.root / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def reachable(port: int, seconds: float = SECONDS) -> str:
    """Why the service cannot be reached on its port; nothing if it can."""
    from http.client import HTTPConnection, HTTPException

    link = HTTPConnection("127.0.0.1", port, timeout=seconds)
    try:
        link.request("GET", HEALTH)
        answer = link.getresponse()
        with suppress(ValueError):
            known = json.loads(answer.read(10_000))
            if answer.status == 200 and isinstance(known, dict) and known.get("version"):
                return ""
        return f"something else answers there ({answer.status})"
    except (OSError, HTTPException) as error:
        return str(error) or type(error).__name__
    finally:
        link.close()


# --- for `wakebook doctor` ---------------------------------------------------------------


def checks(home: Home, unit: Unit) -> Iterator[Check]:
    found = look(home)
    installed = _installed(unit)
    yield _process(home, unit, found, installed)
    if found.state == "up":
        again = f"kill {found.pid} && {to_run(home, 'serve')}"
        again = shlex.join(unit.restart) if installed else again
        yield _version(found, again)
        yield _port(found, again)
        yield from _socket(found)
    yield _unit(home, unit, found, installed)


def _installed(unit: Unit) -> bool:
    try:
        return is_ours(unit.path)
    except (WakebookError, OSError):
        return False


def _process(home: Home, unit: Unit, found: Running, installed: bool) -> Check:
    name, start = "service: process", shlex.join(unit.restart)
    if found.state == "up":
        return Check(name, "ok", f"process {found.pid}, since {found.started}")
    if found.state == "silent":
        said = f"process {found.pid} runs, but has not answered for {SECONDS:g} s"
        return Check(name, "fail", said, start if installed else f"kill {found.pid}")
    if found.state == "dead":
        said = found.problem or f"process {found.pid} ended without a word"
        said += "; everything works without it, only slower"
        return Check(name, "warn", said, start if installed else to_run(home, "serve"))
    if installed:
        return Check(name, "warn", "does not run, although it starts at login", start)
    said = "does not run; hooks and commands do its work themselves, only slower"
    return Check(name, "note", said, to_run(home, "service", "install"))


def _version(found: Running, again: str) -> Check:
    name = "service: version"
    if found.version == __version__:
        return Check(name, "ok", __version__)
    said = f"it is {found.version or 'unknown'}, and this command is {__version__}"
    return Check(name, "warn", said, again)


def _port(found: Running, again: str) -> Check:
    name = "service: port"
    problem = reachable(found.port)
    if not problem:
        return Check(name, "ok", f"answers on 127.0.0.1:{found.port}")
    said = f"does not answer on 127.0.0.1:{found.port}: {problem}"
    return Check(name, "warn", said, again)


def _socket(found: Running) -> Iterator[Check]:
    path = Path(found.socket)
    if path.exists() and path.stat().st_mode & 0o077:
        said = f"others may open {path}, which asks for no token"
        yield Check("service: socket", "warn", said, f"chmod 600 {shlex.quote(str(path))}")


def _unit(home: Home, unit: Unit, found: Running, installed: bool) -> Check:
    name, run = "service: at login", to_run(home, "service", "install")
    if not installed:
        said = "nothing starts it"
        return Check(name, "note", said, run if found.state == "up" else "")
    if unit.path.read_text(encoding="utf-8", errors="replace") != unit.text:
        said = f"{unit.path} is not what would be written now (another Python, or another version)"
        return Check(name, "warn", said, run)
    return Check(name, "ok", str(unit.path))
