"""The timeline and the transcripts of the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.page.asking import links, markup, talk, text
from tests.story import NEXT_DAY, Claude, chat
from wakebook import Memory
from wakebook.base.errors import NotFound
from wakebook.capture import archive, shelf

OTHER = "5e551011-0000-4000-8000-000000000002"


@pytest.fixture
def two(knowing: Memory, projects: Path) -> Memory:
    chat(Claude(projects, OTHER).pause(hours=20), NEXT_DAY)
    knowing.catch_up(closing=True)
    return knowing


def paths(memory: Memory) -> list[str]:
    return [one.path for one in shelf.shelved(memory.home, 10)]


def test_conversations_are_listed_newest_first(two: Memory) -> None:
    shown = text(two, "/conversations")
    assert "2 conversations" in shown
    assert shown.index("No, actually the launch") < shown.index("Good morning!")
    assert "6 turns" in shown and "learned" in shown


def test_a_list_goes_on_behind_the_last_one(two: Memory) -> None:
    newest, oldest = paths(two)
    assert [one.path for one in shelf.shelved(two.home, 10, before=newest)] == [oldest]
    assert "No, actually" not in text(two, f"/conversations?before={newest}")
    assert shelf.shelved(two.home, 10, before=oldest) == []


@pytest.mark.parametrize(
    "query, number",
    [("q=LAUNCH+actually", 1), ("q=nothing+like+it", 0), ("host=claude-code", 2), ("host=pi", 0)],
)
def test_conversations_are_found_by_what_they_say_of_themselves(
    two: Memory, query: str, number: int
) -> None:
    found = {one for one in links(two, f"/conversations?{query}") if one.endswith(".md")}
    assert len(found) == number


def test_a_transcript_is_a_chat_with_entries_in_its_margin(two: Memory) -> None:
    shown = markup(two, f"/conversations/{paths(two)[1]}")
    assert shown.count('<article class="turn') == 6
    entry = next(one for one in two.log.chains().entries if "Postgres" in one.content)
    margin = shown.index(f"/page/entry/{entry.id}", shown.index('id="t1"'))  # not the strip's list
    assert shown.index('id="t1"') < margin < shown.index('id="t2"')


def test_the_strip_counts_what_the_margin_has(two: Memory) -> None:
    for path in paths(two):
        strip, _, turns = markup(two, f"/conversations/{path}").partition('id="chat"')
        learned = {*re.findall('/page/entry/([^"/]+)', turns)}
        assert {*re.findall('/page/entry/([^"/]+)', strip)} == learned
        assert {*re.findall(r"(\d+) entr\w+ learned", strip)} == {str(len(learned))}
        assert f">{len(learned)} learned<" in turns


@pytest.mark.parametrize(
    "name", ["../../../token", "raw/conversations/../../config.toml", "2026/11/08/none.md", "token"]
)
def test_only_transcripts_are_shown(two: Memory, name: str) -> None:
    with pytest.raises(NotFound, match="no conversation"):
        text(two, f"/conversations/{name}")


def test_parts_of_a_transcript_are_what_the_whole_has(two: Memory) -> None:
    for path in paths(two):
        whole = archive.read(two.home, path).turns
        assert list(shelf.part(two.home, path, 1, 100).turns) == whole
        assert list(shelf.part(two.home, path, 3, 2).turns) == whole[2:4]


def test_a_heading_in_a_text_begins_no_turn(memory: Memory, projects: Path) -> None:
    said = "Look:\n## 10:00 — user\n<!-- date: 2020-01-01 -->\nand so on"
    chat(Claude(projects), [("user", said), ("agent", "I see.")])
    memory.catch_up(closing=True)
    [path] = paths(memory)
    assert list(shelf.part(memory.home, path, 1, 9).turns) == archive.read(memory.home, path).turns


def test_a_conversation_of_10_megabytes_comes_in_parts(memory: Memory) -> None:
    long = "The harbour has a long story. " * 20_000
    path = talk(memory, [f"{number}: {long}" for number in range(18)])
    first = markup(memory, f"/conversations/{path}")
    assert len(first) < 200_000
    later = next(one for one in links(memory, f"/conversations/{path}") if "from=" in one)
    assert "Turns 7 to 12 of 18" in text(memory, later)
    alone = f"/conversations/{path}?turn=3"
    assert len(markup(memory, alone)) < 200_000
    assert any("letter=60000" in one for one in links(memory, alone))


def test_what_was_forgotten_is_not_in_the_title(two: Memory) -> None:
    entry = next(one for one in two.log.chains().current() if "21 November" in one.content)
    two.forget([entry.id])
    assert "21 November" not in text(two, "/conversations")
    for path in paths(two):
        assert "21 November" not in text(two, f"/conversations/{path}")


def test_a_file_that_is_no_transcript_is_listed_as_one(two: Memory) -> None:
    (two.home.root / paths(two)[0]).with_name("0000-broken.md").write_text("no front")
    assert "cannot be read: it has no frontmatter" in text(two, "/conversations")


def test_an_empty_home_says_what_to_do(memory: Memory) -> None:
    assert "wakebook setup" in text(memory, "/conversations")
