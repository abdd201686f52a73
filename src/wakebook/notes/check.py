"""Check: how the notes are doing. What is broken, edited by hand, or leads nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wakebook.base import markdown
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.log import forgotten
from wakebook.notes import condensed, prose
from wakebook.notes import page as pages
from wakebook.notes.briefing import LEAST, MARKERS, made
from wakebook.notes.page import ARCHIVE, KNOWLEDGE, DeadLink, is_utf8, notes_below, shown
from wakebook.store.index import mount_problems

if TYPE_CHECKING:
    from wakebook.notes.notes import Notes

TOLD = 5  # links that are named one by one
LINKED = ("knowledge", "archive", "topics", "attachments", "raw")
LINKING = ("knowledge", "topics")


class Knowledge(msgspec.Struct, frozen=True, kw_only=True):
    notes: int  # active ones
    archived: int
    memory_lines: int  # of MEMORY.md
    edited: tuple[str, ...]  # path:line of blocks that wait for a review
    problems: tuple[str, ...]
    hints: tuple[str, ...]  # worth knowing, and nothing to worry about


def knowledge(notes: Notes) -> Knowledge:
    """Reads every note once."""
    home = notes.home
    edited: list[str] = []
    problems: list[str] = []
    for path in note_files(notes):
        name = shown(home, path)
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            line = path.read_bytes()[: error.start].count(b"\n") + 1
            problems.append(f"{name}, line {line}: not UTF-8. Convert the file.")
            continue
        except OSError as error:
            problems.append(f"{name} cannot be read: {error.strerror}")
            continue
        if wrong := markdown.front_problem(text):
            problems.append(f"{name}, {wrong}. Correct that line.")
        for block in markdown.names(text):
            try:
                markdown.block(text, block)
            except markdown.BrokenBlock as error:
                problems.append(f"{name}: {error}. It is left alone until then.")
        if markdown.names(text) and not path.stat().st_mode & 0o200:
            problems.append(f"{name} is read-only, and is not kept up to date.")
        edited += [f"{name}:{one.first}" for one in edited_blocks(text)]
    try:
        lines = len(notes.memory.read_bytes().splitlines())
    except OSError:
        lines = 0
    problems += _of_home(home)
    frozen = _frozen(notes)
    problems += [frozen] if frozen else []
    problems += _size(notes, lines, bool(edited))
    problems += mount_problems(home, notes.config)
    counts = [sum(1 for _ in (home.root / top).rglob("*.md")) for top in (KNOWLEDGE, ARCHIVE)]
    return Knowledge(
        notes=counts[0],
        archived=counts[1],
        memory_lines=lines,
        edited=tuple(edited),
        problems=tuple(problems),
        hints=tuple(_hints(home, edited)),
    )


def note_files(notes: Notes) -> list[Path]:
    """Every note, and MEMORY.md wherever it lives."""
    root, memory = notes.home.root, notes.memory
    found = [path for top in (KNOWLEDGE, ARCHIVE) for path in notes_below(notes.home, top)]
    # to these, no page belongs any more
    put_away = tuple(f"{root}/{ARCHIVE}/{name}/" for name in (pages.MERGED, pages.EDITS))
    found = [one for one in found if not str(one).startswith(put_away)]
    if memory.exists() and memory not in found and memory not in (one.resolve() for one in found):
        found.append(memory)
    return sorted(found)


def edited_blocks(text: str) -> Iterator[markdown.Block]:
    """The blocks of a note that differ from what Wakebook wrote."""
    for name in markdown.names(text):
        with suppress(markdown.BrokenBlock):
            block = markdown.block(text, name)
            if block and block.edited:
                yield block


def _of_home(home: Home) -> Iterator[str]:
    for load, then in (
        (condensed.load, "No note is written until then."),
        (forgotten.load, "Nothing is read until then."),
    ):
        try:
            load(home)
        except WakebookError as error:
            yield f"{error} {then}"
    for path in (home.root / KNOWLEDGE).rglob("*.md"):
        if not is_utf8(path):
            name = str(path).encode("utf-8", "replace").decode()
            yield f"{name}: its name is not UTF-8, so Wakebook does not read it. Rename it."
        elif path.is_dir():
            yield f"{shown(home, path)} is a folder: a note should stand there. Rename it."


def _size(notes: Notes, lines: int, frozen: bool) -> Iterator[str]:
    """Whether MEMORY.md has become too long. Its generated parts take what your own lines leave."""
    settings, memory = notes.config.notes, notes.memory
    text = memory.read_text(encoding="utf-8", errors="replace") if lines else ""
    own = lines - len(markdown.generated(text.split("\n")))
    most = settings.memory_cap - LEAST - MARKERS  # of yours; the rest is made to fit
    if lines <= settings.memory_warn or (lines <= settings.memory_cap and own <= most):
        return
    said = f"{shown(notes.home, memory)} has {lines} lines, {own} of them yours"
    limit = f"at most {settings.memory_cap}; above {settings.memory_refuse} it is not committed"
    advice = "shorten what is yours" if own > most else "run `wakebook notes brief`"
    if frozen and own <= most:
        advice = "an edited block is not shortened until `wakebook review`"
    yield f"{said} ({limit}): {advice}."


def _frozen(notes: Notes) -> str:
    """What to say of a briefing that a person has edited and that is out of date by now."""
    try:
        there = markdown.block(notes.memory.read_bytes().decode("utf-8"), markdown.BRIEFING)
    except (OSError, UnicodeDecodeError, markdown.BrokenBlock):
        return ""
    if there is None or not there.edited:
        return ""
    fresh = [line.text for line in made(notes, notes.opened.now(), prose.load(notes.home))]
    if markdown.sum_of(fresh) == there.sum:
        return ""
    return (
        f"{shown(notes.home, notes.memory)}:{there.first}: the briefing was edited by hand and is "
        "not updated any more: `wakebook review` shows the edit, `accept` keeps it in the "
        "log, `reject` drops it."
    )


def _hints(home: Home, edited: list[str]) -> Iterator[str]:
    for place in edited:
        yield f"{place} was edited by hand: `wakebook review`"
    dead = dead_links(home)
    for link in dead[:TOLD]:
        yield f"{link.path}:{link.line} links to {link.target}, which is no note"
    if len(dead) > TOLD:
        yield f"and {len(dead) - TOLD} more such links: `wakebook notes --check`"


def dead_links(home: Home) -> list[DeadLink]:
    """Every link of an active note or topic to something that is not there."""
    there = [path for top in LINKED for path in (home.root / top).rglob("*") if path.is_file()]
    files = sorted(path for path in there if is_utf8(path))
    targets = pages.targets(map(home.relative, files))
    found: list[DeadLink] = []
    for path in files:
        name = home.relative(path)
        if path.suffix != ".md" or not name.startswith(LINKING):
            continue
        with suppress(OSError, UnicodeDecodeError):
            links = pages.links_in(path.read_text(encoding="utf-8"))
            dead = ((line, to) for line, to in links if pages.target(to) not in targets)
            found += [DeadLink(name, line, to) for line, to in dead]
    return found
