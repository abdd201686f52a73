"""Subjects: the registry of what entries are about (subjects.json).

A subject is a slug with a display name, a type and the names it used to have. Slugs that an
extractor uses for the first time are added. Renaming and merging rewrite the log (the only thing
that may, with `forget`) and leave the old slug as an alias, so that old references still resolve.
A deleted slug stays known as deleted: its entries keep it, and new entries do not get it again.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from wakebook.base.decode import decode, loads
from wakebook.base.errors import InvalidEntry, NotFound, WakebookError
from wakebook.base.home import Home
from wakebook.log import log
from wakebook.log.entry import SLUG, Entry, slugify

TYPES = ("project", "person", "system", "tool", "place", "other")


class Subject(msgspec.Struct, frozen=True):
    slug: str
    display: str
    type: str = "project"
    aliases: tuple[str, ...] = ()
    deleted: bool = False
    extra: dict[str, Any] = {}


class Registry(msgspec.Struct, frozen=True):
    """All subjects by slug. Every change gives a new registry."""

    subjects: dict[str, Subject] = {}

    def canonical(self, name: str) -> str:
        """The slug behind a slug or alias; the name itself if it is unknown."""
        known = self.subjects.get(name)
        if not name or (known and not known.deleted):
            return name
        return self.aliases().get(name, name)

    def aliases(self) -> dict[str, str]:
        """Earlier names -> slug, but for names that are in use again."""
        return {
            alias: slug
            for slug, item in self.subjects.items()
            for alias in item.aliases
            if not item.deleted and (alias not in self.subjects or self.subjects[alias].deleted)
        }

    def names(self) -> dict[str, str]:
        """Every name in lower case -> slug: slugs, display names, aliases."""
        found: dict[str, str] = {}
        for item in self.known():
            for name in (item.slug, item.slug.replace("-", " "), item.display, *item.aliases):
                found.setdefault(name.lower(), item.slug)
        return found

    def people(self) -> frozenset[str]:
        return frozenset(item.slug for item in self.known() if item.type == "person")

    def known(self) -> list[Subject]:
        return [item for item in self.subjects.values() if not item.deleted]

    def counted(self, entries: Iterable[Entry]) -> list[tuple[Subject, int]]:
        counts = Counter(self.canonical(entry.subject) for entry in entries)
        return [(item, counts[item.slug]) for item in self.known()]

    def get(self, name: str) -> Subject:
        found = self.subjects.get(self.canonical(name))
        if found is None or found.deleted:
            raise NotFound(f"There is no subject {name!r}. `wakebook subjects list` shows all.")
        return found

    def with_(self, *items: Subject) -> Registry:
        return Registry(self.subjects | {item.slug: item for item in items})

    def for_entry(self, name: str) -> str:
        """The slug a new entry should carry: canonical, or none if it was deleted."""
        slug = self.canonical(name)
        known = self.subjects.get(slug)
        return "" if known and known.deleted else slug

    def ensure(self, slugs: Iterable[str], types: Mapping[str, str] | None = None) -> Registry:
        """With every slug that is not known yet added by itself. `types`: what they are."""
        known = types or {}
        new = {
            slug: Subject(slug, title(slug), known.get(slug, "project")) for slug in slugs if slug
        }
        missing = [new[slug] for slug in new if self.canonical(slug) not in self.subjects]
        return self.with_(*missing) if missing else self


def title(slug: str) -> str:
    return " ".join(word.capitalize() for word in slug.split("-"))


def load(home: Home) -> Registry:
    try:
        raw = loads(home.subjects.read_text(encoding="utf-8"))
        if not isinstance(raw, dict):
            raise ValueError("not an object")
    except FileNotFoundError:
        return Registry()
    except ValueError as error:
        raise WakebookError(
            f"{home.subjects}: not valid JSON ({error}). Correct it, or restore it with "
            f"`git -C {home.root} checkout subjects.json`."
        ) from error
    return Registry({slug: _read(slug, value) for slug, value in raw.items()})


def _read(slug: str, value: Any) -> Subject:
    fields = dict(value) if isinstance(value, dict) else {}
    aliases = fields.pop("aliases", None)
    return Subject(
        slug,
        str(fields.pop("display", title(slug))),
        str(fields.pop("type", "project")),
        tuple(map(str, aliases)) if isinstance(aliases, list) else (),
        fields.pop("deleted", False) is True,
        fields,
    )


def save(home: Home, registry: Registry) -> None:
    raw: dict[str, Any] = {}
    for slug in sorted(registry.subjects):
        item = registry.subjects[slug]
        raw[slug] = {"display": item.display, "type": item.type}
        if item.aliases:
            raw[slug]["aliases"] = list(item.aliases)
        if item.deleted:
            raw[slug]["deleted"] = True
        raw[slug] |= item.extra
    home.replace(home.subjects, json.dumps(raw, ensure_ascii=False, indent=2) + "\n")


def add(registry: Registry, name: str, type_: str, display: str = "") -> Registry:
    slug = slug_of(name)
    _known_type(type_)
    old = registry.subjects.get(registry.canonical(slug))
    if old and not old.deleted:
        raise WakebookError(f"The subject {old.slug!r} exists already.")
    shown = display or (name if name != slug else title(slug))
    return registry.with_(Subject(slug, shown, type_))


def rename(registry: Registry, old: str, new: str) -> Registry:
    """The registry after old -> new (a slug). If `new` exists, old is merged into it."""
    source = registry.get(old)
    if new == source.slug:
        raise WakebookError(f"The subject is called {new!r} already.")
    target = registry.subjects.get(new)
    if target and not target.deleted:
        aliases = dict.fromkeys((*target.aliases, *source.aliases, source.slug))
        merged = msgspec.structs.replace(target, aliases=tuple(aliases))
    else:
        kept = (alias for alias in (*source.aliases, source.slug) if alias != new)
        shown = title(new) if source.display == title(source.slug) else source.display
        merged = msgspec.structs.replace(
            source, slug=new, display=shown, aliases=tuple(dict.fromkeys(kept))
        )
    others = (item for slug, item in registry.subjects.items() if slug != source.slug)
    return Registry().with_(*others, merged)


def retype(registry: Registry, name: str, type_: str) -> Registry:
    _known_type(type_)
    return registry.with_(msgspec.structs.replace(registry.get(name), type=type_))


def delete(registry: Registry, name: str) -> Registry:
    return registry.with_(msgspec.structs.replace(registry.get(name), deleted=True))


def rewrite_log(home: Home, old: str, new: str) -> int:
    """Change the subject of every entry in the log. Other bytes stay as they are."""
    try:
        lines = home.log.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return 0
    wanted = re.compile(rb'("subject"\s*:\s*)"' + re.escape(old.encode()) + rb'"')
    changed = 0
    for number, line in enumerate(lines):
        if wanted.search(line) and _subject_of(line) == old:
            lines[number] = wanted.sub(rb'\1"' + new.encode() + rb'"', line, count=1)
            changed += 1
    if changed:
        log.rewrite(home, lines)
    return changed


def _subject_of(line: bytes) -> object:
    try:
        return decode(line, dict[str, Any]).get("subject")
    except msgspec.DecodeError:
        return None


def slug_of(name: str) -> str:
    if not SLUG.fullmatch(slug := slugify(name)):
        raise InvalidEntry(f"{name!r} gives no slug: use letters a-z, digits and hyphens.")
    return slug


def _known_type(type_: str) -> None:
    if type_ not in TYPES:
        raise InvalidEntry(f"type {type_!r} is not one of {', '.join(TYPES)}.")
