"""The page of a tenant: a home's page, for whoever signs in with a token.

The token is the cookie: no script can read it, no other site can send it, every server knows it,
and it ends when the token does. All else is as strict as at home. Upkeep shows what a tenant has on
the server; machines and rebuilds are the administrator's.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any
from urllib.parse import parse_qs

from wakebook.base.errors import WakebookError
from wakebook.memory import Memory
from wakebook.service.guard import TurnedAway, body_of, headers_of
from wakebook.service.metrics import Metrics
from wakebook.service.page import layout
from wakebook.service.page.data import frame_of
from wakebook.service.page.door import COOKIE_SECONDS, Door, cookies, set_cookie
from wakebook.service.page.html import h
from wakebook.service.page.layout import Frame
from wakebook.service.page.live import BEAT_SECONDS, KINDS, event
from wakebook.service.page.request import ROOT, Done, Request, Sheet, to
from wakebook.service.page.site import Answer, PageSite, _failed, _go
from wakebook.service.page.views import View
from wakebook.team.database import Database
from wakebook.team.tenants import Bearer

COOKIE = "wakebook_team"
SIGN_IN = "/sign-in"
UPKEEP = "/upkeep"
OURS = ("/upkeep/", "/do/sync", "/do/rebuild", "/do/merge", "/do/drop")  # the administrator's
SAID = "On a server this is its administrator's: `wakebook team rebuild`, `jobs` and `list`."
LOOK_SECONDS = 2.0  # between two looks for changes
LISTENERS = 500


class TeamDoor(Door):
    """See page/door.py for the rules that it keeps."""

    def __init__(self, asking: ContextVar[Any]) -> None:
        self.cookie, self._asking, self._links = COOKIE, asking, {}

    def check_place(self, headers: Mapping[str, str]) -> None:
        """A request comes from no page but our own. Any name that leads here is ours."""
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != headers.get("host", ""):
            raise TurnedAway(403, "ForeignOrigin", "Pages of other origins may not ask.")

    def session(self, headers: Mapping[str, str]) -> str:
        return cookies(headers).get(COOKIE, "") if self._asking.get(None) else ""

    def token(self, session: str) -> str:
        """Which nobody can make who does not know the cookie."""
        return hashlib.sha256(f"form of {session}".encode()).hexdigest()

    def fits(self, session: str, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token(session).encode())


class TeamLive:
    """Open pages hear that something has changed, whoever has changed it."""

    def __init__(self, change: Callable[[], Awaitable[int]]) -> None:
        self._change, self._listening = change, 0
        self._ending = asyncio.Event()

    def end(self) -> None:
        self._ending.set()

    def tell(self, *kinds: str) -> None:
        """Every page sees it at its next look."""

    @property
    def full(self) -> bool:
        return self._listening >= LISTENERS

    async def listen(self) -> AsyncGenerator[str, None]:
        self._listening += 1
        try:
            yield "retry: 1000\n\n" + event("ready", {})
            last, silent = await self._change(), 0.0
            while not self._ending.is_set():
                await asyncio.sleep(LOOK_SECONDS)
                silent += LOOK_SECONDS
                try:
                    now = await self._change()
                except WakebookError:  # the database is away
                    continue
                if now != last:
                    last, silent = now, 0.0
                    yield event("changed", {"kinds": sorted({*KINDS.values(), "told"})})
                elif silent >= BEAT_SECONDS:
                    silent = 0.0
                    yield ": still here\n\n"
        finally:
            self._listening -= 1


class TeamSite(PageSite):
    where_written = "it stands in the server's log"

    def __init__(
        self,
        pool: Any,
        bearer: Callable[[str], Awaitable[Bearer]],
        asking: ContextVar[Any],
        change: Callable[[], Awaitable[int]],
        db: Database,
        metrics: Metrics,
        trace: Callable[[str, str], None],
    ) -> None:
        """`bearer`: whose token it is. `change`: how far the memory of whoever asks is."""
        self._db = db
        self._pool, self._metrics, self._trace = pool, metrics, trace
        self._bearer, self._asking = bearer, asking
        self._door = TeamDoor(asking)
        self.live = TeamLive(change)  # type: ignore[assignment]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Who it is, first of all: the stream of changes is theirs alone."""
        self._asking.set(None)
        token = cookies(headers_of(scope)).get(COOKIE, "")
        if token and not scope["path"].startswith(f"{ROOT}/assets/"):
            try:
                self._asking.set(await self._bearer(token))
            except TurnedAway:  # it has expired, or was revoked
                self._asking.set(None)
            except WakebookError as error:
                scope["wakebook.problem"] = str(error)
        await super().__call__(scope, receive, send)

    async def _answer(self, scope: Any, receive: Any, request: Request) -> Answer:
        headers, method = headers_of(scope), scope["method"]
        if said := scope.get("wakebook.problem"):
            return _failed(request, 503, "Not now", said)
        if request.path == SIGN_IN:
            try:
                self._door.check(scope, headers)
                return await self._sign_in(request, headers, method, receive)
            except TurnedAway as error:
                return _failed(request, error.status, "Turned away", str(error))
            except WakebookError as error:
                return _failed(request, 503, "Not now", str(error))
        if not self._asking.get(None) and not request.path.startswith("/assets/"):
            if method == "POST":
                return _failed(request, 401, "Who is there?", "Sign in again.")
            return _go(to(SIGN_IN))
        if request.path.startswith(OURS):
            return _failed(request, 404, "Not here", SAID)
        return await super()._answer(scope, receive, request)

    async def _sign_in(
        self, request: Request, headers: Mapping[str, str], method: str, receive: Any
    ) -> Answer:
        wrong = ""
        if method == "POST":
            form = parse_qs((await body_of(receive)).decode("utf-8", "replace"), max_num_fields=10)
            token = form.get("token", [""])[0].strip()
            try:
                await self._bearer(token)
            except TurnedAway as error:
                wrong = str(error)
            else:
                name, cookie = set_cookie(COOKIE, token, COOKIE_SECONDS)
                safe = b"; Secure" if headers.get("x-forwarded-proto") == "https" else b""
                return _go(to("/"), (name, cookie + safe))
        field = h.input(
            type="password", name="token", autocomplete="off", required=True, autofocus=True,
            attributes={"aria-label": "Token"},
        )  # fmt: skip
        form_ = h.form(field, h.button("Sign in"), method="post", action=to(SIGN_IN), class_="act")
        about = h.p("With the token that `wakebook team token` has made for your memory.")
        body = layout.plain(request, "Your memory", h.p(wrong) if wrong else "", about, form_)
        return Answer(body, 401 if wrong else 200)

    def sheet(self, view: View, request: Request, memory: Memory) -> Sheet:
        if view.path != UPKEEP:
            return super().sheet(view, request, memory)
        from wakebook.service.team_upkeep import upkeep

        return upkeep(request, memory, self._db, self._asking.get().tenant)

    def frame(self, memory: Memory, done: Done | None) -> Frame:
        return frame_of(memory, done)._replace(home=self._asking.get().name)

    def memory(self, memory: Memory) -> Memory:
        """With an index that views can ask in their own words: that of the working copy."""
        return Memory(memory.home.root, config=memory.config)
