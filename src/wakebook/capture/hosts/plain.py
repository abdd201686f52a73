"""Your own agent's chats: JSON lines `{"role": ..., "content": ...}`, or Markdown.

The Markdown form is in `plain_markdown`. A JSONL file may begin with a header
`{"session": ..., "model": ..., "cwd": ..., "channel": ...}`, and `{"type": "reset"}`
ends a window.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from wakebook import clock
from wakebook.capture import source
from wakebook.capture.hosts import jsonl, plain_markdown, tools
from wakebook.capture.hosts.jsonl import load
from wakebook.capture.session import Session
from wakebook.capture.transcript import (
    About,
    Boundary,
    Call,
    Event,
    Ignored,
    Record,
    Result,
    Role,
    Said,
)

ROLES: dict[str, Role] = {
    "user": "user", "human": "user", "agent": "agent", "assistant": "agent", "system": "system",
}  # fmt: skip


class _Function(msgspec.Struct, gc=False):
    name: str = ""
    arguments: Any = None


class _ToolCall(msgspec.Struct, gc=False):
    id: str = ""
    name: str = ""
    arguments: Any = None
    function: _Function | None = None


class _Part(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None


class _Line(msgspec.Struct, gc=False):
    role: str | None = None
    type: str | None = None
    content: str | list[_Part] | None = None
    text: str | None = None
    timestamp: str | float | None = None
    at: str | float | None = None
    id: str | int | None = None
    name: str | None = None
    tool_calls: list[_ToolCall] | None = None
    tool_call_id: str | None = None
    is_error: bool | None = None
    reason: str | None = None
    session: str | None = None
    model: str | None = None
    cwd: str | None = None
    channel: str | None = None


_line = msgspec.json.Decoder(_Line)


class Plain(jsonl.Files):
    name = "plain"
    tree = False

    def discover(self, root: Path) -> Iterator[Session]:
        for path, size in jsonl.files(root, ".jsonl", ".md"):
            head = jsonl.head(path)
            if self.recognises(path, head):
                yield _session(path, size, head)

    def recognises(self, path: Path, head: bytes) -> bool:
        if path.suffix == ".md":
            return plain_markdown.recognises(head)
        lines = list(jsonl.first(_line, head, 2))
        return bool(lines) and (_is_turn(lines[0]) or _is_header(lines[0]))

    def records(
        self, session: Session, position: int, limit: int, closing: bool
    ) -> Iterator[Record]:
        if session.path.suffix == ".md":
            yield from plain_markdown.records(session, position, limit, closing)
            return
        for line in source.lines(session.path, position, limit, closing):
            nothing = jsonl.unloaded(line)
            yield Record(line.start, line.end, nothing or _events(line, session))


def _is_turn(line: _Line) -> bool:
    known = line.role in ROLES or line.role == "tool"
    return known and (line.content is not None or line.text is not None or bool(line.tool_calls))


def _is_header(line: _Line) -> bool:
    return line.role is None and line.type is None and line.session is not None


def _session(path: Path, size: int, head: bytes) -> Session:
    if path.suffix == ".md":
        front = plain_markdown.frontmatter(head)
        header = _Line(
            session=front.get("session_id"), model=front.get("model"), channel=front.get("channel")
        )
    else:
        header = next((line for line in jsonl.first(_line, head, 1) if _is_header(line)), _Line())
    return Session(
        host=Plain.name,
        id=header.session or path.stem,
        path=path,
        size=size,
        cwd=header.cwd or "",
        channel=header.channel or "",
        model=header.model or "",
    )


def _events(line: source.Line, session: Session) -> tuple[Event, ...]:
    found = load(_line, line.data)
    if found is None:
        return jsonl.UNREADABLE
    if _is_header(found):
        about = About(model=found.model or "", cwd=found.cwd or "", channel=found.channel or "")
        return (about,)
    identity = f"{session.id}:{line.start}" if found.id is None else str(found.id)
    at = clock.parse(found.timestamp if found.timestamp is not None else found.at)
    if found.type == "reset":
        return (Boundary("reset", found.reason or "", at, identity),)
    text = _text(found)
    if found.role == "tool":
        return (Result(found.tool_call_id or "", tools.result(text), bool(found.is_error)),)
    role = ROLES.get(found.role or "")
    if role is None:
        return (Ignored(found.role or found.type or "no role", unknown=True),)
    calls = tuple(_call(call) for call in found.tool_calls or ())
    if not text and not calls:
        return (Ignored("empty"),)
    return (Said(role, text, identity, at, calls, model=found.model or ""),)


def _text(line: _Line) -> str:
    content = line.content if line.content is not None else line.text
    if isinstance(content, list):
        content = "\n\n".join(part.text for part in content if part.text)
    return (content or "").strip()


def _call(call: _ToolCall) -> Call:
    given = call.function.arguments if call.function else call.arguments
    name = call.function.name if call.function else call.name
    if isinstance(given, str):
        given = tools.arguments(given)
    return Call(call.id, name, tools.summary(given))
