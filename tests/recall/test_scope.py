"""What is told where: a project's own things, what is about the user, and nothing else."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.command import run, run_json
from tests.story import Claude
from wakebook import Memory, WakebookError
from wakebook.base import clock
from wakebook.capture.project import load
from wakebook.log import log
from wakebook.log.entry import Entry, new_id
from wakebook.log.query import EVERYTHING, Query, Scope
from wakebook.recall.scope import names
from wakebook.service import tools

ATLAS, HERON, HOME = "/home/mira/atlas", "/home/mira/heron", "/home/mira"
SECRET = "We decided that Atlas is the confidential data room for client Borealis."
RULE = "In this repo only: we indent with two spaces."
OWN = "I'm allergic to peanuts, and my sister Marta is a vet."
STYLE = "I prefer short answers without emojis."


def say(folder: Path, number: int, cwd: str, *said: str, hours: int = 30) -> None:
    claude = Claude(folder, f"5e551011-0000-4000-8000-{number:012}")
    claude.at = clock.now() - timedelta(hours=hours)
    for text in said:
        claude.user(text, cwd=cwd)
        claude.agent("Fine, I have written that into the plan.")


@pytest.fixture
def two(memory: Memory, projects: Path) -> Memory:
    """Conversations in two projects, and in none."""
    say(projects, 1, ATLAS, SECRET, RULE, OWN, STYLE, hours=50)
    say(projects, 2, HERON, "We decided to keep the Heron bookings in Postgres.", hours=40)
    say(projects, 3, HOME, "I have to renew my passport before December 4.", hours=30)
    memory.catch_up(closing=True)
    return memory


def start(memory: Memory, cwd: str) -> str:
    return memory.turns.start(cwd=cwd, budget=1500).text


def test_a_start_is_told_its_project_and_what_is_about_the_user(two: Memory) -> None:
    atlas, heron, home = (start(two, cwd) for cwd in (ATLAS, HERON, HOME))
    assert "Borealis" in atlas and "two spaces" in atlas and "Postgres" not in atlas
    assert "Postgres" in heron and "Borealis" not in heron and "two spaces" not in heron
    for text in (atlas, heron, home):
        assert "allergic to peanuts" in text and "short answers" in text
    assert "passport" in home and "passport" not in heron + atlas
    assert "Borealis" not in home and "Postgres" not in home


def test_a_prompt_brings_what_belongs_here_or_is_named(two: Memory) -> None:
    def told(message: str, cwd: str) -> str:
        return two.context(message, cwd=cwd, skip=("memory", "handoff", "journal", "projects")).text

    asked = "Who is the client of the confidential data room?"
    assert "Borealis" in told(asked, ATLAS)
    assert "Borealis" not in told(asked, HERON) + told(asked, HOME)
    assert "Borealis" in told("Who is the client of the Atlas data room?", HERON)
    assert "peanuts" in told("Which food am I allergic to?", HERON)
    assert "passport" in told("When do I have to renew my passport?", HERON)


def test_everywhere_and_by_name(two: Memory) -> None:
    asked = "client of the data room"
    assert "Borealis" in two.context(asked, cwd=HERON, everywhere=True).text
    assert "Borealis" in two.context(asked, project="atlas").text
    assert "Borealis" in two.wake(project="atlas") and "Borealis" not in two.wake(project="heron")
    assert "Borealis" in two.wake() and "Borealis" not in two.wake(HERON)
    assert "Postgres" in two.wake("/somewhere/else")  # a folder that the memory does not know
    with pytest.raises(WakebookError, match=r"knows no project 'tidepool'. It knows atlas, heron"):
        two.context(asked, project="tidepool")


def test_a_search_keeps_to_a_project_or_a_place(two: Memory) -> None:
    def found(**options: Any) -> str:
        query = Query(text="data room bookings passport", projects=options.pop("projects", ()))
        return "\n".join(hit.snippet for hit in two.search(query, limit=20, **options).hits)

    assert all(word in found() for word in ("Borealis", "Postgres", "passport"))
    assert "Borealis" in found(projects=("atlas",)) and "Postgres" not in found(projects=("atlas",))
    assert "Borealis" not in found(cwd=HERON) and "Postgres" in found(cwd=HERON)
    assert "Borealis" in found(cwd=HERON, everywhere=True)
    entries = two.log.entries(Query(projects=("atlas",)))
    assert entries and {one.project for one in entries} == {ATLAS}


def test_tools_keep_to_the_place_of_their_session(two: Memory) -> None:
    def searched(**arguments: Any) -> str:
        session = "5e551011-0000-4000-8000-000000000002"
        given = {"query": "client of the data room", **arguments}
        return tools.call(two, "memory_search", given, session).text

    assert "Borealis" not in searched()
    assert "Borealis" in searched(everywhere=True) and "Borealis" in searched(project="atlas")
    done = tools.call(
        two,
        "remember",
        {"text": "The staging box is grey."},
        "5e551011-0000-4000-8000-000000000002",
    )
    assert not done.failed, done.text
    assert "staging box" in start(two, HERON) and "staging box" not in start(two, ATLAS)


def test_an_agent_of_openclaw_is_apart_unless_it_is_joined(two: Memory) -> None:
    secret = Entry(
        id=new_id(),
        timestamp=clock.now() - timedelta(hours=2),
        type="fact",
        content="I will fire the contractor in December.",
        session="s9",
        project="agent:work",
    )
    log.append(two.home, [secret])
    known = json.loads(two.home.projects.read_text())
    two.home.projects.write_text(json.dumps({**known, "agent:work": {"name": "work"}}))

    def told(key: str) -> str:
        memory = Memory(two.home.root)
        asked = "What about the contractor, and what am I allergic to?"
        return memory.context(asked, session=key, have=("identity",)).text

    assert "contractor in December" in told("agent:work:main")
    assert "peanuts" not in told("agent:work:main")
    assert "contractor in December" not in told("agent:main:main")
    assert "contractor in December" not in two.context("fire the contractor", cwd=HERON).text
    assert "contractor in December" not in start(two, HERON) + start(two, HOME)
    assert "contractor in December" in two.context("fire the contractor").text  # a person asks
    text = two.home.config.read_text()
    two.home.config.write_text(text.replace("[learn]\n", '[learn]\njoined_agents = ["work"]\n'))
    assert "contractor in December" in told("agent:main:main")
    assert "peanuts" in told("agent:work:main")


def test_entries_of_an_older_log_are_of_their_transcripts_project(two: Memory) -> None:
    old = [json.loads(line) | {"project": ""} for line in two.home.log.read_text().splitlines()]
    log.rewrite(two.home, (json.dumps(one).encode() + b"\n" for one in old))
    memory = Memory(two.home.root)
    assert "Borealis" in start(memory, ATLAS) and "Borealis" not in start(memory, HERON)
    assert "Borealis" not in memory.context("client of the data room", cwd=HERON).text


def test_the_command_line(two: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAKEBOOK_HOME", str(two.home.root))
    assert "Borealis" in run("wake", "--project", "atlas")
    assert "Borealis" not in run("wake", "--project", "heron")
    assert "Borealis" in run("wake", "--everywhere")
    assert run_json("log", "--project", "heron")
    assert "Borealis" not in run("search", "data room Postgres", "--project", "heron")
    assert "knows no project" in run("context", "hi", "--project", "nothing", code=1)
    kept = run_json("remember", "The pump is blue.", "--project", "heron")
    assert kept["project"] == HERON
    assert load(two.home).find("heron") == HERON


def test_a_topic_can_be_for_a_project_alone(two: Memory) -> None:
    path = two.home.root / "topics" / "release.md"
    path.write_text(
        "---\ntype: topic\nprojects: [atlas]\nactivation: auto\n"
        "triggers:\n- type: keyword\n  match: [release]\n---\nTag the commit first.\n"
    )
    told = {cwd: two.context("release it", cwd=cwd).text for cwd in (ATLAS, HERON, HOME)}
    assert [cwd for cwd, text in told.items() if "Tag the commit" in text] == [ATLAS]
    assert "Tag the commit" in two.context("release it").text


def test_a_message_names_a_project() -> None:
    assert names("how far is Alpha Grid?", "alpha-grid")
    assert names("what about tidepool's tests", "tidepool")
    assert not names("write a test", "test") and not names("the herons are back", "heron")
    assert Scope().holds("x", own=False) and Scope() == EVERYTHING


def test_what_was_said_in_a_folder_holds_below_it_only(memory: Memory, projects: Path) -> None:
    whole, part = "/home/mira/dev/atelier", "/home/mira/dev/atelier/apps/brush"
    say(projects, 11, whole, "Repo rule: no default exports.", "Remind me to renew the domain.")
    say(projects, 12, part, "Repo rule: no top-level await.", hours=20)
    wide = "Rules for the whole repo: every service logs in json. nobody edits anything below gen/."
    say(projects, 13, "/home/mira/dev", "Repo rule: never use tabs.", wide, hours=10)
    memory.catch_up(closing=True)
    above, below, beside = (start(memory, cwd) for cwd in (whole, part, f"{whole}/apps/canvas"))
    assert "no default exports" in above and "top-level" not in above
    assert "no default exports" in below and "top-level" in below and "domain" not in below
    assert "no default exports" in beside and "top-level" not in beside
    assert not any("tabs" in text for text in (above, below, beside))
    for text in (above, below, beside):
        assert "logs in json" in text and "below gen/" in text
    found = memory.context("Which exports do we use?", cwd=f"{whole}/apps/canvas", budget=1500)
    assert "no default exports" in found.text
