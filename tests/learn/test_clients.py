"""Conversations that a program of the user's reads: it fails as it may; nothing is lost or doubled,
and no reading is ever read."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests import homes
from tests.learn.telling import Tale, answer, decision, handoff
from tests.models.programs import logged_out, on_path, program, says
from wakebook import Memory
from wakebook.base import echo
from wakebook.models.calls import Calls

CLAUDE = "claude-code/haiku"
DECIDED = "We decided to send the newsletter on Fridays."
ANSWER = answer(decision(DECIDED, 1), handoff("The newsletter goes out on Fridays."))


@pytest.fixture
def tale(tale: Tale, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tale:
    on_path(monkeypatch, tmp_path / "bin")
    tale.settings(CLAUDE)
    return tale


@pytest.fixture
def bin(tmp_path: Path) -> Path:
    return tmp_path / "bin"


def counted(bin: Path) -> int:
    path = bin / "count"
    return len(path.read_text().split()) if path.exists() else 0


COUNT = 'echo once >> "$here/count"'


def outcomes(memory: Memory) -> list[str]:
    return [call.outcome for call in Calls(memory.home).all()]


def test_a_client_reads_a_conversation(tale: Tale, bin: Path) -> None:
    program(bin, "claude", COUNT, says(ANSWER))
    tale.talk(DECIDED, "Noted.")
    assert not tale.memory.catch_up().held
    assert tale.contents("decision") == [DECIDED] and counted(bin) == 1
    (entry,) = tale.current("decision")
    assert entry.by.startswith(CLAUDE)
    found = tale.memory.status()
    assert found.problems == () and found.held == 0 and found.models["main"] == CLAUDE
    used = {(one.period, one.of): one.used for one in found.limits}
    assert used["day", "calls"] == 1 and used["month", "tokens"] == 1620
    assert used["day", "dollars"] == 0.0123


def test_held_then_read_by_rules_then_made_up_for(
    tale: Tale, bin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Missing, then logged out; then it is there."""
    tale.talk(DECIDED, "Noted.")
    swept = tale.memory.catch_up()
    assert "no command claude" in next(iter(swept.held.values()))
    found = tale.memory.status()
    assert found.held == 1 and any("no command claude" in one for one in found.problems)
    program(bin, "claude", COUNT, logged_out())
    assert tale.memory.catch_up().covered == 1 and counted(bin) == 1
    assert tale.contents("decision") == [DECIDED]
    found = tale.memory.status()
    assert (found.held, found.by_rules) == (0, 1)
    assert any("Not logged in" in one for one in found.problems)
    tale.memory.catch_up()
    assert counted(bin) == 1  # nothing is tried again by itself
    program(bin, "claude", COUNT, says(ANSWER))
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T09:00:00Z")
    tale.memory.upgrade()
    assert [(one.content, one.by[:11]) for one in tale.current("decision")] == [
        (DECIDED, "claude-code")
    ]
    assert tale.memory.status().by_rules == 0 and outcomes(tale.memory) == ["unavailable", "ok"]
    assert tale.memory.status().problems == ()


def test_an_answer_in_prose_is_held(tale: Tale, bin: Path) -> None:
    program(bin, "claude", COUNT, says("I would remember that it is Fridays."))
    tale.talk(DECIDED, "Noted.")
    swept = tale.memory.catch_up()
    assert "no JSON object" in next(iter(swept.held.values()))
    assert tale.contents("decision") == [] and counted(bin) == 2  # with the repair
    assert any("gave nothing that can be used" in one for one in tale.memory.status().problems)


def test_a_machine_without_network(tale: Tale, bin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = says("API Error: Unable to connect to API (ENOTFOUND)", is_error=True)
    program(bin, "claude", COUNT, f"{said}; exit 1")
    tale.talk(DECIDED, "Noted.")
    assert "Unable to connect" in next(iter(tale.memory.catch_up().held.values()))
    assert any("Unable to connect" in one for one in tale.memory.status().problems)
    monkeypatch.setenv("WAKEBOOK_OFFLINE", "1")
    assert tale.memory.catch_up().covered == 1 and counted(bin) == 1
    assert tale.contents("decision") == [DECIDED]


def test_two_homes_with_one_client(tale: Tale, bin: Path, tmp_path: Path) -> None:
    program(bin, "claude", COUNT, says(ANSWER))
    other = homes.made(tmp_path / "other")
    other.home.config.write_bytes((tale.root / "config.toml").read_bytes())
    tale.talk(DECIDED, "Noted.")
    for _ in range(2):
        tale.memory.catch_up()
        Memory(other.home.root).catch_up()
    assert counted(bin) == 2
    for memory in (tale.memory, Memory(other.home.root)):
        kept = [one for one in memory.log.chains().current() if one.type == "decision"]
        assert [one.content for one in kept] == [DECIDED] and outcomes(memory) == ["ok"]


KEEPS = """
import json, os, subprocess, sys
from pathlib import Path
prompt, folder = sys.stdin.read(), Path(sys.argv[1])
for name, cwd in (("apart", os.getcwd()), ("here", "/home/mira/tidepool")):
    common = {"cwd": cwd, "sessionId": name, "isSidechain": False, "version": "2.1.325",
              "timestamp": "2026-11-08T12:00:00.000Z"}
    lines = [{"type": "user", "uuid": f"{name}-1", "message": {"role": "user", "content": prompt}},
             {"type": "assistant", "uuid": f"{name}-2", "message": {"id": name, "role": "assistant",
              "content": [{"type": "text", "text": "We decided to read it all again."}]}}]
    text = "".join(json.dumps(common | line) + "\\n" for line in lines)
    (folder / f"{name}.jsonl").write_text(text)
hook = [sys.executable, "-m", "wakebook", "hook", "claude-code", "SessionStart"]
event = {"session_id": "apart", "cwd": os.getcwd(), "source": "startup"}
done = subprocess.run(hook, input=json.dumps(event), text=True, capture_output=True,
                      env=os.environ | {"WAKEBOOK_HOME": sys.argv[2], "PYTHONPATH": sys.argv[3]})
Path(sys.argv[4]).write_text(f"{done.returncode} {done.stdout}{done.stderr}")
"""


def test_a_reading_is_never_read(tale: Tale, bin: Path, tmp_path: Path) -> None:
    """The client keeps its sessions and runs its hooks all the same, here and elsewhere."""
    script = tmp_path / "keeps.py"
    script.write_text(KEEPS)
    packages = Path(echo.__file__).parents[2]
    words = [sys.executable, script, tale.projects, tale.root, packages, bin / "hook"]
    keeps = " ".join(f"'{word}'" for word in words)
    program(bin, "claude", COUNT, keeps, says(ANSWER))
    tale.talk(DECIDED, "Noted.")
    for _ in range(3):
        tale.memory.catch_up()
    assert {path.name for path in tale.projects.glob("*here.jsonl")} == {"here.jsonl"}
    assert counted(bin) == 1 and outcomes(tale.memory) == ["ok"]
    assert (bin / "hook").read_text() == "0 "
    told = {one.ref: one for one in tale.memory.audit()}
    assert told["claude-code/apart"].status == "skipped"
    assert told["claude-code/apart"].note == "a reading of Wakebook's own"
    assert "read it all again" not in json.dumps([one.content for one in tale.log()])
    assert tale.contents("decision") == [DECIDED]
    raw = [path.read_text() for path in (tale.root / "raw").rglob("*.md")]
    assert not any("wakebook-memory" in one or "newsletter on Fridays.\\n" in one for one in raw)
    assert not os.environ.get(echo.READS)
