"""Fit the weights of learning without a model: `bench/fit_select.py --data FOLDER [--check]`.

Every sentence of the users in bench/labels/dev.jsonl is a case: worth keeping if it has the words
of a label, not worth it if its turn is neither labelled nor fine. A logistic regression with an L2
penalty over the features and the built-in vector (and once over the features alone, for other
languages) gives `features`, `vector` and `plain`.

The result is written to learn/select/weights.json. `--check` fits on four fifths of the
conversations at a time, prints precision and recall on the rest by threshold, and writes nothing.
What replaces what is fitted on all sets of bench/changing.py, and checked set by set; `--changes`
fits only that. What is worth keeping is never fitted on the locked set.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
sys.path.insert(1, str(Path(__file__).parents[1]))

from bench import changing, labelled
from wakebook.learn.select import worth
from wakebook.learn.select.said import chance, embedder
from wakebook.learn.select.speech import Sentence, sentences

TARGET = Path(__file__).parents[1] / "src" / "wakebook" / "learn" / "select" / "weights.json"
SEEN = 12  # sentences that must have a feature for it to count
PENALTY = 6.0
FOLDS = 5
SCALE = 4.0  # of the vector, beside features of 1
THRESHOLD = 0.56
PLAIN_THRESHOLD = 0.5  # words of other languages are no features, so fewer speak for it
CHANGES_PENALTY = 2.0
CHANGES_THRESHOLD = 0.6
CONTRAST = 0.15  # weight of pairs that are alike on purpose
CHANGING = 0.4  # weight of sentences whose conversations are not labelled exhaustively
TALKS = 1.0  # weight of what is said in one place: the judge has not seen these
LIVES = 0.5  # weight of pairs that were written for this
STRANGERS = 3.0  # weight of pairs out of hundreds of conversations, where most share nothing
STRANGE = 0.99  # weight of conversations without labels, in which hardly anything changes
LONGEST = 40  # words of a sentence that can be kept

Matrix = Any  # numpy's arrays; their exact types say nothing here


class Case(NamedTuple):
    session: int
    turn: int
    sentence: Sentence
    features: dict[str, float]
    label: int  # 1 worth keeping, 0 not, 2 would be fine
    weight: float = 1.0


def cases(given: Sequence[labelled.Session]) -> list[Case]:
    found = []
    for number, session in enumerate(given):
        for turn, (role, text) in enumerate(session.turns):
            if role == "user":
                found += _cases(number, session, turn, text)
    for number, (said, wanted) in enumerate(changing.messages(), len(given)):
        found += [
            Case(number, 0, one, worth.features(one, said), int(one.text in wanted), CHANGING)
            for one in said
            if not one.asked
        ]
    return found


def _cases(number: int, session: labelled.Session, turn: int, text: str) -> list[Case]:
    said = sentences(text)
    wanted: set[int] = set()
    for item in session.items:
        if turn in item.turns:
            hits = [n for n, one in enumerate(said) if labelled.has(one.text, item.must)]
            part = [sum(labelled.has(one.text, [must]) for must in item.must) for one in said]
            if hits:
                wanted.add(next((n for n in hits if not said[n].asked), hits[0]))
            elif any(part):
                wanted.add(max(range(len(part)), key=part.__getitem__))
    other = 2 if turn in session.fine else 0
    return [
        Case(number, turn, one, worth.features(one, said), 1 if n in wanted else other)
        for n, one in enumerate(said)
        if not one.asked
    ]


def vocabulary(given: Sequence[Case]) -> list[str]:
    seen = Counter(name for case in given for name in case.features)
    return sorted(name for name, count in seen.items() if count >= SEEN)


def matrix(
    given: Sequence[Case | changing.Case], names: Sequence[str], vectors: Matrix | None
) -> Matrix:
    place = {name: n for n, name in enumerate(names)}
    found = np.zeros((len(given), len(names) + 1))
    found[:, -1] = 1.0
    for row, case in enumerate(given):
        for name, value in case.features.items():
            if name in place:
                found[row, place[name]] = value
    return found if vectors is None else np.hstack([found, vectors * SCALE])


def fit(x: Matrix, y: Matrix, weight: Matrix, penalty: Matrix) -> Matrix:
    """Logistic regression by Newton's method."""
    found = np.zeros(x.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-np.clip(x @ found, -30, 30)))
        slope = x.T @ (weight * (chance - y)) + penalty * found
        curve = (x * (weight * chance * (1 - chance))[:, None]).T @ x + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        found -= step
        if np.abs(step).max() < 1e-5:
            break
    return found


def fitted(given: Sequence[Case], vectors: Matrix | None) -> tuple[list[str], Matrix]:
    clear = [n for n, case in enumerate(given) if case.label != 2]
    chosen = [given[n] for n in clear]
    names = vocabulary(chosen)
    x = matrix(chosen, names, None if vectors is None else vectors[clear])
    penalty = np.full(x.shape[1], PENALTY)
    penalty[len(names)] = 1e-3
    weight = np.array([case.weight for case in chosen])
    return names, fit(x, np.array([float(c.label) for c in chosen]), weight, penalty)


def chances(given: Sequence[Case], vectors: Matrix | None, names: list[str], w: Matrix) -> Matrix:
    return 1 / (1 + np.exp(-matrix(given, names, vectors) @ w))


def check(given: Sequence[labelled.Session], all_: Sequence[Case], vectors: Matrix | None) -> None:
    order = np.random.RandomState(1).permutation(all_[-1].session + 1) % FOLDS
    fold = np.array([order[case.session] for case in all_])
    found = np.zeros(len(all_))
    for one in range(FOLDS):
        inside, outside = np.where(fold != one)[0], np.where(fold == one)[0]
        part = None if vectors is None else vectors[inside]
        names, w = fitted([all_[n] for n in inside], part)
        part = None if vectors is None else vectors[outside]
        found[outside] = chances([all_[n] for n in outside], part, names, w)
    for threshold in (0.5, 0.55, 0.6, 0.65, 0.7, 0.75):
        told(given, all_, found >= threshold, f"{threshold:.2f}")


def told(given: Sequence[labelled.Session], all_: Sequence[Case], kept: Matrix, name: str) -> None:
    labels = np.array([case.label for case in all_])
    by_turn: dict[tuple[int, int], list[str]] = {}
    for case, yes in zip(all_, kept, strict=True):
        if yes and len(case.sentence.text.split()) <= LONGEST:
            by_turn.setdefault((case.session, case.turn), []).append(case.sentence.text)
    total = got = 0
    for number, session in enumerate(given):
        for item in session.items:
            texts = [text for turn in item.turns for text in by_turn.get((number, turn), ())]
            total += item.weight
            got += item.weight * any(labelled.has(text, item.must) for text in texts)
    good = (labels[kept] > 0).mean() if kept.any() else 0.0
    per = kept.sum() / len(given)
    print(
        f"threshold {name}: precision {good:.3f}, weighted recall {got / total:.3f}, {per:.1f} each"
    )


# --- what replaces what ----------------------------------------------------------------------


def fitted_changes(given: Sequence[changing.Case]) -> dict[str, float]:
    clear = [case for case in given if case.right is not None]
    names = sorted({name for case in clear for name in case.features})
    x = matrix(clear, names, None)
    penalty = np.full(x.shape[1], CHANGES_PENALTY)
    penalty[-1] = 1e-3
    weight = np.array([case.weight for case in clear])
    return _named(names, fit(x, np.array([float(bool(c.right)) for c in clear]), weight, penalty))


def check_changes(given: dict[str, list[changing.Case]]) -> None:
    """By sets, each measured by what was fitted on the others, since writers differ: of the
    sentences that replace something, how many would, and how many others."""
    for name, part in given.items():
        known = fitted_changes([c for one, it in given.items() if one != name for c in it])
        best: dict[tuple[str, int], tuple[float, int | None]] = {}
        for case in part:
            key, likely = (case.group, case.said), chance(known, case.features)
            best[key] = max(best.get(key, (0.0, 0)), (likely, case.right), key=lambda it: it[0])
        wanted = len({(case.group, case.said) for case in part if case.right})
        shown = []
        for threshold in (0.4, 0.5, 0.55, 0.6, 0.7):
            made = [right for likely, right in best.values() if likely >= threshold]
            shown.append(f"{threshold}: {made.count(1)} right, {made.count(0)} wrong")
        print(f"changes of {name} ({wanted}): {'; '.join(shown)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="the folder with longmemeval/ and locomo/")
    parser.add_argument("--changes", action="store_true", help="only what replaces what")
    parser.add_argument("--check", action="store_true", help="measure by five folds, write nothing")
    args = parser.parse_args()
    given = labelled.sessions("dev", args.data)
    all_ = cases(given)
    vectors = np.array(embedder().embed([case.sentence.text for case in all_]))
    print(f"{len(given)} conversations, {len(all_)} sentences: {Counter(c.label for c in all_)}")
    names, w = fitted(all_, vectors)
    others = {name: labelled.sessions(name, args.data) for name in ("locked", "passing")}
    labels = [one.id for part in (given, *others.values()) for one in part]
    pairs = {
        "dev": changing.of_labels(given, STRANGERS),
        "locked": changing.of_labels(others["locked"], STRANGERS),
        "passing": changing.of_labels(others["passing"], 1.0),
        "changes": changing.of_changes(CHANGING),
        "pairs": changing.of_pairs(1.0),
        "lives": changing.of_lives(LIVES),
        "contrast": changing.of_contrast("contrast_more", CONTRAST),
        "talks": changing.of_talks("talks_test", TALKS),
        "strangers": changing.of_strangers(args.data, labels, STRANGE),
    }
    if args.check:
        check_changes(pairs)
        if args.changes:
            return
        check(given, all_, vectors)
        print("features alone:")
        check(given, all_, None)
        return
    changes = {
        "changes": fitted_changes([case for part in pairs.values() for case in part]),
        "changes_threshold": CHANGES_THRESHOLD,
    }
    if args.changes:
        _write(json.loads(TARGET.read_text("utf-8")) | changes)
        return
    plain_names, plain = fitted(all_, None)
    features = _named(names, w) | {"vector": 1.0}
    written = {
        "threshold": THRESHOLD,
        "plain_threshold": PLAIN_THRESHOLD,
        "features": features,
        "vector": [round(float(one) * SCALE, 3) for one in w[len(names) + 1 :]],
        "plain": _named(plain_names, plain),
    }
    _write(written | changes)
    print(f"{len(names)} features: {TARGET.name}")


def _write(weights: dict[str, Any]) -> None:
    TARGET.write_text(json.dumps(weights, ensure_ascii=False, indent=0) + "\n", "utf-8")


def _named(names: Sequence[str], w: Matrix) -> dict[str, float]:
    found = {"": round(float(w[len(names)]), 3)}
    found |= {name: round(float(w[n]), 3) for n, name in enumerate(names)}
    return {name: value for name, value in found.items() if value}


if __name__ == "__main__":
    main()
