"""Book: every page of the knowledge, as the catalogue of the log has it now.

It says what stands on a page, in which files and blocks, with which frontmatter; it writes
nothing. The same log, subjects, rewrites and day give the same lines, whatever was there before.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import cached_property
from typing import Any

import msgspec

from wakebook.base import clock, words
from wakebook.base.config import Config
from wakebook.learn.about import ENOUGH, points
from wakebook.log.entry import RETRACTED, Entry, counted
from wakebook.log.subjects import Registry, Subject, title
from wakebook.notes import page as pages
from wakebook.notes.condensed import Condensed, applied
from wakebook.notes.page import (
    Bullet,
    NoteLine,
    day,
    ids_of,
    item_of,
    plain,
    role,
    stated,
    told,
    visible,
)
from wakebook.store.catalogue import Catalogue

NOTHING = "Nothing at the moment."
FIRST = datetime(1970, 1, 1, tzinfo=UTC)
FACTS = 20_000  # entries that are looked through for people


class NoteBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A block of a note, with what a new file gets around it."""

    path: str  # below knowledge/
    name: str
    title: str
    front: dict[str, Any]
    items: tuple[Bullet, ...]  # as they are told, after the last rewrite
    lines: tuple[NoteLine, ...]
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
        condensed: Mapping[str, Condensed],
        config: Config,
        now: datetime,
    ) -> None:
        self.catalogue, self.registry, self.condensed = catalogue, registry, condensed
        self._config, self.zone = config, now.tzinfo
        self._last: tuple[str, list[NoteBlock]] = ("", [])  # a page and its blocks
        self._now = now.replace(hour=0, minute=0, second=0, microsecond=0)  # days count, not hours

    def pages_of(self, entries: Sequence[Entry]) -> set[str]:
        of = (pages.of(one, self.registry, self._people_known, self.zone) for one in entries)
        return {page for found in of for page in found}

    def all_pages(self) -> set[str]:
        found = set(pages.OVERVIEWS) | {pages.home_page(one) for one in self.registry.known()}
        for moment in self.catalogue.days():
            found.add(f"journal/{day(datetime.fromtimestamp(moment, UTC), self.zone)}")
        for slug in self.catalogue.subjects():
            found |= self.pages_of(self.catalogue.about([slug]))
        return found

    def blocks(self, page: str) -> list[NoteBlock]:
        """The blocks of a page. One without items says so, where the note exists already."""
        if self._last[0] != page:  # whoever goes through files asks for each file of a page
            kind, _, name = page.partition("/")
            make: Callable[[str], Iterator[NoteBlock]] = getattr(self, f"_{kind}")
            self._last = page, list(make(name))
        return self._last[1]

    def _block(
        self,
        path: str,
        block: str,
        heading: str,
        type_: str,
        items: Sequence[Bullet],
        *,
        always: bool = False,
        **front: Any,
    ) -> NoteBlock:
        shown = applied(items, self.condensed.get(key(path, block)))
        lines = pages.note_lines(shown, None if block == "journal" else MOST)
        newest = max((one.at for one in items), default=None)
        about = {"type": type_, **front, "updated": clock.iso(newest) if newest else ""}
        return NoteBlock(
            path=path,
            name=block,
            title=heading,
            front={name: value for name, value in about.items() if value != ""},
            items=tuple(shown),
            lines=tuple(lines if lines or path == pages.MEMORY else [NoteLine(NOTHING)]),
            ids=frozenset(ids_of(items)),
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

    def _project(self, slug: str) -> Iterator[NoteBlock]:
        known, entries = self._subject(slug)
        for part, headings in PARTS.items():
            first = part == "context"
            heading = known.display if first else f"{known.display} — {part}"
            items = _about(entries, headings, self.zone, slug)
            path, type_ = f"projects/{slug}/{part}.md", f"project_{part}"
            yield self._block(path, part, heading, type_, items, always=first, project=slug)

    def _person(self, slug: str) -> Iterator[NoteBlock]:
        known, entries = self._subject(slug)
        registered = slug in self.registry.subjects
        if registered and known.type != "person":
            entries = []  # whose page is elsewhere
        elif slug in self._mentioned:
            person, more = self._mentioned[slug]
            known = known if registered else person
            entries = list({entry.id: entry for entry in (*entries, *more)}.values())
        items = _about(entries, PERSON, self.zone, slug)
        path, name = f"people/{slug}.md", known.display
        yield self._block(path, "person", name, "person", items, always=registered, name=name)

    @cached_property
    def _people_known(self) -> pages.People:
        return pages.People(self.registry, json.loads(self.catalogue.get("people", "[]")))

    @cached_property
    def _mentioned(self) -> dict[str, tuple[Subject, list[Entry]]]:
        """Everybody whom a fact tells about, with those facts."""
        found: dict[str, tuple[Subject, list[Entry]]] = {}
        for entry in visible(self.catalogue.recent(FIRST, FACTS)):
            for person in self._people_known.told(entry):
                found.setdefault(person.slug, (person, []))[1].append(entry)
        return found

    def _reference(self, slug: str) -> Iterator[NoteBlock]:
        known, entries = self._subject("" if slug.startswith("_") else slug)
        heading = known.display
        if slug.startswith("_"):
            entries = [one for one in entries if pages.shelf(one) == slug]
            entries = [one for one in entries if role(one) not in ("handoff", "procedure")]
            special = {pages.PREFERENCES: "Preferences", pages.LESSONS: "Lessons"}
            heading = special.get(slug, "General")
        items = _about(entries, REFERENCE, self.zone, known.slug)
        path, always = f"reference/{slug}.md", slug in self.registry.subjects
        yield self._block(path, "reference", heading, "reference", items, always=always)

    def _procedure(self, slug: str) -> Iterator[NoteBlock]:
        general = slug == pages.GENERAL
        known, entries = self._subject("" if general else slug)
        heading = f"{'General' if general else known.display} — how things are done"
        items = _about(entries, {"procedure": "Procedures"}, self.zone)
        yield self._block(f"procedures/{slug}.md", "procedures", heading, "procedure", items)

    def _journal(self, date: str) -> Iterator[NoteBlock]:
        begin = datetime.fromisoformat(date).replace(tzinfo=self.zone)
        try:
            said = self.catalogue.said(begin, begin + timedelta(days=1))
        except (OverflowError, ValueError):  # the first and the last day that there are
            begin, end = (datetime.combine(begin, one, UTC) for one in (time.min, time.max))
            said = self.catalogue.said(begin, end)
        items = _of_a_day(said, self.registry, self.zone)
        sessions = [entry.session for entry, _ in said if entry.session != "manual"]
        front: dict[str, Any] = {"date": date, "sessions": list(dict.fromkeys(sessions))}
        yield self._block(f"journal/{date}.md", "journal", date, "journal", items, **front)

    # --- overviews ---------------------------------------------------------------------------

    def _active(self, _: str) -> Iterator[NoteBlock]:
        """Projects with news, the newest first, each with where it stands."""
        since = self._now - timedelta(days=self._config.briefing.active_days)
        times: dict[str, float] = {}
        for name, at in self.catalogue.since(since).items():
            known = self.registry.subjects.get(self.registry.canonical(name))
            if known and known.type == "project" and not known.deleted:
                times[known.slug] = max(at, times.get(known.slug, 0.0))
        newest = sorted(times, key=lambda slug: (-times[slug], slug))[:ACTIVE]
        found = [(slug, self.catalogue.newest(self.names(slug))) for slug in newest]
        subjects, heading = self.registry.subjects, "Active Projects"
        recent = self.catalogue.recent(since, OBSERVED)
        done = {words.terms(one.content) for one in recent if role(one) == "done"}
        items = [_linked(subjects[slug], one, heading, done) for slug, one in found if one]
        yield self._block("projects/_active.md", "active", heading, "project_index", items)

    def _people(self, _: str) -> Iterator[NoteBlock]:
        """Everybody who has a note, by name, with the newest that is known about them."""
        people = {slug: person for slug, (person, _) in self._mentioned.items()}
        people |= {one.slug: one for one in self.registry.known() if one.type == "person"}
        items: list[Bullet] = []
        for person in sorted(people.values(), key=lambda one: (one.display.lower(), one.slug)):
            slug = person.slug
            last = self.catalogue.newest(self.names(slug))
            entries = [*self._mentioned.get(slug, (person, []))[1], *([last] if last else [])]
            if entries:
                newest = max(entries, key=lambda entry: (entry.timestamp, entry.id))
                items.append(_linked(person, newest, "People"))
        yield self._block("people/_index.md", "people", "People", "people_index", items)

    def _observations(self, _: str) -> Iterator[NoteBlock]:
        """What is still of interest, by priority and then by age."""
        catalogue = self.catalogue
        low, medium = (self._now - timedelta(days=days) for days in (LOW_DAYS, MEDIUM_DAYS))
        recent = *catalogue.recent(medium, OBSERVED, telling=True), *catalogue.recent(low, OBSERVED)
        all_ = visible((*catalogue.pinned(), *catalogue.pending(), *recent))
        found = {entry.id: entry for entry in all_}
        depths = catalogue.depths(found)
        items: list[Bullet] = []
        for entry in sorted(found.values(), key=lambda one: (one.timestamp, one.id), reverse=True):
            level = priority(entry, depths.get(entry.id, 0), self._now)
            slug = self.registry.canonical(entry.subject)
            lead = {"task": "To do: ", "question": "Open: "}.get(role(entry), "")
            text = f"{day(entry.timestamp, self.zone)} {lead}{told(entry)}"
            about = f" ({slug})" if slug else ""
            items += [item_of(entry, level, f"{level[:1]} {text}{about}")] if level else []
        items.sort(key=lambda item: (HIGH, MEDIUM, LOW).index(item.section))
        path, name = "memory/observations.md", "observations"
        yield self._block(path, name, "Observations", name, items)

    def _memory(self, _: str) -> Iterator[NoteBlock]:
        """What the last rollup has kept, each as it holds today."""
        path, name = pages.MEMORY, "memory"
        kept = self.condensed.get(key(path, name))
        if kept:
            latest = [self.catalogue.latest(one) for line in kept.lines for one in line.ids]
            entries = {entry.id: entry for entry in latest if entry}
            items = rollup_items(entries.values(), self.zone, self.of_user)
            yield self._block(path, name, "Core Memory", "memory", items)

    @cached_property
    def of_user(self) -> frozenset[str]:
        """What the briefing tells of the user, so that MEMORY.md does not say it twice."""
        facts = visible(self.catalogue.recent(FIRST, FACTS))
        held = (one for one in facts if one.kind == "preference" and one.timestamp <= self._now)
        return frozenset(one.id for one in held if points(one, self.registry) >= ENOUGH)


# --- notes about a subject, the newest first ---------------------------------------------------
# role of an entry -> the heading that it stands under, in the order of the note
CONTEXT = {
    "handoff": "Current State",
    "decision": "Key Decisions",
    "preference": "Preferences",
    "relationship": "People",
    "procedure": "Procedures",
}
PROGRESS = {"task": "Next", "question": "Open Questions", "done": "Done", "handoff": "Sessions"}
NOTES = {"fact": "Facts", "lesson": "Lessons", "event": "Events"}
PARTS = dict(zip(pages.PARTS, (CONTEXT, PROGRESS, NOTES), strict=True))  # of a project's notes
PERSON = {
    "preference": "Communication",
    "relationship": "Context",
    "fact": "Context",
    "event": "Context",
    "lesson": "Lessons",
    "procedure": "Procedures",
    "decision": "Decisions",
    **PROGRESS,
}
REFERENCE = {**PERSON, "preference": "Preferences"} | dict.fromkeys(
    ("relationship", "fact", "event"), "Facts"
)
MOST = {"Current State": 1, "Done": 20, "Sessions": 10}


def files_of(entries: Iterable[Entry], registry: Registry, zone: tzinfo | None) -> dict[str, str]:
    """The notes that entries are told on, but for the overviews, and what each of them gets."""
    people, found = pages.People(registry), dict[str, list[Entry]]()
    for entry in entries:
        for page in pages.of(entry, registry, people, zone):
            for path in pages.files(page):
                part = path.rpartition("/")[2].removesuffix(".md")
                if not page.startswith("project/") or role(entry) in PARTS[part]:
                    found.setdefault(f"{pages.KNOWLEDGE}/{path}", []).append(entry)
    return {path: counted(some) for path, some in sorted(found.items())}


def _about(
    entries: Iterable[Entry], headings: Mapping[str, str], zone: tzinfo | None, slug: str = ""
) -> list[Bullet]:
    """The entries of a note under its headings. `slug`: whose procedures stand elsewhere."""
    found = sorted(visible(entries), key=lambda entry: entry.timestamp)[::-1]
    if headings is CONTEXT:  # where things stand, and no history: only the newest handoff
        newest = next((entry for entry in found if entry.type == "handoff"), None)
        found = [entry for entry in found if entry.type != "handoff" or entry is newest]
    items = [
        item_of(entry, headings[role(entry)], _text(entry, zone))
        for entry in found
        if role(entry) in headings
    ]
    procedures = [item for item in items if item.section == "Procedures"] if slug else []
    if procedures:  # one line that leads to them
        items = [item for item in items if item.section != "Procedures"]
        items.append(
            Bullet(
                section="Procedures",
                text=f"{len(procedures)} in [[procedures/{slug}]]",
                ids=ids_of(procedures),
                at=procedures[0].at,
                held=any(item.held for item in procedures),
                tells=False,
            )
        )
    order = list(dict.fromkeys(headings.values()))
    return sorted(items, key=lambda item: order.index(item.section))


def _text(entry: Entry, zone: tzinfo | None) -> str:
    date = f"[[{day(entry.timestamp, zone)}]]"
    said = plain(entry.content) if entry.type == "handoff" else told(entry)
    said = f"📌 {said}" if entry.pinned and role(entry) not in ("done", "handoff") else said
    form = {"task": "[ ] {0} (since {1})", "done": "[x] {1}: {0}"}
    form |= dict.fromkeys(("handoff", "decision", "event"), "{1}: {0}")
    return form.get(role(entry), "{0} ({1})").format(said, date)


# --- a day's journal -----------------------------------------------------------------------
# By subject, and where each session stopped. It stays a record of the day: what has been corrected
# since is struck through, with what holds instead, unless that was said on the same day.
OTHER, SESSIONS = "Other", "Sessions"
ASIDE = 6  # words, like "we decided to"
_LEAD = {"decision": "**Decided:** ", "question": "**Open:** ", "task": "[ ] ", "done": "[x] "}

Day = Sequence[tuple[Entry, Entry | None]]  # what was said, and what holds instead


def _of_a_day(said: Day, registry: Registry, zone: tzinfo | None) -> list[Bullet]:
    found: list[Bullet] = []
    last: list[Bullet] = []
    spoken = {entry.id for entry, _ in said}
    replaced = {old for entry, _ in said if entry.type != "handoff" for old in entry.replaces}
    for entry, instead in said:
        if entry.extra.get(RETRACTED) or (entry.id in replaced and instead):
            continue  # or it was corrected within the day
        if entry.type == "handoff":
            since = _overtaken(entry, said)
            within = since is not None and since.id in spoken and _is_all(entry, since, said)
            if instead is None and not within:
                later = f" (since replaced: {plain(since.content)})" if since else ""
                at = f"{pages.local(entry.timestamp, zone):%H:%M}"
                text = f"{at} {plain(entry.content)}{later}"
                last.append(item_of(entry, SESSIONS, text, held=False))
            continue
        section = _section(entry, registry)
        if instead is None:
            text = f"{_LEAD.get(role(entry), '')}{'📌 ' * entry.pinned}{told(entry)}"
            found.append(item_of(entry, section, text))
        else:
            struck = plain(entry.content).replace("~~", "~ ~")
            text = f"~~{struck}~~ → {_later(entry, instead, zone)}"
            other = {"ids": (entry.id, instead.id), "held": False, "weight": 0, "tells": False}
            found.append(item_of(entry, section, text, **other))
    order = list(dict.fromkeys(item.section for item in found))
    order.sort(key=lambda section: section == OTHER)
    return sorted(found, key=lambda item: order.index(item.section)) + last


def _section(entry: Entry, registry: Registry) -> str:
    slug = registry.canonical(entry.subject)
    known = registry.subjects.get(slug)
    if not slug or (known and known.deleted):
        return OTHER
    return pages.link(known or Subject(slug, title(slug)))


def _later(entry: Entry, instead: Entry, zone: tzinfo | None) -> str:
    date = day(instead.timestamp, zone)
    if instead.extra.get(RETRACTED):
        return f"no longer so, {date}"
    if instead.type == "handoff":
        return f"not kept, [[{date}]]"
    if instead.content == entry.content:
        return f"{'done' if instead.status == 'done' else 'again'}, [[{date}]]"
    return f"[[{date}]]: {plain(instead.content)}"


def _overtaken(handoff: Entry, said: Day) -> Entry | None:
    """What holds instead of what a handoff says, if another conversation has corrected it."""
    words = _words(handoff.content)
    for entry, instead in said:
        if instead is None or entry is handoff or entry.transcript != handoff.transcript:
            continue
        elsewhere = instead.transcript != handoff.transcript
        if elsewhere and instead.content != entry.content and _words(entry.content) <= words:
            return instead
    return None


def _is_all(handoff: Entry, since: Entry, said: Day) -> bool:
    """Whether a handoff says little beside what was corrected: then the later one is enough."""
    gone = [_words(entry.content) for entry, instead in said if instead is since]
    return len(_words(handoff.content)) <= ASIDE + max(map(len, gone), default=0)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


# --- the notes that are read first ---------------------------------------------------------------
# Observations are everything that is still of interest, by priority: what is pinned or open,
# then what was decided, learned or refined, then the rest; the two lower ones fade with time.
HIGH, MEDIUM, LOW = "🔴 High", "🟡 Medium", "🟢 Low"
MEDIUM_DAYS, LOW_DAYS = 180, 30
OBSERVED = 400  # of each priority, at most
ACTIVE = 20
LINE = 160
ROLLUP = {
    "decision": "Key Decisions",
    "lesson": "Lessons Learned",
    "preference": "Preferences",
    "procedure": "How Things Are Done",
}


def _linked(
    subject: Subject, entry: Entry, section: str, done: Collection[frozenset[str]] = ()
) -> Bullet:
    text = f"**{pages.link(subject)}** — {plain(stated(entry, done), LINE)}"
    return item_of(entry, section, text, held=False, weight=1, tells=False)


def priority(entry: Entry, depth: int, now: datetime) -> str:
    """High, medium, low, or nothing: computed, never stored."""
    age = now - entry.timestamp
    if pages.held(entry):
        return HIGH
    if role(entry) in ("handoff", "done"):
        return ""
    if entry.type == "decision" or entry.kind is not None or depth > 0:
        return MEDIUM if age <= timedelta(days=MEDIUM_DAYS) else ""
    return LOW if age <= timedelta(days=LOW_DAYS) else ""


def rollup_items(
    entries: Iterable[Entry], zone: tzinfo | None, without: Collection[str] = ()
) -> list[Bullet]:
    """What may be kept in MEMORY.md for good, as its items."""
    order = list(ROLLUP)
    found = [one for one in visible(entries) if role(one) in ROLLUP and one.id not in without]
    found.sort(key=lambda entry: (-order.index(role(entry)), entry.timestamp), reverse=True)
    texts = (f"{day(one.timestamp, zone)}: {'📌 ' * one.pinned}{told(one)}" for one in found)
    return [
        item_of(entry, ROLLUP[role(entry)], text, held=entry.pinned)
        for entry, text in zip(found, texts, strict=True)
    ]
