"""Compare: what would hold, and what holds now. A pure function of two logs.

Only what holds is compared: an entry that something else has replaced is no loss. Two entries
are the same if their ids are, and all that notes tell of them: one that is about another
subject has changed. One has changed into another if both were said at the same place of the same
conversation and are alike, or if the new log has it replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from wakebook.derive import likeness
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry

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
