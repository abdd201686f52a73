"""Where the service listens, and the files that say so: service.lock, service.sock, service.json.

The lock is held as long as the process lives, whatever becomes of it: a second service of the
same home is refused, and what a killed one left lying can be replaced.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import socket
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from wakebook.base import clock
from wakebook.base.errors import ConfigError, WakebookError
from wakebook.base.home import Home
from wakebook.version import __version__

LONGEST = 100  # bytes of a socket's path; systems allow about 104
BACKLOG = 128
SOCKET = "service.sock"


class Address:
    """The lock and the two sockets of one service."""

    def __init__(self, home: Home, port: int) -> None:
        self._home = home
        self._file = home.cache / "service.json"
        self._lock = _lock(home)
        self.sockets: list[socket.socket] = []
        self.path = _path(home)
        try:
            self.sockets.append(_tcp(port))
            self.port: int = self.sockets[0].getsockname()[1]
            self.sockets.append(_unix(self.path))
        except BaseException:
            self.close()
            raise

    def tell(self) -> None:
        """Write down that we answer, and where."""
        told = {
            "pid": os.getpid(),
            "port": self.port,
            "socket": str(self.path),  # `adapters.call` looks for exactly this
            "version": __version__,
            "started": clock.iso(clock.now()),
        }
        self._home.replace(self._file, json.dumps(told, ensure_ascii=False) + "\n")

    def leave(self) -> None:
        """From now on whoever wants something does it himself."""
        self._file.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        self.leave()
        for one in self.sockets:
            one.close()
        os.close(self._lock)  # the file stays: another one may be waiting for its lock


def _lock(home: Home) -> int:
    home.folder(home.cache)
    path = home.cache / "service.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        known = os.read(descriptor, 20).decode("ascii", "replace").strip()
        os.close(descriptor)
        raise WakebookError(
            f"A service already runs for {home.root} (pid {known or 'unknown'}). "
            "Stop that one first, or use it."
        ) from None
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor


def _tcp(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind(("127.0.0.1", port))
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
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
    name = hashlib.sha256(os.fsencode(home.root)).hexdigest()[:12]
    name = f"wakebook-{os.getuid()}-{name}"
    above = Path(tempfile.gettempdir())
    above = above if _fits(above / name / SOCKET) else Path("/tmp")  # noqa: S108
    folder = above / name
    if not _own(folder):  # somebody else was faster
        folder = Path(tempfile.mkdtemp(prefix="wakebook-", dir=above))
    return folder / SOCKET


def _fits(path: Path) -> bool:
    return len(os.fsencode(path)) <= LONGEST


def _own(folder: Path) -> bool:
    """Whether a folder is there that only we can use."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    return private and found.st_uid == os.getuid()
