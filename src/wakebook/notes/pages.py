"""What is known about one subject, as the items of its notes, the newest first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo

from wakebook.log.entry import RETRACTED, Entry
from wakebook.log.subjects import Registry, Subject, title
from wakebook.notes import page as pages
from wakebook.notes.condensed import Rewrite
from wakebook.notes.item import Item, day, held, plain, told, visible, weight
from wakebook.notes.page import link

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


def about(
    entries: Iterable[Entry], headings: Mapping[str, str], zone: tzinfo | None, slug: str = ""
) -> list[Item]:
    """The entries of a note under its headings. `slug`: whose procedures stand elsewhere."""
    found = sorted(visible(entries), key=lambda entry: entry.timestamp)[::-1]
    if "decision" in headings and "task" not in headings:  # where things stand, and no history
        found = _last_state(found)
    order = list(dict.fromkeys(headings.values()))
    told_ = [
        _noted(entry, headings[pages.role(entry)], zone)
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


def _noted(entry: Entry, section: str, zone: tzinfo | None) -> Item:
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


# -----------------------------------------------------------------------------
# A day's journal: what was learned that day, by subject, and where each session stopped.
#
# It stays a record of the day: what has been corrected since is struck through, with what holds
# instead, unless that was said on the same day.

OTHER, SESSIONS = "Other", "Sessions"
ASIDE = 6  # words, like "we decided to"
_LEAD = {"decision": "**Decided:** ", "question": "**Open:** ", "task": "[ ] ", "done": "[x] "}

Said = tuple[Entry, Entry | None]  # and what holds instead


def journal(said: Iterable[Said], registry: Registry, zone: tzinfo | None) -> list[Item]:
    found: list[Item] = []
    last: list[Item] = []
    day_of = list(said)
    spoken = {entry.id for entry, _ in day_of}
    replaced = {old for entry, _ in day_of if entry.type != "handoff" for old in entry.replaces}
    for entry, instead in day_of:
        if entry.extra.get(RETRACTED) or (entry.id in replaced and instead):
            continue  # or it was corrected within the day
        if entry.type == "handoff":
            since = _overtaken(entry, day_of)
            within = since is not None and since.id in spoken and _is_all(entry, since, day_of)
            if instead is None and not within:
                last.append(_session(entry, zone, since))
        elif instead is None:
            section = _section(entry, registry)
            text = f"{_LEAD.get(pages.role(entry), '')}{'📌 ' * entry.pinned}{told(entry)}"
            found.append(_told(entry, section, text, held(entry)))
        else:
            found.append(_corrected(entry, instead, _section(entry, registry), zone))
    order = list(dict.fromkeys(item.section for item in found))
    order.sort(key=lambda section: section == OTHER)
    return sorted(found, key=lambda item: order.index(item.section)) + last


def _section(entry: Entry, registry: Registry) -> str:
    slug = registry.canonical(entry.subject)
    known = registry.subjects.get(slug)
    if not slug or (known and known.deleted):
        return OTHER
    return link(known or Subject(slug, title(slug)))


def _told(entry: Entry, section: str, text: str, held_: bool) -> Item:
    return Item(
        section=section,
        text=text,
        ids=(entry.id,),
        at=entry.timestamp,
        held=held_,
        weight=weight(entry),
    )


def _corrected(entry: Entry, instead: Entry, section: str, zone: tzinfo | None) -> Item:
    date = day(instead.timestamp, zone)
    if instead.extra.get(RETRACTED):
        later = f"no longer so, {date}"
    elif instead.type == "handoff":
        later = f"not kept, [[{date}]]"
    elif instead.content == entry.content:
        later = f"{'done' if instead.status == 'done' else 'again'}, [[{date}]]"
    else:
        later = f"[[{date}]]: {plain(instead.content)}"
    return Item(
        section=section,
        text=f"~~{plain(entry.content).replace('~~', '~ ~')}~~ → {later}",
        ids=(entry.id, instead.id),
        at=entry.timestamp,
        weight=0,
        tells=False,
    )


def _session(entry: Entry, zone: tzinfo | None, since: Entry | None) -> Item:
    local = entry.timestamp.astimezone(zone)
    later = f" (since replaced: {plain(since.content)})" if since else ""
    return _told(entry, SESSIONS, f"{local:%H:%M} {plain(entry.content)}{later}", False)


def _overtaken(handoff: Entry, said: Iterable[Said]) -> Entry | None:
    """What holds instead of what a handoff says, if another conversation has corrected it."""
    words = _words(handoff.content)
    for entry, instead in said:
        if instead is None or entry is handoff or entry.transcript != handoff.transcript:
            continue
        elsewhere = instead.transcript != handoff.transcript
        if elsewhere and instead.content != entry.content and _words(entry.content) <= words:
            return instead
    return None


def _is_all(handoff: Entry, since: Entry, said: Iterable[Said]) -> bool:
    """Whether a handoff says little beside what was corrected: then the later one is enough."""
    gone = [_words(entry.content) for entry, instead in said if instead is since]
    return len(_words(handoff.content)) <= ASIDE + max(map(len, gone), default=0)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def sessions(said: Iterable[Said]) -> list[str]:
    """The ids of the conversations of a day, for its frontmatter."""
    return list(dict.fromkeys(entry.session for entry, _ in said if entry.session != "manual"))


# -----------------------------------------------------------------------------
# The notes that are read first: what is active, who is who, and what matters most.
#
# Observations are everything that is still of interest, by priority: what is pinned or open,
# then what was decided, learned or refined, then the rest; the two lower ones fade with time.

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
