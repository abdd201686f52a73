"""The labelled conversations: bench/labels/*.jsonl, joined with the data that they are about.

Conversations that were written for this project stand in the files; for those of LongMemEval and
LoCoMo only the labels do, and `--data` names the folder with longmemeval/*.json(.xz) and
locomo/*.json. WAKEBOOK_LABELS names another folder, with labels of your own. bench/labels/README.md
says more.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from wakebook.store.words import STOP_WORDS

LABELS = Path(__file__).parent / "labels"
NUMBERS = dict(
    zip(
        "zero one two three four five six seven eight nine ten eleven twelve".split(),
        map(str, range(13)),
        strict=True,
    )
)
_WORD = re.compile(r"[^\W_]+(?:['.,/&+-][^\W_]+)*")
_ENDING = re.compile(r"(?<=\w{4})(?:ing|ed|es|s)$")
SMALL = STOP_WORDS["english"] | set(
    "actually currently going lately like one plan planning really recently speaking think "
    "thinking time user user's way whether".split()
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
    date: str  # 2023/04/03 (Mon) 14:18
    group: str
    pair: int  # of conversations of one person, the later of which changes something; 0: none
    turns: tuple[tuple[str, str], ...]  # role, text
    items: tuple[Item, ...]
    fine: frozenset[int]

    @property
    def has_nothing(self) -> bool:
        """Whether nothing of it is worth keeping, nor would be fine."""
        return not (self.items or self.fine)


def sessions(name: str, data: Path | None) -> list[Session]:
    """The set `dev` or `locked`; without `data`, only what was written for this project."""
    found = []
    for raw in lines(name):
        turns = raw.get("turns") or (_turns(raw, data) if data else None)
        if turns:
            found.append(_session(raw, turns))
    return found


def lines(name: str) -> list[dict[str, Any]]:
    text = (Path(os.environ.get("WAKEBOOK_LABELS") or LABELS) / f"{name}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _session(raw: dict[str, Any], turns: Iterable[Any]) -> Session:
    said = tuple(("user" if turn["role"] == "user" else "agent", turn["content"]) for turn in turns)
    fine, pair = frozenset(raw["fine"]), raw.get("pair", 0)
    return Session(
        raw["id"], raw["source"], raw["date"], raw["group"], pair, said, items(raw), fine
    )


def items(raw: dict[str, Any]) -> tuple[Item, ...]:
    return tuple(
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


def _turns(raw: dict[str, Any], data: Path) -> list[dict[str, str]]:
    if raw["source"] == "longmemeval":
        turns: list[dict[str, str]] = longmemeval(data).sessions[raw["id"]]
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


class Question(NamedTuple):
    """A question of LongMemEval, with the dates of the conversations that hold its answer."""

    id: str
    kind: str
    text: str
    answer: str
    sessions: dict[str, str]


class LongMemEval(NamedTuple):
    questions: list[Question]
    sessions: dict[str, list[dict[str, Any]]]
    dates: dict[str, str]


@cache
def longmemeval(data: Path) -> LongMemEval:
    """As it is published (a list of questions with their conversations), or each of them once."""
    path = next(iter(sorted((data / "longmemeval").glob("*.json*"))), None)
    if path is None:
        raise SystemExit(f"{data}: has no longmemeval/*.json or *.json.xz. Give another --data.")
    stored = path.read_bytes()
    raw = json.loads(lzma.decompress(stored) if path.suffix == ".xz" else stored)
    shared = raw["sessions"] if isinstance(raw, dict) else {}
    found = LongMemEval([], shared, {})
    for one in raw["questions"] if isinstance(raw, dict) else raw:
        if isinstance(raw, dict):
            dates = {part["session"]: part["date"] for part in one["haystack"]}
        else:
            ids = one["haystack_session_ids"]
            dates = dict(zip(ids, one["haystack_dates"], strict=True))
            shared.update(zip(ids, one["haystack_sessions"], strict=True))
        found.dates.update(dates)
        answers = {name: date for name, date in dates.items() if name in one["answer_session_ids"]}
        about = (one["question_id"], one["question_type"], one["question"], str(one["answer"]))
        found.questions.append(Question(*about, answers))
    return found


@cache
def _locomo(data: Path) -> Any:
    path = next(iter(sorted((data / "locomo").glob("*.json"))), None)
    if path is None:
        raise SystemExit(f"{data}: has no locomo/*.json. Give another --data.")
    return json.loads(path.read_text("utf-8"))


# --- whether a text has a label's words ------------------------------------------------------


def normal(text: str) -> str:
    text = text.lower().translate(str.maketrans("’‘“”–", "''\"\"-")).replace("—", " - ")
    return " ".join(text.split())


def words(text: str) -> list[str]:
    return _WORD.findall(normal(text))


def stem(word: str) -> str:
    """A word without its ending; a number in digits."""
    return _ENDING.sub("", NUMBERS.get(word, word))


def content(text: str) -> set[str]:
    """The stems of the words that say something."""
    said = (word for word in words(text) if len(word) > 2 or word.isdigit())
    return {stem(word) for word in said if word not in SMALL}


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
