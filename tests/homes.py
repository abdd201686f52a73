"""A home as `init` leaves it, made once and then copied: most tests need one and do not test it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from wakebook import Memory


class _File(NamedTuple):
    path: str  # below the home
    mode: int
    data: bytes | None  # None: a folder


class Pattern:
    """A home in main memory. Nothing in it says where it lies."""

    def __init__(self, folder: Path) -> None:
        root = folder / "home"
        Memory(root).init()
        for sample in (root / ".git" / "hooks").glob("*.sample"):  # git's own, which nobody runs
            sample.unlink()
        self._files = list(_files(root))
        assert not any(os.fsencode(root) in (file.data or b"") for file in self._files)
        shutil.rmtree(root)

    def copied(self, root: Path) -> Memory:
        """The same home over there."""
        for path, mode, data in self._files:
            if data is None:
                (root / path).mkdir()
            else:
                (root / path).write_bytes(data)
            (root / path).chmod(mode)
        return Memory(root)


def _files(root: Path) -> Iterator[_File]:
    for path in (root, *sorted(root.rglob("*"))):
        name = path.relative_to(root).as_posix()
        data = None if path.is_dir() else path.read_bytes()
        yield _File(name, path.stat().st_mode & 0o7777, data)
