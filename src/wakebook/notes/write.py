"""Write: the pages of the knowledge, between their markers; every byte outside stays.

Only pages whose entries have changed are written, and the few overviews. A note that a person
has changed since is committed first. A block that a person has changed is not written at all: it
waits for `wakebook review`. A note with broken markers is left alone until they are mended.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import stat
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wakebook.base import markdown
from wakebook.base.config import Config
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.log import subjects
from wakebook.log.entry import Entry
from wakebook.notes import condensed, moves
from wakebook.notes import page as pages
from wakebook.notes.book import Book, NoteBlock
from wakebook.notes.condensed import FRONT, Condensed
from wakebook.notes.moves import Before
from wakebook.notes.page import ARCHIVE, KNOWLEDGE, note_lines, notes_below, plain, shown
from wakebook.opened import quiet
from wakebook.store.catalogue import Catalogue, destroy

if TYPE_CHECKING:
    from wakebook.store.sync import Progress

VERSION = 1  # of how notes look: another one writes all of them anew
OURS = ("context", "progress", "notes", "person", "reference", "procedures")


class Updated(msgspec.Struct, frozen=True, kw_only=True):
    written: tuple[str, ...] = ()  # files, relative to the home
    edited: tuple[str, ...] = ()  # path#block that a person has changed
    problems: dict[str, str] = {}  # file -> why it was left alone
    pages: int = 0  # that were looked at


def update(
    home: Home,
    config: Config,
    now: datetime,
    *,
    full: bool = False,
    changed: Collection[str] = (),
    before: Before = lambda paths: None,
    overwrite: Collection[str] = (),
    progress: Progress = quiet,
) -> Updated:
    """Bring the notes up to date with the log; with `full`, all of them, from nothing. `before` is
    told of the files that a person has changed and that are about to change. `changed`: files of
    the home that another machine has changed; notes among them are looked at. `overwrite`: blocks
    (path#name) that are written although a person has changed them."""

    def work(full: bool) -> Updated:
        with closing(Catalogue(home)) as catalogue:
            doer = _Update(home, config, now, before, catalogue)
            return doer.run(full, changed, overwrite, progress)

    with home.locked():
        try:
            try:
                return work(full)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
                    raise  # locked, or a full disk
                destroy(home)  # damaged where sync did not look
                return work(True)
        except sqlite3.Error as error:
            raise WakebookError(
                f"The notes were not written: {error}. The next update tries again."
            ) from error


class _Update:
    """Collects what is to be written, so that what people wrote is committed once, before."""

    def __init__(
        self, home: Home, config: Config, now: datetime, before: Before, catalogue: Catalogue
    ) -> None:
        self._home, self._config, self._now = home, config, now
        self._before, self._catalogue = before, catalogue
        self._day = now.date().isoformat()  # the overviews fade from one day to the next
        self._waiting: dict[Path, tuple[str, str]] = {}  # file -> old text, new text
        self._pages: dict[Path, str] = {}  # file -> its page
        self._written: list[str] = []
        self._edited: list[str] = []
        self._problems: dict[str, str] = {}
        self._stuck: set[str] = set()  # pages to look at again next time

    def run(
        self, full: bool, changed: Collection[str], overwrite: Collection[str], progress: Progress
    ) -> Updated:
        catalogue, home = self._catalogue, self._home
        self._overwrite = overwrite
        look = f"{VERSION} {self._now.tzinfo}"  # what all notes depend on besides the log
        if full or catalogue.get("look") != look:
            catalogue.forget()
        catalogue.sync()
        seen = moves.mark(home)
        self._registry = subjects.load(home)
        followed = moves.follow(home, catalogue, self._registry, self._before)
        book = Book(catalogue, self._registry, condensed.load(home), self._config, self._now)
        numbers, entries = catalogue.dirty()
        people: set[str] = (
            set() if catalogue.anew else set(json.loads(catalogue.get("people", "[]")))
        )
        people |= {pages.introduced(entry) for entry in entries} - {""}
        catalogue.set("people", json.dumps(sorted(people)))
        wanted = self._wanted(book, entries, followed)
        wanted |= {pages.at(name.partition("/")[2]) for name in changed} - {""}
        for number, page in enumerate(sorted(wanted), 1):
            self._page(page, book.blocks(page))
            progress(page, number, len(wanted))
        self._flush()
        catalogue.set("stuck", json.dumps(sorted(self._stuck)))
        moves.remember(catalogue, self._registry, seen)
        catalogue.set("rewrites", json.dumps(_digests(book.condensed)))
        catalogue.set("look", look)
        catalogue.set("day", self._day)
        catalogue.set("anew", "")
        catalogue.done(numbers)
        return Updated(
            written=tuple(self._written),
            edited=tuple(self._edited),
            problems=self._problems,
            pages=len(wanted),
        )

    def _wanted(self, book: Book, entries: Sequence[Entry], followed: Sequence[str]) -> set[str]:
        """The pages to look at: with changed entries, subjects or rewrites, and what waits."""
        catalogue, known = self._catalogue, book.registry.subjects
        wanted = book.all_pages() if catalogue.anew else book.pages_of(entries)
        for top in (KNOWLEDGE, ARCHIVE) if catalogue.anew else ():
            there = notes_below(self._home, top)
            wanted |= {pages.at(one.relative_to(self._home.root / top).as_posix()) for one in there}
        wanted |= book.pages_of(catalogue.ever_about(followed))
        wanted |= {pages.home_page(known[slug]) for slug in followed if slug in known}
        wanted |= set(json.loads(catalogue.get("stuck", "[]")))
        was: dict[str, str] = json.loads(catalogue.get("rewrites", "{}"))
        is_ = _digests(book.condensed)
        anew = {name for name in {*was, *is_} if was.get(name) != is_.get(name)}
        wanted |= {pages.at(name.partition("#")[0]) for name in (*anew, *self._overwrite)}
        if wanted or catalogue.get("day") != self._day:
            told = any(page.startswith("person/") for page in wanted) or followed or catalogue.anew
            wanted |= set(pages.OVERVIEWS) - (set() if told else {"people"})
        wanted.add("memory")  # people write there, and it has a cap
        return wanted - {""}

    def _page(self, page: str, blocks: Sequence[NoteBlock]) -> None:
        news = any(_has_news(self._home.root / ARCHIVE / one.path, one) for one in blocks)
        for block in blocks:
            path = self._place(page, block, news)
            self._pages[path] = page
            try:
                self._block(path, block)
            except UnicodeDecodeError as error:
                line = path.read_bytes()[: error.start].count(b"\n") + 1
                self._leave(path, f"line {line} is not UTF-8. Convert the file")
            except (WakebookError, OSError) as error:
                self._leave(path, str(error))

    def _leave(self, path: Path, why: str) -> None:
        """A note that cannot be written now is tried again with every update."""
        self._problems[shown(self._home, path)] = why
        self._stuck.add(self._pages[path])

    def _place(self, page: str, block: NoteBlock, news: bool) -> Path:
        """Where a note stands: a retired one comes back when there is news about it."""
        if page == "memory":
            return pages.memory_path(self._home, self._config)
        path = self._home.root / KNOWLEDGE / block.path
        if path.is_symlink() and path.exists():
            return path.resolve()  # a link stays a link
        retired = self._home.root / ARCHIVE / block.path
        if path.exists() or not retired.exists():
            return path
        if page.startswith("journal/") or not news:
            return retired
        self._before([retired])
        moves.move(self._home, retired, path)
        return path

    def _block(self, path: Path, block: NoteBlock) -> None:
        known = self._registry.subjects.get(pages.at(block.path).partition("/")[2])
        # of a subject that was deleted, what is there stays, and nothing new comes
        deleted = known is not None and known.deleted and not block.path.startswith("journal/")
        if path in self._waiting:
            text = self._waiting[path][1]
        elif path.exists():
            text = path.read_bytes().decode("utf-8")
        elif (block.items or block.always) and not deleted:
            text = f"{markdown.front(block.front)}\n# {plain(block.title, 120)}\n"
        else:
            return
        if text.startswith("<<<<<<< ") or "\n<<<<<<< " in text:
            raise WakebookError("it has conflicts of a merge in it. Resolve them first")
        old, text = text, _without_others(text, block)
        there = markdown.block(text, block.name)
        lines = self._fitting(text, block) if block.path == pages.MEMORY else block.text
        edited = there is not None and there.edited and list(there.lines) != lines
        if edited and block.key not in self._overwrite:
            self._edited.append(block.key)
            self._stuck.add(pages.at(block.path))  # if the edit is taken back, there may be news
            return
        if there is None and not block.items and path.exists():
            return  # a person's own note, or without its block: and there is nothing to say
        self._catalogue.note_block(block.key, pages.lines_json(block.lines))
        new = markdown.put(text, block.name, lines)
        if markdown.split(new)[0].get("type") == block.front["type"]:  # and not a person's own
            values = {name: block.front[name] for name in FRONT if name in block.front}
            if "updated" in values:
                new = markdown.add_front(new, "updated", values["updated"])
            new = markdown.set_front(new, values | {"line_count": new.count("\n")})
        if new != old or not path.exists():
            self._waiting[path] = (self._waiting.get(path, (old, ""))[0], new)
        problem = markdown.front_problem(text)
        if problem:
            name = shown(self._home, path)
            self._problems[name] = f"{problem}. Correct it: the rest of the note is fine"

    def _fitting(self, text: str, block: NoteBlock) -> list[str]:
        """The lines of the rollup that MEMORY.md has room for."""
        there = markdown.block(text, block.name)
        others = text.count("\n") - (len(there.lines) if there else -3)
        room = max(self._config.notes.memory_cap - others - 1, 0)
        items = list(block.items)
        order = sorted(items, key=lambda item: not item.held)  # what is pinned goes last
        for last in order[::-1]:
            if len(note_lines(items)) + 1 <= room or len(block.lines) <= room:
                break
            items.remove(last)
        if len(items) == len(block.items):
            return block.text
        lines = [line.text for line in note_lines(items)]
        more = f"- … and {len(block.items) - len(items)} more, in the log"
        return [*lines, more] if len(lines) < room else lines

    def _flush(self) -> None:
        """Write the files; those that a person has written to since we did are kept first."""
        catalogue, there = self._catalogue, [path for path in self._waiting if path.exists()]
        changed = [
            path for path in there if catalogue.written(str(path)) != _digest(path.read_bytes())
        ]
        if changed:
            self._before(changed)
        for path, (old, text) in self._waiting.items():
            try:
                mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
                if not mode & 0o200:
                    raise WakebookError("the file is read-only, and was not written")
                if path.exists() and path.read_bytes() != old.encode("utf-8"):
                    raise WakebookError(
                        "another program wrote to it meanwhile: Wakebook tries again"
                    )
                self._home.replace(path, text, mode)
            except (WakebookError, OSError) as error:
                self._leave(path, str(error))
                continue
            catalogue.note_written(str(path), _digest(text.encode()))
            self._written.append(shown(self._home, path))


def _has_news(path: Path, block: NoteBlock) -> bool:
    """Whether a retired note has something to say that is newer than it."""
    try:
        front, _ = markdown.split(path.read_bytes().decode("utf-8"))
    except (OSError, UnicodeDecodeError):
        return False
    return str(block.front.get("updated", "")) > str(front.get("updated") or "")


def _without_others(text: str, block: NoteBlock) -> str:
    """Without blocks that a note has from another page, where they were not edited."""
    for name in markdown.names(text) if block.path != pages.MEMORY else ():
        if name in OURS and name != block.name:
            there = markdown.block(text, name)
            text = markdown.remove(text, name) if there and not there.edited else text
    return text


def _digests(blocks: Mapping[str, Condensed]) -> dict[str, str]:
    return {name: _digest(msgspec.json.encode(one)).hex() for name, one in blocks.items()}


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=12).digest()
