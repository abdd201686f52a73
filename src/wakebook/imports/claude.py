"""claude.ai's data export: conversations.json with `chat_messages`.

Messages form a tree where a person edited or asked again (`parent_message_uuid`); the path to
the newest leaf is taken. Older exports have no parents: there all messages are, in their order.
Kept is the text; thinking, tool calls and results are left out.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from wakebook.base import clock
from wakebook.imports.export import Export, Post, Thread, conversations, path_to, talk

NAME = "claude"
UNSUPPORTED = "This block is not supported on your current device yet."
IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


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
    return conversations(path, _Conversation, _conversation, "claude.ai")


def _conversation(found: _Conversation) -> Thread:
    if not found.uuid:
        raise ValueError("it has no uuid")
    return talk(NAME, found.uuid, found.name, _pieces(found))


def _pieces(found: _Conversation) -> Iterator[Post | str]:
    at = found.created_at
    for message in _live(found):
        at = message.created_at or at
        human = message.sender in ("human", "user")
        if human or message.sender == "assistant":
            yield Post(
                role="user" if human else "assistant",
                text=_text(message),
                id=message.uuid,
                at=clock.parse(at),
                model="" if human else found.model or "",
            )
        else:
            yield message.sender or "system"


def _live(found: _Conversation) -> Sequence[_Message]:
    """The messages that the person saw last, oldest first."""
    by_id = {message.uuid: message for message in found.chat_messages if message.uuid}
    parents = {message.parent_message_uuid for message in found.chat_messages}
    if not parents.intersection(by_id):
        return found.chat_messages
    leaf = found.current_leaf_message_uuid
    if leaf not in by_id:
        leaves = [name for name in by_id if name not in parents]
        leaf = max(leaves, key=lambda name: by_id[name].created_at or "", default=None)
    return path_to(leaf, by_id, lambda message: message.parent_message_uuid)


def _text(message: _Message) -> str:
    said = [block.text for block in message.content or () if block.type == "text" and block.text]
    text = "\n\n".join(said) or message.text or ""
    text = text.replace(f"```\n{UNSUPPORTED}\n```", "").replace(UNSUPPORTED, "").strip()
    attached = [*(message.attachments or ()), *(message.files or ())]
    if not text:  # a long text that a person pastes becomes an attachment without a name
        pasted = [one.extracted_content for one in attached if not one.file_name]
        text = "\n\n".join(piece for piece in pasted if piece).strip()
    marks = [_mark(one.file_name, one.file_kind) for one in attached if one.file_name]
    return "\n\n".join(piece for piece in (text, "\n".join(marks)) if piece)


def _mark(name: str, kind: str | None) -> str:
    image = kind == "image" or name.lower().endswith(IMAGES)
    return "[image]" if image else f"[attachment: {' '.join(name.split())[:100]}]"
