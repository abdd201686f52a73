"""A new topic file, with every key that it may have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recall.topics.making import equip, problems, text
from wakebook.base.errors import WakebookError


@pytest.mark.parametrize(
    "about",
    [
        "",
        "When a boat comes in.",
        'A "quoted": {about} # no comment',
        "two\nlines",
        "Fähre — 港",
        "a bell \x07 and \x7f",
        "half \ud83d",
    ],
)
def test_a_new_topic_is_one(tmp_path: Path, about: str) -> None:
    memory = equip(tmp_path / "h", {})
    path = memory.topics.new("harbour/boat-day", about)
    assert path == memory.home.root / "topics" / "harbour" / "boat-day.md"
    assert problems(memory) == {}
    found = memory.topics.read().get("harbour/boat-day")
    assert found is not None
    assert (found.title, found.activation, found.priority) == ("Boat day", "gated", "medium")
    if about.isprintable():
        assert found.description == about or "boat day" in found.description
    assert [one.label for one in found.triggers] == ["keyword boat day"]


@pytest.mark.parametrize("name", ["", "A", "a b", "../x", "/x", "a/", "a//b", "-a", "x.md", "a\n"])
def test_names_that_are_none(tmp_path: Path, name: str) -> None:
    memory = equip(tmp_path / "h", {})
    with pytest.raises(WakebookError, match="is no name for a topic"):
        memory.topics.new(name)
    assert list((memory.home.root / "topics").iterdir()) == []


def test_a_new_topic_replaces_none(tmp_path: Path) -> None:
    memory = equip(tmp_path / "h", {"x": text()})
    with pytest.raises(WakebookError, match=r"topics/x\.md is there already"):
        memory.topics.new("x")
    assert (memory.home.root / "topics" / "x.md").read_text() == text()
