"""Fit what is told everywhere, here, or never again: `bench/fit_own.py [--check]`.

Every line of bench/labels/own.jsonl is a sentence that somebody typed while at work on something,
and whether it is to be told everywhere (it is about the person, or a wish for all that they do),
here alone, or not at all. Two logistic regressions with an L2 penalty over words, forms and the
built-in vector, `own` (everywhere or not) and `lasts` (to be told at all), are written to
learn/own.json. `--check` leaves out one writer at a time and prints what it makes of their
sentences; nothing is written then.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
sys.path.insert(1, str(Path(__file__).parents[1]))

from bench.fit_select import fit

from bench import labelled
from wakebook.learn.about import own_features
from wakebook.learn.select.said import embedder

TARGET = Path(__file__).parents[1] / "src" / "wakebook" / "learn" / "own.json"
SEEN = 3  # sentences that must have a feature for it to count
PENALTY, OF_VECTOR = 2.0, 0.3

Line = dict[str, Any]  # as its file has it
KINDS = {"own": ("everywhere",), "lasts": ("everywhere", "here")}


def matrix(given: Sequence[Line], names: Sequence[str]) -> Any:
    place = {name: n for n, name in enumerate(names)}
    vectors = np.array(embedder().embed([one["sentence"] for one in given]))
    x = np.zeros((len(given), len(names)))
    for row, one in enumerate(given):
        for name in own_features(one["sentence"]):
            if name in place:
                x[row, place[name]] = 1.0
    return np.hstack([x, np.ones((len(given), 1)), vectors])


def fitted(given: Sequence[Line], kind: str) -> tuple[list[str], Any]:
    seen = Counter(name for one in given for name in own_features(one["sentence"]))
    names = sorted(name for name, count in seen.items() if count >= SEEN)
    x = matrix(given, names)
    penalty = np.full(x.shape[1], PENALTY)
    penalty[len(names)], penalty[len(names) + 1 :] = 1e-3, OF_VECTOR
    wanted = np.array([float(one["label"] in KINDS[kind]) for one in given])
    return names, fit(x, wanted, np.ones(len(given)), penalty)


def check(given: Sequence[Line], kind: str) -> None:
    for writer in sorted({one["id"][0] for one in given}):
        rest = [one for one in given if one["id"][0] != writer]
        theirs = [one for one in given if one["id"][0] == writer]
        names, w = fitted(rest, kind)
        likely = 1 / (1 + np.exp(-matrix(theirs, names) @ w))
        right = np.array([one["label"] in KINDS[kind] for one in theirs])
        area = (likely[right][:, None] > likely[~right][None]).mean()
        shown = [
            f"{t}: {right[likely >= t].mean():.2f} right, {(likely[right] >= t).mean():.2f} found"
            for t in (0.5, 0.6, 0.7, 0.8)
        ]
        print(f"{kind}, {writer} ({len(theirs)}): area {area:.3f}; {'; '.join(shown)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="measure by writers, write nothing")
    given = labelled.lines("own")
    if parser.parse_args().check:
        for kind in KINDS:
            check(given, kind)
        return
    written = {}
    for kind in KINDS:
        names, w = fitted(given, kind)
        features = {"": w[len(names)]} | {name: w[n] for n, name in enumerate(names)}
        rounded = {name: round(float(one), 2) for name, one in features.items()}
        written[kind] = {
            "features": {name: one for name, one in rounded.items() if one} | {"vector": 1.0},
            "vector": [round(float(one), 2) for one in w[len(names) + 1 :]],
        }
        print(f"{kind}: {len(given):,} sentences, {len(names):,} features")
    TARGET.write_text(json.dumps(written, ensure_ascii=False, indent=0) + "\n", "utf-8")


if __name__ == "__main__":
    main()
