"""What several views ask of the index. Nothing here reads the whole log."""

from __future__ import annotations

from pathlib import Path

from wakebook.base.home import Home
from wakebook.memory import Memory
from wakebook.service.page.layout import Frame
from wakebook.service.page.request import Done

HOLDS = "SELECT count(*) FROM entry WHERE replaced_by = ''"


def frame_of(memory: Memory, done: Done | None = None) -> Frame:
    entries = memory.index.ask(lambda db: int(db.execute(HOLDS).fetchone()[0]))
    return Frame(named(memory.home), entries, len(memory.log.waiting()), done)


def named(home: Home) -> str:
    """A home as people write it."""
    try:
        return f"~/{home.root.relative_to(Path.home())}"
    except ValueError:
        return str(home.root)
