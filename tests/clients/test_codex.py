"""Codex, the real one, with Wakebook in it, against a scripted model on loopback."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients import clients
from tests.clients.responses import Ask, Call, ResponsesServer, Say, Wait
from tests.clients.wired import Wired, end_service, service, told, until
from tests.journeys.command import run
from wakebook.hosts import codex as codex_server

CONFIG = """\
# mine
model = "scripted"   # not a real one
model_provider = "loopback"
{more}
[model_providers.loopback]
name = "loopback"
base_url = "{base}"
wire_api = "responses"
env_key = "LOOPBACK_KEY"
"""
MINE = '{"description": "nothing yet", "hooks": {}}'
THEIRS = """\
{
    "description": "mine",
    "hooks": {
        "Stop": [ { "hooks": [ { "type": "command", "command": "true", "timeout": 5 } ] } ]
    }
}
"""
PLAN = "Remind me to plan the week."
DECIDED = "We decided to launch on 14 November."
WEIGHT = "Remember that the parcel weighs 3 kilos."
CORRECTED = "Actually, we decided to launch on 21 November."
TERMINAL = {  # what it asks of a terminal when it starts
    b"\x1b[6n": b"\x1b[1;1R",
    b"\x1b[c": b"\x1b[?62;c",
    b"\x1b]10;?": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
    b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\",
}
SEARCH = Call("memory_search", {"query": "When is the launch?"}, "mcp__wakebook")


class Codex(Wired):
    """The client in a home folder of its own, wired to a Wakebook of its own."""

    host = "codex"

    def __init__(self, tmp_path: Path, server: ResponsesServer) -> None:
        super().__init__(tmp_path / "wakebook")
        self.server = server
        self.folder = Path.home() / ".codex"
        self.project = tmp_path / "project"
        for folder in (self.folder, self.project, tmp_path / "bin"):
            folder.mkdir()
        self.configure("")
        (self.folder / "hooks.json").write_text(MINE)
        self.command = str(tmp_path / "bin" / "codex")
        words = " ".join(f"'{word}'" for word in clients.codex())
        Path(self.command).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        Path(self.command).chmod(0o755)

    def configure(self, more: str) -> None:
        text = CONFIG.format(base=self.server.base, more=more)
        (self.folder / "config.toml").write_text(text)

    def files(self) -> dict[str, bytes]:
        return {name: (self.folder / name).read_bytes() for name in ("hooks.json", "config.toml")}

    def wire(self) -> None:
        self.init("--yes")
        self.trust()

    def trust(self) -> None:
        """What "Trust all and continue" on Codex's screen does, which writes the same."""
        found = self.ask("hooks/list", {"cwds": [str(self.project)]})["data"][0]["hooks"]
        given = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in found}
        edit = {"keyPath": "hooks.state", "value": given, "mergeStrategy": "upsert"}
        assert self.ask("config/batchWrite", {"edits": [edit]})["status"] == "ok"

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        return codex_server.ask([self.command], os.environ, {method: params})[method]

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.command, "exec", "--skip-git-repo-check", "--json", *words],
            cwd=self.project, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def say(self, *words: str) -> tuple[str, list[Ask]]:
        """One turn of `codex exec`: the session's id, and what the model was asked in it."""
        before = len(self.server.asks)
        out, trouble = (process := self.start(*words)).communicate(timeout=60)
        assert process.returncode == 0, out + trouble
        events = [json.loads(line) for line in out.splitlines()]
        assert any(event["type"] == "turn.completed" for event in events), out
        self.settle()
        return events[0]["thread_id"], self.server.asks[before:]


@pytest.fixture
def codex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Codex]:
    monkeypatch.delenv("WAKEBOOK_NOW")  # the client writes the real time
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.setenv("LOOPBACK_KEY", "none")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    with ResponsesServer() as server:
        yield (found := Codex(tmp_path, server))
        end_service(found.home)


class Screen:
    """Codex as a person has it: a terminal to read from and to type into."""

    def __init__(self, codex: Codex) -> None:
        self._seen = bytearray()
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self._process = subprocess.Popen(
            [codex.command, "--no-alt-screen", "--no-daemon"], cwd=codex.project,
            env=os.environ | {"TERM": "xterm-256color"}, stdin=theirs, stdout=theirs,
            stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._ours)

    def shows(self, text: str) -> bool:
        """Whether this has been drawn; what it asks of the terminal is answered."""
        while select.select([self._ours], [], [], 0)[0]:
            part = os.read(self._ours, 65536)
            self._seen.extend(part)
            for question, answer in TERMINAL.items():
                if question in part:
                    os.write(self._ours, answer)
        return text.encode() in self.drawn

    @property
    def drawn(self) -> bytes:
        return re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", self._seen)

    def type(self, keys: str, then: str = "") -> bool:
        """Whether it shows that it has seen these keys: right after its start it may not."""
        os.write(self._ours, keys.encode())
        end = time.monotonic() + 2
        while not self.shows(then) and time.monotonic() < end:
            time.sleep(0.05)
        return self.shows(then)

    def enter(self, line: str, done: Callable[[], bool]) -> None:
        """Type a line and end it, which has to come apart: else it is taken for a paste."""
        for keys in (line, *["\r"] * 60):
            self.type(keys)
            end = time.monotonic() + 1
            while time.monotonic() < end:
                if self.shows("") and done():
                    return
                time.sleep(0.05)
        raise AssertionError(self.drawn[-3000:].decode("utf-8", "replace"))


def test_three_sessions_and_a_correction(codex: Codex) -> None:
    codex.wire()
    codex.say(f"{PLAN} {DECIDED}")
    second, asks = codex.say(CORRECTED)
    assert "launch on 14 November" in told(asks[0])
    codex.server.script(SEARCH, Say("On the 21st."))
    patience = ("-c", "mcp_servers.wakebook.required=true")  # on a machine busy with tests
    _, asks = codex.say(*patience, "Good morning, where were we?")
    text = told(asks[0])
    assert f"Session: {second}" in text.partition("## Last Session Handoff")[2]
    assert "launch on 21 November" in text
    assert "14 November" not in re.sub(r"Was: .*", "", text)
    assert "mcp__wakebook/memory_search" in asks[0].tools
    answer = asks[1].said[-1]
    assert answer[0] == "function_call_output"
    found = json.loads(answer[1].partition("Output:\n")[2])["results"]
    assert found[0]["type"] == "decision" and "21 November" in json.dumps(found[0])
    assert codex.behind() == 0


def test_a_compaction_loses_nothing(codex: Codex) -> None:
    codex.configure("model_auto_compact_token_limit = 1000")
    codex.wire()
    codex.server.script(Say("Understood.", tokens=5000), Say("SUMMARY of what was said"))
    session, _ = codex.say(DECIDED)
    _, asks = codex.say("resume", session, WEIGHT)
    assert len(asks) == 2  # the summary, and the turn
    assert "SUMMARY" in asks[1].text and DECIDED.rstrip(".") in told(asks[1])
    rollout = next((codex.folder / "sessions").rglob(f"*{session}.jsonl")).read_text()
    assert '"type":"compacted"' in rollout
    facts = [text for text in codex.entries() if "November" in text or "kilos" in text]
    assert sorted(facts) == [WEIGHT, DECIDED]
    assert "SUMMARY" not in "".join(map(str, codex.entries()))
    assert codex.behind() == 0


def test_resume_and_fork_double_nothing(codex: Codex) -> None:
    codex.wire()
    codex.say(DECIDED)
    session, asks = codex.say(WEIGHT)
    assert told(asks[0]).count("## Last Session Handoff") == 1
    _, asks = codex.say("resume", session, "Anything else?")
    assert told(asks[0]).count("## Last Session Handoff") == 1  # from the beginning, not again
    fork, asks = codex.say("fork", session, "The fair is on 3 December.")
    assert fork != session and told(asks[0]).count("## Last Session Handoff") == 1
    entries = codex.entries()
    for once in (DECIDED, WEIGHT):
        assert entries.count(once) == 1, entries
    assert codex.behind() == 0


def test_codex_is_killed(codex: Codex) -> None:
    codex.wire()
    codex.server.script(Say("Noted."), Wait())
    session, _ = codex.say(PLAN)
    process = codex.start("resume", session, DECIDED)
    assert codex.server.arrived.wait(60)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    codex.server.over.set()
    codex.say("Hello again.")  # its SessionStart reads what the killed one has left
    until(lambda: DECIDED in codex.entries())
    assert codex.behind() == 0


def test_the_service_is_killed_in_mid_session(codex: Codex) -> None:
    codex.wire()
    with service(codex.home) as served:
        session, _ = codex.say(DECIDED)
        codex.server.script(Wait())
        process = codex.start("resume", session, WEIGHT)
        assert codex.server.arrived.wait(60)
        served.kill()
    codex.server.over.set()
    out, trouble = process.communicate(timeout=60)
    assert process.returncode == 0 and "turn.completed" in out, out + trouble
    codex.settle()
    _, asks = codex.say("When is the launch, and what does the parcel weigh?")
    assert "14 November" in told(asks[0]) and "3 kilos" in told(asks[0])
    assert codex.behind() == 0


def test_hooks_that_are_not_trusted(codex: Codex) -> None:
    said = codex.init("--yes")
    assert "Trust all and continue" in " ".join(said.split())
    assert codex.checks()["codex trust"] == "fail"
    shown = run("doctor", "--home", str(codex.home), "--host", "codex", code=1)
    assert "not allowed yet" in shown and "Trust all" in shown
    codex.say(DECIDED)
    assert codex.entries() == []  # skipped in silence
    assert codex.checks()["codex sessions"] == "warn"
    codex.trust()
    assert codex.checks()["codex trust"] == "ok"
    codex.say("Hello again.")  # its SessionStart reads what was missed
    until(lambda: DECIDED in codex.entries())
    assert set(codex.checks().values()) == {"ok"}


def test_trusted_on_its_screen(codex: Codex) -> None:
    codex.configure("check_for_update_on_startup = false")
    codex.init("--yes")
    with Screen(codex) as screen:
        until(lambda: screen.shows("Trust all and continue"))
        until(lambda: screen.type("2", then="› 2. Trust all"))
        screen.type("\r")
        until(lambda: screen.shows("") and codex.checks()["codex trust"] == "ok")
    codex.init("--yes")  # again: still trusted
    assert codex.checks()["codex trust"] == "ok"


def test_undo_leaves_nothing(codex: Codex) -> None:
    before = codex.files()
    codex.wire()
    codex.say(DECIDED)
    assert b"trusted_hash" in codex.files()["config.toml"]
    codex.init("--undo", "--yes")
    assert codex.files() == before


def test_undo_leaves_their_trust(codex: Codex) -> None:
    (codex.folder / "hooks.json").write_text(THEIRS)
    codex.trust()
    before = codex.files()
    assert before["config.toml"].count(b"trusted_hash") == 1
    codex.wire()
    assert codex.files()["config.toml"].count(b"trusted_hash") == 7
    codex.init("--undo", "--yes")
    assert codex.files() == before
