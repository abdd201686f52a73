"""--dry-run: what would be sent, word for word, and nothing else happens. And lent models."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.learn.telling import Busy, Tale
from tests.lend import MODEL, answers, asked, entry, equipped, goes_on, known, listened
from tests.server import Chat, ModelServer, Say
from tests.story import NEXT_DAY, WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base.errors import ConfigError
from wakebook.cli import cli


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(reply=answers(extract=lambda chat: listened(chat.prompt))) as server:
        yield server


@pytest.fixture
def spoken(memory: Memory, projects: Path) -> Memory:
    """Two conversations that nobody has read."""
    chat(Busy(projects), WORKDAY)
    chat(Busy(projects, "5e551011-0000-4000-8000-000000000002").pause(hours=12), NEXT_DAY)
    return memory


def run(memory: Memory, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(memory.home.root), *arguments])


def rehearsed(memory: Memory, *command: str) -> tuple[str, Any]:
    """What a dry run prints, for people and for machines. It must leave everything as it was."""
    before = digest(memory)
    shown = run(memory, *command, "--dry-run")
    assert shown.exit_code == 0, shown.output
    machine = run(memory, *command, "--dry-run", "--json")
    assert digest(memory) == before
    assert not list(memory.home.root.glob("**/rehearsal-*"))
    return shown.output, json.loads(machine.output)


def digest(memory: Memory) -> dict[str, str]:
    """Every file of the home, but for locks and caches, and the hosts' sessions."""
    found = {}
    for root in (memory.home.root, Path.home()):
        for path in root.rglob("*"):
            cached = ".cache" in path.parts or path.parts[-2:] == (".git", "index")
            if path.is_file() and path.name != ".lock" and not cached:
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def test_a_catch_up_is_shown_as_it_will_be_sent(spoken: Memory, server: ModelServer) -> None:
    memory = equipped(spoken, server)
    text, plan = rehearsed(memory, "catch-up")
    assert server.requests == []
    assert [call["operation"] for call in plan["calls"]] == ["extract", "extract"]
    memory.catch_up()
    first, planned = server.chats[0], plan["calls"][0]
    assert (planned["system"], planned["message"]) == (first.system, first.prompt)
    assert first.system in text and first.prompt in text
    assert planned["model"] == MODEL
    assert "2 calls, about" in text and "Nothing was sent, nothing was changed." in text
    assert plan["cost"] > 0 and plan["unpriced"] == []


def test_an_upgrade_is_shown_as_it_will_be_sent(spoken: Memory, server: ModelServer) -> None:
    spoken.catch_up()
    memory = equipped(spoken, server, off=["commit"])
    text, plan = rehearsed(memory, "catch-up", "--upgrade")
    assert server.requests == []
    assert len(plan["calls"]) == 2
    memory.upgrade()
    first, planned = server.chats[0], plan["calls"][0]
    assert (planned["system"], planned["message"]) == (first.system, first.prompt)
    assert first.prompt in text
    assert run(memory, "catch-up", "--upgrade", "--dry-run").output.startswith("● Nothing would")
    assert memory.upgrade().transcripts == 0


def test_a_briefing_is_shown_as_it_will_be_sent(memory: Memory, server: ModelServer) -> None:
    memory = equipped(memory, server)
    known(
        memory,
        entry(3, "The relay retries twice [red]", subject="relay"),
        entry(1, "The relay retries five times", subject="relay"),
    )
    text, plan = rehearsed(memory, "brief")
    assert server.requests == []
    memory.notes.brief()
    assert asked(server)[0] == "briefing" and "contradictions" in asked(server)
    for operation in ("briefing", "contradictions"):
        sent = server.chats[asked(server).index(operation)]
        [planned] = [call for call in plan["calls"] if call["operation"] == operation]
        assert (planned["system"], planned["message"]) == (sent.system, sent.prompt)
        assert sent.prompt in text


def test_a_briefing_of_which_the_most_is_known_shows_only_the_rest(
    memory: Memory, server: ModelServer
) -> None:
    memory = equipped(memory, server, off=["commit", "contradictions"])
    known(
        memory,
        entry(3, "The relay retries twice", subject="relay"),
        entry(1, "The berth has a fuse of 10 A", subject="berth"),
    )
    server.reply = answers(briefing=goes_on)
    memory.notes.brief()
    memory.remember("The relay retries five times", subject="relay")
    _, plan = rehearsed(memory, "brief")
    memory.notes.brief()
    assert [call["message"] for call in plan["calls"]] == [server.chats[-1].prompt]
    assert rehearsed(memory, "brief")[1]["calls"] == []


def test_a_commit_is_shown_as_it_will_be_sent(memory: Memory, server: ModelServer) -> None:
    memory = equipped(memory, server)
    memory.history.commit("settings")
    known(memory, entry(0, "The launch is on 21 November"))
    text, plan = rehearsed(memory, "commit")
    assert server.requests == []
    assert memory.status().uncommitted == 1
    memory.history.commit()
    [sent], [planned] = server.chats, plan["calls"]
    assert (planned["system"], planned["message"]) == (sent.system, sent.prompt)
    assert sent.prompt in text and "21 November" in text
    assert run(memory, "commit", "--dry-run", "-m", "by hand").output.startswith("● Nothing would")


@pytest.mark.parametrize("command", [("catch-up",), ("brief",), ("commit",)])
def test_without_a_model_nothing_would_be_sent(spoken: Memory, command: tuple[str, ...]) -> None:
    text, plan = rehearsed(spoken, *command)
    assert text == "● Nothing would be sent to a model.\n"
    assert (plan["calls"], plan["cost"], plan["unpriced"]) == ([], 0, [])


def test_no_key_is_needed(spoken: Memory) -> None:
    spoken.home.config.write_text(f'[models]\nmain = "{MODEL}"\n')
    text, _ = rehearsed(spoken, "catch-up")
    assert "Let's go with Postgres" in text


def test_all_parts_of_a_long_conversation_are_shown(
    memory: Memory, projects: Path, server: ModelServer
) -> None:
    claude = Claude(projects)
    for number in range(40):
        claude.user(f"Note {number}: " + "the launch is planned for November. " * 20)
        claude.agent("Noted.")
    memory = equipped(memory, server, request_tokens=2000, off=["commit"])
    text, plan = rehearsed(memory, "catch-up")
    assert len(plan["calls"]) > 3
    assert all(f"Note {number}: " in text for number in range(40))
    memory.catch_up()
    assert server.chats[0].prompt == plan["calls"][0]["message"]
    assert len(server.chats) == len(plan["calls"])


def test_a_price_that_is_not_known_is_told(spoken: Memory, server: ModelServer) -> None:
    memory = equipped(spoken, server, main="anthropic/claude-unheard-of")
    text, plan = rehearsed(memory, "catch-up")
    assert "the price of anthropic/claude-unheard-of is not known" in text
    assert plan["unpriced"] == ["anthropic/claude-unheard-of"]


def test_a_prompt_that_is_broken_is_told_by_the_dry_run(
    spoken: Memory, server: ModelServer
) -> None:
    memory = equipped(spoken, server)
    (memory.home.root / "prompts" / "extract.md").write_text("Read this.")
    done = run(memory, "catch-up", "--dry-run")
    assert done.exit_code == 1
    assert "is no prompt" in done.output  # bug: problems are in the JSON only


def test_a_spent_budget_is_told_by_the_dry_run(spoken: Memory, server: ModelServer) -> None:
    memory = equipped(spoken, server, monthly_budget=1.0)
    server.script(Say("ok", tokens=(1_000_000, 0, 0)))
    memory.models.ask("commit", files="log.jsonl", diff="+ The port is 9090.")
    text, plan = rehearsed(memory, "catch-up")
    assert "The monthly budget of $1.00 is used up" in text  # bug: the same
    assert "used up" in plan["problems"][0]


def test_a_conversation_that_goes_on_is_not_counted_as_read_again(
    memory: Memory, projects: Path, server: ModelServer
) -> None:
    claude = Claude(projects)
    claude.at = datetime(2026, 11, 9, 7, 50, tzinfo=UTC)
    chat(claude, WORKDAY)
    assert memory.catch_up().entries
    memory = equipped(memory, server)
    done = memory.upgrade()
    assert server.requests == []
    assert done.transcripts == 0


def test_an_upgrade_without_a_model_says_what_to_do(memory: Memory) -> None:
    for arguments in (["--upgrade"], ["--upgrade", "--dry-run"]):
        done = run(memory, "catch-up", *arguments)
        assert isinstance(done.exception, ConfigError)
        assert "name one as main in [models]" in str(done.exception)


# --- a model that the host lends ---------------------------------------------------------


def test_a_lent_model_reads_without_any_settings(spoken: Memory) -> None:
    questions: list[tuple[str, str, int]] = []

    def lend(system: str, prompt: str, most: int) -> str:
        questions.append((system, prompt, most))
        reply = answers(extract=lambda chat: listened(chat.prompt))
        return reply(Chat("openai", "", system, prompt, [], None, None, {}, {}))

    memory = Memory(spoken.home.root, lend=lend)
    assert memory.catch_up().entries
    assert {one.by for one in memory.log.chains().current()} == {"host extract/3"}
    assert memory.status().models == {"main": "host", "cheap": "host"}
    assert all(most > 1000 for _, _, most in questions[:2])
    assert memory.costs("model").groups[0].name == "host"


def test_a_host_that_lends_nothing_is_waited_for_an_hour(
    spoken: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoken.home.config.write_text('[models]\nmain = "host"\n')
    memory = Memory(spoken.home.root)
    first = memory.catch_up()
    assert first.entries == 0
    assert all("nothing has lent its model" in error for error in first.held.values())
    assert len(first.held) == 2
    assert len(memory.catch_up().held) == 2  # its own process may read it yet
    assert all("nothing has lent" in one.note for one in memory.status().accounts)
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T09:30:00Z")
    second = memory.catch_up()
    assert second.covered and second.entries and not second.held
    assert {one.by for one in memory.log.chains().current()} == {"rules"}
    assert any("nothing has lent its model" in line for line in memory.status().problems)


class Unforeseen(Exception):
    """What a host's own library raises; hardly any derive from OSError."""


def _raises(error: Exception) -> Callable[[str, str, int], str]:
    def lend(system: str, prompt: str, most: int) -> str:
        raise error

    return lend


@pytest.mark.parametrize("error", [OSError("gone"), RuntimeError("gone"), Unforeseen("gone")])
def test_a_lent_model_that_raises_is_a_model_that_fails(spoken: Memory, error: Exception) -> None:
    memory = Memory(spoken.home.root, lend=_raises(error))
    assert all("gone" in one for one in memory.catch_up().held.values())
    memory.notes.brief()
    assert memory.catch_up().covered
    memory.history.commit()


@pytest.mark.parametrize("answer", [None, 3, b"bytes"])
def test_a_lent_model_that_answers_no_text_is_a_model_that_fails(
    spoken: Memory, answer: Any
) -> None:
    memory = Memory(spoken.home.root, lend=lambda system, prompt, most: answer)
    done = memory.catch_up()
    assert len(done.held) == 2 and not done.failed


def test_a_long_upgrade_is_shown_to_its_end(tale: Tale) -> None:
    tale.settings("none")
    for number in range(1, 6):
        said = f"We decided to run the relay on port 808{number}."
        tale.talk(said, "Noted.", number=number)
    tale.memory.catch_up()
    tale.settings()
    with tale.memory.rehearsal() as copy:
        copy.upgrade()
        assert len(copy.models.planned) == 5
    assert tale.asked == []
