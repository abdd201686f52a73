"""The app of `wakebook team serve`: the same paths as a home's service, for whoever has a token.

A token says which tenant is asked, and what its bearer may do. What is found is found in the
database, together with the team memories that this tenant may read at that moment; files that a
question needs stand in a working copy of this process. What writes happens in another copy, and is
committed before the answer, so that no answer tells of something that never was. Any number of
these can stand behind a balancer: nothing is kept here but copies.
"""

from __future__ import annotations

import asyncio
import errno
import re
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from contextvars import ContextVar, copy_context
from functools import cached_property
from time import time_ns
from typing import Any, TypeVar
from urllib.parse import parse_qs

from wakebook.base import clock
from wakebook.base.errors import Unavailable, WakebookError
from wakebook.capture.hosts import HOSTS
from wakebook.memory import Memory
from wakebook.service import mcp, team_git, tools
from wakebook.service.app import App, Asking, HostEvents, Payload, Response, Route, failure, refusal
from wakebook.service.guard import BEARER, TurnedAway, check_body, headers_of
from wakebook.service.metrics import Metrics
from wakebook.sync.carry import TEAM
from wakebook.team import queue, rows, tenants
from wakebook.team.copies import Copies
from wakebook.team.database import Database
from wakebook.team.logs import tell
from wakebook.team.queue import Chore
from wakebook.team.tenants import Bearer
from wakebook.team.working import Depth
from wakebook.verbs import Verb, decode, encode

KNOWN_SECONDS = 5.0  # that a token is taken for good without asking again
OPEN = ("/health", "/metrics")  # they tell nothing of any tenant
HOW = "Send `Authorization: Bearer TOKEN`. An administrator makes one: `wakebook team token NAME`."
UPLOAD = re.compile(r"/v1/uploads/([a-z-]+)/((?:[\w@+=.,-]+/){0,8}[\w@+=.,-]+\.(?:jsonl|md))")
LIGHT = frozenset("wake context told turns trial get log topics prune".split())
LONG = 4  # threads for verbs that take long, at most
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)

T = TypeVar("T")
asking: ContextVar[Any] = ContextVar("asking")  # the Bearer whose request this task answers
depth: ContextVar[Depth] = ContextVar("depth", default=Depth.WHOLE)  # that it needs
once: ContextVar[str] = ContextVar("once", default="")  # the name of a request that is done once


class TokenGuard:
    """Takes the place of a home's guard: the token says who it is."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._known: dict[bytes, tuple[float, Bearer]] = {}

    def check(self, scope: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        """Whoever asks is known by now (see TeamApp.who). Raises TurnedAway."""
        if "origin" in headers:
            raise TurnedAway(403, "ForeignOrigin", "Web pages may not ask.")
        if scope["path"] not in OPEN and asking.get(None) is None:
            raise TurnedAway(401, "NoToken", HOW)
        named = headers.get("idempotency-key", "")
        once.set(f"asked {scope['path']} {named[:200]}" if named else "")
        if not scope["path"].startswith("/v1/uploads/"):
            check_body(scope["method"], headers, False)

    def bearer(self, headers: Mapping[str, str]) -> Bearer:
        """Who it is; the database is asked now and then."""
        given = headers.get("authorization", "")
        kind, token = given[: len(BEARER)].lower(), given[len(BEARER) :].strip()
        if kind != BEARER or not token:
            raise TurnedAway(401, "NoToken", HOW)
        key, now = tenants.digest(token), clock.monotonic()
        at, known = self._known.get(key, (0.0, None))
        if known is not None and now - at < KNOWN_SECONDS:
            return known
        found = tenants.bearer(self._db, token)
        if isinstance(found, str):
            self._known.pop(key, None)
            raise TurnedAway(401, "WrongToken", found)
        if len(self._known) > 10_000:
            self._known.clear()
        self._known[key] = now, found
        return found


class Forbidden(TurnedAway):
    def __init__(self, needs: str) -> None:
        super().__init__(403, "Forbidden", f"This token may not {needs}. Ask for one with --scope.")


class TeamPool:
    """Where requests meet the memories of their tenants."""

    def __init__(self, reading: Copies, writing: Copies, threads: int) -> None:
        self.reading, self.writing = reading, writing
        self.memories = None  # nothing here is asked of one memory for all
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="asked")
        self._long = asyncio.Semaphore(max(1, min(LONG, threads // 2)))

    async def run(
        self, work: Callable[[Memory], T], *, long: bool = False, needs: str = "read"
    ) -> T:
        who = asking.get()
        if needs not in who.scopes:
            raise Forbidden(needs)
        call = self._read if needs == "read" else self._write
        context = copy_context()
        async with self._long if long else nullcontext():
            return await self.do(lambda: context.run(call, who, work, long))

    async def do(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.wrap_future(self._threads.submit(work))
        except OSError as error:
            if error.errno in FULL:
                raise Unavailable(f"This server's disk: {error.strerror}. Try another.") from error
            raise

    def _read(self, who: Bearer, work: Callable[[Memory], T], long: bool) -> T:
        return self.reading(who.tenant).read(work, depth.get())

    def _write(self, who: Bearer, work: Callable[[Memory], T], long: bool) -> T:
        """An answer that is bytes is kept with the name of the request, to be given again."""
        found: list[T] = []

        def doing(memory: Memory) -> bytes:
            found[:] = [work(memory)]
            return found[0] if once.get() and isinstance(found[0], bytes) else b""

        kept = self.writing(who.tenant).write(doing, name=once.get(), long=long)
        return found[0] if found else kept  # type: ignore[return-value]

    def end(self) -> None:
        self._threads.shutdown()


class TeamApp(App):
    def __init__(self, db: Database, pool: TeamPool, hooks: HostEvents, metrics: Metrics) -> None:
        self._db, self._own, self._door = db, pool, TokenGuard(db)
        super().__init__(pool, hooks, metrics, self._door)  # type: ignore[arg-type]
        self._counted = (-60.0, "")

    async def health(self, asked: Asking) -> Response:
        """Whether this server can do its work: a balancer asks."""
        await self._own.do(lambda: queue.counts(self._db, "none"))
        return await super().health(asked)

    async def measured(self, asked: Asking) -> Response:
        at, text = self._counted
        if clock.monotonic() - at > 10:
            with suppress(WakebookError):
                text = await self._own.do(self._jobs)
            self._counted = clock.monotonic(), text
        body = self.metrics.text(0) + text
        return Response(body.encode(), media="text/plain; version=0.0.4; charset=utf-8")

    def _jobs(self) -> str:
        name = "wakebook_team_jobs"
        lines = [f"# HELP {name} Jobs of all tenants, by status.", f"# TYPE {name} gauge"]
        found = queue.counts(self._db)
        return "\n".join([*lines, *(f'{name}{{status="{k}"}} {n}' for k, n in found.items()), ""])

    async def verb(self, verb: Verb, asked: Asking) -> Response:
        depth.set(Depth.FILES if verb.name in LIGHT else Depth.WHOLE)
        if verb.name == "search":
            ask = decode(asked.body, verb.asks)
            depth.set(Depth.FILES if ask.cwd or ask.projects else Depth.INDEX)
        if verb.name in ("catch-up", "flush"):
            ask = decode(asked.body, verb.asks)
            for path in ask.paths:
                if not path.startswith("uploads/") or ".." in path.split("/"):
                    raise WakebookError(
                        f"{path!r:.100}: a server reads what was uploaded (uploads/HOST/FILE)."
                    )
            root = self._own.writing(asking.get().tenant).root
            whole = encode(ask).replace(b'"uploads/', f'"{root}/uploads/'.encode())
            asked = asked._replace(body=whole if ask.paths else asked.body)
        return await super().verb(verb, asked)

    async def hook(self, asked: Asking) -> Response:
        """What a host's session is told. What follows is a job; a conversation is read when its
        client has uploaded it."""
        host, event = asked.path["host"], asked.path["event"]
        act, payload = self.hooks.act(host, event), self.hooks.payload(asked.body)
        who, at = asking.get(), time_ns()
        if act in ("wake", "context", "steer"):
            payload |= {"transcript_path": "", "path": ""}
            depth.set(Depth.FILES)

            def answered(memory: Memory) -> Payload:
                return self.hooks.answer(memory, host, event, payload, at)

            found = await self._own.run(answered)
            self.metrics.count("hooks_total", host=host, event=event, outcome="told")
            return Response(encode(found) if found else b"")
        if "write" not in who.scopes:
            raise Forbidden("write")
        session = payload.get("session_id") or payload.get("session") or ""
        if act:
            ended = act == "close" or payload.get("ended") is True
            closing = ended and isinstance(session, str) and session
            job = (
                Chore(verb="close", ask={"session": session}) if closing else Chore(verb="catch-up")
            )
            await self._own.do(lambda: queue.put(self._db, who.tenant, job, once=True))
        self.metrics.count("hooks_total", host=host, event=event, outcome="nothing")
        return Response(b"")

    async def _message(
        self, request: mcp.Request | mcp.Message, headers: Mapping[str, str]
    ) -> tuple[mcp.Message | None, int]:
        if isinstance(request, dict) or request.id is None or request.method not in mcp.LIVE:
            return await super()._message(request, headers)
        try:
            mcp.check_headers(request, headers)
            name = request.params.get("name")
            tool = request.method == "tools/call" and name in tools.NAMES
            needs = tools.needs(str(name)) if tool else "read"
            depth.set(Depth.FILES)
            answer = await self._own.run(
                lambda memory: mcp.answer(request, lambda: memory, self.trace), needs=needs
            )
        except mcp.Refused as refused:
            return mcp.error(request.id, refused.code, str(refused), refused.data), 400
        except Forbidden as error:
            return mcp.error(request.id, mcp.INTERNAL, str(error)), 200
        code = answer.get("error", {}).get("code")
        return answer, mcp.STATUS.get(code, 200) if request.modern else 200

    def trace(self, where: str, error: str) -> None:
        self.metrics.count("failures_total")
        who = asking.get(None)
        tell("error", where, tenant=who.tenant if who else None, said=error)

    @cached_property
    def page(self) -> Any:
        """Imported when it is first asked for."""
        from wakebook.service.team_page import TeamSite

        async def bearer(token: str) -> Bearer:
            return await self._own.do(lambda: self._door.bearer({"authorization": BEARER + token}))

        async def change() -> int:
            who = asking.get()
            return await self._own.do(lambda: int(rows.quota(self._db, who.tenant)["change"]))

        return TeamSite(self._own, bearer, asking, change, self._db, self.metrics, self.trace)

    async def link(self, asked: Asking) -> Response:
        """Where a browser signs in."""
        return Response(encode({"path": "/page/sign-in"}))

    async def _reply(
        self, scope: Any, receive: Any, route: Route | None, parts: dict[str, str]
    ) -> Response:
        try:
            await self.who(scope)
        except WakebookError as error:
            return refusal(error)
        return await super()._reply(scope, receive, route, parts)

    async def who(self, scope: Any) -> Bearer | None:
        """Who has sent a request. The database may have to be asked, which takes a thread."""
        asking.set(None)
        if scope["path"] in OPEN:
            return None
        found = await self._own.do(lambda: self._door.bearer(headers_of(scope)))
        asking.set(found)
        return found

    # --- uploads ---------------------------------------------------------------------------------

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        if scope["type"] == "http" and path.startswith("/v1/uploads/"):
            begun = clock.monotonic()
            reply = await self._refusing(self._uploaded(scope, receive))
            self.metrics.asked("/v1/uploads", reply.status, clock.monotonic() - begun)
            await _send(send, reply)
        elif scope["type"] == "http" and path.startswith(f"{TEAM}/"):
            await _send(send, await self._refusing(self._git(scope, receive), plain=True))
        else:
            await super().__call__(scope, receive, send)

    async def _refusing(self, answer: Awaitable[Response], plain: bool = False) -> Response:
        """The answer, or why there is none; `plain`: as text, which git shows."""
        try:
            return await answer
        except WakebookError as error:
            reply = refusal(error)
            headers = (*reply.headers, (b"connection", b"close"))
            if not plain:
                return reply._replace(headers=headers)
            return Response(f"{error}\n".encode(), reply.status, team_git.PLAIN, headers)

    async def _git(self, scope: Any, receive: Any) -> Response:
        headers, who = headers_of(scope), await self.who(scope)
        assert who is not None
        once.set("")
        room = await self._own.do(lambda: rows.quota(self._db, who.tenant))
        most = room["most_bytes"]
        left = max(0, most - room["bytes"]) if most is not None else team_git.LARGEST
        return await team_git.answer(scope, receive, headers, self._own.run, who.scopes, left)

    async def _uploaded(self, scope: Any, receive: Any) -> Response:
        """GET: how much of a conversation is here. POST: more of it, from an offset on; it is
        written down piece by piece, and read by a job when it has ended."""
        headers, who = headers_of(scope), await self.who(scope)
        assert who is not None
        self._door.check(scope, headers)
        found = UPLOAD.fullmatch(scope["path"])
        if found is None or found[1] not in HOSTS or ".." in found[2]:
            raise TurnedAway(404, "NoSuchPath", "Upload to /v1/uploads/HOST/NAME.jsonl.")
        if "write" not in who.scopes:
            raise Forbidden("write")
        path, db = f"uploads/{found[1]}/{found[2]}", self._db
        if scope["method"] == "GET":
            size = await self._own.do(lambda: rows.uploaded(db, who.tenant, path))
            return Response(encode({"path": path, "size": size}))
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        offset, anew = int(query.get("offset", ["0"])[0]), "anew" in query
        given = headers.get("content-length", "")
        await self._own.do(lambda: _room(db, who.tenant, int(given) if given.isdigit() else 0))
        kept, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                break  # what has come is kept; the client goes on from there
            kept += message.get("body", b"")
            more = message.get("more_body", False)
            while kept and (len(kept) >= rows.PIECE or not more):
                piece, kept = kept[: rows.PIECE], kept[rows.PIECE :]
                size = await self._own.do(_adding(db, who.tenant, path, offset, piece, anew))
                if size != offset + len(piece):
                    said = f"There are {size} bytes already: go on from there."
                    reply = failure(409, "OtherOffset", said)
                    return reply._replace(headers=((b"connection", b"close"),))
                offset, anew = size, False
        job = Chore(verb="catch-up", ask={"sparing": True})
        await self._own.do(lambda: queue.put(db, who.tenant, job, once=True))
        return Response(encode({"path": path, "size": offset}))


async def _send(send: Any, reply: Response) -> None:
    headers = [(b"content-length", str(len(reply.body)).encode()), *reply.headers]
    headers.append((b"content-type", reply.media.encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})


def _adding(
    db: Database, tenant: int, path: str, offset: int, piece: bytes, anew: bool
) -> Callable[[], int]:
    return lambda: rows.append(db, tenant, path, offset, piece, anew=anew)


def _room(db: Database, tenant: int, more: int) -> None:
    """Refuse an upload that cannot fit before it is sent. Raises OverQuota."""
    found = rows.quota(db, tenant)
    most = found["most_bytes"]
    if most is not None and found["bytes"] + more > most:
        raise rows.over("bytes", most, found["bytes"] + more)
