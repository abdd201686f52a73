"""Measure which topics come to an agent, on 200 labelled messages over 20 topics.

    python bench/topics.py [--part tuned|other] [--model PROVIDER/MODEL] [--json]

The set is in bench/topics/ (its README says how it was labelled). Odd ids were tuned on, even
ones not. No model is asked unless one is named.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from wakebook import Memory
from wakebook.base import clock
from wakebook.base.config import Config
from wakebook.recall.topics.activation import NOTED, Activator, quick_gate, verdict
from wakebook.recall.topics.triggers import Remark

SET = Path(__file__).parent / "topics"
DEFINITIONS = """\
A pair is a message and a topic. P = pairs that are both told and labelled / told; R = both /
labelled; over all messages (micro-averaged). Topics that are activated by hand are left out.
tier 1: a trigger matches. tier 2: the topic is alike enough by itself (strict_threshold).
tiers 1+2, no model: what Wakebook does without one. all three, a perfect gate: the same where a
model would be asked and always be right: the most that a gate can give. asked: how many pairs
that is, for 100 messages."""


@dataclass(frozen=True)
class Case:
    id: str
    message: str
    direction: str
    paths: tuple[str, ...]
    topics: frozenset[str]
    kind: str

    @property
    def tuned(self) -> bool:
        return int(self.id[1:]) % 2 == 1

    @property
    def said(self) -> Remark:
        return Remark(self.message, self.direction, self.paths)


@dataclass
class Score:
    right: int = 0
    told: int = 0
    labelled: int = 0
    asked: int = 0
    milliseconds: list[float] = field(default_factory=list)

    def add(self, told: set[str], wanted: frozenset[str]) -> None:
        self.right += len(told & wanted)
        self.told += len(told)
        self.labelled += len(wanted)

    def as_dict(self, cases: int) -> dict[str, Any]:
        precision = self.right / self.told if self.told else 0.0
        recall = self.right / self.labelled if self.labelled else 0.0
        both = precision + recall
        found: dict[str, Any] = {
            "P": round(precision, 3),
            "R": round(recall, 3),
            "F1": round(2 * precision * recall / both, 3) if both else 0.0,
            "told": self.told,
            "asked": round(100 * self.asked / cases, 1) if self.asked else 0,
        }
        if len(self.milliseconds) > 1:
            cuts = quantiles(self.milliseconds, n=100)
            found |= {"p50 ms": round(cuts[49], 3), "p95 ms": round(cuts[94], 3)}
        return found


def cases(part: str = "all") -> list[Case]:
    found = []
    for line in (SET / "messages.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found.append(
            Case(
                id=row["id"],
                message=row["message"],
                direction=row["direction"],
                paths=tuple(row["paths"]),
                topics=frozenset(row["topics"]),
                kind=row["note"].split(":")[0],
            )
        )
    return [case for case in found if part == "all" or case.tuned == (part == "tuned")]


Way = Callable[[Case], tuple[set[str], int]]


class Ways:
    """What each way would tell of a message."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._settings = memory.config.topics
        read = memory.topics.read()
        if read.bad:
            raise SystemExit("\n".join(map(str, read.bad)))
        self._activator = Activator(read)
        self._by_name = {topic.name: topic for topic in read.topics}
        self._manual = {topic.name for topic in read.topics if topic.activation == "manual"}

    def all(self, model: bool) -> dict[str, Way]:
        found: dict[str, Way] = {
            "tier 1": self.triggers,
            "tier 2": self.likeness,
            "tiers 1+2, no model": self.without_model,
            "all three, a perfect gate": self.perfect,
        }
        return found | ({"all three, the model": self.with_model} if model else {})

    def triggers(self, case: Case) -> tuple[set[str], int]:
        return {one.topic for one in self._activator.matched(case.said)} - self._manual, 0

    def likeness(self, case: Case) -> tuple[set[str], int]:
        if case.direction == "output":
            return set(), 0  # the agent's own words activate nothing by likeness
        scores = self._activator.likeness(case.said)
        strict = self._settings.strict_threshold
        return {name for name, score in scores.items() if score >= strict} - self._manual, 0

    def without_model(self, case: Case) -> tuple[set[str], int]:
        found = self._activator.activate(case.said, self._settings, None, clock.now())
        return {one.topic.name for one in found if one.decision.activated}, 0

    def perfect(self, case: Case) -> tuple[set[str], int]:
        return self._gated(case, lambda name: name in case.topics)

    def with_model(self, case: Case) -> tuple[set[str], int]:
        gate = quick_gate(self._memory.opened)
        found = self._activator.activate(case.said, self._settings, gate, clock.now())
        asked = sum(bool(one.decision.gate) for one in found)
        return {one.topic.name for one in found if one.decision.activated}, asked

    def _gated(self, case: Case, ask: Callable[[str], bool]) -> tuple[set[str], int]:
        matched, scores = self._activator.candidates(case.said)
        names = {one.topic for one in matched}
        seen = {name for name, score in scores.items() if score >= NOTED}
        told, asked = set(), 0
        for name in names | (seen if case.direction == "input" else set()):
            score = scores.get(name, 0.0)
            found = verdict(
                self._by_name[name], name in names, score, self._settings, case.direction
            )
            asked += found.outcome == "ask"
            if found.outcome == "activate" or (found.outcome == "ask" and ask(name)):
                told.add(name)
        return told, asked


def measure(ways: dict[str, Way], asked: Sequence[Case]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, way in ways.items():
        score = Score()
        for case in asked:
            begin = perf_counter()
            told, gates = way(case)
            score.milliseconds.append((perf_counter() - begin) * 1000)
            score.add(told, case.topics)
            score.asked += gates
        yield name, score.as_dict(len(asked))


def equip(folder: Path, model: str) -> Memory:
    config = Config()
    config = config.with_(
        git=config.git.with_(enabled=False), models=config.models.with_(main=model, cheap=model)
    )
    memory = Memory(folder, config=config)
    (folder / "config.toml").write_text("[git]\nenabled = false\n", encoding="utf-8")
    (folder / "topics").mkdir()
    for path in (SET / "topics").glob("*.md"):
        (folder / "topics" / path.name).write_bytes(path.read_bytes())
    return memory


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=("tuned", "other", "all"), default="all")
    parser.add_argument("--model", default="", help="provider/model of the gate")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(argv)
    os.environ.setdefault("WAKEBOOK_OFFLINE", "" if asked.model else "1")
    parts = ("tuned", "other") if asked.part == "all" else (asked.part,)
    with tempfile.TemporaryDirectory() as folder:
        ways = Ways(equip(Path(folder), asked.model)).all(bool(asked.model))
        found = {part: dict(measure(ways, cases(part))) for part in parts}
    if asked.json:
        print(json.dumps(found, indent=2))
        return
    print(DEFINITIONS)
    for part, rows in found.items():
        print(f"\n{part} half: {len(cases(part))} messages\n")
        print(
            "| | P | R | F1 | told | asked | p50 ms | p95 ms |\n|---|---|---|---|---|---|---|---|"
        )
        for name, row in rows.items():
            print(f"| {name} | " + " | ".join(str(value) for value in row.values()) + " |")


if __name__ == "__main__":
    main()
