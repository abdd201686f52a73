"""pi: `~/.pi/agent/sessions/--<path>--/<time>_<id>.jsonl`, an event tree that OpenClaw inherited.

Each event has an id and a parent. A conversation is the path from the last event back to the
root; other branches were abandoned. Ids are short, and unique within their tree only, so both
`id` and `parent` are prefixed with the beginning of the root's id. A fork is a new file that
repeats its parent's events from the root on, ids included, and names the parent's file in its
header.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base import clock
from wakebook.capture.hosts import jsonl
from wakebook.capture.hosts.jsonl import load
from wakebook.capture.state import Session
from wakebook.capture.transcript import About, Boundary, Call, Event, Ignored, Record, Result, Said

BOOKKEEPING = frozenset({
    "branch_summary", "custom", "custom_message", "label", "leaf", "session_info",
    "thinking_level_change",
})  # fmt: skip
MODEL = re.compile(rb'"modelId":\s*("[^"\\]+")')


class Node(msgspec.Struct, rename="camel", gc=False):
    type: str = ""
    id: str | None = None
    parent_id: str | None = None
    timestamp: str | None = None
    version: int | None = None
    cwd: str | None = None
    parent_session: str | None = None
    model_id: str | None = None
    reason: str | None = None
    message: msgspec.Raw = msgspec.Raw(b"null")


class _Block(msgspec.Struct, rename="camel", gc=False):
    type: str = ""
    text: str | None = None
    id: str | None = None
    name: str | None = None
    arguments: Any = None
    data: str | None = None
    mime_type: str | None = None


class _Usage(msgspec.Struct, rename="camel", gc=False):
    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


class NodeMessage(msgspec.Struct, rename="camel", gc=False):
    role: str = ""
    content: str | list[_Block] | None = None
    tool_call_id: str | None = None
    is_error: bool | None = None
    model: str | None = None
    usage: _Usage | None = None

    def blocks(self) -> list[_Block]:
        if isinstance(self.content, str):
            return [_Block("text", self.content)]
        return self.content or []


_node = msgspec.json.Decoder(Node)
_message = msgspec.json.Decoder(NodeMessage)


# The text of a message that is conversation, or "" and what it is instead
Heard = Callable[[NodeMessage, str], tuple[str, str]]


class Tree:
    """What the events of one tree mean."""

    def __init__(self, root: str, heard: Heard) -> None:
        self._root, self._heard = root[:8], heard

    def events(self, data: bytes) -> tuple[Event, ...]:
        """What a record says; nothing if it cannot be read."""
        found = load(_node, data) if data else None
        return () if found is None else (self._event(found),)

    def _event(self, found: Node) -> Event:
        identity, parent = self._name(found.id), self._name(found.parent_id)
        at = clock.parse(found.timestamp)
        if found.type == "message":
            message = load(_message, found.message)
            if message is None:
                return Ignored("unreadable", unknown=True, id=identity, parent=parent)
            return self._said(message, found, identity, parent)
        if found.type == "session":
            return About(cwd=found.cwd or "")
        if found.type == "model_change":
            return About(identity, parent, model=found.model_id or "")
        if found.type == "compaction":
            return Boundary("compaction", "", at, identity, parent)
        if found.type == "reset":
            return Boundary("reset", found.reason or "", at, identity, parent)
        return Ignored(found.type, found.type not in BOOKKEEPING, identity, parent)

    def _name(self, identity: str | None) -> str:
        if not identity:
            return ""
        return f"{self._root}.{identity}" if self._root else identity

    def _said(self, message: NodeMessage, found: Node, identity: str, parent: str) -> Event:
        blocks = message.blocks()
        images = tuple(_image(block, identity) for block in blocks if block.type == "image")
        texts = (block.text.strip() for block in blocks if block.type == "text" and block.text)
        text = "\n\n".join(filter(None, texts))
        if message.role == "toolResult":
            call, error = message.tool_call_id or "", bool(message.is_error)
            return Result(call, jsonl.result(text), error, images, identity, parent)
        if message.role not in ("user", "assistant"):
            known = message.role in ("system", "custom", "bashExecution")
            return Ignored(f"message/{message.role}", not known, identity, parent)
        calls = tuple(
            Call(block.id or "", block.name or "", jsonl.summary(block.arguments))
            for block in blocks
            if block.type == "toolCall"
        )
        text, kind = self._heard(message, text)
        if not text and not calls and not images:
            return Ignored(kind, id=identity, parent=parent)
        usage = message.usage or _Usage()
        return Said(
            role="user" if message.role == "user" else "agent",
            text=text,
            id=identity,
            at=clock.parse(found.timestamp),
            calls=calls,
            attachments=images,
            tokens_in=(usage.input or 0) + (usage.cache_read or 0) + (usage.cache_write or 0),
            tokens_out=usage.output or 0,
            model=message.model or "",
            parent=parent,
        )


def _image(block: _Block, record: str) -> str:
    return jsonl.attachment(block.mime_type or "image", block.data or "", record)


def header(head: bytes) -> Node | None:
    """The first line of a session's file, if it is one."""
    found = next(jsonl.first(_node, head, 1), Node())
    return found if found.type == "session" and found.id else None


def root(head: bytes) -> str:
    """The id of the first event below the header."""
    events = (one for one in jsonl.first(_node, head) if one.type != "session")
    return next((one.id for one in events if one.id), "")


def is_openclaw(path: Path, head: bytes) -> bool:
    """OpenClaw's older session files have the same form: tell them by place and content."""
    return (
        ".jsonl." in path.name
        or path.parent.name == "sessions"
        or (path.parent / "sessions.json").is_file()
        or b'"__openclaw"' in head
        or b'"customType":"openclaw.' in head
    )


class Pi(jsonl.Host):
    name = "pi"
    tree = True

    def session(self, path: Path, size: int, head: bytes) -> Session:
        found = header(head) or Node()
        return Session(
            host=self.name,
            id=found.id or path.stem,
            path=path,
            parent=found.parent_session or "",
            size=size,
            cwd=found.cwd or "",
            model=jsonl.matched(MODEL, head),
        )

    def recognises(self, path: Path, head: bytes) -> bool:
        return header(head) is not None and not is_openclaw(path, head)

    def records(
        self, session: Session, position: int, limit: int, closing: bool
    ) -> Iterator[Record]:
        tree = Tree(root(jsonl.head(session.path)), self.heard)
        for line in jsonl.lines(session.path, position, limit, closing):
            yield Record(line.start, line.end, tree.events(line.data) or line.undecoded())

    def heard(self, message: NodeMessage, text: str) -> tuple[str, str]:
        return text, "" if text else "empty"

    def beginning(self, session: Session, captured: Callable[[Path], bool]) -> int:
        if not session.parent:
            return 0
        parent = Path(session.parent)
        for path in (parent, session.path.parent / parent.name):
            if path != session.path and captured(path) and path.is_file():
                return jsonl.past(session.path, _shared(path))
        return 0


def _shared(parent: Path) -> Callable[[bytes], bool | None]:
    nodes = (load(_node, line.data) for line in jsonl.lines(parent, 0, jsonl.CHUNK * 64))
    known = {found.id for found in nodes if found is not None}

    def verdict(data: bytes) -> bool | None:
        found = load(_node, data)
        if found is None or not found.id or found.type == "session":
            return None
        return found.id in known

    return verdict
