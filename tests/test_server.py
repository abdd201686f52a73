"""The scripted server speaks as the providers do, so that what is tested with it holds."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.server import Answer, Chat, Cut, Hang, ModelServer, Raw, Say, Slow, Status, Step

PATHS = {
    "anthropic": "/messages",
    "openai": "/chat/completions",
    "gemini": "/models/m:generateContent",
    "ollama": "/api/chat",
}
HEADERS = {
    "anthropic": {"x-api-key": "k", "anthropic-version": "2023-06-01"},
    "openai": {"authorization": "Bearer k"},
    "gemini": {"x-goog-api-key": "k"},
    "ollama": {},
}
BODIES: dict[str, dict[str, Any]] = {
    "anthropic": {
        "model": "m",
        "max_tokens": 100,
        "temperature": 0.5,
        "system": [
            {"type": "text", "text": "Be", "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": "brief."},
        ],
        "messages": [
            {"role": "user", "content": "Hello?"},
            {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]},
            {"role": "user", "content": [{"type": "text", "text": "Who?"}]},
        ],
    },
    "openai": {
        "model": "m",
        "max_completion_tokens": 100,
        "temperature": 0.5,
        "messages": [
            {"role": "system", "content": "Be"},
            {"role": "developer", "content": "brief."},
            {"role": "user", "content": "Hello?"},
            {"role": "assistant", "content": "Hi."},
            {"role": "user", "content": [{"type": "text", "text": "Who?"}]},
        ],
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "Be"}, {"text": "brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Hello?"}]},
            {"role": "model", "parts": [{"text": "Hi."}]},
            {"role": "user", "parts": [{"text": "Who?"}]},
        ],
        "generationConfig": {"maxOutputTokens": 100, "temperature": 0.5},
    },
    "ollama": {
        "model": "m",
        "stream": False,
        "messages": [
            {"role": "system", "content": "Be\n\nbrief."},
            {"role": "user", "content": "Hello?"},
            {"role": "assistant", "content": "Hi."},
            {"role": "user", "content": "Who?"},
        ],
        "options": {"num_ctx": 8192, "num_predict": 100, "temperature": 0.5},
    },
}
ALL = pytest.mark.parametrize("provider", PATHS)


@dataclass(frozen=True)
class Got:
    status: int
    headers: dict[str, str] = field(repr=False)
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)


def post(url: str, headers: dict[str, str], body: Any, timeout: float = 60) -> Got:
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        answer = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return Got(answer.status, dict(answer.headers), answer.read())


def ask(
    server: ModelServer,
    provider: str,
    headers: dict[str, str] | None = None,
    timeout: float = 60,
    **change: Any,
) -> Got:
    body = {name: value for name, value in (BODIES[provider] | change).items() if value is not None}
    headers = HEADERS[provider] if headers is None else headers
    return post(server.base(provider) + PATHS[provider], headers, body, timeout)


def said(provider: str, body: Any) -> str:
    match provider:
        case "anthropic":
            return "".join(block["text"] for block in body["content"])
        case "openai":
            return str(body["choices"][0]["message"]["content"])
        case "gemini":
            return "".join(part["text"] for part in body["candidates"][0]["content"]["parts"])
    return str(body["message"]["content"])


def arrived(server: ModelServer, requests: int) -> None:
    while len(server.requests) < requests:
        time.sleep(0.01)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


# --- the questions -----------------------------------------------------------------------


@ALL
def test_a_question_reads_the_same_for_every_provider(server: ModelServer, provider: str) -> None:
    assert ask(server, provider).status == 200
    (chat,) = server.chats
    assert chat.provider == provider
    assert chat.model == "m"
    assert chat.system == "Be\n\nbrief."
    assert chat.prompt == "Hello?\n\nHi.\n\nWho?"
    assert chat.messages == [("user", "Hello?"), ("assistant", "Hi."), ("user", "Who?")]
    assert (chat.max_tokens, chat.temperature) == (100, 0.5)
    assert chat.body == BODIES[provider]
    assert chat.headers.items() >= HEADERS[provider].items()
    (request,) = server.requests
    assert (request.body, request.texts) == (chat.body, [])


def test_what_may_be_left_out(server: ModelServer) -> None:
    ask(server, "anthropic", system="Be brief.", temperature=None)
    ask(server, "openai", max_completion_tokens=None, max_tokens=7, temperature=None)
    ask(server, "gemini", systemInstruction=None, generationConfig=None)
    ask(server, "ollama", options=None)
    assert [chat.max_tokens for chat in server.chats] == [100, 7, None, None]
    assert [chat.temperature for chat in server.chats] == [None] * 4
    assert [chat.system for chat in server.chats][::2] == ["Be brief.", ""]


@pytest.mark.parametrize(
    ("provider", "change", "message"),
    [
        ("anthropic", {"max_tokens": None}, "max_tokens: Field required"),
        ("anthropic", {"max_tokens": 0}, "max_tokens"),
        ("anthropic", {"max_tokens": "100"}, "max_tokens"),
        ("anthropic", {"model": None}, "model"),
        ("anthropic", {"messages": []}, "at least one"),
        ("anthropic", {"messages": [{"role": "system", "content": "x"}]}, "roles"),
        ("anthropic", {"messages": [{"role": "user", "content": ""}]}, "non-empty"),
        ("anthropic", {"system": 5}, "system"),
        ("anthropic", {"stream": True}, "stream"),
        ("openai", {"model": None}, "model"),
        ("openai", {"messages": None}, "messages"),
        ("openai", {"messages": [{"role": "user"}]}, "messages"),
        ("openai", {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "blocks"),
        ("openai", {"max_tokens": 100}, "same time"),
        ("gemini", {"contents": None}, "contents"),
        ("gemini", {"contents": [{"role": "assistant", "parts": []}]}, "roles"),
        ("gemini", {"generationConfig": {"maxOutputTokens": 0.5}}, "maxOutputTokens"),
        ("ollama", {"stream": None}, "stream"),
        ("ollama", {"stream": True}, "stream"),
        ("ollama", {"model": None}, "model"),
    ],
)
def test_a_bad_question(server: ModelServer, provider: str, change: Any, message: str) -> None:
    got = ask(server, provider, **change)
    assert got.status == 400 and message in got.raw.decode()
    assert len(server.requests) == 1 and not server.chats


@pytest.mark.parametrize(
    ("missing", "status", "kind"),
    [
        ("x-api-key", 401, "authentication_error"),
        ("anthropic-version", 400, "invalid_request_error"),
    ],
)
def test_a_missing_header(server: ModelServer, missing: str, status: int, kind: str) -> None:
    headers = {name: v for name, v in HEADERS["anthropic"].items() if name != missing}
    got = ask(server, "anthropic", headers)
    assert got.status == status
    assert got.body["error"]["type"] == kind and missing in got.body["error"]["message"]


def test_a_body_that_is_no_object(server: ModelServer) -> None:
    assert post(server.base("openai") + PATHS["openai"], {}, []).status == 400


def test_another_path(server: ModelServer) -> None:
    assert post(server.url + "/v1/responses", {}, {}).status == 404


def test_a_key_in_the_address(server: ModelServer) -> None:
    got = post(server.base("gemini") + PATHS["gemini"] + "?key=k", {}, BODIES["gemini"])
    assert said("gemini", got.body) == "OK"


# --- the answers -------------------------------------------------------------------------


def test_an_answer_of_anthropic(server: ModelServer) -> None:
    server.script(Say("I.", tokens=(100, 20, 60)))
    body = ask(server, "anthropic").body
    assert body.pop("id")
    assert body == {
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "I."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 40,
            "output_tokens": 20,
            "cache_read_input_tokens": 60,
            "cache_creation_input_tokens": 0,
        },
    }


def test_an_answer_of_openai(server: ModelServer) -> None:
    server.script(Say("I.", tokens=(100, 20, 60)))
    body = ask(server, "openai").body
    assert body.pop("id") and body.pop("created")
    (choice,) = body.pop("choices")
    assert choice["message"] == {"role": "assistant", "content": "I.", "refusal": None}
    assert (choice["index"], choice["finish_reason"]) == (0, "stop")
    assert body == {
        "object": "chat.completion",
        "model": "m",
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 60},
        },
    }


def test_an_answer_of_gemini(server: ModelServer) -> None:
    server.script(Say("I.", tokens=(100, 20, 60)), Say("I."))
    body = ask(server, "gemini").body
    (candidate,) = body["candidates"]
    assert candidate["content"] == {"parts": [{"text": "I."}], "role": "model"}
    assert (candidate["finishReason"], body["modelVersion"]) == ("STOP", "m")
    assert body["usageMetadata"] == {
        "promptTokenCount": 100,
        "candidatesTokenCount": 20,
        "cachedContentTokenCount": 60,
        "totalTokenCount": 120,
    }
    assert "cachedContentTokenCount" not in ask(server, "gemini").body["usageMetadata"]


def test_an_answer_of_ollama(server: ModelServer) -> None:
    server.script(Say("I.", tokens=(100, 20, 60)))
    body = ask(server, "ollama").body
    assert body["message"] == {"role": "assistant", "content": "I."}
    assert body["done"] is True and body["done_reason"] == "stop"
    assert (body["model"], body["prompt_eval_count"], body["eval_count"]) == ("m", 100, 20)
    assert body["created_at"]


@ALL
def test_tokens_follow_from_the_lengths(server: ModelServer, provider: str) -> None:
    server.script(Say("x" * 41))
    body = ask(server, provider).body
    (chat,) = server.chats
    usage = body.get("usage") or body.get("usageMetadata") or body
    counts = [n for name, n in usage.items() if isinstance(n, int) and name != "total_duration"]
    asked = len(chat.system + chat.prompt) // 4
    assert {asked, 10} <= set(counts) <= {asked, 10, asked + 10, 0, True}


@pytest.mark.parametrize(
    ("provider", "where", "stop"),
    [
        ("anthropic", ("stop_reason",), "max_tokens"),
        ("openai", ("choices", 0, "finish_reason"), "length"),
        ("gemini", ("candidates", 0, "finishReason"), "MAX_TOKENS"),
        ("ollama", ("done_reason",), "length"),
    ],
)
def test_an_answer_that_is_too_long(
    server: ModelServer, provider: str, where: tuple[Any, ...], stop: str
) -> None:
    server.script(Say("I am", stop="length"))
    body = value = ask(server, provider).body
    for name in where:
        value = value[name]
    assert value == stop
    assert said(provider, body) == "I am"


def test_refusals(server: ModelServer) -> None:
    server.script(*[Say("No.", stop="refusal", tokens=(9, 1, 0))] * 4)
    body = ask(server, "anthropic").body
    assert (body["stop_reason"], said("anthropic", body)) == ("refusal", "No.")
    (choice,) = ask(server, "openai").body["choices"]
    assert choice["message"] == {"role": "assistant", "content": None, "refusal": "No."}
    assert choice["finish_reason"] == "stop"
    body = ask(server, "gemini").body
    assert body["promptFeedback"] == {"blockReason": "SAFETY"} and "candidates" not in body
    assert body["usageMetadata"] == {"promptTokenCount": 9, "totalTokenCount": 9}
    body = ask(server, "ollama").body
    assert (body["done_reason"], said("ollama", body)) == ("stop", "No.")


def test_nothing_to_say(server: ModelServer) -> None:
    server.script(Say("", stop="refusal"), Say("", stop="refusal"), Say("", stop="length"))
    assert ask(server, "anthropic").body["content"] == []
    (choice,) = ask(server, "openai").body["choices"]
    assert choice["finish_reason"] == "content_filter"
    assert (choice["message"]["content"], choice["message"]["refusal"]) == (None, None)
    assert ask(server, "gemini").body["candidates"][0]["content"] == {"role": "model"}


# --- the script --------------------------------------------------------------------------


@ALL
def test_without_a_script(server: ModelServer, provider: str) -> None:
    assert said(provider, ask(server, provider).body) == "OK"
    server.reply = lambda chat: chat.messages[-1][1].upper()
    server.script(Answer(), Answer(chunked=True))
    for _ in range(3):
        assert said(provider, ask(server, provider).body) == "WHO?"


@ALL
def test_the_steps_of_old(server: ModelServer, provider: str) -> None:
    server.script(Raw(b"<html>Welcome</html>"), Status(503), Cut(), Cut(halfway=True), Hang())
    got = ask(server, provider)
    assert (got.status, got.raw) == (200, b"<html>Welcome</html>")
    assert got.headers["Content-Type"] == "text/html"
    assert ask(server, provider).status == 503
    with pytest.raises(http.client.RemoteDisconnected):
        ask(server, provider)
    with pytest.raises(http.client.IncompleteRead):
        ask(server, provider)
    with pytest.raises(TimeoutError):
        ask(server, provider, timeout=0.05)
    arrived(server, 5)
    assert said(provider, ask(server, provider).body) == "OK"
    assert len(server.chats) == len(server.requests) == 6


@pytest.mark.parametrize(
    ("provider", "error"),
    [
        (
            "anthropic",
            {
                "type": "error",
                "error": {"type": "rate_limit_error", "message": "slow down"},
                "request_id": "req_01",
            },
        ),
        (
            "openai",
            {
                "error": {
                    "message": "slow down",
                    "type": "invalid_request_error",
                    "param": None,
                    "code": None,
                }
            },
        ),
        (
            "gemini",
            {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}},
        ),
        ("ollama", {"error": "slow down"}),
    ],
)
def test_the_form_of_an_error(server: ModelServer, provider: str, error: Any) -> None:
    server.script(Status(429, "slow down", retry_after=7))
    got = ask(server, provider)
    assert (got.status, got.headers["Retry-After"], got.body) == (429, "7", error)


def test_embeddings_and_chats_of_one_server(server: ModelServer) -> None:
    server.script(Say("for a chat"), Status(500, "oops"))
    url = server.base("openai") + "/embeddings"
    assert len(post(url, {}, {"input": ["one"]}).body["data"]) == 1
    assert post(url, {}, {"input": ["one"]}).body == {"error": {"message": "oops"}}
    assert said("openai", ask(server, "openai").body) == "OK"
    assert server.texts == [["one"], ["one"], []] and len(server.chats) == 1


def test_slow(server: ModelServer) -> None:
    server.script(Slow(0.01, Say("at last")), Slow(0, Slow(0.01, Status(529, "overloaded"))))
    assert said("openai", ask(server, "openai").body) == "at last"
    assert ask(server, "anthropic").body["error"]["type"] == "overloaded_error"


def test_slow_ends_with_the_server() -> None:
    with ThreadPoolExecutor() as pool:
        with ModelServer() as server:
            server.script(Slow(3600, Say("at last")))
            asked = pool.submit(ask, server, "openai")
            arrived(server, 1)
        assert said("openai", asked.result(60).body) == "at last"


def test_a_reply_that_fails_is_seen(
    server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.reply = lambda chat: str(1 // 0)
    with pytest.raises(http.client.RemoteDisconnected):
        ask(server, "openai")
    assert "ZeroDivisionError" in capsys.readouterr().err


# --- many at once ------------------------------------------------------------------------


def test_one_after_another_is_one_at_once(server: ModelServer) -> None:
    server.script(Status(500), Raw(b"{}"), Cut(), Slow(0.01, Say("x")))
    for _ in range(20):
        try:
            ask(server, "openai")
        except http.client.RemoteDisconnected:
            continue
    assert server.most_at_once == 1


def test_many_at_once() -> None:
    together = threading.Barrier(6, timeout=60)

    def reply(chat: Chat) -> str:
        together.wait()
        return chat.prompt

    with ModelServer(reply=reply) as server, ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(ask, server, p) for p in ("openai", "anthropic", "gemini") * 2]
        assert {each.result(60).status for each in asked} == {200}
        assert server.most_at_once == 6
        assert len(server.chats) == len(server.requests) == 6


def test_each_step_is_done_once(server: ModelServer) -> None:
    steps: list[Step] = [Say(str(number)) for number in range(60)]
    server.script(*steps)
    with ThreadPoolExecutor(12) as pool:
        asked = [pool.submit(ask, server, "ollama") for _ in steps]
        heard = {said("ollama", each.result(60).body) for each in asked}
    assert heard == {str(number) for number in range(60)}


# --- by hand -----------------------------------------------------------------------------


def test_by_hand(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("first")
    (tmp_path / "two").write_text("second")
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.server",
            "--say",
            tmp_path / "one",
            "--say",
            tmp_path / "two",
        ],
        cwd=Path(__file__).parent.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout
            url = process.stdout.readline().strip()
            bases = dict(process.stdout.readline().split() for _ in PATHS)
            assert bases["gemini"] == url + "/v1beta"
            for text in ("first", "second", "second"):
                got = post(bases["gemini"] + PATHS["gemini"], {}, BODIES["gemini"])
                assert said("gemini", got.body) == text
            size = len(json.dumps(BODIES["gemini"]))
            assert process.stdout.readline() == f"/v1beta/models/m:generateContent m {size} bytes\n"
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
            assert (process.returncode, errors) == (0, "")
        finally:
            process.kill()


def test_openai_calls_tools_and_wants_every_call_answered() -> None:
    with ModelServer() as server:
        server.script(Say("", calls=(("ls", {"path": "."}), ("pwd", {}))), Say("Here."))
        (choice,) = ask(server, "openai").body["choices"]
        assert choice["finish_reason"] == "tool_calls" and choice["message"]["content"] is None
        first, second = choice["message"]["tool_calls"]
        assert first["function"] == {"name": "ls", "arguments": '{"path": "."}'}
        told = [*BODIES["openai"]["messages"], choice["message"]]
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": "a"} for call in (second, first)
        ]
        assert said("openai", ask(server, "openai", messages=[*told, *results]).body) == "Here."
        assert server.chats[-1].messages[-2:] == [("tool", "a"), ("tool", "a")]
        for wrong in (told, [*told, results[0]], [*told, *results, results[0]], results):
            assert ask(server, "openai", messages=wrong).status == 400
