"""Guess: which import fits what lies at a path, for whoever named another one."""

from __future__ import annotations

import zipfile
from pathlib import Path

from wakebook.capture.imports import markdown, openclaw_memory, parcel
from wakebook.capture.imports.mem0 import SQLITE

HEAD = 1 << 18  # bytes of a file that are looked at
SIGNS = {b'"chat_messages"': "claude", b'"mapping"': "chatgpt", b'"memory"': "mem0"}


def guess(path: Path) -> str:
    """The name of a source, or nothing."""
    if path.is_dir():
        return _folder(path)
    if path.suffix.lower() in markdown.SUFFIXES:
        return "markdown"
    head = _head(path)
    if head.startswith(SQLITE):
        return "mem0"
    places = {head.find(sign): name for sign, name in SIGNS.items() if sign in head}
    return places[min(places)] if places else ""


def _folder(path: Path) -> str:
    for member in parcel.members(path):
        if found := guess(member.path):
            return found
    if openclaw_memory.is_workspace(path):
        return "openclaw-memory"
    return "markdown" if markdown.files(path) else ""


def _head(path: Path) -> bytes:
    try:
        if path.suffix.lower() != ".zip":
            with path.open("rb") as stream:
                return stream.read(HEAD)
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith(".json")]
            wanted = [name for name in names if "conversations" in name] or names
            return archive.open(wanted[0]).read(HEAD) if wanted else b""
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError):
        return b""
