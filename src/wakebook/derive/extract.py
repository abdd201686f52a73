"""The seam of extraction: messages in, drafts of entries out.

An extractor reads the new messages of one window, with some earlier ones as context, and
returns drafts. It never sets an entry's timestamp or session: `catch_up` does, from the
message that the draft came from. Extraction must not depend on how a conversation was cut
into deltas: reading it in two steps gives what reading it at once gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from wakebook.capture.transcript import Message
from wakebook.log.entry import Entry, EntryKind, Status, Type, derived_id


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """What an extractor proposes. `source` is the id of the message that says it."""

    type: Type
    content: str
    source: str
    evidence: tuple[int, ...]
    detail: str = ""
    subject: str = ""
    status: Status | None = None
    kind: EntryKind | None = None
    replaces: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return derived_id(self.source, self.type, self.content)


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """What an extractor may know besides the messages themselves."""

    earlier: Sequence[Message] = ()  # the window so far, before the new messages
    current: Sequence[Entry] = ()  # the log's current (unreplaced) entries, oldest first
    subjects: Mapping[str, str] = {}  # every name and alias, lower-case -> slug
    subject: str = ""  # the session's own project, if it has one


class Extractor(Protocol):
    name: str

    def extract(self, messages: Sequence[Message], scene: Scene) -> list[Draft]:
        """Drafts from the new messages: tasks, facts and decisions."""
        ...

    def close(self, messages: Sequence[Message], scene: Scene) -> list[Draft]:
        """Drafts from a whole finished window: the questions left open, and the handoff.

        `scene.current` already holds what `extract` found in this window. The handoff is
        the last draft; there is exactly one unless the window has no human words in it.
        """
        ...
