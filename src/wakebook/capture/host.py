"""Host: the one interface behind which every agent's format disappears."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from wakebook.capture.session import Session
from wakebook.capture.transcript import Record


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
