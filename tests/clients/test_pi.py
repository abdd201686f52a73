"""pi, the real one, with Wakebook in it, against a scripted model on loopback."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.clients import clients
from tests.clients.responses import Ask, Call, ResponsesServer, Say, Wait
from tests.clients.wired import Wired, end_service, service, told, until
from tests.journeys.command import run

PLAN = "Remind me to plan the week."
DECIDED = "We decided to launch on 14 November."
WEIGHT = "Remember that the parcel weighs 3 kilos."
CORRECTED = "Actually, we decided to launch on 21 November."
SEARCH = Call("memory_search", {"query": "When is the launch?"})


class Pi(Wired):
    """The client in a home folder of its own, wired to a Wakebook of its own."""

    host = "pi"

    def __init__(self, tmp_path: Path, server: ResponsesServer) -> None:
        super().__init__(tmp_path / "wakebook")
        self.server = server
        self.folder = Path.home() / ".pi" / "agent"
        self.project = tmp_path / "project"
        for folder in (self.folder, self.project, tmp_path / "bin"):
            folder.mkdir(parents=True)
        model = {"id": "scripted", "contextWindow": 100_000, "maxTokens": 1000}
        provider = {
            "baseUrl": server.base, "api": "openai-responses", "apiKey": "none", "models": [model],
        }  # fmt: skip
        models = {"providers": {"loopback": provider}}
        (self.folder / "models.json").write_text(json.dumps(models))
        self.command = str(tmp_path / "bin" / "pi")
        words = " ".join(f"'{word}'" for word in clients.pi())
        Path(self.command).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        Path(self.command).chmod(0o755)

    def files(self) -> dict[str, bytes]:
        """The user's own files: what pi keeps there for itself is another matter."""
        found = [self.folder / "models.json", *self.folder.glob("extensions/*")]
        return {path.name: path.read_bytes() for path in found}

    def start(self, *words: str, mode: str = "json") -> subprocess.Popen[str]:
        model = ("--provider", "loopback", "--model", "scripted", "--offline")
        return subprocess.Popen(
            [self.command, "--mode", mode, *model, *words], cwd=self.project, text=True,
            stdin=subprocess.PIPE if mode == "rpc" else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def say(self, *words: str) -> tuple[str, list[Ask]]:
        """One turn: the session's id, and what the model was asked in it."""
        before, closed = len(self.server.asks), self.closed()
        out, trouble = (process := self.start(*words)).communicate(timeout=60)
        assert process.returncode == 0, out + trouble
        events = [json.loads(line) for line in out.splitlines()]
        assert any(event["type"] == "agent_end" for event in events), out + trouble
        until(lambda: self.closed() > closed)  # the link child has closed the session
        self.settle()
        return events[0]["id"], self.server.asks[before:]

    def closed(self) -> int:
        """Windows of sessions that are closed."""
        found = self.memory.opened.state().sessions.values() if self.home.exists() else ()
        return sum(one.windows - (one.window is not None) for one in found)


@pytest.fixture
def pi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pi]:
    monkeypatch.delenv("WAKEBOOK_NOW")  # the client writes the real time
    for name in ("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    with ResponsesServer() as server:
        yield (found := Pi(tmp_path, server))
        end_service(found.home)


def test_three_sessions_and_a_correction(pi: Pi) -> None:
    pi.init("--yes")
    pi.say(f"{PLAN} {DECIDED}")
    second, asks = pi.say(CORRECTED)
    assert "launch on 14 November" in told(asks[0])
    pi.server.script(SEARCH, Say("On the 21st."))
    _, asks = pi.say("Good morning, where were we?")
    text = told(asks[0])
    assert f"Session: {second}" in text.partition("## Last Session Handoff")[2]
    assert "launch on 21 November" in text
    assert "14 November" not in re.sub(r"Was: .*", "", text)
    assert {"memory_search", "memory_get", "remember", "forget", "context"} <= asks[0].tools
    answer = asks[1].said[-1]
    assert answer[0] == "function_call_output"
    found = json.loads(answer[1])["results"]
    assert found[0]["type"] == "decision" and "21 November" in json.dumps(found[0])
    assert pi.behind() == 0


class Turns:
    """A pi that stays up, over its own protocol."""

    def __init__(self, pi: Pi) -> None:
        self._pi = pi
        self._closed = pi.closed()
        self._process = pi.start(mode="rpc")

    def __enter__(self) -> Turns:
        return self

    def __exit__(self, *_: object) -> None:
        """It goes, and Wakebook has closed the session."""
        assert self._process.stdin
        self._process.stdin.close()
        with self._process:
            assert self._process.wait(60) == 0
        until(lambda: self._pi.closed() > self._closed)

    def ask(self, kind: str, until_event: str = "response", **more: Any) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps({"id": kind, "type": kind, **more}) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            found: dict[str, Any] = json.loads(line)
            assert found.get("success") is not False, line
            if found["type"] == until_event:
                return found
        raise AssertionError("pi has gone")

    def say(self, text: str) -> None:
        self.ask("prompt", "agent_settled", message=text)


def test_a_compaction_loses_nothing(pi: Pi) -> None:
    settings = {"compaction": {"keepRecentTokens": 1}}
    (pi.folder / "settings.json").write_text(json.dumps(settings))
    pi.init("--yes")
    pi.say(PLAN)
    with Turns(pi) as turns:
        turns.say(DECIDED)
        assert told(pi.server.asks[-1]).count("## Last Session Handoff") == 1
        turns.say(WEIGHT)
        assert told(pi.server.asks[-1]).count("## Last Session Handoff") == 1  # not once more
        pi.server.script(Say("SUMMARY of what was said"))
        assert "SUMMARY" in turns.ask("compact")["data"]["summary"]
        assert DECIDED in pi.entries()  # before the summary was written
        turns.say("Go on, please.")
        assert "SUMMARY" in pi.server.asks[-1].text
        assert told(pi.server.asks[-1]).count("## Last Session Handoff") == 1  # told anew
    entries = pi.entries()
    for once in (DECIDED, WEIGHT):
        assert entries.count(once) == 1, entries
    assert "SUMMARY" not in "".join(entries)
    assert pi.behind() == 0


def test_resume_and_fork_double_nothing(pi: Pi) -> None:
    pi.init("--yes")
    session, _ = pi.say(DECIDED)
    again, _ = pi.say("--session", session, WEIGHT)
    assert again == session
    fair = "The fair is on 3 December."
    fork, _ = pi.say("--fork", session, fair)
    assert fork != session
    entries = pi.entries()
    for once in (DECIDED, WEIGHT, fair):
        assert entries.count(once) == 1, entries
    assert pi.behind() == 0


def test_a_tool_that_fails_says_so(pi: Pi) -> None:
    pi.init("--yes")
    pi.server.script(Call("memory_get", {"path": "../../../../etc/passwd"}), Say("I see."))
    _, asks = pi.say(PLAN)
    kind, answer = asks[1].said[-1]
    assert kind == "function_call_output" and "root:" not in answer and "passwd" in answer


def test_pi_is_killed(pi: Pi) -> None:
    pi.init("--yes")
    session, _ = pi.say(PLAN)
    pi.server.script(Wait())
    process = pi.start("--session", session, DECIDED)
    assert pi.server.arrived.wait(60)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    pi.server.over.set()
    pi.say("Hello again.")  # its session_start reads what the killed one has left
    until(lambda: DECIDED in pi.entries())
    assert pi.behind() == 0


def test_the_service_is_killed_in_mid_session(pi: Pi) -> None:
    pi.init("--yes")
    with service(pi.home) as served, ExitStack() as stack:
        pi.say(DECIDED)
        turns = stack.enter_context(Turns(pi))
        turns.say(WEIGHT)
        served.kill()
        served.wait()
        pi.server.script(SEARCH, Say("On the 14th."))
        turns.say("When is the launch?")
        assert "14 November" in pi.server.asks[-1].said[-1][1]  # the tool's answer
    assert WEIGHT in pi.entries()
    assert pi.behind() == 0


def test_wakebook_is_not_there_any_more(pi: Pi) -> None:
    pi.init("--yes")
    path = pi.folder / "extensions" / "wakebook.js"
    gone = re.sub(
        r"(?m)^const COMMAND = .*$", 'const COMMAND = ["/no/wakebook"];', path.read_text()
    )
    path.write_text(gone)
    assert pi.checks()["pi extension"] == "fail"
    out, trouble = pi.start(DECIDED).communicate(timeout=60)
    assert "Understood." in out, out + trouble  # the turn goes on without us
    assert pi.checks()["pi sessions"] == "warn"


def test_checks_and_undo(pi: Pi) -> None:
    before = pi.files()
    pi.init("--yes")
    assert pi.files() != before
    pi.say(DECIDED)
    assert set(pi.checks().values()) == {"ok"}
    pi.init("--undo", "--yes")
    assert pi.files() == before
    assert not (pi.folder / "extensions").exists()


def test_a_session_that_pi_does_not_save(pi: Pi) -> None:
    pi.init("--yes")
    pi.say(DECIDED)
    before = len(pi.server.asks)
    out, trouble = pi.start("--no-session", WEIGHT).communicate(timeout=60)
    assert "agent_end" in out, out + trouble
    assert "14 November" in told(pi.server.asks[before])  # told, but not remembered
    pi.say("Hello again.")
    assert WEIGHT not in pi.entries()
    assert "all well" in run("status", "--home", str(pi.home))
    trace = pi.home / "trace.jsonl"
    assert not trace.exists() or '"event": "failure"' not in trace.read_text(), trace.read_text()
