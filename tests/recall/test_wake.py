from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from tests.story import WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base import cache
from wakebook.capture.clean import CLOSE, OPEN
from wakebook.log import log
from wakebook.log.entry import Entry, new_id


def test_a_new_home_wakes_with_an_honest_nothing(memory: Memory) -> None:
    text = memory.wake()
    assert text.startswith(OPEN) and text.endswith(CLOSE + "\n")
    assert "there is no handoff" in text
    assert "wakebook search" in text


def test_the_handoff_comes_with_the_decisions_and_tasks_of_its_window(
    memory: Memory, projects: Path
) -> None:
    claude = chat(Claude(projects), WORKDAY)
    memory.catch_up()
    text = memory.wake()
    handoff = text[text.index("## Last Session Handoff") : text.index("## Active")]
    assert f"Session: {claude.session} (2026-11-08T10:06:00Z)" in handoff
    assert "Decided in it:\n- Let's go with Postgres" in handoff
    assert "Its tasks:\n- [open] And remind me to send the insurance form" in handoff
    assert "## Pending" in text


def test_what_a_handoff_left_and_is_done_by_now_is_not_left(memory: Memory) -> None:
    tasks = ("I need to order the sails; the red ones.", "I need to caulk the dinghy.")
    detail = f"Asked: the boats\nLeft: {'; '.join(tasks)}\nBranch: main"
    now = memory.opened.now().astimezone(UTC)
    said: dict[str, Any] = {
        "timestamp": now,
        "session": "s",
        "transcript": "raw/conversations/one.md",
    }
    first, second = (
        Entry(id=new_id(), type="task", content=one, status="open", **said) for one in tasks
    )
    handoff = Entry(id=new_id(), type="handoff", content="Boats", detail=detail, **said)
    done: dict[str, Any] = {
        "type": "task",
        "status": "done",
        "content": first.content,
        "replaces": (first.id,),
    }
    log.append(memory.home, [first, second, handoff])
    assert f"Left: {tasks[0]}; {tasks[1]}\nBranch" in memory.wake()
    later = said | {"session": "t", "transcript": "raw/conversations/two.md"}
    log.append(memory.home, [Entry(id=new_id(), **done, **later)])
    text = memory.wake()
    assert f"Left: {tasks[1]}\nBranch: main" in text and f"- [done] {tasks[0]}" in text


def test_the_text_is_cached_until_something_changes(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = str(memory.home.root)
    assert cache.read(root, "wake.md") is None
    first = memory.wake()
    assert cache.read(root, "wake.md") == first
    memory.remember("Deploy to lagoon", type_="task")
    assert cache.read(root, "wake.md") is None
    assert "Deploy to lagoon" in memory.wake()
    assert cache.read(root, "wake.md") is not None
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-10T08:00:00Z")
    assert cache.read(root, "wake.md") is None  # a new day, a new briefing


def loaded(memory: Memory, *arguments: str) -> tuple[str, set[str]]:
    script = (
        "import sys; sys.argv = ['wakebook', *sys.argv[1:]]\n"
        "from wakebook.__main__ import main\n"
        "try: main()\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"WAKEBOOK_HOME": str(memory.home.root)},
        check=True,
    )
    return done.stdout, set(done.stderr.split())


def test_a_cached_wake_imports_next_to_nothing(memory: Memory) -> None:
    expected = memory.wake()
    for arguments in (["wake"], ["--home", str(memory.home.root), "wake"]):
        text, modules = loaded(memory, *arguments)
        assert text == expected
        heavy = {"click", "msgspec", "json", "rich", "yaml", "re", "pathlib", "asyncio", "typing"}
        assert not modules & (heavy - {"typing"}), modules & heavy
        assert len([name for name in modules if name.startswith("wakebook")]) <= 6


def test_no_command_imports_what_it_does_not_need(memory: Memory) -> None:
    _, modules = loaded(memory, "status", "--json")
    assert not modules & {"asyncio", "watchfiles", "rich", "anyio", "http"}
