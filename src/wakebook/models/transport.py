"""Transport: a JSON question to a model's server, with patience and an end to it.

What may pass is tried again (429, 5xx, a broken connection, a time-out), after the time that
the server asks for or a pause that doubles. What will not pass ends at once: a refused key, an
unknown model, a server that is not there. A message names the server and says what to do; it
never holds the key. Redirects are not followed, so that a key goes nowhere but to its server.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wakebook.base import clock
from wakebook.base.decode import loads
from wakebook.base.errors import BadModelOutput, ConfigError, ModelUnavailable
from wakebook.base.text import printable, whole

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from urllib.request import OpenerDirector

LARGEST = 256 << 20  # bytes of an answer
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_TOO_LARGE = re.compile(
    r"(request|inputs?|batch|payload|prompt|text)\b[^.]{0,60}\btoo (large|long|big)|"
    r"too many (tokens|inputs|texts)|context[ _](length|window|size|limit)|less than \d+ tokens|"
    r"maximum (allowed )?(batch|input|tokens|prompt|number of tokens)|at most \d+ (requests|inputs|"
    r"tokens)|input tokens? (count )?[^.]{0,20}exceeds?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Patience:
    attempts: int
    seconds: float  # for one attempt
    delay: float = 0.5  # before the second attempt; it doubles
    total: float = 120.0  # for all attempts; none begins later


@dataclass(frozen=True)
class Peer:
    who: str  # for messages
    url: str
    headers: dict[str, str]
    secret: str
    section: str  # of config.toml, where it is chosen
    place: str = ""  # of the key

    def __repr__(self) -> str:
        return f"Server({self.who!r})"


class TooLarge(Exception):
    """The server takes less at once."""


class _Again(Exception):
    """It may pass. `wait`: the seconds that the server asks for."""

    def __init__(self, what: str, wait: float | None = None) -> None:
        super().__init__(what)
        self.wait = wait


def post(server: Peer, question: dict[str, Any], patience: Patience) -> Any:
    """The answer. Raises TooLarge, ModelUnavailable or BadModelOutput."""
    return read(server, send(server, json.dumps(question).encode(), patience))


def send(server: Peer, data: bytes | None, patience: Patience) -> bytes:
    """The answer's bytes. Without `data` it only asks (GET)."""
    allow(server.who, server.url)
    deadline = clock.monotonic() + patience.total
    delay = patience.delay
    for attempt in range(1, patience.attempts + 1):
        try:
            return _once(server, data, patience.seconds)
        except _Again as trouble:
            wait = delay if trouble.wait is None else trouble.wait
            if attempt == patience.attempts or clock.monotonic() + wait > deadline:
                tried = "" if attempt == 1 else f", {attempt} times in a row"
                asks = f" It asks to wait {trouble.wait:g} s." if trouble.wait else ""
                raise ModelUnavailable(
                    f"{server.who} {trouble}{tried}.{asks} "
                    "Try again later, or set another provider."
                ) from None
            clock.sleep(wait)
            delay *= 2
    raise AssertionError("no attempt was made")


def read(server: Peer, answer: bytes) -> Any:
    try:
        return loads(answer)
    except ValueError:
        raise BadModelOutput(
            f"{server.who} answers with something that is no JSON. "
            f"Is base_url in {server.section} right?"
        ) from None


def get(url: str, seconds: float) -> Any:
    """What a server on this machine says, in no time. Raises ModelUnavailable, BadModelOutput."""
    import http.client

    allow(url, url)
    try:
        with _opener(url).open(url, timeout=seconds) as response:
            return loads(response.read(LARGEST))
    except (OSError, http.client.HTTPException) as error:
        raise ModelUnavailable(f"{url} does not answer: {error}") from None
    except ValueError:
        raise BadModelOutput(f"{url} answers with something that is no JSON.") from None


def allow(who: str, url: str) -> None:
    """Raises ModelUnavailable for another machine where none may be asked."""
    if offline() and not on_this_machine(url):
        raise ModelUnavailable(
            f"{who} was not asked: WAKEBOOK_OFFLINE is set, and it is another machine."
        )


def offline() -> bool:
    """Whether no other machine may be asked."""
    return os.environ.get("WAKEBOOK_OFFLINE", "0") not in ("", "0")


def on_this_machine(url: str) -> bool:
    from urllib.parse import urlsplit

    try:
        return urlsplit(url).hostname in LOOPBACK
    except ValueError:
        return False


def _once(server: Peer, data: bytes | None, seconds: float) -> bytes:
    """The body of the answer. Raises what a failure means."""
    import http.client
    import urllib.error
    import urllib.request

    request = urllib.request.Request(server.url, data, server.headers)  # noqa: S310
    deadline = clock.monotonic() + seconds
    try:
        with _opener(server.url).open(request, timeout=seconds) as response:
            return _read(server, response, deadline)
    except urllib.error.HTTPError as error:
        body = b""
        with error, suppress(OSError, http.client.HTTPException):
            body = error.read(10_000)
        raise _verdict(server, error.code, error.headers.get("Retry-After"), body) from None
    except (OSError, http.client.HTTPException) as error:
        raise _broken(server, getattr(error, "reason", error), seconds) from None


def _opener(url: str) -> OpenerDirector:
    import urllib.request

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    if on_this_machine(url):  # no proxy knows our own machine
        return urllib.request.build_opener(Stay, urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(Stay)


def _read(server: Peer, response: HTTPResponse, deadline: float) -> bytes:
    """The whole body, in the time of one attempt even if it comes in drops."""
    declared = response.headers.get("Content-Length") or ""
    wanted = int(declared) if declared.isdigit() else None
    body = bytearray()
    while wanted is None or len(body) < wanted:
        piece = response.read1(1 << 16)
        if not piece:
            break
        body += piece
        if clock.monotonic() > deadline:
            raise TimeoutError
        if len(body) > LARGEST:
            raise BadModelOutput(f"{server.who} answers with more than {LARGEST >> 20} MB.")
    if wanted is not None and len(body) < wanted:
        raise ConnectionResetError
    return bytes(body)


def _broken(server: Peer, reason: object, seconds: float) -> Exception:
    """What a failed connection means."""
    import socket
    import ssl

    if isinstance(reason, TimeoutError):
        return _Again(f"did not answer within {seconds:g} s")
    if isinstance(reason, ConnectionRefusedError):
        why = "is not there: nothing listens. Is it running?"
    elif isinstance(reason, socket.gaierror):
        why = "is not there: its name is unknown. Are you online, is the name right?"
    elif isinstance(reason, ssl.SSLCertVerificationError):
        why = f"has a certificate that cannot be trusted: {reason.verify_message}."
    else:
        return _Again("broke the connection")
    return ModelUnavailable(f"{server.who} {why}")


def _verdict(server: Peer, status: int, after: str | None, body: bytes) -> Exception:
    """What a status other than 200 means."""
    try:
        said = quoted(loads(body), server.secret)
    except ValueError:
        said = ""
    in_general = status != 429 or "request too large" in said.lower()  # not "wait a minute"
    if status == 413 or (in_general and _TOO_LARGE.search(said)):
        return TooLarge(f"{server.who} takes less at once{said}")
    if (status in (408, 429) or status >= 500) and b"insufficient_quota" not in body:
        return _Again(f"answers {status}{said}", _seconds(after))
    if status in (401, 403):
        where = f" in {server.place}" if server.place else ""
        why, remedy = "refuses the key", f"Correct the key{where}, or what it is allowed to do."
    elif status == 404:
        why = "knows no such model or address"
        remedy = f"Correct the model's name, or base_url in {server.section}."
    elif status < 400:
        why, remedy = "points to another address", f"Correct base_url in {server.section}."
    else:
        why, remedy = "refuses the request", f"Correct the settings in {server.section}."
    refused = ModelUnavailable(f"{server.who} {why} ({status}{said}). {remedy}")
    refused.status = status
    return refused


def quoted(answer: Any, secret: str) -> str:
    """The server's own words about an error, if any: one short line, without the key."""
    for name in ("error", "message", "detail"):
        if isinstance(answer, dict) and name in answer:
            answer = answer[name]
    text = printable(whole(answer)) if isinstance(answer, str) else ""
    text = text.replace(secret, "[key]") if secret else text
    return f': "{text[:200]}"' if text else ""


def _seconds(after: str | None) -> float | None:
    """Retry-After: seconds, or a date."""
    from email.utils import parsedate_to_datetime

    with suppress(ValueError, TypeError):
        return max(0.0, float(after or "")) if float(after or "") < 1e6 else None
    with suppress(ValueError, TypeError):
        return max(0.0, (parsedate_to_datetime(after or "") - clock.now()).total_seconds())
    return None


def host(base: str, setting: str) -> str:
    """Host and port of a base URL. Raises ConfigError for what is none, or holds a secret.
    `setting`: where the address was written, for the message."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(base)
        sound = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        sound = False
    if not sound or not base.isascii() or set(base) & set("@?# \t\r\n"):
        raise ConfigError(
            f"{setting} is an address like https://example.org/v1, without a password, "
            "'?' or '#'. A key belongs into key_variable or key_file."
        )
    return parts.netloc


def ollama(value: str) -> str:
    """OLLAMA_HOST as Ollama reads it: host, host:port, :port or a whole address."""
    scheme, _, rest = value.strip().rpartition("://")
    rest = rest.rstrip("/")
    name, colon, port = rest.rpartition(":") if ":" in rest.rpartition("]")[2] else (rest, "", "")
    name = "127.0.0.1" if name in ("", "0.0.0.0") else name  # noqa: S104
    default = {"http": "80", "https": "443"}.get(scheme, "11434")
    return f"{scheme or 'http'}://{name}:{port if colon else default}"
