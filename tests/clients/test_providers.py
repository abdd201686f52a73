"""Claude Code, Codex and pi, the real ones, as models that read; scripted servers answer them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.clients import clients
from tests.clients.anthropic import Anthropic, Hang, Text
from tests.clients.responses import ResponsesServer, Say, Wait
from tests.clients.wired import end_service, until
from tests.journeys.command import run
from tests.journeys.test_poison import CASES, obeys, proposed, told
from tests.learn.telling import Tale, answer, decision, handoff
from tests.models.programs import program
from wakebook.base import echo
from wakebook.models.calls import Calls

DECIDED = "We decided to send the newsletter on Fridays."
LINES = answer(decision(DECIDED, 1), handoff("The newsletter goes out on Fridays."))
KEPT = (".claude/projects", ".codex/sessions", ".pi/agent/sessions")  # where they keep sessions


class Lender(NamedTuple):
    """A client, and the server that answers it."""

    name: str
    says: Callable[[str], None]
    hangs: Callable[[], None]
    requests: Callable[[], list[str]]


def _claude_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lender]:
    folder.mkdir()
    (folder / "claude").symlink_to(clients.claude())
    with Anthropic() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        yield Lender(
            "claude-code/haiku",
            lambda text: server.script(Text(text)),
            lambda: server.script(Hang()),
            lambda: [json.dumps(one.body) for one in server.asked],
        )


def _on_responses(name: str, server: ResponsesServer) -> Lender:
    return Lender(
        name,
        lambda text: server.script(Say(text)),
        lambda: server.script(Wait()),
        lambda: [json.dumps(one.body) for one in server.asks],
    )


def _codex(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lender]:
    with ResponsesServer() as server:
        monkeypatch.setenv("CODEX_API_KEY", "none")
        provider = f'{{name="x",base_url="{server.base}",wire_api="responses"}}'
        provider = provider[:-1] + ',env_key="CODEX_API_KEY"}'
        words = " ".join(f"'{word}'" for word in clients.codex())
        aim = f"-c 'model_providers.x={provider}' -c 'model_provider=\"x\"'"
        program(folder, "codex", "shift", f'exec {words} exec {aim} "$@"')
        yield _on_responses("codex/default", server)


def _pi(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lender]:
    with ResponsesServer() as server:
        price = {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}
        model = {"id": "m", "name": "m", "reasoning": False, "input": ["text"], "cost": price}
        model |= {"contextWindow": 100_000, "maxTokens": 4_000}
        given = {"baseUrl": server.base, "api": "openai-responses", "apiKey": "x"}
        agent = Path.home() / ".pi" / "agent"
        agent.mkdir(parents=True)
        models = {"providers": {"loop": given | {"models": [model]}}}
        (agent / "models.json").write_text(json.dumps(models))
        words = " ".join(f"'{word}'" for word in clients.pi())
        program(folder, "pi", f'exec {words} "$@"')
        yield _on_responses("pi/loop/m", server)


@pytest.fixture(params=[_claude_code, _codex, _pi], ids=["claude-code", "codex", "pi"])
def lender(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Lender]:
    for name in [name for name in os.environ if name.startswith(("CLAUDE", "CODEX"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("WAKEBOOK_OFFLINE")
    yield from request.param(tmp_path / "bin", monkeypatch)


@pytest.fixture
def read(tale: Tale, lender: Lender) -> Tale:
    tale.settings(lender.name, timeout_seconds=120)
    return tale


def sessions() -> set[str]:
    """All that the clients have kept of conversations."""
    user = Path.home()
    return {str(path) for folder in KEPT for path in (user / folder).rglob("*") if path.is_file()}


def test_a_client_reads_as_a_plain_model_and_keeps_nothing(read: Tale, lender: Lender) -> None:
    lender.says(LINES)
    read.talk(DECIDED, "Noted.")
    before = sessions()
    assert not read.memory.catch_up().held
    read.memory.catch_up()
    assert [one.by.split("/")[0] for one in read.current("decision")] == [lender.name.split("/")[0]]
    (asked,) = lender.requests()  # one, and no second one for a title or the like
    assert "You keep the memory" in asked and DECIDED in asked and "<wakebook-memory>" in asked
    assert not json.loads(asked).get("tools")
    assert len(asked) < (60_000 if lender.name.startswith("codex") else 25_000)
    assert sessions() == before
    (call,) = Calls(read.memory.home).all()
    assert call.outcome == "ok" and call.tokens_in and not call.estimated
    assert (call.cost is not None) == (lender.name != "codex/default")
    assert read.memory.status().problems == ()


def test_the_injections_do_not_get_through(read: Tale, lender: Lender, tmp_path: Path) -> None:
    for number, case in enumerate(CASES):
        for path in read.projects.iterdir():
            path.unlink()
        one = Tale(tmp_path / f"home-{number}", read.projects, read.server)
        one.settings(lender.name, timeout_seconds=120)
        told(one, case)
        lender.says(answer(*map(proposed, case.refused), *map(proposed, case.honest), handoff()))
        done = one.memory.catch_up()
        assert not done.held and len(done.closed) == 1, (case.name, done.held)
        assert set(one.learned()) == {draft.content for draft in case.honest}, case.name
        assert not [entry.content for entry in one.log() if obeys(entry, case)]
    assert len(lender.requests()) == len(CASES)


def test_a_client_that_is_wired_reads_no_reading(read: Tale, lender: Lender) -> None:
    """Its hooks, its plugin and its memory are there; none of them runs in a reading."""
    host = lender.name.split("/")[0]
    run("init", "--home", str(read.root), "--host", host, "--yes")
    lender.says(LINES)
    read.talk(DECIDED, "Noted.")
    before = sessions()
    for _ in range(3):
        assert not read.memory.catch_up().held
    assert len(lender.requests()) == 1 and sessions() == before
    assert '"mcp__' not in lender.requests()[0]
    assert [call.outcome for call in Calls(read.memory.home).all()] == ["ok"]
    end_service(read.root)


def readers() -> list[int]:
    """The processes of a reading in this test's user folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            env = path.read_bytes().split(b"\0")
            if f"{echo.READS}=1".encode() in env and f"HOME={Path.home()}".encode() in env:
                found.append(int(path.parent.name))
    return found


def test_a_client_is_gone_when_wakebook_is_killed(read: Tale, lender: Lender) -> None:
    lender.hangs()
    read.talk(DECIDED, "Noted.")
    words = [sys.executable, "-m", "wakebook", "catch-up", "--home", str(read.root)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: bool(lender.requests()))
    assert readers()
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: not readers())
    lender.says(LINES)
    assert not read.memory.catch_up().held
    assert len(read.current("decision")) == 1


def test_claude_code_that_is_logged_out_says_so(
    tale: Tale, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").symlink_to(clients.claude())
    for name in [name for name in os.environ if name.startswith(("CLAUDE", "ANTHROPIC"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("WAKEBOOK_OFFLINE")
    tale.settings("claude-code/haiku")
    tale.talk(DECIDED, "Noted.")
    assert "Not logged in" in next(iter(tale.memory.catch_up().held.values()))
    assert any("Not logged in" in one for one in tale.memory.status().problems)
    assert tale.memory.catch_up().covered == 1 and tale.contents("decision") == [DECIDED]
