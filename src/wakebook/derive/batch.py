"""Exactly once: how entries get into the log together with the progress that they stand for.

1. The batch, ids included, goes to state.json as pending.
2. The log is appended to in one write.
3. One write of state.json advances the progress and clears the batch.

A process that finds a pending batch first finishes it (`settle`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from wakebook.capture import state as states
from wakebook.capture.state import Pending, Progress, State
from wakebook.home import Home
from wakebook.log import log, subjects
from wakebook.log.entry import Entry, as_dict, from_dict


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
    state = _after(state, pending.ref, pending.progress)
    states.save(home, state)
    home.trace("settled", session=pending.ref, entries=len(missing))
    return state


def append(
    home: Home, state: State, ref: str, after: Progress | None, entries: Sequence[Entry]
) -> None:
    """Put entries into the log and a session's progress into the state. Under the lock."""
    if entries:
        log.set_torn_aside(home)
        size = home.log.stat().st_size if home.log.exists() else 0
        pending = Pending(ref, size, [as_dict(entry) for entry in entries], after)
        states.save(home, msgspec.structs.replace(state, pending=pending))
        log.append(home, entries)
        _ensure_subjects(home, [entry.subject for entry in entries])
    states.save(home, _after(state, ref, after))


def _after(state: State, ref: str, progress: Progress | None) -> State:
    if progress is None:  # of a session that the state has long forgotten
        return msgspec.structs.replace(state, pending=None)
    return state.with_session(ref, progress, pending=None)


def _ensure_subjects(home: Home, names: Sequence[str]) -> None:
    registry = subjects.load(home)
    grown = registry.ensure(names)
    if grown != registry:
        subjects.save(home, grown)
