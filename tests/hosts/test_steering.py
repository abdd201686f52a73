"""What a host's tool calls and the agent's own words bring, and what a sweep has recovered."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.capture.test_openclaw import HEADER, SCHEMA, fill, message, window
from tests.hosts.hooking import fired
from tests.hosts.test_events import ask, spoken
from tests.story import STYLE, WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.hosts.events import Errand, do

MAIN = "agent:main:main"


@pytest.fixture
def styled(memory: Memory) -> Memory:
    (memory.home.root / "topics" / "style.md").write_text(STYLE)
    return memory


def used(memory: Memory, host: str, session: str = "n1", **given: Any) -> str:
    event, names = ("PostToolUse", ("session_id", "tool_input"))
    if host in ("pi", "openclaw"):
        event, names = "tool_result", ("session", "params" if host == "openclaw" else "tool_input")
    found, works = ask(memory, host, event, **{names[0]: session, names[1]: given})
    assert works == []
    return spoken(found)


@pytest.mark.parametrize("host", ["claude-code", "codex", "pi", "openclaw"])
def test_a_tool_call_brings_a_topic_once(styled: Memory, host: str) -> None:
    assert used(styled, host, file_path="notes.txt", content="all is well") == ""
    told = used(styled, host, file_path="/w/schema.sql", content="x")
    assert "House style" in told and "About your last words" not in told
    assert used(styled, host, file_path="/w/other.sql", content="x") == ""
    assert "House style" in used(styled, host, "n2", file_path="/w/other.sql", content="x")
    told = used(styled, host, command="cat > a.py <<< \"print 'x'\"")
    assert "About your last words: Use Python 3 syntax." in told


@pytest.mark.parametrize(
    ("host", "event", "key"),
    [
        ("claude-code", "Stop", "last_assistant_message"),
        ("codex", "Stop", "last_assistant_message"),
        ("pi", "agent_end", "output"),
        ("openclaw", "agent_end", "output"),
    ],
)
def test_the_agents_words_are_corrected_in_its_next_turn(
    styled: Memory, host: str, event: str, key: str
) -> None:
    ask(styled, host, event, session_id="n1", session="n1", **{key: "I wrote: print 'x'"})
    asked = {"claude-code": "UserPromptSubmit", "codex": "UserPromptSubmit"}
    next_turn = asked.get(host, "before_agent_start" if host == "pi" else "before_prompt_build")
    for session, told in (("n2", False), ("n1", True), ("n1", False)):
        found, _ = ask(styled, host, next_turn, session_id=session, session=session, prompt="Go on")
        assert ("Use Python 3 syntax." in spoken(found)) == told


def test_a_subagent_is_not_steered(styled: Memory) -> None:
    given = {"session_id": "n1", "tool_input": {"file_path": "a.sql"}, "agent_id": "a1"}
    assert ask(styled, "claude-code", "PostToolUse", **given)[0] == {}
    ask(styled, "claude-code", "Stop", **given, last_assistant_message="print 'x'")
    assert styled.topics.waiting() == []


def test_the_hook_is_cheap_where_no_topic_watches(memory: Memory) -> None:
    given = {"session_id": "n1", "tool_input": {"file_path": "a.sql"}}
    assert fired(memory.home.root, "claude-code", "PostToolUse", given).out == b""
    assert not (memory.home.cache / "told").exists()
    (memory.home.root / "topics" / "deep").mkdir()
    (memory.home.root / "topics" / "deep" / "style.md").write_text(STYLE)
    assert "House style" in fired(memory.home.root, "claude-code", "PostToolUse", given).context


# --- recovery ----------------------------------------------------------------------------


def test_who_begins_a_sweep_is_told_what_it_found(memory: Memory, projects: Path) -> None:
    memory.home.memory.write_text("# Core Memory\n\n- The alarm code is 4711\n")
    killed = chat(Claude(projects), WORKDAY)
    known = {"source": "startup"}
    for session, cwd in (("mine", "/home/mira/tidepool"), ("other", "/home/mira/elsewhere")):
        found, works = ask(
            memory, "claude-code", "SessionStart", session_id=session, **known | {"cwd": cwd}
        )
        assert "Postgres" not in spoken(found)
        if session == "mine":
            begun = works
    for work in begun:
        do(memory, work)
    for session, told in (("other", False), ("mine", True), ("mine", False)):
        found, _ = ask(
            memory, "claude-code", "UserPromptSubmit", session_id=session, prompt="Good morning!"
        )
        assert ("## Recovered" in spoken(found)) == told
        assert (killed.session in spoken(found)) == told


def test_what_is_of_another_project_is_not_told(memory: Memory, projects: Path) -> None:
    chat(Claude(projects), WORKDAY)
    do(memory, Errand("sweep", "claude-code", "mine", folder="/home/ada/elsewhere"))
    ask(memory, "claude-code", "SessionStart", session_id="mine", source="resume")
    found, _ = ask(memory, "claude-code", "UserPromptSubmit", session_id="mine", prompt="Hello!")
    assert "## Recovered" not in spoken(found)


# --- OpenClaw: one key, one session after the other --------------------------------------


@pytest.fixture
def store() -> Iterator[sqlite3.Connection]:
    folder = Path.home() / ".openclaw" / "agents" / "main" / "agent"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "openclaw-agent.sqlite")) as database:
        database.executescript(SCHEMA)
        yield database


def rolled_over(database: sqlite3.Connection, session: str, text: str, minute: int) -> None:
    """The key goes on with this session, in which something is said."""
    said = [message("u1", None, "user", text), message("a1", "u1", "assistant", "Understood.")]
    for one in said:
        one["timestamp"] = f"2026-11-09T07:{minute:02}:00.000Z"
    fill(database, session, HEADER, *said)
    window(database, session, MAIN, chat_type="direct")
    database.execute("DELETE FROM session_nodes")
    given = (MAIN, session)
    database.execute(
        "INSERT INTO session_nodes (session_key, current_session_id) VALUES (?, ?)", given
    )
    database.commit()


def test_a_key_stands_for_its_newest_session(memory: Memory, store: sqlite3.Connection) -> None:
    texts = {
        "s1": "Let's go with Postgres for the bookings because SQLite locks up.",
        "s2": "The launch of the kiosk is on 14 November.",
        "s3": "I prefer uv over pip for the kiosk.",
    }
    for number, (session, text) in enumerate(texts.items()):
        rolled_over(store, session, text, number)
        for earlier in list(texts)[:number]:  # session_end of the one before, with reason idle
            do(memory, Errand("reset", "openclaw", earlier))
        do(memory, Errand("keep", "openclaw", session))
    windows = {one.id: one.window for one in memory.opened.state().sessions.values()}
    assert [session for session, window in windows.items() if window] == ["s3"]
    assert memory.turns.kind_of(MAIN) == "main"
    asked = {"key": MAIN, "prompt": "When is the launch of the kiosk?"}
    found, _ = ask(memory, "openclaw", "before_prompt_build", session="s4", **asked)
    assert "14 November" in spoken(found)
    memory.topics.fire_topic("release-day", session=MAIN)
    assert [one.session for one in memory.topics.waiting()] == ["s3"]


def test_a_store_that_is_readable_again_is_well(memory: Memory) -> None:
    folder = Path.home() / ".openclaw" / "agents" / "main" / "agent"
    folder.mkdir(parents=True)
    path = folder / "openclaw-agent.sqlite"
    path.write_bytes(b"SQLite format 3\x00" + b"rubbish" * 200)
    for _ in range(3):
        memory.catch_up()
    assert [one.ref for one in memory.audit() if one.status == "failed"] == ["openclaw/main-store"]
    path.unlink()
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SCHEMA)
        rolled_over(database, "s1", "The launch of the kiosk is on 14 November.", 1)
    memory.catch_up()
    assert [one.status for one in memory.audit() if one.status == "failed"] == []
    assert list(memory.opened.state().sessions) == ["openclaw/s1"]
