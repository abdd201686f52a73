"""Follow: notes go along with their subject when it gets another name or type."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from wakebook.derive.notes import condensed
from wakebook.derive.notes import page as pages
from wakebook.derive.notes.condensed import Condensed
from wakebook.home import Home
from wakebook.lifecycle import moves
from wakebook.lifecycle.moves import Before
from wakebook.log.catalogue import Catalogue
from wakebook.log.subjects import Registry, Subject


def follow(home: Home, catalogue: Catalogue, registry: Registry, before: Before) -> list[str]:
    """The subjects whose name, type or aliases have changed. Their notes move along."""
    if catalogue.get("subjects mark") == mark(home):
        return []
    stored = catalogue.get("subjects")
    known: dict[str, Any] = json.loads(stored or "{}")
    current = json.loads(_told(registry))
    was = [Subject(slug, one[0], one[1]) for slug, one in known.items()]
    was += [Subject(slug, slug, "person") for slug in current if slug not in known]  # mentioned
    if not stored:  # nobody knows what they were: any page of an earlier name may be there
        names = registry.aliases()
        was = [Subject(old, old, type_) for old in names for type_ in ("project", "person", "tool")]
    for old in was:
        now = registry.subjects.get(registry.canonical(old.slug))
        if now is None or now.deleted:
            continue
        before_, after = pages.home_page(old), pages.home_page(now)
        front = {"project": now.slug, "name": now.display}
        if before_ != after:
            _move(home, _pairs(before_, after), old.display, front, before)
        if now.slug != old.slug:
            files = _pairs(f"procedure/{old.slug}", f"procedure/{now.slug}")
            _move(home, files, old.display, front, before)
    changed = {slug for slug in current if current[slug] != known.get(slug)} if stored else set()
    changed |= {slug for slug, one in current.items() if changed.intersection(one[2])}
    return [name for slug in sorted(changed) for name in (slug, *current[slug][2])]


def _move(
    home: Home,
    files: Sequence[tuple[str, str]],
    was: str,
    front: Mapping[str, str],
    before: Before,
) -> None:
    moves.follow(home, files, was, front, before)
    _carry(home, files)


def _carry(home: Home, files: Sequence[tuple[str, str]]) -> None:
    """What was condensed in notes that have moved goes with them."""
    kept = condensed.load(home)
    moved = dict(kept.blocks)
    for name, rewrite in kept.blocks.items():
        path, _, block = name.partition("#")
        new = dict(files).get(path)
        if new and f"{new}#{block}" not in kept.blocks:
            moved[f"{new}#{block}"] = rewrite
            del moved[name]
    if moved != kept.blocks:
        condensed.save(home, Condensed(moved))


def _pairs(old: str, new: str) -> list[tuple[str, str]]:
    """The files of two pages, in pairs; what has no counterpart goes with nothing."""
    to = pages.files(new)
    return [(one, to[n] if n < len(to) else "") for n, one in enumerate(pages.files(old))]


def mark(home: Home) -> str:
    """Which subjects.json it is."""
    try:
        there = home.subjects.stat()
    except OSError:
        return "none"
    return f"{there.st_mtime_ns} {there.st_size} {there.st_ino}"


def remember(catalogue: Catalogue, registry: Registry, seen: str) -> None:
    """Note which subjects the notes are written for; `seen`: the mark of that file."""
    if catalogue.get("subjects mark") != seen:
        catalogue.set("subjects", _told(registry))
        catalogue.set("subjects mark", seen)


def _told(registry: Registry) -> str:
    return json.dumps(
        {
            slug: [one.display, one.type, list(one.aliases), one.deleted]
            for slug, one in registry.subjects.items()
        }
    )
