"""Compare: what would hold, and what holds now. A pure function of two logs.

Only what holds is compared: an entry that something else has replaced is no loss. Two entries
are the same if their ids are, and all that notes tell of them: one that is about another
subject has changed. One has changed into another if both were said at the same place of the same
conversation and are alike, or if the new log has it replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from wakebook.base.home import Home
from wakebook.learn import extract as likeness
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry
from wakebook.notes import condensed
from wakebook.notes.condensed import Condensed, Kept, Rewrite

SAMPLES = 5


class Tally(msgspec.Struct, frozen=True):
    same: int = 0
    added: int = 0
    lost: int = 0
    changed: int = 0


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    total: Tally
    by_type: dict[str, Tally]
    by_subject: dict[str, Tally]
    added: tuple[Entry, ...] = ()  # samples
    lost: tuple[Entry, ...] = ()
    changed: tuple[tuple[Entry, Entry], ...] = ()  # was, is
    moved: int = 0  # of those that have changed: said the same, about another subject


class _Sides(msgspec.Struct):
    same: list[Entry]
    added: list[Entry]
    lost: list[Entry]
    changed: list[tuple[Entry, Entry]]


def compare(main: Chains, new: Chains, samples: int = SAMPLES) -> Comparison:
    found = _sides(main, new)
    return Comparison(
        total=_tally(found, lambda entry: True),
        by_type={
            name: _tally(found, lambda entry, name=name: entry.type == name)
            for name in _names(found, "type")
        },
        by_subject={
            name: _tally(found, lambda entry, name=name: entry.subject == name)
            for name in _names(found, "subject")
        },
        added=tuple(_telling(found.added)[:samples]),
        lost=tuple(_telling(found.lost)[:samples]),
        changed=tuple(sorted(found.changed, key=lambda pair: pair[0].type == "handoff")[:samples]),
        moved=sum(_is_moved(was, is_) for was, is_ in found.changed),
    )


def _is_moved(was: Entry, is_: Entry) -> bool:
    return was.subject != is_.subject and was.content == is_.content


def _sides(main: Chains, new: Chains) -> _Sides:
    found = _Sides([], [], [], [])
    there = {entry.id: entry for entry in new.current()}
    rest: list[Entry] = []
    for entry in main.current():
        if entry.id in there:
            after = there.pop(entry.id)
            if _told(entry) == _told(after):
                found.same.append(after)
            else:
                found.changed.append((entry, after))
        else:
            rest.append(entry)
    became = pairs(rest, list(there.values()))
    for entry in rest:
        if entry.id in became:
            after = became[entry.id]
        elif entry.id in new.by_id:  # something replaces it now
            after = new.by_id[new.latest(entry.id)]
        else:
            found.lost.append(entry)
            continue
        there.pop(after.id, None)
        found.changed.append((entry, after))
    found.added = list(there.values())
    return found


def _told(entry: Entry) -> tuple[object, ...]:
    """All of an entry that notes tell."""
    return (
        *(entry.subject, entry.type, entry.content, entry.detail),
        *(entry.status, entry.kind, entry.pinned),
    )


def pairs(old: Sequence[Entry], new: Sequence[Entry]) -> dict[str, Entry]:
    """Old id -> the new entry that it has changed into, transcript by transcript."""
    before, after = _by_transcript(old), _by_transcript(new)
    found: dict[str, Entry] = {}
    for path in before.keys() & after.keys() - {""}:
        for name, entry in likeness.matches(before[path], after[path]).items():
            found[name] = entry
        one = [entry for entry in before[path] if entry.type == "handoff"]
        other = [entry for entry in after[path] if entry.type == "handoff"]
        found |= {was.id: is_ for was, is_ in zip(one, other, strict=False)}
    return found


def _by_transcript(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.transcript, []).append(entry)
    return found


def _tally(found: _Sides, wanted: object) -> Tally:
    assert callable(wanted)
    return Tally(
        sum(map(wanted, found.same)),
        sum(map(wanted, found.added)),
        sum(map(wanted, found.lost)),
        sum(bool(wanted(is_)) for _, is_ in found.changed),
    )


def _names(found: _Sides, field: str) -> list[str]:
    entries = [*found.same, *found.added, *found.lost, *(is_ for _, is_ in found.changed)]
    return sorted({str(getattr(entry, field)) for entry in entries})


def _telling(entries: Sequence[Entry]) -> list[Entry]:
    """Handoffs last: they say least about what was understood."""
    return sorted(entries, key=lambda entry: entry.type == "handoff")


# -----------------------------------------------------------------------------
# Carry: what is not read anew comes along, with everything that it replaced.
#
# That is what a person wrote (`remember`, accepted corrections), and what conversations said
# that are not part of the rebuild. Where such an entry replaces one that only the old reading
# has, it replaces the new entry that says the same as well, so that what was corrected stays
# corrected; and the old entry comes along, replaced, so that no chain ends in nothing.

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


# -----------------------------------------------------------------------------
# Condensed: what rewrites have put together comes along, with the ids of the new reading.
#
# Another reading gives other ids to what was said. Where an entry of the old log has become
# another one, by what it says and where it was said, the lines of condensed.json stand for that
# one from now on: otherwise the long-term part of MEMORY.md would be empty. A line that loses one
# of its entries does not hold any more, and the others of it are told one by one.


def follow(home: Home, main: Chains, new: Chains) -> int:
    """Write condensed.json anew for another log. How many of its entries nobody says any more."""
    told = condensed.load(home)
    gone = [one for one in main.entries if one.id not in new.by_id]
    fresh = [one for one in new.entries if one.id not in main.by_id]
    became = {name: entry.id for name, entry in pairs(gone, fresh).items()}
    became |= {name: name for name in new.by_id}
    after = Condensed({name: _followed(one, became) for name, one in told.blocks.items()})
    if after != told:
        condensed.save(home, after)
    return len({one for rewrite in told.blocks.values() for one in _ids(rewrite)} - became.keys())


def _ids(rewrite: Rewrite) -> set[str]:
    return {one for line in rewrite.lines for one in line.ids}


def _followed(rewrite: Rewrite, became: Mapping[str, str]) -> Rewrite:
    lines: list[Kept] = []
    for line in rewrite.lines:
        left = tuple(became[one] for one in line.ids if one in became)
        if len(left) == len(line.ids):
            lines.append(msgspec.structs.replace(line, ids=left))
        else:
            lines += [Kept((one,), section=line.section) for one in left]
    dropped = tuple(became[one] for one in rewrite.dropped if one in became)
    return msgspec.structs.replace(rewrite, lines=tuple(lines), dropped=dropped)
