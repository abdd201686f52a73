"""The app: a path for every verb, tool and hook, and the answers to errors.

It speaks ASGI itself. An error is answered with its message and a fitting status, never more:
one that is not foreseen is traced in the home, and the client is told where to look.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property, partial
from time import time_ns
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from wakebook.base import clock, errors
from wakebook.base.errors import WakebookError
from wakebook.memory import Memory
from wakebook.service import mcp, tools
from wakebook.service.guard import Guard, TurnedAway, body_of, headers_of
from wakebook.service.metrics import Metrics
from wakebook.service.pool import Pool
from wakebook.verbs import ALL, ToolCall, Verb, decode, encode
from wakebook.version import __version__

STATUS: dict[type[Exception], int] = {  # of the nearest class; all others: 400
    errors.NotInitialised: 404,
    errors.NotFound: 404,
    errors.Locked: 423,
    errors.ConfigError: 409,
    errors.GitError: 409,
    errors.ModelError: 500,
    errors.IndexUnavailable: 500,
    errors.OverQuota: 429,
    errors.Unavailable: 503,
}
if TYPE_CHECKING:
    from wakebook.service.page.site import PageSite

EARLY = 0.15  # seconds before the time box ends: the answer has to get there, too
JSON = "application/json"

Payload = dict[str, Any]


class Asking(NamedTuple):
    """A request that has come past the guard."""

    path: Mapping[str, str]  # the parts of it that vary
    headers: Mapping[str, str]
    body: bytes


class Response(NamedTuple):
    body: bytes
    status: int = 200
    media: str = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Route(NamedTuple):
    method: str
    path: str
    answer: Callable[[Asking], Awaitable[Response]]


class HostEvents(Protocol):
    """The hosts' events (see hosts/backlog): their answers, and the work that follows them in the
    background. `act` and `payload` raise WakebookError; `waiting` is the name of an answer, for
    `arrived`; `len` counts the work, `end` finishes it.
    """

    events: Mapping[str, Iterable[str]]  # by host

    def act(self, host: str, event: str) -> str: ...
    def payload(self, body: bytes) -> Payload: ...
    def answer(
        self, memory: Memory, host: str, event: str, payload: Payload, asked: int = 0
    ) -> Payload: ...
    def waiting(self, host: str, payload: Payload, asked: int) -> str: ...
    def arrived(self, name: str) -> None: ...
    def __len__(self) -> int: ...
    def end(self) -> None: ...


class App:
    """What the server calls: finds the route, behind the guard, and measures all of it."""

    def __init__(self, pool: Pool, hooks: HostEvents, metrics: Metrics, guard: Guard) -> None:
        self.pool, self.hooks, self.metrics = pool, hooks, metrics
        self._guard = guard
        self._described = b""
        self.routes = [
            Route("GET", "/health", self.health),
            Route("GET", "/metrics", self.measured),
            Route("GET", "/openapi.json", self.described),
            *(Route("POST", one.path, partial(self.verb, one)) for one in ALL),
            Route("POST", "/v1/tools/{name}", self.tool),
            Route("POST", "/v1/hooks/{host}/{event}", self.hook),
            Route("POST", "/v1/page", self.link),
            Route("POST", "/mcp", self.protocol),
        ]
        self._patterns = [
            (re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", route.path)), route)
            for route in self.routes
        ]

    async def health(self, asked: Asking) -> Response:
        return Response(encode({"ok": True, "version": __version__}))

    async def measured(self, asked: Asking) -> Response:
        with suppress(WakebookError, OSError):  # a home that cannot be read has metrics, too
            await self.pool.run(self.metrics.look)
        text = self.metrics.text(len(self.hooks)).encode()
        return Response(text, media="text/plain; version=0.0.4; charset=utf-8")

    async def described(self, asked: Asking) -> Response:
        if not self._described:
            from wakebook.service.openapi import describe

            self._described = encode(await asyncio.to_thread(describe, self.hooks.events))
        return Response(self._described)

    async def verb(self, verb: Verb, asked: Asking) -> Response:
        ask, name = decode(asked.body, verb.asks), asked.path.get("id")
        about = {key: getattr(ask, key, "") for key in ("channel", "model", "cwd")}

        def work(memory: Memory) -> bytes:
            return verb.answer(memory if name is None else memory.session(name, **about), ask)

        return Response(await self.pool.run(work, long=verb.long, needs=verb.needs))

    async def tool(self, asked: Asking) -> Response:
        name, ask = asked.path["name"], decode(asked.body, ToolCall)
        if name not in tools.NAMES:
            raise errors.NotFound(f"There is no tool {name!r}: {', '.join(tools.NAMES)}.")

        def work(memory: Memory) -> tools.Answer:
            return tools.call(memory, name, ask.arguments, ask.session)

        done = await self.pool.run(work, needs=tools.needs(name))
        return Response(encode({"text": done.text, "data": done.data, "failed": done.failed}))

    async def hook(self, asked: Asking) -> Response:
        """What the host is told; nothing if that would come too late, and the work goes on. A
        client that says when it `asked` gets the answer's name, and says itself that it has got
        it (see hosts/told)."""
        host, event = asked.path["host"], asked.path["event"]
        try:
            act = self.hooks.act(host, event)
        except WakebookError:
            self.metrics.count("hooks_total", host="unknown", event="unknown", outcome="refused")
            raise
        payload, given = self.hooks.payload(asked.body), asked.headers.get("asked", "")
        at = int(given) if given.isdecimal() else time_ns()
        box = self.pool.memories().config.hooks.seconds - EARLY
        work = asyncio.ensure_future(
            self.pool.run(
                lambda m: self.hooks.answer(m, host, event, payload, at), long=act == "flush"
            )
        )
        found, outcome, name = None, "failed", "late"
        try:
            spent = max(0.0, (time_ns() - at) / 1e9)
            found = await asyncio.wait_for(asyncio.shield(work), max(0.0, box - spent))
            outcome = "told" if found else "nothing"
            name = self.hooks.waiting(host, payload, at) if found else ""
        except TimeoutError:
            outcome = "late"
            work.add_done_callback(lambda done: self._late(host, event, done))
        finally:
            self.metrics.count("hooks_total", host=host, event=event, outcome=outcome)
        if found and not given:  # a client that will not say whether it has got it
            self.hooks.arrived(name)
        headers = ((b"told", name.encode()),) if given and name else ()
        return Response(encode(found) if found else b"", headers=headers)

    def _late(self, host: str, event: str, done: asyncio.Future[Any]) -> None:
        if done.cancelled():
            return
        error = done.exception() or "it took too long: the answer comes with the next prompt"
        self.trace(f"hook {host} {event}", str(error))

    @cached_property
    def page(self) -> "PageSite":
        """Imported when it is first asked for."""
        from wakebook.service.page.site import PageSite

        return PageSite(self.pool, self._guard, self.metrics, self.trace)

    async def link(self, asked: Asking) -> Response:
        """A link to the page, for one browser."""
        return Response(encode({"path": self.page.link()}))

    async def protocol(self, asked: Asking) -> Response:
        """A message and its answer. No session is kept, so nothing is lost by a restart."""
        if not re.search(r"application/(json|\*)|\*/\*", asked.headers.get("accept", "")):
            return _spoken(mcp.error(None, mcp.WRONG, f"Accept {JSON}."), 406)
        # 2025-03-26, which has batches, does not have this header yet
        version = asked.headers.get("mcp-protocol-version", mcp.BATCHES)
        requests, batch = mcp.read_all(asked.body, version == mcp.BATCHES)
        found = [await self._message(one, asked.headers) for one in requests]
        if not batch:
            return _spoken(*found[0])
        return _spoken([answer for answer, _ in found if answer], 200)

    async def _message(
        self, request: mcp.Request | mcp.Message, headers: Mapping[str, str]
    ) -> tuple[mcp.Message | None, int]:
        """The answer, if there is one, and its status."""
        if isinstance(request, dict):
            return request, 400
        try:
            mcp.check_headers(request, headers)
        except mcp.Refused as refused:
            return mcp.error(request.id, refused.code, str(refused), refused.data), 400
        if request.id is None:
            return None, 202
        answer = await self.pool.do(lambda: mcp.answer(request, self.pool.memories, self.trace))
        code = answer.get("error", {}).get("code")
        return answer, mcp.STATUS.get(code, 200) if request.modern else 200

    def trace(self, where: str, error: str) -> None:
        self.metrics.count("failures_total")
        with suppress(OSError):
            self.pool.memories.home.trace("failure", where=where, error=error)

    def end(self) -> None:
        """Close what stays open: pages that listen."""
        if "page" in vars(self):
            self.page.live.end()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":  # nothing here speaks over web sockets
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["path"] == "/page" or scope["path"].startswith("/page/"):
            await self.page(scope, receive, send)
            return
        metrics, begun, failed = self.metrics, clock.monotonic(), None
        found = ((one.fullmatch(scope["path"]), route) for one, route in self._patterns)
        parts, route = next((one for one in found if one[0]), (None, None))
        metrics.running += 1
        try:
            reply = await self._reply(scope, receive, route, parts.groupdict() if parts else {})
        except Exception as error:  # noqa: BLE001 - it is answered, traced, and raised once more
            failed, reply = error, await self._unforeseen(scope, error)
        finally:
            metrics.running -= 1
        metrics.asked(route.path if route else "other", reply.status, clock.monotonic() - begun)
        headers = [(b"content-length", str(len(reply.body)).encode()), *reply.headers]
        if reply.body or reply.status == 200:
            headers.append((b"content-type", reply.media.encode()))
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body})
        if failed:
            raise failed  # so that the server prints it

    async def _reply(
        self, scope: Any, receive: Any, route: Route | None, parts: dict[str, str]
    ) -> Response:
        method, path, headers = scope["method"], scope["path"], headers_of(scope)
        try:
            self._guard.check(scope, headers)
            if route is None:
                return failure(404, "NoSuchPath", f"There is no {path!r:.200}. See /openapi.json.")
            if method != route.method and (method, route.method) != ("HEAD", "GET"):
                reply = failure(405, "WrongMethod", f"{method} is not for {path!r:.200}.")
                allowed = b"POST" if route.method == "POST" else b"GET, HEAD"
                return reply._replace(headers=((b"allow", allowed),))
            body = await body_of(receive) if route.method == "POST" else b""
            return await route.answer(Asking(parts, headers, body))
        except WakebookError as error:
            return refusal(error)
        except msgspec.MsgspecError as error:
            return failure(400, "BadRequest", f"The body is not understood: {error}.")

    async def _unforeseen(self, scope: Any, error: Exception) -> Response:
        where, said = f"service {scope['method']} {scope['path'][:100]}", type(error).__name__
        await asyncio.to_thread(self.trace, where, f"{said}: {error}")
        if isinstance(error, OSError):
            return failure(500, "OSError", error.strerror or type(error).__name__)
        return failure(500, "InternalError", mcp.UNFORESEEN)


def _spoken(message: Any, status: int) -> Response:
    if not message:
        return Response(b"", 202)
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return Response(text.encode("utf-8", "replace"), status)


def refusal(error: WakebookError) -> Response:
    """The answer to what was not done."""
    if isinstance(error, TurnedAway):
        reply = failure(error.status, error.kind, str(error))
        more = ((b"www-authenticate", b"Bearer"),) if error.status == 401 else ()
        return reply._replace(headers=((b"connection", b"close"), *more))  # it is not read on
    status = next((STATUS[one] for one in type(error).__mro__ if one in STATUS), 400)
    reply = failure(status, type(error).__name__, str(error))
    if seconds := getattr(error, "retry_seconds", 0):
        return reply._replace(headers=((b"retry-after", str(seconds).encode()),))
    return reply


def failure(status: int, kind: str, message: str) -> Response:
    return Response(encode({"error": {"kind": kind, "message": message}}), status)
