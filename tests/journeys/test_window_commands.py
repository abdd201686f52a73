"""`wakebook window prune` and `wakebook window flush`, as somebody types them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.command import call, run, run_json
from tests.learn.telling import RECENT
from tests.lend import settings
from tests.recall.shapes import Step, anthropic, openai
from tests.server import ModelServer, Status
from tests.story import WORKDAY, Claude, chat

SESSION = "5e551011-0000-4000-8000-000000000001"
STEPS: list[Step] = [
    ("user", "Read it."), ("call", "c1", "read_file"), ("result", "c1", "Ärger " * 2_000),
    ("assistant", "One."), ("assistant", "Two."), ("assistant", "Three."),
]  # fmt: skip
LINE = (
    "Context 11 % full (780 of 7k tokens); 1 old tool result was trimmed: "
    "read it again if you need it."
)


@pytest.fixture(autouse=True)
def _home() -> None:
    run("init")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "request.json"
    path.write_text(json.dumps(openai(STEPS)))
    return path


def both(*arguments: str, stdin: str = "") -> tuple[str, str]:
    """Standard output and standard error."""
    done = call(*arguments, stdin=stdin)
    assert done.code == 0, done.err
    return done.out.decode(), done.err.decode()


# --- prune -------------------------------------------------------------------------------


def test_the_list_on_one_side_and_the_sentence_on_the_other(file: Path) -> None:
    out, err = both("prune", str(file), "--window", "7000")
    pruned, given = json.loads(out), openai(STEPS)
    assert err.strip() == LINE
    assert [a == b for a, b in zip(pruned, given, strict=True)] == [True] * 2 + [False] + [True] * 3
    assert "of 12000 chars.]" in pruned[2]["content"] and "Ärger" in out
    assert json.loads(file.read_text()) == given


def test_standard_input_and_an_object_with_messages(file: Path) -> None:
    expected = both("prune", str(file), "--window", "7000")
    assert both("prune", "--window", "7000", stdin=file.read_text()) == expected
    assert both("prune", "-", "--window", "7000", stdin=file.read_text()) == expected
    request = {"model": "m", "messages": openai(STEPS)}
    out, err = both("prune", "--window", "7000", stdin=json.dumps(request))
    assert json.loads(out) == {"model": "m", "messages": json.loads(expected[0])}
    assert err == expected[1]


def test_a_warm_cache_is_left_alone(file: Path) -> None:
    out, err = both("prune", str(file), "--window", "7000", "--idle-ms", "20000")
    assert json.loads(out) == openai(STEPS)
    assert "nothing was pruned: the cache is still warm, 20 s after the last call" in err


def test_for_machines(file: Path) -> None:
    found = run_json("prune", str(file), "--window", "7000")
    assert set(found) == {"messages", "report"} and len(found["messages"]) == len(STEPS)
    report = found["report"]
    assert report["trimmed"] == [
        {"index": 2, "tool": "read_file", "call": "c1", "before": 12_000, "after": 3_087}
    ]
    assert report["cleared"] == [] and report["why"] == "" and report["window"] == 7_000
    assert report["characters_before"] - report["characters_after"] == 12_000 - 3_087
    assert 0 < report["ratio_after"] < report["ratio_before"]
    assert run_json("prune", str(file), "--window", "7000", "--report") == report


def test_for_people(file: Path) -> None:
    text = run("prune", str(file), "--window", "7000", "--report")
    row = next(line for line in text.splitlines() if "read_file" in line)
    assert row.split() == ["2", "read_file", "trimmed", "12,000", "3,087"]
    assert "● Context 11 % full" in text and "characters before" in text
    nothing = run("prune", str(file), "--window", "2000000", "--report")
    assert "nothing was pruned: pruning begins at 30 %" in nothing and "message" not in nothing


def test_a_tools_name_is_no_markup(tmp_path: Path) -> None:
    steps = [(kind, one, "[red]x[/red]") if kind == "call" else (kind, one, *rest)
             for kind, one, *rest in STEPS]  # fmt: skip
    path = tmp_path / "request.json"
    path.write_text(json.dumps(anthropic(steps)))
    assert "[red]x[/red]" in run("prune", str(path), "--window", "7000", "--report")


def test_the_settings_of_the_home(file: Path) -> None:
    config = Path.home() / ".wakebook" / "config.toml"
    config.write_text('[pruning]\ntools_deny = ["READ_*"]\n')
    assert (
        "no old tool result that may be pruned" in both("prune", str(file), "--window", "7000")[1]
    )
    config.write_text("[pruning]\nsoft_trim_max_chars = 2000\n")
    said = run("prune", str(file), "--window", "7000", code=5)
    assert "config.toml: [pruning] soft_trim_head_chars (1500) and" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "standard input is not JSON"),
        ("", "standard input is not JSON"),
        ("[NaN]", "NaN is no number in JSON"),
        ("[" * 100_000, "standard input is not JSON"),
        ("7", "expected a list of messages"),
        ('{"model": "m"}', 'or {"messages": [...]}'),
        ('{"messages": {}}', "expected a list of messages"),
    ],
)
def test_what_is_no_list_of_messages_is_refused(text: str, said: str) -> None:
    assert said in run("prune", "--window", "7000", code=2, stdin=text)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\xff\xfe\x00")
    assert f"{path} is not JSON" in run("prune", str(path), "--window", "7000", code=2)


def test_wrong_usage(file: Path) -> None:
    assert "--window" in run("prune", str(file), code=2)
    assert "nowhere.json" in run("prune", "nowhere.json", "--window", "9", code=2)
    run("prune", str(file), "--window", "0", code=2)
    run("prune", str(file), "--window", "9", "--idle-ms", "-1", code=2)
    error = run("prune", str(file), "--window", "9", "--json", "--nonsense", code=2)
    assert json.loads(error)["error"]["kind"] == "UsageError"


def test_halves_of_characters_pass_through() -> None:
    given: Any = [{"role": "user", "content": "half \ud83d of it"}]
    out, _ = both("prune", "--window", "7000", stdin=json.dumps(given))
    assert json.loads(out) == given


def test_without_a_home(file: Path, tmp_path: Path) -> None:
    said = run("prune", str(file), "--window", "9", "--home", str(tmp_path / "no"), code=3)
    assert "wakebook setup" in said


# --- flush -------------------------------------------------------------------------------


@pytest.fixture
def claude(projects: Path) -> Claude:
    claude = Claude(projects)
    claude.at = RECENT
    return chat(claude, WORKDAY)


def test_a_session_is_saved(claude: Claude) -> None:
    text = run("flush", SESSION[:8])
    assert f"● claude-code/{SESSION} is saved and checked: 6 messages, " in text
    assert "nothing was said since the last time" in run("flush", SESSION)
    assert "all well" in run("status")


def test_a_session_is_saved_if_it_is_time(claude: Claude) -> None:
    text = run("flush", SESSION, "--tokens", "9000", "--window", "200000")
    assert "not now, 9,000 of 200,000 tokens are used, and it is due at 176,000." in text
    assert "never read" in run("audit", code=1)
    found = run_json("flush", SESSION, "--tokens", "176000", "--window", "200000")
    assert found["ok"] is True and found["due"] is True and found["messages"] == 6
    assert found["entries"] > 0 and found["round"] == 0 and found["why"] == ""
    again = run("flush", SESSION, "--tokens", "176000", "--window", "200000")
    assert "not now, it was done in this round already (round 0)." in again
    next_round = run_json(
        "flush", SESSION, "--tokens", "176000", "--window", "200000", "--round", "1"
    )
    assert next_round["due"] is True and next_round["round"] == 1


def test_a_failed_check_has_exit_code_1_and_is_in_the_status(claude: Claude) -> None:
    with ModelServer() as server:
        (Path.home() / ".wakebook" / "config.toml").write_text(settings(server))
        server.script(Status(500, "overloaded"))
        text = run("flush", SESSION, code=1)
    assert "is not saved: the model failed, and what was said is archived" in text
    assert "saved so far: 6 messages, 0 entries" in text
    assert f"flush claude-code/{SESSION}: the model failed" in run("status", code=1)


def test_a_session_that_nobody_knows() -> None:
    assert "nobody is not saved: No session 'nobody'" in run("flush", "nobody", code=1)
    assert run_json("flush", "nobody", code=1)["ok"] is False
    assert "flush nobody" in run("status", code=1)


def test_figures_belong_together(claude: Claude) -> None:
    assert "belong together" in run("flush", SESSION, "--tokens", "5", code=2)
    assert "belong together" in run("flush", SESSION, "--window", "5", code=2)
    run("flush", SESSION, "--tokens", "5", "--window", "0", code=2)
    run("flush", SESSION, "--round", "-1", code=2)


def test_help_teaches_with_examples() -> None:
    assert "wakebook window prune request.json --window 200000 --report" in run("prune", "--help")
    assert "wakebook window flush 5560 --tokens 178000 --window 200000" in run("flush", "--help")
