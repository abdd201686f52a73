"""Watching: catch up soon after something was said, and at least every so often.

A session that gained enough new records is caught up on at once, but not again within its
cooldown; everything is caught up on at the start and at every baseline. A missed trigger
therefore costs minutes at most, never a conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Event

from wakebook import clock
from wakebook.capture.discover import host_of, sessions_at
from wakebook.capture.session import Session, why_skipped
from wakebook.capture.state import State
from wakebook.config import Config, expand
from wakebook.errors import TranscriptError

POLL_MS = 1000


class Watcher:
    """Counts news per session. Pure but for reading the sources."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._fired: dict[str, float] = {}

    def due(self, changed: Iterable[Path], state: State, now: float) -> list[Session]:
        """The sessions behind these files that have gained enough to be caught up on."""
        found: list[Session] = []
        cooldown = self._config.watch.cooldown_minutes * 60
        for path in {_source(path) for path in changed}:
            for session in _sessions(path):
                last = self._fired.get(session.ref)
                if why_skipped(session, self._config.capture):
                    continue
                if last is not None and now - last < cooldown:
                    continue
                if self._news(session, state) >= self._config.watch.writes:
                    self._fired[session.ref] = now
                    found.append(session)
        return found

    def _news(self, session: Session, state: State) -> int:
        known = state.sessions.get(session.ref)
        position = known.position if known else 0
        limit = self._config.capture.max_record_megabytes << 20
        count = 0
        try:
            for _ in host_of(session).records(session, position, limit, False):
                count += 1
                if count >= self._config.watch.writes:
                    break
        except TranscriptError:
            return 0
        return count


def _source(path: Path) -> Path:
    """SQLite writes to files beside the one that holds the sessions."""
    for ending in ("-wal", "-shm", "-journal"):
        if path.name.endswith(ending):
            return path.with_name(path.name.removesuffix(ending))
    return path


def _sessions(path: Path) -> list[Session]:
    try:
        return sessions_at(path) if path.is_file() else []
    except TranscriptError:
        return []  # not a session file


def watch(
    config: Config,
    load_state: Callable[[], State],
    catch_up: Callable[[list[Session] | None], None],
    stop: Event,
) -> None:
    """Run until `stop` is set. `catch_up(None)` means everything."""
    import watchfiles

    watcher = Watcher(config)
    while not stop.is_set():
        catch_up(None)
        baseline = clock.monotonic() + config.watch.baseline_minutes * 60
        folders = _roots(config)
        if not folders:
            _wait(stop, baseline)
            continue
        changes = watchfiles.watch(
            *folders,
            debounce=50,
            step=10,
            stop_event=stop,
            rust_timeout=POLL_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            watch_filter=None,
        )
        for change in changes:
            if change:
                changed = [Path(path) for _, path in change]
                due = watcher.due(changed, load_state(), clock.monotonic())
                if due:
                    catch_up(due)
            if clock.monotonic() >= baseline:
                break


def _roots(config: Config) -> list[Path]:
    named = config.hosts.values().values()
    folders = [expand(path) for paths in named for path in paths]
    return [folder for folder in folders if folder.is_dir()]


def _wait(stop: Event, until: float) -> None:
    while not stop.is_set() and clock.monotonic() < until:
        stop.wait(1.0)
