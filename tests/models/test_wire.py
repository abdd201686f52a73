"""Questions in each provider's own form, and how the answers are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.models.chatting import (
    KEY,
    PROVIDERS,
    REFUSING,
    ask,
    chatting,
    lines,
    numbered,
    outcomes,
    question,
    served,
    told,
)
from tests.server import ModelServer, Raw, Say
from wakebook.base import text
from wakebook.base.errors import BadModelOutput, ConfigError, ModelUnavailable
from wakebook.models import model as makes
from wakebook.models import wire
from wakebook.models.wire import Reply

# --- the question ------------------------------------------------------------------------

HEADERS = {
    "anthropic": {"x-api-key": KEY, "anthropic-version": "2023-06-01"},
    "openai": {"authorization": f"Bearer {KEY}"},
    "gemini": {"x-goog-api-key": KEY},
    "ollama": {},
    "compatible": {},
}
BODIES: dict[str, Any] = {
    "anthropic": {
        "model": "m",
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "Hello?"}],
        "max_tokens": 50,
        "temperature": 0.5,
    },
    "openai": {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello?"},
        ],
        "max_completion_tokens": 50,
        "temperature": 0.5,
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "Hello?"}]}],
        "generationConfig": {"maxOutputTokens": 50, "temperature": 0.5},
    },
    "ollama": {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hello?"},
        ],
        "stream": False,
        "options": {"num_ctx": 2048, "num_predict": 50, "temperature": 0.5},
    },
}
BODIES["compatible"] = {
    "max_tokens" if name == "max_completion_tokens" else name: value
    for name, value in BODIES["openai"].items()
}
PATHS = {
    "anthropic": "/v1/messages",
    "openai": "/v1/chat/completions",
    "gemini": "/v1beta/models/m:generateContent",
    "ollama": "/api/chat",
    "compatible": "/v1/chat/completions",
}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_question_in_the_form_of_each_provider(server: ModelServer, provider: str) -> None:
    served(server, f"{provider}/m").ask(question(temperature=0.5))
    (request,) = server.requests
    assert request.path == PATHS[provider]
    assert request.body == BODIES[provider]
    assert request.headers["content-type"] == "application/json"
    keyed = ("x-api-key", "anthropic-version", "authorization", "x-goog-api-key")
    assert {k: v for k, v in request.headers.items() if k in keyed} == HEADERS[provider]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_without_a_temperature_none_is_sent(server: ModelServer, provider: str) -> None:
    served(server, f"{provider}/m").ask(question())
    assert "temperature" not in json.dumps(server.requests[0].body)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_several_turns_keep_their_roles(server: ModelServer, provider: str) -> None:
    served(server, f"{provider}/m").ask(question("One?", "1", "Two?"))
    (chat,) = server.chats
    assert chat.system == "Be brief."
    assert chat.messages == [("user", "One?"), ("assistant", "1"), ("user", "Two?")]


def test_ollama_gets_room_for_the_whole_question(server: ModelServer) -> None:
    long = "word " * 10_000
    served(server, "ollama/m").ask(question(long, "1", long, max_tokens=1000))
    room = server.chats[0].body["options"]["num_ctx"]
    assert room >= 2 * text.tokens(long) + 1000
    assert room % wire.STEP == 0


@pytest.mark.parametrize(
    ("name", "arrives"),
    [
        ("compatible/anthropic/claude-x", "anthropic/claude-x"),
        ("ollama/qwen3:8b", "qwen3:8b"),
        ("gemini/models/gemini-x", "gemini-x"),
        ("gemini/tunedModels/größe 1", "tunedModels/größe 1"),
    ],
)
def test_names_with_slashes_and_colons(server: ModelServer, name: str, arrives: str) -> None:
    model = served(server, name)
    model.ask(question())
    assert (model.name, server.chats[0].model) == (name, arrives)


# --- the answer --------------------------------------------------------------------------


@pytest.mark.parametrize("provider", PROVIDERS)
def test_text_and_tokens_of_an_answer(server: ModelServer, provider: str) -> None:
    server.script(Say("Naïve 日本\n{}", tokens=(90, 7, 40)))
    cached = 0 if provider == "ollama" else 40
    expected = Reply("Naïve 日本\n{}", tokens_in=90, tokens_out=7, cached=cached)
    assert served(server, f"{provider}/m").ask(question()) == expected


def raw(provider: str, answer: Any) -> Reply:
    with ModelServer() as server:
        server.script(Raw(json.dumps(answer).encode()))
        return served(server, f"{provider}/m").ask(question())


def test_anthropic_counts_what_it_writes_to_its_cache() -> None:
    usage = {
        "input_tokens": 10,
        "output_tokens": 3,
        "cache_read_input_tokens": 200,
        "cache_creation_input_tokens": 30,
    }
    reply = raw("anthropic", {"content": [], "usage": usage})
    assert (reply.tokens_in, reply.tokens_out, reply.cached, reply.written) == (240, 3, 200, 30)


def test_several_blocks_of_text_are_one_answer() -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "One, "},
        {"type": "tool_use", "input": {}},
        {"type": "text", "text": "two."},
    ]
    assert raw("anthropic", {"content": blocks}).text == "One, two."
    parts = [{"text": "Hm.", "thought": True}, {"text": "One, "}, {"text": "two."}, {"x": 1}]
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 30}
    answer = {"candidates": [{"content": {"parts": parts}}], "usageMetadata": usage}
    reply = raw("gemini", answer)
    assert (reply.text, reply.tokens_out) == ("One, two.", 32)


THOUGHTS = [
    ("<think>Hm.\n{1}</think>\n\nYes.", "Yes."),
    ("<thinking>Hm.</thinking>Yes.", "Yes."),
    ("<think>Hm, and then it was cut", ""),
    ("<think></think>Yes. <thanks>", "Yes. <thanks>"),
    ("Hm, says a template that opens by itself.\n</think>\n\nYes.", "Yes."),
    ('{"content":"The <think> tag is gone."}', '{"content":"The <think> tag is gone."}'),
]


@pytest.mark.parametrize("provider", ["ollama", "compatible"])
@pytest.mark.parametrize(("said", "read"), THOUGHTS)
def test_thoughts_are_no_part_of_the_answer(
    server: ModelServer, provider: str, said: str, read: str
) -> None:
    server.script(Say(said))
    assert served(server, f"{provider}/m").ask(question()).text.strip() == read


def test_tokens_that_are_no_numbers_are_not_believed() -> None:
    answer = {"choices": [{"message": {"content": "OK"}}]}
    for usage in ({"prompt_tokens": "12"}, {"prompt_tokens": -1}, None):
        assert raw("openai", answer | {"usage": usage}) == Reply("OK")


@pytest.mark.parametrize("provider", REFUSING)
@pytest.mark.parametrize("words", ["I cannot help with that.", ""])
def test_a_refusal_names_the_model(
    server: ModelServer, tmp_path: Path, provider: str, words: str
) -> None:
    server.script(Say(words, stop="refusal"))
    with pytest.raises(BadModelOutput, match=rf"^{provider}/m refuses to answer \(commit/") as it:
        ask(chatting(server, tmp_path, f"{provider}/m"))
    assert words in str(it.value) or provider == "gemini"  # which has no words for it
    assert outcomes(tmp_path) == ["refused"]


@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "PROHIBITED_CONTENT"])
def test_gemini_refuses_in_the_middle_of_an_answer(reason: str) -> None:
    answer = {"candidates": [{"content": {"parts": [{"text": "We"}]}, "finishReason": reason}]}
    assert raw("gemini", answer).refused == reason


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_answer_that_was_cut_is_no_text(
    server: ModelServer, tmp_path: Path, provider: str
) -> None:
    server.script(Say("half an ans", stop="length"))
    with pytest.raises(BadModelOutput, match=rf"^{provider}/m was cut off at \d+ tokens"):
        ask(chatting(server, tmp_path, f"{provider}/m"))
    assert outcomes(tmp_path) == ["cut"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_lines_of_an_answer_that_was_cut(
    server: ModelServer, tmp_path: Path, provider: str
) -> None:
    server.script(Say('{"n":1}\n{"n":2}\n{"n', stop="length"))
    found = lines(chatting(server, tmp_path, f"{provider}/m"), numbered)
    assert found.cut and found.kept == [1, 2]
    assert len(server.requests) == 1  # nothing to repair


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    "answer",
    [
        [],
        {},
        "OK",
        None,
        {"content": 1, "choices": [], "candidates": [], "message": "OK"},
        {"content": [{}], "choices": [{}], "candidates": {"x": 1}, "message": None},
        {"content": ["OK"], "choices": ["OK"], "candidates": ["OK"], "message": []},
    ],
    ids=str,
)
def test_an_answer_in_another_form(provider: str, answer: Any) -> None:
    with pytest.raises(BadModelOutput, match=rf"^{provider} .*Is base_url in \[{provider}\] right"):
        raw(provider, answer)


# --- where and with which key ------------------------------------------------------------


def test_ollama_is_found_where_its_variable_says(server: ModelServer) -> None:
    host = server.url.removeprefix("http://")
    served(None, "ollama/m", {"OLLAMA_HOST": host}).ask(question())
    assert len(server.chats) == 1
    served(server, "ollama/m", {"OLLAMA_HOST": "127.0.0.1:1"}).ask(question())  # base_url is first
    assert len(server.chats) == 2


@pytest.mark.parametrize("host", ["two words", "http://a:b", "me@host", "ftp://host"])
def test_a_variable_of_ollama_that_is_no_address(host: str) -> None:
    with pytest.raises(ConfigError, match="OLLAMA_HOST"):
        served(None, "ollama/m", {"OLLAMA_HOST": host})


def test_a_compatible_server_needs_an_address() -> None:
    with pytest.raises(ConfigError, match=r"\[compatible\] base_url is needed, like http://"):
        served(None, "compatible/m")


@pytest.mark.parametrize("name", ["claude", "mistral/m", "anthropic/", "anthropic/ ", "/m", "Host"])
def test_a_name_that_is_no_model(name: str) -> None:
    with pytest.raises(ConfigError, match=r"is no model\. Write provider/model, like") as caught:
        served(None, name)
    assert repr(name) in str(caught.value)
    assert all(provider in str(caught.value) for provider in PROVIDERS)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_key_of_a_variable_that_the_settings_name(server: ModelServer, provider: str) -> None:
    model = served(server, f"{provider}/m", {"MINE": f" {KEY}\n"}, key_variable="MINE")
    model.ask(question())
    assert KEY in json.dumps(server.requests[0].headers)
    with pytest.raises(
        ModelUnavailable, match=rf"MINE, which key_variable in \[{provider}\] names"
    ):
        served(server, f"{provider}/m", key_variable="MINE").ask(question())


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_key_of_a_file_that_only_its_owner_reads(
    server: ModelServer, tmp_path: Path, provider: str
) -> None:
    path = tmp_path / "key"
    path.write_text(f"{KEY}\n")
    path.chmod(0o640)
    model = served(server, f"{provider}/m", {}, key_file=str(path))
    with pytest.raises(ModelUnavailable, match=f"others can read .*chmod 600 {path}"):
        model.ask(question())
    path.chmod(0o600)
    model.ask(question())
    assert KEY in json.dumps(server.requests[0].headers)
    path.write_text(" \n")
    with pytest.raises(ModelUnavailable, match="is empty"):
        model.ask(question())
    path.unlink()
    with pytest.raises(ModelUnavailable, match=rf"No such file.* key_file in \[{provider}\]"):
        model.ask(question())


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini"])
def test_no_key(server: ModelServer, provider: str) -> None:
    variable = f"WAKEBOOK_{provider.upper()}_API_KEY"
    with pytest.raises(ModelUnavailable, match=rf"no key\. Set {variable}, .*\[{provider}\]"):
        served(server, f"{provider}/m", {}).ask(question())
    assert not server.requests
    both = {variable: KEY, f"{provider.upper()}_API_KEY": "another"}
    served(server, f"{provider}/m", both).ask(question())  # ours comes first
    assert KEY in json.dumps(server.requests[0].headers)


def test_a_key_goes_only_to_its_provider(server: ModelServer) -> None:
    for provider in ("ollama", "compatible"):
        served(server, f"{provider}/m").ask(question())
    assert KEY not in json.dumps([request.headers for request in server.requests])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_key_is_not_shown(server: ModelServer, provider: str) -> None:
    model = served(server, f"{provider}/m", key_variable="MY_KEY")
    model.ask(question())
    assert isinstance(model, makes.ServedModel)
    assert KEY not in repr(model) + str(vars(model))
    broken = served(server, f"{provider}/m", {"MINE": f"{KEY}\nX: y"}, key_variable="MINE")
    with pytest.raises(ModelUnavailable, match="MINE holds is no key") as caught:
        broken.ask(question())
    assert KEY not in told(caught.value)
