"""The shape of Claude Code's records: only the fields that we read, the rest is skipped."""

from __future__ import annotations

from typing import Any

import msgspec

NOTHING = msgspec.Raw(b"null")


class Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: Any = None
    tool_use_id: str = ""
    content: Any = None
    is_error: bool | None = None
    source: Any = None


class Usage(msgspec.Struct, gc=False):
    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None

    def counts(self) -> tuple[int, int]:
        cached = (self.cache_creation_input_tokens or 0) + (self.cache_read_input_tokens or 0)
        return (self.input_tokens or 0) + cached, self.output_tokens or 0


class Message(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    content: str | list[Block] | None = None
    usage: Usage | None = None


class Attachment(msgspec.Struct, rename="camel", gc=False):
    type: str = ""
    prompt: str | list[Block] | None = None
    command_mode: str | None = None
    filename: str | None = None
    path: str | None = None
    uri: str | None = None


class Line(msgspec.Struct, rename="camel", gc=False):
    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    timestamp: str | float | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_sidechain: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    is_api_error_message: bool | None = None
    message: Message | None = None
    attachment: msgspec.Raw = NOTHING
    operation: str | None = None
    reason: str | None = None
    content: msgspec.Raw = NOTHING


class Sniff(msgspec.Struct, rename="camel", gc=False):
    type: str = ""
    uuid: str | None = None
    session_id: str | None = None
    leaf_uuid: str | None = None
    message_id: str | None = None


line = msgspec.json.Decoder(Line)
attachment = msgspec.json.Decoder(Attachment)
string = msgspec.json.Decoder(str)
sniff = msgspec.json.Decoder(Sniff)
