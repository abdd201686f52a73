"""Session: one conversation of one host, and the kinds that are worth remembering.

Only sessions with a human in them are kept by default ("main"); subagents, cron jobs,
hooks and group chats are recognised and skipped, and `audit` counts them as skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from wakebook.base.config import Capture
from wakebook.capture.transcript import Record

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
    if parts[0] in ("cron", "hook"):
        return "cron" if parts[0] == "cron" else "hook"
    if parts[0] in ("sub", "subagent", "acp"):
        return "subagent"
    if "subagent" in parts:
        return "subagent"
    if "group" in parts or "channel" in parts or "room" in parts:
        return "group"
    return "main"


def why_skipped(session: Session, capture: Capture) -> str | None:
    """The reason not to keep this session, or None to keep it."""
    if session.kind not in capture.kinds:
        return session.kind
    bare = session.key.split(":", 2)[2] if session.key.startswith("agent:") else session.key
    for beginning in capture.skip_keys:
        if session.key.startswith(beginning) or bare.startswith(beginning):
            return f"key {beginning}"
    return None


# -----------------------------------------------------------------------------
# Host: the one interface behind which every agent's format disappears.


class Host(Protocol):
    """Readers are stateless. All positions are of the host's own unit (see `unit`)."""

    name: str
    unit: str  # "bytes" or "seq"
    tree: bool  # records name their parent, and only the last one's ancestors are live

    def discover(self, root: Path) -> Iterator[Session]:
        """Every session below a folder (or the ones in a single file), of every kind."""
        ...

    def recognises(self, path: Path, head: bytes) -> bool:
        """Whether a file with this beginning is this host's."""
        ...

    def records(
        self, session: Session, position: int, limit: int, closing: bool
    ) -> Iterator[Record]:
        """Records from a position on, in order, each saying at most one thing.

        Raises TranscriptError when the source cannot be read. A record that cannot be
        understood becomes `Ignored(unknown=True)`: it is never fatal.
        """
        ...

    def size(self, session: Session) -> int:
        """The position just past the last complete or incomplete record."""
        ...

    def digest(self, session: Session, start: int, end: int) -> str:
        """SHA-256 of the source between two positions."""
        ...

    def beginning(self, session: Session, captured: Callable[[Path], bool]) -> int:
        """Where this session's own words begin.

        A fork repeats its parent's records under a new session id. When the parent is
        already captured, the fork begins past what they share; otherwise at 0.
        """
        ...
