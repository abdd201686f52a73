"""The actions of entries and notes. Each is a verb of the façade, and says how to take it back.

A form brings the id of what a person saw. If another window, agent or machine has changed it
since, nothing is done, and the person is told.
"""

from __future__ import annotations

from typing import Any

from wakebook.base.errors import WakebookError
from wakebook.log.entry import Entry
from wakebook.memory import Memory
from wakebook.notes.check import edited_blocks
from wakebook.service.page import parts
from wakebook.service.page.data import one
from wakebook.service.page.pages import Note, opened
from wakebook.service.page.request import Done, Request, to
from wakebook.service.page.undoing import standing, undoable


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


def again(memory: Memory, old: Entry, **changes: Any) -> Entry:
    """The same once more, in its own place or that of others."""
    given = {
        "text": old.content, "type_": old.type, "subject": old.subject, "detail": old.detail,
        "status": old.status or "", "pinned": old.pinned, "project": old.project,
        "replaces": [old.id], **changes,
    }  # fmt: skip
    return memory.remember(**given)


def _instead(memory: Memory, old: Entry, said: str, **changes: Any) -> Done:
    """The same, said, with a way back."""
    new = again(memory, old, **changes)

    def back(memory: Memory) -> Done:
        if not memory.log.take_back([new.id]):
            raise Changed("Nothing was done: it has been changed once more since.")
        return Done("As it was before.", to(f"/entry/{old.id}"))

    return undoable(memory, said, back, to(f"/entry/{new.id}"))


def correct(request: Request, memory: Memory) -> Done:
    old, text = seen(request, memory), request.field("text").strip()
    if not text:
        raise WakebookError("Nothing was done: there are no words. To forget it, choose Forget.")
    type_ = request.field("type") or old.type
    status = old.status or "" if type_ == "task" else ""
    detail = request.field("detail").strip()
    return _instead(memory, old, "Corrected.", text=text, type_=type_, detail=detail, status=status)


def pin(request: Request, memory: Memory) -> Done:
    return _instead(memory, seen(request, memory), "Pinned: it is told first.", pinned=True)


def unpin(request: Request, memory: Memory) -> Done:
    return _instead(memory, seen(request, memory), "Not pinned any more.", pinned=False)


def done(request: Request, memory: Memory) -> Done:
    return _instead(memory, seen(request, memory), "Done.", status="done", pinned=False)


def reopen(request: Request, memory: Memory) -> Done:
    return _instead(memory, seen(request, memory), "Open again.", status="open")


def remember(request: Request, memory: Memory) -> Done:
    text = request.field("text").strip()
    if not text:
        raise WakebookError("Nothing was kept: there are no words.")
    type_, subject = request.field("type", "fact"), request.field("subject")
    kept = memory.remember(text, type_=type_, subject=subject)

    def back(memory: Memory) -> Done:
        memory.log.take_back([kept.id])
        return Done("Not kept.", to("/"))

    return undoable(memory, "Kept.", back, to(f"/entry/{kept.id}"))


def forget(request: Request, memory: Memory) -> Done:
    name = seen(request, memory).id
    gone = memory.forget([name], chain=bool(request.field("chain")))
    said = f"Forgotten: {parts.many(len(gone.entries), 'entry', 'entries')}."
    if gone.withheld:
        said += f" {parts.many(gone.withheld, 'sentence')} in conversations told no more."
    if gone.notes:
        said += f" Still written by hand in: {', '.join(gone.notes[:3])}."
    for one_ in memory.forgettings.listed()[:1]:
        if name in {entry.id for entry in one_.entries}:
            return Done(said, to("/"), undo="undo", fields={"commit": one_.commit})
    return Done(f"{said} There is no git here to take it back.", to("/"))


# --- notes -----------------------------------------------------------------------------------
def save_note(request: Request, memory: Memory) -> Done:
    """The text of a note, as a person has edited it here."""
    return _saved(memory, _note(request, memory), request.field("text"), "Saved.")


def tick(request: Request, memory: Memory) -> Done:
    """A task of a note is done: an edit like any other."""
    note = _note(request, memory)
    lines, given = note.text.split("\n"), request.field("line")
    at = int(given) - 1 if given.isdecimal() else -1
    if not (0 <= at < len(lines) and "[ ]" in lines[at]):
        raise Changed("Nothing was done: that line is no open task any more.")
    lines[at] = lines[at].replace("[ ]", "[x]", 1)
    return _saved(memory, note, "\n".join(lines), "Ticked.")


def _note(request: Request, memory: Memory) -> Note:
    found = opened(memory, request.field("file"))
    if found.sum != request.field("sum"):
        raise Changed(
            f"Nothing was written: {found.name} has been changed since you saw it, in another "
            "window or by Wakebook. Go back, keep your words, and load the page again."
        )
    return found


def _saved(memory: Memory, before: Note, text: str, said: str) -> Done:
    memory.notes.edit(before.name, text, before.sum)
    after = opened(memory, before.name)
    if any(edited_blocks(after.text)):
        said += " What you changed between the markers waits for your word."
    where = to(f"/notes/{before.name}")

    def back(memory: Memory) -> Done:
        memory.notes.edit(before.name, before.text, after.sum)
        return Done("As it was before.", where)

    return undoable(memory, said, back, where)


def undo(request: Request, memory: Memory) -> Done:
    """Take the last rewrite of the memory back, or a forgetting."""
    if commit := request.field("commit"):
        last = memory.forgettings.take_back(commit)[-1].id
        return Done("Remembered again, as written by hand.", to(f"/entry/{last}"))
    if request.field("rewrite", standing(memory)) != standing(memory):
        raise Changed("Nothing was done: something was rewritten since. The view Time shows it.")
    back = memory.undo()
    return Done(f"Taken back: {back.rewrite.name}. {back.rewrite.summary}")
