"""What the working agent wrote itself is kept once, and its handoff only if it is true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.learn.telling import Tale, answer, decision, fact, handoff
from tests.story import Claude
from wakebook import Memory
from wakebook.base import clock
from wakebook.learn import written
from wakebook.service import tools

DECIDED = "Let's go with Postgres for the bookings, because SQLite locks up."
STANDS = "The schema of the bookings is written, the migration is left"


def wrote(memory: Memory, claude: Claude, tool: str, **arguments: Any) -> str:
    """The agent calls a tool of ours: the answer is in its transcript. The id."""
    done = tools.call(memory, tool, arguments)
    assert not done.failed, done.text
    call = f"call-{claude.count}"
    claude.call(f"mcp__wakebook__{tool}", call, **arguments).result(call, done.text)
    return str(next(iter(done.data.values()))["id"])


@pytest.fixture
def claude(projects: Path) -> Claude:
    made = Claude(projects)
    made.at = clock.now().replace(hour=7)
    return made


def facts(memory: Memory) -> list[str]:
    return [one.content for one in memory.log.chains().current() if one.type != "handoff"]


def handoffs(memory: Memory) -> list[tuple[str, str]]:
    every = memory.log.chains().current()
    return [(one.content, one.by) for one in every if one.type == "handoff"]


def remembered(memory: Memory, claude: Claude) -> str:
    claude.user(DECIDED)
    given = {"type": "decision", "subject": "harbour", "detail": "SQLite locks up"}
    return wrote(memory, claude, "remember", text="Bookings are kept in Postgres", **given)


def test_rules_do_not_extract_what_the_agent_remembered(memory: Memory, claude: Claude) -> None:
    id_ = remembered(memory, claude)
    claude.agent("Done.").user("My sister Ines moved to Lund last week.").agent("How nice.")
    memory.catch_up(closing=True)
    assert facts(memory)[0] == "Bookings are kept in Postgres"
    assert not [text for text in facts(memory)[1:] if "Postgres" in text]
    assert any("Ines" in text for text in facts(memory))
    assert memory.log.entry(id_).by == "agent"


def test_the_agent_takes_the_place_of_rules_that_were_faster(
    memory: Memory, claude: Claude
) -> None:
    claude.user(DECIDED)
    memory.catch_up()
    (read,) = facts(memory)
    assert read.startswith("Let's go with Postgres")
    id_ = wrote(memory, claude, "remember", text="Bookings go into Postgres, SQLite locks up")
    memory.catch_up(closing=True)
    assert facts(memory) == ["Bookings go into Postgres, SQLite locks up"]
    assert memory.log.entry(id_).replaces


def test_a_model_does_not_extract_what_the_agent_remembered(tale: Tale) -> None:
    claude = tale.session()
    remembered(tale.memory, claude)
    claude.agent("Done.").user("My sister Ines moved to Lund.").agent("How nice.")
    again = decision("Use Postgres for the bookings", 1, detail="SQLite locks up")
    tale.says(answer(again, fact("The user's sister Ines moved to Lund", 3), handoff()))
    tale.memory.catch_up()
    assert [one.by for one in tale.current("decision")] == ["agent"]
    assert [one.content for one in tale.current("fact")] == ["The user's sister Ines moved to Lund"]


def test_a_handoff_that_the_conversation_bears_out_is_kept(memory: Memory, claude: Claude) -> None:
    claude.user("Write the schema of the bookings, then the migration.")
    claude.agent("The schema of the bookings is written. The migration is left.")
    wrote(memory, claude, "handoff", text="Nothing yet")
    wrote(memory, claude, "handoff", text=STANDS, detail="Next: the migration of the bookings.")
    memory.catch_up()
    assert handoffs(memory) == []  # the session goes on
    memory.catch_up(closing=True)
    assert handoffs(memory) == [(STANDS, "agent")]
    assert memory.opened.state().left == {}
    assert STANDS in memory.wake()
    memory.catch_up(closing=True)
    assert len(handoffs(memory)) == 1


def test_a_handoff_that_was_made_up_is_refused(memory: Memory, claude: Claude) -> None:
    claude.user("Write the schema of the bookings, then the migration.")
    claude.agent("The schema of the bookings is written. The migration is left.")
    wrote(memory, claude, "handoff", text="Release 4.7.1 went out to 2,300 customers in Oslo")
    memory.catch_up(closing=True)
    ((content, by),) = handoffs(memory)
    assert "Oslo" not in content and by == "rules"
    assert any("not to be kept" in one and "Oslo" in one for one in memory.status().notes)


def test_the_agents_handoff_survives_another_reading(tale: Tale) -> None:
    tale.settings("")
    claude = tale.session()
    claude.user("Write the schema of the bookings, then the migration.")
    claude.agent("The schema of the bookings is written. The migration is left.")
    wrote(tale.memory, claude, "handoff", text=STANDS)
    tale.memory.catch_up(closing=True)
    tale.settings()
    tale.says(answer(fact("The migration of the bookings is left", 2), handoff()))
    assert tale.memory.upgrade().transcripts == 1
    assert [(one.content, one.by) for one in tale.current("handoff")] == [(STANDS, "agent")]


def test_an_id_may_end_in_a_hyphen() -> None:
    found = written._ID.search('{"handoff": {"id": "abcdefghijk-"}}')
    assert found and found["id"] == "abcdefghijk-"
