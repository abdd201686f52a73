"""JSON objects in a model's answer, and the second attempt at those that cannot be used."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models.chatting import (
    PROVIDERS,
    calls,
    chatting,
    failures,
    lines,
    numbered,
    outcomes,
)
from tests.server import Chat, ModelServer, Raw, Say, Status, Step
from wakebook.base.errors import BadModelOutput, ModelUnavailable
from wakebook.base.home import Home
from wakebook.models.prompt import Lines, Rejected, objects, sort


def sorted_out(text: str, most: int = 20) -> Lines[int]:
    return sort(text, numbered, most)


def refused(found: dict[str, Any]) -> int:
    raise ValueError("nothing will do")


# --- in whatever form --------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '{"n":1}\n{"n":2}',
        '```json\n{"n":1}\n{"n":2}\n```',
        'Here you are:\n\n{"n":1}\nand\n{"n":2}\n\nAnything else?',
        '{\n  "n": 1\n}\n{\n  "n": 2\n}',
        '[{"n":1},{"n":2}]',
        '```\n[\n  {"n": 1},\n  {"n": 2}\n]\n```',
        '{"entries": [{"n":1}, {"n":2}]}',
        '{"entries": [\n{"n":1},\n{"n":2}\n]}',
        '{"n":1}{"n":2}',
        '{"n":1},\r\n{"n":2},\r\n',
        '- {"n":1}\n- {"n":2}',
        '\ufeff{"n":1}\u2028{"n":2}',
    ],
)
def test_objects_are_found_in_whatever_form(text: str) -> None:
    assert sorted_out(text) == Lines([1, 2], [])


@pytest.mark.parametrize(
    "text",
    ['{"n":1}\n{"n":2}\n{"n":', '[{"n":1},{"n":2},{"n', '{"entries":[\n{"n":1},\n{"n":2},\n{"n'],
)
def test_the_end_of_an_answer_that_was_cut_is_rejected(text: str) -> None:
    found = sorted_out(text)
    assert found.kept == [1, 2] and found.rejected
    assert found.rejected[-1].line in ('{"n":', '{"n')
    assert found.rejected[-1].reason.startswith("no valid JSON: ")


def test_a_bad_line_does_no_harm_to_its_neighbours() -> None:
    found = sorted_out('{"n":1}\n{"n":1 2}\n{"n":"three"}\n{"n":4}')
    assert found.kept == [1, 4]
    assert found.rejected == [
        Rejected('{"n":1 2}', "no valid JSON: Expecting ',' delimiter"),
        Rejected('{"n": "three"}', '"n" must be a number'),
    ]


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_answer(text: str) -> None:
    assert sorted_out(text) == Lines([], [Rejected("", "the answer is empty")])


@pytest.mark.parametrize("text", ["I found nothing.", "[]", "[1, 2]", "null", "}", '"n": 1'])
def test_an_answer_without_an_object(text: str) -> None:
    reason = "there is no JSON object in the answer"
    assert sorted_out(text) == Lines([], [Rejected(text, reason)])


def test_more_than_enough_is_no_answer() -> None:
    text = '{"n":1}\n' * 5
    assert sorted_out(text, most=5).kept == [1] * 5
    found = sorted_out(text, most=4)
    assert not found.kept and "more than 4 objects" in found.rejected[0].reason


@pytest.mark.parametrize("text", ['[{"n":1}]', '{"n":[{"n":1}]}'])
def test_a_list_with_one_object(text: str) -> None:
    assert sorted_out(text).kept == [1]


def test_only_a_list_of_objects_is_unwrapped() -> None:
    for odd in ('{"n": []}', '{"n": [1]}', '{"n": [{}, 1]}', '{"n": 1, "m": [{"n": 2}]}'):
        assert list(objects(odd)) == [json.loads(odd)]


def test_strings_may_hold_anything() -> None:
    text = 'one\n{two}\t```\n"three" \\ 四 🦑 </think>'
    for ascii in (True, False):
        said = json.dumps({"text": text}, ensure_ascii=ascii)
        assert list(objects(said)) == [{"text": text}]
    assert list(objects('{"text": "one\ntwo"}')) == [{"text": "one\ntwo"}]  # a bare line break


def test_half_a_character_is_made_whole() -> None:
    (found,) = objects('{"text": "\\ud83e cut"}')
    assert isinstance(found, dict)
    found["text"].encode()


def test_numbers_that_are_none() -> None:
    (found,) = objects('{"n": NaN, "m": -Infinity}')
    assert isinstance(found, dict) and math.isnan(found["n"])
    assert sorted_out('{"n": NaN}').rejected == [Rejected('{"n": NaN}', '"n" must be a number')]


def test_a_number_with_too_many_digits() -> None:
    (found,) = objects('{"n": ' + "1" * 5000 + "}")
    assert isinstance(found, Rejected)
    assert "nested" not in found.reason


@pytest.mark.parametrize("depths", [[10], [100_000], range(800, 1000)])
def test_deep_nesting(depths: Sequence[int]) -> None:
    for depth in depths:
        text = '{"n":1}\n' + '{"a":' * depth + "1" + "}" * depth + '\n{"n":2}'
        found = sorted_out(text)  # at some depth it can be read, but not written
        assert found.kept == [1, 2] and len(found.rejected) == 1
        assert len(found.rejected[0].line) <= 300


@pytest.mark.parametrize(
    "junk",
    [
        "x" * 1_000_000,
        "{" * 1_000_000,
        '{"a": "' + "x" * 1_000_000,
        "[" * 1_000_000,
        '{"n":1}' * 140_000,
        "{\n" * 500_000,
        '{"a":\n' * 170_000,
    ],
    ids=lambda junk: junk[:6],
)
def test_a_megabyte_of_junk(junk: str) -> None:
    found = sorted_out(junk)
    assert not found.kept and len(found.rejected) == 1
    assert len(found.rejected[0].line) <= 300


def test_no_more_is_looked_at_than_can_be_taken() -> None:
    seen: list[Any] = []
    sort('{"n":1}\n' * 1000, seen.append, 20)
    assert len(seen) <= 21  # it takes minutes for a megabyte of "{\n"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
# two fields: an object with nothing but a list of objects is taken for a wrapper
entries = st.dictionaries(st.text(), values, max_size=4).map(lambda e: {"type": 1, "on": 2} | e)
prose = st.text(st.characters(exclude_characters="{}"), max_size=40)


@settings(deadline=None)
@given(st.lists(st.tuples(prose, entries)), prose, st.booleans())
def test_one_object_a_line_is_read_back_whatever_stands_between(
    said: list[tuple[str, dict[str, Any]]], end: str, ascii: bool
) -> None:
    text = "".join(f"{words}\n{json.dumps(entry, ensure_ascii=ascii)}\n" for words, entry in said)
    assert list(objects(text + end)) == [entry for _, entry in said]


# --- a second attempt --------------------------------------------------------------------


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_cannot_be_used_is_asked_for_once_more(
    server: ModelServer, tmp_path: Path, provider: str
) -> None:
    server.script(Say('{"n":1}\n{"n":"two"}'), Say('{"n":2}'))
    found = lines(chatting(server, tmp_path, f"{provider}/m"), numbered)
    assert (found.kept, found.rejected, found.cut) == ([1, 2], [], False)
    assert found.by.startswith(f"{provider}/m briefing/")
    asked, again = server.chats
    question, answer, repair = again.messages
    assert question == asked.messages[0]
    assert answer == ("assistant", '{"n":1}\n{"n":"two"}')
    assert repair[0] == "user" and '{"n": "two"}\n  -> "n" must be a number' in repair[1]
    assert [call.repair for call in calls(tmp_path)] == [False, True]


def rejected(folder: Path) -> list[tuple[str, str]]:
    return [(trace["content"], trace["reason"]) for trace in Home(folder).traces("rejected")]


def test_what_is_still_bad_is_traced_and_the_rest_is_kept(
    server: ModelServer, tmp_path: Path
) -> None:
    server.script(Say('{"n":1}\n{"n":"two"}\n{"n":"three"}'), Say('{"n":2}\n{"n":"3"}'))
    found = lines(chatting(server, tmp_path), numbered)
    assert found.kept == [1, 2]
    assert rejected(tmp_path) == [('{"n": "3"}', '"n" must be a number')]
    assert len(server.requests) == 2 and not failures(tmp_path)


@pytest.mark.parametrize("second", ["", "There is nothing to correct."])
def test_what_the_model_gives_up_is_traced(
    server: ModelServer, tmp_path: Path, second: str
) -> None:
    server.script(Say('{"n":1}\n{"n":"two"}'), Say(second))
    assert lines(chatting(server, tmp_path), numbered).kept == [1]
    assert rejected(tmp_path) == [('{"n": "two"}', '"n" must be a number')]


def test_good_lines_that_are_repeated_count_once(server: ModelServer, tmp_path: Path) -> None:
    server.script(Say('{"n":1}\n{"n":"two"}'), Say('{"n":1}\n{"n":2}'))
    assert lines(chatting(server, tmp_path), numbered).kept == [1, 2]


@pytest.mark.parametrize("answer", ["Sorry.", '{"n":"one"}', "", '{"n":1}\n' * 30])
def test_when_nothing_can_be_used(server: ModelServer, tmp_path: Path, answer: str) -> None:
    server.script(Say(answer), Say(answer))
    with pytest.raises(BadModelOutput, match=r"^anthropic/m gave nothing that can be used \(brief"):
        lines(chatting(server, tmp_path), numbered)
    assert len(server.requests) == 2
    assert len(rejected(tmp_path)) == 1 and len(failures(tmp_path)) == 1
    outcome = "poor" if '{"n":"' in answer else "unusable" if answer else "empty"
    assert outcomes(tmp_path) == [outcome] * 2
    assert all(call.error and call.lines == 0 for call in calls(tmp_path))


def test_a_half_good_answer_is_said(server: ModelServer, tmp_path: Path) -> None:
    """One line of five: that is kept, and `status` does not say that all is well."""
    said = '{"n":1}\n' + '{"n":"?"}\n' * 4
    server.script(Say(said), Say(""), Say('{"n":1}\n{"n":2}\n{"n":"?"}'), Say(""))
    models = chatting(server, tmp_path)
    assert lines(models, numbered).kept == [1]
    (told,) = failures(tmp_path)
    assert told == 'anthropic/m (briefing/1): 4 of 5 lines cannot be used: "n" must be a number.'
    assert models.troubles == [told]
    assert lines(models, numbered).kept == [1, 2] and len(failures(tmp_path)) == 1
    found = [(call.outcome, call.lines) for call in calls(tmp_path)]
    assert found == [("poor", 1), ("empty", 0), ("ok", 2), ("empty", 0)]


@pytest.mark.parametrize(
    "step", [Status(401), Raw(b"<html>"), Say("No.", stop="refusal"), Status(413)], ids=str
)
def test_a_second_attempt_that_fails_keeps_what_was_good(
    server: ModelServer, tmp_path: Path, step: Step
) -> None:
    server.script(Say('{"n":1}\n{"n":"two"}'), step)
    assert lines(chatting(server, tmp_path), numbered).kept == [1]
    assert rejected(tmp_path) == [('{"n": "two"}', '"n" must be a number')]
    assert len(outcomes(tmp_path)) == 2


def test_a_second_attempt_that_fails_when_nothing_was_good(
    server: ModelServer, tmp_path: Path
) -> None:
    server.script(Say("Sorry."), Status(401))
    with pytest.raises(ModelUnavailable, match="refuses the key"):
        lines(chatting(server, tmp_path), numbered)


def test_there_is_no_third_attempt(tmp_path: Path) -> None:
    said = iter(['{"n":"one"}', '{"n":"one"}', '{"n":1}'])

    def reply(chat: Chat) -> str:
        return next(said)

    with ModelServer(reply=reply) as server, pytest.raises(BadModelOutput):
        lines(chatting(server, tmp_path), numbered)
    assert len(server.requests) == 2


def test_both_attempts_together_are_not_more_than_enough(
    server: ModelServer, tmp_path: Path
) -> None:
    server.script(Say('{"n":1}\n{"n":2}\n{"n":"x"}'), Say('{"n":3}\n{"n":4}'))
    found = lines(chatting(server, tmp_path), numbered, most=3)
    assert len(found.kept) <= 3


def test_a_long_answer_does_not_come_back_in_full(server: ModelServer, tmp_path: Path) -> None:
    server.script(Say("{" + "x" * 100_000 + "\n" + '{"n":1}'), Say('{"n":2}'))
    assert lines(chatting(server, tmp_path), numbered).kept == [1, 2]
    assert len(server.chats[1].prompt) < 40_000
