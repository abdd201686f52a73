"""A model's server on loopback that follows a script: real HTTP, no provider.

    with ModelServer() as server:
        server.script(Status(429, retry_after=0), Cut())   # one step a request, then it answers
        ... ask server.url + "/v1" ...
        assert server.texts == [["first"], ["first"], ["first"]]

What it says without a script is a function of the question. An endpoint is a pair of functions
in ROUTES: the texts of a question, and the answer to it.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Vectors = list[Any]  # of lists of numbers, unless a script says otherwise


# --- what a script can say ---------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """As without a script, but for this change of the vectors."""

    change: Callable[[Vectors], Vectors] = lambda vectors: vectors
    backwards: bool = False  # in another order than asked, where the format says which is which
    chunked: bool = False


@dataclass(frozen=True)
class Status:
    """Not 200."""

    status: int
    message: str = ""
    retry_after: str | float | None = None
    location: str = ""


@dataclass(frozen=True)
class Raw:
    """200 with this instead of an answer."""

    body: bytes


@dataclass(frozen=True)
class Cut:
    """Close the connection, before the answer or in the middle of it."""

    halfway: bool = False


@dataclass(frozen=True)
class Hang:
    """Say nothing, or drop by drop, until the server is closed."""

    drops: bool = False


Step = Answer | Status | Raw | Cut | Hang


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]  # names in lower case
    body: Any
    texts: list[str] = field(default_factory=list)


# --- the wire formats --------------------------------------------------------------------


def vector(text: str, dimensions: int = 8) -> list[float]:
    """What the server answers for a text."""
    digest = hashlib.shake_256(text.encode()).digest(dimensions)
    return [byte / 128 - 1 for byte in digest]


def unit(row: Sequence[float]) -> list[float]:
    length = sum(number * number for number in row) ** 0.5
    return [number / length for number in row]


def _openai(vectors: Vectors, backwards: bool) -> Any:
    data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
    return {"object": "list", "data": data[::-1] if backwards else data, "usage": {}}


def _gemini(vectors: Vectors, backwards: bool) -> Any:
    return {"embeddings": [{"values": v} for v in vectors]}


def _ollama(vectors: Vectors, backwards: bool) -> Any:
    return {"model": "m", "embeddings": vectors, "total_duration": 1}


def _gemini_texts(body: Any) -> list[str]:
    return [part["text"] for item in body["requests"] for part in item["content"]["parts"]]


def _input(body: Any) -> list[str]:
    return list(body["input"])


ROUTES: dict[str, tuple[Callable[[Any], list[str]], Callable[[Vectors, bool], Any]]] = {
    "/embeddings": (_input, _openai),
    ":batchEmbedContents": (_gemini_texts, _gemini),
    "/api/embed": (_input, _ollama),
}


# --- the server --------------------------------------------------------------------------


class ModelServer:
    def __init__(self, dimensions: int = 8, most: int = 10_000) -> None:
        self.dimensions = dimensions
        self.most = most  # texts in one request; more is answered with 413
        self.requests: list[Request] = []
        self.closing = threading.Event()
        self._script: list[Step] = []
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.model = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def texts(self) -> list[list[str]]:
        """The texts of each request."""
        return [request.texts for request in self.requests]

    def script(self, *steps: Step) -> None:
        self._script += steps

    def next(self) -> Step:
        return self._script.pop(0) if self._script else Answer()

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    model: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        model = self.server.model
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        route = next((r for end, r in ROUTES.items() if self.path.endswith(end)), None)
        texts = route[0](body) if route else []
        model.requests.append(Request(self.path, headers, body, texts))
        step = model.next()
        if route is None:
            step = Status(404, "no such path")
        elif isinstance(step, Answer) and len(texts) > model.most:
            step = Status(413)
        if isinstance(step, Answer):
            assert route
            vectors = step.change([vector(text, model.dimensions) for text in texts])
            answer = json.dumps(route[1](vectors, step.backwards)).encode()
            (self._send_chunks if step.chunked else self._send)(200, answer)
        elif isinstance(step, Status):
            self._refuse(step)
        elif isinstance(step, Raw):
            self._send(200, step.body)
        else:
            self._fail(step)

    def _refuse(self, step: Status) -> None:
        body = json.dumps({"error": {"message": step.message}}) if step.message else "<html>"
        extra = {"Location": step.location} if step.location else {}
        if step.retry_after is not None:
            extra["Retry-After"] = str(step.retry_after)
        self._send(step.status, body.encode(), extra)

    def _fail(self, step: Cut | Hang) -> None:
        self.close_connection = True
        if isinstance(step, Cut) and not step.halfway:
            return
        if isinstance(step, Cut) or step.drops:
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"data": [')
        while isinstance(step, Hang) and not self.server.model.closing.wait(0.02):
            if step.drops:
                self.wfile.write(b" ")

    def _send_chunks(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in (body[:20], body[20:], b""):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

    def _send(self, status: int, body: bytes, extra: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (extra or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
