"""Measure the rule-based extractor on labelled conversations.

`python bench/extraction.py [FILE...] [--errors] [--json]`; the format and the matching rule
stand in bench/extraction/README.md. Every conversation is one window: `extract` reads it at
once, `close` ends it, with the `known` entries as the log. It is read a second time message
by message, which has to give the same drafts.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from wakebook.capture.transcript import Message
from wakebook.derive.extract import Draft, Scene
from wakebook.derive.rules import RuleExtractor
from wakebook.log.entry import Entry

DEFAULT = Path(__file__).parent / "extraction" / "dev.jsonl"
START = datetime(2026, 3, 2, 9, tzinfo=UTC)
TYPES = ("task", "fact", "decision", "question")
DEFINITION = """\
A draft matches a gold entry when the type is the same, one of its turns is within one message
of the gold's, and all `must` substrings occur in its content + detail (lower case). Every
draft and every gold entry matches at most once; a task's status has to be the same. Handoffs
are not labelled and not counted.
P = matched / drafts, R = matched / gold, F1 = their harmonic mean; overall is micro-averaged.
replaces = of the matched gold entries that replace something, the share with the right target."""


class Score(NamedTuple):
    matched: int
    drafts: int
    gold: int

    def figures(self) -> dict[str, float]:
        p = self.matched / self.drafts if self.drafts else 0.0
        r = self.matched / self.gold if self.gold else 0.0
        return {"p": p, "r": r, "f1": 2 * p * r / (p + r) if p + r else 0.0}


class Case(NamedTuple):
    id: str
    messages: list[Message]
    known: list[Entry]
    gold: list[dict[str, Any]]
    drafts: list[Draft]
    stepwise: bool  # reading message by message gave the same
    pairs: list[tuple[int, int]]  # gold, draft


def read(path: Path) -> list[Case]:
    return [_case(json.loads(line)) for line in path.read_text("utf-8").splitlines() if line]


def _case(raw: dict[str, Any]) -> Case:
    messages = [
        Message(one["role"], one["text"], f"{raw['id']}-{n}", START + timedelta(minutes=n), turn=n)
        for n, one in enumerate(raw["messages"], 1)
    ]
    known = [_known(one) for one in raw.get("known", ())]
    drafts = run(messages, known, len(messages))
    same = drafts == run(messages, known, 1)
    return Case(
        raw["id"], messages, known, raw["entries"], drafts, same, _pairs(raw["entries"], drafts)
    )


def _known(raw: dict[str, Any]) -> Entry:
    return Entry(
        id=raw["id"],
        timestamp=START,
        type=raw["type"],
        content=raw["content"],
        session="earlier",
        status=raw.get("status"),
    )


def run(messages: Sequence[Message], known: Sequence[Entry], step: int) -> list[Draft]:
    """What catch_up does: deltas of `step` messages, drafts logged at once, then closing."""
    rules = RuleExtractor()
    current = list(known)
    found: list[Draft] = []
    for start in range(0, len(messages), max(step, 1)):
        scene = Scene(earlier=messages[:start], current=current)
        for draft in rules.extract(messages[start : start + step], scene):
            current = [one for one in current if one.id not in draft.replaces]
            current.append(_logged(draft))
            found.append(draft)
    return found + rules.close(messages, Scene(current=current))


def _logged(draft: Draft) -> Entry:
    return Entry(
        id=draft.id,
        timestamp=START,
        type=draft.type,
        content=draft.content,
        session="now",
        detail=draft.detail,
        subject=draft.subject,
        replaces=draft.replaces,
        status=draft.status,
        kind=draft.kind,
        evidence=draft.evidence,
    )


def _pairs(gold: Sequence[dict[str, Any]], drafts: Sequence[Draft]) -> list[tuple[int, int]]:
    """Pair gold entries and drafts: nearest evidence first, each at most once."""
    fits = sorted(
        (_distance(one, draft), g, d)
        for g, one in enumerate(gold)
        for d, draft in enumerate(drafts)
        if _fits(one, draft)
    )
    pairs: dict[int, int] = {}
    for _, g, d in fits:
        if g not in pairs and d not in pairs.values():
            pairs[g] = d
    return sorted(pairs.items())


def _fits(gold: dict[str, Any], draft: Draft) -> bool:
    text = f"{draft.content} {draft.detail}".lower()
    return (
        gold["type"] == draft.type
        and gold.get("status") == draft.status
        and _distance(gold, draft) <= 1
        and all(must in text for must in gold["must"])
    )


def _distance(gold: dict[str, Any], draft: Draft) -> int:
    return min(
        (abs(one - other) for one in gold["evidence"] for other in draft.evidence), default=99
    )


def scores(cases: Sequence[Case]) -> dict[str, Score]:
    found = {name: _score(cases, (name,)) for name in TYPES}
    return found | {"overall": _score(cases, TYPES)}


def _score(cases: Iterable[Case], types: tuple[str, ...]) -> Score:
    matched = drafts = gold = 0
    for case in cases:
        matched += sum(case.gold[g]["type"] in types for g, _ in case.pairs)
        drafts += sum(draft.type in types for draft in case.drafts)
        gold += sum(one["type"] in types for one in case.gold)
    return Score(matched, drafts, gold)


def replaced(cases: Sequence[Case]) -> tuple[int, int, int]:
    """Right targets, matched gold entries that have one, and targets nobody asked for."""
    right = asked = wrong = 0
    for case in cases:
        for g, d in case.pairs:
            target = case.gold[g].get("replaces")
            asked += target is not None
            right += target is not None and _aims(case, case.drafts[d], target)
            wrong += target is None and bool(case.drafts[d].replaces)
    return right, asked, wrong


def _aims(case: Case, draft: Draft, target: str) -> bool:
    if not target.startswith("m"):
        return target in draft.replaces
    message = case.messages[int(target[1:]) - 1]
    return any(one.id in draft.replaces and one.source == message.id for one in case.drafts)


def errors(cases: Sequence[Case]) -> Iterable[str]:
    for case in cases:
        hit = {g for g, _ in case.pairs}
        used = {d for _, d in case.pairs}
        for g, one in enumerate(case.gold):
            if g not in hit:
                said = " / ".join(case.messages[turn - 1].text for turn in one["evidence"])
                yield f"MISS  {case.id} {one['type']:8} {one['content']}"
                yield f"      said: {said[:300]!r}"
        for d, draft in enumerate(case.drafts):
            if d not in used and draft.type != "handoff":
                yield f"FALSE {case.id} {draft.type:8} {draft.content} [{draft.detail}]"
        for g, d in case.pairs:
            target = case.gold[g].get("replaces")
            if (target and not _aims(case, case.drafts[d], target)) or (
                not target and case.drafts[d].replaces
            ):
                aim = case.drafts[d].replaces
                yield f"AIM   {case.id} {case.drafts[d].content} -> {aim}, gold {target}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("files", nargs="*", type=Path, default=[DEFAULT])
    options.add_argument("--errors", action="store_true", help="list misses and false alarms")
    options.add_argument("--drafts", action="store_true", help="list all drafts")
    options.add_argument("--json", action="store_true", help="print the figures as JSON")
    asked = options.parse_args()
    start = perf_counter()
    cases = [case for path in asked.files for case in read(path)]
    seconds = perf_counter() - start
    table = scores(cases)
    right, wanted, wrong = replaced(cases)
    same = sum(case.stepwise for case in cases)
    if asked.json:
        print(
            json.dumps(
                {
                    "types": {name: one._asdict() | one.figures() for name, one in table.items()},
                    "replaces": {"right": right, "asked": wanted, "unasked": wrong},
                    "conversations": len(cases),
                    "same_stepwise": same,
                }
            )
        )
        return
    print(DEFINITION, end="\n\n")
    print(f"{'type':10}{'P':>7}{'R':>7}{'F1':>7}{'matched':>9}{'drafts':>8}{'gold':>6}")
    for name, one in table.items():
        f = one.figures()
        print(
            f"{name:10}{f['p']:7.2f}{f['r']:7.2f}{f['f1']:7.2f}"
            f"{one.matched:9}{one.drafts:8}{one.gold:6}"
        )
    print(f"\nreplaces: {right} of {wanted} right, {wrong} set where gold has none")
    print(f"message by message gives the same drafts: {same} of {len(cases)} conversations")
    print(f"{len(cases)} conversations read twice in {seconds:.2f} s")
    if asked.errors:
        print(*errors(cases), sep="\n")
    if asked.drafts:
        for case in cases:
            for draft in case.drafts:
                print(case.id, draft.type, "|", draft.content, "|", draft.detail, draft.kind or "")


if __name__ == "__main__":
    main()
