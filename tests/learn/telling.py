"""Set-up for the tests of reading by a model: a home, its sessions, and a scripted model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests import homes
from tests.server import Chat, ModelServer, Say
from tests.story import START, Claude
from wakebook import Memory
from wakebook.base import markdown
from wakebook.log.entry import Entry

MODEL = "anthropic/claude-sonnet-4-5"
OFF = ("briefing", "contradictions", "commit")  # only extraction asks, unless a test says so
RECENT = datetime.fromisoformat("2026-11-09T07:00:00+00:00")  # nothing closes by itself


class Busy(Claude):
    """An agent that does something each time it speaks: what it did is worth a handoff."""

    def agent(self, text: str) -> Claude:
        super().agent(text)
        at, call = self.at, f"call-{self.count}"
        self.call("Read", call, file_path="notes.md").result(call, "ok")
        self.at = at
        return self


class Tale:
    """A home whose conversations a scripted model reads."""

    def __init__(self, root: Path, projects: Path, server: ModelServer) -> None:
        self.root = root
        self.projects = projects
        self.server = server
        homes.made(root)
        self.settings()

    def settings(self, main: str = MODEL, base: str = "", git: bool = False, **models: Any) -> None:
        """Writes config.toml. A failure does not pause the model, unless a test is about it."""
        quick = {"timeout_seconds": 20, "attempts": 1, "failures": 1000, "off": list(OFF)}
        chosen = {"main": main} | quick | models
        lines = ["[models]", *(f"{name} = {json.dumps(value)}" for name, value in chosen.items())]
        lines += ["[anthropic]", f'base_url = "{base or self.server.base("anthropic")}"']
        lines += ["[git]", f"enabled = {json.dumps(git)}"]
        (self.root / "config.toml").write_text("\n".join(lines) + "\n")

    @property
    def memory(self) -> Memory:
        """The home as a new process finds it."""
        return Memory(self.root)

    def session(self, number: int = 1, at: datetime | None = None) -> Claude:
        """Session n is of its own day, long ago; unless told otherwise."""
        claude = Busy(self.projects, f"5e55{number:04}-0000-4000-8000-{number:012}")
        claude.at = at or datetime.fromisoformat(START) - timedelta(days=10 - number)
        return claude

    def talk(self, *texts: str, number: int = 1, at: datetime | None = None) -> Claude:
        """A session in which the user begins and both take turns."""
        claude = self.session(number, at)
        for turn, text in enumerate(texts):
            claude.agent(text) if turn % 2 else claude.user(text)
        return claude

    def says(self, *answers: str) -> None:
        """The next answers of the model, each the lines of one."""
        self.server.script(*map(Say, answers))

    @property
    def asked(self) -> list[Chat]:
        """The questions, without the requests for a repair."""
        return [chat for chat in self.server.chats if len(chat.messages) == 1]

    @property
    def repairs(self) -> list[str]:
        """What the model was told about its mistakes."""
        return [chat.messages[-1][1] for chat in self.server.chats if len(chat.messages) > 1]

    # --- what came out ---------------------------------------------------------------

    def log(self) -> list[Entry]:
        return list(self.memory.log.chains().entries)

    def current(self, *types: str) -> list[Entry]:
        found = self.memory.log.chains().current()
        return [entry for entry in found if not types or entry.type in types]

    def contents(self, *types: str) -> list[str]:
        return [entry.content for entry in self.log() if not types or entry.type in types]

    def learned(self) -> list[str]:
        """All contents but those of handoffs."""
        return [entry.content for entry in self.log() if entry.type != "handoff"]

    def fronts(self) -> list[dict[str, Any]]:
        files = sorted(self.memory.home.conversations.glob("*/*/*/*.md"))
        return [markdown.split(path.read_text())[0] for path in files]

    def traced(self, event: str) -> list[str]:
        """The reasons."""
        found = self.memory.home.traces(event)
        return [str(one.get("reason") or one.get("error")) for one in found]

    def told(self) -> list[str]:
        """What `status` has to say: what is wrong, and what is worth knowing."""
        status = self.memory.status()
        return [*status.problems, *status.notes]

    def valid(self) -> bool:
        """Whether the log is whole: no bad line, nothing twice, nothing dangling."""
        chains = self.memory.log.chains()
        bad = any("log.jsonl line" in problem for problem in self.memory.status().problems)
        return not (bad or chains.repeated or chains.dangling or chains.cycles)


@contextmanager
def telling(tmp_path: Path, projects: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tale]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-nobody")
    with ModelServer(reply=lambda chat: answer(handoff())) as server:
        yield Tale(tmp_path / "home", projects, server)


# --- what a question holds ---------------------------------------------------------------


def block(chat: Chat, name: str) -> str:
    """The material of this name in a question."""
    asked = chat.messages[0][1]
    found = re.search(rf'<{name} id="(\w+)">\n(.*?)\n</{name} id="\1">', asked, re.DOTALL)
    assert found, asked
    return found[2]


def numbers(chat: Chat, name: str = "messages") -> list[int]:
    """Of the messages that are shown."""
    return [int(n) for n in re.findall(r"^\[(\d+)\] ", block(chat, name), re.MULTILINE)]


def ref(chat: Chat, part: str) -> str:
    """The reference of the known entry that has this in it."""
    [found] = [line for line in block(chat, "known").splitlines() if part in line]
    return found.split()[0]


def ends(chat: Chat) -> bool:
    return "write exactly one handoff" in chat.messages[0][1]


# --- what a model answers ----------------------------------------------------------------


def answer(*lines: str) -> str:
    return "\n".join(lines)


def line(kind: str, content: str, /, *evidence: int, **more: Any) -> str:
    fields = {"type": kind, "content": content, "evidence": list(evidence)} | more
    return json.dumps({name: value for name, value in fields.items() if value is not None})


def fact(content: str, /, *evidence: int, **more: Any) -> str:
    return line("fact", content, *evidence, **more)


def task(content: str, /, *evidence: int, status: str = "open", **more: Any) -> str:
    return line("task", content, *evidence, status=status, **more)


def decision(content: str, /, *evidence: int, **more: Any) -> str:
    return line("decision", content, *evidence, **more)


def question(content: str, /, *evidence: int, **more: Any) -> str:
    return line("question", content, *evidence, **more)


def handoff(content: str = "This is where we are", **more: Any) -> str:
    """Unless a test says so, in words that are true of anything."""
    return json.dumps({"type": "handoff", "content": content} | more)


def per_message(*also: str) -> Callable[[Chat], str]:
    """A model that keeps each new message of the user as a fact, word for word."""

    def reply(chat: Chat) -> str:
        said = re.findall(r"^\[(\d+)\] user.*\n    (.*)$", block(chat, "messages"), re.MULTILINE)
        lines = [fact(text, int(number)) for number, text in said]
        return answer(*lines, *also, *([handoff()] if ends(chat) else [])) or '{"type":"nothing"}'

    return reply


def by_rules(tale: Tale) -> list[Entry]:
    """Catch up without a model; then there is one. What rules have found."""
    tale.settings(main="")
    tale.memory.catch_up()
    tale.settings()
    return [entry for entry in tale.log() if entry.by == "rules"]
