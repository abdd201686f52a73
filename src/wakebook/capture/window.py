"""Windows: where a conversation is cut, and how one becomes its file.

A window ends at a reset, after a long pause, or when it has grown too large, and always
when its session closes. A never-ending session is therefore a series of windows, each
with a transcript and a handoff of its own.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from wakebook import clock
from wakebook.capture import archive
from wakebook.capture.discover import host_of
from wakebook.capture.read import Clean, Reader, first_time
from wakebook.capture.session import Session
from wakebook.capture.state import Progress, Window
from wakebook.capture.transcript import Boundary, Message
from wakebook.config import Config
from wakebook.home import Home


class Portion(msgspec.Struct, frozen=True, kw_only=True):
    """What was read for one window, before anything is written."""

    batch: list[Clean]
    position: int
    cut: str  # why the window ends here: reset, idle, size, or nothing
    last_at: datetime
    unread: dict[str, int]
    cwd: str
    model: str
    channel: str


def collect(config: Config, progress: Progress, session: Session, closing: bool) -> Portion:
    limits = config.capture
    reader = Reader(session, progress.position, limits.max_record_megabytes << 20, closing)
    window = progress.window
    batch: list[Clean] = []
    position, cut = progress.position, ""
    at = progress.last_at or first_time(session)
    size = window.size if window else 0
    first = window.start if window else progress.position
    by_bytes = host_of(session).unit == "bytes"
    for item in reader:
        open_already = bool(batch) or window is not None
        if isinstance(item, Boundary) and item.kind == "reset":
            position = reader.position
            if open_already:
                cut = "reset"
                break
            continue
        item = _boundary_note(item) if isinstance(item, Boundary) else item
        message = item.message
        moment = message.at or at
        if not (message.text or message.tools or message.attachments):
            if batch and (item.echoes or item.redacted):
                batch.append(item)
            position = reader.position
            continue
        if open_already:
            long_range = by_bytes and message.start - first > limits.window_source_megabytes << 20
            if moment - at > timedelta(minutes=limits.idle_minutes):
                cut = "idle"
            elif long_range or _too_large(size, message, limits.window_kilobytes << 10):
                cut = "size"
            if cut:
                break
        elif not batch:
            first = message.start
        batch.append(Clean(_timed(message, moment), item.redacted, item.echoes))
        size += len(message.text) + 200 * len(message.tools)
        at = max(at, moment) if progress.last_at or len(batch) > 1 else moment
        position = reader.position
    else:
        position = reader.position
    return Portion(
        batch=batch,
        position=position,
        cut=cut,
        last_at=at,
        unread=reader.unread(),
        cwd=reader.cwd or progress.cwd,
        model=reader.model or progress.model,
        channel=reader.channel or progress.channel,
    )


def _too_large(size: int, message: Message, cap: int) -> bool:
    """Windows end between exchanges if they can: before a human speaks."""
    return size > 2 * cap or (size > cap and message.role == "user")


def _timed(message: Message, moment: datetime) -> Message:
    return msgspec.structs.replace(message, at=moment)


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


def advance(progress: Progress, step: Portion, session: Session, now: datetime) -> Progress:
    """The cursor after a step, with nothing written."""
    unread = dict(progress.unread)
    for kind, count in step.unread.items():
        unread[kind] = unread.get(kind, 0) + count
    moved = step.position != progress.position
    return msgspec.structs.replace(
        progress,
        position=step.position,
        size=host_of(session).size(session),
        unread=unread,
        cwd=step.cwd,
        model=step.model,
        channel=step.channel,
        touched_at=now if moved or progress.touched_at is None else progress.touched_at,
        failure=None,
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
    session: Session, step: Portion, window: Window, head: str, ends: bool
) -> dict[str, object]:
    """The frontmatter of a transcript. `sha256` is of the source between `from` and `to`."""
    host = host_of(session)
    front: dict[str, object] = {
        "format": archive.FORMAT,
        "session_id": session.id,
        "host": session.host,
        "window": window.number,
        "started": clock.iso(window.started_at.replace(microsecond=0)),
        "ended": clock.iso(window.last_at.replace(microsecond=0)),
        "closed": ends,
        "model": step.model,
        "channel": step.channel or session.host,
        "topic": window.title,
        "tags": list(window.subjects),
        "tokens_in": window.tokens_in,
        "tokens_out": window.tokens_out,
        "turns": window.tail.turns,
        "redacted": window.redacted,
        "echo_removed": window.echoes,
        "source": {
            "path": str(session.path),
            "unit": host.unit,
            "from": window.start,
            "to": step.position,
            "sha256": host.digest(session, window.start, step.position),
        },
    }
    if head:
        front["source"] |= {"head": head}  # type: ignore[operator]
    if session.part:
        front["source"] |= {"part": session.part}  # type: ignore[operator]
    if window.entries:
        front["knowledge_changes"] = [
            {
                "path": "log.jsonl",
                "action": "appended",
                "summary": f"{len(window.entries)} entries",
            }
        ]
    return front
