"""Session: one conversation of one host; and State: how far every session has been read, and
when every job last ran (state.json).

Only sessions with a human in them are kept by default ("main"); subagents, cron jobs,
hooks and group chats are recognised and skipped, and `audit` counts them as skipped.

A cursor is a position in the source (a byte offset or a sequence number) plus the id of
the last message before it, never a time. The pending batch is what makes an append happen
exactly once: it is written here with its ids before the log is touched, and cleared in the
same write that advances the cursor.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import msgspec

from wakebook.base.config import Capture
from wakebook.base.decode import decode
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.capture.archive import Tail

VERSION = 1
BROKEN = "state.broken.json"
RETRIES = 1
RECENT = 32  # message ids that are remembered, to find the place again in a changed file
UNREAD = "-store"  # ends the id that a store with many sessions has while it cannot be read
MEMORIES = "memories/"  # how the channel of a session with imported memories begins

Kind = Literal["main", "group", "subagent", "cron", "hook"]


class Session(msgspec.Struct, frozen=True):
    host: str  # claude-code, codex, pi, openclaw, plain
    id: str  # the host's own session id
    path: Path  # the file that holds it
    kind: Kind = "main"
    key: str = ""  # OpenClaw's session key, where there is one
    parent: str = ""  # the session (or its file) that this one was forked from
    part: str = ""  # a rotated file of the same session id
    size: int = 0  # bytes, or the last sequence number
    cwd: str = ""
    channel: str = ""
    model: str = ""
    ended: bool = False  # its host goes on with another one

    @property
    def ref(self) -> str:
        """How state.json and the log name it: the host's id, with the part if rotated."""
        return f"{self.host}/{self.id}" + (f"@{self.part}" if self.part else "")


def holds_memories(channel: str) -> bool:
    """Whether a session holds the items of an old memory instead of talk."""
    return channel.startswith(MEMORIES)


def kind_of_key(key: str) -> Kind:
    """What an OpenClaw session key says: agent:<agent>:<rest>, or the bare rest."""
    parts = key.lower().split(":")
    if parts[0] == "agent" and len(parts) > 2:
        parts = parts[2:]
    if parts[0] == "cron":
        return "cron"
    if parts[0] == "hook":
        return "hook"
    if parts[0] in ("sub", "acp") or "subagent" in parts:
        return "subagent"
    return "group" if {"group", "channel", "room"} & set(parts) else "main"


def why_skipped(session: Session, capture: Capture) -> str | None:
    """The reason not to keep this session, or None to keep it."""
    from wakebook.base.echo import READING

    if f"/{READING}" in session.cwd:  # memory never feeds on itself
        return "a reading of Wakebook's own"
    if session.kind not in capture.kinds:
        return session.kind
    bare = session.key.split(":", 2)[2] if session.key.startswith("agent:") else session.key
    for beginning in capture.skip_keys:
        if session.key.startswith(beginning) or bare.startswith(beginning):
            return f"key {beginning}"
    return None


class Window(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The part of a session that is being written to one archive file."""

    path: str
    number: int
    title: str
    start: int  # in the source
    started_at: datetime
    last_at: datetime
    tail: Tail = Tail()
    extracted: int = 0  # turns that the extractor has seen
    messages: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    redacted: int = 0
    echoes: int = 0  # characters of our own text that were kept out
    entries: tuple[str, ...] = ()  # ids that came out of it
    subjects: tuple[str, ...] = ()
    project: str = ""  # its key (see `project`)
    draft: str = ""  # the handoff as it would be now
    draft_detail: str = ""
    size: int = 0  # bytes of the body: what follows in the file is from a crash
    covered: bool = False  # rules have read a part that a model should have
    ended: str = ""  # why it has ended, while its last entries are still to be extracted

    def with_(self, **changes: Any) -> Window:
        return msgspec.structs.replace(self, **changes)


class Failure(msgspec.Struct, frozen=True):
    at: datetime
    error: str
    retries: int = 0  # -1: it was not even tried, because the model was left alone
    model: bool = False  # it was the model: the next time, rules take its place

    @property
    def final(self) -> bool:
        return self.retries >= RETRIES and not self.model


class Progress(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    host: str
    id: str
    path: str
    part: str = ""
    kind: str = "main"
    key: str = ""
    parent: str = ""
    cwd: str = ""
    channel: str = ""
    model: str = ""
    head: str = ""  # fingerprint of the source file
    position: int = 0
    tail: str = ""  # fingerprint of the bytes just before the position
    recent: tuple[str, ...] = ()  # ids of the last messages, newest last
    last_at: datetime | None = None
    size: int = 0  # of the source when it was last read
    windows: int = 0  # the number of the newest one
    window: Window | None = None
    messages: int = 0
    entries: int = 0
    unread: dict[str, int] = {}  # records we could not understand, by kind
    touched_at: datetime | None = None
    failure: Failure | None = None
    flushed: int | None = None  # the compaction round before which it was last saved

    def with_(self, **changes: Any) -> Progress:
        return msgspec.structs.replace(self, **changes)

    def session(self) -> Session:
        """The session as far as state.json knows it."""
        known = ("host", "id", "kind", "key", "part", "size", "cwd", "channel", "model")
        return Session(path=Path(self.path), **{name: getattr(self, name) for name in known})

    @property
    def held(self) -> bool:
        """Whether the model has failed at it: the next time, rules take its place."""
        return self.failure is not None and self.failure.model


class Pending(msgspec.Struct, frozen=True):
    ref: str
    log_size: int
    entries: list[dict[str, Any]]
    progress: Progress | None
    held: list[dict[str, Any]] = []  # entries that wait for the user


class JobRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The last run of a job that came to an end. Times are in UTC."""

    slot: datetime  # what it ran for: a moment of its cron expression, or when it was asked for
    started: datetime
    ended: datetime
    outcome: str  # ok, failed
    said: str = ""  # what it did, in a line
    error: str = ""  # why it failed
    failures: int = 0  # in a row
    well: datetime | None = None  # when the last run began that went well


class Left(msgspec.Struct, frozen=True):
    """A handoff that an agent has left, until its session ends."""

    at: datetime
    text: str
    detail: str = ""


class State(msgspec.Struct, frozen=True, kw_only=True):
    version: int = VERSION
    sessions: dict[str, Progress] = {}
    pending: Pending | None = None
    committed_at: datetime | None = None
    own_history: bool = False  # in a repository of the home's own
    restored: dict[str, datetime] = {}  # note -> when you brought it back from the archive
    jobs: dict[str, JobRun] = {}
    reread: tuple[str, ...] = ()  # transcripts that a model has read again
    left: dict[str, Left] = {}  # id -> a handoff by an agent whose session goes on

    def with_session(self, ref: str, progress: Progress, **changes: Any) -> State:
        return msgspec.structs.replace(self, sessions=self.sessions | {ref: progress}, **changes)

    def open_transcripts(self) -> set[str]:
        """Those that are still written to."""
        return {item.window.path for item in self.sessions.values() if item.window}

    def with_job(self, name: str, run: JobRun) -> State:
        return msgspec.structs.replace(self, jobs=self.jobs | {name: run})


def load(home: Home) -> State:
    try:
        data = home.state.read_bytes()
    except FileNotFoundError:
        return State()
    try:
        version = decode(data, _Version).version
        if version > VERSION:
            raise WakebookError(
                f"{home.state}: has version {version}, this Wakebook knows {VERSION}. Update it."
            )
        return decode(data, State)
    except msgspec.DecodeError as error:
        return _anew(home, data, str(error))


class _Version(msgspec.Struct, frozen=True):
    version: int = VERSION


def _anew(home: Home, data: bytes, error: str) -> State:
    """After a disk or a person has broken the file: it is kept beside, and the cursors are found
    again in the archived transcripts, one session at a time."""
    with home.locked():
        if home.state.read_bytes() != data:  # another process was faster
            return load(home)
        aside = home.state.with_name(BROKEN)
        try:
            home.state.replace(aside)
        except OSError as refused:
            raise WakebookError(
                f"{home.state}: cannot be read ({error}), nor moved: {refused}."
            ) from refused
        save(home, State())
    home.trace(
        "failure",
        where="state.json",
        error=f"could not be read ({error}); it is kept as {BROKEN}, and the cursors are recovered "
        "from the archived transcripts by the next catch-up",
    )
    return State()


def save(home: Home, state: State) -> None:
    home.replace(home.state, msgspec.json.encode(state) + b"\n")


def prune_sessions(state: State, now: datetime, days: int) -> tuple[State, list[str]]:
    """Forget sessions that are long finished, read to the end, and gone from the host.

    While the source exists its cursor stays: without it the session would look new. A
    source that vanished with unread bytes in it is kept as well, for `audit` to report.
    """
    limit = now - timedelta(days=days)
    gone = [
        ref
        for ref, progress in state.sessions.items()
        if progress.window is None
        and progress.failure is None
        and progress.touched_at is not None
        and progress.touched_at < limit
        and progress.position >= progress.size
        and not Path(progress.path).exists()
    ]
    if not gone:
        return state, []
    kept = {ref: item for ref, item in state.sessions.items() if ref not in gone}
    return msgspec.structs.replace(state, sessions=kept), gone
