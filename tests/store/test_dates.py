"""Dates that a question names."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wakebook.store import question as dates

NOW = datetime(2026, 11, 9, 8, 0, tzinfo=UTC)  # a Monday
EPOCH = date(1970, 1, 1)


def named(text: str) -> list[tuple[str, str]]:
    return [
        tuple((EPOCH + timedelta(days=day)).isoformat() for day in span)  # type: ignore[misc]
        for span in dates.named_dates(text, NOW)
    ]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("what happened on 2026-02-16?", "2026-02-16", "2026-02-16"),
        ("on 2026/2/6 we met", "2026-02-06", "2026-02-06"),
        ("on 3 June", "2026-06-03", "2026-06-03"),
        ("on the 3rd of June", "2026-06-03", "2026-06-03"),
        ("on 24 December", "2025-12-24", "2025-12-24"),
        ("on 3 June 2023", "2023-06-03", "2023-06-03"),
        ("June 3rd, 2023", "2023-06-03", "2023-06-03"),
        ("on Nov 9", "2026-11-09", "2026-11-09"),
        ("Sept 1", "2026-09-01", "2026-09-01"),
        ("in May 2023", "2023-05-01", "2023-05-31"),
        ("in December 2023", "2023-12-01", "2023-12-31"),
        ("in February", "2026-02-01", "2026-02-28"),
        ("in December", "2025-12-01", "2025-12-31"),
        ("back in 2024", "2024-01-01", "2024-12-31"),
        ("yesterday", "2026-11-08", "2026-11-08"),
        ("what did I say today", "2026-11-09", "2026-11-09"),
        ("this month", "2026-11-01", "2026-11-09"),
        ("this year", "2026-01-01", "2026-11-09"),
        ("this week", "2026-11-09", "2026-11-09"),
        ("last year", "2025-01-01", "2025-12-31"),
    ],
)
def test_a_date_and_its_days(text: str, first: str, last: str) -> None:
    assert named(text) == [(first, last)]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("two days ago", "2026-11-07"),
        ("a week ago", "2026-11-02"),
        ("3 weeks ago", "2026-10-19"),
        ("a couple of months ago", "2026-09-10"),
        ("a year ago", "2025-11-09"),
        ("last Friday", "2026-11-06"),
        ("last Monday", "2026-11-02"),
        ("last weekend", "2026-11-07"),
        ("last week", "2026-11-03"),
        ("over the last 3 weeks", "2026-10-21"),
        ("in the past two months", "2026-09-20"),
        ("last month", "2026-10-15"),
    ],
)
def test_a_vague_date_holds_the_day_that_is_meant(text: str, day: str) -> None:
    [(first, last)] = named(text)
    assert first <= day <= last


@pytest.mark.parametrize(
    "text",
    [
        "which database did we take",
        "version 3.11 of 7 things",
        "it may rain",
        "march on",
        "31 June 2023",
        "30 February",
        "2026-13-40",
        "999 years ago" * 3,
        "",
    ],
)
def test_no_date(text: str) -> None:
    assert named(text) == [] or all(first <= last for first, last in named(text))
    if "ago" not in text:
        assert named(text) == []


def test_several_dates() -> None:
    assert named("between 1 May 2023 and 3 May 2023") == [
        ("2023-05-01", "2023-05-01"),
        ("2023-05-03", "2023-05-03"),
    ]


@given(
    st.lists(
        st.sampled_from(
            "last past this a two 0 31 999 day week weekend months years ago may june 3rd of "
            "2023 9999 0000-00-00 9999-12-31 yesterday in friday december".split()
        ),
        max_size=8,
    )
)
def test_nothing_is_an_error(parts: list[str]) -> None:
    for first, last in dates.named_dates(" ".join(parts), NOW):
        assert first <= last
