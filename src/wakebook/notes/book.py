"""Book: every page of the knowledge, as the catalogue of the log has it now.

It says what stands on a page, in which files and blocks, with which frontmatter; it writes
nothing. The same log, subjects, rewrites and day give the same lines, whatever was there before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import msgspec

from wakebook.base import clock
from wakebook.base.config import Config
from wakebook.log.entry import Entry
from wakebook.log.subjects import Registry, Subject, title
from wakebook.notes import condensed, item
from wakebook.notes import page as pages
from wakebook.notes import pages as journal
from wakebook.notes import pages as overview
from wakebook.notes import pages as subject
from wakebook.notes.condensed import Condensed
from wakebook.notes.item import Item, Line
from wakebook.notes.page import People
from wakebook.store.catalogue import Catalogue

NOTHING = "Nothing at the moment."


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A block of a note, with what a new file gets around it."""

    path: str  # below knowledge/
    name: str
    title: str
    front: dict[str, Any]
    items: tuple[Item, ...]  # as they are told, after the last rewrite
    lines: tuple[Line, ...]
    ids: frozenset[str] = frozenset()  # of all entries that could be told, rewritten or not
    always: bool = False  # others link to it: it is there even if it has nothing to say

    @property
    def key(self) -> str:
        return key(self.path, self.name)

    @property
    def text(self) -> list[str]:
        return [line.text for line in self.lines]


def key(path: str, name: str) -> str:
    return f"{path}#{name}"


class Book:
    def __init__(
        self,
        catalogue: Catalogue,
        registry: Registry,
        rewrites: Condensed,
        config: Config,
        now: datetime,
    ) -> None:
        self.catalogue = catalogue
        self.registry = registry
        self.rewrites = rewrites
        self._config = config
        self._now = now.replace(hour=0, minute=0, second=0, microsecond=0)  # days count, not hours
        self._zone = now.tzinfo

    # --- which pages there are ---------------------------------------------------------

    def pages_of(self, entries: Sequence[Entry]) -> set[str]:
        of = (pages.of(one, self.registry, self._people_known, self._zone) for one in entries)
        return {page for found in of for page in found}

    def all_pages(self) -> set[str]:
        found = set(pages.OVERVIEWS) | {pages.home_page(one) for one in self.registry.known()}
        for moment in self.catalogue.days():
            found.add(f"journal/{item.day(datetime.fromtimestamp(moment, UTC), self._zone)}")
        for slug in self.catalogue.subjects():
            found |= self.pages_of(self.catalogue.about([slug]))
        return found

    # --- what stands on them -------------------------------------------------------------

    def blocks(self, page: str) -> list[Block]:
        """The blocks of a page. One without items says so, where the note exists already."""
        kind, _, name = page.partition("/")
        make: dict[str, Callable[[str], Iterator[Block]]] = {
            "project": self._project,
            "person": self._person,
            "reference": self._reference,
            "procedure": self._procedure,
            "journal": self._journal,
            "active": self._active,
            "people": self._people,
            "observations": self._observations,
            "memory": self._memory,
        }
        return list(make[kind](name))

    def _block(
        self,
        path: str,
        block: str,
        heading: str,
        type_: str,
        items: Sequence[Item],
        most: dict[str, int] | None = None,
        always: bool = False,
        **front: Any,
    ) -> Block:
        told = condensed.apply(items, self.rewrites.blocks.get(key(path, block)))
        lines = item.block(told, most)
        lines = lines if lines or path == pages.MEMORY else [Line(NOTHING)]
        newest = max((one.at for one in items), default=None)
        about = {"type": type_, **front, "updated": clock.iso(newest) if newest else ""}
        return Block(
            path=path,
            name=block,
            title=heading,
            front={name: value for name, value in about.items() if value != ""},
            items=tuple(told),
            lines=tuple(lines),
            ids=frozenset(one for item in items for one in item.ids),
            always=always,
        )

    def names(self, slug: str) -> list[str]:
        """A subject's slug with its earlier ones, but for those that are in use again."""
        return [slug, *self._earlier.get(slug, ())]

    @cached_property
    def _earlier(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for old, slug in self.registry.aliases().items():
            found.setdefault(slug, []).append(old)
        return found

    def _subject(self, slug: str) -> tuple[Subject, list[Entry]]:
        known = self.registry.subjects.get(slug) or Subject(slug, title(slug))
        return known, self.catalogue.about(self.names(slug))

    def _project(self, slug: str) -> Iterator[Block]:
        known, entries = self._subject(slug)
        names = {"context": "", "progress": " — progress", "notes": " — notes"}
        for part, headings in subject.PARTS.items():
            items = subject.about(entries, headings, self._zone, slug)
            yield self._block(
                f"projects/{slug}/{part}.md",
                part,
                f"{known.display}{names[part]}",
                f"project_{part}",
                items,
                subject.MOST,
                part == "context",
                project=slug,
            )

    def _person(self, slug: str) -> Iterator[Block]:
        known, entries = self._person_entries(slug)
        items = subject.about(entries, subject.PERSON, self._zone, slug)
        yield self._block(
            f"people/{slug}.md",
            "person",
            known.display,
            "person",
            items,
            subject.MOST,
            slug in self.registry.subjects,
            name=known.display,
        )

    def _person_entries(self, slug: str) -> tuple[Subject, list[Entry]]:
        known, entries = self._subject(slug)
        if known.type != "person" and slug in self.registry.subjects:
            return known, []  # whose page is elsewhere
        person, told = self._mentioned.get(slug, (known, []))
        if slug not in self.registry.subjects:
            known = person
        return known, list({entry.id: entry for entry in (*entries, *told)}.values())

    @cached_property
    def _people_known(self) -> People:
        return People(self.registry)

    @cached_property
    def _mentioned(self) -> dict[str, tuple[Subject, list[Entry]]]:
        """Everybody whom a fact tells about, with those facts."""
        found: dict[str, tuple[Subject, list[Entry]]] = {}
        for entry in item.visible(self.catalogue.of_kind("relationship")):
            for person in self._people_known.told(entry):
                found.setdefault(person.slug, (person, []))[1].append(entry)
        return found

    def _reference(self, slug: str) -> Iterator[Block]:
        if slug.startswith("_"):
            entries = [
                entry
                for entry in self.catalogue.about([""])
                if pages.shelf(entry) == slug and entry.type != "handoff"
                if pages.role(entry) != "procedure"
            ]
            heading = {pages.PREFERENCES: "Preferences", pages.LESSONS: "Lessons"}.get(
                slug, "General"
            )
            items = subject.about(entries, subject.REFERENCE, self._zone)
        else:
            known, entries = self._subject(slug)
            heading = known.display
            items = subject.about(entries, subject.REFERENCE, self._zone, slug)
        path = f"reference/{slug}.md"
        always = slug in self.registry.subjects
        yield self._block(path, "reference", heading, "reference", items, subject.MOST, always)

    def _procedure(self, slug: str) -> Iterator[Block]:
        if slug == pages.GENERAL:
            entries, display = self.catalogue.about([""]), "General"
        else:
            known, entries = self._subject(slug)
            display = known.display
        items = subject.about(entries, subject.PROCEDURE, self._zone)
        heading = f"{display} — how things are done"
        yield self._block(f"procedures/{slug}.md", "procedures", heading, "procedure", items)

    def _journal(self, date: str) -> Iterator[Block]:
        begin = datetime.fromisoformat(date).replace(tzinfo=self._zone)
        try:
            said = self.catalogue.said(begin, begin + timedelta(days=1))
        except (OverflowError, ValueError):  # the first and the last day that there are
            said = self.catalogue.said_on(begin.replace(tzinfo=UTC))
        items = journal.journal(said, self.registry, self._zone)
        yield self._block(
            f"journal/{date}.md",
            "journal",
            date,
            "journal",
            items,
            date=date,
            sessions=journal.sessions(said),
        )

    # --- overviews ---------------------------------------------------------------------------

    def _active_projects(self, since: datetime) -> list[tuple[Subject, Entry]]:
        """Projects with news since then, with their newest entry, newest first."""
        times: dict[str, float] = {}
        for name, at in self.catalogue.since(since).items():
            known = self.registry.subjects.get(self.registry.canonical(name))
            if known and known.type == "project" and not known.deleted:
                times[known.slug] = max(at, times.get(known.slug, 0.0))
        found: list[tuple[Subject, Entry]] = []
        for slug in sorted(times, key=lambda slug: (-times[slug], slug))[: overview.ACTIVE]:
            known = self.registry.subjects[slug]
            entry = self.catalogue.newest(self.names(slug))
            if entry:
                found.append((known, entry))
        return found

    def _everybody(self) -> Iterator[tuple[Subject, Entry]]:
        """Everybody who has a note, with the newest that is known about them."""
        people = {one.slug: one for one in self.registry.known() if one.type == "person"}
        for slug, (person, _) in self._mentioned.items():
            people.setdefault(slug, person)
        for slug, person in people.items():
            last = self.catalogue.newest(self.names(slug))
            told = self._mentioned.get(slug, (person, []))[1]
            entries = [*told, *([last] if last else [])]
            if entries:
                yield person, max(entries, key=lambda entry: (entry.timestamp, entry.id))

    def _active(self, _: str) -> Iterator[Block]:
        since = self._now - timedelta(days=self._config.briefing.active_days)
        items = overview.active(self._active_projects(since))
        yield self._block(
            "projects/_active.md", "active", "Active Projects", "project_index", items
        )

    def _people(self, _: str) -> Iterator[Block]:
        items = overview.people(list(self._everybody()))
        yield self._block("people/_index.md", "people", "People", "people_index", items)

    def _observations(self, _: str) -> Iterator[Block]:
        catalogue, most = self.catalogue, overview.OBSERVED
        low = self._now - timedelta(days=overview.LOW_DAYS)
        medium = self._now - timedelta(days=overview.MEDIUM_DAYS)
        found = {
            entry.id: entry
            for entry in (
                *catalogue.pinned(),
                *catalogue.pending(),
                *catalogue.recent(medium, most, telling=True),
                *catalogue.recent(low, most),
            )
        }
        items = overview.observations(
            found.values(), catalogue.depths(found), self.registry, self._now
        )
        yield self._block(
            "memory/observations.md", "observations", "Observations", "observations", items
        )

    def _memory(self, _: str) -> Iterator[Block]:
        path, name = pages.MEMORY, "memory"
        rewrite = self.rewrites.blocks.get(key(path, name))
        ids = [one for line in rewrite.lines for one in line.ids] if rewrite else []
        now_holds = {one: entry for one in ids if (entry := self.catalogue.latest(one))}
        items = overview.rollup(overview.remembered(now_holds, rewrite), self._zone)
        if rewrite:
            yield self._block(path, name, "Core Memory", "memory", items)
