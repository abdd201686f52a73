"""OpenClaw: a real SQLite store, and the older files with their rotations."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from wakebook.base import clock
from wakebook.base.errors import TranscriptError
from wakebook.capture.hosts import format_of
from wakebook.capture.hosts.openclaw import OpenClaw, written
from wakebook.capture.state import Session
from wakebook.capture.transcript import About, Boundary, Event, Ignored, Record, Said

HOST = OpenClaw()
AT = "2026-11-15T00:56:19.233Z"
LIMIT = 1 << 20
BEGIN = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"
HEADER = {"type": "session", "version": 4, "id": "s1", "timestamp": AT, "cwd": "/w"}

SCHEMA = """
CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT,
  created_via TEXT, spawned_by TEXT);
CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT,
  session_scope TEXT, chat_type TEXT, channel TEXT, model TEXT, spawned_by TEXT,
  acp_owned INTEGER, hook_external_content_source TEXT);
CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT,
  created_at INTEGER, event_zstd BLOB, PRIMARY KEY (session_id, seq));
"""


def message(identity: str, parent: str | None, role: str, content: Any) -> dict[str, Any]:
    body = {"role": role, "content": content}
    return {
        "type": "message", "id": identity, "parentId": parent, "timestamp": AT, "message": body
    }  # fmt: skip


def conversation() -> list[dict[str, Any]]:
    reset = {"type": "reset", "id": "re", "parentId": "a1", "timestamp": AT, "reason": "new"}
    return [
        HEADER,
        message("u1", None, "user", "hello"),
        message("a1", "u1", "assistant", [{"type": "text", "text": "hi"}]),
        reset,
        message("u2", "re", "user", "/new"),
        message("a2", "u2", "assistant", [{"type": "text", "text": "✅ New session started."}]),
        message("u3", "a2", "user", "after new"),
    ]


EXPECTED: list[Event] = [
    About(cwd="/w"),
    Said("user", "hello", "u1.u1", clock.parse(AT)),
    Said("agent", "hi", "u1.a1", clock.parse(AT), parent="u1.u1"),
    Boundary("reset", "new", clock.parse(AT), "u1.re", "u1.a1"),
    Ignored("slash-command", id="u1.u2", parent="u1.re"),
    Ignored("canned-reply", id="u1.a2", parent="u1.u2"),
    Said("user", "after new", "u1.u3", clock.parse(AT), parent="u1.a2"),
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A store that its gateway still holds open, with a write-ahead log."""
    folder = tmp_path / "agents" / "main" / "agent"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "openclaw-agent.sqlite")) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.executescript(SCHEMA)
        fill(database, "s1", *conversation())
        window(database, "s1", "agent:main:main", chat_type="direct", model="m-1")
        yield database


def fill(database: sqlite3.Connection, session: str, *given: dict[str, Any] | bytes) -> None:
    for seq, event in enumerate(given):
        plain = json.dumps(event, ensure_ascii=False) if isinstance(event, dict) else None
        packed = None if isinstance(event, dict) else event
        row = (session, seq, plain, 0, packed)
        database.execute("INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?)", row)
    database.commit()


def window(database: sqlite3.Connection, session: str, key: str, **fields: Any) -> None:
    given = {"session_id": session, "session_key": key, **fields}
    names, marks = ", ".join(given), ", ".join("?" * len(given))
    query = f"INSERT INTO session_windows ({names}) VALUES ({marks})"
    database.execute(query, tuple(given.values()))
    database.commit()


def read(session: Session, position: int = 0, limit: int = LIMIT) -> list[Record]:
    return list(HOST.format(session).records(session, position, limit, False))


def events(records: list[Record]) -> list[Event]:
    return [event for record in records for event in record.events]


def test_a_store_is_read_while_the_gateway_runs(store: sqlite3.Connection, tmp_path: Path) -> None:
    (session,) = HOST.discover(tmp_path)
    assert (session.ref, session.kind, session.key) == ("openclaw/s1", "main", "agent:main:main")
    assert (session.cwd, session.model, session.size) == ("/w", "m-1", 7)
    assert events(read(session)) == EXPECTED
    assert format_of(session).unit == "seq"
    database_rows = store.execute("SELECT count(*) FROM transcript_events").fetchone()
    assert database_rows == (7,)


def test_a_session_of_the_store_can_be_written_as_a_file(
    store: sqlite3.Connection, tmp_path: Path
) -> None:
    fill(store, "g1", HEADER | {"id": "g1"}, message("u1", None, "user", "hello all"))
    window(store, "g1", "agent:main:telegram:group:7", chat_type="group")
    folder = tmp_path / "elsewhere" / "sessions"
    folder.mkdir(parents=True)
    found = {session.id: session for session in HOST.discover(tmp_path)}
    for name, session in found.items():
        (folder / f"{name}.jsonl").write_bytes(b"".join(written(session, LIMIT)))
    there = {session.id: session for session in HOST.discover(tmp_path / "elsewhere")}
    assert events(read(there["s1"])) == EXPECTED
    for name in ("s1", "g1"):
        known = [(one.kind, one.key, one.cwd) for one in (found[name], there[name])]
        assert known[0] == known[1]
    before = (folder / "s1.jsonl").read_bytes()
    row = ("s1", 7, json.dumps(message("u4", "u3", "user", "later")), 0, None)
    store.execute("INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?)", row)
    store.commit()
    assert b"".join(written(found["s1"], LIMIT)).startswith(before)  # so that it can be continued


def test_positions_are_sequence_numbers(store: sqlite3.Connection, tmp_path: Path) -> None:
    (session,) = HOST.discover(tmp_path)
    whole = read(session)
    assert [(record.start, record.end) for record in whole] == [(n, n + 1) for n in range(7)]
    for number, record in enumerate(whole):
        assert read(session, record.end) == whole[number + 1 :]
    assert HOST.format(session).size(session) == 7
    more = json.dumps(message("u4", "u3", "user", "more"))
    store.execute("INSERT INTO transcript_events VALUES ('s1', 9, ?, 0, NULL)", (more,))
    store.commit()
    (record,) = read(session, 7)
    assert (record.start, record.end, HOST.format(session).size(session)) == (9, 10, 10)


def test_many_rows_come_in_pages(store: sqlite3.Connection, tmp_path: Path) -> None:
    fill(store, "big", *(message(f"n{n}", None, "user", f"word {n}") for n in range(1203)))
    session = next(found for found in HOST.discover(tmp_path) if found.id == "big")
    texts = [event.text for event in events(read(session)) if isinstance(event, Said)]
    assert texts == [f"word {number}" for number in range(1203)]


def test_the_digest_is_of_the_rows_as_stored(store: sqlite3.Connection, tmp_path: Path) -> None:
    fill(store, "s2", message("x", None, "user", "né"), b"\x28\xb5packed")
    first, second = store.execute(
        "SELECT event_json, event_zstd FROM transcript_events WHERE session_id = 's2' ORDER BY seq"
    ).fetchall()
    session = next(found for found in HOST.discover(tmp_path) if found.id == "s2")
    joined = first[0].encode() + b"\n" + second[1]
    assert HOST.format(session).digest(session, 0, 2) == hashlib.sha256(joined).hexdigest()
    assert (
        HOST.format(session).digest(session, 0, 1) == hashlib.sha256(first[0].encode()).hexdigest()
    )


def test_compressed_rows_are_read(store: sqlite3.Connection, tmp_path: Path) -> None:
    import zstandard

    packed = zstandard.ZstdCompressor().compress
    whole = json.dumps(message("x", None, "user", "packed words")).encode()
    streamed = zstandard.ZstdCompressor().compressobj()
    second = json.dumps(message("y", "x", "user", "streamed words")).encode()
    fill(store, "s2", packed(whole), streamed.compress(second) + streamed.flush())
    session = next(found for found in HOST.discover(tmp_path) if found.id == "s2")
    texts = [event.text for event in events(read(session)) if isinstance(event, Said)]
    assert texts == ["packed words", "streamed words"]


def test_rows_that_cannot_be_read_are_reported(store: sqlite3.Connection, tmp_path: Path) -> None:
    fill(store, "s2", b"not zstd at all", {"type": "seance"}, message("x", None, "user", "y" * 500))
    session = next(found for found in HOST.discover(tmp_path) if found.id == "s2")
    assert events(read(session, limit=400)) == [
        Ignored("zstd", unknown=True),
        Ignored("seance", unknown=True),
        Ignored("oversized", unknown=True),
    ]


@pytest.mark.parametrize(
    ("key", "fields", "kind"),
    [
        ("agent:main:cron:job", {}, "cron"),
        ("agent:main:subagent:x", {}, "subagent"),
        ("agent:main:hook:gmail", {}, "hook"),
        ("agent:main:telegram:group:1", {}, "group"),
        ("agent:main:x", {"chat_type": "channel"}, "group"),
        ("agent:main:x", {"session_scope": "group"}, "group"),
        ("agent:main:x", {"spawned_by": "agent:main:main"}, "subagent"),
        ("agent:main:x", {"hook_external_content_source": "gmail"}, "hook"),
        ("agent:main:x", {"chat_type": "direct", "session_scope": "shared-main"}, "main"),
    ],
)
def test_kinds(
    store: sqlite3.Connection, tmp_path: Path, key: str, fields: dict[str, Any], kind: str
) -> None:
    fill(store, "s2", HEADER)
    window(store, "s2", key, **fields)
    found = {session.id: session.kind for session in HOST.discover(tmp_path)}
    assert found == {"s1": "main", "s2": kind}


def test_a_store_with_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute(
            "CREATE TABLE transcript_events (session_id TEXT, seq INT, event_json TEXT)"
        )
        row = json.dumps(message("u1", None, "user", "hello"))
        database.execute("INSERT INTO transcript_events VALUES ('s', 0, ?)", (row,))
        database.execute("CREATE TABLE session_nodes (session_key TEXT, current_session_id TEXT)")
        database.execute("INSERT INTO session_nodes VALUES ('agent:a:cron:1', 's')")
        database.commit()
    (session,) = HOST.discover(path)
    assert (session.key, session.kind) == ("agent:a:cron:1", "cron")
    assert events(read(session)) == [Said("user", "hello", "u1.u1", clock.parse(AT))]
    assert len(HOST.format(session).digest(session, 0, 1)) == 64


def test_a_broken_store_is_an_error_only_when_it_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "a" / "agent"
    folder.mkdir(parents=True)
    path = folder / "openclaw-agent.sqlite"
    path.write_bytes(b"SQLite format 3\x00" + b"rubbish" * 200)
    (session,) = HOST.discover(tmp_path)  # found, so that somebody hears of it
    assert session.id == "a-store"
    with pytest.raises(TranscriptError, match=r"openclaw-agent\.sqlite"):
        read(session)


def test_a_reader_that_is_left_half_way_can_end_in_another_thread(
    store: sqlite3.Connection, tmp_path: Path
) -> None:
    (session,) = HOST.discover(tmp_path)
    records = HOST.format(session).records(session, 0, LIMIT, False)
    next(records)
    ended: list[BaseException | None] = []

    def end() -> None:
        try:
            records.close()  # type: ignore[attr-defined]
            ended.append(None)
        except BaseException as error:
            ended.append(error)

    thread = Thread(target=end)
    thread.start()
    thread.join()
    assert ended == [None]


def test_a_session_has_ended_when_its_key_goes_on_with_another(
    store: sqlite3.Connection, tmp_path: Path
) -> None:
    key = "agent:main:main"
    fill(store, "s2", HEADER)
    window(store, "s2", key)
    names = "session_key, current_session_id"
    store.execute(f"INSERT INTO session_nodes ({names}) VALUES (?, 's2')", (key,))
    store.commit()
    assert {one.id: one.ended for one in HOST.discover(tmp_path)} == {"s1": True, "s2": False}


# --- the older files -------------------------------------------------------------------


def write(path: Path, *given: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in given))
    return path


def test_rotated_files_are_parts_of_their_own(tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "main" / "sessions"
    write(folder / "s1.jsonl", *conversation())
    write(folder / "s1.jsonl.reset.2026-02-16T18-45-00.000Z", HEADER)
    write(folder / "s1.jsonl.deleted.2026-02-17T00-00-00.000Z", HEADER)
    write(folder / "s1.jsonl.lock", HEADER)
    write(folder / "s1.checkpoint.77.jsonl", HEADER)
    found = sorted(HOST.discover(tmp_path), key=lambda session: session.ref)
    assert [session.ref for session in found] == [
        "openclaw/s1",
        "openclaw/s1@deleted.2026-02-17T00-00-00.000Z",
        "openclaw/s1@reset.2026-02-16T18-45-00.000Z",
    ]
    assert {session.kind for session in found} == {"main"}
    whole = read(found[0])
    assert events(whole) == EXPECTED
    for number, record in enumerate(whole):
        assert read(found[0], record.end) == whole[number + 1 :]
    assert format_of(found[0]).unit == "bytes"
    assert HOST.format(found[0]).size(found[0]) == whole[-1].end


def test_keys_come_from_sessions_json(tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "main" / "sessions"
    listed = {
        "agent:main:main": {"sessionId": "s1", "lastChannel": "telegram", "model": "m-2"},
        "agent:main:cron:x": {"sessionId": "s2"},
        "agent:main:y": {"sessionId": "s3", "chatType": "group"},
        "agent:main:z": {"sessionId": "s4", "spawnedBy": "agent:main:main"},
        "odd": 7,
    }
    cron = message("u", None, "user", [{"type": "text", "text": "[cron:1 daily] report"}])
    for name in ("s1", "s2", "s3", "s4", "s5"):
        write(folder / f"{name}.jsonl", HEADER)
    write(folder / "s6.jsonl.deleted.1", HEADER, cron)
    (folder / "sessions.json").write_text(json.dumps(listed))
    found = {session.id: session for session in HOST.discover(tmp_path)}
    assert {key: session.kind for key, session in found.items()} == {
        "s1": "main", "s2": "cron", "s3": "group", "s4": "subagent", "s5": "main", "s6": "cron"
    }  # fmt: skip
    main = found["s1"]
    assert (main.key, main.channel, main.model) == ("agent:main:main", "telegram", "m-2")


def test_a_session_that_moved_into_the_store_counts_once(
    store: sqlite3.Connection, tmp_path: Path
) -> None:
    folder = tmp_path / "agents" / "main" / "sessions"
    write(folder / "s1.jsonl", *conversation())
    write(folder / "s1.jsonl.reset.1", HEADER)
    write(folder / "s0.jsonl", HEADER)
    refs = [session.ref for session in HOST.discover(tmp_path)]
    assert refs == ["openclaw/s1", "openclaw/s0", "openclaw/s1@reset.1"]


@pytest.mark.parametrize(
    ("role", "text", "heard", "kind"),
    [
        ("user", f"{BEGIN}\nx\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>\nhi", "hi", ""),
        ("user", f"{BEGIN}\nnever closed", "", "internal-context"),
        ("user", "/reset", "", "slash-command"),
        ("user", "/home/me is full", "/home/me is full", ""),
        ("user", "/new plan the trip", "/new plan the trip", ""),
        ("user", "A new session was started via /new or /reset. Greet.", "", "gateway-prompt"),
        ("user", "Read HEARTBEAT.md if it exists (workspace context).", "", "gateway-prompt"),
        ("user", "[System] Your previous turn was interrupted by a gateway restart. Go on.", "",
         "gateway-prompt"),
        ("assistant", "✅ New session started · model: m", "", "canned-reply"),
        ("assistant", "HEARTBEAT_OK", "", "canned-reply"),
    ],
)  # fmt: skip
def test_what_the_gateway_says_is_not_conversation(
    tmp_path: Path, role: str, text: str, heard: str, kind: str
) -> None:
    path = write(tmp_path / "sessions" / "s1.jsonl", HEADER, message("m", None, role, text))
    (event,) = read(Session("openclaw", "s1", path))[1].events
    if heard:
        assert isinstance(event, Said)
        assert event.text == heard
    else:
        assert event == Ignored(kind, id="m.m")
