"""Message lists in the shapes of three hosts, made from one short script.

("user", "text")   ("assistant", "text")   ("system", "text")
("call", "id", "tool")   ("result", "id", "text")   ("image", "id", "text")
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from wakebook.recall import messages as view

Step = tuple[str, ...]
Shape = Callable[[Sequence[Step]], list[Any]]
PICTURE = {"type": "image", "data": "aGVsbG8=" * 100, "mimeType": "image/png"}


def openai(steps: Sequence[Step]) -> list[Any]:
    return [_openai(step) for step in steps]


def _openai(step: Step) -> Any:
    kind, first, *rest = step
    if kind == "call":
        function = {"name": rest[0], "arguments": "{}"}
        call = {"id": first, "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    if kind == "result":
        return {"role": "tool", "tool_call_id": first, "content": rest[0]}
    if kind == "image":
        url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}
        parts = [{"type": "text", "text": rest[0]}, url]
        return {"role": "tool", "tool_call_id": first, "content": parts}
    return {"role": kind, "content": first}


def anthropic(steps: Sequence[Step]) -> list[Any]:
    return [_anthropic(step) for step in steps]


def _anthropic(step: Step) -> Any:
    kind, first, *rest = step
    if kind == "call":
        block = {"type": "tool_use", "id": first, "name": rest[0], "input": {}}
        return {"role": "assistant", "content": [block]}
    if kind in ("result", "image"):
        content: Any = rest[0]
        if kind == "image":
            source = {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}
            content = [{"type": "text", "text": rest[0]}, {"type": "image", "source": source}]
        block = {"type": "tool_result", "tool_use_id": first, "content": content}
        return {"role": "user", "content": [block]}
    return {"role": kind, "content": first if kind == "system" else [_text(first)]}


def pi(steps: Sequence[Step]) -> list[Any]:
    names = {step[1]: step[2] for step in steps if step[0] == "call"}
    return [_pi(step, names) for step in steps]


def _pi(step: Step, names: dict[str, str]) -> Any:
    kind, first, *rest = step
    if kind == "call":
        block = {"type": "toolCall", "id": first, "name": rest[0], "arguments": {}}
        return {"role": "assistant", "content": [block], "stopReason": "toolUse"}
    if kind in ("result", "image"):
        content = [_text(rest[0]), *([PICTURE] if kind == "image" else [])]
        about = {"toolCallId": first, "toolName": names[first], "isError": False}
        return {"role": "toolResult", **about, "content": content}
    return {"role": kind, "content": first}


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


SHAPES: list[Shape] = [openai, anthropic, pi]


def told(messages: Sequence[Any]) -> list[str]:
    """The texts of the tool results, in order."""
    return [one.text for one in view.results(messages)]


def frozen(messages: Sequence[Any]) -> str:
    """Everything that is in a list, to see later whether it has changed."""
    return json.dumps(messages)


def some(seed: int) -> list[Any]:
    """A long conversation of chance: several calls at once, pictures, system messages in between,
    open calls, ids that are used again, and messages that nobody understands."""
    chance = random.Random(seed)
    steps: list[Step] = [("system", "You are an agent.")] * chance.randint(0, 2)
    if chance.random() < 0.3:  # it reads who it is before anybody speaks
        steps += [("call", "soul", "read"), ("result", "soul", "I am. " * 2_000)]
    for _ in range(chance.randint(0, 25)):
        steps += _some_steps(chance)
    found = chance.choice(SHAPES)(steps)
    for _ in range(chance.randint(0, 3)):
        strange: Any = chance.choice([{"role": "custom", "x": [1]}, "a line", None, {"no": "role"}])
        found.insert(chance.randint(0, len(found)), strange)
    return found


def _some_steps(chance: random.Random) -> list[Step]:
    if chance.random() < 0.4:
        return [("user", "do it " * chance.randint(1, 30))]
    if chance.random() < 0.3:
        return [("assistant", "I think so. " * chance.randint(1, 60))]
    if chance.random() < 0.1:
        return [("system", "Note this.")]
    names = [f"c{chance.randint(0, 9)}" for _ in range(chance.randint(1, 3))]
    names = list(dict.fromkeys(names))
    calls: list[Step] = [("call", one, chance.choice(["read", "exec", "web"])) for one in names]
    answered = names if chance.random() < 0.9 else names[1:]
    kinds = {one: "image" if chance.random() < 0.15 else "result" for one in names}
    size = chance.choice([10, 300, 2_000, 12_000])
    return calls + [(kinds[one], one, "text of it " * chance.randint(0, size)) for one in answered]
