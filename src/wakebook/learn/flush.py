"""The flush: a session is saved before its host compacts it, and then it is checked.

It is one more catch_up, once in each compaction round. What it is worth is the check: the cursor
stands at the end of the source, nothing has failed, and the transcripts and entries are in the
home. A flush that saved nothing says why. The round is noted last, so that a flush that was
killed or has failed is done again.
"""

from collections.abc import Callable, Sequence

import msgspec

from wakebook.base import clock
from wakebook.base.config import Config, Flush
from wakebook.base.errors import TranscriptError, WakebookError
from wakebook.base.home import Home
from wakebook.capture import state as states
from wakebook.capture.hosts import format_of
from wakebook.capture.state import Progress, Session, State
from wakebook.capture.transcript import Boundary
from wakebook.learn.account import UNACCOUNTED, Account, audit
from wakebook.learn.catch_up import Sweep
from wakebook.learn.entries import settle
from wakebook.log.chains import Chains

TRIES = 3
GROWING = "the agent's last turn is read for entries when it is complete"
COVERED = "rules read what the model should have (`catch-up --upgrade` reads it again)"
SILENT = ("plain",)  # hosts whose files do not tell when a conversation was compacted


class Due(msgspec.Struct, frozen=True):
    """Whether it is time. True or false, with the reason."""

    due: bool
    reason: str
    threshold: int  # tokens

    def __bool__(self) -> bool:
        return self.due


class Flushed(msgspec.Struct, frozen=True, kw_only=True):
    session: str
    ok: bool = True  # nothing is left unsaved, or it was not time yet
    due: bool = True  # whether it was done at all
    messages: int = 0  # archived by this flush
    entries: int = 0  # learned by this flush
    round: int | None = None  # how often the host has compacted it, as far as Wakebook knows
    why: str = ""  # why nothing was saved, or what is wrong
    note: str = ""  # what is still to come
    kept: bool = True  # otherwise it is of a kind that is not kept, and nothing was saved


def flush_due(
    total_tokens: int,
    context_window: int,
    settings: Flush,
    *,
    compactions: int | None = None,
    flushed_at: int | None = None,
) -> Due:
    """Whether a session with so many tokens should be saved now.

    `compactions`: how often it has been compacted; `flushed_at`: what that was at its last flush.
    Where they are the same, this round is done.
    """
    threshold = _threshold(context_window, settings)
    if not settings.enabled:
        return Due(False, "it is switched off ([flush] enabled)", threshold)
    if total_tokens < threshold:
        so_far = f"{total_tokens:,} of {context_window:,} tokens"
        return Due(False, f"{so_far} are used, and it is due at {threshold:,}", threshold)
    if compactions is not None and compactions == flushed_at:
        return Due(False, f"it was done in this round already (round {compactions})", threshold)
    return Due(True, f"{total_tokens:,} tokens, due at {threshold:,}", threshold)


def _threshold(window: int, settings: Flush) -> int:
    """In a window that is smaller than the reserves: half of it."""
    if window < 1:
        raise WakebookError(f"A context window of {window} tokens: it must have at least 1.")
    left = window - settings.reserve_tokens_floor - settings.soft_threshold_tokens
    return left if left > 0 else max(1, window // 2)


def rounds(sessions: Sequence[Session], config: Config) -> int | None:
    """How often a session's source says that it was compacted. None: it does not say."""
    if any(session.host in SILENT for session in sessions):
        return None
    limit = config.capture.max_record_megabytes << 20
    every = (format_of(session).records(session, 0, limit, False) for session in sessions)
    try:
        events = (event for records in every for record in records for event in record.events)
        return sum(isinstance(event, Boundary) and event.kind == "compaction" for event in events)
    except TranscriptError:
        return None  # the catch-up meets the same error and reports it


def flushed_at(state: State, sessions: Sequence[Session]) -> int | None:
    """The last round in which a session was saved."""
    known = (state.sessions.get(session.ref) for session in sessions)
    return max((one.flushed for one in known if one and one.flushed is not None), default=None)


def mark(home: Home, sessions: Sequence[Session], done: int) -> None:
    """Note that a session was saved in this round."""
    with home.locked():
        state = after = settle(home)
        for session in sessions:
            if known := state.sessions.get(session.ref):
                after = after.with_session(session.ref, known.with_(flushed=done))
        if after != state:
            states.save(home, after)


def save(
    home: Home,
    config: Config,
    sessions: Sequence[Session],
    catch_up: Callable[[], Sweep],
    chains: Callable[[], Chains],
) -> Flushed:
    """Catch up on a session, and check from the home's side that nothing is left.

    While its host is still writing it may be behind again at once: then once more.
    """
    before = states.load(home)
    refs = {session.ref for session in sessions}
    sweeps: list[Sweep] = []
    accounts: list[Account] = []
    while len(sweeps) < TRIES and (not sweeps or any(a.status == "behind" for a in accounts)):
        sweeps.append(catch_up())
        known = states.load(home).sessions
        ours = State(sessions={ref: one for ref, one in known.items() if ref in refs})
        accounts = audit(home, chains(), ours, sessions, config)
    done = _checked(home, sessions[0].ref, accounts, sweeps, before)
    if done.ok:
        home.trace("flushed", session=done.session, messages=done.messages, entries=done.entries)
    else:
        home.trace("failure", where=f"flush {done.session}", error=done.why)
    return done


def unknown(home: Home, name: str, error: str) -> Flushed:
    """What was asked for is not there, so it is not saved."""
    home.trace("failure", where=f"flush {name}", error=error)
    return Flushed(session=name, ok=False, why=error)


def _checked(
    home: Home, ref: str, accounts: Sequence[Account], sweeps: Sequence[Sweep], before: State
) -> Flushed:
    known = states.load(home).sessions
    ours = {one.ref: known[one.ref] for one in accounts if one.ref in known}
    wrong = [_wrong(one, ours.get(one.ref)) for one in accounts if one.status in UNACCOUNTED]
    if not wrong and any(report.busy for report in sweeps[-1].reports):
        wrong = ["another process is having it read: what was said is archived; try again soon"]
    waits = [one.note for one in accounts if one.status in ("held", "torn")]
    windows = [one.window for one in ours.values() if one.window]
    waits += [GROWING for one in windows if one.tail.turns > one.extracted]
    waits += [COVERED for sweep in sweeps if sweep.covered]
    done = Flushed(
        session=ref,
        ok=not wrong,
        messages=sum(sweep.messages for sweep in sweeps),
        entries=sum(sweep.entries for sweep in sweeps),
        note="; ".join(dict.fromkeys(waits)),
    )
    why = "; ".join(wrong) or _why_nothing(done, accounts, ours, before)
    kept = any(account.status != "skipped" for account in accounts)
    return msgspec.structs.replace(done, why=why, kept=kept)


def _wrong(account: Account, known: Progress | None) -> str:
    if known and known.failure and known.failure.model:
        return f"the model failed, and what was said is archived: {account.note}"
    return f"{account.status}: {account.note}"


def _why_nothing(
    done: Flushed, accounts: Sequence[Account], ours: dict[str, Progress], before: State
) -> str:
    if done.entries:
        return ""
    skipped = [account.note for account in accounts if account.status == "skipped"]
    if len(skipped) == len(accounts):
        return f"this kind of session is not kept ({', '.join(skipped)}; [capture] in config.toml)"
    if not done.messages:
        touched = [one.touched_at for one in ours.values() if one.touched_at]
        since = f" ({clock.iso(max(touched))})" if touched else ""
        return f"nothing was said since the last time{since}"
    count = "1 message is" if done.messages == 1 else f"{done.messages:,} messages are"
    if all(_unread(known, before.sessions.get(ref)) for ref, known in ours.items()):
        return f"{count} archived, and none of them is complete enough to be read"
    return f"{count} archived, and nothing in them was worth an entry"


def _unread(known: Progress, earlier: Progress | None) -> bool:
    """Whether no turn of it has been read since then."""
    was = earlier.window if earlier else None
    now = known.window
    if now is None or was is None or was.path != now.path:
        return now is not None and now.extracted == 0
    return now.extracted == was.extracted
