"""Moves: notes that change their place, with everything that people wrote in them."""

from __future__ import annotations

import re
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
