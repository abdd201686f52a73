"""`wakebook context`, as somebody types it and as a host calls it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.command import call, process, run, run_json
from tests.learn.telling import RECENT
from tests.lend import settings
from tests.recall.shapes import SHAPES, Shape, Step
from tests.server import ModelServer, Status
from tests.story import WORKDAY, Claude, chat
from wakebook import Memory

ASKED = "which database did we take for the bookings?"
SLOTS = "identity memory projects handoff journal topics recalled history".split()
STEPS: list[Step] = [
    ("user", "Is the ferry on time today?"),
    ("call", "c1", "timetable"),
    ("result", "c1", "08:40, no delay"),
    ("assistant", "The ferry leaves at 08:40."),
]
PYTHON = """---
type: topic
description: How Python code is written here.
triggers:
  - type: glob
    match: "*.py"
---
# Python [bold]style[/bold]

Run [red]ruff[/red] first.
"""
TIDES = """---
type: topic
description: Tides, high water and low water, and when a boat may leave.
triggers:
  - type: keyword
    match: [tide, high water]
---
# Tides

Look at the tide table of the harbour before a boat leaves.
"""
BAD = "---\ntype: topic\npriority: hig\n---\nText.\n"


@pytest.fixture(autouse=True)
def home() -> Path:
    """A home that knows a little of everything."""
    run("init")
    home = Path.home() / ".wakebook"
    write(home, "knowledge/identity/SOUL.md", "# Soul\n\nCalm, short, honest.\n")
    write(home, "knowledge/memory/MEMORY.md", "# Memory\n\nMira runs Tidepool.\n")
    (home / "topics/release-day.md").unlink()
    return home


def write(home: Path, name: str, text: str) -> Path:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of something that was decided weeks ago, and stands in the log only."""
    return learned(monkeypatch, "We take Postgres as the database for the bookings")[0]


def learned(monkeypatch: pytest.MonkeyPatch, *texts: str) -> list[str]:
    """Decisions of some weeks ago: no journal of today and no briefing tells of them."""
    with monkeypatch.context() as then:
        then.setenv("WAKEBOOK_NOW", "2026-10-12T08:00:00Z")
        memory = Memory()
        return [memory.remember(text, type_="decision").id for text in texts]


def both(*arguments: str, stdin: str | bytes = "", **extra: str) -> tuple[str, str]:
    """Standard output and standard error of a call that does well."""
    done = call("context", *arguments, stdin=stdin, **extra)
    assert done.code == 0, done.err.decode()
    return done.out.decode(), done.err.decode()


def slots(found: Any) -> dict[str, Any]:
    return {slot["name"]: slot for slot in found["slots"]}


# --- the message --------------------------------------------------------------------------


def test_words_one_text_and_standard_input_are_the_same(database: str) -> None:
    text = run("context", ASKED)
    assert "Postgres" in text and f"({database})" in text
    assert run("context", *ASKED.split()) == text
    assert run("context", "-", stdin=ASKED) == text
    assert text.count("<wakebook-memory>") == text.count("</wakebook-memory>") == 3
    assert text.endswith("</wakebook-memory>\n")


def test_without_a_message_it_is_what_a_session_begins_with(database: str) -> None:
    text = run("context")
    assert "Calm, short, honest." in text and "Mira runs Tidepool." in text
    assert database not in text
    assert run("context", "-", stdin=" \n") == text
    assert "Context for a new session" in run("context", "--explain")


def test_a_dash_among_other_words_is_a_word() -> None:
    assert "Context for “tea - or coffee”" in run(
        "context", "tea", "-", "or", "coffee", "--explain"
    )
    assert "Context for “-x”" in run("context", "--explain", "--", "-x")


def test_only_the_text_is_on_standard_output(home: Path, database: str) -> None:
    clean, nothing = both(ASKED)
    assert nothing == ""
    write(home, "topics/urgent.md", BAD)
    out, err = both(ASKED)
    assert out == clean
    assert err.startswith("! topics/urgent.md:3: priority is 'hig'") and err.count("\n") == 1
    assert "Did you mean high?" in err and err.endswith("It is left out.\n")
    out, err = both(ASKED, "--json")
    assert err == "" and "topics/urgent.md:3" in json.loads(out)["notes"][0]
    out, err = both(ASKED, "--explain")
    assert "topics/urgent.md:3" in err and "topics/urgent.md" not in out


def test_standard_input_that_is_not_utf_8_is_read_all_the_same(database: str) -> None:
    """In most locales Python refuses such bytes, in C.UTF-8 it does not."""
    out, _ = both("-", stdin=b"\xff " + ASKED.encode(), PYTHONIOENCODING="utf-8:strict")
    assert database in out


# --- what may be wrong ---------------------------------------------------------------------


@pytest.mark.parametrize("budget", ["1", "399"])
def test_a_budget_that_is_too_small(budget: str) -> None:
    said = run("context", ASKED, "--budget", budget, code=1)
    assert said == (
        f"wakebook: A context of {budget} tokens has room for nothing. Give it 400 or more.\n"
    )
    error = run_json("context", ASKED, "--budget", budget, code=1)["error"]
    assert error["kind"] == "WakebookError" and "400 or more" in error["message"]


def test_a_budget_that_is_refused_leaves_nothing_behind(home: Path) -> None:
    write(home, "topics/tides.md", TIDES)
    run("context", "the tide at high water", "--budget", "5", code=1)
    assert run_json("gates")["decisions"] == []


def test_a_budget_is_kept(database: str) -> None:
    found = run_json("context", ASKED, "--budget", "400")
    assert 0 < found["tokens"] <= found["budget"] == 400
    run("context", ASKED, "--budget", "0", code=2)
    run("context", ASKED, "--budget", "many", code=2)


def test_a_slot_that_there_is_not() -> None:
    said = run("context", ASKED, "--have", "memory", "--have", "memries", code=1)
    assert "'memries' is no slot of a context: identity, memory, handoff," in said


def test_a_kind_that_there_is_not() -> None:
    said = run("context", ASKED, "--kind", "crowd", code=2)
    assert "'main', 'group', 'subagent', 'cron', 'hook'" in said


def test_a_topic_that_there_is_not(home: Path) -> None:
    write(home, "topics/tides.md", TIDES)
    said = run("context", ASKED, "--topic", "tides", "--topic", "tidse", code=9)
    assert "There is no topic 'tidse'. `wakebook topics list` shows them." in said
    assert run_json("context", ASKED, "--topic", "x", code=9)["error"]["kind"] == "NotFound"


@pytest.mark.parametrize(
    "arguments",
    [["context", "x"], ["context"], ["context", "x", "--json"], ["context", "x", "--explain"]],
)
def test_without_a_home(arguments: list[str], tmp_path: Path) -> None:
    said = run(*arguments, "--home", str(tmp_path / "no"), code=3)
    assert "wakebook setup" in said and not (tmp_path / "no").exists()


def test_settings_that_are_wrong_are_named(home: Path) -> None:
    (home / "config.toml").write_text('[context]\nhave = ["memries"]\n')
    said = run("context", ASKED, code=5)
    assert "config.toml: [context] have: unknown 'memries'" in said and "memory" in said


# --- options -------------------------------------------------------------------------------


def test_what_the_host_has_is_left_out(home: Path) -> None:
    found = run_json("context", "--have", "identity", "--have", "memory")
    assert "Calm" not in found["text"] and "Tidepool" not in found["text"]
    assert slots(found)["memory"]["note"] == "your host loads it"
    (home / "config.toml").write_text('[context]\nhave = ["identity"]\nbudget = 500\n')
    found = run_json("context")
    assert "Calm" not in found["text"] and "Tidepool" in found["text"] and found["budget"] == 500
    assert run_json("context", "--budget", "600")["budget"] == 600


@pytest.mark.parametrize(
    ("kind", "soul", "memory"),
    [("main", 1, 1), ("group", 1, 0), ("cron", 1, 0), ("hook", 1, 0), ("subagent", 0, 0)],
)
def test_kinds_of_session(kind: str, soul: int, memory: int) -> None:
    text = run("context", "Tidepool", "--kind", kind)
    assert (text.count("Calm, short, honest."), text.count("Mira runs Tidepool.")) == (soul, memory)


def test_a_topic_by_name(home: Path) -> None:
    write(home, "topics/sailing/tides.md", TIDES.replace("---\n#", "activation: manual\n---\n#"))
    assert "Look at the tide table" not in run("context", "the tide at high water")
    found = run_json("context", "hello", "--topic", "sailing/tides")
    assert "Look at the tide table" in found["text"]
    [item] = slots(found)["topics"]["items"]
    assert item["label"] == "topic sailing/tides" and item["reason"] == "asked for by name"


def test_a_path_activates_a_topic(home: Path) -> None:
    write(home, "topics/python.md", PYTHON)
    assert "ruff" not in run("context", "look at this", "--path", "src/main.rs")
    for message in (["look at this"], []):
        text = run("context", *message, "--path", "README.md", "--path", "src/app/main.py")
        assert "# Python [bold]style[/bold]" in text and "Run [red]ruff[/red] first." in text
    [decision] = run_json("context", "--path", "main.py")["decisions"]
    assert decision["activated"] is True and decision["matched"] == ["glob *.py"]


def test_a_session_is_told_what_was_fired_once(home: Path) -> None:
    write(home, "topics/tides.md", TIDES)
    run("topics", "fire", "--topic", "tides")
    for _ in range(2):  # without a session one may look as often as one likes
        assert "Look at the tide table" in run("context", "hello")
    assert "Look at the tide table" not in run(
        "context", "hello", "--session", "a", "--kind", "group"
    )
    assert "Look at the tide table" in run("context", "hello", "--session", "a")
    assert "Look at the tide table" not in run("context", "hello", "--session", "a")
    assert "Look at the tide table" not in run("context", "hello")


def test_of_turns_at_the_same_time_one_is_told(home: Path) -> None:
    write(home, "topics/tides.md", TIDES)
    run("topics", "fire", "--topic", "tides")
    command = [sys.executable, "-m", "wakebook", "context", "hello", "--session"]
    children = [
        subprocess.Popen([*command, f"session-{n}"], stdout=subprocess.PIPE, text=True)
        for n in range(4)
    ]
    texts = [child.communicate(timeout=120)[0] for child in children]
    assert [child.returncode for child in children] == [0] * 4
    assert sum("Look at the tide table" in text for text in texts) == 1
    assert run_json("topics", "list")["waiting"] == []


def test_what_was_fired_for_a_session_waits_for_it(home: Path) -> None:
    write(home, "topics/tides.md", TIDES)
    run("topics", "fire", "--topic", "tides", "--session", "claude-code/a")
    for other in ([], ["--session", "b"]):
        assert "Look at the tide table" not in run("context", "hello", *other)
    assert "Look at the tide table" in run("context", "hello", "--session", "a")


@pytest.fixture
def talking(projects: Path) -> Claude:
    """A session that goes on."""
    claude = Claude(projects)
    claude.at = RECENT
    chat(claude, WORKDAY)
    run("catch-up")
    return claude


def test_a_session_knows_its_own_words(talking: Claude) -> None:
    found = run_json("context", "and now?", "--session", talking.session)
    assert slots(found)["history"]["tokens"] > 0
    assert "# Earlier in this session" in found["text"]
    assert "**agent**: Then we have a few weeks." in found["text"]
    assert slots(run_json("context", "and now?"))["history"]["note"] == "no history was given"
    for name in (f"claude-code/{talking.session}", talking.session[:8]):
        assert run("context", "and now?", "--session", name) == found["text"]


def test_a_beginning_that_fits_two_sessions(talking: Claude, projects: Path) -> None:
    other = Claude(projects, talking.session[:-1] + "2")
    other.at = RECENT
    other.user("I prefer tea over coffee.")
    run("catch-up")
    said = run("context", "and now?", "--session", talking.session[:8], code=9)
    assert f"'{talking.session[:8]}' fits 2 sessions. Give more of its id." in said
    assert "a few weeks" in run("context", "and now?", "--session", talking.session)


def test_what_was_fired_by_a_beginning_is_for_that_session(home: Path, talking: Claude) -> None:
    write(home, "topics/tides.md", TIDES)
    run("topics", "fire", "--topic", "tides", "--session", talking.session[:8])
    [waits] = run_json("topics", "list")["waiting"]
    assert waits["session"] == talking.session
    assert "Look at the tide table" in run("context", "hello", "--session", talking.session)


# --- history -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_the_history_in_the_shape_of_any_host(shape: Shape, tmp_path: Path) -> None:
    messages = json.dumps(shape(STEPS))
    path = tmp_path / "history.json"
    path.write_text(messages)
    text = run("context", "and back?", "--history", str(path))
    assert "**user**: Is the ferry on time today?" in text
    assert "**agent**: The ferry leaves at 08:40." in text
    assert "08:40, no delay" in text and text.index("Is the ferry") < text.index("leaves at 08:40")
    assert run("context", "and back?", "--history", "-", stdin=messages) == text
    path.write_text(f'{{"model": "m", "messages": {messages}}}')
    assert run("context", "and back?", "--history", str(path)) == text


def test_a_history_without_messages_is_none(tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    path.write_text("[]")
    assert run("context", "hello", "--history", str(path)) == run("context", "hello")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("7", "list of messages"),
        ('"user: hello"', "list of messages"),
        ('{"model": "m"}', "list of messages"),
        ('{"messages": {}}', "list of messages"),
    ],
)
def test_a_history_that_is_none_is_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    path.write_text(text)
    told = run("context", "hello", "--history", str(path), code=2)
    assert str(path) in told and said in told
    error = run_json("context", "hello", "--history", str(path), code=2)["error"]
    assert error["kind"] == "UsageError"


def test_a_history_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\xff\xfe\x00")
    assert "not JSON" in run("context", "hello", "--history", str(path), code=2)
    assert "nowhere.json" in run("context", "hello", "--history", "nowhere.json", code=2)
    run("context", "hello", "--history", str(tmp_path), code=2)


def test_messages_that_nobody_understands_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    path.write_text('[null, 7, "x", {"role": 7}, [], {"role": "user", "content": "the ferry"}]')
    assert "**user**: the ferry" in run("context", "hello", "--history", str(path))


def test_standard_input_is_either_the_message_or_the_history() -> None:
    said = run("context", "-", "--history", "-", code=2, stdin="[]")
    assert "standard input" in said.lower()


@pytest.mark.parametrize("how", [[], ["--json"], ["--explain"]])
def test_halves_of_characters_are_no_trouble(how: list[str]) -> None:
    history = json.dumps([{"role": "user", "content": "half \ud83d of it"}])
    out, _ = both("hello", "--history", "-", *how, stdin=history)
    assert "of it" in out


# --- for machines --------------------------------------------------------------------------


def test_for_machines(home: Path, database: str) -> None:
    write(home, "topics/tides.md", TIDES)
    write(home, "topics/urgent.md", BAD)
    found = run_json("context", f"{ASKED} the tide at high water", "--session", "a")
    assert set(found) >= set("text tokens budget slots missed decisions notes steps".split())
    assert found["left"] == found["budget"] - found["tokens"]
    assert found["text"] == run("context", f"{ASKED} the tide at high water", "--session", "a")
    assert found["budget"] == 8192 and found["tokens"] > 0
    assert [slot["name"] for slot in found["slots"]] == SLOTS
    for slot in found["slots"]:
        assert set(slot) == {"name", "priority", "tokens", "budget", "items", "note"}
    item = next(one for one in slots(found)["recalled"]["items"] if one["ref"] == database)
    assert item["score"] > 0.3 and item["tokens"] > 5 and "words: " in item["reason"]
    [decision] = found["decisions"]
    assert decision["topic"] == "tides" and decision["session"] == "a" and decision["id"]
    assert decision["id"] in [one["id"] for one in run_json("gates")["decisions"]]
    assert len(found["notes"]) == 1 and all(value >= 0 for value in found["steps"].values())
    assert run_json("context", ASKED, "--explain")["budget"] == 8192


def test_the_same_bytes_from_two_processes(database: str) -> None:
    assert process("context", ASKED).out == process("context", ASKED).out


def test_a_reader_that_goes_away_is_no_failure(database: str) -> None:
    wakebook = f"'{sys.executable}' -m wakebook"
    for how in ("", "--explain", "--json"):
        done = subprocess.run(
            ["bash", "-c", f"{wakebook} context x {how} | head -c 0; echo ${{PIPESTATUS[0]}}"],
            capture_output=True,
            text=True,
        )
        assert (done.stdout, done.stderr) == ("0\n", ""), how


def test_help_teaches_with_examples() -> None:
    text = run("context", "--help")
    assert 'wakebook context "which database did we take?" --explain' in text
    assert "--have memory --have identity" in text and "standard input" in text
    for option in ("session", "kind", "budget", "have", "topic", "path", "history", "explain"):
        assert f"--{option} " in text


# --- with a model --------------------------------------------------------------------------


@pytest.mark.parametrize(("answer", "told"), [("YES", True), ("no.", False)])
def test_the_gate_decides(home: Path, answer: str, told: bool) -> None:
    write(home, "topics/tides.md", TIDES)
    message = "When is high water, and may the boat leave at that tide?"
    with ModelServer() as server:
        (home / "config.toml").write_text(settings(server))
        server.reply = lambda chat: answer
        for _ in range(2):
            found = run_json("context", message)
            assert ("Look at the tide table" in found["text"]) is told
    assert len(server.chats) == 1  # the same words are asked about once
    asked = server.chats[0].prompt
    assert message in asked and "tides: Tides, high water and low water" in asked
    [decision] = found["decisions"]
    assert decision["activated"] is told and "(asked before)" in decision["gate"]
    explained = run("context", message, "--explain")
    assert ("● topic tides" if told else "○ tides not told: ") in explained


def test_a_model_that_fails_keeps_nobody_waiting(home: Path) -> None:
    write(home, "topics/tides.md", TIDES)
    with ModelServer() as server:
        (home / "config.toml").write_text(settings(server))
        server.script(Status(500, "overloaded"))
        found = run_json("context", "When is high water, and may the boat leave at that tide?")
    [decision] = found["decisions"]
    assert "without the gate (0.3)" in decision["reason"] and "no answer" in decision["gate"]
    assert decision["activated"] is (decision["similarity"] >= 0.3)


def test_what_turns_were_told_and_a_word_on_it(database: str) -> None:
    run("context", ASKED, "--session", "s1")
    [session] = run_json("context", "--told")["sessions"]
    assert (session["session"], session["turns"]) == ("s1", 1)
    [turn] = run_json("context", "--told", "--session", "s1")["turns"]
    assert turn["message"] == ASKED and turn["id"] in run("context", "--told", "--session", "s1")
    look = run_json("context", "--turn", turn["id"])
    [found] = [one for one in look["told"] if one["item"].get("ref") == database]
    assert found["type"] == "decision" and look["arrived"] == "yes"
    said = run("context", "--turn", turn["id"], "--useful", database)
    assert said.strip().endswith("is useful.")
    assert "useful" in run("context", "--turn", turn["id"])
    for wrong in (("--useful", database), ("--told", ASKED), ("--turn", "nothing")):
        assert call("context", *wrong).code in (2, 9)
