"""`wakebook mcp`: the protocol over standard input and output, one message a line.

A client may not wait: Codex goes on without a server that needs a second or two. So nothing is
imported that the first answers do not need, and the first call opens the memory. Calls run in
threads and answer in any order.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

from wakebook.base.errors import WakebookError
from wakebook.service import mcp
from wakebook.service.mcp import WRONG, Message, Request

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from wakebook.memory import Memory

LARGEST = 8 << 20  # bytes of a message
THREADS = 4


class StdioServer:
    def __init__(self, memory: Callable[[], Memory], out: BinaryIO) -> None:
        self._open = memory
        self._own = threading.local()
        self._out = out
        self._writing = threading.Lock()
        self._version = ""  # agreed upon in a handshake
        self._running: set[object] = set()  # ids of requests that are not answered yet
        self._cancelled: set[object] = set()
        self._pool: ThreadPoolExecutor | None = None

    def serve(self, lines: BinaryIO) -> None:
        """Until the input ends, and every request is answered."""
        while line := lines.readline(LARGEST + 1):
            if len(line) > LARGEST:
                while line and not line.endswith(b"\n"):
                    line = lines.readline(LARGEST)
                self._send(mcp.error(None, WRONG, f"A message is at most {LARGEST >> 20} MiB."))
            elif line.strip():
                self._take(line)
        if self._pool:
            self._pool.shutdown()

    def _take(self, line: bytes) -> None:
        requests, batch = mcp.read_all(line, self._version == mcp.BATCHES)
        request = requests[0]
        if batch:
            self._later(name := object(), lambda: self._batch(name, requests))
        elif isinstance(request, dict):
            self._send(request)
        elif request.id is None:
            self._noted(request)
        elif request.id in self._running:
            self._send(mcp.error(request.id, WRONG, "A request with this id is not answered yet."))
        elif request.method in mcp.LIVE:
            self._later(request.id, lambda: self._finish(request))
        else:
            self._send(self._answer(request))

    def _batch(self, name: object, requests: list[Request | Message]) -> None:
        """One after the other; the answers come together."""
        answers = []
        for request in requests:
            if not isinstance(request, dict) and request.id is None:
                self._noted(request)
            else:
                answers.append(request if isinstance(request, dict) else self._answer(request))
        self._running.discard(name)
        if answers:
            self._send(answers)

    def _noted(self, request: Request) -> None:
        """A notification. Only one of them changes anything."""
        name = request.params.get("requestId")
        if request.method == "notifications/cancelled" and isinstance(name, str | int):
            self._cancelled |= {name} & self._running

    def _finish(self, request: Request) -> None:
        answer = None if request.id in self._cancelled else self._answer(request)
        cancelled = request.id in self._cancelled
        self._running.discard(request.id)
        self._cancelled.discard(request.id)
        if answer and not cancelled:
            self._send(answer)

    def _answer(self, request: Request) -> Message:
        answer = mcp.answer(request, self._memory, self._trace)
        if request.method == "initialize" and "result" in answer:
            self._version = answer["result"]["protocolVersion"]
        return answer

    def _memory(self) -> Memory:
        """Every thread has its own."""
        if not hasattr(self._own, "memory"):
            from wakebook.capture.project import is_project

            self._own.memory = self._open()
            with suppress(OSError):  # a folder that was deleted
                here = os.getcwd()  # noqa: PTH109
                self._own.memory.opened.here = here if is_project(here) else ""
        found: Memory = self._own.memory
        return found

    def _trace(self, where: str, error: str) -> None:
        with suppress(OSError, WakebookError):
            self._memory().home.trace("failure", where=where, error=error)

    def _later(self, name: object, work: Callable[[], None]) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._running.add(name)
        self._pool = self._pool or ThreadPoolExecutor(THREADS)
        self._pool.submit(work)

    def _send(self, message: Any) -> None:
        data = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        with self._writing:
            try:
                self._out.write(data.encode("utf-8", "replace") + b"\n")
                self._out.flush()
            except BrokenPipeError:  # the client has gone
                if not self._running:
                    os._exit(0)


def main(memory: Callable[[], Memory]) -> None:
    """Serve the client that started this process. Nothing but answers gets to its output."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # anything else that is printed here, or by a child, goes to standard error
    try:
        StdioServer(memory, out).serve(sys.stdin.buffer)
    except KeyboardInterrupt:
        os._exit(130)
