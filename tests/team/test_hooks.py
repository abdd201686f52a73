"""The hooks of a host whose memory is on a server: told from there, sent there, offline or not."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.capture import test_codex as codex
from tests.capture import test_openclaw as claw
from tests.hosts.hooking import fired
from tests.hosts.test_events import Store, gateway
from tests.journeys.command import forked, run, run_json
from tests.story import WORKDAY, Claude, chat
from tests.team.postgres import database
from tests.team.relay import Relay
from tests.team.serving import Team, until
from tests.team.test_remote import team_env
from wakebook import Memory
from wakebook.base import clock
from wakebook.hosts.link import Link
from wakebook.log.query import Query
from wakebook.team import queue, tenants
from wakebook.team.database import Database

HOST = "claude-code"


Place = tuple[Team, Database, Relay, str]


@pytest.fixture(scope="module")
def place(server: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server with a worker and a tenant, and a way to it that can be cut."""
    folder = tmp_path_factory.mktemp("hooks")
    with database(*server) as url:
        env = team_env(folder) | {"TEAM_LOG": str(folder / "log")}
        team, db = Team(url, folder / "copies", env), Database(url)
        team.command("add", "ada")
        relay = Relay(f"host=127.0.0.1 port={team.server()}")
        team.process("work")
        yield team, db, relay, tenants.give(db, "ada").text
        relay.close()
        team.end()
        db.close()


@pytest.fixture
def home(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that is joined to the server."""
    monkeypatch.delenv("WAKEBOOK_NOW", raising=False)
    _, _, relay, token = place
    url, found = f"http://127.0.0.1:{relay.port}", tmp_path / "laptop"
    run("team", "join", url, "--token", token, "--home", str(found))
    (found / "config.toml").write_text("[hooks]\nseconds = 30\n")
    return found


@pytest.fixture
def store() -> Iterator[Store]:
    with gateway() as found:
        yield found


def there(place: Place) -> Memory:
    return Memory(f"http://127.0.0.1:{place[2].port}", token=place[3])


def test_a_host_is_told_by_the_server_and_its_sessions_are_sent(
    place: Place, home: Path, tmp_path: Path
) -> None:
    _, db, relay, _ = place
    memory = there(place)
    memory.remember("The staging server is called heron-2.", subject="heron")

    folder = tmp_path / "claude" / "-home-mira-tidepool"
    folder.mkdir(parents=True)
    path = chat(Claude(folder), WORKDAY).path
    session = {"session_id": path.stem, "transcript_path": str(path), "cwd": str(tmp_path)}
    said = fired(home, HOST, "UserPromptSubmit", session | {"prompt": "what is heron-2?"})
    assert "heron-2" in said.context
    fired(home, HOST, "SessionEnd", session)
    until(lambda: memory.search("Postgres for the bookings").hits)
    until(lambda: not any(queue.counts(db)[one] for one in ("todo", "doing")))
    until(lambda: _sent(home))
    assert run_json("search", "heron-2", "--home", str(home))["hits"]
    assert "log is about the files of this home" in forked("log", "--home", str(home))[2].decode()

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
    assert json.loads(memory.line.ask("GET", name)[1])["size"] > size  # type: ignore[attr-defined]


def test_a_plugin_is_told_by_the_server_too(place: Place, home: Path, tmp_path: Path) -> None:
    there(place).remember("The staging server is called heron-2.", subject="heron")
    path = tmp_path / "pi" / "talk.jsonl"
    path.parent.mkdir()
    path.write_text('{"type": "session", "version": 3, "id": "talk"}\n')
    payload = {"session": "talk", "path": str(path), "cwd": str(tmp_path), "prompt": "heron-2?"}
    asked: list[dict[str, Any]] = [
        {"call": "tool", "name": "memory_search", "arguments": {"query": "staging server"}},
        {"call": "hook", "event": "before_agent_start", "payload": payload},
        {"call": "hook", "event": "session_shutdown", "payload": payload},
    ]
    told = linked(home, "pi", asked)
    assert "heron-2" in str(told[0]["result"]) and "heron-2" in str(told[1]["result"]), told
    name = f"/v1/uploads/pi/pi/{path.name}"
    line = there(place).line  # type: ignore[attr-defined]
    until(lambda: _sent(home) and json.loads(line.ask("GET", name)[1])["size"])


def linked(home: Path, host: str, asked: list[dict[str, Any]]) -> dict[int, dict[str, object]]:
    """What a plugin of a host is answered, by its number."""
    out = io.StringIO()
    lines = "".join(json.dumps({"id": at} | one) + "\n" for at, one in enumerate(asked))
    Link(str(home), host, out).run(io.StringIO(lines))
    return {one["id"]: one for one in map(json.loads, out.getvalue().splitlines())}


def test_codex_is_told_and_its_rollout_is_sent(place: Place, home: Path, tmp_path: Path) -> None:
    memory = there(place)
    memory.remember("The lighthouse keeper is called Orla.", subject="lighthouse")
    name = "019a8c1e-0000-7000-8000-0000000000c0"
    path = tmp_path / "codex" / "15" / f"rollout-2026-11-15T00-56-33-{name}.jsonl"
    path.parent.mkdir(parents=True)
    said = "We decided to paint the lighthouse red because the fog hides white."
    lines = codex.meta(id=name, session_id=name), codex.user(said), codex.answer("Red it is.")
    session = {"session_id": name, "transcript_path": str(path), "cwd": str(tmp_path)}
    start = fired(home, "codex", "SessionStart", session | {"source": "startup"})
    assert start.json["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    prompt = fired(
        home, "codex", "UserPromptSubmit", session | {"prompt": "Who keeps the lighthouse?"}
    )
    assert "Orla" in start.context + prompt.context
    codex.session_of(path, *lines)
    fired(home, "codex", "Stop", session)
    fired(home, "codex", "SessionEnd", session)
    until(
        lambda: any("fog" in one.content for one in memory.log.entries(Query(types=("decision",))))
    )
    until(lambda: _sent(home))


def test_sessions_of_openclaw_are_read_out_of_its_store_and_sent(
    place: Place, home: Path, store: Store
) -> None:
    memory = there(place)
    memory.remember("The crane is rented from Nordahl.", subject="crane")
    turn(store, "We decided to rent the crane again because buying one takes a year.")
    payload = {"session": "s1", "key": "agent:main:main"}
    asked = {"call": "hook", "event": "before_prompt_build"}
    ended = {"call": "hook", "event": "agent_end", "payload": payload}
    prompt = payload | {"prompt": "From whom do we rent the crane?"}
    told = linked(home, "openclaw", [asked | {"payload": prompt}, ended])
    assert "Nordahl" in str(told[0]["result"]), told
    until(lambda: _sent(home))
    until(lambda: _said(memory, "crane again"))

    def handed() -> int:
        found = memory.log.entries(Query(types=("handoff",)))
        return sum(one.session == "s1" for one in found)

    assert not handed()
    turn(store, "Remind me to oil the crane before Friday.")
    group(store, "s2")  # a group's, which is not kept, and not sent
    rolled_over(store, "s3")  # OpenClaw goes on with another session
    for session in ("s2", "s3"):
        linked(home, "openclaw", [ended | {"payload": payload | {"session": session}}])
        until(lambda: _sent(home))
    until(handed)
    until(lambda: _said(memory, "oil the crane"))
    line = memory.line  # type: ignore[attr-defined]
    names = {one: f"/v1/uploads/openclaw/sessions/{one}.jsonl" for one in ("s1", "s2", "s3")}
    sizes = {one: json.loads(line.ask("GET", name)[1])["size"] for one, name in names.items()}
    assert [one for one in sizes if sizes[one]] == ["s1", "s3"]
    assert [one.name for one in (home / ".cache" / "open").iterdir()] == ["s3"]


def turn(store: Store, text: str) -> None:
    """One of now: a session that has rested for hours is taken for ended anyway."""
    now = {"timestamp": clock.iso(clock.now())}
    for role, said in (("user", text), ("assistant", [{"type": "text", "text": "Noted."}])):
        event = claw.message(f"m{store.seq}", store.last, role, said)
        store.last = event["id"]
        store.add(event | now)


def group(store: Store, name: str) -> None:
    claw.fill(
        store.database, name, claw.HEADER | {"id": name}, claw.message("g", None, "user", "x")
    )
    claw.window(store.database, name, "agent:main:telegram:group:7", chat_type="group")


def rolled_over(store: Store, name: str) -> None:
    claw.fill(
        store.database, name, claw.HEADER | {"id": name}, claw.message("n", None, "user", "hm")
    )
    claw.window(store.database, name, "agent:main:main", chat_type="direct")
    row = ("agent:main:main", name, None, None)
    store.database.execute("INSERT INTO session_nodes VALUES (?, ?, ?, ?)", row)
    store.database.commit()


def _said(memory: Memory, words: str) -> bool:
    return any(words in one.snippet.replace("*", "") for one in memory.search(words).hits)


def _sent(home: Path) -> bool:
    return not any((home / "unsent").glob("*.json"))
