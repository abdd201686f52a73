"""The official client of the protocol against both of our servers: they answer alike.

It is imported where it is used: that takes more than a second, which a worker that runs none of
these tests need not spend.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.service.serving import Service, made, own_env, serving
from tests.story import Claude
from wakebook import Memory
from wakebook.service import tools
from wakebook.service.mcp import MOST, PAGE

if TYPE_CHECKING:
    from mcp import Client, MCPError

SESSION = "5e551011-0000-4000-8000-000000000001"
MODES = ["legacy", "auto"]  # with a handshake, and without
WAYS = ["stdio", "http"]
pytestmark = pytest.mark.parametrize("mode", MODES)


class Told:
    """A home that was told something, its service, and the clients that stay connected to it."""

    def __init__(self, service: Service, env: dict[str, str], portal: BlockingPortal) -> None:
        self.service, self.env, self.portal = service, env, portal
        self.clients: dict[tuple[str, str], Client] = {}
        self.stack = ExitStack()

    def client(self, way: str, mode: str) -> Client:
        if (way, mode) not in self.clients:
            opened = connected(self.service, self.env, way, mode)
            found = self.stack.enter_context(self.portal.wrap_async_context_manager(opened))
            self.clients[way, mode] = found
        return self.clients[way, mode]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    folder = tmp_path_factory.mktemp("mcp")
    env = own_env(folder)
    projects = folder / "user" / ".claude" / "projects" / "-home-mira-tidepool"
    projects.mkdir(parents=True)
    claude = Claude(projects, SESSION)
    claude.user("We decided to use Postgres for the kiosk's ledger, because of the reports.")
    claude.agent("Noted: Postgres for the ledger.")
    with serving(made(folder), env) as service:
        assert service.ask("/v1/catch-up", {"closing": True}).status == 200
        with start_blocking_portal() as portal:
            told = Told(service, env, portal)
            with told.stack:
                yield told


@asynccontextmanager
async def connected(
    service: Service, env: dict[str, str], way: str, mode: str
) -> AsyncIterator[Client]:
    if way == "http":
        async with over_http(service, service.token, mode) as client:
            yield client
        return
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    arguments = ["-m", "wakebook", "mcp", "--home", str(service.home)]
    nowhere = "/"  # a folder that is no project
    server = StdioServerParameters(command=sys.executable, args=arguments, env=env, cwd=nowhere)
    with Path(os.devnull).open("w") as quiet:
        async with Client(stdio_client(server, errlog=quiet), mode=mode) as client:
            yield client


@asynccontextmanager
async def over_http(service: Service, token: str, mode: str) -> AsyncIterator[Client]:
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        url = f"http://127.0.0.1:{service.port}/mcp"
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            yield client


def refusal() -> type[MCPError]:
    from mcp import MCPError

    return MCPError


def both(told: Told, mode: str, ask: Any) -> Any:
    """What both servers answer; they must agree."""
    found = [told.portal.call(ask, told.client(way, mode)) for way in WAYS]
    assert found[0] == found[1]
    return found[0]


def plain(result: Any) -> Any:
    """Without what belongs to the way: which of the two has answered is not to be seen."""
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def test_who_it_is_and_what_it_can(told: Told, mode: str) -> None:
    async def ask(client: Client) -> Any:
        can = plain(client.server_capabilities)
        return client.protocol_version, client.instructions, sorted(can)

    version, instructions, can = both(told, mode, ask)
    assert version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
    assert "memory_search" in instructions
    assert can == ["prompts", "resources", "tools"]


@pytest.mark.filterwarnings("ignore:ping is removed")
def test_a_ping_where_the_protocol_has_one(told: Told, mode: str) -> None:
    async def ask(client: Client) -> Any:
        if mode == "legacy":
            return plain(await client.send_ping())
        with pytest.raises(refusal()) as caught:
            await client.send_ping()
        return caught.value.code

    assert both(told, mode, ask) == ({} if mode == "legacy" else -32601)


def test_the_tools_are_those_of_every_host(told: Told, mode: str) -> None:
    async def ask(client: Client) -> Any:
        return plain(await client.list_tools())

    found = {one["name"]: one for one in both(told, mode, ask)["tools"]}
    assert tuple(found) == tools.NAMES
    for tool in tools.LIST:
        one = found[tool["name"]]
        assert one["inputSchema"] == tool["parameters"]
        assert one["description"] == tool["description"]
        assert one["annotations"]["readOnlyHint"] is tool["readOnly"]
        assert one["annotations"]["destructiveHint"] is (tool["name"] == "forget")


CALLS = [
    ("memory_search", {"query": "which database for the ledger"}, "Postgres"),
    ("memory_search", {"query": "", "type": "decision"}, "Postgres"),
    ("memory_search", {"query": "ledger", "maxResults": 1, "minScore": 0.1}, "Postgres"),
    ("memory_get", {"path": f"session:{SESSION}"}, "because of the reports"),
    ("memory_get", {"path": "MEMORY.md", "from": 1, "lines": 3}, "memory"),
    ("context", {"message": "which database?"}, "Postgres"),
]


@pytest.mark.parametrize(("name", "arguments", "said"), CALLS)
def test_reading_tools(
    told: Told, mode: str, name: str, arguments: dict[str, Any], said: str
) -> None:
    async def ask(client: Client) -> Any:
        return plain(await client.call_tool(name, arguments))

    done = both(told, mode, ask)
    assert done["isError"] is False
    assert said in done["content"][0]["text"]
    if name != "context":
        assert done["structuredContent"] == json.loads(done["content"][0]["text"])


@pytest.mark.parametrize("way", WAYS)
def test_writing_tools(told: Told, mode: str, way: str) -> None:
    async def ask(client: Client) -> None:
        done = await client.call_tool("remember", {"text": f"A {way} {mode} thought."})
        name = json.loads(done.content[0].text)["remembered"]["id"]  # type: ignore[union-attr]
        asks = await client.call_tool("forget", {"ids": [name]})
        text = asks.content[0].text  # type: ignore[union-attr]
        assert "Nothing is forgotten yet" in text
        assert not (await client.call_tool("memory_get", {"path": name})).is_error
        code = text.partition('confirm \\"')[2].partition("\\")[0]
        gone = await client.call_tool("forget", {"ids": [name], "confirm": code})
        assert "forgotten" in json.loads(gone.content[0].text)  # type: ignore[union-attr]
        assert (await client.call_tool("memory_get", {"path": name})).is_error

    told.portal.call(ask, told.client(way, mode))


WRONG = [
    ("memory_search", {"query": 5}),
    ("memory_search", {"nonsense": "x"}),
    ("memory_get", {"path": "../../etc/passwd"}),
    ("memory_get", {"path": "nothing12345"}),
    ("remember", {}),
    ("forget", {"ids": ["nothing12345"]}),
]


@pytest.mark.parametrize(("name", "arguments"), WRONG)
def test_what_a_tool_cannot_do_is_told_as_text(
    told: Told, mode: str, name: str, arguments: dict[str, Any]
) -> None:
    async def ask(client: Client) -> Any:
        return plain(await client.call_tool(name, arguments))

    done = both(told, mode, ask)
    assert done["isError"] is True
    assert done["content"][0]["text"]


def test_resources(told: Told, mode: str) -> None:
    async def ask(client: Client) -> Any:
        listed = plain(await client.list_resources())["resources"]
        templates = plain(await client.list_resource_templates())["resourceTemplates"]
        contents = [plain(await client.read_resource(one["uri"]))["contents"][0] for one in listed]
        return listed, templates, contents

    listed, templates, contents = both(told, mode, ask)
    assert listed[0]["uri"] == "wakebook://memory"
    assert [one["uriTemplate"] for one in templates] == [
        "wakebook://entries/{id}",
        "wakebook://transcripts/{session}",
    ]
    by_uri = {one["uri"]: one for one in contents}
    assert list(by_uri) == [one["uri"] for one in listed]
    assert "Core Memory" in by_uri["wakebook://memory"]["text"]
    said = by_uri[f"wakebook://transcripts/{SESSION}"]
    assert said["mimeType"] == "text/markdown"
    assert "because of the reports" in said["text"]
    entries = [one for uri, one in by_uri.items() if "/entries/" in uri]
    assert any("Postgres" in json.loads(one["text"])["entry"]["content"] for one in entries)


def test_many_resources_come_page_by_page(memory: Memory, mode: str) -> None:
    from wakebook.service.mcp import Request, answer

    for number in range(5):
        memory.remember(f"Buoy number {number} is red.")
    lines = memory.home.log.read_text().splitlines()
    with memory.home.log.open("a") as log:
        for number in range(MOST):
            log.write(json.dumps(json.loads(lines[0]) | {"id": f"buoy{number:08}"}) + "\n")

    async def ask(service: Service, way: str) -> list[str]:
        found: list[str] = []
        async with connected(service, dict(os.environ), way, mode) as client:
            cursor = None
            while True:
                page = await client.list_resources(cursor=cursor)
                assert len(page.resources) <= PAGE
                found += [one.uri for one in page.resources]
                cursor = page.next_cursor
                if cursor is None:
                    return found

    with serving(memory.home.root) as service:
        found, also = (anyio.run(ask, service, way) for way in WAYS)
    assert found == also
    assert len(found) == len(set(found)) == MOST + 1
    assert found[1] == f"wakebook://entries/buoy{MOST - 1:08}"  # the newest first
    listed = answer(Request(1, "resources/list", {}), lambda: memory, print)["result"]
    assert len(listed["resources"]) == PAGE


GONE = [
    "wakebook://entries/nothing12345",
    "wakebook://entries/..%2F..%2Fconfig.toml",
    "wakebook://entries/.%2Ftoken",
    "wakebook://transcripts/nobody",
    "wakebook://transcripts/..%2F..%2Ftoken",
    "wakebook://token",
    "file:///etc/passwd",
]


@pytest.mark.parametrize("uri", GONE)
def test_a_resource_that_is_not_there(told: Told, mode: str, uri: str) -> None:
    async def ask(client: Client) -> Any:
        with pytest.raises(refusal()) as caught:
            await client.read_resource(uri)
        return caught.value.code, caught.value.message, caught.value.data

    code, message, data = both(told, mode, ask)
    assert code == (-32002 if mode == "legacy" else -32602)
    assert "not found" in message
    assert data == {"uri": uri}


def test_prompts(told: Told, mode: str) -> None:
    async def ask(client: Client) -> Any:
        listed = plain(await client.list_prompts())["prompts"]
        spoken = [
            plain(await client.get_prompt(name, arguments))["messages"][0]["content"]["text"]
            for name, arguments in (
                ("wake", None),
                ("handoff", None),
                ("handoff", {"session": SESSION[:8]}),
                ("handoff", {"session": "nobody"}),
            )
        ]
        return listed, spoken

    listed, (wake, last, named, none) = both(told, mode, ask)
    assert [one["name"] for one in listed] == ["wake", "handoff"]
    assert listed[1]["arguments"][0]["required"] is False
    assert "Postgres" in wake
    assert last == named
    assert SESSION in last
    assert "no handoff" in none


@pytest.mark.parametrize(
    ("method", "arguments"), [("call_tool", ("nonsense", {})), ("get_prompt", ("nonsense",))]
)
def test_names_that_nobody_knows(told: Told, mode: str, method: str, arguments: Any) -> None:
    async def ask(client: Client) -> Any:
        with pytest.raises(refusal()) as caught:
            await getattr(client, method)(*arguments)
        return caught.value.code, caught.value.message

    code, message = both(told, mode, ask)
    assert code == -32602
    assert "nonsense" in message


def test_calls_at_the_same_time(told: Told, mode: str) -> None:
    async def ask(client: Client) -> Any:
        found: dict[int, Any] = {}

        async def one(number: int) -> None:
            asked = {"query": "ledger", "maxResults": 1 + number % 3}
            found[number] = plain(await client.call_tool("memory_search", asked))

        async with anyio.create_task_group() as group:
            for number in range(12):
                group.start_soon(one, number)
        return [len(found[number]["structuredContent"]["results"]) for number in range(12)]

    counts = both(told, mode, ask)
    assert counts[0::3] == [1] * 4


def test_http_wants_the_token(told: Told, mode: str) -> None:
    async def ask() -> None:
        async with over_http(told.service, "wrong", mode):
            pass

    with pytest.raises(Exception) as caught:
        anyio.run(ask)
    assert "ExceptionGroup" in type(caught.value).__name__ or isinstance(caught.value, refusal())


def test_a_client_goes_on_when_the_service_was_started_anew(
    tmp_path: Path, memory: Memory, mode: str
) -> None:
    memory.remember("The kiosk is called Heron.")

    async def ask(first: Service) -> None:
        async with over_http(first, first.token, mode) as client:
            assert not (await client.call_tool("memory_search", {"query": "kiosk"})).is_error
            await anyio.to_thread.run_sync(first.stop)
            with serving(memory.home.root, port=first.port) as again:
                done = await client.call_tool("memory_search", {"query": "kiosk"})
                assert "Heron" in done.content[0].text  # type: ignore[union-attr]
                await anyio.to_thread.run_sync(again.stop)

    with serving(memory.home.root) as service:
        anyio.run(ask, service)
