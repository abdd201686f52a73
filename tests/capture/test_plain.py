"""The plain formats: JSON lines and Markdown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wakebook.base import clock
from wakebook.capture.hosts.jsonl import result
from wakebook.capture.hosts.plain import Plain
from wakebook.capture.state import Session
from wakebook.capture.transcript import About, Boundary, Call, Event, Ignored, Record, Result, Said

HOST = Plain()
AT = "2026-02-16T18:45:00Z"
LIMIT = 1 << 20


def jsonl(path: Path, *given: Any) -> Session:
    path.write_text("".join(json.dumps(each) + "\n" for each in given))
    return Session("plain", path.stem, path)


def read(session: Session, position: int = 0, closing: bool = False) -> list[Record]:
    return list(HOST.records(session, position, LIMIT, closing))


def events(records: list[Record]) -> list[Event]:
    return [event for record in records for event in record.events]


def test_json_lines(tmp_path: Path) -> None:
    function = {"name": "look", "arguments": '{"query": "teal"}'}
    session = jsonl(
        tmp_path / "chat.jsonl",
        {"session": "abc", "model": "m", "cwd": "/p", "channel": "web"},
        {"role": "human", "content": "hello", "timestamp": AT, "id": 7},
        {"role": "assistant", "content": None, "at": 1771267500,
         "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c1", "content": "a\nb"},
        {"role": "agent", "content": [{"type": "text", "text": "one"},
                                      {"type": "text", "text": "two"}]},
        {"role": "system", "text": "be kind"},
        {"type": "reset", "reason": "new"},
        {"role": "oracle", "content": "?"},
        {"role": "user", "content": " "},
    )  # fmt: skip
    records = read(session)
    assert events(records) == [
        About(model="m", cwd="/p", channel="web"),
        Said("user", "hello", "7", clock.parse(AT)),
        Said("agent", "", f"chat:{records[2].start}", clock.parse(AT),
             (Call("c1", "look", "teal"),)),
        Result("c1", "a (+1 line)"),
        Said("agent", "one\n\ntwo", f"chat:{records[4].start}"),
        Said("system", "be kind", f"chat:{records[5].start}"),
        Boundary("reset", "new", None, f"chat:{records[6].start}"),
        Ignored("oracle", unknown=True),
        Ignored("empty"),
    ]  # fmt: skip
    for number, record in enumerate(records):
        assert read(session, record.end) == records[number + 1 :]


CHAT = """---
session_id: abc
started: 2026-02-16T18:45:30Z
model: m
channel: "web"
---

# A title

## user
hello

## 18:45 — Agent
Look:
```
## user
not a turn
```
### a smaller heading
~~~
## agent
~~~

## 23:59 - HUMAN

## 0:05 – assistant
past midnight
## 2026-02-20 09:00 — system
note
"""


def markdown(path: Path, text: str = CHAT) -> Session:
    path.write_text(text)
    (session,) = HOST.discover(path)
    return session


def test_markdown(tmp_path: Path) -> None:
    session = markdown(tmp_path / "chat.md")
    assert (session.id, session.model, session.channel) == ("abc", "m", "web")
    records = read(session, closing=True)
    starts = [f"abc:{record.start}" for record in records]
    code = "Look:\n```\n## user\nnot a turn\n```\n### a smaller heading\n~~~\n## agent\n~~~"
    assert events(records) == [
        About(model="m", channel="web"),
        Said("user", "hello", starts[1]),
        Said("agent", code, starts[2], clock.parse("2026-02-16T18:45:00Z")),
        Ignored("empty"),
        Said("agent", "past midnight", starts[4], clock.parse("2026-02-17T00:05:00Z")),
        Said("system", "note", starts[5], clock.parse("2026-02-20T09:00:00Z")),
    ]
    assert records[-1].end == HOST.size(session)


def test_the_last_turn_waits_until_closing(tmp_path: Path) -> None:
    session = markdown(tmp_path / "chat.md")
    whole = read(session, closing=True)
    assert read(session) == whole[:-1]
    assert read(session, whole[-2].end) == []
    assert read(session, whole[-2].end, closing=True) == whole[-1:]


def test_markdown_in_two_steps_changes_nothing(tmp_path: Path) -> None:
    session = markdown(tmp_path / "chat.md")
    whole = read(session, closing=True)
    assert [record.start for record in whole] == [0, *(record.end for record in whole[:-1])]
    for number, record in enumerate(whole):
        assert read(session, record.end, closing=True) == whole[number + 1 :]


def test_a_turn_that_grows_after_closing_goes_on(tmp_path: Path) -> None:
    session = markdown(tmp_path / "chat.md", "## user\nfirst words")
    (record,) = read(session, closing=True)
    assert record.end == 19
    with session.path.open("a") as stream:
        stream.write(" and more\n## agent\nyes\n")
    assert events(read(session, record.end, closing=True)) == [
        Said("user", "and more", "chat:19"),
        Said("agent", "yes", "chat:29"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "known"),
    [
        ("a.jsonl", '{"role": "user", "content": "x"}\n', True),
        ("a.jsonl", '{"session": "x"}\n', True),
        ("a.jsonl", '{"role": "user"}\n', False),
        ("a.jsonl", '{"type": "user", "uuid": "x", "message": {}}\n', False),
        ("a.jsonl", "", False),
        ("a.md", "# Notes\n## user stories\n", False),
        ("a.md", "## USER\n", True),
    ],
)
def test_recognition(tmp_path: Path, name: str, text: str, known: bool) -> None:
    (tmp_path / name).write_text(text)
    assert bool(list(HOST.discover(tmp_path))) is known


def test_tokens_and_pictures_of_a_line(tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 4096}}
    linked = {"type": "input_image", "image_url": "https://example.org/boat.png"}
    session = jsonl(
        tmp_path / "chat.jsonl",
        {"role": "user", "id": "u1", "content": [picture]},
        {"role": "user", "id": "u2", "content": [{"type": "text", "text": "and this?"}, linked]},
        {"role": "assistant", "id": "a1", "content": "A boat.",
         "usage": {"prompt_tokens": 90, "completion_tokens": 7, "total_tokens": 97}},
        {"role": "assistant", "id": "a2", "content": "Two.",
         "usage": {"input_tokens": 120, "output_tokens": 3, "input_token_details": {}}},
    )  # fmt: skip
    first, second, third, fourth = events(read(session))
    assert isinstance(first, Said) and isinstance(second, Said)
    assert (first.text, first.attachments) == ("", ("image/png 3 KB (source line u1)",))
    assert second.attachments == ("image https://example.org/boat.png",)
    assert isinstance(third, Said) and (third.tokens_in, third.tokens_out) == (90, 7)
    assert isinstance(fourth, Said) and (fourth.tokens_in, fourth.tokens_out) == (120, 3)


@pytest.mark.parametrize(
    ("printed", "kept"),
    [
        ("===== test session starts =====\ncollected 18 items\n\ntests/a.py ....\n\n"
         "===== 18 passed in 2.31s =====\n",
         "===== test session starts ===== … 18 passed in 2.31s (+4 lines)"),
        ("....\n-----\nRan 18 tests in 0.4s\n\nOK\n", "Ran 18 tests in 0.4s (+4 lines)"),
        ("running 2 tests\ntest a ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored\n\n",
         "running 2 tests … test result: ok. 2 passed; 0 failed; 0 ignored (+2 lines)"),
        ("> vitest\n Tests  1 failed | 20 passed (21)\n Duration  1.2s\n",
         "> vitest … Tests 1 failed | 20 passed (21) (+1 line)"),
        ("a\nb\nc", "a (+2 lines)"),
        ("3 failed, 2 passed", "3 failed, 2 passed"),
    ],
)  # fmt: skip
def test_a_test_runs_summary_is_kept_beside_its_first_line(printed: str, kept: str) -> None:
    assert result(printed) == kept
