"""Desk: what everything that works on the notes needs: the home, its history, the book, and now."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

import msgspec

from wakebook.base.config import Config
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.history.history import History
from wakebook.log import subjects
from wakebook.notes import condensed
from wakebook.notes import page as pages
from wakebook.notes.book import Book, key
from wakebook.notes.write import ARCHIVE, KNOWLEDGE, memory_path
from wakebook.store.catalogue import Catalogue, destroy


class Desk(msgspec.Struct, frozen=True):
    home: Home
    config: Config
    history: History
    now: datetime

    def before(self, paths: Sequence[Path]) -> None:
        """What people wrote is in git before anything near it changes. Raises GitError."""
        ours = [one for one in paths if one.is_relative_to(self.home.root) and one.exists()]
        self.history.backup("notes as they were", ours)

    @property
    def memory(self) -> Path:
        return memory_path(self.home, self.config)

    @contextmanager
    def book(self) -> Iterator[Book]:
        """The notes as they would be written now."""
        try:
            with self.home.locked(), closing(Catalogue(self.home)) as catalogue:
                catalogue.sync()
                registry, rewrites = subjects.load(self.home), condensed.load(self.home)
                yield Book(catalogue, registry, rewrites, self.config, self.now)
        except sqlite3.DatabaseError as error:
            destroy(self.home)
            raise WakebookError(
                f"The cache of the notes was damaged ({error}) and is made anew: try again."
            ) from error

    def name(self, path: Path) -> str:
        """A file as people are told of it."""
        inside = path.is_relative_to(self.home.root)
        return self.home.relative(path) if inside else str(path)

    def page(self, path: Path) -> str:
        """The page that a file is a part of, or nothing."""
        if path.resolve() == self.memory:
            return "memory"
        for top in (KNOWLEDGE, ARCHIVE):
            if path.is_relative_to(self.home.root / top):
                return pages.at(path.relative_to(self.home.root / top).as_posix())
        return ""

    def key(self, path: Path, block: str) -> str:
        """How the notes call a block of a file."""
        if path.resolve() == self.memory:
            return key(pages.MEMORY, block)
        for top in (KNOWLEDGE, ARCHIVE):
            if path.is_relative_to(self.home.root / top):
                return key(path.relative_to(self.home.root / top).as_posix(), block)
        return key(str(path), block)

    def path(self, name: str) -> Path:
        """The file of a block (path#name): active, or retired."""
        path = name.partition("#")[0]
        if pages.at(path) == "memory":
            return self.memory
        active = self.home.root / KNOWLEDGE / path
        retired = self.home.root / ARCHIVE / path
        return retired if retired.exists() and not active.exists() else active
