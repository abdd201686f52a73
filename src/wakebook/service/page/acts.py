"""The actions of the page. Each is a verb of the façade, and says how to take it back.

A form brings the id of what a person saw. If another window, agent or machine has changed it
since, nothing is done, and the person is told.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from typing import Any

from wakebook.base.errors import NotFound, WakebookError
from wakebook.log.entry import Entry
from wakebook.memory import Memory
from wakebook.notes.page import file_sum
from wakebook.service.page import parts
from wakebook.service.page.data import one
from wakebook.service.page.request import Done, Request, to

KEPT = 50  # things that can be remembered again
_kept: dict[str, tuple[Entry, ...]] = {}  # what was forgotten, until the service ends
_texts: dict[str, str] = {}  # notes as they were before they were saved here
_lock = threading.Lock()


class Changed(WakebookError):
    """It is not what the person saw any more."""


def seen(request: Request, memory: Memory) -> Entry:
    """The entry of a form, if it still holds."""
    found = one(memory, request.field("id"))
    if found.replaced_by:
        holds = parts.short(one(memory, found.replaced_by).entry.content, 120)
        raise Changed(
            f"Nothing was done: this has been changed since you saw it. It says now: “{holds}”. "
            "Go back, load the page again, and decide once more."
        )
    return found.entry


def _again(memory: Memory, old: Entry, **changes: Any) -> Entry:
    """An entry that takes another one's place."""
    given: Mapping[str, Any] = {
        "type_": old.type, "subject": old.subject, "detail": old.detail, "status": old.status or "",
        "pinned": old.pinned, "project": old.project, "replaces": [old.id], **changes,
    }  # fmt: skip
    return memory.remember(**{"text": old.content, **given})


def correct(request: Request, memory: Memory) -> Done:
    old, text = seen(request, memory), request.field("text").strip()
    if not text:
        raise WakebookError("Nothing was done: there are no words. To forget it, choose Forget.")
    type_ = request.field("type") or old.type
    status = old.status or "" if type_ == "task" else ""
    detail = request.field("detail").strip()
    new = _again(memory, old, text=text, type_=type_, detail=detail, status=status)
    return _done("Corrected.", new, old)


def pin(request: Request, memory: Memory) -> Done:
    old = seen(request, memory)
    return _done("Pinned: it is told first.", _again(memory, old, pinned=True), old)


def unpin(request: Request, memory: Memory) -> Done:
    old = seen(request, memory)
    return _done("Not pinned any more.", _again(memory, old, pinned=False), old)


def done(request: Request, memory: Memory) -> Done:
    old = seen(request, memory)
    return _done("Done.", _again(memory, old, status="done", pinned=False), old)


def reopen(request: Request, memory: Memory) -> Done:
    old = seen(request, memory)
    return _done("Open again.", _again(memory, old, status="open"), old)


def _done(said: str, new: Entry, old: Entry) -> Done:
    fields = {"id": new.id, "was": old.id}
    return Done(said, to(f"/entry/{new.id}"), "restore", fields)


def restore(request: Request, memory: Memory) -> Done:
    """What an entry said before holds again: the undo of all of the above."""
    new = seen(request, memory)
    was = one(memory, request.field("was")).entry
    back = _again(memory, new, text=was.content, detail=was.detail, type_=was.type,
                  status=was.status or "", pinned=was.pinned)  # fmt: skip
    return Done("As it was before.", to(f"/entry/{back.id}"))


def forget(request: Request, memory: Memory) -> Done:
    name = seen(request, memory).id
    gone = memory.forget([name], chain=bool(request.field("chain")))
    key = secrets.token_urlsafe(9)
    with _lock:
        _kept[key] = gone.entries
        while len(_kept) > KEPT:
            _kept.pop(next(iter(_kept)))
    said = f"Forgotten: {parts.many(len(gone.entries), 'entry', 'entries')}."
    if gone.withheld:
        said += f" {parts.many(gone.withheld, 'sentence')} in conversations told no more."
    if gone.notes:
        said += f" Still written by hand in: {', '.join(gone.notes[:3])}."
    return Done(said, to("/"), "remember-again", {"key": key})


def remember_again(request: Request, memory: Memory) -> Done:
    """Keep forgotten words once more, as written by hand; their conversation stays withheld."""
    with _lock:
        found = _kept.pop(request.field("key"), ())
    if not found:
        raise NotFound("These words are gone: they are kept only until the service ends.")
    last: list[str] = []
    for old in found:
        last = [_again(memory, old, replaces=last if old.replaces else []).id]
    return Done("Remembered again, as written by hand.", to(f"/entry/{last[0]}"))


def remember(request: Request, memory: Memory) -> Done:
    text = request.field("text").strip()
    if not text:
        raise WakebookError("Nothing was kept: there are no words.")
    kept = memory.remember(
        text, type_=request.field("type", "fact"), subject=request.field("subject")
    )
    return Done("Kept.", to(f"/entry/{kept.id}"))


# --- notes -----------------------------------------------------------------------------------
def save_note(request: Request, memory: Memory) -> Done:
    """The text of a note, as a person has edited it here."""
    name, before = _note(request, memory)
    return _saved(memory, name, before, request.field("text"), "Saved.")


def tick(request: Request, memory: Memory) -> Done:
    """A task of a note is done: an edit like any other."""
    name, before = _note(request, memory)
    lines, given = before.split("\n"), request.field("line")
    at = int(given) - 1 if given.isdecimal() else -1
    if not (0 <= at < len(lines) and "[ ]" in lines[at]):
        raise Changed("Nothing was done: that line is no open task any more.")
    lines[at] = lines[at].replace("[ ]", "[x]", 1)
    return _saved(memory, name, before, "\n".join(lines), "Ticked.")


def _note(request: Request, memory: Memory) -> tuple[str, str]:
    from wakebook.service.page.pages import opened

    found = opened(memory, request.field("file"))
    if found.sum != request.field("sum"):
        raise Changed(
            f"Nothing was written: {found.name} has been changed since you saw it, in another "
            "window or by Wakebook. Go back, keep your words, and load the page again."
        )
    return found.name, found.text


def _saved(memory: Memory, name: str, before: str, text: str, said: str) -> Done:
    from wakebook.notes.check import edited_blocks
    from wakebook.service.page.pages import opened

    seen_ = file_sum(before.encode())
    memory.notes.edit(name, text, seen_)
    after = opened(memory, name)
    if any(True for _ in edited_blocks(after.text)):
        said += " What you changed between the markers waits for your word."
    fields = {"file": name, "sum": after.sum, "key": _keep_text(before)}
    return Done(said, to(f"/notes/{name}"), "unsave-note", fields)


def _keep_text(text: str) -> str:
    name = secrets.token_urlsafe(9)
    with _lock:
        _texts[name] = text
        while len(_texts) > KEPT:
            _texts.pop(next(iter(_texts)))
    return name


def unsave_note(request: Request, memory: Memory) -> Done:
    """A note as it was before it was saved here."""
    name, _ = _note(request, memory)
    with _lock:
        text = _texts.pop(request.field("key"), None)
    if text is None:
        raise NotFound("What it was before is in git: `wakebook history diff` shows it.")
    memory.notes.edit(name, text, request.field("sum"))
    return Done("As it was before.", to(f"/notes/{name}"))


def accept_note(request: Request, memory: Memory) -> Done:
    """What a person has changed in a note goes into the log."""
    name = request.field("file")
    taken = memory.notes.accept(name)
    said = f"Accepted: {parts.many(len(taken.entries), 'entry', 'entries')}."
    if taken.left:
        said += f" {parts.many(len(taken.left), 'line')} say nothing that an entry can hold."
    names = ",".join(one.id for one in taken.entries)
    return Done(said, "", "take-back" if names else "", {"ids": names})


def reject_note(request: Request, memory: Memory) -> Done:
    """A note is written anew, as the log has it. What it was is in git."""
    name = request.field("file")
    memory.notes.reject(name)
    return Done(f"{name} is written anew; your edit stays in git (`wakebook history diff`).")


def take_back(request: Request, memory: Memory) -> Done:
    """Entries that were just accepted: what they replaced holds again; what was new goes."""
    names = [name for name in request.field("ids").split(",") if name]
    new: list[str] = []
    for name in names:
        found = one(memory, name)
        if found.replaced_by:
            continue
        if found.entry.replaces:
            was = one(memory, found.entry.replaces[0]).entry
            _again(memory, found.entry, text=was.content, detail=was.detail, type_=was.type,
                   status=was.status or "", pinned=was.pinned)  # fmt: skip
        else:
            new.append(name)
    if new:
        memory.forget(new)
    return Done("Taken back.")


def undo(request: Request, memory: Memory) -> Done:
    """Take the last rewrite of the memory back."""
    back = memory.undo()
    return Done(f"Taken back: {back.rewrite.name}. {back.rewrite.summary}")
