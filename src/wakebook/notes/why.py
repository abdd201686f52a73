"""Why: where a line of a note comes from.

A generated line leads to the entries that it was made from, and they to the words that were said.
It is found by writing the page once more, in memory, and looking for the same line. Any other line
was written by a person: git knows when.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wakebook.base import markdown
from wakebook.base.errors import GitError, NotFound, WakebookError
from wakebook.base.home import CONTENT
from wakebook.history.past import blame
from wakebook.log.entry import Entry
from wakebook.notes import page as pages
from wakebook.notes.book import Book, key
from wakebook.notes.briefing import made as made_briefing
from wakebook.notes.page import ARCHIVE, KNOWLEDGE, NoteLine, ids_of, shown
from wakebook.notes.prose import load

if TYPE_CHECKING:
    from wakebook.notes.notes import Notes

MORE = "- … and"
_PLACE = re.compile(r"(?P<path>.+?)(?::|#L?)(?P<line>\d+)$")


class Why(msgspec.Struct, frozen=True, kw_only=True):
    path: str  # relative to the home
    line: int
    text: str
    block: str = ""  # the generated block that it stands in
    entries: tuple[Entry, ...] = ()  # that it was made from
    rewritten: str = ""  # by what its words were chosen, if they are not the entry's
    commit: str = ""  # when the line as it stands was first committed: date, hash and subject
    note: str = ""  # what else there is to say


def why(notes: Notes, place: str) -> Why:
    """`place`: FILE:LINE, the file relative to the home or to knowledge/, or absolute."""
    match = _PLACE.fullmatch(place.strip())
    if match is None:
        raise WakebookError(f"{place!r} is no line of a file. Write it like notes.md:12.")
    path = file_of(notes, match["path"])
    number = int(match["line"])
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise WakebookError(f"{path} is not UTF-8: {error}. Convert it first.") from error
    lines = text.removesuffix("\n").split("\n")
    if not 1 <= number <= len(lines):
        raise NotFound(f"{path} has {len(lines)} lines, and no line {number}.")
    found = Why(path=shown(notes.home, path), line=number, text=lines[number - 1])
    there = _block_at(text, number)
    if there is None:
        commit, note = _blame(notes, path, number), _outside(text, number)
        return msgspec.structs.replace(found, commit=commit, note=note)
    with notes.book(notes.opened.now()) as book:
        made = made_lines(notes, book, path, there.name)
        condensed = book.condensed.get(key(notes.below(path), there.name))
    line = _same(made, lines, number, there.first - 1)
    by_id = notes.opened.chains().by_id
    entries = tuple(by_id[one] for one in line.ids if one in by_id)
    return msgspec.structs.replace(
        found,
        block=there.name,
        entries=entries,
        rewritten=condensed.by if condensed and line.rewritten else "",
        commit="" if entries else _blame(notes, path, number),
        note="" if entries else _unknown(found.text, made),
    )


def made_lines(notes: Notes, book: Book, path: Path, name: str) -> list[NoteLine]:
    """What a block of a file would say now; nothing if Wakebook knows of no such block."""
    if name == markdown.BRIEFING:
        return made_briefing(notes, notes.opened.now(), load(notes.home))
    below = notes.below(path)
    blocks = book.blocks(page) if (page := pages.at(below)) else []
    same = (one.lines for one in blocks if (one.name, one.path) == (name, below))
    return list(next(same, ()))


def file_of(notes: Notes, name: str) -> Path:
    """A text of the memory by its name. Raises NotFound."""
    root, given = notes.home.root, Path(name).expanduser()
    for path in (
        *([given] if given.is_absolute() else []),
        root / name,
        root / KNOWLEDGE / name,
        root / ARCHIVE / name,
        *([notes.memory] if given.name == "MEMORY.md" else []),
        *([Path.cwd() / given] if (Path.cwd() / given).is_relative_to(root) else []),
    ):
        if path.is_file() and _ours(notes, path.resolve()):
            return path
    raise NotFound(f"There is no note or other text of the memory called {name!r} in {root}.")


def _ours(notes: Notes, path: Path) -> bool:
    """Whether it is content, which is in git: not the token, the state, or a file elsewhere."""
    root = notes.home.root.resolve()
    if path == notes.memory:
        return True
    return path.is_relative_to(root) and path.relative_to(root).parts[0] in CONTENT


def _block_at(text: str, number: int) -> markdown.Block | None:
    for name in markdown.names(text):
        with suppress(markdown.BrokenBlock):
            there = markdown.block(text, name)
            if there and there.first <= number < there.first + len(there.lines):
                return there
    return None


def _same(made: list[NoteLine], lines: list[str], number: int, first: int) -> NoteLine:
    """The line that was made, by its text; of several alike, the one at the same place."""
    text = lines[number - 1].rstrip()
    same = [line for line in made if line.text.rstrip() == text]
    if not same:
        return NoteLine(text, ids_of(made) if text.startswith(MORE) else ())
    before = [line.rstrip() for line in lines[first : number - 1]].count(text)
    return same[min(before, len(same) - 1)]


def _unknown(text: str, made: list[NoteLine]) -> str:
    if not text.strip():
        return "an empty line between two parts of the block"
    if any(line.text.rstrip() == text.rstrip() for line in made):
        return "a line of ours that stands for no entry"
    return (
        "not what the log says now: it was edited by hand (`wakebook review`), or the note "
        "is out of date (`wakebook notes`)"
    )


def _outside(text: str, number: int) -> str:
    front = markdown.read_front(text)
    if front.values is not None and number <= text.count("\n", 0, front.end) + 2:
        return "frontmatter"
    line = text.split("\n")[number - 1]
    if "<!-- wakebook:" in line or "GENERATED BRIEFING" in line:
        return "a marker of a generated block"
    if not line.strip():
        return "an empty line"
    if line.startswith("# ") and markdown.names(text):
        return "the note's title: written once, and yours to change"
    return "not generated: a person wrote it"


def _blame(notes: Notes, path: Path, number: int) -> str:
    """When a line was committed."""
    repository = notes.git().repository
    if repository is None or not path.is_relative_to(notes.home.root):
        return ""
    try:
        commit = blame(repository, notes.home.relative(path), number)
    except (GitError, NotFound):
        return "not committed yet"
    at = commit.at.astimezone(notes.opened.now().tzinfo)
    return f"{at:%Y-%m-%d %H:%M} {commit.short} {commit.summary}"
