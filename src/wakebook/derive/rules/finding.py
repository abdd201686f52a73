"""Finding: what a rule saw in a message, before it becomes a draft."""

from __future__ import annotations

from typing import NamedTuple

from wakebook.log.entry import EntryKind, Status, Type


class Finding(NamedTuple):
    type: Type
    content: str
    detail: str = ""
    kind: EntryKind | None = None
    status: Status | None = None
    replaces: tuple[str, ...] = ()
    turns: tuple[int, ...] = ()  # other turns that say it, besides the message itself
    weak: bool = False  # nobody's in particular: a reason, if it follows a choice
