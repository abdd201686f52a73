"""Undoing: how the last actions of the page can be taken back, as long as the service runs."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable

from wakebook.base.errors import NotFound
from wakebook.memory import Memory
from wakebook.service.page.request import Done, Request

KEPT = 200
Back = Callable[[Memory], str | Done]  # takes an action back, and says so
_backs: dict[str, Back] = {}
_lock = threading.Lock()


def undoable(said: str, back: Back, to: str = "") -> Done:
    """What was done, with a way back. `to`: where to go on."""
    key = secrets.token_urlsafe(9)
    with _lock:
        _backs[key] = back
        while len(_backs) > KEPT:
            del _backs[next(iter(_backs))]
    return Done(said, to, undo="back", fields={"key": key})


def back(request: Request, memory: Memory) -> Done:
    with _lock:
        take_back = _backs.pop(request.field("key"), None)
    if take_back is None:
        raise NotFound(
            "This was taken back already, or the service was started anew since. What an action "
            "has changed stands in git: the view Time shows it."
        )
    done = take_back(memory)
    return done if isinstance(done, Done) else Done(done)
