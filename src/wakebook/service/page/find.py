"""A view that is being built."""

from __future__ import annotations

from wakebook.memory import Memory
from wakebook.service.page.html import h
from wakebook.service.page.request import Request, Sheet


def find(request: Request, memory: Memory) -> Sheet:
    return Sheet("find".title(), h.p("Soon."))
