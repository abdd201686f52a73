"""Your own agent: what it says is written down as it is said, and remembered."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from tests.crash import run_and_die
from tests.journeys.command import run, run_json
from tests.story import STYLE
from wakebook import Conversation, Memory, Query
from wakebook.base.errors import WakebookError

LAUNCH = "The launch of Tidepool is on Tuesday."
PIER = "Remind me to book the pier for the launch of Tidepool."


def say(chat: Conversation, *texts: str) -> None:
    for text in texts:
        chat.user(text)
        chat.agent("Understood.")


def on(monkeypatch: pytest.MonkeyPatch, day: int) -> None:
    monkeypatch.setenv("WAKEBOOK_NOW", f"2026-11-{day:02}T08:00:00Z")


def again(memory: Memory) -> Memory:
    """As another process sees it."""
    return Memory(memory.home.root)


def handoffs(memory: Memory) -> list[str]:
    return [
        entry.content for entry in again(memory).log.entries(Query(types=("handoff",), all=True))
    ]


def statuses(memory: Memory) -> dict[str, str]:
    return {account.ref: account.status for account in again(memory).audit()}


def raw(chat: Conversation) -> list[dict[str, Any]]:
    return [json.loads(line) for line in chat.path.read_bytes().splitlines()]


def transcripts(memory: Memory) -> list[str]:
    return [path.read_text() for path in sorted(memory.home.conversations.glob("*/*/*/*.md"))]


# --- remembering -------------------------------------------------------------------------


def test_the_third_session_knows_the_first_two(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(monkeypatch, 2)
    with memory.session("one") as chat:
        say(chat, LAUNCH, "We decided to use Postgres for Tidepool.")
    on(monkeypatch, 4)
    with again(memory).session("two") as chat:
        say(chat, "Correction: the launch of Tidepool is on Thursday.")
        say(chat, "Remind me to write the release notes.")
    on(monkeypatch, 9)
    third = again(memory).session("three")
    first = third.context("Good morning! What comes next?").text
    assert "## Last Session Handoff\nSession: two" in first
    assert "Thursday" in first and "Tuesday" not in first
    asked = third.context("When is the launch of Tidepool?").text
    assert "the launch of Tidepool is on Thursday" in asked
    old = [line for line in asked.splitlines() if "Tuesday" in line]
    assert all("no longer holds" in line or " — Was: " in line for line in old)


def test_the_same_id_goes_on_and_every_end_leaves_a_handoff(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = memory.session("support-42")
    say(chat, PIER)
    assert len(chat.messages()) == 2
    assert chat.end().closed
    assert chat.messages() == []
    on(monkeypatch, 10)
    later = again(memory).session("support-42")
    assert "Session: support-42" in later.context("Hello").text
    say(later, "We decided to use Postgres for Tidepool.")
    assert later.messages()[0]["content"].startswith("We decided")
    later.end()
    assert handoffs(memory) == [PIER, "We decided to use Postgres for Tidepool."]
    assert ["window: 1" in text for text in transcripts(memory)] == [True, False]
    assert [line["type"] for line in raw(chat) if "type" in line] == ["reset", "reset"]
    assert statuses(memory) == {"plain/support-42": "ok"}


def test_ends_again_and_ends_of_nothing_change_nothing(memory: Memory) -> None:
    chat = memory.session("quiet")
    with chat:
        pass
    assert not chat.path.exists() and chat.keep().reports == ()
    say(chat, PIER)
    chat.end()
    before = chat.path.read_bytes()
    chat.end()
    again(memory).session("quiet").end()
    assert chat.path.read_bytes() == before
    assert len(handoffs(memory)) == 1


def test_keep_learns_and_the_conversation_goes_on(memory: Memory) -> None:
    chat = memory.session("long")
    say(chat, "We decided to use Postgres for Tidepool.")
    assert chat.keep().messages == 2
    assert [entry.type for entry in memory.log.entries(Query())] == ["decision"]
    assert statuses(memory) == {"plain/long": "open"}
    assert len(chat.messages()) == 2
    assert chat.keep().messages == 0


def test_an_end_that_never_came_to_learning_is_an_end_all_the_same(memory: Memory) -> None:
    """Killed between the two: whoever catches up sees two windows."""
    chat = memory.session("cut")
    say(chat, PIER)
    memory.home.subjects.write_text("{broken")
    with pytest.raises(WakebookError, match=r"subjects\.json"):
        chat.end()
    memory.home.subjects.write_text("{}\n")
    say(chat, "We decided to use Postgres for Tidepool.")
    again(memory).catch_up()
    assert handoffs(memory) == [PIER]
    assert len(transcripts(memory)) == 2


# --- exceptions --------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt("mine")])
def test_an_exception_ends_the_session_and_goes_on(memory: Memory, error: BaseException) -> None:
    with pytest.raises(type(error), match="mine"), memory.session("stormy") as chat:
        say(chat, PIER)
        raise error
    assert len(handoffs(memory)) == 1


def test_what_goes_wrong_at_the_end_does_not_hide_an_exception(memory: Memory) -> None:
    with pytest.raises(ValueError, match="mine"), memory.session("stormy") as chat:
        say(chat, PIER)
        memory.home.subjects.write_text("{broken")
        raise ValueError("mine")
    (failure,) = memory.home.traces("failure")
    assert failure["where"] == "session stormy" and "subjects.json" in failure["error"]
    memory.home.subjects.write_text("{}\n")
    again(memory).catch_up()
    assert len(handoffs(memory)) == 1


# --- once, and never lost ----------------------------------------------------------------


def test_a_message_that_is_sent_again_is_written_once(memory: Memory) -> None:
    chat = memory.session("retry")
    assert chat.user('{"id":"m2",\n{"id":"m2",', id="m1") == "m1"
    assert chat.user("two", id="m2") == "m2"  # though somebody has said something like it
    for _ in range(3):
        again(memory).session("retry").user("two", id="m2")
    chat.tool("shell", {"command": "ls"}, "a", id="t")
    chat.tool("shell", {"command": "ls"}, "a", id="t")
    chat.add({"role": "user", "content": "three", "id": "m"})
    chat.add({"role": "user", "content": "three", "id": "m"})
    chat.user("halves \ud83d", id="half \ud83d")
    chat.user("halves \ud83d", id="half \ud83d")
    ids = [line.get("id") for line in raw(chat)]
    assert ids == [None, "m1", "m2", "t", "t.2", "m", "half ?"]


def test_messages_without_an_id_are_all_written(memory: Memory) -> None:
    chat = memory.session("same")
    ids = {chat.user("yes") for _ in range(5)}
    for _ in range(2):  # how the Agents SDK names every message
        chat.add({"role": "user", "content": "yes", "id": "__fake_id__"})
    assert len(ids) == 5 and len(chat.messages()) == 7


def test_killed_at_every_step_and_sent_again_everything_is_there_once(memory: Memory) -> None:
    def talk(name: str) -> None:
        chat = again(memory).session(name)
        for number in range(3):
            chat.user(f"Question {number}. " + "x" * 200, id=f"q{number}")
            chat.tool("shell", {"command": "ls"}, "a\nb", id=f"t{number}")
            chat.agent(f"Answer {number}.", id=f"a{number}")

    talk("reference")
    expected = memory.session("reference").messages()
    step = 0
    while True:
        step += 1
        name = f"killed-{step}"
        died = run_and_die(lambda name=name: talk(name), step)  # type: ignore[misc]
        talk(name)
        assert memory.session(name).messages() == expected, f"after dying at step {step}"
        if not died:
            break
    assert step > 25  # otherwise nothing was counted
    again(memory).catch_up(closing=True)
    assert set(statuses(memory).values()) == {"ok"}
    assert not any(account.unread for account in again(memory).audit())


AGENT = """
import sys
from wakebook import Memory
chat = Memory(sys.argv[1]).session("victim")
for number in range(100000):
    chat.user(f"Message {number}.")
    print(number, flush=True)
"""


def test_what_a_killed_process_has_said_is_there(memory: Memory) -> None:
    arguments = [sys.executable, "-c", AGENT, str(memory.home.root)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        said = [int(child.stdout.readline()) for _ in range(20)]
        os.kill(child.pid, signal.SIGKILL)
        said += [int(line) for line in child.stdout.read().split()]
    found = [one["content"] for one in memory.session("victim").messages()]
    assert found[: len(said)] == [f"Message {number}." for number in said]
    assert len(found) <= len(said) + 1  # the one that it was about to report
    assert run_json("catch-up", "--close", "--home", str(memory.home.root))
    run("audit", "--home", str(memory.home.root))


def test_a_killed_agent_can_go_on_with_what_a_model_is_sent(memory: Memory) -> None:
    """Killed while two tools ran: a call without an answer is refused by every server."""
    chat = memory.session("resumed")
    chat.user("What is here?")
    calls = [{"id": name, "function": {"name": "ls", "arguments": "{}"}} for name in ("c1", "c2")]
    chat.add({"role": "assistant", "content": None, "tool_calls": calls})
    assert [one["role"] for one in chat.messages()] == ["user", "assistant"]  # they may still run
    chat.add({"role": "tool", "tool_call_id": "c2", "content": "a"})
    chat.user("Are you there?")
    chat.add({"role": "tool", "tool_call_id": "c1", "content": "too late"})
    found = [(one["role"], one["content"]) for one in chat.messages()]
    lost = "(no result: the agent was stopped)"
    assert found[2:] == [("tool", "a"), ("tool", lost), ("user", "Are you there?")]


@pytest.mark.parametrize(
    ("torn", "kept"), [('{"id":"x","role":"us', 2), ('{"id":"x","role":"user","content":"y"}', 3)]
)
def test_half_a_line_is_taken_out_and_a_whole_one_ended(
    memory: Memory, torn: str, kept: int
) -> None:
    chat = memory.session("torn")
    chat.user("before")
    with chat.path.open("a") as stream:
        stream.write(torn)
    chat.user("after")
    assert len(chat.messages()) == kept
    assert chat.messages()[-1]["content"] == "after"
    assert len(memory.home.traces("torn")) == (kept == 2)
    chat.end()
    assert not any(account.unread for account in again(memory).audit())


def test_threads_lose_nothing(memory: Memory) -> None:
    chats = [memory.session("busy"), memory.session("busy"), again(memory).session("busy")]

    def talk(number: int) -> None:
        for count in range(25):
            chats[number % 3].user(f"{number}-{count}", id=f"{number}-{count}")
            chats[(number + 1) % 3].user(f"{number}-{count}", id=f"{number}-{count}")
            chats[number % 3].tool("t", {}, f"{number}-{count}")

    threads = [Thread(target=talk, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = memory.session("busy").messages()
    said = [one["content"] for one in found if one["role"] == "user"]
    assert sorted(said) == sorted(f"{n}-{count}" for n in range(4) for count in range(25))
    for call, result in pairwise(found):  # a call with its result, always
        if "tool_calls" in call:
            assert result["tool_call_id"] == call["tool_calls"][0]["id"]
    assert sum(one["role"] == "tool" for one in found) == 100


# --- what the rest of Wakebook sees ------------------------------------------------------


def test_it_is_known_without_any_configuration(memory: Memory) -> None:
    home = str(memory.home.root)
    say(memory.session("left", channel="web", model="m", cwd="/srv"), PIER)
    assert "plain/left" in run("audit", "--home", home, code=1)
    run("catch-up", "--close", "--home", home)
    assert "nothing behind" in run("audit", "--home", home)
    (text,) = transcripts(memory)
    for line in ("host: plain", "session_id: left", "channel: web", "model: m", "cwd: /srv"):
        assert f"\n{line}\n" in text
    assert run_json("show", "session:left", "--home", home)


def test_it_is_watched(memory: Memory) -> None:
    memory.home.config.write_text("[watch]\nwrites = 1\n[git]\nenabled = false\n")
    watcher, stop, ready, told = again(memory), Event(), Event(), Event()
    say(memory.session("early"), PIER)
    thread = Thread(
        target=watcher.jobs.watch,
        args=(stop, lambda done: (told if ready.is_set() else ready).set()),
    )
    thread.start()
    try:
        assert ready.wait(60)  # it has caught up on what was there
        for number in range(600):  # it may not be looking yet
            memory.session("late").user(f"Hello {number}.")
            if told.wait(0.1):
                break
        assert told.is_set()
    finally:
        stop.set()
        thread.join()
    assert statuses(memory)["plain/early"] == "open"
    assert "plain/late" in again(memory).opened.state().sessions


def test_a_rehearsal_sees_it_and_changes_nothing(memory: Memory) -> None:
    say(memory.session("dry"), PIER)
    with memory.rehearsal() as copy:
        assert copy.catch_up(closing=True).messages == 2
    assert statuses(memory) == {"plain/dry": "behind"}


def test_secrets_stay_out_of_git_and_of_the_transcript(memory: Memory) -> None:
    secret = "sk-ant-" + "api03-" + "a1B2c3D4e5F6g7H8" * 4
    with memory.session("secret") as chat:
        say(chat, f"The key is {secret}.")
    assert secret in chat.path.read_text()
    assert chat.path.stat().st_mode & 0o777 == 0o600
    assert chat.path.parent.stat().st_mode & 0o777 == 0o700
    git = ["git", "-C", str(memory.home.root)]
    subprocess.run([*git, "add", "-A"], check=True)  # as somebody might
    every = subprocess.run([*git, "ls-files"], check=True, capture_output=True, text=True).stdout
    assert "log.jsonl" in every and "sessions" not in every
    assert secret not in "".join(transcripts(memory))
    assert not any("sessions/" in hit.ref for hit in memory.search("key").hits)


def test_what_the_agent_repeats_of_its_context_is_not_learned_again(memory: Memory) -> None:
    with memory.session("one") as chat:
        say(chat, "We decided to use Postgres for Tidepool.")
    before = len(memory.log.entries(Query()))
    with again(memory).session("two") as chat:
        told = chat.context("Which database?").text
        assert "Postgres" in told
        chat.user("Tell me what you know.")
        chat.agent(f"I was told:\n\n{told}\n\nThat is all.")
        chat.tool("echo", {"text": told}, told)
    text = transcripts(memory)[-1]
    assert "That is all." in text and "Postgres" not in text
    new = [entry for entry in again(memory).log.entries(Query()) if entry.session == "two"]
    assert {entry.type for entry in new} <= {"handoff"}
    assert len(again(memory).log.entries(Query())) <= before + 1


def test_an_agent_sends_its_own_messages_so_a_context_has_none_of_them(memory: Memory) -> None:
    chat = memory.session("now")
    say(chat, "The kiosk is called Heron.")
    chat.keep()
    assert "Earlier in this session" not in chat.context("Hello").text


@pytest.mark.parametrize("name", ["pi", "plain", "telegram:group:7", "cron:nightly"])
def test_an_id_that_means_something_elsewhere_is_an_id_here(memory: Memory, name: str) -> None:
    with memory.session("first") as chat:
        say(chat, PIER)
    chat = memory.session(name)
    assert "Last Session Handoff" in chat.context("Hello").text
    say(chat, "We decided to use Postgres for Tidepool.")
    chat.end()
    assert len(handoffs(memory)) == 2
    assert statuses(memory)[f"plain/{name}"] == "ok"


def test_a_short_id_is_not_the_beginning_of_another(memory: Memory) -> None:
    memory.home.memory.write_text("")
    other = memory.session("user-4217-telegram-chat")
    say(other, "We decided to call the kiosk Heron.")
    other.keep()
    found = memory.session("user").context("Hello").text
    assert "Session: user-4217-telegram-chat" in found  # still open: another's, not its own


def test_a_file_elsewhere_with_the_same_id_is_another_session(
    memory: Memory, tmp_path: Path
) -> None:
    folder = tmp_path / "chats"
    folder.mkdir()
    memory.home.config.write_text(f'[hosts]\nplain = ["{folder}"]\n')
    lines = [{"session": "twin"}, {"role": "user", "content": "We decided to use SQLite for Owl."}]
    (folder / "twin.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    memory.catch_up(closing=True)
    chat = again(memory).session("twin")
    for text in (PIER, "We decided to use Postgres for Tidepool."):
        say(chat, text)
        chat.end()
    again(memory).catch_up(closing=True)
    assert len(handoffs(memory)) == len(transcripts(memory)) == 3
    assert set(statuses(memory).values()) == {"ok"} and len(statuses(memory)) == 2


def test_a_home_that_moved_goes_on(memory: Memory, tmp_path: Path) -> None:
    say(memory.session("moving"), PIER)
    memory.session("moving").end()
    memory.home.root.rename(tmp_path / "elsewhere")
    moved = Memory(tmp_path / "elsewhere")
    with moved.session("moving") as chat:
        say(chat, "We decided to use Postgres for Tidepool.")
    assert len(handoffs(moved)) == 2 and statuses(moved) == {"plain/moving": "ok"}


def test_what_the_agent_does_brings_a_topic(memory: Memory) -> None:
    (memory.home.root / "topics" / "style.md").write_text(STYLE)
    chat = memory.session("steered")
    chat.user("Please write a report.")
    assert "House style" not in chat.context("Go on.").text
    chat.agent("Here it is: print 'hello'")
    told = chat.context("Go on.").text
    assert "House style" in told and "About your last words: Use Python 3 syntax." in told
    assert "House style" not in chat.context("Go on.").text  # once
    chat.tool("edit", {"path": "db/schema.sql", "newText": "x"}, "ok")
    told = chat.context("Go on.").text
    assert "House style" in told and "About your last words" not in told
    chat.tool("write", {"path": "a.py", "content": "print 'hello'"}, "ok")
    assert "Use Python 3 syntax." in memory.session("steered").context("Go on.").text
    assert "House style" not in memory.session("another").context("Go on.").text


def test_the_tokens_of_an_agent_are_in_its_transcript(memory: Memory) -> None:
    with memory.session("counted") as chat:
        chat.user("My sister Nora lives in Ghent.")
        chat.agent("Good to know.", usage={"input_tokens": 120, "output_tokens": 7})
        chat.add({"role": "user", "content": "And Piet in Utrecht."})
        used = {"prompt_tokens": 150, "completion_tokens": 3}
        chat.add({"role": "assistant", "content": "Noted.", "usage": used})
    (path,) = memory.home.conversations.glob("*/*/*/*.md")
    assert "tokens_in: 270\ntokens_out: 10\n" in path.read_text()
