"""Decisions: traced with everything, judged for good, and what follows from that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.recall.topics.making import equip, text, topic
from wakebook import Memory
from wakebook.base.errors import NotFound
from wakebook.recall.topics.activation import Decision
from wakebook.recall.topics.decisions import FEW, Feedback, Standing, standings

FRONT = "activation: {}\ntriggers:\n  - type: keyword\n    match: {}\n"
MESSAGE = "the otter of the harbour"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return equip(
        tmp_path / "h",
        {
            "boats": text(FRONT.format("auto", "otter"), "# Boats\n\nCharge the otter at night.\n"),
            "taxes": text(FRONT.format("manual", "otter"), "# Taxes\n\nAsk Ida.\n"),
        },
    )


def decided(memory: Memory, said: str = MESSAGE) -> dict[str, Decision]:
    return {one.topic: one for one in memory.context(said).decisions}


# --- traced ------------------------------------------------------------------------------


def test_every_decision_is_traced_with_its_scores(memory: Memory) -> None:
    told = decided(memory)
    assert set(told) == {"boats", "taxes"}
    assert memory.topics.decided()[1] == list(told.values())
    boats = told["boats"]
    assert boats.id and boats.id != told["taxes"].id
    assert boats.message == MESSAGE
    assert boats.matched == ("keyword otter",)
    assert (boats.activated, told["taxes"].activated) == (True, False)
    assert (boats.threshold, boats.activation, boats.priority) == (0.15, "auto", "medium")
    assert boats.similarity >= 0.15
    (record, _) = memory.home.traces("gate")
    assert record["similarity"] == boats.similarity
    assert record["at"] == "2026-11-09T08:00:00Z"


def test_the_session_is_traced(memory: Memory) -> None:
    memory.context(MESSAGE, session="claude-code/s1")
    memory.observe(MESSAGE, session="s2")
    assert {one.session for one in memory.topics.decided()[1]} == {
        "s1"
    }  # no trigger looks at output


def test_the_agents_words_are_traced_as_such(tmp_path: Path) -> None:
    front = FRONT.format("auto", "otter") + "    scope: output\n"
    memory = equip(tmp_path / "h", {"boats": text(front)})
    (one,) = memory.observe("I took the otter", session="s2")
    (known,) = memory.topics.decided()[1]
    assert known == one
    assert (one.direction, one.session, one.message) == ("output", "s2", "I took the otter")


def test_only_the_first_words(memory: Memory) -> None:
    told = decided(memory, f"{MESSAGE}\n\n  and  " + "so on " * 100)["boats"]
    assert len(told.message) == 80
    assert told.message.startswith(f"{MESSAGE} and so on so on")
    assert "\n" not in told.message


JWT = ".".join(("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "eyJzdWIi" + "Ab9" * 200, "c2lnbmF0" * 5))


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-" + "a1B2c3D4" * 6,
        "ghp_" + "a1B2c3D4" * 5,
        "password=hunter2hunter2!",
        "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 30,
        JWT,  # longer than what was looked at
    ],
    ids=lambda secret: secret[:10],
)
def test_no_secret_is_written_down(memory: Memory, secret: str) -> None:
    for said in (f"otter {secret}", f"otter {'x ' * 30}{secret}"):
        decided(memory, said)
    written = memory.home.trace_file.read_text()
    assert "[redacted:" in written
    assert secret[-20:] not in written
    assert "hunter2" not in written
    for start in (secret[13:30], secret[:30]):
        assert start not in written or start.startswith(("password", "-----BEGIN"))


def test_a_message_of_nothing_is_no_decision(memory: Memory) -> None:
    assert decided(memory, "") == decided(memory, "  \n") == {}
    assert memory.topics.decided()[1] == []


def test_of_one_topic(memory: Memory) -> None:
    decided(memory)
    rows, found = memory.topics.decided("boats")
    assert [row.topic for row in rows] == ["boats"]
    assert [one.topic for one in found] == ["boats"]


def test_what_is_broken_in_the_trace_is_passed_over(memory: Memory) -> None:
    decided(memory)
    with memory.home.trace_file.open("a") as stream:
        stream.write('{"event": "gate", "topic": 3}\n{"event": "gate"}\nnot json\n[1]\n')
    decided(memory)
    assert len(memory.topics.decided()[1]) == 4


# --- judged ------------------------------------------------------------------------------


def test_feedback_survives_the_trace(memory: Memory) -> None:
    told = decided(memory)
    assert memory.topics.judge(told["boats"].id, useful=True) == told["boats"]
    memory.home.trace_file.unlink()
    (row,) = memory.topics.decided("boats")[0]
    assert (row.decided, row.useful, row.useless, row.precision) == (0, 1, 0, 1.0)
    assert memory.topics.judge(told["boats"].id, useful=False) == told["boats"]
    (row,) = memory.topics.decided("boats")[0]
    assert (row.useful, row.useless, row.precision) == (0, 1, 0.0)


def test_the_last_word_counts(memory: Memory) -> None:
    one = decided(memory)["boats"].id
    for useful in (True, False, False, True, False):
        memory.topics.judge(one, useful=useful)
    (row,) = memory.topics.decided("boats")[0]
    assert (row.useful, row.useless) == (0, 1)
    assert len((memory.home.root / "feedback.jsonl").read_bytes().splitlines()) == 5


def test_a_beginning_is_enough_if_it_is_one(memory: Memory) -> None:
    told = decided(memory)
    assert memory.topics.judge(told["boats"].id[:8], useful=True).topic == "boats"


@pytest.mark.parametrize("name", ["nobody", "", "a", "*", "-"])
def test_an_unknown_decision(memory: Memory, name: str) -> None:
    decided(memory)
    with pytest.raises(
        NotFound, match=r"There is no decision .*`wakebook topics decisions` shows the ids"
    ):
        memory.topics.judge(name, useful=True)
    assert not (memory.home.root / "feedback.jsonl").exists()


def test_a_beginning_of_several(memory: Memory) -> None:
    lines = [
        json.dumps({"event": "gate", "at": "x", "id": f"abcd{n}", "topic": "boats",
                    "activated": True, "reason": "why"})
        for n in range(2)
    ]  # fmt: skip
    memory.home.trace_file.write_text("\n".join(lines) + "\n")
    with pytest.raises(NotFound, match="2 begin with it"):
        memory.topics.judge("abcd", useful=True)
    with pytest.raises(NotFound):
        memory.topics.judge("abc", useful=True)
    assert memory.topics.judge("abcd1", useful=True).id == "abcd1"


def test_broken_feedback_is_passed_over(memory: Memory) -> None:
    one = decided(memory)["boats"].id
    memory.topics.judge(one, useful=True)
    path = memory.home.root / "feedback.jsonl"
    path.write_bytes(b'{"at": 1}\nhalf a li\n\xff\n' + path.read_bytes() + b'{"useful": tr')
    (row,) = memory.topics.decided("boats")[0]
    assert row.useful == 1
    memory.topics.judge(one, useful=False)  # behind half a line
    (row,) = memory.topics.decided("boats")[0]
    assert (row.useful, row.useless) == (0, 1)


# --- standings ---------------------------------------------------------------------------


def decision(number: int = 0, **more: Any) -> Decision:
    return Decision(
        **{
            "id": f"id{number:06}",
            "topic": "boats",
            "activated": True,
            "reason": "",
            "matched": ("keyword otter",),
            "threshold": 0.15,
            "activation": "auto",
            "priority": "medium",
            **more,
        }
    )


def judged(*rows: tuple[float, bool, bool], **more: Any) -> list[Feedback]:
    """Of each: how alike, whether it was activated, whether it was useful."""
    return [
        Feedback(
            at="2026-11-09T08:00:00Z",
            useful=useful,
            decision=decision(number, similarity=score, activated=activated, **more),
        )
        for number, (score, activated, useful) in enumerate(rows)
    ]


def standing(found: list[Feedback], threshold: float | None = None, **more: Any) -> Standing:
    one = topic("boats", activation="auto", threshold=threshold, **more)
    (row,) = standings([each.decision for each in found], found, [one])
    return row


def test_precision_is_of_what_was_told_and_judged() -> None:
    found = judged((0.5, True, True), (0.5, True, True), (0.4, True, False), (0.1, False, True))
    row = standing(found)
    assert (row.decided, row.activated) == (4, 3)
    assert (row.useful, row.useless, row.missed) == (2, 1, 1)
    assert row.precision == 0.667
    assert (row.proposed, row.why) == (None, f"4 of {FEW} judgements")


def test_nobody_has_judged() -> None:
    (row,) = standings([decision(), decision(1, activated=False)], [], [])
    assert (row.decided, row.activated, row.precision, row.proposed, row.why) == (
        2, 1, None, None, "",
    )  # fmt: skip


def test_the_most_decided_first_and_every_topic_once() -> None:
    found = [decision(1), decision(2), decision(3, topic="gone"), decision(4, topic="a")]
    rows = standings(found, judged((0.5, True, True)), [topic("quiet"), topic("boats")])
    assert [(row.topic, row.decided) for row in rows] == [
        ("boats", 2), ("a", 1), ("gone", 1), ("quiet", 0),
    ]  # fmt: skip


def test_a_higher_threshold_is_proposed() -> None:
    found = judged(
        (0.16, True, False), (0.18, True, False), (0.2, True, False), (0.4, True, True),
        (0.5, True, True),
    )  # fmt: skip
    row = standing(found)
    assert row.proposed is not None
    assert 0.2 < row.proposed <= 0.4
    assert row.why == "0 of 5 would be wrong, instead of 3"


def test_a_lower_threshold_is_proposed() -> None:
    found = judged(
        (0.05, False, False), (0.11, False, True), (0.12, False, True), (0.4, True, True),
        (0.5, True, True),
    )  # fmt: skip
    row = standing(found)
    assert row.proposed is not None
    assert 0.05 < row.proposed <= 0.11
    assert row.why == "0 of 5 would be wrong, instead of 2"


def test_no_threshold_does_better() -> None:
    right = judged(*[(0.5, True, True)] * 4, (0.1, False, False))
    assert standing(right).proposed is None
    assert standing(right).why == "no threshold does better (0 of 5 were wrong)"
    mixed = judged((0.5, True, False), (0.5, True, True), (0.5, True, True), (0.5, True, True),
                   (0.5, True, False))  # fmt: skip
    assert standing(mixed).proposed is None
    assert standing(mixed).why == "no threshold does better (2 of 5 were wrong)"


def test_a_proposal_keeps_what_it_promises() -> None:
    """As many mistakes as it says, with the threshold as it is shown."""
    import random

    chance = random.Random(5)
    proposed = 0
    for _ in range(300):
        rows = [
            (round(chance.random(), 4), chance.random() < 0.5, chance.random() < 0.5)
            for _ in range(chance.randrange(FEW, 9))
        ]
        row = standing(judged(*rows))
        if row.proposed is None:
            continue
        proposed += 1
        wrong = sum((score >= row.proposed) != useful for score, _, useful in rows)
        before = sum(activated != useful for _, activated, useful in rows)
        assert row.why == f"{wrong} of {len(rows)} would be wrong, instead of {before}"
        assert wrong < before
        assert 0.0 <= row.proposed <= 1.0
    assert proposed > 50


def test_useless_all_of_it() -> None:
    row = standing(judged(*[(1.0, True, False)] * FEW))
    assert row.proposed is None  # no threshold from 0 to 1 keeps it away


# the threshold decided nothing of this
@pytest.mark.parametrize(
    "more",
    [
        {"priority": "critical", "threshold": 0.0},
        {"direction": "output", "threshold": 0.0},
        {"gate": "YES", "activation": "gated"},
    ],
    ids=str,
)
def test_what_did_not_depend_on_the_threshold_proposes_none(more: dict[str, Any]) -> None:
    found = judged(
        (0.1, True, False), (0.12, True, False), (0.14, True, False), (0.4, True, True),
        (0.5, True, True), **more,
    )  # fmt: skip
    assert standing(found).proposed is None


# without a trigger, the strict threshold is the least
def test_what_had_no_trigger_proposes_nothing_below_the_strict_threshold() -> None:
    found = judged(*[(0.2, False, True)] * FEW, matched=(), threshold=0.3)
    assert standing(found).proposed is None


def test_what_is_set_is_not_proposed_again() -> None:
    found = judged(
        (0.16, True, False), (0.18, True, False), (0.2, True, False), (0.4, True, True),
        (0.5, True, True),
    )  # fmt: skip
    first = standing(found).proposed
    assert first is not None
    again = standing(found, threshold=first)
    assert again.threshold == first
    assert again.proposed is None


def test_proposals_through_the_whole_home(memory: Memory) -> None:
    for number in range(FEW):
        told = decided(memory, f"otter number {number}")
        memory.topics.judge(told["boats"].id, useful=False)
    (row,) = memory.topics.decided("boats")[0]
    assert (row.decided, row.useless, row.precision) == (FEW, FEW, 0.0)
    assert row.proposed is not None
    path = memory.home.root / "topics" / "boats.md"
    path.write_text(
        path.read_text().replace(
            "activation:", f"similarity_threshold: {row.proposed}\nactivation:"
        )
    )
    for number in range(FEW):
        assert not decided(memory, f"otter number {number}")["boats"].activated
