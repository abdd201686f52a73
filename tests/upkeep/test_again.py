"""What was forgotten is remembered again, as long as git's history knows it."""

from __future__ import annotations

import pytest

from wakebook import Memory
from wakebook.base.errors import NotFound


def said(memory: Memory) -> list[str]:
    return [one.content for one in memory.log.chains().current()]


def test_a_forgetting_is_taken_back_by_another_process(memory: Memory) -> None:
    old = memory.remember("The launch is on 14 November.", subject="tidepool")
    new = memory.remember("The launch is on 21 November.", subject="tidepool", replaces=[old.id])
    memory.forget([new.id])
    assert said(memory) == ["The launch is on 14 November."]
    later = Memory(memory.home.root)
    [gone] = later.forgettings.listed()
    assert gone.entries == (new,) and not gone.undone
    [again] = later.forgettings.take_back(gone.commit[:7])
    assert again.content == new.content and again.id != new.id
    assert again.replaces == (old.id,) and said(later) == ["The launch is on 21 November."]
    assert later.forgettings.listed()[0].undone
    with pytest.raises(NotFound, match="already"):
        later.forgettings.take_back(gone.commit)
    with pytest.raises(NotFound, match="--list"):
        later.forgettings.take_back("0000000")


def test_a_whole_story_comes_back_in_its_order(memory: Memory) -> None:
    old = memory.remember("The launch is on <b>14</b> November, \x1b 🚤.")
    new = memory.remember("The launch is on 21 November.", replaces=[old.id])
    kept = memory.remember("The boat is called Otter.")
    memory.forget([new.id], chain=True)
    [gone] = memory.forgettings.listed()
    first, last = memory.forgettings.take_back(gone.commit)
    assert last.replaces == (first.id,) and first.content == old.content
    assert said(memory) == [kept.content, "The launch is on 21 November."]


def test_what_was_corrected_already_does_not_come_back(memory: Memory) -> None:
    old = memory.remember("The launch is on 14 November.")
    new = memory.remember("The launch is on 21 November.", replaces=[old.id])
    memory.forget([old.id])
    assert memory.forgettings.listed() == [] and said(memory) == [new.content]


def test_nothing_is_left_to_bring_back_after_an_erasure(memory: Memory) -> None:
    secret = memory.remember("The alarm code of the boathouse is 4471 9932.")
    memory.remember("The boat is called Otter.")
    memory.forget([secret.id])
    assert memory.eraser.erase(secret.content).well
    assert memory.forgettings.listed() == []
