"""A model on loopback that speaks OpenAI's Responses wire, streamed, and follows a script.

    with ResponsesServer() as server:
        server.script(Call("memory_search", {"query": "ledger"}), Say("Found it."))
        ... run a client with server.base ...
        assert "SQLite" in server.asks[-1].text

One step a request; without a script it says "Understood.". Codex and pi both speak it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from itertools import count
from typing import Any

from tests.clients.loopback import Loopback


@dataclass(frozen=True)
class Say:
    text: str
    tokens: int = 100  # what the client is told that the request held


@dataclass(frozen=True)
class Call:
    """Asks for a tool. Codex groups those of an MCP server under a namespace."""

    name: str
    arguments: dict[str, Any]
    namespace: str = ""
    tokens: int = 100


@dataclass(frozen=True)
class Wait:
    """Says nothing until it is let go or the server is closed: time to kill somebody."""


Step = Say | Call | Wait
SILENT = Say("Understood.")


@dataclass(frozen=True)
class Ask:
    """A request of the client's: what the model reads."""

    path: str
    body: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.said]

    @property
    def said(self) -> list[tuple[str, str]]:
        """Role (or kind) and text of every item of the input, in order."""
        return [pair for item in self.body.get("input", []) for pair in _said(item)]

    @property
    def text(self) -> str:
        return "\n".join([str(self.body.get("instructions") or ""), *self.texts])

    @property
    def tools(self) -> set[str]:
        return set(_names(self.body.get("tools", [])))


def _said(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    kind = str(item.get("role") or item.get("type"))
    content = item.get("content", item.get("output", item.get("arguments", "")))
    if isinstance(content, str):
        yield kind, content
    elif isinstance(content, list):
        yield from ((kind, str(part["text"])) for part in content if part.get("text"))


def _names(tools: list[dict[str, Any]]) -> Iterator[str]:
    for tool in tools:
        if "tools" in tool:
            yield from (f"{tool.get('name')}/{name}" for name in _names(tool["tools"]))
        else:
            yield str(tool.get("name") or tool.get("type"))


class ResponsesServer(Loopback):
    def __init__(self) -> None:
        self.asks: list[Ask] = []
        self.arrived = threading.Event()  # a request that is made to wait has come
        self._steps: list[Step] = []
        self._lock = threading.Lock()
        self._numbers = count(1)
        outer = self

        class Handler(_Handler):
            server_of = outer

        super().__init__(Handler)

    @property
    def base(self) -> str:
        return f"{self.url}/v1"

    def script(self, *steps: Step) -> None:
        with self._lock:
            self._steps.extend(steps)

    def step(self, ask: Ask) -> Step:
        with self._lock:
            self.asks.append(ask)
            return self._steps.pop(0) if self._steps else SILENT

    def events(self, step: Say | Call) -> Iterator[dict[str, Any]]:
        number = next(self._numbers)
        response = {"id": f"resp_{number}", "object": "response", "model": "scripted"}
        yield {"type": "response.created", "response": response | {"status": "in_progress"}}
        item = _item(step, number)
        part = {"output_index": 0, "item_id": item["id"]}
        yield {"type": "response.output_item.added", **part, "item": item | _begun(item)}
        yield from _deltas(item, part)
        yield {"type": "response.output_item.done", **part, "item": item}
        usage = {
            "input_tokens": step.tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": step.tokens + 10,
        }
        done = {"status": "completed", "output": [item], "usage": usage}
        yield {"type": "response.completed", "response": response | done}


def _item(step: Say | Call, number: int) -> dict[str, Any]:
    if isinstance(step, Say):
        part = {"type": "output_text", "text": step.text, "annotations": []}
        return {
            "type": "message", "id": f"msg_{number}", "status": "completed",
            "role": "assistant", "content": [part],
        }  # fmt: skip
    item = {
        "type": "function_call", "id": f"fc_{number}", "status": "completed",
        "call_id": f"call_{number}", "name": step.name, "arguments": json.dumps(step.arguments),
    }  # fmt: skip
    return item | ({"namespace": step.namespace} if step.namespace else {})


def _begun(item: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"content": []} if item["type"] == "message" else {"arguments": ""}
    return {"status": "in_progress"} | empty


def _deltas(item: dict[str, Any], part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if item["type"] == "function_call":
        kind = "response.function_call_arguments"
        yield {"type": f"{kind}.delta", **part, "delta": item["arguments"]}
        yield {"type": f"{kind}.done", **part, "arguments": item["arguments"]}
        return
    part = part | {"content_index": 0}
    said = item["content"][0]
    yield {"type": "response.content_part.added", **part, "part": said | {"text": ""}}
    yield {"type": "response.output_text.delta", **part, "delta": said["text"]}
    yield {"type": "response.output_text.done", **part, "text": said["text"]}
    yield {"type": "response.content_part.done", **part, "part": said}


class _Handler(BaseHTTPRequestHandler):
    server_of: ResponsesServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(404, "application/json", b'{"error":{"message":"only /responses"}}')

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not self.path.endswith("/responses"):
            self.do_GET()
            return
        step = self.server_of.step(Ask(self.path, json.loads(body)))
        if isinstance(step, Wait):
            self.server_of.arrived.set()
            self.server_of.over.wait()
            step = SILENT
        events = self.server_of.events(step)
        stream = "".join(
            f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events
        )
        self._answer(200, "text/event-stream", stream.encode())

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        with suppress(OSError):  # the client was killed
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
