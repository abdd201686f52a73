"""The event tree that pi writes and OpenClaw inherited: each event has an id and a parent.

A conversation is the path from the last event back to the root; other branches were
abandoned. Ids are short, and unique within their tree only, so both `id` and `parent`
are prefixed with the beginning of the root's id. A fork copies its events from the root
on, and so keeps these ids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base import clock
from wakebook.capture import source
from wakebook.capture.hosts import jsonl
from wakebook.capture.hosts import jsonl as tools
from wakebook.capture.hosts.jsonl import load
from wakebook.capture.session import Session
from wakebook.capture.transcript import About, Boundary, Call, Event, Ignored, Record, Result, Said

BOOKKEEPING = frozenset({
    "branch_summary", "custom", "custom_message", "label", "leaf", "session_info",
    "thinking_level_change",
})  # fmt: skip


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


class Block(msgspec.Struct, rename="camel", gc=False):
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


class Message(msgspec.Struct, rename="camel", gc=False):
    role: str = ""
    content: str | list[Block] | None = None
    tool_call_id: str | None = None
    is_error: bool | None = None
    model: str | None = None
    usage: _Usage | None = None

    def blocks(self) -> list[Block]:
        if isinstance(self.content, str):
            return [Block("text", self.content)]
        return self.content or []

    def text(self) -> str:
        texts = (block.text for block in self.blocks() if block.type == "text")
        return "\n\n".join(text.strip() for text in texts if text and text.strip())


node = msgspec.json.Decoder(Node)
_message = msgspec.json.Decoder(Message)


class Tree:
    """What the events of one tree mean. A host may overrule `heard`."""

    def __init__(self, root: str) -> None:
        self._root = root[:8]

    def heard(self, message: Message, text: str) -> tuple[str, str]:
        """The text of a message that is conversation, or "" and what it is instead."""
        return text, "" if text else "empty"

    def events(self, data: bytes) -> tuple[Event, ...]:
        found = load(node, data)
        if found is None:
            return jsonl.UNREADABLE
        identity, parent = self._name(found.id), self._name(found.parent_id)
        at = clock.parse(found.timestamp)
        if found.type == "message":
            message = load(_message, found.message)
            if message is None:
                return (Ignored("unreadable", unknown=True, id=identity, parent=parent),)
            return (self._said(message, found, identity, parent),)
        if found.type == "session":
            return (About(cwd=found.cwd or ""),)
        if found.type == "model_change":
            return (About(identity, parent, model=found.model_id or ""),)
        if found.type == "compaction":
            return (Boundary("compaction", "", at, identity, parent),)
        if found.type == "reset":
            return (Boundary("reset", found.reason or "", at, identity, parent),)
        unknown = found.type not in BOOKKEEPING
        return (Ignored(found.type, unknown, identity, parent),)

    def _name(self, identity: str | None) -> str:
        if not identity:
            return ""
        return f"{self._root}.{identity}" if self._root else identity

    def _said(self, message: Message, found: Node, identity: str, parent: str) -> Event:
        blocks = message.blocks()
        images = tuple(_image(block, identity) for block in blocks if block.type == "image")
        text = message.text()
        if message.role == "toolResult":
            call, error = message.tool_call_id or "", bool(message.is_error)
            return Result(call, tools.result(text), error, images, identity, parent)
        if message.role not in ("user", "assistant"):
            known = message.role in ("system", "custom", "bashExecution")
            return Ignored(f"message/{message.role}", not known, identity, parent)
        calls = tuple(
            Call(block.id or "", block.name or "", tools.summary(block.arguments))
            for block in blocks
            if block.type == "toolCall"
        )
        text, kind = self.heard(message, text)
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


def _image(block: Block, record: str) -> str:
    size = tools.base64_size(len(block.data or ""))
    return tools.attachment(block.mime_type or "image", size, record)


def tree_header(head: bytes) -> Node | None:
    """The first line of a session's file, if it is one."""
    for found in jsonl.first(node, head, 1):
        if found.type == "session" and found.id:
            return found
    return None


def root(head: bytes) -> str:
    """The id of the first event below the header."""
    for found in jsonl.first(node, head):
        if found.type != "session" and found.id:
            return found.id
    return ""


# -----------------------------------------------------------------------------
# pi: `~/.pi/agent/sessions/--<path>--/<time>_<id>.jsonl`, an event tree (see `tree`).
#
# A fork is a new file that repeats its parent's events, ids included, and names the
# parent's file in its header.

_MODEL = re.compile(rb'"modelId":\s*("[^"\\]+")')
_string = msgspec.json.Decoder(str)


class Pi(jsonl.Files):
    name = "pi"
    tree = True

    def discover(self, root: Path) -> Iterator[Session]:
        for path, size in jsonl.files(root, ".jsonl"):
            head = jsonl.head(path)
            found = tree_header(head)
            if found is not None and self.recognises(path, head):
                yield Session(
                    host=self.name,
                    id=found.id or path.stem,
                    path=path,
                    parent=found.parent_session or "",
                    size=size,
                    cwd=found.cwd or "",
                    model=model_of(head),
                )

    def recognises(self, path: Path, head: bytes) -> bool:
        return tree_header(head) is not None and not is_openclaw(path, head)

    def records(
        self, session: Session, position: int, limit: int, closing: bool
    ) -> Iterator[Record]:
        return read(Tree(root(jsonl.head(session.path))), session, position, limit, closing)

    def beginning(self, session: Session, captured: Callable[[Path], bool]) -> int:
        parent = Path(session.parent)
        if not session.parent:
            return 0
        for path in (parent, session.path.parent / parent.name):
            if path != session.path and captured(path) and path.is_file():
                return jsonl.past(session.path, _shared(path))
        return 0


def read(
    events: Tree, session: Session, position: int, limit: int, closing: bool
) -> Iterator[Record]:
    """The records of an event tree that is kept in a file."""
    for line in source.lines(session.path, position, limit, closing):
        nothing = jsonl.unloaded(line)
        yield Record(line.start, line.end, nothing or events.events(line.data))


def is_openclaw(path: Path, head: bytes) -> bool:
    """OpenClaw's older session files have the same form: tell them by place and content."""
    return (
        ".jsonl." in path.name
        or path.parent.name == "sessions"
        or (path.parent / "sessions.json").is_file()
        or b'"__openclaw"' in head
        or b'"customType":"openclaw.' in head
    )


def model_of(head: bytes) -> str:
    match = _MODEL.search(head)
    return (load(_string, match[1]) or "") if match else ""


def _shared(parent: Path) -> Callable[[bytes], bool | None]:
    known = {
        found.id
        for line in source.lines(parent, 0, source.CHUNK * 64)
        if (found := load(node, line.data)) is not None
    }

    def verdict(data: bytes) -> bool | None:
        found = load(node, data)
        if found is None or not found.id or found.type == "session":
            return None
        return found.id in known

    return verdict
