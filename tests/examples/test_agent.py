"""examples/agent.py, as a process of its own, against a model's server that follows a script."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server import Chat, ModelServer, Say, Status
from wakebook import Memory, Query

ROOT = Path(__file__).parents[2]


def talk(server: ModelServer, home: Path, session: str, day: int, *lines: str) -> list[str]:
    """A session on a day. What the agent printed."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "agent.py"), "--url", server.base("openai"),
         "--model", "scripted", "--session", session, "--home", str(home)],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        env=os.environ | {"WAKEBOOK_NOW": f"2026-11-{day:02}T08:00:00Z"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"  # which the agent makes


def test_the_third_session_begins_with_what_the_first_two_left(home: Path) -> None:
    with ModelServer(reply=lambda chat: "Understood.") as server:
        first = "The launch of Tidepool is on Tuesday."
        assert talk(server, home, "one", 2, first, "We decided to use Postgres.") == [
            "Understood.",
            "Understood.",
        ]
        assert "<wakebook-memory>" not in server.chats[0].system  # nothing to know yet
        correction = "Correction: the launch of Tidepool is on Thursday."
        talk(server, home, "two", 4, correction, "Remind me to write the release notes.")
        before = len(server.chats)
        talk(server, home, "three", 9, "Good morning! What comes next?")
    third = server.chats[before]
    assert "## Last Session Handoff\nSession: two" in third.system
    assert "the launch of Tidepool is on Thursday" in third.system
    assert "use Postgres" in third.system and "release notes" in third.system
    assert "Tuesday" not in third.system
    assert third.messages == [("user", "Good morning! What comes next?")]
    memory = Memory(home)
    assert {account.status for account in memory.audit()} == {"ok"}
    handed = memory.log.entries(Query(types=("handoff",), all=True))
    assert [entry.session for entry in handed] == ["one", "two"]  # nothing was done in the third


def test_tools_are_used_and_shown_in_the_transcript(home: Path, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "lagoon.txt").touch()
    calls = (
        ("remember", {"text": "Ines feeds the seals on Mondays."}),
        ("list_files", {"text": str(tmp_path / "here")}),
        ("list_files", {"text": str(tmp_path / "nowhere")}),
        ("memory_search", {"text": "who feeds the seals?"}),
        ("dance", {"text": "a tango"}),
        ("list_files", {"wrong": 1}),
    )
    with ModelServer(reply=lambda chat: "Done.") as server:
        server.script(Say("", calls=calls[:1]), Say("One moment.", calls=calls[1:]))
        assert talk(server, home, "tools", 9, "Do it all.") == ["Done."]
    results = [text for role, text in server.chats[-1].messages if role == "tool"]
    assert results[0].startswith("Kept as ")
    assert results[1] == "lagoon.txt"
    assert results[2].startswith("list_files failed: FileNotFoundError")
    assert results[3].startswith("Ines **feeds** the **seals** on Mondays. (")
    assert results[4:] == ["There is no tool dance.", "list_files failed: KeyError('text')"]
    names = [tool["function"]["name"] for tool in server.chats[0].body["tools"]]
    assert names == ["memory_search", "remember", "list_files"]
    (transcript,) = Memory(home).home.conversations.glob("*/*/*/*.md")
    text = transcript.read_text()
    assert "> [tool:remember] Ines feeds the seals on Mondays. → Kept as" in text
    assert "→ lagoon.txt" in text and "One moment." in text and "Done." in text


def test_a_model_that_does_not_answer_costs_nothing_that_was_said(home: Path) -> None:
    with ModelServer(reply=lambda chat: "Good.") as server:
        server.script(Status(500, "down"))
        said = talk(server, home, "down", 9, "We decided to use Postgres.", "Are you there?")
    assert said[0].startswith("(no answer: HTTP Error 500")
    assert said[1] == "Good."
    assert server.chats[-1].messages == [
        ("user", "We decided to use Postgres."),
        ("user", "Are you there?"),
    ]
    entries = Memory(home).log.entries(Query())
    assert [entry.type for entry in entries] == ["decision", "handoff"]


def test_the_agent_can_be_killed_and_goes_on_with_what_was_said(home: Path) -> None:
    """Killed by its model, so to speak: in the middle of a turn."""
    killed: list[int] = []

    def reply(chat: Chat) -> str:
        if not killed:
            killed.append(child.pid)
            child.kill()
        return "Too late."

    with ModelServer(reply=reply) as server:
        arguments = ["--url", server.base("openai"), "--session", "s", "--home", str(home)]
        with subprocess.Popen(
            [sys.executable, str(ROOT / "examples" / "agent.py"), *arguments],
            stdin=subprocess.PIPE,
            text=True,
        ) as child:
            assert child.stdin
            child.stdin.write("The kiosk is called Heron.\n")
            child.stdin.flush()
            child.wait()
        assert child.returncode == -9 and killed
        talk(server, home, "s", 9, "What is it called?")
    assert server.chats[-1].messages == [
        ("user", "The kiosk is called Heron."),
        ("user", "What is it called?"),
    ]
    lines = (home / "sessions" / "s.jsonl").read_text().splitlines()
    assert [json.loads(line).get("role") for line in lines[1:]] == [
        "user",
        "user",
        "assistant",
        None,
    ]
