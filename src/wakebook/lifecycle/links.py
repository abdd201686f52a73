"""Links of notes that lead nowhere."""

from __future__ import annotations

from wakebook.derive.notes import links
from wakebook.derive.notes.links import Broken, Targets
from wakebook.home import Home
from wakebook.lifecycle.notes import is_utf8

FOLDERS = ("knowledge", "archive", "topics", "attachments", "raw")
SPEAKING = ("knowledge", "topics")


def missing(home: Home) -> list[Broken]:
    """Every link of an active note or topic to something that is not there."""
    there = [path for top in FOLDERS for path in (home.root / top).rglob("*") if path.is_file()]
    files = [path for path in there if is_utf8(path)]
    targets = Targets(home.relative(path) for path in files)
    found: list[Broken] = []
    for path in sorted(files):
        name = home.relative(path)
        if path.suffix != ".md" or not name.startswith(SPEAKING):
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        for line, target in links.found_in(text):
            if not targets.has(target):
                found.append(Broken(name, line, target))
    return found
