"""catch_up: the one call behind every trigger. Triggers decide only when.

    read past the cursor -> archive -> learn -> append -> close

It recovers whatever a crash, a missed hook or a long absence left behind. Windows are taken in the
order in which they were said, across all sessions, so that a correction finds what it corrects. A
session that fails is tried once more the next time, and then shown as failed until a person asks
for a retry; where the model failed, rules read the words the second time.

Each step takes at most what belongs to the current window of a session, and is safe across crashes:
the archive file is replaced whole, then one write of state.json advances the cursor. Learning has a
cursor of its own (`reading`), and its entries get into the log exactly once (`entries.append`).
They are derived from the archived turns alone, never from the host's records, so that they can be
derived again, and the portions in which a conversation arrived leave no trace in them.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from wakebook.base.errors import TranscriptError, WakebookError
from wakebook.base.home import Home
from wakebook.capture import archive, read
from wakebook.capture import project as projects
from wakebook.capture import state as states
from wakebook.capture import window as windows
from wakebook.capture.hosts import format_of, jsonl
from wakebook.capture.project import agent_of
from wakebook.capture.state import RECENT, UNREAD, Failure, Progress, Session, State, Window
from wakebook.capture.window import Portion
from wakebook.learn.entries import settle
from wakebook.learn.reading import Report, Work, learn
from wakebook.log import erased, subjects

LATEST = datetime.max.replace(tzinfo=UTC)
Told = Callable[[Session, Report], None]


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """What catching up has done."""

    reports: tuple[Report, ...] = ()
    failed: dict[str, str] = {}  # session -> error, this time
    held: dict[str, str] = {}  # session -> why the model failed; the next time it is tried again
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


def catch_up(
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
    found = {session.ref: session for session in sessions}
    with work.home.locked():
        work.home.sweep_temporary()
        subjects.load(work.home)  # broken, it would make every session fail
        state = _follow_rotations(work.home, settle(work.home), found.values())
        state = _without_recovered(work.home, state, found)
    earlier = {ref: known.failure for ref, known in state.sessions.items() if known.held}
    queue: list[tuple[datetime, str, Session]] = []  # by the time of the first unread message
    skipped: dict[str, str] = {}
    skipped_for = projects.skipping(work.home, work.config)
    given_up: list[str] = []
    for ref, session in found.items():
        known = state.sessions.get(ref)
        if reason := skipped_for(session):
            skipped[ref] = reason
        elif known and known.failure and known.failure.final and not retry_failed:
            given_up.append(ref)
        elif known is None or not _is_settled(session, known):
            heapq.heappush(queue, (_waiting_since(work, session, known), ref, session))
            continue
        finished(session)
    reports: dict[str, Report] = {}
    failed: dict[str, str] = {}
    while queue and not stopped():
        _, ref, session = heapq.heappop(queue)
        report, more, error = _tried(work, session, closing, earlier.get(ref))
        if error:
            failed[ref] = error
            _note_failure(work, session, error)
        else:
            reports[ref] = reports.get(ref, Report(ref=ref)).plus(report)
            told(session, report)
        if more:
            known = states.load(work.home).sessions.get(ref)
            since = _unread_since(work, session, known.position if known else 0)
            heapq.heappush(queue, (since, ref, session))
        else:
            finished(session)
    for ref, progress in states.load(work.home).sessions.items() if absent else ():
        if progress.window and ref not in found and not Path(progress.path).exists():
            reports[ref] = _close_absent(work, ref, closing, earlier.get(ref))
    return Sweep(
        reports=tuple(reports.values()),
        failed=failed,
        held={report.ref: report.held for report in reports.values() if report.held},
        given_up=tuple(given_up),
        skipped=skipped,
        pruned=tuple(_prune(work)),
    )


def _tried(
    work: Work, session: Session, closing: bool, earlier: Failure | None
) -> tuple[Report, bool, str]:
    """What one step did, whether there may be more, and why it failed."""
    try:
        return (*_step(work, session, closing, earlier), "")
    except TranscriptError as error:
        reason = str(error)
    except (WakebookError, OSError):
        raise  # not this session's fault: a locked home, a broken registry, a full disk
    except Exception as error:  # noqa: BLE001 - one bad session must not stop the others
        reason = repr(error)
    return Report(ref=session.ref), False, reason


def _waiting_since(work: Work, session: Session, known: Progress | None) -> datetime:
    if known and known.window and known.window.ended:
        return known.window.last_at
    return _unread_since(work, session, known.position if known else 0)


def _unread_since(work: Work, session: Session, position: int) -> datetime:
    try:
        return read.said_at(session, position, work.record_limit) or LATEST
    except TranscriptError:
        return LATEST  # the step meets the same error and reports it


def _is_settled(session: Session, known: Progress) -> bool:
    """Read to the end, closed, and not grown since: most sessions, most of the time."""
    if known.window is not None or known.failure is not None or not known.position:
        return False
    try:
        return format_of(session).size(session) == known.position
    except TranscriptError:
        return False


def _note_failure(work: Work, session: Session, error: str) -> None:
    with work.home.locked():
        state = states.load(work.home)
        known = state.sessions.get(session.ref) or Progress(
            host=session.host, id=session.id, path=str(session.path), part=session.part
        )
        again = known.failure is not None and not known.held
        retries = known.failure.retries + 1 if known.failure and again else 0
        noted = known.with_(failure=Failure(work.now, error, retries))
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
            del moved[base]
            moved[session.ref] = known.with_(path=str(session.path), part=session.part)
    if moved != state.sessions:
        state = msgspec.structs.replace(state, sessions=moved)
        states.save(home, state)
    return state


def _without_recovered(home: Home, state: State, found: Mapping[str, Session]) -> State:
    """A store that could not be read stood for its sessions; it goes when they are there."""
    there = {str(session.path) for session in found.values()}
    kept = {
        ref: known
        for ref, known in state.sessions.items()
        if ref in found or not ref.endswith(UNREAD) or known.path not in there
    }
    if len(kept) < len(state.sessions):
        state = msgspec.structs.replace(state, sessions=kept)
        states.save(home, state)
    return state


# --- one step: archive, then learn ---------------------------------------------------------
def _step(
    work: Work, session: Session, closing: bool, earlier: Failure | None
) -> tuple[Report, bool]:
    """Take the next portion of a session: at most to the end of its current window.

    Returns whether there may be more. A window ends at a reset, after a long pause, and at
    a size limit. With `closing`, or when the last words are older than that pause, it ends
    where the source ends, and gets its handoff. `earlier`: how a model has failed at it.
    """
    with work.home.locked():
        report, more = _archive(work, session, closing)
    done = learn(work, session.ref, earlier)
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
    stones = erased.load(work.home)
    kept = stones.of_session(session.id) if stones else None
    portion = windows.collect(work.config, progress, session, closing, work.now, kept)
    if not portion.cut and not closing and (session.ended or work.idle(portion.last_at)):
        closing = True
        portion = windows.collect(work.config, progress, session, closing, work.now, kept)
    ended = portion.cut or ("closed" if closing else "")
    if portion.batch or (progress.window and ended):
        report = _write(work, state, progress, session, portion, ended)
        return (report, bool(portion.cut)) if report else (Report(ref=session.ref), True)
    after = windows.advance(progress, portion, work.now)
    after = after.with_(tail=read.tail(session, after.position))
    if after != state.sessions[session.ref]:
        states.save(work.home, state.with_session(session.ref, after))
    return Report(ref=session.ref), bool(portion.cut)


def _close_absent(work: Work, ref: str, closing: bool, earlier: Failure | None) -> Report:
    """End the open window of a session whose source is gone, from its transcript alone."""
    with work.home.locked():
        state = settle(work.home)
        progress = state.sessions.get(ref)
        window = progress.window if progress else None
        if progress is None or window is None:
            return Report(ref=ref)
        if not (window.ended or closing or work.idle(window.last_at)):
            return Report(ref=ref)
        if not window.ended:
            after = progress.with_(window=window.with_(ended="gone"))
            states.save(work.home, state.with_session(ref, after))
    return learn(work, ref, earlier)


def _write(
    work: Work, state: State, progress: Progress, session: Session, portion: Portion, ended: str
) -> Report | None:
    """Archive and advance. None if the cursor went back and it must be read again."""
    messages = [item.message for item in portion.batch if windows.visible(item.message)]
    window = progress.window or windows.opened(work.home, progress, session, messages[0])
    body = windows.body(work.home, window)
    if body is None:  # the open transcript was removed: read its part again
        _read_again(work, state, progress, session, window)
        return None
    text, tail = archive.render(messages, window.tail)
    body += text
    redacted = sum(item.redacted for item in portion.batch)
    window = window.with_(
        last_at=portion.last_at,
        messages=window.messages + len(messages),
        tokens_in=window.tokens_in + sum(message.tokens_in for message in messages),
        tokens_out=window.tokens_out + sum(message.tokens_out for message in messages),
        redacted=window.redacted + redacted,
        echoes=window.echoes + sum(item.echoes for item in portion.batch),
        tail=tail,
        size=len(body.encode()),
        ended=ended,
        project=projects.noted(work.home, portion.cwd, agent_of(session.key)),
    )
    front = windows.front(session, portion, window, progress.head)
    text = archive.compose(front, window.title, body)
    archive.write(work.home, window.path, text)
    after = windows.advance(progress, portion, work.now).with_(
        window=window,
        windows=window.number,
        recent=(*progress.recent, *(message.id for message in messages))[-RECENT:],
        tail=read.tail(session, portion.position),
        last_at=portion.last_at,
        messages=progress.messages + len(messages),
        touched_at=work.now,
    )
    states.save(work.home, state.with_session(session.ref, after))
    return Report(ref=session.ref, messages=len(messages), redacted=redacted)


def _read_again(
    work: Work, state: State, progress: Progress, session: Session, window: Window
) -> None:
    work.home.trace("archive-lost", session=session.ref, path=window.path)
    again = progress.with_(position=window.start, tail="", window=None, windows=window.number - 1)
    states.save(work.home, state.with_session(session.ref, again))
