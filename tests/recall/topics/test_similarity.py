"""Tier 2: how much a message is like a topic."""

from __future__ import annotations

import random

import pytest

from tests.recall.topics.making import topic, trigger
from wakebook.recall.topics.activation import MOST_WORDS, Similarity

RELEASE = topic(
    "release-day",
    trigger("keyword", "release", "changelog"),
    title="Release day",
    description="How a new version of the library is published",
    body="## Before\n\nRun the tests.\n\n## Publish\n\nTag the commit and write the changelog.",
)
BOAT = topic(
    "boats/otter",
    trigger("pattern", r"otter|battery"),
    description="Charging the electric boats at night",
    body="Otter first, from ten in the evening. The battery must not fall below a fifth.",
)
TRAVEL = topic("travel", description="Booking trains and hotels", body="Prefer the night train.")
TOPICS = (RELEASE, BOAT, TRAVEL)


def test_the_nearest_topic_is_the_one_that_is_meant() -> None:
    similarity = Similarity(TOPICS)
    for said, name in (
        ("Write the changelog and tag the new version", "release-day"),
        ("Is the battery of Otter full?", "boats/otter"),
        ("Find me a train to Lisbon and a hotel", "travel"),
    ):
        scores = similarity.scores(said)
        assert max(scores, key=scores.__getitem__) == name
        assert scores[name] > 0.15


def test_a_question_in_other_words_is_near_by_its_meaning() -> None:
    scores = Similarity(TOPICS).scores("I need a room in Porto and a railway ticket")
    assert max(scores, key=scores.__getitem__) == "travel"


def test_a_message_that_is_the_topic_is_as_alike_as_can_be() -> None:
    one = topic("x", description="", title="", body="charge otter tonight")
    assert Similarity([one]).scores("charge otter tonight")["x"] >= 0.9


def test_what_has_nothing_to_do_with_it_is_hardly_alike() -> None:
    assert Similarity(TOPICS).scores("quack").get("release-day", 0.0) < 0.15


@pytest.mark.parametrize(
    "said", ["", " \n\t ", "!!!", "🙂", "123", "\0", "\ud83d", "the of and", "```\n```", "é" * 50]
)
def test_next_to_nothing_said(said: str) -> None:
    scores = Similarity(TOPICS).scores(said)
    assert all(0.0 < score < 0.5 for score in scores.values())


def test_no_words_are_like_nothing() -> None:
    assert Similarity(TOPICS).scores("") == {}


def test_no_topics() -> None:
    assert Similarity([]).scores("tag the version") == {}


def test_topics_that_say_next_to_nothing() -> None:
    empty = topic("🙂", description="", title="", body="", subscriptions=("a.md",))
    other = topic("x", description="!!!", title="???", body="...")
    assert set(Similarity([empty, other]).scores("tag the version")) <= {"🙂", "x"}


def test_scores_are_between_nothing_and_one_and_the_same_again() -> None:
    pool = " ".join(f"{one.body} {one.description} {one.title}" for one in TOPICS).split()
    chance = random.Random(6)
    first, second = Similarity(TOPICS), Similarity(TOPICS)
    for _ in range(60):
        said = " ".join(chance.choices(pool, k=chance.randrange(1, 40)))
        scores = first.scores(said)
        assert all(0.0 < score <= 1.0 for score in scores.values())
        assert scores == first.scores(said) == second.scores(said)


def test_the_order_of_topics_changes_nothing() -> None:
    said = "tag the new version of the battery"
    assert Similarity(TOPICS).scores(said) == Similarity(TOPICS[::-1]).scores(said)


def test_a_long_playbook_is_no_less_alike() -> None:
    said = "tag the commit and write the changelog"
    long = topic(
        "long",
        title=RELEASE.title,
        description=RELEASE.description,
        body=RELEASE.body + "\n\n## Other\n\n" + "Nobody reads this chapter. " * 300,
    )
    short = topic("long", title=RELEASE.title, description=RELEASE.description, body=RELEASE.body)
    apart = Similarity([short]).scores(said)["long"] - Similarity([long]).scores(said)["long"]
    assert abs(apart) < 0.05


def test_of_a_long_message_the_beginning_counts() -> None:
    similarity = Similarity(TOPICS)
    filler = "marmalade " * (MOST_WORDS * 2)
    begins = similarity.scores(f"tag the version and write the changelog {filler}")
    ends = similarity.scores(f"{filler} tag the version and write the changelog")
    assert begins["release-day"] > ends.get("release-day", 0.0)
    assert ends == similarity.scores(filler)


def test_inflected_words_are_the_same_words() -> None:
    one = topic("x", title="", description="", body="Deploying the services")
    assert Similarity([one]).scores("deploy a service")["x"] > 0.5


def test_words_that_every_topic_has_say_less() -> None:
    topics = [
        topic(f"t{number}", title="", description="", body=f"harbour {word}")
        for number, word in enumerate(["otter", "badger", "heron", "lynx", "vole", "stoat"])
    ]
    similarity = Similarity(topics)
    scores = similarity.scores("harbour heron")
    assert max(scores, key=scores.__getitem__) == "t2"
    assert scores["t2"] > 2 * max(score for name, score in scores.items() if name != "t2")


def test_what_triggers_look_for_counts() -> None:
    plain = topic("x", title="", description="", body="Do it well.")
    asked = topic("x", trigger("keyword", "invoice"), title="", description="", body="Do it well.")
    pattern = topic(
        "x", trigger("pattern", r"\binvoices?\b"), title="", description="", body="Do it well."
    )
    said = "the invoice of October"
    bare = Similarity([plain]).scores(said).get("x", 0.0)
    assert Similarity([asked]).scores(said)["x"] > bare + 0.1
    assert Similarity([pattern]).scores(said)["x"] > bare + 0.1
