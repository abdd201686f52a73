"""Faults on purpose: actions in a child process that dies, or whose disk fails, at a chosen call.

With a C compiler, `faults.c` counts the system calls of Python, SQLite and git alike that change
something below one folder. Without one, or not on Linux, only Python's own calls are counted, and
only deaths are possible (tests/crash.py).
"""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests import crash

from wakebook.base.errors import WakebookError

COUNT, KILL, BROKEN, FULL, SHORT = range(5)
MODES = {"kill": KILL, "EIO": BROKEN, "full": FULL, "short": SHORT}
PAGE = "FAULTS_PAGE"
SIZE = 4096
SUBREAPER = 36  # prctl: orphans of the child come to us


class Ended(NamedTuple):
    """How a trial ended."""

    died: bool = False
    error: str = ""  # one that a person is told
    crash: str = ""  # a traceback: nobody should see one
    steps: int = 0


def prepare() -> str:  # noqa: RET503 - execv does not return
    """Start this program anew with the library, if that is possible; or why it is not."""
    if PAGE in os.environ:
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
        return ""
    compiler = shutil.which("cc")
    if sys.platform != "linux" or compiler is None:
        return "no C compiler, or not Linux: only Python's own calls are counted"
    folder = Path(tempfile.mkdtemp(prefix="wakebook-faults-"))
    library, page = folder / "faults.so", folder / "page"
    source = Path(__file__).with_name("faults.c")
    build = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"]
    done = subprocess.run(build, capture_output=True, text=True)
    if done.returncode:
        return f"faults.c cannot be built: {done.stderr[:200]}"
    page.write_bytes(b"\0" * SIZE)
    os.environ |= {PAGE: str(page), "LD_PRELOAD": str(library)}
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


class Layer:
    """The page that all processes share; or, without the library, the steps of Python alone."""

    def __init__(self) -> None:
        self.has_library = PAGE in os.environ
        if self.has_library:
            with Path(os.environ[PAGE]).open("r+b") as stream:
                self._page = mmap.mmap(stream.fileno(), SIZE)

    def run(self, action: Callable[[], object], below: Path, at: int, mode: int) -> Ended:
        """Run in a child. `at`: the call that is chosen, from 1; 0: none is, they are counted."""
        if not self.has_library:
            return Ended(died=crash.run_and_die(action, at or 1 << 30, orphans=True))
        reading, writing = os.pipe()
        self._arm(below, at, mode)
        child = crash.fork()
        if child == 0:
            os.close(reading)
            _act(action, writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as stream:
            said = stream.read().decode("utf-8", "replace")
        _, status = os.waitpid(child, 0)
        _wait_for_orphans()
        steps = struct.unpack_from("q", self._page, 8)[0]
        self._page[:SIZE] = b"\0" * SIZE
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == signal.SIGKILL, f"signal {os.WTERMSIG(status)}"
            return Ended(died=True, steps=steps)
        if os.WEXITSTATUS(status) == 2:
            return Ended(crash=said, steps=steps)
        return Ended(error=said, steps=steps)

    def _arm(self, below: Path, at: int, mode: int) -> None:
        path = os.fsencode(below) + b"/"
        self._page[:SIZE] = struct.pack("qqqq", at, 0, mode, 0) + path.ljust(SIZE - 32, b"\0")


def _act(action: Callable[[], object], writing: int) -> None:
    code, said = 0, ""
    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - until the process ends
    try:
        action()
    except (WakebookError, OSError) as error:
        code, said = 1, str(error)
    except BaseException:  # noqa: BLE001 - it is told to the parent
        code, said = 2, traceback.format_exc()
    os.write(writing, said.encode("utf-8", "replace")[:60_000])
    os._exit(code)


def _wait_for_orphans() -> None:
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return
