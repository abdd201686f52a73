"""JSON objects in a model's answer, one by one, whatever stands around them.

An answer should be one object a line. Models also put a fence around it, explain themselves,
pretty-print, wrap the objects in a list or in one more object, or are cut off in the middle.
Each object that can be read and passes the check is kept; each that cannot is rejected with a
reason that the model itself can act on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")
SHOWN = 300  # characters of a rejected line
DEEPEST = 20


@dataclass(frozen=True)
class Rejected:
    line: str
    reason: str


@dataclass(frozen=True)
class Lines(Generic[T]):
    kept: list[T]
    rejected: list[Rejected]
    by: str = ""  # the model and the prompt
    cut: bool = False  # there was more to say


def sort(text: str, check: Callable[[dict[str, Any]], T], most: int) -> Lines[T]:
    """The objects of an answer, checked. More than `most` is no answer at all."""
    kept: list[T] = []
    rejected: list[Rejected] = []
    for count, found in enumerate(objects(text)):
        if count == most:
            return Lines([], [Rejected("", f"there are more than {most} objects")])
        if isinstance(found, Rejected):
            rejected.append(found)
            continue
        try:
            kept.append(check(found))
        except ValueError as error:
            rejected.append(Rejected(json.dumps(found, ensure_ascii=False)[:SHOWN], str(error)))
    if not kept and not rejected:
        reason = "there is no JSON object in the answer" if text.strip() else "the answer is empty"
        rejected = [Rejected(text.strip()[:SHOWN], reason)]
    return Lines(kept, rejected)


def objects(text: str) -> Iterator[dict[str, Any] | Rejected]:
    decoder = json.JSONDecoder(strict=False)
    position = text.find("{")
    while position >= 0:
        try:
            found, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            end = text.find("\n", position)
            end = len(text) if end < 0 else end
            yield Rejected(text[position:end][:SHOWN], f"no valid JSON: {_reason(error)}")
        else:
            if _depth(found) > DEEPEST:
                yield Rejected(text[position:end][:SHOWN], "no valid line: nested too deeply")
            else:
                yield from _unwrapped(_whole(found))
        position = text.find("{", end)


def _reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(getattr(error, "msg", "a number is too long"))


def _depth(value: Any) -> int:
    """How deeply lists and objects are nested, as far as it matters."""
    depth, level = 0, [value]
    while level and depth <= DEEPEST:
        depth += 1
        inner = [one.values() if isinstance(one, dict) else one for one in level]
        level = [one for items in inner for one in items if isinstance(one, dict | list)]
    return depth


def _whole(found: dict[str, Any]) -> dict[str, Any]:
    """Without halves of characters, which cannot be written anywhere."""
    text = json.dumps(found, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        mended: dict[str, Any] = json.loads(text.encode("utf-8", "replace"))
        return mended
    return found


def _unwrapped(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """{"entries": [{...}, {...}]} is its list."""
    inner = next(iter(found.values())) if len(found) == 1 else None
    if isinstance(inner, list) and inner and all(isinstance(item, dict) for item in inner):
        yield from inner
    else:
        yield found
