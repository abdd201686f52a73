"""An Anthropic Messages endpoint on loopback that follows a script: real HTTP, real SSE.

    with Anthropic() as server:
        server.script(Use("mcp__x__search", {"query": "ledger"}), Text("Found it."))
        ... run a client with ANTHROPIC_BASE_URL=server.url ...
        assert "ledger" in server.asked[-1].text

One step a request; when the script is over, every request is answered with what `reply` says.
Requests are recorded before they are answered, also those that hang.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from itertools import count
from typing import Any

from tests.clients.loopback import Loopback


@dataclass(frozen=True)
class Text:
    """An answer in words."""

    text: str


@dataclass(frozen=True)
class Use:
    """A call of a tool."""

    name: str
    input: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Hang:
    """No answer, until the server is closed."""


@dataclass(frozen=True)
class Status:
    """An error."""

    status: int


Step = Text | Use | Hang | Status


@dataclass(frozen=True)
class Asked:
    """What the model was sent."""

    path: str
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """Every word of it: system, messages, results of tools."""
        return "\n".join(_texts([self.body.get("system"), self.body.get("messages")]))

    @property
    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.body.get("tools", [])]

    @property
    def results(self) -> list[str]:
        """The results of tool calls, as the model reads them."""
        blocks = [
            block
            for message in self.body.get("messages", [])
            for block in (message["content"] if isinstance(message["content"], list) else [])
        ]
        found = [block for block in blocks if block.get("type") == "tool_result"]
        return ["\n".join(_texts(block.get("content"))) for block in found]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        yield from _texts(value.get("text"))
        yield from _texts(value.get("content"))


class Anthropic(Loopback):
    def __init__(self, reply: Callable[[Asked], str] = lambda asked: "Noted.") -> None:
        self.asked: list[Asked] = []
        self.reply = reply
        self._steps: list[Step] = []
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._new = threading.Condition(self._lock)
        super().__init__(_handler(self))

    def script(self, *steps: Step) -> None:
        with self._lock:
            self._steps += steps

    def forget(self) -> None:
        """Start a new list of requests."""
        with self._lock:
            self.asked.clear()

    def wait(self, number: int, seconds: float = 60.0) -> None:
        """Until so many requests have come."""
        with self._new:
            assert self._new.wait_for(lambda: len(self.asked) >= number, seconds), self.asked

    # --- one request -----------------------------------------------------------------------

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, bytes, str] | None:
        """Status, body and type; None: nothing, the connection is closed."""
        if path.partition("?")[0].endswith("/count_tokens"):
            return 200, json.dumps({"input_tokens": len(json.dumps(body)) // 4}).encode(), JSON
        asked = Asked(path, body)
        with self._new:
            self.asked.append(asked)
            step = self._steps.pop(0) if self._steps else Text(self.reply(asked))
            number = next(self._numbers)
            self._new.notify_all()
        if isinstance(step, Hang):
            self.over.wait()
            return None
        if isinstance(step, Status):
            kind = {"type": "error", "error": {"type": "api_error", "message": "scripted"}}
            return step.status, json.dumps(kind).encode(), JSON
        message = _message(number, step, asked)
        if body.get("stream"):
            return 200, b"".join(_events(message)), "text/event-stream"
        return 200, json.dumps(message).encode(), JSON


JSON = "application/json"


def _message(number: int, step: Text | Use, asked: Asked) -> dict[str, Any]:
    block: dict[str, Any] = (
        {"type": "text", "text": step.text}
        if isinstance(step, Text)
        else {"type": "tool_use", "id": f"toolu_{number:024}", "name": step.name} | _input(step)
    )
    return {
        "id": f"msg_{number:024}",
        "type": "message",
        "role": "assistant",
        "model": asked.body.get("model", "scripted"),
        "content": [block],
        "stop_reason": "end_turn" if isinstance(step, Text) else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": len(asked.text) // 4, "output_tokens": 20},
    }


def _input(step: Use) -> dict[str, Any]:
    return {"input": step.input}


def _events(message: dict[str, Any]) -> Iterator[bytes]:
    """The message as a stream; its text or input comes in two pieces."""
    (block,) = message["content"]
    empty = message | {"content": [], "stop_reason": None}
    yield _event("message_start", message=empty)
    if block["type"] == "text":
        start, whole, kind = {"type": "text", "text": ""}, block["text"], "text"
        delta = "text_delta"
    else:
        start, whole, kind = block | {"input": {}}, json.dumps(block["input"]), "partial_json"
        delta = "input_json_delta"
    yield _event("content_block_start", index=0, content_block=start)
    half = len(whole) // 2
    for piece in (whole[:half], whole[half:]):
        yield _event("content_block_delta", index=0, delta={"type": delta, kind: piece})
    yield _event("content_block_stop", index=0)
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=ending, usage=message["usage"])
    yield _event("message_stop")


def _event(name: str, **fields: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name} | fields)}\n\n".encode()


def _handler(server: Anthropic) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            answer = server.answer(self.path, body)
            with suppress(OSError):
                self._send(answer)

        def do_GET(self) -> None:
            self._send((404, b"{}", JSON))

        do_HEAD = do_GET

        def _send(self, answer: tuple[int, bytes, str] | None) -> None:
            self.close_connection = answer is None
            if answer is None:
                return
            status, body, kind = answer
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
