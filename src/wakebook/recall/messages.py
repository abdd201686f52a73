"""A view over the messages that a model is sent, in the shapes of real hosts.

    OpenAI chat    role tool, tool_call_id; tool_calls of an assistant; content text or parts
    Anthropic      blocks: text, tool_use, image, tool_result (inside a user's message)
    OpenClaw, pi   role toolResult, toolName, toolCallId; toolCall blocks of an assistant

Nothing is changed in place: `replaced` copies what it changes. What has an unknown shape
stays as it is, byte for byte, and counts by the size of its JSON.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from wakebook.base import echo
from wakebook.base.errors import TranscriptError
from wakebook.base.home import Home
from wakebook.base.text import whole
from wakebook.capture import archive
from wakebook.models import tokenizer
from wakebook.recall.slot import Item, Packed, label
from wakebook.recall.texts import Once

Message = Any  # as a host has it: most often a dict

MEDIA_CHARACTERS = 8_000  # what a picture counts as; its data says nothing about that
MEDIA_TOKENS = 2_000
SHOWN = 120  # characters of a tool's result where one line has to do
OVERHEAD = 4  # tokens around a message: who speaks, and where it ends

_ROLES = {
    "user": "user", "assistant": "assistant", "system": "system", "developer": "system",
    "tool": "tool", "toolResult": "tool",
}  # fmt: skip
_TEXT = ("text", "input_text", "output_text")
_CALLS = ("tool_use", "toolCall")
_MEDIA = """image image_url input_image audio input_audio video file input_file
    document""".split()


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool gave back: a message of its own, or a block of one."""

    index: int  # of the message
    block: int = -1  # of the block in it; -1: the message itself
    call: str = ""  # the id of the call that it answers
    tool: str = ""  # its name, as far as the list tells
    text: str = ""
    media: int = 0  # pictures and the like
    strange: int = 0  # blocks of an unknown shape

    @property
    def place(self) -> tuple[int, int]:
        return self.index, self.block


def role_of(message: Message) -> str:
    """user, assistant, system or tool; nothing for a message of an unknown shape. A user's message
    that holds only tool results is a tool's."""
    found = _ROLES.get(str(_get(message, "role")), "")
    content = _get(message, "content")
    if not found or not isinstance(content, str | list | None):
        return ""
    blocks = _blocks(content)
    answers = any(_get(block, "type") == "tool_result" for block in blocks)
    speaks = any(_text(block).strip() for block in blocks)
    return "tool" if found == "user" and answers and not speaks else found


def first_user(messages: Sequence[Message]) -> int:
    """Where the first message of a user stands; past the end if there is none."""
    return next((i for i, one in enumerate(messages) if role_of(one) == "user"), len(messages))


def calls(message: Message) -> list[tuple[str, str]]:
    """The tool calls in a message: id and name."""
    found = [(_get(one, "id"), _get(_get(one, "function"), "name")) for one in _tool_calls(message)]
    blocks = (one for one in _blocks(_get(message, "content")) if _get(one, "type") in _CALLS)
    found += [(_get(block, "id"), _get(block, "name")) for block in blocks]
    return [(str(identity), str(name or "")) for identity, name in found if identity]


def answers(message: Message) -> list[str]:
    """The ids of the calls whose results are in a message."""
    blocks = _blocks(_get(message, "content"))
    found = [_get(one, "tool_use_id") for one in blocks if _get(one, "type") == "tool_result"]
    own = _get(message, "tool_call_id") or _get(message, "toolCallId")
    return [str(identity) for identity in (own, *found) if identity]


def results(messages: Iterable[Message]) -> list[Result]:
    """Every tool result, in order."""
    names: dict[str, str] = {}
    found: list[Result] = []
    for index, message in enumerate(messages):
        names.update(calls(message))
        if role_of(message) and _ROLES[str(message["role"])] == "tool":
            named = message.get("toolName") or message.get("name")
            identity = next(iter(answers(message)), "")
            tool = str(named or names.get(identity, ""))
            found.append(_result(message.get("content"), index, -1, identity, tool))
        elif role_of(message) in ("user", "tool"):
            for number, block in enumerate(_blocks(message.get("content"))):
                if _get(block, "type") == "tool_result":
                    content, call = block.get("content"), str(block.get("tool_use_id") or "")
                    found.append(_result(content, index, number, call, names.get(call, "")))
    return found


def _result(content: Any, index: int, block: int, call: str, tool: str) -> Result:
    parts = _blocks(content)
    strange = content is not None and not isinstance(content, str | list)
    return Result(
        index=index,
        block=block,
        call=call,
        tool=tool,
        text="\n".join(_text(one) for one in parts if _is_text(one)),
        media=sum(_is_media(one) for one in parts),
        strange=strange + sum(not (_is_text(one) or _is_media(one)) for one in parts),
    )


def replaced(message: Message, result: Result, text: str) -> Message:
    """The message with another text for one of its results. The given one stays as it is."""
    if result.block < 0:
        return {**message, "content": _rewritten(message.get("content"), text)}
    blocks = list(message["content"])
    block = blocks[result.block]
    blocks[result.block] = {**block, "content": _rewritten(block.get("content"), text)}
    return {**message, "content": blocks}


def _rewritten(content: Any, text: str) -> Any:
    """The same kind of content, and what else its first text says about itself."""
    if not isinstance(content, list):
        return text
    first = next((one for one in content if _is_text(one)), {"type": "text"})
    return [text] if isinstance(first, str) else [{**first, "text": text}]


def characters(message: Message) -> int:
    return sum(MEDIA_CHARACTERS if part is None else len(part) for part in _parts(message))


def tokens(message: Message) -> int:
    counted = (MEDIA_TOKENS if part is None else tokenizer.count(part) for part in _parts(message))
    return OVERHEAD + sum(counted)


def _parts(message: Message) -> Iterator[str | None]:
    """The texts that a message is made of. None stands for a picture."""
    if not role_of(message):
        yield _json(message)
        return
    for block in _blocks(message.get("content")):
        yield from _of_block(block)
    for call in _tool_calls(message):
        function = _get(call, "function")
        yield from _called(_get(function, "name"), _get(function, "arguments"))


def _of_block(block: Any) -> Iterator[str | None]:
    kind = _get(block, "type")
    if _is_text(block):
        yield _text(block)
    elif _is_media(block):
        yield None
    elif kind == "thinking" and isinstance(block.get("thinking"), str):
        yield block["thinking"]
    elif kind in _CALLS:
        yield from _called(block.get("name"), block.get("input", block.get("arguments")))
    elif kind == "tool_result" and isinstance(block.get("content"), str | list | None):
        for part in _blocks(block.get("content")):
            yield from _of_block(part)
    else:
        yield _json(block)


def _called(name: Any, given: Any) -> Iterator[str]:
    yield str(name or "")
    yield given if isinstance(given, str) else _json({} if given is None else given)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, skipkeys=True, default=repr)


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _blocks(content: Any) -> list[Any]:
    """Content as a list of blocks: text alone is one of them."""
    if isinstance(content, str):
        return [content] if content else []
    return content if isinstance(content, list) else []


def _tool_calls(message: Message) -> list[Any]:
    found = _get(message, "tool_calls")
    return found if isinstance(found, list) else []


def _is_text(block: Any) -> bool:
    if _get(block, "type") in _TEXT:
        return isinstance(block.get("text"), str)
    return isinstance(block, str)


def _text(block: Any) -> str:
    if isinstance(block, str):
        return block
    return str(block["text"]) if _is_text(block) else ""


def _is_media(block: Any) -> bool:
    return _get(block, "type") in _MEDIA


def said(message: Message, tools: Mapping[str, str] = MappingProxyType({})) -> str:
    """What a message says: its text, and a line for every tool that it calls or answers for.

    What we put there ourselves is left out. `tools`: the names of the calls so far, by id."""

    def own(text: str) -> str:
        return echo.strip(whole(text))[0]

    blocks = _blocks(_get(message, "content"))
    lines = [own(_text(block)) for block in blocks if _is_text(block)]
    lines += [f"[calls {name or 'a tool'}]" for _, name in calls(message)]
    if role_of(message) == "tool":
        lines = []
    for one in results([message]):
        name = one.tool or tools.get(one.call) or "a tool"
        lines.append(f"[{name} gave: {' '.join(own(one.text).split())[:SHOWN]}]")
    return "\n".join(line for line in lines if line.strip())


# History: what was said in this session, newest first into the budget, oldest first in the text.
# It comes from the messages that a caller hands over, or else from the session's transcript. A tool
# call is one line. What follows the first line of a message is indented, so that no message can
# pass for another's.

TITLE = "# Earlier in this session"
ROLES = {"user": "user", "assistant": "agent", "tool": "tool"}
SHOWN_MESSAGES = 8  # messages that are listed, the newest
LONGEST = 400  # tokens of one message; more of it is cut
CHARACTERS = 20 * LONGEST  # of a message that are looked at


class Spoke(NamedTuple):
    role: str
    text: str


class Transcripts:
    """The newest transcript of a session, kept until it changes."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._kept: dict[str, tuple[tuple[int, int], list[Spoke]]] = {}

    def path(self, session: str) -> str:
        """The transcript of the session's newest window; empty if there is none."""
        return (archive.paths_of(self._home, session) or [""])[-1] if session else ""

    def said(self, path: str) -> list[Spoke]:
        try:
            found = (self._home.root / path).stat()
            signature = (found.st_mtime_ns, found.st_size)
            kept = self._kept.get(path)
            if kept and kept[0] == signature:
                return kept[1]
            turns = archive.read(self._home, path).turns
        except (TranscriptError, OSError):
            return []
        said = [Spoke(turn.role, turn.text) for turn in turns if turn.text.strip()]
        self._kept = {path: (signature, said)}
        return said


def of_messages(messages: Sequence[Message]) -> list[Spoke]:
    """The words of a message list, in the shape of any host."""
    found = []
    tools: dict[str, str] = {}
    for message in messages:
        tools.update(calls(message))
        role = ROLES.get(role_of(message), "")
        found.append(Spoke(role, said(message, tools).strip() if role else ""))
    return [one for one in found if one.text]


def pack(said: Sequence[Spoke], room: int, told: Once) -> Packed:
    """As many of the newest messages as fit, without a gap. `told`: what was said elsewhere."""
    left = room - tokenizer.count(f"{TITLE}\n\n")
    kept: list[str] = []
    for one in reversed(said):
        line = _line(one, told)
        size = tokenizer.count(f"{line}\n\n")
        if size > left:
            break
        kept.append(line)
        left -= size
    if not kept:
        return Packed(dropped=len(said))
    shown = kept[:SHOWN_MESSAGES]
    items = tuple(Item(label=label(line), tokens=tokenizer.count(line)) for line in shown)
    text = "\n\n".join([TITLE, *reversed(kept)])
    return Packed(text, room - left, items, dropped=len(said) - len(kept))


def _line(one: Spoke, told: Once) -> str:
    """A message. Its first line always stands; a later one that was told elsewhere does not."""
    text = one.text.strip()[:CHARACTERS]
    if tokenizer.count(text) > LONGEST:
        text = f"{tokenizer.cut(text, LONGEST).rstrip()} …"
    first, *rest = text.split("\n")
    kept = [f"  {line.rstrip()}" for line in rest if not told.has(line)]
    return "\n".join([f"**{one.role}**: {first.rstrip()}", *kept])
