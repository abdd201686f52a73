"""Replacement chains: which entries still hold, found in one forward pass.

An entry that another one replaces is superseded. A replaced by B replaced by C leaves C.
A merge (one entry replaces several) leaves the merge. An id that names nothing is
dangling; entries that replace each other in a circle would all vanish, so the newest of
the circle holds. Both are reported, and neither is fatal.

A replacement also settles things: a question is closed by what replaces it, and a task is
done when the entry that replaces it says so, or is no task at all.

A log that grows is not resolved again as a whole: `extend` takes the new entries in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from wakebook.base.errors import NotFound
from wakebook.log.entry import Entry


class Chains(msgspec.Struct, frozen=True):
    by_id: dict[str, Entry]  # all, in log order
    replaced_by: dict[str, str]  # superseded id -> the id that replaced it directly
    dangling: tuple[tuple[str, str], ...] = ()  # (entry, the id it names in vain)
    cycles: tuple[tuple[str, ...], ...] = ()
    repeated: tuple[str, ...] = ()  # ids that occur more than once: the first counts
    still_open: dict[str, Entry] = {}  # tasks to do and questions to answer, in log order

    def copy(self) -> Chains:
        by_id, replaced_by = dict(self.by_id), dict(self.replaced_by)
        still_open = dict(self.still_open)
        return msgspec.structs.replace(
            self, by_id=by_id, replaced_by=replaced_by, still_open=still_open
        )

    @property
    def entries(self) -> Iterable[Entry]:
        return self.by_id.values()

    def current(self) -> list[Entry]:
        """Entries that nothing replaces, in log order."""
        return [entry for entry in self.entries if entry.id not in self.replaced_by]

    def is_open(self, entry: Entry) -> bool:
        """A task still to do, or a question still to answer."""
        return entry.id not in self.replaced_by and _loop(entry)

    def latest(self, identity: str) -> str:
        """The end of an entry's chain: what holds today."""
        while identity in self.replaced_by:
            identity = self.replaced_by[identity]
        return identity

    def status(self, entry: Entry) -> str:
        """open, done, answered, replaced, or nothing where a status makes no sense."""
        if entry.type == "task":
            if entry.status == "open" and entry.id in self.replaced_by:
                end = self.by_id[self.latest(entry.id)]  # reworded, withdrawn, or finished?
                return "replaced" if self.is_open(end) or end.type == "handoff" else "done"
            return entry.status or ""
        if entry.type == "question":
            if entry.id not in self.replaced_by:
                return "open"
            withdrawn = self.by_id[self.latest(entry.id)].type == "handoff"
            return "replaced" if withdrawn else "answered"
        return ""

    def history(self, identity: str) -> list[Entry]:
        """An entry with all that it replaced and all that replaced it, in log order."""
        back: dict[str, list[str]] = {}
        for old, new in self.replaced_by.items():
            back.setdefault(new, []).append(old)
        family: set[str] = set()
        waiting = [self.latest(identity)]
        while waiting:
            current = waiting.pop()
            if current not in family:
                family.add(current)
                waiting += back.get(current, [])
        return [entry for entry in self.entries if entry.id in family]


def resolve(entries: Iterable[Entry]) -> Chains:
    unique: dict[str, Entry] = {}
    repeated: list[str] = []
    for entry in entries:
        if entry.id in unique:
            repeated.append(entry.id)
        else:
            unique[entry.id] = entry
    replaced_by: dict[str, str] = {}
    dangling: list[tuple[str, str]] = []
    for entry in unique.values():
        for old in entry.replaces:
            if old in unique:
                replaced_by[old] = entry.id
            else:
                dangling.append((entry.id, old))
    cycles = _break_cycles(replaced_by, list(unique))
    loops = {key: one for key, one in unique.items() if _loop(one) and key not in replaced_by}
    return Chains(unique, replaced_by, tuple(dangling), tuple(cycles), tuple(repeated), loops)


def extend(chains: Chains, new: Sequence[Entry]) -> Chains:
    """The chains of a log that has grown, as `resolve` would find them in all of it.

    The dicts of the given chains grow with it; they must not be used any more. It takes as
    long as there are new entries, unless one of them was named before it was there: only
    then can there be a circle, and everything is resolved again.
    """
    if not new:
        return chains
    named = {old for _, old in chains.dangling}
    dangling: list[tuple[str, str]] = []
    repeated: list[str] = []
    for number, entry in enumerate(new):
        if entry.id in chains.by_id:
            repeated.append(entry.id)
            continue
        if entry.id in named or chains.cycles:
            found = resolve((*chains.entries, *new[number:]))
            again = (*chains.repeated, *repeated, *found.repeated)
            return msgspec.structs.replace(found, repeated=again)
        missing = _take(chains, entry)
        dangling += missing
        named.update(old for _, old in missing)
    return msgspec.structs.replace(
        chains,
        dangling=(*chains.dangling, *dangling),
        repeated=(*chains.repeated, *repeated),
    )


def _take(chains: Chains, entry: Entry) -> list[tuple[str, str]]:
    """Put one entry into the dicts. Returns what it names in vain."""
    chains.by_id[entry.id] = entry
    if _loop(entry):
        chains.still_open[entry.id] = entry
    missing: list[tuple[str, str]] = []
    for old in entry.replaces:
        if old in chains.by_id:
            chains.replaced_by[old] = entry.id
            chains.still_open.pop(old, None)
        else:
            missing.append((entry.id, old))
    return missing


def _loop(entry: Entry) -> bool:
    """Whether it waits to be done or answered, as far as it says itself."""
    return entry.type == "question" or (entry.type == "task" and entry.status == "open")


def _break_cycles(replaced_by: dict[str, str], order: Sequence[str]) -> list[tuple[str, ...]]:
    """Free the newest entry of every circle. Returns the circles."""
    rank = {identity: number for number, identity in enumerate(order)}
    settled: set[str] = set()
    cycles: list[tuple[str, ...]] = []
    for start in list(replaced_by):
        path: list[str] = []
        seen: set[str] = set()
        current = start
        while current in replaced_by and current not in settled and current not in seen:
            seen.add(current)
            path.append(current)
            current = replaced_by[current]
        if current in seen:
            circle = path[path.index(current) :]
            del replaced_by[max(circle, key=rank.__getitem__)]
            cycles.append(tuple(circle))
        settled.update(path)
    return cycles


def find_entry(chains: Chains, name: str) -> Entry:
    """An entry by its id, or a unique beginning of it."""
    if name in chains.by_id:
        return chains.by_id[name]
    fitting = [entry for key, entry in chains.by_id.items() if key.startswith(name)]
    if len(name) >= 4 and len(fitting) == 1:
        return fitting[0]
    several = f" {len(fitting)} entries begin with it; give more of it." if fitting else ""
    raise NotFound(f"There is no entry {name!r}.{several} `wakebook log` shows the ids.")
