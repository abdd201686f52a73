"""The hosts: one module each, which says where its sessions are and what a record means.

A host is added by its module and its line in `HOSTS`; its folders are a setting of [hosts].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Protocol

from wakebook.base.errors import TranscriptError
from wakebook.capture.state import Session
from wakebook.capture.transcript import Record

# Name -> module and class. A file that a person names is shown to them in this order: the host
# with the most particular form comes first.
HOSTS = {
    "claude-code": "claude_code.ClaudeCode",
    "codex": "codex.Codex",
    "pi": "pi.Pi",
    "openclaw": "openclaw.OpenClaw",
    "plain": "plain.Plain",
}


class Format(Protocol):
    """How to read the sessions of one form. Positions are of its own unit (see `unit`)."""

    unit: str  # "bytes" or "seq"
    tree: bool  # records name their parent, and only the last one's ancestors are live

    def records(
        self, session: Session, position: int, limit: int, closing: bool
    ) -> Iterator[Record]:
        """Records from a position on, in order, each saying at most one thing.

        Raises TranscriptError when the source cannot be read. A record that cannot be
        understood becomes `Ignored(unknown=True)`: it is never fatal.
        """

    def size(self, session: Session) -> int:
        """The position just past the last complete or incomplete record."""

    def digest(self, session: Session, start: int, end: int) -> str:
        """SHA-256 of the source between two positions."""

    def beginning(self, session: Session, captured: Callable[[Path], bool]) -> int:
        """Where this session's own words begin.

        A fork repeats its parent's records under a new session id. When the parent is
        already captured, the fork begins past what they share; otherwise at 0.
        """


class Host(Protocol):
    """The one interface behind which an agent's format disappears."""

    def discover(self, root: Path) -> Iterator[Session]:
        """Every session below a folder (or the ones in a single file), of every kind."""

    def search(self, root: Path) -> Iterator[Session]:
        """The same for a folder that a person names, which may stand above this host's own."""

    def recognises(self, path: Path, head: bytes) -> bool:
        """Whether a file with this beginning is this host's."""

    def format(self, session: Session) -> Format:
        """How to read this session: a host may keep them in more than one form."""


def hosts() -> Iterator[Host]:
    """All of them, each loaded when it is its turn."""
    return map(host, HOSTS)


def format_of(session: Session) -> Format:
    """How to read this session."""
    if session.host not in HOSTS:
        known = ", ".join(HOSTS)
        raise TranscriptError(f"{session.path}: unknown host {session.host!r}; known are {known}.")
    return host(session.host).format(session)


@cache
def host(name: str) -> Host:
    module, _, named = HOSTS[name].partition(".")
    found: Host = getattr(import_module(f"{__name__}.{module}"), named)()
    return found
