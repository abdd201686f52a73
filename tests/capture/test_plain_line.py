"""A message in the shape of any client comes to the same lines, and so to the same transcript."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from wakebook.base.errors import WakebookError
from wakebook.capture.discover import sessions_at
from wakebook.capture.hosts import plain_file as plain_line
from wakebook.capture.read import Reader
from wakebook.capture.transcript import Boundary

FUNCTION = {"name": "shell", "arguments": '{"command": "ls"}'}
CHATS: dict[str, list[Any]] = {
    "openai": [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "What is here?"}]},
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": FUNCTION}]},
        {"role": "tool", "tool_call_id": "c1", "content": "a\nb"},
        {"role": "assistant", "content": "Two files.", "refusal": None},
    ],
    "responses": [
        {"role": "user", "content": [{"type": "input_text", "text": "What is here?"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "id": "__fake_id__", "call_id": "c1", **FUNCTION},
        {"type": "function_call_output", "call_id": "c1", "output": "a\nb"},
        {
            "type": "message",
            "role": "assistant",
            "id": "__fake_id__",
            "content": [{"type": "output_text", "text": "Two files.", "annotations": []}],
        },
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    ],
    "anthropic": [
        {"role": "user", "content": "What is here?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Let me look."},
                {"type": "tool_use", "id": "c1", "name": "shell", "input": {"command": "ls"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [{"type": "text", "text": "a\nb"}],
                }
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Two files."}]},
    ],
    "langchain": [
        SystemMessage("Be brief."),
        HumanMessage("What is here?", id="h1"),
        AIMessage(
            [{"type": "tool_use", "id": "c1", "name": "shell", "input": {"command": "ls"}}],
            tool_calls=[{"id": "c1", "name": "shell", "args": {"command": "ls"}}],
        ),
        ToolMessage("a\nb", tool_call_id="c1"),
        AIMessage("Two files."),
    ],
}


def read(folder: Path, messages: list[Any]) -> list[tuple[str, str, tuple[Any, ...]]]:
    """What capture makes of them."""
    path = folder / "chat.jsonl"
    lines = [line for message in messages for line in plain_line.lines(message)]
    path.write_bytes(b'{"session":"chat"}\n' + b"".join(map(plain_line.encode, lines)))
    (session,) = sessions_at(path)
    found: list[tuple[str, str, tuple[Any, ...]]] = []
    for item in Reader(session, 0, 1 << 20, closing=True):
        assert not isinstance(item, Boundary)
        message = item.message
        tools = tuple((tool.name, tool.summary, tool.result, tool.error) for tool in message.tools)
        found.append((message.role, message.text, tools))
    return found


@pytest.mark.parametrize("shape", CHATS)
def test_every_shape_is_the_same_conversation(tmp_path: Path, shape: str) -> None:
    assert read(tmp_path, CHATS[shape]) == [
        ("user", "What is here?", ()),
        ("agent", "", (("shell", "ls", "a (+1 line)", False),)),
        ("agent", "Two files.", ()),
    ]


def test_what_a_human_says_together_with_results_comes_after_them(tmp_path: Path) -> None:
    use = {"type": "tool_use", "id": "c1", "name": "shell", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True}
    both = {"role": "user", "content": [{"type": "text", "text": "Stop."}, result]}
    found = read(tmp_path, [{"role": "assistant", "content": [use]}, both])
    assert found == [("agent", "", (("shell", "", "no", True),)), ("user", "Stop.", ())]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "tool_call_id": "c1", "content": "no", "is_error": True},
        {"role": "toolResult", "toolCallId": "c1", "content": "no", "isError": True},
        ToolMessage("no", tool_call_id="c1", status="error"),
    ],
)
def test_a_tool_that_failed(message: Any) -> None:
    (line,) = plain_line.lines(message)
    assert line == {"role": "tool", "tool_call_id": "c1", "content": "no", "is_error": True}


def test_a_picture_is_named() -> None:
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    (line,) = plain_line.lines({"role": "user", "content": [url, "Look."]})
    assert line["content"] == "[image]\n\nLook."


@pytest.mark.parametrize(
    "wrong",
    [
        "Hello",
        None,
        7,
        [{"role": "user", "content": "Hello"}],
        {},
        {"content": "Hello"},
        {"role": "king", "content": "Hello"},
        {"role": None, "content": "Hello"},
        {"role": "user", "content": 7},
        {"role": "user", "content": {"text": "Hello"}},
    ],
)
def test_what_is_no_message_is_refused_with_what_one_is(wrong: Any) -> None:
    with pytest.raises(WakebookError, match=r"Give (a dict with|text, or blocks)"):
        plain_line.lines(wrong)


@pytest.mark.parametrize("empty", ["", "  \n", None, [], [{"type": "text", "text": ""}]])
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_nothing_said_is_no_line(role: str, empty: Any) -> None:
    assert plain_line.lines({"role": role, "content": empty}) == []


def test_anything_can_be_an_argument_or_a_result() -> None:
    line = plain_line.call("c", "draw", {"at": (1, 2.5), 3: Path("/tmp"), "half": "\ud83d"})
    (call,) = json.loads(plain_line.encode(line))["tool_calls"]
    assert json.loads(call["function"]["arguments"])["at"] == [1, 2.5]
    assert plain_line.result("c", {"n": float("nan")})["content"] == '{"n":null}'
    assert plain_line.result("c", None)["content"] == ""
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(WakebookError, match="written down"):
        plain_line.call("c", "draw", circle)


def test_a_line_is_one_line_whatever_is_said() -> None:
    text = 'a\nb\r\n\u2028c \x00 \ud83d "quoted" \\ {'
    data = plain_line.encode({"id": "m", "role": "user", "content": text})
    assert data.count(b"\n") == 1 and data.endswith(b"\n")
    assert data.startswith(b'{"id":"m",')  # by which a message is found again
    assert json.loads(data)["content"] == text.replace("\ud83d", "?")
