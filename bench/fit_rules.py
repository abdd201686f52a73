"""Fit the weights of the rule-based extractor: `python bench/fit_rules.py [--check]`.

Every clause of the labelled conversations gets the label of the gold entry that it states;
`fit_rules.txt` adds messages that are labelled by hand. A softmax with an L2 penalty is
fitted to the features (plain Python, no packages) and written to `select/weights.json`.
`--check` fits on four fifths of the conversations at a time, measures on the rest, and
writes nothing. Only the odd lines of dev-varied.jsonl are used.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from wakebook.base import words
from wakebook.capture.transcript import Message
from wakebook.learn.select.features import LABELS, Label, features
from wakebook.learn.select.ledger import Ledger, Turn
from wakebook.learn.select.reading import Part, parts

HERE = Path(__file__).parent
TARGET = HERE.parent / "src" / "wakebook" / "learn" / "select" / "weights.json"
LETTERS: dict[str, Label] = {"T": "task", "F": "fact", "D": "decision", "N": "none"}
SEEN = 4  # a feature counts if at least this many clauses have it
KEPT = 320
ROUNDS = 120
RATE = 0.05
PENALTY = {"bias": 0.0, "class": 0.75, "word": 5}
LEAST = {"task": 0.5, "fact": 0.6, "decision": 0.6}
FRAMED = 0.4  # of that, for a clause in a frame of its kind


class Example(NamedTuple):
    group: str  # the conversation: never split between fitting and checking
    found: frozenset[str]
    label: Label
    text: str


def examples() -> list[Example]:
    found: list[Example] = []
    for name, step in (("dev", 1), ("dev-long", 1), ("dev-varied", 2)):
        path = HERE / "extraction" / f"{name}.jsonl"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        for line in lines[::step]:
            found += conversation(json.loads(line))
    found += written((HERE / "fit_rules.txt").read_text("utf-8"))
    return found


def conversation(raw: dict[str, Any]) -> list[Example]:
    said = [(n, part) for n, turn in turns(raw) for _, group in parts(turn) for part in group]
    labels: dict[int, Label] = {}
    for gold in raw["entries"]:
        places = stating(gold, said)
        if places and gold["type"] in LABELS and gold.get("status") != "done":
            labels.setdefault(places[0], gold["type"])
    return list(labelled(raw["id"], said, labels))


def turns(raw: dict[str, Any]) -> Iterator[tuple[int, Turn]]:
    agent: tuple[Message, ...] = ()
    for n, one in enumerate(raw["messages"], 1):
        message = Message(one["role"], one["text"], str(n), turn=n)
        if one["role"] == "agent":
            agent = (*agent, message)
        else:
            yield n, Turn(message, agent, (message,), Ledger(()))
            agent = ()


def stating(gold: dict[str, Any], said: Sequence[tuple[int, Part]]) -> list[int]:
    """The clauses that may state a gold entry, the likeliest first."""
    wanted = words.terms(gold["content"])
    found: list[tuple[float, int]] = []
    for place, (n, part) in enumerate(said):
        if n not in gold["evidence"]:
            continue
        low = part.text.lower()
        shared = len(wanted & words.terms(low)) + 2 * sum(must in low for must in gold["must"])
        cue = 2 * (f"cue:{gold['type']}" in features(part.text, part.place))
        if shared:
            found.append((-shared - cue, place))
    return [place for _, place in sorted(found)]


def labelled(
    group: str, said: Sequence[tuple[int, Part]], labels: dict[int, Label]
) -> Iterator[Example]:
    for place, (_, part) in enumerate(said):
        label = labels.get(place, "none")
        yield Example(group, features(part.text, part.place), label, part.text)


def written(text: str) -> list[Example]:
    found: list[Example] = []
    for count, line in enumerate(text.splitlines()):
        if not line or line.startswith("#"):
            continue
        pieces = [piece.strip().partition(" ") for piece in line.split("||")]
        whole = ". ".join(piece[2] for piece in pieces)
        agent = Message("agent", "Understood.", "a")
        turn = Turn(Message("user", whole, "m"), (agent,), (), Ledger(()))
        said = [(1, part) for _, group in parts(turn) for part in group]
        labels: dict[int, Label] = {}
        for letter, _, piece in pieces:
            gold = {"content": piece, "must": (), "evidence": (1,)}
            places = stating(gold | {"type": LETTERS[letter]}, said)
            if places:
                labels[places[0]] = LETTERS[letter]
        found += labelled(f"written-{count}", said, labels)
    return found


Weights = dict[str, list[float]]


def fit(data: Sequence[Example]) -> Weights:
    """The features that count most, then their weights."""
    counts = Counter(name for one in data for name in one.found)
    kept = sorted(name for name, count in counts.items() if count >= SEEN)
    first = descend(data, kept, ROUNDS // 2)
    worth = {name: (max(row) - min(row)) * math.sqrt(counts[name]) for name, row in first.items()}
    best = sorted(sorted(worth), key=lambda name: -worth[name])[:KEPT]
    return descend(data, best, ROUNDS)


def descend(data: Sequence[Example], kept: Sequence[str], rounds: int) -> Weights:
    """Adam on the log loss with an L2 penalty, all examples at once."""
    weights: Weights = {name: [0.0] * 4 for name in [*kept, "bias"]}
    mean: Weights = {name: [0.0] * 4 for name in weights}
    power: Weights = {name: [1e-8] * 4 for name in weights}
    rows = [([*sorted(one.found & set(kept)), "bias"], LABELS.index(one.label)) for one in data]
    for count in range(1, rounds + 1):
        slopes = {
            name: [PENALTY[kind(name)] * value for value in row] for name, row in weights.items()
        }
        for names, label in rows:
            likely = softmax(weights, names)
            likely[label] -= 1
            for name in names:
                row = slopes[name]
                for place in range(4):
                    row[place] += likely[place]
        for name, row in slopes.items():
            for place, slope in enumerate(row):
                mean[name][place] += 0.1 * (slope - mean[name][place])
                power[name][place] += 0.01 * (slope * slope - power[name][place])
                ahead = mean[name][place] / (1 - 0.9**count)
                weights[name][place] -= (
                    RATE * ahead / math.sqrt(power[name][place] / (1 - 0.99**count))
                )
    return weights


def kind(name: str) -> str:
    if name == "bias":
        return name
    return "word" if name[:2] in ("w:", "1:") or "+" in name or ">" in name else "class"


def softmax(weights: Weights, names: Sequence[str]) -> list[float]:
    totals = [0.0] * 4
    for name in names:
        row = weights.get(name)
        if row:
            for place in range(4):
                totals[place] += row[place]
    top = max(totals)
    powers = [math.exp(total - top) for total in totals]
    return [power / sum(powers) for power in powers]


def judge(weights: Weights, one: Example) -> Label:
    likely = dict(zip(LABELS, softmax(weights, [*sorted(one.found), "bias"]), strict=True))
    best = max(LABELS[:3], key=lambda label: likely[label] / LEAST[label])
    return best if likely[best] >= LEAST[best] else "none"


def check(data: Sequence[Example], verbose: bool) -> None:
    groups = sorted({one.group for one in data})
    groups.sort(key=lambda group: hashlib.sha256(group.encode()).digest())
    fold = {group: place % 5 for place, group in enumerate(groups)}
    hits: Counter[tuple[str, str, str]] = Counter()
    for number in range(5):
        weights = fit([one for one in data if fold[one.group] != number])
        for one in data:
            if fold[one.group] == number:
                found = judge(weights, one)
                kind = one.group.partition("-")[0]
                hits[kind, one.label, found] += 1
                if verbose and found != one.label and kind != "written":
                    print(f"{one.group} {one.label} -> {found}: {one.text}")
    for kind in sorted({key[0] for key in hits}):
        for label in LABELS[:3]:
            right = hits[kind, label, label]
            drawn = sum(n for (k, _, f), n in hits.items() if k == kind and f == label)
            gold = sum(n for (k, g, _), n in hits.items() if k == kind and g == label)
            print(f"{kind:8} {label:9} P {right / max(drawn, 1):.2f} R {right / max(gold, 1):.2f}")


def write(weights: Weights) -> None:
    lines = [
        f"{json.dumps(name)}: [{', '.join(f'{value:.2f}' for value in row)}]"
        for name, row in sorted(weights.items())
    ]
    head = f'{{\n"least": {json.dumps(LEAST)},\n"framed": {FRAMED},\n"weights": {{\n'
    TARGET.write_text(head + ",\n".join(lines) + "\n}\n}\n", "utf-8")
    print(f"{len(lines)} features written to {TARGET}")


def main() -> None:
    data = examples()
    print(len(data), "clauses", Counter(one.label for one in data))
    if "--check" in sys.argv:
        check(data, "--errors" in sys.argv)
    else:
        write(fit(data))


if __name__ == "__main__":
    main()
