"""Learning without a model: the usual forms of a correction, and what only looks like one."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.learn.selecting import remembered


class Thing(NamedTuple):
    """Something with a value that changes: "the workshop in Leeds" "has" "42 seats"."""

    told: str
    name: str
    has: str
    old: str
    new: str


THINGS = {
    "number": Thing(
        "The workshop in Leeds has 42 seats.",
        "the workshop in Leeds",
        "has",
        "42 seats",
        "45 seats",
    ),
    "date": Thing("The grant deadline is 3 May.", "the grant deadline", "is", "3 May", "10 May"),
    "name": Thing("Our landlord is Viktor.", "our landlord", "is", "Viktor", "Dagny"),
    "preference": Thing(
        "My favourite drink is green tea.", "my favourite drink", "is", "green tea", "black coffee"
    ),
}
FORMS = {
    "actually": "Actually {name} {has} {new}, not {old}.",
    "not but": "{name} {has} not {old} but {new}.",
    "instead of": "{name} {has} {new} instead of {old}.",
    "from to": "{name} went from {old} to {new}.",
    "now": "{name} {has} {new} now.",
    "no longer": "{name} {has} no longer {old}, it's {new}.",
    "changed to": "{name} changed to {new}.",
    "correction": "Correction: {name} {has} {new}.",
    "scratch that": "Scratch that, {name} {has} {new}.",
    "meant": "Sorry, I meant {name} {has} {new}.",
    "arrow": "{name}: {old} → {new}",
    "used to": "{name} used to be {old}, but now it's {new}.",
    "since": "Since last week {name} {has} {new}.",
    "turns out": "It turns out {name} {has} {new}.",
    "wrong about": "I was wrong about {name}, it's {new}.",
}
BETWEEN = ["How do tides work?", ">The moon pulls.", "My cat Olive is nine years old."]


def said(form: str, thing: Thing) -> str:
    text = FORMS[form].format(**thing._asdict())
    return text[0].upper() + text[1:]


@pytest.mark.parametrize("kind", THINGS)
@pytest.mark.parametrize("form", FORMS)
def test_a_correction_is_followed(form: str, kind: str) -> None:
    thing = THINGS[kind]
    new = said(form, thing)
    [now] = remembered([thing.told, ">Noted.", new])
    assert (new in now.content, bool(now.replaces)) == (True, True)
    cat, now = remembered([thing.told, ">Noted."], BETWEEN, [new, ">Ok."])
    assert (cat.content, new in now.content, bool(now.replaces)) == (BETWEEN[-1], True, True)


@pytest.mark.parametrize("kind", ["number", "date", "name"])
def test_make_that_corrects_what_was_just_said(kind: str) -> None:
    thing = THINGS[kind]
    [now] = remembered([thing.told, ">Noted.", f"Sorry, make that {thing.new}."])
    assert (thing.new in now.content, bool(now.replaces)) == (True, True)


@pytest.mark.parametrize(
    ("told", "later"),
    [
        # another person's
        ("My birthday is on 4 March.", "My brother's birthday is on 9 March now."),
        ("I run 5 km every morning.", "My wife runs 10 km now."),
        ("I live in Ghent.", "My sister moved to Bruges."),
        ("My manager is Ida.", "Lena's manager is Ben now."),
        # another thing
        ("The grant deadline is 3 May.", "The tax deadline is 10 May."),
        ("Our staging server runs Debian 12.", "Our production server runs Debian 13 now."),
        ("The workshop in Leeds has 42 seats.", "The workshop in York has 45 seats."),
        ("My flight to Oslo leaves at 7:40.", "My flight back from Oslo leaves at 19:10."),
        # only supposed
        ("The grant deadline is 3 May.", "What if the grant deadline were 10 May?"),
        ("Our landlord is Viktor.", "Suppose our landlord were Dagny."),
        ("I live in Ghent.", "I might move to Bruges some day."),
        ("I live in Ghent.", "If I lived in Bruges, I'd cycle to work."),
        # a question
        ("The grant deadline is 3 May.", "Is the grant deadline 10 May now?"),
        ("Our landlord is Viktor.", "Isn't our landlord Dagny now?"),
        # quoted
        ("The grant deadline is 3 May.", '> The grant deadline is now 10 May.'),
        ("Our landlord is Viktor.", 'The letter said: "Your landlord is Dagny now, not Viktor."'),
        # of the past
        ("I live in Ghent.", "I lived in Bruges when I was small."),
        ("My phone is a Pixel 9.", "My old phone was a Pixel 6."),
        ("I run 5 km every morning.", "I used to run 10 km when I was at school."),
    ],
)  # fmt: skip
def test_what_only_looks_like_a_correction_replaces_nothing(told: str, later: str) -> None:
    for sessions in ([[told, ">Noted.", later]], [[told, ">Noted."], BETWEEN, [later, ">Ok."]]):
        assert told in [entry.content for entry in remembered(*sessions)]
