"""The record of a vault: which page is whose, and what has been written (`.wakebook/vault.json`).

It lies in the vault, so that it goes where the vault goes. Before pages are written it says what
is about to be (`writing`); a page is replaced whole, so after a crash one mark in it tells that all
of it was. Without a record, the marks in all notes tell, and each page's frontmatter says whose
it is; only what a person has deleted is not known any more.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from wakebook.base import markdown
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.notes import obsidian
from wakebook.notes.obsidian import JOURNAL, TOPIC
from wakebook.notes.vault_pages import Written

FOLDER, FILE = ".wakebook", "vault.json"
VERSION = 1
UNREADABLE = f"{FOLDER}/{FILE} could not be read and was set aside: the pages told what is written"
HEAD = 4096  # bytes in which a page's frontmatter is looked for


class Record(msgspec.Struct, frozen=True, kw_only=True):
    version: int = VERSION
    pages: dict[str, str] = {}  # key -> path in the vault
    journals: list[str] = []  # codes of entries, in the order of writing
    topics: list[str] = []
    writing: dict[str, list[str]] = {}  # key -> codes that are being written

    def written(self) -> Written:
        pairs = [(JOURNAL, one) for one in self.journals] + [(TOPIC, one) for one in self.topics]
        return frozenset(pairs)

    def with_written(self, found: Iterable[tuple[str, str]]) -> Record:
        kinds: dict[str, list[str]] = {JOURNAL: [*self.journals], TOPIC: [*self.topics]}
        for kind, coded in found:
            kinds[kind].append(coded)
        journals, topics = (list(dict.fromkeys(kinds[kind])) for kind in (JOURNAL, TOPIC))
        return msgspec.structs.replace(self, journals=journals, topics=topics)


def kind_of(key: str) -> str:
    return JOURNAL if key.startswith("day/") else TOPIC


def notes(root: Path) -> tuple[list[str], bool]:
    """Every note's path in the vault, and whether folders are linked into it.

    Links are not followed, and folders with a dot are not Obsidian's.
    """
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


def load(root: Path, paths: Iterable[str]) -> tuple[Record, Record | None]:
    """The record as it has to be, and as it is on disk: None if it cannot be read."""
    file = root / FOLDER / FILE
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return recovered(root, paths), Record()
    try:
        stored = msgspec.json.decode(data, type=Record)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        stored = None
    version = stored.version if stored else _version(data)
    if version > VERSION:
        raise WakebookError(
            f"{file} is of version {version}, made by a newer Wakebook. Update this one."
        )
    return (_settled(root, stored) if stored else recovered(root, paths)), stored


def _version(data: bytes) -> int:
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return 0
    found = raw.get("version") if isinstance(raw, dict) else 0
    return found if isinstance(found, int) else 0


def _settled(root: Path, record: Record) -> Record:
    """What a crash left half done: a page has either all of its new lines, or none."""
    done: list[tuple[str, str]] = []
    pages = dict(record.pages)
    for key, codes in record.writing.items():
        text = text_of(root, pages[key]) if key in pages else ""
        there = obsidian.marks(text)
        batch = [(kind_of(key), coded) for coded in codes]
        if there.intersection(batch):
            done += batch
        elif not there and not key_of(text):  # never made, and by now maybe somebody's own note
            pages.pop(key, None)
    return msgspec.structs.replace(record.with_written(done), pages=pages, writing={})


def recovered(root: Path, paths: Iterable[str]) -> Record:
    """The record as the notes tell it."""
    marks: set[tuple[str, str]] = set()
    for path in paths:
        marks |= obsidian.marks(text_of(root, path))
    return Record(pages=dict(owned(root, paths))).with_written(sorted(marks))


def owned(root: Path, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The pages that say they are Wakebook's, wherever they are now: key, path."""
    seen: set[str] = set()
    for path in paths:
        key = key_of(text_of(root, path, HEAD))
        if key and key not in seen:
            seen.add(key)
            yield key, path


def key_of(text: str) -> str:
    front, _ = markdown.split(text.lstrip("\ufeff").replace("\r\n", "\n"))
    return str(front.get("wakebook") or "")


def text_of(root: Path, path: str, most: int = -1) -> str:
    """What can be read of a note, for finding things in it."""
    file = root / path
    if not within(root, file) or not file.is_file():
        return ""
    try:
        with file.open("rb") as stream:
            return stream.read(most).decode("utf-8", "replace")
    except OSError:
        return ""


def within(root: Path, path: Path) -> bool:
    """Whether writing there stays in the vault, whatever links there are."""
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # links in a circle
        return False


def save(home: Home, root: Path, record: Record) -> None:
    data = msgspec.json.format(msgspec.json.encode(record), indent=1)
    home.replace(root / FOLDER / FILE, data + b"\n")


def set_aside(root: Path) -> None:
    """A record that cannot be read is kept."""
    file = root / FOLDER / FILE
    file.replace(file.with_suffix(".broken.json"))
