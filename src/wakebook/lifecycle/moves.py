"""Moves: notes that change their place, with everything that people wrote in them."""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from wakebook import markdown
from wakebook.home import Home

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


def follow(
    home: Home, files: Sequence[tuple[str, str]], front: Mapping[str, str], before: Before
) -> None:
    """Notes of a subject that goes by another name now: they move along.

    `front`: what their frontmatter says about the subject from now on, where it says it. Where
    there is a note already, the old one goes to the archive, with all that it holds.
    """
    for old, new in files:
        for top in ("knowledge", "archive"):
            source = home.root / top / old
            if not source.exists():
                continue
            before([source])
            target = home.root / top / new
            if not new or target.exists():
                move(home, source, home.root / "archive" / MERGED / old)
                continue
            _rename(home, source, {**front, "type": _type(new)})  # first: it may be killed then
            move(home, source, target)


def _type(path: str) -> str:
    kind = {"people": "person", "procedures": "procedure", "reference": "reference"}
    folder = path.partition("/")[0]
    return kind.get(folder) or f"project_{Path(path).stem}"


def _rename(home: Home, path: Path, front: Mapping[str, str]) -> None:
    with suppress(UnicodeDecodeError):
        text = path.read_bytes().decode("utf-8")
        renamed = markdown.set_front(text, front)
        if renamed != text:
            home.replace(path, renamed, stat.S_IMODE(path.stat().st_mode))


def _remove_empty(home: Home, folder: Path) -> None:
    """A project's folder goes with its last note; the folders of a home stay."""
    if folder.parent.name in ("projects", MERGED) and not any(folder.iterdir()):
        folder.rmdir()
