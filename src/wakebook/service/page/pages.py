"""A view that is being built."""

from __future__ import annotations

from wakebook.memory import Memory
from wakebook.service.page.html import h
from wakebook.service.page.request import Request, Sheet


def pages(request: Request, memory: Memory) -> Sheet:
    return Sheet("pages".title(), h.p("Soon."))


def note(request: Request, memory: Memory) -> Sheet:
    return Sheet(request.parts["file"], h.p("Soon."))
