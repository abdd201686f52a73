"""catch_up: the one call behind every trigger.

    read past the cursor -> archive -> extract -> append -> advance the cursor

One `step` takes at most what belongs to the current window of a session. It is idempotent,
and exactly once across crashes at any point:
1. the archive file is replaced whole; written again, it is the same;
2. the batch of entries, ids included, goes to state.json as pending;
3. the log is appended to in one write;
4. one write of state.json advances the cursor and clears the batch.
A process that finds a pending batch first finishes it (`settle`).

Entries are derived from the archived turns, never from the host's raw records, so that a
transcript alone is enough to derive them again, and the portions in which a conversation
arrived leave no trace in the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from wakebook.capture import archive, cursor
from wakebook.capture import state as states
from wakebook.capture import window as windows
from wakebook.capture.session import Session
from wakebook.capture.state import RECENT, Pending, Progress, State, Window
from wakebook.capture.transcript import Message
from wakebook.capture.window import Portion
from wakebook.config import Config
from wakebook.derive.entries import extract
from wakebook.derive.extract import Extractor
from wakebook.home import Home
from wakebook.log import log, subjects
from wakebook.log.entry import Entry, as_dict, from_dict
from wakebook.log.ledger import Ledger


class Work(msgspec.Struct, frozen=True):
    """What every step needs besides the session."""

    home: Home
    config: Config
    ledger: Ledger
    extractor: Extractor
    now: datetime


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What was done for one session."""

    ref: str
    messages: int = 0
    entries: int = 0
    redacted: int = 0
    closed: tuple[str, ...] = ()  # transcripts that are now final

    def plus(self, other: Report) -> Report:
        return Report(
            ref=self.ref,
            messages=self.messages + other.messages,
            entries=self.entries + other.entries,
            redacted=self.redacted + other.redacted,
            closed=self.closed + other.closed,
        )


def settle(home: Home) -> State:
    """The state, after finishing what a crash left half done. Under the lock."""
    state = states.load(home)
    pending = state.pending
    if pending is None:
        return state
    log.set_torn_aside(home)
    written = {entry.id for entry in log.read(home, pending.log_size).entries}
    missing = [from_dict(raw) for raw in pending.entries if raw["id"] not in written]
    log.append(home, missing)
    _ensure_subjects(home, [str(raw.get("subject", "")) for raw in pending.entries])
    state = state.with_session(pending.ref, pending.progress, pending=None)
    states.save(home, state)
    home.trace("settled", session=pending.ref, entries=len(missing))
    return state


def step(work: Work, session: Session, closing: bool = False) -> tuple[Report, bool]:
    """Take the next portion of a session: at most to the end of its current window.

    Returns whether there may be more. A window ends at a reset, after a long pause, and at
    a size limit. With `closing`, or when the last words are older than that pause, it ends
    where the source ends, and gets its handoff.
    """
    with work.home.locked():
        state = settle(work.home)
        progress = cursor.find(work.home, state, session)
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
        ends = bool(portion.cut) or closing
        if portion.batch or (progress.window and ends):
            done = _write(work, state, progress, session, portion, ends)
            return (done, bool(portion.cut)) if done else (Report(ref=session.ref), True)
        after = windows.advance(progress, portion, work.now)
        after = msgspec.structs.replace(after, tail=cursor.tail(session, after.position))
        if after != state.sessions[session.ref]:
            states.save(work.home, state.with_session(session.ref, after))
        return Report(ref=session.ref), bool(portion.cut)


def close_absent(work: Work, ref: str, closing: bool) -> Report:
    """End the open window of a session whose source is gone, from its transcript alone."""
    with work.home.locked():
        state = settle(work.home)
        progress = state.sessions[ref]
        idle = timedelta(minutes=work.config.capture.idle_minutes)
        window = progress.window
        if window is None or not (closing or work.now - window.last_at > idle):
            return Report(ref=ref)
        portion = Portion(
            batch=[],
            position=progress.position,
            size=progress.size,
            cut="gone",
            last_at=window.last_at,
            cwd=progress.cwd,
            model=progress.model,
            channel=progress.channel,
        )
        done = _write(work, state, progress, session_of(progress), portion, ends=True)
        return done or Report(ref=ref)


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
    work: Work, state: State, progress: Progress, session: Session, portion: Portion, ends: bool
) -> Report | None:
    """Archive, append, advance. None if the cursor went back and it must be read again."""
    messages = [item.message for item in portion.batch if windows.visible(item.message)]
    window = progress.window or windows.opened(work.home, progress, session, messages[0])
    body = windows.body(work.home, window)
    if body is None:  # somebody removed the open transcript: read its part again
        _read_again(work, state, progress, session, window)
        return None
    text, tail = archive.render(messages, window.tail)
    body += text
    window = _grown(window, portion, messages, tail, len(body.encode()))
    registry = subjects.load(work.home)
    turns = archive.parse(body)
    entries, window = extract(
        work.home, work.ledger, work.extractor, registry, session, portion.cwd, window, turns,
        ends, work.now,
    )  # fmt: skip
    if portion.cut == "gone":
        origin = windows.known_origin(work.home, window)
    else:
        origin = windows.origin(session, window, portion.position, progress.head)
    work.home.replace(
        work.home.root / window.path,
        archive.compose(windows.front(session, portion, window, origin, ends), window.title, body),
        mode=0o400 if ends else 0o600,
    )
    after = msgspec.structs.replace(
        windows.advance(progress, portion, work.now),
        window=None if ends else window,
        windows=window.number,
        recent=(*progress.recent, *(message.id for message in messages))[-RECENT:],
        tail=progress.tail if portion.cut == "gone" else cursor.tail(session, portion.position),
        last_at=portion.last_at,
        messages=progress.messages + len(messages),
        entries=progress.entries + len(entries),
        touched_at=work.now,
    )
    _append(work.home, state, session.ref, after, entries)
    return Report(
        ref=session.ref,
        messages=len(messages),
        entries=len(entries),
        redacted=sum(item.redacted for item in portion.batch),
        closed=(window.path,) if ends else (),
    )


def _grown(
    window: Window, portion: Portion, messages: Sequence[Message], tail: archive.Tail, size: int
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
    )


def _read_again(
    work: Work, state: State, progress: Progress, session: Session, window: Window
) -> None:
    work.home.trace("archive-lost", session=session.ref, path=window.path)
    again = msgspec.structs.replace(
        progress, position=window.start, tail="", window=None, windows=window.number - 1
    )
    states.save(work.home, state.with_session(session.ref, again))


def _append(home: Home, state: State, ref: str, after: Progress, entries: Sequence[Entry]) -> None:
    if entries:
        log.set_torn_aside(home)
        size = home.log.stat().st_size if home.log.exists() else 0
        pending = Pending(ref, size, [as_dict(entry) for entry in entries], after)
        states.save(home, msgspec.structs.replace(state, pending=pending))
        log.append(home, entries)
        _ensure_subjects(home, [entry.subject for entry in entries])
    states.save(home, state.with_session(ref, after, pending=None))


def _ensure_subjects(home: Home, names: Sequence[str]) -> None:
    registry = subjects.load(home)
    grown = registry.ensure(names)
    if grown != registry:
        subjects.save(home, grown)
