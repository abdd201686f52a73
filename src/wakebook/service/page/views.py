"""The table of the page: every view and every action that there is.

A view is found under its address. It has a title, the key that opens it (after `g`), the command
that says the same in a terminal, and its function, which is imported when it is first asked for.
An action is a verb of the façade: the form `do/NAME` calls its function.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from importlib import import_module
from typing import Any

from wakebook.memory import Memory
from wakebook.service.page.request import Done, Request, Sheet
from wakebook.verbs import ERASES

NAV = (("Today", "Search", "Conversations", "Notes"), ("Told", "Review", "Time"), ("Upkeep",))


class _Row:
    place: str

    @cached_property
    def function(self) -> Callable[[Request, Memory], Any]:
        module, _, name = self.place.rpartition(".")
        found: Callable[[Request, Memory], Any] = getattr(
            import_module(f"wakebook.service.page.{module}"), name
        )
        return found


class View(_Row):
    def __init__(self, path: str, title: str, key: str, command: str, place: str) -> None:
        """`{name}` in a path is one part of it, `{name:path}` all the rest."""
        self.path, self.title, self.key = path, title, key
        self.command, self.place = command, place
        parts = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)
        self._pattern = re.compile(re.sub(r"\{(\w+):path\}", r"(?P<\1>.+)", parts))

    def match(self, path: str) -> dict[str, str] | None:
        found = self._pattern.fullmatch(path)
        return found.groupdict() if found else None

    def sheet(self, request: Request, memory: Memory) -> Sheet:
        found: Sheet = self.function(request, memory)
        return found


class Action(_Row):
    def __init__(self, name: str, place: str, long: bool = False) -> None:
        """`long`: it may read whole conversations, or ask a model."""
        self.name, self.place, self.long = name, place, long
        self.needs = "erase" if name in ERASES else "write"  # as with verbs

    def do(self, request: Request, memory: Memory) -> Done:
        found: Done = self.function(request, memory)
        return found


VIEWS = (
    View("/", "Today", "t", "wakebook status", "today.today"),
    View("/search", "Search", "s", "wakebook search", "find.find"),
    View("/entry/{id}", "Entry", "", "wakebook show", "entry.entry"),
    View("/entry/{id}/forget", "Forget", "", "wakebook forget", "entry.forget"),
    View("/erase", "Erase", "", "wakebook erase", "erasing.erasing"),
    View("/said", "Said", "", "wakebook show", "said.said"),
    View("/conversations", "Conversations", "c", "wakebook status --sessions",
         "conversations.timeline"),
    View("/conversations/{path:path}", "Conversations", "", "wakebook show",
         "conversations.conversation"),
    View("/review", "Review", "r", "wakebook review", "review.review"),
    View("/time", "Time", "i", "wakebook history at", "moments.moments"),
    View("/time/notes", "Time", "", "wakebook history diff", "moments.difference"),
    View("/time/undo", "Time", "", "wakebook history undo", "moments.undoing"),
    View("/upkeep", "Upkeep", "u", "wakebook status", "upkeep.upkeep"),
    View("/upkeep/rebuild", "Upkeep", "", "wakebook rebuild", "upkeep.reading"),
    View("/upkeep/rebuild/{name}", "Upkeep", "", "wakebook rebuild show", "upkeep.rebuild"),
    View("/subject/{slug}", "Subject", "", "wakebook subjects show", "around.subject"),
    View("/told", "Told", "d", "wakebook context --told", "told.told"),
    View("/told/try", "Told", "", "wakebook context MESSAGE --explain", "told.tried"),
    View("/told/{turn}", "Told", "", "wakebook context --turn", "told.turn"),
    View("/notes", "Notes", "n", "wakebook notes", "pages.pages"),
    View("/notes/{file:path}", "Notes", "", "wakebook show", "pages.note"),
)  # fmt: skip
ACTIONS = {
    one.name: one
    for one in (
        Action("remember", "acts.remember"),
        Action("correct", "acts.correct"),
        Action("pin", "acts.pin"),
        Action("unpin", "acts.unpin"),
        Action("done", "acts.done"),
        Action("reopen", "acts.reopen"),
        Action("forget", "acts.forget", long=True),
        Action("erase", "erasing.erase", long=True),
        Action("save-note", "acts.save_note"),
        Action("tick", "acts.tick"),
        Action("rate", "told.rate"),
        Action("undo", "acts.undo", long=True),
        Action("back", "undoing.back", long=True),
        Action("take", "review.take"),
        Action("refuse", "review.refuse"),
        Action("accept-edit", "review.accept_edit", long=True),
        Action("reject-edit", "review.reject_edit", long=True),
        Action("settle", "review.settle"),
        Action("dismiss", "review.dismiss"),
        Action("looked", "review.looked"),
        Action("hold-again", "moments.hold_again"),
        Action("unarchive", "moments.unarchive", long=True),
        Action("run", "upkeep.run", long=True),
        Action("catch-up", "upkeep.catch_up", long=True),
        Action("index", "upkeep.index", long=True),
        Action("sync", "upkeep.sync", long=True),
        Action("rebuild", "upkeep.build", long=True),
        Action("merge", "upkeep.merge", long=True),
        Action("drop", "upkeep.drop", long=True),
    )
}  # fmt: skip


def find(path: str) -> tuple[View, dict[str, str]] | None:
    for view in VIEWS:
        parts = view.match(path)
        if parts is not None:
            return view, parts
    return None
