"""Watching: catch up soon after something was said, and run the jobs when they are due.

A session that gained enough new records is caught up on at once, but not again within its
cooldown. Everything else is a job, catching up on all sessions included (`observe`): once a
minute of the wall clock Wakebook looks whether one is due, so that a machine that slept or
a clock that was set is nothing special. A missed trigger costs minutes at most, never a
conversation.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Event

from wakebook.base import clock
from wakebook.base.config import Config, expand
from wakebook.base.errors import TranscriptError
from wakebook.capture.discover import outside, sessions_at
from wakebook.capture.hosts import format_of
from wakebook.capture.state import Session, State, why_skipped

POLL_SECONDS = 1.0
ANEW_SECONDS = 900.0  # folders are looked up again: one may have been removed and made again


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
            for _ in format_of(session).records(session, position, limit, False):
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
        return outside(sessions_at(path)) if path.is_file() else []
    except TranscriptError:
        return []  # not a session file


def watch(
    config: Config,
    load_state: Callable[[], State],
    catch_up: Callable[[list[Session]], None],
    stop: Event,
    tick: Callable[[], object] = lambda: None,
) -> None:
    """Run until `stop` is set. `tick` is called once a minute, and runs what is due."""
    watcher = Watcher(config)
    looked = None
    while not stop.is_set():
        folders = _roots(config)
        until = clock.monotonic() + ANEW_SECONDS
        for changed in _changes(folders, stop):
            due = watcher.due(changed, load_state(), clock.monotonic()) if changed else []
            if due:
                catch_up(due)
            minute = clock.now().replace(second=0, microsecond=0)
            if minute != looked and not stop.is_set():
                looked = minute
                tick()
            if clock.monotonic() >= until or _roots(config) != folders:
                break


def _changes(folders: list[Path], stop: Event) -> Iterator[list[Path]]:
    """The files that change, every second or so; mostly none. Ends with `stop`."""
    if not folders:
        while not stop.wait(POLL_SECONDS):
            yield []
        return
    import watchfiles

    changes = watchfiles.watch(
        *folders,
        debounce=50,
        step=10,
        stop_event=stop,
        rust_timeout=int(POLL_SECONDS * 1000),
        yield_on_timeout=True,
        raise_interrupt=False,
        watch_filter=None,
    )
    for change in changes:
        yield [Path(path) for _, path in change]


def _roots(config: Config) -> list[Path]:
    named = config.hosts.values().values()
    folders = [expand(path) for paths in named for path in paths]
    return [folder for folder in folders if folder.is_dir()]
