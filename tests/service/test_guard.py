"""What the service turns away, and how: the right status, a reason, and nothing more."""

from __future__ import annotations

import fcntl
import http.client
import os
import socket
import stat
from pathlib import Path

import pytest

from tests.service.serving import SECONDS, Service

JSON = {"Content-Type": "application/json"}
MEBIBYTE = 1 << 20


def test_with_the_token_it_answers(service: Service) -> None:
    assert service.ask("/v1/wake", {}).status == 200


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer ", "Basic eDp5", "Bearer wrong", "wrong"])
def test_without_the_token_it_does_not(service: Service, given: str) -> None:
    answer = service.ask("/v1/wake", {}, headers={"Authorization": given})
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert service.token not in answer.body.decode()


def test_the_beginning_of_the_token_is_not_the_token(service: Service) -> None:
    for wrong in (service.token[:-1], service.token + "x", service.token.upper()):
        headers = {"Authorization": f"Bearer {wrong}"}
        assert service.ask("/v1/wake", {}, headers=headers).kind == "WrongToken"


@pytest.mark.parametrize("path", ["/metrics", "/openapi.json", "/mcp", "/v1/nothing", "/"])
def test_every_path_but_health_wants_the_token(service: Service, path: str) -> None:
    assert service.ask(path, headers={"Authorization": ""}).status == 401


def test_health_wants_none_and_tells_nothing(service: Service) -> None:
    answer = service.ask("/health", headers={"Authorization": ""})
    assert answer.status == 200
    assert answer.json.keys() == {"ok", "version"}


def test_the_socket_wants_no_token_and_is_for_its_owner_alone(service: Service) -> None:
    assert service.ask("/v1/wake", {}, unix=True).status == 200
    mode = Path(service.socket).stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600
    assert stat.S_IMODE((service.home / "token").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "0.0.0.0:{port}",
             "127.0.0.1.evil.example:{port}", "localhost:{port}@evil.example"],
)  # fmt: skip
def test_a_foreign_host_is_refused_even_with_the_token(service: Service, host: str) -> None:
    """As a page does whose name was made to point at 127.0.0.1."""
    answer = service.ask("/v1/wake", {}, headers={"Host": host.format(port=service.port)})
    assert (answer.status, answer.kind) == (403, "ForeignHost")
    assert service.ask("/health", headers={"Host": host.format(port=service.port)}).status == 403


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST"])
def test_names_of_this_machine_are_fine(service: Service, name: str) -> None:
    headers = {"Host": f"{name}:{service.port}"}
    assert service.ask("/v1/wake", {}, headers=headers).status == 200


def test_no_host_at_all(service: Service) -> None:
    with socket.create_connection(("127.0.0.1", service.port), SECONDS) as link:
        link.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        assert link.recv(100).split()[1] == b"403"


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1", "http://localhost:1", "http://[", "x"],
)
def test_a_foreign_origin_is_refused_even_with_the_token(service: Service, origin: str) -> None:
    answer = service.ask("/v1/wake", {}, headers={"Origin": origin})
    assert (answer.status, answer.kind) == (403, "ForeignOrigin")


def test_an_origin_of_this_service_is_fine(service: Service) -> None:
    headers = {"Origin": f"http://127.0.0.1:{service.port}"}
    assert service.ask("/v1/wake", {}, headers=headers).status == 200


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded"])
def test_a_body_that_a_form_could_send_is_refused(service: Service, kind: str) -> None:
    answer = service.ask("/v1/wake", {}, headers={"Content-Type": kind})
    assert (answer.status, answer.kind) == (400, "NotJson")


def test_more_than_8_mebibytes_are_refused_before_they_are_read(service: Service) -> None:
    headers = {"Content-Length": str(9 * MEBIBYTE), "Transfer-Encoding": ""}
    answer = service.ask("/v1/wake", b"", headers=headers)
    assert (answer.status, answer.kind) == (413, "TooLarge")


def test_just_8_mebibytes_are_fine(service: Service) -> None:
    body = b'{"message": "%s"}' % (b"x" * (8 * MEBIBYTE - 15))
    assert len(body) == 8 * MEBIBYTE
    assert service.ask("/v1/get", body).status == 400  # read, and not understood


@pytest.mark.parametrize("unix", [False, True])
def test_a_chunked_body_is_cut_off_as_well(service: Service, unix: bool) -> None:
    family = socket.AF_UNIX if unix else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as link:
        link.settimeout(SECONDS)
        link.connect(service.socket if unix else ("127.0.0.1", service.port))
        head = (
            f"POST /v1/remember HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n"
            f"Authorization: Bearer {service.token}\r\n"
            "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        link.sendall(head.encode())
        piece = b"100000\r\n" + b"x" * MEBIBYTE + b"\r\n"
        try:
            for _ in range(12):
                link.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it does not read on
        found = http.client.HTTPResponse(link)
        try:
            found.begin()
            assert found.status == 413
        except ConnectionResetError:
            pass  # what was not read has cut off the answer as well
    assert service.ask("/health").status == 200


@pytest.mark.parametrize("path", ["/v1/nonsense", "/v1/", "/v1/search/", "/v2/search", "/etc"])
def test_an_unknown_path(service: Service, path: str) -> None:
    answer = service.ask(path, {})
    assert (answer.status, answer.kind) == (404, "NoSuchPath")


def test_a_wrong_method(service: Service) -> None:
    answer = service.ask("/v1/search")
    assert answer.status == 405
    assert "POST" in answer.headers["allow"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "truncated"),
        (b"\xff\xfe", "malformed"),
        (b"[]", "Expected `object`"),
        (b'{"limit": "many"}', "$.limit"),
        (b'{"types": ["rumour"]}', "$.types[0]"),
        (b'{"min_score": 2}', "$.min_score"),
        (b'{"since": "yesterday"}', "$.since"),
        (b'{"nonsense": 1}', "nonsense"),
        (b"[" * 100_000, ""),
    ],
)
def test_a_body_that_is_not_understood(service: Service, body: bytes, said: str) -> None:
    answer = service.ask("/v1/search", body)
    assert (answer.status, answer.kind) == (400, "BadRequest")
    assert said in answer.json["error"]["message"]


@pytest.mark.parametrize(
    "ref", ["../../../etc/passwd", "/etc/passwd", "knowledge/../../secret.md", "%2e%2e/secret.md",
            "raw/link.md", "a\0b.md", "knowledge/" + "x" * 5000 + ".md"],
)  # fmt: skip
def test_nothing_outside_of_the_home_is_read(service: Service, ref: str) -> None:
    secret = service.home.parent / "secret.md"
    secret.write_text("the password is heron")
    link = service.home / "raw" / "link.md"
    if not link.is_symlink():
        link.symlink_to(secret)
    for path, body in (("get", {"ref": ref}), ("tools/memory_get", {"arguments": {"path": ref}})):
        answer = service.ask(f"/v1/{path}", body)
        assert b"heron" not in answer.body
        assert b"root:" not in answer.body
        assert answer.status == 404 if path == "get" else answer.json["failed"]


def test_the_token_is_not_among_what_an_agent_may_read(service: Service) -> None:
    for path in ("token", "./token", "knowledge/../token"):
        answer = service.ask("/v1/tools/memory_get", {"arguments": {"path": path}})
        assert answer.json["failed"]
        assert service.token not in answer.body.decode()


def test_a_home_that_somebody_writes_to_is_told_as_such(service: Service) -> None:
    with (service.home / ".lock").open("rb+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        answer = service.ask("/v1/remember", {"text": "The kiosk is called Heron."})
        assert (answer.status, answer.kind) == (423, "Locked")
        assert service.ask("/v1/wake", {}).status == 200  # readers never wait
    assert service.ask("/v1/remember", {"text": "The kiosk is called Heron."}).status == 200


def test_what_nobody_foresaw_is_traced_and_not_told(service: Service) -> None:
    broken = service.home / "subjects.json"
    before = broken.read_bytes()
    broken.unlink()
    broken.mkdir()
    try:
        answer = service.ask("/v1/remember", {"text": "x", "subject": "kiosk"})
    finally:
        broken.rmdir()
        broken.write_bytes(before)
    assert answer.status == 500
    assert b"Traceback" not in answer.body
    assert str(service.home).encode() not in answer.body
    assert "/v1/remember" in (service.home / "trace.jsonl").read_text()


def test_a_new_token_counts_at_once(service: Service) -> None:
    path = service.home / "token"
    old = path.read_text()
    try:
        path.write_text("another-token-that-is-long-enough\n")
        os.utime(path, (1, 1))
        assert service.ask("/v1/wake", {}).status == 401
    finally:
        path.write_text(old)
    assert service.ask("/v1/wake", {}).status == 200
