"""The recipes for LangGraph and the OpenAI Agents SDK, with the real packages.

Each runs in a process of its own: three sessions with a correction in the second.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server import ModelServer, Say
from wakebook import Memory, Query

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SESSIONS = [
    ("one", 2, ["The launch of Tidepool is on Tuesday.", "We decided to use Postgres."]),
    ("two", 4, ["Correction: the launch of Tidepool is on Thursday. Remind me to tell Jonas."]),
    ("three", 9, ["Good morning! What comes next?"]),
]
DRIVERS = {
    "langgraph_agent": """
import os
from langgraph_agent import graph, memory
for name, day, lines in {sessions}:
    os.environ["WAKEBOOK_NOW"] = f"2026-11-{{day:02}}T08:00:00Z"
    state = {{"messages": []}}
    for line in lines:
        state["messages"].append({{"role": "user", "content": line}})
        state = graph.invoke(state, {{"configurable": {{"thread_id": name}}}})
        print(state["messages"][-1].content)
    memory.session(name).end()
""",
    "openai_agents": """
import os
from agents import SQLiteSession
from openai_agents import memory, turn
for name, day, lines in {sessions}:
    os.environ["WAKEBOOK_NOW"] = f"2026-11-{{day:02}}T08:00:00Z"
    with memory.session(name) as chat:
        session = SQLiteSession(chat.id)
        for line in lines:
            print(turn(chat, session, line))
""",
}


def drive(server: ModelServer, home: Path, recipe: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", DRIVERS[recipe].format(sessions=SESSIONS)],
        capture_output=True,
        text=True,
        cwd=EXAMPLES,
        env=os.environ
        | {
            "WAKEBOOK_HOME": str(home),
            "OPENAI_BASE_URL": server.base("openai"),
            "OPENAI_API_KEY": "none",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
            "MODEL": "scripted",
        },
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("recipe", DRIVERS)
def test_the_third_session_begins_with_what_the_first_two_left(memory: Memory, recipe: str) -> None:
    with ModelServer(reply=lambda chat: "Understood.") as server:
        assert drive(server, memory.home.root, recipe) == ["Understood."] * 4
    assert [[text for role, text in chat.messages] for chat in server.chats] == [
        ["The launch of Tidepool is on Tuesday."],
        ["The launch of Tidepool is on Tuesday.", "Understood.", "We decided to use Postgres."],
        ["Correction: the launch of Tidepool is on Thursday. Remind me to tell Jonas."],
        ["Good morning! What comes next?"],
    ]
    third = server.chats[-1].system
    assert "## Last Session Handoff\nSession: two" in third
    assert "the launch of Tidepool is on Thursday" in third
    assert "use Postgres" in third and "Tuesday" not in third
    for name, messages in (("one", 4), ("two", 2), ("three", 2)):  # each of them once
        assert memory.opened.state().sessions[f"plain/{name}"].messages == messages
    assert {account.status for account in memory.audit()} == {"ok"}


def test_the_agents_sdk_calls_memory_search(memory: Memory) -> None:
    memory.remember("Ines feeds the seals on Mondays.")
    with ModelServer(reply=lambda chat: "Ines does.") as server:
        server.script(Say("", calls=(("memory_search", {"query": "who feeds the seals?"}),)))
        assert drive(server, memory.home.root, "openai_agents")[0] == "Ines does."
    role, found = server.chats[1].messages[-1]
    assert role == "tool" and "Ines **feeds** the **seals** on Mondays" in found
    shown = memory.get("session:one")
    text = (memory.home.root / shown.transcripts[0]).read_text()
    assert "> [tool:memory_search] who feeds the seals? → " in text and "Ines does." in text
    assert (
        memory.opened.state().sessions["plain/one"].messages == 5
    )  # the call and its result are one
    again = [entry for entry in memory.log.entries(Query()) if "seals" in entry.content]
    assert [entry.session for entry in again] == ["manual"]  # what was found is not learned again


@pytest.mark.parametrize("recipe", DRIVERS)
def test_a_recipe_is_at_most_twenty_lines(recipe: str) -> None:
    """Of code: neither imports nor what it says about itself."""
    tree = ast.parse((EXAMPLES / f"{recipe}.py").read_text())
    own = [part for part in tree.body[1:] if not isinstance(part, ast.Import | ast.ImportFrom)]
    text = "\n".join(ast.unparse(part) for part in own)
    assert len([line for line in text.splitlines() if line.strip()]) <= 20
