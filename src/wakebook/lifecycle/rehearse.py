"""A rehearsal: a command runs on a copy of the home, and no model is asked.

It is how `--dry-run` knows what would be sent: the very same steps happen, rules stand in for
the answers, and everything that they write goes to the copy, which is thrown away.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wakebook import clock
from wakebook.cache import PROSE
from wakebook.config import Config
from wakebook.home import Home

NAME = "rehearsal-"
LEFT_SECONDS = 3600.0
COPIED = ("config.toml", "log.jsonl", "subjects.json", "state.json", "prices.toml", PROSE)


@contextmanager
def rehearsal(home: Home, config: Config) -> Iterator[tuple[Home, Config]]:
    """A copy of a home, without git and without an index, and the settings for it."""
    home.folder(home.cache)
    _clear(home)
    with tempfile.TemporaryDirectory(prefix=NAME, dir=home.cache) as folder:
        copy = Home(folder)
        with home.locked():
            for name in COPIED:
                if (home.root / name).exists():
                    copy.folder((copy.root / name).parent)
                    shutil.copy2(home.root / name, copy.root / name)
            for name in ("prompts", "knowledge/memory"):
                if (home.root / name).is_dir():
                    shutil.copytree(home.root / name, copy.root / name)
            for path in home.conversations.glob("*/*/*/*.md"):
                _link(path, copy.root / home.relative(path))
        quiet = config.with_(
            git=config.git.with_(enabled=False),
            briefing=config.briefing.with_(memory_file=""),
        )
        yield copy, quiet


def _clear(home: Home) -> None:
    """Remove what a killed rehearsal left behind."""
    for left in home.cache.glob(f"{NAME}*"):
        if clock.now().timestamp() - left.stat().st_mtime > LEFT_SECONDS:
            shutil.rmtree(left, ignore_errors=True)


def _link(path: Path, to: Path) -> None:
    """Transcripts are replaced and never written into, so that a second name is a copy."""
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(path, to)
    except OSError:
        shutil.copy2(path, to)
