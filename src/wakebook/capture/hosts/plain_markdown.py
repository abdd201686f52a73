"""A chat in Markdown: turns under headings such as `## user` or `## 18:45 — agent`.

The file is always followed from its beginning, because what a line means depends on the
code fence it may stand in; what lies before the position is not yielded. The last turn
may still grow, so it is yielded only when the session is closing; should it grow after
that, the rest follows as one more turn of the same speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from wakebook import clock
from wakebook.capture import source
from wakebook.capture.hosts import jsonl
from wakebook.capture.session import Session
from wakebook.capture.transcript import About, Event, Ignored, Record, Role, Said

_HEADING = re.compile(
    rb"##[ \t]+(?:(?P<day>\d{4}-\d\d-\d\d)[ T]+)?"
    rb"(?:(?P<time>\d{1,2}:\d\d(?::\d\d)?)(?P<zone>Z)?\s*(?:-|\xe2\x80\x93|\xe2\x80\x94)\s*)?"
    rb"(?P<role>user|human|agent|assistant|system)[ \t]*\r?\Z",
    re.IGNORECASE,
)
_FENCE = re.compile(rb" {0,3}(`{3,}|~{3,})")
_PAIR = re.compile(r"([A-Za-z_]+)\s*:\s*(.*?)\s*\Z")
_ROLES: dict[str, Role] = {
    "user": "user", "human": "user", "agent": "agent", "assistant": "agent", "system": "system",
}  # fmt: skip


class _Turn(msgspec.Struct):
    """A heading and its text, or what stands before the first heading (no role)."""

    start: int
    end: int
    body: int  # where its text begins, past the heading
    role: Role | None = None
    at: datetime | None = None
    lines: list[source.Line] = msgspec.field(default_factory=list)

    def text(self, position: int) -> str:
        """Its text, as far as it stands at a position or after it."""
        first = max(self.body, position)
        kept = (line.data[max(0, first - line.start) :] for line in self.lines if line.end > first)
        return b"\n".join(kept).decode("utf-8", "replace").strip()


def recognises(head: bytes) -> bool:
    return any(_HEADING.match(line) for line in head.split(b"\n"))


def frontmatter(head: bytes) -> dict[str, str]:
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


def records(session: Session, position: int, limit: int, closing: bool) -> Iterator[Record]:
    front = frontmatter(jsonl.head(session.path))
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
            current.role = _ROLES[heading["role"].decode().lower()]
            current.at = _moment(heading, last)
            current.body = line.end
            last = current.at or last
        fence = _fence(line.data, fence)
        current.lines.append(line)
        current.end = line.end
    if current is not None:
        yield current


def _lines(session: Session, limit: int, closing: bool) -> Iterator[source.Line]:
    """Complete lines; when closing, also a last one without its newline."""
    end = 0
    for line in source.lines(session.path, 0, limit):
        end = line.end
        yield line
    if not closing:
        return
    with session.path.open("rb") as stream:
        stream.seek(end)
        rest = stream.read(limit + 1)
    if 0 < len(rest) <= limit:
        yield source.Line(end, end + len(rest), rest)


def _record(turn: _Turn, session: Session, position: int, front: dict[str, str]) -> Record:
    start = max(turn.start, position)
    return Record(start, turn.end, (_event(turn, session, start, front),))


def _event(turn: _Turn, session: Session, start: int, front: dict[str, str]) -> Event:
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
