"""Reading a session from its cursor on: clean messages, ready to be archived.

Here, and only here, text is freed of secrets and of Wakebook's own injections, times are
filled in, and the branches of a session tree that were abandoned are marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain

import msgspec

from wakebook.capture.discover import host_of
from wakebook.capture.echo import echoed, strip
from wakebook.capture.redact import redact, suspicious
from wakebook.capture.session import Session
from wakebook.capture.transcript import (
    RESULT,
    SUMMARY,
    About,
    Assembly,
    Boundary,
    Ignored,
    Message,
    Record,
    Said,
    Tool,
    live,
    one_line,
)

# what would move a terminal's cursor or change its title, and other control characters
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,500}(?:\x07|\x1b\\)?|\x1b[@-_]?"
    r"|[\x00-\x08\x0b-\x1f\x7f]"
)
_MORE = re.compile(r" \(\+\d+ lines?\)$")


class Clean(msgspec.Struct, frozen=True):
    """A message without secrets and echoes, and how much of each it had."""

    message: Message
    redacted: int = 0
    echoes: int = 0


class Reader:
    """Iterate over the clean items of a session. See `Assembly` for `position`."""

    def __init__(self, session: Session, position: int, limit: int, closing: bool) -> None:
        self._host = host_of(session)
        self._session = session
        self._limit = limit
        self._closing = closing
        self._start = position
        self._unread: list[tuple[int, str]] = []
        self._assembly = Assembly(self._records(), position, closing)
        self.cwd = session.cwd
        self.model = session.model
        self.channel = session.channel

    @property
    def position(self) -> int:
        return self._assembly.position

    def unread(self, position: int) -> dict[str, int]:
        """Records before a position that nobody could understand, by kind."""
        found: dict[str, int] = {}
        for end, kind in self._unread:
            if end <= position:
                found[kind] = found.get(kind, 0) + 1
        return found

    def __iter__(self) -> Iterator[Clean | Boundary]:
        path = self._live_path()
        for item in self._assembly:
            if isinstance(item, Boundary):
                yield item
            else:
                yield clean(self._marked(item, path))

    def _records(self) -> Iterator[Record]:
        source = self._host.records(self._session, self._start, self._limit, self._closing)
        for record in source:
            for event in record.events:
                if isinstance(event, Ignored):
                    if event.unknown:
                        self._unread.append((record.end, event.kind))
                elif isinstance(event, About):
                    self.cwd = event.cwd or self.cwd
                    self.channel = event.channel or self.channel
                    self.model = event.model or self.model
                elif isinstance(event, Said):
                    self.model = event.model or self.model
            yield record

    def _live_path(self) -> set[str] | None:
        if not self._host.tree:
            return None
        records = self._host.records(self._session, self._start, self._limit, self._closing)
        events = chain.from_iterable(record.events for record in records)
        return live((event.id, event.parent) for event in events)

    def _marked(self, message: Message, path: set[str] | None) -> Message:
        if path is None or message.id in path:
            return message
        return msgspec.structs.replace(message, branch=True)


def clean(message: Message) -> Clean:
    redacted = echoes = 0
    pieces = [message.text]
    for tool in message.tools:
        pieces += (tool.name, tool.summary, tool.result or "")
    whole = "\n".join(pieces)
    worth_a_look = suspicious(whole) or echoed(whole)

    def pure(text: str) -> str:
        nonlocal redacted, echoes
        if worth_a_look:
            text, echo = strip(text)
            text, secrets = redact(text)
            redacted += secrets
            echoes += echo
        return _normal(text)

    text = pure(message.text)
    tools = tuple(
        Tool(
            pure(tool.name),
            one_line(pure(tool.summary), SUMMARY),
            None if tool.result is None else _cut(pure(tool.result)),
            tool.error,
        )
        for tool in message.tools
    )
    return Clean(msgspec.structs.replace(message, text=text, tools=tools), redacted, echoes)


def _cut(result: str) -> str:
    """A result on one line, with its count of further lines if it has one."""
    more = _MORE.search(result)
    tail = more[0] if more else ""
    return one_line(result.removesuffix(tail), RESULT - len(tail)) + tail


def _normal(text: str) -> str:
    """Text that any file can hold: one kind of line end, no stray control characters."""
    if not text.isprintable():  # most text without a line end is
        text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
        text = text.encode("utf-8", "replace").decode("utf-8")
        text = "\n".join(line.rstrip() for line in text.split("\n"))
    return text.strip("\n").rstrip()


def first_time(session: Session) -> datetime:
    """When the source was last written: the time of messages that carry none."""
    try:
        return datetime.fromtimestamp(int(session.path.stat().st_mtime), UTC)
    except OSError:
        return datetime.fromtimestamp(0, UTC)
