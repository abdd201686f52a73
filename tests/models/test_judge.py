"""The built-in judge: which of some older sentences no longer hold, once a new one is said."""

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
    for group in map(json.loads, lines[::5]):
        said = [
            (judge.likely([group["before"]], it["part"])[0], it["rel"] in ("replaces", "ends"))
            for it in group["later"]
        ]
        pairs = [(one, two) for one, yes in said if yes for two, no in said if not no]
        right, total = right + sum(one > two for one, two in pairs), total + len(pairs)
    assert total > 120
    assert right / total > 0.8


def test_the_likeliest_of_some_older_sentences_is_mostly_the_right_one() -> None:
    """In talks that it has not learned from: a message that changes something, and the messages
    before it."""
    right = total = 0
    for talk in map(
        json.loads, (LABELS / "talks_test.jsonl").read_text("utf-8").splitlines()[::12]
    ):
        said = [one["text"] for one in talk["messages"]]
        for change in talk["changes"]:
            held, others = change["held"], said[max(0, change["new"] - 6) : change["new"]]
            others = [one for one in others if change["held"] not in one][:5]
            chances = judge.likely([held, *others], change["says"])
            right, total = right + (max(chances) == chances[0]), total + 1
    assert total > 70
    assert right / total > 0.7  # by chance .17 to .5


def test_with_the_agents_reply_more_is_known() -> None:
    """In talks that it has not learned from: of the older sentences, the changed one is the
    likeliest more often."""
    lines = (LABELS / "talks_test.jsonl").read_text("utf-8").splitlines()
    alone = answered = total = 0
    for talk in map(json.loads, lines[-45::2]):
        said = talk["messages"]
        for change in talk["changes"]:
            before = [one["text"] for one in said[max(0, change["new"] - 6) : change["new"]]]
            others = [one for one in before if change["held"] not in one][:5]
            reply = said[change["new"]].get("reply", "")
            for with_it in (False, True) if reply else ():
                older = [change["held"], *others]
                chances = judge.likely(older, change["says"], reply if with_it else "")
                first = max(chances) == chances[0]
                alone, answered = alone + (first and not with_it), answered + (first and with_it)
            total += bool(reply)
    assert total > 75
    assert answered > 1.04 * alone


def test_more_than_can_be_read_at_once_is_read_in_turn() -> None:
    older = ["My rent is 700.", "We use Jenkins.", "", "a", "b", "c"]
    text = "I pay 760 in rent now"
    assert judge.likely(older * 3, text) == pytest.approx(judge.likely(older, text) * 3, abs=1e-4)


def test_any_text_gets_an_answer() -> None:
    rng = random.Random(4)
    odd = ["", " ", "\x00", "🜁" * 40, "word " * 5_000, "x" * 20_000, "日本語のテキスト", "Ünïcödé"]
    odd += ["".join(chr(rng.randrange(32, 0x2FFF)) for _ in range(80)) for _ in range(8)]
    for text in odd:
        assert all(0 <= one <= 1 for one in judge.likely(odd, text))
    assert judge.likely([], "nothing to compare with") == []


def test_of_a_long_sentence_both_ends_are_read() -> None:
    middle = "and so on and on " * 40
    long = judge.pieces(f"the first words {middle} the very last ones")
    assert len(long) == judge.LONGEST
    assert long[:3] == judge.pieces("the first words")
    assert long[-4:] == judge.pieces("the very last ones")
