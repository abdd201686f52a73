"""Records: how the files of records are merged.

Every rule takes what both sides had in common (`base`), and what each has now; nothing for a file
that is not there. It gives the same result whichever side is called ours: all machines come to the
same bytes. What only one side has taken out stays out, as long as both knew it; receipts of what
was forgotten win over everything.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from wakebook.base import words
from wakebook.base.decode import decoder
from wakebook.base.errors import InvalidEntry
from wakebook.log.entry import decode, encode
from wakebook.log.forgotten import Forgotten

Record = dict[str, Any]


class Whole(NamedTuple):
    data: bytes
    aside: tuple[bytes, ...] = ()  # lines that lost against another version of themselves
    notes: tuple[str, ...] = ()  # what a person should look at


class _Head(msgspec.Struct):
    """What the order of the log depends on."""

    id: str
    timestamp: str = ""
    replaces: str | list[str] = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.timestamp, self.id

    @property
    def old(self) -> list[str]:
        return [self.replaces] if isinstance(self.replaces, str) else self.replaces


def log(base: bytes, ours: bytes, theirs: bytes) -> Whole:
    """Entries by id. One with two bodies: the longer one, the other is kept aside. The order is
    that of replacements, then of time and id, whatever a machine's clock has said."""
    kept, aside = _union(*(by_id(data) for data in (base, ours, theirs)))
    return Whole(b"".join(_in_order(kept)), tuple(aside))


def left(data: bytes, gone: Forgotten) -> bytes:
    """A log without what was forgotten, in the order that it has."""
    return b"".join(_without(by_id(data), gone).values())


def more(data: bytes, before: bytes) -> int:
    """How many entries a log has that another one does not."""
    if data.startswith(before) and (not before or before.endswith(b"\n")):
        return data.count(b"\n", len(before))
    return len(by_id(data).keys() - by_id(before).keys())


def alike(one: bytes, other: bytes) -> int:
    """How many bytes two logs have in common at their beginning."""
    left, right = memoryview(one), memoryview(other)
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def by_id(data: bytes) -> dict[str, bytes]:
    """Lines by the id of their entry; one that is no entry, by itself. The first counts."""
    found: dict[str, bytes] = {}
    head = decoder(_Head).decode
    for line in data.splitlines():
        if line.strip():
            try:
                name = head(line).id
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                name = f"\0{line.decode('utf-8', 'replace')}"
            found.setdefault(name, line + b"\n")
    return found


def _union(
    known: Mapping[str, bytes], mine: Mapping[str, bytes], other: Mapping[str, bytes]
) -> tuple[dict[str, bytes], list[bytes]]:
    """By key, what both sides make of what they knew; and what has lost."""
    kept: dict[str, bytes] = {}
    aside: list[bytes] = []
    for name in mine.keys() | other.keys():
        was, one, two = known.get(name), mine.get(name), other.get(name)
        if one == two or two == was:
            found = one
        elif one == was:
            found = two
        else:  # both have changed it, or made it; one that was taken out by one side only stays
            versions = sorted({line for line in (one, two) if line}, key=lambda it: (len(it), it))
            found = versions[-1]
            aside += versions[:-1]
        if found is not None:
            kept[name] = found
    return kept, aside


def _without(kept: Mapping[str, bytes], gone: Forgotten) -> dict[str, bytes]:
    """Without what was forgotten, on whichever machine."""
    if not gone.ids:
        return dict(kept)
    found: dict[str, bytes] = {}
    for name, line in kept.items():
        try:
            entry = decode(line)
        except InvalidEntry:
            found[name] = line
            continue
        left = gone.without(entry, words.terms)
        if left is not None:
            found[name] = line if left == entry else encode(left)
    return found


def _in_order(kept: Mapping[str, bytes]) -> Iterable[bytes]:
    """What replaces comes after what it replaces; otherwise the older first. Circles are broken at
    their oldest, and lines that are no entries come last."""
    head = decoder(_Head).decode
    heads = {name: head(line) for name, line in kept.items() if not name.startswith("\0")}
    waits = {name: {old for old in one.old if old in heads} - {name} for name, one in heads.items()}
    after: dict[str, list[str]] = {}
    for name, olds in waits.items():
        for old in olds:
            after.setdefault(old, []).append(name)
    ready = [heads[name].key for name, olds in waits.items() if not olds]
    heapq.heapify(ready)
    left = dict.fromkeys(sorted(heads, key=lambda name: heads[name].key))
    while left:
        name = heapq.heappop(ready)[1] if ready else next(iter(left))
        if name not in left:
            continue
        del left[name]
        yield kept[name]
        for later in after.get(name, ()):
            waits[later].discard(name)
            if not waits[later] and later in left:
                heapq.heappush(ready, heads[later].key)
    yield from (kept[name] for name in sorted(kept) if name.startswith("\0"))


def lines(base: bytes, ours: bytes, theirs: bytes) -> Whole:
    """Lines that only ever come to it: each once, by its moment (`at`)."""
    found = {line for data in (ours, theirs) for line in data.splitlines() if line.strip()}
    return Whole(b"".join(line + b"\n" for line in sorted(found, key=_moment)))


def _moment(line: bytes) -> tuple[str, bytes]:
    try:
        raw = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return "", line
    return str(raw.get("at", "")) if isinstance(raw, dict) else "", line


def receipts(base: bytes, ours: bytes, theirs: bytes) -> Whole:
    """Receipts by id, never collected: of one id the first."""
    found: dict[str, bytes] = {}
    for line in lines(base, ours, theirs).data.splitlines(keepends=True):
        try:
            name = str(msgspec.json.decode(line)["id"])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
            name = line.decode("utf-8", "replace")
        found.setdefault(name, line)
    return Whole(b"".join(found.values()))


def waiting(base: bytes, ours: bytes, theirs: bytes, there: Collection[str]) -> Whole:
    """What waits for a person. Accepted or refused on one machine is settled on all. `there`: the
    ids of the merged log."""
    sides = [_waiting(data) for data in (base, ours, theirs)]
    refused = set[str]().union(*(side[1] for side in sides[1:]))
    kept, aside = _union(*(side[0] for side in sides))
    left = [line for name, line in kept.items() if name not in refused and name not in there]
    done = [json.dumps({"refused": name}).encode() + b"\n" for name in sorted(refused)]
    return Whole(b"".join(sorted(left, key=_said_at) + done), tuple(aside))


def _waiting(data: bytes) -> tuple[dict[str, bytes], set[str]]:
    entries: dict[str, bytes] = {}
    refused: set[str] = set()
    for line in data.splitlines():
        try:
            raw = json.loads(line)
            if "refused" in raw:
                refused.add(str(raw["refused"]))
            else:
                entries[str(raw["entry"]["id"])] = line + b"\n"
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # half a line that a crash left: its session is read again
    return entries, refused


def _said_at(line: bytes) -> tuple[str, bytes]:
    return str(json.loads(line)["entry"].get("timestamp", "")), line


# --- objects -----------------------------------------------------------------------------
def subjects(base: bytes, ours: bytes, theirs: bytes) -> Whole:
    """Slug by slug and field by field. A slug that is an alias of another one is no subject any
    more: it was renamed or merged on one of the machines."""
    found = _three(*map(_object, (base, ours, theirs)))
    aliases = {
        name: slug
        for slug, one in sorted(found.items())
        if isinstance(one, dict) and isinstance(one.get("aliases"), list)
        for name in one["aliases"]
        if name != slug
    }
    for slug in sorted(aliases.keys() & found.keys()):
        if aliases.get(aliases[slug]) == slug:  # each has become the other: the first name stays
            continue
        del found[slug]
    return Whole(_dumped(found, indent=2))


def objects(base: bytes, ours: bytes, theirs: bytes) -> Whole:
    """By key and field (projects.json)."""
    return Whole(_dumped(_three(*map(_object, (base, ours, theirs))), indent=2))


def condensed(base: bytes, ours: bytes, theirs: bytes) -> Whole:
    """Block by block. One that both have condensed is told whole again, until the next time."""
    was, one, two = (_object(data) for data in (base, ours, theirs))
    found = {}
    for name in one.keys() | two.keys():
        sides = {json.dumps(side.get(name), sort_keys=True) for side in (one, two)}
        if len(sides) == 1 or two.get(name) == was.get(name):
            found[name] = one.get(name)
        elif one.get(name) == was.get(name):
            found[name] = two.get(name)
    return Whole(_dumped({key: value for key, value in found.items() if value}, indent=1))


def _object(data: bytes) -> Record:
    try:
        raw = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        return {}
    return raw if isinstance(raw, dict) else {}


def _dumped(found: Record, indent: int) -> bytes:
    ordered = {key: found[key] for key in sorted(found)}
    return (json.dumps(ordered, ensure_ascii=False, indent=indent) + "\n").encode()


def _three(base: Any, ours: Any, theirs: Any) -> Any:
    """A value of JSON, three ways: objects by key, lists as sets, anything else as a whole."""
    if ours == theirs or theirs == base:
        return ours
    if ours == base:
        return theirs
    if isinstance(ours, dict) and isinstance(theirs, dict):
        was = base if isinstance(base, dict) else {}
        names = [*ours, *(name for name in sorted(theirs) if name not in ours)]
        made = {name: _three(was.get(name), ours.get(name), theirs.get(name)) for name in names}
        return {name: value for name, value in made.items() if value is not None}
    if isinstance(ours, list) and isinstance(theirs, list):
        known = base if isinstance(base, list) else []
        gone = [one for one in known if one not in ours or one not in theirs]
        every = [one for one in (*ours, *theirs) if one not in gone]
        return sorted({json.dumps(one, sort_keys=True): one for one in every}.values(), key=str)
    present = [one for one in (ours, theirs) if one is not None]  # changed beats taken out
    return max(present, key=lambda one: json.dumps(one, sort_keys=True, ensure_ascii=False))


# --- settings ----------------------------------------------------------------------------
def settings(base: bytes, ours: bytes, theirs: bytes) -> Whole:
    """config.toml, setting by setting, with the comments of the side that has more of them."""
    import tomllib

    import tomlkit

    try:
        was, one, two = (tomllib.loads(data.decode()) for data in (base, ours, theirs))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        best = max(ours, theirs)
        said = "config.toml cannot be read on one of the machines, so it was not merged."
        return Whole(best, (min(ours, theirs),), (said,))
    wanted, notes = _three(was, one, two), _differ(was, one, two)
    text = max((ours, theirs), key=lambda data: (data.count(b"\n"), data))
    document = tomlkit.parse(text.decode())
    _make(document, wanted)
    return Whole(tomlkit.dumps(document).encode(), (), tuple(notes))


def _differ(was: Record, one: Record, two: Record, path: str = "") -> Iterable[str]:
    for name in sorted(one.keys() & two.keys()):
        mine, other, old = one[name], two[name], was.get(name)
        if mine == other or old in (mine, other):
            continue
        if isinstance(mine, dict) and isinstance(other, dict):
            yield from _differ(old if isinstance(old, dict) else {}, mine, other, f"{path}{name}.")
        elif not isinstance(mine, list):
            kept, lost = sorted((mine, other), key=lambda it: json.dumps(it, default=str))[::-1]
            yield f"config.toml: {path}{name} was set on two machines: {kept!r} stays, not {lost!r}"


def _make(table: Any, wanted: Record) -> None:
    """Give a table of a TOML document these values, and no others."""
    for name in [name for name in table if name not in wanted]:
        table.remove(name)
    for name, value in wanted.items():
        there = table.get(name)
        if isinstance(value, dict) and isinstance(there, dict):
            _make(there, value)
        elif name not in table or there != value:
            table[name] = value


Rule = Callable[[bytes, bytes, bytes], Whole]
