"""Follow: notes go along with their subject when it gets another name or type."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from wakebook.base import markdown
from wakebook.base.home import Home
from wakebook.log.subjects import Registry, Subject
from wakebook.notes import condensed
from wakebook.notes import page as pages
from wakebook.notes.condensed import Condensed
from wakebook.store.catalogue import Catalogue


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
    follow_moves(home, files, was, front, before)
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


# -----------------------------------------------------------------------------
# Moves: notes that change their place, with everything that people wrote in them.

MERGED = "merged"  # below archive/: notes of subjects that are part of others now
Before = Callable[[Sequence[Path]], None]


def move(home: Home, old: Path, new: Path) -> Path:
    """Move a file, never over another one. Where it is now. The caller has it committed."""
    home.folder(new.parent)
    target, number = new, 2
    while target.exists():
        target = new.with_stem(f"{new.stem}-{number}")
        number += 1
    old.rename(target)
    _remove_empty(home, old.parent)
    return target


def follow_moves(
    home: Home,
    files: Sequence[tuple[str, str]],
    was: str,
    front: Mapping[str, str],
    before: Before,
) -> None:
    """Notes of a subject that goes by another name now: they move along.

    `was`: the name in their title. `front`: what their frontmatter says about the subject from now
    on, where it says it. Where there is a note already, the old one goes to the archive, with all
    that it holds.
    """
    for old, new in files:
        for top in ("knowledge", "archive"):
            source = home.root / top / old
            if not source.is_file() or not _is_ours(source):
                continue
            before([source])
            target = home.root / top / new
            if not new or target.exists():
                move(home, source, home.root / "archive" / MERGED / old)
                continue
            _rename(home, source, {**front, "type": _type(new)}, was)  # first: it may be killed
            move(home, source, target)


def _is_ours(path: Path) -> bool:
    """Whether a note has a block of ours. Another one is somebody's own."""
    return bool(markdown.names(path.read_text(encoding="utf-8", errors="replace")))


def _type(path: str) -> str:
    kind = {"people": "person", "procedures": "procedure", "reference": "reference"}
    folder = path.partition("/")[0]
    return kind.get(folder) or f"project_{Path(path).stem}"


def _retitled(text: str, old: str, new: str) -> str:
    """With the new name in the title, where it is still the one that Wakebook gave it."""
    title = rf"^# {re.escape(old)}(?= — (?:progress|notes|how things are done)$|$)"
    return re.sub(title, lambda _: f"# {new}", text, count=1, flags=re.MULTILINE)


def _rename(home: Home, path: Path, front: Mapping[str, str], was: str) -> None:
    with suppress(UnicodeDecodeError):
        text = path.read_bytes().decode("utf-8")
        renamed = _retitled(markdown.set_front(text, front), was, front["name"])
        if renamed != text:
            home.replace(path, renamed, stat.S_IMODE(path.stat().st_mode))


def _remove_empty(home: Home, folder: Path) -> None:
    """A project's folder goes with its last note; the folders of a home stay."""
    if folder.parent.name in ("projects", MERGED) and not any(folder.iterdir()):
        folder.rmdir()
