"""Replay: transcripts through an extractor, as if they were said again.

This is what `InOrder` (rules) and `InRounds` (a model) have in common: the new log as it grows,
what of it is written down, and what comes along from the old one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from wakebook.capture import archive
from wakebook.capture import state as states
from wakebook.derive import whole
from wakebook.derive.entries import Source, admitted, related
from wakebook.derive.extract import Draft, Extractor, Scene
from wakebook.home import Home
from wakebook.lifecycle.rebuild import carry
from wakebook.lifecycle.rebuild.journal import Journal, Step, step
from wakebook.lifecycle.rebuild.plan import Listed
from wakebook.lifecycle.rebuild.spending import Spending
from wakebook.log.chains import Chains, extend, resolve
from wakebook.log.entry import Entry
from wakebook.log.subjects import Registry

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
