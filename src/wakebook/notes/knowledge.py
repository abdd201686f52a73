"""Knowledge: how the notes are doing. What is broken, edited by hand, or leads nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from wakebook.base import markdown
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.log import forgotten
from wakebook.notes import condensed
from wakebook.notes import page as links
from wakebook.notes import write as notes
from wakebook.notes.desk import Desk
from wakebook.notes.follow import MERGED
from wakebook.notes.page import Broken, Targets
from wakebook.notes.write import ARCHIVE, KNOWLEDGE, is_utf8
from wakebook.store import index as mounts

TOLD = 5  # links that are named one by one


class Knowledge(msgspec.Struct, frozen=True, kw_only=True):
    notes: int  # active ones
    archived: int
    memory_lines: int  # of MEMORY.md
    edited: tuple[str, ...]  # path:line of blocks that wait for a review
    problems: tuple[str, ...]
    hints: tuple[str, ...]  # worth knowing, and nothing to worry about


def knowledge(desk: Desk) -> Knowledge:
    """Reads every note once."""
    edited: list[str] = []
    problems: list[str] = []
    for path in files(desk):
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            line = path.read_bytes()[: error.start].count(b"\n") + 1
            problems.append(f"{desk.name(path)}, line {line}: not UTF-8. Convert the file.")
            continue
        except OSError as error:
            problems.append(f"{desk.name(path)} cannot be read: {error.strerror}")
            continue
        problems += _problems(desk.name(path), text)
        if markdown.names(text) and not path.stat().st_mode & 0o200:
            problems.append(f"{desk.name(path)} is read-only, and is not kept up to date.")
        edited += [f"{desk.name(path)}:{block.first}" for block in edited_blocks(text)]
    lines = _lines(desk.memory)
    problems += _record(desk)
    problems += _folders(desk)
    problems += _size(desk, lines)
    problems += mounts.mount_problems(desk.home, desk.config)
    return Knowledge(
        notes=_count(desk, KNOWLEDGE),
        archived=_count(desk, ARCHIVE),
        memory_lines=lines,
        edited=tuple(edited),
        problems=tuple(problems),
        hints=tuple(_hints(desk, edited)),
    )


def files(desk: Desk) -> list[Path]:
    """Every note, and MEMORY.md wherever it lives."""
    root = desk.home.root
    found = [path for top in (KNOWLEDGE, ARCHIVE) for path in notes.files(desk.home, top)]
    put_away = (root / ARCHIVE / MERGED, root / ARCHIVE / "edits")  # nobody's pages any more
    found = [one for one in found if not any(map(one.is_relative_to, put_away))]
    if desk.memory.exists() and desk.memory not in (path.resolve() for path in found):
        found.append(desk.memory)
    return sorted(found)


def edited_blocks(text: str) -> Iterator[markdown.Block]:
    """The blocks of a note that differ from what Wakebook wrote."""
    for name in markdown.names(text):
        try:
            block = markdown.block(text, name)
        except markdown.BrokenBlock:
            continue
        if block and block.edited:
            yield block


def _problems(name: str, text: str) -> Iterator[str]:
    if wrong := markdown.front_problem(text):
        yield f"{name}, {wrong}. Correct that line."
    for block in markdown.names(text):
        try:
            markdown.block(text, block)
        except markdown.BrokenBlock as error:
            yield f"{name}: {error}. It is left alone until then."


def _record(desk: Desk) -> Iterator[str]:
    try:
        condensed.load(desk.home)
    except WakebookError as error:
        yield f"{error} No note is written until then."
    try:
        forgotten.load(desk.home)
    except WakebookError as error:
        yield f"{error} Nothing is read until then."


def _folders(desk: Desk) -> Iterator[str]:
    for path in (desk.home.root / KNOWLEDGE).rglob("*.md"):
        if not notes.is_utf8(path):
            shown = str(path).encode("utf-8", "replace").decode()
            yield f"{shown}: its name is not UTF-8, and nobody reads it. Rename it."
        elif path.is_dir():
            yield f"{desk.name(path)} is a folder: a note should stand there. Rename it."


def _size(desk: Desk, lines: int) -> Iterator[str]:
    settings = desk.config.notes
    if lines <= settings.memory_warn:
        return
    own = lines - _generated(desk.memory)
    said = f"{desk.name(desk.memory)} has {lines} lines, {own} of them yours"
    limit = f"at most {settings.memory_cap}; above {settings.memory_refuse} it is not committed"
    yours = own > settings.memory_cap / 2
    advice = "shorten what is yours" if yours else "run `wakebook jobs run prune`"
    yield f"{said} ({limit}): {advice}."


def _hints(desk: Desk, edited: list[str]) -> Iterator[str]:
    for place in edited:
        yield f"{place} was edited by hand: `wakebook notes review`"
    broken = missing(desk.home)
    for link in broken[:TOLD]:
        yield f"{link.path}:{link.line} links to {link.target}, which is no note"
    if len(broken) > TOLD:
        yield f"and {len(broken) - TOLD} more such links: `wakebook notes --check`"


def _generated(path: Path) -> int:
    return len(markdown.generated(path.read_text(encoding="utf-8", errors="replace").split("\n")))


def _count(desk: Desk, top: str) -> int:
    return sum(1 for _ in (desk.home.root / top).rglob("*.md"))


def _lines(path: Path) -> int:
    try:
        return len(path.read_bytes().splitlines())
    except OSError:
        return 0


# -----------------------------------------------------------------------------
# Links of notes that lead nowhere.

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
