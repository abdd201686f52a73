"""The phrases that the rules know, as data: phrases.json, loaded when the first one is needed.

A name there stands for a pattern, in pieces (those that begin with "# " are remarks); for a list of
patterns, of which the first that matches wins; for patterns by name; or for words. `{NAME}` in a
pattern stands for another one. Patterns are anchored at the start of a clause wherever that is
possible, and bounded, so that time stays linear.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec


@cache
def pattern(text: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    return re.compile(text, flags)


def __getattr__(name: str) -> Any:
    if name not in _raw():
        raise AttributeError(f"phrases.json has no {name}")
    value = globals()[name] = _read(_raw()[name])
    return value


@cache
def _raw() -> dict[str, Any]:
    return loaded("phrases.json")


def loaded(name: str) -> dict[str, Any]:
    """A file of data beside this one."""
    data = Path(__file__).with_name(name).read_bytes()
    return msgspec.json.decode(data, type=dict[str, Any])


def _read(value: Any) -> Any:
    if isinstance(value, str):
        return frozenset(value.split())
    if isinstance(value, dict):
        return {name: one if isinstance(one, str) else _joined(one) for name, one in value.items()}
    if isinstance(value[0], str):
        return _joined(value)
    return tuple(one for one in map(_joined, value) if one)


def _joined(pieces: list[str]) -> str:
    text = "".join(piece for piece in pieces if not piece.startswith("# "))
    return re.sub(r"\{(\w*[A-Z]\w*)\}", lambda name: _joined(_raw()[name[1]]), text)
