"""The hooks of a host whose memory is on a server: told from there, sent there, offline or not."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.hooking import fired
from tests.journeys.command import run, run_json
from tests.story import WORKDAY, Claude, chat
from tests.team.postgres import database
from tests.team.relay import Relay
from tests.team.serving import Team, until
from tests.team.test_remote import team_env
from wakebook import Memory
from wakebook.hosts.link import Link
from wakebook.team import queue, tenants
from wakebook.team.database import Database

HOST = "claude-code"


@pytest.fixture
def place(server: tuple[str, str], tmp_path: Path) -> Iterator[tuple[Team, Database, Relay, str]]:
    """A server with a worker and a tenant, and a way to it that can be cut."""
    with database(*server) as url:
        team, db = (
            Team(
                url, tmp_path / "copies", team_env(tmp_path) | {"TEAM_LOG": str(tmp_path / "log")}
            ),
            Database(url),
        )
        team.command("add", "ada")
        relay = Relay(f"host=127.0.0.1 port={team.server()}")
        team.process("work")
        yield team, db, relay, tenants.give(db, "ada").text
        relay.close()
        team.end()
        db.close()


def test_a_host_is_told_by_the_server_and_its_sessions_are_sent(
    place: tuple[Team, Database, Relay, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WAKEBOOK_NOW", raising=False)
    _, db, relay, token = place
    url, home = f"http://127.0.0.1:{relay.port}", tmp_path / "laptop"
    run("team", "join", url, "--token", token, "--home", str(home))
    (home / "config.toml").write_text("[hooks]\nseconds = 30\n")
    there = Memory(url, token=token)
    there.remember("The staging server is called heron-2.", subject="heron")

    folder = tmp_path / "claude" / "-home-mira-tidepool"
    folder.mkdir(parents=True)
    path = chat(Claude(folder), WORKDAY).path
    session = {"session_id": path.stem, "transcript_path": str(path), "cwd": str(tmp_path)}
    said = fired(home, HOST, "UserPromptSubmit", session | {"prompt": "what is heron-2?"})
    assert "heron-2" in said.context
    fired(home, HOST, "SessionEnd", session)
    until(lambda: there.search("Postgres for the bookings").hits)
    until(lambda: not any(queue.counts(db)[one] for one in ("todo", "doing")))
    until(lambda: _sent(home))
    assert run_json("search", "heron-2", "--home", str(home))["hits"]

    start = {"session_id": "new", "source": "startup", "cwd": str(tmp_path)}
    first = fired(home, HOST, "SessionStart", start)
    assert first.out
    relay.down()  # no network
    again = fired(home, HOST, "SessionStart", start | {"session_id": "newer"})
    assert again.out == first.out
    size = path.stat().st_size
    with path.open("a") as stream:
        stream.write(json.dumps({"type": "summary", "summary": "x", "leafUuid": "y"}) + "\n")
    assert fired(home, HOST, "UserPromptSubmit", session | {"prompt": "heron?"}).out == b""
    fired(home, HOST, "SessionEnd", session)
    until(lambda: any((home / "unsent").iterdir()))
    status = run("status", "--home", str(home), code=1).replace("\n", " ")
    assert "does not answer" in status and "joined to" in status
    relay.up()
    fired(home, HOST, "UserPromptSubmit", session | {"prompt": "heron?"})
    until(lambda: _sent(home))
    name = f"/v1/uploads/{HOST}/{path.parent.name}/{path.name}"
    assert json.loads(there.line.ask("GET", name)[1])["size"] > size  # type: ignore[attr-defined]


def test_a_plugin_is_told_by_the_server_too(
    place: tuple[Team, Database, Relay, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WAKEBOOK_NOW", raising=False)
    _, _, relay, token = place
    url, home = f"http://127.0.0.1:{relay.port}", tmp_path / "laptop"
    run("team", "join", url, "--token", token, "--home", str(home))
    (home / "config.toml").write_text("[hooks]\nseconds = 30\n")
    Memory(url, token=token).remember("The staging server is called heron-2.", subject="heron")
    path = tmp_path / "pi" / "talk.jsonl"
    path.parent.mkdir()
    path.write_text('{"type": "session", "version": 3, "id": "talk"}\n')
    payload = {"session": "talk", "path": str(path), "cwd": str(tmp_path), "prompt": "heron-2?"}
    asked: list[dict[str, object]] = [
        {"call": "tool", "name": "memory_search", "arguments": {"query": "staging server"}},
        {"call": "hook", "event": "before_agent_start", "payload": payload},
        {"call": "hook", "event": "session_shutdown", "payload": payload},
    ]
    lines = "".join(json.dumps({"id": at} | one) + "\n" for at, one in enumerate(asked))
    out = io.StringIO()
    Link(str(home), "pi", out).run(io.StringIO(lines))
    told = {one["id"]: one for one in map(json.loads, out.getvalue().splitlines())}
    assert "heron-2" in str(told[0]["result"]) and "heron-2" in str(told[1]["result"]), told
    name = f"/v1/uploads/pi/pi/{path.name}"
    line = Memory(url, token=token).line  # type: ignore[attr-defined]
    until(lambda: _sent(home) and json.loads(line.ask("GET", name)[1])["size"])


def _sent(home: Path) -> bool:
    return not any((home / "unsent").glob("*.json"))
