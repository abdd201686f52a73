"""`wakebook models`, and the question that `setup` and `init --host` ask once."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.cli.test_setup import screen
from tests.journeys.command import run, run_json
from tests.models.programs import logged_out, program, says
from tests.story import Claude
from wakebook import Memory
from wakebook.base.errors import ConfigError
from wakebook.models.calls import Calls

NAME = "claude-code/haiku"
DECIDED = "We decided to send the newsletter on Fridays."
LINES = "\n".join(
    json.dumps(one)
    for one in (
        {"type": "decision", "content": DECIDED, "evidence": [1]},
        {"type": "handoff", "content": "The newsletter goes out on Fridays."},
    )
)
PAPER = "We decided to keep the timetable of the ferries on paper."
COUNT = 'echo once >> "$here/count"'
NEVER = "exit 99"


@pytest.fixture
def bin(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only programs are git, sh's, and what a test puts there."""
    monkeypatch.setenv("PATH", f"{home.parent / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.delenv("WAKEBOOK_OFFLINE")
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")  # nothing listens
    return home.parent / "bin"


@pytest.fixture
def talk(projects: Path) -> Claude:
    return Claude(projects).user(DECIDED).agent("Noted.")


class _Tags(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        names = ("nomic-embed-text:latest", "qwen3:8b")
        body = json.dumps({"models": [{"name": name} for name in names]}).encode()
        self.send_response(200 if self.path == "/api/tags" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def ollama(bin: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with HTTPServer(("127.0.0.1", 0), _Tags) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.server_port}")
        yield
        server.shutdown()


def counted(bin: Path) -> int:
    path = bin / "count"
    return len(path.read_text().split()) if path.exists() else 0


def main(home: Path) -> str:
    return str(Memory(home).config.models.main)


# --- what there is ---------------------------------------------------------------------------
def test_what_there_is_is_listed_without_a_call(
    bin: Path, ollama: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-nothing")
    for name in ("claude", "codex", "pi"):
        program(bin, name, NEVER, COUNT)
    said = run("models")
    for one in (NAME, "codex/default", "pi/default", "ollama/qwen3:8b", str(bin / "codex")):
        assert one in said
    assert "embed" not in said and "sk-ant" not in said and "No model reads" in said
    found = run_json("models")
    assert [one["name"] for one in found["found"]][:4] == [
        NAME, "codex/default", "pi/default", "ollama/qwen3:8b"
    ]  # fmt: skip
    key = found["found"][-1]
    assert (key["seen"], key["keyless"]) == ("ANTHROPIC_API_KEY", False)
    assert counted(bin) == 0


def test_nothing_is_there(bin: Path) -> None:
    assert "No model was found on this machine" in run("models")


def test_a_model_is_tried_with_a_real_round_trip(bin: Path, home: Path) -> None:
    run("init")
    program(bin, "claude", COUNT, says(LINES))
    said = run("models", "test", NAME)
    assert "newsletter on Fridays" in said and f"{NAME} works: 1 call, 1,600 tokens in" in said
    assert "$0.0123" in said and not Memory(home).log.chains().entries
    assert [one.outcome for one in Calls(Memory(home).home).all()] == ["ok"]
    program(bin, "claude", logged_out())
    assert "Not logged in" in run("models", "test", NAME, code=1)
    assert not Memory(home).status().problems  # it is not in use
    program(bin, "claude", says('{"type": "nothing"}'))
    assert "has learned nothing" in run("models", "test", NAME, code=1)
    assert "give the NAME" in run("models", "test", code=2)
    assert "is no model" in run("models", "test", "gpt", code=1)


def test_one_is_used_and_none(bin: Path, home: Path) -> None:
    run("init")
    text = (home / "config.toml").read_text()
    program(bin, "claude", NEVER, COUNT)
    assert f"{NAME} reads your conversations from now on" in run("models", "use", NAME)
    lines = (home / "config.toml").read_text().splitlines()
    line, place = (one for one in lines if one not in text.splitlines())
    assert place == f'program = "{bin / "claude"}"'
    assert line == f'main = "{NAME}"  # by `wakebook models use {NAME}` on 2026-11-09'
    assert set(text.splitlines()) < set(lines) and main(home) == NAME
    assert f"{NAME} reads" in run("models") and "0 of 400 calls today" in run("models")
    assert "no command codex" in run("models", "use", "codex/default")
    run("models", "use", "none")
    assert "program = " not in re.sub("(?m)^#.*", "", (home / "config.toml").read_text())
    assert main(home) == "none" and Memory(home).models.name("main") == ""
    assert "is no model" in run("models", "use", "haiku", code=ConfigError.exit_code)
    assert main(home) == "none" and counted(bin) == 0


# --- asked once ------------------------------------------------------------------------------
def test_setup_says_what_it_found_and_what_a_week_takes_and_asks(
    bin: Path,
    user: Path,
    home: Path,
    talk: Claude,
) -> None:
    program(bin, "claude", COUNT, says(LINES))
    code, drawn = screen("setup", "--host", "codex", keys="y\ny\n")
    assert code == 0 and f"{NAME} was found" in drawn
    assert "Reading the last week would take about 1 call and" in drawn
    assert "Claude Code's own login" in drawn and counted(bin) == 1
    assert main(home) == NAME
    kept = [one for one in Memory(home).log.chains().current() if one.type == "decision"]
    assert [one.by[:11] for one in kept] == ["claude-code"]
    again = screen("setup", "--host", "codex", keys="y\n")[1]
    assert "Let claude-code" not in again and counted(bin) == 1
    run("setup", "--undo")


def test_no_is_no_and_is_not_asked_again(
    bin: Path,
    user: Path,
    home: Path,
    talk: Claude,
) -> None:
    program(bin, "claude", COUNT, says(LINES))
    code, drawn = screen("setup", "--host", "codex", keys="y\n\n")  # Enter is no
    assert code == 0 and "No model is asked" in drawn
    assert main(home) == "none" and counted(bin) == 0
    assert "Let claude-code" not in screen("setup", "--host", "codex", keys="y\n")[1]
    assert "Let claude-code" not in screen("init", "--host", "pi", keys="y\n")[1]
    assert [one.by for one in Memory(home).log.chains().entries if one.type == "decision"] == [
        "rules"
    ]
    run("setup", "--undo")


def test_without_a_yes_there_is_no_call(
    bin: Path,
    user: Path,
    home: Path,
    talk: Claude,
) -> None:
    program(bin, "claude", COUNT, says(LINES))
    assert f"{NAME} was found" in run("setup", "--dry-run", "--host", "codex")
    said = run("setup", "--yes", "--host", "codex")
    assert f"wakebook models use {NAME}" in said and main(home) == ""
    run("setup", "--undo")
    found = run_json("setup", "--yes", "--host", "codex")["model"]
    assert found["chosen"] == "" and found["found"]["name"] == NAME
    run("setup", "--undo")
    run("init", "--host", "codex", "--yes")
    assert main(home) == "" and counted(bin) == 0
    run("setup", "--undo")


def test_scripts_name_the_model(
    bin: Path,
    user: Path,
    home: Path,
    talk: Claude,
) -> None:
    program(bin, "claude", COUNT, says(LINES))
    assert "is no model" in run("setup", "--yes", "--model", "haiku", code=2)
    assert not home.exists()
    run("init", "--model", "none")
    assert main(home) == "none"
    run("setup", "--yes", "--host", "codex", "--model", NAME)
    assert main(home) == NAME and counted(bin) == 1
    run("setup", "--undo")


def test_what_is_older_than_a_week_is_read_by_rules(
    bin: Path,
    user: Path,
    home: Path,
    talk: Claude,
    projects: Path,
) -> None:
    program(bin, "claude", COUNT, says(LINES))
    old = Claude(projects, "5e551011-0000-4000-8000-000000000002").user(PAPER)
    old.agent("Noted.")
    long_ago = time.time() - 5 * 365 * 86_400
    os.utime(old.path, (long_ago, long_ago))
    run("setup", "--yes", "--host", "codex", "--model", NAME)
    by = {one.content: one.by for one in Memory(home).log.chains().current()}
    assert by[PAPER] == "rules" and by[DECIDED].startswith(NAME)
    assert counted(bin) == 1 and Memory(home).status().by_rules == 1
    run("setup", "--undo")
