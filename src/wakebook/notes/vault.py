"""Vault: journals and topic pages for Obsidian are added to, and nothing of a person's is changed.

New lines go to the end of their section; a page is replaced whole, with every byte that was in it.
A note that Wakebook did not make is not touched: the page gets another name. Nothing is written
outside of the vault, whatever links there are.

The record (`.wakebook/vault.json`) says which page is whose, and what has been written. It lies in
the vault, so that it goes where the vault goes. Before pages are written it says what is about to
be (`writing`); a page is replaced whole, so after a crash one mark in it tells that all of it was
written. Without a record, the marks in all notes tell, and each page's frontmatter says whose it
is; only what a person has deleted is not known any more.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from wakebook.base import markdown
from wakebook.base.decode import convert, decode
from wakebook.base.errors import WakebookError
from wakebook.base.home import PREFIX, Home
from wakebook.notes import obsidian
from wakebook.notes.obsidian import FOLDERS, JOURNAL, TOPIC, LogPages, VaultPage, Written, folded

if TYPE_CHECKING:
    from wakebook.notes.notes import Notes
    from wakebook.store.sync import Progress

FOLDER, FILE = ".wakebook", "vault.json"
VERSION = 1
UNREADABLE = f"{FOLDER}/{FILE} could not be read and was set aside: the pages told what is written"
HEAD = 4096  # bytes in which a page's frontmatter is looked for


class BuiltVault(msgspec.Struct, frozen=True, kw_only=True):
    path: Path
    folders: tuple[str, ...] = ()  # made
    created: tuple[str, ...] = ()  # pages, by their paths in the vault
    extended: tuple[str, ...] = ()
    lines: int = 0
    refused: dict[str, str] = {}  # pages that have to wait, and why
    notes: tuple[str, ...] = ()  # what a person should know
    dry: bool = False


def build(notes: Notes, path: Path, dry: bool, progress: Progress) -> BuiltVault:
    """Bring a vault up to date, under the writer lock. A second build changes nothing. `dry`: only
    say what is new."""
    return _Build(notes, checked(notes.home, path)).run(dry, progress)


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
    for folder in (root / obsidian.NOTES, root / obsidian.JOURNALS, root / FOLDER):
        for one in (folder, folder / FILE):
            if not _within(root, one):
                raise WakebookError(
                    f"{one} is a link out of the vault, and nothing is read or written through it. "
                    "Put a folder or file in its place, or give the vault that it leads to."
                )
        if os.path.lexists(folder) and not folder.is_dir():
            raise WakebookError(f"{folder} is no folder. Rename it: pages are kept there.")
    return root


class _Draft(NamedTuple):
    """A page as it will be, and the file that it was made from."""

    text: str
    stamp: tuple[int, int] | None = None  # None: there is no file yet
    mode: int = 0o600


class _Waits(Exception):
    """A page that cannot be written now."""


class _Build:
    def __init__(self, notes: Notes, root: Path) -> None:
        opened, zone = notes.opened, notes.opened.now().tzinfo
        self._home, self._root = notes.home, root
        self._paths, self._linked = _notes(root)
        self._record, self._stored = load(root, self._paths)
        self._log = LogPages(opened.chains(), opened.registry(), zone, self._record.written())
        self._pages = dict(self._record.pages)  # key -> path, of this build too
        self._places: dict[str, VaultPage] = {}  # path -> the page that this build writes there
        self._names: dict[str, list[str]] = {}  # name of a note -> the paths that have it
        for path in self._paths:
            self._names.setdefault(folded(path.rpartition("/")[2][: -len(".md")]), []).append(path)
        self._notes = [] if self._stored else [UNREADABLE]
        self._refused: dict[str, str] = {}

    def run(self, dry: bool, progress: Progress) -> BuiltVault:
        for page in self._log.pages():
            path = self._place(page)
            self._pages[page.key] = path
            self._places[path] = page
        drafts: dict[str, _Draft] = {}
        for path in self._places:  # only now: links need every place
            with self._waiting(path):
                drafts[path] = self._draft(path)
        missing = [name for name in FOLDERS if not os.path.lexists(self._root / name)]
        if not dry:
            self._tidy()
            for name in missing:
                self._home.folder(self._root / name)
            drafts = self._write(drafts, progress)
        return BuiltVault(
            path=self._root,
            folders=tuple(missing),
            created=tuple(path for path, draft in drafts.items() if draft.stamp is None),
            extended=tuple(path for path, draft in drafts.items() if draft.stamp is not None),
            lines=sum(len(self._places[path].lines) for path in drafts),
            refused=self._refused,
            notes=tuple(self._notes),
            dry=dry,
        )

    @contextmanager
    def _waiting(self, path: str) -> Iterator[None]:
        """One page that has to wait does not stop the others."""
        try:
            yield
        except _Waits as why:
            self._refused[path] = f"{path} {why}, then build again: what is new for it waits."

    def _place(self, page: VaultPage) -> str:
        """Where a page stands; or else a new place, with a name that no note in the vault has."""
        known = self._known(page.key)
        if known and known not in self._places:
            return known
        for name in self._candidates(page):
            holders = self._names.setdefault(folded(name), [])
            path = f"{page.folder}/{name}.md"
            for holder in holders:  # made by a build whose record is lost
                if _key(_text(self._root, holder, HEAD)) in self._log.keys(page.key):
                    return holder
            if not holders and not os.path.lexists(self._root / path):
                holders.append(path)
                break
        return path

    def _known(self, key: str) -> str:
        """The page of a subject or day, if there is one: where it was, or where it is now."""
        keys = self._log.keys(key)
        recorded = [self._pages[key] for key in keys if key in self._pages]
        for path in recorded:
            inside = not {"..", "/"}.intersection(PurePosixPath(path).parts)
            if inside and (path in self._places or os.path.lexists(self._root / path)):
                return path
        if not recorded:
            return ""
        return next((self._owned[key] for key in keys if key in self._owned), "")

    @cached_property
    def _owned(self) -> dict[str, str]:
        """Where the pages are now that a person has moved or renamed."""
        return owned(self._root, self._paths)

    def _candidates(self, page: VaultPage) -> Iterator[str]:
        yield page.name
        ours = set(self._pages.values())
        theirs = [one for one in self._names.get(folded(page.name), ()) if one not in ours]
        if theirs:
            mine = f"{page.name} (Wakebook)"
            self._notes.append(f"{theirs[0]} is not Wakebook's: the page is called {mine!r}")
            yield mine
        yield page.apart
        number = 2
        while True:
            yield f"{page.name} (Wakebook {number})"
            number += 1

    def _draft(self, path: str) -> _Draft:
        """The page with its new lines. Raises _Waits if nothing can be written there."""
        file, page = self._root / path, self._places[path]
        if not os.path.lexists(file):
            return _Draft(self._log.text(page, None, self._link))
        if not _within(self._root, file):
            raise _Waits(
                "is a link out of the vault, and nothing is written through it. "
                "Put a file in its place, or remove it"
            )
        if not file.is_file():
            raise _Waits("is no file. Rename it, or remove it")
        status = file.stat()
        if not status.st_mode & 0o200:
            raise _Waits("is read-only. Make it writable")
        try:
            # bytes, not text: line ends belong to their author
            text = self._log.text(page, file.read_bytes().decode("utf-8"), self._link)
        except UnicodeDecodeError as error:
            raise _Waits(f"is not UTF-8 ({error.reason}). Convert it") from error
        except obsidian.Unclosed as error:
            raise _Waits(f"cannot be added to: {error}. Close it") from error
        return _Draft(text, _stamp(status), stat.S_IMODE(status.st_mode))

    def _link(self, key: str) -> str:
        """A link that leads somewhere, or else only the name."""
        shown, path = self._log.shown(key), self._known(key)
        target, file = path.removesuffix(".md"), self._root / path
        there = path and (file.is_file() or not os.path.lexists(file))  # or it is about to be
        if not there or re.search(r"[#^|\[\]]|%%", target):
            return obsidian.plain(shown)
        name = PurePosixPath(target).name
        if not self._linked and len(self._names.get(folded(name), ())) < 2:
            target = name  # nothing else is called so
        return f"[[{target}]]" if target == shown else f"[[{target}|{shown}]]"

    def _write(self, drafts: dict[str, _Draft], progress: Progress) -> dict[str, _Draft]:
        """Write the pages, between two records. Those that were written."""
        self._home.trace("vault", pages=len(self._places))  # what was wrong before is over
        self._save(drafts, writing=True)
        written: dict[str, _Draft] = {}
        for number, path in enumerate(self._places, 1):
            if path in drafts:
                with self._waiting(path):
                    written[path] = self._put(path, drafts[path])
            progress("pages", number, len(self._places))
        self._save(written, writing=False)
        for path in self._places:
            if path in self._refused:
                self._home.trace("failure", where=f"vault {path}", error=self._refused[path])
        return written

    def _put(self, path: str, draft: _Draft) -> _Draft:
        file = self._root / path
        if draft.stamp is None and os.path.lexists(file):
            raise _Waits("was made by another program just now. Leave it")
        while draft.stamp and (not file.exists() or _stamp(file.stat()) != draft.stamp):
            draft = self._draft(path)  # a person has changed it meanwhile
        with _named(file):
            self._home.replace(file.resolve(), draft.text, draft.mode)
        return draft

    def _save(self, paths: Iterable[str], writing: bool) -> None:
        """The record with these pages: as they are about to be written, or have been. It is written
        only where it differs from the one on disk. A broken one is set aside."""
        pages = {path: self._places[path] for path in paths}
        known = self._record.pages | {page.key: path for path, page in pages.items()}
        codes = {page.key: page.codes for page in pages.values()} if writing else {}
        record = msgspec.structs.replace(self._record, pages=known, writing=codes)
        if not writing:
            record = record.with_written(
                (page.kind, coded) for page in pages.values() for coded in page.codes
            )
        file = self._root / FOLDER / FILE
        if self._stored is None:
            file.replace(file.with_suffix(".broken.json"))
        if record != self._stored:
            data = msgspec.json.format(msgspec.json.encode(record), indent=1)
            with _named(file):
                self._home.replace(file, data + b"\n")
            self._stored = record

    def _tidy(self) -> None:
        """Remove what a killed build left behind."""
        folders = {str(PurePosixPath(path).parent) for path in self._pages.values()}
        for folder in sorted(folders | {FOLDER}):
            if _within(self._root, self._root / folder):
                for leftover in (self._root / folder).glob(f"{PREFIX}*.tmp"):
                    leftover.unlink(missing_ok=True)


def _stamp(status: os.stat_result) -> tuple[int, int]:
    return status.st_mtime_ns, status.st_size


@contextmanager
def _named(file: Path) -> Iterator[None]:
    """A failure that names the file, not the temporary one beside it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from error


# --- the record ------------------------------------------------------------------------------
class VaultRecord(msgspec.Struct, frozen=True, kw_only=True):
    version: int = VERSION
    pages: dict[str, str] = {}  # key -> path in the vault
    journals: list[str] = []  # codes of entries, in the order of writing
    topics: list[str] = []
    writing: dict[str, list[str]] = {}  # key -> codes that are being written

    def written(self) -> Written:
        pairs = [(JOURNAL, one) for one in self.journals] + [(TOPIC, one) for one in self.topics]
        return frozenset(pairs)

    def with_written(self, found: Iterable[tuple[str, str]]) -> VaultRecord:
        kinds = {JOURNAL: dict.fromkeys(self.journals), TOPIC: dict.fromkeys(self.topics)}
        for kind, coded in found:
            kinds[kind][coded] = None
        return msgspec.structs.replace(self, journals=[*kinds[JOURNAL]], topics=[*kinds[TOPIC]])


def load(root: Path, paths: Iterable[str]) -> tuple[VaultRecord, VaultRecord | None]:
    """The record as it has to be, and as it is on disk: None if it cannot be read."""
    file = root / FOLDER / FILE
    raw: object = None
    try:
        raw = decode(file.read_bytes(), Any)
        stored = convert(raw, VaultRecord)
    except FileNotFoundError:
        return _recovered(root, paths), VaultRecord()
    except msgspec.MsgspecError:
        stored = None
    version = raw.get("version") if isinstance(raw, dict) else 0
    if isinstance(version, int) and version > VERSION:
        raise WakebookError(
            f"{file} is of version {version}, made by a newer Wakebook. Update this one."
        )
    return (_settled(root, stored) if stored else _recovered(root, paths)), stored


def _settled(root: Path, record: VaultRecord) -> VaultRecord:
    """What a crash left half done: a page has either all of its new lines, or none."""
    done: list[tuple[str, str]] = []
    pages = dict(record.pages)
    for key, codes in record.writing.items():
        text = _text(root, pages[key]) if key in pages else ""
        there = obsidian.marks(text)
        kind = JOURNAL if key.startswith("day/") else TOPIC
        batch = [(kind, coded) for coded in codes]
        if there.intersection(batch):
            done += batch
        elif not there and not _key(text):  # never made, and by now maybe a person's own note
            pages.pop(key, None)
    return msgspec.structs.replace(record.with_written(done), pages=pages, writing={})


def _recovered(root: Path, paths: Iterable[str]) -> VaultRecord:
    """The record as the notes tell it."""
    marks = {one for path in paths for one in obsidian.marks(_text(root, path))}
    return VaultRecord(pages=owned(root, paths)).with_written(sorted(marks))


def owned(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """The pages that say they are Wakebook's, wherever they are now: key -> path."""
    found: dict[str, str] = {}
    for path in paths:
        if key := _key(_text(root, path, HEAD)):
            found.setdefault(key, path)
    return found


def _key(text: str) -> str:
    """The key of a page, as its frontmatter has it."""
    front, _ = markdown.split(text.lstrip("\ufeff").replace("\r\n", "\n"))
    return str(front.get("wakebook") or "")


def _notes(root: Path) -> tuple[list[str], bool]:
    """Every note's path in the vault, and whether folders are linked into it. Links are not
    followed, and folders with a dot are not Obsidian's."""
    found: list[str] = []
    linked = False
    for folder, below, files in os.walk(root):
        here = Path(folder)
        linked = linked or any((here / name).is_symlink() for name in below)
        below[:] = sorted(name for name in below if not name.startswith("."))
        names = [*files, *(name for name in below if name.endswith(".md"))]
        found += [
            (here / name).relative_to(root).as_posix()
            for name in names
            if name.lower().endswith(".md") and not name.startswith(".")
        ]
    return sorted(found), linked


def _text(root: Path, path: str, most: int = -1) -> str:
    """What can be read of a note, for finding things in it."""
    file = root / path
    if not _within(root, file) or not file.is_file():
        return ""
    try:
        with file.open("rb") as stream:
            return stream.read(most).decode("utf-8", "replace")
    except OSError:
        return ""


def _within(root: Path, path: Path) -> bool:
    """Whether writing there stays in the vault, whatever links there are."""
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # links in a circle
        return False
