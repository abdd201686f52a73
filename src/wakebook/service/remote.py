"""Remote: a memory on a server for teams, with the verbs that a home's Memory has.

    memory = Memory("https://memory.example.com", token="wb_…")
    memory.remember("The ferry leaves at six.")

Every question carries a name of its own, so that one whose answer was lost can be asked again
without being done twice. What needs the files of a home (`.home`, `.notes`, …) is not to be had
from here. A machine is joined to a server by the environment (WAKEBOOK_SERVER, WAKEBOOK_TOKEN), or
by `server.json` in its home.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, urlsplit
from uuid import uuid4

from wakebook.base import clock
from wakebook.base.decode import decode
from wakebook.base.errors import Unavailable, WakebookError
from wakebook.conversation import Conversation
from wakebook.log.query import Query
from wakebook.memory import Memory
from wakebook.service.client import refused
from wakebook.verbs import SESSIONS, VERBS, Verb, encode

if TYPE_CHECKING:
    from wakebook.capture.state import Session

FILE = "server.json"
UNSENT = "unsent"  # sessions that a joined home has yet to send
SECONDS = 60.0
TRIES = 4
LATER = (423, 502, 503, 504)  # come back in a moment
PATIENCE = 15.0  # seconds that a call waits for a server that says when to come back
PIECE = 8 << 20  # bytes of an upload in one request
LARGEST = 64 << 20  # bytes of one event of a session

Answer = tuple[int, bytes, Mapping[str, str]]


class Line:
    """The way to a server. For any number of threads."""

    def __init__(self, url: str, token: str, seconds: float = SECONDS) -> None:
        found = urlsplit(url)
        if found.scheme not in ("http", "https") or not found.hostname:
            raise WakebookError(f"{url!r:.100} is no address of a server. Write https://….")
        self.url = url.rstrip("/")
        self._token, self._seconds = token, seconds
        self._kind = HTTPSConnection if found.scheme == "https" else HTTPConnection
        self._where, self._below = (found.hostname, found.port), found.path.rstrip("/")

    def within(self, seconds: float) -> Line:
        """The same, for answers that come so soon."""
        return Line(self.url, self._token, seconds)

    def post(self, path: str, body: bytes, media: str = "application/json") -> Answer:
        """The answer, whatever it is. Asked again while the server is away for a moment; what it
        has done already, it does not do again."""
        headers = {"Content-Type": media, "Idempotency-Key": str(uuid4())}
        deadline = clock.monotonic() + PATIENCE
        for tries in range(1, TRIES + 1):
            try:
                status, data, told = self.ask("POST", path, body, headers)
            except Unavailable:
                if tries == TRIES or clock.monotonic() > deadline:
                    raise
                clock.sleep(0.2 * tries)
                continue
            wait = float(told.get("retry-after", "1"))
            if status not in LATER or tries == TRIES or clock.monotonic() + wait > deadline:
                break
            clock.sleep(wait)
        return status, data, told

    def ask(
        self, method: str, path: str, body: bytes | None = None, more: Mapping[str, str] = {}
    ) -> Answer:
        """One request. Raises Unavailable."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", **more}
        link = self._kind(*self._where, timeout=self._seconds)
        try:
            link.request(method, self._below + path, body, headers)
            found = link.getresponse()
            data = found.read()
        except (OSError, HTTPException) as error:
            said = str(error) or type(error).__name__
            raise Unavailable(f"{self.url} does not answer: {said}. Try again.") from error
        finally:
            link.close()
        return found.status, data, {name.lower(): text for name, text in found.getheaders()}

    def wrong(self, status: int, data: bytes) -> WakebookError:
        """What an answer that is none says."""
        try:
            said = json.loads(data)["error"]["message"]
        except (ValueError, KeyError, TypeError):
            said = "Is it a server for teams?"
        return refused(data) or WakebookError(f"{self.url} said {status}. {said}")


def _verb(name: str) -> Any:
    def asked(self: Remote, *given: Any, **options: Any) -> Any:
        return self.asked(VERBS[name], given, options)

    asked.__doc__ = VERBS[name].about
    return asked


ROOMS = {  # what a memory on a server has of a home's rooms: the verbs by their names there
    "log": {"entries": "log"},
    "notes": {"update": "notes", "brief": "brief", "why": "why"},
    "history": {"when": "when", "commit": "commit"},
    "told": {"look": "told", "turns": "turns", "trial": "trial", "rate": "rate"},
    "topics": {"fire": "fire"},
    "window": {"prune": "prune", "slide": "slide"},
    "index": {"sync": "index"},
    "jobs": {"listed": "jobs"},
    "eraser": {"asked": "erase"},
}


class Room:
    """A room of a memory on a server."""

    def __init__(self, memory: Remote, name: str) -> None:
        self._memory, self._name = memory, name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in ROOMS[self._name]:
            raise not_here(f"{self._name}.{name}")
        verb = VERBS[ROOMS[self._name][name]]

        def asked(*given: Any, **options: Any) -> Any:
            if given and isinstance(given[0], Query):
                known = set(verb.asks.__struct_fields__) & set(Query.__slots__)
                options = {one: getattr(given[0], one) for one in known} | {"limit": 0} | options
                given = ()
            return self._memory.asked(verb, given, options)

        return asked


def not_here(name: str) -> WakebookError:
    return WakebookError(
        f"A memory on a server has no {name!r} here: that needs the files of a home. Ask its "
        "administrator (`wakebook team export` writes a plain home), or keep a home of your own "
        "that syncs with it (`wakebook sync add`)."
    )


class Remote(Memory):
    """Made by `Memory("https://…", token=…)`."""

    def __init__(self, url: str, *, token: str = "", line: Line | None = None) -> None:
        self.line = line or Line(url, token or os.environ.get("WAKEBOOK_TOKEN", ""))

    def __repr__(self) -> str:
        return f"Memory({self.line.url!r})"

    wake, context, get = _verb("wake"), _verb("context"), _verb("get")
    remember, handoff, flush = _verb("remember"), _verb("handoff"), _verb("flush")
    observe, status, doctor = _verb("observe"), _verb("status"), _verb("doctor")
    audit, costs = _verb("audit"), _verb("costs")

    def search(self, wanted: Query | str, **options: Any) -> Any:
        query = Query(text=wanted) if isinstance(wanted, str) else wanted
        options.pop("progress", None)
        names = set(VERBS["search"].asks.__struct_fields__) & set(Query.__slots__)
        fields = {name: getattr(query, name) for name in names}
        return self.asked(VERBS["search"], (), fields | options)

    def entries(self, limit: int = 0) -> Any:
        """The newest entries, oldest first; 0: all."""
        return self.asked(VERBS["log"], (), {"limit": limit})

    def forget(self, names: Sequence[str], *, chain: bool = False) -> Any:
        return self.asked(VERBS["forget"], (), {"ids": names, "chain": chain, "yes": True})

    def plan_forget(self, names: Sequence[str], *, chain: bool = False) -> Any:
        return self.asked(VERBS["forget"], (), {"ids": names, "chain": chain})

    def tick(self, names: Iterable[str] = (), **_: Any) -> Any:
        return self.asked(VERBS["tick"], (), {"names": tuple(names)})

    def catch_up(self, paths: Sequence[Path] = (), session: str = "", **options: Any) -> Any:
        """Upload the sessions at these paths, and have them read."""
        sent = [self.send(one) for one in _sessions(paths)]
        known = {"closing", "retry_failed", "sparing"}
        fields = {key: value for key, value in options.items() if key in known}
        return self.asked(VERBS["catch-up"], (), fields | {"session": session, "paths": sent})

    def session(self, id: str = "", **about: str) -> Any:
        return RemoteConversation(
            self, id or f"{clock.now():%Y-%m-%d}-{os.urandom(4).hex()}", about
        )

    def close(self) -> None:
        """Nothing is open."""

    def __getattribute__(self, name: str) -> Any:
        """Nothing of a home's Memory is taken over unseen."""
        if name.startswith("_") or name in OWN or not hasattr(Memory, name):
            return object.__getattribute__(self, name)
        if name in ROOMS:
            return Room(self, name)
        raise not_here(name)

    # --- asking ----------------------------------------------------------------------------------

    def asked(
        self, verb: Verb, given: Sequence[Any], options: Mapping[str, Any], path: str = ""
    ) -> Any:
        fields = dict(zip(verb.asks.__struct_fields__, given, strict=False)) | dict(options)
        unknown = fields.keys() - set(verb.asks.__struct_fields__)
        if unknown:
            raise WakebookError(f"A server does not know {min(unknown)!r} of {verb.name}.")
        fields = {key: tuple(v) if isinstance(v, list) else v for key, v in fields.items()}
        body = encode(verb.asks(**fields))
        status, data, _ = self.line.post(path or verb.path, body)
        if status >= 300:
            raise self.line.wrong(status, data)
        key, found, _ = verb.answers.partition(": ")
        type_: Any = verb.answer_type()
        keyed: Any = dict.__class_getitem__((str, type_))
        return decode(data, keyed)[key] if found else decode(data, type_)

    def send(self, session: Session) -> str:
        """Send what the server lacks of a session, whatever its host keeps it in: its name."""
        if ".jsonl" in session.path.name or session.host != "openclaw":
            return self.upload(session.host, session.path)
        from tempfile import TemporaryDirectory

        from wakebook.capture.hosts.openclaw import written

        with TemporaryDirectory(prefix="wakebook-") as folder:
            path = Path(folder, "sessions", f"{_safe(session.id)}.jsonl")
            path.parent.mkdir()
            with path.open("wb") as stream:
                stream.writelines(written(session, LARGEST))
            return self.upload(session.host, path)

    def upload(self, host: str, path: Path) -> str:
        """Send what the server lacks of a conversation: its name there."""
        name = f"uploads/{host}/{'/'.join(map(_safe, (path.parent.name, path.name)))}"
        where = f"/v1/{quote(name)}"
        status, data, _ = self.line.ask("GET", where)
        if status != 200:
            raise self.line.wrong(status, data)
        offset, size, anew = json.loads(data)["size"], path.stat().st_size, ""
        if size < offset:  # it was written anew
            offset, anew = 0, "&anew=1"
        with path.open("rb") as stream:
            stream.seek(offset)
            while piece := stream.read(PIECE):
                octets = "application/octet-stream"
                query = f"{where}?offset={offset}{anew}"
                status, data, _ = self.line.post(query, piece, octets)
                if status not in (200, 409):
                    raise self.line.wrong(status, data)
                if status == 409:  # it has come before
                    break
                offset, anew = offset + len(piece), ""
        return name


OWN = frozenset(vars(Remote))


class RemoteConversation(Conversation):
    """A conversation of your own agent, written down on the server as it happens."""

    def __init__(self, memory: Remote, id: str, about: Mapping[str, str]) -> None:
        self.id, self._remote, self._about = id, memory, dict(about)

    def _asked(self, name: str, **fields: Any) -> Any:
        path = SESSIONS[name].path.replace("{id}", quote(self.id, safe=""))
        return self._remote.asked(SESSIONS[name], (), fields, path)

    def add(self, message: object, *, id: str = "") -> str:
        from wakebook.capture.hosts import plain_file

        given = {k: v for k, v in plain_file.as_dict(message).items() if v is not None}
        ids = self._asked("messages", messages=(given | ({"id": id} if id else {}),), **self._about)
        return str(ids[0])

    def tool(
        self, name: str, arguments: object, result: object, *, error: bool = False, id: str = ""
    ) -> str:
        from wakebook.capture.hosts import plain_file

        called = id or uuid4().hex[:12]
        said = plain_file.call(f"call-{called}", name, arguments)
        gave = plain_file.result(f"call-{called}", plain_file.text_of(result), error)
        first, _ = self.add(said), self.add(gave)
        return first

    def context(self, message: str = "", *, budget: int = 0) -> Any:
        return self._asked("context", message=message, budget=budget)

    def keep(self) -> Any:
        return self._asked("keep")

    def end(self) -> Any:
        return self._asked("end")

    def _observe(self, text: str, paths: Sequence[str] = ()) -> None:
        """The server looks at it itself."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None:
            self.end()


def joined(root: str | os.PathLike[str] | None = None) -> Line | None:
    """The server that this machine, or this home, is joined to."""
    from wakebook.base.home import locate

    url, token = os.environ.get("WAKEBOOK_SERVER", ""), os.environ.get("WAKEBOOK_TOKEN", "")
    if not url:
        try:
            found = json.loads((locate(root) / FILE).read_bytes())
            url, token = found["url"], found["token"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            where = locate(root) / FILE
            raise WakebookError(
                f"{where}: {error}. `wakebook team join` writes it anew."
            ) from error
    return Line(url, token)


def join(root: Path, url: str, token: str) -> None:
    """Write down which server a home is joined to, when it has answered."""
    from wakebook.base.home import Home

    line = Line(url, token)
    status, data, _ = line.ask(
        "POST", "/v1/log", b'{"limit": 1}', {"Content-Type": "application/json"}
    )
    if status != 200:
        raise line.wrong(status, data)
    home = Home(root)
    home.folder(root)
    home.replace(root / FILE, json.dumps({"url": line.url, "token": token}) + "\n")


def speak(line: Line, lines: Any, out: Any) -> None:
    """MCP on standard input and output, answered by the server."""
    for one in lines:
        if not one.strip():
            continue
        try:
            status, data, _ = line.post("/mcp", one)
        except WakebookError as error:
            data = _broken(one, str(error))
        else:
            if status in (401, 403, 429, 503):
                data = _broken(one, json.loads(data)["error"]["message"])
        if data:
            out.write(data.rstrip() + b"\n")
            out.flush()


def _broken(request: bytes, said: str) -> bytes:
    try:
        name = json.loads(request).get("id")
    except (ValueError, AttributeError):
        name = None
    about = {"code": -32603, "message": said}
    return json.dumps({"jsonrpc": "2.0", "id": name, "error": about}).encode() if name else b""


def _sessions(paths: Sequence[Path]) -> list[Any]:
    from wakebook.capture.discover import sessions_at

    return [one for path in paths for one in sessions_at(Path(path))]


def _safe(name: str) -> str:
    """A name as the server takes it."""
    return re.sub(r"[^\w@+=.,-]|^\.+", "-", name, flags=re.ASCII) or "-"
