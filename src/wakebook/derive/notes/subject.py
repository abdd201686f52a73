"""What is known about one subject, as the items of its notes, the newest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo

from wakebook.derive.notes import page as pages
from wakebook.derive.notes.item import Item, day, held, plain, told, visible, weight
from wakebook.log.entry import Entry

# what an entry is -> the heading that it stands under, in the order of the note
CONTEXT = {
    "handoff": "Current State",
    "decision": "Key Decisions",
    "preference": "Preferences",
    "relationship": "People",
    "procedure": "Procedures",
}
PROGRESS = {
    "task": "Next",
    "question": "Open Questions",
    "done": "Done",
    "handoff": "Sessions",
}
NOTES = {"fact": "Facts", "lesson": "Lessons", "event": "Events"}
PERSON = {
    "preference": "Communication",
    "relationship": "Context",
    "fact": "Context",
    "event": "Context",
    "lesson": "Lessons",
    "procedure": "Procedures",
    "decision": "Decisions",
    "task": "Next",
    "question": "Open Questions",
    "done": "Done",
    "handoff": "Sessions",
}
REFERENCE = {**PERSON, "preference": "Preferences"} | dict.fromkeys(
    ("relationship", "fact", "event"), "Facts"
)
PROCEDURE = {"procedure": "Procedures"}
PARTS = {"context": CONTEXT, "progress": PROGRESS, "notes": NOTES}
MOST = {"Current State": 1, "Done": 20, "Sessions": 10}


def items(
    entries: Iterable[Entry], headings: Mapping[str, str], zone: tzinfo | None, slug: str = ""
) -> list[Item]:
    """The entries of a note under its headings. `slug`: whose procedures stand elsewhere."""
    found = sorted(visible(entries), key=lambda entry: entry.timestamp)[::-1]
    if "decision" in headings and "task" not in headings:  # where things stand, and no history
        found = _last_state(found)
    order = list(dict.fromkeys(headings.values()))
    told_ = [
        _item(entry, headings[pages.role(entry)], zone)
        for entry in found
        if pages.role(entry) in headings
    ]
    if slug:
        told_ = _procedures_elsewhere(told_, slug)
    return sorted(told_, key=lambda item: order.index(item.section))


def _last_state(found: Sequence[Entry]) -> list[Entry]:
    """Without handoffs, but for the newest."""
    newest = next((entry for entry in found if entry.type == "handoff"), None)
    return [entry for entry in found if entry.type != "handoff" or entry is newest]


def _procedures_elsewhere(items: Sequence[Item], slug: str) -> list[Item]:
    """One line that leads to the procedures, instead of the procedures."""
    found = [item for item in items if item.section == "Procedures"]
    if not found:
        return list(items)
    link = Item(
        section="Procedures",
        text=f"{len(found)} in [[procedures/{slug}]]",
        ids=tuple(one for item in found for one in item.ids),
        at=found[0].at,
        held=any(item.held for item in found),
        tells=False,
    )
    return [item for item in items if item.section != "Procedures"] + [link]


def _item(entry: Entry, section: str, zone: tzinfo | None) -> Item:
    return Item(
        section=section,
        text=_text(entry, zone),
        ids=(entry.id,),
        at=entry.timestamp,
        held=held(entry),
        weight=weight(entry),
    )


def _text(entry: Entry, zone: tzinfo | None) -> str:
    date = f"[[{day(entry.timestamp, zone)}]]"
    pin = "📌 " if entry.pinned else ""
    role = pages.role(entry)
    if role == "task":
        return f"[ ] {pin}{told(entry)} (since {date})"
    if role == "done":
        return f"[x] {date}: {told(entry)}"
    if role == "handoff":
        return f"{date}: {plain(entry.content)}"
    if role in ("decision", "event"):
        return f"{date}: {pin}{told(entry)}"
    return f"{pin}{told(entry)} ({date})"
