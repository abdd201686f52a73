"""The labelled conversations: bench/labels/*.jsonl, joined with the data that they are about.

Conversations that were written for this project stand in the files; for those of LongMemEval and
LoCoMo only the labels do, and `--data` names the folder with longmemeval/*.json(.xz) and
locomo/*.json.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

LABELS = Path(__file__).parent / "labels"
NUMBERS = dict(
    zip(
        "zero one two three four five six seven eight nine ten eleven twelve".split(),
        map(str, range(13)),
        strict=True,
    )
)


class Item(NamedTuple):
    turn: int
    text: str
    must: tuple[str, ...]
    type: tuple[str, ...]
    weight: int
    turns: frozenset[int]  # all that say it
    replaces: tuple[str, int] | None
    slot: str


class Session(NamedTuple):
    id: str
    source: str
    date: str
    group: str
    pair: int
    turns: tuple[tuple[str, str], ...]  # role, text
    items: tuple[Item, ...]
    fine: frozenset[int]


def sessions(name: str, data: Path | None) -> list[Session]:
    """The set `dev` or `locked`; without `data`, only what was written for this project."""
    found = []
    for line in (LABELS / f"{name}.jsonl").read_text("utf-8").splitlines():
        raw = json.loads(line)
        turns = raw.get("turns") or (_turns(raw, data) if data else None)
        if turns:
            found.append(_session(raw, turns))
    return found


def _session(raw: dict[str, Any], turns: Iterable[Any]) -> Session:
    items = tuple(
        Item(
            one["turn"],
            one["text"],
            tuple(one["must"]),
            tuple(one["type"]),
            one["weight"],
            frozenset((one["turn"], *one.get("also", ()))),
            tuple(one["replaces"]) if "replaces" in one else None,
            one.get("slot", ""),
        )
        for one in raw["items"]
    )
    said = tuple(("user" if turn["role"] == "user" else "agent", turn["content"]) for turn in turns)
    fine = frozenset(raw["fine"])
    return Session(
        raw["id"], raw["source"], raw["date"], raw["group"], raw.get("pair", 0), said, items, fine
    )


def _turns(raw: dict[str, Any], data: Path) -> list[dict[str, str]]:
    if raw["source"] == "longmemeval":
        turns: list[dict[str, str]] = longmemeval(data)["sessions"][raw["id"]]
        return turns
    _, conversation, number = raw["id"].split("-")
    talk = _locomo(data)[int(conversation)]["conversation"]
    return [
        {
            "role": "user" if turn["speaker"] == talk["speaker_a"] else "assistant",
            "content": turn["text"],
        }
        for turn in talk[f"session_{number}"]
    ]


@cache
def longmemeval(data: Path) -> Any:
    path = next(iter(sorted((data / "longmemeval").glob("*.json*"))), None)
    if path is None:
        raise SystemExit(f"{data}: has no longmemeval/*.json or *.json.xz. Give another --data.")
    data_ = path.read_bytes()
    return json.loads(lzma.decompress(data_) if path.suffix == ".xz" else data_)


@cache
def _locomo(data: Path) -> Any:
    path = next(iter(sorted((data / "locomo").glob("*.json"))), None)
    if path is None:
        raise SystemExit(f"{data}: has no locomo/*.json. Give another --data.")
    return json.loads(path.read_text("utf-8"))


# --- whether a text has a label's words ------------------------------------------------------


def normal(text: str) -> str:
    text = text.lower().translate(str.maketrans("’‘“”–—", "''\"\"--"))
    return " ".join(text.split())


def has(text: str, must: Iterable[str]) -> bool:
    """Every group occurs: one of its alternatives begins a word (a number: is one)."""
    text = normal(text)
    return all(any(_begins(alternative, text) for alternative in one.split("|")) for one in must)


def _begins(wanted: str, text: str) -> bool:
    wanted = normal(wanted)
    if re.fullmatch(r"[\d.,/%$-]+", wanted):
        pattern = rf"(?<![\d.,]){re.escape(wanted)}(?!\d|[.,]\d)"
    elif len(wanted) <= 3 and wanted.isalnum():
        ends = r"(?:'s|e?s|e?d|\w?ing)?" if len(wanted) == 3 else ""
        pattern = rf"(?<![a-z0-9]){re.escape(wanted)}{ends}(?![a-z0-9])"
    else:
        pattern = rf"(?<![a-z0-9]){re.escape(wanted)}"
    return re.search(pattern, text) is not None
