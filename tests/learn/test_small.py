"""A small local model: one short question at a time, a schema, the same checks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.learn.telling import Tale, block
from tests.server import Chat, ModelServer, Status
from wakebook.base.errors import ConfigError
from wakebook.learn.small import TOKENS, is_small

SAID = (
    "My sister Ines moved to Lund last week. We use Postgres for the bookings.",
    "Good to know.",
    "I have to renew the certificate of the relay by Friday.",
    "Noted.",
)


def items(*found: tuple[int, str]) -> str:
    return json.dumps({"items": [{"message": n, "sentence": text} for n, text in found]})


def picks(chat: Chat) -> str:
    if "something about the user" in chat.prompt:
        return items((1, "My sister Ines moved to Lund last week."))
    if "has to do" in chat.prompt:
        return items((3, "I have to renew the certificate of the relay by Friday."))
    return items()


@pytest.fixture
def small(tmp_path: Path, projects: Path) -> Iterator[Tale]:
    with ModelServer(reply=picks) as server:
        tale = Tale(tmp_path / "home", projects, server)
        tale.settings("ollama/qwen3:8b")
        with tale.memory.home.config.open("a") as stream:
            stream.write(f'[ollama]\nbase_url = "{server.url}"\n')
            stream.write(f'[compatible]\nbase_url = "{server.base("openai")}"\n')
        yield tale


@pytest.mark.parametrize(
    ("name", "setting", "expected"),
    [
        ("ollama/qwen3:8b", "auto", True),
        ("ollama/llama3.2:1b", "auto", True),
        ("compatible/SmolLM2-135M-Instruct.Q4_1", "auto", True),
        ("ollama/qwen3:32b", "auto", False),
        ("ollama/mixtral:8x22b", "auto", False),
        ("ollama/mistral", "auto", False),
        ("ollama/mistral", "yes", True),
        ("ollama/qwen3:8b", "no", False),
        ("anthropic/claude-8b", "auto", False),
    ],
)
def test_which_models_are_small(name: str, setting: str, expected: bool) -> None:
    assert is_small(name, setting) is expected


def test_a_setting_that_is_none() -> None:
    with pytest.raises(ConfigError, match="small is 'maybe'"):
        is_small("ollama/x", "maybe")


def test_one_short_question_at_a_time_and_the_same_checks(small: Tale) -> None:
    small.talk(*SAID)
    small.memory.catch_up()
    assert [(one.type, one.content) for one in small.log() if one.type != "handoff"] == [
        ("fact", "My sister Ines moved to Lund last week."),
        ("task", "I have to renew the certificate of the relay by Friday."),
    ]
    assert len(small.asked) == 3 and {one.body["format"]["type"] for one in small.asked} == {
        "object"
    }
    assert len({one.system for one in small.asked}) == 1
    assert max(len(one.system) + len(one.prompt) for one in small.asked) < 2500
    (left,) = small.current("handoff")
    assert left.by == "ollama/qwen3:8b extract-small/1, rules"


def test_a_sentence_that_it_has_mixed_or_repeats_is_dropped(small: Tale) -> None:
    mixed = "My sister Ines moved to Lund last week and good to know."
    small.server.reply = lambda chat: items((1, mixed), (1, "We use Postgres for the bookings."))
    small.talk(*SAID)
    small.memory.catch_up()
    found = [(one.type, one.content) for one in small.log() if one.type != "handoff"]
    assert found == [("fact", "We use Postgres for the bookings.")]  # once, of three questions


def test_what_was_not_said_is_refused(small: Tale) -> None:
    small.server.reply = lambda chat: items(
        (1, "Release 4.7.1 has 2,300 users in Oslo."), (9, "No.")
    )
    small.talk(*SAID)
    small.memory.catch_up()
    assert small.learned() == []
    assert any("2300" in one or "4.7.1" in one for one in small.traced("refused"))


def test_a_long_conversation_is_read_in_small_pieces(small: Tale) -> None:
    small.talk(*(f"The shelf number {n} holds {'box ' * 200}." for n in range(20)))
    small.memory.catch_up()
    assert len(small.asked) > 6
    assert all(len(block(one, "messages")) < 8 * TOKENS for one in small.asked)


def test_a_server_without_schemas_is_asked_without(small: Tale) -> None:
    text = small.memory.home.config.read_text().replace("ollama/qwen3:8b", "compatible/tiny-1b")
    small.memory.home.config.write_text(text)
    small.server.script(Status(400, "response_format json_schema is not supported"))
    small.talk(*SAID)
    small.memory.catch_up()
    assert ["response_format" in one.body for one in small.server.requests] == [True, *[False] * 3]
    assert len(small.learned()) == 2


def test_a_model_that_cannot_do_it_is_found_out(small: Tale) -> None:
    small.server.reply = lambda chat: "I am a helpful assistant!"
    for number in (1, 2, 3):
        small.talk(*SAID, number=number)
    for _ in range(2):
        small.memory.catch_up()
    assert len(small.server.chats) == 6
    assert any("gave no usable line in its last 6 answers" in one for one in small.told())
