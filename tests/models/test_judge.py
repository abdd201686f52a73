"""The built-in judge: whether a sentence sounds as if an older one no longer held.

Whether both are about the same thing is for others to say.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from wakebook.models.builtin import judge

LABELS = Path(__file__).parents[2] / "bench" / "labels"


def test_changes_are_told_from_what_only_looks_like_them() -> None:
    """On the groups that it has not learned from: of a change and another message of the same
    group, the change is the likelier one."""
    lines = (LABELS / "contrast_test.jsonl").read_text("utf-8").splitlines()
    right = total = 0
    for group in map(json.loads, lines[::3]):
        said = [
            (judge.likely([group["before"]], it["part"])[0], it["rel"] in ("replaces", "ends"))
            for it in group["later"]
        ]
        pairs = [(one, two) for one, yes in said if yes for two, no in said if not no]
        right, total = right + sum(one > two for one, two in pairs), total + len(pairs)
    assert total > 200
    assert right / total > 0.85


def test_a_pair_is_judged_the_same_among_others() -> None:
    older = [
        "My rent is 700.",
        "We use Jenkins for all our builds, and have done so for years.",
        "",
    ]
    text = "I pay 760 in rent now"
    alone = [judge.likely([one], text)[0] for one in older]
    assert judge.likely(older * 9, text) == pytest.approx(alone * 9, abs=1e-4)


def test_any_text_gets_an_answer() -> None:
    rng = random.Random(4)
    odd = ["", " ", "\x00", "🜁" * 40, "word " * 5_000, "x" * 20_000, "日本語のテキスト", "Ünïcödé"]
    odd += ["".join(chr(rng.randrange(32, 0x2FFF)) for _ in range(80)) for _ in range(8)]
    for text in odd:
        assert all(0 <= one <= 1 for one in judge.likely(odd, text))
    assert judge.likely([], "nothing to compare with") == []


def test_of_a_long_sentence_both_ends_are_read() -> None:
    middle = "and so on and on " * 40
    long = judge.pair("", f"the first words {middle} the very last ones")[1]
    assert len(long) == judge.LONGEST
    assert long[:3] == judge.pair("", "the first words")[1]
    assert long[-4:] == judge.pair("", "the very last ones")[1]
