from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.story import WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base import cache
from wakebook.base.config import Briefing
from wakebook.base.echo import CLOSE, OPEN
from wakebook.log import log
from wakebook.log.chains import resolve
from wakebook.log.entry import Entry, new_id
from wakebook.log.query import EVERYTHING, Query
from wakebook.log.subjects import Registry
from wakebook.models import tokenizer
from wakebook.recall.stale import Utterance
from wakebook.recall.start import LEARNED, Known, State, _Said, start
from wakebook.recall.turn import woken


def test_a_new_home_wakes_with_an_honest_nothing(memory: Memory) -> None:
    text = memory.wake()
    assert text.startswith(OPEN) and text.endswith(CLOSE + "\n")
    assert "has left a handoff yet" in text
    assert "wakebook search" in text


def test_the_handoff_comes_before_what_is_open_and_decided(memory: Memory, projects: Path) -> None:
    claude = chat(Claude(projects), WORKDAY)
    memory.catch_up()
    text = memory.wake()
    assert f"## Last Session Handoff\nSession: {claude.session} (2026-11-08T10:06:00Z)" in text
    heads = [line for line in text.split("\n") if line.startswith("## ")]
    assert heads == ["## About You", "## Last Session Handoff", "## Decided", "## Looking further"]
    for once in ("Let's go with Postgres", "send the insurance form"):
        assert text.count(once) == 1, text  # the handoff has what is left


def test_what_a_handoff_left_and_is_done_by_now_is_not_left(memory: Memory) -> None:
    tasks = ("I need to order the sails; the red ones.", "I need to caulk the dinghy.")
    detail = f"Asked: the boats\nLeft: {'; '.join(tasks)}\nBranch: main"
    now = memory.opened.now().astimezone(UTC)
    said: dict[str, Any] = {
        "timestamp": now,
        "session": "s",
        "transcript": "raw/conversations/one.md",
    }
    first, second = (
        Entry(id=new_id(), type="task", content=one, status="open", **said) for one in tasks
    )
    handoff = Entry(id=new_id(), type="handoff", content="Boats", detail=detail, **said)
    done: dict[str, Any] = {
        "type": "task",
        "status": "done",
        "content": first.content,
        "replaces": (first.id,),
    }
    log.append(memory.home, [first, second, handoff])
    assert f"Left: {tasks[0]}; {tasks[1]}\nBranch" in memory.wake()
    later = said | {"session": "t", "transcript": "raw/conversations/two.md"}
    log.append(memory.home, [Entry(id=new_id(), **done, **later)])
    text = memory.wake()
    assert f"Left: {tasks[1]}\nBranch: main" in text and tasks[0] not in text


def test_the_start_stays_small_and_says_nothing_twice(memory: Memory) -> None:
    now = memory.opened.now().astimezone(UTC)
    said: list[Entry] = []
    for day in range(360):
        at = now - timedelta(days=day)
        one: dict[str, Any] = {"timestamp": at, "session": f"s{day}"}
        task, long = f"I must seal pipe {day}", "x " * 900
        said += [
            Entry(id=new_id(), type="decision", content=f"We use valve {day} in hall {day}", **one),
            Entry(id=new_id(), type="fact", content=f"Boiler {day} holds {day} litres", **one),
            Entry(id=new_id(), type="task", status="open", content=task, **one),
            Entry(id=new_id(), type="handoff", content="I must seal pipe 3", detail=long, **one),
        ]
    log.append(memory.home, said[::-1])
    year = memory.wake()
    assert 700 < tokenizer.count(year) <= 900 + 40  # with its fence
    assert "valve 0 in" in year and "valve 100 in" not in year and "pipe 100" not in year
    assert year.count("seal pipe 3") == 1


def test_two_facts_that_say_the_same_are_told_once(memory: Memory) -> None:
    memory.remember("Releases of the heron go out on Wednesdays")
    memory.remember("As always, releases only on Wednesdays")
    memory.remember("Pump 4 needs 3 litres of oil")
    memory.remember("Pump 5 needs 3 litres of oil")
    text = memory.wake()
    assert text.count("Wednesdays") == 1 and text.count("litres of oil") == 2


def test_a_clause_that_was_told_is_no_reason_to_leave_out_another(
    memory: Memory, projects: Path
) -> None:
    fact = "we use the revision C boards for everything, so the tester should print the revision"
    claude = Claude(projects)
    claude.user(f"{fact} first")
    claude.agent("The tester prints the board revision as its first line now.")
    claude.user("good, that's all")
    memory.catch_up()
    text = memory.wake()
    assert "Report: The tester prints" in text and fact in text


def test_what_was_said_again_of_the_user_is_told_once(memory: Memory, projects: Path) -> None:
    claude = Claude(projects)
    claude.user("for the recipes: nothing with meat, I am a vegetarian")
    claude.agent("Twelve ideas are in recipes.json.")
    claude.user("I need a shopping list, and remember, I am a vegetarian")
    claude.agent("The list is in shopping.md.")
    claude.user("thanks, that's it for today")
    memory.catch_up()
    assert memory.wake().count("I am a vegetarian") == 1


def test_what_the_user_wrote_into_memory_md_is_told_and_noticed(memory: Memory) -> None:
    assert "the blue crane" not in memory.wake()
    path = memory.home.memory
    path.write_text(path.read_text() + "\nNever lift with the blue crane.\n")
    assert "## Your Own Notes\n" in memory.wake() and "the blue crane" in memory.wake()
    assert "the blue crane" not in woken(memory.opened, EVERYTHING, loaded=True)


def test_the_text_is_cached_until_something_changes(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = str(memory.home.root.parent)

    def kept() -> str | None:
        return cache.read(str(memory.home.root), cache.wake_file(here), f" {here}")

    assert kept() is None
    first = memory.wake(here)
    assert kept() == first
    memory.remember("Deploy to lagoon", type_="task")
    assert kept() is None
    assert "Deploy to lagoon" in memory.wake(here)
    assert kept() is not None
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-10T08:00:00Z")
    assert kept() is None  # a new day, a new briefing


def loaded(memory: Memory, *arguments: str) -> tuple[str, set[str]]:
    script = (
        "import sys; sys.argv = ['wakebook', *sys.argv[1:]]\n"
        "from wakebook.__main__ import main\n"
        "try: main()\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"WAKEBOOK_HOME": str(memory.home.root)},
        check=True,
    )
    return done.stdout, set(done.stderr.split())


def test_a_cached_wake_imports_next_to_nothing(memory: Memory) -> None:
    expected = memory.wake(str(Path.cwd()))
    for arguments in (["wake"], ["--home", str(memory.home.root), "wake"]):
        text, modules = loaded(memory, *arguments)
        assert text == expected
        heavy = {"click", "msgspec", "json", "rich", "yaml", "re", "pathlib", "asyncio", "typing"}
        assert not modules & (heavy - {"typing"}), modules & heavy
        assert len([name for name in modules if name.startswith("wakebook")]) <= 6


def test_no_command_imports_what_it_does_not_need(memory: Memory) -> None:
    _, modules = loaded(memory, "status", "--json")
    assert not modules & {"asyncio", "watchfiles", "rich", "anyio", "http"}


def test_what_was_said_here_is_told_though_it_is_no_entry(memory: Memory, projects: Path) -> None:
    claude = Claude(projects).user("ok, and can you tidy the readme? preview being on 8090")
    claude.agent("Done.").user("i always forget the loom waste, mine eats about 70 cm")
    claude.agent("Noted.").user("maybe we should move it all to Haskell lol. write me a test")
    claude.agent("Written.").user("great stuff, thanks a lot")
    claude.agent("Any time.").user("the coffee machine died this morning, what a week lol")
    memory.catch_up(closing=True)
    assert not any("8090" in one.content for one in memory.log.entries(Query()))
    here, elsewhere = (
        memory.turns.start(cwd=one).text for one in ("/home/mira/tidepool", "/home/mira/other")
    )
    said = here.split("## Also Said Here\n")[1].split("\n\n")[0].split("\n")
    assert "- 2026-11-08: i always forget the loom waste, mine eats about 70 cm" in said
    assert here.count("preview being on 8090") == 1  # the handoff has it
    assert "Haskell" not in here and "great stuff" not in "".join(said)
    assert "coffee machine" not in "".join(said)
    assert "8090" not in elsewhere


def test_what_was_wrong_for_a_moment_is_not_told(memory: Memory, projects: Path) -> None:
    claude = Claude(projects).user("the spare shuttle of the loom is in the blue box")
    claude.agent("Noted.").user("the legend of the pattern is missing its last row")
    claude.agent("Put right.").user("until the fair nobody rearranges shelf 4 of the loom room")
    claude.agent("Fine.").user("i'm in Skagen this week. keep the files under 20 MB")
    claude.agent("I do.").user("the fair went great!! shelf 9 gets the new yarn")
    claude.agent("Nice.").user("thanks, bye").agent("Bye.")
    memory.catch_up(closing=True)
    said = memory.turns.start(cwd="/home/mira/tidepool").text
    assert "blue box" in said and "last row" not in said.split("## Also Said Here")[-1]
    assert "shelf 9" in said
    assert "rearranges" not in said and "20 MB" not in said.split("## Also Said Here")[-1]


def test_what_is_said_once_more_is_told_once() -> None:
    now = datetime(2026, 11, 9, tzinfo=UTC)
    texts = ("again: pnpm in this repo", "again: the kiln has two doors")
    entries = [
        Entry(id=new_id(), timestamp=now, type="fact", content=text, session="s") for text in texts
    ]
    state = State(Known(resolve(entries), Registry(), now, Briefing()))
    said = _Said(state, "- we use pnpm here, not npm")
    assert said.fresh(entries, lambda one, _: one.content) == [texts[1]]


def test_what_a_request_repeats_is_told_once(memory: Memory, projects: Path) -> None:
    Claude(projects).user("The organ in our church has 34 stops and two manuals.").agent("Noted.")
    memory.catch_up(closing=True)
    claude = Claude(projects, "5e551012-0000-4000-8000-000000000002").pause(days=3)
    claude.user("the same sentence for the website: the organ has 34 stops").agent("It's there.")
    memory.catch_up(closing=True)
    start = memory.turns.start(cwd="/home/mira/tidepool").text
    assert start.count("34 stops") == 1


def test_a_start_looks_no_further_than_it_tells() -> None:
    """Whether an entry still holds takes its time, and there may be thousands."""
    now = datetime(2026, 11, 9, tzinfo=UTC)
    entries = [
        Entry(id=new_id(), timestamp=now, type="fact", content=f"Gauge {n} is {n}", session="s")
        for n in range(50)
    ]
    state = State(Known(resolve(entries), Registry(), now, Briefing()))
    seen: list[Entry] = []
    looked_at = (seen.append(one) or one for one in entries)  # type: ignore[func-returns-value]
    assert len(_Said(state).fresh(looked_at, lambda one, _: one.content, 3)) == 3
    assert len(seen) == 3


def test_a_large_memory_is_searched_for_what_changed_an_old_line() -> None:
    """Not read as a whole: what the newest words say nothing about is asked for."""
    now = datetime(2026, 11, 16, tzinfo=UTC)

    def fact(text: str, days: float) -> Entry:
        at = now - timedelta(days=days)
        return Entry(id=new_id(), timestamp=at, type="fact", content=text, session="s")

    old = fact("The choir meets in the chapel.", 900)
    later = Utterance("The choir meets in the barn now.", int(old.timestamp.timestamp()) + 9)
    others = [fact(f"Shelf {n} is full.", 90 - n / 100) for n in range(LEARNED)]
    asked: list[str] = []

    def near(sentence: Utterance) -> list[Utterance]:
        asked.append(sentence.text)
        return [later]

    entries = resolve([old, *others])
    state = State(Known(entries, Registry(), now, Briefing(), near=near))
    told = [one.content for one in state.lasting([others[-1], old])]
    assert told[0] == others[-1].content and old.content not in told
    assert asked == [old.content]


def test_a_doubt_outlives_the_words_that_cast_it() -> None:
    now = datetime(2026, 11, 16, tzinfo=UTC)

    def fact(text: str, days: float, **more: Any) -> Entry:
        at = now - timedelta(days=days)
        return Entry(id=new_id(), timestamp=at, type="fact", content=text, session="s", **more)

    first = fact("the wedding is on 17 April in the watermill", 60)
    second = fact("they take the 24th", 30, detail=f"Perhaps no longer: {first.content}")
    third = fact("8 May now, and that is final", 3, replaces=(second.id,))
    state = State(Known(resolve([first, second, third]), Registry(), now, Briefing()))
    [told] = state.lasting([first])
    assert told.content == f"{first.content} (perhaps no longer: {third.content})"


def test_what_somebody_sees_to_is_no_fact_after_some_weeks() -> None:
    now = datetime(2026, 11, 16, tzinfo=UTC)
    entries = [
        Entry(
            id=new_id(),
            timestamp=now - timedelta(days=days),
            type="fact",
            content=text,
            session="s",
        )
        for text, days in (("I'll ask Jolene from legal", 20), ("Jolene is in legal", 20))
    ]
    state = State(Known(resolve(entries), Registry(), now, Briefing()))
    assert [one.content for one in state.facts()] == ["Jolene is in legal"]
    soon = State(Known(resolve(entries), Registry(), now - timedelta(days=10), Briefing()))
    assert len(list(soon.facts())) == 2


def test_what_is_said_again_at_its_end_is_told_once() -> None:
    now = datetime(2026, 11, 9, tzinfo=UTC)
    texts = ("answer always in plain Spanish", "but explain it in plain Spanish, as always")
    entries = [
        Entry(id=new_id(), timestamp=now, type="fact", content=text, session="s") for text in texts
    ]
    said = _Said(State(Known(resolve(entries), Registry(), now, Briefing())), "")
    assert said.fresh(entries, lambda one, _: one.content) == [texts[0]]


def test_a_line_that_says_less_gives_way_to_one_that_says_more() -> None:
    now = datetime(2026, 11, 9, tzinfo=UTC)
    texts = (
        "deploys on tuesdays",
        "deploys on tuesdays, as Ola has the pager and the shop is quiet",
    )
    entries = [
        Entry(id=new_id(), timestamp=now, type="fact", content=text, session="s") for text in texts
    ]
    said = _Said(State(Known(resolve(entries), Registry(), now, Briefing())), "")
    assert said.fresh(entries, lambda one, _: one.content) == [texts[1]]


def test_what_is_kept_in_mind_comes_with_its_day() -> None:
    now = datetime(2026, 11, 14, tzinfo=UTC)
    text = "the piano tuner comes in ten days, so no rehearsal then"
    fact = Entry(
        id=new_id(), timestamp=now, type="fact", content=text, session="s", kind="preference"
    )
    known = Known(resolve([fact]), Registry(), now, Briefing())
    assert "in ten days (24 November 2026)" in start(known, [], "", 900)


def test_a_list_is_open_as_long_as_one_thing_of_it_comes_up() -> None:
    now = datetime(2026, 11, 15, tzinfo=UTC)
    words = "i need to: book the van, buy 12 chafing dishes, get the gluten list from the kitchen"
    task = Entry(
        id=new_id(),
        timestamp=now - timedelta(days=40),
        type="task",
        content=words,
        status="open",
        session="s",
    )
    news = Entry(
        id=new_id(),
        timestamp=now - timedelta(days=4),
        type="fact",
        content="got 8 of the chafing dishes, the shop gets the others next week",
        session="t",
    )
    told = [
        start(Known(resolve(it), Registry(), now, Briefing()), [], "", 900)
        for it in ([task, news], [task])
    ]
    assert ["gluten list" in one for one in told] == [True, False]
