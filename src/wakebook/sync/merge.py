"""Merge: what each file of a home becomes, from what two machines have and what they had in common.

| file | rule |
|---|---|
| log.jsonl | by id; one id with two bodies: the longer one, the other is kept aside |
| forgotten.jsonl | all receipts, applied to everything else |
| waiting.jsonl | settled on one machine is settled on all |
| subjects.json, projects.json | by key and field |
| condensed.json | by block; one that both have condensed is told whole again |
| erased.jsonl, withheld.jsonl, feedback.jsonl, log.torn | all lines |
| config.toml, prices.toml | by setting |
| raw/conversations | the one that goes further; never put together |
| everything else | people's text line by line, Wakebook's blocks written anew |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from wakebook.base import markdown
from wakebook.log.forgotten import Forgotten
from wakebook.sync import prose, records
from wakebook.sync.records import Whole

Tree = Mapping[str, str]  # the name of every file, and what identifies its contents
Read = Callable[[str, str], bytes]  # the contents of a file, by name and what identifies them
RECORDS: dict[str, records.Rule] = {
    "subjects.json": records.subjects,
    "projects.json": records.objects,
    "condensed.json": records.condensed,
    "feedback.jsonl": records.lines,
    "erased.jsonl": records.lines,
    "withheld.jsonl": records.lines,
    "log.torn": records.lines,
    "config.toml": records.settings,
    "prices.toml": records.settings,
}
RECEIPTS, LOG, WAITING = "forgotten.jsonl", "log.jsonl", "waiting.jsonl"
TEXT = (".md", ".txt", ".gitignore", ".gitattributes", ".toml", ".json", ".jsonl")


class Outcome(NamedTuple):
    taken: dict[str, str]  # files that become what the other machine has
    written: dict[str, bytes]  # files that become neither
    gone: tuple[str, ...]  # files that the other machine has taken out
    aside: dict[str, tuple[bytes, ...]]  # by file, what has lost
    notes: tuple[str, ...]


def merge(
    base: Tree, ours: Tree, theirs: Tree, read: Read, receipts: Callable[[bytes], Forgotten]
) -> Outcome:
    """What changes on our side. `receipts`: reads merged receipts."""
    taken: dict[str, str] = {}
    gone: list[str] = []
    both: list[str] = []
    for name in sorted(base.keys() | ours.keys() | theirs.keys()):
        was, one, two = base.get(name), ours.get(name), theirs.get(name)
        if one == two or two == was:
            continue
        if one == was:
            if two is None:
                gone.append(name)
            else:
                taken[name] = two
        elif one is None:
            taken[name] = two or ""  # changed on one machine, taken out on the other: it stays
        elif two is not None:
            both.append(name)
    sides = {name: _sides(name, base, ours, theirs, read) for name in both}
    written, aside, notes = _merged(sides)
    if RECEIPTS in taken or RECEIPTS in written or LOG in written or LOG in taken:
        _forget(written, taken, ours, read, receipts)
    return Outcome(taken, written, tuple(gone), aside, tuple(notes))


def _sides(
    name: str, base: Tree, ours: Tree, theirs: Tree, read: Read
) -> tuple[bytes, bytes, bytes]:
    was = read(name, base[name]) if name in base else b""
    return was, read(name, ours[name]), read(name, theirs[name])


def _merged(
    sides: Mapping[str, tuple[bytes, bytes, bytes]],
) -> tuple[dict[str, bytes], dict[str, tuple[bytes, ...]], list[str]]:
    found: dict[str, Whole] = {}
    for name, three in sides.items():
        if name == RECEIPTS:
            found[name] = records.receipts(*three)
        elif name not in (LOG, WAITING):
            found[name] = one(name, *three)
    if LOG in sides:
        found[LOG] = records.log(*sides[LOG])
    if WAITING in sides:
        there = records.by_id(found[LOG].data).keys() if LOG in found else set()
        found[WAITING] = records.waiting(*sides[WAITING], there)
    written = {name: one.data for name, one in found.items()}
    aside = {name: one.aside for name, one in found.items() if one.aside}
    return written, aside, [note for one in found.values() for note in one.notes]


def one(name: str, was: bytes, one: bytes, two: bytes) -> Whole:
    if rule := RECORDS.get(name):
        return rule(was, one, two)
    if name.startswith("raw/"):
        return conversation(name, one, two)
    if PurePosixPath(name).suffix in TEXT or PurePosixPath(name).name in TEXT:
        return prose.text(name, was, one, two)
    return prose.binary(name, one, two)


def conversation(name: str, one: bytes, two: bytes) -> Whole:
    """Of two readings of one window, the one that goes further; of equal ones, the same on every
    machine."""
    best = max((one, two), key=lambda data: (_reach(data), data))
    return Whole(best)


def _reach(data: bytes) -> tuple[bool, int, int]:
    front, _ = markdown.split(data.decode("utf-8", "replace"))
    source = front.get("source")
    end = source.get("to") if isinstance(source, dict) else 0
    turns = front.get("turns")
    return (
        front.get("closed") is True,
        turns if isinstance(turns, int) else 0,
        end if isinstance(end, int) else 0,
    )


def _forget(
    written: dict[str, bytes],
    taken: dict[str, str],
    ours: Tree,
    read: Read,
    receipts: Callable[[bytes], Forgotten],
) -> None:
    """Take out of the log what was forgotten on any machine."""

    def now(name: str) -> bytes:
        if name in written:
            return written[name]
        found = taken.get(name) or ours.get(name)
        return read(name, found) if found else b""

    gone = receipts(now(RECEIPTS))
    before, mine = now(LOG), read(LOG, ours[LOG]) if LOG in ours else b""
    looked = 0  # ours was looked through with the same receipts
    if RECEIPTS not in written | taken and mine.endswith(b"\n") and before.startswith(mine):
        looked = len(mine)
    after = before[:looked] + records.left(before[looked:], gone)
    if after != before:
        written[LOG] = after
        taken.pop(LOG, None)
