"""Carry: what is not read anew comes along, with everything that it replaced.

That is what a person wrote (`remember`, accepted corrections), and what conversations said
that are not part of the rebuild. Where such an entry replaces one that only the old reading
has, it replaces the new entry that says the same as well, so that what was corrected stays
corrected; and the old entry comes along, replaced, so that no chain ends in nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from wakebook.derive import likeness
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry

At = Callable[[str], Sequence[Entry]]  # the new entries of a transcript


def carried(main: Chains, replayed: frozenset[str]) -> list[Entry]:
    """The entries that come along, oldest first."""
    found = [entry for entry in main.entries if entry.transcript not in replayed]
    return sorted(found, key=lambda entry: entry.timestamp)  # the order of the log otherwise


def linked(entry: Entry, main: Chains, new: Chains, at: At) -> list[Entry]:
    """The entry as it goes into the new log, behind those that it needs there."""
    if entry.id in new.by_id:
        return []
    olds = _behind(entry, main, new)
    also = [one for one in successors(olds, new, at) if one not in entry.replaces]
    return [*olds, entry.with_(replaces=(*entry.replaces, *also)) if also else entry]


def relinked(entry: Entry, main: Chains, new: Chains, carried: set[str], at: At) -> Entry:
    """A carried entry again, once everything has been read: more may say the same by now."""
    olds = [one for one in _family(entry, main) if one.id in carried]
    also = [
        one for one in successors(olds, new, at) if one not in entry.replaces and one != entry.id
    ]
    return entry.with_(replaces=(*entry.replaces, *also)) if also else entry


def successors(olds: Sequence[Entry], new: Chains, at: At) -> list[str]:
    """The new entries that hold, and say what an old one said."""
    found: list[str] = []
    for path in dict.fromkeys(one.transcript for one in olds if one.transcript):
        there = [one for one in at(path) if one.id not in new.replaced_by]
        mine = [one for one in olds if one.transcript == path]
        found += likeness.matches(there, mine)
    return found


def _behind(entry: Entry, main: Chains, new: Chains) -> list[Entry]:
    """What an entry replaced, and what that replaced, as far as only the old log has it."""
    return [one for one in _family(entry, main, new) if one.id not in new.by_id]


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
