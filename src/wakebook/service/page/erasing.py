"""Erasing: an entry or a conversation goes for good. First what would change, and what would
remain elsewhere; then a word to type. Nothing brings it back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wakebook.base.errors import WakebookError
from wakebook.memory import Memory
from wakebook.service.page import behind, parts, undoing
from wakebook.service.page.data import one
from wakebook.service.page.html import Child, Html, h
from wakebook.service.page.request import Done, Request, Sheet, to

WORD = "erase"
LISTED = 12
AWAY = "this browser’s own history, which has the addresses and titles of pages that you looked at"
TEXT = "To erase a text that is neither, use a terminal: a browser would keep the words."


def erasing(request: Request, memory: Memory) -> Sheet:
    """What an erasure would change. It is found out by the command itself, in a process."""
    name, session = request.get("entry"), request.get("session")
    if not (name or session):
        choose = parts.none("Choose “Erase …” at an entry or a conversation. ", TEXT)
        return Sheet("Erase", choose, command="wakebook erase TEXT")
    if name:
        name = one(memory, name).entry.id  # an id that is gone would be taken for a text
    words = [name] if name else ["--session", session]
    known = behind.ask(memory.home, "erase", *words, "--dry-run")
    command = f"wakebook erase {' '.join(words)}"
    if known.value is None:
        again = h.a("Look again", href=request.here(), class_="button")
        said = known.error or "Every file and all of git’s history is being looked through."
        waits = h.div(parts.none(said), h.div(again, class_="acts"), id="plan",
                      data_live="upkeep", data_again=None if known.error else 2)  # fmt: skip
        return Sheet("Erase this for good?", waits, source="the whole home", command=command)
    plan = known.value
    if not (plan["entries"] or plan["files"] or plan["removed"] or plan["commits"]):
        return Sheet("Erase", parts.none("Nothing in the home holds it."), command=command)
    fields = {"entry": name, "session": session}
    back = to(f"/entry/{name}") if name else to("/conversations")
    return Sheet(
        "Erase this for good?",
        h.div(_entries(plan), _changes(plan), _remains(plan), _confirm(request, fields, back),
              id="plan"),
        "Nothing has happened yet. This is what would go. There is no undo.",
        source="every file of the home, and git’s history", command=command,
    )  # fmt: skip


def _entries(plan: Mapping[str, Any]) -> Html | None:
    found = [*plan["entries"], *plan["shorter"]]
    if not found:
        return None
    gone = len(plan["entries"])
    listed = (
        parts.row(
            parts.glyph(entry["type"], entry.get("status") or ""),
            parts.short(entry["content"], 300),
            (entry["type"], "" if at < gone else "a handoff: it stays, and loses the words"),
        )
        for at, entry in enumerate(found[:LISTED])
    )
    rest = parts.rest(len(found), LISTED)
    return parts.section("Goes", parts.card(parts.rows(listed), rest), aside=f"{gone:,}")


def _changes(plan: Mapping[str, Any]) -> Html:
    found: list[Child] = [
        _files(title, plan[key])
        for title, key in (("changed", "files"), ("removed", "removed"), ("renamed", "renamed"))
        if plan[key]
    ]
    if plan["of_commits"]:
        found.append(h.li(
            f"git: {plan['commits']:,} of {parts.many(plan['of_commits'], 'commit')} written anew, "
            f"{parts.many(len(plan['names']), 'branch or tag', 'branches and tags')} moved, "
            "the reflog and every old object removed."
        ))  # fmt: skip
    found.append(h.li("No later reading of the conversation brings it back, and no undo."))
    found.append(h.li("In the end every byte of the home is searched for it, and that is told."))
    return parts.section("Follows", parts.card(h.ul(found, class_="follows"), roomy=True))


def _files(title: str, names: Sequence[str]) -> Html:
    names = list(names)
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    shown = (h.li(h.code(name)) for name in names[:LISTED])
    return h.li(f"{parts.many(len(names), 'file')} {title}:", h.ul(shown, more, class_="facts"))


def _remains(plan: Mapping[str, Any]) -> Html:
    found = (h.li(one_) for one_ in (*plan["remains"], AWAY))
    return parts.section(
        "Remains, because Wakebook does not reach it",
        parts.card(h.ul(found, class_="follows"), roomy=True),
    )


def _confirm(request: Request, fields: Mapping[str, str], back: str) -> Html:
    typed = h.input(type="text", name="word", required=True, pattern=WORD, autocomplete="off")
    form = request.form_(
        "erase",
        h.div(
            h.label("Type ", h.b(WORD), " to go on", typed),
            h.button("Erase for good", class_="danger"),
            h.a("Leave it as it is", href=back, class_="button"),
            class_="row",
        ),
        class_="stack",
        **fields,
    )
    return h.section(parts.card(form, roomy=True))


def erase(request: Request, memory: Memory) -> Done:
    """The person has seen what follows, and typed the word."""
    if request.field("word").strip().lower() != WORD:
        raise WakebookError(f"Nothing was erased: type the word {WORD} to go on.")
    name, session = request.field("entry"), request.field("session")
    if name:
        done = memory.eraser.erase(one(memory, name).entry.id)
    else:
        done = memory.eraser.erase(session=session)
    undoing.forget_all()  # they hold words
    behind.forget_all()
    looked = f"{parts.many(done.scan.files, 'file')} and {done.scan.objects:,} objects of git"
    said = f"Erased: {parts.many(done.entries, 'entry', 'entries')}, "
    said += (
        f"{parts.many(done.files + done.removed, 'file')}, {parts.many(done.commits, 'commit')}. "
    )
    if done.well:
        said += f"Every byte of {looked} was looked at: nothing is left. This has no undo."
    else:
        said += f"It is still in {', '.join(done.scan.found[:3])}. A binary file is not changed: "
        said += "remove it, and erase again."
    return Done(said, to("/"))
