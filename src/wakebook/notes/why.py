"""Why: where a line of a note comes from.

A generated line leads to the entries that it was made from, and they to the words that were said.
It is found by writing the page once more, in memory, and looking for the same line. Any other line
was written by somebody: git knows when.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from wakebook.base import markdown
from wakebook.base.errors import GitError, NotFound, WakebookError
from wakebook.history.revisions import blame
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry
from wakebook.notes.book import Block, Book
from wakebook.notes.briefing import sources
from wakebook.notes.desk import Desk
from wakebook.notes.item import Line
from wakebook.notes.prose import Prose
from wakebook.notes.write import ARCHIVE, KNOWLEDGE

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


def why(desk: Behind, place: str) -> Why:
    """`place`: FILE:LINE, the file relative to the home or to knowledge/, or absolute."""
    match = _PLACE.fullmatch(place.strip())
    if match is None:
        raise WakebookError(f"{place!r} is no line of a file. Write it like notes.md:12.")
    path = _find(desk, match["path"])
    number = int(match["line"])
    text = _read(path)
    lines = text.removesuffix("\n").split("\n")
    if not 1 <= number <= len(lines):
        raise NotFound(f"{path} has {len(lines)} lines, and no line {number}.")
    found = Why(path=desk.name(path), line=number, text=lines[number - 1])
    block = _block_at(text, number)
    if not block:
        return msgspec.structs.replace(
            found, commit=_blame(desk, path, number), note=_outside(text, number)
        )
    with desk.book() as book:
        made = desk.lines(book, path, block)
        told = desk.block(book, path, block)
        rewrite = book.rewrites.blocks.get(told.key) if told else None
    line = _same(made, lines, number, markdown.block(text, block))
    entries = tuple(desk.chains.by_id[one] for one in line.ids if one in desk.chains.by_id)
    return msgspec.structs.replace(
        found,
        block=block,
        entries=entries,
        rewritten=rewrite.by if rewrite and line.rewritten else "",
        commit="" if entries else _blame(desk, path, number),
        note="" if entries else _unknown(found.text, made),
    )


def _find(desk: Behind, name: str) -> Path:
    home, given = desk.home, Path(name).expanduser()
    for path in (
        *([given] if given.is_absolute() else []),
        home.root / name,
        home.root / KNOWLEDGE / name,
        home.root / ARCHIVE / name,
        *([desk.memory] if given.name == "MEMORY.md" else []),
        *([Path.cwd() / given] if (Path.cwd() / given).is_relative_to(home.root) else []),
    ):
        allowed = path.resolve().is_relative_to(home.root.resolve())
        if path.is_file() and (allowed or path.resolve() == desk.memory):
            return path
    raise NotFound(f"There is no file {name!r} in {home.root}.")


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise WakebookError(f"{path} is not UTF-8: {error}. Convert it first.") from error


def _block_at(text: str, number: int) -> str:
    for name in markdown.names(text):
        try:
            there = markdown.block(text, name)
        except markdown.BrokenBlock:
            continue
        if there and there.first <= number < there.first + len(there.lines):
            return name
    return ""


def _same(made: list[Line], lines: list[str], number: int, block: markdown.Block | None) -> Line:
    """The line that was made, by its text; of several alike, the one at the same place."""
    text = lines[number - 1].rstrip()
    same = [line for line in made if line.text.rstrip() == text]
    if not same and text.startswith(MORE):
        return Line(text, tuple(one for line in made for one in line.ids))
    if not same:
        return Line(text)
    first = block.first - 1 if block else 0
    before = [line.rstrip() for line in lines[first : number - 1]].count(text)
    return same[min(before, len(same) - 1)]


def _unknown(text: str, made: list[Line]) -> str:
    if not text.strip():
        return "an empty line between two parts of the block"
    if any(line.text.rstrip() == text.rstrip() for line in made):
        return "a line of ours that stands for no entry"
    return (
        "not what the log says now: it was edited by hand (`wakebook notes review`), or the note "
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
    return "not generated: somebody wrote it"


def _blame(desk: Behind, path: Path, number: int) -> str:
    repository = desk.history.repository
    if repository is None or not path.is_relative_to(desk.home.root):
        return ""
    try:
        commit = blame(repository, desk.home.relative(path), number)
    except (GitError, NotFound):
        return "not committed yet"
    return f"{commit.at.astimezone(desk.now.tzinfo):%Y-%m-%d %H:%M} {commit.short} {commit.summary}"


# -----------------------------------------------------------------------------
# Lines: what a generated block of a file would say now, each line with the entries behind it.


class Behind(Desk, frozen=True):
    """A desk from which one can look behind every generated line, the briefing's too."""

    chains: Chains
    prose: Prose

    def lines(self, book: Book, path: Path, name: str) -> list[Line]:
        """The lines of a block of a file; none if Wakebook knows of no such block."""
        if name == markdown.BRIEFING:
            settings = self.config.briefing
            return sources(self.chains, book.registry, self.now, settings, self.prose)
        block = self.block(book, path, name)
        return list(block.lines) if block else []

    def block(self, book: Book, path: Path, name: str) -> Block | None:
        page = self.page(path)
        try:
            blocks = book.blocks(page) if page else []
        except ValueError:  # a journal of no day
            return None
        for block in blocks:
            if block.name == name and (page == "memory" or Path(block.path).name == path.name):
                return block
        return None
