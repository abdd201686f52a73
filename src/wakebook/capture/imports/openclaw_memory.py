"""OpenClaw's memory: MEMORY.md, USER.md and the memory folder of a workspace.

Its other files (SOUL.md, AGENTS.md ...) say how the agent should be, and are no memories. The
dream diary and what a hook wrote down of whole sessions are left out, too: `catch-up` reads the
sessions themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from wakebook.capture.imports import markdown, parcel
from wakebook.capture.imports.export import Conversation, Export, Part, Passed
from wakebook.errors import TranscriptError

NAME = "openclaw-memory"
TOP = ("MEMORY.md", "memory.md", "USER.md")
IDENTITY = ("SOUL.md", "AGENTS.md", "TOOLS.md", "IDENTITY.md", "HEARTBEAT.md", "BOOTSTRAP.md")
_SESSION = re.compile(r"# Session: .*\n+- \*\*Session Key\*\*:")
_SCORE = re.compile(r"[ \t]*\[score=[^\]\n]*\]$", re.MULTILINE)


def read(path: Path) -> Export:
    parcel.required(path)
    if path.is_file():
        raise TranscriptError(
            f"{path}: a file. Name the workspace, or its memory folder; for a single note there "
            f"is `wakebook import markdown {path}`."
        )
    root, found = _found(path)
    return Export(len(found), _parts(found, root))


def is_workspace(path: Path) -> bool:
    """Whether a folder looks like OpenClaw's workspace, or the memory folder of one."""
    if not path.is_dir():
        return False
    return (path / "MEMORY.md").is_file() or _is_memory(path) or _is_memory(path / "memory")


def _is_memory(path: Path) -> bool:
    return path.name == "memory" and any(map(markdown.day_of, _names(path)))


def _names(path: Path) -> list[str]:
    return [one.name for one in path.glob("*.md")] if path.is_dir() else []


def _found(path: Path) -> tuple[Path, list[Path]]:
    """The files of a memory, and the folder that they are named from."""
    top = [path / name for name in (*TOP, *IDENTITY) if _exists(path, name)]
    below = path / "memory" if (path / "memory").is_dir() else path
    inside = [one for one in markdown.files(below) if one not in top]
    if below == path and top:  # a workspace without a memory folder: its other notes are not ours
        inside = []
    return path, top + inside


def _exists(path: Path, name: str) -> bool:
    """With its very name: on some disks memory.md is MEMORY.md as well."""
    return name in _names(path)


def _parts(found: list[Path], root: Path) -> Iterator[Part]:
    for path in found:
        name = str(path.relative_to(root))
        if reason := _why_passed(path):
            yield Passed(name, reason)
            continue
        part = markdown.note(path, root, NAME)
        yield _unscored(part) if isinstance(part, Conversation) else part


def _why_passed(path: Path) -> str:
    if path.name in IDENTITY:
        return "says how the agent should be: copy it to knowledge/identity if you want it"
    if path.name.lower() == "dreams.md":
        return "a dream diary"
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            head = stream.read(2000)
    except OSError:
        return ""  # reading it says why
    return (
        "a session's words: `wakebook catch-up` reads the session" if _SESSION.match(head) else ""
    )


def _unscored(part: Conversation) -> Conversation:
    """Without the figures behind what OpenClaw has promoted from one file to another."""
    lines = tuple(
        msgspec.structs.replace(line, text=_SCORE.sub("", line.text)) for line in part.lines
    )
    return msgspec.structs.replace(part, lines=lines)
