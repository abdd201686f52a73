"""The offer: tools, resources and prompts, defined once for both ways to ask for them.

`answer` takes a method of the protocol and its parameters, and gives the result as the wire has
it; what cannot be answered is Refused with the protocol's own code. The tools are those of
every host (tools.json).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from wakebook.base.errors import NotFound, WakebookError
from wakebook.version import __version__

if TYPE_CHECKING:
    from wakebook.log.entry import Entry
    from wakebook.memory import Memory

NAME = "wakebook"
TITLE = "Wakebook memory"
INSTRUCTIONS = (
    "The memory of earlier sessions with this user. Before you answer anything about earlier "
    "work, decisions, dates, people, preferences or open tasks, call memory_search, and "
    "memory_get for what a result points at. What a result says now replaces what an older one "
    "said. Conversations are remembered by themselves: call remember only when the user asks for "
    "it or corrects an entry."
)
INVALID, UNKNOWN, INTERNAL = -32602, -32601, -32603
NO_RESOURCE = -32002  # until 2025-11-25; INVALID since then
PAGE = 50  # resources in one list
MOST = 200  # entries, and as many transcripts, that are listed; all others can be read by name
MEMORY = "wakebook://memory"
ENTRIES = "wakebook://entries/"
TRANSCRIPTS = "wakebook://transcripts/"
DESTRUCTIVE = ("forget",)
LIVE = ("tools/call", "resources/list", "resources/read", "prompts/get")  # these need the memory


class Refused(WakebookError):
    """What the protocol has an error code for."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


def capabilities() -> dict[str, Any]:
    return {"tools": {}, "resources": {}, "prompts": {}}


def about() -> dict[str, str]:
    return {"name": NAME, "title": TITLE, "version": __version__}


def answer(memory: Callable[[], Memory], method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a request. `memory` is opened only by what needs it."""
    if method in _STILL:
        return _STILL[method]()
    if method not in _LIVE:
        raise Refused(UNKNOWN, f"There is no method {method!r:.100}.")
    return _LIVE[method](memory(), params)


# --- tools -------------------------------------------------------------------------------


def _tools() -> dict[str, Any]:
    from wakebook.service import tools

    return {"tools": [_tool(one) for one in tools.LIST]}


def _tool(one: Mapping[str, Any]) -> dict[str, Any]:
    reads = bool(one["readOnly"])
    forgets = one["name"] in DESTRUCTIVE
    return {
        "name": one["name"],
        "title": one["label"],
        "description": one["description"],
        "inputSchema": one["parameters"],
        "annotations": {
            "title": one["label"],
            "readOnlyHint": reads,
            "destructiveHint": forgets,
            "idempotentHint": reads or forgets,  # what is forgotten cannot be forgotten again
            "openWorldHint": False,
        },
    }


def _call(memory: Memory, params: Mapping[str, Any]) -> dict[str, Any]:
    from wakebook.service import tools

    name = _text(params, "name")
    if name not in tools.NAMES:
        raise Refused(INVALID, f"Unknown tool: {name:.100}. There are: {', '.join(tools.NAMES)}.")
    arguments = params.get("arguments")
    done = tools.call(memory, name, {} if arguments is None else arguments)
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": done.text}],
        "isError": done.failed,
    }
    if name in ("memory_search", "memory_get") and not done.failed:
        result["structuredContent"] = json.loads(done.text)  # of which the text is the JSON
    return result


# --- resources ---------------------------------------------------------------------------


def _resources(memory: Memory, params: Mapping[str, Any]) -> dict[str, Any]:
    """MEMORY.md, the newest entries, and the newest transcripts; a page at a time."""
    after = _after(params.get("cursor"))
    entries = [_entry(one) for one in islice(reversed(memory.log.chains().current()), MOST)]
    rows = [_memory_file(), *entries, *_transcripts(memory)]
    names = [row["uri"] for row in rows]
    begin = names.index(after) + 1 if after in names else 0
    if after and not begin:
        raise Refused(INVALID, "That cursor is not valid any more. List from the start.")
    result: dict[str, Any] = {"resources": rows[begin : begin + PAGE]}
    if begin + PAGE < len(rows):
        result["nextCursor"] = base64.urlsafe_b64encode(names[begin + PAGE - 1].encode()).decode()
    return result


def _after(cursor: object) -> str:
    if cursor is None:
        return ""
    try:
        return base64.urlsafe_b64decode(str(cursor).encode("ascii")).decode() or "?"
    except ValueError:
        raise Refused(INVALID, "That is not a cursor of ours.") from None


def _memory_file() -> dict[str, Any]:
    return {
        "uri": MEMORY,
        "name": "MEMORY.md",
        "title": "MEMORY.md",
        "description": "What is remembered above all, with the briefing of what is active.",
        "mimeType": "text/markdown",
    }


def _entry(entry: Entry) -> dict[str, Any]:
    words = " ".join(entry.content.split())
    return {
        "uri": f"{ENTRIES}{entry.id}",
        "name": entry.id,
        "title": f"{entry.type}: {words if len(words) <= 80 else words[:79] + '…'}",
        "mimeType": "application/json",
    }


def _transcripts(memory: Memory) -> list[dict[str, Any]]:
    """Sessions of which something is archived, the newest first."""
    last: dict[str, tuple[str, str]] = {}
    for one in memory.opened.state().sessions.values():
        if one.messages:
            when = f"{one.last_at:%Y-%m-%d %H:%M}" if one.last_at else ""
            last[one.id] = max(last.get(one.id, ("", "")), (when, one.host))
    newest = sorted(last.items(), key=lambda item: item[1], reverse=True)[:MOST]
    return [
        {
            "uri": f"{TRANSCRIPTS}{quote(name, safe='')}",
            "name": name,
            "title": f"Conversation, {host} {when}",
            "mimeType": "text/markdown",
        }
        for name, (when, host) in newest
    ]


def _templates() -> dict[str, Any]:
    return {
        "resourceTemplates": [
            {
                "uriTemplate": f"{ENTRIES}{{id}}",
                "name": "entry",
                "title": "An entry",
                "description": "Something that was learned, with its history and its source.",
                "mimeType": "application/json",
            },
            {
                "uriTemplate": f"{TRANSCRIPTS}{{session}}",
                "name": "transcript",
                "title": "A conversation",
                "description": "All that was said in a session.",
                "mimeType": "text/markdown",
            },
        ]
    }


def _read(memory: Memory, params: Mapping[str, Any]) -> dict[str, Any]:
    uri = _text(params, "uri")
    try:
        kind, text = _content(memory, uri)
    except NotFound as error:
        raise Refused(NO_RESOURCE, f"Resource not found: {error}", {"uri": uri}) from error
    return {"contents": [{"uri": uri, "mimeType": kind, "text": text}]}


def _content(memory: Memory, uri: str) -> tuple[str, str]:
    if uri == MEMORY:
        path = memory.home.root / memory.opened.memory_file()
        try:
            return "text/markdown", path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "text/markdown", ""  # nothing has been remembered yet
    if uri.startswith(ENTRIES):
        return "application/json", _entry_text(memory, unquote(uri.removeprefix(ENTRIES)))
    if uri.startswith(TRANSCRIPTS):
        return "text/markdown", _transcript(memory, unquote(uri.removeprefix(TRANSCRIPTS)))
    raise NotFound(f"there is none at {uri!r:.200}.")


def _entry_text(memory: Memory, name: str) -> str:
    from wakebook.service import tools

    entry = memory.log.entry(name)  # an id, and never a path
    done = tools.call(memory, "memory_get", {"path": entry.id})
    if done.failed:
        raise NotFound(done.text)
    return done.text


def _transcript(memory: Memory, session: str) -> str:
    shown = memory.get(f"session:{session}")
    parts = (memory.get(path).lines for path in shown.transcripts)
    return "\n\n".join("\n".join(text for _, text in lines) for lines in parts)


# --- prompts -----------------------------------------------------------------------------


def _prompts() -> dict[str, Any]:
    return {
        "prompts": [
            {
                "name": "wake",
                "title": "Wake up",
                "description": "What a new session should know: the briefing and open loops.",
            },
            {
                "name": "handoff",
                "title": "Take over",
                "description": "What the last session, or a certain one, has left behind.",
                "arguments": [
                    {
                        "name": "session",
                        "description": "A session's id, or its beginning; the last one without it.",
                        "required": False,
                    }
                ],
            },
        ]
    }


def _prompt(memory: Memory, params: Mapping[str, Any]) -> dict[str, Any]:
    name = _text(params, "name")
    given = params.get("arguments")
    if given is not None and not isinstance(given, dict):
        raise Refused(INVALID, "arguments must be an object.")
    if name == "wake":
        return _spoken("What a new session should know.", memory.wake())
    if name == "handoff":
        session = (given or {}).get("session") or ""
        if not isinstance(session, str):
            raise Refused(INVALID, "session must be a string.")
        return _spoken("What was left behind.", _handoff(memory, session))
    raise Refused(INVALID, f"Unknown prompt: {name:.100}. There are: wake, handoff.")


def _handoff(memory: Memory, session: str) -> str:
    from wakebook.log.query import Query

    found = memory.log.entries(Query(types=("handoff",), session=session, all=bool(session)))
    if not found:
        where = f"session {session!r:.100}" if session else "any session"
        return f"There is no handoff of {where}."
    last = max(found, key=lambda one: one.timestamp)
    about = f"Handoff of session {last.session}, {last.timestamp:%Y-%m-%d %H:%M} UTC:"
    return "\n\n".join(part for part in (about, last.content, last.detail) if part)


def _spoken(about_: str, text: str) -> dict[str, Any]:
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": about_, "messages": [message]}


def _text(params: Mapping[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str) or not value:
        raise Refused(INVALID, f"{name} must be a string that is not empty.")
    return value


_STILL: dict[str, Callable[[], dict[str, Any]]] = {  # the same for every home
    "tools/list": _tools,
    "resources/templates/list": _templates,
    "prompts/list": _prompts,
}
_LIVE: dict[str, Callable[[Memory, Mapping[str, Any]], dict[str, Any]]] = {
    "tools/call": _call,
    "resources/list": _resources,
    "resources/read": _read,
    "prompts/get": _prompt,
}
