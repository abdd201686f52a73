"""The audit: every source is accounted for, or the exit code says that one is not.

ok        read to the end
open      read to the end; the session is still going on
held      only an unfinished exchange is left (a tool has not answered yet)
torn      only a half-written last line is left
skipped   a kind of session that is not kept
gone      the host deleted it; it had been read to the end
behind    there is more to read: run catch-up
failed    it could not be read; see the error
lost      the host deleted it before it was read to the end
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from wakebook.capture.discover import host_of
from wakebook.capture.read import Reader
from wakebook.capture.session import Session, why_skipped
from wakebook.capture.state import Progress, State
from wakebook.capture.transcript import Boundary
from wakebook.config import Config
from wakebook.errors import TranscriptError

UNACCOUNTED = ("behind", "failed", "lost")


class Account(msgspec.Struct, frozen=True, kw_only=True):
    ref: str
    path: str
    status: str
    unit: str = "bytes"
    size: int = 0  # of the source
    seen: int = 0  # read, in the same unit
    messages: int = 0  # archived
    entries: int = 0  # extracted
    unread: dict[str, int] = {}  # records that nobody could understand
    note: str = ""


def audit(state: State, sessions: Iterable[Session], config: Config) -> list[Account]:
    """An account of every source that exists or was ever read. Writes nothing."""
    found = {session.ref: session for session in sessions}
    accounts = [_account(session, state, config) for session in found.values()]
    for ref, progress in state.sessions.items():
        if ref not in found:
            accounts.append(_absent(ref, progress, config))
    return sorted(accounts, key=lambda account: (account.status not in UNACCOUNTED, account.ref))


def _account(session: Session, state: State, config: Config) -> Account:
    progress = state.sessions.get(session.ref)
    reason = why_skipped(session, config.capture)
    host = host_of(session)
    base = Account(
        ref=session.ref,
        path=str(session.path),
        status="skipped",
        unit=host.unit,
        size=session.size,
        note=reason or "",
    )
    if reason:
        return base
    if progress:
        base = msgspec.structs.replace(
            base,
            seen=progress.position,
            messages=progress.messages,
            entries=progress.entries,
            unread=progress.unread,
        )
        if progress.failure:
            again = "run catch-up --retry-failed" if progress.failure.final else "will be retried"
            return msgspec.structs.replace(
                base, status="failed", note=f"{progress.failure.error} ({again})"
            )
    try:
        status, note = _remaining(session, progress, config)
        size = host.size(session)
    except TranscriptError as error:
        return msgspec.structs.replace(base, status="failed", note=str(error))
    return msgspec.structs.replace(base, status=status, note=note, size=size)


def _remaining(session: Session, progress: Progress | None, config: Config) -> tuple[str, str]:
    """What lies past the cursor: nothing, something that has to wait, or work to do."""
    host = host_of(session)
    position = progress.position if progress else 0
    limit = config.capture.max_record_megabytes << 20
    left = host.size(session) - position
    if progress is None and left:
        return "behind", "never read"
    if left > 0:
        reader = Reader(session, position, limit, closing=False)
        for item in reader:
            if not isinstance(item, Boundary) or item.kind == "reset":
                return "behind", f"{left:,} {host.unit} to read"
        if any(True for _ in Reader(session, position, limit, closing=True)):
            return "held", "waits for a tool's answer or the end of the session"
        if host.unit == "bytes" and reader.position < host.size(session):
            return "torn", f"{host.size(session) - reader.position:,} bytes of an unfinished line"
    return ("open", "") if progress and progress.window else ("ok", "")


def _absent(ref: str, progress: Progress, config: Config) -> Account:
    """A source that discovery did not find: read from elsewhere, or deleted by its host."""
    session = Session(
        host=progress.host,
        id=progress.id,
        path=Path(progress.path),
        kind=progress.kind,  # type: ignore[arg-type]
        key=progress.key,
        part=progress.part,
        size=progress.size,
    )
    if session.path.exists():
        return _account(session, State(sessions={ref: progress}), config)
    left = progress.size - progress.position
    account = Account(
        ref=ref,
        path=progress.path,
        status="gone",
        size=progress.size,
        seen=progress.position,
        messages=progress.messages,
        entries=progress.entries,
        unread=progress.unread,
    )
    if progress.failure or left > 0:
        note = progress.failure.error if progress.failure else f"{left:,} unread"
        return msgspec.structs.replace(account, status="lost", note=note)
    return account
