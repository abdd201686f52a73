"""Session: one conversation of one host, and the kinds that are worth remembering.

Only sessions with a human in them are kept by default ("main"); subagents, cron jobs,
hooks and group chats are recognised and skipped, and `audit` counts them as skipped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from wakebook.config import Capture

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
