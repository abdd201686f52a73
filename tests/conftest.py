"""Every test gets a home of its own, a fixed clock, and no way to the user's real one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from wakebook import Memory

NOW = "2026-11-09T08:00:00Z"


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    user = tmp_path / "user"
    user.mkdir()
    for name in list(os.environ):
        if name.startswith(("WAKEBOOK_", "GIT_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("WAKEBOOK_NOW", NOW)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    yield


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """An initialised home in tmp_path/home."""
    memory = Memory(tmp_path / "home")
    memory.init()
    return memory


@pytest.fixture
def projects() -> Path:
    """Claude Code's folder of the fictional user, empty."""
    folder = Path.home() / ".claude" / "projects" / "-home-mira-tidepool"
    folder.mkdir(parents=True)
    return folder
