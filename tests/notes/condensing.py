"""Set-up for the tests of condensing and retiring: homes with much in them, and their notes."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.lend import NOW, entry, known
from wakebook import Memory
from wakebook.base import markdown
from wakebook.log.entry import Entry

TODAY = "journal/2026-11-09.md"
WORDS = """anchor bell boat bow buoy cabin chart compass crab crew current deck dock dolphin drift
engine ferry fish fleet float fog galley gale gull harbour haul heron hook hull island jetty keel
kelp knot lagoon lamp lantern locker mast motor net oar otter paddle pearl pier pilot plank port
pump quay raft reef rope rudder sail sand seal shell ship shore skipper sponge squid storm surf
tackle tide tiller timber trawler turtle wave whale wharf whistle winch wind wreck yacht""".split()
OWN = "## Mine\n\nMira's own words, with  two spaces \n"


# --- setting up ------------------------------------------------------------------------------


def sayings(count: int, seed: int = 1) -> list[str]:
    """Sentences that have little in common."""
    chance = random.Random(seed)
    return [f"The {' '.join(chance.sample(WORDS, 7))}" for _ in range(count)]


def day_of(count: int, seed: int = 1, days: float = 0, **fields: Any) -> list[Entry]:
    """So many facts in the morning of a day."""
    texts = sayings(count, seed)
    return [entry(days + 0.01 + n / 2000, text, **fields) for n, text in enumerate(texts)]


def note(memory: Memory, path: str) -> Path:
    return memory.home.root / "knowledge" / path


def shown(memory: Memory, path: str = TODAY, name: str = "journal") -> list[str]:
    """The lines of a block."""
    found = markdown.block(note(memory, path).read_text(), name)
    return list(found.lines) if found else []


def rollup(memory: Memory) -> list[str]:
    return shown(memory, "memory/MEMORY.md", "memory")


def text(memory: Memory, path: str = TODAY, name: str = "journal") -> str:
    return "\n".join(shown(memory, path, name))


def length(memory: Memory) -> int:
    return len(memory.home.memory.read_text().splitlines())


def own_words(memory: Memory, path: str, words: str = OWN) -> None:
    """Somebody writes at the end of a note."""
    file = note(memory, path)
    file.write_bytes(file.read_bytes() + b"\n" + words.encode())


def place(memory: Memory, path: str, part: str) -> str:
    """FILE:LINE of the line with this in it."""
    lines = note(memory, path).read_text().splitlines()
    [number] = [n for n, line in enumerate(lines, 1) if part in line]
    return f"knowledge/{path}:{number}"


def problems(memory: Memory, part: str) -> list[str]:
    return [one for one in Memory(memory.home.root).status().problems if part in one]


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime], datetime]:
    """The clock shows this from now on."""

    def go(moment: datetime) -> datetime:
        monkeypatch.setenv("WAKEBOOK_NOW", moment.isoformat())
        return moment

    return go


Go = Callable[[datetime], datetime]


@pytest.fixture
def busy(memory: Memory) -> Memory:
    """A day with far too much in it, and a few things that must not get lost."""
    known(
        memory,
        *day_of(100),
        entry(0.3, "Order the tiller for Otter", "task"),
        entry(0.3, "Who takes the ferry on Sunday?", "question"),
        entry(0.3, "The safe word is barnacle", pinned=True),
    )
    memory.notes.update()
    memory.history.commit("a busy day")
    return memory


HELD = ("Order the tiller for Otter", "Who takes the ferry on Sunday?", "The safe word is barnacle")


def week(memory: Memory, number: int, now: datetime, **fields: Any) -> list[Entry]:
    """What a week brings: two decisions, a lesson and a preference."""
    a, b, c, d = sayings(4, seed=1000 + number)
    days = (NOW - now).total_seconds() / 86400
    made = [
        entry(days + 3, f"Week {number}: {a}", "decision", **fields),
        entry(days + 2, f"Week {number}: {b}", "decision", **fields),
        entry(days + 1.5, f"Week {number}: {c}", kind="lesson", **fields),
        entry(days + 1, f"Week {number}: {d}", kind="preference", **fields),
    ]
    return list(known(memory, *made))
