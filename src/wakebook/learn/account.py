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
missing   transcripts or entries that came of it are gone
changed   a closed transcript is not what it was when it was closed
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from wakebook.base.config import Config
from wakebook.base.errors import TranscriptError, WakebookError
from wakebook.base.home import Home
from wakebook.capture import archive
from wakebook.capture import project as projects
from wakebook.capture.hosts import format_of
from wakebook.capture.read import Reader
from wakebook.capture.state import Failure, Progress, Session, State, why_skipped
from wakebook.capture.transcript import Boundary
from wakebook.log import forgotten
from wakebook.log.chains import Chains
from wakebook.log.forgotten import Forgotten

UNACCOUNTED = ("behind", "failed", "lost", "missing", "changed")


class Account(msgspec.Struct, frozen=True, kw_only=True):
    ref: str
    path: str
    status: str
    unit: str = "bytes"
    size: int = 0  # of the source
    seen: int = 0  # read, in the same unit
    messages: int = 0  # archived
    entries: int = 0  # extracted
    unread: dict[str, int] = {}  # records of an unknown form
    note: str = ""

    def saying(self, status: str, note: str) -> Account:
        return msgspec.structs.replace(self, status=status, note=note)

    def counting(self, progress: Progress) -> Account:
        return msgspec.structs.replace(
            self,
            seen=progress.position,
            messages=progress.messages,
            entries=progress.entries,
            unread=progress.unread,
        )


def audit(
    home: Home,
    chains: Chains,
    state: State,
    sessions: Iterable[Session],
    config: Config,
    rewritten: Iterable[tuple[str, str]] = (),
) -> list[Account]:
    """An account of every source that exists or was ever read, and of every closed transcript that
    was `rewritten` since (path, how). Writes nothing."""
    found = {session.ref: session for session in sessions}
    known = state.sessions
    why = projects.skipping(home, config)
    accounts = [_account(one, known.get(ref), config, why(one)) for ref, one in found.items()]
    accounts += [_absent(ref, one, config) for ref, one in known.items() if ref not in found]
    there = _Kept(home, chains, state)
    accounts = [there.checked(account) for account in accounts]
    for path, how in rewritten:
        accounts.append(Account(ref=path, path=str(home.root / path), status="changed", note=how))
    return sorted(accounts, key=lambda account: (account.status not in UNACCOUNTED, account.ref))


class _Kept:
    """What is in the home now, against what was put there."""

    def __init__(self, home: Home, chains: Chains, state: State) -> None:
        self._state = state
        self._parts: dict[tuple[str, str], list[Progress]] = {}  # by host and session
        for one in state.sessions.values():
            self._parts.setdefault((one.host, one.id), []).append(one)
        self._entries = Counter(entry.session for entry in chains.entries)
        self._files = sorted(path.name[5:] for path in home.conversations.glob("*/*/*/*.md"))
        self._home, self._forgotten = home, _forgotten(home)

    def checked(self, account: Account) -> Account:
        progress = self._state.sessions.get(account.ref)
        if progress is None or account.status in UNACCOUNTED:
            return account
        parts = self._parts[progress.host, progress.id]
        windows = max(one.windows for one in parts)
        entries = sum(one.entries for one in parts)
        gone = []
        if (files := _count(self._files, progress.id)) < windows:
            gone.append(f"{windows - files} of {windows} transcripts")
        there = self._entries[progress.id]
        if there < entries and there + self._gone(progress.id) < entries:
            gone.append(f"{entries - there} of {entries} entries")
        if not gone:
            return account
        note = f"{' and '.join(gone)} are gone: `git log` in the home shows what happened"
        return account.saying("missing", note)

    def _gone(self, session: str) -> int:
        """Entries of a session that were forgotten."""
        return self._forgotten.of(session, archive.paths_of(self._home, session))


def _forgotten(home: Home) -> Forgotten:
    try:
        return forgotten.load(home)
    except WakebookError:
        return Forgotten()  # whatever writes complains about it


def _count(names: Sequence[str], session: str) -> int:
    """How many of the transcripts' names, sorted, are of a session."""
    prefix = f"{archive.file_part(session)}-"
    start = bisect.bisect_left(names, prefix)
    return bisect.bisect_left(names, prefix[:-1] + ".", start) - start


def _account(
    session: Session, progress: Progress | None, config: Config, reason: str | None
) -> Account:
    form = format_of(session)
    account = Account(ref=session.ref, path=str(session.path), status="skipped", unit=form.unit)
    account = msgspec.structs.replace(account, size=session.size, note=reason or "")
    if reason:
        return account
    if progress:
        account = account.counting(progress)
        if progress.failure:
            return account.saying("failed", _what_next(progress.failure))
    try:
        status, note = _remaining(session, progress, config)
        size = form.size(session)
    except TranscriptError as error:
        return account.saying("failed", str(error))
    return msgspec.structs.replace(account, status=status, note=note, size=size)


def _what_next(failure: Failure) -> str:
    again = "run catch-up --retry-failed" if failure.final else "will be retried"
    if failure.model:
        again = "the next catch-up tries again, then rules read it"
    return f"{failure.error} ({again})"


def _remaining(session: Session, progress: Progress | None, config: Config) -> tuple[str, str]:
    """What lies past the cursor: nothing, something that has to wait, or work to do."""
    host = format_of(session)
    position, window = (progress.position, progress.window) if progress else (0, None)
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
    if window and window.ended:
        return "behind", "archived, and still to be read: run catch-up"
    return ("open", "") if window else ("ok", "")


def _absent(ref: str, progress: Progress, config: Config) -> Account:
    """A source that discovery did not find: read from elsewhere, or deleted by its host."""
    session = progress.session()
    if session.path.exists():
        return _account(session, progress, config, why_skipped(session, config.capture))
    left = progress.size - progress.position
    account = Account(ref=ref, path=progress.path, status="gone", size=progress.size)
    account = account.counting(progress)
    if progress.failure and progress.held and left <= 0:  # archived to the end
        return account.saying("failed", _what_next(progress.failure))
    if progress.failure or left > 0:
        note = progress.failure.error if progress.failure else f"{left:,} unread"
        return account.saying("lost", note)
    return account
