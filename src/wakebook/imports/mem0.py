"""mem0's memories: a JSON export, JSON lines, or the SQLite file of its history.

One memory is one item. In the history the last event of a memory counts: what was deleted is
left out, what was updated comes as it is now.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from wakebook.base import clock
from wakebook.base.errors import TranscriptError
from wakebook.capture.session import MEMORIES
from wakebook.imports import export as parcel
from wakebook.imports.export import Bad, Conversation, Export, Line, Part
from wakebook.imports.items import Item

NAME = "mem0"
LARGEST = 512 << 20
LISTS = ("results", "memories", "data")
WORDS = ("memory", "text", "data", "content")
OWNERS = ("user_id", "agent_id", "run_id")
SQLITE = b"SQLite format 3\x00"


def read(path: Path) -> Export:
    parcel.required(path)
    return Export(1, _conversations(_files(path)))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    names = sorted(one for one in path.iterdir() if one.is_file())
    return [one for one in names if one.suffix in (".json", ".jsonl", ".db", ".sqlite")]


class _Heap:
    """Memories of each user, from however many files."""

    def __init__(self) -> None:
        self.by_owner: dict[str, list[Line]] = {}
        self.skipped: Counter[str] = Counter()

    def add(self, raw: Mapping[str, Any], changed: datetime) -> None:
        text = next((raw[key] for key in WORDS if isinstance(raw.get(key), str)), "").strip()
        if raw.get("deleted") is True or not text:
            self.skipped["deleted" if raw.get("deleted") is True else "empty"] += 1
            return
        owner = next((str(raw[key]) for key in OWNERS if raw.get(key)), "memories")
        self.by_owner.setdefault(owner, []).append(_line(raw, text, changed))


def _conversations(files: Iterable[Path]) -> Iterator[Part]:
    """The memories of each user, oldest first."""
    heap = _Heap()
    for path in files:
        try:
            changed = datetime.fromtimestamp(int(path.stat().st_mtime), UTC)
            for number, raw in enumerate(_memories(path), 1):
                if isinstance(raw, dict):
                    heap.add(raw, changed)
                else:
                    yield Bad(f"{path.name}, memory {number}", "no object with a `memory` in it")
        except TranscriptError as error:
            yield Bad(path.name, str(error).removeprefix(f"{path}: "))
    skipped = heap.skipped
    for owner, lines in sorted(heap.by_owner.items()):
        lines.sort(key=lambda line: line.at or datetime.min.replace(tzinfo=UTC))
        yield Conversation(
            id=owner,
            name=owner,
            channel=f"{MEMORIES}{NAME}",
            lines=tuple(lines),
            skipped=skipped,
        )
        skipped = Counter()


def _line(raw: Mapping[str, Any], text: str, changed: datetime) -> Line:
    moment = clock.parse(raw.get("created_at")) or clock.parse(raw.get("updated_at")) or changed
    return Line(role="user", text=Item(_headings(raw), text).told(), at=moment)


def _headings(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """What a memory's metadata says about it, as far as that is clear."""
    metadata = raw.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    found = []
    if isinstance(metadata.get("project"), str):
        found.append(f"Project: {metadata['project']}")
    kinds = raw.get("categories") or metadata.get("categories") or ()
    kinds = [kinds] if isinstance(kinds, str) else kinds
    words = [str(kind).replace("_", " ") for kind in kinds if isinstance(kind, str)]
    words += [metadata[key] for key in ("category", "type") if isinstance(metadata.get(key), str)]
    if words:
        found.append(", ".join(dict.fromkeys(words)))
    return tuple(" ".join(one.split()) for one in found if one.strip())


def _memories(path: Path) -> Iterable[Any]:
    """What the file holds, not checked yet. Raises TranscriptError."""
    try:
        if path.stat().st_size > LARGEST:
            raise TranscriptError(f"{path}: larger than {LARGEST:,} bytes. Split it.")
        with path.open("rb") as stream:
            if stream.read(len(SQLITE)) == SQLITE:
                return _history(path)
        data = path.read_bytes()
    except OSError as error:
        raise TranscriptError(
            f"{path}: cannot be read ({error.strerror or error}). Check its permissions."
        ) from error
    return _json_lines(path, data) if path.suffix == ".jsonl" else _json(path, data)


def _json(path: Path, data: bytes) -> list[Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise TranscriptError(f"{path}: not valid JSON ({error}). Export it again.") from error
    if isinstance(found, dict):
        inside = next((found[key] for key in LISTS if isinstance(found.get(key), list)), None)
        found = [found] if inside is None and "memory" in found else inside
    if not isinstance(found, list) or (found and not any(map(_is_memory, found))):
        raise TranscriptError(
            f"{path}: not an export of mem0: a list of memories is expected, or one below "
            f"{', '.join(LISTS[:2])}."
        )
    return found


def _is_memory(raw: object) -> bool:
    return isinstance(raw, dict) and any(isinstance(raw.get(key), str) for key in WORDS)


def _json_lines(path: Path, data: bytes) -> list[Any]:
    found: list[Any] = []
    for line in data.split(b"\n"):
        if line.strip():
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError):
                found.append(None)  # which is told as a bad memory
    if found and not any(map(_is_memory, found)):
        raise TranscriptError(f"{path}: no line of it is a memory of mem0.")
    return found


def _history(path: Path) -> list[dict[str, Any]]:
    """The last event of each memory."""
    address = f"file:{quote(str(path.resolve()))}?mode=ro"
    try:
        base = sqlite3.connect(address, uri=True)
        try:
            base.row_factory = sqlite3.Row
            rows = [dict(row) for row in base.execute("SELECT * FROM history ORDER BY rowid")]
        finally:
            base.close()
    except sqlite3.Error as error:
        raise TranscriptError(
            f"{path}: not the history of mem0 ({error}). Its file is history.db, with a table "
            "`history`."
        ) from error
    last = {str(row.get("memory_id")): row for row in rows}
    return [_event(row) for row in last.values()]


def _event(row: Mapping[str, Any]) -> dict[str, Any]:
    deleted = bool(row.get("is_deleted")) or str(row.get("event")).upper() == "DELETE"
    at = row.get("updated_at") or row.get("created_at") or row.get("timestamp")
    return {
        "memory": row.get("new_memory") or row.get("new_value"),
        "created_at": at,
        "deleted": deleted,
    }
