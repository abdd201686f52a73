"""A day's journal: what was learned that day, by subject, and where each session stopped.

It stays a record of the day: what has been corrected since is struck through, with what holds
instead, unless that was said on the same day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import tzinfo

from wakebook.derive.notes import page as pages
from wakebook.derive.notes.item import Item, day, held, plain, told, weight
from wakebook.derive.notes.links import link
from wakebook.log.entry import RETRACTED, Entry
from wakebook.log.subjects import Registry, Subject, title

OTHER, SESSIONS = "Other", "Sessions"
ASIDE = 6  # words, like "we decided to"
_LEAD = {"decision": "**Decided:** ", "question": "**Open:** ", "task": "[ ] ", "done": "[x] "}

Said = tuple[Entry, Entry | None]  # and what holds instead


def items(said: Iterable[Said], registry: Registry, zone: tzinfo | None) -> list[Item]:
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
            found.append(_item(entry, section, text, held(entry)))
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


def _item(entry: Entry, section: str, text: str, held_: bool) -> Item:
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
    return _item(entry, SESSIONS, f"{local:%H:%M} {plain(entry.content)}{later}", False)


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
