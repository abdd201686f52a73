"""The actions of the page. Each is a verb of the façade."""

from __future__ import annotations

from wakebook.memory import Memory
from wakebook.service.page.request import Done, Request


def undo(request: Request, memory: Memory) -> Done:
    done = memory.undo()
    return Done(f"Taken back: {done.summary}." if hasattr(done, "summary") else "Taken back.")
