"""A tenant's memory as the remote of a laptop's own home, by git's protocol over HTTP.

    wakebook sync add https://memory.example.com --token wb_…

`git fetch` reads the tenant's own branch; `git push` is taken in by the tenant like any sync (see
sync/host.py), and committed before git hears of it. If another commit comes first, git is told
that its push is behind, and the laptop syncs again.
"""

from __future__ import annotations

import re
import tempfile
import zlib
from collections.abc import Callable, Collection, Mapping
from typing import IO, Any
from urllib.parse import parse_qs

from wakebook.base.errors import OverQuota, Unavailable, WakebookError
from wakebook.memory import Memory
from wakebook.service.app import Response
from wakebook.service.guard import TurnedAway
from wakebook.sync.carry import TEAM

FETCH, PUSH = "git-upload-pack", "git-receive-pack"
NEEDS = {FETCH: "read", PUSH: "write"}
IN_MEMORY = 8 << 20  # bytes of a request; more of it goes to a file
LARGEST = 4 << 30  # bytes of a push, where no quota says less
PLAIN = "text/plain; charset=utf-8"  # which git shows to people
FRESH = ((b"cache-control", b"no-cache"),)

Run = Callable[..., Any]  # TeamPool.run


async def answer(
    scope: Any, receive: Any, headers: Mapping[str, str], run: Run, may: Collection[str], most: int
) -> Response:
    """`may`: the scopes of whoever asks. `most`: bytes that a push may have. Raises TurnedAway and
    WakebookError before anything is done; what goes wrong later is said in git's own way."""
    path, method = scope["path"].removeprefix(TEAM), scope["method"]
    protocol = headers.get("git-protocol", "")
    protocol = protocol if re.fullmatch(r"[\w=:.-]{0,100}", protocol) else ""
    if path == "/info/refs" and method == "GET":
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        service = query.get("service", [""])[0]
        if service in NEEDS:
            return await _offered(service, protocol, run, may)
        raise TurnedAway(400, "NoService", f"Ask for ?service={FETCH} or {PUSH}.")
    service = path.removeprefix("/")
    if service not in NEEDS or method != "POST":
        raise TurnedAway(404, "NoSuchPath", f"git asks for {TEAM}/info/refs, {FETCH}, {PUSH}.")
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as body:
        if await _spooled(receive, headers, body, most if service == PUSH else IN_MEMORY):
            return await _done(service, body, protocol, run, "erase" in may)
    said = f"This memory may hold {most:,} bytes more, and this push has more. Nothing was changed."
    return _refused(service, said)


async def _offered(service: str, protocol: str, run: Run, may: Collection[str]) -> Response:
    """What waits is committed first, so that nothing is missed; whoever only reads changes
    nothing."""
    needs = "write" if "write" in may else NEEDS[service]
    name = service.removeprefix("git-")

    def work(memory: Memory) -> bytes:
        return memory.sync.offered(name, protocol, needs == "write")

    found = await run(work, needs=needs)
    head = (
        b""
        if protocol.startswith("version=2") and service == FETCH
        else _line(b"# service=%b\n" % service.encode()) + b"0000"
    )
    return Response(head + found, media=f"application/x-{service}-advertisement", headers=FRESH)


async def _done(service: str, body: Any, protocol: str, run: Run, may_erase: bool) -> Response:
    def allowed() -> None:
        if not may_erase:
            raise WakebookError(
                "Something was erased on your machine, and this token may not erase. Ask for one "
                "with --scope read --scope write --scope erase."
            )

    def work(memory: Memory) -> bytes:
        body.seek(0)
        source = _file(body)
        if service == FETCH:
            return memory.sync.given(source, protocol)
        return memory.sync.taken(source, protocol, allowed)

    media = f"application/x-{service}-result"
    try:
        found = await run(work, needs=NEEDS[service], long=service == PUSH)
    except (Unavailable, TurnedAway):
        raise
    except WakebookError as error:
        if service == FETCH:
            raise
        return _refused(
            service, f"{error}" if isinstance(error, OverQuota) else f"Not taken: {error}"
        )
    return Response(found, media=media, headers=FRESH)


def _refused(service: str, said: str) -> Response:
    """As git tells it to people."""
    found = _line(b"\x03" + said.encode()[:900] + b"\n") + b"0000"
    return Response(found, media=f"application/x-{service}-result", headers=FRESH)


def _file(body: Any) -> IO[bytes]:
    """A file of the system, which a process can read from."""
    body.rollover()
    found: IO[bytes] = body._file
    found.flush()
    return found


async def _spooled(receive: Any, headers: Mapping[str, str], body: Any, most: int) -> bool:
    """Write a request's body down, unpacked; False if it is too large: the rest is thrown away,
    because git hears nothing before it has sent everything."""
    packed = headers.get("content-encoding", "") in ("gzip", "x-gzip")
    unpack = zlib.decompressobj(wbits=31) if packed else None
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise TurnedAway(400, "Gone", "The client went away.")
        data, more = message.get("body", b""), message.get("more_body", False)
        while data and body.tell() <= most:
            try:
                body.write(unpack.decompress(data, IN_MEMORY) if unpack else data)
            except zlib.error as error:
                raise TurnedAway(400, "NotPacked", f"The body is not gzip: {error}.") from error
            data = unpack.unconsumed_tail if unpack else b""
    return bool(body.tell() <= most)


def _line(data: bytes) -> bytes:
    """A line of git's protocol."""
    return b"%04x%b" % (len(data) + 4, data)
