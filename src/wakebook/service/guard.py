"""The guard: what a request must have before anything else looks at it.

Over the unix socket every process that may open the file may ask: its mode is 0600. Over
127.0.0.1 every program and web page of this machine could ask, so a bearer token is wanted, the
Host header must name this machine and our port (a page whose name was made to point at 127.0.0.1
sends its own), and so must an Origin, which browsers send. A body must say that it is JSON, which
no form of a foreign page can.
"""

import hmac
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from wakebook.base.errors import WakebookError
from wakebook.base.home import Home

LARGEST = 8 << 20  # bytes of a body
NAMES = ("127.0.0.1", "localhost", "[::1]")
OPEN = ("/health",)  # asked to see whether the service lives; it tells nothing
ONCE = (  # headers of which there must not be two: which one counts could not be said
    "host", "origin", "authorization", "mcp-protocol-version", "mcp-method", "mcp-name",
)  # fmt: skip
BEARER = "bearer "
TOO_LARGE = f"The body is larger than {LARGEST >> 20} MiB."
HOW = "Send `Authorization: Bearer TOKEN`. The token is in the file `token` of the home."


class TurnedAway(WakebookError):
    """A request that is turned away before its body is read to the end."""

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
        if not self._read():  # a home that was made before there were tokens
            home.replace(self.path, secrets.token_urlsafe(32) + "\n")

    def fits(self, given: str) -> bool:
        known = self._read()
        return hmac.compare_digest(given.encode("utf-8", "replace"), known) and bool(known)

    def sign(self, text: str) -> str:
        """What only those who know the token can write under a text."""
        return hmac.new(self._read(), text.encode(), "sha256").hexdigest()

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
    def __init__(self, token: Token, port: int) -> None:
        self.token = token
        self.port = port  # ours

    def check(self, scope: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        """Raises TurnedAway."""
        within = scope.get("server") is not None and scope["server"][1] is None  # a unix socket
        if not within:
            self.check_place(headers)
            if scope["path"] not in OPEN:
                self._check_token(headers.get("authorization", ""))
        check_body(scope["method"], headers, within)

    def check_place(self, headers: Mapping[str, str]) -> None:
        """Whether a request is meant for us, and comes from no foreign page. Raises TurnedAway."""
        if not self._ours(headers.get("host", "")):
            raise TurnedAway(403, "ForeignHost", f"The Host must be 127.0.0.1:{self.port}.")
        origin = headers.get("origin")
        if origin is not None and not self._ours(origin.partition("://")[2]):
            raise TurnedAway(403, "ForeignOrigin", "Pages of other origins may not ask.")

    def _ours(self, netloc: str) -> bool:
        return netloc.lower() in {f"{name}:{self.port}" for name in NAMES}

    def _check_token(self, given: str) -> None:
        kind, token = given[: len(BEARER)].lower(), given[len(BEARER) :].strip()
        if kind != BEARER:
            raise TurnedAway(401, "NoToken", HOW)
        if not self.token.fits(token):
            raise TurnedAway(401, "WrongToken", "That is not the token in the file `token`.")


def check_body(method: str, headers: Mapping[str, str], within: bool) -> None:
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > LARGEST:
        raise TurnedAway(413, "TooLarge", TOO_LARGE)
    empty = length in ("", "0") and "transfer-encoding" not in headers
    if method != "POST" or empty:
        return
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and (kind or not within):
        raise TurnedAway(400, "NotJson", "Send JSON, with `Content-Type: application/json`.")


async def body_of(receive: Callable[[], Awaitable[Any]]) -> bytes:
    """A request's body, which may come in pieces. Raises TurnedAway."""
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise TurnedAway(400, "Gone", "The client went away.")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LARGEST:
            raise TurnedAway(413, "TooLarge", TOO_LARGE)
        more = message.get("more_body", False)
    return b"".join(parts)


def headers_of(scope: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = "" if key in found and key in ONCE else text
    return found
