"""The notes that are read first: what is active, who is who, and what matters most.

Observations are everything that is still of interest, by priority: what is pinned or open,
then what was decided, learned or refined, then the rest; the two lower ones fade with time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo

from wakebook.derive.notes import page as pages
from wakebook.derive.notes.condensed import Rewrite
from wakebook.derive.notes.item import Item, day, held, plain, told, visible, weight
from wakebook.derive.notes.links import link
from wakebook.log.entry import Entry
from wakebook.log.subjects import Registry, Subject

HIGH, MEDIUM, LOW = "🔴 High", "🟡 Medium", "🟢 Low"
MEDIUM_DAYS, LOW_DAYS = 180, 30
OBSERVED = 400  # of each priority, at most
ACTIVE = 20
LINE = 160
ROLLUP = {
    "decision": "Key Decisions",
    "lesson": "Lessons Learned",
    "preference": "Preferences",
    "procedure": "How Things Are Done",
}


def active(newest: Sequence[tuple[Subject, Entry]]) -> list[Item]:
    """Projects with news, the newest first, each with where it stands."""
    return [_about(subject, entry, "Active Projects") for subject, entry in newest]


def people(newest: Sequence[tuple[Subject, Entry]]) -> list[Item]:
    """Everybody who is known, by name."""
    found = sorted(newest, key=lambda pair: (pair[0].display.lower(), pair[0].slug))
    return [_about(subject, entry, "People") for subject, entry in found]


def _about(subject: Subject, entry: Entry, section: str) -> Item:
    return Item(
        section=section,
        text=f"**{link(subject)}** — {plain(entry.content, LINE)}",
        ids=(entry.id,),
        at=entry.timestamp,
        tells=False,
    )


def observations(
    entries: Iterable[Entry], depths: Mapping[str, int], registry: Registry, now: datetime
) -> list[Item]:
    """What is still of interest, by priority and then by age."""
    found: dict[str, list[Item]] = {HIGH: [], MEDIUM: [], LOW: []}
    order = sorted(visible(entries), key=lambda entry: (entry.timestamp, entry.id), reverse=True)
    for entry in order:
        level = priority(entry, depths.get(entry.id, 0), now)
        if level:
            found[level].append(_observed(entry, level, registry, now.tzinfo))
    return [item for items in found.values() for item in items]


def priority(entry: Entry, depth: int, now: datetime) -> str:
    """High, medium, low, or nothing: computed, never stored."""
    age = now - entry.timestamp
    if held(entry):
        return HIGH
    if pages.role(entry) in ("handoff", "done"):
        return ""
    telling = entry.type == "decision" or entry.kind is not None or depth > 0
    if telling:
        return MEDIUM if age <= timedelta(days=MEDIUM_DAYS) else ""
    return LOW if age <= timedelta(days=LOW_DAYS) else ""


def _observed(entry: Entry, level: str, registry: Registry, zone: tzinfo | None) -> Item:
    slug = registry.canonical(entry.subject)
    about = f" ({slug})" if slug else ""
    lead = {"task": "To do: ", "question": "Open: "}.get(pages.role(entry), "")
    text = f"{level[0]} {day(entry.timestamp, zone)} {lead}{told(entry)}{about}"
    return Item(
        section=level,
        text=text,
        ids=(entry.id,),
        at=entry.timestamp,
        held=held(entry),
        weight=weight(entry),
    )


def rollup(entries: Iterable[Entry], zone: tzinfo | None) -> list[Item]:
    """What may be kept in MEMORY.md for good, as its items."""
    order = list(ROLLUP)
    found = [entry for entry in visible(entries) if pages.role(entry) in ROLLUP]
    found.sort(key=lambda entry: (-order.index(pages.role(entry)), entry.timestamp), reverse=True)
    return [
        Item(
            section=ROLLUP[pages.role(entry)],
            text=f"{day(entry.timestamp, zone)}: {'📌 ' * entry.pinned}{told(entry)}",
            ids=(entry.id,),
            at=entry.timestamp,
            held=entry.pinned,
            weight=weight(entry),
        )
        for entry in found
    ]


def remembered(kept: Mapping[str, Entry], rewrite: Rewrite | None) -> list[Entry]:
    """The entries of the last rollup, each as it holds today. `kept`: id -> what holds of it."""
    lines = rewrite.lines if rewrite else ()
    found = {one: kept[one] for line in lines for one in line.ids if one in kept}
    return list({entry.id: entry for entry in found.values()}.values())
