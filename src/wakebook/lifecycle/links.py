"""Links of notes that lead nowhere."""

from __future__ import annotations

from wakebook.derive.notes import links
from wakebook.derive.notes.links import Broken, Targets
from wakebook.home import Home

FOLDERS = ("knowledge", "archive", "topics", "attachments", "raw")
SPEAKING = ("knowledge", "topics")


def missing(home: Home) -> list[Broken]:
    """Every link of an active note or topic to something that is not there."""
    files = [path for top in FOLDERS for path in (home.root / top).rglob("*") if path.is_file()]
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
