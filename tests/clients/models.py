"""An OpenAI chat-completions endpoint on loopback that follows a script: real HTTP, real SSE.

    with Completions() as server:
        server.script(Use("memory_search", {"query": "ledger"}), Text("Found it."))
        ... run a client whose provider is at server.url ...
        assert "ledger" in server.asked[-1].results[0]

One step a request; when the script is over, every request is answered with what `reply` says.
A step is never chosen by the last message: OpenClaw puts a message of its own behind everything.
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


Step = Text | Use | Hang


@dataclass(frozen=True)
class Asked:
    """What the model was sent."""

    body: dict[str, Any]

    @property
    def system(self) -> str:
        return self._of("system", "developer")

    @property
    def user(self) -> str:
        """Every word that stands there as the user's, the host's own included."""
        return self._of("user")

    @property
    def text(self) -> str:
        return self._of("system", "developer", "user", "assistant", "tool")

    @property
    def results(self) -> list[str]:
        """The results of tool calls, as the model reads them."""
        return [_text(one.get("content")) for one in self._messages if one.get("role") == "tool"]

    @property
    def tools(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.body.get("tools", [])]

    @property
    def _messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.body.get("messages", [])
        return messages

    def _of(self, *roles: str) -> str:
        return "\n".join(
            _text(one.get("content")) for one in self._messages if one.get("role") in roles
        )


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or [])


class Completions(Loopback):
    def __init__(self, reply: Callable[[Asked], str] = lambda asked: "Noted.") -> None:
        self.asked: list[Asked] = []
        self.reply = reply
        self._steps: list[Step] = []
        self._numbers = count(1)
        self._new = threading.Condition()
        super().__init__(_handler(self))

    @property
    def url(self) -> str:
        return f"{super().url}/v1"

    def script(self, *steps: Step) -> None:
        with self._new:
            self._steps += steps

    def wait(self, number: int, seconds: float = 120.0) -> None:
        """Until so many requests have come."""
        with self._new:
            assert self._new.wait_for(lambda: len(self.asked) >= number, seconds), self.asked

    def answer(self, body: dict[str, Any]) -> tuple[bytes, str] | None:
        """Body and type; None: nothing, the connection is closed."""
        asked = Asked(body)
        with self._new:
            self.asked.append(asked)
            step = self._steps.pop(0) if self._steps else Text(self.reply(asked))
            number = next(self._numbers)
            self._new.notify_all()
        if isinstance(step, Hang):
            self.over.wait()
            return None
        if body.get("stream"):
            return b"".join(_events(step, number, body["model"])), "text/event-stream"
        return json.dumps(_whole(step, number, body["model"])).encode(), "application/json"


def _message(step: Text | Use, number: int) -> tuple[dict[str, Any], str]:
    if isinstance(step, Text):
        return {"role": "assistant", "content": step.text}, "stop"
    function = {"name": step.name, "arguments": json.dumps(step.input)}
    call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"


USAGE = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}


def _whole(step: Text | Use, number: int, model: str) -> dict[str, Any]:
    message, stop = _message(step, number)
    choice = {"index": 0, "message": message, "finish_reason": stop}
    return _frame(number, model, "chat.completion") | {"choices": [choice], "usage": USAGE}


def _frame(number: int, model: str, kind: str) -> dict[str, Any]:
    return {"id": f"cmpl-{number}", "object": kind, "created": 1_767_225_600, "model": model}


def _events(step: Text | Use, number: int, model: str) -> Iterator[bytes]:
    message, stop = _message(step, number)
    frame = _frame(number, model, "chat.completion.chunk")
    for delta, reason in ((message, None), ({}, stop)):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        yield f"data: {json.dumps(frame | {'choices': [choice]})}\n\n".encode()
    yield f"data: {json.dumps(frame | {'choices': [], 'usage': USAGE})}\n\n".encode()
    yield b"data: [DONE]\n\n"


def _handler(server: Completions) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = server.answer(body)
            with suppress(ConnectionError):
                if answer is None:
                    self.close_connection = True
                    return
                self._send(200, *answer)

        def do_GET(self) -> None:
            self._send(404, b"{}", "application/json")

        def _send(self, status: int, data: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    return Handler
