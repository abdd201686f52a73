"""Page: which note an entry belongs to, and where that note stands below knowledge/.

    project/auth        projects/auth/context.md, progress.md, notes.md
    person/jane-doe     people/jane-doe.md
    reference/postgres  reference/postgres.md           systems, tools, places and the like
    procedure/auth      procedures/auth.md              how things are done
    journal/2026-02-20  journal/2026-02-20.md
    active, people, observations, memory                what is read first

What is about nothing in particular is in reference/_general.md, _preferences.md and _lessons.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, tzinfo

from wakebook.derive.notes.item import day
from wakebook.derive.notes.people import People
from wakebook.log.entry import Entry
from wakebook.log.subjects import Registry, Subject

GENERAL, PREFERENCES, LESSONS = "_general", "_preferences", "_lessons"
OVERVIEWS = ("active", "people", "observations", "memory")
PARTS = ("context", "progress", "notes")
MEMORY = "memory/MEMORY.md"  # wherever it lives: what its blocks are called
_FILES = {
    "active": "projects/_active.md",
    "people": "people/_index.md",
    "observations": "memory/observations.md",
    "memory": MEMORY,
}
_FOLDERS = {
    "person": "people",
    "reference": "reference",
    "procedure": "procedures",
    "journal": "journal",
}


def of(entry: Entry, registry: Registry, people: People, zone: tzinfo | None) -> Iterator[str]:
    """The pages that an entry is told on, but for the overviews."""
    yield f"journal/{day(entry.timestamp, zone)}"
    slug = registry.canonical(entry.subject)
    known = registry.subjects.get(slug)
    if role(entry) == "procedure":
        yield f"procedure/{slug or GENERAL}"
    elif not slug and entry.type != "handoff":
        yield f"reference/{shelf(entry)}"
    if slug:
        yield home_page(known or Subject(slug, slug))
    for person in people.told(entry):
        yield f"person/{person.slug}"


def role(entry: Entry) -> str:
    """What an entry is to a reader: task, done, question, decision, handoff, or a kind of fact."""
    if entry.type == "task":
        return "task" if entry.status == "open" else "done"
    return (entry.kind or "fact") if entry.type == "fact" else entry.type


def home_page(subject: Subject) -> str:
    """The page of a subject itself."""
    kind = subject.type if subject.type in ("project", "person") else "reference"
    return f"{kind}/{subject.slug}"


def shelf(entry: Entry) -> str:
    """Where an entry about nothing in particular stands."""
    return {"preference": PREFERENCES, "lesson": LESSONS}.get(entry.kind or "", GENERAL)


def files(page: str) -> list[str]:
    """The files of a page, relative to knowledge/."""
    if page in _FILES:
        return [_FILES[page]]
    kind, _, name = page.partition("/")
    if kind == "project":
        return [f"projects/{name}/{part}.md" for part in PARTS]
    return [f"{_FOLDERS[kind]}/{name}.md"]


def at(path: str) -> str:
    """The page that a file of knowledge/ is a part of, or nothing."""
    for page, name in _FILES.items():
        if path == name:
            return page
    found = re.fullmatch(rf"projects/([^/]+)/(?:{'|'.join(PARTS)})\.md", path)
    if found:
        return f"project/{found[1]}"
    for kind, folder in _FOLDERS.items():
        found = re.fullmatch(rf"{folder}/([^/]+)\.md", path)
        if found and (kind != "journal" or _is_day(found[1])):
            return f"{kind}/{found[1]}"
    return ""


def _is_day(name: str) -> bool:
    try:
        return date.fromisoformat(name).isoformat() == name
    except ValueError:
        return False
