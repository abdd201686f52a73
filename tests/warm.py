"""Processes of `wakebook` that need not import it first: a service, a link.

One process for all tests of a worker has everything imported, and nothing else done. Asked for a
command, it becomes two, and the child goes on as the command: with arguments, environment, folder
and streams of its own, and with an end of its own, like any process. How Wakebook starts from
nothing is tested by those that start it so (a hook, a unit, `tests/service/test_start.py`).
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from select import select
from typing import Any

IMPORTED = (
    "cli.serve cli.agents service.serve service.app service.mcp hosts.link hosts.events"
    " hosts.backlog recall.turn recall.context store.search store.sync learn.catch_up"
    " learn.reading upkeep.jobs notes.briefing notes.write notes.why history.history"
)
MOST = 1 << 18  # bytes of a request


class Process:
    """A command that runs, as `subprocess.Popen` has it. What it prints on stderr goes where that
    of the tests goes."""

    def __init__(self, *arguments: str, env: Mapping[str, str] | None = None) -> None:
        about = {"arguments": arguments, "folder": os.getcwd(), "env": dict(env or os.environ)}  # noqa: PTH109
        given, to_it = os.pipe()
        from_it, out = os.pipe()
        self._status, status = os.pipe()
        fds = [given, out, 2, status]
        socket.send_fds(_warm()[0], [json.dumps(about).encode()], fds)
        for descriptor in (given, out, status):
            os.close(descriptor)
        self.stdin, self.stdout = os.fdopen(to_it, "wb"), os.fdopen(from_it, "rb")
        self.pid = int(self._told())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
            self.returncode = os.waitstatus_to_exitcode(int(self._told()))
            os.close(self._status)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _told(self) -> bytes:
        """A number of eight digits, which comes at once."""
        found = os.read(self._status, 8)
        assert found, "the process that has everything imported is no more"
        return found


@cache
def _warm() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm", str(theirs.fileno())],
            cwd=Path(__file__).parents[1],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
    return ours, process


def cool() -> None:
    """It is needed no longer."""
    if _warm.cache_info().currsize:
        asked, process = _warm()
        asked.close()
        process.wait()
        _warm.cache_clear()


# --- the process that has everything imported ---------------------------------------------------
def next_one(asked: socket.socket) -> dict[str, Any] | None:
    """In a child, what it is to do; None in the end, when nobody can ask any more."""
    wakes, woken = socket.socketpair()
    wakes.setblocking(False)
    woken.setblocking(False)
    signal.set_wakeup_fd(woken.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, int] = {}  # child -> where its end is told
    with selectors.DefaultSelector() as either:
        either.register(asked, selectors.EVENT_READ)
        either.register(wakes, selectors.EVENT_READ)
        while True:
            ready = [key.fileobj for key, _ in either.select()]
            if wakes in ready:
                wakes.recv(1024)
                _tell_ends(running)
            if asked not in ready:
                continue
            data, fds, _, _ = socket.recv_fds(asked, MOST, 4)
            if not data:
                return None
            child = os.fork()
            if child == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for number, descriptor in enumerate(fds[:3]):
                    os.dup2(descriptor, number)
                break
            os.write(fds[3], b"%8d" % child)
            running[child] = fds[3]
            for descriptor in fds[:3]:
                os.close(descriptor)
    wakes.close()
    woken.close()
    asked.close()
    os.closerange(3, 1024)  # the streams of the others
    found: dict[str, Any] = json.loads(data)
    return found


def _tell_ends(running: dict[int, int]) -> None:
    with suppress(ChildProcessError):
        while True:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                break
            with suppress(BrokenPipeError):  # nobody waits for it
                os.write(running[child], b"%8d" % status)
            os.close(running.pop(child))


def main() -> None:
    for name in IMPORTED.split():
        importlib.import_module(f"wakebook.{name}")
    from wakebook.__main__ import main
    from wakebook.models import tokenizer

    tokenizer.count("a")
    gc.collect()
    gc.freeze()
    asked = next_one(socket.socket(fileno=int(sys.argv[1])))
    if asked:
        os.environ.clear()
        os.environ.update(asked["env"])
        os.chdir(asked["folder"])
        sys.argv = ["wakebook", *asked["arguments"]]
        main()


if __name__ == "__main__":
    main()
