"""catch_up: the one call behind every trigger.

    read past the cursor -> archive -> distil -> append -> close

One `step` takes at most what belongs to the current window of a session. It is idempotent, and
safe across crashes at any point: the archive file is replaced whole (written again, it is the
same), then one write of state.json advances the cursor; what was said is now kept. Distilling
has a cursor of its own (`distil`), and its entries get into the log exactly once (`batch`).

Entries are derived from the archived turns, never from the host's raw records, so that a
transcript alone is enough to derive them again, and the portions in which a conversation
arrived leave no trace in what the rules find.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import msgspec

from wakebook.capture import archive, cursor
from wakebook.capture import state as states
from wakebook.capture import window as windows
from wakebook.capture.session import Session
from wakebook.capture.state import RECENT, Failure, Progress, State, Window
from wakebook.capture.transcript import Message
from wakebook.capture.window import Portion
from wakebook.derive.batch import settle
from wakebook.derive.distil import Report, Work, distil


def step(
    work: Work, session: Session, closing: bool = False, earlier: Failure | None = None
) -> tuple[Report, bool]:
    """Take the next portion of a session: at most to the end of its current window.

    Returns whether there may be more. A window ends at a reset, after a long pause, and at
    a size limit. With `closing`, or when the last words are older than that pause, it ends
    where the source ends, and gets its handoff. `earlier`: how a model has failed at it.
    """
    with work.home.locked():
        report, more = _archive(work, session, closing)
    done = distil(work, session.ref, earlier)
    return report.plus(done), more and not (done.held or done.busy)


def _archive(work: Work, session: Session, closing: bool) -> tuple[Report, bool]:
    state = settle(work.home)
    progress = cursor.find(work.home, state, session)
    if progress.window and progress.window.ended:  # its entries are still to come
        if windows.body(work.home, progress.window) is None:
            _read_again(work, state, progress, session, progress.window)
        return Report(ref=session.ref), True
    if session.ref not in state.sessions:
        # Known before its first archive is written: a crash in between must not make
        # that archive look like the trace of a lost cursor.
        state = state.with_session(session.ref, progress)
        states.save(work.home, state)
    progress = cursor.anchored(work.home, work.config, progress, session)
    portion = windows.collect(work.config, progress, session, closing, work.now)
    idle = timedelta(minutes=work.config.capture.idle_minutes)
    if not portion.cut and not closing and work.now - portion.last_at > idle:
        closing = True
        portion = windows.collect(work.config, progress, session, closing, work.now)
    ended = portion.cut or ("closed" if closing else "")
    if portion.batch or (progress.window and ended):
        report = _write(work, state, progress, session, portion, ended)
        return (report, bool(portion.cut)) if report else (Report(ref=session.ref), True)
    after = windows.advance(progress, portion, work.now)
    after = msgspec.structs.replace(after, tail=cursor.tail(session, after.position))
    if after != state.sessions[session.ref]:
        states.save(work.home, state.with_session(session.ref, after))
    return Report(ref=session.ref), bool(portion.cut)


def close_absent(work: Work, ref: str, closing: bool, earlier: Failure | None = None) -> Report:
    """End the open window of a session whose source is gone, from its transcript alone."""
    with work.home.locked():
        state = settle(work.home)
        progress = state.sessions.get(ref)
        idle = timedelta(minutes=work.config.capture.idle_minutes)
        window = progress.window if progress else None
        if progress is None or window is None:
            return Report(ref=ref)
        if not (window.ended or closing or work.now - window.last_at > idle):
            return Report(ref=ref)
        if not window.ended:
            gone = msgspec.structs.replace(window, ended="gone")
            after = msgspec.structs.replace(progress, window=gone)
            states.save(work.home, state.with_session(ref, after))
    return distil(work, ref, earlier)


def session_of(progress: Progress) -> Session:
    """A session as far as state.json knows it."""
    return Session(
        host=progress.host,
        id=progress.id,
        path=Path(progress.path),
        kind=progress.kind,  # type: ignore[arg-type]
        key=progress.key,
        part=progress.part,
        size=progress.size,
        cwd=progress.cwd,
        channel=progress.channel,
        model=progress.model,
    )


def _write(
    work: Work, state: State, progress: Progress, session: Session, portion: Portion, ended: str
) -> Report | None:
    """Archive and advance. None if the cursor went back and it must be read again."""
    messages = [item.message for item in portion.batch if windows.visible(item.message)]
    window = progress.window or windows.opened(work.home, progress, session, messages[0])
    body = windows.body(work.home, window)
    if body is None:  # somebody removed the open transcript: read its part again
        _read_again(work, state, progress, session, window)
        return None
    text, tail = archive.render(messages, window.tail)
    body += text
    window = _grown(window, portion, messages, tail, len(body.encode()), ended)
    origin = windows.origin(session, window, portion.position, progress.head)
    front = windows.front(session, portion, window, origin)
    work.home.replace(work.home.root / window.path, archive.compose(front, window.title, body))
    after = msgspec.structs.replace(
        windows.advance(progress, portion, work.now),
        window=window,
        windows=window.number,
        recent=(*progress.recent, *(message.id for message in messages))[-RECENT:],
        tail=cursor.tail(session, portion.position),
        last_at=portion.last_at,
        messages=progress.messages + len(messages),
        touched_at=work.now,
    )
    states.save(work.home, state.with_session(session.ref, after))
    return Report(
        ref=session.ref,
        messages=len(messages),
        redacted=sum(item.redacted for item in portion.batch),
    )


def _grown(
    window: Window,
    portion: Portion,
    messages: Sequence[Message],
    tail: archive.Tail,
    size: int,
    ended: str,
) -> Window:
    return msgspec.structs.replace(
        window,
        tail=tail,
        last_at=portion.last_at,
        messages=window.messages + len(messages),
        tokens_in=window.tokens_in + sum(message.tokens_in for message in messages),
        tokens_out=window.tokens_out + sum(message.tokens_out for message in messages),
        redacted=window.redacted + sum(item.redacted for item in portion.batch),
        echoes=window.echoes + sum(item.echoes for item in portion.batch),
        size=size,
        ended=ended,
    )


def _read_again(
    work: Work, state: State, progress: Progress, session: Session, window: Window
) -> None:
    work.home.trace("archive-lost", session=session.ref, path=window.path)
    again = msgspec.structs.replace(
        progress, position=window.start, tail="", window=None, windows=window.number - 1
    )
    states.save(work.home, state.with_session(session.ref, again))
