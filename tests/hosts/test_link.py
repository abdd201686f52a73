"""`wakebook link`: the real child, with somebody at the other end who behaves badly."""

from __future__ import annotations

import io
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.hooking import contents, failures, hooked, twice, until
from tests.lend import lines, listened
from tests.service.serving import serving
from tests.story import STYLE, WORKDAY, Claude, chat
from tests.warm import Process
from wakebook import Memory
from wakebook.base import clock
from wakebook.hosts.link import Link

SECONDS = 60
ASKED = "Which database for the bookings?"


class Linked:
    """The plugin's end."""

    def __init__(self, home: Path, host: str, *options: str) -> None:
        self.process = Process("link", host, "--home", str(home), *options)
        self._heard: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._kept: list[dict[str, Any]] = []
        self._last = 0
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        for line in self.process.stdout:
            self._heard.put(json.loads(line))  # and nothing else is ever printed
        self._heard.put(None)

    def raw(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, **message: Any) -> int:
        self._last += 1
        self.raw(json.dumps({"id": self._last, **message}).encode() + b"\n")
        return self._last

    def hear(self, key: str, value: Any = None) -> dict[str, Any]:
        """The first message that has this key (with this value), however many come before."""
        for number, one in enumerate(self._kept):
            if key in one and value in (None, one[key]):
                return self._kept.pop(number)
        while True:
            found = self._heard.get(timeout=SECONDS)
            assert found is not None, "it has ended"
            if key in found and value in (None, found[key]):
                return found
            self._kept.append(found)

    def ask(self, **message: Any) -> dict[str, Any]:
        return self.hear("id", self.send(**message))

    def tool(self, name: str, **arguments: Any) -> Any:
        return self.ask(call="tool", name=name, arguments=arguments)["result"]

    def hook(self, event: str, **payload: Any) -> Any:
        return self.ask(call="hook", event=event, payload=payload)["result"]

    def leave(self) -> list[dict[str, Any]]:
        """The host goes away. What was still said."""
        self.process.stdin.close()
        assert self.process.wait(SECONDS) == 0
        self._thread.join(SECONDS)
        found = list(self._kept)
        while (one := self._heard.get(timeout=SECONDS)) is not None:
            found.append(one)
        return found

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._thread.join(SECONDS)
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def claude(projects: Path) -> Claude:
    return chat(Claude(projects), WORKDAY)


@pytest.fixture
def knowing(memory: Memory, claude: Claude) -> Memory:
    memory.catch_up(closing=True)
    return memory


@pytest.fixture
def link(memory: Memory) -> Iterator[Linked]:
    found = Linked(memory.home.root, "openclaw")
    yield found
    found.end()


@pytest.fixture
def lending(memory: Memory) -> Iterator[Linked]:
    memory.home.config.write_text('[models]\nmain = "host"\n')
    found = Linked(memory.home.root, "openclaw", "--lend")
    yield found
    found.end()


def test_tools_and_events_are_answered(knowing: Memory, link: Linked) -> None:
    assert link.ask(call="ping")["result"]["host"] == "openclaw"
    found = link.tool("memory_search", query="Postgres bookings")
    assert not found["failed"]
    assert json.loads(found["text"]) == found["data"]
    assert any("Postgres" in one["snippet"] for one in found["data"]["results"])
    told = link.hook("before_prompt_build", session="s1", key="agent:main:main", prompt=ASKED)
    assert "Postgres" in told["prependContext"]
    assert link.hook("session_start", session="s1") == {}
    assert link.leave() == []


def test_many_at_once_are_all_answered_each_with_its_own(knowing: Memory, link: Linked) -> None:
    wanted: dict[int, str] = {}
    for number in range(40):
        if number % 4:
            wanted[link.send(call="ping")] = "host"
        else:
            arguments = {"query": f"Postgres {number}"}
            wanted[link.send(call="tool", name="memory_search", arguments=arguments)] = "text"
    for name, key in reversed(wanted.items()):
        assert key in link.hear("id", name)["result"]


def test_many_write_at_once_and_nothing_is_lost(memory: Memory, link: Linked) -> None:
    texts = [f"Berth {number} belongs to boat {number * 7}" for number in range(12)]
    names = [link.send(call="tool", name="remember", arguments={"text": text}) for text in texts]
    for name in names:
        assert not link.hear("id", name)["result"]["failed"]
    assert sorted(contents(memory)) == sorted(texts)


@pytest.mark.parametrize(
    "line",
    [
        b"hello",
        b"[]",
        b"7",
        b"null",
        b'{"id": 1, "call"',
        b"\x00\x01\x02",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"answer": 99, "text": "nobody asked"}',
        b'{"answer": [], "text": "x"}',
        b'{"answer": {}, "text": "x"}',
        b'{"answer": null}',
        b"{}",
        b'{"id": {"a": [1]}, "call": "ping"}',
        b'{"id": 5, "call": ["ping"]}',
        b'{"id": 5, "call": "hook", "event": ["x"], "payload": 7}',
        b'{"id": 5, "call": "hook", "event": "agent_end", "payload": [1]}',
        b'{"id": 5, "call": "hook", "event": "x HTTP/1.1\\r\\nHost: y\\r\\n\\r\\n"}',
        b'{"id": 5, "call": "hook", "event": "../tools/forget", "payload": {}}',
        b'{"id": 5, "call": "tool", "name": "forget", "arguments": "all"}',
        b'{"id": 5, "call": "tool", "name": "../../health"}',
        b'{"id": 5, "call": "tool", "name": 7, "arguments": {"a": "\\ud800"}}',
        b'{"id": 5, "call": "tool", "name": "remember", "arguments": {"text": "\\ud800 x"}}',
        b'{"id": 5, "call": "tool", "name": "context", "arguments": {"message": "a\\u0000b"}}',
        b"\r\n\r\n",
    ],
    ids=lambda line: ascii(line)[:60],
)
def test_a_broken_line_breaks_nothing_else(memory: Memory, link: Linked, line: bytes) -> None:
    link.raw(line + b"\n")
    assert link.ask(call="ping")["result"]["host"] == "openclaw"
    assert link.leave() is not None


def test_a_huge_line_is_left_out(memory: Memory, link: Linked) -> None:
    piece = b"x" * (1 << 20)
    link.raw(b'{"id": 77, "call": "tool", "name": "remember", "arguments": {"text": "')
    for _ in range(18):
        link.raw(piece)
    link.raw(b'"}}\n')
    assert link.ask(call="ping")["result"]["host"] == "openclaw"
    assert any("16 MiB" in one for one in failures(memory))
    assert contents(memory) == []
    assert not any(one.get("id") == 77 and "result" in one for one in link.leave())


def test_unknown_calls_are_told_by_name(memory: Memory, link: Linked) -> None:
    assert "'dance'" in link.ask(call="dance")["error"]
    assert "'NoEvent'" in link.ask(call="hook", event="NoEvent", payload={})["error"]
    assert link.ask(call="tool", name="dance", arguments={})["result"]["failed"]
    assert link.ask(call="tool", name="memory_get", arguments={"path": "token"})["result"]["failed"]
    assert any("NoEvent" in one for one in failures(memory))


@pytest.mark.parametrize("host", ["claude-code", "emacs", "../x"])
def test_a_host_without_a_plugin_is_refused(memory: Memory, host: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wakebook", "link", host, "--home", str(memory.home.root)],
        input=b"",
        capture_output=True,
        timeout=SECONDS,
    )
    assert done.returncode not in (0, 2)
    assert done.stdout == b""
    assert b"Traceback" not in done.stderr


def test_what_is_queued_is_done_before_it_leaves(
    memory: Memory, link: Linked, claude: Claude
) -> None:
    link.send(
        call="hook", event="session_end",
        payload={"session": claude.session, "path": str(claude.path), "reason": "deleted"},
    )  # fmt: skip
    link.send(call="hook", event="gateway_start", payload={})
    said = link.leave()
    assert sorted(one["id"] for one in said) == [1, 2]
    assert any("Postgres" in one for one in contents(memory))
    assert failures(memory) == []


def test_a_host_that_was_killed_leaves_nothing_half_done(memory: Memory, claude: Claude) -> None:
    """Both ends of its pipes close at once."""
    link = Linked(memory.home.root, "openclaw")
    try:
        payload = {"session": claude.session, "path": str(claude.path)}
        link.ask(call="hook", event="agent_end", payload=payload)
        os.close(os.dup(link.process.stdout.fileno()))
        link.leave()
    finally:
        link.end()
    assert any("Postgres" in one for one in contents(memory))


# --- the host's own model ----------------------------------------------------------------


def fresh(projects: Path, name: str = "5e551011-0000-4000-8000-000000000001") -> Claude:
    found = Claude(projects, name)
    found.at = clock.now() - timedelta(hours=1)
    return chat(found, WORKDAY)


def test_the_hosts_model_reads_what_was_said(
    memory: Memory, lending: Linked, projects: Path
) -> None:
    claude = fresh(projects)
    lending.send(
        call="hook", event="session_end",
        payload={"session": claude.session, "path": str(claude.path), "reason": "deleted"},
    )  # fmt: skip
    asked = lending.hear("ask")
    assert "You keep the memory" in asked["system"]
    assert "Let's go with Postgres" in asked["prompt"]
    assert asked["maxTokens"] > 0
    lending.raw(
        json.dumps({"answer": asked["ask"], "text": listened(asked["prompt"])}).encode() + b"\n"
    )
    until(lambda: contents(memory))
    lending.leave()
    found = [one for one in Memory(memory.home.root).log.chains().entries if one.by]
    assert any("Postgres" in one.content for one in found)
    assert all("host" in one.by for one in found), {one.by for one in found}


def test_an_answer_that_is_no_answer_costs_nothing(
    memory: Memory, lending: Linked, projects: Path
) -> None:
    claude = fresh(projects)
    payload = {"session": claude.session, "path": str(claude.path), "reason": "deleted"}
    lending.send(call="hook", event="session_end", payload=payload)
    asked = lending.hear("ask")
    for wrong in ({"answer": 999, "text": "x"}, {"answer": "x"}, {"answer": [asked["ask"]]}):
        lending.raw(json.dumps(wrong).encode() + b"\n")
    lending.raw(json.dumps({"answer": asked["ask"], "error": "no quota"}).encode() + b"\n")
    assert lending.ask(call="ping")["result"]
    lending.leave()
    (transcript,) = memory.home.conversations.rglob("*.md")
    assert "Let's go with Postgres" in transcript.read_text()  # archived, and read another time
    memory.home.config.write_text("")  # no model any more: rules read it
    Memory(memory.home.root).catch_up(closing=True)
    assert any("Postgres" in one for one in contents(memory))


def test_a_host_that_goes_while_it_is_asked_does_not_hang_us(
    memory: Memory, lending: Linked, projects: Path
) -> None:
    """Three conversations wait for its model; none of them may wait for an answer now."""
    names = [f"5e551011-0000-4000-8000-00000000000{number}" for number in range(1, 4)]
    for name in names:
        claude = fresh(projects, name)
        payload = {"session": name, "path": str(claude.path), "reason": "deleted"}
        lending.send(call="hook", event="session_end", payload=payload)
    lending.hear("ask")
    lending.leave()
    assert len(list(memory.home.conversations.rglob("*.md"))) == 3
    assert twice(memory) == []


def test_a_question_does_not_hold_up_the_others(
    memory: Memory, lending: Linked, projects: Path
) -> None:
    claude = fresh(projects)
    payload = {"session": claude.session, "path": str(claude.path), "reason": "deleted"}
    lending.send(call="hook", event="session_end", payload=payload)
    asked = lending.hear("ask")
    assert not lending.tool("remember", text="The ferry leaves at 07:40")["failed"]
    assert lending.tool("memory_search", query="ferry")["data"]["results"]
    lending.raw(
        json.dumps({"answer": asked["ask"], "text": lines({"type": "nothing"})}).encode() + b"\n"
    )
    assert lending.ask(call="ping")["result"]


# --- with the service --------------------------------------------------------------------


def test_the_answers_are_the_same_with_the_service_and_after_its_death(
    knowing: Memory, link: Linked
) -> None:
    def all_of() -> list[Any]:
        found = link.tool("memory_search", query="Postgres bookings")["data"]["results"]
        told = link.hook("before_prompt_build", session="s1", key="agent:main:main", prompt=ASKED)
        wrong = link.tool("memory_search", query="x", type="rumour")
        missing = link.tool("memory_get", path="knowledge/none.md")
        unknown = link.ask(call="hook", event="NoEvent", payload={})
        unknown.pop("id")
        return [[one["path"] for one in found], told, wrong, missing, unknown]

    hooked(knowing, seconds=SECONDS)
    alone = all_of()
    with serving(knowing.home.root) as service:
        assert all_of() == alone
        service.stop(signal.SIGKILL)
        assert all_of() == alone
    assert "Postgres" in alone[1]["prependContext"]


def test_a_service_that_stops_between_keep_and_close_changes_nothing(
    memory: Memory, link: Linked, projects: Path
) -> None:
    claude = fresh(projects)
    payload = {"session": claude.session, "path": str(claude.path)}
    with serving(memory.home.root) as service:
        assert link.hook("agent_end", **payload) == {}
        service.stop(signal.SIGKILL)
    assert link.hook("session_end", reason="deleted", **payload) == {}
    link.leave()
    found = contents(memory)
    assert any("Postgres" in one for one in found)
    assert twice(memory) == []
    types = [one.type for one in Memory(memory.home.root).log.chains().entries]
    assert types.count("handoff") == 1


class Swift(io.StringIO):
    """The host's end of the pipe: it asks again before the writer knows that its words are out."""

    def __init__(self, *asked: dict[str, Any]) -> None:
        super().__init__()
        self._asked = list(asked)
        self._answers = threading.Semaphore(1)

    def flush(self) -> None:
        self._answers.release()
        time.sleep(0.2)  # the writer is slow to go on; the next question is already there

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        self._answers.acquire()
        return json.dumps(self._asked.pop(0)) + "\n" if self._asked else ""


def test_a_question_right_after_an_answer_knows_what_was_told(memory: Memory) -> None:
    (memory.home.root / "topics" / "style.md").write_text(STYLE)
    payload = {"session": "one", "key": "agent:main:main", "params": {"path": "schema.sql"}}
    asked = {"call": "hook", "event": "tool_result", "payload": payload, "within": 60_000}
    host = Swift({"id": 1, **asked}, {"id": 2, **asked})
    Link(str(memory.home.root), "openclaw", host).run(host)
    first, second = (json.loads(line)["result"] for line in host.getvalue().splitlines())
    assert "House style" in first["prependContext"]
    assert not second.get("prependContext")
