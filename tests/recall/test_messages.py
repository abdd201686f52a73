"""The view over messages: what it understands of three hosts' shapes, and what it leaves alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.recall.shapes import anthropic, openai, pi
from tests.recall.test_prune import CLEARED, EAGER, LAST, after, old, small
from wakebook.recall import messages as view
from wakebook.recall.prune import prune


def test_every_result_of_a_message_is_pruned_by_itself() -> None:
    """As Anthropic has it: several blocks, and words of the user's beside them."""
    calls = [{"type": "tool_use", "id": f"t{n}", "name": f"tool{n}", "input": {}} for n in range(3)]
    blocks: list[Any] = [
        {"type": "tool_result", "tool_use_id": "t0", "content": "x" * 9_000, "is_error": True},
        {"type": "tool_result", "tool_use_id": "t1", "content": "short"},
        {
            "type": "tool_result",
            "tool_use_id": "t2",
            "content": [
                {"type": "text", "text": "y" * 5_000, "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "z" * 5_000},
            ],
        },
        {"type": "text", "text": "And hurry. " * 1_000},
        {"type": "novelty", "payload": "w" * 5_000},
    ]
    messages = anthropic([("user", "Go.")])
    messages += [{"role": "assistant", "content": calls}, {"role": "user", "content": blocks}]
    messages += anthropic(LAST)
    done = prune(messages, small(messages))
    kept = done.messages[2]["content"]
    assert [change.tool for change in done.report.trimmed] == ["tool0", "tool2"]
    assert kept[1] == blocks[1] and kept[3:] == blocks[3:]
    assert kept[0]["is_error"] is True and "of 9000 chars.]" in kept[0]["content"]
    [text] = kept[2]["content"]
    assert text["cache_control"] == {"type": "ephemeral"}
    assert text["text"].startswith("y" * 1_500 + "\n...\n" + "z" * 1_500)
    assert "of 10001 chars.]" in text["text"]  # the two texts and the line between them


def test_a_result_with_a_block_that_nobody_understands_is_left_alone() -> None:
    messages = pi(old("x" * 60_000, "y" * 60_000))
    messages[2]["content"].append({"type": "hologram", "data": "z"})
    done = prune(messages, 10_000, EAGER)
    assert done.messages[2] is messages[2]
    assert after(done)[1] == CLEARED


def test_strange_messages_are_left_alone_and_count_by_their_size() -> None:
    strange: list[Any] = [None, 7, "words", {"role": "custom", "content": {"a": "b" * 100}}, {}]
    messages = [*openai(old("x" * 9_000)), {"role": "user"}, {"role": "tool"}, *strange]
    done = prune(messages, small(messages))
    assert done.messages[-7:] == messages[-7:]
    assert len(done.report.trimmed) == 1
    assert [view.characters(one) for one in strange] == [len(json.dumps(one)) for one in strange]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "data": "A" * 1_000_000},
        {"type": "image_url", "image_url": {"url": "data:" + "A" * 1_000_000}},
        {"type": "document", "source": {"type": "base64", "data": "A" * 1_000_000}},
    ],
)
def test_a_picture_does_not_count_by_its_data(block: dict[str, Any]) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "Look:"}, block]}
    assert view.characters(message) == 8_005


@pytest.mark.parametrize(
    ("message", "count"),
    [
        ({"role": "user", "content": "12345"}, 5),
        ({"role": "assistant", "content": None}, 0),
        ({"role": "assistant", "content": [{"type": "thinking", "thinking": "123"}]}, 3),
        ({"role": "assistant", "content": [{"type": "redacted_thinking", "data": "1"}]}, 42),
        (openai([("call", "c", "read")])[0], len("read{}")),
        (anthropic([("call", "c", "read")])[0], len("read{}")),
        (pi([("call", "c", "read")])[0], len("read{}")),
        (anthropic([("result", "c", "12345")])[0], 5),
        ({"role": "tool", "tool_call_id": "c", "content": {"a": 1}}, 58),
    ],
)
def test_what_counts(message: Any, count: int) -> None:
    assert view.characters(message) == count
