"""The cursor: how a session's progress is found, checked against its source, and advanced.

A session that is seen for the first time starts at 0, past what it shares with a captured
parent if it is a fork, or where its archived windows end if state.json was lost. A file
that was replaced under our feet is found again by the id of the last message read.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from wakebook.capture import archive, source
from wakebook.capture.discover import host_of
from wakebook.capture.read import first_time
from wakebook.capture.session import Session
from wakebook.capture.state import Progress, State
from wakebook.capture.transcript import Said
from wakebook.config import Config
from wakebook.errors import TranscriptError
from wakebook.home import Home


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
