"""The sliding window: what shrinks, what drops, what never does; and saving it first."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.recall.shapes import SHAPES, Shape, Step, anthropic, frozen, openai, pi, some, told
from tests.story import WORKDAY, Claude, chat
from tests.thorough import tries
from wakebook import Memory
from wakebook.recall import messages as view
from wakebook.recall.window import Slid, slide

SESSION = "5e551011-0000-4000-8000-000000000001"
LONG = "a line of what the tool has found\n" * 200


def tokens(messages: list[Any]) -> int:
    return sum(map(view.tokens, messages))


def talk(*exchanges: int) -> list[Step]:
    """Exchanges, each with so many calls."""
    steps: list[Step] = [("system", "You are an agent.")]
    for number, calls in enumerate(exchanges):
        steps.append(("user", f"Question {number}?"))
        for call in range(calls):
            name = f"c{number}.{call}"
            steps += [("call", name, "read"), ("result", name, f"{name} {LONG}")]
        steps.append(("assistant", f"Answer {number}."))
    return steps


def said(messages: list[Any]) -> list[str]:
    """What people and agents have said, without calls and results."""
    found = []
    for message in messages:
        content = message["content"]
        if isinstance(content, list):
            content = "".join(block.get("text", "") for block in content)
        if view.role_of(message) in ("user", "assistant", "system") and content:
            found.append(content)
    return found


# --- shrinking ---------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_what_fits_stays_as_it_is(shape: Shape) -> None:
    messages = shape(talk(1, 2))
    slid = slide(messages, tokens(messages))
    assert slid.messages == messages and slid.fits and not slid.why
    assert slid.kept == tuple(range(len(messages)))
    assert slid.dropped == slid.shrunk == ()
    assert slid.tokens_before == slid.tokens_after == slid.budget == tokens(messages)
    assert slid.saved is None


@pytest.mark.parametrize("shape", SHAPES)
def test_old_tool_results_shrink_to_a_line_the_oldest_first(shape: Shape) -> None:
    messages = shape(talk(1, 1, 1))
    slid = slide(messages, tokens(messages) - 1)
    assert slid.shrunk == (3,) and not slid.dropped and slid.fits
    [first, second, third] = told(slid.messages)
    assert first.startswith("[read: c0.0 a line of what the tool has found a line of what")
    assert first.endswith(f"… ({len('c0.0 ' + LONG):,} characters, shortened)]")
    assert "\n" not in first and len(first) < 150
    assert (second, third) == (f"c1.0 {LONG}", f"c2.0 {LONG}")
    assert slid.tokens_after == tokens(slid.messages)


@pytest.mark.parametrize("shape", SHAPES)
def test_all_shrink_but_the_last_before_anything_drops(shape: Shape) -> None:
    messages = shape(talk(2, 2, 1))
    least = tokens(slide(messages, tokens(messages) // 4).messages)
    slid = slide(messages, least)
    assert not slid.dropped and len(slid.shrunk) == 4
    assert told(slid.messages)[-1] == f"c2.0 {LONG}"
    assert slide(messages, least - 1).dropped


def test_results_that_answer_one_message_are_all_new() -> None:
    """Called at once: the model has seen none of them yet."""
    calls = [{"type": "tool_use", "id": f"t{n}", "name": "read", "input": {}} for n in range(2)]
    answers = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": LONG} for n in range(2)]
    messages = anthropic(talk(1))
    messages += [{"role": "assistant", "content": calls}, {"role": "user", "content": answers}]
    slid = slide(messages, tokens(messages) - 1)
    assert [len(text) > 1_000 for text in told(slid.messages)] == [False, True, True]


@pytest.mark.parametrize("shape", SHAPES)
def test_pictures_shrink_too(shape: Shape) -> None:
    steps = talk(1, 1)
    steps[3] = ("image", "c0.0", "")
    slid = slide(shape(steps), tokens(shape(steps)) - 1)
    assert told(slid.messages)[0] == "[read: no text (0 characters, 1 picture, shortened)]"
    assert slid.shrunk == (3,) and tokens(slid.messages) < tokens(shape(steps)) - 1_900


def test_a_short_result_and_one_that_nobody_understands_do_not_shrink() -> None:
    messages = pi(talk(1, 1, 1))
    messages[3]["content"] = [{"type": "text", "text": "ok"}]
    messages[7]["content"].append({"type": "hologram", "data": "x"})
    slid = slide(messages, tokens(messages) - 1)
    assert not slid.shrunk
    assert slid.dropped


def test_a_line_does_not_shrink_again() -> None:
    messages = openai(talk(1, 1, 1, 1))
    once = slide(messages, tokens(messages) * 2 // 3)
    assert once.shrunk
    twice = slide(once.messages, once.tokens_after - 1)
    lines = [text for text in told(once.messages) if text.endswith(", shortened)]")]
    assert lines and lines == told(twice.messages)[: len(lines)]


# --- dropping ----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_the_oldest_exchange_drops_and_what_remains_begins_with_a_user(shape: Shape) -> None:
    messages = shape(talk(0, 0, 0))
    slid = slide(messages, tokens(messages) - 8)
    assert slid.dropped == (1, 2) and slid.kept == (0, 3, 4, 5, 6)
    assert said(slid.messages)[:2] == ["You are an agent.", "Question 1?"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_question_stays_as_long_as_anything_that_was_done_about_it(shape: Shape) -> None:
    messages = shape(talk(6, 0))
    least = slide(messages, 1).tokens_after
    seen: set[int] = set()
    whole = least + max(map(view.tokens, messages))  # the last result does not shrink
    shrinking = range(whole + 500, tokens(messages), 200)  # above it no call drops
    for budget in (*range(least, whole, 50), *range(whole, whole + 500, 10), *shrinking):
        slid = slide(messages, budget)
        first = next(m for m in slid.messages if view.role_of(m) != "system")
        assert view.role_of(first) == "user" and slid.fits
        seen.add(len(slid.dropped))
    assert {0, 2, 4, 6, 8} <= seen  # a call with its result at a time
    assert 13 not in seen  # and the question does not stay alone
    assert slide(messages, least).dropped == tuple(range(1, 15))


@pytest.mark.parametrize("shape", SHAPES)
def test_questions_that_nobody_has_answered_drop_like_anything_else(shape: Shape) -> None:
    messages = shape([("user", "One?"), ("user", "Two?"), ("system", "Note."), ("user", "Three?")])
    assert slide(messages, tokens(messages) - 1).dropped == (0,)
    assert slide(messages, 1).kept == (2, 3)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_call_and_its_result_go_together(shape: Shape) -> None:
    messages = shape([("user", "Go."), ("call", "c1", "read"), ("user", "Hurry."),
                      ("result", "c1", LONG), ("user", "And now?")])  # fmt: skip
    slid = slide(messages, tokens(messages[4:]) + tokens(messages[2:3]))
    assert slid.kept == (2, 4) and slid.fits


@pytest.mark.parametrize("shape", SHAPES)
def test_a_question_whose_call_stays_does_too(shape: Shape) -> None:
    messages = shape([("user", "Zero."), ("user", "Go."), ("call", "c1", "read"),
                      ("user", "Hurry."), ("result", "c1", LONG)])  # fmt: skip
    assert slide(messages, 1).kept == (1, 2, 3, 4)


def test_ids_that_are_used_again_pair_with_the_call_before_them() -> None:
    steps: list[Step] = []
    for number in range(3):
        steps += [("user", f"Question {number}?"), ("call", "call_1", "read")]
        steps += [("result", "call_1", f"{number} {LONG}"), ("assistant", "Done.")]
    slid = slide(openai(steps), slide(openai(steps), 10_000).tokens_after)
    assert slid.fits
    messages = openai(steps)
    smaller = slide(messages, tokens(messages[4:]))
    kept = set(smaller.kept)
    assert all((number in kept) == (number + 1 in kept) for number in (1, 5, 9))


def test_one_message_with_the_results_of_two_goes_with_both() -> None:
    first, second = anthropic([("call", "a", "read"), ("call", "b", "read")])
    both = anthropic([("result", "a", "x"), ("result", "b", "y")])
    both[0]["content"] += both[1]["content"]
    answered = anthropic([("assistant", "Done."), ("user", "Thanks.")])
    messages = [*anthropic([("user", "Go.")]), first, second, both[0], *answered]
    slid = slide(messages, tokens(messages) - 1)
    assert slid.dropped == (1, 2, 3)


def test_what_never_drops() -> None:
    steps: list[Step] = [
        ("system", "You are."), ("call", "soul", "read"), ("result", "soul", LONG),
        ("user", "First."), ("assistant", "Yes."), ("system", "Note this."),
        ("user", "Last."), ("call", "x", "read"), ("result", "x", LONG),
        ("call", "y", "read"), ("result", "y", LONG),
    ]  # fmt: skip
    messages = openai(steps)
    slid = slide(messages, 1)
    assert slid.kept == (0, 1, 2, 5, 6, 9, 10)
    assert [slid.messages[i] for i in (0, 1, 2)] == messages[:3]  # nor does it shrink
    assert slid.messages[-1] == messages[-1]
    assert not slid.fits
    assert slid.why == (f"what never drops has {slid.tokens_after:,} tokens, and the budget is 1")
    enough = slide(messages, slid.tokens_after)
    assert enough.fits and enough.kept == slid.kept and not enough.why


def test_developer_messages_are_system_messages() -> None:
    messages = [
        *openai(talk(0, 0)),
        {"role": "developer", "content": "Be brief."},
        *openai(talk(0)),
    ]
    assert messages.index({"role": "developer", "content": "Be brief."}) in slide(messages, 1).kept


def test_without_a_user_nothing_drops() -> None:
    messages = openai([("system", "You are."), *talk(2)[2:]])
    slid = slide(messages, 10)
    assert slid.messages == messages and not slid.fits


def test_nothing_at_all() -> None:
    slid = slide([], 10)
    assert slid.messages == [] and slid.fits and slid.tokens_after == 0


def test_a_budget_of_nothing_says_that_it_does_not_fit() -> None:
    assert not slide(openai(talk(1)), 0).fits


def test_with_dropping_switched_off_only_tool_results_shrink() -> None:
    messages = openai(talk(1, 1, 1))
    slid = slide(messages, 100, drop=False)
    assert not slid.dropped and len(slid.shrunk) == 2 and not slid.fits
    assert slid.why.startswith("without dropping anything it has ")


def test_strange_messages_are_left_alone_until_they_drop() -> None:
    strange = {"role": "custom", "content": {"x": "y" * 400}, "extra": None}
    messages = openai(talk(1, 1))
    messages.insert(5, strange)
    slid = slide(messages, tokens(messages) - 1)
    assert slid.messages[5] is strange
    assert 5 in slide(messages, 1).dropped


# --- what always holds -------------------------------------------------------------------


@pytest.mark.parametrize("start", range(0, 300, 50))
def test_never_mutates_never_over_budget_never_half_a_pair(start: int) -> None:
    dropped = 0
    for seed in range(start, start + tries(15, 50)):
        messages = some(seed)
        before, deep = frozen(messages), copy.deepcopy(messages)
        total = tokens(messages)
        budget = int(total * random.Random(seed).choice([0.0, 0.05, 0.2, 0.5, 0.8, 1.0]))
        slid = slide(messages, budget)
        assert messages == deep and frozen(messages) == before, seed
        assert slid.tokens_before == total and slid.tokens_after == tokens(slid.messages)
        assert slid.fits == (slid.tokens_after <= budget), seed
        assert (slid.why == "") == slid.fits
        accounted(messages, slid)
        paired(messages, slid)
        well_begun(messages, slid, seed)
        if not slid.fits:  # what never drops is all that is left
            assert slid.kept == slide(messages, -1).kept, seed
        again = slide(slid.messages, budget)
        assert not again.dropped and frozen(again.messages) == frozen(slid.messages), seed
        dropped += len(slid.dropped)
    assert dropped > tries(30, 100)


def accounted(messages: list[Any], slid: Slid) -> None:
    """Every message is kept or dropped; only the shrunk ones look different."""
    assert sorted((*slid.kept, *slid.dropped)) == list(range(len(messages)))
    assert set(slid.shrunk) <= set(slid.kept)
    for index, message in zip(slid.kept, slid.messages, strict=True):
        if index in slid.shrunk:
            assert view.answers(message) == view.answers(messages[index])
            assert view.tokens(message) < view.tokens(messages[index])
        else:
            assert message is messages[index]
    head = view.first_user(messages)
    fixed = {i for i, m in enumerate(messages) if i < head or view.role_of(m) == "system"}
    assert fixed <= set(slid.kept) and not fixed & set(slid.shrunk)


def paired(messages: list[Any], slid: Slid) -> None:
    kept = set(slid.kept)
    asked: dict[str, int] = {}
    for index, message in enumerate(messages):
        for call in view.answers(message):
            if call in asked:
                assert (index in kept) == (asked[call] in kept), (index, call)
        asked |= {call: index for call, _ in view.calls(message)}


def well_begun(messages: list[Any], slid: Slid, seed: int) -> None:
    """After the head, the first that is left is a user's, where one is left at all."""
    head = view.first_user(messages)
    rest = [view.role_of(messages[i]) for i in slid.kept if i >= head]
    spoken = [role for role in rest if role != "system"]
    if slid.dropped and spoken:
        assert spoken[0] == "user", seed


# --- saving it first ---------------------------------------------------------------------


def test_a_named_session_is_saved_before_anything_drops(memory: Memory, projects: Path) -> None:
    chat(Claude(projects), WORKDAY)
    messages = openai(talk(0, 0, 0))
    slid = memory.window.slide(messages, tokens(messages) - 8, SESSION)
    assert slid.saved is True and slid.dropped and slid.fits and not slid.why
    assert memory.opened.state().sessions[f"claude-code/{SESSION}"].messages == len(WORKDAY)


def test_nothing_is_read_where_nothing_drops(memory: Memory, projects: Path) -> None:
    chat(Claude(projects), WORKDAY)
    messages = openai(talk(1, 1))
    slid = memory.window.slide(messages, tokens(messages) - 1, SESSION)
    assert slid.shrunk and slid.saved is None
    assert memory.window.slide(messages, 10).saved is None  # nobody was named
    assert not memory.opened.state().sessions


def test_what_is_not_saved_does_not_drop(memory: Memory, projects: Path) -> None:
    messages = openai(talk(1, 1, 1))
    slid = memory.window.slide(messages, 100, "nobody")
    assert slid.saved is False and not slid.dropped and not slid.fits
    assert len(slid.shrunk) == 2
    assert slid.why.startswith("nobody is not saved: No session 'nobody'")
    assert any("flush nobody" in problem for problem in memory.status().problems)


def test_what_is_not_saved_drops_anyway_if_told_so(memory: Memory) -> None:
    messages = openai(talk(0, 0, 0))
    slid = memory.window.slide(messages, tokens(messages) - 8, "nobody", anyway=True)
    assert slid.dropped and slid.fits and slid.saved is False
    assert slid.why.startswith("nobody is not saved: ")


def test_a_list_is_json_afterwards() -> None:
    slid = slide(anthropic(talk(2, 2)), 500)
    assert json.loads(json.dumps(slid.messages)) == slid.messages
