"""What is done in the page: each action has a way back, or says first that it has none."""

from __future__ import annotations

import pytest

from tests.page.asking import do, forms, markup, text, undo
from wakebook import Memory
from wakebook.base.errors import NotFound, WakebookError
from wakebook.log.entry import Entry
from wakebook.service.page import behind, undoing


@pytest.fixture
def launch(memory: Memory) -> Entry:
    old = memory.remember("The launch is on 14 November.", subject="tidepool")
    return memory.remember("The launch is on 21 November.", subject="tidepool", replaces=[old.id])


def said(memory: Memory) -> list[str]:
    return [one.content for one in memory.log.chains().current()]


def test_forgetting_is_taken_back_after_a_restart(memory: Memory, launch: Entry) -> None:
    assert "Time can take it back" in text(memory, f"/entry/{launch.id}/forget")
    done = do(memory, "forget", id=launch.id)
    assert said(memory) == ["The launch is on 14 November."]
    undoing.forget_all()  # as if the service had been started anew
    later = Memory(memory.home.root)
    [form] = [one for one in forms(later, "/time") if one["do"] == "undo"]
    assert form["commit"] == done.fields["commit"]
    undo(later, done)
    assert said(later) == ["The launch is on 21 November."]
    assert "remembered again" in text(later, "/time")
    with pytest.raises(NotFound, match="already"):
        do(later, **form)


def test_what_was_done_can_be_undone_in_time_as_well(memory: Memory, launch: Entry) -> None:
    done = do(memory, "correct", id=launch.id, text="The launch is on 28 November.")
    assert "Corrected. " in text(memory, "/time")
    [form] = [one for one in forms(memory, "/time") if one["do"] == "back"]
    do(memory, **form)
    assert said(memory) == [launch.content]
    with pytest.raises(NotFound, match="already"):
        undo(memory, done)


def planned(memory: Memory, address: str) -> str:
    """The plan is made by a process: it takes a moment."""
    for _ in range(60):
        if "being looked through" not in (shown := text(memory, address)):
            return shown
        behind.ask(memory.home, "status")
    raise AssertionError(shown)


def test_erasing_shows_what_follows_and_asks_for_a_word(memory: Memory) -> None:
    code = memory.remember("The alarm code of the boathouse is 4471 9932.", subject="boathouse")
    kept = memory.remember("The boathouse is painted green.", subject="boathouse")
    memory.history.commit()
    assert "Erase …" in text(memory, f"/entry/{code.id}")
    shown = planned(memory, f"/erase?entry={code.id}")
    assert "There is no undo" in shown and "log.jsonl" in shown and "commit" in shown
    assert "browser’s own history" in shown and "backups" in shown
    [form] = [one for one in forms(memory, f"/erase?entry={code.id}") if one["do"] == "erase"]
    with pytest.raises(WakebookError, match="type the word"):
        do(memory, **form, word="yes")
    assert len(said(memory)) == 2
    done = do(memory, **form, word="erase")
    assert "nothing is left" in done.said and "no undo" in done.said and not done.undo
    later = Memory(memory.home.root)
    assert said(later) == [kept.content] and undoing.listed(later) == []
    with pytest.raises(NotFound):
        do(later, **form, word="erase")  # the second of two windows
    with pytest.raises(NotFound):
        markup(later, f"/erase?entry={code.id}")


def test_erasing_nothing_says_where_to_begin(memory: Memory) -> None:
    assert "Choose" in text(memory, "/erase")
    assert "no session" in planned(memory, "/erase?session=nobody")
