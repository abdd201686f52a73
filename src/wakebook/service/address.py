"""Where the service is: the files service.lock, service.sock and service.json of its home.

The lock is held as long as the process lives: a second service of the same home is refused, and a
service that hangs can be told from the files that a killed one left.
"""

import errno
import fcntl
import hashlib
import json
import os
import shlex
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from wakebook.base import clock, config
from wakebook.base.decode import decode
from wakebook.base.errors import ConfigError, WakebookError
from wakebook.base.home import Home
from wakebook.service.call import FILE, call
from wakebook.service.unit import Unit, is_ours, run
from wakebook.upkeep.doctor import Check, to_run
from wakebook.version import __version__

LONGEST = 100  # bytes of a socket's path; systems allow about 104
BACKLOG = 128
SOCKET = "service.sock"
LOCK = "service.lock"
LAST = "service.last.json"
SECONDS = 2.0  # for an answer
HEALTH = "/health"


class Address:
    """The lock and the two sockets of one service."""

    def __init__(self, home: Home, port: int, by: str = "", held: int = -1) -> None:
        """`by`: the host whose hook started it; `held`: the lock that it took."""
        self._home, self.by = home, by
        self._lock = _locked_by_us(home, held)
        self._started = clock.iso(clock.now())
        self.why = ""  # it ends
        self.sockets: list[socket.socket] = []
        self.path = _path(home)
        if left := look(home).pid:  # we have the lock: it was killed
            self._end(Ended(pid=left, why="it was killed, or it crashed"))
        try:
            self.sockets.append(_tcp(port, other=bool(by)))
            self.port: int = self.sockets[0].getsockname()[1]
            self.sockets.append(_unix(self.path))
        except BaseException:
            self.close()
            raise

    def tell(self) -> None:
        """Write down that we answer, and where."""
        # `call.address` looks for exactly this "socket"
        told = {"pid": os.getpid(), "port": self.port, "socket": str(self.path)}
        told |= {"version": __version__, "started": self._started, "by": self.by}
        self._home.replace(self._home.root / FILE, json.dumps(told, ensure_ascii=False) + "\n")

    @property
    def lost(self) -> bool:
        """Whether the home is gone, or another one stands in its place."""
        try:
            there = os.stat(self._home.cache / LOCK)  # noqa: PTH116
        except OSError:
            return True
        return there.st_ino != os.fstat(self._lock).st_ino

    def leave(self) -> None:
        """From now on hooks and commands do their work themselves."""
        (self._home.root / FILE).unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        if not self.lost:
            self.leave()
            self._end(Ended(pid=os.getpid(), started=self._started, by=self.by, why=self.why))
        for one in self.sockets:
            one.close()
        os.close(self._lock)  # the file stays: another one may be waiting for its lock

    def _end(self, ended: "Ended") -> None:
        ended = replace(ended, ended=clock.iso(clock.now()))
        with suppress(OSError):
            self._home.replace(self._home.cache / LAST, msgspec.json.encode(ended) + b"\n")


def lock(home: Home) -> int | None:
    """The lock of the service, as long as the descriptor is open; None if a service holds it."""
    home.folder(home.cache)
    descriptor = os.open(home.cache / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _locked_by_us(home: Home, held: int) -> int:
    descriptor = lock(home) if held < 0 else held
    if descriptor is None:
        known = (home.cache / LOCK).read_text("ascii", "replace").strip()
        runs = f"A service already runs for {home.root} (pid {known or 'unknown'})."
        raise WakebookError(f"{runs} `wakebook serve stop` ends it.")
    os.set_inheritable(descriptor, False)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def _tcp(port: int, other: bool = False) -> socket.socket:
    """`other`: if it is taken, any other one will do."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind(("127.0.0.1", port))
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        if other:
            return _tcp(0)
        why = "is taken" if error.errno == errno.EADDRINUSE else "is not for you"
        raise ConfigError(  # which the unit does not try again for
            f"Port {port} of 127.0.0.1 {why}. Set another one as port in [service] of "
            "config.toml, or give --port (0: any that is free)."
        ) from error
    return made


def _unix(path: Path) -> socket.socket:
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(path.lstat().st_mode):  # of a service that was killed: we have the lock
            path.unlink()
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        made.bind(str(path))
        made.listen(BACKLOG)
    except BaseException:
        made.close()
        raise
    finally:
        os.umask(before)
    return made


def _path(home: Home) -> Path:
    """In the home; where its path is too long for a socket, in the temporary folder."""
    path = home.cache / SOCKET
    if _fits(path):
        return path
    name = f"wakebook-{os.getuid()}-{hashlib.sha256(os.fsencode(home.root)).hexdigest()[:12]}"
    above = Path(tempfile.gettempdir())
    above = above if _fits(above / name / SOCKET) else Path("/tmp")  # noqa: S108
    if _own(above / name):
        return above / name / SOCKET
    return Path(tempfile.mkdtemp(prefix="wakebook-", dir=above), SOCKET)  # another user was faster


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= LONGEST


def _own(folder: Path) -> bool:
    """Whether a folder is there that only we can use."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    return private and found.st_uid == os.getuid()


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """service.json, and the state of the service that wrote it."""

    state: Literal["up", "off", "silent", "dead"] = "dead"  # silent: it runs, without an answer
    pid: int
    port: int
    socket: str
    version: str = ""
    started: str = ""
    by: str = ""  # what has started it by itself; empty: a person did, by a command
    problem: str = ""  # with service.json

    @property
    def memory(self) -> int:
        """Bytes that it has in main memory; 0 if that cannot be said."""
        return memory(self.pid) if self.state in ("up", "silent") else 0

    def __str__(self) -> str:
        by = f", started by {self.by}" if self.by else ""
        return f"process {self.pid}, since {self.started}{by}, {self.memory >> 20:,} MB of memory"


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """service.last.json: the service that ended last."""

    pid: int
    started: str = ""
    by: str = ""
    ended: str = ""
    why: str = ""

    def __str__(self) -> str:
        return f"the last one ended at {self.ended}: {self.why}"


def ended(home: Home) -> Ended | None:
    """How the last service ended, if one has."""
    try:
        return decode((home.cache / LAST).read_bytes(), Ended)
    except (OSError, msgspec.MsgspecError):
        return None


def memory(pid: int) -> int:
    """Bytes of a process in main memory; 0 if that cannot be said."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # a Mac
        with suppress(OSError, ValueError):
            return int(run(("ps", "-o", "rss=", "-p", str(pid))).stdout) << 10
    return 0


def look(home: Home) -> Running:
    """How the service of a home is doing. Asks it, over its socket."""
    path = home.root / FILE
    none = Running(pid=0, port=0, socket="", state="off")
    try:
        found = decode(path.read_bytes(), Running)
    except FileNotFoundError:
        return none
    except (OSError, msgspec.MsgspecError) as error:
        return replace(none, state="dead", problem=f"{path} cannot be read: {error}")
    with suppress(OSError, ValueError):  # too slow, or nothing that we understand
        answer = call(str(home.root), HEALTH, b"", SECONDS, method="GET")
        if answer is not None and answer[0] == 200:
            return replace(found, state="up")
    lives = _lives(found.pid) and is_locked(home)
    return replace(found, state="silent" if lives else "dead")


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return pid > 0


def is_locked(home: Home) -> bool:
    """Whether a service holds its lock: a process with the same number may be another one."""
    try:
        descriptor = os.open(home.cache / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def reachable(port: int) -> str:
    """Why the service cannot be reached on its port; nothing if it can."""
    from http.client import HTTPConnection, HTTPException

    link = HTTPConnection("127.0.0.1", port, timeout=SECONDS)
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


def beside(home: Home, unit: Unit) -> list[str]:
    """A note, if a service that was started by hand keeps the unit's from starting."""
    found = look(home)
    words = ("systemctl", "--user", "show", "--property=MainPID", "--value", unit.name)
    systemd = unit.kind == "systemd"
    if found.state != "up" or (systemd and run(words).stdout.strip() == str(found.pid)):
        return []
    running = f"a service runs already (process {found.pid}), started by hand"
    return [f"{running}: the unit takes over when it ends."]


def checks(home: Home, unit: Unit) -> Iterator[Check]:
    """For `wakebook doctor`."""
    found, installed = look(home), False
    with suppress(WakebookError, OSError):
        installed = is_ours(unit.path)
    yield _process(home, unit, found, installed)
    if found.state == "up":
        again = to_run(home, "serve", "stop")
        again += "" if found.by else f" && {to_run(home, 'serve')}"
        yield from _answering(found, shlex.join(unit.restart) if installed else again)
    name, run = "service: at login", to_run(home, "serve", "install")
    if not installed:
        said = "nothing starts it" if not by_hooks(home) else "no: the first hook starts it"
        yield Check(name, "note", said, run if found.state == "up" and not found.by else "")
    elif unit.path.read_text(encoding="utf-8", errors="replace") != unit.text:
        said = f"{unit.path} is not what would be written now (another Python, or another version)"
        yield Check(name, "warn", said, run)
    else:
        yield Check(name, "ok", str(unit.path))


def _process(home: Home, unit: Unit, found: Running, installed: bool) -> Check:
    name, start = "service: process", shlex.join(unit.restart)
    if found.state == "up":
        return Check(name, "ok", str(found))
    if found.state == "silent":
        said = f"process {found.pid} runs, but has not answered for {SECONDS:g} s"
        return Check(name, "fail", said, start if installed else to_run(home, "serve", "stop"))
    if found.state == "dead":
        said = found.problem or f"process {found.pid} ended without a word"
        said += "; everything works without it, only slower"
        return Check(name, "warn", said, start if installed else to_run(home, "serve"))
    last = f" ({last})" if (last := ended(home)) else ""
    if installed:
        return Check(name, "warn", f"does not run, although it starts at login{last}", start)
    if by_hooks(home):
        return Check(name, "note", f"does not run; the next hook starts it{last}")
    said = f"does not run; hooks and commands do its work themselves, only slower{last}"
    return Check(name, "note", said, to_run(home, "serve", "install"))


def by_hooks(home: Home) -> bool:
    """Whether the hook of a wired host starts the service."""
    with suppress(ConfigError, OSError):
        wired = next((home.root / "hosts").glob("*/wired.json"), None)
        return wired is not None and config.load(home.config).service.auto
    return False


def _answering(found: Running, again: str) -> Iterator[Check]:
    if found.version == __version__:
        yield Check("service: version", "ok", __version__)
    else:
        said = f"it is {found.version or 'unknown'}, and this command is {__version__}"
        yield Check("service: version", "warn", said, again)
    where, problem = f"127.0.0.1:{found.port}", reachable(found.port)
    if problem:
        yield Check("service: port", "warn", f"does not answer on {where}: {problem}", again)
    else:
        yield Check("service: port", "ok", f"answers on {where}")
    path = Path(found.socket)
    if path.exists() and path.stat().st_mode & 0o077:
        said = f"others may open {path}, which asks for no token"
        yield Check("service: socket", "warn", said, f"chmod 600 {shlex.quote(str(path))}")
