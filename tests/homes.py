"""Homes that are made once and then copied, by tests that need one and do not test its making.

`made` gives a home as `init` leaves it, anywhere. `again` gives one to which more was done; such
a home knows where its conversations lie, so it always lies in the same folder (`emptied`).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.story import KEYS, NOW
from wakebook import Memory


class _File(NamedTuple):
    path: str  # below the home
    mode: int
    changed: int  # nanoseconds: who looks for changed files finds none
    data: bytes | None  # None: a folder


_kept: dict[tuple[Path, str], list[_File]] = {}


def made(root: Path) -> Memory:
    """What Memory(root).init() makes at the time of the tests."""
    root.parent.mkdir(parents=True, exist_ok=True)
    for path, mode, _, data in pattern():
        if data is None:
            (root / path).mkdir(exist_ok=True)
        elif not (root / path).exists():
            (root / path).write_bytes(data)
        (root / path).chmod(mode)
    return Memory(root)


def emptied(folder: Path) -> Path:
    """For a file of tests that overrides `tmp_path`, so that each has the same one."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def again(folder: Path, memory: Memory, make: Callable[[], object], name: str = "") -> Memory:
    """The memory after `make`, which is called once; then the folder is put back as it was."""
    root = memory.home.root
    kept = _kept.get((folder, name))
    if kept is None:
        make()
        memory.close()
        _kept[folder, name] = list(_files(folder))
        return Memory(root)
    emptied(folder)
    for path, mode, changed, data in kept:
        to = folder / path
        if data is None:
            to.mkdir(exist_ok=True)
        else:
            to.write_bytes(data)
            os.utime(to, ns=(changed, changed))
        to.chmod(mode)
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
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")  # git would look after each commit what to pack
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "maintenance.auto")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "false")
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
        about = path.stat()
        yield _File(name, about.st_mode & 0o7777, about.st_mtime_ns, data)
