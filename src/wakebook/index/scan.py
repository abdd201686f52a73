"""Scan: which files hold a word of a question, found without an index.

ripgrep looks if it is there; otherwise every file is read. It is slow and knows no meaning,
which is why a result that comes this way says so.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from wakebook.index import words
from wakebook.index.changes import FOLDERS, SUFFIXES

SECONDS = 30


def holding(root: Path, text: str) -> tuple[str, set[str]]:
    """What looked, and the files (relative to the home) with one of the words in them."""
    wanted = sorted({_stem(word.word) for word in words.asked(text, ()) if not word.common})
    folders = [folder for folder in FOLDERS if (root / folder).is_dir()]
    if not wanted or not folders:
        return "a plain scan", {path for folder in folders for path in _files(root, folder)}
    tool = shutil.which("rg")
    if tool:
        found = _ripgrep(tool, root, folders, wanted)
        if found is not None:
            return "ripgrep", found
    return "a plain scan", {
        path for folder in folders for path in _files(root, folder) if _holds(root / path, wanted)
    }


def _stem(word: str) -> str:
    """The beginning that a word's forms share, near enough."""
    return word if len(word) < 5 else word[: max(4, len(word) - 3)]


def _ripgrep(tool: str, root: Path, folders: list[str], wanted: list[str]) -> set[str] | None:
    patterns = [part for word in wanted for part in ("-e", word)]
    command = [
        tool,
        "-l",
        "-i",
        "-F",
        "-0",
        "--no-ignore",
        "--no-config",
        *patterns,
        "--",
        *folders,
    ]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode not in (0, 1):
        return None
    return {name.decode("utf-8", "surrogateescape") for name in done.stdout.split(b"\0") if name}


def _files(root: Path, folder: str) -> list[str]:
    return [
        path.relative_to(root).as_posix()
        for path in (root / folder).rglob("*")
        if path.suffix in SUFFIXES
    ]


def _holds(path: Path, wanted: list[str]) -> bool:
    try:
        text = path.read_text(encoding="utf-8", errors="replace").casefold()
    except OSError:
        return False
    return any(word in text for word in wanted)
