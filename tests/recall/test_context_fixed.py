"""What every context begins with: identity, memory, projects, handoff, journal."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.recall.contexts import TODAY, YESTERDAY, fences, slot
from tests.store.making import NOW, WORDS_ALONE, append, entry, fresh, note
from tests.story import Claude
from wakebook import Memory
from wakebook.base import cache
from wakebook.recall.context import LEAST
from wakebook.recall.slot import BACKGROUND, STANDING


@pytest.fixture
def home(tmp_path: Path) -> Memory:
    return fresh(tmp_path / "home", WORDS_ALONE)


def test_identity_in_the_order_of_the_hosts(home: Memory) -> None:
    for file in ("ZOO", "USER", "IDENTITY", "TOOLS", "SOUL", "BARN", "AGENTS"):
        note(home, f"knowledge/identity/{file}.md", f"words of {file}\n")
    note(home, "knowledge/identity/notes.txt", "no words of this\n")
    text = home.context().text
    assert re.findall(r"^# (\w+)$", text, re.M) == (
        "AGENTS SOUL TOOLS IDENTITY USER BARN ZOO".split()
    )
    assert "no words" not in text


def test_an_oversized_slot_is_cut_at_a_section_and_says_so(home: Memory) -> None:
    for number in range(30):
        lines = "\n".join(f"- rule {number}.{n} of the barn" for n in range(10))
        file = home.home.root / "knowledge/identity/AGENTS.md"
        before = file.read_text() if file.exists() else "# Rules\n"
        note(home, "knowledge/identity/AGENTS.md", f"{before}\n## Part {number}\n\n{lines}\n")
    found = home.context(budget=1000)
    cut = slot(found, "identity")
    assert "left out: Part " in cut.note and "more" in cut.note
    last = fences(found.text)[STANDING].split("\n")[-1]
    assert last.startswith("[… left out: Part ")
    assert last.endswith("; see knowledge/identity/AGENTS.md]")
    told = re.findall(r"rule (\d+)\.", found.text)
    assert all(told.count(number) == 10 for number in set(told)) and len(set(told)) >= 2
    assert cut.tokens <= cut.budget <= 500


@pytest.mark.parametrize("long", ["AGENTS", "SOUL", "ZOO"])
def test_a_long_file_does_not_push_out_a_short_one(home: Memory, long: str) -> None:
    for file in ("AGENTS", "SOUL", "TOOLS", "ZOO"):
        note(home, f"knowledge/identity/{file}.md", f"# {file}\n\nWords of {file}.\n")
    lines = "\n".join(f"line {n} about boats" for n in range(2000))
    note(home, f"knowledge/identity/{long}.md", f"# {long}\n\nWords of {long}.\n{lines}\n")
    text = home.context(budget=LEAST).text
    told = re.findall(r"Words of (\w+)\.", text)
    assert told == ["AGENTS", "SOUL", "TOOLS", "ZOO"]
    assert f"see knowledge/identity/{long}.md]" in text


def test_a_line_that_is_cut_out_of_one_slot_is_told_in_the_next(home: Memory) -> None:
    rules = "\n".join(f"Rule number {n} is about boats and harbours." for n in range(300))
    note(home, "knowledge/identity/AGENTS.md", f"# Rules\n\n{rules}\nNever on Friday.\n")
    note(home, "knowledge/memory/MEMORY.md", "# Core\n\nNever on Friday.\n")
    found = home.context(budget=1000)
    assert found.text.count("Never on Friday.") == 1
    assert slot(found, "memory").tokens > 0


@pytest.mark.parametrize("mark", ["```", "~~~~"])
def test_code_without_an_end_ends_with_its_file(home: Memory, mark: str) -> None:
    note(home, "knowledge/identity/AGENTS.md", f"# Rules\n\n{mark}\nmake feed\n")
    note(home, "knowledge/identity/SOUL.md", "# Soul\n\nI am calm.\n")
    note(home, "knowledge/memory/MEMORY.md", f"# Core\n\n{mark}\nmake clean\n")
    text = home.context().text
    assert text.split("\n").count(mark) == 4
    assert text.index(mark, text.index("make feed")) < text.index("# Soul")


def test_the_handoff_of_the_last_session(home: Memory) -> None:
    append(home, entry(1, "We stopped early", type="handoff", session="s1", days=3))
    append(home, entry(2, "We stopped late", type="handoff", session="s2", days=1))
    for session in ("", "s1", "s2"):  # a session that goes on after its end has forgotten it
        text = home.context(session=session).text
        assert "We stopped late" in text and "We stopped early" not in text


def test_what_is_open_of_a_session_is_for_the_others(memory: Memory, projects: Path) -> None:
    """It knows itself what it has said."""
    claude = Claude(projects, "5e551011-0000-4000-8000-000000000001")
    claude.at = NOW - timedelta(hours=1)
    claude.user("Let's go with Postgres for the bookings because SQLite locks up.").agent("Fine.")
    memory.catch_up()
    assert "Session Still Open" in memory.context().text
    for session in (claude.session, f"claude-code/{claude.session}", claude.session[:8]):
        found = memory.context("bookings", session=session)
        assert "Session Still Open" not in found.text
        assert found.text.count("**user**: Let's go with Postgres") == 1  # its own words, once
        assert "# Found" not in found.text


def test_a_new_handoff_is_told_at_once(home: Memory) -> None:
    append(home, entry(1, "We stopped early", type="handoff", session="s1", days=3))
    assert "We stopped early" in home.context().text
    append(home, entry(2, "We stopped late", type="handoff", session="s2", days=1))
    assert "We stopped late" in home.context().text
    for kept in (home.home.cache / "start").glob("*.json"):
        kept.write_text(f"{cache.key(str(home.home.root))}\ngarbage")
    assert "We stopped late" in home.context().text


@pytest.mark.parametrize(
    ("zone", "days"),
    [("UTC", (8, 9)), ("Pacific/Honolulu", (7, 8)), ("Pacific/Kiritimati", (8, 9))],
)
def test_the_journal_of_today_and_yesterday(tmp_path: Path, zone: str, days: Any) -> None:
    home = fresh(tmp_path / "home", f'[schedule]\ntime_zone = "{zone}"\n')
    for day in range(5, 12):
        note(home, f"knowledge/journal/2026-11-{day:02}.md", f"- slept on day {day}\n")
    text = home.context().text
    assert tuple(map(int, re.findall(r"slept on day (\d+)", text))) == days
    assert f"# Journal 2026-11-{days[0]:02}" in text


def test_a_long_journal_of_today_leaves_out_yesterday_and_says_so(home: Memory) -> None:
    note(home, YESTERDAY, "# 2026-11-08\n\n- slept\n")
    note(home, TODAY, "# 2026-11-09\n\n" + "\n".join(f"- swam {n} miles" for n in range(400)))
    found = home.context(budget=1000)
    assert "swam 0 miles" in found.text
    assert slot(found, "journal").note
    assert "see knowledge/journal/]" in found.text
    note(home, TODAY, "# 2026-11-09\n\n- woke\n")
    text = home.context(budget=1000).text
    assert text.index("- slept") < text.index("- woke")


def test_memory_elsewhere(tmp_path: Path) -> None:
    elsewhere = tmp_path / "workspace" / "MEMORY.md"
    home = fresh(tmp_path / "home", f'[briefing]\nmemory_file = "{elsewhere}"\n')
    note(home, "knowledge/memory/MEMORY.md", "# Core\n\nthe old one\n")
    assert slot(home.context(), "memory").tokens == 0  # it is not there yet
    elsewhere.parent.mkdir()
    elsewhere.write_text("# Core\n\nThe zebra is called Otto.\n")
    found = home.context("What is the zebra called?")
    assert found.text.count("The zebra is called Otto.") == 1
    assert "the old one" not in fences(found.text)[BACKGROUND]
    assert slot(found, "memory").items[0].ref == str(elsewhere)


@pytest.mark.parametrize("relative", [False, True])
def test_memory_elsewhere_is_for_the_user_alone_too(tmp_path: Path, relative: bool) -> None:
    elsewhere = tmp_path / "workspace" / "MEMORY.md"
    path = "../workspace/MEMORY.md" if relative else elsewhere
    home = fresh(tmp_path / "home", f'[briefing]\nmemory_file = "{path}"\n{WORDS_ALONE}')
    elsewhere.parent.mkdir()
    long = " ".join(f"Zebra {n} is called Otto {n} and lives in house {n}." for n in range(40))
    elsewhere.write_text(f"# Core\n\nThe zebra is called Otto.\n{long}\n")
    text = home.context("What is the zebra called?").text
    assert text.count("The zebra is called Otto.") == text.count("called Otto 7 ") == 1
    for kind in ("group", "subagent", "cron", "hook"):
        assert "Otto" not in home.context("What is the zebra called?", kind=kind).text, kind


@pytest.mark.parametrize("path", ["knowledge/MEMORY.md", "knowledge/reference/core.md", "M.md"])
def test_memory_elsewhere_in_the_home(tmp_path: Path, path: str) -> None:
    home = fresh(tmp_path / "home", f'[briefing]\nmemory_file = "{path}"\n{WORDS_ALONE}')
    note(home, path, "# Core\n\nThe zebra is called Otto.\n")
    assert home.context("What is the zebra called?").text.count("Otto") == 1
    for kind in ("group", "subagent", "cron", "hook"):
        assert "Otto" not in home.context("What is the zebra called?", kind=kind).text, kind


def test_memory_at_the_end_of_a_very_long_path(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*(f"{'x9Qz' * 40}{n}" for n in range(5)))
    folder.mkdir(parents=True)
    lines = "\n".join(f"line {n} of boats" for n in range(400))
    (folder / "MEMORY.md").write_text(f"# Core\n\n{lines}\n")
    config = f'[briefing]\nmemory_file = "{folder}/MEMORY.md"\n{WORDS_ALONE}'
    home = fresh(tmp_path / "home", config)
    found = home.context("hello", budget=LEAST)
    assert found.tokens <= LEAST
    assert abs(found.tokens - slot(found, "memory").tokens) < 40
    assert "MEMORY.md]" in found.text


def test_people_of_a_mounted_home_are_not_for_groups(tmp_path: Path) -> None:
    other = fresh(tmp_path / "other")
    note(other, "knowledge/people/mira.md", "# Mira\n\nMira rides the zebra.\n")
    note(other, "knowledge/projects/zoo/notes.md", "# Notes\n\nThe zebra has a house.\n")
    home = fresh(tmp_path / "home", f'[mounts]\nhomes = ["{other.home.root}"]\n{WORDS_ALONE}')
    assert "Mira rides" in home.context("zebra").text
    assert "Mira rides" not in home.context("zebra", kind="group").text
