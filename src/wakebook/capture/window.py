"""Windows: where a conversation is cut, and how one becomes its file.

A window ends at a reset, after a long pause, or when it has grown too large, and always
when its session closes. A never-ending session is therefore a series of windows, each
with a transcript and a handoff of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

import msgspec

from wakebook.base import clock
from wakebook.base.config import Capture, Config
from wakebook.base.home import Home
from wakebook.capture import archive
from wakebook.capture.hosts import format_of
from wakebook.capture.read import Clean, Reader, first_time
from wakebook.capture.state import Progress, Session, Window, holds_memories
from wakebook.capture.transcript import Boundary, Message


def collect(
    config: Config,
    progress: Progress,
    session: Session,
    closing: bool,
    now: datetime,
    kept: Callable[[Message], Message] | None = None,
) -> Portion:
    """Read on, at most to the end of the current window. `kept`: what may be kept of a message."""
    reader = Reader(session, progress.position, config.capture.max_record_megabytes << 20, closing)
    portion = Portion(config.capture, progress, session, now)
    for item in reader:
        if kept and isinstance(item, Clean):
            item = msgspec.structs.replace(item, message=kept(item.message))
        if not portion.take(item):
            break
        portion.position = reader.position
        if portion.cut:
            break
    else:
        portion.position = reader.position
    portion.size = format_of(session).size(session)
    portion.unread = reader.unread(portion.position)
    portion.cwd = reader.cwd or progress.cwd
    portion.model = reader.model or progress.model
    portion.channel = reader.channel or progress.channel
    return portion


class Portion:
    """What was read for one window, before anything is written, and the reasons to stop."""

    def __init__(
        self, limits: Capture, progress: Progress, session: Session, now: datetime
    ) -> None:
        window = progress.window
        self._limits, self._now = limits, now
        self._by_bytes = format_of(session).unit == "bytes"
        self._talk = not holds_memories(session.channel)
        self._open = window is not None
        self._size = window.size if window else 0
        self._first = window.start if window else progress.position
        self._known = progress.last_at is not None
        self.last_at = progress.last_at or min(first_time(session), now)
        self.batch: list[Clean] = []
        self.position = progress.position
        self.size = 0  # of the source
        self.cut = ""  # why the window ends here: reset, idle, size, or nothing
        self.unread: dict[str, int] = {}
        self.cwd = self.model = self.channel = ""

    def take(self, item: Clean | Boundary) -> bool:
        """Whether the item belongs to this window (or to none)."""
        if isinstance(item, Boundary):
            if item.kind == "reset":
                self.cut = "reset" if self._open else ""
                return True
            why = f" ({item.reason})" if item.reason else ""
            text = f"The host compacted the conversation here{why}."
            note = Message("system", text, item.id, item.at, start=item.start, end=item.end)
            item = Clean(note)
        message = item.message
        if not visible(message):
            if self.batch and (item.echoes or item.redacted):
                self.batch.append(item)
            return True
        # a host's clock may be wrong: nothing was said in the future
        moment = min(message.at or self.last_at, self._now)
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
        self.last_at = max(self.last_at, moment) if self._known else moment
        self._known = True
        return True

    def _why_cut(self, message: Message, moment: datetime) -> str:
        limits = self._limits
        if self._talk and moment - self.last_at > timedelta(minutes=limits.idle_minutes):
            return "idle"  # old memories have no pauses
        source_range = message.start - self._first if self._by_bytes else 0
        cap = limits.window_kilobytes << 10
        # between exchanges if possible: before a human speaks
        full = self._size > 2 * cap or (self._size > cap and message.role == "user")
        return "size" if full or source_range > limits.window_source_megabytes << 20 else ""


def visible(message: Message) -> bool:
    return bool(message.text or message.tools or message.attachments)


def advance(progress: Progress, portion: Portion, now: datetime) -> Progress:
    """The cursor after a step, with nothing written."""
    moved = portion.position != progress.position
    return progress.with_(
        position=portion.position,
        size=portion.size,
        unread=dict(Counter(progress.unread) + Counter(portion.unread)),
        cwd=portion.cwd,
        model=portion.model,
        channel=portion.channel,
        touched_at=now if moved or progress.touched_at is None else progress.touched_at,
        failure=progress.failure if progress.held else None,
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


def front(session: Session, portion: Portion, window: Window, head: str) -> dict[str, object]:
    """The frontmatter of a transcript that is still open. It says where the window came from, with
    a SHA-256 of the source between `from` and `to`."""
    form = format_of(session)
    origin = {
        "path": session.path.name,  # where it lies differs from machine to machine
        "unit": form.unit,
        "from": window.start,
        "to": portion.position,
        "sha256": form.digest(session, window.start, portion.position),
    }
    if head:
        origin["head"] = head
    if session.part:
        origin["part"] = session.part
    found: dict[str, object] = {
        "format": archive.FORMAT,
        "session_id": session.id,
        "host": session.host,
        "window": window.number,
        "started": clock.iso(window.started_at.replace(microsecond=0)),
        "ended": clock.iso(window.last_at.replace(microsecond=0)),
        "closed": False,
        "model": portion.model,
        "channel": portion.channel or session.host,
        "topic": window.title,
        "tags": list(window.subjects),
        "tokens_in": window.tokens_in,
        "tokens_out": window.tokens_out,
        "turns": window.tail.turns,
        "redacted": window.redacted,
        "echo_removed": window.echoes,
        "source": origin,
    }
    if portion.cwd:
        found["cwd"] = portion.cwd
    if window.project:
        found["project"] = window.project
    if window.entries:
        found["knowledge_changes"] = changes(window)
    return found


def changes(window: Window, notes: Mapping[str, str] = {}) -> list[dict[str, str]]:
    """What came out of a window, for its frontmatter. `notes`: what each of them gets."""
    count = len(window.entries)
    summary = f"{count} {'entry' if count == 1 else 'entries'}"
    log = {"path": "log.jsonl", "action": "appended", "summary": summary}
    told = ({"path": p, "action": "updated", "summary": said} for p, said in notes.items())
    return [log, *told]
