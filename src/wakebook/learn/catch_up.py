"""The sweep: bring every session up to date, whatever happens to one of them.

It recovers what a crash, a missed hook or a long absence left behind. Windows are taken in
the order in which they were said, across all sessions, so that a correction finds what it
corrects, and a sweep that was killed goes on exactly where it was. A session that fails is
noted with its error and tried once more by the next sweep; after that it is shown as failed
until somebody asks for a retry. Where it was the model that failed, the second time rules read
the words instead.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from wakebook.base.errors import TranscriptError, WakebookError
from wakebook.base.home import Home
from wakebook.capture import archive, read
from wakebook.capture import state as states
from wakebook.capture import window as windows
from wakebook.capture.hosts import format_of, jsonl
from wakebook.capture.state import RECENT, Failure, Progress, Session, State, Window, why_skipped
from wakebook.capture.transcript import Message
from wakebook.capture.window import Portion
from wakebook.learn.entries import settle
from wakebook.learn.reading import Report, Work, distil
from wakebook.log import subjects

LATEST = datetime.max.replace(tzinfo=UTC)
Told = Callable[[Session, Report], None]


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    reports: tuple[Report, ...] = ()
    failed: dict[str, str] = {}  # session -> error, in this sweep
    held: dict[str, str] = {}  # session -> why the model failed; the next sweep tries again
    given_up: tuple[str, ...] = ()  # failed before, and not tried again
    skipped: dict[str, str] = {}  # session -> why
    pruned: tuple[str, ...] = ()

    @property
    def messages(self) -> int:
        return sum(report.messages for report in self.reports)

    @property
    def entries(self) -> int:
        return sum(report.entries for report in self.reports)

    @property
    def covered(self) -> int:
        """Times that rules read what the model should have."""
        return sum(report.covered for report in self.reports)

    @property
    def closed(self) -> tuple[str, ...]:
        return tuple(path for report in self.reports for path in report.closed)


def sweep(
    work: Work,
    sessions: Iterable[Session],
    *,
    closing: bool = False,
    retry_failed: bool = False,
    absent: bool = False,
    told: Told = lambda session, report: None,
    finished: Callable[[Session], None] = lambda session: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Sweep:
    """Catch up on these sessions, oldest news first.

    `told` hears of every portion, `finished` of every session that is done. With `absent`,
    open windows whose source is gone are closed as well. `stopped` ends it between portions.
    """
    found = list(sessions)
    with work.home.locked():
        work.home.sweep_temporary()
        subjects.load(work.home)  # broken, it would make every session fail
        state = _follow_rotations(work.home, settle(work.home), found)
    queue, skipped, given_up = _queued(work, found, state, retry_failed, finished)
    earlier = {ref: known.failure for ref, known in state.sessions.items() if _held(known)}
    reports: dict[str, Report] = {}
    failed: dict[str, str] = {}
    while queue and not stopped():
        _, ref, session = heapq.heappop(queue)
        try:
            report, more = step(work, session, closing, earlier.get(ref))
        except WakebookError as error:
            if not isinstance(error, TranscriptError):
                raise  # not this session's fault: a locked home, a broken registry
            failed[ref] = str(error)
        except OSError:
            raise  # a full disk, a read-only folder
        except Exception as error:  # noqa: BLE001 - one bad session must not stop the others
            failed[ref] = repr(error)
        else:
            reports[ref] = reports.get(ref, Report(ref=ref)).plus(report)
            told(session, report)
            if more:
                heapq.heappush(queue, (_unread_since(work, session), ref, session))
                continue
        if ref in failed:
            _note_failure(work, session, failed[ref])
        finished(session)
    if absent:
        for report in _close_absent(work, found, closing, earlier):
            reports[report.ref] = report
    return Sweep(
        reports=tuple(reports.values()),
        failed=failed,
        held={report.ref: report.held for report in reports.values() if report.held},
        given_up=tuple(given_up),
        skipped=skipped,
        pruned=tuple(_prune(work)),
    )


def _queued(
    work: Work,
    sessions: Iterable[Session],
    state: State,
    retry_failed: bool,
    finished: Callable[[Session], None],
) -> tuple[list[tuple[datetime, str, Session]], dict[str, str], list[str]]:
    """Those to read, by the time of their first unread message; those skipped; given up on."""
    queue: list[tuple[datetime, str, Session]] = []
    skipped: dict[str, str] = {}
    given_up: list[str] = []
    for session in {session.ref: session for session in sessions}.values():
        known = state.sessions.get(session.ref)
        reason = why_skipped(session, work.config.capture)
        if reason:
            skipped[session.ref] = reason
        elif known and known.failure and known.failure.final and not retry_failed:
            given_up.append(session.ref)
        elif known is None or not _is_settled(session, known):
            window = known.window if known else None
            since = window.last_at if window and window.ended else None
            since = since or _unread_since(work, session, known.position if known else 0)
            queue.append((since, session.ref, session))
            continue
        finished(session)
    heapq.heapify(queue)
    return queue, skipped, given_up


def _unread_since(work: Work, session: Session, position: int | None = None) -> datetime:
    if position is None:
        known = states.load(work.home).sessions.get(session.ref)
        position = known.position if known else 0
    limit = work.config.capture.max_record_megabytes << 20
    try:
        return read.said_at(session, position, limit) or LATEST
    except TranscriptError:
        return LATEST  # the step meets the same error and reports it


def _held(known: Progress) -> bool:
    return known.failure is not None and known.failure.model


def _is_settled(session: Session, known: Progress) -> bool:
    """Read to the end, closed, and not grown since: most sessions, most of the time."""
    if known.window is not None or known.failure is not None or not known.position:
        return False
    try:
        return format_of(session).size(session) == known.position
    except TranscriptError:
        return False


def _close_absent(
    work: Work, found: Iterable[Session], closing: bool, earlier: Mapping[str, Failure | None]
) -> list[Report]:
    present = {session.ref for session in found}
    reports: list[Report] = []
    for ref, progress in states.load(work.home).sessions.items():
        if progress.window and ref not in present and not Path(progress.path).exists():
            reports.append(close_absent(work, ref, closing, earlier.get(ref)))
    return reports


def _note_failure(work: Work, session: Session, error: str) -> None:
    with work.home.locked():
        state = states.load(work.home)
        known = state.sessions.get(session.ref) or Progress(
            host=session.host, id=session.id, path=str(session.path), part=session.part
        )
        again = known.failure is not None and not known.failure.model
        retries = known.failure.retries + 1 if known.failure and again else 0
        noted = msgspec.structs.replace(known, failure=Failure(work.now, error, retries))
        states.save(work.home, state.with_session(session.ref, noted))
    work.home.trace("failure", where=session.ref, error=error)


def _prune(work: Work) -> list[str]:
    with work.home.locked():
        state = states.load(work.home)
        kept, pruned = states.prune_sessions(state, work.now, work.config.state.keep_days)
        if pruned:
            states.save(work.home, kept)
            work.home.trace("pruned", sessions=pruned)
    return pruned


def _follow_rotations(home: Home, state: State, sessions: Iterable[Session]) -> State:
    """A session file that was rotated away takes its cursor with it."""
    moved = dict(state.sessions)
    for session in sessions:
        base = session.ref.partition("@")[0]
        known = moved.get(base)
        rotated = session.part.startswith(("reset.", "deleted."))
        if not rotated or session.ref in moved or known is None:
            continue
        try:
            same = known.head and known.head == jsonl.fingerprint(session.path)
        except TranscriptError:
            continue
        if same:
            moved[session.ref] = msgspec.structs.replace(
                moved.pop(base), path=str(session.path), part=session.part
            )
    if moved != state.sessions:
        state = msgspec.structs.replace(state, sessions=moved)
        states.save(home, state)
    return state


# -----------------------------------------------------------------------------
# catch_up: the one call behind every trigger.
#
# read past the cursor -> archive -> distil -> append -> close
#
# One `step` takes at most what belongs to the current window of a session. It is idempotent, and
# safe across crashes at any point: the archive file is replaced whole (written again, it is the
# same), then one write of state.json advances the cursor; what was said is now kept. Distilling
# has a cursor of its own (`distil`), and its entries get into the log exactly once (`batch`).
#
# Entries are derived from the archived turns, never from the host's raw records, so that a
# transcript alone is enough to derive them again, and the portions in which a conversation
# arrived leave no trace in what the rules find.


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
    progress = read.find(work.home, state, session)
    if progress.window and progress.window.ended:  # its entries are still to come
        if windows.body(work.home, progress.window) is None:
            _read_again(work, state, progress, session, progress.window)
        return Report(ref=session.ref), True
    if session.ref not in state.sessions:
        # Known before its first archive is written: a crash in between must not make
        # that archive look like the trace of a lost cursor.
        state = state.with_session(session.ref, progress)
        states.save(work.home, state)
    progress = read.anchored(work.home, work.config, progress, session)
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
    after = msgspec.structs.replace(after, tail=read.tail(session, after.position))
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
    front = windows.front(session, portion, window, progress.head)
    work.home.replace(work.home.root / window.path, archive.compose(front, window.title, body))
    after = msgspec.structs.replace(
        windows.advance(progress, portion, work.now),
        window=window,
        windows=window.number,
        recent=(*progress.recent, *(message.id for message in messages))[-RECENT:],
        tail=read.tail(session, portion.position),
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
