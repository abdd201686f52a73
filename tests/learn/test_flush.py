"""The flush before a compaction: when it is due, what it saves, and whether that is checked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.crash import Bare, run_and_die
from tests.journeys.test_crash import fresh, outcome
from tests.learn.telling import RECENT, Tale, answer, fact, handoff, telling
from tests.server import Chat, Status
from tests.story import NEXT_DAY, WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base.config import Flush
from wakebook.base.errors import WakebookError
from wakebook.capture.state import Progress
from wakebook.learn.flush import flush_due

SESSION = "5e551011-0000-4000-8000-000000000001"
REF = f"claude-code/{SESSION}"
FULL: dict[str, Any] = {"tokens": 180_000, "window": 200_000}


def recent(projects: Path) -> Claude:
    """A session that goes on: nothing of it is closed yet."""
    claude = Claude(projects)
    claude.at = RECENT
    return claude


def compacted(claude: Claude) -> Claude:
    return claude.write(claude.record("system", subtype="compact_boundary", content="Compacted"))


def known(memory: Memory, ref: str = REF) -> Progress:
    return Memory(memory.home.root).opened.state().sessions[ref]


def problems(memory: Memory) -> list[str]:
    return [one for one in Memory(memory.home.root).status().problems if " flush " in one]


# --- when it is due ----------------------------------------------------------------------


@pytest.mark.parametrize(("tokens", "due"), [(175_999, False), (176_000, True), (500_000, True)])
def test_due_24000_tokens_before_the_window_is_full(tokens: int, due: bool) -> None:
    found = flush_due(tokens, 200_000, Flush())
    assert found.due is due and bool(found) is due
    assert found.threshold == 200_000 - 20_000 - 4_000
    assert "176,000" in found.reason


def test_the_threshold_of_a_million() -> None:
    assert flush_due(0, 1_048_576, Flush()).threshold == 1_024_576


def test_other_reserves() -> None:
    settings = Flush(soft_threshold_tokens=1_000, reserve_tokens_floor=9_000)
    assert [flush_due(n, 100_000, settings).due for n in (89_999, 90_000)] == [False, True]


@pytest.mark.parametrize(
    ("window", "threshold"), [(24_001, 1), (24_000, 12_000), (8_192, 4_096), (1, 1)]
)
def test_in_a_window_smaller_than_the_reserves_half_of_it(window: int, threshold: int) -> None:
    assert flush_due(threshold - 1, window, Flush()).due is False
    found = flush_due(threshold, window, Flush())
    assert found.due is True and found.threshold == threshold > 0


@pytest.mark.parametrize("window", [0, -5])
def test_a_window_of_nothing_is_refused(window: int) -> None:
    with pytest.raises(WakebookError, match="at least 1"):
        flush_due(10, window, Flush())


@pytest.mark.parametrize(
    ("compactions", "flushed_at", "due"),
    [(0, None, True), (0, 0, False), (1, 0, True), (3, 3, False), (None, 3, True), (0, 2, True)],
)
def test_once_in_each_round(compactions: int | None, flushed_at: int | None, due: bool) -> None:
    found = flush_due(180_000, 200_000, Flush(), compactions=compactions, flushed_at=flushed_at)
    assert found.due is due
    assert ("done in this round already" in found.reason) is not due


def test_switched_off() -> None:
    found = flush_due(200_000, 200_000, Flush(enabled=False))
    assert not found and "[flush] enabled" in found.reason


# --- what it saves -----------------------------------------------------------------------


def test_a_session_that_grows_is_saved_and_checked(memory: Memory, projects: Path) -> None:
    claude = chat(recent(projects), WORKDAY)
    first = memory.flush(SESSION)
    assert first.ok and first.due and first.session == REF and first.round == 0
    assert first.messages == len(WORKDAY) and first.entries >= 3 and first.why == ""
    assert "when it is complete" in first.note  # the agent may go on
    assert len(list(memory.log.chains().entries)) == first.entries
    assert known(memory).window is not None  # and it goes on
    chat(claude, NEXT_DAY)
    second = memory.flush(SESSION)
    assert second.messages == len(NEXT_DAY) and second.entries > 0 and second.ok
    assert len(list(memory.log.chains().entries)) == first.entries + second.entries
    assert known(memory).messages == len(WORKDAY + NEXT_DAY)
    assert not problems(memory)
    assert [one["entries"] for one in memory.home.traces("flushed")] == [
        first.entries,
        second.entries,
    ]


def test_the_beginning_of_an_id_is_enough(memory: Memory, projects: Path) -> None:
    chat(recent(projects), WORKDAY)
    assert memory.flush(SESSION[:8]).messages == len(WORKDAY)


def test_other_sessions_are_left_alone(memory: Memory, projects: Path) -> None:
    chat(recent(projects), WORKDAY)
    chat(Claude(projects, "5e551011-0000-4000-8000-000000000002"), NEXT_DAY)
    memory.flush(SESSION)
    assert list(memory.opened.state().sessions) == [REF]


def test_a_plain_chat(memory: Memory, tmp_path: Path) -> None:
    memory.home.config.write_text(f'[hosts]\nplain = ["{tmp_path / "chats"}"]\n')
    memory = Memory(memory.home.root)
    path = tmp_path / "chats" / "mine.jsonl"
    path.parent.mkdir()
    at = "2026-11-09T07:30:00Z"

    def say(role: str, text: str) -> None:
        with path.open("a") as stream:
            stream.write(json.dumps({"role": role, "content": text, "timestamp": at}) + "\n")

    say("user", "Let's go with Postgres for the bookings because SQLite locks up.")
    say("assistant", "Good.")
    done = memory.flush("mine", **FULL)
    assert (done.ok, done.messages, done.round) == (True, 2, None)
    say("user", "The launch is on 14 November.")
    again = memory.flush("mine", **FULL)  # its file tells no rounds: each call is one
    assert again.due and (again.messages, again.entries) == (1, 1)
    assert memory.flush("mine", compactions=1, **FULL).due
    assert not memory.flush("mine", compactions=1, **FULL).due


# --- why it saved nothing ----------------------------------------------------------------


def test_nothing_new(memory: Memory, projects: Path) -> None:
    chat(recent(projects), WORKDAY)
    memory.flush(SESSION)
    done = memory.flush(SESSION)
    assert done.ok and (done.messages, done.entries) == (0, 0)
    assert done.why == "nothing was said since the last time (2026-11-09T08:00:00Z)"


def test_noise(memory: Memory, projects: Path) -> None:
    recent(projects).user("ok").agent("Fine.").user("thanks")
    done = memory.flush(SESSION)
    assert done.ok and (done.messages, done.entries) == (3, 0)
    assert done.why == "3 messages are archived, and nothing in them was worth an entry"
    assert done.note == ""


def test_nothing_that_is_complete_enough_to_be_read(memory: Memory, projects: Path) -> None:
    claude = recent(projects).user("The launch is on 14 November.").agent("Noted.")
    assert memory.flush(SESSION).entries == 1
    claude.agent("And I have told Jonas.")
    done = memory.flush(SESSION)
    assert done.ok and (done.messages, done.entries) == (1, 0)
    assert done.why == "1 message is archived, and none of them is complete enough to be read"


def test_a_session_that_nobody_knows(memory: Memory, projects: Path) -> None:
    done = memory.flush("nobody")
    assert not done.ok and done.session == "nobody"
    assert done.why.startswith("No session 'nobody' in the hosts' folders.")
    [problem] = problems(memory)
    assert "flush nobody: No session 'nobody'" in problem


def test_a_name_that_fits_several_and_one_that_is_empty(memory: Memory, projects: Path) -> None:
    chat(recent(projects), WORKDAY)
    chat(Claude(projects, "5e551011-0000-4000-8000-000000000002"), NEXT_DAY)
    assert "fits several sessions" in memory.flush("5e551011").why
    assert memory.flush("").ok is False
    assert not memory.opened.state().sessions


def test_a_kind_of_session_that_is_not_kept(memory: Memory, projects: Path) -> None:
    folder = projects / SESSION / "subagents"
    folder.mkdir(parents=True)
    chat(Claude(folder, "agent-1"), WORKDAY)
    done = memory.flush("agent-1")
    assert done.ok and (done.messages, done.entries) == (0, 0)
    assert done.why == "this kind of session is not kept (subagent; [capture] in config.toml)"
    assert not memory.opened.state().sessions and not problems(memory)


def test_what_still_waits_is_told_and_is_no_failure(memory: Memory, projects: Path) -> None:
    claude = recent(projects).user("The launch is on 14 November.").call("Bash", "c1", command="ls")
    done = memory.flush(SESSION)
    assert done.ok and done.messages == 1 and "waits for a tool's answer" in done.note
    claude.result("c1", "ok").torn()
    done = memory.flush(SESSION)
    assert done.ok and done.messages == 1 and "bytes of an unfinished line" in done.note


# --- rounds ------------------------------------------------------------------------------


def test_before_it_is_due_nothing_is_read(memory: Memory, projects: Path) -> None:
    chat(recent(projects), WORKDAY)
    done = memory.flush(SESSION, tokens=100_000, window=200_000)
    assert done.ok and not done.due and (done.messages, done.entries) == (0, 0)
    assert done.why == "100,000 of 200,000 tokens are used, and it is due at 176,000"
    assert not memory.opened.state().sessions
    assert memory.flush("nobody", tokens=1, window=200_000).ok  # nor is anybody looked for


def test_once_in_each_round_as_the_file_tells(memory: Memory, projects: Path) -> None:
    claude = chat(recent(projects), WORKDAY)
    assert memory.flush(SESSION, **FULL).messages == len(WORKDAY)
    assert known(memory).flushed == 0
    chat(claude, NEXT_DAY)
    done = memory.flush(SESSION, **FULL)
    assert not done.due and done.ok and done.round == 0
    assert done.why == "it was done in this round already (round 0)"
    assert known(memory).messages == len(WORKDAY)
    compacted(claude)
    done = memory.flush(SESSION, **FULL)
    assert done.due and done.round == 1 and done.messages == len(NEXT_DAY) + 1
    assert known(memory).flushed == 1
    assert not memory.flush(SESSION, **FULL).due


def test_once_in_each_round_as_the_host_tells(memory: Memory, projects: Path) -> None:
    chat(recent(projects), WORKDAY)
    assert memory.flush(SESSION, compactions=7, **FULL).round == 7
    assert not memory.flush(SESSION, compactions=7, **FULL).due
    assert memory.flush(SESSION, compactions=8, **FULL).due
    assert known(memory).flushed == 8


def test_asked_for_without_figures_it_is_always_done(memory: Memory, projects: Path) -> None:
    memory.home.config.write_text("[flush]\nenabled = false\n")
    memory = Memory(memory.home.root)
    claude = chat(recent(projects), WORKDAY)
    assert "switched off" in memory.flush(SESSION, **FULL).why
    assert memory.flush(SESSION).messages == len(WORKDAY)
    chat(claude, NEXT_DAY)
    assert memory.flush(SESSION).messages == len(NEXT_DAY)


def test_the_settings_of_the_home_are_used(memory: Memory, projects: Path) -> None:
    memory.home.config.write_text("[flush]\nreserve_tokens_floor = 96000\n")
    chat(recent(projects), WORKDAY)
    assert Memory(memory.home.root).flush(SESSION, tokens=100_000, window=200_000).due


def test_half_of_the_figures_is_refused(memory: Memory) -> None:
    with pytest.raises(WakebookError, match="both or neither"):
        memory.flush(SESSION, tokens=5)


def test_a_catch_up_leaves_the_round_as_it_is(memory: Memory, projects: Path) -> None:
    claude = chat(recent(projects), WORKDAY)
    memory.flush(SESSION, compactions=3)
    chat(claude, NEXT_DAY)
    memory.catch_up(closing=True)
    assert known(memory).flushed == 3 and known(memory).window is None


# --- a model that fails ------------------------------------------------------------------


@pytest.fixture
def tale(tmp_path: Path, projects: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tale]:
    with telling(tmp_path, projects, monkeypatch) as tale:
        yield tale


def test_a_model_that_fails_is_told_and_the_round_is_not_done(tale: Tale) -> None:
    claude = tale.talk("The meeting is in Lund.", "Noted.", "Thanks.", at=RECENT)
    tale.server.script(Status(500, "overloaded"))
    done = tale.memory.flush(claude.session, **FULL)
    assert not done.ok and done.messages == 4 and done.entries == 0
    assert done.why.startswith("the model failed, and what was said is archived: ")
    assert "the next catch-up tries again, then rules read it" in done.why
    [progress] = tale.memory.opened.state().sessions.values()
    assert progress.flushed is None
    assert any("the model failed" in problem for problem in problems(tale.memory))
    tale.says(answer(fact("The meeting is in Lund", 1)))
    again = tale.memory.flush(claude.session, **FULL)
    assert again.due and again.ok and (again.messages, again.entries) == (0, 1)
    [progress] = tale.memory.opened.state().sessions.values()
    assert progress.flushed == 0


def test_a_model_that_fails_twice_is_stood_in_for_by_rules(tale: Tale) -> None:
    claude = tale.talk("The launch is on 14 November.", "Noted.", "Thanks.", at=RECENT)
    tale.server.script(Status(500), Status(500))
    assert not tale.memory.flush(claude.session).ok
    done = tale.memory.flush(claude.session)
    assert done.ok and done.entries == 1 and "catch-up --upgrade" in done.note


def test_nothing_drops_when_the_model_fails(tale: Tale) -> None:
    claude = tale.talk("The meeting is in Lund.", "Noted.", "Thanks.", at=RECENT)
    tale.server.script(Status(500))
    messages = [{"role": "user", "content": f"Words {n}. " * 50} for n in range(10)]
    slid = tale.memory.window.slide(messages, 500, claude.session)
    assert slid.saved is False and slid.messages == messages and "the model failed" in slid.why
    assert tale.memory.window.slide(messages, 500, claude.session).dropped  # it has read them since


def test_another_process_that_reads_it_has_not_finished(tale: Tale) -> None:
    claude = tale.talk("The meeting is in Lund.", "Noted.", "Thanks.", at=RECENT)
    with tale.memory.home.reading(f"claude-code/{claude.session}"):
        done = tale.memory.flush(claude.session)
    assert not done.ok and "another process is having it read" in done.why
    assert tale.memory.flush(claude.session).ok


def growing(claude: Claude, times: int) -> Callable[[Chat], str]:
    """A model during whose reading the user goes on talking."""
    left = times

    def reply(chat: Chat) -> str:
        nonlocal left
        if left:
            left -= 1
            claude.user(f"And another thing, number {left}.")
        return answer(handoff()) if "one handoff" in chat.prompt else '{"type":"nothing"}'

    return reply


def test_what_is_said_meanwhile_is_saved_too(tale: Tale) -> None:
    claude = tale.talk("The meeting is in Lund.", "Noted.", "Thanks.", at=RECENT)
    tale.server.reply = growing(claude, 2)
    done = tale.memory.flush(claude.session)
    assert done.ok and done.messages == 6


def test_a_session_that_never_stops_growing_is_behind(tale: Tale) -> None:
    claude = tale.talk("The meeting is in Lund.", "Noted.", "Thanks.", at=RECENT)
    tale.server.reply = growing(claude, 99)
    done = tale.memory.flush(claude.session)
    assert not done.ok and done.messages == 6 and done.why.startswith("behind: ")


def test_what_is_gone_from_the_home_is_not_saved(memory: Memory, projects: Path) -> None:
    """The check looks at the home, not at what somebody says that was done."""
    chat(recent(projects), WORKDAY)
    memory.flush(SESSION)
    lines = memory.home.log.read_text().splitlines(keepends=True)
    memory.home.log.write_text("".join(lines[1:]))
    done = Memory(memory.home.root).flush(SESSION, compactions=5)
    assert not done.ok and "1 of" in done.why and "entries are gone" in done.why
    assert known(memory).flushed == 0


def test_a_session_that_was_given_up_on(memory: Memory, projects: Path) -> None:
    claude = chat(recent(projects), WORKDAY)
    memory.flush(SESSION)
    with memory.home.locked():
        state = memory.home.state
        broken = json.loads(state.read_text())
        broken["sessions"][REF]["failure"] = {
            "at": "2026-11-09T07:00:00Z", "error": "cannot be read", "retries": 1
        }  # fmt: skip
        state.write_text(json.dumps(broken))
    chat(claude, NEXT_DAY)
    done = Memory(memory.home.root).flush(SESSION, compactions=5)
    assert not done.ok and "run catch-up --retry-failed" in done.why
    assert known(memory).flushed == 0


# --- killed ------------------------------------------------------------------------------


def test_killed_at_any_step_it_loses_nothing_and_the_round_is_noted_last(
    tmp_path: Path, projects: Path
) -> None:
    claude = chat(Claude(projects), WORKDAY)
    claude.at = RECENT - timedelta(hours=1)
    chat(claude, NEXT_DAY)
    reference = fresh(tmp_path / "reference")
    reference.flush(SESSION)
    expected = outcome(reference)
    total = known(reference).messages
    noted = step = 0
    while True:
        step += 1
        memory = fresh(tmp_path / "home")
        died = run_and_die(lambda: Bare(tmp_path / "home").flush(SESSION, **FULL), step)
        found = Memory(memory.home.root).opened.state().sessions.get(REF)
        if found and found.flushed is not None:
            noted += 1
            assert found.messages == total, f"noted before it was saved, at step {step}"
            assert memory.home.log.read_bytes() == expected[0]
        again = Bare(memory.home.root).flush(SESSION, **FULL)
        assert again.ok and again.due == (found is None or found.flushed is None)
        assert outcome(memory) == expected, f"after dying at step {step}"
        shutil.rmtree(memory.home.root)
        if not died:
            break
    assert step > 40 and noted >= 1
