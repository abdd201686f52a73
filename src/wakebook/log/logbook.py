"""Logbook: the handle of the log. Entries picked and found, and the subjects they are about."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from wakebook.base.home import Home
from wakebook.capture import project as projects
from wakebook.log import query, subjects, waiting
from wakebook.log.chains import Chains, find_entry
from wakebook.log.entry import Entry
from wakebook.log.log import Ledger
from wakebook.log.query import Query
from wakebook.log.subjects import Registry, Subject

Renamed = tuple[str, int]  # the new name, and how many entries have changed


@dataclass
class Logbook:
    home: Home
    ledger: Ledger
    writing: Callable[[], AbstractContextManager[object]]
    changed: Callable[[], None]  # hears that a subject has
    rename: Callable[[str, str, bool], Renamed]  # renames one wherever it stands

    def chains(self) -> Chains:
        self.home.require()
        return self.ledger.chains()

    def entries(self, wanted: Query) -> list[Entry]:
        """Entries of the log that match, in log order. Every word has to occur."""
        registry = self.registry()
        slugs = tuple(registry.canonical(name) for name in wanted.subjects)
        wanted = replace(wanted, subjects=slugs, projects=self.projects(wanted.projects))
        return query.pick(self.chains(), wanted, registry.aliases())

    def projects(self, names: Iterable[str]) -> tuple[str, ...]:
        """The keys of projects by name, folder or key. Raises WakebookError."""
        known = projects.load(self.home)
        return tuple(known.find(name) for name in names)

    def entry(self, name: str) -> Entry:
        return find_entry(self.chains(), name)

    def status_of(self, entry: Entry) -> str:
        return self.chains().status(entry)

    # --- what waits for the user ---------------------------------------------------------------

    def waiting(self) -> list[Entry]:
        self.home.require()
        return list(waiting.read(self.home).entries.values())

    def accept(self, *names: str) -> list[Entry]:
        """Entries that waited go into the log: by number, id, or `all`."""
        with self.writing():
            done = waiting.accept(self.home, self.chains(), names)
        self.changed()
        return done

    def refuse(self, *names: str) -> list[Entry]:
        """Entries that waited are dropped, and not asked for again."""
        with self.writing():
            return waiting.refuse(self.home, names)

    def ask_again(self, entries: Iterable[Entry]) -> None:
        """Entries that were refused wait once more."""
        with self.writing():
            waiting.again(self.home, list(entries))

    def take_back(self, ids: Iterable[str], *, waits: bool = False) -> list[Entry]:
        """Entries that a person has just put into the log leave it, as if they had never come; with
        `waits`, they wait to be accepted again. One that was replaced since stays."""
        with self.writing():
            done = waiting.take_back(self.home, self.chains(), list(ids), waits)
        self.changed()
        return done

    # --- subjects ----------------------------------------------------------------------------

    def registry(self) -> Registry:
        return subjects.load(self.home)

    def subjects(self) -> list[tuple[Subject, int]]:
        return self.registry().counted(self.chains().current())

    def add_subject(self, name: str, type_: str = "project", display: str = "") -> Subject:
        after = self._after(lambda known: subjects.add(known, name, type_, display))
        return after.get(subjects.slug_of(name))

    def rename_subject(self, old: str, new: str, *, merge: bool = False) -> Renamed:
        """Rename in registry and log, or merge into an existing subject. Entries changed."""
        with self.writing():
            done = self.rename(old, new, merge)
        self.changed()
        return done

    def retype_subject(self, name: str, type_: str) -> Subject:
        """Say what a subject is: its notes move to where such things stand."""
        return self._after(lambda known: subjects.retype(known, name, type_)).get(name)

    def delete_subject(self, name: str) -> Subject:
        with self.writing():
            registry = self.registry()
            gone = registry.get(name)
            subjects.save(self.home, subjects.delete(registry, name))
        self.changed()
        return gone

    def _after(self, change: Callable[[Registry], Registry]) -> Registry:
        with self.writing():
            after = change(self.registry())
            subjects.save(self.home, after)
        self.changed()
        return after
