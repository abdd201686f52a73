"""`wakebook mcp`: the protocol over standard input and output, one line a message.

A client starts this and may not wait: Codex goes on without a server that needs a second or
two, as one with the official SDK does. So the protocol is spoken here by hand, with nothing
imported that the first answers do not need; the memory is opened by the first call. Both kinds
of clients are understood: those that shake hands (`initialize`), and those of 2026-07-28 and
later, which say with every request who they are.

Calls run in threads and answer in any order. At the end of the input what runs is finished.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO

from wakebook.service import mcp as offer
from wakebook.service.mcp import INTERNAL, INVALID, NO_RESOURCE, UNKNOWN, Refused

if TYPE_CHECKING:
    from wakebook.memory import Memory

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = ("2026-07-28",)
BATCHES = "2025-03-26"  # the only version that has them
VERSION = "io.modelcontextprotocol/protocolVersion"
ABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER = "io.modelcontextprotocol/serverInfo"
BROKEN, WRONG, OTHER_VERSION = -32700, -32600, -32022
LARGEST = 8 << 20  # bytes of a message
THREADS = 4
CACHEABLE = (
    "server/discover", "tools/list", "prompts/list", "resources/list",
    "resources/templates/list", "resources/read",
)  # fmt: skip

Answered = Callable[[dict[str, Any] | None], None]


class Server:
    """One client."""

    def __init__(self, memory: Callable[[], Memory], out: BinaryIO) -> None:
        self._open = memory
        self._own = threading.local()
        self._out = out
        self._writing = threading.Lock()
        self._version = ""  # agreed upon; of a client that shakes hands
        self._running: set[object] = set()  # ids of what is not answered yet
        self._cancelled: set[object] = set()
        self._works: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def serve(self, lines: BinaryIO) -> None:
        """Until the input ends, and everything that was asked is answered."""
        while line := lines.readline(LARGEST + 1):
            if len(line) > LARGEST:
                while line and not line.endswith(b"\n"):
                    line = lines.readline(LARGEST)
                self._send(_error(None, WRONG, f"A message is at most {LARGEST >> 20} MiB."))
            elif line.strip():
                self._take(line)
        for _ in self._threads:
            self._works.put(None)
        for thread in self._threads:
            thread.join()

    # --- messages ------------------------------------------------------------------------

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            self._send(_error(None, BROKEN, f"That is not JSON: {error}"))
            return
        if not isinstance(message, list):
            self._one(message, self._answered)
        elif self._version == BATCHES and message:
            self._batch(message)
        else:
            self._send(_error(None, WRONG, "Send one message at a time."))

    def _batch(self, messages: list[Any]) -> None:
        """The answers come together, when the last one is there."""
        lock, left, answers = threading.Lock(), len(messages), list[dict[str, Any]]()

        def answered(answer: dict[str, Any] | None) -> None:
            nonlocal left
            with lock:
                left -= 1
                if answer is not None:
                    answers.append(answer)
                if left or not answers:
                    return
            self._send(answers)

        for message in messages:
            self._one(message, answered)

    def _answered(self, answer: dict[str, Any] | None) -> None:
        if answer is not None:
            self._send(answer)

    def _one(self, message: Any, answered: Answered) -> None:
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            answered(_error(None, WRONG, 'A message is an object with "jsonrpc": "2.0".'))
            return
        method, params = message.get("method"), message.get("params")
        if method is None and ("result" in message or "error" in message):
            answered(None)  # an answer to what nobody asked
        elif "id" not in message and isinstance(method, str):
            self._noted(method, params)
            answered(None)
        else:
            self._asked(message.get("id"), method, {} if params is None else params, answered)

    def _noted(self, method: str, params: Any) -> None:
        """A notification. Only one of them changes anything."""
        if method == "notifications/cancelled" and isinstance(params, dict):
            name = params.get("requestId")
            if _is_id(name) and name in self._running:
                self._cancelled.add(name)

    def _asked(self, name: Any, method: Any, params: Any, answered: Answered) -> None:
        if not _is_id(name):
            answered(_error(None, WRONG, "An id is a string or a whole number."))
        elif not isinstance(method, str):
            answered(_error(name, WRONG, "A request has a method."))
        elif not isinstance(params, dict):
            answered(_error(name, INVALID, "params must be an object."))
        elif name in self._running:
            answered(_error(name, WRONG, "A request with this id is not answered yet."))
        elif method in offer.LIVE:
            self._running.add(name)
            self._later(lambda: self._finish(name, method, params, answered))
        else:
            answered(self._answer(name, method, params))

    # --- answers -------------------------------------------------------------------------

    def _finish(self, name: Any, method: str, params: dict[str, Any], answered: Answered) -> None:
        answer = None if name in self._cancelled else self._answer(name, method, params)
        cancelled = name in self._cancelled
        self._running.discard(name)
        self._cancelled.discard(name)
        answered(None if cancelled else answer)

    def _answer(self, name: Any, method: str, params: dict[str, Any]) -> dict[str, Any]:
        meta = params.get("_meta")
        modern = method != "initialize" and isinstance(meta, dict) and VERSION in meta
        try:
            if modern:
                _check_envelope(params["_meta"])
            result = self._result(method, params, modern)
        except Refused as error:
            code = INVALID if modern and error.code == NO_RESOURCE else error.code
            return _error(name, code, str(error), error.data)
        except Exception as error:  # noqa: BLE001 - one request must not end the others
            return _error(name, INTERNAL, self._failed(method, error))
        if modern:
            result = {"resultType": "complete", **result, "_meta": {SERVER: offer.about()}}
            if method in CACHEABLE:
                result |= {"ttlMs": 0, "cacheScope": "private"}
        return {"jsonrpc": "2.0", "id": name, "result": result}

    def _result(self, method: str, params: dict[str, Any], modern: bool) -> dict[str, Any]:
        if method == "initialize":
            return self._initialize(params)
        if method == "ping" and not modern:
            return {}
        if method == "server/discover":
            if not modern:
                raise Refused(UNKNOWN, "server/discover needs the envelope of 2026-07-28.")
            return {
                "supportedVersions": list(MODERN),
                "capabilities": offer.capabilities(),
                "instructions": offer.INSTRUCTIONS,
            }
        return offer.answer(self._memory, method, params)

    def _initialize(self, params: Mapping[str, Any]) -> dict[str, Any]:
        wanted = params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise Refused(INVALID, "protocolVersion must be a string.")
        self._version = wanted if wanted in HANDSHAKE else HANDSHAKE[-1]
        return {
            "protocolVersion": self._version,
            "capabilities": offer.capabilities(),
            "serverInfo": offer.about(),
            "instructions": offer.INSTRUCTIONS,
        }

    def _memory(self) -> Memory:
        """Every thread has its own."""
        if not hasattr(self._own, "memory"):
            self._own.memory = self._open()
        found: Memory = self._own.memory
        return found

    def _failed(self, method: str, error: Exception) -> str:
        from wakebook.base.errors import WakebookError

        if isinstance(error, WakebookError):
            return str(error)
        with suppress(OSError, WakebookError):
            said = f"{type(error).__name__}: {error}"
            self._memory().home.trace("failure", where=f"mcp {method}", error=said)
        return "Something went wrong here. `wakebook status` shows what."

    # --- threads, and the way out --------------------------------------------------------

    def _later(self, work: Callable[[], None]) -> None:
        self._works.put(work)
        if len(self._threads) < THREADS and len(self._running) > len(self._threads):
            thread = threading.Thread(target=self._work)
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        while work := self._works.get():
            work()

    def _send(self, message: Any) -> None:
        data = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        with self._writing:
            try:
                self._out.write(data.encode("utf-8", "replace") + b"\n")
                self._out.flush()
            except BrokenPipeError:  # nobody listens any more
                if not self._running:
                    os._exit(0)


def _check_envelope(meta: Mapping[str, Any]) -> None:
    version = meta[VERSION]
    if ABILITIES not in meta or not isinstance(version, str):
        raise Refused(INVALID, f"_meta needs {VERSION} and {ABILITIES}.")
    if version not in MODERN:
        data = {"supported": list(MODERN), "requested": version}
        raise Refused(OTHER_VERSION, f"{version!r:.60} is not spoken here.", data)


def _is_id(name: object) -> bool:
    return isinstance(name, str) or (isinstance(name, int) and not isinstance(name, bool))


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


def _error(name: Any, code: int, message: str, data: Any = None) -> dict[str, Any]:
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return {"jsonrpc": "2.0", "id": name, "error": error}


def main(memory: Callable[[], Memory]) -> None:
    """Serve the client that started this process. Nothing but answers gets to its output."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anybody else prints, a child included, is for the people
    try:
        Server(memory, out).serve(sys.stdin.buffer)
    except KeyboardInterrupt:
        os._exit(130)
