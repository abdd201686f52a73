"""pi's session trees: ids, branches and forks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wakebook.base import clock
from wakebook.capture.hosts.pi import Pi
from wakebook.capture.state import Session
from wakebook.capture.transcript import (
    About,
    Boundary,
    Call,
    Event,
    Ignored,
    Record,
    Result,
    Said,
    live,
)

HOST = Pi()
AT = "2026-11-15T01:05:03.555Z"
LIMIT = 1 << 20
HEADER = {"type": "session", "version": 3, "id": "s1", "timestamp": AT, "cwd": "/p"}


def node(kind: str, identity: str, parent: str | None, **more: Any) -> dict[str, Any]:
    return {"type": kind, "id": identity, "parentId": parent, "timestamp": AT, **more}


def message(identity: str, parent: str | None, role: str, content: Any, **more: Any) -> Any:
    return node("message", identity, parent, message={"role": role, "content": content, **more})


def lines() -> list[dict[str, Any]]:
    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}
    thought = {"type": "thinking", "thinking": "hm"}
    usage = {"input": 10, "output": 2, "cacheRead": 5, "cacheWrite": 1}
    return [
        HEADER,
        node("model_change", "r0", None, modelId="m-1"),
        node("thinking_level_change", "r1", "r0"),
        message("sys", "r1", "system", ""),
        message("u1", "sys", "user", [{"type": "text", "text": "hello"}]),
        message("a1", "u1", "assistant", [thought, call], model="m-1", usage=usage),
        message("t1", "a1", "toolResult", [{"type": "text", "text": "x\ny"}], toolCallId="c1"),
        message("a2", "t1", "assistant", [{"type": "text", "text": "dead end"}]),
        node("branch_summary", "b1", "u1", summary="tried something"),
        node("custom_message", "cm", "b1", content="injected"),
        message("u2", "cm", "user", "again"),
        node("compaction", "k1", "u2", summary="all of it"),
        node("seance", "q1", "k1"),
        message("u3", "q1", "user", "last"),
    ]


def session_of(path: Path, *given: dict[str, Any], parent: str = "") -> Session:
    path.write_text("".join(json.dumps(each) + "\n" for each in given))
    return Session("pi", path.stem, path, parent=parent)


def read(session: Session, position: int = 0) -> list[Record]:
    return list(HOST.records(session, position, LIMIT, False))


def events(records: list[Record]) -> list[Event]:
    return [event for record in records for event in record.events]


def test_every_event_has_its_place_in_the_tree(tmp_path: Path) -> None:
    at = clock.parse(AT)
    call = Call("c1", "bash", "ls")
    assert events(read(session_of(tmp_path / "s.jsonl", *lines()))) == [
        About(cwd="/p"),
        About("r0.r0", "", model="m-1"),
        Ignored("thinking_level_change", id="r0.r1", parent="r0.r0"),
        Ignored("message/system", id="r0.sys", parent="r0.r1"),
        Said("user", "hello", "r0.u1", at, parent="r0.sys"),
        Said("agent", "", "r0.a1", at, (call,), (), 16, 2, "m-1", "r0.u1"),
        Result("c1", "x (+1 line)", id="r0.t1", parent="r0.a1"),
        Said("agent", "dead end", "r0.a2", at, parent="r0.t1"),
        Ignored("branch_summary", id="r0.b1", parent="r0.u1"),
        Ignored("custom_message", id="r0.cm", parent="r0.b1"),
        Said("user", "again", "r0.u2", at, parent="r0.cm"),
        Boundary("compaction", "", at, "r0.k1", "r0.u2"),
        Ignored("seance", True, "r0.q1", "r0.k1"),
        Said("user", "last", "r0.u3", at, parent="r0.q1"),
    ]


def test_the_live_path_leaves_the_abandoned_branch_out(tmp_path: Path) -> None:
    found = events(read(session_of(tmp_path / "s.jsonl", *lines())))
    path = live((event.id, event.parent) for event in found)
    assert path is not None
    said = [event for event in found if isinstance(event, Said)]
    assert [event.text for event in said if event.id in path] == ["hello", "again", "last"]


def test_tool_results_keep_the_path_together(tmp_path: Path) -> None:
    found = events(read(session_of(tmp_path / "s.jsonl", *lines()[:8])))
    path = live((event.id, event.parent) for event in found)
    assert path is not None
    assert all(event.id in path for event in found if isinstance(event, Said))


def test_images_and_bad_lines(tmp_path: Path) -> None:
    image = {"type": "image", "data": "A" * 4096, "mimeType": "image/jpeg"}
    session = session_of(tmp_path / "s.jsonl", HEADER, message("u1", None, "user", [image]))
    with session.path.open("ab") as stream:
        stream.write(b'{"type":"message","id":"x","message":7}\n{"type":"mess\n\n')
    assert events(read(session))[1:] == [
        Said("user", "", "u1.u1", clock.parse(AT),
             attachments=("image/jpeg 3 KB (source line u1.u1)",)),
        Ignored("unreadable", True, "u1.x"),
        Ignored("unreadable", True),
        Ignored("blank"),
    ]  # fmt: skip


def test_reading_in_two_steps_changes_nothing(tmp_path: Path) -> None:
    session = session_of(tmp_path / "s.jsonl", *lines())
    whole = read(session)
    assert [record.start for record in whole] == [0, *(record.end for record in whole[:-1])]
    for number, record in enumerate(whole):
        assert read(session, record.end) == whole[number + 1 :]


def test_a_fork_keeps_ids_and_begins_past_what_it_shares(tmp_path: Path) -> None:
    parent = session_of(tmp_path / "2026_s1.jsonl", *lines())
    header = HEADER | {"id": "s2", "parentSession": f"/elsewhere/{parent.path.name}"}
    own = message("f1", "u1", "user", "in the fork")
    session_of(tmp_path / "2026_s2.jsonl", header, *lines()[1:5], own)
    fork = next(found for found in HOST.discover(tmp_path) if found.id == "s2")
    assert (fork.parent, fork.cwd, fork.model) == (header["parentSession"], "/p", "m-1")
    start = HOST.beginning(fork, lambda path: path == parent.path)
    (said,) = events(read(fork, start))
    assert said == Said("user", "in the fork", "r0.f1", clock.parse(AT), parent="r0.u1")
    assert HOST.beginning(fork, lambda path: False) == 0
    assert HOST.beginning(parent, lambda path: True) == 0
