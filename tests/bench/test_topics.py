"""bench/topics.py: that the set is what its README says, and that it counts right."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.topics import SET, Case, Score, Ways, cases, main, measure

from tests.models.chatting import KEYS, settings
from tests.recall.topics.making import equip, text
from tests.server import Chat, ModelServer, Status
from wakebook import Memory
from wakebook.base.config import Config

# --- the set -----------------------------------------------------------------------------


def test_the_set_is_what_its_readme_says() -> None:
    found = cases()
    assert len(found) == len({case.id for case in found}) == 200
    assert len({case.message for case in found}) == 200
    assert Counter(case.direction for case in found) == {"input": 175, "output": 25}
    assert Counter(len(case.topics) for case in found) == {0: 69, 1: 111, 2: 20}
    assert sum(bool(case.paths) for case in found) == 21
    readme = (SET / "README.md").read_text()
    for kind, count in Counter(case.kind for case in found).items():
        assert any(
            f"| {kind}" in line and f"| {count} |" in line for line in readme.splitlines()
        ), (kind, count)


def test_the_halves_are_halves() -> None:
    tuned, other = cases("tuned"), cases("other")
    assert len(tuned) == len(other) == 100
    assert {case.id for case in tuned}.isdisjoint(case.id for case in other)
    assert all(int(case.id[1:]) % 2 == 1 for case in tuned)


def test_every_label_is_a_topic_that_can_be_told(tmp_path: Path) -> None:
    files = {path.stem: path.read_text() for path in (SET / "topics").glob("*.md")}
    memory = equip(tmp_path / "h", files)
    assert memory.topics.read().bad == ()
    told = {one.name for one in memory.topics.read().topics if one.activation != "manual"}
    assert len(memory.topics.read().topics) == 20
    labels = Counter(name for case in cases() for name in case.topics)
    assert set(labels) == told
    kinds = {trigger.type for one in memory.topics.read().topics for trigger in one.triggers}
    assert kinds >= {"pattern", "keyword", "glob", "mention", "url", "code", "language", "urgency"}


# --- counting ----------------------------------------------------------------------------


def test_a_score_by_hand() -> None:
    score = Score()
    score.add({"a", "b"}, frozenset({"a"}))  # one right, one too many
    score.add({"c"}, frozenset({"c", "d"}))  # one right, one missed
    score.add(set(), frozenset({"e"}))  # one missed
    score.add(set(), frozenset())
    score.asked = 3
    assert score.as_dict(4) == {"P": 0.667, "R": 0.5, "F1": 0.571, "told": 3, "asked": 75.0}


def test_a_score_of_nothing() -> None:
    assert Score().as_dict(1) == {"P": 0.0, "R": 0.0, "F1": 0.0, "told": 0, "asked": 0}


def topic(kind: str, match: str, body: str, *, priority: str = "medium", how: str = "gated") -> str:
    front = (
        f"activation: {how}\npriority: {priority}\n"
        f"triggers:\n  - type: {kind}\n    match: {match}\n"
    )
    return text(front, f"{body}\n")


FILES = {
    "otters": topic("pattern", "q.+z", "Otter swims at night.", priority="critical"),
    "herons": topic("pattern", "q.z+", "Heron stands in the reeds.", priority="high"),
    "python": topic("glob", "'*.py'", "Prefer generators.", how="auto"),
    "taxes": topic("pattern", "q.z", "Ask Ida.", how="manual"),
}


def case(number: int, message: str, *topics: str, paths: tuple[str, ...] = ()) -> Case:
    return Case(f"m{number:03}", message, "input", paths, frozenset(topics), "made")


SMALL = [
    case(1, "quz", "otters", "herons"),  # otters are told, the gate is asked about herons
    case(2, "quiz", "otters"),  # otters are told
    case(3, "hello", paths=("a.py",)),  # python is told, and nobody wanted it
    case(4, "nothing of it", "herons"),  # nobody is told
]


def ways(folder: Path, config: Config | None = None) -> Ways:
    return Ways(equip(folder, FILES, config))


def test_what_each_way_tells_by_hand(tmp_path: Path) -> None:
    found = dict(measure(ways(tmp_path / "h").all(model=False), SMALL))
    assert list(found) == [
        "tier 1",
        "tier 2",
        "tiers 1+2, no model",
        "all three, a perfect gate",
    ]
    plain = {
        name: {key: row[key] for key in ("P", "R", "told", "asked")} for name, row in found.items()
    }
    # the labels: 1 otters + herons, 2 otters, 4 herons; by hand is never counted
    assert plain["tier 1"] == {"P": 0.75, "R": 0.75, "told": 4, "asked": 0}
    assert plain["tier 2"] == {"P": 0.0, "R": 0.0, "told": 0, "asked": 0}
    assert plain["tiers 1+2, no model"] == {"P": 0.667, "R": 0.5, "told": 3, "asked": 0}
    assert plain["all three, a perfect gate"] == {"P": 0.75, "R": 0.75, "told": 4, "asked": 25.0}
    assert all(row["p50 ms"] <= row["p95 ms"] for row in found.values())


def test_the_agents_words_are_not_compared(tmp_path: Path) -> None:
    said = Case("m001", "Otter swims at night.", "output", (), frozenset(), "made")
    one = ways(tmp_path / "h")
    assert one.likeness(said) == (set(), 0)
    assert one.perfect(said) == (set(), 0)
    asked = Case("m001", "Otter swims at night.", "input", (), frozenset(), "made")
    assert one.likeness(asked)[0] == {"otters"}


def test_a_bad_topic_stops_it(tmp_path: Path) -> None:
    memory = equip(tmp_path / "h", {**FILES, "bad": text("priority: 9\n")})
    with pytest.raises(SystemExit, match=r"topics/bad\.md:3: "):
        Ways(memory)


# --- with a model ------------------------------------------------------------------------


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with ModelServer() as server:
        yield server


def test_a_model_as_the_gate(server: ModelServer, tmp_path: Path) -> None:
    def reply(chat: Chat) -> str:
        return "YES" if "herons" in chat.prompt else "NO"

    server.reply = reply
    one = ways(tmp_path / "h", settings(server, main="anthropic/m", failures=1000))
    found = dict(measure(one.all(model=True), SMALL))["all three, the model"]
    assert (found["P"], found["R"], found["told"], found["asked"]) == (0.75, 0.75, 4, 25.0)
    assert len(server.chats) == 1


def test_a_model_that_fails_has_no_say(server: ModelServer, tmp_path: Path) -> None:
    """Then the strict threshold decides, as in Wakebook itself."""
    server.script(*[Status(401)] * 9)
    near = case(5, "quz: where the heron stands in the reeds", "herons", "otters")
    files = {**FILES, "herons": FILES["herons"].replace("priority: high", "priority: medium")}
    memory: Memory = equip(tmp_path / "h", files, settings(server, main="anthropic/m"))
    one = Ways(memory)
    assert one.with_model(near)[0] == one.without_model(near)[0] == {"otters", "herons"}


# --- the program -------------------------------------------------------------------------


def test_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--part", "other", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["other"]
    rows = found["other"]
    assert len(rows) == 4
    for row in rows.values():
        assert 0.0 < row["P"] <= 1.0 and 0.0 < row["R"] <= 1.0
        assert min(row["P"], row["R"]) <= row["F1"] <= max(row["P"], row["R"])
    assert rows["all three, a perfect gate"]["P"] >= rows["tiers 1+2, no model"]["P"]
    main(["--part", "tuned"])
    said = capsys.readouterr().out
    assert "tuned half: 100 messages" in said
    assert said.count("\n| ") == 5  # a heading, and four ways
