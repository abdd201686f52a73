"""Models that are asked: which one, what goes wrong, and what is only planned."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.models.chatting import (
    HASTY,
    KEY,
    PROVIDERS,
    ask,
    calls,
    chatting,
    failures,
    lines,
    numbered,
    outcomes,
    told,
    written,
)
from tests.server import Cut, Hang, ModelServer, Raw, Say, Status, Step
from wakebook.base import markdown
from wakebook.base.errors import BadModelOutput, ModelError, ModelUnavailable, NotAsked, TooLong
from wakebook.models import prompt
from wakebook.models.prompt import Lines
from wakebook.models.wire import Reply

# --- what goes wrong ---------------------------------------------------------------------


def fails(
    server: ModelServer, folder: Path, provider: str, kind: type[ModelError], message: str
) -> None:
    """The error, the record and the trace say the same, and none of them the key."""
    models = chatting(server, folder, f"{provider}/m", provider={"key_variable": "MY_KEY"})
    with pytest.raises(kind, match=message) as caught:
        ask(models)
    assert type(caught.value) is kind
    assert str(caught.value).startswith(f"{provider} ({server.url.removeprefix('http://')}) ")
    (call,) = calls(folder)
    assert call.outcome == ("bad" if kind is BadModelOutput else "unavailable")
    assert (call.operation, call.model) == ("commit", f"{provider}/m")
    assert failures(folder) == [str(caught.value)] == [call.error]
    assert KEY not in told(caught.value) + written(folder) + repr(models)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Status(401, f"invalid key {KEY}"), r"refuses the key \(401.*Correct the key"),
        (Status(403), r"refuses the key \(403\)\. Correct the key"),
        (Status(404, "no model m"), r'no such model .*404: "no model m".*Correct the model.s name'),
        (Status(400, "bad request"), "refuses the request .*bad request.*Correct the settings in"),
        (
            Status(302, location="http://127.0.0.1:9/"),
            "points to another address.*Correct base_url",
        ),
        (Status(429, "slow down", retry_after=3600), "slow down.*asks to wait 3600 s.*Try again"),
    ],
    ids=str,
)
def test_what_will_not_pass(
    server: ModelServer, tmp_path: Path, provider: str, step: Step, message: str
) -> None:
    server.script(step)
    fails(server, tmp_path, provider, ModelUnavailable, message)
    assert len(server.requests) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("step", "message"),
    [
        (Status(429, "slow down", retry_after=0), 'answers 429: "slow down", 3 times in a row'),
        (Status(502), r"answers 502, 3 times in a row\. Try again later, or set another"),
        (Status(529, f"overloaded, {KEY}"), "answers 529.*overloaded"),
        (Cut(), "broke the connection, 3 times in a row"),
        (Cut(halfway=True), "broke the connection"),
    ],
    ids=str,
)
def test_what_goes_on_for_ever(
    server: ModelServer, tmp_path: Path, provider: str, step: Step, message: str
) -> None:
    server.script(step, step, step)
    fails(server, tmp_path, provider, ModelUnavailable, message)
    assert len(server.requests) == 3


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>Welcome</html>", r"no JSON\. Is base_url in .* right"),
        (b"", "no JSON"),
        (b'{"error": {"message": "no credits", "code": 402}}', '"no credits"'),
        (b'{"error": "no model"}', '"no model"'),
        (b"\xff\xfe{}", "no JSON"),
    ],
)
def test_what_is_no_answer(
    server: ModelServer, tmp_path: Path, provider: str, body: bytes, message: str
) -> None:
    server.script(Raw(body))
    fails(server, tmp_path, provider, BadModelOutput, message)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    "step",
    [
        Status(429, retry_after=0),
        Status(500),
        Status(503, "busy"),
        Status(529),
        Cut(),
        Cut(halfway=True),
    ],
    ids=str,
)
def test_what_passes(server: ModelServer, tmp_path: Path, provider: str, step: Step) -> None:
    server.script(step, Say("Done."))
    assert ask(chatting(server, tmp_path, f"{provider}/m")) == "Done."
    assert len(server.requests) == 2
    assert outcomes(tmp_path) == ["ok"] and not failures(tmp_path)


@pytest.mark.parametrize("drops", [False, True])
def test_a_server_that_hangs(server: ModelServer, tmp_path: Path, drops: bool) -> None:
    server.script(Hang(drops), Hang(drops))
    with pytest.raises(ModelUnavailable, match=r"did not answer within 0\.1 s, 2 times in a row"):
        ask(chatting(server, tmp_path, patience=HASTY))
    assert outcomes(tmp_path) == ["unavailable"] and len(failures(tmp_path)) == 1


def test_nobody_is_there(tmp_path: Path) -> None:
    with ModelServer() as gone:
        pass
    with pytest.raises(ModelUnavailable, match=r"nothing listens\. Is it running"):
        ask(chatting(gone, tmp_path, "ollama/m"))
    assert outcomes(tmp_path) == ["unavailable"] and len(failures(tmp_path)) == 1


def test_nobody_is_sent_on(server: ModelServer, tmp_path: Path) -> None:
    with ModelServer() as other:
        server.script(Status(307, location=f"{other.url}/v1/messages"))
        with pytest.raises(ModelUnavailable):
            ask(chatting(server, tmp_path))
    assert not other.requests


@pytest.mark.parametrize(
    "step",
    [
        Status(413),
        Status(400, "prompt is too long: 200251 tokens > 199999 maximum"),
        Status(400, "This model's maximum context length is 8192 tokens, you sent 9000."),
        Status(400, "Your input exceeds the context window of this model."),
        Status(500, "the request exceeds the available context size, try increasing it"),
        Status(400, "input length and `max_tokens` exceed context limit: 197202 + 21333 > 200000"),
        Status(400, "The input token count (9) exceeds the maximum number of tokens allowed (8)."),
        Status(400, "Input tokens exceed the configured limit of 272000 tokens."),
        Status(400, "This model's maximum prompt length is 8 but the request contains 9 tokens."),
    ],
    ids=str,
)
def test_too_long_a_question(server: ModelServer, tmp_path: Path, step: Step) -> None:
    server.script(step)
    with pytest.raises(TooLong, match=r"takes less at once.*Set request_tokens in \[models\] low"):
        ask(chatting(server, tmp_path))
    assert outcomes(tmp_path) == ["too large"]
    assert not failures(tmp_path) and len(server.requests) == 1


def test_too_many_tokens_a_minute_is_not_too_long(server: ModelServer, tmp_path: Path) -> None:
    server.script(Status(429, "Too many tokens, please wait before trying again."), Say("Done."))
    assert ask(chatting(server, tmp_path)) == "Done."


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_model_with_a_temperature_of_its_own(
    server: ModelServer, tmp_path: Path, provider: str
) -> None:
    server.script(Status(400, "Unsupported value: 'temperature' does not support 0."))
    server.reply = lambda chat: '{"n":1}'
    models = chatting(server, tmp_path, f"{provider}/m")
    assert [lines(models, numbered).kept for _ in range(2)] == [[1], [1]]
    assert [chat.temperature for chat in server.chats] == [0, None, None]
    assert outcomes(tmp_path) == ["ok", "ok"] and not failures(tmp_path)


def test_an_empty_answer_is_no_text(server: ModelServer, tmp_path: Path) -> None:
    server.script(Say(" \n"))
    with pytest.raises(BadModelOutput, match=r"^anthropic/m gave an empty answer \(commit/"):
        ask(chatting(server, tmp_path))
    assert outcomes(tmp_path) == ["empty"]


@pytest.mark.parametrize("step", [Status(400, "bad \ud83e"), Say("\ud83e", stop="refusal")])
def test_half_a_character_in_an_error(server: ModelServer, tmp_path: Path, step: Step) -> None:
    server.script(step)
    with suppress(ModelError, UnicodeError):
        ask(chatting(server, tmp_path))
    assert len(calls(tmp_path)) == 1


def test_half_a_character_in_an_answer(server: ModelServer, tmp_path: Path) -> None:
    server.script(Say("the relay\ud83e moves"))
    assert ask(chatting(server, tmp_path)).isprintable()


# --- which one ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("main", "cheap", "lent", "names"),
    [
        ("openai/a", "ollama/b", False, ("openai/a", "ollama/b")),
        ("openai/a", "", True, ("openai/a", "openai/a")),
        ("", "ollama/b", True, ("ollama/b", "ollama/b")),
        ("", "", True, ("host", "host")),
        ("", "", False, ("", "")),
        ("host", "ollama/b", True, ("host", "ollama/b")),
    ],
)
def test_one_stands_in_for_the_other(
    tmp_path: Path, main: str, cheap: str, lent: bool, names: tuple[str, str]
) -> None:
    lend = (lambda *_: "Yes.") if lent else None
    models = chatting(None, tmp_path, main, cheap=cheap, lend=lend)
    assert (models.name("main"), models.name("cheap")) == names
    assert models.has("extract") == bool(names[0])


def test_each_job_goes_to_its_model(server: ModelServer, tmp_path: Path) -> None:
    models = chatting(server, tmp_path, "openai/large", cheap="ollama/small")
    server.script(Say("Done."), Say('{"n":1}'))
    ask(models)
    lines(models)
    assert [(chat.provider, chat.model) for chat in server.chats] == [
        ("ollama", "small"),
        ("openai", "large"),
    ]


def test_without_a_model_none_is_asked(tmp_path: Path) -> None:
    models = chatting(None, tmp_path, "")
    with pytest.raises(NotAsked, match=r"No model is asked for commit: \[models\] names none"):
        ask(models)
    assert not calls(tmp_path) and not failures(tmp_path)


def test_a_job_that_is_off(server: ModelServer, tmp_path: Path) -> None:
    models = chatting(server, tmp_path, off=("commit",))
    assert not models.has("commit") and models.has("extract")
    with pytest.raises(NotAsked, match="off"):
        ask(models)
    assert not server.requests and not failures(tmp_path)


def test_a_setting_that_names_no_model(tmp_path: Path) -> None:
    """Whoever asks does without; `status` says what to correct."""
    models = chatting(None, tmp_path, "mistral/m")
    with pytest.raises(ModelUnavailable, match="is no model"):
        ask(models)
    assert "is no model" in models.problems()[0] and len(failures(tmp_path)) == 1


def inputs(operation: str) -> dict[str, Any]:
    text = (Path(prompt.__file__).parents[1] / "prompts" / f"{operation}.md").read_text()
    return dict.fromkeys(markdown.split(text)[0]["inputs"], "text")


@pytest.mark.parametrize("operation", ["extract", "briefing", "contradictions", "commit"])
def test_every_shipped_prompt_can_be_asked(
    server: ModelServer, tmp_path: Path, operation: str
) -> None:
    server.reply = lambda chat: '{"n":1}'
    models = chatting(server, tmp_path)
    assert models.ask(operation, **inputs(operation)) == '{"n":1}'
    assert models.lines(operation, numbered, 5, **inputs(operation)) == Lines(
        [1], [], f"anthropic/m {operation}/{3 if operation == 'extract' else 1}"
    )


# --- lent by a host ----------------------------------------------------------------------


def test_the_hosts_model(tmp_path: Path) -> None:
    seen: list[tuple[str, str, int]] = []

    def lend(system: str, text: str, most: int) -> str | Reply:
        seen.append((system, text, most))
        return "Moves the port." if len(seen) == 1 else Reply("Again.", tokens_in=90, tokens_out=2)

    models = chatting(None, tmp_path, "", lend=lend)
    assert [ask(models), ask(models)] == ["Moves the port.", "Again."]
    system, text, most = seen[0]
    assert prompt.MATERIAL in system and "+ The port is 9090." in text and most == 300
    first, second = calls(tmp_path)
    assert first.model == "host" and first.estimated and first.tokens_in and first.cost is None
    assert (second.estimated, second.tokens_in, second.tokens_out) == (False, 90, 2)


def test_a_host_that_lends_nothing(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"nothing has lent its model.* Name a provider/mod"):
        ask(chatting(None, tmp_path, "host"))
    assert failures(tmp_path) == []  # it is nobody's fault


class HostError(Exception):
    """As the libraries of hosts have them."""


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("no session"), r"^The host's model does not answer: no session\.$"),
        (OSError("pipe"), "does not answer: pipe"),
        (ValueError("Gone."), r"does not answer: Gone\.$"),
        (TimeoutError(), r"does not answer: TimeoutError\.$"),
        (HostError("busy"), "does not answer: busy"),
        (KeyError("x"), "does not answer"),
        (TypeError("x"), "does not answer"),
    ],
)
def test_a_host_that_fails(tmp_path: Path, error: Exception, message: str) -> None:
    def lend(system: str, text: str, most: int) -> str:
        raise error

    with pytest.raises(ModelUnavailable, match=message):
        ask(chatting(None, tmp_path, "", lend=lend))
    assert outcomes(tmp_path) == ["unavailable"] and len(failures(tmp_path)) == 1


def test_a_host_that_was_started_again_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lend(system: str, text: str, most: int) -> str:
        raise RuntimeError("retired")

    models = chatting(None, tmp_path, "", lend=lend, failures=2, pause_minutes=10)
    for _ in range(3):
        with pytest.raises(ModelUnavailable):
            ask(models)
    assert outcomes(tmp_path) == ["unavailable"] * 2  # the third time it was left alone
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T08:01:00Z")
    assert ask(chatting(None, tmp_path, "", lend=lambda *_: "Yes.", failures=2)) == "Yes."


def test_a_host_that_answers_nothing(tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        ask(chatting(None, tmp_path, "", lend=lambda *_: None))  # type: ignore[arg-type]
