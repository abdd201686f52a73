"""claude.ai's data export: conversations.json with `chat_messages`.

Messages form a tree where a person edited or asked again (`parent_message_uuid`); the path to
the newest leaf is taken. Older exports have no parents: there all messages are, in their order.
Kept is the text; thinking, tool calls and results are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from wakebook.base import clock
from wakebook.imports import export as parcel
from wakebook.imports.export import Conversation, Export, Line

NAME = "claude"
UNSUPPORTED = "This block is not supported on your current device yet."


class _Block(msgspec.Struct):
    type: str = ""
    text: str | None = None


class _Attached(msgspec.Struct):
    file_name: str | None = None
    file_kind: str | None = None
    extracted_content: str | None = None


class _Message(msgspec.Struct):
    sender: str = ""
    uuid: str = ""
    text: str | None = None
    content: list[_Block] | None = None
    created_at: str | None = None
    parent_message_uuid: str | None = None
    attachments: list[_Attached] | None = None
    files: list[_Attached] | None = None


class _Conversation(msgspec.Struct):
    chat_messages: list[_Message]
    uuid: str
    name: str | None = None
    model: str | None = None
    created_at: str | None = None
    current_leaf_message_uuid: str | None = None


def read(path: Path) -> Export:
    return parcel.conversations(path, _Conversation, _conversation, "claude.ai")


def _conversation(found: _Conversation) -> Conversation:
    if not found.uuid:
        raise ValueError("it has no uuid")
    skipped: Counter[str] = Counter()
    lines: list[Line] = []
    at = found.created_at
    for message in _live(found):
        at = message.created_at or at
        if message.sender not in ("human", "user", "assistant"):
            skipped[message.sender or "system"] += 1
            continue
        text = _text(message)
        if not text:
            skipped["empty"] += 1
            continue
        human = message.sender != "assistant"
        lines.append(
            Line(
                role="user" if human else "assistant",
                text=text,
                id=message.uuid,
                at=clock.parse(at),
                model="" if human else found.model or "",
            )
        )
    return Conversation(
        id=found.uuid,
        name=found.name or found.uuid,
        channel=NAME,
        lines=tuple(lines),
        skipped=dict(skipped),
    )


def _live(found: _Conversation) -> Sequence[_Message]:
    """The messages that the person saw last, oldest first."""
    by_id = {message.uuid: message for message in found.chat_messages if message.uuid}
    parents = {message.parent_message_uuid for message in found.chat_messages}
    if not parents.intersection(by_id):
        return found.chat_messages
    leaves = [message for message in by_id.values() if message.uuid not in parents]
    newest = max(leaves, key=lambda one: one.created_at or "", default=None)
    current = by_id.get(found.current_leaf_message_uuid or "") or newest
    path: dict[str, _Message] = {}
    while current and current.uuid not in path:
        path[current.uuid] = current
        current = by_id.get(current.parent_message_uuid or "")
    return list(reversed(path.values()))


def _text(message: _Message) -> str:
    said = [block.text for block in message.content or () if block.type == "text" and block.text]
    text = "\n\n".join(said) or message.text or ""
    text = text.replace(f"```\n{UNSUPPORTED}\n```", "").replace(UNSUPPORTED, "").strip()
    attached = [*(message.attachments or ()), *(message.files or ())]
    pasted = [one.extracted_content for one in attached if not one.file_name]
    if not text:  # a long text that somebody pastes becomes an attachment without a name
        text = "\n\n".join(piece for piece in pasted if piece).strip()
    marks = [_mark(one) for one in attached if one.file_name]
    return "\n\n".join(piece for piece in (text, "\n".join(marks)) if piece)


def _mark(attached: _Attached) -> str:
    name = attached.file_name or ""
    image = attached.file_kind == "image" or name.lower().endswith(
        (".png", ".jpg", ".jpeg", ".gif", ".webp")
    )
    return "[image]" if image else f"[attachment: {' '.join(name.split())[:100]}]"
