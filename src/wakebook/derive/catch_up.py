"""catch_up: the one call behind every trigger.

    read past the cursor -> archive -> extract -> append -> advance the cursor

It is idempotent, and exactly once across crashes at any point:
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

import msgspec

from wakebook.capture import archive, cursor
from wakebook.capture import state as states
from wakebook.capture import window as windows
from wakebook.capture.session import Session
from wakebook.capture.state import Pending, Progress, State
from wakebook.capture.transcript import Message
from wakebook.config import Config
from wakebook.derive.entries import extract
from wakebook.derive.extract import Extractor
from wakebook.home import Home
from wakebook.log import log, subjects
from wakebook.log.entry import Entry, as_dict, from_dict
from wakebook.log.ledger import Ledger


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What one call did. `note` says why, if it did nothing."""

    ref: str
    messages: int = 0
    entries: int = 0
    redacted: int = 0
    closed: tuple[str, ...] = ()  # transcripts that are now final
    note: str = ""


def catch_up(
    home: Home,
    config: Config,
    ledger: Ledger,
    extractor: Extractor,
    session: Session,
    now: datetime,
    closing: bool = False,
) -> Report:
    """Bring one session up to date. With `closing`, its window ends with a handoff.

    A window also ends at a reset, after a long pause, and at a size limit; a session whose
    last words are older than that pause is closed as well.
    """
    report = Report(ref=session.ref, note="nothing new")
    while True:
        with home.locked():
            done, more = _next(home, config, ledger, extractor, session, now, closing)
        report = Report(
            ref=session.ref,
            messages=report.messages + done.messages,
            entries=report.entries + done.entries,
            redacted=report.redacted + done.redacted,
            closed=report.closed + done.closed,
            note="" if report.messages + done.messages or done.closed else report.note,
        )
        if not more:
            return report


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


def _next(
    home: Home,
    config: Config,
    ledger: Ledger,
    extractor: Extractor,
    session: Session,
    now: datetime,
    closing: bool,
) -> tuple[Report, bool]:
    """Take the next portion: at most what fits the current window. Whether there is more."""
    state = settle(home)
    progress = cursor.find(home, state, session)
    if session.ref not in state.sessions:
        # Known before its first archive is written: a crash in between must not make that
        # archive look like the trace of a lost cursor.
        state = state.with_session(session.ref, progress)
        states.save(home, state)
    progress = cursor.anchored(home, config, progress, session)
    step = windows.collect(config, progress, session, closing)
    exhausted = not step.cut
    idle = timedelta(minutes=config.capture.idle_minutes)
    if exhausted and not closing and now - step.last_at > idle:
        closing = True
        step = windows.collect(config, progress, session, closing)
        exhausted = not step.cut
    ends = bool(step.cut) or closing
    if not step.batch and (progress.window is None or not ends):
        advanced = windows.advance(progress, step, session, now)
        if advanced != progress:
            states.save(home, state.with_session(session.ref, advanced))
        return Report(ref=session.ref), not exhausted and advanced.position > progress.position
    done = _write(home, ledger, extractor, state, progress, session, step, ends, now)
    return (done, not exhausted) if done else (Report(ref=session.ref), True)


def _write(
    home: Home,
    ledger: Ledger,
    extractor: Extractor,
    state: State,
    progress: Progress,
    session: Session,
    step: windows.Portion,
    ends: bool,
    now: datetime,
) -> Report | None:
    """Archive, append, advance. None if the cursor went back and it must be read again."""
    messages = [item.message for item in step.batch if _visible(item.message)]
    window = progress.window or windows.opened(home, progress, session, messages[0])
    body = windows.body(home, window)
    if body is None:  # somebody removed the open transcript: read its part again
        home.trace("archive-lost", session=session.ref, path=window.path)
        again = msgspec.structs.replace(
            progress, position=window.start, window=None, windows=window.number - 1
        )
        states.save(home, state.with_session(session.ref, again))
        return None
    text, tail = archive.render(messages, window.tail)
    body += text
    window = msgspec.structs.replace(
        window,
        tail=tail,
        last_at=step.last_at,
        messages=window.messages + len(messages),
        tokens_in=window.tokens_in + sum(message.tokens_in for message in messages),
        tokens_out=window.tokens_out + sum(message.tokens_out for message in messages),
        redacted=window.redacted + sum(item.redacted for item in step.batch),
        echoes=window.echoes + sum(item.echoes for item in step.batch),
        size=len(body.encode()),
    )
    registry = subjects.load(home)
    entries, window = extract(
        home, ledger, extractor, registry, session, step.cwd, window, archive.parse(body), ends, now
    )
    home.replace(
        home.root / window.path,
        archive.compose(
            windows.front(session, step, window, progress.head, ends), window.title, body
        ),
        mode=0o400 if ends else 0o600,
    )
    last_id = messages[-1].id if messages else progress.last_id
    after = msgspec.structs.replace(
        windows.advance(progress, step, session, now),
        window=None if ends else window,
        windows=window.number,
        last_id=last_id,
        last_at=step.last_at,
        messages=progress.messages + len(messages),
        entries=progress.entries + len(entries),
        touched_at=now,
    )
    _commit_batch(home, state, session.ref, after, entries)
    return Report(
        ref=session.ref,
        messages=len(messages),
        entries=len(entries),
        redacted=sum(item.redacted for item in step.batch),
        closed=(window.path,) if ends else (),
    )


def _commit_batch(
    home: Home, state: State, ref: str, after: Progress, entries: Sequence[Entry]
) -> None:
    if entries:
        log.set_torn_aside(home)
        size = home.log.stat().st_size if home.log.exists() else 0
        pending = Pending(ref, size, [as_dict(entry) for entry in entries], after)
        states.save(home, msgspec.structs.replace(state, pending=pending))
        log.append(home, entries)
        _ensure_subjects(home, [entry.subject for entry in entries])
    states.save(home, state.with_session(ref, after, pending=None))


def _visible(message: Message) -> bool:
    return bool(message.text or message.tools or message.attachments)


def _ensure_subjects(home: Home, names: Sequence[str]) -> None:
    registry = subjects.load(home)
    grown = registry.ensure(names)
    if grown != registry:
        subjects.save(home, grown)
