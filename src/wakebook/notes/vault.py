"""Building a vault: journals and topic pages are added to, and nothing of anybody's is changed.

What is new is put at the end of its section; a page is replaced whole, with every byte that was in
it. A note that Wakebook did not make is not touched: the page gets another name. Nothing is
written outside of the vault, whatever links there are.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import tzinfo
from pathlib import Path, PurePosixPath

import msgspec

from wakebook.base.errors import WakebookError
from wakebook.base.home import PREFIX, Home
from wakebook.log.chains import Chains
from wakebook.log.subjects import Registry
from wakebook.notes import obsidian
from wakebook.notes import vault_record as records
from wakebook.notes.obsidian import Unclosed, folded, plain
from wakebook.notes.vault_pages import FOLDERS, JOURNALS, NOTES, Page, Vault

Progress = Callable[[str, int, int], None]


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """What a build did, or would do."""

    path: Path
    folders: tuple[str, ...] = ()  # made
    created: tuple[str, ...] = ()  # pages, by their paths in the vault
    extended: tuple[str, ...] = ()
    lines: int = 0
    refused: dict[str, str] = {}  # pages that have to wait, and why
    notes: tuple[str, ...] = ()  # what a person should know
    dry: bool = False


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a page stands, what is there now, and what will be."""

    page: Page
    path: str
    old: str | None = None  # None: it has to be made
    new: str = ""
    stamp: tuple[int, int] = (0, 0)  # of the file that was read
    mode: int = 0o600
    problem: str = ""

    @property
    def codes(self) -> list[str]:
        return [item.code for item in self.page.items]


def build(
    home: Home,
    path: Path,
    read: Callable[[], tuple[Chains, Registry]],
    zone: tzinfo,
    *,
    dry: bool = False,
    progress: Progress = lambda what, done, total: None,
) -> Built:
    """Bring a vault up to date. A second build changes nothing. `dry`: only say what it would do.

    `read` gives the log and the subjects; it is called under the lock.
    """
    root = checked(home, path)
    with nullcontext() if dry else home.locked():
        chains, registry = read()
        return _Build(home, root, chains, registry, zone).run(dry, progress)


def checked(home: Home, path: Path) -> Path:
    """The vault's folder, if there may be a vault."""
    path = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100
    again = "Give the folder of your vault, or of a new one."
    try:
        root, own = path.resolve(), home.root.resolve()
    except (OSError, RuntimeError) as error:
        raise WakebookError(f"{path} leads nowhere ({error}). {again}") from error
    if root.parent == root:
        raise WakebookError(f"{path} is the root of the file system, and no vault. {again}")
    if root.is_relative_to(own):
        what = "the home itself" if root == own else f"inside the home {own}"
        raise WakebookError(f"{path} is {what}: a vault is a folder of its own. {again}")
    solid = next(one for one in (root, *root.parents) if one.exists())
    if not solid.is_dir():
        raise WakebookError(f"{solid} is a file, and no folder. {again}")
    for name in (NOTES, JOURNALS, records.FOLDER):
        _solid(root, root / name)
    return root


def _solid(root: Path, folder: Path) -> None:
    """Refuses a folder for pages that is none, or lies elsewhere."""
    for one in (folder, folder / records.FILE):
        if not records.within(root, one):
            raise WakebookError(
                f"{one} is a link out of the vault, and nothing is read or written through it. "
                "Put a folder or file in its place, or give the vault that it leads to."
            )
    if os.path.lexists(folder) and not folder.is_dir():
        raise WakebookError(f"{folder} is no folder. Rename it: pages are kept there.")


class _Build:
    def __init__(
        self, home: Home, root: Path, chains: Chains, registry: Registry, zone: tzinfo
    ) -> None:
        self._home = home
        self._root = root
        self._paths, self._linked = records.notes(root)
        self._record, self._stored = records.load(root, self._paths)
        self._notes = [] if self._stored else [records.UNREADABLE]
        self._vault = Vault(chains, registry, zone, self._record.written())
        self._pages = dict(self._record.pages)  # key -> path, of this build too
        self._ours = set(self._pages.values())
        self._created: set[str] = set()
        self._taken: set[str] = set()  # by a page of this build
        self._moved: dict[str, str] | None = None
        self._names: dict[str, list[str]] = {}
        for path in self._paths:
            self._names.setdefault(_name(path), []).append(path)

    def run(self, dry: bool, progress: Progress) -> Built:
        places = [self._place(page) for page in self._vault.pages()]
        places = [self._drafted(place) for place in places]  # links need every place
        missing = [name for name in FOLDERS if not os.path.lexists(self._root / name)]
        if not dry:
            self._tidy()
            for name in missing:
                self._home.folder(self._root / name)
            places = self._write(places, progress)
        fine = [place for place in places if not place.problem]
        return Built(
            path=self._root,
            folders=tuple(missing),
            created=tuple(place.path for place in fine if place.old is None),
            extended=tuple(place.path for place in fine if place.old is not None),
            lines=sum(len(place.page.items) for place in fine),
            refused={place.path: place.problem for place in places if place.problem},
            notes=tuple(self._notes),
            dry=dry,
        )

    # --- where -----------------------------------------------------------------------

    def _place(self, page: Page) -> Place:
        known = self._known(page.keys)
        alone = known and known not in self._taken
        place = self._opened(page, known) if alone else self._new(page)
        self._pages[page.key] = place.path
        self._ours.add(place.path)
        self._taken.add(place.path)
        return place

    def _known(self, keys: Sequence[str]) -> str:
        """The page of a subject or day, if there is one: where it was, or where it is now."""
        recorded = [self._pages[key] for key in keys if key in self._pages]
        for path in recorded:
            inside = not {"..", "/"}.intersection(PurePosixPath(path).parts)
            if inside and (path in self._created or os.path.lexists(self._root / path)):
                return path
        if not recorded:
            return ""
        if self._moved is None:  # somebody moved, renamed or deleted it
            self._moved = dict(records.owned(self._root, self._paths))
        return next((self._moved[key] for key in keys if key in self._moved), "")

    def _new(self, page: Page) -> Place:
        """A new page, under a name that no note in the whole vault has."""
        for name in self._candidates(page):
            holders = self._names.get(folded(name), [])
            path = f"{page.folder}/{name}.md"
            for holder in holders:  # made by a build whose record is lost
                if records.key_of(records.text_of(self._root, holder, records.HEAD)) in page.keys:
                    return self._opened(page, holder)
            if not holders and not os.path.lexists(self._root / path):
                break
        self._names.setdefault(folded(name), []).append(path)
        self._created.add(path)
        return Place(page=page, path=path)

    def _candidates(self, page: Page) -> Iterator[str]:
        yield page.name
        holders = self._names.get(folded(page.name), [])
        theirs = [holder for holder in holders if holder not in self._ours]
        if theirs:
            mine = f"{page.name} (Wakebook)"
            self._notes.append(f"{theirs[0]} is not Wakebook's: the page is called {mine!r}")
            yield mine
        yield page.apart
        number = 2
        while True:
            yield f"{page.name} (Wakebook {number})"
            number += 1

    def _opened(self, page: Page, path: str) -> Place:
        """A page that exists, with what stands in it; or what is the matter with it."""
        file = self._root / path
        found = Place(page=page, path=path, old="")
        if not records.within(self._root, file):
            problem = "is a link out of the vault, and nothing is written through it. Put a file"
            return _refused(found, f"{problem} in its place, or remove it")
        if not file.is_file():
            return _refused(found, "is no file. Rename it, or remove it")
        status = file.stat()
        if not status.st_mode & 0o200:
            return _refused(found, "is read-only. Make it writable")
        try:
            # bytes, not text: line ends belong to whoever wrote them
            text = file.read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            return _refused(found, f"is not UTF-8 ({error.reason}). Convert it")
        return msgspec.structs.replace(
            found, old=text, stamp=_stamp(status), mode=stat.S_IMODE(status.st_mode)
        )

    # --- what ------------------------------------------------------------------------

    def _drafted(self, place: Place) -> Place:
        if place.problem:
            return place
        try:
            text = self._vault.text(place.page, place.page.items, place.old, self._link)
        except Unclosed as error:
            return _refused(place, f"cannot be added to: {error}. Close it")
        return msgspec.structs.replace(place, new=text)

    def _link(self, key: str) -> str:
        """A link that leads somewhere, or else only the name."""
        shown = self._vault.shown(key)
        path = self._known(self._vault.keys(key))
        target = path.removesuffix(".md")
        there = path in self._created or (path and (self._root / path).is_file())
        if not there or re.search(r"[#^|\[\]]|%%", target):
            return plain(shown)
        name = PurePosixPath(target).name
        if not self._linked and len(self._names.get(folded(name), ())) < 2:
            target = name  # nothing else is called so
        return obsidian.link(target, shown)

    # --- writing ---------------------------------------------------------------------

    def _write(self, places: Sequence[Place], progress: Progress) -> list[Place]:
        self._home.trace("vault", pages=len(places))  # what was wrong before is over
        self._save(self._after(places, done=False))
        put: list[Place] = []
        for place in places:
            put.append(place if place.problem else self._put(place))
            progress("pages", len(put), len(places))
        self._save(self._after(put, done=True))
        for place in put:
            if place.problem:
                self._home.trace("failure", where=f"vault {place.path}", error=place.problem)
        return put

    def _after(self, places: Sequence[Place], done: bool) -> records.Record:
        """The record with these pages: as they are about to be written, or have been."""
        fine = [place for place in places if not place.problem]
        pages = self._record.pages | {place.page.key: place.path for place in fine}
        record = msgspec.structs.replace(self._record, pages=pages)
        if done:
            written = [(place.page.kind, coded) for place in fine for coded in place.codes]
            return record.with_written(written)
        writing = {place.page.key: place.codes for place in fine}
        return msgspec.structs.replace(record, writing=writing)

    def _put(self, place: Place) -> Place:
        file = self._root / place.path
        if place.old is None and os.path.lexists(file):
            return _refused(place, "was made by somebody else just now. Leave it")
        while place.old is not None and not place.problem:
            now = file.stat() if file.exists() else None
            if now and _stamp(now) == place.stamp:
                break
            place = self._drafted(self._opened(place.page, place.path))  # changed meanwhile
        if not place.problem:
            with _named(file):
                self._home.replace(file.resolve(), place.new, place.mode)
        return place

    def _save(self, record: records.Record) -> None:
        """The record, where it differs from what is there. A broken one is kept aside."""
        if self._stored is None:
            records.set_aside(self._root)
        if record != self._stored:
            with _named(self._root / records.FOLDER / records.FILE):
                records.save(self._home, self._root, record)
            self._stored = record

    def _tidy(self) -> None:
        """Remove what a killed build left behind."""
        folders = {str(PurePosixPath(path).parent) for path in self._ours}
        for folder in sorted(folders | {records.FOLDER}):
            if records.within(self._root, self._root / folder):
                for leftover in (self._root / folder).glob(f"{PREFIX}*.tmp"):
                    leftover.unlink(missing_ok=True)


def _name(path: str) -> str:
    return folded(PurePosixPath(path).name[: -len(".md")])


def _stamp(status: os.stat_result) -> tuple[int, int]:
    return status.st_mtime_ns, status.st_size


def _refused(place: Place, what: str) -> Place:
    problem = f"{place.path} {what}, then build again: what is new for it waits."
    return msgspec.structs.replace(place, problem=problem)


@contextmanager
def _named(file: Path) -> Iterator[None]:
    """A failure that names the file, not the temporary one beside it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from error
