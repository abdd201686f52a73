"""People: who a fact tells about, so that they have a note even if they are no subject.

A fact that an extractor took for a relationship ("Ylva is the photographer") introduces whom its
sentence begins with: a name in the middle may be anything. Subjects of type person are found
wherever such a fact names them.
"""

from __future__ import annotations

import re

from wakebook.derive.rules import names
from wakebook.log.entry import Entry, slugify
from wakebook.log.subjects import Registry, Subject

_WHO = re.compile(
    r"(?P<name>(?:(?:Herr|Frau|Mr|Mrs|Ms|Dr|Prof)\.?\s)?[A-ZÀ-ÖØ-Þ][\w’'-]+"
    r"(?:\s[A-ZÀ-ÖØ-Þ][\w’'-]+){0,2})\s(?:is|was|works|runs|leads|handles|does|has)\b"
)
_TITLES = ("Herr ", "Frau ", "Mr ", "Mrs ", "Ms ", "Dr ", "Prof ")


class People:
    """Those whom the subjects know, by the first word of each of their names."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._aliases = registry.aliases()
        self._names: dict[str, list[tuple[str, Subject]]] = {}
        for person in registry.known():
            if person.type == "person":
                for name in (person.display, person.slug.replace("-", " "), *person.aliases):
                    parts = re.findall(r"\w+", name.lower())
                    if parts:
                        self._names.setdefault(parts[0], []).append((" ".join(parts), person))

    def told(self, entry: Entry) -> list[Subject]:
        """The people that an entry tells about: whom it introduces, and subjects that it names."""
        if entry.kind != "relationship":
            return []
        words = re.findall(r"\w+", entry.content.lower())
        text = f" {' '.join(words)} "
        named = [
            person
            for first in dict.fromkeys(words)
            for name, person in self._names.get(first, ())
            if f" {name} " in text
        ]
        found = {person.slug: person for person in named}
        new = introduced(entry)
        if new:
            subjects = self._registry.subjects
            there = subjects.get(new.slug) or subjects.get(self._aliases.get(new.slug, ""))
            if there is None or (there.type == "person" and not there.deleted):
                found.setdefault((there or new).slug, there or new)
        return list(found.values())


def introduced(entry: Entry) -> Subject | None:
    """Who a fact introduces, if it does."""
    name = _named(entry)
    slug = slugify(name)
    return Subject(slug, name, "person") if slug else None


def _named(entry: Entry) -> str:
    if entry.type != "fact" or entry.kind != "relationship":
        return ""
    match = _WHO.match(entry.content)
    if match is None:
        return ""
    name = match["name"].replace("’", "'")
    bare = name
    for title in _TITLES:
        bare = bare.removeprefix(title).removeprefix(title.replace(" ", ". "))
    return name if names.leads(bare) and not name.endswith("'s") else ""
