"""Your own agent's chats: JSON lines `{"role": ..., "content": ...}`, or Markdown.

A JSONL file may begin with a header `{"session": ..., "model": ..., "cwd": ..., "channel": ...}`,
and `{"type": "reset"}` ends a window. In Markdown, turns stand under headings such as `## user` or
`## 18:45 — agent`. Such a file is always followed from its beginning, because what a line means
depends on the code fence it may stand in; what lies before the position is not yielded. The last
turn may still grow, so it is yielded only when the session is closing; should it grow after that,
the rest follows as one more turn of the same speaker.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base import clock
from wakebook.capture.hosts import jsonl
from wakebook.capture.hosts.jsonl import RawLine
from wakebook.capture.state import Session
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
_HEADING = re.compile(
    rb"##[ \t]+(?:(?P<day>\d{4}-\d\d-\d\d)[ T]+)?"
    rb"(?:(?P<time>\d{1,2}:\d\d(?::\d\d)?)(?P<zone>Z)?\s*(?:-|\xe2\x80\x93|\xe2\x80\x94)\s*)?"
    rb"(?P<role>user|human|agent|assistant|system)[ \t]*\r?\Z",
    re.IGNORECASE,
)
_FENCE = re.compile(rb" {0,3}(`{3,}|~{3,})")
_PAIR = re.compile(r"([A-Za-z_]+)\s*:\s*(.*?)\s*\Z")


class _Function(msgspec.Struct, gc=False):
    name: str = ""
    arguments: Any = None


class _ToolCall(msgspec.Struct, gc=False):
    id: str = ""
    name: str = ""
    arguments: Any = None
    function: _Function | None = None


class _Link(msgspec.Struct, gc=False):
    url: str = ""


class _Part(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    image_url: str | _Link | None = None


class _Usage(msgspec.Struct, gc=False):
    """As OpenAI's, Anthropic's and LangChain's clients call it."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


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
    usage: _Usage | None = None


_line = msgspec.json.Decoder(_Line)


class Plain(jsonl.Host):
    name = "plain"
    suffixes = (".jsonl", ".md")

    def session(self, path: Path, size: int, head: bytes) -> Session:
        header = _Line()
        if path.suffix == ".md":
            front = _frontmatter(head)
            header.session = front.get("session_id")
            header.model, header.channel = front.get("model"), front.get("channel")
        else:
            header = next(filter(_is_header, jsonl.first(_line, head, 1)), header)
        return Session(
            host=self.name,
            id=header.session or path.stem,
            path=path,
            size=size,
            cwd=header.cwd or "",
            channel=header.channel or "",
            model=header.model or "",
        )

    def recognises(self, path: Path, head: bytes) -> bool:
        if path.suffix == ".md":
            return any(_HEADING.match(line) for line in head.split(b"\n"))
        first = next(jsonl.first(_line, head, 2), None)
        return first is not None and (_is_turn(first) or _is_header(first))

    def records(
        self, session: Session, position: int, limit: int, closing: bool
    ) -> Iterator[Record]:
        if session.path.suffix == ".md":
            yield from _markdown(session, position, limit, closing)
            return
        for line in jsonl.lines(session.path, position, limit, closing):
            found = jsonl.load(_line, line.data) if line.data else None
            events = line.undecoded() if found is None else (_event(found, line, session),)
            yield Record(line.start, line.end, events)


def _is_turn(line: _Line) -> bool:
    known = line.role in ROLES or line.role == "tool"
    return known and (line.content is not None or line.text is not None or bool(line.tool_calls))


def _is_header(line: _Line) -> bool:
    return line.role is None and line.type is None and line.session is not None


def _event(found: _Line, line: RawLine, session: Session) -> Event:
    if _is_header(found):
        return About(model=found.model or "", cwd=found.cwd or "", channel=found.channel or "")
    identity = f"{session.id}:{line.start}" if found.id is None else str(found.id)
    at = clock.parse(found.timestamp if found.timestamp is not None else found.at)
    if found.type == "reset":
        return Boundary("reset", found.reason or "", at, identity)
    text = _text(found)
    if found.role == "tool":
        return Result(found.tool_call_id or "", jsonl.result(text), bool(found.is_error))
    role = ROLES.get(found.role or "")
    if role is None:
        return Ignored(found.role or found.type or "no role", unknown=True)
    calls = tuple(_call(call) for call in found.tool_calls or ())
    images = tuple(_images(found, identity))
    if not text and not calls and not images:
        return Ignored("empty")
    used = found.usage or _Usage()
    return Said(
        role,
        text,
        identity,
        at,
        calls,
        images,
        tokens_in=used.input_tokens or used.prompt_tokens or 0,
        tokens_out=used.output_tokens or used.completion_tokens or 0,
        model=found.model or "",
    )


def _images(line: _Line, record: str) -> Iterator[str]:
    for part in line.content if isinstance(line.content, list) else ():
        link = part.image_url
        if url := link.url if isinstance(link, _Link) else link or "":
            yield jsonl.image(url, record)


def _text(line: _Line) -> str:
    content = line.content if line.content is not None else line.text
    if isinstance(content, list):
        content = "\n\n".join(part.text for part in content if part.text)
    return (content or "").strip()


def _call(call: _ToolCall) -> Call:
    given = call.function.arguments if call.function else call.arguments
    name = call.function.name if call.function else call.name
    if isinstance(given, str):
        given = jsonl.arguments(given)
    return Call(call.id, name, jsonl.summary(given))


# --- Markdown -------------------------------------------------------------------------------
class _Turn(msgspec.Struct):
    """A heading and its text, or what stands before the first heading (no role)."""

    start: int
    end: int
    body: int  # where its text begins, past the heading
    role: Role | None = None
    at: datetime | None = None
    lines: list[RawLine] = msgspec.field(default_factory=list)

    def text(self, position: int) -> str:
        """Its text, as far as it stands at a position or after it."""
        first = max(self.body, position)
        kept = (line.data[max(0, first - line.start) :] for line in self.lines if line.end > first)
        return b"\n".join(kept).decode("utf-8", "replace").strip()


def _frontmatter(head: bytes) -> dict[str, str]:
    """`name: value` pairs between --- lines at the very beginning."""
    lines = head.decode("utf-8", "replace").splitlines()
    if not lines or lines[0].strip() != "---":
        return {}
    found: dict[str, str] = {}
    for line in lines[1:]:
        if line.strip() == "---":
            return found
        if pair := _PAIR.match(line):
            found[pair[1]] = pair[2].strip("\"'")
    return {}


def _markdown(session: Session, position: int, limit: int, closing: bool) -> Iterator[Record]:
    front = _frontmatter(jsonl.head(session.path))
    waiting: _Turn | None = None
    for turn in _turns(session, limit, closing, clock.parse(front.get("started"))):
        if waiting is not None and waiting.end > position:
            yield _record(waiting, session, position, front)
        waiting = turn
    if closing and waiting is not None and waiting.end > position:
        yield _record(waiting, session, position, front)


def _turns(session: Session, limit: int, closing: bool, last: datetime | None) -> Iterator[_Turn]:
    current: _Turn | None = None
    fence = b""
    for line in _lines(session, limit, closing):
        heading = None if fence else _HEADING.match(line.data)
        if current is None or heading:
            if current is not None:
                yield current
            current = _Turn(line.start, line.end, line.start)
        if heading:
            current.role = ROLES[heading["role"].decode().lower()]
            current.at = _moment(heading, last)
            current.body = line.end
            last = current.at or last
        fence = _fence(line.data, fence)
        current.lines.append(line)
        current.end = line.end
    if current is not None:
        yield current


def _lines(session: Session, limit: int, closing: bool) -> Iterator[RawLine]:
    """Complete lines; when closing, also a last one without its newline."""
    end = 0
    for line in jsonl.lines(session.path, 0, limit):
        end = line.end
        yield line
    if not closing:
        return
    with session.path.open("rb") as stream:
        stream.seek(end)
        rest = stream.read(limit + 1)
    if 0 < len(rest) <= limit:
        yield RawLine(end, end + len(rest), rest)


def _record(turn: _Turn, session: Session, position: int, front: dict[str, str]) -> Record:
    start = max(turn.start, position)
    return Record(start, turn.end, (_said(turn, session, start, front),))


def _said(turn: _Turn, session: Session, start: int, front: dict[str, str]) -> Event:
    if any(line.oversized for line in turn.lines):
        return Ignored("oversized", unknown=True)
    if turn.role is None:
        if start == 0 and front:
            return About(model=front.get("model", ""), channel=front.get("channel", ""))
        return Ignored("preamble")
    text = turn.text(start)
    if not text:
        return Ignored("empty")
    return Said(turn.role, text, f"{session.id}:{start}", turn.at)


def _moment(heading: re.Match[bytes], last: datetime | None) -> datetime | None:
    """The time of a heading. A bare hour is on the day of the last one, or the day after."""
    if not heading["time"]:
        return None
    hour = heading["time"].decode().zfill(5 if heading["time"].count(b":") == 1 else 8)
    if heading["day"]:
        return clock.parse(f"{heading['day'].decode()}T{hour}")
    if last is None:
        return None
    moment = clock.parse(f"{last:%Y-%m-%d}T{hour}")
    if moment is not None and moment < last.replace(second=0, microsecond=0):
        moment += timedelta(days=1)
    return moment


def _fence(line: bytes, opened: bytes) -> bytes:
    """The code fence that is open after this line."""
    mark = _FENCE.match(line)
    if mark is None:
        return opened
    if not opened:
        return mark[1]
    closes = mark[1].startswith(opened) and not line.strip().strip(mark[1][:1])
    return b"" if closes else opened
