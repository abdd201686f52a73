"""Whatever was said, and whatever things are called: a note stays a note, and links lead on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notes.test_pages import Shelf, shelf
from wakebook.base import markdown
from wakebook.log.subjects import Registry, Subject
from wakebook.notes import page as pages
from wakebook.notes.book import NOTHING

__all__ = ["shelf"]  # the fixture

_NASTY = [
    "<!-- wakebook:end notes -->",
    "one\n<!-- wakebook:begin notes -->\ntwo",
    "see [[nowhere]] and [[a|b]]",
    "a\u2028# heading\x85- [ ] x\x0b\x0c",
    "```\ncode",
    "~~gone~~ and **bold**",
    "---\nupdated: never\n---",
    "<!-- wakebook:sum 000000000000 -->",
    "# Title",
    "x" * 5000,
    "[x] done?",
    "\x00\x1b[31mred",
]


@pytest.mark.parametrize("content", _NASTY, ids=range(len(_NASTY)))
def test_whatever_was_said_stays_one_line_of_words(shelf: Shelf, content: str) -> None:
    kinds: list[dict[str, Any]] = [{}, {"type": "decision"}, {"type": "question"}]
    for fields in (*kinds, {"kind": "procedure"}):
        shelf.say(content, detail=content, **fields)
    shelf.task(content)
    shelf.say(content, type="handoff")
    for page in shelf.book.all_pages():
        for block in shelf.book.blocks(page):
            text = markdown.put("mine\n", block.name, block.text) + "mine too\n"
            there = markdown.block(text, block.name)
            assert there is not None
            assert not there.edited
            assert list(there.lines) == block.text
            assert text.endswith("-->\nmine too\n")
            assert all(
                line.startswith(("- ", "## ")) or line in ("", NOTHING) for line in there.lines
            )
            assert all(len(line) < 1300 for line in there.lines)
            targets = {target for _, target in pages.links_in(text)}
            assert not targets & {"nowhere", "a"}


@pytest.mark.parametrize("shown", ["a]] b", "x|y", "two\nlines", "<!-- x -->", "  ", "[[z]]"])
def test_whatever_a_subject_is_called_its_link_leads_to_it(shelf: Shelf, shown: str) -> None:
    shelf.registry = Registry({"auth": Subject("auth", shown)})
    shelf.say("a fact")
    [heading, *_] = shelf.lines("journal/2026-11-09")
    assert [target for _, target in pages.links_in(heading)] == ["projects/auth/context"]
    assert "\n" not in heading
    assert "<!--" not in heading


def test_plain_and_linked() -> None:
    assert pages.plain("a\n b\u2028c", 10) == "a b c"
    assert pages.plain("x" * 20, 10) == "x" * 9 + "…"
    assert pages.linked("on [[2026-11-09]] and [[evil]]") == "on [[2026-11-09]] and [ [evil] ]"


# --- links --------------------------------------------------------------------------------


def test_links_are_found_outside_of_code() -> None:
    text = (
        "[[a]] and [[b|shown]] and [[c#part]] and ![[d.png]]\n"
        "`[[no]]` and \\[[no]]\n```\n[[no]]\n```\n[[#here]]\n| [[e\\|table]] |\n"
    )
    found = pages.links_in(text)
    assert found == [(1, "a"), (1, "b"), (1, "c"), (1, "d.png"), (7, "e")]


def test_a_target_is_the_end_of_a_path_with_or_without_its_ending() -> None:
    targets = pages.targets(["knowledge/projects/auth/context.md", "attachments/plan.pdf"])
    for name in ("projects/auth/context", "context", "Context.md", "plan.pdf", "./context"):
        assert pages.target(name) in targets, name
    for name in ("auth", "ext", "projects/context", "plan"):
        assert pages.target(name) not in targets, name
