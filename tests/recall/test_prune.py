"""Pruning a message list: each setting at its boundary, in the shapes of three hosts."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from tests.recall.shapes import SHAPES, Shape, Step, anthropic, frozen, openai, some, told
from wakebook.base.config import Pruning
from wakebook.base.errors import ConfigError
from wakebook.models import tokenizer
from wakebook.recall import messages as view
from wakebook.recall.prune import Pruned, prune, utilisation

CLEARED = "[Old tool result content cleared]"
EAGER = Pruning(min_prunable_tool_chars=1)  # clears, however little there is
LAST: list[Step] = [("assistant", "one"), ("assistant", "two"), ("assistant", "three")]


def old(*texts: str, tool: str = "read") -> list[Step]:
    """A user's question, calls with these results, and three answers after them."""
    steps: list[Step] = [("user", "Go on.")]
    for number, text in enumerate(texts):
        steps += [("call", f"c{number}", tool), ("result", f"c{number}", text)]
    return steps + LAST


def filled(steps: list[Step], characters: int) -> list[Any]:
    """In OpenAI's shape, with words of the user's until there are so many characters."""
    messages = openai(steps)
    missing = characters - sum(map(view.characters, messages))
    assert missing >= 0
    return [*messages, {"role": "user", "content": "x" * missing}]


def small(messages: list[Any]) -> int:
    """A window that the messages fill to a third: trimming, no clearing."""
    return sum(map(view.characters, messages)) // 4 * 3


def after(done: Pruned) -> list[str]:
    return told(done.messages)


# --- the three shapes --------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_a_long_old_result_is_trimmed_to_its_beginning_and_end(shape: Shape) -> None:
    text = "a" * 2_000 + "b" * 6_000 + "c" * 2_000
    messages = shape(old(text))
    done = prune(messages, small(messages))
    note = "[Tool result trimmed: kept first 1500 chars and last 1500 chars of 10000 chars.]"
    assert after(done) == ["a" * 1_500 + "\n...\n" + "c" * 1_500 + "\n\n" + note]
    [change] = done.report.trimmed
    assert (change.index, change.tool, change.call) == (2, "read", "c0")
    assert (change.before, change.after) == (10_000, len(after(done)[0]))
    assert done.report.cleared == () and done.report.why == ""
    assert done.report.characters_before - done.report.characters_after == 10_000 - change.after


@pytest.mark.parametrize("shape", SHAPES)
def test_the_oldest_results_are_cleared_until_it_is_enough(shape: Shape) -> None:
    texts = [f"{n}" * 3_900 for n in range(10)] * 2
    messages = shape(old(*texts))
    total = sum(map(view.characters, messages))
    done = prune(messages, total // 4)  # full
    found = after(done)
    cleared = found.count(CLEARED)
    assert 0 < cleared < len(texts)
    assert found == [CLEARED] * cleared + texts[cleared:]
    assert done.report.ratio_after < 0.5
    one_less = done.report.characters_after + 3_900 - len(CLEARED)
    assert one_less / (total // 4 * 4) >= 0.5
    assert [change.index for change in done.report.cleared] == [2 + 2 * n for n in range(cleared)]
    assert all(change.after == len(CLEARED) for change in done.report.cleared)


@pytest.mark.parametrize("shape", SHAPES)
def test_only_the_text_of_a_result_changes(shape: Shape) -> None:
    messages = shape(old("x" * 9_000, "y" * 10))
    for message in messages:
        message["extra"] = {"kept": [1, 2.5, None]}
    done = prune(messages, small(messages))
    changed = [i for i, (a, b) in enumerate(zip(messages, done.messages, strict=True)) if a != b]
    assert changed == [2]
    put_back = view.replaced(done.messages[2], view.results(done.messages)[0], "x" * 9_000)
    assert json.dumps(put_back) == json.dumps(messages[2])


@pytest.mark.parametrize("shape", SHAPES)
def test_results_with_pictures_are_left_alone_in_both_stages(shape: Shape) -> None:
    steps = old(*["x" * 60_000] * 2)
    steps[2] = ("image", "c0", "y" * 60_000)
    messages = shape(steps)
    done = prune(messages, 10_000, EAGER)
    assert done.messages[2] == messages[2]
    assert after(done)[1] == CLEARED
    assert [change.index for change in done.report.cleared] == [4]


# --- the defaults, each at its boundary --------------------------------------------------


@pytest.mark.parametrize(("length", "trims"), [(4_000, False), (4_001, True)])
def test_more_than_4000_characters_are_trimmed(length: int, trims: bool) -> None:
    messages = filled(old("x" * length), 12_000)
    assert bool(prune(messages, 10_000).report.trimmed) is trims


@pytest.mark.parametrize(("characters", "trims"), [(11_999, False), (12_000, True)])
def test_trimming_begins_at_30_percent(characters: int, trims: bool) -> None:
    done = prune(filled(old("x" * 5_000), characters), 10_000)  # tokens: 40,000 characters
    assert bool(done.report.trimmed) is trims
    assert done.report.why == ("" if trims else "pruning begins at 30 %")


@pytest.mark.parametrize(("characters", "clears"), [(199_999, False), (200_000, True)])
def test_clearing_begins_at_50_percent(characters: int, clears: bool) -> None:
    done = prune(filled(old(*["x" * 4_000] * 13), characters), 100_000)
    assert bool(done.report.cleared) is clears


@pytest.mark.parametrize(("length", "clears"), [(49_999, False), (50_000, True)])
def test_clearing_begins_with_50000_characters_of_results(length: int, clears: bool) -> None:
    texts = ["x" * 4_000] * 12
    texts.append("x" * (length - 48_000))
    done = prune(filled(old(*texts), 80_000), 20_000)
    assert bool(done.report.cleared) is clears
    assert ("together they have 49,999: clearing begins at 50,000" in done.report.why) is not clears


def test_what_trimming_leaves_is_what_counts_for_clearing() -> None:
    """Ten results of 10,000 characters are 100,000, but 30,000 once they are trimmed."""
    done = prune(filled(old(*["x" * 10_000] * 10), 200_000), 50_000)
    assert len(done.report.trimmed) == 10 and not done.report.cleared
    assert done.report.ratio_after >= 0.5


def test_a_result_that_is_cleared_is_not_reported_as_trimmed_too() -> None:
    done = prune(openai(old(*["x" * 10_000] * 40)), 40_000)
    trimmed = {change.index for change in done.report.trimmed}
    cleared = {change.index for change in done.report.cleared}
    assert trimmed and cleared and not trimmed & cleared
    assert all(change.before == 10_000 for change in done.report.cleared)


def test_clearing_never_makes_a_result_longer() -> None:
    texts = ["ok", "x" * 33, "x" * 34, *["y" * 4_000] * 13]
    done = prune(filled(old(*texts), 80_000), 20_000)
    assert after(done)[:4] == ["ok", "x" * 33, CLEARED, CLEARED]


@pytest.mark.parametrize("answers", [1, 2, 3, 4])
def test_the_last_three_answers_and_what_follows_them_are_kept(answers: int) -> None:
    steps: list[Step] = [("user", "Go.")]
    for number in range(answers):
        steps += [("call", f"c{number}", "read"), ("result", f"c{number}", "x" * 9_000)]
    messages = openai(steps)
    done = prune(messages, small(messages))
    assert [change.index for change in done.report.trimmed] == ([2] if answers == 4 else [])
    if answers < 3:
        assert done.report.why == "the last 3 answers are kept, and there are no more"


def test_what_stands_before_the_first_user_is_never_touched() -> None:
    before: list[Step] = [("call", "soul", "read"), ("result", "soul", "I am. " * 2_000)]
    messages = openai([("system", "You are."), *before, *old("x" * 60_000)])
    done = prune(messages, 1_000, EAGER)
    assert done.messages[:4] == messages[:4]
    assert [change.index for change in done.report.cleared] == [5]


def test_without_a_user_nothing_is_pruned() -> None:
    done = prune(openai(old("x" * 60_000)[1:]), 1_000)
    assert done.report.why == "what stands before the first message of a user is kept"
    assert not done.report.trimmed and not done.report.cleared


def test_a_message_with_results_alone_is_not_the_first_of_a_user() -> None:
    """In Anthropic's shape it has the role of one; with a text of its own it is one."""
    before: list[Step] = [("call", "soul", "read"), ("result", "soul", "x" * 60_000)]
    messages = anthropic([*before, *old("y" * 60_000)])
    assert view.role_of(messages[1]) == "tool" and view.first_user(messages) == 2
    done = prune(messages, 10_000, EAGER)
    assert done.messages[1] == messages[1] and after(done)[1] == CLEARED
    messages[1]["content"].append({"type": "text", "text": "Who are you?"})
    assert view.role_of(messages[1]) == "user" and view.first_user(messages) == 1
    assert after(prune(messages, 1_000, EAGER))[0] == CLEARED
    messages[1]["content"][1]["text"] = " \n"
    assert view.first_user(messages) == 2


# --- the cache ---------------------------------------------------------------------------


@pytest.mark.parametrize(("idle", "warm"), [(0, True), (299_999, True), (300_000, False)])
def test_nothing_is_pruned_while_the_cache_is_warm(idle: int, warm: bool) -> None:
    messages = openai(old("x" * 9_000))
    done = prune(messages, small(messages), idle_ms=idle)
    assert bool(done.report.trimmed) is not warm
    assert ("the cache is still warm" in done.report.why) is warm
    assert (done.messages == messages) is warm


def test_an_unknown_time_since_the_last_call_counts_as_long() -> None:
    messages = openai(old("x" * 9_000))
    assert prune(messages, small(messages), idle_ms=None).report.trimmed


# --- other settings ----------------------------------------------------------------------


def changed(messages: list[Any], **settings: Any) -> Pruned:
    return prune(messages, small(messages), Pruning(**settings))


def test_off_is_off() -> None:
    done = changed(openai(old("x" * 60_000)), mode="off")
    assert done.report.why == "pruning is switched off"
    assert not done.report.trimmed and not done.report.cleared


def test_a_window_of_unknown_size_prunes_nothing() -> None:
    done = prune(openai(old("x" * 60_000)), 0)
    assert done.report.why == "the size of the window is not known"
    assert done.report.ratio_before == 0
    assert done.report.line.startswith("Context of 15k tokens; nothing was pruned: ")


def test_the_settings_are_used() -> None:
    messages = openai(old("abcdefghij" * 20))
    done = changed(
        messages, soft_trim_max_chars=150, soft_trim_head_chars=3, soft_trim_tail_chars=2
    )
    assert after(done)[0].startswith(
        "abc\n...\nij\n\n[Tool result trimmed: kept first 3 chars and "
    )


def test_no_clearing_where_it_is_switched_off() -> None:
    messages = openai(old(*["x" * 60_000] * 3))
    assert prune(messages, 1_000, Pruning(hard_clear=False)).report.cleared == ()
    assert len(prune(messages, 1_000, EAGER).report.cleared) == 3


def test_another_placeholder_ratio_and_reserve() -> None:
    messages = openai(old("x" * 900, "y" * 900))
    settings = Pruning(
        min_prunable_tool_chars=1_800,
        hard_clear_placeholder="[gone]",
        soft_trim_ratio=0.1,
        hard_clear_ratio=0.2,
    )
    assert after(prune(messages, 2_250, settings)) == ["[gone]", "y" * 900]
    more = settings.with_(min_prunable_tool_chars=1_801)
    assert after(prune(messages, 2_250, more)) == ["x" * 900, "y" * 900]


def test_characters_per_token() -> None:
    messages = openai(old("x" * 9_000))
    done = prune(messages, 10_000, Pruning(chars_per_token=2))  # 45 % of 20,000, 22 % of 40,000
    assert done.report.trimmed
    assert done.report.tokens_before == (done.report.characters_before + 1) // 2
    assert prune(messages, 10_000).report.why == "pruning begins at 30 %"


@pytest.mark.parametrize("keep", [0, 1, 3, 5])
def test_how_many_answers_are_kept(keep: int) -> None:
    steps = old("x" * 9_000, "y" * 9_000)[:-3]  # two calls are two answers
    done = changed(openai([*steps, ("assistant", "done")]), keep_last_assistants=keep)
    trimmed = [change.index for change in done.report.trimmed]
    assert trimmed == {0: [2, 4], 1: [2, 4], 3: [], 5: []}[keep]


@pytest.mark.parametrize(
    ("allow", "deny", "pruned"),
    [
        ((), (), ["read", "Browser_Click", "browser_type", "exec"]),
        (("read",), (), ["read"]),
        (("BROWSER_*",), (), ["Browser_Click", "browser_type"]),
        (("browser_*",), ("*_type",), ["Browser_Click"]),
        ((), ("READ", "exec"), ["Browser_Click", "browser_type"]),
        (("*",), ("*",), []),
        ((" read ", ""), (" ",), ["read"]),
    ],
)
@pytest.mark.parametrize("shape", SHAPES)
def test_tools_are_allowed_and_denied_by_name(
    shape: Shape, allow: tuple[str, ...], deny: tuple[str, ...], pruned: list[str]
) -> None:
    steps: list[Step] = [("user", "Go.")]
    for tool in ("read", "Browser_Click", "browser_type", "exec"):
        steps += [("call", tool, tool), ("result", tool, "x" * 9_000)]
    messages = shape([*steps, *LAST])
    done = changed(messages, tools_allow=allow, tools_deny=deny)
    assert [change.tool for change in done.report.trimmed] == pruned
    if not pruned:
        assert done.report.why == "there is no old tool result that may be pruned"


def test_a_result_of_a_tool_without_a_name_is_pruned_unless_only_some_are_allowed() -> None:
    steps = [step for step in old("x" * 9_000) if step[0] != "call"]
    messages = openai(steps)
    assert [change.tool for change in changed(messages).report.trimmed] == [""]
    assert not changed(messages, tools_allow=("read",)).report.trimmed
    assert changed(messages, tools_allow=("*",)).report.trimmed


def test_an_id_that_is_used_again_means_the_newest_call() -> None:
    steps: list[Step] = [("user", "Go.")]
    for tool in ("read", "exec"):
        steps += [("call", "call_1", tool), ("result", "call_1", "x" * 9_000)]
    done = changed(openai([*steps, *LAST]), tools_deny=("read",))
    assert [(change.index, change.tool) for change in done.report.trimmed] == [(4, "exec")]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"mode": "adaptive"}, "mode: 'adaptive' is none of cache-ttl, off"),
        ({"soft_trim_head_chars": 2_500}, "(2500) and soft_trim_tail_chars (1500) must together"),
        ({"soft_trim_tail_chars": -1}, "soft_trim_tail_chars (-1)"),
        ({"soft_trim_ratio": 0.6}, "hard_clear_ratio (0.5) must not be less than"),
        ({"hard_clear_placeholder": " "}, "hard_clear_placeholder is empty"),
        ({"chars_per_token": 0}, "chars_per_token (0)"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=r"^\[pruning\] ") as caught:
        prune([], 1_000, Pruning(**settings))
    assert said in str(caught.value)
    prune([], 1_000, Pruning(soft_trim_head_chars=2_499))  # just allowed


# --- trimmed already ---------------------------------------------------------------------


def test_what_was_trimmed_is_not_trimmed_again() -> None:
    """Even where what is left of it is still longer than the limit."""
    settings = Pruning(soft_trim_max_chars=3_001)
    messages = openai(old("x" * 9_000))
    once = prune(messages, 5_000, settings)
    assert len(after(once)[0]) > 3_001
    twice = prune(once.messages, 2_000, settings)
    assert twice.messages == once.messages and not twice.report.trimmed


def test_a_result_that_only_says_so_was_not_trimmed() -> None:
    note = "[Tool result trimmed: kept first 1500 chars and last 1500 chars of 99999 chars.]"
    for middle in ("", "\n...\n"):
        messages = openai(old("x" * 1_500 + middle + "y" * 7_500 + "\n\n" + note))
        assert prune(messages, small(messages)).report.trimmed


def test_trimming_that_would_make_it_longer_is_left_undone() -> None:
    settings = Pruning(soft_trim_max_chars=3_001)
    messages = openai(old("x" * 3_010))
    done = prune(messages, 2_000, settings)
    assert after(done) == ["x" * 3_010] and not done.report.trimmed


# --- the report --------------------------------------------------------------------------


def test_one_sentence_for_the_agent() -> None:
    texts = ["x" * 10_000] * 40
    done = prune(openai(old(*texts)), 40_000)
    report = done.report
    assert report.line == (
        f"Context 49 % full (19k of 40k tokens); {len(report.trimmed)} old tool results were "
        f"trimmed and {len(report.cleared)} cleared: read them again if you need them."
    )
    assert report.window == 40_000
    assert report.ratio_before == report.characters_before / 160_000 > 2
    assert report.tokens_after == -(-report.characters_after // 4)
    assert report.characters_after == sum(map(view.characters, done.messages))


def test_the_sentence_for_one_result_and_for_none() -> None:
    messages = openai(old("x" * 9_000))
    assert prune(messages, 7_000).report.line == (
        "Context 11 % full (778 of 7k tokens); 1 old tool result was trimmed: "
        "read it again if you need it."
    )
    assert prune(messages, 2_000_000).report.line == (
        "Context 0 % full (2k of 2.00M tokens); nothing was pruned: pruning begins at 30 %."
    )
    both = prune(openai(old("x" * 60_000, "ok")), 1_000, EAGER)
    assert "; 1 old tool result was cleared: read it again" in both.report.line


def test_how_full_the_window_is_by_the_real_tokenizer() -> None:
    messages = [{"role": "user", "content": "The quick brown fox jumps over the lazy dog."}] * 3
    found = utilisation(messages, 1_000)
    assert found.tokens == 3 * (tokenizer.count(messages[0]["content"]) + 4)
    assert found.ratio == found.tokens / 1_000
    assert found.line == f"Context 4 % full ({found.tokens} of 1k tokens)."
    assert utilisation([], 0).ratio == 0


def test_the_default_settings_are_those_of_the_config() -> None:
    messages = openai(old("x" * 9_000))
    assert prune(messages, 7_000).messages == prune(messages, 7_000, Pruning()).messages


# --- what always holds -------------------------------------------------------------------


def a_setting(chance: random.Random) -> Pruning:
    most = chance.choice([200, 1_000, 4_000])
    soft = chance.choice([0.0, 0.1, 0.3])
    return Pruning(
        keep_last_assistants=chance.choice([0, 1, 3]),
        soft_trim_max_chars=most,
        soft_trim_head_chars=chance.randint(0, most // 2 - 1),
        soft_trim_tail_chars=chance.randint(0, most // 2),
        soft_trim_ratio=soft,
        hard_clear_ratio=chance.choice([0.3, 0.5, 1.0]),
        min_prunable_tool_chars=chance.choice([1, 5_000, 50_000]),
        hard_clear=chance.random() < 0.8,
        tools_deny=chance.choice([(), ("web",), ("r*",)]),
    )


@pytest.mark.parametrize("start", range(0, 400, 50))
def test_never_mutates_never_twice_never_what_is_protected(start: int) -> None:
    pruned = 0
    for seed in range(start, start + 50):
        chance = random.Random(seed + 10_000)
        messages, settings = some(seed), a_setting(chance)
        before, deep = frozen(messages), copy.deepcopy(messages)
        total = sum(map(view.characters, messages))
        window = max(1, int(total / 4 * chance.choice([0.3, 1, 2, 3, 10])))
        once = prune(messages, window, settings)
        assert messages == deep and frozen(messages) == before, seed
        assert once.report.characters_before == total
        assert once.report.characters_after == sum(map(view.characters, once.messages)) <= total
        twice = prune(once.messages, window, settings)
        assert frozen(twice.messages) == frozen(once.messages), seed
        assert not twice.report.trimmed and not twice.report.cleared and twice.report.why
        changes = [*once.report.trimmed, *once.report.cleared]
        pruned += len(changes)
        protected(messages, once, settings, {change.index for change in changes})
    assert pruned > 50


def protected(messages: list[Any], done: Pruned, settings: Pruning, changed: set[int]) -> None:
    """Only results may differ, and only between the first user and the last answers."""
    assert len(done.messages) == len(messages)
    spoken = [i for i, message in enumerate(messages) if view.role_of(message) == "assistant"]
    keep = settings.keep_last_assistants
    end = len(messages) if keep == 0 else (spoken[-keep] if len(spoken) >= keep else 0)
    allowed = set(range(view.first_user(messages), end))
    assert changed <= allowed
    for index, (old_one, new_one) in enumerate(zip(messages, done.messages, strict=True)):
        if index not in changed:
            assert new_one is old_one
        else:
            assert view.calls(new_one) == view.calls(old_one)
            assert view.answers(new_one) == view.answers(old_one)
            assert not view.results([old_one])[0].media
