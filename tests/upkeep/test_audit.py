from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from tests.story import WORKDAY, Claude, chat
from wakebook import Memory


def test_every_kind_of_source_has_its_status(memory: Memory, projects: Path) -> None:
    done = chat(Claude(projects, "done"), WORKDAY)
    torn = chat(Claude(projects, "torn"), WORKDAY[:2]).torn()
    gone = chat(Claude(projects, "gone"), WORKDAY[:2])
    grown = chat(Claude(projects, "grown"), WORKDAY[:2])
    going_on = Claude(projects, "open")
    going_on.at = datetime(2026, 11, 9, 7, 30, tzinfo=UTC)
    chat(going_on, WORKDAY[:2])
    helper = projects / done.session / "subagents"
    helper.mkdir(parents=True)
    chat(Claude(helper, "agent-a1"), WORKDAY[:2])
    memory.catch_up()
    gone.path.unlink()
    grown.user("one more thing")
    chat(Claude(projects, "new"), WORKDAY[:2])
    accounts = {account.ref: account for account in memory.audit()}
    expected = {"torn": "torn", "gone": "gone", "grown": "behind", "open": "open", "new": "behind"}
    for name, status in expected.items():
        assert accounts[f"claude-code/{name}"].status == status, name
    assert accounts["claude-code/done"].status == "ok"
    assert accounts["claude-code/done"].messages == len(WORKDAY)
    assert accounts["claude-code/done"].seen == done.path.stat().st_size
    assert accounts["claude-code/torn"].seen < torn.path.stat().st_size
    assert "skipped" in {account.status for account in accounts.values()}


def test_a_source_that_cannot_be_read_is_failed_and_the_rest_goes_on(
    memory: Memory, projects: Path
) -> None:
    chat(Claude(projects), WORKDAY)
    store = Path.home() / ".openclaw" / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    store.parent.mkdir(parents=True)
    store.write_bytes(b"SQLite format 3\x00" + b"garbage" * 1000)
    done = memory.catch_up()
    assert done.messages == len(WORKDAY)
    assert list(done.failed) == ["openclaw/main-store"]
    assert [account.status for account in memory.status().accounts] == ["failed"]


def test_a_store_is_read_while_somebody_writes_to_it(memory: Memory) -> None:
    store = Path.home() / ".openclaw" / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    store.parent.mkdir(parents=True)
    writer = sqlite3.connect(store)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.executescript(
        "CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT);"
        "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT,"
        " event_zstd BLOB, PRIMARY KEY (session_id, seq));"
        "INSERT INTO session_windows VALUES ('s1', 'agent:main:main'), ('s2', 'agent:main:cron:x');"
    )

    def say(session: str, seq: int, text: str) -> None:
        event = {
            "type": "message",
            "id": f"{seq:08x}",
            "parentId": f"{seq - 1:08x}" if seq else None,
            "timestamp": f"2026-11-09T07:{seq:02}:00Z",
            "message": {"role": "user", "content": text},
        }
        writer.execute(
            "INSERT INTO transcript_events VALUES (?, ?, ?, NULL)",
            (session, seq, json.dumps(event)),
        )
        writer.commit()

    say("s1", 0, "I prefer uv over pip.")
    say("s2", 0, "The weather is fine.")
    assert memory.catch_up().messages == 1
    writer.execute("BEGIN IMMEDIATE")  # a write is under way
    assert memory.catch_up().messages == 0
    writer.rollback()
    say("s1", 1, "I prefer ruff over flake8.")
    assert memory.catch_up().messages == 1
    assert memory.catch_up().skipped == {"openclaw/s2": "cron"}
    writer.close()


def test_what_was_forgotten_on_purpose_is_accounted_for(memory: Memory, projects: Path) -> None:
    claude = chat(Claude(projects), WORKDAY)
    memory.catch_up()
    entries = [one for one in memory.log.chains().entries if one.type != "handoff"]
    memory.forget([entries[0].id])
    memory = Memory(memory.home.root)
    [account] = memory.audit()
    assert (account.status, account.note) == ("ok", "")
    assert not memory.status().accounts
    lines = memory.home.log.read_bytes().splitlines(keepends=True)
    memory.home.log.write_bytes(b"".join(lines[1:]))  # but this is a loss
    [account] = Memory(memory.home.root).audit()
    assert account.status == "missing" and "2 of" in account.note
    (memory.home.root / "forgotten.jsonl").write_text("nonsense\n")
    [account] = Memory(memory.home.root).audit()
    assert account.ref.endswith(claude.session) and account.status == "missing"
