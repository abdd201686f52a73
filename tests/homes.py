"""A home as `init` leaves it, made once and then copied: most tests need one and do not test it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.story import KEYS, NOW
from wakebook import Memory


class _File(NamedTuple):
    path: str  # below the home
    mode: int
    data: bytes | None  # None: a folder


def made(root: Path) -> Memory:
    """What Memory(root).init() makes at the time of the tests."""
    root.parent.mkdir(parents=True, exist_ok=True)
    for path, mode, data in pattern():
        if data is None:
            (root / path).mkdir(exist_ok=True)
        elif not (root / path).exists():
            (root / path).write_bytes(data)
        (root / path).chmod(mode)
    return Memory(root)


def set_apart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the user's real home and settings."""
    user = folder / "user"
    user.mkdir()
    for name in list(os.environ):
        if name.startswith(("WAKEBOOK_", "GIT_", "XDG_", *KEYS)):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("WAKEBOOK_NOW", NOW)
    monkeypatch.setenv("WAKEBOOK_OFFLINE", "1")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(folder))


@cache
def pattern() -> list[_File]:
    """A home in main memory. Nothing in it says where it lay."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        set_apart(Path(folder), patch)
        root = Path(folder) / "home"
        Memory(root).init()
        for sample in (root / ".git" / "hooks").glob("*.sample"):  # git's own, which nobody runs
            sample.unlink()
        found = list(_files(root))
    assert not any(os.fsencode(root) in (file.data or b"") for file in found)
    return found


def _files(root: Path) -> Iterator[_File]:
    for path in (root, *sorted(root.rglob("*"))):
        data = None if path.is_dir() else path.read_bytes()
        name = path.relative_to(root).as_posix()
        yield _File(name, path.stat().st_mode & 0o7777, data)
