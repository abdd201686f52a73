"""Waiting: entries that the user has yet to accept (waiting.jsonl).

Where the user wants to be asked ([learn] approve, or "ask" for a project), what was learned waits
here instead of going into the log, and is told to nobody. Accepted, it goes into the log as it
would have at once; refused, only its id stays, so that reading again does not ask again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from wakebook.base.decode import loads
from wakebook.base.errors import NotFound, WakebookError
from wakebook.base.home import Home
from wakebook.log import log, subjects
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry, as_dict, from_dict

FILE = "waiting.jsonl"
ALL = "all"


class Waiting(NamedTuple):
    entries: dict[str, Entry]  # by id, oldest first
    types: dict[str, str]  # what new subjects are, by slug
    refused: frozenset[str] = frozenset()

    def knows(self, name: str) -> bool:
        return name in self.entries or name in self.refused

    def picked(self, names: Collection[str]) -> list[Entry]:
        """By number, id or the beginning of one; or `all`. Raises NotFound."""
        if ALL in names:
            return list(self.entries.values())
        return [self._one(name) for name in dict.fromkeys(names)]

    def _one(self, name: str) -> Entry:
        listed = list(self.entries.values())
        if name.isdigit() and 1 <= int(name) <= len(listed):
            return listed[int(name) - 1]
        found = [one for one in listed if one.id.startswith(name)]
        if len(found) == 1:
            return found[0]
        what = f"fits {len(found)} entries" if found else "does not wait"
        raise NotFound(f"{name!r} {what}. `wakebook review` lists what waits.")


def read(home: Home) -> Waiting:
    try:
        lines = (home.root / FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return Waiting({}, {})
    found = Waiting({}, {})
    refused: set[str] = set()
    for number, line in enumerate(lines, 1):
        try:
            raw = loads(line)
            if "refused" in raw:
                refused.add(str(raw["refused"]))
            else:
                entry = from_dict(raw["entry"])
                found.entries[entry.id] = entry
                found.types.update({entry.subject: raw["type"]} if raw.get("type") else {})
        except (ValueError, KeyError, TypeError, WakebookError) as error:
            if number == len(lines):
                break  # half a line that a crash left: its session is read again
            where = f"{home.root / FILE}, line {number}"
            raise WakebookError(f"{where}: {error}. Correct it or take it out.") from error
    return found._replace(refused=frozenset(refused))


def add(home: Home, entries: Iterable[Entry], types: Mapping[str, str]) -> None:
    """Under the lock. What waits already, or was refused, is not asked for again."""
    known = read(home)
    new = {one.id: one for one in entries if not known.knows(one.id)}
    if new:
        _write(home, known.entries | new, {**known.types, **types}, known.refused)


def accept(home: Home, chains: Chains, names: Collection[str]) -> list[Entry]:
    """Entries that waited go into the log. Under the lock."""
    known = read(home)
    done = known.picked(names)
    registry = subjects.load(home)
    used = [one.subject for one in done if one.subject]
    subjects.save(home, registry.ensure(used, known.types))  # a subject alone does no harm
    log.append(home, [one for one in done if one.id not in chains.by_id])
    _without(home, known, done, known.refused)
    return done


def refuse(home: Home, names: Collection[str]) -> list[Entry]:
    """Entries that waited are dropped. Under the lock."""
    known = read(home)
    done = known.picked(names)
    _without(home, known, done, known.refused | {one.id for one in done})
    return done


def again(home: Home, entries: Collection[Entry]) -> None:
    """Entries wait once more, whether they were refused or not. Under the lock."""
    known = read(home)
    back = {one.id: one for one in entries}
    _write(home, known.entries | back, known.types, known.refused - back.keys())


def take_back(home: Home, chains: Chains, ids: Collection[str], waits: bool) -> list[Entry]:
    """Entries leave the log; with `waits`, they wait once more. Raises WakebookError if one of them
    was replaced since: its successor would stand on nothing. Under the lock."""
    for name in ids:
        if name in chains.replaced_by:
            later = chains.replaced_by[name]
            raise WakebookError(f"{name} was replaced by {later} since, and cannot be taken back.")
    gone = [chains.by_id[name] for name in ids if name in chains.by_id]
    names = {one.id for one in gone}
    if waits:
        again(home, gone)
    if gone:
        lines = home.log.read_bytes().splitlines(keepends=True)
        log.rewrite(home, (line for line in lines if _id(line) not in names))
    return gone


def _id(line: bytes) -> str:
    try:
        return str(loads(line.decode("utf-8")).get("id", ""))
    except (ValueError, AttributeError):
        return ""


def _without(home: Home, known: Waiting, done: Collection[Entry], refused: Collection[str]) -> None:
    ids = {one.id for one in done}
    left = {name: one for name, one in known.entries.items() if name not in ids}
    _write(home, left, known.types, refused)


def _write(
    home: Home, entries: Mapping[str, Entry], types: Mapping[str, str], refused: Collection[str]
) -> None:
    rows: list[dict[str, object]] = []
    for one in entries.values():
        kind = {"type": types[one.subject]} if one.subject in types else {}
        rows.append({"entry": as_dict(one), **kind})
    rows += [{"refused": name} for name in sorted(refused)]
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    home.replace(home.root / FILE, "".join(lines))
