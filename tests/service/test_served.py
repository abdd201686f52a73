"""The command line with the service up, without it, and after it was killed: the same."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.hooking import contents, failures
from tests.journeys.command import call
from tests.lend import entry, known
from tests.service.serving import serving
from tests.story import WORKDAY, Claude, chat
from wakebook import Memory, WakebookError
from wakebook.base.errors import NotFound
from wakebook.service.client import Served

LINES: list[list[str]] = [
    ["search", "which", "database", "for", "the", "bookings"],
    ["search", "--type", "task", "--status", "open"],
    ["search", "--subject", "kiosk", "--all"],
    ["search", "--since", "30d", "Postgres", "-n", "2", "--explain"],
    ["search", "--sessions", "insurance"],
    ["search", "--min-score", "1", "zebra", "crossing"],
    ["search", "--category", "conversation", "launch"],
    ["search"],
    ["show", "ENTRY"],
    ["show", "session:5e55"],
    ["show", "session:5e55", "--lines", "4", "--from", "2"],
    ["show", "session:nobody"],
    ["show", "nobody-at-all"],
    ["show", "log.jsonl", "--lines", "1"],
    ["show", "subjects.json#999"],
    ["show", "../outside.md"],
    ["show", "./token"],
    ["context", "Which database for the bookings?"],
    ["context", "Which database?", "--budget", "1"],
    ["context", "hi", "--have", "no-such-slot"],
    ["remember", ""],
    ["remember", "x", "--type", "rumour"],
    ["remember", "x", "--replaces", "nobody-at-all"],
]
JOBS = ("observe", "commit", "briefing", "daily", "weekly", "monthly", "topics", "prune", "tags")
VARY = ("steps", "ms")  # how long it took


@pytest.fixture
def full(memory: Memory, projects: Path) -> Memory:
    chat(Claude(projects), WORKDAY)
    memory.log.add_subject("kiosk")
    memory.catch_up(closing=True)
    known(
        memory,
        entry(1, "Paint the kiosk's sign", "task", subject="kiosk"),
        entry(1, "Who owns the kiosk's relay?", "question", subject="kiosk"),
    )
    memory.notes.brief(ask=False)
    memory.notes.update()
    memory.index.sync()
    off = "".join(f'{name} = ""\n' for name in JOBS)  # they would change what is told
    memory.home.config.write_text(f"[schedule]\n{off}")
    return Memory(memory.home.root)


def said(memory: Memory, line: list[str], *more: str) -> tuple[int, Any, str]:
    """Exit code, what was printed, and the errors."""
    one = next(iter(memory.log.chains().entries)).id
    words = [word.replace("ENTRY", one) for word in line]
    done = call(*words, *more, "--home", str(memory.home.root))
    assert b"Traceback" not in done.err
    out: Any = done.out.decode()
    if "--json" in more and out:
        out = without_times(json.loads(re.sub(r"entry '.{12}'", "entry", out)))
    return done.code, out, done.err.decode("utf-8", "replace")


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if key not in VARY}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def test_every_answer_and_every_error_is_the_same(full: Memory) -> None:
    alone = [said(full, line, "--json") for line in LINES]
    with serving(full.home.root) as service:
        served = [said(full, line, "--json") for line in LINES]
        service.stop(signal.SIGKILL)
        killed = [said(full, line, "--json") for line in LINES]
    for line, one, other, last in zip(LINES, alone, served, killed, strict=True):
        assert other == one, line
        assert last == one, line
    assert {one[0] for one in alone} >= {0, 1, 2}


def test_what_people_see_is_the_same(full: Memory) -> None:
    lines = [line for line in LINES if "--explain" not in line][:12]
    alone = [said(full, line) for line in lines]
    with serving(full.home.root):
        served = [said(full, line) for line in lines]
    for line, one, other in zip(lines, alone, served, strict=True):
        assert other == one, line


def test_what_is_remembered_through_the_service_is_an_entry_like_any(full: Memory) -> None:
    words = ["remember", "The ferry leaves at 07:40", "--type", "decision", "--subject", "kiosk"]
    detail = ["--detail", "Only on weekdays.", "--pin"]
    code, alone, _ = said(full, [*words, *detail], "--json")
    assert code == 0
    with serving(full.home.root):
        code, served, _ = said(full, [*words, *detail], "--json")
        assert code == 0
    kinds = [{key: type(value) for key, value in one.items()} for one in (alone, served)]
    assert kinds[0] == kinds[1]
    assert {key: value for key, value in alone.items() if key != "id"} == {
        key: value for key, value in served.items() if key != "id"
    }
    assert contents(full).count("The ferry leaves at 07:40") == 2


def test_a_service_is_really_asked(full: Memory) -> None:
    """It is stopped, so that who asks it has to wait, and does the work itself in the end."""
    with serving(full.home.root) as service:
        before = service.ask("/metrics").body.decode()
        assert said(full, LINES[0])[0] == 0
        after = service.ask("/metrics").body.decode()
    assert before != after
    assert "/v1/search" in after


def test_errors_have_the_class_that_they_would_have_had(full: Memory) -> None:
    def raised(memory: Memory) -> list[tuple[type, str]]:
        found: list[tuple[type, str]] = []
        for work in (
            lambda: memory.get("nobody-at-all"),
            lambda: memory.get("session:nobody"),
            lambda: memory.get("a\0b.md"),
            lambda: memory.get("x" * 5_000 + ".md"),
            lambda: memory.context("x", budget=1),
            lambda: memory.context("x", have=("nothing",)),
            lambda: memory.context("x", kind="nobody"),
            lambda: memory.remember(""),
            lambda: memory.remember("x", type_="rumour"),
            lambda: memory.remember("x", replaces=["nobody-at-all"]),
            lambda: memory.search("x", limit=-1),
        ):
            with pytest.raises(WakebookError) as caught:
                work()
                raise WakebookError("nothing was wrong")
            found.append((caught.type, re.sub(r"entry '.{12}'", "entry", str(caught.value))))
        return found

    alone = raised(Memory(full.home.root))
    with serving(full.home.root):
        served = raised(Served(full.home.root))
    assert served == alone
    assert alone[0][0] is NotFound


def test_answers_have_the_types_that_they_would_have_had(full: Memory) -> None:
    alone = Memory(full.home.root)
    with serving(full.home.root):
        served = Served(full.home.root)
        one = next(iter(alone.log.chains().entries)).id
        assert served.get(one) == alone.get(one)
        assert served.get("log.jsonl", 1, 2) == alone.get("log.jsonl", 1, 2)
        found, expected = served.search("Postgres bookings"), alone.search("Postgres bookings")
        assert found.hits == expected.hits
        assert found.notes == expected.notes
        asked = "Which database for the bookings?"
        context = served.context(asked, skip=("memory",), told="x", paths=("a.py",))
        own = alone.context(asked, skip=("memory",), told="x", paths=("a.py",))
        assert (context.text, context.slots) == (own.text, own.slots)
    assert failures(full) == []


def test_strange_words_reach_the_service(full: Memory) -> None:
    with serving(full.home.root):
        served = Served(full.home.root)
        for text in ("a\x00b", "caf\udce9", "x" * 300_000, "\u2028\u202e", '"\\'):
            served.search(text)
            served.context(text)
    assert failures(full) == []
