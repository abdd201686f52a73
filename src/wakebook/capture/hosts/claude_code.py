"""Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`, one record a line.

Conversation is in `user`, `assistant`, `attachment` and `system` records, and in what
was queued (see `claude_human`); the rest is bookkeeping. An answer is one record per
content block, each with the usage of the whole message so far: a record counts what the
usage has grown by since the record before it, so that the sum is right.

Both usage and queue depend on earlier records, so reading starts `LOOKBACK` before the
position, without yielding: the same file gives the same events from any position.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

from wakebook.base import clock
from wakebook.base.errors import TranscriptError
from wakebook.capture import source
from wakebook.capture.hosts import claude_records as shape
from wakebook.capture.hosts import jsonl
from wakebook.capture.hosts import jsonl as tools
from wakebook.capture.hosts.claude_records import Block, Line, Message, Queue, human
from wakebook.capture.hosts.jsonl import load
from wakebook.capture.session import Session
from wakebook.capture.transcript import Boundary, Call, Event, Ignored, Record, Result, Said

LOOKBACK = 1 << 18

CONVERSATION = frozenset({"user", "assistant", "attachment", "system", "queue-operation"})
BOOKKEEPING = frozenset({
    "agent-color", "agent-name", "agent-setting", "ai-title", "api-request",
    "api-request-blob", "api-request-shape", "atis-latch", "attribution-snapshot",
    "bridge-session", "content-replacement", "cost-state", "custom-title",
    "file-history-delta", "file-history-snapshot", "last-prompt", "mode", "permission-mode",
    "pr-link", "progress", "saved_hook_context", "speculation-accept", "summary", "tag",
    "task-summary", "tools-used", "worktree-state",
})  # fmt: skip
REFERENCES = frozenset({"file", "image", "directory", "pdf_reference", "mcp_resource"})

_UUID = re.compile(rb'"uuid":\s*"([^"]+)"')
_PARENT = re.compile(rb'"parentUuid":\s*"')
_CWD = re.compile(rb'"cwd":\s*("(?:[^"\\]|\\.)*")')
_MODEL = re.compile(rb'"message":\s*\{(?:"\w+":\s*"[^"]*",\s*)*?"model":\s*("[^"<\\]+")')


class ClaudeCode(jsonl.Files):
    name = "claude-code"
    tree = False  # a compaction starts a new root: the whole file is one conversation

    def __init__(self, lookback: int = LOOKBACK) -> None:
        self._lookback = lookback

    def discover(self, root: Path) -> Iterator[Session]:
        for path, size in jsonl.files(root, ".jsonl"):
            head = jsonl.head(path)
            if self.recognises(path, head):
                yield _session(path, size, head)

    def recognises(self, path: Path, head: bytes) -> bool:
        return any(
            line.type in CONVERSATION | BOOKKEEPING
            and (line.uuid or line.session_id or line.leaf_uuid or line.message_id)
            for line in jsonl.first(shape.sniff, head)
        ) or head.startswith((b'{"parentUuid":', b'{"isSidechain":'))

    def records(
        self, session: Session, position: int, limit: int, closing: bool
    ) -> Iterator[Record]:
        start = max(0, position - self._lookback)
        reading = _Reading(session, start)
        for line in source.lines(session.path, start, limit, closing):
            events = reading.events(line)
            if line.start >= position:
                yield Record(line.start, line.end, events)

    def beginning(self, session: Session, captured: Callable[[Path], bool]) -> int:
        root = _first_uuid(session.path)
        if not root:
            return 0
        folder = session.path.parent
        found = 0
        for sibling in _by_root(folder, folder.stat().st_mtime_ns).get(root, ()):
            if sibling != session.path and captured(sibling):
                found = max(found, jsonl.past(session.path, _shared(_uuids(sibling))))
        return found


class _Reading:
    """One pass over a file: what a record means, given those before it."""

    def __init__(self, session: Session, start: int) -> None:
        self._session = session
        self._start = start
        self._subagent = session.kind == "subagent"
        self._queue = Queue()
        self._usage: tuple[str, int, int] = ("", 0, 0)  # message id, counted in and out

    def events(self, line: source.Line) -> tuple[Event, ...]:
        kind = _early_kind(line.data)
        if kind in BOOKKEEPING:
            return _ignored(kind)
        found = load(shape.line, line.data) if line.data else None
        if found is None:
            return _unreadable(line)
        kind = found.type
        if kind not in CONVERSATION:
            return _ignored(kind)
        if found.is_sidechain and not self._subagent:
            return (Ignored("sidechain"),)
        if kind == "assistant":
            return self._answered(found)
        if kind == "user":
            return self._user(found)
        if kind == "attachment":
            return self._attached(found)
        if kind == "system":
            return _system(found)
        return self._queued(found, line.start)

    def _answered(self, line: Line) -> tuple[Event, ...]:
        message = line.message
        if message is None:
            return jsonl.UNREADABLE
        if line.is_api_error_message or message.model == "<synthetic>":
            return (Ignored("synthetic"),)
        blocks = _blocks(message.content)
        texts = [block.text.strip() for block in blocks if block.type == "text"]
        calls = tuple(
            Call(block.id, block.name, tools.summary(block.input))
            for block in blocks
            if block.type == "tool_use"
        )
        text = "\n\n".join(filter(None, texts))
        if not text and not calls:
            silent = (block.type for block in blocks if block.type != "text")
            return (Ignored(next(silent, "empty")),)
        tokens_in, tokens_out = self._grown(message)
        return (
            Said(
                role="agent",
                text=text,
                id=line.uuid or "",
                at=clock.parse(line.timestamp),
                calls=calls,
                tokens_in=tokens_in,
                tokens_out=tokens_out,
                model=message.model or "",
            ),
        )

    def _grown(self, message: Message) -> tuple[int, int]:
        if message.usage is None:
            return 0, 0
        identity, counted_in, counted_out = self._usage
        if not message.id or message.id != identity:
            counted_in = counted_out = 0
        now_in, now_out = message.usage.counts()
        self._usage = (message.id or "", max(now_in, counted_in), max(now_out, counted_out))
        return max(0, now_in - counted_in), max(0, now_out - counted_out)

    def _user(self, line: Line) -> tuple[Event, ...]:
        if line.is_meta:
            return (Ignored("meta"),)
        if line.is_compact_summary or line.is_visible_in_transcript_only:
            return (Ignored("compact-summary"),)
        message = line.message
        if message is None:
            return jsonl.UNREADABLE
        blocks, identity = _blocks(message.content), line.uuid or ""
        results = tuple(_result(block, identity) for block in blocks if block.type == "tool_result")
        text, kind = human(_text(blocks))
        images = _images(blocks, identity)
        if not text and not images:
            return results or (Ignored(kind),)
        self._queue.typed(text)
        said = Said("user", text, identity, clock.parse(line.timestamp), attachments=images)
        return (*results, said)

    def _attached(self, line: Line) -> tuple[Event, ...]:
        found = load(shape.attachment, line.attachment)
        if found is None:
            return jsonl.UNREADABLE
        kind, identity, at = (
            f"attachment/{found.type}",
            line.uuid or "",
            clock.parse(line.timestamp),
        )
        if found.type in REFERENCES:
            name = found.filename or found.path or found.uri or found.type
            return (Said("system", "", identity, at, attachments=(name,)),)
        if found.type != "queued_command" or found.command_mode not in (None, "prompt"):
            return (Ignored(kind),)
        if line.is_meta:
            return (Ignored(kind),)
        blocks = _blocks(found.prompt)
        text, images = human(_text(blocks))[0], _images(blocks, identity)
        if text:
            text = self._queue.attachment(text)
        if not text and not images:
            return (Ignored(kind),)
        return (Said("user", text, identity, at, attachments=images),)

    def _queued(self, line: Line, start: int) -> tuple[Event, ...]:
        text = load(shape.string, line.content) or ""
        kind = f"queue-operation/{line.operation}"
        if line.operation == "enqueue":
            self._queue.enqueue(text)
        elif line.operation == "popAll":
            self._queue.clear()
        elif line.operation == "remove":
            if not text and self._queue.empty and self._start > 0:
                self._recall(start)
            if said := self._queue.remove(text, line.reason or ""):
                identity = f"queue-{line.timestamp}-{zlib.crc32(said.encode()):08x}"
                return (Said("user", said, identity, clock.parse(line.timestamp)),)
        elif line.operation != "dequeue":
            return (Ignored(kind, unknown=True),)
        return (Ignored(kind),)

    def _recall(self, end: int) -> None:
        """What was queued is further back than we looked. Rare: read it all again."""
        earlier = _Reading(self._session, 0)
        for line in source.lines(self._session.path, 0, source.CHUNK * 64):
            if line.start >= end:
                break
            earlier.events(line)
        self._queue, self._start = earlier._queue, 0


def _early_kind(data: bytes) -> str:
    """The type of a record that names it before anything nested: most bookkeeping does.

    Half of a transcript is bookkeeping, so not decoding it matters.
    """
    at = data.find(b'"type":"', 0, 1024)
    if at < 0 or data.find(b"{", 1, at) >= 0 or not data.endswith(b"}"):
        return ""
    return data[at + 8 : data.find(b'"', at + 8, at + 64)].decode("ascii", "replace")


@cache
def _ignored(kind: str) -> tuple[Event, ...]:
    known = kind in BOOKKEEPING or kind.startswith("api-request")
    return (Ignored(kind, unknown=not known),)


def _unreadable(line: source.Line) -> tuple[Event, ...]:
    """Bookkeeping may have any shape; anything else that we cannot read is reported."""
    if nothing := jsonl.unloaded(line):
        return nothing
    found = load(shape.sniff, line.data)
    if found is None or found.type in CONVERSATION:
        return jsonl.UNREADABLE
    return _ignored(found.type)


def _system(line: Line) -> tuple[Event, ...]:
    if line.subtype != "compact_boundary":
        return (Ignored(f"system/{line.subtype}"),)
    return (Boundary("compaction", "", clock.parse(line.timestamp), line.uuid or ""),)


def _blocks(content: str | list[Block] | None) -> list[Block]:
    if isinstance(content, str):
        return [Block("text", content)]
    return content or []


def _text(blocks: list[Block]) -> str:
    if len(blocks) == 1:
        return blocks[0].text
    return "\n\n".join(block.text for block in blocks if block.type == "text" and block.text)


def _images(blocks: list[Block], record: str) -> tuple[str, ...]:
    return tuple(
        _image(block.source, record)
        for block in blocks
        if block.type in ("image", "document") and isinstance(block.source, dict)
    )


def _image(origin: dict[str, Any], record: str) -> str:
    data = origin.get("data")
    size = tools.base64_size(len(data)) if isinstance(data, str) else 0
    return tools.attachment(str(origin.get("media_type") or "image"), size, record)


def _result(block: Block, record: str) -> Result:
    content = block.content
    if isinstance(content, str):
        return Result(block.tool_use_id, tools.result(content), bool(block.is_error))
    inner = [item for item in content if isinstance(item, dict)] if content else []
    texts = [item["text"] for item in inner if isinstance(item.get("text"), str)]
    images = [item["source"] for item in inner if isinstance(item.get("source"), dict)]
    return Result(
        call=block.tool_use_id,
        text=tools.result("\n".join(texts)),
        error=bool(block.is_error),
        attachments=tuple(_image(origin, record) for origin in images),
    )


def _session(path: Path, size: int, head: bytes) -> Session:
    inside = path.parent.name == "subagents"
    kind: Literal["main", "subagent"] = "main"
    if inside or path.name.startswith("agent-"):
        kind = "subagent"
    return Session(
        host=ClaudeCode.name,
        id=path.stem,
        path=path,
        kind=kind,
        parent=path.parent.parent.name if inside else "",
        size=size,
        cwd=_found(_CWD, head),
        model=_found(_MODEL, head),
    )


def _found(pattern: re.Pattern[bytes], head: bytes) -> str:
    match = pattern.search(head)
    return (load(shape.string, match[1]) or "") if match else ""


def _first_uuid(path: Path) -> bytes:
    for line in source.lines(path, 0, source.CHUNK):
        found = load(shape.line, line.data) if line.data else None
        if found is not None and found.uuid:
            return found.uuid.encode()
    return b""


def _chunks(path: Path, overlap: int) -> Iterator[bytes]:
    try:
        with path.open("rb", buffering=0) as stream:
            tail = b""
            while chunk := stream.read(source.CHUNK):
                yield tail + chunk
                tail = chunk[-overlap:]
    except OSError:  # a sibling that cannot be read is nobody's parent
        return


@cache
def _by_root(folder: Path, changed: int) -> dict[bytes, list[Path]]:
    """Root record -> the files that have it. A fork begins with a root of its parent: its
    first record, or its last compaction. Made once as long as no file comes or goes."""
    found: dict[bytes, list[Path]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        if not path.is_file():
            continue  # a pipe would wait for ever
        try:
            roots = _roots(path, path.stat().st_size)
        except (OSError, TranscriptError):
            continue  # a sibling that cannot be read is nobody's parent
        for root in roots:
            found.setdefault(root, []).append(path)
    return found


@cache
def _roots(path: Path, size: int) -> tuple[bytes, ...]:
    """The uuids of a file's records that have no parent."""
    found: list[bytes] = []
    for line in source.lines(path, 0, source.CHUNK):
        if not _PARENT.search(line.data):
            match = _UUID.search(line.data)
            found += [match[1]] if match else []
    return tuple(found)


def _uuids(path: Path) -> frozenset[str]:
    found: set[bytes] = set()
    for chunk in _chunks(path, 128):
        found.update(_UUID.findall(chunk))
    return frozenset(uuid.decode("utf-8", "replace") for uuid in found)


def _shared(uuids: frozenset[str]) -> Callable[[bytes], bool | None]:
    def verdict(data: bytes) -> bool | None:
        line = load(shape.line, data)
        return None if line is None or not line.uuid else line.uuid in uuids

    return verdict
