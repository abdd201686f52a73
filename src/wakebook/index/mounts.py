"""Mounts: other homes whose notes can be found and read from here, and are never written.

What they know about projects, people and things is taken whole, generated lines included. Their
log, journal, MEMORY.md and identity stay their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wakebook.config import Config, expand
from wakebook.home import Home

SHARED = ("projects", "people", "procedures", "reference")
FOLDERS = (*(f"{top}/{name}" for top in ("knowledge", "archive") for name in SHARED), "topics")


def homes(home: Home, config: Config) -> list[Path]:
    """The homes that are mounted and there; a home does not mount itself."""
    found = [(home.root / expand(name)).resolve() for name in config.mounts.homes]
    own = home.root.resolve()
    return [root for root in dict.fromkeys(found) if root != own and root.is_dir()]


def notes(home: Home, config: Config) -> list[Path]:
    """The notes of the mounted homes, without those that a link brings in from elsewhere."""
    found: list[Path] = []
    for root in homes(home, config):
        for top in FOLDERS:
            for path in sorted((root / top).rglob("*.md")):
                listed = path.name in ("_active.md", "_index.md")  # which say it all again
                if path.is_file() and not listed and path.resolve().is_relative_to(root):
                    found.append(path.resolve())
    return found


def problems(home: Home, config: Config) -> Iterator[str]:
    """Mounts that are not there, or are no homes."""
    for name in config.mounts.homes:
        root = (home.root / expand(name)).resolve()
        if root == home.root.resolve():
            yield f"[mounts] homes: {name} is this home itself"
        elif not Home(root).exists():
            yield f"[mounts] homes: there is no Wakebook home in {name}"
