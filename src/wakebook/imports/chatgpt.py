"""ChatGPT's data export: conversations.json, or conversations-000.json and so on.

A conversation is a tree (`mapping`) of which the path to `current_node` is what the person saw
last. Kept is what a person said and what was answered. Custom instructions, memories that the
model was given, reasoning, calls of tools and their results are left out and counted.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base import clock
from wakebook.imports.export import Export, Post, Thread, conversations, path_to, talk

NAME = "chatgpt"
MARKS = {
    "image_asset_pointer": "[image]",
    "audio_asset_pointer": "[audio]",
    "real_time_user_audio_video_asset_pointer": "[audio]",
    "video_container_asset_pointer": "[video]",
}
GIVEN = ("user_editable_context", "model_editable_context")
SAID = ("text", "multimodal_text", "code", "audio_transcription")
_CITED = re.compile("\ue200[^\ue201]{0,400}\ue201|【[^】]{0,80}†[^】]{0,200}】")


class _Author(msgspec.Struct):
    role: str = ""


class _Content(msgspec.Struct):
    content_type: str = ""
    parts: list[Any] | None = None
    text: Any = None


class _Metadata(msgspec.Struct):
    is_visually_hidden_from_conversation: Any = None
    is_user_system_message: Any = None
    model_slug: Any = None


class _Message(msgspec.Struct):
    id: str = ""
    author: _Author | None = None
    content: _Content | None = None
    metadata: _Metadata | None = None
    create_time: float | str | None = None
    recipient: str | None = None
    channel: str | None = None
    status: str | None = None


class _Node(msgspec.Struct):
    message: _Message | None = None
    parent: str | None = None


class _Conversation(msgspec.Struct):
    mapping: dict[str, _Node]
    id: str | None = None
    conversation_id: str | None = None
    title: str | None = None
    create_time: float | str | None = None
    current_node: str | None = None


def read(path: Path) -> Export:
    return conversations(path, _Conversation, _conversation, "ChatGPT")


def _conversation(found: _Conversation) -> Thread:
    identity = found.conversation_id or found.id
    if not identity:
        raise ValueError("it has no id")
    return talk(NAME, identity, found.title, _pieces(found))


def _pieces(found: _Conversation) -> Iterator[Post | str]:
    at = found.create_time
    leaf = found.current_node if found.current_node in found.mapping else _newest(found)
    for node in path_to(leaf, found.mapping, lambda node: node.parent):
        message = node.message
        if message is None:
            continue
        at = message.create_time or at
        text = _text(message.content or _Content())
        reason = _why_skipped(message)
        if not reason:
            by_user = _role(message) == "user"
            slug = message.metadata.model_slug if message.metadata and not by_user else None
            yield Post(
                role="user" if by_user else "assistant",
                text=text,
                id=message.id,
                at=clock.parse(at),
                model=slug if isinstance(slug, str) else "",
            )
        elif text or reason not in ("system", "hidden"):
            yield reason


def _newest(found: _Conversation) -> str | None:
    """The leaf with the newest message."""
    parents = {node.parent for node in found.mapping.values()}
    leaves = [name for name in found.mapping if name not in parents]

    def moment(name: str) -> float:
        message = found.mapping[name].message
        at = clock.parse(message.create_time) if message else None
        return at.timestamp() if at else 0.0

    return max(leaves, key=moment, default=None)


def _role(message: _Message) -> str:
    return message.author.role if message.author else ""


def _why_skipped(message: _Message) -> str:
    metadata = message.metadata or _Metadata()
    kind = message.content.content_type if message.content else ""
    if metadata.is_user_system_message or kind in GIVEN:
        return "custom instructions"
    if _role(message) == "system":
        return "system"
    if metadata.is_visually_hidden_from_conversation:
        return "hidden"
    if _role(message) not in ("user", "assistant") or message.recipient not in (None, "", "all"):
        return "tool"
    if kind not in SAID or message.channel == "analysis":
        return "reasoning" if kind in ("thoughts", "reasoning_recap") else kind or "empty"
    return "unfinished" if message.status == "in_progress" else ""


def _text(content: _Content) -> str:
    pieces = [_piece(part) for part in content.parts or ()]
    if isinstance(content.text, str):
        pieces.append(content.text)
    return _CITED.sub("", "\n\n".join(piece for piece in pieces if piece.strip())).strip()


def _piece(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    text = part.get("text")
    return text if isinstance(text, str) else MARKS.get(str(part.get("content_type")), "")
