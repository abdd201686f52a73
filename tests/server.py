"""A model's server on loopback that follows a script: real HTTP, no provider.

    with ModelServer() as server:
        server.script(Status(429, retry_after=0), Cut())   # one step a request, then it answers
        ... ask server.url + "/v1" ...
        assert server.texts == [["first"], ["first"], ["first"]]

    with ModelServer(reply=lambda chat: chat.prompt.upper()) as server:
        server.script(Say("No.", stop="refusal"), Slow(0.1, Say("Yes.")))
        ... chat with server.base("anthropic") ...
        assert [chat.system for chat in server.chats] == ["Be brief."] * 3

What it says without a script is a function of the question. An endpoint of embeddings is a pair
of functions in ROUTES: the texts of a question, and the answer to it. Those of chats are in
tests/wire.py. A question that the real one would refuse is refused, whatever the script says.

    python -m tests.server --port 8099 --say answer.md     # to try things by hand
"""

from __future__ import annotations

import argparse
import hashlib
import json
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.desk import Desk
from tests.wire import FORMATS, Cache, Chat, Format, Refused, Say

__all__ = [
    "Answer",
    "Chat",
    "Cut",
    "Hang",
    "ModelServer",
    "Raw",
    "Request",
    "Say",
    "Slow",
    "Status",
    "Step",
    "Vectors",
    "unit",
    "vector",
]

Vectors = list[Any]  # of lists of numbers, unless a script says otherwise


# --- what a script can say ---------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """As without a script, but for this change of the vectors; of a chat, what reply() says."""

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


@dataclass(frozen=True)
class Slow:
    """Wait, or until the server is closed, and then do this."""

    seconds: float
    then: Step


Step = Answer | Say | Status | Raw | Cut | Hang | Slow


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]  # names in lower case
    body: Any
    texts: list[str] = field(default_factory=list)  # to embed


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
BASES = {
    "anthropic": "/v1",
    "openai": "/v1",
    "gemini": "/v1beta",
    "ollama": "",
}


# --- the server --------------------------------------------------------------------------


class ModelServer:
    def __init__(
        self,
        dimensions: int = 8,
        most: int = 10_000,
        reply: Callable[[Chat], str] = lambda chat: "OK",
        port: int = 0,
        cache: Cache | None = None,
    ) -> None:
        self.dimensions = dimensions
        self.cache = cache  # counts the tokens of questions that were asked before
        self.most = most  # texts in one request; more is answered with 413
        self.reply = reply  # to a chat without a script; may be called by many threads
        self.requests: list[Request] = []
        self.chats: list[Chat] = []  # those that were not refused for their form
        self.most_at_once = 0  # requests; one counts until its answer is sent
        self.desk = Desk(lambda chat: self.reply(chat), self.chats)
        self.closing = threading.Event()
        self._at_once = 0
        self._lock = threading.RLock()
        self._script: list[Step] = []
        self._http = _Http(("127.0.0.1", port), _Handler)
        self._http.model = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def base(self, provider: str) -> str:
        """What a client of this provider has for a base URL."""
        return self.url + BASES[provider]

    @property
    def texts(self) -> list[list[str]]:
        """The texts of each request."""
        return [request.texts for request in self.requests]

    def script(self, *steps: Step) -> None:
        with self._lock:
            self._script += steps

    def take(self, request: Request, chat: Chat | None) -> Step:
        """Take the request down and say what to do with it."""
        with self._lock:
            self.requests.append(request)
            if chat:
                self.chats.append(chat)
            return self.next()

    def next(self) -> Step:
        with self._lock:
            return self._script.pop(0) if self._script else Answer()

    def begun(self) -> None:
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)

    def ended(self) -> None:
        with self._lock:
            self._at_once -= 1

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
    request_queue_size = 128
    model: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what some tests are about."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _kind(body: bytes) -> str:
    return "text/html" if body.startswith(b"<") else "application/json"


def _embedded(
    model: ModelServer, step: Answer | Say, texts: list[str], put: Callable[[Vectors, bool], Any]
) -> Any:
    step = step if isinstance(step, Answer) else Answer()
    said = put(step.change([vector(t, model.dimensions) for t in texts]), step.backwards)
    if "usage" in said:  # a token is four characters
        said["usage"] = {"prompt_tokens": sum(map(len, texts)) // 4}
    return said


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        model = self.server.model
        model.begun()
        try:
            answer = self._handle(model)
        finally:
            model.ended()  # before the answer: whoever has it may ask again at once
        answer()

    do_GET = do_POST

    def _handle(self, model: ModelServer) -> Callable[[], None]:
        """Do all but the sending of an answer."""
        data = self.rfile.read(int(self.headers["Content-Length"] or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        if batch := model.desk.answer(self.command, self.path, headers, data):
            return partial(self._send, *batch)
        body = json.loads(data or b"null")
        path = self.path.partition("?")[0]
        form = next((f for f in FORMATS if path.endswith(f.end)), None)
        route = next((r for end, r in ROUTES.items() if path.endswith(end)), None)
        texts = route[0](body) if route else []
        chat: Chat | None = None
        wrong = None if form or route else Status(404, "no such path")
        try:
            chat = form.question(path, headers, body) if form else None
        except Refused as error:
            wrong = Status(error.status, error.message)
        step = model.take(Request(self.path, headers, body, texts), chat)
        step = wrong or step
        while isinstance(step, Slow):
            model.closing.wait(step.seconds)
            step = step.then
        if isinstance(step, Answer | Say) and len(texts) > model.most:
            step = Status(413)
        if isinstance(step, Status):
            return partial(self._refuse, step, form)
        if isinstance(step, Raw):
            return partial(self._send, 200, step.body)
        if isinstance(step, Cut | Hang):
            self._fail(step)
            return lambda: None
        if form and chat:
            say = step if isinstance(step, Say) else Say(model.reply(chat))
            said = form.answer(chat, model.cache.count(chat, say) if model.cache else say)
        else:
            assert route
            said = _embedded(model, step, texts, route[1])
        chunked = isinstance(step, Answer) and step.chunked
        return partial(self._send_chunks if chunked else self._send, 200, json.dumps(said).encode())

    def _refuse(self, step: Status, form: Format | None) -> None:
        error = form.error if form else lambda _, message: {"error": {"message": message}}
        body = json.dumps(error(step.status, step.message)) if step.message else "<html>"
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
        self.send_header("Content-Type", _kind(body))
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in (body[:20], body[20:], b""):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

    def _send(self, status: int, body: bytes, extra: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (extra or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", _kind(body))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


# --- by hand -----------------------------------------------------------------------------


class _Loud(ModelServer):
    def take(self, request: Request, chat: Chat | None) -> Step:
        model = chat.model if chat else "-"
        print(request.path, model, f"{request.headers['content-length']} bytes", flush=True)
        return super().take(request, chat)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.server", description="A model's server.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument(
        "--say",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="an answer to a chat; several in turn, the last one again and again",
    )
    given = parser.parse_args()
    texts = [path.read_text() for path in given.say] or ["OK"]
    turns = chain(texts, repeat(texts[-1]))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the background
    with (
        suppress(KeyboardInterrupt),
        _Loud(reply=lambda chat: next(turns), port=given.port) as server,
    ):
        print(server.url, flush=True)
        for provider in BASES:
            print(f"  {provider:9} {server.base(provider)}", flush=True)
        server.closing.wait()


if __name__ == "__main__":
    main()
