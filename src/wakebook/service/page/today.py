"""Today: what was learned, what is open, what needs a decision."""

from __future__ import annotations

from wakebook.memory import Memory
from wakebook.service.page.html import h
from wakebook.service.page.request import Request, Sheet


def today(request: Request, memory: Memory) -> Sheet:
    now = memory.opened.now()
    body = h.section(h.h2("Learned today"), id="learned", data_live="entries")
    return Sheet(f"{now:%A}, {now.day} {now:%B}", body, source="the index of the log")
