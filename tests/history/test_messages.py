"""The messages of commits, as a model writes them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lend import answers, asked, block, entry, equipped, known
from tests.server import Chat, Hang, ModelServer, Raw, Say, Status
from tests.story import WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base.config import Config, Git
from wakebook.base.home import Home

LATER = "2026-11-09T08:31:00Z"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(reply=answers(commit="the launch moved to 21 november")) as server:
        yield server


@pytest.fixture
def memory(memory: Memory, server: ModelServer) -> Memory:
    """With a model, and nothing to commit."""
    memory = equipped(memory, server)
    memory.history.commit("settings")
    return memory


def last(memory: Memory) -> str:
    """The whole message of the newest commit."""
    done = subprocess.run(
        ["git", "-C", str(memory.home.root), "log", "-1", "--format=%B"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.rstrip("\n")


def committed(memory: Memory, server: ModelServer, answer: str | None) -> str:
    """The message of a commit for which the model gives this answer."""
    known(memory, entry(0, "The launch is on 21 November"))
    if answer is not None:
        server.script(Say(answer))
    assert memory.history.commit()
    return last(memory)


def test_a_commit_is_named_by_the_model(memory: Memory, server: ModelServer) -> None:
    assert committed(memory, server, None) == "memory: the launch moved to 21 november"
    assert asked(server) == ["commit"]
    assert server.chats[0].max_tokens == 300


def test_a_batch_is_named_by_the_model(
    memory: Memory, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("The launch is on 21 November")
    assert server.requests == []  # it is not time for it yet
    monkeypatch.setenv("WAKEBOOK_NOW", LATER)
    memory.catch_up()
    assert last(memory) == "memory: the launch moved to 21 november"
    assert asked(server) == ["commit"]
    assert memory.status().uncommitted == 0


def test_whoever_remembers_something_does_not_wait_for_a_message(
    memory: Memory, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("The launch is on 21 November")
    monkeypatch.setenv("WAKEBOOK_NOW", LATER)
    memory.remember("The berth has a fuse of 10 A")
    assert server.requests == [] and last(memory).startswith("memory: The launch is on 21 Nov")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            "the launch moved\n\nMira said so on Sunday.\nThe berth is booked.",
            "memory: the launch moved\n\nMira said so on Sunday.\nThe berth is booked.",
        ),
        ("  the launch moved \n\n\n  because  \n", "memory: the launch moved\n\nbecause"),
        ("memory: the launch moved", "memory: the launch moved"),
        ("Memory: the launch moved", "memory: the launch moved"),
        ("extract: the launch moved", "memory: the launch moved"),
        ("tidepool: the launch moved", "memory: tidepool: the launch moved"),
        ("`the launch moved`", "memory: the launch moved"),
        ("```\nthe launch moved\n\nbecause\n```", "memory: the launch moved\n\nbecause"),
        ("```text\nthe launch moved\n```", "memory: the launch moved"),
        ('"the launch moved"', "memory: the launch moved"),
        ("the launch\tmoved", "memory: the launch moved"),
        ("the launch\0 moved", "memory: the launch moved"),
        ("one\n\n" + "two\n" * 9, "memory: one\n\ntwo\ntwo\ntwo"),
        ("# not a comment\n\n# nor this", "memory: # not a comment\n\n# nor this"),
        ("--amend", "memory: --amend"),
    ],
)
def test_what_the_model_says_is_put_into_form(
    memory: Memory, server: ModelServer, answer: str, message: str
) -> None:
    assert committed(memory, server, answer) == message


def test_long_lines_are_cut(memory: Memory, server: ModelServer) -> None:
    first, _, body = committed(memory, server, f"{'word ' * 60}\n\n{'more ' * 60}").partition("\n")
    assert len(first.removeprefix("memory: ")) <= 72
    assert first.startswith("memory: word word") and first.endswith("…")
    assert len(body.strip()) <= 100 and body.strip().startswith("more more")


@pytest.mark.parametrize(
    "step",
    [
        Say(""),
        Say("``` ```"),
        Say("memory:"),
        Say("I cannot help with that.", stop="refusal"),
        Say("the launch moved to the", stop="length"),
        Status(500, "out of order"),
        Status(401, "invalid x-api-key"),
        Raw(b"<html>"),
    ],
)
def test_without_a_message_it_is_named_by_what_was_learned(
    memory: Memory, server: ModelServer, step: Say | Status | Raw
) -> None:
    known(memory, entry(0, "The launch is on 21 November"))
    server.script(step)
    assert memory.history.commit()
    assert last(memory) == "memory: The launch is on 21 November"


def test_a_failure_is_seen_in_status(memory: Memory, server: ModelServer) -> None:
    server.script(Status(500, "out of order"))
    committed(memory, server, None)
    [problem] = memory.status().problems
    assert "model for commit" in problem and "out of order" in problem


def test_a_slow_message_holds_nothing_up(memory: Memory, server: ModelServer) -> None:
    server.script(Hang())
    slow = memory.config.models.with_(timeout_seconds=1)
    memory = Memory(memory.home.root, config=memory.config.with_(models=slow))
    assert committed(memory, server, None) == "memory: The launch is on 21 November"
    assert len(server.requests) == 1  # others are tried three times
    assert any("model for commit" in one for one in memory.status().problems)


def test_identity_is_still_told_apart(memory: Memory, server: ModelServer) -> None:
    (memory.home.root / "knowledge/identity/SOUL.md").write_text("I am Silas.")
    server.script(Say("the agent is called silas"))
    memory.history.commit()
    assert last(memory) == "identity: the agent is called silas"


def test_the_model_sees_what_was_added_and_new_files(memory: Memory, server: ModelServer) -> None:
    known(memory, entry(0, "The launch is on 21 November"))
    (memory.home.root / "topics" / "release.md").write_text("# Release\nOn a Saturday.\n")
    memory.history.commit()
    [question] = server.chats
    assert block(question.prompt, "files").splitlines() == ["log.jsonl", "topics/release.md"]
    diff = block(question.prompt, "diff").splitlines()
    assert any(line.startswith('+{"id":') and "21 November" in line for line in diff)
    assert diff[-3:] == ["new file topics/release.md", "+# Release", "+On a Saturday."]


def test_what_is_shown_has_a_limit(memory: Memory, server: ModelServer) -> None:
    known(memory, *(entry(0, f"Port {number} is open") for number in range(2000)))
    (memory.home.root / "topics" / "long.md").write_text("word " * 100_000)
    memory.history.commit()
    [question] = server.chats
    assert len(question.prompt) < 10_000


def test_conversations_are_not_shown(memory: Memory, server: ModelServer, projects: Path) -> None:
    memory = equipped(memory, server, off=["extract"])
    memory.history.commit("settings")
    lock = memory.home.root / ".git" / "index.lock"
    lock.write_text("")  # git refuses: a closed conversation is left for later
    chat(Claude(projects), WORKDAY)
    [path] = memory.catch_up(closing=True).closed
    lock.unlink()
    memory.history.git().log("what was learned")
    before = len(server.chats)
    assert memory.history.commit()
    [question] = server.chats[before:]
    assert path in block(question.prompt, "files")

    assert "I'll set up the schema with an exclusion constraint" not in question.prompt


def test_the_home_is_not_locked_while_the_model_thinks(memory: Memory, server: ModelServer) -> None:
    others: list[str] = []

    def reply(question: Chat) -> str:
        """In the server's thread, while the commit waits for it."""
        with Home(memory.home.root).locked(seconds=0):
            others.append("locked")
        apart = Memory(memory.home.root, config=Config(git=Git(enabled=False)))
        others.append(apart.remember("Said meanwhile").content)
        return "two things were learned"

    server.reply = reply
    known(memory, entry(0, "The launch is on 21 November"))
    assert memory.history.commit()
    assert others == ["locked", "Said meanwhile"]
    assert last(memory) == "memory: two things were learned"
    assert memory.status().uncommitted == 0  # what came meanwhile is in it


def test_a_message_by_hand_asks_nothing(memory: Memory, server: ModelServer) -> None:
    known(memory, entry(0, "The launch is on 21 November"))
    memory.history.commit("by hand")
    assert last(memory) == "memory: by hand"
    assert server.requests == []


def test_nothing_to_commit_asks_nothing(memory: Memory, server: ModelServer) -> None:
    assert memory.history.commit() is None
    assert server.requests == []


def test_switched_off_it_asks_nothing(memory: Memory, server: ModelServer) -> None:
    memory = equipped(memory, server, off=["commit"])
    memory.history.commit()
    assert committed(memory, server, None) == "memory: The launch is on 21 November"
    assert server.requests == []


def test_the_cheap_model_is_asked(memory: Memory, server: ModelServer) -> None:
    memory = equipped(memory, server, cheap="anthropic/claude-haiku-5-5")
    memory.history.commit()
    assert [question.model for question in server.chats] == ["claude-haiku-5-5"]


def test_without_a_model_a_commit_says_what_was_learned_and_where(
    tmp_path: Path, projects: Path
) -> None:
    plain = Memory(tmp_path / "plain")
    plain.init()
    plain.history.commit("settings")
    claude = chat(Claude(projects), WORKDAY)
    claude.user("My sister Nora lives in Ghent, and my brother Piet in Utrecht.")
    claude.agent("Good to know.")
    plain.catch_up(closing=True)
    assert plain.history.commit()
    summary, _, body = last(plain).partition("\n")
    entries = list(plain.log.chains().entries)
    [decision] = [one.content for one in entries if one.type == "decision"]
    assert summary == f"memory: {decision}"
    (transcript,) = plain.home.conversations.glob("*/*/*/*.md")
    told, _, where = body.strip().partition("\n\n")
    assert where == f"Session: {plain.home.relative(transcript)}"
    assert len(told.splitlines()) == len(entries)
    assert "- fact: My sister Nora lives in Ghent, and my brother Piet in Utrecht." in told
    assert told.splitlines()[-1].startswith("- handoff: ")


def test_a_commit_counts_what_it_does_not_tell(memory: Memory, server: ModelServer) -> None:
    memory = equipped(memory, server, off=["commit"])
    types = ["task", *["fact"] * 11]
    known(
        memory,
        *(entry(n, f"Gauge {n} hangs in hall {n}", type_=one) for n, one in enumerate(types)),
    )
    memory.history.commit()
    lines = last(memory).splitlines()
    assert lines[0] == "memory: Gauge 1 hangs in hall 1"
    assert len(lines) == 2 + 9 and lines[-1] == "- and 3 facts, 1 task more"


def test_other_files_are_counted_by_kind(memory: Memory, server: ModelServer) -> None:
    memory = equipped(memory, server, off=["commit"])
    memory.history.commit("settings")
    for number in range(6):
        (memory.home.root / f"knowledge/people/someone-{number}.md").write_text("# Someone\n")
    memory.history.commit()
    assert last(memory).strip() == "memory: 6 people"
