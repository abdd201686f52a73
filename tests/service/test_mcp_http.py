"""MCP over HTTP, message by message: what no proper client would send, too."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.service.serving import Answer, Service
from wakebook.service import tools

VERSION = "io.modelcontextprotocol/protocolVersion"
ABILITIES = "io.modelcontextprotocol/clientCapabilities"
MODERN = "2026-07-28"
ACCEPT = "application/json, text/event-stream"
PING = {"jsonrpc": "2.0", "id": "ping", "method": "ping"}


def post(service: Service, message: Any, **headers: str) -> Answer:
    given = {"Accept": ACCEPT} | {key.replace("_", "-"): value for key, value in headers.items()}
    return service.ask("/mcp", message, headers=given)


def ask(service: Service, method: str, params: Any = None, **headers: str) -> Answer:
    message = {"jsonrpc": "2.0", "id": 1, "method": method}
    return post(service, message | ({} if params is None else {"params": params}), **headers)


def ask_modern(service: Service, method: str, params: Any = None, **other: str) -> Answer:
    """As a client of 2026-07-28 asks, with other headers where a test wants them."""
    meta = {VERSION: MODERN, ABILITIES: {}}
    given: dict[str, Any] = {"_meta": meta} | (params or {})
    name = given.get("name") or given.get("uri")
    headers = {"MCP_Protocol_Version": MODERN, "Mcp_Method": method}
    return ask(service, method, given, **headers | ({"Mcp_Name": name} if name else {}) | other)


def code(answer: Answer) -> Any:
    return answer.json["error"]["code"]


def alive(service: Service) -> bool:
    found = post(service, PING)
    return (found.status, found.json) == (200, {"jsonrpc": "2.0", "id": "ping", "result": {}})


# --- with a handshake --------------------------------------------------------------------


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_the_version_is_the_clients_if_it_is_known(service: Service, version: str) -> None:
    given = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x"}}
    found = ask(service, "initialize", given)
    assert found.status == 200
    assert found.json["result"]["protocolVersion"] == version
    assert found.json["result"]["serverInfo"]["name"] == "wakebook"
    assert "mcp-session-id" not in {name.lower() for name in found.headers}
    listed = ask(service, "tools/list", MCP_Protocol_Version=version)
    assert [one["name"] for one in listed.json["result"]["tools"]] == list(tools.NAMES)


@pytest.mark.parametrize("version", [MODERN, "1999-01-01", ""])
def test_otherwise_the_newest_that_has_a_handshake(service: Service, version: str) -> None:
    found = ask(service, "initialize", {"protocolVersion": version})
    assert found.json["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        (b"{", -32700),
        (b"\xff\xfe{}", -32700),
        (b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}', -32700),
        (b"[" * 50_000, -32700),
        (b"5", -32600),
        (b"[]", -32600),
        (b"{}", -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', -32602),
    ],
)
def test_what_is_no_message_is_refused(service: Service, body: bytes, wrong: int) -> None:
    found = post(service, body)
    assert (found.status, code(found)) == (400, wrong)
    assert found.json["error"]["message"]
    assert alive(service)


@pytest.mark.parametrize(
    ("method", "params", "wrong"),
    [
        ("nonsense", None, -32601),
        ("logging/setLevel", {"level": "info"}, -32601),
        ("server/discover", None, -32601),
        ("initialize", {}, -32602),
        ("tools/call", {}, -32602),
        ("tools/call", {"name": "nonsense", "arguments": {}}, -32602),
        ("tools/call", {"name": "\ud800"}, -32602),
        ("resources/read", {"uri": "wakebook://nothing"}, -32002),
        ("resources/list", {"cursor": "nonsense"}, -32602),
        ("prompts/get", {"name": "nonsense"}, -32602),
    ],
)
def test_a_request_that_cannot_be_answered_is_an_answer_all_the_same(
    service: Service, method: str, params: Any, wrong: int
) -> None:
    found = ask(service, method, params, MCP_Protocol_Version="2025-11-25")
    assert (found.status, code(found)) == (200, wrong)
    assert found.json["id"] == 1


def test_arguments_that_do_not_fit_are_for_the_model_to_mend(service: Service) -> None:
    several: list[Any] = [[], "x", {"nonsense": 1}, {"query": 5}]
    for arguments in several:
        found = ask(service, "tools/call", {"name": "memory_search", "arguments": arguments})
        assert found.json["result"]["isError"] is True


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}},
        {"jsonrpc": "2.0", "method": "notifications/nonsense", "params": 5},
        {"jsonrpc": "2.0", "id": 7, "result": {}},
        {"jsonrpc": "2.0", "id": 7, "error": {"code": 1, "message": "x"}},
    ],
)
def test_what_is_not_answered_is_accepted(service: Service, message: Any) -> None:
    for version in ("", "2025-11-25", MODERN):
        found = post(service, message, MCP_Protocol_Version=version)
        assert (found.status, found.body) == (202, b"")


@pytest.mark.parametrize("version", ["", "2025-03-26"])
def test_batches_where_the_version_has_them(service: Service, version: str) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/nonsense"}
    wake = {"jsonrpc": "2.0", "id": 2, "method": "prompts/get", "params": {"name": "wake"}}
    found = post(service, [PING, note, wake, 5], MCP_Protocol_Version=version)
    assert found.status == 200
    by_id = {one["id"]: one for one in found.json}
    assert by_id.keys() == {"ping", 2, None}
    assert by_id[2]["result"]["messages"]
    assert post(service, [note], MCP_Protocol_Version=version).status == 202


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25", MODERN])
def test_and_where_it_has_none(service: Service, version: str) -> None:
    found = post(service, [PING], MCP_Protocol_Version=version)
    assert (found.status, code(found)) == (400, -32600)


def test_resources_come_page_by_page(service: Service) -> None:
    for number in range(60):
        assert service.ask("/v1/remember", {"text": f"Buoy {number} is red."}).status == 200
    found: list[str] = []
    params: dict[str, Any] = {}
    while True:
        page = ask(service, "resources/list", params).json["result"]
        found += [one["uri"] for one in page["resources"]]
        if "nextCursor" not in page:
            break
        assert len(page["resources"]) == 50
        params = {"cursor": page["nextCursor"]}
    assert len(found) == len(set(found)) >= 61


# --- without one -------------------------------------------------------------------------


def test_a_request_of_its_own(service: Service) -> None:
    found = ask_modern(service, "server/discover")
    assert found.status == 200
    assert found.json["result"]["supportedVersions"] == [MODERN]
    done = ask_modern(service, "tools/call", {"name": "context", "arguments": {}})
    assert done.json["result"]["resultType"] == "complete"
    assert "ttlMs" not in done.json["result"]
    assert ask_modern(service, "tools/list").json["result"]["cacheScope"] == "private"


@pytest.mark.parametrize(
    ("headers", "wrong"),
    [
        ({"MCP_Protocol_Version": "2025-11-25"}, -32020),
        ({"MCP_Protocol_Version": ""}, -32020),
        ({"Mcp_Method": "tools/list"}, -32020),
        ({"Mcp_Method": ""}, -32020),
        ({"Mcp_Name": "forget"}, -32020),
        ({"Mcp_Name": ""}, -32020),
        ({"Mcp_Name": "=?base64?!?="}, -32020),
    ],
)
def test_headers_that_say_something_else(
    service: Service, headers: Mapping[str, str], wrong: int
) -> None:
    found = ask_modern(service, "tools/call", {"name": "context", "arguments": {}}, **headers)
    assert (found.status, code(found)) == (400, wrong)
    assert found.json["id"] == 1


def test_a_header_in_base64_is_read(service: Service) -> None:
    uri = "wakebook://transcripts/Mira’s session"
    header = f"=?base64?{base64.b64encode(uri.encode()).decode()}?="
    found = ask_modern(service, "resources/read", {"uri": uri}, Mcp_Name=header)
    assert (found.status, code(found)) == (400, -32602)  # past the headers, and not there
    assert found.json["error"]["data"] == {"uri": uri}


@pytest.mark.parametrize(
    ("method", "meta", "header", "status", "wrong"),
    [
        ("tools/list", {VERSION: "2099-01-01", ABILITIES: {}}, "2099-01-01", 400, -32022),
        ("tools/list", {VERSION: MODERN}, MODERN, 400, -32602),
        ("tools/list", {}, MODERN, 400, -32602),
        ("tools/list", {}, "2099-01-01", 400, -32602),
        ("nonsense", {VERSION: MODERN, ABILITIES: {}}, MODERN, 404, -32601),
        ("ping", {VERSION: MODERN, ABILITIES: {}}, MODERN, 404, -32601),
        ("subscriptions/listen", {VERSION: MODERN, ABILITIES: {}}, MODERN, 404, -32601),
    ],
)
def test_errors_have_a_status(
    service: Service, method: str, meta: Any, header: str, status: int, wrong: int
) -> None:
    headers = {"MCP_Protocol_Version": header, "Mcp_Method": method}
    found = ask(service, method, {"_meta": meta}, **headers)
    assert (found.status, code(found)) == (status, wrong)
    if wrong == -32022:
        data = {"supported": [MODERN], "requested": "2099-01-01"}
        assert found.json["error"]["data"] == data


def test_a_note_in_a_version_that_is_not_spoken(service: Service) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/nonsense"}
    found = post(service, note, MCP_Protocol_Version="2099-01-01")
    assert (found.status, code(found)) == (400, -32022)


# --- HTTP itself -------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_stream_and_no_session_to_end(service: Service, method: str) -> None:
    headers = {"Accept": "text/event-stream"}
    found = service.ask("/mcp", method=method, headers=headers)
    assert found.status == 405
    assert found.headers["allow"] == "POST"


@pytest.mark.parametrize("accept", ["", "text/event-stream", "text/html, image/*"])
def test_a_client_that_takes_no_json(service: Service, accept: str) -> None:
    found = post(service, PING, Accept=accept)
    assert (found.status, code(found)) == (406, -32600)


@pytest.mark.parametrize("accept", ["*/*", "application/*", "application/json;q=0.5"])
def test_and_ones_that_do(service: Service, accept: str) -> None:
    assert post(service, PING, Accept=accept).status == 200


def test_a_home_that_cannot_be_opened_is_told(service: Service) -> None:
    config = service.home / "config.toml"
    before = config.read_text()
    try:
        config.write_text("[search]\nmax_results = 'many'\n")
        found = ask(service, "tools/call", {"name": "memory_search", "arguments": {"query": "x"}})
        said = json.dumps(found.json)
        assert "max_results" in said
        assert alive(service)  # what needs no home is answered as ever
        assert ask(service, "tools/list").status == 200
    finally:
        config.write_text(before)
