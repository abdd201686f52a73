"""The one model of a conversation, whatever host it came from.

A host module turns raw records into *events*: `Said`, `Result`, `Boundary`, `About`,
`Ignored`. Nothing else knows a host's format. `Assembly` pairs tool calls with their
results and yields `Message` and `Boundary` items in order, each with the part of the
source that it came from (`start`, `end`: byte offsets or sequence numbers), so that a
cursor can stand between any two of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Literal

import msgspec

Role = Literal["user", "agent", "system"]
SUMMARY = 160  # characters of a tool call's one line
RESULT = 120


class Call(msgspec.Struct, frozen=True):
    """An agent calls a tool. `summary` is one line, never the full arguments."""

    id: str
    name: str
    summary: str


class Said(msgspec.Struct, frozen=True):
    """Text, tool calls, or both, of a user, an agent or the host."""

    role: Role
    text: str
    id: str  # the host's own id of this record, stable over forks and re-reads
    at: datetime | None = None
    calls: tuple[Call, ...] = ()
    attachments: tuple[str, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    model: str = ""
    parent: str = ""  # tree hosts: the record that this one follows


class Result(msgspec.Struct, frozen=True):
    call: str
    text: str
    error: bool = False
    attachments: tuple[str, ...] = ()
    id: str = ""
    parent: str = ""


class Boundary(msgspec.Struct, frozen=True):
    """A line across the conversation: a reset ends a window, a compaction does not."""

    kind: Literal["reset", "compaction"]
    reason: str = ""
    at: datetime | None = None
    id: str = ""
    parent: str = ""
    start: int = 0
    end: int = 0


class About(msgspec.Struct, frozen=True):
    """Something the source says about the session itself."""

    id: str = ""
    parent: str = ""
    model: str = ""
    cwd: str = ""
    channel: str = ""


class Ignored(msgspec.Struct, frozen=True):
    """A record that is no part of the conversation. `unknown` ones are reported."""

    kind: str
    unknown: bool = False
    id: str = ""
    parent: str = ""


Event = Said | Result | Boundary | About | Ignored


class Tool(msgspec.Struct, frozen=True):
    """A tool call with its outcome, as the transcript shows it."""

    name: str
    summary: str
    result: str | None = None
    error: bool = False


class Message(msgspec.Struct, frozen=True):
    role: Role
    text: str
    id: str
    at: datetime | None = None
    tools: tuple[Tool, ...] = ()
    attachments: tuple[str, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    model: str = ""
    branch: bool = False  # off the live path of a session tree: archived, not extracted
    start: int = 0
    end: int = 0
    turn: int = 0  # its number in the archived transcript, from 1: what evidence points to
    report: str = ""  # what was said last, after the tool calls, as the archive has it


class Record(msgspec.Struct, frozen=True):
    """The events of one source record, with its place in the source."""

    start: int
    end: int
    events: tuple[Event, ...]


Item = Message | Boundary


class _Held:
    """A message that still waits for results of its tool calls, or a boundary behind one."""

    __slots__ = ("attachments", "event", "open", "results", "start")

    def __init__(self, event: Said | Boundary, start: int) -> None:
        self.event = event
        self.start = start
        self.open = {call.id for call in event.calls} if isinstance(event, Said) else set()
        self.results: dict[str, Result] = {}
        self.attachments: list[str] = []

    def item(self, end: int) -> Item:
        said = self.event
        if isinstance(said, Boundary):
            return msgspec.structs.replace(said, start=self.start, end=end)
        return Message(
            role=said.role,
            text=said.text,
            id=said.id,
            at=said.at,
            tools=tuple(map(self._tool, said.calls)),
            attachments=said.attachments + tuple(self.attachments),
            tokens_in=said.tokens_in,
            tokens_out=said.tokens_out,
            model=said.model,
            start=self.start,
            end=end,
        )

    def _tool(self, call: Call) -> Tool:
        found = self.results.get(call.id)
        return Tool(call.name, call.summary, *((found.text, found.error) if found else ()))


class Assembly:
    """Iterate over messages in order, each complete: a call comes with its result.

    A message whose calls are unanswered is held back, with all that follows it, until the
    results arrive, a human speaks again, or the session is closing. What is held back is
    simply not yielded. `position` is always a safe place for the cursor: everything before
    it was yielded, and reading on from it repeats nothing. (A record says at most one
    thing, so a position between records is a position between messages.)
    """

    def __init__(self, records: Iterable[Record], position: int, closing: bool) -> None:
        self._records = records
        self._closing = closing
        self._held: deque[_Held] = deque()
        self.position = position

    def __iter__(self) -> Iterator[Item]:
        end = self.position
        for record in self._records:
            end = record.end
            for event in record.events:
                if not isinstance(event, Ignored):
                    _take(event, record, self._held)
            while self._held and not self._held[0].open:
                yield self._release(end)
            if not self._held:
                self.position = end
        while self._closing and self._held:
            yield self._release(end)

    def _release(self, end: int) -> Item:
        released = self._held.popleft()
        self.position = self._held[0].start if self._held else end
        return released.item(self.position)


def _take(event: Said | Result | Boundary | About, record: Record, held: deque[_Held]) -> None:
    if isinstance(event, Result):
        for waiting in held:
            if event.call in waiting.open:
                waiting.open.discard(event.call)
                waiting.results[event.call] = event
                waiting.attachments += event.attachments
                break
    elif not isinstance(event, About):
        if isinstance(event, Boundary) or event.role == "user":
            for waiting in held:  # a human spoke: nothing will answer those calls any more
                waiting.open.clear()
        held.append(_Held(event, record.start))


def live(records: Iterable[tuple[str, str]]) -> set[str] | None:
    """Of (id, parent) pairs in order, the ids on the path that ends at the last one.

    Only the given records matter: the walk stops at a parent that is not among them. None
    means that there is no tree to speak of, and everything is live.
    """
    parents = {identity: parent for identity, parent in records if identity}
    if not parents or not any(parents.values()):
        return None
    current = next(reversed(parents))
    path: set[str] = set()
    while current in parents and current not in path:
        path.add(current)
        current = parents[current]
    return path
