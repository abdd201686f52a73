"""Site: answers the requests of browsers.

A GET shows a view, an asset or the stream of changes, and writes nothing. A POST does one action,
and sends the browser back to a view. Whatever goes wrong becomes a page that says what, and what to
do next.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from wakebook.base import clock, errors
from wakebook.base.errors import WakebookError
from wakebook.memory import Memory
from wakebook.service.guard import Guard, TurnedAway, body_of, headers_of
from wakebook.service.metrics import Metrics
from wakebook.service.page import assets, layout, needs
from wakebook.service.page.data import frame_of
from wakebook.service.page.door import COOKIE_SECONDS, Door, cookies, set_cookie
from wakebook.service.page.html import h
from wakebook.service.page.live import Live
from wakebook.service.page.request import ROOT, Done, Request, Sheet, to
from wakebook.service.page.views import ACTIONS, View, find
from wakebook.service.pool import Pool

Header = tuple[bytes, bytes]
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SAFE: tuple[Header, ...] = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
FRESH: Header = (b"cache-control", b"no-store")
HTML = "text/html; charset=utf-8"
LOOK_SECONDS = 60.0
REST_SECONDS = 1.0  # after the last view
FIELDS = 200  # of a form or a query
SAID, THEME = "wakebook_said", "wakebook_theme"  # cookies
WAY_IN = "Run `wakebook page` in a terminal: it opens this page with a link that works once."
STATUS: dict[type[WakebookError], tuple[int, str]] = {
    errors.NotFound: (404, "There is no such thing"),
    errors.NotInitialised: (404, "There is no memory here yet"),
    errors.Locked: (423, "Another program is writing"),
    errors.ConfigError: (409, "config.toml needs a look"),
    errors.IndexUnavailable: (503, "The index cannot be read"),
}


class Answer(NamedTuple):
    body: bytes
    status: int = 200
    media: str = HTML
    headers: tuple[Header, ...] = ()


class PageSite:
    where_written = "`wakebook status` shows it"
    _rest: asyncio.TimerHandle | None = None

    def __init__(
        self, pool: Pool, guard: Guard, metrics: Metrics, trace: Callable[[str, str], None]
    ) -> None:
        self._pool, self._metrics, self._trace = pool, metrics, trace
        self._door = Door(guard)
        self.live = Live(pool.memories.home)

    def link(self) -> str:
        """The path of a link that works once. What its first page waits for is looked up."""
        self._pool.submit(lambda memory: needs.edited(memory, LOOK_SECONDS))
        return f"{ROOT}/open?key={self._door.link()}"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        begun, failed = clock.monotonic(), None
        request = _request(scope)
        self._metrics.running += 1
        try:
            if request.path == "/events" and self._listens(scope):
                await self._stream(send, receive)
                return
            answer = await self._answer(scope, receive, request)
        except Exception as error:  # noqa: BLE001 - it is answered, traced, and raised once more
            failed, answer = error, await self._unforeseen(request, error)
        finally:
            self._metrics.running -= 1
        self._metrics.asked(ROOT, answer.status, clock.monotonic() - begun)
        cached = any(name == b"cache-control" for name, _ in answer.headers)
        headers = [*SAFE, *answer.headers, *(() if cached else (FRESH,))]
        headers.append((b"content-length", str(len(answer.body)).encode()))
        headers.append((b"content-type", answer.media.encode()))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})
        if failed:
            raise failed

    # --- who, and what -------------------------------------------------------------------------

    async def _answer(self, scope: Any, receive: Any, request: Request) -> Answer:
        headers, method = headers_of(scope), scope["method"]
        try:
            self._door.check(scope, headers)
            if method not in ("GET", "HEAD", "POST"):
                raise TurnedAway(405, "WrongMethod", f"{method} is not for this page.")
            if request.path.startswith("/assets/") and method != "POST":
                return _asset(request.path)
            if request.path == "/open" and method != "POST":
                return self._open(request, method)
            session = self._door.session(headers)
            if not session:
                return _failed(request, 401, "Who is there?", WAY_IN)
            request = request._replace(token=self._door.token(session))
            if method == "POST":
                return await self._act(request, session, await body_of(receive))
            return await self._show(request, _last(headers))
        except TurnedAway as error:
            body = layout.plain(request, "Turned away", h.p(str(error)))
            return Answer(body, error.status, headers=((b"connection", b"close"),))
        except WakebookError as error:
            known = (STATUS[one] for one in type(error).__mro__ if one in STATUS)
            status, title = next(known, (400, "That did not work"))
            return _failed(request, status, title, str(error))

    def _listens(self, scope: Any) -> bool:
        """Whether the stream of changes is for this client."""
        headers = headers_of(scope)
        with suppress(TurnedAway):
            self._door.check(scope, headers)
            wanted = scope["method"] == "GET" and self._door.session(headers)
            return bool(wanted) and not self.live.full
        return False

    def _open(self, request: Request, method: str) -> Answer:
        """Let a browser in. To look at the link's head uses nothing up."""
        value = self._door.open(request.get("key")) if method == "GET" else ""
        if not value:
            said = "This link has been used, or it is older than a minute."
            return _failed(request, 410, "This link works no more", said, WAY_IN)
        return _go(_ours(request.get("to")), set_cookie(self._door.cookie, value, COOKIE_SECONDS))

    # --- views ---------------------------------------------------------------------------------

    async def _show(self, request: Request, done: Done | None) -> Answer:
        found = find(request.path)
        if found is None:
            if request.path == "":
                return _go(to("/"))
            return _failed(request, 404, "There is no such page", f"Nothing is at {request.path}.")
        view, parts = found
        asked = request._replace(parts=parts)

        def work(found: Memory) -> tuple[bytes, int]:
            memory = self.memory(found)
            sheet = self.sheet(view, asked, memory)
            return layout.page(asked, view, sheet, self.frame(memory, done)), sheet.status

        body, status = await self._pool.run(work)
        self._rest_soon()
        seen = (set_cookie(SAID, "", 0),) if done else ()
        return Answer(body, status, headers=seen)

    def _rest_soon(self) -> None:
        """Give memory back when no view was asked for during a moment."""
        if self._rest:
            self._rest.cancel()
        loop = asyncio.get_running_loop()
        self._rest = loop.call_later(REST_SECONDS, loop.run_in_executor, None, give_back)

    def memory(self, memory: Memory) -> Memory:
        """The one that views look into."""
        return memory

    def sheet(self, view: View, request: Request, memory: Memory) -> Sheet:
        return view.sheet(request, memory)

    def frame(self, memory: Memory, done: Done | None) -> layout.Frame:
        return frame_of(memory, done)

    # --- actions -------------------------------------------------------------------------------

    async def _act(self, request: Request, session: str, body: bytes) -> Answer:
        form = parse_qs(body.decode("utf-8", "replace"), True, max_num_fields=FIELDS)
        asked = request._replace(form=form)
        if not self._door.fits(session, asked.field("token")):
            said = "The form is of another session of this page. Load it again, and try once more."
            return _failed(request, 403, "This form is not from here", said)
        back = _ours(asked.field("back"))
        name = request.path.removeprefix("/do/")
        if name == "theme":
            theme = asked.field("theme")
            theme = theme if theme in layout.THEMES else ""
            return _go(back, set_cookie(THEME, theme, COOKIE_SECONDS))
        action = ACTIONS.get(name)
        if action is None or not request.path.startswith("/do/"):
            return _failed(
                request, 404, "There is no such action", f"Nothing is at {request.path}."
            )
        work = action.do
        done = await self._pool.run(
            lambda memory: work(asked, memory), long=action.long, needs=action.needs
        )
        self.live.tell("entries", "notes", "review", "upkeep")
        return _go(done.to or back, set_cookie(SAID, _packed(done), 60))

    # --- changes -------------------------------------------------------------------------------

    async def _stream(self, send: Any, receive: Any) -> None:
        headers = [*SAFE, FRESH, (b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        gone = asyncio.create_task(_gone(receive))
        events = self.live.listen()
        try:
            while not gone.done():
                coming = asyncio.ensure_future(anext(events))
                await asyncio.wait((gone, coming), return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    coming.cancel()
                    with suppress(asyncio.CancelledError):
                        await coming
                    break
                with suppress(OSError):
                    body = coming.result().encode()
                    await send({"type": "http.response.body", "body": body, "more_body": True})
        except StopAsyncIteration:
            pass
        finally:
            gone.cancel()
            await events.aclose()
        with suppress(OSError):
            await send({"type": "http.response.body", "body": b""})

    async def _unforeseen(self, request: Request, error: Exception) -> Answer:
        where = f"page {request.path[:100]}"
        await asyncio.to_thread(self._trace, where, f"{type(error).__name__}: {error}")
        said = f"That was not foreseen. It is written down: {self.where_written}."
        return _failed(request, 500, "Something went wrong", said)


def give_back() -> None:
    """Give the system what was freed: a view of something large takes 20 MB for a moment."""
    import ctypes

    with suppress(AttributeError, OSError):  # not every C library has it
        ctypes.CDLL(None).malloc_trim(0)


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _request(scope: Any) -> Request:
    asked = scope["query_string"].decode("latin-1")
    try:
        query = parse_qs(asked, True, max_num_fields=FIELDS)
    except ValueError:  # too many
        query = {}
    theme = cookies(headers_of(scope)).get(THEME, "")
    theme = theme if theme in layout.THEMES else ""
    return Request(scope["path"].removeprefix(ROOT), query=query, theme=theme)


def _asset(path: str) -> Answer:
    found = assets.ALL.get(path.rpartition("/")[2])
    if found is None:
        return Answer(b"", 404)
    kept = b"max-age=31536000, immutable" if found.mark in path else b"no-cache"
    return Answer(found.body, media=found.media, headers=((b"cache-control", kept),))


def _failed(request: Request, status: int, title: str, *said: str) -> Answer:
    way = h.p(h.a("Today", href=to("/"))) if status != 401 else None
    return Answer(layout.plain(request, title, [h.p(one) for one in said], way), status)


def _ours(where: str) -> str:
    """An address of this page, as a browser has sent it; otherwise Today's."""
    good = where.startswith(f"{ROOT}/") and where.isascii() and where.isprintable()
    return where if good else to("/")


def _go(where: str, *headers: Header) -> Answer:
    return Answer(b"", 303, headers=((b"location", where.encode("ascii")), *headers))


def _packed(done: Done) -> str:
    told = json.dumps([done.said[:500], done.undo, dict(done.fields)])
    return base64.urlsafe_b64encode(told.encode()).decode()


def _last(headers: Any) -> Done | None:
    """What the last action has done, as its cookie says. It is said once, to a person: not to a
    script that fetches what has changed."""
    if headers.get("sec-fetch-dest", "document") != "document":
        return None
    packed = cookies(headers).get(SAID, "")
    with suppress(ValueError, TypeError):
        said, undo, fields = json.loads(base64.urlsafe_b64decode(packed))
        return Done(str(said), undo=str(undo), fields={str(k): str(v) for k, v in fields.items()})
    return None
