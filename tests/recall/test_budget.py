"""Shares of the fixed slots: caps, too little room, what is left over, and for whom."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakebook.recall import slot as budget

CAPS = {"identity": 400, "memory": 100, "journal": 100}
NOTES = dict.fromkeys(CAPS, 15)


def shares(room: int, *needs: int) -> list[int]:
    """What identity, memory and journal get."""
    named = dict(zip(CAPS, needs, strict=True))
    found = budget.shares(named, CAPS, dict.fromkeys(CAPS, 0), room)
    return [found.get(name, 0) for name in CAPS]


@pytest.mark.parametrize(
    ("room", "needs", "expected"),
    [
        (1000, [300, 50, 80], [300, 50, 80]),  # there is room for all
        (600, [900, 900, 900], [400, 100, 100]),  # caps
        (300, [900, 900, 900], [200, 50, 50]),  # too little: in proportion
        (300, [200, 50, 50], [200, 50, 50]),
        (1000, [450, 120, 10], [450, 120, 10]),  # beyond the caps, if there is room
        (600, [50, 300, 900], [50, 300, 250]),  # what is left goes to those behind ...
        (600, [900, 100, 5], [400, 100, 5]),  # ... and not to those before
        (300, [50, 900, 900], [50, 200, 50]),
        (600, [900, 0, 900], [400, 0, 200]),  # one that needs nothing
        (600, [0, 0, 0], [0, 0, 0]),
        (0, [9, 9, 9], [0, 0, 0]),
    ],
)
def test_shares(room: int, needs: list[int], expected: list[int]) -> None:
    assert shares(room, *needs) == expected


def test_only_those_that_need_something_are_there() -> None:
    assert budget.shares({}, CAPS, NOTES, 400) == {}
    assert list(budget.shares({"memory": 5}, CAPS, NOTES, 400)) == ["memory"]


@pytest.mark.parametrize("room", [-40, 0, 30, 60])
def test_everybody_can_say_at_least_that_something_is_missing(room: int) -> None:
    """fixed_share = 0: not even the marks around the slots have room."""
    found = budget.shares({"identity": 900, "memory": 900, "journal": 8}, CAPS, NOTES, room)
    assert found["identity"] >= 15 and found["memory"] >= 15
    assert found["journal"] == 8  # which is all that it has to say


def test_the_least_counts_even_above_the_cap() -> None:
    caps = {"identity": 400, "memory": 0, "journal": 5}
    found = budget.shares({"identity": 90, "memory": 90, "journal": 90}, caps, NOTES, 100)
    assert found["memory"] >= 15 and found["journal"] >= 15


NEEDS = st.dictionaries(st.sampled_from(sorted(CAPS)), st.integers(1, 2000))
SIZES = st.fixed_dictionaries(dict.fromkeys(CAPS, st.integers(0, 900)))
LEAST = st.fixed_dictionaries(dict.fromkeys(CAPS, st.integers(0, 40)))
ROOM = st.integers(-50, 2000)


@given(NEEDS, SIZES, LEAST, ROOM)
def test_no_more_than_there_is_nor_than_is_needed(
    needs: dict[str, int], caps: dict[str, int], least: dict[str, int], room: int
) -> None:
    found = budget.shares(needs, caps, least, room)
    assert found.keys() == needs.keys()
    assert all(min(least[name], needs[name]) <= found[name] <= needs[name] for name in needs)
    assert sum(found.values()) <= max(room, sum(least.values()))
    enough = sum(caps.values()) + sum(least.values()) <= room
    if enough and all(needs.get(name, 0) <= caps[name] for name in caps):
        assert found == needs


@given(NEEDS, SIZES, LEAST, ROOM, st.integers(0, 2000))
def test_a_slot_that_grows_leaves_those_before_it_as_they_were(
    needs: dict[str, int], caps: dict[str, int], least: dict[str, int], room: int, journal: int
) -> None:
    caps = {name: caps[name] for name in CAPS}  # in this order
    other = {name: need for name, need in needs.items() if name != "journal"}
    other |= {"journal": journal} if journal else {}
    one, two = (budget.shares(each, caps, least, room) for each in (needs, other))
    for name in ("identity", "memory"):
        assert one.get(name) == two.get(name)


@given(NEEDS, ROOM)
def test_more_room_is_never_worse(needs: dict[str, int], room: int) -> None:
    less = budget.shares(needs, CAPS, NOTES, room)
    more = budget.shares(needs, CAPS, NOTES, room + 50)
    assert all(more[name] >= less[name] - 1 for name in less)


# --- equal shares ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("room", "needs", "expected"),
    [
        (100, [10, 20, 30], [10, 20, 30]),  # enough for all
        (90, [500, 500, 500], [30, 30, 30]),
        (90, [500, 10, 500], [40, 10, 40]),  # what one does not need goes to the others
        (90, [10, 500, 20], [10, 60, 20]),
        (0, [5, 5, 5], [0, 0, 0]),
    ],
)
def test_equal_shares(room: int, needs: list[int], expected: list[int]) -> None:
    found = budget.fair(dict(zip("abc", needs, strict=True)), room)
    assert [found[name] for name in "abc"] == expected


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 500)), st.integers(0, 1500))
def test_nobody_gets_more_while_another_wants_as_much(needs: dict[str, int], room: int) -> None:
    found = budget.fair(needs, room)
    assert found.keys() == needs.keys()
    assert all(0 <= found[name] <= needs[name] for name in needs)
    assert sum(found.values()) <= room
    if sum(needs.values()) <= room:
        assert found == needs
    else:
        assert room - sum(found.values()) < len(needs)  # but for what cannot be divided
    wanting = [found[name] for name in needs if found[name] < needs[name]]
    assert all(max(found.values()) - one <= 1 for one in wanting)
