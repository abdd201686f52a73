"""Notes in Markdown: a file, or all files below a folder.

Every item of a note becomes a message. When it was written is what the item, its heading, the
file's name or the frontmatter says, or else when the file was last changed.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base import clock, markdown
from wakebook.base.errors import TranscriptError
from wakebook.capture.hosts import jsonl
from wakebook.capture.session import MEMORIES
from wakebook.imports import export as parcel
from wakebook.imports.export import Bad, Conversation, Export, Line, Part, Passed
from wakebook.imports.items import Item, items

NAME = "markdown"
SUFFIXES = (".md", ".markdown")
LARGEST = 20 << 20  # bytes of a note
NOT_NOTES = frozenset(("node_modules", "__pycache__"))
PROJECTS = ("project", "projects")
PEOPLE = ("person", "people")
_DAY = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
_LEADING = re.compile(r"[-*+•\s\[(*]*(\d{4}-\d\d-\d\d)(?!\d)")


def read(path: Path) -> Export:
    parcel.required(path)
    found = files(path)
    return Export(len(found), (note(one, path) for one in found))


def files(path: Path) -> list[Path]:
    """The notes at a path: not those in hidden folders."""
    if path.is_file():
        return [path] if path.suffix.lower() in (*SUFFIXES, ".txt", "") else []
    found = [one for one, _ in jsonl.files(path, *SUFFIXES, *(s.upper() for s in SUFFIXES))]
    return [one for one in found if not _hidden(one.relative_to(path).parts)]


def _hidden(parts: tuple[str, ...]) -> bool:
    return any(part.startswith(".") or part in NOT_NOTES for part in parts)


def note(path: Path, root: Path, source: str = NAME) -> Part:
    """One note, as a conversation of its items."""
    name = str(path.relative_to(root)) if path != root and root.is_dir() else path.name
    try:
        text = _text(path)
        changed = datetime.fromtimestamp(int(path.stat().st_mtime), UTC)
    except OSError as error:
        return Bad(name, f"cannot be read ({error.strerror or error}): check its permissions")
    except ValueError as error:
        return Bad(name, str(error))
    front, body = markdown.split(text)
    if "session_id" in front and "format" in front:
        return Passed(name, "a transcript, and no note")
    found, skipped = items(body)
    subject = _subject(front, path, root)
    day = _file_day(path) or _front_day(front) or changed
    lines = [Line(role="user", text=one.told(), at=at) for one, at in _dated(found, subject, day)]
    return Conversation(
        id=identity(path),
        name=name,
        channel=f"{MEMORIES}{source}",
        lines=tuple(lines),
        skipped=skipped,
    )


def identity(path: Path) -> str:
    """What a file is called for ever: its name, and where it lies."""
    whole = os.path.realpath(path)
    return f"{path.stem[:60]}-{hashlib.sha256(os.fsencode(whole)).hexdigest()[:10]}"


def _text(path: Path) -> str:
    """Raises OSError, or ValueError with what is wrong."""
    size = path.stat().st_size
    if size > LARGEST:
        raise ValueError(f"{size:,} bytes are too much for a note: split it")
    data = path.read_bytes()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\x00" in data[:4096]:
        raise ValueError("not text: is it a Markdown file?")
    return data.decode("utf-8-sig", "replace")


def _dated(found: list[Item], subject: str, day: datetime) -> Iterator[tuple[Item, datetime]]:
    for one in found:
        leading = _LEADING.match(one.text)
        above = (day_of(heading) for heading in reversed(one.headings))
        said = day_of(leading[1]) if leading else None
        at = said or next((found for found in above if found), None) or day
        headings = (subject, *one.headings) if subject else one.headings
        yield Item(headings, one.text), at


def day_of(text: str) -> datetime | None:
    """The day that a text names: noon, which is the same day almost everywhere."""
    found = _DAY.search(text)
    try:
        return datetime.fromisoformat(f"{found[0]}T12:00:00Z") if found else None
    except ValueError:  # the 31st of June
        return None


def _file_day(path: Path) -> datetime | None:
    """2026-02-16.md, 2026-02-16-planning.md; in a journal also 2026/02/16.md."""
    parts = path.with_suffix("").parts[-3:]
    return day_of(path.name) or day_of("-".join(parts)) if parts else None


def _front_day(front: Mapping[str, Any]) -> datetime | None:
    for key in ("date", "created", "created_at", "updated", "updated_at", "modified"):
        value = front.get(key)
        day = day_of(value) if isinstance(value, str) and len(value.strip()) <= 10 else None
        if moment := day or clock.parse(value):
            return moment
    return None


def _subject(front: Mapping[str, Any], path: Path, root: Path) -> str:
    """What a whole note is about, if its frontmatter or its folder says so, as a heading."""
    for key in ("project", "person"):
        if isinstance(front.get(key), str) and front[key].strip():
            return f"{key.capitalize()}: {' '.join(front[key].split())}"
    parts = path.relative_to(root).with_suffix("").parts if path != root else ()
    for folder, name in pairwise(parts):
        if folder.lower() in (*PROJECTS, *PEOPLE) and not name.startswith("_"):
            kind = "Project" if folder.lower() in PROJECTS else "Person"
            return f"{kind}: {' '.join(name.replace('-', ' ').replace('_', ' ').split())}"
    return ""


# -----------------------------------------------------------------------------
# OpenClaw's memory: MEMORY.md, USER.md and the memory folder of a workspace.
#
# Its other files (SOUL.md, AGENTS.md ...) say how the agent should be, and are no memories. The
# dream diary and what a hook wrote down of whole sessions are left out, too: `catch-up` reads the
# sessions themselves.

OPENCLAW_NAME = "openclaw-memory"
TOP = ("MEMORY.md", "memory.md", "USER.md")
IDENTITY = ("SOUL.md", "AGENTS.md", "TOOLS.md", "IDENTITY.md", "HEARTBEAT.md", "BOOTSTRAP.md")
_SESSION = re.compile(r"# Session: .*\n+- \*\*Session Key\*\*:")
_SCORE = re.compile(r"[ \t]*\[score=[^\]\n]*\]$", re.MULTILINE)


def read_openclaw(path: Path) -> Export:
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
    return path.name == "memory" and any(map(day_of, _names(path)))


def _names(path: Path) -> list[str]:
    return [one.name for one in path.glob("*.md")] if path.is_dir() else []


def _found(path: Path) -> tuple[Path, list[Path]]:
    """The files of a memory, and the folder that they are named from."""
    top = [path / name for name in (*TOP, *IDENTITY) if _exists(path, name)]
    below = path / "memory" if (path / "memory").is_dir() else path
    inside = [one for one in files(below) if one not in top]
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
        part = note(path, root, OPENCLAW_NAME)
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
