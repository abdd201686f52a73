"""`wakebook topics decisions`: what was decided about topics, and how a person judges it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.journeys.command import run, run_json
from tests.journeys.test_topics_commands import BEARINGS, CODE, home, topic, two

__all__ = ["home", "two"]  # fixtures

MESSAGES = {
    "python code with ruff": True,
    "a python in the zoo": False,
    "monty python and the grail": False,
    "what does a python eat": False,
    "mypy and ruff for python code": True,
}


@pytest.fixture
def decided(two: Path) -> list[str]:
    """The ids of five decisions."""
    return [run_json("context", message)["decisions"][0]["id"] for message in MESSAGES]


def test_nothing_has_been_decided(home: Path) -> None:
    assert run("gates").strip() == "Nothing has been decided yet: no topic was in question."
    assert run_json("gates") == {"topics": [], "decisions": [], "judged": {}}


def test_the_table_and_the_newest_decisions(decided: list[str]) -> None:
    lines = run("gates").splitlines()
    assert lines[0].split()[:2] == ["topic", "in"] and "precision" in lines[0]
    assert lines[1].split() == ["dev/python", "5", "5", "0", "0", "0", "–", "–"]
    assert lines[2].split() == ["email-triage", "0", "0", "0", "0", "0", "–", "–"]
    assert lines[4] == "Newest decisions"
    told = [line.split() for line in lines[5::2]]
    assert [one[1] for one in told] == decided and {one[0] for one in told} == {"●"}
    assert [line.strip() for line in lines[6::2]] == list(MESSAGES)
    assert run("gates", "-n", "2").count("●") == 2 and "Newest" not in run("gates", "-n", "0")
    run("gates", "-n", "-1", code=2)


def test_one_topic(decided: list[str]) -> None:
    run("context", "any news in my inbox?")
    text = run("gates", "--topic", "email-triage")
    assert "dev/python" not in text and "any news in my inbox?" in text
    found = run_json("gates", "--topic", "dev/python")
    assert {one["topic"] for one in found["topics"] + found["decisions"]} == {"dev/python"}
    assert [one["id"] for one in found["decisions"]] == decided


def test_a_topic_that_nobody_knows(decided: list[str]) -> None:
    assert "There is no topic 'pyhton'" in run("gates", "--topic", "pyhton", code=9)


def test_precision_and_a_threshold_from_five_judgements_on(two: Path, decided: list[str]) -> None:
    for number, (identity, good) in enumerate(zip(decided, MESSAGES.values(), strict=True)):
        if number == 4:
            row = run("gates", "-n", "0").splitlines()[1]
            assert row.split()[1:7] == ["5", "5", "1", "3", "0", "25%"]
            assert "4 of 5 judgements" in row and "→" not in row
        run("gates", "useful" if good else "useless", identity)
    row = run("gates", "-n", "0").splitlines()[1]
    assert row.split()[1:7] == ["5", "5", "2", "3", "0", "40%"]
    assert "– → 0." in row and "0 of 5 would be wrong, instead of 3" in row
    standing = run_json("gates", "--topic", "dev/python")["topics"][0]
    assert standing["precision"] == 0.4 and 0.3 < standing["proposed"] < 1

    better = f"similarity_threshold: {standing['proposed']}\nactivation"
    topic(two, "dev/python", CODE.replace("activation", better))
    for message, good in MESSAGES.items():
        [found] = run_json("topics", "test", message)
        assert found["activated"] is good, message
    standing = run_json("gates", "--topic", "dev/python")["topics"][0]
    assert standing["threshold"] is not None and standing["proposed"] is None


def test_a_high_topic_heeds_its_threshold(home: Path) -> None:
    text = CODE.replace("activation: auto", "priority: high\nsimilarity_threshold: 0.99")
    topic(home, "python", text)
    [found] = run_json("topics", "test", "a python in the zoo")
    assert found["threshold"] == 0.99 and found["activated"] is False


def test_a_judgement_names_what_it_is_about(decided: list[str]) -> None:
    said = run("gates", "useful", decided[0])
    assert said == "Noted: dev/python was useful for “python code with ruff”\n"
    done = run_json("gates", "useless", decided[1])
    assert done["useful"] is False and done["decision"]["id"] == decided[1]
    assert done["decision"]["message"] == "a python in the zoo"
    first, second, third = run("gates").splitlines()[5:11:2]
    assert first.endswith("useful") and second.endswith("useless") and "use" not in third


def test_the_last_word_counts(two: Path, decided: list[str]) -> None:
    run("gates", "useless", decided[0])
    run("gates", "useful", decided[0])
    standing = run_json("gates")["topics"][0]
    assert (standing["useful"], standing["useless"]) == (1, 0)
    assert run_json("gates")["judged"] == {decided[0]: True}
    assert len((two / "feedback.jsonl").read_text().splitlines()) == 2


def test_by_a_beginning_if_there_is_one_such(two: Path, decided: list[str]) -> None:
    record = json.loads((two / "trace.jsonl").read_text().splitlines()[-1])
    with (two / "trace.jsonl").open("a") as stream:
        for end in "ab":
            stream.write(json.dumps(record | {"id": f"zzzzzzzz{end}", "event": "gate"}) + "\n")
    assert "2 begin with it; give more of it" in run("gates", "useful", "zzzzzz", code=9)
    assert run_json("gates", "useful", "zzzzzzzza")["decision"]["id"] == "zzzzzzzza"
    assert run_json("gates", "useful", decided[0][:6])["decision"]["id"] == decided[0]
    assert "There is no decision" in run("gates", "useful", decided[0][:3], code=9)


def test_a_decision_that_nobody_knows(decided: list[str]) -> None:
    for word in ("useful", "useless"):
        said = run("gates", word, "nobody", code=9)
        assert "There is no decision 'nobody'. `wakebook topics decisions` shows the ids." in said
    assert run_json("gates", "useful", "nobody", code=9)["error"]["kind"] == "NotFound"
    assert "DECISION" in run("gates", "useful", code=2)


def test_a_judgement_outlives_the_trace(two: Path, decided: list[str]) -> None:
    run("gates", "useful", decided[0])
    (two / "trace.jsonl").unlink()
    found = run_json("gates")
    assert found["decisions"] == [] and found["topics"][0]["useful"] == 1
    assert run_json("gates", "useless", decided[0])["decision"]["id"] == decided[0]


def test_decisions_are_known_after_the_trace_was_put_aside(two: Path, decided: list[str]) -> None:
    with (two / "trace.jsonl").open("a") as stream:
        stream.write((json.dumps({"event": "filler", "text": "x" * 1000}) + "\n") * 4200)
    new = run_json("context", "python again")["decisions"][0]["id"]
    assert (two / "trace.old.jsonl").exists()
    assert [one["id"] for one in run_json("gates")["decisions"]] == [*decided, new]
    run("gates", "useful", decided[0])


def test_a_half_written_line_swallows_no_judgement(two: Path, decided: list[str]) -> None:
    (two / "feedback.jsonl").write_text('{"at": "2026-11-09T08:00')
    run("gates", "useful", decided[0])
    assert run_json("gates")["topics"][0]["useful"] == 1


def test_options_stand_before_or_after_the_judgement(decided: list[str], tmp_path: Path) -> None:
    assert json.loads(run("gates", "--json", "useful", decided[0]))["useful"] is True
    run("gates", "--home", str(tmp_path / "no"), "useful", decided[0], code=3)
    run("gates", "useful", decided[0], "--home", str(tmp_path / "no"), code=3)


def test_what_would_have_helped_is_missed(home: Path) -> None:
    topic(home, "bearings", BEARINGS)
    [decision] = run_json("context", "a python in the zoo")["decisions"]
    assert decision["activated"] is False
    assert "○ " + decision["id"] in run("gates")
    run("gates", "useful", decision["id"])
    standing = run_json("gates")["topics"][0]
    assert (standing["missed"], standing["useful"], standing["precision"]) == (1, 0, None)


def test_markup_and_escapes_of_a_message(two: Path) -> None:
    run("context", "-", stdin="[bold]python[/bold] code [/x]\x1b]0;owned\x07 \x1b[2J")
    text = run("gates")
    assert "[bold]python[/bold] code [/x]" in text
    assert "\x1b" not in text and "\x07" not in text
    event = "push\x1b[2J[bold]"
    run("topics", "fire", "github", event)
    text = run("topics", "list")
    assert "waits: webhook github:push" in text and "[bold]" in text
    assert "\x1b" not in text


def test_no_secret_in_a_decision(two: Path) -> None:
    run("context", "python code, password=Tr0ub4dor&3 for it")
    assert "[redacted:password]" in run("gates")
    assert "Tr0ub4dor" not in (two / "trace.jsonl").read_text()
