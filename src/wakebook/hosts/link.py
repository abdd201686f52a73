"""Link: the persistent child of a host's plugin. One JSON object a line, both ways.

A plugin in another language forwards everything to it. The service does the work if it is up;
otherwise this process does. With `lend` it asks the host's own model, for what needs a model.

    {"id": 1, "call": "tool", "name": "memory_search", "arguments": {...}}
    {"id": 2, "call": "hook", "event": "agent_end", "payload": {...}}
    {"id": 1, "result": {...}}        {"id": 2, "error": "..."}
    {"ask": 5, "system": "...", "prompt": "...", "maxTokens": 800}
    {"answer": 5, "text": "..."}
"""

import io
import json
import os
import queue
import signal
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from time import time_ns
from typing import IO, Any

from wakebook.base import clock
from wakebook.base.decode import loads
from wakebook.base.errors import ModelUnavailable, WakebookError
from wakebook.base.home import Home
from wakebook.hosts.backlog import Hooks
from wakebook.hosts.hook import ENDS
from wakebook.memory import Memory
from wakebook.service import tools
from wakebook.service.call import call, elsewhere
from wakebook.service.start import start

LARGEST = 16 << 20  # characters of a line
THREADS = 4
HOOK_SECONDS = 10.0
PATIENCE = 0.6  # of the time box: for a service, before this process answers a prompt itself
TOOL_SECONDS = 30.0
LEND_SECONDS = 120.0
ONCE = ("/remember", "/forget")  # what must not be done a second time
GONE = {"error": "the host has gone"}
LEAVING = 5.0  # seconds for what still runs when the host has gone


class Link:
    def __init__(self, root: str, host: str, out: IO[str], *, lend: bool = False) -> None:
        Hooks.act(host, "agent_end")  # a host that has a plugin
        self._root, self._host, self._out = root, host, out
        self._lend = self._ask if lend else None
        self._writing = threading.Lock()
        self._arriving = threading.Lock()  # a hook that follows an answer knows that it arrived
        self._asked: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._number = 0
        self._gone = False
        self._local = threading.local()
        self._pool = ThreadPoolExecutor(THREADS, "call")
        self._hooks = Hooks(Home(root), self._memory, self._worked)

    def run(self, lines: IO[str]) -> None:
        """Until the host closes its end. What was accepted is done first."""
        running: set[Future[None]] = set()
        try:
            self._read(lines, running)
        finally:
            self._leave(running)

    def _read(self, lines: IO[str], running: set[Future[None]]) -> None:
        for line in iter(lambda: lines.readline(LARGEST + 1), ""):
            if len(line) > LARGEST:
                self._failed("line", f"more than {LARGEST >> 20} MiB in one line")
                while line and not line.endswith("\n"):
                    line = lines.readline(LARGEST)
                continue
            if line.strip():
                running -= {one for one in running if one.done()}
                if found := self._taken(line):
                    running.add(found)

    def _leave(self, running: set[Future[None]]) -> None:
        with self._writing:
            self._gone = True
        for asked in list(self._asked.values()):
            asked.put(GONE)
        until = clock.monotonic() + LEAVING
        for one in running:
            try:
                one.result(max(0.0, until - clock.monotonic()))
            except TimeoutError:
                break
        self._hooks.end()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _taken(self, line: str) -> Future[None] | None:
        try:
            message = loads(line)
            if not isinstance(message, dict):
                raise ValueError("no object")
        except ValueError as error:
            self._send({"error": f"not a JSON object: {error}"})
            return None
        if "answer" in message:
            name = message["answer"]
            if asked := self._asked.get(name) if isinstance(name, int) else None:
                asked.put(message)
            return None
        return self._pool.submit(self._handle, message | {"asked": time_ns()})

    def _handle(self, message: dict[str, Any]) -> None:
        name = message.get("id")
        what = f"{message.get('call')} {message.get('name') or message.get('event') or ''}"
        try:
            with self._arriving:
                pass
            result = self._result(message)
            with self._arriving:
                self._send({"id": name, "result": result})
                self._arrived(message)
        except Exception as error:  # noqa: BLE001 - a hook never breaks its host
            self._failed(what, error)
            self._send({"id": name, "error": _told(error)})

    def _result(self, message: dict[str, Any]) -> Any:
        kind = message.get("call")
        if kind == "ping":
            return {"host": self._host, "home": self._root}
        if kind == "tool":
            return self._tool(message)
        if kind == "hook":
            payload = message.get("payload") or {}
            return self._hook(str(message.get("event")), payload, message["asked"])
        raise WakebookError(f"There is no call {kind!r}: tool, hook or ping.")

    def _hook(self, event: str, payload: Any, asked: int) -> Any:
        """The service's answer. What needs a model is done here, if the host lends its own."""
        if not isinstance(payload, dict):
            raise WakebookError(f"The payload of {event} is no object.")
        if elsewhere(self._root):
            return self._joined(event, payload)
        path, waits = f"/v1/hooks/{self._host}/{event}", HOOK_SECONDS
        told = self._hooks.act(self._host, event) in ("context", "steer")
        if told:  # the host waits, and has no time for one that hangs
            waits = PATIENCE * self._memory().config.hooks.seconds
        if self._lend is None or told:
            found = self._served(path, payload, waits, asked)
            if found is not None:
                return found
        if self._lend is None and event not in ENDS:  # a service could not ask the host's model
            start(self._memory().home, self._memory().config.service, self._host)
        return self._hooks.answer(self._memory(), self._host, event, payload, asked)

    def _joined(self, event: str, payload: dict[str, Any]) -> Any:
        """The answer of a server for teams; what follows it goes on behind."""
        from wakebook.hosts.joined import act

        answers: queue.Queue[bytes | None] = queue.Queue()
        until = clock.monotonic() + self._memory().config.hooks.seconds
        body = json.dumps(payload).encode("utf-8", "replace")

        def work() -> None:
            try:
                act(self._root, self._host, event, body, until, answers.put)
            except Exception as error:  # noqa: BLE001 - a hook never breaks its host
                answers.put(None)
                self._failed(f"hook {event}", error)

        threading.Thread(target=work, name="joined").start()
        return loads(answers.get() or b"{}")

    def _arrived(self, message: dict[str, Any]) -> None:
        """A host that waits only so long says so. It has got what was sent before that."""
        within = message.get("within")
        late = isinstance(within, int) and time_ns() - message["asked"] > within * 1_000_000
        if message.get("call") == "hook" and not late:
            payload = message.get("payload") or {}
            self._hooks.arrived(self._hooks.waiting(self._host, payload, message["asked"]))

    def _tool(self, message: dict[str, Any]) -> Any:
        name = str(message.get("name"))
        session = str(message.get("key") or message.get("session") or "")
        asked = {"arguments": message.get("arguments") or {}, "session": session}
        if elsewhere(self._root):
            from wakebook.service.remote import joined

            line = joined(self._root)
            assert line is not None
            status, body, _ = line.post(f"/v1/tools/{name}", json.dumps(asked).encode())
            if status >= 300:
                raise line.wrong(status, body)
            return loads(body)
        if name in tools.NAMES:
            found = self._served(f"/v1/tools/{name}", asked, TOOL_SECONDS)
            if found is not None:
                return found
        done = tools.call(self._memory(), name, asked["arguments"], session)
        return {"text": done.text, "data": done.data, "failed": done.failed}

    def _served(self, path: str, given: dict[str, Any], seconds: float, asked: int = 0) -> Any:
        """What the service answers; None if it is not there, or not able to."""
        body = json.dumps(given, ensure_ascii=False).encode("utf-8", "replace")
        try:
            found = call(self._root, path, body, seconds, asked=asked)
        except (TimeoutError, ConnectionError) as error:
            late = str(error) if isinstance(error, ConnectionError) else ""
            late = late or f"the service did not answer within {seconds:g} s"
            if path.endswith(ONCE):
                said = f"{late}: it may be done. Look before you try again."
                raise WakebookError(said) from error
            self._failed(path, late)
            return None
        if found is None or found[0] >= 300:
            return None
        return loads(found[1] or b"{}") or {}

    def _memory(self) -> Memory:
        """One for every thread: what it has read stays warm."""
        found: Memory | None = getattr(self._local, "memory", None)
        if found is None:
            found = self._local.memory = Memory(self._root, lend=self._lend)
        return found

    def _worked(self, act: str, about: str, failed: Exception | None) -> None:
        if failed:
            self._failed(f"{act} {about.partition('/')[2]}", failed)

    def _send(self, message: dict[str, Any]) -> None:
        line = json.dumps(message, ensure_ascii=False, default=str)
        for end in ("\u2028", "\u2029"):  # where Node ends a line
            line = line.replace(end, f"\\u{ord(end):x}")
        data = line.encode("utf-8", "replace").decode("utf-8")
        with self._writing, suppress(OSError, ValueError):  # the host has gone
            self._out.write(f"{data}\n")
            self._out.flush()

    def _failed(self, what: str, error: str | Exception) -> None:
        where = f"hook {self._host} {what}"[:120]
        try:
            Home(self._root).trace("failure", where=where, error=_told(error))
        except OSError as problem:
            print(f"wakebook: {problem}", file=sys.stderr)

    def _ask(self, system: str, prompt: str, most: int) -> str:
        """The host's own model. Raises ModelUnavailable."""
        answers: queue.Queue[dict[str, Any]] = queue.Queue()
        with self._writing:
            self._number += 1
            number = self._number
            self._asked[number] = answers
            if self._gone:
                answers.put(GONE)
        self._send({"ask": number, "system": system, "prompt": prompt, "maxTokens": most})
        try:
            found = answers.get(timeout=LEND_SECONDS)
        except queue.Empty:
            said = f"The host's model did not answer within {LEND_SECONDS:g} s."
            raise ModelUnavailable(said) from None
        finally:
            self._asked.pop(number, None)
        if isinstance(found.get("text"), str):
            return str(found["text"])
        raise ModelUnavailable(f"The host's model does not answer: {found.get('error')}.")


def main(root: str, host: str, lend: bool) -> None:
    """Serve the host that started this process. Nothing but answers gets to its output."""
    out = io.TextIOWrapper(os.fdopen(os.dup(1), "wb"), "utf-8", errors="replace", newline="\n")
    os.dup2(2, 1)  # anything else that prints goes to standard error
    lines = io.TextIOWrapper(sys.stdin.buffer, "utf-8", errors="replace", newline="\n")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the host decides when it ends
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # which first does what is left
    Link(root, host, out, lend=lend).run(lines)


def _told(error: str | Exception) -> str:
    """An error in words: one that we raise on purpose says it all."""
    plain = isinstance(error, str | WakebookError)
    return str(error) if plain else f"{type(error).__name__}: {error}"
