"""The app: routes, made from the table of verbs, and what becomes of errors.

What a client gets of an error is its message and a fitting status, never more: an error that
nobody meant to raise is traced in the home, and the client is told where to look.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route

from wakebook.base import errors
from wakebook.base.errors import WakebookError
from wakebook.service import tools
from wakebook.service.asks import Call
from wakebook.service.guard import Guard, Token, TooLarge
from wakebook.service.metrics import Measured
from wakebook.service.verbs import SESSIONS, TABLE, Verb, answer, answer_session, decode, encode
from wakebook.version import __version__

if TYPE_CHECKING:
    from starlette.requests import Request

    from wakebook.memory import Memory
    from wakebook.service.metrics import Metrics
    from wakebook.service.pool import Pool

STATUS: dict[type[Exception], int] = {  # of the nearest class; all others: 400
    errors.NotInitialised: 404,
    errors.NotFound: 404,
    errors.Locked: 423,
    errors.ConfigError: 409,
    errors.GitError: 409,
    errors.ModelError: 500,
    errors.IndexUnavailable: 500,
    TooLarge: 413,
}
EARLY = 0.15  # seconds before the time box ends: the answer has to get there, too
JSON = "application/json"

Handler = Callable[["Request"], Awaitable[Response]]


class Hooks(Protocol):
    """The hosts' events: which ones there are, their answers, and the work that follows them."""

    events: Mapping[str, Iterable[str]]  # by host

    def act(self, host: str, event: str) -> str:
        """What is done about an event. Raises WakebookError for an unknown one."""

    def payload(self, body: bytes) -> dict[str, Any]:
        """The event as the host tells it. Raises WakebookError if it is no JSON object."""

    def answer(
        self, memory: Memory, host: str, event: str, payload: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What the host gets back; empty if there is nothing to say."""

    def undelivered(self, memory: Memory, host: str, payload: Mapping[str, Any]) -> None:
        """The host did not wait for the answer."""

    def __len__(self) -> int:
        """How much work waits or runs in the background."""

    def end(self) -> None:
        """Finish that work."""


class Service:
    """What the routes need."""

    def __init__(self, pool: Pool, hooks: Hooks, metrics: Metrics) -> None:
        self.pool = pool
        self.hooks = hooks
        self.metrics = metrics
        self._described = b""

    # --- the routes ----------------------------------------------------------------------

    async def health(self, request: Request) -> Response:
        return _json({"ok": True, "version": __version__})

    async def measured(self, request: Request) -> Response:
        with suppress(WakebookError, OSError):  # what is wrong there is not wrong here
            await self.pool.run(self.metrics.look)
        text = self.metrics.text(len(self.hooks))
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def described(self, request: Request) -> Response:
        if not self._described:
            self._described = await asyncio.to_thread(self._describe)
        return Response(self._described, media_type=JSON)

    def _describe(self) -> bytes:
        from wakebook.service.openapi import describe

        return encode(describe(self.hooks.events))

    async def verb(self, verb: Verb, request: Request) -> Response:
        body = await request.body()
        done = await self.pool.run(lambda memory: answer(verb, memory, body), long=verb.long)
        return Response(done, media_type=JSON)

    async def session(self, verb: Verb, request: Request) -> Response:
        body, name = await request.body(), request.path_params["id"]
        done = await self.pool.run(
            lambda memory: answer_session(verb, memory, name, body), long=verb.long
        )
        return Response(done, media_type=JSON)

    async def tool(self, request: Request) -> Response:
        name, ask = request.path_params["name"], decode(await request.body(), Call)
        if name not in tools.NAMES:
            raise errors.NotFound(f"There is no tool {name!r}: {', '.join(tools.NAMES)}.")
        done = await self.pool.run(lambda m: tools.call(m, name, ask.arguments, ask.session))
        return _json({"text": done.text, "data": done.data, "failed": done.failed})

    # --- hooks ---------------------------------------------------------------------------

    async def hook(self, request: Request) -> Response:
        """What the host is told. One that comes too late is nothing, and the work goes on."""
        host, event = request.path_params["host"], request.path_params["event"]
        try:
            act = self.hooks.act(host, event)
        except WakebookError:
            self.metrics.count("hooks_total", host="unknown", event="unknown", outcome="refused")
            raise
        count = functools.partial(self.metrics.count, "hooks_total", host=host, event=event)
        payload = self.hooks.payload(await request.body())
        seconds = max(0.0, self.pool.opened.config().hooks.seconds - EARLY)
        work = asyncio.ensure_future(
            self.pool.run(lambda m: self.hooks.answer(m, host, event, payload), long=act == "flush")
        )
        try:
            found = await asyncio.wait_for(asyncio.shield(work), seconds)
        except TimeoutError:
            count(outcome="late")
            work.add_done_callback(lambda done: self._late(host, event, payload, done))
            return Response(b"", media_type=JSON)
        except Exception:
            count(outcome="failed")
            raise
        count(outcome="told" if found else "nothing")
        return _json(found) if found else Response(b"", media_type=JSON)

    def _late(
        self, host: str, event: str, payload: dict[str, Any], done: asyncio.Future[Any]
    ) -> None:
        if done.cancelled():
            return
        self.pool.submit(lambda memory: self.hooks.undelivered(memory, host, payload))
        error = done.exception() or "it took too long: the host went on without the answer"
        self.trace(f"hook {host} {event}", error)

    # --- errors --------------------------------------------------------------------------

    def trace(self, where: str, error: object) -> None:
        self.metrics.count("failures_total")
        with suppress(OSError):
            self.pool.opened.home.trace("failure", where=where, error=str(error))

    async def unforeseen(self, request: Request, error: Exception) -> Response:
        """Something that nobody meant to raise: Starlette raises it once more after this."""
        where = f"service {request.method} {request.scope['path'][:100]}"
        await asyncio.to_thread(self.trace, where, f"{type(error).__name__}: {error}")
        if isinstance(error, OSError):
            return failure(500, "OSError", error.strerror or type(error).__name__)
        said = "Something went wrong here. `wakebook status` shows what."
        return failure(500, "InternalError", said)


def failure(status: int, kind: str, message: str) -> Response:
    body = encode({"error": {"kind": kind, "message": message}})
    return Response(body, status, media_type=JSON)


async def _refused(request: Request, error: Exception) -> Response:
    status = next((STATUS[one] for one in type(error).__mro__ if one in STATUS), 400)
    return failure(status, type(error).__name__, str(error))


async def _not_understood(request: Request, error: Exception) -> Response:
    return failure(400, "BadRequest", f"The body is not understood: {error}.")


async def _gone(request: Request, error: Exception) -> Response:
    return failure(400, "Gone", "The client went away.")


async def _no_such_path(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.scope["path"]
    if error.status_code == 404:
        return failure(404, "NoSuchPath", f"There is no {path!r:.200}. See /openapi.json.")
    done = failure(error.status_code, "WrongMethod", f"{request.method} is not for {path!r:.200}.")
    done.headers.update(error.headers or {})
    return done


def _json(value: Any) -> Response:
    return Response(encode(value), media_type=JSON)


def routes(service: Service, mcp: Handler | Any) -> list[Route]:
    return [
        Route("/health", service.health, methods=["GET"]),
        Route("/metrics", service.measured, methods=["GET"]),
        Route("/openapi.json", service.described, methods=["GET"]),
        *(
            Route(f"/v1/{v.name}", _bound(service.verb, v), methods=["POST"], name=v.name)
            for v in TABLE
        ),
        *(
            Route(
                f"/v1/sessions/{{id}}/{v.name}",
                _bound(service.session, v),
                methods=["POST"],
                name=f"session-{v.name}",
            )
            for v in SESSIONS
        ),
        Route("/v1/tools/{name}", service.tool, methods=["POST"]),
        Route("/v1/hooks/{host}/{event}", service.hook, methods=["POST"]),
        Route("/mcp", mcp, methods=["POST"]),
    ]


def _bound(method: Callable[[Verb, Request], Awaitable[Response]], verb: Verb) -> Handler:
    async def handle(request: Request) -> Response:
        return await method(verb, request)

    return handle


def make(service: Service, token: Token, port: int) -> Measured:
    """The whole: routes behind the guard, and all of it measured."""
    from wakebook.service.mcp_http import Endpoint

    mcp = Endpoint(service.pool)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await mcp.end()

    handlers: Any = {
        WakebookError: _refused,
        msgspec.MsgspecError: _not_understood,
        HTTPException: _no_such_path,
        ClientDisconnect: _gone,
        Exception: service.unforeseen,
    }
    found = routes(service, mcp)
    app = Starlette(routes=found, lifespan=lifespan, exception_handlers=handlers)
    app.router.redirect_slashes = False
    paths = frozenset(route.path for route in found)
    return Measured(Guard(app, token, port), service.metrics, paths)


__all__ = ["Service", "failure", "make", "routes"]
