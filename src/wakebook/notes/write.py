"""Notes: the pages of the knowledge, written between their markers; every byte outside stays.

Only pages whose entries have changed are written, and the few overviews. A note that a person
has changed since is committed first. A block that a person has changed is not written at all: it
waits for `wakebook review`. A note with broken markers is left alone until they are mended.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import stat
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path

import msgspec

from wakebook.base import config as configs
from wakebook.base import markdown
from wakebook.base.config import Config
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.log import subjects
from wakebook.log.entry import Entry
from wakebook.log.subjects import Registry
from wakebook.notes import condensed, follow, item
from wakebook.notes import page as pages
from wakebook.notes.book import Block, Book
from wakebook.notes.condensed import FRONT, Condensed
from wakebook.notes.follow import Before, move
from wakebook.notes.item import Line
from wakebook.store.catalogue import Catalogue, destroy

VERSION = 1  # of how notes look: another one writes all of them anew
KNOWLEDGE, ARCHIVE = "knowledge", "archive"
OURS = ("context", "progress", "notes", "person", "reference", "procedures")

Progress = Callable[[str, int, int], None]


class Updated(msgspec.Struct, frozen=True, kw_only=True):
    written: tuple[str, ...] = ()  # files, relative to the home
    edited: tuple[str, ...] = ()  # path#block that a person has changed
    problems: dict[str, str] = {}  # file -> why it was left alone
    pages: int = 0  # that were looked at


def nothing_before(paths: Sequence[Path]) -> None:
    pass


def memory_path(home: Home, config: Config) -> Path:
    """MEMORY.md, wherever it lives. A link stays a link."""
    elsewhere = config.briefing.memory_file
    return (home.root / configs.expand(elsewhere) if elsewhere else home.memory).resolve()


def update(
    home: Home,
    config: Config,
    now: datetime,
    *,
    full: bool = False,
    before: Before = nothing_before,
    overwrite: Collection[str] = (),
    progress: Progress = lambda what, done, total: None,
) -> Updated:
    """Bring the notes up to date with the log; with `full`, all of them, from nothing.

    `before` is told of the files that a person has changed and that are about to change.
    `overwrite`: blocks (path#name) that are written although a person has changed them.
    """
    work = partial(_update, home, config, now, before, overwrite, progress)
    with home.locked():
        try:
            return work(full)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
                raise _unwritten(error) from error  # locked, or a full disk
            destroy(home)  # damaged where sync did not look
        try:
            return work(True)
        except sqlite3.Error as error:
            raise _unwritten(error) from error


def _unwritten(error: sqlite3.Error) -> WakebookError:
    return WakebookError(f"The notes were not written: {error}. The next update tries again.")


def _update(
    home: Home,
    config: Config,
    now: datetime,
    before: Before,
    overwrite: Collection[str],
    progress: Progress,
    full: bool,
) -> Updated:
    with closing(Catalogue(home)) as catalogue:
        if full or catalogue.get("look") != _look(now):
            catalogue.forget()
        catalogue.sync()
        seen = follow.mark(home)
        registry = subjects.load(home)
        followed = follow.follow(home, catalogue, registry, before)
        book = Book(catalogue, registry, condensed.load(home), config, now)
        numbers, entries = catalogue.dirty()
        wanted = _wanted(home, book, entries, followed, overwrite, now)
        writer = _Writer(home, config, catalogue, before, overwrite, registry)
        for number, page in enumerate(sorted(wanted), 1):
            writer.write(page, book.blocks(page))
            progress(page, number, len(wanted))
        writer.flush()
        catalogue.set("stuck", json.dumps(sorted(writer.stuck)))
        follow.remember(catalogue, registry, seen)
        catalogue.set("rewrites", json.dumps(_marks(book.rewrites)))
        catalogue.set("look", _look(now))
        catalogue.set("day", _day(now))
        catalogue.set("anew", "")
        catalogue.done(numbers)
        return Updated(
            written=tuple(writer.written),
            edited=tuple(writer.edited),
            problems=writer.problems,
            pages=len(wanted),
        )


def _wanted(
    home: Home,
    book: Book,
    entries: Sequence[Entry],
    followed: Sequence[str],
    overwrite: Collection[str],
    now: datetime,
) -> set[str]:
    """The pages to look at: with changed entries, subjects or rewrites, and what waits."""
    catalogue, known = book.catalogue, book.registry.subjects
    anew = catalogue.anew
    wanted = book.all_pages() | _existing(home) if anew else book.pages_of(entries)
    wanted |= book.pages_of(catalogue.ever_about(followed))
    wanted |= {pages.home_page(known[slug]) for slug in followed if slug in known}
    wanted |= set(json.loads(catalogue.get("stuck", "[]")))
    wanted |= _rewritten(catalogue, book.rewrites)
    wanted |= {pages.at(name.partition("#")[0]) for name in overwrite}
    if wanted or catalogue.get("day") != _day(now):
        told = any(page.startswith("person/") for page in wanted) or followed or anew
        wanted |= set(pages.OVERVIEWS) - (set() if told else {"people"})
    wanted.add("memory")  # people write there, and it has a cap
    return wanted - {""}


def _look(now: datetime) -> str:
    """What all notes depend on besides the log."""
    return f"{VERSION} {now.tzinfo}"


def _day(now: datetime) -> str:
    """The overviews fade from one day to the next."""
    return now.date().isoformat()


def _marks(rewrites: Condensed) -> dict[str, str]:
    return {name: _digest(msgspec.json.encode(one)).hex() for name, one in rewrites.blocks.items()}


def _rewritten(catalogue: Catalogue, rewrites: Condensed) -> set[str]:
    """The pages with a block that was condensed, or is not any more, since the last time."""
    known: dict[str, str] = json.loads(catalogue.get("rewrites", "{}"))
    current = _marks(rewrites)
    changed = {name for name in {*known, *current} if known.get(name) != current.get(name)}
    return {pages.at(name.partition("#")[0]) for name in changed}


def _existing(home: Home) -> set[str]:
    return {
        pages.at(path.relative_to(home.root / top).as_posix())
        for top in (KNOWLEDGE, ARCHIVE)
        for path in files(home, top)
    }


def files(home: Home, top: str) -> list[Path]:
    """The notes below a folder of the home, whose names can be written down."""
    found = (path for path in (home.root / top).rglob("*.md") if path.is_file())
    return sorted(path for path in found if is_utf8(path))


def is_utf8(path: Path) -> bool:
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


class _Writer:
    """Collects what is to be written, so that what people wrote is committed once, before."""

    def __init__(
        self,
        home: Home,
        config: Config,
        catalogue: Catalogue,
        before: Before,
        overwrite: Collection[str],
        registry: Registry,
    ) -> None:
        self._registry = registry
        self._home = home
        self._config = config
        self._catalogue = catalogue
        self._before = before
        self._overwrite = overwrite
        self._waiting: dict[Path, tuple[str, str]] = {}  # file -> old text, new text
        self._pages: dict[Path, str] = {}  # file -> its page
        self.written: list[str] = []
        self.edited: list[str] = []
        self.problems: dict[str, str] = {}
        self.stuck: set[str] = set()

    def write(self, page: str, blocks: Iterable[Block]) -> None:
        found = list(blocks)
        news = any(_has_news(self._home.root / ARCHIVE / one.path, one) for one in found)
        for block in found:
            path = self._place(page, block, news)
            self._pages[path] = page
            try:
                self._block(path, block)
            except UnicodeDecodeError as error:
                line = path.read_bytes()[: error.start].count(b"\n") + 1
                self._leave(page, path, f"line {line} is not UTF-8. Convert the file")
            except (WakebookError, OSError) as error:
                self._leave(page, path, str(error))

    def _leave(self, page: str, path: Path, why: str) -> None:
        """A note that cannot be written now is tried again with every update."""
        self.problems[self._name(path)] = why
        self.stuck.add(page)

    def _name(self, path: Path) -> str:
        inside = path.is_relative_to(self._home.root)
        return self._home.relative(path) if inside else str(path)

    def _place(self, page: str, block: Block, news: bool) -> Path:
        """Where a note stands: a retired one comes back when there is news about it."""
        if page == "memory":
            return memory_path(self._home, self._config)
        path = self._home.root / KNOWLEDGE / block.path
        if path.is_symlink() and path.exists():
            return path.resolve()  # a link stays a link
        retired = self._home.root / ARCHIVE / block.path
        if path.exists() or not retired.exists():
            return path
        if page.startswith("journal/") or not news:
            return retired
        self._before([retired])
        move(self._home, retired, path)
        return path

    def _block(self, path: Path, block: Block) -> None:
        if path in self._waiting:
            text = self._waiting[path][1]
        elif path.exists():
            text = path.read_bytes().decode("utf-8")
        elif (block.items or block.always) and not self._is_deleted(block):
            text = _fresh(block)
        else:
            return
        if text.startswith("<<<<<<< ") or "\n<<<<<<< " in text:
            raise WakebookError("it has conflicts of a merge in it. Resolve them first")
        old, text = text, _without_others(text, block)
        there = markdown.block(text, block.name)
        lines = self._fitting(text, block) if block.path == pages.MEMORY else block.text
        edited = there is not None and there.edited and list(there.lines) != lines
        if edited and block.key not in self._overwrite:
            self.edited.append(block.key)
            self.stuck.add(pages.at(block.path))  # if the edit is taken back, there may be news
            return
        if there is None and not block.items and path.exists():
            return  # somebody's own note, or without its block: and there is nothing to say
        self._catalogue.note_block(block.key, lines_json(block.lines))
        self._wait(path, old, markdown.put(text, block.name, lines), block)
        problem = markdown.front_problem(text)
        if problem:
            self.problems[self._name(path)] = f"{problem}. Correct it: the rest of the note is fine"

    def _is_deleted(self, block: Block) -> bool:
        """Whether a note is of a subject that was deleted: what is there stays, nothing new."""
        slug = pages.at(block.path).partition("/")[2]
        known = self._registry.subjects.get(slug)
        return known is not None and known.deleted and not block.path.startswith("journal/")

    def _fitting(self, text: str, block: Block) -> list[str]:
        """The lines of the rollup that MEMORY.md has room for."""
        there = markdown.block(text, block.name)
        others = text.count("\n") - (len(there.lines) if there else -3)
        room = max(self._config.notes.memory_cap - others - 1, 0)
        items = list(block.items)
        for last in reversed(block.items):
            if len(item.block(items)) + 1 <= room or len(block.lines) <= room:
                break
            if not last.held:  # what is pinned stays, whatever the cap
                items.remove(last)
        if len(items) == len(block.items):
            return block.text
        lines = [line.text for line in item.block(items)]
        return [*lines, "- … and more: `wakebook tick prune`"] if len(lines) < room else lines

    def _wait(self, path: Path, old: str, new: str, block: Block) -> None:
        if markdown.split(new)[0].get("type") == block.front["type"]:  # and not somebody's own
            values = {name: block.front[name] for name in FRONT if name in block.front}
            if "updated" in values:
                new = markdown.add_front(new, "updated", values["updated"])
            new = markdown.set_front(new, values | {"line_count": new.count("\n")})
        if new != old or not path.exists():
            self._waiting[path] = (self._waiting.get(path, (old, ""))[0], new)

    def flush(self) -> None:
        changed = [path for path in self._waiting if path.exists() and self._touched(path)]
        if changed:
            self._before(changed)
        for path, (old, text) in self._waiting.items():
            try:
                mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
                if not mode & 0o200:
                    raise WakebookError("the file is read-only, and was not written")
                if path.exists() and path.read_bytes() != old.encode("utf-8"):
                    raise WakebookError("somebody wrote to it meanwhile: it is tried again")
                self._home.replace(path, text, mode)
            except (WakebookError, OSError) as error:
                self._leave(self._pages[path], path, str(error))
                continue
            self._catalogue.note_written(str(path), _digest(text.encode()))
            self.written.append(self._name(path))

    def _touched(self, path: Path) -> bool:
        """Whether somebody else has written to a file since we did."""
        return self._catalogue.written(str(path)) != _digest(path.read_bytes())


def lines_json(lines: Iterable[Line]) -> str:
    """The lines of a block, to be found again when somebody has edited it."""
    return msgspec.json.encode(list(lines)).decode()


def _has_news(path: Path, block: Block) -> bool:
    """Whether a retired note has something to say that is newer than it."""
    try:
        front, _ = markdown.split(path.read_bytes().decode("utf-8"))
    except (OSError, UnicodeDecodeError):
        return False
    return str(block.front.get("updated", "")) > str(front.get("updated") or "")


def _without_others(text: str, block: Block) -> str:
    """Without blocks that a note has from another page, where nobody has edited them."""
    for name in markdown.names(text) if block.path != pages.MEMORY else ():
        if name in OURS and name != block.name:
            there = markdown.block(text, name)
            text = markdown.remove(text, name) if there and not there.edited else text
    return text


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=12).digest()


def _fresh(block: Block) -> str:
    """A new note, before it has its block."""
    return f"{markdown.front(block.front)}\n# {item.plain(block.title, 120)}\n"
