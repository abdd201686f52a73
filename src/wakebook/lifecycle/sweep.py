"""The sweep: bring every session up to date, whatever happens to one of them.

It recovers what a crash, a missed hook or a long absence left behind. A session that fails
is noted with its error and tried once more by the next sweep; after that it is shown as
failed until somebody asks for a retry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

import msgspec

from wakebook.capture import source
from wakebook.capture import state as states
from wakebook.capture.discover import host_of
from wakebook.capture.session import Session, why_skipped
from wakebook.capture.state import Failure, Progress, State
from wakebook.capture.transcript import Said
from wakebook.config import Config
from wakebook.derive.catch_up import Report, catch_up, settle
from wakebook.derive.extract import Extractor
from wakebook.errors import Locked, TranscriptError, WakebookError
from wakebook.home import Home
from wakebook.log.ledger import Ledger

LATEST = datetime.max.replace(tzinfo=UTC)


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    reports: tuple[Report, ...] = ()
    failed: dict[str, str] = {}  # session -> error, in this sweep
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
    def closed(self) -> tuple[str, ...]:
        return tuple(path for report in self.reports for path in report.closed)


def sweep(
    home: Home,
    config: Config,
    ledger: Ledger,
    extractor: Extractor,
    sessions: Iterable[Session],
    now: datetime,
    *,
    closing: bool = False,
    retry_failed: bool = False,
    step: Callable[[Session, Report | None], None] = lambda session, report: None,
) -> Sweep:
    """Catch up on these sessions, oldest news first. `step` is told of each one."""
    found = list(sessions)
    with home.locked():
        home.sweep_temporary()
        state = _follow_rotations(home, settle(home), found)
    wanted, skipped = _sorted_out(found, config, state)
    reports: list[Report] = []
    failed: dict[str, str] = {}
    given_up: list[str] = []
    for session in wanted:
        known = state.sessions.get(session.ref)
        if known and known.failure and known.failure.final and not retry_failed:
            given_up.append(session.ref)
            continue
        if known and _is_settled(session, known):
            step(session, None)
            continue
        try:
            report = catch_up(home, config, ledger, extractor, session, now, closing)
        except (Locked, OSError):
            raise  # not this session's fault: a busy home, a full disk, a read-only folder
        except Exception as error:  # noqa: BLE001 - one bad session must not stop the others
            text = str(error) if isinstance(error, WakebookError) else repr(error)
            failed[session.ref] = text
            _note_failure(home, session, text, now)
            step(session, None)
            continue
        reports.append(report)
        step(session, report)
    with home.locked():
        kept, pruned = states.prune(states.load(home), now, config.state.keep_days)
        if pruned:
            states.save(home, kept)
            home.trace("pruned", sessions=pruned)
    return Sweep(
        reports=tuple(reports),
        failed=failed,
        given_up=tuple(given_up),
        skipped=skipped,
        pruned=tuple(pruned),
    )


def _sorted_out(
    sessions: Iterable[Session], config: Config, state: State
) -> tuple[list[Session], dict[str, str]]:
    """Those to catch up on, in the order in which their unread part was said; and the rest."""
    wanted: dict[str, tuple[datetime, Session]] = {}
    skipped: dict[str, str] = {}
    for session in sessions:
        reason = why_skipped(session, config.capture)
        if reason:
            skipped[session.ref] = reason
        else:
            wanted[session.ref] = (_unread_since(session, state, config), session)
    ordered = sorted(wanted.values(), key=lambda pair: (pair[0], pair[1].ref))
    return [session for _, session in ordered], skipped


def _unread_since(session: Session, state: State, config: Config) -> datetime:
    known = state.sessions.get(session.ref)
    position = known.position if known else 0
    limit = config.capture.max_record_megabytes << 20
    try:
        for record in host_of(session).records(session, position, limit, True):
            for event in record.events:
                if isinstance(event, Said) and event.at:
                    return event.at
    except TranscriptError:
        pass  # catch_up meets the same error and reports it
    return LATEST


def _is_settled(session: Session, known: Progress) -> bool:
    """Read to the end, closed, and not grown since: most sessions, most of the time."""
    if known.window is not None or known.failure is not None or not known.position:
        return False
    try:
        return host_of(session).size(session) == known.position
    except TranscriptError:
        return False


def _note_failure(home: Home, session: Session, error: str, now: datetime) -> None:
    with home.locked():
        state = states.load(home)
        known = state.sessions.get(session.ref) or Progress(
            host=session.host, id=session.id, path=str(session.path), part=session.part
        )
        retries = known.failure.retries + 1 if known.failure else 0
        noted = msgspec.structs.replace(known, failure=Failure(now, error, retries))
        states.save(home, state.with_session(session.ref, noted))
    home.trace("failure", where=session.ref, error=error)


def _follow_rotations(home: Home, state: State, sessions: Iterable[Session]) -> State:
    """A session file that was rotated away takes its cursor with it."""
    moved = dict(state.sessions)
    for session in sessions:
        base = session.ref.partition("@")[0]
        known = moved.get(base)
        if not session.part or session.ref in moved or known is None:
            continue
        try:
            same = known.head and known.head == source.fingerprint(session.path)
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
