"""mem0's memories: a JSON export, JSON lines, or the SQLite file of its history.

One memory is one item. In the history the last event of a memory counts: a deleted memory is
left out, an updated one comes as it is now.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from wakebook.base import clock
from wakebook.base.decode import loads
from wakebook.base.errors import TranscriptError
from wakebook.capture.state import MEMORIES
from wakebook.imports.export import Bad, Export, Memo, Part, Post, Thread, required

NAME = "mem0"
LARGEST = 512 << 20
LISTS = ("results", "memories", "data")
WORDS = ("memory", "text", "data", "content")
OWNERS = ("user_id", "agent_id", "run_id")
SUFFIXES = (".json", ".jsonl", ".db", ".sqlite")
SQLITE = b"SQLite format 3\x00"


def read(path: Path) -> Export:
    required(path)
    files = [path]
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if one.is_file() and one.suffix in SUFFIXES)
    return Export(1, _conversations(files))


def _conversations(files: list[Path]) -> Iterator[Part]:
    """The memories of each user, oldest first, from however many files."""
    by_owner: dict[str, list[Post]] = {}
    skipped: Counter[str] = Counter()
    for path in files:
        try:
            changed = datetime.fromtimestamp(int(path.stat().st_mtime), UTC)
            for number, raw in enumerate(_memories(path), 1):
                if not isinstance(raw, dict):
                    yield Bad(f"{path.name}, memory {number}", "no object with a `memory` in it")
                elif raw.get("deleted") is True:
                    skipped["deleted"] += 1
                elif not (text := _words(raw).strip()):
                    skipped["empty"] += 1
                else:
                    owner = next((str(raw[key]) for key in OWNERS if raw.get(key)), "memories")
                    by_owner.setdefault(owner, []).append(_piece(raw, text, changed))
        except TranscriptError as error:
            yield Bad(path.name, str(error))
    for owner, pieces in sorted(by_owner.items()):
        pieces.sort(key=lambda piece: piece.at or datetime.min.replace(tzinfo=UTC))
        yield Thread(
            id=owner, name=owner, channel=f"{MEMORIES}{NAME}", pieces=tuple(pieces), skipped=skipped
        )
        skipped = Counter()  # told once


def _words(raw: Mapping[str, Any]) -> str:
    return next((raw[key] for key in WORDS if isinstance(raw.get(key), str)), "")


def _piece(raw: Mapping[str, Any], text: str, changed: datetime) -> Post:
    moment = clock.parse(raw.get("created_at")) or clock.parse(raw.get("updated_at")) or changed
    return Post(role="user", text=Memo(_headings(raw), text).told(), at=moment)


def _headings(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """What a memory's metadata says about it, as far as that is clear."""
    metadata = raw.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    project = metadata.get("project")
    found = [f"Project: {project}"] if isinstance(project, str) else []
    kinds = raw.get("categories") or metadata.get("categories") or ()
    kinds = [kinds] if isinstance(kinds, str) else kinds
    words = [kind.replace("_", " ") for kind in kinds if isinstance(kind, str)]
    words += [metadata[key] for key in ("category", "type") if isinstance(metadata.get(key), str)]
    if words:
        found.append(", ".join(dict.fromkeys(words)))
    return tuple(" ".join(one.split()) for one in found if one.strip())


def _memories(path: Path) -> list[Any]:
    """What a file holds, not checked yet. Raises TranscriptError with what is wrong with it."""
    try:
        if path.stat().st_size > LARGEST:
            raise TranscriptError(f"larger than {LARGEST:,} bytes. Split it.")
        with path.open("rb") as stream:
            if stream.read(len(SQLITE)) == SQLITE:
                return _history(path)
        data = path.read_bytes()
    except OSError as error:
        raise TranscriptError(
            f"cannot be read ({error.strerror or error}). Check its permissions."
        ) from error
    return _json_lines(data) if path.suffix == ".jsonl" else _json(data)


def _json(data: bytes) -> list[Any]:
    try:
        found = loads(data)
    except ValueError as error:
        raise TranscriptError(f"not valid JSON ({error}). Export it again.") from error
    if isinstance(found, dict):
        inside = next((found[key] for key in LISTS if isinstance(found.get(key), list)), None)
        found = [found] if inside is None and "memory" in found else inside
    if not isinstance(found, list) or (found and not any(map(_is_memory, found))):
        raise TranscriptError(
            "not an export of mem0: a list of memories is expected, or one below "
            f"{', '.join(LISTS[:2])}."
        )
    return found


def _json_lines(data: bytes) -> list[Any]:
    found: list[Any] = []
    for line in data.split(b"\n"):
        if line.strip():
            try:
                found.append(loads(line))
            except ValueError:
                found.append(None)  # which is told as a bad memory
    if found and not any(map(_is_memory, found)):
        raise TranscriptError("no line of it is a memory of mem0.")
    return found


def _is_memory(raw: object) -> bool:
    return isinstance(raw, dict) and any(isinstance(raw.get(key), str) for key in WORDS)


def _history(path: Path) -> list[dict[str, Any]]:
    """The last event of each memory."""
    try:
        base = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)
        try:
            base.row_factory = sqlite3.Row
            rows = [dict(row) for row in base.execute("SELECT * FROM history ORDER BY rowid")]
        finally:
            base.close()
    except sqlite3.Error as error:
        raise TranscriptError(
            f"not the history of mem0 ({error}). Its file is history.db, with a table `history`."
        ) from error
    last = {str(row.get("memory_id")): row for row in rows}
    return [
        {
            "memory": row.get("new_memory") or row.get("new_value"),
            "created_at": row.get("updated_at") or row.get("created_at") or row.get("timestamp"),
            "deleted": bool(row.get("is_deleted")) or str(row.get("event")).upper() == "DELETE",
        }
        for row in last.values()
    ]
