"""Learning without a model: whom a sentence is about."""

from __future__ import annotations

import pytest

from tests.learn.selecting import extract, one
from wakebook.learn.extract import Scene


@pytest.mark.parametrize(
    ("said", "person"),
    [
        ("My wife is Ana.", "ana"),
        ("Tom is my manager.", "tom"),
        ("My manager is Ida Brandt and she is in Oslo.", "ida-brandt"),
        ("my sister's name is Ida", "ida"),
        ("Meine Frau heißt Jana.", "jana"),
        ("Mi jefa se llama Rocío.", "rocio"),
        ("Mon mari est Luc.", "luc"),
    ],
)
def test_a_sentence_that_says_who_somebody_is_makes_a_person(said: str, person: str) -> None:
    draft = one(said)
    assert (draft.type, draft.kind, draft.subject) == ("fact", "relationship", person)
    assert draft.subject_type == "person" and draft.content == said


@pytest.mark.parametrize("said", ["My wife is German.", "My boss is away.", "My Dad is Okay."])
def test_a_sentence_that_says_how_somebody_is_makes_none(said: str) -> None:
    assert not any(draft.subject_type for draft in extract(said))


def test_what_was_decided_with_somebody_is_not_about_them() -> None:
    scene = Scene(
        subjects={"heron": "heron", "ana": "ana"}, people=frozenset({"ana"}), subject="heron"
    )
    [decided] = extract("Ana and I decided to ship Heron on Fridays.", scene=scene)
    assert decided.subject == "heron"
    [shipped] = extract("We decided with Ana to ship on Fridays.", scene=scene)
    assert shipped.subject == "heron"
    [lives] = extract("Ana has lived in Lund since March.", scene=scene)
    assert lives.subject == "ana"


@pytest.mark.parametrize(
    "said",
    [
        "My dentist appointment is on 12 May at 10.",
        "I have a dentist appointment on Thursday at 9.",
        "Remind me to call the dentist on Thursday.",
    ],
)
def test_the_folder_is_no_subject_of_a_dentist_appointment(said: str) -> None:
    [draft] = extract(said, scene=Scene(subject="heron"))
    assert draft.subject == ""
