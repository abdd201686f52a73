"""Topics that the agent's own doing brings, and what is recovered: with the real clients."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from tests.clients.anthropic import Hang, Text, Use
from tests.clients.responses import Call, Say
from tests.clients.test_claude_code import WIKI, Desk, _said, _until, desk, wired
from tests.clients.test_codex import Codex, codex
from tests.clients.test_pi import Pi, pi
from tests.clients.wired import told
from tests.story import STYLE

__all__ = ["codex", "desk", "pi", "wired"]  # fixtures
WROTE = "It begins with: print 'x'"
HINT = "About your last words: Use Python 3 syntax."
SHELL = ("exec_command", "shell_command", "shell")  # what Codex calls it, from version to version


def test_claude_code_is_steered(wired: Desk) -> None:
    (wired.home / "topics" / "style.md").write_text(STYLE)
    given = {"file_path": str(wired.project / "schema.sql"), "content": "x"}
    wired.server.script(Use("Write", given), Text(WROTE))
    session = wired.say("Write the schema.", "--permission-mode", "acceptEdits")["session_id"]
    before, after = wired.server.asked[:2]
    assert "House style" not in before.text
    assert "House style" in wired.told(after)  # before the model goes on
    wired.say("Go on.", "--resume", session)
    assert HINT in wired.told()


def test_codex_is_steered(codex: Codex) -> None:
    codex.wire()
    (codex.home / "topics" / "style.md").write_text(STYLE)
    _, (asked, *_) = codex.say("Hello.")
    name = next(name for name in SHELL if name in asked.tools)
    line = "echo x > schema.sql"
    given: dict[str, Any] = {"cmd": line} if name == "exec_command" else {"command": line}
    given = {"command": ["bash", "-lc", line]} if name == "shell" else given
    codex.server.script(Call(name, given), Say(WROTE))
    session, (before, after, *_) = codex.say("Write the schema.")
    assert "House style" not in before.text
    assert "House style" in told(after)
    _, asks = codex.say("resume", session, "Go on.")
    assert HINT in told(asks[0])


def test_pi_is_steered(pi: Pi) -> None:
    pi.init("--yes")
    (pi.home / "topics" / "style.md").write_text(STYLE)
    pi.server.script(Call("write", {"path": "schema.sql", "content": "x"}), Say(WROTE))
    session, (before, after, *_) = pi.say("Write the schema.")
    assert "House style" not in before.text
    assert "House style" in after.said[-1][1]  # below the tool's result
    _, asks = pi.say("--session", session, "Go on.")
    assert HINT in told(asks[0])


def test_what_was_recovered_is_told_in_its_own_project(wired: Desk, tmp_path: Path) -> None:
    """A client is killed; then two begin at once, in its project and in another."""
    for folder in (wired.project, tmp_path / "other"):
        folder.mkdir(exist_ok=True)
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
    wired.server.script(Hang())
    killed = wired.command("-p", WIKI)
    wired.server.wait(1)
    _until(lambda: any(_said("wiki in Oslo", one) for one in _sessions(wired)))
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    wired.server.forget()
    running, heard = {}, {}
    for number, folder in enumerate((wired.project, tmp_path / "other")):
        wired.server.wait(number)  # the first has begun, and its sweep is under way
        wired.project = folder
        running[folder] = wired.command("-p", "What is new?", "--output-format", "json")
    for folder, process in running.items():
        out, error = process.communicate(timeout=120)
        session = json.loads(out or error)["session_id"]
        (asked,) = [one for one in wired.server.asked if str(folder) in one.text]
        heard[folder] = session, wired.told(asked)
    wired.settle()
    for folder, (session, told_first) in heard.items():
        wired.project = folder
        wired.say("And now?", "--resume", session)
        said = told_first + wired.told()
        assert (WIKI in said) == (folder.name == "project"), said
        assert "## Recovered" not in said or folder.name == "project"


def _sessions(desk: Desk) -> list[Path]:
    return list((desk.user / ".claude" / "projects").rglob("*.jsonl"))
