"""The cursor: how a session's progress is found, checked against its source, and advanced.

A session that is seen for the first time starts at 0, past what it shares with a captured
parent if it is a fork, or where its archived windows end if state.json was lost. A file
that was replaced under our feet is found again by the id of the last message read.
"""

from __future__ import annotations

import msgspec

from wakebook.capture import archive, source
from wakebook.capture.discover import host_of
from wakebook.capture.session import Session
from wakebook.capture.state import Progress, State
from wakebook.capture.transcript import Said
from wakebook.config import Config
from wakebook.home import Home


def find(home: Home, state: State, session: Session) -> Progress:
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
    """The cursor of a session that state.json forgot, from its archived windows."""
    found: list[tuple[int, int]] = []
    paths = archive.paths_of(home, session.id)
    head = _head(session) if paths else ""
    for path in paths:
        front = archive.read(home, path).front
        origin = front.get("source") or {}
        if front.get("session_id") == session.id and origin.get("head", "") == head:
            found.append((int(front.get("window", 1)), int(origin.get("to", 0))))
    if not found:
        return None
    home.trace("cursor-recovered", session=session.ref, windows=len(found))
    return msgspec.structs.replace(
        fresh,
        head=head,
        windows=max(number for number, _ in found),
        position=max(position for _, position in found),
    )


def _head(session: Session) -> str:
    """What identifies a source file, whatever it is called now."""
    return source.fingerprint(session.path) if host_of(session).unit == "bytes" else ""


def anchored(home: Home, config: Config, progress: Progress, session: Session) -> Progress:
    """The cursor, checked against the source: a replaced file is found again by message id."""
    if host_of(session).unit != "bytes":
        return progress
    head = _head(session)
    shrunk = source.size(session.path) < progress.position
    if not shrunk and (not progress.head or progress.head == head or not head):
        return msgspec.structs.replace(progress, head=head or progress.head)
    home.trace("source-replaced", session=session.ref, path=str(session.path))
    limit = config.capture.max_record_megabytes << 20
    position = 0
    for record in host_of(session).records(session, 0, limit, False):
        for event in record.events:
            if isinstance(event, Said) and event.id == progress.last_id:
                position = record.end
    window = progress.window
    if window is not None:  # its source range is gone: what follows is a window of its own
        window = msgspec.structs.replace(window, start=position)
    return msgspec.structs.replace(progress, head=head, position=position, window=window)
