"""Door: who may see the page.

`wakebook page` asks for a link over the service's own way in (the socket, or the token). The link
works once, for a minute, and leaves a cookie that no script can read and no other site can send.
The cookie is signed with the home's token: it outlives a restart of the service, and a new token
signs every browser out. Its name has the port in it: browsers share cookies between all ports of a
machine. A form brings a token of its own, made from the cookie.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from wakebook.base import clock
from wakebook.service.guard import Guard, TurnedAway

LINK_SECONDS = 60.0
COOKIE_SECONDS = 30 * 24 * 3600
LINKS = 32  # that may be open at once
FRIENDS = ("same-origin", "none")  # none: typed, or opened from another program
FORM = "application/x-www-form-urlencoded"


class Door:
    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._links: dict[str, float] = {}  # -> until when, by the monotonic clock
        self.cookie = f"wakebook_{guard.port}"

    def link(self) -> str:
        """A key for one browser."""
        now = clock.monotonic()
        alive = [(key, until) for key, until in self._links.items() if until > now]
        self._links = dict(alive[-LINKS + 1 :])
        key = secrets.token_urlsafe(24)
        self._links[key] = now + LINK_SECONDS
        return key

    def open(self, key: str) -> str:
        """The cookie for a link's key, which is used up; nothing if it is no good any more."""
        until = self._links.pop(key, 0.0)
        if until <= clock.monotonic():
            return ""
        expires = int(clock.now().timestamp()) + COOKIE_SECONDS
        value = f"{expires}.{secrets.token_urlsafe(12)}"
        return f"{value}.{self._sign(value)}"

    def check(self, scope: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        """The rules for every request to the page. Raises TurnedAway."""
        self.check_place(headers)
        site = headers.get("sec-fetch-site")
        if site is not None and site not in FRIENDS:
            raise TurnedAway(403, "ForeignSite", "Pages of other sites may not ask.")
        if scope["method"] != "POST":
            return
        if site is None and "origin" not in headers:
            raise TurnedAway(403, "NoOrigin", "A form has to say which page it comes from.")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
            raise TurnedAway(400, "NotAForm", "Send a form.")

    def check_place(self, headers: Mapping[str, str]) -> None:
        self._guard.check_place(headers)

    def session(self, headers: Mapping[str, str]) -> str:
        """The cookie of a browser that was let in; nothing if it was not."""
        value = cookies(headers).get(self.cookie, "")
        told, _, signed = value.rpartition(".")
        expires = told.partition(".")[0]
        if not (expires.isdecimal() and expires.isascii()):
            return ""
        good = hmac.compare_digest(signed.encode(), self._sign(told).encode())
        return value if good and int(expires[:12]) > clock.now().timestamp() else ""

    def token(self, session: str) -> str:
        """That the forms of a session bring."""
        return self._sign(f"form {session}")

    def fits(self, session: str, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "replace"), self.token(session).encode())

    def _sign(self, value: str) -> str:
        return self._guard.token.sign(f"page {value}")


def cookies(headers: Mapping[str, str]) -> dict[str, str]:
    try:
        return {name: one.value for name, one in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}


def set_cookie(name: str, value: str, seconds: int) -> tuple[bytes, bytes]:
    told = f"{name}={value}; Path=/page; Max-Age={seconds}; HttpOnly; SameSite=Strict"
    return b"set-cookie", told.encode("latin-1")
