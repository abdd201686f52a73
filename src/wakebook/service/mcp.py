"""The Model Context Protocol: its messages, and what Wakebook offers in it (with mcp.json).

It is the same over standard input (mcp_stdio) and HTTP (app). Both kinds of clients are understood:
those that shake hands (`initialize`), and those of 2026-07-28 and later, which say with every
request which version they speak.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

from wakebook.base.decode import loads
from wakebook.base.errors import NotFound, WakebookError
from wakebook.service import tools
from wakebook.version import __version__

if TYPE_CHECKING:
    from wakebook.memory import Memory

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = ("2026-07-28",)
BATCHES = "2025-03-26"  # the only version that has them
VERSION = "io.modelcontextprotocol/protocolVersion"
ABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER = "io.modelcontextprotocol/serverInfo"
BROKEN, WRONG, UNKNOWN, INVALID, INTERNAL = -32700, -32600, -32601, -32602, -32603
NO_RESOURCE = -32002  # until 2025-11-25; INVALID since then
MISMATCH, OTHER_VERSION = -32020, -32022
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

OFFER: dict[str, Any] = json.loads(Path(__file__).with_name("mcp.json").read_bytes())
ABOUT = {"name": "wakebook", "title": "Wakebook memory", "version": __version__}
TELLS = {key: OFFER[key] for key in ("capabilities", "instructions")}
UNFORESEEN = "Something went wrong here. `wakebook status` shows what."
PAGE = 50  # resources in one list
MOST = 200  # entries, and as many transcripts, that are listed; all others can be read by name
MEMORY = OFFER["memory"]["uri"]
ENTRIES = "wakebook://entries/"
TRANSCRIPTS = "wakebook://transcripts/"

Params = Mapping[str, Any]
Message = dict[str, Any]


class Refused(WakebookError):
    """An error that the protocol has a code for."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Request(NamedTuple):
    id: str | int | None  # None: a notification, or an answer; it gets no answer
    method: str
    params: dict[str, Any]

    @property
    def modern(self) -> bool:
        """Without a handshake: it says itself which version it speaks."""
        meta = self.params.get("_meta")
        return self.method != "initialize" and isinstance(meta, dict) and VERSION in meta


def read_all(data: bytes, batches: bool) -> tuple[list[Request | Message], bool]:
    """The requests in a line or a body, and whether they came as a batch."""
    try:
        found = loads(data, strict=True)
    except ValueError as broken:
        return [error(None, BROKEN, f"That is not JSON: {broken}")], False
    if not isinstance(found, list):
        return [_read_one(found)], False
    if not (batches and found):
        return [error(None, WRONG, "Send one message at a time.")], False
    return [_read_one(one) for one in found], True


def _read_one(message: Any) -> Request | Message:
    """A request; or the error that answers a message which is none."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return error(None, WRONG, 'A message is an object with "jsonrpc": "2.0".')
    name, method, params = message.get("id"), message.get("method"), message.get("params")
    if method is None and ("result" in message or "error" in message):
        return Request(None, "", {})  # an answer, although we never ask
    if "id" not in message and isinstance(method, str):
        return Request(None, method, params if isinstance(params, dict) else {})
    if not isinstance(name, str | int) or isinstance(name, bool):
        return error(None, WRONG, "An id is a string or a whole number.")
    if not isinstance(method, str):
        return error(name, WRONG, "A request has a method.")
    if not isinstance(params, dict | None):
        return error(name, INVALID, "params must be an object.")
    return Request(name, method, params or {})


def answer(
    request: Request, memory: Callable[[], Memory], trace: Callable[[str, str], None]
) -> Message:
    """The answer to a request, whatever happens. Only what needs it opens the memory; `trace`
    hears of errors that are not foreseen."""
    try:
        result = _result(request, memory)
    except Refused as refused:
        code = INVALID if request.modern and refused.code == NO_RESOURCE else refused.code
        return error(request.id, code, str(refused), refused.data)
    except WakebookError as failed:
        return error(request.id, INTERNAL, str(failed))
    except Exception as failed:  # noqa: BLE001 - one request must not end the others
        trace(f"mcp {request.method}", f"{type(failed).__name__}: {failed}")
        return error(request.id, INTERNAL, UNFORESEEN)
    if request.modern:
        result = {"resultType": "complete", **result, "_meta": {SERVER: ABOUT}}
        if request.method not in ("tools/call", "prompts/get"):
            result |= {"ttlMs": 0, "cacheScope": "private"}
    return {"jsonrpc": "2.0", "id": request.id, "result": result}


def error(name: str | int | None, code: int, message: str, data: Any = None) -> Message:
    about = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return {"jsonrpc": "2.0", "id": name, "error": about}


def _result(request: Request, memory: Callable[[], Memory]) -> Message:
    method, params = request.method, request.params
    if request.modern:
        _check_envelope(params["_meta"])
    if method == "initialize":
        wanted = params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise Refused(INVALID, "protocolVersion must be a string.")
        version = wanted if wanted in HANDSHAKE else HANDSHAKE[-1]
        return {"protocolVersion": version, "serverInfo": ABOUT, **TELLS}
    if method == "ping" and not request.modern:
        return {}
    if method == "server/discover" and request.modern:
        return {"supportedVersions": list(MODERN), **TELLS}
    if method == "tools/list":
        return {"tools": [_tool(one) for one in tools.LIST]}
    if method in ("resources/templates/list", "prompts/list"):
        return dict(OFFER[method])
    if method in LIVE:
        return LIVE[method](memory(), params)
    raise Refused(UNKNOWN, f"There is no method {method!r:.100}.")


def _check_envelope(meta: Params) -> None:
    version = meta[VERSION]
    if ABILITIES not in meta or not isinstance(version, str):
        raise Refused(INVALID, f"_meta needs {VERSION} and {ABILITIES}.")
    if version not in MODERN:
        data = {"supported": list(MODERN), "requested": version}
        raise Refused(OTHER_VERSION, f"{version!r:.60} is not spoken here.", data)


# of an error, over HTTP
STATUS = {BROKEN: 400, WRONG: 400, INVALID: 400, MISMATCH: 400, OTHER_VERSION: 400, UNKNOWN: 404}


def check_headers(request: Request, headers: Mapping[str, str]) -> None:
    """Since 2026-07-28 a request says in its headers what it says in its body; anything that
    routes it reads only these. Raises Refused where they differ."""
    version = headers.get("mcp-protocol-version")
    if not request.modern and (version is None or version in HANDSHAKE):
        return
    if request.id is None:
        _check_envelope({VERSION: version, ABILITIES: {}})
        return
    if not request.modern:
        raise Refused(INVALID, f"_meta needs {VERSION} and {ABILITIES}.")
    name = request.params.get(NAMED.get(request.method, ""))
    if version != request.params["_meta"][VERSION]:
        raise Refused(MISMATCH, "MCP-Protocol-Version is not the version of the body.")
    if headers.get("mcp-method") != request.method:
        raise Refused(MISMATCH, "Mcp-Method is not the method of the body.")
    if name is not None and _header(headers.get("mcp-name", "")) != name:
        raise Refused(MISMATCH, f"Mcp-Name is not the {NAMED[request.method]} of the body.")


def _header(value: str) -> str | None:
    """A header that may be written in base64; None if it is broken."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except ValueError:
        return None


def _tool(one: Params) -> Message:
    forgets = one["name"] == "forget"
    about = {"name": one["name"], "title": one["label"], "description": one["description"]}
    hints = {"title": one["label"], "readOnlyHint": one["readOnly"], "destructiveHint": forgets}
    again = one["readOnly"] or forgets  # a second time there is nothing left
    hints |= {"idempotentHint": again, "openWorldHint": False}
    return about | {"inputSchema": one["parameters"], "annotations": hints}


def _call(memory: Memory, params: Params) -> Message:
    name = _text(params, "name")
    if name not in tools.NAMES:
        raise Refused(INVALID, f"Unknown tool: {name:.100}. There are: {', '.join(tools.NAMES)}.")
    arguments = params.get("arguments")
    done = tools.call(memory, name, {} if arguments is None else arguments)
    result: Message = {"content": [{"type": "text", "text": done.text}], "isError": done.failed}
    if name in ("memory_search", "memory_get") and not done.failed:
        result["structuredContent"] = json.loads(done.text)
    return result


def _resources(memory: Memory, params: Params) -> Message:
    """MEMORY.md, the newest entries, and the newest transcripts; a page at a time."""
    rows = [OFFER["memory"], *_entries(memory), *_transcripts(memory)]
    names, after = [row["uri"] for row in rows], params.get("cursor")
    if after is not None and after not in names:
        raise Refused(INVALID, "That is no cursor, or not any more. List from the start.")
    begin = 0 if after is None else names.index(after) + 1
    result: Message = {"resources": rows[begin : begin + PAGE]}
    return result | ({"nextCursor": names[begin + PAGE - 1]} if begin + PAGE < len(rows) else {})


def _entries(memory: Memory) -> list[Message]:
    """The newest first."""
    found = []
    for entry in islice(reversed(memory.log.chains().current()), MOST):
        words = " ".join(entry.content.split())
        title = f"{entry.type}: {words if len(words) <= 80 else words[:79] + '…'}"
        found.append(_row(ENTRIES, entry.id, title, "application/json"))
    return found


def _transcripts(memory: Memory) -> list[Message]:
    """Sessions of which something is archived, the newest first."""
    last: dict[str, tuple[str, str]] = {}
    for one in memory.opened.state().sessions.values():
        if one.messages:
            when = f"{one.last_at:%Y-%m-%d %H:%M}" if one.last_at else ""
            last[one.id] = max(last.get(one.id, ("", "")), (when, one.host))
    newest = sorted(last.items(), key=lambda item: item[1], reverse=True)[:MOST]
    titles = {name: f"Conversation, {host} {when}" for name, (when, host) in newest}
    return [_row(TRANSCRIPTS, name, title, "text/markdown") for name, title in titles.items()]


def _row(above: str, name: str, title: str, kind: str) -> Message:
    return {"uri": above + quote(name, safe=""), "name": name, "title": title, "mimeType": kind}


def _read(memory: Memory, params: Params) -> Message:
    uri = _text(params, "uri")
    try:
        kind, text = _content(memory, uri)
    except NotFound as missing:
        raise Refused(NO_RESOURCE, f"Resource not found: {missing}", {"uri": uri}) from missing
    return {"contents": [{"uri": uri, "mimeType": kind, "text": text}]}


def _content(memory: Memory, uri: str) -> tuple[str, str]:
    if uri == MEMORY:
        path = memory.home.root / memory.opened.memory_file()
        try:
            return "text/markdown", path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "text/markdown", ""  # nothing has been remembered yet
    if uri.startswith(ENTRIES):
        entry = memory.log.entry(unquote(uri.removeprefix(ENTRIES)))  # an id, and never a path
        done = tools.call(memory, "memory_get", {"path": entry.id})
        if done.failed:
            raise NotFound(done.text)
        return "application/json", done.text
    if uri.startswith(TRANSCRIPTS):
        shown = memory.get(f"session:{unquote(uri.removeprefix(TRANSCRIPTS))}")
        parts = (memory.get(path).lines for path in shown.transcripts)
        return "text/markdown", "\n\n".join("\n".join(text for _, text in one) for one in parts)
    raise NotFound(f"there is none at {uri!r:.200}.")


def _prompt(memory: Memory, params: Params) -> Message:
    name = _text(params, "name")
    given = params.get("arguments")
    if not isinstance(given, dict | None):
        raise Refused(INVALID, "arguments must be an object.")
    if name == "wake":
        about, text = "What a new session should know.", memory.wake(memory.opened.here)
    elif name == "handoff":
        session = (given or {}).get("session") or ""
        if not isinstance(session, str):
            raise Refused(INVALID, "session must be a string.")
        about, text = "What was left behind.", _handoff(memory, session)
    else:
        raise Refused(INVALID, f"Unknown prompt: {name:.100}. There are: wake, handoff.")
    said = {"type": "text", "text": text}
    return {"description": about, "messages": [{"role": "user", "content": said}]}


def _handoff(memory: Memory, session: str) -> str:
    from wakebook.log.query import Query

    found = memory.log.entries(Query(types=("handoff",), session=session, all=bool(session)))
    if not found:
        where = f"session {session!r:.100}" if session else "any session"
        return f"There is no handoff of {where}."
    last = max(found, key=lambda one: one.timestamp)
    about = f"Handoff of session {last.session}, {last.timestamp:%Y-%m-%d %H:%M} UTC:"
    return "\n\n".join(part for part in (about, last.content, last.detail) if part)


def _text(params: Params, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str) or not value:
        raise Refused(INVALID, f"{name} must be a string that is not empty.")
    return value


LIVE: dict[str, Callable[[Memory, Params], Message]] = {  # these need the memory
    "tools/call": _call,
    "resources/list": _resources,
    "resources/read": _read,
    "prompts/get": _prompt,
}
