"""Carry: what is not read anew comes along.

Entries: what a person wrote (`remember`, accepted corrections), and what conversations said that
are not part of the rebuild. Where such an entry replaces one that only the old reading has, it
replaces the new entry that says the same as well, so that what was corrected stays corrected; and
the old entry comes along, replaced, so that no chain ends in nothing.

Condensed lines: another reading gives other ids to what was said. Where an entry of the old log
has become another one, by what it says and where it was said, the lines of condensed.json stand
for that one from now on: otherwise the long-term part of MEMORY.md would be empty. A line that
loses one of its entries does not hold any more, and the others of it are told one by one.

Subjects: everything that a person has made or changed: names, aliases, types, deletions. A subject
that rules came upon by themselves is left out: they come upon it again, at the same place, and not
before it was first mentioned. A model is shown all of them, so that names stay as they are.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from wakebook.base.home import Home
from wakebook.learn.extract import RULES, Scene, matches, subject
from wakebook.log import subjects
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry
from wakebook.log.subjects import Registry, Subject
from wakebook.notes import condensed
from wakebook.notes.condensed import Condensed, CondensedLine

At = Mapping[str, Sequence[Entry]]  # transcript -> its new entries


def by_transcript(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.transcript, []).append(entry)
    return found


# --- entries -----------------------------------------------------------------------------
def carried(main: Chains, replayed: frozenset[str]) -> list[Entry]:
    """The entries that come along, oldest first."""
    found = [entry for entry in main.entries if entry.transcript not in replayed]
    return sorted(found, key=lambda entry: entry.timestamp)  # the order of the log otherwise


def linked(entry: Entry, main: Chains, new: Chains, at: At) -> list[Entry]:
    """The entry as it goes into the new log, behind those that it needs there."""
    if entry.id in new.by_id:
        return []
    olds = [one for one in _family(entry, main, new) if one.id not in new.by_id]
    return [*olds, _replacing(entry, olds, new, at)]


def relinked(entry: Entry, main: Chains, new: Chains, along: set[str], at: At) -> Entry:
    """A carried entry again, once everything has been read: more may say the same by now."""
    olds = [one for one in _family(entry, main) if one.id in along]
    return _replacing(entry, olds, new, at)


def _replacing(entry: Entry, olds: Sequence[Entry], new: Chains, at: At) -> Entry:
    """An entry that also replaces the new entries that hold, and say what an old one said."""
    also: list[str] = []
    for path, mine in by_transcript(one for one in olds if one.transcript).items():
        there = [one for one in at.get(path, ()) if one.id not in new.replaced_by]
        also += matches(there, mine)
    also = [one for one in also if one not in entry.replaces and one != entry.id]
    return entry.with_(replaces=(*entry.replaces, *also)) if also else entry


def _family(entry: Entry, main: Chains, new: Chains | None = None) -> list[Entry]:
    """Everything that an entry stands on, oldest first, up to what the new log has."""
    found: dict[str, Entry] = {}
    waiting = list(entry.replaces)
    while waiting:
        name = waiting.pop()
        old = main.by_id.get(name)
        if old is None or name in found or name == entry.id:
            continue
        found[name] = old
        if new is None or name not in new.by_id:
            waiting += old.replaces
    oldest_first = list(reversed(found.values()))  # where they are of the same minute
    oldest_first.sort(key=lambda one: one.timestamp)
    return oldest_first


def pairs(old: Sequence[Entry], new: Sequence[Entry]) -> dict[str, Entry]:
    """Old id -> the new entry that it has changed into, transcript by transcript."""
    before, after = by_transcript(old), by_transcript(new)
    found: dict[str, Entry] = {}
    for path in before.keys() & after.keys() - {""}:
        found |= matches(before[path], after[path])
        one = [entry for entry in before[path] if entry.type == "handoff"]
        other = [entry for entry in after[path] if entry.type == "handoff"]
        found |= {was.id: is_ for was, is_ in zip(one, other, strict=False)}
    return found


# --- condensed lines ---------------------------------------------------------------------
def follow(home: Home, main: Chains, new: Chains) -> int:
    """Write condensed.json anew for another log. How many of its entries are in it no more."""
    told = condensed.load(home)
    gone = [one for one in main.entries if one.id not in new.by_id]
    fresh = [one for one in new.entries if one.id not in main.by_id]
    became = {name: entry.id for name, entry in pairs(gone, fresh).items()}
    became |= {name: name for name in new.by_id}
    after = {name: _followed(one, became) for name, one in told.items()}
    if after != told:
        condensed.save(home, after)
    ids = {one for block in told.values() for line in block.lines for one in line.ids}
    return len(ids - became.keys())


def _followed(block: Condensed, became: Mapping[str, str]) -> Condensed:
    lines: list[CondensedLine] = []
    for line in block.lines:
        left = tuple(became[one] for one in line.ids if one in became)
        if len(left) == len(line.ids):
            lines.append(msgspec.structs.replace(line, ids=left))
        else:
            lines += [CondensedLine((one,), section=line.section) for one in left]
    dropped = tuple(became[one] for one in block.dropped if one in became)
    return msgspec.structs.replace(block, lines=tuple(lines), dropped=dropped)


# --- subjects ----------------------------------------------------------------------------
def first_registry(
    before: Registry, main: Chains, extractor: str, project: Callable[[Entry], str]
) -> Registry:
    """The subjects that a replay knows before its first conversation. `project`: the working
    folder's subject of the conversation that an entry is from."""
    if extractor != RULES:
        return before
    first: dict[str, Entry] = {}
    for entry in main.entries:
        first.setdefault(entry.subject, entry)
    kept = {
        slug: item
        for slug, item in before.subjects.items()
        if not (_plain(item) and slug in first and _introduces(first[slug], project))
    }
    return Registry(kept)


def _plain(item: Subject) -> bool:
    return item == Subject(item.slug, subjects.title(item.slug))


def _introduces(entry: Entry, project: Callable[[Entry], str]) -> bool:
    """Whether rules would find the subject in this entry without knowing it."""
    if not entry.transcript:
        return False
    known = project(entry)
    return entry.subject in (known, subject(entry.type, entry.content, Scene(subject=known)))


def completed(after: Registry, before: Registry, used: set[str], was_used: set[str]) -> Registry:
    """The registry of a new log: what it uses, as it was known, and what a person made. A subject
    that no person made and only the old log used is gone."""
    new = {slug: item for slug, item in after.subjects.items() if slug in used}
    kept = {
        slug: item
        for slug, item in before.subjects.items()
        if slug in used or slug not in was_used or not _plain(item)
    }
    return Registry(new | kept)
