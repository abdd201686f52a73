"""Phrases as data: the patterns and words of a JSON file, loaded when the first one is needed.

A name there stands for a pattern, in pieces (those that begin with "# " are remarks); for a list of
patterns, of which the first that matches wins; for patterns by name; or for words. `{NAME}` in a
pattern stands for another one. Patterns are anchored at the start of a clause wherever that is
possible, and bounded, so that time stays linear.
"""

import re
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import msgspec


@cache
def pattern(text: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    return re.compile(text, flags)


@cache
def lower(text: str) -> re.Pattern[str]:
    """For text in lower case: far quicker than a pattern that ignores case."""
    return re.compile(text)


class Phrases:
    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def raw(self) -> dict[str, Any]:
        return msgspec.json.decode(self._path.read_bytes(), type=dict[str, Any])

    def __getattr__(self, name: str) -> Any:
        if name not in self.raw:
            raise AttributeError(f"{self._path.name} has no {name}")
        value = self._read(self.raw[name])
        setattr(self, name, value)
        return value

    def text(self, pieces: list[str]) -> str:
        """A pattern put together from its pieces."""
        text = "".join(piece for piece in pieces if not piece.startswith("# "))
        return re.sub(r"\{(\w*[A-Z]\w*)\}", lambda name: self.text(self.raw[name[1]]), text)

    def _read(self, value: Any) -> Any:
        if isinstance(value, str):
            return frozenset(value.split())
        if isinstance(value, dict):
            items = value.items()
            return {name: one if isinstance(one, str) else self.text(one) for name, one in items}
        if isinstance(value[0], str):
            return self.text(value)
        return tuple(one for one in map(self.text, value) if one)


class Signs(Phrases):
    """Phrases whose patterns come compiled."""

    def _read(self, value: Any) -> Any:
        found = super()._read(value)
        return pattern(found) if isinstance(found, str) else found


cues = Phrases(Path(__file__).with_name("select") / "cues.json")
signs = Signs(Path(__file__).with_name("judge") / "signs.json")
