"""The event tree that pi writes and OpenClaw inherited: each event has an id and a parent.

A conversation is the path from the last event back to the root; other branches were
abandoned. Ids are short, and unique within their tree only, so both `id` and `parent`
are prefixed with the beginning of the root's id. A fork copies its events from the root
on, and so keeps these ids.
"""

from __future__ import annotations

from typing import Any

import msgspec

from wakebook import clock
from wakebook.capture.hosts import jsonl, tools
from wakebook.capture.hosts.jsonl import load
from wakebook.capture.transcript import About, Boundary, Call, Event, Ignored, Result, Said

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


def header(head: bytes) -> Node | None:
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
