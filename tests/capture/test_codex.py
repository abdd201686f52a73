"""Codex rollouts: each message once, and only what people and agent said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wakebook.base import clock
from wakebook.capture.hosts.codex import Codex
from wakebook.capture.state import Session
from wakebook.capture.transcript import About, Boundary, Call, Event, Ignored, Record, Result, Said

HOST = Codex()
AT = "2026-11-15T00:56:33.769Z"
LIMIT = 1 << 20


def line(kind: str, payload: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"timestamp": AT, "type": kind, "payload": payload, **more}


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return line("response_item", {"type": kind, **fields})


def user(words: str, kind: str | None = "user.text", identity: str = "m1") -> dict[str, Any]:
    metadata = {"content_item_kinds": [kind]} if kind else None
    return item(
        "message",
        id=identity,
        role="user",
        content=[{"type": "input_text", "text": words}],
        internal_chat_message_metadata_passthrough=metadata,
    )


def answer(words: str, identity: str = "r1") -> dict[str, Any]:
    content = [{"type": "output_text", "text": words}]
    return item("message", id=identity, role="assistant", content=content)


def meta(**fields: Any) -> dict[str, Any]:
    return line("session_meta", {"id": "own", "session_id": "root", "cwd": "/p", **fields})


def session_of(path: Path, *lines: dict[str, Any]) -> Session:
    path.write_text("".join(json.dumps(each) + "\n" for each in lines))
    return Session("codex", path.stem, path)


def read(session: Session, position: int = 0) -> list[Record]:
    return list(HOST.records(session, position, LIMIT, False))


def events(tmp_path: Path, *lines: dict[str, Any]) -> list[Event]:
    records = read(session_of(tmp_path / "s.jsonl", *lines))
    return [event for record in records for event in record.events]


def test_a_turn(tmp_path: Path) -> None:
    at = clock.parse(AT)
    found = events(
        tmp_path,
        meta(),
        line("turn_context", {"model": "gpt-x", "cwd": "/q"}),
        user("hello"),
        line("event_msg", {"type": "item_completed", "item": {"text": "hello"}}),
        item("reasoning", summary=[]),
        answer("hi there"),
        line("event_msg", {"type": "task_complete"}),
    )
    assert found == [
        About(cwd="/p"),
        About(model="gpt-x", cwd="/q"),
        Said("user", "hello", "m1", at),
        Ignored("event_msg"),
        Ignored("reasoning"),
        Said("agent", "hi there", "r1", at),
        Ignored("event_msg"),
    ]


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (user("x", "environments.environment_context"), "environments.environment_context"),
        (user("x", "hooks.additional_context"), "hooks.additional_context"),
        (user("<environment_context>x", None), "context"),
        (user("<user_instructions>x", None), "context"),
        (user("<subagent_notification>x", None), "context"),
        (user("<turn_aborted>x", None), "context"),
        (user("<permissions instructions>x", None), "context"),
        (user("# AGENTS.md instructions for /p", None), "context"),
        (item("message", role="developer", content=[]), "message/developer"),
        (answer(" "), "empty"),
        (line("world_state", {}), "world_state"),
        (line("token_usage_record", {}), "token_usage_record"),
    ],
)
def test_what_is_not_conversation(tmp_path: Path, given: dict[str, Any], kind: str) -> None:
    assert events(tmp_path, given) == [Ignored(kind)]


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (line("seance", {}), "seance"),
        (item("telepathy"), "telepathy"),
        (item("message", role="user", content=7), "unreadable"),
    ],
)
def test_what_nobody_knows_is_reported(tmp_path: Path, given: dict[str, Any], kind: str) -> None:
    assert events(tmp_path, given) == [Ignored(kind, unknown=True)]


def test_older_files_have_neither_metadata_nor_ids(tmp_path: Path) -> None:
    old = item("message", role="user", content=[{"type": "input_text", "text": "hello"}])
    session = session_of(tmp_path / "s.jsonl", meta(), old, old | {"ordinal": 7})
    records = read(session)
    assert [
        event.id for record in records for event in record.events if isinstance(event, Said)
    ] == [
        f"{records[1].start}-{AT}",
        f"7-{AT}",
    ]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (item("function_call", id="f", call_id="c", name="exec_command",
              arguments='{"cmd": "echo hi"}'), Call("c", "exec_command", "echo hi")),
        (item("function_call", id="f", call_id="c", name="recall", namespace="mcp__mem",
              arguments='{"query": "blue"}'), Call("c", "mcp__mem__recall", "blue")),
        (item("custom_tool_call", id="f", call_id="c", name="apply_patch",
              input="*** Begin Patch\n*** Update File: a"),
         Call("c", "apply_patch", "*** Begin Patch *** Update File: a")),
        (item("local_shell_call", id="f", call_id="c",
              action={"type": "exec", "command": ["bash", "-lc", "ls"]}),
         Call("c", "local_shell", "bash -lc ls")),
    ],
)  # fmt: skip
def test_calls(tmp_path: Path, call: dict[str, Any], expected: Call) -> None:
    assert events(tmp_path, call) == [Said("agent", "", "f", clock.parse(AT), (expected,))]


def test_a_web_search_has_no_result_to_wait_for(tmp_path: Path) -> None:
    call = item("web_search_call", id="w", action={"type": "search", "query": "teal"})
    assert events(tmp_path, call) == [
        Said("agent", "", "w", clock.parse(AT), (Call("w", "web_search", "teal"),)),
        Result("w", ""),
    ]


@pytest.mark.parametrize(
    ("output", "text", "error"),
    [
        ("plain\nmore\n", "plain (+1 line)", False),
        ("Chunk ID: 9\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nhi\n",
         "hi", False),
        ("Exit code: 2\nWall time: 1 seconds\nOutput:\nno such file\n", "no such file", True),
        ('{"output":"bad\\n","metadata":{"exit_code":1}}', "bad", True),
        ([{"type": "input_text", "text": "Wall time: 0 seconds\nOutput:"},
          {"type": "input_text", "text": "sky"}], "sky", False),
    ],
)  # fmt: skip
def test_results(tmp_path: Path, output: Any, text: str, error: bool) -> None:
    found = events(tmp_path, item("function_call_output", call_id="c", output=output))
    assert found == [Result("c", text, error)]


def compaction(message: str) -> list[dict[str, Any]]:
    return [
        user("question"),
        answer("SUMMARY of all", "sum"),
        line("token_usage_record", {}),
        line("event_msg", {"type": "token_count"}),
        line("compacted", {"message": message, "replacement_history": [{"role": "user"}]}),
        answer("and on", "r2"),
    ]


def test_a_compactions_summary_is_not_conversation(tmp_path: Path) -> None:
    found = events(tmp_path, *compaction("Another model wrote:\nSUMMARY of all"))
    assert found[1] == Ignored("compaction-summary", id="sum")
    assert found[4] == Boundary("compaction", "", clock.parse(AT), f"compacted-{AT}")
    assert [event.text for event in found if isinstance(event, Said)] == ["question", "and on"]


@pytest.mark.parametrize("message", ["", "a summary that was made elsewhere"])
def test_an_answer_before_a_compaction_of_another_kind_stays(tmp_path: Path, message: str) -> None:
    found = events(tmp_path, *compaction(message))
    assert [event.text for event in found if isinstance(event, Said)] == [
        "question", "SUMMARY of all", "and on"
    ]  # fmt: skip


def test_reading_in_two_steps_changes_nothing(tmp_path: Path) -> None:
    session = session_of(tmp_path / "s.jsonl", meta(), *compaction("SUMMARY of all"))
    whole = read(session)
    assert [record.start for record in whole] == [0, *(record.end for record in whole[:-1])]
    for number, record in enumerate(whole):
        assert read(session, record.end) == whole[number + 1 :]


def test_discovery(tmp_path: Path) -> None:
    day = tmp_path / "2026" / "11" / "15"
    day.mkdir(parents=True)
    session_of(day / "rollout-a.jsonl", meta(), line("turn_context", {"model": "gpt-x"}))
    session_of(day / "rollout-b.jsonl", meta(id="sub", thread_source="subagent"))
    session_of(day / "rollout-c.jsonl", meta(id="old", source={"subagent": "review"}))
    session_of(day / "rollout-d.jsonl", meta(id="fork", forked_from_id="own"))
    big = meta(id="big", thread_source="subagent", base_instructions={"text": "x" * 100_000})
    session_of(day / "rollout-e.jsonl", big)
    (day / "other.jsonl").write_text('{"type":"user"}\n')
    found = {session.id: session for session in HOST.discover(tmp_path)}
    assert {key: session.kind for key, session in found.items()} == {
        "own": "main", "sub": "subagent", "old": "subagent", "fork": "main", "big": "subagent"
    }  # fmt: skip
    assert (found["own"].cwd, found["own"].model) == ("/p", "gpt-x")
    assert found["fork"].parent == "own"
    assert HOST.beginning(found["fork"], lambda path: True) == 0
