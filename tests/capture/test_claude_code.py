"""Claude Code's records, one rule a test. Every record is written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wakebook.base import clock
from wakebook.capture.hosts.claude_code import ClaudeCode
from wakebook.capture.state import Session
from wakebook.capture.transcript import Boundary, Call, Event, Ignored, Record, Result, Said

HOST = ClaudeCode()
AT = "2026-02-11T20:36:45.000Z"
LIMIT = 1 << 20


def user(uuid: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": content}
    return {"type": "user", "uuid": uuid, "timestamp": AT, "message": message, **more}


def agent(uuid: str, *blocks: Any, message: str = "m1", out: int = 5) -> dict[str, Any]:
    usage = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 100,
        "output_tokens": out,
    }
    body = {"id": message, "model": "claude-x", "content": list(blocks), "usage": usage}
    return {"type": "assistant", "uuid": uuid, "timestamp": AT, "message": body}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def queue(operation: str, content: str | None = None, **more: str) -> dict[str, Any]:
    line = {"type": "queue-operation", "operation": operation, "timestamp": AT, "sessionId": "s"}
    return line | ({} if content is None else {"content": content}) | more


def attachment(uuid: str, kind: str, **fields: Any) -> dict[str, Any]:
    body = {"type": kind, **fields}
    return {"type": "attachment", "uuid": uuid, "timestamp": AT, "attachment": body}


def session_of(path: Path, *lines: dict[str, Any] | bytes) -> Session:
    data = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"".join(line + b"\n" for line in data))
    return Session("claude-code", path.stem, path)


def read(session: Session, position: int = 0, closing: bool = False) -> list[Record]:
    return list(HOST.records(session, position, LIMIT, closing))


def events(tmp_path: Path, *lines: dict[str, Any] | bytes) -> list[Event]:
    session = session_of(tmp_path / "s.jsonl", *lines)
    return [event for record in read(session) for event in record.events]


def said(found: list[Event]) -> list[str]:
    return [event.text for event in found if isinstance(event, Said) and event.role == "user"]


def test_a_turn_with_a_tool(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls  -l\n"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "\n---\na.py\nb.py\n"}
    found = events(
        tmp_path,
        user("u1", "list the files"),
        agent("a1", text("Looking.")),
        agent("a2", call, out=30),
        user("u2", [result]),
        agent("a3", text("Two files."), message="m2"),
    )
    at = clock.parse(AT)
    assert found == [
        Said("user", "list the files", "u1", at),
        Said("agent", "Looking.", "a1", at, tokens_in=123, tokens_out=5, model="claude-x"),
        Said(
            "agent", "", "a2", at, (Call("t1", "Bash", "ls -l"),), tokens_out=25, model="claude-x"
        ),
        Result("t1", "a.py (+2 lines)"),
        Said("agent", "Two files.", "a3", at, tokens_in=123, tokens_out=5, model="claude-x"),
    ]


def test_old_records_with_several_blocks_say_one_thing(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Odd", "input": {"n": 1, "deep": [True]}}
    thought = {"type": "thinking", "thinking": "hmm"}
    found = events(tmp_path, agent("a1", thought, text("One."), text("\n\n"), text("Two."), call))
    assert len(found) == 1
    assert isinstance(found[0], Said)
    assert found[0].text == "One.\n\nTwo."
    assert found[0].calls == (Call("t1", "Odd", '{"n":1,"deep":[true]}'),)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (user("u", "x", isMeta=True), "meta"),
        (user("u", "x", isCompactSummary=True), "compact-summary"),
        (user("u", "x", isVisibleInTranscriptOnly=True), "compact-summary"),
        (user("u", "x", isSidechain=True), "sidechain"),
        (user("u", "<command-name>/mcp</command-name>\n<command-args></command-args>"),
         "slash-command"),
        (user("u", "<local-command-stdout>ok</local-command-stdout>"), "local-command"),
        (user("u", "<task-notification>\n<task-id>1</task-id>"), "task-notification"),
        (user("u", "<bash-input>ls</bash-input>"), "bash"),
        (user("u", "<bash-stdout>a</bash-stdout>"), "bash"),
        (user("u", [text("[Request interrupted by user for tool use]")]), "interrupted"),
        (user("u", [text("Stop hook feedback:\n[lint]: 3 problems")]), "hook"),
        (user("u", "This session is being continued from a previous conversation that ran out of"
              " context. Summary: x"), "compact-summary"),
        (user("u", "<system-reminder>be good</system-reminder>"), "system-reminder"),
        (user("u", "  "), "empty"),
        (agent("a", text("\n\n")), "empty"),
        (agent("a", {"type": "thinking", "thinking": "x"}), "thinking"),
        (agent("a", {"type": "redacted_thinking", "data": "x"}), "redacted_thinking"),
        (agent("a", text("API Error: 529")) | {"isApiErrorMessage": True}, "synthetic"),
        (attachment("x", "hook_additional_context", content=["memory"]),
         "attachment/hook_additional_context"),
        (attachment("x", "environment", snapshot={}), "attachment/environment"),
        (attachment("x", "queued_command", prompt="<task-notification>x"),
         "attachment/queued_command"),
        (attachment("x", "queued_command", prompt="hi", commandMode="task-notification"),
         "attachment/queued_command"),
        ({"type": "system", "subtype": "stop_hook_summary"}, "system/stop_hook_summary"),
        ({"type": "progress", "data": {}}, "progress"),
        ({"data": {"a": 1}, "type": "progress"}, "progress"),
        ({"type": "api-request-future", "message": 7}, "api-request-future"),
        ({"type": "summary", "summary": "x", "leafUuid": "y"}, "summary"),
    ],
)  # fmt: skip
def test_what_is_known_and_not_conversation(
    tmp_path: Path, line: dict[str, Any], kind: str
) -> None:
    assert events(tmp_path, line) == [Ignored(kind)]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b'{"type":"user","message":{"content":"torn', "unreadable"),
        (b"not json", "unreadable"),
        (b"[1, 2]", "unreadable"),
        (b'{"type":"user","message":{"content":7}}', "unreadable"),
        (b'{"type":"telepathy","uuid":"x"}', "telepathy"),
        (b'{"type":"queue-operation","operation":"shuffle"}', "queue-operation/shuffle"),
    ],
)
def test_what_nobody_knows_is_reported(tmp_path: Path, line: bytes, kind: str) -> None:
    found = events(tmp_path, line, user("u1", "still here"))
    assert found[0] == Ignored(kind, unknown=True)
    assert said(found) == ["still here"]


def test_an_oversized_line_is_passed_over(tmp_path: Path) -> None:
    session = session_of(tmp_path / "s.jsonl", user("u1", "x" * 5000), user("u2", "small"))
    found = list(HOST.records(session, 0, 1000, False))
    assert found[0].events == (Ignored("oversized", unknown=True),)
    assert said([*found[1].events]) == ["small"]


def test_bad_characters_cost_nothing_else(tmp_path: Path) -> None:
    record = json.dumps(user("u1", "caf? XX")).encode()
    latin = record.replace(b"caf?", b"caf\xe9")
    lone = record.replace(b"XX", b"\\ud83d")
    found = said(events(tmp_path, latin, lone))
    assert found[0] == "caf\ufffd XX"
    assert found[1].startswith("caf? ")
    assert "".join(found).encode()


def test_a_slash_command_with_arguments_is_said(tmp_path: Path) -> None:
    wrapped = (
        "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
        "<command-args>the auth module\n</command-args>"
    )
    assert said(events(tmp_path, user("u1", wrapped))) == ["/review the auth module"]


def test_reminders_are_cut_out_of_human_text(tmp_path: Path) -> None:
    words = "before<system-reminder>\nnot me\n</system-reminder> after"
    assert said(events(tmp_path, user("u1", words))) == ["before after"]


def test_images_are_referred_to(tmp_path: Path) -> None:
    data = "A" * 16384
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": data},
    }
    result = {
        "type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": [text("no"), image]
    }  # fmt: skip
    found = events(tmp_path, user("u1", [text("see"), image]), user("u2", [result]))
    assert found == [
        Said("user", "see", "u1", clock.parse(AT),
             attachments=("image/png 12 KB (source line u1)",)),
        Result("t1", "no", True, ("image/png 12 KB (source line u2)",)),
    ]  # fmt: skip


def test_a_file_attachment_is_a_reference(tmp_path: Path) -> None:
    line = attachment("x", "file", filename="/p/out.txt", content={"type": "text"})
    assert events(tmp_path, line) == [
        Said("system", "", "x", clock.parse(AT), attachments=("/p/out.txt",))
    ]


def test_compaction_is_a_boundary(tmp_path: Path) -> None:
    line = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "timestamp": AT}
    assert events(tmp_path, line) == [Boundary("compaction", "", clock.parse(AT), "b")]


def test_a_subagents_file_is_read_though_all_of_it_is_sidechain(tmp_path: Path) -> None:
    folder = tmp_path / "main" / "subagents"
    folder.mkdir(parents=True)
    session_of(folder / "agent-1.jsonl", user("u1", "do this", isSidechain=True, sessionId="main"))
    (session,) = HOST.discover(tmp_path)
    assert (session.kind, session.parent, session.id) == ("subagent", "main", "agent-1")
    assert said([*read(session)[0].events]) == ["do this"]


class TestQueue:
    def test_taken_in_mid_turn_by_a_bare_remove(self, tmp_path: Path) -> None:
        notice = queue("enqueue", "<task-notification>done</task-notification>")
        found = events(
            tmp_path, notice, queue("enqueue", "first"), queue("enqueue", "second"),
            queue("remove"), queue("remove"), user("n", "<task-notification>done"),
        )  # fmt: skip
        assert said(found) == ["first", "second"]

    def test_dequeued_comes_as_a_user_record(self, tmp_path: Path) -> None:
        found = events(
            tmp_path, queue("enqueue", "hello"), queue("dequeue"), user("u1", "hello"),
            queue("enqueue", "more"), queue("remove"),
        )  # fmt: skip
        assert said(found) == ["hello", "more"]

    def test_a_user_record_in_another_form_takes_the_oldest(self, tmp_path: Path) -> None:
        found = events(
            tmp_path, queue("enqueue", "see [Image #1]"), queue("enqueue", "next"),
            user("u1", "see"), queue("remove"),
        )  # fmt: skip
        assert said(found) == ["see", "next"]

    @pytest.mark.parametrize("attachment_first", [True, False])
    def test_an_attachment_and_a_remove_say_it_once(
        self, tmp_path: Path, attachment_first: bool
    ) -> None:
        pair = [
            attachment("x", "queued_command", prompt="go on", commandMode="prompt"),
            queue("remove", "go on", reason="absorbed_mid_turn"),
        ]
        lines = pair if attachment_first else pair[::-1]
        found = events(tmp_path, queue("enqueue", "go on"), *lines)
        assert said(found) == ["go on"]

    def test_an_attachment_alone_is_enough(self, tmp_path: Path) -> None:
        line = attachment("x", "queued_command", prompt=[text("look here")])
        assert said(events(tmp_path, line)) == ["look here"]

    def test_slash_commands_are_not_said(self, tmp_path: Path) -> None:
        found = events(
            tmp_path, queue("enqueue", "/mcp"), queue("enqueue", "hi"), queue("remove"),
            queue("remove"),
        )  # fmt: skip
        assert said(found) == ["hi"]

    def test_what_was_taken_back_is_not_said(self, tmp_path: Path) -> None:
        found = events(
            tmp_path, queue("enqueue", "oops"), queue("remove", "oops", reason="cancelled"),
            queue("enqueue", "never mind"), queue("popAll"), queue("remove"),
        )  # fmt: skip
        assert said(found) == []

    def test_ids_differ_and_stay(self, tmp_path: Path) -> None:
        lines = [queue("enqueue", "a"), queue("enqueue", "b"), queue("remove"), queue("remove")]
        first = [event.id for event in events(tmp_path, *lines) if isinstance(event, Said)]
        again = [event.id for event in events(tmp_path, *lines) if isinstance(event, Said)]
        assert first == again
        assert len(set(first)) == 2


def conversation() -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    return [
        user("u1", "go"),
        agent("a1", {"type": "thinking", "thinking": "x"}, out=2),
        agent("a2", text("I go."), out=2),
        queue("enqueue", "and then stop"),
        agent("a3", call, out=40),
        {"type": "progress", "data": {"text": "y" * 300}},
        queue("remove"),
        user("u2", [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]),
        queue("enqueue", "thanks"),
        attachment("x1", "queued_command", prompt="thanks"),
        queue("remove", "thanks", reason="absorbed_mid_turn"),
        agent("a4", text("Done."), message="m2"),
    ]


@pytest.mark.parametrize("lookback", [1 << 18, 64])
def test_reading_in_two_steps_changes_nothing(tmp_path: Path, lookback: int) -> None:
    host = ClaudeCode(lookback)
    lines = conversation() if lookback > 64 else conversation()[:8]
    whole = read(session_of(tmp_path / "s.jsonl", *lines))
    data = (tmp_path / "s.jsonl").read_bytes()
    for number, record in enumerate(whole):
        half = tmp_path / "half.jsonl"
        half.write_bytes(data[: record.end])
        session = Session("claude-code", "half", half)
        assert list(host.records(session, 0, LIMIT, False)) == whole[: number + 1]
        half.write_bytes(data)
        rest = list(host.records(session, record.end, LIMIT, False))
        if lookback > 64:
            assert rest == whole[number + 1 :]
        else:  # usage may be counted again, but no word is lost or doubled
            assert [_words(item) for item in rest] == [_words(i) for i in whole[number + 1 :]]


def _words(record: Record) -> list[tuple[str, str]]:
    return [(event.id, event.text) for event in record.events if isinstance(event, Said)]


def test_records_touch_and_a_torn_end_waits(tmp_path: Path) -> None:
    session = session_of(tmp_path / "s.jsonl", *conversation())
    with session.path.open("ab") as stream:
        stream.write(b"\n" + json.dumps(user("last", "bye")).encode())
    found = read(session)
    assert [record.start for record in found] == [0, *(record.end for record in found[:-1])]
    assert found[-1].events == (Ignored("blank"),)
    closed = read(session, found[-1].end, closing=True)
    assert said([*closed[0].events]) == ["bye"]
    assert closed[0].end == HOST.size(session)


def test_a_fork_begins_past_what_it_shares(tmp_path: Path) -> None:
    shared = [user("u1", "one"), agent("a1", text("two"))]
    parent = session_of(tmp_path / "parent.jsonl", user("u0", "earlier"), *shared)
    mode: dict[str, Any] = {"type": "mode", "sessionId": "fork"}
    fork = session_of(tmp_path / "fork.jsonl", mode, *shared, mode, user("u9", "elsewhere"))
    session_of(tmp_path / "other.jsonl", user("z", "else"))
    start = HOST.beginning(fork, lambda path: path == parent.path)
    rest = [event for record in read(fork, start) for event in record.events]
    assert said(rest) == ["elsewhere"]
    assert HOST.beginning(fork, lambda path: False) == 0
    assert HOST.beginning(parent, lambda path: path.stem == "other") == 0


def test_only_what_is_shared_from_the_start_is_left_out(tmp_path: Path) -> None:
    one, two = user("u1", "one"), user("u2", "two")
    session_of(tmp_path / "a.jsonl", one, two)
    fork = session_of(tmp_path / "b.jsonl", one, user("u3", "own"), two)
    start = HOST.beginning(fork, lambda path: True)
    rest = [event for record in read(fork, start) for event in record.events]
    assert said(rest) == ["own", "two"]


def test_the_longest_shared_past_counts(tmp_path: Path) -> None:
    one, two = user("u1", "one"), user("u2", "two")
    session_of(tmp_path / "a.jsonl", one)
    session_of(tmp_path / "b.jsonl", one, two)
    fork = session_of(tmp_path / "c.jsonl", one, two, user("u3", "three"))
    start = HOST.beginning(fork, lambda path: True)
    assert said([*read(fork, start)[0].events]) == ["three"]


def test_discovery_reads_folder_model_and_kind(tmp_path: Path) -> None:
    session_of(
        tmp_path / "abc.jsonl",
        {"type": "file-history-snapshot", "messageId": "x"},
        user("u1", 'say "model":"fake"', cwd='/home/me/a "b"'),
        agent("a1", {"type": "tool_use", "id": "t", "name": "Task", "input": {"model": "no"}}),
    )
    session_of(tmp_path / "agent-77.jsonl", user("u1", "x", sessionId="abc"))
    (tmp_path / "notes.jsonl").write_text('{"role": "user", "content": "plain"}\n')
    (tmp_path / "empty.jsonl").touch()
    main, old_subagent = HOST.discover(tmp_path)
    assert (main.id, main.kind, main.cwd, main.model) == (
        "abc", "main", '/home/me/a "b"', "claude-x"
    )  # fmt: skip
    assert main.size == main.path.stat().st_size
    assert (old_subagent.id, old_subagent.kind) == ("agent-77", "subagent")
