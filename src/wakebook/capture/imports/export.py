"""Export: what somebody brings from elsewhere, in the terms of this home.

A conversation is talk between a person and an assistant, or the items of one old memory file;
its channel says which. What cannot be read is told as `Bad` and stops nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Literal

import msgspec

MEMORIES = "memories/"  # how the channel of old memories begins


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One message, or one item of a memory."""

    role: Literal["user", "assistant"]
    text: str
    id: str = ""  # the source's own; empty: what it says identifies it
    at: datetime | None = None
    model: str = ""


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    id: str  # the same in every later export
    name: str  # for people
    channel: str
    lines: tuple[Line, ...]
    skipped: Mapping[str, int] = {}  # why messages were left out -> how many


class Bad(msgspec.Struct, frozen=True):
    """A part of an export that cannot be read."""

    name: str
    why: str


class Passed(msgspec.Struct, frozen=True):
    """A file that is none of a memory's, and why."""

    name: str
    why: str


Part = Conversation | Bad | Passed


class Export(msgspec.Struct, frozen=True):
    count: int  # of the parts, for a progress bar
    parts: Iterator[Part]


def holds_memories(channel: str) -> bool:
    """Whether a session holds the items of an old memory, and no talk."""
    return channel.startswith(MEMORIES)
