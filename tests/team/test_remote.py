"""Clients of a server: Python's Memory, its conversations, uploads, and MCP on standard input."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.team.postgres import database
from tests.team.serving import Team
from wakebook import Memory
from wakebook.base.errors import NotFound, Unavailable, WakebookError
from wakebook.log.query import Query
from wakebook.service.remote import OWN, ROOMS, Line, join, joined, speak
from wakebook.team import tenants
from wakebook.team.database import Database


@pytest.fixture(scope="module")
def reached(
    server: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """The address of a server, and a token for a tenant of it."""
    folder = tmp_path_factory.mktemp("remote")
    with database(*server) as url:
        team = Team(url, folder / "copies", team_env(folder))
        team.command("add", "ada")
        db = Database(url)
        token = tenants.give(db, "ada", scopes=("read", "write", "erase")).text
        db.close()
        yield f"http://127.0.0.1:{team.server()}", token
        team.end()


def team_env(folder: Path) -> dict[str, str]:
    import os

    env = {key: value for key, value in os.environ.items() if not key.startswith("WAKEBOOK")}
    return env | {"HOME": str(folder), "WAKEBOOK_OFFLINE": "1"}


def test_a_memory_on_a_server_has_the_verbs_of_one_at_home(reached: tuple[str, str]) -> None:
    url, token = reached
    memory = Memory(url, token=token)
    kept = memory.remember("The ferry leaves at six.", subject="ferry")
    assert memory.search("when does the ferry leave").hits[0].ref == kept.id
    shown = memory.get(kept.id).entry
    assert shown is not None and shown.content == kept.content
    assert "ferry" in memory.context("the ferry?").text
    memory.forget([kept.id])
    with pytest.raises(NotFound):
        memory.get(kept.id)


def test_every_name_of_a_memory_works_or_says_why_not(reached: tuple[str, str]) -> None:
    memory = Memory(reached[0], token=reached[1])
    kept = memory.remember("The lighthouse is called Skerry.", subject="skerry")
    assert kept.id in [one.id for one in memory.log.entries(Query(text="lighthouse"))]
    assert memory.notes.update() and memory.index.sync() and memory.jobs.listed()
    assert memory.told.trial(message="the lighthouse?") and memory.history.when("Skerry")
    assert memory.status().counts and memory.doctor(quick=True) and memory.audit() == []
    assert memory.eraser.asked(what=kept.id, yes=True) and memory.costs() and memory.tick()
    gone = [name for name in dir(Memory) if not name.startswith("_") and name not in OWN]
    for name in gone:
        if name in ROOMS:
            for verb in ROOMS[name]:
                assert callable(getattr(getattr(memory, name), verb))
            with pytest.raises(WakebookError, match=rf"no '{name}\.nothing' here"):
                getattr(memory, name).nothing()
        else:
            with pytest.raises(WakebookError, match=f"no '{name}' here: that needs the files"):
                getattr(memory, name)


def test_a_conversation_is_written_down_on_the_server(reached: tuple[str, str]) -> None:
    memory = Memory(reached[0], token=reached[1])
    with memory.session("kiosk-1", channel="desk") as chat:
        chat.user("The kiosk on the pier is called Heron.")
        chat.agent("Noted.")
        chat.tool("look", {"path": "a.txt"}, "nothing")
    assert any("Heron" in hit.snippet for hit in memory.search("kiosk on the pier").hits)


def test_a_session_file_is_uploaded_and_read(reached: tuple[str, str], tmp_path: Path) -> None:
    memory = Memory(reached[0], token=reached[1])
    path = tmp_path / "chats" / "plan.jsonl"
    path.parent.mkdir()
    path.write_text('{"role": "user", "content": "Our landlord is called Osei."}\n')
    assert memory.catch_up([path]).messages == 1
    with path.open("a") as stream:
        stream.write('{"role": "user", "content": "He lives in Faro."}\n')
    assert memory.catch_up([path], closing=True).messages == 1
    assert any("Osei" in hit.snippet for hit in memory.search("landlord").hits)


def test_mcp_is_passed_on_and_a_lost_server_is_said(
    reached: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    join(tmp_path, *reached)
    line = joined(tmp_path)
    assert line is not None and (tmp_path / "server.json").stat().st_mode & 0o777 == 0o600
    call = {"name": "remember", "arguments": {"text": "Passed on."}}
    asked = [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    out = io.BytesIO()
    speak(line, [json.dumps(one).encode() for one in asked], out)
    first, second = map(json.loads, out.getvalue().splitlines())
    assert "error" not in first, first
    assert "Passed on." in str(first["result"]) and second["result"]["tools"]
    with pytest.raises(WakebookError, match="not known"):
        join(tmp_path, reached[0], "wb_wrong")
    with pytest.raises(Unavailable, match="does not answer"):
        Line("http://127.0.0.1:1", "x").ask("GET", "/health")
    monkeypatch.setenv("WAKEBOOK_SERVER", "ftp://x")
    with pytest.raises(WakebookError, match="https://"):
        joined(tmp_path)
