"""Undoing: how the last actions of the page can be taken back, as long as the service runs.

A forgetting can be taken back for longer: git knows its words (`upkeep.again`).
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from wakebook.base import clock
from wakebook.base.errors import GitError, NotFound
from wakebook.memory import Memory
from wakebook.service.page.request import Done, Request

KEPT = 200
Back = Callable[[Memory], str | Done]  # takes an action back, and says so


class Way(NamedTuple):
    """A way back."""

    said: str  # of the action
    at: datetime
    back: Back
    home: Path


_ways: dict[str, Way] = {}
_lock = threading.Lock()


def undoable(memory: Memory, said: str, back: Back, to: str = "") -> Done:
    """What was done, with a way back. `to`: where to go on."""
    key = secrets.token_urlsafe(9)
    with _lock:
        _ways[key] = Way(said, clock.now(), back, memory.home.root)
        while len(_ways) > KEPT:
            del _ways[next(iter(_ways))]
    return Done(said, to, undo="back", fields={"key": key})


def standing(memory: Memory) -> str:
    """The commit of the last rewrite that was not taken back."""
    try:
        return next((one.commit for one in memory.rewrites() if not one.undone), "")
    except GitError:
        return ""


def rewritten(memory: Memory, before: str, said: str, to: str = "") -> Done:
    """What was done, with the way back from the rewrite that it was, if it was one. `before`: the
    one that stood before."""
    last = standing(memory)
    if last in ("", before):
        return Done(said, to)
    return Done(said, to, undo="undo", fields={"rewrite": last})


def listed(memory: Memory) -> list[tuple[str, Way]]:
    """What was done here, and can be taken back by its key; the newest first."""
    with _lock:
        found = [(key, one) for key, one in _ways.items() if one.home == memory.home.root]
    return found[::-1]


def forget_all() -> None:
    """Something was erased: a way back may hold its words."""
    with _lock:
        _ways.clear()


def back(request: Request, memory: Memory) -> Done:
    with _lock:
        way = _ways.pop(request.field("key"), None)
    if way is None:
        raise NotFound(
            "This was taken back already, or the service was started anew since. What an action "
            "has changed stands in git: the view Time shows it."
        )
    done = way.back(memory)
    return done if isinstance(done, Done) else Done(done)
