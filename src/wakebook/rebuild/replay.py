"""Replay: transcripts through an extractor, as if they were said again.

This is what `InOrder` (rules) and `InRounds` (a model) have in common: the new log as it grows,
what of it is written down, and what comes along from the old one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from threading import Lock
from typing import Any

import msgspec

from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.capture import archive
from wakebook.capture import state as states
from wakebook.learn import reread as whole
from wakebook.learn.entries import Source, admitted, related
from wakebook.learn.extract import Draft, Extractor, Scene
from wakebook.log.chains import Chains, extend, resolve
from wakebook.log.entry import Entry, as_dict, from_dict
from wakebook.log.subjects import Registry
from wakebook.models.calls import Call, Calls
from wakebook.rebuild import compare as carry
from wakebook.rebuild.plan import Listed, Plan

Progress = Callable[[str, int, int], None]


class Stopped(msgspec.Struct, frozen=True):
    """Why a replay has not come to its end."""

    failed: dict[str, str] = {}  # transcript -> why; the next run tries again
    left: int = 0  # not tried
    reason: str = ""


class Replay(ABC):
    def __init__(
        self,
        home: Home,
        scratch: Home,
        extractor: Extractor,
        main: Chains,
        registry: Registry,
        now: datetime,
        spending: Spending,
    ) -> None:
        """`home`: whose transcripts are read; `scratch`: where it says what it left out."""
        self._home = home
        self._scratch = scratch
        self._extractor = extractor
        self._main = main
        self._now = now
        self._old: dict[str, list[Entry]] = {}
        for entry in main.entries:
            self._old.setdefault(entry.transcript, []).append(entry)
        self._folders = {one.id: one.cwd for one in states.load(home).sessions.values()}
        self._found: dict[str, list[Entry]] = {}  # transcript -> what was found in it
        self._fresh: list[Entry] = []  # since the last write
        self.carried: set[str] = set()
        self._carried_now: list[str] = []
        self.chains = resolve(())
        self.registry = registry
        self._spending = spending

    @abstractmethod
    def run(self, items: Sequence[Listed], journal: Journal, progress: Progress) -> Stopped:
        """Read what has not been read. What stands in the journal is taken from there."""

    def _resume(self, journal: Journal) -> None:
        self.carried = journal.carried()
        for entry in journal.entries():
            self._take([entry])
            if entry.id not in self.carried:
                self._found.setdefault(entry.transcript, []).append(entry)
        self._fresh, self._carried_now = [], []

    def log(self) -> list[Entry]:
        """The new log, once everything was read."""
        lines = list(self.chains.entries)
        at = self._at
        return [
            carry.relinked(one, self._main, self.chains, self.carried, at)
            if one.id in self.carried and one.replaces and one.id not in self.chains.replaced_by
            else one
            for one in lines
        ]

    def _at(self, path: str) -> Sequence[Entry]:
        return self._found.get(path, ())

    # --- one transcript ----------------------------------------------------------------

    def _source(self, path: str) -> tuple[Source, str]:
        transcript = archive.read(self._home, path)
        source = whole.source_of(transcript, self._now)
        cwd = self._folders.get(source.session, "")
        old = self._old.get(path, ())
        return source, whole.subject_of(transcript.front, old, cwd)

    def _scene(self, path: str, subject: str, ends: bool) -> Scene:
        return Scene(
            current=related(self.chains, path),
            subjects=self.registry.names(),
            subject=self.registry.for_entry(subject) if subject else "",
            ends=ends,
        )

    def _admit(self, source: Source, drafts: Sequence[Draft]) -> None:
        entries = admitted(self._scratch, drafts, source, self.chains, self.registry, self._now)
        self._found.setdefault(source.path, []).extend(entries)
        self._take(entries)

    def _stays(self, path: str, reason: str) -> None:
        """A transcript that cannot be read anew keeps what was found in it before."""
        self._scratch.trace("failure", where=f"rebuild of {path}", error=reason)
        for entry in self._old.get(path, ()):
            self._carry(entry)

    # --- what comes along --------------------------------------------------------------

    def _carry(self, entry: Entry) -> None:
        entries = carry.linked(entry, self._main, self.chains, self._at)
        new = [one.id for one in entries]
        self.carried.update(new)
        self._carried_now += new
        self._take(entries)

    def _take(self, entries: Sequence[Entry]) -> None:
        self.chains = extend(self.chains, entries)
        self.registry = self.registry.ensure(one.subject for one in entries)
        self._fresh += entries

    def _write(self, journal: Journal, read: Position) -> None:
        done = step(self._fresh, self._carried_now, read.fresh)
        done.kept, done.failed = read.kept, read.failed
        done.turns = {path: count for path, count in read.turns.items() if count}
        done.calls, done.cost, done.unpriced = self._spending.taken()
        if done != Step(turns=done.turns):
            journal.add(done)
        self._fresh, self._carried_now = [], []
        read.written()


class Position:
    """How far the transcripts have been read, and what of that is not written down yet."""

    def __init__(self, journal: Journal) -> None:
        self.done = journal.read()
        self.turns = dict(journal.turns())  # of those that are read in part
        self.open: dict[str, tuple[Source, str]] = {}
        self.last = ""
        self.written()

    def written(self) -> None:
        self.fresh: list[str] = []
        self.kept: list[str] = []
        self.failed: dict[str, str] = {}

    def ended(self, path: str, kept: bool = False) -> None:
        self.open.pop(path, None)
        self.turns.pop(path, None)
        self.done.add(path)
        self.fresh.append(path)
        self.kept += [path] if kept else []
        self.last = path


# -----------------------------------------------------------------------------
# Journal: what a rebuild has read so far, one line a step, in its work tree's `.cache`.
#
# A step holds its entries, so that a rebuild that was killed goes on after the last whole line:
# nothing that was read is read again, nothing that was paid for is paid again. Half a line that
# a crash left is cut off.

FILE = "rebuild.jsonl"


class Step(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What happened between two writes."""

    read: list[str] = []  # transcripts that are done
    entries: list[dict[str, Any]] = []  # that came of it, in their order
    turns: dict[str, int] = {}  # transcript -> turns read so far, of those that are not done
    carried: list[str] = []  # ids of those that are not from this reading
    kept: list[str] = []  # transcripts that stay as they were read before
    failed: dict[str, str] = {}  # transcript -> why, this time
    calls: int = 0
    cost: float = 0.0
    unpriced: int = 0


class Journal:
    def __init__(self, home: Home) -> None:
        self._home = home
        self._path = home.cache / FILE
        self.steps: list[Step] = []
        self.plan: Plan | None = None
        self._whole: bytes | None = None  # without the half line that a crash left
        self._load()

    def begin(self, plan: Plan) -> None:
        self._home.folder(self._home.cache)
        self._home.replace(self._path, msgspec.json.encode(plan) + b"\n")
        self.plan, self.steps, self._whole = plan, [], None

    def add(self, step: Step) -> None:
        if self._whole is not None:  # only now: another process may be writing that line
            self._home.replace(self._path, self._whole)
            self._whole = None
        self._home.append(self._path, msgspec.json.encode(step) + b"\n")
        self.steps.append(step)

    def entries(self) -> list[Entry]:
        return [from_dict(raw) for step in self.steps for raw in step.entries]

    def carried(self) -> set[str]:
        return {name for step in self.steps for name in step.carried}

    def read(self) -> set[str]:
        return {path for step in self.steps for path in step.read}

    def turns(self) -> dict[str, int]:
        """How far those are read that are not done."""
        return self.steps[-1].turns if self.steps else {}

    def kept(self) -> tuple[str, ...]:
        return tuple(path for step in self.steps for path in step.kept)

    def failures(self) -> dict[str, int]:
        """Transcript -> how many times it has failed."""
        counts: dict[str, int] = {}
        for step in self.steps:
            for path in step.failed:
                counts[path] = counts.get(path, 0) + 1
        return counts

    def _load(self) -> None:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        lines = whole.splitlines()
        try:
            if lines:
                self.plan = msgspec.json.decode(lines[0], type=Plan)
                self.steps = [msgspec.json.decode(line, type=Step) for line in lines[1:]]
        except msgspec.MsgspecError as error:
            raise WakebookError(
                f"{self._path}: not written by this version ({error}). `wakebook rebuild --drop "
                "NAME` removes this rebuild; then begin anew."
            ) from error
        self._whole = whole if len(whole) != len(data) else None


def step(entries: Sequence[Entry], carried: Sequence[str], read: Sequence[str]) -> Step:
    return Step(read=list(read), entries=[as_dict(one) for one in entries], carried=list(carried))


# -----------------------------------------------------------------------------
# Spending: the calls of one rebuild, counted while they are written down like all others.


class Spending:
    """Calls and dollars since the last time somebody asked. Several threads add to it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._calls: list[Call] = []

    def add(self, call: Call) -> None:
        with self._lock:
            self._calls.append(call)

    def taken(self) -> tuple[int, float, int]:
        """Calls, dollars, and calls without a price; the count begins anew."""
        with self._lock:
            calls, self._calls = self._calls, []
        cost = round(sum(one.cost or 0.0 for one in calls), 8)
        return len(calls), cost, sum(one.cost is None for one in calls)


class CountedCalls(Calls):
    """The calls of a home, as ever; and this rebuild knows of its own."""

    def __init__(self, home: Home, spending: Spending) -> None:
        super().__init__(home)
        self._spending = spending

    def add(self, call: Call) -> None:
        self._spending.add(call)
        super().add(call)
