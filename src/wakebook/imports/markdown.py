"""Notes in Markdown: a file, all files below a folder, or the memory of an OpenClaw workspace.

Every item of a note becomes a message. When it was written is what the item, its heading, the
file's name or the frontmatter says, or else when the file was last changed.

Of a workspace, MEMORY.md, USER.md and the memory folder are taken. Its other files (SOUL.md,
AGENTS.md ...) say how the agent should be, and are no memories. The dream diary and what a hook
wrote down of whole sessions are left out, too: `catch-up` reads the sessions themselves.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base import clock, markdown
from wakebook.base.errors import TranscriptError
from wakebook.capture.hosts import jsonl
from wakebook.capture.state import MEMORIES
from wakebook.imports.export import Bad, Conversation, Export, Part, Passed, Piece, required
from wakebook.imports.items import Item, items

NAME, OPENCLAW = "markdown", "openclaw-memory"
SUFFIXES = (".md", ".markdown")
LARGEST = 20 << 20  # bytes of a note
NOT_NOTES = frozenset(("node_modules", "__pycache__"))
FOLDERS = {"project": "Project", "projects": "Project", "person": "Person", "people": "Person"}
DATES = ("date", "created", "created_at", "updated", "updated_at", "modified")
_DAY = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
_LEADING = re.compile(r"[-*+•\s\[(*]*(\d{4}-\d\d-\d\d)(?!\d)")

TOP = ("MEMORY.md", "memory.md", "USER.md")
IDENTITY = ("SOUL.md", "AGENTS.md", "TOOLS.md", "IDENTITY.md", "HEARTBEAT.md", "BOOTSTRAP.md")
_SESSION = re.compile(r"# Session: .*\n+- \*\*Session Key\*\*:")
_SCORE = re.compile(r"[ \t]*\[score=[^\]\n]*\]$", re.MULTILINE)


def read(path: Path) -> Export:
    required(path)
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
    return Conversation(
        id=f"{path.stem[:60]}-{_place(path)}",  # the same for ever
        name=name,
        channel=f"{MEMORIES}{source}",
        pieces=tuple(_piece(one, subject, day) for one in found),
        skipped=skipped,
    )


def _place(path: Path) -> str:
    return hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:10]


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


def _piece(item: Item, subject: str, day: datetime) -> Piece:
    leading = _LEADING.match(item.text)
    days = [day_of(leading[1])] if leading else []
    days += [day_of(heading) for heading in reversed(item.headings)]
    told = Item((subject, *item.headings), item.text).told() if subject else item.told()
    return Piece(role="user", text=told, at=next((one for one in days if one), day))


def day_of(text: str) -> datetime | None:
    """The day that a text names: noon, which is the same day almost everywhere."""
    found = _DAY.search(text)
    try:
        return datetime.fromisoformat(f"{found[0]}T12:00:00Z") if found else None
    except ValueError:  # the 31st of June
        return None


def _file_day(path: Path) -> datetime | None:
    """2026-02-16.md, 2026-02-16-planning.md; in a journal also 2026/02/16.md."""
    return day_of(path.name) or day_of("-".join(path.with_suffix("").parts[-3:]))


def _front_day(front: Mapping[str, Any]) -> datetime | None:
    for key in DATES:
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
        if folder.lower() in FOLDERS and not name.startswith("_"):
            words = name.replace("-", " ").replace("_", " ").split()
            return f"{FOLDERS[folder.lower()]}: {' '.join(words)}"
    return ""


def read_workspace(path: Path) -> Export:
    required(path)
    if path.is_file():
        raise TranscriptError(
            f"{path}: a file. Name the workspace, or its memory folder; for a single note there "
            f"is `wakebook import markdown {path}`."
        )
    # by their very names: on some disks memory.md is MEMORY.md as well
    found = [path / name for name in (*TOP, *IDENTITY) if name in _names(path)]
    below = path / "memory" if (path / "memory").is_dir() else path
    if below != path or not found:  # the other notes of a workspace are no memories
        found += [one for one in files(below) if one not in found]
    return Export(len(found), (_remembered(one, path) for one in found))


def is_workspace(path: Path) -> bool:
    """Whether a folder looks like OpenClaw's workspace, or the memory folder of one."""
    if not path.is_dir():
        return False
    return (path / "MEMORY.md").is_file() or _is_memory(path) or _is_memory(path / "memory")


def _is_memory(path: Path) -> bool:
    return path.name == "memory" and any(map(day_of, _names(path)))


def _names(path: Path) -> list[str]:
    return [one.name for one in path.glob("*.md")] if path.is_dir() else []


def _remembered(path: Path, root: Path) -> Part:
    """A file of a workspace, without the figures behind what OpenClaw has promoted."""
    if reason := _why_passed(path):
        return Passed(str(path.relative_to(root)), reason)
    part = note(path, root, OPENCLAW)
    if not isinstance(part, Conversation):
        return part
    replace = msgspec.structs.replace
    pieces = (replace(piece, text=_SCORE.sub("", piece.text)) for piece in part.pieces)
    return replace(part, pieces=tuple(pieces))


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
    session = "a session's words: `wakebook catch-up` reads the session"
    return session if _SESSION.match(head) else ""
