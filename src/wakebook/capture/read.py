"""Reading a session: where its cursor stands, and the clean messages from there on.

A session that is seen for the first time starts at 0, past what it shares with a captured parent
if it is a fork, or where its archived windows end if state.json was lost. A file that was replaced
under our feet is found again by the id of the last message read.

Here, and only here, text is freed of secrets and of Wakebook's own injections, and the branches of
a session tree that were abandoned are marked.
"""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

import msgspec

from wakebook.base.config import Config
from wakebook.base.echo import echoed, strip
from wakebook.base.errors import TranscriptError
from wakebook.base.home import Home
from wakebook.base.text import one_line
from wakebook.capture import archive
from wakebook.capture.hosts import format_of, jsonl
from wakebook.capture.state import Progress, Session, State
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
        form = format_of(session)
        self._records = partial(form.records, session, position, limit, closing)
        self._tree = form.tree
        self._unread: list[tuple[int, str]] = []
        self._assembly = Assembly(self._noted(), position, closing)
        self.cwd, self.model, self.channel = session.cwd, session.model, session.channel

    @property
    def position(self) -> int:
        return self._assembly.position

    def unread(self, position: int) -> dict[str, int]:
        """Records before a position that no host could understand, by kind."""
        return dict(Counter(kind for end, kind in self._unread if end <= position))

    def __iter__(self) -> Iterator[Clean | Boundary]:
        path = self._live_path() if self._tree else None
        for item in self._assembly:
            if isinstance(item, Boundary):
                yield item
            elif path is None or item.id in path:
                yield clean(item)
            else:
                yield clean(msgspec.structs.replace(item, branch=True))

    def _noted(self) -> Iterator[Record]:
        """The records, with what they say about the session taken down."""
        for record in self._records():
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
        events = (event for record in self._records() for event in record.events)
        return live((event.id, event.parent) for event in events)


def first_time(session: Session) -> datetime:
    """When the source was last written: the time of messages that carry none."""
    try:
        return datetime.fromtimestamp(int(session.path.stat().st_mtime), UTC)
    except OSError:
        return datetime.fromtimestamp(0, UTC)


def find(home: Home, state: State, session: Session) -> Progress:
    if "\ufffd" in str(session.path) and not session.path.exists():
        raise TranscriptError(f"{session.path}: its name is not UTF-8. Rename the file.")
    if progress := state.sessions.get(session.ref):
        return progress.with_(path=str(session.path), kind=session.kind)
    every = state.sessions.values()
    windows = [one.windows for one in every if (one.host, one.id) == (session.host, session.id)]
    known = ("host", "id", "part", "kind", "key", "parent", "cwd", "channel", "model")
    fresh = Progress(
        path=str(session.path),
        windows=max(windows, default=0),
        **{name: getattr(session, name) for name in known},
    )
    recovered = _from_archives(home, session, fresh)
    if recovered:
        return recovered
    captured = {one.path for one in every if one.position}
    start = format_of(session).beginning(session, lambda path: str(path) in captured)
    return fresh.with_(position=start)


def _from_archives(home: Home, session: Session, fresh: Progress) -> Progress | None:
    """The cursor of a session that state.json forgot, from its archived windows.

    A window that was still open is read again from its beginning: what was taken from it
    gives the same transcript and the same ids.
    """
    begun = said_at(session, 0, jsonl.CHUNK) or first_time(session)
    if not archive.has_day(home, session.id, begun):
        return None
    head = _head(session)
    windows: list[tuple[int, int]] = []  # number, position
    for path in archive.paths_of(home, session.id):
        front = archive.read(home, path).front
        origin, closed = front.get("source") or {}, bool(front.get("closed"))
        if front.get("session_id") == session.id and origin.get("head", "") == head:
            number = int(front.get("window", 1)) - (not closed)
            windows.append((number, int(origin.get("to" if closed else "from", 0))))
    if not windows:
        return None
    home.trace("cursor-recovered", session=session.ref, windows=len(windows))
    number, position = max(windows, key=lambda window: window[1])
    return fresh.with_(head=head, windows=number, position=position)


def said_at(session: Session, position: int, limit: int) -> datetime | None:
    """When the source says that the first message from a position on was said."""
    records = format_of(session).records(session, position, limit, True)
    events = (event for record in records for event in record.events)
    return next((one.at for one in events if isinstance(one, Said) and one.at), None)


def _head(session: Session) -> str:
    """What identifies a source file, whatever it is called now."""
    return jsonl.fingerprint(session.path) if format_of(session).unit == "bytes" else ""


def anchored(home: Home, config: Config, progress: Progress, session: Session) -> Progress:
    """The cursor, checked against the source.

    The file's first line and the bytes just before the cursor must be what they were; otherwise
    the file was replaced or edited, and the newest message still in it shows where to go on.
    """
    if format_of(session).unit != "bytes":
        return progress
    head = _head(session)
    if _unchanged(progress, session, head):
        return progress.with_(head=head or progress.head)
    home.trace("source-replaced", session=session.ref, path=str(session.path))
    position = _rediscovered(config, progress, session)
    window = progress.window
    if window is not None:  # its source range is gone: what follows has a range of its own
        window = window.with_(start=position)
    return progress.with_(head=head, position=position, window=window)


def _unchanged(progress: Progress, session: Session, head: str) -> bool:
    if jsonl.size(session.path) < progress.position:
        return False
    if progress.head and head and progress.head != head:
        return False
    return not progress.tail or progress.tail == jsonl.tail(session.path, progress.position)


def _rediscovered(config: Config, progress: Progress, session: Session) -> int:
    """Past the newest of the last messages that the file still has; 0 if it has none."""
    rank = {identity: number for number, identity in enumerate(progress.recent)}
    best, position = -1, 0
    limit = config.capture.max_record_megabytes << 20
    for record in format_of(session).records(session, 0, limit, False):
        for event in record.events:
            found = rank.get(event.id, -1) if isinstance(event, Said) else -1
            if found > best:
                best, position = found, record.end
    return position


def tail(session: Session, position: int) -> str:
    """What identifies the part of a source that was read."""
    return jsonl.tail(session.path, position) if format_of(session).unit == "bytes" else ""


def clean(message: Message) -> Clean:
    """A message as it may be written down: what is secret becomes `[redacted:KIND]`, and what
    Wakebook itself has told is taken out, so that memory never feeds on itself."""
    from wakebook.capture.secrets import redact, suspicious

    redacted = echoes = 0
    used = [(tool.name, tool.summary, tool.result or "") for tool in message.tools]
    said = "\n".join((message.text, *(piece for pieces in used for piece in pieces)))
    worth_a_look = suspicious(said) or echoed(said)

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
