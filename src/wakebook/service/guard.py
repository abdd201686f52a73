"""The guard: what a request must have before anything else looks at it.

Over the unix socket whoever may open the file may ask: its mode is 0600. Over 127.0.0.1 every
program and every web page of this machine could ask, so a bearer token is wanted, the Host
header must name this machine and our port (a page whose name was made to point at 127.0.0.1
sends its own name), and an Origin, which browsers send, must do so as well. A body must say
that it is JSON, which no form of a foreign page can, and is cut off at 8 MiB, whether it says
beforehand how long it is or not.
"""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from wakebook.base.errors import WakebookError

if TYPE_CHECKING:
    from wakebook.base.home import Home

    Scope = Any
    Receive = Callable[[], Any]
    Send = Callable[[Any], Any]

LARGEST = 8 << 20  # bytes of a body
NAMES = ("127.0.0.1", "localhost", "[::1]")
OPEN = ("/health",)  # asked by whoever looks whether we live; it tells nothing
BEARER = "bearer "


class TooLarge(WakebookError):
    """A body that nobody reads to its end."""


class Refused(WakebookError):
    """A request that the guard turns away."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


class Token:
    """The bearer token in the home. Read again when it has changed."""

    def __init__(self, home: Home) -> None:
        self.path = home.root / "token"
        self._seen: tuple[int, int, int] | None = None
        self._token = b""

    def make(self, home: Home) -> None:
        """A home that was made before there were tokens gets one now."""
        if not self._read():
            import secrets

            home.replace(self.path, secrets.token_urlsafe(32) + "\n")

    def fits(self, given: str) -> bool:
        known = self._read()
        same = hmac.compare_digest(given.encode("utf-8", "replace"), known)
        return same and bool(known)

    def _read(self) -> bytes:
        try:
            found = os.stat(self.path)  # noqa: PTH116
            seen = (found.st_mtime_ns, found.st_size, found.st_ino)
            if seen != self._seen:
                self._token = self.path.read_bytes().strip()
                self._seen = seen
        except OSError:
            self._token, self._seen = b"", None
        return self._token


class Guard:
    """Stands before the app. `port` is ours; it is known when we listen."""

    def __init__(self, app: Any, token: Token, port: int) -> None:
        self._app = app
        self._token = token
        self._port = port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # nobody here speaks over web sockets
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            self._check(scope, _headers(scope))
        except Refused as error:
            await refuse(send, error)
            return
        await self._limited(scope, receive, send)

    def _check(self, scope: Scope, headers: dict[str, str]) -> None:
        within = scope.get("server") is not None and scope["server"][1] is None  # a unix socket
        if not within:
            self._check_names(headers)
            if scope["path"] not in OPEN:
                self._check_token(headers.get("authorization", ""))
        _check_body(scope, headers, within)

    def _check_names(self, headers: dict[str, str]) -> None:
        if not ours(headers.get("host", ""), self._port):
            raise Refused(403, "ForeignHost", f"The Host must be 127.0.0.1:{self._port}.")
        origin = headers.get("origin")
        if origin is not None and not ours(_place(origin), self._port):
            raise Refused(403, "ForeignOrigin", "Pages of other origins may not ask.")

    def _check_token(self, given: str) -> None:
        if given[: len(BEARER)].lower() != BEARER:
            raise Refused(
                401,
                "NoToken",
                "Send `Authorization: Bearer TOKEN`. The token is in the file `token` of the home.",
            )
        if not self._token.fits(given[len(BEARER) :].strip()):
            raise Refused(401, "WrongToken", "That is not the token in the file `token`.")

    async def _limited(self, scope: Scope, receive: Receive, send: Send) -> None:
        size, begun, over = 0, False, False

        async def counted() -> Any:
            nonlocal size, over
            message = await receive()
            size += len(message.get("body", b""))
            if size > LARGEST:
                over = True
                raise TooLarge(_too_large())
            return message

        async def sent(message: Any) -> None:
            nonlocal begun
            if not over:  # what the app makes of a body that was cut off is of no interest
                begun = True
                await send(message)

        with suppress(TooLarge):
            await self._app(scope, counted, sent)
        if over and not begun:
            await refuse(send, Refused(413, "TooLarge", _too_large()))


def _check_body(scope: Scope, headers: dict[str, str], within: bool) -> None:
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > LARGEST:
        raise Refused(413, "TooLarge", _too_large())
    empty = length in ("", "0") and "transfer-encoding" not in headers
    if scope["method"] != "POST" or empty:
        return
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and (kind or not within):
        raise Refused(400, "NotJson", "Send JSON, with `Content-Type: application/json`.")


def ours(netloc: str, port: int) -> bool:
    """Whether a name and port are those of this service."""
    return netloc.lower() in {f"{name}:{port}" for name in NAMES}


def _place(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _too_large() -> str:
    return f"The body is larger than {LARGEST >> 20} MiB."


def _headers(scope: Scope) -> dict[str, str]:
    pairs: Iterable[tuple[bytes, bytes]] = scope["headers"]
    found: dict[str, str] = {}
    for name, value in pairs:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        if key in found and key in ("host", "origin", "authorization"):
            text = ""  # twice: nobody can say which one counts
        found[key] = text
    return found


async def refuse(send: Send, error: Refused) -> None:
    body = json.dumps({"error": {"kind": error.kind, "message": str(error)}}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),  # what is left of the body is not read
    ]
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
