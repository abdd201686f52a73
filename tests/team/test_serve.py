"""The server for teams over HTTP and MCP: tokens, scopes, uploads, quotas, and who sees what."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.team.postgres import database
from tests.team.serving import Team, ask, until
from wakebook.service import tools
from wakebook.team import queue, tenants
from wakebook.team.database import Database
from wakebook.verbs import ALL, VERBS

SECRET = "The vault code of Ada is heron-nine."
WHERE = {
    "wake": {}, "context": {"message": "vault code"}, "search": {"text": "vault code"},
    "get": {"ref": "log.jsonl"}, "remember": {"text": "Bo was here."}, "handoff": {"text": "Bye."},
    "flush": {"session": "s"}, "observe": {"output": "vault code"}, "fire": {"source": "x"},
    "told": {"turn": "x"}, "trial": {"message": "vault code"}, "rate": {"turn": "x", "ref": "y"},
    "why": {"place": "knowledge/memory/MEMORY.md:1"}, "when": {"text": "vault"},
    "prune": {"messages": [], "window": 1000}, "slide": {"messages": [], "budget": 100},
    "messages": {"messages": [{"role": "user", "content": "Hello."}]},
}  # fmt: skip


class Place:
    def __init__(self, team: Team, port: int, db: Database) -> None:
        self.team, self.port, self.db = team, port, db
        self.tokens: dict[str, str] = {}

    def token(self, name: str, *scopes: str, days: float = 1) -> str:
        return tenants.give(self.db, name, scopes=scopes or ("read", "write"), days=days).text


@pytest.fixture(scope="module")
def place(server: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server with two tenants. Ada has a secret."""
    folder = tmp_path_factory.mktemp("team")
    env = {key: value for key, value in os.environ.items() if not key.startswith("WAKEBOOK")}
    env |= {"HOME": str(folder), "WAKEBOOK_OFFLINE": "1"}
    with database(*server) as url:
        team, db = Team(url, folder / "copies", env), Database(url)
        for name in ("ada", "bo"):
            team.command("add", name)
        made = Place(team, team.server(), db)
        made.tokens = {name: made.token(name) for name in ("ada", "bo")}
        kept = ask(made.port, "/v1/remember", {"text": SECRET}, made.tokens["ada"])
        assert kept.status == 200, kept
        yield made
        team.end()
        db.close()


def test_a_token_is_for_one_tenant(place: Place) -> None:
    own = ask(place.port, "/v1/search", {"text": "vault"}, place.tokens["ada"])
    assert [hit["snippet"].replace("*", "") for hit in own.data["hits"]] == [SECRET]
    other = ask(place.port, "/v1/search", {"text": "vault"}, place.tokens["bo"])
    assert other.status == 200 and other.data["hits"] == []


def test_no_verb_tells_another_tenant_anything(place: Place) -> None:
    foreign = [
        ("bo", place.tokens["bo"]),
        ("reads", place.token("bo", "read")),
        ("erases", place.token("bo", "read", "write", "erase")),
    ]
    [entry] = ask(place.port, "/v1/log", {}, place.tokens["ada"]).data["entries"]
    asked = {verb.path.replace("{id}", "talk"): WHERE.get(verb.name, {}) for verb in ALL}
    asked["/v1/get"] = {"ref": entry["id"]}
    asked["/v1/forget"] = {"ids": [entry["id"]], "yes": True}
    asked["/v1/erase"] = {"what": entry["id"], "yes": True}
    for name in tools.NAMES:
        asked[f"/v1/tools/{name}"] = {"arguments": {"query": "vault", "path": entry["id"]}}
    asked["/v1/hooks/claude-code/UserPromptSubmit"] = {"prompt": "vault code", "session_id": "x"}
    for who, token in foreign:
        for path, body in asked.items():
            told = ask(place.port, path, body, token)
            assert "heron-nine" not in str(told), (who, path)
            assert told.status < 500, (who, path, told)
        for method, params in (
            ("tools/call", {"name": "memory_search", "arguments": {"query": "vault"}}),
            ("resources/list", {}),
            ("resources/read", {"uri": f"wakebook://entries/{entry['id']}"}),
        ):
            call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            assert "heron-nine" not in str(ask(place.port, "/mcp", call, token)), (who, method)
    again = ask(place.port, "/v1/get", {"ref": entry["id"]}, place.tokens["ada"])
    assert again.data["entry"]["content"] == SECRET


def test_bad_tokens_are_turned_away_at_every_path(place: Place) -> None:
    revoked = tenants.give(place.db, "ada")
    tenants.revoke(place.db, revoked.id)
    expired = place.token("ada", days=-1)
    for token in ("", "wb_nonsense", revoked.text, expired):
        for path in [verb.path.replace("{id}", "x") for verb in ALL] + ["/mcp", "/openapi.json"]:
            method = "GET" if path.endswith("json") else "POST"
            told = ask(place.port, path, {}, token, method)
            assert told.status == 401, (token, path, told)
    assert "revoked" in ask(place.port, "/v1/log", {}, revoked.text).data["error"]["message"]
    assert "expired" in ask(place.port, "/v1/log", {}, expired).data["error"]["message"]
    page = ask(place.port, "/v1/log", {}, place.tokens["ada"], Origin="https://example.com")
    assert page.status == 403
    with psycopg.connect(place.team.url) as connection:
        rows = str(connection.execute("SELECT * FROM wakebook.token").fetchall())
    assert place.tokens["ada"] not in rows


def test_scopes_hold_for_verbs_tools_and_mcp(place: Place) -> None:
    reads = place.token("ada", "read")
    for name, verb in VERBS.items():
        told = ask(place.port, verb.path, WHERE.get(name, {"ids": ["x"]}), reads)
        refused = told.status == 403 or (told.status == 400 and "body" in str(told.data))
        assert refused == (verb.needs != "read") or told.status == 400, (name, told)
    assert ask(place.port, "/v1/remember", {"text": "x"}, reads).status == 403
    assert ask(place.port, "/v1/forget", {"ids": ["x"]}, place.tokens["ada"]).status == 403
    assert ask(place.port, "/v1/uploads/plain/x.jsonl", b"{}\n", reads).status == 403
    call = {"name": "remember", "arguments": {"text": "x"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    assert "may not write" in str(ask(place.port, "/mcp", body, reads).data["error"])


def test_paths_of_the_server_are_not_read(place: Place) -> None:
    for paths in (["/etc/passwd"], ["uploads/../../x"], ["sessions/a.jsonl"]):
        told = ask(place.port, "/v1/catch-up", {"paths": paths}, place.tokens["ada"])
        assert told.status == 400 and "uploaded" in told.data["error"]["message"]
    for path in ("plain/../x.jsonl", "plain/a.sqlite", "nobody/a.jsonl", "plain/.jsonl/../a.jsonl"):
        told = ask(place.port, f"/v1/uploads/{path}", b"{}\n", place.tokens["ada"])
        assert told.status == 404, (path, told)


def test_a_request_that_is_sent_twice_is_done_once(place: Place) -> None:
    tenants.add(place.db, "twice")
    tenants.remove(place.db, "twice")
    key = {"Idempotency_Key": "once-1"}
    text = {"text": "Sent twice."}
    first = ask(place.port, "/v1/remember", text, place.tokens["bo"], **key)
    second = ask(place.port, "/v1/remember", text, place.tokens["bo"], **key)
    assert first.data["id"] == second.data["id"]


def lines(*said: str) -> bytes:
    head = '{"session": "talk-1"}\n'
    rows = [f'{{"role": "user", "content": "{text}"}}\n' for text in said]
    return "".join([head, *rows]).encode()


def test_an_uploaded_conversation_is_read_by_a_worker(place: Place) -> None:
    token, path = place.tokens["bo"], "/v1/uploads/plain/talk-1.jsonl"
    data = lines("We decided to move the billing service to Frankfurt because of latency.")
    assert ask(place.port, path, data[:40], token).data["size"] == 40
    wrong = ask(place.port, f"{path}?offset=10", b"x", token)
    assert wrong.status == 409 and "40 bytes" in wrong.data["error"]["message"]
    assert ask(place.port, path, None, token, "GET").data["size"] == 40
    assert ask(place.port, f"{path}?offset=40", data[40:], token).data["size"] == len(data)
    worker, _ = place.team.process("work")
    until(lambda: not (queue.counts(place.db)["todo"] or queue.counts(place.db)["doing"]))
    done = ask(place.port, "/v1/hooks/claude-code/SessionEnd", {"session_id": "talk-1"}, token)
    assert done.status == 200
    until(lambda: not (queue.counts(place.db)["todo"] or queue.counts(place.db)["doing"]))
    found = ask(place.port, "/v1/search", {"text": "billing Frankfurt"}, token)
    assert any("Frankfurt" in hit["snippet"] for hit in found.data["hits"]), found
    os.kill(worker.pid, signal.SIGTERM)
    assert worker.wait(30) == 0


def test_over_a_quota_is_429_with_when_to_come_back(place: Place) -> None:
    place.team.command("add", "small")
    token = place.token("small")
    held = place.team.command("quota", "small")["bytes"]
    place.team.command("quota", "small", "--bytes", str(held + 100))
    told = ask(place.port, "/v1/uploads/plain/big.jsonl", b"x" * 5000, token)
    assert told.status == 429 and int(told.headers["retry-after"]) > 0
    assert "may hold" in told.data["error"]["message"]
    told = ask(place.port, "/v1/remember", {"text": "A sentence. " * 20}, token)
    assert told.status == 429 and told.data["error"]["kind"] == "OverQuota"
    assert ask(place.port, "/v1/log", {}, token).data["entries"] == []


def test_health_and_metrics_need_no_token_and_tell_nothing(place: Place) -> None:
    assert ask(place.port, "/health", None, "", "GET").data["ok"] is True
    text = ask(place.port, "/metrics", None, "", "GET").data
    assert 'wakebook_team_jobs{status="todo"}' in text and "ada" not in text


def test_a_conversation_of_your_own_agent(place: Place) -> None:
    token = place.tokens["bo"]
    said: dict[str, Any] = {"messages": [{"role": "user", "content": "The kiosk is Heron."}]}
    assert ask(place.port, "/v1/sessions/mine/messages", said, token).status == 200
    assert ask(place.port, "/v1/sessions/mine/end", {}, token).status == 200
    found = ask(place.port, "/v1/search", {"text": "kiosk"}, token).data["hits"]
    assert any("Heron" in hit["snippet"] for hit in found)


def test_export_gives_a_plain_home_and_import_takes_one(place: Place, tmp_path: Path) -> None:
    from wakebook import Memory

    place.team.command("export", "ada", str(tmp_path / "out"))
    plain = Memory(tmp_path / "out")
    assert SECRET in [entry.content for entry in plain.log.chains().entries]
    place.team.command("import", str(tmp_path / "out"), "--name", "ada-again")
    token = place.token("ada-again")
    assert ask(place.port, "/v1/search", {"text": "vault"}, token).data["hits"]
    gone = place.team.command("remove", "ada-again", "--yes")
    assert gone["rows"]["home"] == 1
    assert ask(place.port, "/v1/log", {}, place.token("ada")).status == 200
    refused = ask(place.port, "/v1/remember", {"text": "x"}, token)
    assert refused.status in (401, 404), refused
