"""The three tiers together: the table of the seed, cell by cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.recall.topics.making import activator, equip, text, topic, trigger
from wakebook import Memory
from wakebook.base import clock
from wakebook.base.config import Topics as Settings
from wakebook.recall.topics.activation import NOTED, SURE, Answer, Verdict, settle, verdict
from wakebook.recall.topics.topic import Topic, Trigger
from wakebook.recall.topics.triggers import Remark

SETTINGS = Settings()
LEAST, STRICT = SETTINGS.similarity_threshold, SETTINGS.strict_threshold


def outcome(score: float, *, matched: bool = True, direction: str = "input", **more: Any) -> str:
    return verdict(topic("x", **more), matched, score, SETTINGS, direction).outcome


# --- the table ---------------------------------------------------------------------------


def test_the_defaults_are_those_of_the_seed() -> None:
    assert (LEAST, STRICT) == (0.15, 0.3)


@pytest.mark.parametrize(
    ("priority", "score", "expected"),
    [
        ("critical", 0.0, "activate"),
        ("critical", 1.0, "activate"),
        ("high", 1.0, "activate"),
        ("high", 0.3, "activate"),
        ("high", 0.2999, "ask"),
        ("high", 0.0, "ask"),
        ("medium", 1.0, "ask"),
        ("medium", 0.2, "ask"),
        ("medium", 0.1999, "drop"),
        ("medium", 0.0, "drop"),
        ("low", 1.0, "ask"),
        ("low", 0.3, "ask"),
        ("low", 0.2999, "drop"),
        ("low", 0.0, "drop"),
    ],
)
def test_gated(priority: str, score: float, expected: str) -> None:
    assert outcome(score, priority=priority) == expected


@pytest.mark.parametrize("priority", ["low", "medium", "high"])
def test_auto(priority: str) -> None:
    assert outcome(LEAST, priority=priority, activation="auto") == "activate"
    assert outcome(LEAST - 0.0001, priority=priority, activation="auto") == "drop"


def test_auto_and_critical() -> None:
    assert outcome(0.0, priority="critical", activation="auto") == "activate"


@pytest.mark.parametrize("priority", ["low", "medium", "high", "critical"])
@pytest.mark.parametrize("direction", ["input", "output"])
def test_manual(priority: str, direction: str) -> None:
    for matched in (True, False):
        found = outcome(
            1.0, matched=matched, direction=direction, priority=priority, activation="manual"
        )
        assert found == "drop"


@pytest.mark.parametrize("priority", ["low", "medium", "high", "critical"])
@pytest.mark.parametrize(("activation", "expected"), [("auto", "activate"), ("gated", "ask")])
def test_without_a_trigger(priority: str, activation: str, expected: str) -> None:
    kind: dict[str, Any] = {"matched": False, "priority": priority, "activation": activation}
    assert outcome(STRICT, **kind) == expected
    assert outcome(STRICT - 0.0001, **kind) == "drop"


@pytest.mark.parametrize("activation", ["auto", "gated"])
@pytest.mark.parametrize("priority", ["low", "medium", "high", "critical"])
def test_what_the_agent_says_activates_by_its_trigger_alone(priority: str, activation: str) -> None:
    kind: dict[str, Any] = {"direction": "output", "priority": priority, "activation": activation}
    assert outcome(0.0, **kind) == "activate"
    assert outcome(1.0, matched=False, **kind) == "drop"


# --- a topic's own threshold -------------------------------------------------------------


@pytest.mark.parametrize("own", [0.05, 0.5])
@pytest.mark.parametrize(
    ("activation", "priority", "expected"),
    [
        ("auto", "medium", "activate"),
        ("auto", "high", "activate"),
        ("gated", "medium", "ask"),
        ("gated", "low", "ask"),
    ],
)
def test_own_threshold(activation: str, priority: str, own: float, expected: str) -> None:
    kind: dict[str, Any] = {"activation": activation, "priority": priority, "threshold": own}
    assert outcome(own, **kind) == expected
    assert outcome(own - 0.0001, **kind) == "drop"


@pytest.mark.parametrize(
    ("own", "score", "expected"),
    [
        (0.6, 0.6, "activate"),
        (0.6, 0.5999, "drop"),
        (0.6, 0.3, "drop"),
        (0.1, 0.3, "activate"),
        (0.1, 0.2999, "ask"),
        (0.1, 0.1, "ask"),
        (0.1, 0.0999, "drop"),
        (0.0, 0.0, "ask"),
    ],
)
def test_own_threshold_of_a_high_topic(own: float, score: float, expected: str) -> None:
    assert outcome(score, priority="high", threshold=own) == expected


def test_nothing_is_asked_of_a_critical_topic() -> None:
    assert outcome(0.0, priority="critical", threshold=0.9) == "activate"


def test_own_threshold_without_a_trigger_is_never_lower_than_the_strict_one() -> None:
    assert outcome(0.29, matched=False, activation="auto", threshold=0.1) == "drop"
    assert outcome(0.3, matched=False, activation="auto", threshold=0.1) == "activate"
    assert outcome(0.59, matched=False, activation="auto", threshold=0.6) == "drop"
    assert outcome(0.6, matched=False, activation="auto", threshold=0.6) == "activate"


def test_the_settings_count() -> None:
    settings = Settings(similarity_threshold=0.4, strict_threshold=0.8)
    auto = topic("x", activation="auto")
    assert [verdict(auto, True, score, settings).outcome for score in (0.39, 0.4)] == [
        "drop",
        "activate",
    ]
    assert [verdict(auto, False, score, settings).outcome for score in (0.79, 0.8)] == [
        "drop",
        "activate",
    ]


# --- what the gate makes of it -----------------------------------------------------------

ASK = Verdict("ask", "its trigger matches; the gate decides", 0.2)


def test_the_gate_decides() -> None:
    assert settle(ASK, Answer(True, "YES"), 0.2, SETTINGS) == (True, "the gate says YES", "YES")
    assert settle(ASK, Answer(False, "NO"), 0.9, SETTINGS) == (False, "the gate says NO", "NO")


def test_nobody_asks_about_what_is_decided() -> None:
    assert settle(Verdict("activate", "why", 0.1), None, 0.2, SETTINGS) == (True, "why", "")
    assert settle(Verdict("drop", "why", 0.1), None, 0.2, SETTINGS) == (False, "why", "")


@pytest.mark.parametrize(("score", "enough"), [(0.3, True), (0.2999, False), (1.0, True)])
def test_without_an_answer_the_strict_threshold_decides(score: float, enough: bool) -> None:
    activated, reason, gate = settle(ASK, Answer(None, "no model"), score, SETTINGS)
    assert (activated, gate) == (enough, "no model")
    assert "0.3" in reason and "no model" in reason


# --- the whole way -----------------------------------------------------------------------


def told(*topics: Topic, said: Remark) -> dict[str, bool]:
    found = activator(*topics).activate(said, SETTINGS, None, clock.now())
    return {one.topic.name: one.decision.activated for one in found}


PALE: dict[str, Any] = {
    "title": "",
    "description": "Booking trains",
    "body": "Prefer the night train.",
}


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (trigger("glob", "*.py"), Remark("hm", paths=("a.py",))),
        (trigger("url", "x.example"), Remark("hm https://x.example/a")),
        (trigger("mention", "Zebulon"), Remark("hm, Zebulon")),
        (trigger("code", "rust"), Remark("hm\n```rs\nx\n```")),
        (trigger("language", "ja"), Remark("これは何ですか")),
    ],
)
def test_what_speaks_for_itself_need_not_be_alike(one: Trigger, said: Remark) -> None:
    assert told(topic("x", one, activation="auto", **PALE), said=said) == {"x": True}


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (trigger("pattern", "quux"), Remark("the quux of the zorb plinth glimmers")),
        (trigger("urgency"), Remark("urgent: the zorb plinth glimmers")),
    ],
)
def test_words_may_be_meant_otherwise(one: Trigger, said: Remark) -> None:
    found = activator(topic("x", one, activation="auto", **PALE)).activate(
        said, Settings(similarity_threshold=0.9), None, clock.now()
    )
    assert [(each.decision.activated, each.decision.threshold) for each in found] == [(False, 0.9)]
    critical = topic("x", one, activation="auto", priority="critical", **PALE)
    assert told(critical, said=said) == {"x": True}


def test_a_sure_trigger_counts_as_half_alike() -> None:
    sure = topic("x", trigger("glob", "*.py"), activation="auto", **PALE)
    (one,) = activator(sure).activate(Remark("hm", paths=("a.py",)), SETTINGS, None, clock.now())
    assert one.decision.similarity == SURE == 0.5
    picky = topic("x", trigger("glob", "*.py"), activation="auto", threshold=0.51, **PALE)
    assert told(picky, said=Remark("hm", paths=("a.py",))) == {"x": False}


def test_a_decision_says_everything() -> None:
    one = topic("x", trigger("keyword", "changelog"), trigger("pattern", "tag"), priority="high")
    (found,) = activator(one).activate(
        Remark("tag it and publish the changelog"), SETTINGS, None, clock.now(), "s1"
    )
    decision = found.decision
    assert (decision.topic, decision.activated, decision.direction) == ("x", True, "input")
    assert (decision.session, decision.priority, decision.activation) == ("s1", "high", "gated")
    assert decision.at == "2026-11-09T08:00:00Z"
    assert set(decision.matched) == {"keyword changelog", "pattern tag"}
    assert set(found.triggers) == set(one.triggers)
    assert (decision.threshold, decision.gate) == (0.3, "")
    assert 0.3 <= decision.similarity <= 1.0


def test_topics_that_were_never_in_question_are_not_spoken_of() -> None:
    far = topic("far", trigger("keyword", "zorb"), title="", description="", body="glimmer plinth")
    found = activator(far).activate(Remark("the night train"), SETTINGS, None, clock.now())
    assert all(one.decision.similarity >= NOTED for one in found)
    assert not any(one.decision.activated for one in found)


def test_the_agents_words_are_not_compared() -> None:
    one = topic("x", trigger("keyword", "zorb", scope="output"), activation="auto")
    said = "tag the version, then publish the changelog"
    assert told(one, said=Remark(said, "output")) == {}
    assert told(one, said=Remark(said)) == {"x": True}
    assert told(one, said=Remark("a zorb", "output")) == {"x": True}
    assert told(one, said=Remark("a zorb")).get("x", False) is False


def test_the_activated_first_then_the_more_important() -> None:
    kind: dict[str, Any] = {"activation": "auto", "description": "otters", "title": ""}
    topics = [
        topic("a", trigger("keyword", "otter"), priority="low", **kind),
        topic("b", trigger("keyword", "otter"), priority="critical", **kind),
        topic("c", trigger("keyword", "otter"), activation="manual", priority="critical"),
        topic("d", trigger("mention", "otter"), priority="low", **kind),
        topic("e", trigger("keyword", "otter"), priority="high", **kind),
    ]
    found = told(*topics, said=Remark("the otter"))
    assert list(found) == ["b", "e", "d", "a", "c"] or list(found) == ["b", "e", "a", "d", "c"]
    assert list(found.values()) == [True, True, True, True, False]


# --- through the façade ------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path) -> Memory:
    front = "triggers:\n  - type: {}\nactivation: {}\n"
    return equip(
        tmp_path / "h",
        {
            "style": text(front.format("glob\n    match: '*.py'", "auto"), "# Style\n\nBlack.\n"),
            "taxes": text(front.format("keyword\n    match: tax", "manual"), "# Tax\n\nAsk Ida.\n"),
        },
    )


def test_paths_activate(home: Memory) -> None:
    assert "Black." in home.context("hm", paths=("a.py",)).text
    assert "Black." not in home.context("hm", paths=("a.rs",)).text
    assert "Black." in home.context("", paths=("a.py",)).text  # no message at all


def test_a_manual_topic_comes_by_name_only(home: Memory) -> None:
    assert "Ask Ida." not in home.context("the tax of the tax, by tax").text
    assert "Ask Ida." in home.context("hm", topics=("taxes",)).text
    with pytest.raises(Exception, match=r"There is no topic 'rates'\. `wakebook topics list`"):
        home.context("hm", topics=("rates",))


def test_a_test_writes_nothing_down(home: Memory) -> None:
    before = sorted(path.name for path in home.home.root.rglob("*"))
    found = home.topics.test("hm", paths=("a.py",))
    assert [(one.topic.name, one.decision.activated) for one in found] == [("style", True)]
    assert sorted(path.name for path in home.home.root.rglob("*")) == before


def test_subagents_and_hosts_with_topics_of_their_own_get_none(home: Memory) -> None:
    several: list[dict[str, Any]] = [{"kind": "subagent"}, {"have": ("topics",)}]
    for more in several:
        context = home.context("hm", paths=("a.py",), **more)
        assert "Black." not in context.text
        assert context.decisions == ()


@pytest.mark.parametrize("said", ["x \ud83d", "\0", "x" * 50_000])
def test_what_is_no_proper_message(home: Memory, said: str) -> None:
    assert "Black." in home.context(said, paths=("a.py",)).text


# --- events, and the sample --------------------------------------------------------------
EVENTS = (
    "---\ntype: topic\ntriggers:\n  - type: webhook\n    source: mail\n---\n# {0}\n\nHow to {0}.\n"
)


def test_likeness_alone_does_not_bring_what_waits_for_events(memory: Memory) -> None:
    folder = memory.home.root / "topics"
    about = "sort the urgent mail in the inbox"
    (folder / "mail.md").write_text(
        EVENTS.format(about).replace("type: topic", "type: topic\nactivation: auto")
    )
    (folder / "calm.md").write_text(
        f"---\ntype: topic\nactivation: auto\n---\n# {about}\n\nDo it.\n"
    )
    found = {one.topic.name: one.decision for one in memory.topics.test(f"Please {about}.")}
    assert found["calm"].activated
    assert not found["mail"].activated and found["mail"].reason == "it waits for events"
    assert [one.topic for one in memory.topics.fire("mail")] == ["mail"]


def test_the_sample_is_told_once_it_was_edited(memory: Memory) -> None:
    path = memory.home.root / "topics" / "release-day.md"
    asked = "Let's cut a release today: it is release day!"
    assert "Release day" not in memory.context(asked).text
    assert memory.topics.test(asked) == []
    path.write_text(path.read_text().replace("Ask which version", "Ask Mira which version"))
    assert "Ask Mira which version" in memory.context(asked).text
