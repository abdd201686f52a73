"""Entries that wait until the user accepts them are told to nobody."""

from __future__ import annotations

import pytest

from tests.journeys.command import run, run_json
from tests.story import Claude
from wakebook import Memory
from wakebook.base.errors import NotFound, WakebookError
from wakebook.log import waiting
from wakebook.log.query import Query
from wakebook.service import tools


@pytest.fixture
def asked(memory: Memory, claude: Claude) -> Memory:
    """A memory that has read a conversation, and waits for the user's word."""
    text = memory.home.config.read_text()
    memory.home.config.write_text(text.replace("[learn]\n", "[learn]\napprove = true\n"))
    memory = Memory(memory.home.root)
    memory.catch_up(closing=True)
    return memory


def test_what_waits_is_told_to_nobody_and_then_to_all(asked: Memory) -> None:
    new = asked.log.waiting()
    assert new
    assert not asked.opened.chains().entries
    said = next(one.content for one in new if one.type != "handoff")
    told = asked.wake() + asked.context(said, cwd="/home/mira/tidepool").text
    assert said not in told
    assert not [hit for hit in asked.search(Query(text=said)).hits if hit.type]
    for wide in (False, True):  # an agent finds not even the words themselves
        given = {"query": said, "everywhere": wide}
        assert said[:30] not in tools.call(asked, "memory_search", given).text
    noted = [*(asked.home.root / "knowledge").rglob("*.md")]
    assert noted and not any(said in path.read_text() for path in noted)
    assert asked.status().waiting == len(new)

    assert asked.log.accept(new[0].id, *(one.id for one in new[1:])) == new
    assert [one.id for one in asked.opened.chains().entries] == [one.id for one in new]
    assert asked.log.waiting() == []
    assert said in asked.context(said, cwd="/home/mira/tidepool").text


def test_what_was_refused_does_not_come_again(asked: Memory) -> None:
    first, *rest = asked.log.waiting()
    assert asked.log.refuse(first.id) == [first]
    state = asked.home.state
    state.unlink()  # everything is read again
    Memory(asked.home.root).catch_up(closing=True)
    assert [one.id for one in asked.log.waiting()] == [one.id for one in rest]


def test_a_project_can_ask_alone(memory: Memory, claude: Claude) -> None:
    text = memory.home.config.read_text()
    memory.home.config.write_text(text.replace("[projects]\n", '[projects]\ntidepool = "ask"\n'))
    memory = Memory(memory.home.root)
    other = Claude(claude.path.parent, "5e551011-0000-4000-8000-000000000002")
    there = {"cwd": "/home/mira/lagoon"}
    other.user("I live in Porto with my sister Marta, who is a vet.", **there)
    other.user("We decided to use Postgres for the bookings because SQLite locks up.", **there)
    memory.catch_up(closing=True)
    assert {one.project for one in memory.log.waiting()} == {"/home/mira/tidepool"}
    assert {one.project for one in memory.opened.chains().entries} == {"/home/mira/lagoon"}


def test_a_kill_between_the_steps_loses_nothing(asked: Memory, claude: Claude) -> None:
    from wakebook.capture import state as states
    from wakebook.capture.state import Pending
    from wakebook.log.entry import as_dict

    new = asked.log.waiting()
    (asked.home.root / waiting.FILE).unlink()
    state = states.load(asked.home)
    ref, progress = next(iter(state.sessions.items()))
    pending = Pending(ref, 0, [], progress, [as_dict(one) for one in new])
    states.save(asked.home, type(state)(sessions=state.sessions, pending=pending))
    asked.opened.settle()
    assert asked.log.waiting() == new


def test_the_command_line(asked: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAKEBOOK_HOME", str(asked.home.root))
    first, *rest = asked.log.waiting()
    shown = run("review")
    assert first.content[:40] in shown and f"{len(rest) + 1} new entries to review" in shown
    assert f"{len(rest) + 1} new entries for your word" in run("status")
    done = run_json("review", "reject", first.id[:6])
    assert [one["id"] for one in done["refused"]] == [first.id]
    assert [one["id"] for one in run_json("review")["waiting"]] == [one.id for one in rest]
    assert len(run_json("review", "accept")["entries"]) == len(rest)
    assert "Nothing to review" in run("review")


def test_bad_input(asked: Memory) -> None:
    with pytest.raises(NotFound, match="'nothing-like-it' does not wait"):
        asked.log.accept("nothing-like-it")
    path = asked.home.root / waiting.FILE
    path.write_text("{}\n" + path.read_text())
    with pytest.raises(WakebookError, match=r"waiting\.jsonl, line 1"):
        asked.log.waiting()
