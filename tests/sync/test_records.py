"""How files of records are merged: the same on every machine, and nothing lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakebook.sync import prose, records

IDS = [f"{letter * 12}" for letter in "abcdefgh"]


def _line(name: str, minute: int = 0, **more: Any) -> bytes:
    said = {"id": name, "timestamp": f"2026-03-02T09:{minute:02}:00Z", "type": "fact"}
    return (
        json.dumps(said | {"content": f"about {name[0]}", "session": "manual"} | more).encode()
        + b"\n"
    )


def _ids(data: bytes) -> list[str]:
    return [json.loads(line)["id"] for line in data.splitlines()]


logs = st.lists(
    st.tuples(st.sampled_from(IDS), st.integers(0, 59), st.sampled_from(["", *IDS])),
    unique_by=lambda it: it[0],
    max_size=8,
).map(
    lambda found: b"".join(_line(name, at, replaces=old) for name, at, old in found if old != name)
)


@given(logs, logs, logs)
def test_a_log_is_the_same_whichever_side_merges(base: bytes, one: bytes, two: bytes) -> None:
    there, back = records.log(base, one, two), records.log(base, two, one)
    assert there.data == back.data
    assert records.log(there.data, there.data, there.data).data == there.data  # and stays so
    assert records.log(base, there.data, one).data is not None


@given(logs, logs)
def test_no_entry_is_lost_where_nothing_was_in_common(one: bytes, two: bytes) -> None:
    found = _ids(records.log(b"", one, two).data)
    assert sorted(found) == sorted({*_ids(one), *_ids(two)})


def test_what_replaces_comes_after_what_it_replaces_whatever_the_clocks_say() -> None:
    old, new = _line(IDS[0], 50), _line(IDS[1], 10, replaces=IDS[0])  # a clock that is slow
    assert _ids(records.log(b"", old, new).data) == [IDS[0], IDS[1]]
    assert _ids(records.log(b"", _line(IDS[2], 30), old + new).data) == [IDS[2], IDS[0], IDS[1]]


def test_a_circle_of_replacements_does_no_harm() -> None:
    one, two = _line(IDS[0], 1, replaces=IDS[1]), _line(IDS[1], 2, replaces=[IDS[0]])
    assert _ids(records.log(b"", one, two).data) == [IDS[0], IDS[1]]


def test_an_entry_with_two_bodies_keeps_one_and_the_other_aside() -> None:
    short, long = _line(IDS[0]), _line(IDS[0], detail="more of it")
    for one, two in ((short, long), (long, short)):
        found = records.log(b"", one, two)
        assert found.data == long
        assert found.aside == (short,)


def test_what_one_side_has_taken_out_stays_out_and_what_it_changed_stays_changed() -> None:
    both = _line(IDS[0], 1) + _line(IDS[1], 2)
    renamed = _line(IDS[0], 1, subject="heron")
    assert records.log(both, both, renamed).data == renamed
    assert records.log(both, renamed + _line(IDS[1], 2), both + _line(IDS[2], 3)).data == (
        renamed + _line(IDS[1], 2) + _line(IDS[2], 3)
    )


def test_a_line_that_is_no_entry_is_kept_once() -> None:
    torn = b'{"id": "half\n'
    assert records.log(b"", _line(IDS[0]) + torn, torn).data == _line(IDS[0]) + torn


def test_receipts_are_all_kept_in_one_order() -> None:
    one, two = b'{"id":"b","at":"2"}\n', b'{"id":"a","at":"1"}\n'
    assert records.receipts(b"", one, two).data == two + one
    assert records.receipts(two + one, one, two).data == two + one  # never collected


def test_what_waits_is_settled_by_either_side() -> None:
    waits = [
        json.dumps({"entry": {"id": name, "timestamp": "1"}}).encode() + b"\n" for name in "abc"
    ]
    refused = json.dumps({"refused": "a"}).encode() + b"\n"
    found = records.waiting(b"".join(waits), waits[1] + waits[2] + refused, b"".join(waits), {"b"})
    assert found.data == waits[2] + refused


SUBJECT = {"display": "Heron", "type": "project"}


def _merged(rule: records.Rule, was: Any, one: Any, two: Any) -> Any:
    sides = [json.dumps(side).encode() for side in (was, one, two)]
    there = rule(*sides).data
    assert there == rule(sides[0], sides[2], sides[1]).data
    return json.loads(there)


def test_subjects_are_merged_by_name_and_field() -> None:
    was = {"heron": SUBJECT}
    one = {"heron": SUBJECT | {"type": "system"}, "buoy": SUBJECT}
    two = {"heron": SUBJECT | {"display": "The Heron"}}
    found = _merged(records.subjects, was, one, two)
    assert found["heron"] == {"display": "The Heron", "type": "system"}
    assert "buoy" in found


def test_a_subject_that_was_renamed_on_one_machine_is_gone_on_all() -> None:
    was = {"heron": SUBJECT}
    renamed = {"egret": SUBJECT | {"aliases": ["heron"]}}
    found = _merged(records.subjects, was, renamed, {"heron": SUBJECT | {"type": "place"}})
    assert list(found) == ["egret"]


def test_a_block_that_both_have_condensed_is_told_whole_again() -> None:
    was = {"a#x": {"by": "rules"}, "b#x": {"by": "rules"}}
    one = {"a#x": {"by": "one"}, "b#x": {"by": "rules"}, "c#x": {"by": "one"}}
    two = {"a#x": {"by": "two"}, "b#x": {"by": "two"}}
    found = _merged(records.condensed, was, one, two)
    assert found == {"b#x": {"by": "two"}, "c#x": {"by": "one"}}


def test_settings_are_merged_one_by_one_and_a_clash_is_named() -> None:
    was = b"# mine\n[briefing]\n# max_lines = 80\nactive_days = 14\n"
    one = was.replace(b"14", b"7") + b"[git]\nhooks = false\n"
    two = was.replace(b"# max_lines = 80", b"max_lines = 40")
    there, back = records.settings(was, one, two), records.settings(was, two, one)
    assert there == back
    assert b"active_days = 7" in there.data and b"max_lines = 40" in there.data
    assert b"hooks = false" in there.data and b"# mine" in there.data and not there.notes
    clash = records.settings(was, one, was.replace(b"14", b"30"))
    assert clash.notes == (
        "config.toml: briefing.active_days was set on two machines: 7 stays, not 30",
    )


NOTE = """---
type: person
updated: 2026-03-02T09:00:00Z
---

# Ada

Hers.

<!-- wakebook:begin person -->
- likes tea
<!-- wakebook:sum 000000000000 -->
<!-- wakebook:end person -->

The end.
"""


@pytest.mark.parametrize("swapped", [False, True])
def test_peoples_lines_are_merged_and_blocks_are_not(swapped: bool) -> None:
    one = NOTE.replace("Hers.", "Hers, and mine.").replace("likes tea", "likes coffee")
    two = NOTE.replace("The end.", "The very end.").replace("09:00", "10:00")
    sides = [side.encode() for side in ((two, one) if swapped else (one, two))]
    found = prose.text("a.md", NOTE.encode(), *sides)
    text = found.data.decode()
    assert "Hers, and mine." in text and "The very end." in text
    assert text.count("wakebook:begin person") == text.count("wakebook:end person") == 1
    assert not found.notes and "<<<<" not in text


@pytest.mark.parametrize("swapped", [False, True])
def test_both_versions_of_the_same_lines_stay(swapped: bool) -> None:
    one, two = NOTE.replace("Hers.", "Hers alone."), NOTE.replace("Hers.", "Everybody's.")
    sides = [side.encode() for side in ((two, one) if swapped else (one, two))]
    found = prose.text("a.md", NOTE.encode(), *sides)
    text = found.data.decode()
    assert "Hers alone." in text and "Everybody's." in text and "<<<<" not in text
    assert found.notes == ("a.md: two machines changed the same lines; both versions are in it.",)
    assert found == prose.text("a.md", NOTE.encode(), *sides[::-1])
