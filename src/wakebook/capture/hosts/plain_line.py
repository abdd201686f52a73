"""Writing the plain format: a message as a program has it becomes lines that `plain` reads.

    OpenAI chat        role, content, tool_calls; role tool with tool_call_id
    OpenAI responses   items: message, function_call, function_call_output
    Anthropic          blocks: text, tool_use, tool_result (inside a user's message)
    LangChain          type human, ai, tool; tool_calls with args

What is no part of a conversation (a system prompt, reasoning, a hosted tool's own record)
comes to no line at all. A picture is named, not kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from wakebook.errors import WakebookError

Line = dict[str, Any]

_ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant",
    "agent": "assistant", "tool": "tool", "function": "tool", "toolResult": "tool",
    "system": "", "developer": "",
}  # fmt: skip
_MEDIA = ("image", "audio", "video", "file", "document")
_UNREAL = ("__fake_id__",)  # what the Agents SDK calls every message of a chat model
SHAPES = (
    'Give a dict with "role" (user, assistant or tool) and "content", as OpenAI, Anthropic and '
    "LangChain have it."
)


def lines(message: object) -> list[Line]:
    """The lines of a message, in order. Raises WakebookError if it is none."""
    given = as_dict(message)
    kind = given.get("role") or given.get("type")
    if kind == "function_call":
        return [_said("assistant", "", [_called(given, given.get("call_id"))])]
    if kind == "function_call_output":
        return [result(given.get("call_id"), given.get("output"))]
    if not isinstance(kind, str) or not (kind in _ROLES or (kind and "role" not in given)):
        raise WakebookError(f"Not a message: {_brief(given)}. {SHAPES}")
    role = _ROLES.get(kind, "")
    content = _blocks(given.get("content"), given)
    if role == "tool":
        answered = given.get("tool_call_id") or given.get("toolCallId") or given.get("name")
        failed = given.get("status") == "error" or given.get("is_error") or given.get("isError")
        return [result(answered, content, bool(failed))]
    return _spoken(role, content, given) if role else []


def as_dict(message: object) -> Mapping[str, Any]:
    """A dict, or the object of a client library that can say itself as one."""
    dump = getattr(message, "model_dump", None)
    given = dump() if callable(dump) else message
    if isinstance(given, Mapping):
        return given
    raise WakebookError(f"Not a message: {_brief(given)}. {SHAPES}")


def identity(message: Mapping[str, Any]) -> str:
    """The message's own id, if it has one that says anything."""
    found = message.get("id")
    return found if isinstance(found, str) and found not in _UNREAL else ""


def call(identity: str, name: str, arguments: object) -> Line:
    """An agent's line that calls one tool."""
    return _said("assistant", "", [_tool_call(identity, name, arguments)])


def result(identity: object, content: object, error: bool = False) -> Line:
    """What a tool gave back."""
    blocks = content if isinstance(content, list) else _blocks(content, {})
    line: Line = {"role": "tool", "tool_call_id": str(identity or ""), "content": _text(blocks)}
    return line | {"is_error": True} if error else line


def encode(line: Line) -> bytes:
    """One line of the file. Halves of characters, which no file can hold, are replaced."""
    try:
        return msgspec.json.encode(line, enc_hook=str) + b"\n"
    except (UnicodeEncodeError, TypeError):
        return _dumps(line).encode("utf-8", "replace") + b"\n"
    except RecursionError as error:
        raise WakebookError("A message that contains itself cannot be written down.") from error


def text_of(value: object) -> str:
    """A tool's arguments or result as text: JSON, if it is none yet."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return msgspec.json.encode(value, enc_hook=str).decode()
    except (UnicodeEncodeError, TypeError):
        return _dumps(value)
    except RecursionError as error:
        raise WakebookError("Something that contains itself cannot be written down.") from error


def _dumps(value: object) -> str:
    try:
        return json.dumps(
            value, ensure_ascii=False, separators=(",", ":"), skipkeys=True, default=str
        )
    except ValueError as error:  # it contains itself
        raise WakebookError(f"This cannot be written down: {error}.") from error


# --- parts of a message ------------------------------------------------------------------


def _spoken(role: str, content: Sequence[Any], given: Mapping[str, Any]) -> list[Line]:
    """Results of tools come first: what a human says in the same message follows them."""
    found = [
        result(block.get("tool_use_id"), _blocks(block.get("content"), block), _failed(block))
        for block in content
        if _kind(block) == "tool_result"
    ]
    calls = _calls(content, given) if role == "assistant" else []
    text = _text(content)
    return [*found, _said(role, text, calls)] if text.strip() or calls else found


def _failed(block: Mapping[str, Any]) -> bool:
    return bool(block.get("is_error"))


def _said(role: str, text: str, calls: Sequence[Line] = ()) -> Line:
    line: Line = {"role": role, "content": text or None}
    return line | {"tool_calls": list(calls)} if calls else line


def _calls(content: Sequence[Any], given: Mapping[str, Any]) -> list[Line]:
    """Every call once, though a message may name it both as a block and in its list."""
    listed = given.get("tool_calls")
    blocks = [one for one in content if _kind(one) in ("tool_use", "toolCall")]
    every = [*(listed if isinstance(listed, list) else ()), *blocks]
    found = [_called(one, one.get("id")) for one in every if isinstance(one, Mapping)]
    return list({one["id"] or number: one for number, one in enumerate(found)}.values())


def _called(given: Mapping[str, Any], identity: object) -> Line:
    function = given.get("function")
    inner = function if isinstance(function, Mapping) else given
    names = ("arguments", "args", "input")
    arguments = next((inner[name] for name in names if inner.get(name) is not None), "")
    return _tool_call(str(identity or ""), str(inner.get("name") or "tool"), arguments)


def _tool_call(identity: str, name: str, arguments: object) -> Line:
    function = {"name": name, "arguments": text_of(arguments)}
    return {"id": identity, "type": "function", "function": function}


def _blocks(content: object, given: Mapping[str, Any]) -> list[Any]:
    """Content as a list of blocks: text alone is one of them."""
    if content is None or isinstance(content, str):
        return [content] if content else []
    if isinstance(content, list | tuple):
        return list(content)
    if not given:  # of a tool: anything at all
        return [text_of(content)]
    raise WakebookError(f"Not a message's content: {_brief(content)}. Give text, or blocks.")


def _kind(block: object) -> str:
    found = block.get("type") if isinstance(block, Mapping) else ""
    return found if isinstance(found, str) else ""


def _text(blocks: Sequence[Any]) -> str:
    return "\n\n".join(text for text in map(_words, blocks) if text)


def _words(block: object) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, Mapping):
        return text_of(block)
    words = block.get("text", block.get("refusal"))
    if isinstance(words, str):
        return words
    kind = _kind(block)
    media = next((name for name in _MEDIA if name in kind.split("_")), "")
    return f"[{media}]" if media else ""


def _brief(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:80]}…"
