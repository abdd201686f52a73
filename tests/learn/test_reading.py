"""Distil: long windows in parts, a model that fails, two at once, a state that is lost."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.crash import run_and_die
from tests.learn.telling import (
    MODEL,
    RECENT,
    Tale,
    answer,
    block,
    ends,
    fact,
    handoff,
    numbers,
    per_message,
    task,
)
from tests.server import Chat, Hang, ModelServer, Raw, Say, Slow, Status, Step
from wakebook import Memory
from wakebook.base import text as tokens
from wakebook.capture.state import Window

LUND = fact("The meeting is in Lund", 1)
NOWHERE = "http://127.0.0.1:9/v1"  # nothing listens


def window(tale: Tale) -> Window:
    [progress] = tale.memory.opened.state().sessions.values()
    assert progress.window
    return progress.window


def long(tale: Tale, count: int = 40) -> list[str]:
    """A session that is too long for one request; what its user says."""
    tale.settings(request_tokens=450)
    says = [f"Shelf number {100 + n} holds " + f"jars of kind {n} and " * 10 for n in range(count)]
    texts = [text if n % 2 == 0 else "Ok." for n, text in enumerate(says)]
    tale.talk(*texts)
    return [" ".join(text.split()) for text in texts[::2]]


# --- long windows ------------------------------------------------------------------------


def test_a_long_window_is_read_in_parts_each_message_once(tale: Tale) -> None:
    expected = long(tale)
    tale.server.reply = per_message()
    tale.memory.catch_up()
    parts = [numbers(chat) for chat in tale.asked]
    assert len(parts) > 3
    assert [number for part in parts for number in part] == list(range(1, 41))
    assert all(tokens.tokens(block(chat, "messages")) < 550 for chat in tale.asked)
    for before, chat in zip(parts, tale.asked[1:], strict=False):
        overlap = numbers(chat, "earlier")
        assert overlap and overlap[-1] == before[-1] and overlap == sorted(overlap)
    assert [ends(chat) for chat in tale.asked] == [False] * (len(parts) - 1) + [True]
    assert tale.learned() == expected
    assert len(tale.contents("handoff")) == 1 and tale.valid()


def test_later_parts_know_what_earlier_parts_found(tale: Tale) -> None:
    long(tale)
    tale.server.reply = per_message()
    tale.memory.catch_up()
    assert block(tale.asked[0], "known") == "(none)"
    assert "Shelf number 100" in block(tale.asked[-1], "known")


def test_a_model_that_fails_at_the_third_part_goes_on_there(tale: Tale) -> None:
    expected = long(tale)
    tale.server.reply = per_message()
    before = [Say(per_message()(chat)) for chat in _parts(tale)[:2]]
    tale.server.script(*before, Status(500))
    assert tale.memory.catch_up().held
    kept = len(tale.learned())
    assert 0 < kept < len(expected)
    again = len(tale.asked) - 1
    assert window(tale).extracted == numbers(tale.asked[1])[-1]
    assert not tale.memory.catch_up().held
    assert numbers(tale.asked[again]) == numbers(tale.asked[again + 1])  # the third, once more
    assert tale.learned() == expected
    assert len(tale.contents("handoff")) == 1 and tale.valid()


def _parts(tale: Tale) -> list[Chat]:
    """The questions about a session, asked in a home of no importance."""
    with ModelServer(reply=per_message()) as server:
        other = Tale(tale.root.with_name("other"), tale.projects, server)
        other.settings(request_tokens=450)
        other.memory.catch_up()
        return other.asked


@pytest.mark.parametrize("step", range(2, 62, 6))
def test_a_kill_between_the_parts_costs_nothing_and_doubles_nothing(tale: Tale, step: int) -> None:
    expected = long(tale, 24)
    tale.server.reply = per_message()
    run_and_die(lambda: Memory(tale.root).catch_up(), step)
    tale.memory.catch_up()
    assert tale.learned() == expected
    assert len(tale.contents("handoff")) == 1 and tale.valid()


@pytest.mark.parametrize("short", [Say('{"type":"fact","cont', stop="length"), Status(413)])
def test_what_is_too_long_is_halved_and_asked_again(tale: Tale, short: Step) -> None:
    tale.settings(request_tokens=10_000)
    texts = [f"Shelf number {100 + n} holds " + f"jars of kind {n} and " * 25 for n in range(12)]
    tale.talk(*texts)
    tale.server.reply = per_message()
    tale.server.script(short)
    assert not tale.memory.catch_up().held
    asked = [numbers(chat) for chat in tale.asked]
    assert asked[0] == list(range(1, 13))
    assert [n for part in asked[1:] for n in part] == asked[0] and len(asked[1]) < 8
    assert tale.learned() == [" ".join(text.split()) for text in texts[::2]]
    assert len(tale.contents("handoff")) == 1
    assert not tale.traced("rejected")


def test_a_short_conversation_with_a_long_answer_is_halved_as_well(tale: Tale) -> None:
    texts = [f"Shelf {100 + n} holds jars of kind {n}." for n in range(12)]
    tale.talk(*texts)
    tale.server.reply = per_message()
    tale.server.script(Say(answer(LUND, '{"type":"fact","cont'), stop="length"))
    assert not tale.memory.catch_up().held
    assert tale.learned() == texts[::2]


def test_one_message_with_an_answer_that_is_cut_off_keeps_its_whole_lines(tale: Tale) -> None:
    tale.talk("We meet in Lund.")
    tale.server.script(Say(answer(LUND, '{"type":"fact","cont'), stop="length"))
    tale.memory.catch_up()
    assert tale.learned() == ["The meeting is in Lund"]
    assert not tale.current("handoff")  # nothing was done


# --- a model that fails ------------------------------------------------------------------

TROUBLE: dict[str, tuple[Step, str]] = {
    "401": (Status(401, "invalid x-api-key"), "refuses the key"),
    "500": (Status(500), "answers 500"),
    "hang": (Hang(), "did not answer within 1 s"),
    "html": (Raw(b"<html>Welcome</html>"), "no JSON"),
    "refused": (Status(599), "nothing listens"),
}


@pytest.mark.parametrize("kind", TROUBLE)
@pytest.mark.parametrize("back", [True, False], ids=["and is back", "again"])
def test_a_model_that_fails(tale: Tale, kind: str, back: bool) -> None:
    step, message = TROUBLE[kind]
    base = NOWHERE if kind == "refused" else ""
    tale.settings(base=base, timeout_seconds=1, git=True)
    tale.talk("Let's use Postgres for the bookings, SQLite locks up.", "Fine.", "Good night.")
    if not base:
        tale.server.script(step)
    done = tale.memory.catch_up()
    memory = tale.memory
    assert not tale.log() and not done.failed and not done.closed
    [error] = done.held.values()
    assert message in error
    assert window(tale).extracted == 0
    assert "Postgres" in next(memory.home.conversations.glob("*/*/*/*.md")).read_text()
    [account] = memory.status().accounts
    assert account.status == "failed" and message in account.note
    assert "the next catch-up tries again, then rules read it" in account.note
    assert [one.note for one in memory.audit()] == [account.note]
    assert any(message in problem for problem in memory.status().problems)
    assert "Session Still Open" in memory.wake() and "Postgres for the bookings" in memory.wake()

    tale.settings(base="" if back else base, timeout_seconds=1, git=True)
    tale.server.reply = per_message()
    if not back and not base:
        tale.server.script(step)
    done = tale.memory.catch_up()
    by = {entry.by for entry in tale.log()}
    assert by == ({f"{MODEL} extract/3"} if back else {"rules"})
    assert len(done.closed) == 1 and done.covered == (0 if back else 1) and not done.held
    assert [front["closed"] for front in tale.fronts()] == [True]
    assert any("Postgres" in content for content in tale.learned())
    assert len(tale.contents("handoff")) == 1
    told = [one for one in tale.memory.status().problems if "`catch-up --upgrade`" in one]
    assert bool(told) is not back and len(tale.traced("covered")) == (0 if back else 1)
    assert [account.status for account in tale.memory.audit()] == ["ok"]
    closed = subprocess.run(
        ["git", "log", "--format=%s"], cwd=tale.root, capture_output=True, text=True, check=True
    )
    assert "conversation: " in closed.stdout
    before = tale.memory.home.log.read_bytes()
    tale.memory.catch_up()
    assert tale.memory.home.log.read_bytes() == before


def test_a_session_with_several_windows_is_covered_whole(tale: Tale) -> None:
    claude = tale.talk("Let's use Postgres for the bookings.", "Fine.")
    for day in ("Monday", "Tuesday"):
        claude.pause(hours=9).user(f"The workshop is on {day}.").agent("Noted.")
    tale.server.script(*[Status(401)] * 4)
    done = tale.memory.catch_up()
    assert len(done.held) == 1 and len(tale.asked) == 1  # not once for each window
    done = tale.memory.catch_up()
    assert done.covered == 3 and len(done.closed) == 3 and not done.held
    assert {entry.by for entry in tale.log()} == {"rules"}
    assert len(tale.contents("handoff")) == 3
    assert tale.memory.status().by_rules == 3


def test_a_session_that_the_host_deleted_while_the_model_failed_is_not_lost(tale: Tale) -> None:
    claude = tale.talk("Let's use Postgres for the bookings.", "Fine.")
    tale.server.script(Status(401))
    tale.memory.catch_up()
    claude.path.unlink()
    assert [account.status for account in tale.memory.audit()] == ["failed"]
    tale.server.reply = per_message()
    tale.memory.catch_up()
    assert tale.learned() == ["Let's use Postgres for the bookings."]
    assert [account.status for account in tale.memory.audit()] == ["gone"]


def test_a_spent_budget_means_rules_at_once_and_loudly(tale: Tale) -> None:
    tale.settings(monthly_budget=0.01)
    tale.talk("We meet in Lund.")
    tale.server.script(Say(answer(LUND, handoff()), tokens=(9000, 1000, 0)))
    tale.memory.catch_up()
    tale.talk("Let's use Postgres for the bookings.", "Fine.", number=2)
    done = tale.memory.catch_up()
    assert not done.held and done.covered == 1 and len(done.closed) == 1
    assert len(tale.asked) == 1
    assert {entry.by for entry in tale.log()} == {f"{MODEL} extract/3", "rules"}
    problems = tale.memory.status().problems
    assert any("is used up" in one and "monthly_budget" in one for one in problems)
    assert any("`catch-up --upgrade`" in one for one in problems)


def test_extraction_that_is_off_asks_nobody(tale: Tale) -> None:
    tale.settings(off=["extract", "commit", "briefing", "contradictions"])
    tale.talk("Let's use Postgres for the bookings.", "Fine.")
    done = tale.memory.catch_up()
    assert {entry.by for entry in tale.log()} == {"rules"} and not done.covered
    assert not tale.server.requests
    status = tale.memory.status()
    assert status.extractor == "rules" and not status.problems


# --- others at the same time -------------------------------------------------------------


def test_others_can_write_while_a_model_takes_its_time(tale: Tale) -> None:
    tale.talk("We meet in Lund.")
    gate = threading.Event()

    def reply(chat: Chat) -> str:
        gate.wait()
        return answer(LUND, handoff())

    tale.server.reply = reply
    reading = threading.Thread(target=tale.memory.catch_up)
    reading.start()
    while not tale.server.chats:
        reading.join(0.01)
    tale.memory.remember("Maja has the key")  # or Locked after a minute
    gate.set()
    reading.join()
    assert tale.learned() == ["Maja has the key", "The meeting is in Lund"]


def test_two_at_once_ask_once_and_write_once(tale: Tale) -> None:
    expected = long(tale, 12)
    server = tale.server
    parts = len(_parts(tale))
    server.reply = per_message()
    server.script(*[Slow(0.05, Say(per_message()(chat))) for chat in _parts(tale)])
    both = [threading.Thread(target=tale.memory.catch_up) for _ in range(3)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert tale.learned() == expected and tale.valid()
    assert len(tale.asked) == parts and server.most_at_once == 1


def test_words_that_arrive_while_a_model_reads_are_read_next(tale: Tale) -> None:
    claude = tale.talk("We meet in Lund.", "Fine.", at=RECENT)
    other = threading.Thread(target=lambda: tale.memory.catch_up(closing=True))

    def reply(chat: Chat) -> str:
        if len(tale.asked) == 1:
            claude.user("Maja has the key.").agent("Good.")
            other.start()
            while window(tale).messages < 4:  # it archives, and waits for its turn to read
                other.join(0.01)
        return per_message()(chat)

    tale.server.reply = reply
    tale.memory.catch_up()
    other.join()
    assert [numbers(chat) for chat in tale.asked] == [[1], [2, 3, 4]]
    assert tale.learned() == ["We meet in Lund.", "Maja has the key."]
    assert len(tale.contents("handoff")) == 1 and tale.valid()


# --- a state that is lost ----------------------------------------------------------------


def test_a_lost_state_does_not_double_what_a_model_has_read(tale: Tale) -> None:
    claude = tale.talk("We meet in Lund.", "Fine.", "I have to book a room.", "Ok.", at=RECENT)
    tale.says(answer(LUND, task("Book a room", 3)))
    tale.memory.catch_up()
    tale.memory.home.state.unlink()
    claude.user("Maja has the key.")
    # asked about the same again, it would say it in other words
    tale.server.reply = lambda chat: answer(
        *([fact("Lund is the place of the meeting", 1)] if 1 in numbers(chat) else []),
        fact("Maja has the key", 5),
        handoff(),
    )
    tale.memory.catch_up(closing=True)
    assert tale.learned() == ["The meeting is in Lund", "Book a room", "Maja has the key"]
    assert len(tale.contents("handoff")) == 1 and tale.valid()


# --- any answer --------------------------------------------------------------------------

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
kinds = st.sampled_from(["task", "fact", "decision", "question", "handoff", "nothing", "x", 3, []])
content = st.sampled_from(["The meeting is in Lund", "Maja has the key", "", "Never said"])
fields = st.fixed_dictionaries(
    {"type": kinds, "content": content | values},
    optional={
        "evidence": st.lists(st.integers(-1, 5), max_size=3) | values,
        "status": st.sampled_from(["open", "done", "?"]) | values,
        "subject": st.sampled_from(["relay", "Der Hafen", "--"]) | values,
        "replaces": st.lists(st.sampled_from(["k1", "k2", "k9"]), max_size=2) | values,
        "kind": st.just("preference") | values,
        "detail": values,
        "title": values,
    },
)
lines = fields.map(json.dumps) | st.sampled_from(["```", '{"type":"fa', "[]", "Ok"])
answers = st.lists(lines, max_size=6).map("\n".join)


@settings(
    max_examples=settings().max_examples // 4,  # each makes homes
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(said=st.lists(st.tuples(answers, st.sampled_from(["end", "length"])), max_size=6))
def test_whatever_it_answers_the_log_is_whole_and_nothing_is_forgotten(
    tale: Tale, said: list[tuple[str, Any]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        one = Tale(Path(folder) / "home", Path(folder), tale.server)
        one.memory.remember("The port is 8443", type_="task", status="open")
        claude = one.talk("We meet in Lund.", "Fine.", "Maja has the key.", at=RECENT)
        tale.server.script(*(Say(text, stop=stop) for text, stop in said))
        for closing in (False, True):
            done = one.memory.catch_up([claude.path], closing=closing)
            [progress] = one.memory.opened.state().sessions.values()
            read = progress.window is None or progress.window.extracted == 3
            assert not done.failed
            assert read or (progress.failure and progress.failure.model and done.held)
            assert one.valid()
        while isinstance(tale.server.next(), Say):  # what it had no occasion to say
            pass
