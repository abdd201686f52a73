"""The home of the golden queries: golden.toml as entries, notes and archived conversations."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.store.making import append, entry, fresh, name, note, transcript
from wakebook import Memory
from wakebook.log import subjects

DATA: dict[str, Any] = tomllib.loads(Path(__file__).with_name("golden.toml").read_text("utf-8"))


class Golden(NamedTuple):
    level: str
    text: str
    wants: Sequence[str]  # words that only the right answers have


QUERIES = [Golden(**one) for one in DATA["query"]]


def home(folder: Path) -> Memory:
    memory = fresh(folder)
    registry = subjects.load(memory.home).ensure(["lanternfish", "gwylan"])
    subjects.save(memory.home, registry)
    for one in DATA["conversation"]:
        turns = [(role, text) for role, text in one["turns"]]
        transcript(memory, one["session"], turns, start=one["start"])
    for one in DATA["note"]:
        note(memory, one["path"], one["text"].lstrip(), modified=1_780_000_000)
    for one in DATA["entry"]:
        fields = {key: value for key, value in one.items() if key not in ("number", "content")}
        fields["replaces"] = tuple(map(name, one.get("replaces", ())))
        append(memory, entry(one["number"], one["content"], **fields))
    memory.index.sync()
    return memory
