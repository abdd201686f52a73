"""Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`.

Every message stands there twice, as `response_item` and as `event_msg`: only the first
counts. A compaction's summary is written as an ordinary answer just before `compacted`
repeats it: an answer therefore waits for the next record that decides what it was. At the
end of the file it waits no longer, so that the last answer is never late.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base import clock
from wakebook.capture.hosts import jsonl
from wakebook.capture.hosts.jsonl import load
from wakebook.capture.state import Session
from wakebook.capture.transcript import About, Boundary, Call, Event, Ignored, Record, Result, Said

BOOKKEEPING = frozenset({"event_msg", "world_state", "token_usage_record"})
SILENT = frozenset({"reasoning", "ghost_snapshot", "compaction", "compaction_summary", "other"})
CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"})
UNANSWERED = frozenset({"web_search_call", "image_generation_call"})  # calls without a result
NOT_HUMAN = (
    "<environment_context>", "<user_instructions>", "<subagent_notification>",
    "<turn_aborted>", "<permissions", "<skill>", "<user_shell_command>", "# AGENTS.md",
)  # fmt: skip

_CHATTER = re.compile(r"(?:Chunk ID|Wall time|Exit code|Process exited|Original token count).*")
_EXIT = re.compile(r"(?:Process exited with code|Exit code:) (-?\d+)")
_MODEL = re.compile(rb'"type":\s*"turn_context".*?"model":\s*("[^"\\]+")')


class _Line(msgspec.Struct, gc=False):
    type: str = ""
    timestamp: str | None = None
    ordinal: int | None = None
    payload: msgspec.Raw = msgspec.Raw(b"null")


class _Part(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    image_url: str | None = None


class _Passed(msgspec.Struct, gc=False):
    content_item_kinds: list[str] | None = None


class _Item(msgspec.Struct, gc=False):
    type: str = ""
    id: str | None = None
    role: str | None = None
    content: list[_Part] | None = None
    internal_chat_message_metadata_passthrough: _Passed | None = None
    name: str | None = None
    namespace: str | None = None
    call_id: str | None = None
    arguments: Any = None
    input: Any = None
    action: Any = None
    output: Any = None


class _Meta(msgspec.Struct, gc=False):
    id: str | None = None
    cwd: str | None = None
    source: Any = None
    thread_source: Any = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None


class _Turn(msgspec.Struct, gc=False):
    model: str | None = None
    cwd: str | None = None


class _Compacted(msgspec.Struct, gc=False):
    message: str | None = None


_line = msgspec.json.Decoder(_Line)
_item = msgspec.json.Decoder(_Item)
_meta = msgspec.json.Decoder(_Meta)
_turn = msgspec.json.Decoder(_Turn)
_compacted = msgspec.json.Decoder(_Compacted)


class Codex(jsonl.Host):
    name = "codex"

    def session(self, path: Path, size: int, head: bytes) -> Session:
        line = load(_line, head.partition(b"\n")[0])
        if line is None:  # long instructions
            line = load(_line, jsonl.head(path, jsonl.CHUNK).partition(b"\n")[0])
        meta = (load(_meta, line.payload) if line else None) or _Meta()
        origin = meta.source if isinstance(meta.source, dict) else (meta.source,)
        spawned = meta.thread_source == "subagent" or "subagent" in origin
        return Session(
            host=self.name,
            id=meta.id or path.stem[-36:],
            path=path,
            kind="subagent" if spawned else "main",
            parent=meta.forked_from_id or meta.parent_thread_id or "",
            size=size,
            cwd=meta.cwd or "",
            model=jsonl.matched(_MODEL, head),
        )

    def recognises(self, path: Path, head: bytes) -> bool:
        return b'"session_meta"' in head[:512] and b'"payload"' in head[:512]

    def records(
        self, session: Session, position: int, limit: int, closing: bool
    ) -> Iterator[Record]:
        waiting: list[Record] = []  # an answer, and what stands between it and a decision
        for line in jsonl.lines(session.path, position, limit, closing):
            found = load(_line, line.data) if line.data else None
            record = Record(line.start, line.end, _events(line, found))
            if waiting and not (found and found.type in BOOKKEEPING):
                if found and found.type == "compacted":
                    waiting[0] = _unless_summary(waiting[0], found)
                yield from waiting
                waiting.clear()
            if waiting or _is_answer(record):
                waiting.append(record)
            else:
                yield record
        yield from waiting


def _is_answer(record: Record) -> bool:
    first = record.events[0]
    return isinstance(first, Said) and first.role == "agent" and not first.calls


def _unless_summary(answer: Record, compacted: _Line) -> Record:
    said, summary = answer.events[0], load(_compacted, compacted.payload)
    assert isinstance(said, Said)
    if summary is None or not summary.message or said.text not in summary.message:
        return answer
    return Record(answer.start, answer.end, (Ignored("compaction-summary", id=said.id),))


def _events(line: jsonl.RawLine, found: _Line | None) -> tuple[Event, ...]:
    if found is None:
        return line.undecoded()
    if found.type == "response_item":
        item = load(_item, found.payload)
        return jsonl.UNREADABLE if item is None else _response(item, found, line.start)
    if found.type == "turn_context":
        turn = load(_turn, found.payload)
        return (About(model=turn.model or "", cwd=turn.cwd or "") if turn else Ignored("turn"),)
    if found.type == "session_meta":
        meta = load(_meta, found.payload)
        return (About(cwd=(meta.cwd if meta else "") or ""),)
    if found.type == "compacted":
        at = clock.parse(found.timestamp)
        return (Boundary("compaction", "", at, f"compacted-{found.timestamp}"),)
    return (Ignored(found.type, unknown=found.type not in BOOKKEEPING),)


def _response(item: _Item, line: _Line, start: int) -> tuple[Event, ...]:
    place = start if line.ordinal is None else line.ordinal
    identity = item.id or f"{place}-{line.timestamp}"
    at = clock.parse(line.timestamp)
    if item.type == "message":
        return (_message(item, identity, at),)
    if item.type in CALLS | UNANSWERED:
        call = _call(item, identity)
        said = Said("agent", "", identity, at, calls=(call,))
        return (said,) if item.type in CALLS else (said, Result(call.id, ""))
    if item.type.endswith("_output"):
        return (_result(item),)
    return (Ignored(item.type, unknown=item.type not in SILENT),)


def _message(item: _Item, identity: str, at: datetime | None) -> Event:
    parts = item.content or []
    if item.role == "assistant":
        text = _joined(part.text for part in parts)
        return Said("agent", text, identity, at) if text else Ignored("empty")
    if item.role != "user":
        return Ignored(f"message/{item.role}")
    passed = item.internal_chat_message_metadata_passthrough
    kinds = passed.content_item_kinds if passed else None
    own = _human(parts, kinds)
    text = _joined(part.text for part in own)
    images = tuple(_image(part, identity) for part in own if part.image_url)
    if not text and not images:
        return Ignored(kinds[0] if kinds else "context")
    return Said("user", text, identity, at, attachments=images)


def _human(parts: list[_Part], kinds: list[str] | None) -> list[_Part]:
    if kinds and len(kinds) == len(parts):
        return [part for part, kind in zip(parts, kinds, strict=True) if kind.startswith("user.")]
    return [part for part in parts if not (part.text or "").lstrip().startswith(NOT_HUMAN)]


def _joined(texts: Iterable[str | None]) -> str:
    return "\n\n".join(text.strip() for text in texts if text and text.strip())


def _image(part: _Part, record: str) -> str:
    url = part.image_url or ""
    kind = url[5:].partition(";")[0] if url.startswith("data:") else "image"
    return jsonl.attachment(kind, url.partition(",")[2], record)


def _call(item: _Item, identity: str) -> Call:
    places = (item.arguments, item.input, item.action)
    given = next((one for one in places if one is not None), None)
    if isinstance(given, str) and given.lstrip().startswith(("{", "[")):
        given = jsonl.arguments(given)
    name = item.name or item.type.removesuffix("_call")
    if item.namespace and item.namespace.startswith("mcp__"):
        name = f"{item.namespace}__{name}"
    return Call(item.call_id or identity, name, jsonl.summary(given))


def _result(item: _Item) -> Result:
    text, error = _output(item.output)
    failed = _EXIT.search(text, 0, 400)
    error = error or bool(failed and failed[1] != "0")
    if _CHATTER.match(text):
        text = text.partition("Output:\n")[2]
    return Result(item.call_id or "", jsonl.result(text), error)


def _output(output: Any) -> tuple[str, bool]:
    """The text of an output: a string, JSON inside a string, or a list of parts."""
    if isinstance(output, str) and output.startswith('{"output"'):
        output = jsonl.arguments(output)
    if isinstance(output, list):
        texts = (part["text"] for part in output if isinstance(part, dict) and "text" in part)
        return "\n".join(map(str, texts)), False
    if isinstance(output, dict):
        code = (output.get("metadata") or {}).get("exit_code", 0)
        failed = code != 0 or output.get("success") is False
        return str(output.get("output", output.get("content", ""))), failed
    return output if isinstance(output, str) else "", False
