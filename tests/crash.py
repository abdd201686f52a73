"""Dying on purpose: a process that is killed -9 at the Nth step that touches the disk.

`count_steps` wraps the system calls by which Wakebook changes anything (the real ones are
still made) and kills its own process just before, or half-way through, the chosen one. No
line of Wakebook knows about it.
"""

from __future__ import annotations

import gc
import os
import signal
import stat
import traceback
from collections.abc import Callable
from typing import Any

from wakebook import Memory

CALLS = ("open", "write", "fsync", "replace", "chmod", "ftruncate", "mkdir", "unlink", "rename")


class Bare(Memory):
    """Without notes and index, where `test_crash` dies as well: here every step counts."""

    def _afterwards(self, learned: bool, wakes: bool = True) -> None:
        pass


class Steps:
    def __init__(self, die_at: int) -> None:
        self.count = 0
        self.die_at = die_at
        self._real: dict[str, Any] = {}

    def install(self) -> None:
        for name in CALLS:
            self._real[name] = getattr(os, name)
            setattr(os, name, self._counting(name, self._real[name]))

    def remove(self) -> None:
        for name, real in self._real.items():
            setattr(os, name, real)

    def _counting(self, name: str, real: Any) -> Any:
        def counted(*arguments: Any, **options: Any) -> Any:
            if name == "open" and not _writes(arguments, options):
                return real(*arguments, **options)
            self.count += 1
            if self.count == self.die_at:
                if name == "write" and len(arguments[1]) > 1 and not _is_pipe(arguments[0]):
                    # a torn write; into a pipe nothing comes at all: its reader sees an empty input
                    real(arguments[0], arguments[1][: len(arguments[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **options)

        return counted


def _is_pipe(descriptor: int) -> bool:
    return stat.S_ISFIFO(os.fstat(descriptor).st_mode)


def _writes(arguments: tuple[Any, ...], options: dict[str, Any]) -> bool:
    flags = arguments[1] if len(arguments) > 1 else options.get("flags", 0)
    if hasattr(os, "O_TMPFILE") and flags & os.O_TMPFILE == os.O_TMPFILE:
        return False  # a file without a name, which nobody finds
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def fork() -> int:
    """The child's collector of garbage leaves alone what is here: it would copy it all."""
    gc.freeze()
    child = os.fork()
    if child:
        gc.unfreeze()
    return child


def run_and_die(action: Callable[[], object], step: int, orphans: bool = False) -> bool:
    """Run in a child that dies at this step. Whether it died (or got through). `orphans`: wait for
    the commands that it has started, too, which go on without it."""
    child = fork()
    if child == 0:
        code = 1
        try:
            if orphans:
                _adopting()
            Steps(step).install()
            action()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, "the child failed instead of dying"
    return False


def _adopting() -> None:
    """Go on in a child; this process ends as the child does, after all that the child started."""
    import ctypes

    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: Linux alone has it
    child = os.fork()
    if child == 0:
        return
    status = 0
    while True:
        try:
            ended, code = os.wait()
        except ChildProcessError:
            break
        status = code if ended == child else status
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))
