"""Windows: where a conversation is cut, and how one becomes its file.

A window ends at a reset, after a long pause, or when it has grown too large, and always
when its session closes. A never-ending session is therefore a series of windows, each
with a transcript and a handoff of its own.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from wakebook.base import clock
from wakebook.base.config import Capture, Config
from wakebook.base.errors import TranscriptError
from wakebook.base.home import Home
from wakebook.capture import archive, source
from wakebook.capture.discover import host_of
from wakebook.capture.read import Clean, Reader, first_time
from wakebook.capture.session import Session, holds_memories
from wakebook.capture.state import Progress, State, Window
from wakebook.capture.transcript import Boundary, Message, Said


class Portion(msgspec.Struct, frozen=True, kw_only=True):
    """What was read for one window, before anything is written."""

    batch: list[Clean]
    position: int
    size: int  # of the source
    cut: str = ""  # why the window ends here: reset, idle, size, or nothing
    last_at: datetime
    unread: dict[str, int] = {}
    cwd: str = ""
    model: str = ""
    channel: str = ""


def collect(
    config: Config, progress: Progress, session: Session, closing: bool, now: datetime
) -> Portion:
    """Read on, at most to the end of the current window."""
    reader = Reader(session, progress.position, config.capture.max_record_megabytes << 20, closing)
    filling = _Filling(config.capture, progress, session, now)
    for item in reader:
        if not filling.take(item):
            break
        filling.position = reader.position
        if filling.cut:
            break
    else:
        filling.position = reader.position
    return Portion(
        batch=filling.batch,
        position=filling.position,
        size=host_of(session).size(session),
        cut=filling.cut,
        last_at=filling.at,
        unread=reader.unread(filling.position),
        cwd=reader.cwd or progress.cwd,
        model=reader.model or progress.model,
        channel=reader.channel or progress.channel,
    )


class _Filling:
    """A window that is being filled, and the reasons to stop."""

    def __init__(
        self, limits: Capture, progress: Progress, session: Session, now: datetime
    ) -> None:
        window = progress.window
        self._limits = limits
        self._now = now
        self._by_bytes = host_of(session).unit == "bytes"
        self._talk = not holds_memories(session.channel)
        self._open = window is not None
        self._size = window.size if window else 0
        self._first = window.start if window else progress.position
        self._known = progress.last_at is not None
        self.at = progress.last_at or min(first_time(session), now)
        self.batch: list[Clean] = []
        self.position = progress.position
        self.cut = ""

    def take(self, item: Clean | Boundary) -> bool:
        """Whether the item belongs to this window (or to none)."""
        if isinstance(item, Boundary):
            if item.kind == "reset":
                self.cut = "reset" if self._open else ""
                return True
            item = _boundary_note(item)
        message = item.message
        if not visible(message):
            if self.batch and (item.echoes or item.redacted):
                self.batch.append(item)
            return True
        # a host's clock may be wrong: nothing was said in the future
        moment = min(message.at or self.at, self._now)
        if self._open:
            self.cut = self._why_cut(message, moment)
            if self.cut:
                return False
        else:
            self._first = message.start
        self._open = True
        timed = msgspec.structs.replace(message, at=moment)
        self.batch.append(Clean(timed, item.redacted, item.echoes))
        self._size += len(message.text) + 200 * len(message.tools)
        self.at = max(self.at, moment) if self._known else moment
        self._known = True
        return True

    def _why_cut(self, message: Message, moment: datetime) -> str:
        limits = self._limits
        if self._talk and moment - self.at > timedelta(minutes=limits.idle_minutes):
            return "idle"  # old memories have no pauses
        source_range = message.start - self._first if self._by_bytes else 0
        cap = limits.window_kilobytes << 10
        # between exchanges if possible: before a human speaks
        full = self._size > 2 * cap or (self._size > cap and message.role == "user")
        return "size" if full or source_range > limits.window_source_megabytes << 20 else ""


def visible(message: Message) -> bool:
    return bool(message.text or message.tools or message.attachments)


def _boundary_note(boundary: Boundary) -> Clean:
    text = "The host compacted the conversation here" + (
        f" ({boundary.reason})." if boundary.reason else "."
    )
    return Clean(
        Message(
            role="system",
            text=text,
            id=boundary.id,
            at=boundary.at,
            start=boundary.start,
            end=boundary.end,
        )
    )


def advance(progress: Progress, step: Portion, now: datetime) -> Progress:
    """The cursor after a step, with nothing written."""
    unread = dict(progress.unread)
    for kind, count in step.unread.items():
        unread[kind] = unread.get(kind, 0) + count
    moved = step.position != progress.position
    return msgspec.structs.replace(
        progress,
        position=step.position,
        size=step.size,
        unread=unread,
        cwd=step.cwd,
        model=step.model,
        channel=step.channel,
        touched_at=now if moved or progress.touched_at is None else progress.touched_at,
        failure=progress.failure if progress.failure and progress.failure.model else None,
    )


def opened(home: Home, progress: Progress, session: Session, first: Message) -> Window:
    assert first.at is not None
    slug, title = archive.slug_and_title(first.text or "untitled")
    number = progress.windows + 1
    return Window(
        path=archive.path_for(home, session.id, number, first.at, slug),
        number=number,
        title=title,
        start=first.start,
        started_at=first.at,
        last_at=first.at,
    )


def body(home: Home, window: Window) -> str | None:
    """What is certainly in the open transcript. None if it is not there any more."""
    if not window.size:
        return ""
    try:
        text = (home.root / window.path).read_text(encoding="utf-8")
    except OSError:
        return None
    body = archive.split_body(text).encode()
    if len(body) < window.size:
        return None
    return body[: window.size].decode("utf-8", "replace")


def front(
    session: Session, step: Portion, window: Window, origin: dict[str, object]
) -> dict[str, object]:
    """The frontmatter of a transcript that is still open."""
    found: dict[str, object] = {
        "format": archive.FORMAT,
        "session_id": session.id,
        "host": session.host,
        "window": window.number,
        "started": clock.iso(window.started_at.replace(microsecond=0)),
        "ended": clock.iso(window.last_at.replace(microsecond=0)),
        "closed": False,
        "model": step.model,
        "channel": step.channel or session.host,
        "topic": window.title,
        "tags": list(window.subjects),
        "tokens_in": window.tokens_in,
        "tokens_out": window.tokens_out,
        "turns": window.tail.turns,
        "redacted": window.redacted,
        "echo_removed": window.echoes,
        "source": origin,
    }
    if step.cwd:
        found["cwd"] = step.cwd  # which project it was about, for whoever reads it again
    if window.entries:
        found["knowledge_changes"] = changes(window)
    return found


def changes(window: Window) -> list[dict[str, str]]:
    """What came out of a window, for its frontmatter."""
    summary = f"{len(window.entries)} entries"
    return [{"path": "log.jsonl", "action": "appended", "summary": summary}]


def origin(session: Session, window: Window, position: int, head: str) -> dict[str, object]:
    """Where a window came from, with a SHA-256 of the source between `from` and `to`."""
    host = host_of(session)
    found: dict[str, object] = {
        "path": str(session.path),
        "unit": host.unit,
        "from": window.start,
        "to": position,
        "sha256": host.digest(session, window.start, position),
    }
    if head:
        found["head"] = head
    if session.part:
        found["part"] = session.part
    return found


# -----------------------------------------------------------------------------
# The cursor: how a session's progress is found, checked against its source, and advanced.
#
# A session that is seen for the first time starts at 0, past what it shares with a captured
# parent if it is a fork, or where its archived windows end if state.json was lost. A file
# that was replaced under our feet is found again by the id of the last message read.


def find(home: Home, state: State, session: Session) -> Progress:
    if "\ufffd" in str(session.path) and not session.path.exists():
        raise TranscriptError(f"{session.path}: its name is not UTF-8. Rename the file.")
    known = state.sessions.get(session.ref)
    if known:
        return msgspec.structs.replace(known, path=str(session.path), kind=session.kind)
    siblings = [
        item
        for item in state.sessions.values()
        if item.host == session.host and item.id == session.id
    ]
    fresh = Progress(
        host=session.host,
        id=session.id,
        path=str(session.path),
        part=session.part,
        kind=session.kind,
        key=session.key,
        parent=session.parent,
        cwd=session.cwd,
        channel=session.channel,
        model=session.model,
        windows=max((item.windows for item in siblings), default=0),
    )
    recovered = _from_archives(home, session, fresh)
    if recovered:
        return recovered
    captured = {item.path for item in state.sessions.values() if item.position}
    start = host_of(session).beginning(session, lambda path: str(path) in captured)
    return msgspec.structs.replace(fresh, position=start)


def _from_archives(home: Home, session: Session, fresh: Progress) -> Progress | None:
    """The cursor of a session that state.json forgot, from its archived windows.

    A window that was still open is read again from its beginning: what was taken from it
    gives the same transcript and the same ids.
    """
    if not archive.has_day(home, session.id, first_said(session)):
        return None
    head = _head(session)
    windows: list[tuple[int, int]] = []  # number, position
    for path in archive.paths_of(home, session.id):
        front = archive.read(home, path).front
        origin = front.get("source") or {}
        if front.get("session_id") == session.id and origin.get("head", "") == head:
            number = int(front.get("window", 1))
            if front.get("closed"):
                windows.append((number, int(origin.get("to", 0))))
            else:
                windows.append((number - 1, int(origin.get("from", 0))))
    if not windows:
        return None
    home.trace("cursor-recovered", session=session.ref, windows=len(windows))
    number, position = max(windows, key=lambda window: window[1])
    return msgspec.structs.replace(fresh, head=head, windows=number, position=position)


def first_said(session: Session) -> datetime:
    """When the source says that its first message was said."""
    for record in host_of(session).records(session, 0, source.CHUNK, True):
        for event in record.events:
            if isinstance(event, Said) and event.at:
                return event.at
    return first_time(session)


def _head(session: Session) -> str:
    """What identifies a source file, whatever it is called now."""
    return source.fingerprint(session.path) if host_of(session).unit == "bytes" else ""


def anchored(home: Home, config: Config, progress: Progress, session: Session) -> Progress:
    """The cursor, checked against the source.

    The file's first line and the bytes just before the cursor must be what they were;
    otherwise somebody replaced or edited the file, and the newest message that is still in
    it shows where to go on.
    """
    if host_of(session).unit != "bytes":
        return progress
    head = _head(session)
    if _unchanged(progress, session, head):
        return msgspec.structs.replace(progress, head=head or progress.head)
    home.trace("source-replaced", session=session.ref, path=str(session.path))
    position = _rediscovered(config, progress, session)
    window = progress.window
    if window is not None:  # its source range is gone: what follows has a range of its own
        window = msgspec.structs.replace(window, start=position)
    return msgspec.structs.replace(progress, head=head, position=position, window=window)


def _unchanged(progress: Progress, session: Session, head: str) -> bool:
    if source.size(session.path) < progress.position:
        return False
    if progress.head and head and progress.head != head:
        return False
    return not progress.tail or progress.tail == source.tail(session.path, progress.position)


def _rediscovered(config: Config, progress: Progress, session: Session) -> int:
    """Past the newest of the last messages that the file still has; 0 if it has none."""
    rank = {identity: number for number, identity in enumerate(progress.recent)}
    best, position = -1, 0
    limit = config.capture.max_record_megabytes << 20
    for record in host_of(session).records(session, 0, limit, False):
        for event in record.events:
            found = rank.get(event.id, -1) if isinstance(event, Said) else -1
            if found > best:
                best, position = found, record.end
    return position


def tail(session: Session, position: int) -> str:
    return source.tail(session.path, position) if host_of(session).unit == "bytes" else ""
