"""`wakebook mcp`, line by line: what no proper client would send, too."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests import homes
from tests.journeys.command import run
from tests.service.serving import own_env
from wakebook import Memory
from wakebook.log.query import Query

SECONDS = 60
VERSION = "io.modelcontextprotocol/protocolVersion"
ABILITIES = "io.modelcontextprotocol/clientCapabilities"
PING = {"jsonrpc": "2.0", "id": "ping", "method": "ping"}


class Wire:
    def __init__(self, home: Path, env: Mapping[str, str] = os.environ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "wakebook", "mcp", "--home", str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
            cwd="/",  # no project
        )
        assert self.process.stdin
        assert self.process.stdout
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def send(self, message: Any) -> None:
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.stdin.write(data + b"\n")
        self.stdin.flush()

    def read(self) -> Any:
        return json.loads(self.stdout.readline())

    def ask(self, method: str, params: Any = None, name: Any = 1) -> Any:
        message = {"jsonrpc": "2.0", "id": name, "method": method}
        self.send(message | ({} if params is None else {"params": params}))
        found = self.read()
        assert found["id"] == name
        return found

    def begin(self, version: str) -> Any:
        given = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x"}}
        result = self.ask("initialize", given)["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def end(self) -> list[Any]:
        """Close its input. What it still has to say."""
        self.stdin.close()
        rest = [json.loads(line) for line in self.stdout]
        assert self.process.wait(SECONDS) == 0
        return rest

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.stdin.close()
        self.stdout.close()


@pytest.fixture
def wire(memory: Memory) -> Iterator[Wire]:
    found = Wire(memory.home.root)
    yield found
    found.kill()


@pytest.fixture(scope="module")
def robust(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """One for all that it must only refuse: whatever it was sent, it answers the next test."""
    folder = tmp_path_factory.mktemp("wire")
    found = Wire(homes.made(folder / "home").home.root, own_env(folder))
    yield found
    found.kill()


def alive(wire: Wire) -> bool:
    wire.send(PING)
    return bool(wire.read() == {"jsonrpc": "2.0", "id": "ping", "result": {}})


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_the_version_is_the_clients_if_it_is_known(wire: Wire, version: str) -> None:
    found = wire.begin(version)
    assert found["protocolVersion"] == version
    assert found["serverInfo"]["name"] == "wakebook"
    assert wire.end() == []


@pytest.mark.parametrize("version", ["2026-07-28", "1999-01-01", ""])
def test_otherwise_the_newest_that_has_a_handshake(wire: Wire, version: str) -> None:
    assert wire.begin(version)["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"hello", -32700),
        (b"\xff\xfe{}", -32700),
        (b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}', -32700),
        (b"[" * 50_000, -32700),
        (b"5", -32600),
        (b"[]", -32600),
        (b"{}", -32600),
        (b'{"id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}', -32600),
    ],
)
def test_what_is_no_message_is_refused_and_the_next_one_is_answered(
    robust: Wire, line: bytes, code: int
) -> None:
    robust.send(line)
    found = robust.read()
    assert (found["id"], found["error"]["code"]) == (None, code)
    assert found["error"]["message"]
    assert alive(robust)


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("nonsense", None, -32601),
        ("logging/setLevel", {"level": "info"}, -32601),
        ("completion/complete", {}, -32601),
        ("server/discover", None, -32601),
        (5, None, -32600),
        ("initialize", {}, -32602),
        ("tools/list", [], -32602),
        ("tools/call", {}, -32602),
        ("tools/call", {"name": 5}, -32602),
        ("tools/call", {"name": "nonsense", "arguments": {}}, -32602),
        ("resources/read", {}, -32602),
        ("resources/read", {"uri": "wakebook://nothing"}, -32002),
        ("resources/list", {"cursor": "nonsense"}, -32602),
        ("resources/list", {"cursor": 5}, -32602),
        ("prompts/get", {"name": "wake", "arguments": []}, -32602),
        ("prompts/get", {"name": "handoff", "arguments": {"session": 5}}, -32602),
        ("tools/list", {"_meta": {VERSION: "2026-07-28"}}, -32602),
        ("tools/list", {"_meta": {VERSION: 5, ABILITIES: {}}}, -32602),
        ("tools/list", {"_meta": {VERSION: "2099-01-01", ABILITIES: {}}}, -32022),
    ],
)
def test_requests_that_cannot_be_answered(
    robust: Wire, method: Any, params: Any, code: int
) -> None:
    found = robust.ask(method, params)
    assert found["error"]["code"] == code
    assert found["error"]["message"]
    assert alive(robust)


def test_arguments_that_do_not_fit_are_for_the_model_to_mend(robust: Wire) -> None:
    several: list[Any] = [[], "x", {"nonsense": 1}]
    for arguments in several:
        asked = {"name": "memory_search", "arguments": arguments}
        assert robust.ask("tools/call", asked)["result"]["isError"] is True


def test_a_version_that_is_not_spoken_is_told_which_are(robust: Wire) -> None:
    found = robust.ask("server/discover", {"_meta": {VERSION: "2099-01-01", ABILITIES: {}}})
    assert found["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2099-01-01"}


def test_a_line_without_end_is_not_read_into_memory(wire: Wire) -> None:
    wire.send(b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * (20 << 20) + b'"}')
    assert wire.read()["error"]["code"] == -32600
    assert alive(wire)
    wire.send(b'"' + b"x" * ((8 << 20) - 2))  # one that is just short enough
    assert wire.read()["error"]["code"] == -32700


def test_notifications_and_answers_are_never_answered(wire: Wire) -> None:
    wire.send({"jsonrpc": "2.0", "method": "notifications/nonsense"})
    wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}})
    wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}})
    wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": 5})
    wire.send({"jsonrpc": "2.0", "id": 7, "result": {}})
    wire.send(b"")
    assert alive(wire)
    assert wire.end() == []


def test_batches_where_the_version_has_them(wire: Wire) -> None:
    wire.begin("2025-03-26")
    wire.send(
        [
            {"jsonrpc": "2.0", "id": 1, "method": "ping"},
            {"jsonrpc": "2.0", "method": "notifications/nonsense"},
            {"jsonrpc": "2.0", "id": 2, "method": "prompts/get", "params": {"name": "wake"}},
            5,
        ]
    )
    found = {one["id"]: one for one in wire.read()}
    assert found.keys() == {1, 2, None}
    assert found[2]["result"]["messages"]
    wire.send([{"jsonrpc": "2.0", "method": "notifications/nonsense"}])
    assert alive(wire)


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25"])
def test_and_where_it_has_none(wire: Wire, version: str) -> None:
    wire.begin(version)
    wire.send([PING])
    assert wire.read()["error"]["code"] == -32600
    assert alive(wire)


def remember(name: Any, text: str) -> dict[str, Any]:
    params = {"name": "remember", "arguments": {"text": text}}
    return {"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": params}


def test_a_cancelled_call_is_not_answered(wire: Wire, memory: Memory) -> None:
    with memory.home.lock.open("rb+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # so that it cannot be done yet
        for number in range(6):  # more than there are threads
            wire.send(remember(number, f"Buoy number {number} is red."))
        for number in (0, 5):
            params = {"requestId": number, "reason": "changed my mind"}
            wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        assert alive(wire)  # while four of them wait
    assert {one["id"] for one in wire.end()} == {1, 2, 3, 4}
    said = {one.content for one in memory.log.entries(Query(text="buoy"))}
    assert "Buoy number 5 is red." not in said  # it had not begun
    assert "Buoy number 1 is red." in said


def test_an_id_is_in_use_until_it_is_answered(wire: Wire, memory: Memory) -> None:
    with memory.home.lock.open("rb+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wire.send(remember(1, "The kiosk is called Heron."))
        wire.send(remember(1, "The kiosk is called Heron."))
        assert wire.read()["error"]["code"] == -32600
    assert wire.read()["result"]["isError"] is False
    wire.send(remember(1, "The lantern is called Wren."))
    assert wire.read()["result"]["isError"] is False


def test_when_its_input_ends_what_runs_is_finished(wire: Wire, memory: Memory) -> None:
    with memory.home.lock.open("rb+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wire.send(remember(1, "The kiosk is called Heron."))
        assert alive(wire)
        wire.stdin.close()
        time.sleep(0.2)  # it may end too early; it must not
        assert wire.process.poll() is None
    assert [json.loads(line)["id"] for line in wire.stdout] == [1]
    assert wire.process.wait(SECONDS) == 0
    assert memory.log.entries(Query(text="Heron"))


def test_a_client_that_goes_away_without_reading(wire: Wire, memory: Memory) -> None:
    wire.stdout.close()
    wire.send(remember(1, "The kiosk is called Heron."))
    assert wire.process.wait(SECONDS) == 0
    assert memory.log.entries(Query(text="Heron"))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_what_others_print_does_not_get_to_the_client(wire: Wire) -> None:
    assert alive(wire)
    open_files = Path(f"/proc/{wire.process.pid}/fd")
    assert (open_files / "1").readlink() == (open_files / "2").readlink()


def test_the_first_answers_need_nothing_heavy(memory: Memory) -> None:
    code = """
import io, json, sys
from wakebook.service.mcp_stdio import StdioServer
asked = [("initialize", {"protocolVersion": "2025-06-18"}), ("tools/list", {}),
         ("prompts/list", {}), ("resources/templates/list", {})]
lines = [json.dumps({"jsonrpc": "2.0", "id": n, "method": m, "params": p}).encode() + b"\\n"
         for n, (m, p) in enumerate(asked)]
out = io.BytesIO()
StdioServer(lambda: 1 / 0, out).serve(io.BytesIO(b"".join(lines)))
assert len(out.getvalue().splitlines()) == 4 and b'"error"' not in out.getvalue()
heavy = "msgspec numpy sqlite3 asyncio mcp pydantic starlette uvicorn yaml rich click".split()
print([name for name in heavy if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.strip() == "[]"


def test_no_home(tmp_path: Path) -> None:
    assert "no Wakebook home" in run("mcp", "--home", str(tmp_path / "nowhere"), code=3)


def test_where_it_is_over_http(memory: Memory) -> None:
    said = run("mcp", "--http", "--home", str(memory.home.root), code=1)
    assert "http://127.0.0.1:7311/mcp" in said
    assert "wakebook serve" in said
