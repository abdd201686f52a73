"""A chat of your own agent, on disk: a file in the plain format that is only ever appended to.

A message as a program has it becomes lines that `plain` reads:

    OpenAI chat        role, content, tool_calls; role tool with tool_call_id
    OpenAI responses   items: message, function_call, function_call_output
    Anthropic          blocks: text, tool_use, tool_result (inside a user's message)
    LangChain          type human, ai, tool; tool_calls with args

What is no part of a conversation (a system prompt, reasoning, a hosted tool's own record)
comes to no line at all. A picture is named, not kept.

The lines of a message are one durable append, and every line begins with its id: whether it is
there can be seen without reading the file, and a message that is sent again adds what is missing.
A writer that was killed may leave half a line: the next one takes it out. Everything that writes
does so under the home's lock.
"""

import json
import mmap
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base.decode import decode
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.capture.hosts import jsonl

Line = dict[str, Any]

_ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant",
    "agent": "assistant", "tool": "tool", "function": "tool", "toolResult": "tool",
    "system": "", "developer": "",
}  # fmt: skip
_MEDIA = ("image", "audio", "video", "file", "document")
_UNREAL = ("__fake_id__",)  # what the Agents SDK calls every message of a chat model
LAST = 4096  # bytes in which the last line is looked for, if it may be a reset
LOST = "(no result: the agent was stopped)"
USED = ("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens")
SENT = ("role", "content", "tool_calls", "tool_call_id")  # what a model is sent of a line
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
    spoken = _spoken(role, content, given) if role else []
    used = given.get("usage") or given.get("usage_metadata")
    if spoken and role == "assistant" and isinstance(used, Mapping):
        spoken[-1]["usage"] = {key: used[key] for key in USED if isinstance(used.get(key), int)}
    return spoken


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
    return _said("assistant", "", [_tool_call(identity, name, arguments)])


def result(identity: object, content: object, error: bool = False) -> Line:
    blocks = content if isinstance(content, list) else _blocks(content, {})
    line: Line = {"role": "tool", "tool_call_id": str(identity or ""), "content": _text(blocks)}
    return line | {"is_error": True} if error else line


def encode(line: Line) -> bytes:
    return _encoded(line) + b"\n"


def text_of(value: object) -> str:
    """A tool's arguments or result as text: JSON, if it is none yet."""
    if value is None or isinstance(value, str):
        return value or ""
    return _encoded(value).decode()


def _encoded(value: object) -> bytes:
    """As JSON. Halves of characters, which no file can hold, are replaced."""
    try:
        return msgspec.json.encode(value, enc_hook=str)
    except RecursionError as error:
        raise WakebookError("A message that contains itself cannot be written down.") from error
    except (UnicodeEncodeError, TypeError):
        pass
    try:
        text = json.dumps(
            value, ensure_ascii=False, separators=(",", ":"), skipkeys=True, default=str
        )
    except ValueError as error:  # it contains itself
        raise WakebookError(f"This cannot be written down: {error}.") from error
    return text.encode("utf-8", "replace")


def _spoken(role: str, content: Sequence[Any], given: Mapping[str, Any]) -> list[Line]:
    """Results of tools come first: what a human says in the same message follows them."""
    found = [
        result(
            block.get("tool_use_id"),
            _blocks(block.get("content"), block),
            bool(block.get("is_error")),
        )
        for block in content
        if _kind(block) == "tool_result"
    ]
    calls = _calls(content, given) if role == "assistant" else []
    text = _text(content)
    return [*found, _said(role, text, calls)] if text.strip() or calls else found


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


class PlainFile:
    def __init__(self, home: Home, path: Path, about: Mapping[str, str]) -> None:
        """`about`: the first line of a new file, which names the session."""
        self.path = path
        self._home = home
        self._about = {key: value for key, value in about.items() if value}

    def begun(self) -> bool:
        return self.path.exists() and self.path.stat().st_size > 0

    def append(self, lines: Sequence[Line], *, again: bool = False) -> None:
        """Add the lines of a message; with `again`, those whose id is not there yet."""
        with self._home.locked():
            if not self.begun():
                self._begin(b"".join(map(encode, lines)))
                return
            self._mend()  # half a line has an id, too
            new = [encode(line) for line in lines if not (again and self.has(line["id"]))]
            if new:
                self._home.append(self.path, b"".join(new))

    def reset(self, line: Line) -> None:
        """Draw a line below what was said, unless nothing was said since the last one."""
        with self._home.locked():
            if self.begun() and not self._at_reset():
                self.append([line])

    def has(self, id: str) -> bool:
        """Whether there is a line with this id, which is the first thing on it."""
        wanted = b"\n" + encode({"id": id}).removesuffix(b"}\n") + b","
        with (
            self.path.open("rb") as stream,
            mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as text,
        ):
            return text.find(wanted) >= 0

    def messages(self, limit: int) -> list[dict[str, Any]]:
        """What was said since the last reset, as a chat model takes it. `limit`: of a line."""
        found: list[dict[str, Any]] = []
        for line in jsonl.lines(self.path, 0, limit) if self.begun() else ():
            with suppress(msgspec.DecodeError):
                read = decode(line.data, dict[str, Any])
                found = [] if read.get("type") == "reset" else found
                if "role" in read:
                    found.append({key: read[key] for key in SENT if key in read})
        return _answered(found)

    def _begin(self, data: bytes) -> None:
        folder = self.path.parent
        self._home.folder(folder)
        if not (folder / ".gitignore").exists():  # secrets go only when it is archived
            self._home.replace(folder / ".gitignore", "*\n")
        self._home.replace(self.path, encode(self._about) + data)

    def _mend(self) -> None:
        """Finish or take out a last line without its end. It has not been read, and its writer
        never got to say that it was written."""
        with self.path.open("rb+") as stream:
            stream.seek(-1, os.SEEK_END)
            if stream.read(1) == b"\n":
                return
            stream.seek(0)
            text = stream.read()
            torn = text.rpartition(b"\n")[2]
            if jsonl.is_json(torn):
                stream.write(b"\n")
            else:
                stream.truncate(len(text) - len(torn))
                self._home.trace("torn", where=str(self.path), bytes=len(torn))
            stream.flush()
            self._home.sync(stream.fileno())

    def _at_reset(self) -> bool:
        with self.path.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - LAST))
            last = stream.read().rstrip(b"\n").rpartition(b"\n")[2]
        return b'"type":"reset"' in last[:80] and jsonl.is_json(last)


def _answered(messages: Sequence[Line]) -> list[Line]:
    """The messages with an answer to every call of a tool that a message follows: a killed
    agent never gave it, and no model's server takes the one without the other."""
    found: list[Line] = []
    waiting: dict[str, None] = {}
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] in waiting:
                del waiting[message["tool_call_id"]]
                found.append(message)
            continue
        found += [{"role": "tool", "content": LOST, "tool_call_id": one} for one in waiting]
        waiting = dict.fromkeys(call["id"] for call in message.get("tool_calls") or ())
        found.append(message)
    return found
