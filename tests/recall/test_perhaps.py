"""Words that may have changed are told with what was said since, and so are tasks reported done."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.story import Claude
from wakebook import Memory
from wakebook.log.query import Query
from wakebook.recall.stale import Stale, Utterance, once
from wakebook.store.hits import Replaced


def told(old: str, new: str, *, soon: bool = False, topic: str = "") -> str:
    """What may be told of an old sentence; nothing if it surely no longer holds."""
    stale = Stale([])
    stale.learn([Utterance(new, 200, "talk" if soon else "later", 3)], frozenset(topic.split()))
    found = stale.correction(Utterance(old, 100, "talk", 1))
    return old if found is None else found.told(old)


@pytest.mark.parametrize(
    ("old", "new"),
    [  # a value of the same kind, and a word of change or the same thing
        ("our book club meets on the first tuesday", "so we're on wednesdays now, Hanne has yoga"),
        ("we open the stand at 8:30", "from next week on we start at 9:00"),
        ("the handover is on 4 march at the depot", "they want the handover on 18 march"),
        ("the demo for the ferry is on 12 may", "the ferry people are late, so we demo on 20 may"),
        ("delivery of the tiles is on thursday", "tiles come monday, the driver called"),
        ("the lecture takes 40 minutes", "can you cut the talk to 30 minutes, the room is booked"),
        ("a visitor may stay 60 minutes at a table", "Please raise the stay at a table to 90."),
        ("I run the stall with 3 helpers", "with 5 helpers the stall goes fine"),
        # another place
        ("our shop is at 5 Mill Street, ring twice", "we've moved! 12 Quay Road, first floor."),
        ("practice is in the gym", "practice is in the old fire station until spring"),
        ("the logs are on the NAS, in the cellar", "since everything runs in the cloud now, ok"),
        ("we train in the gym of the school", "since we train in the park more people join in"),
        ("Karin lives at 9 Elm Road, Leeds", "Karin rang. She has a flat at 77 Harbour Way, Hull."),
        # a date that moves, and a value that was too little
        ("the Fell album is due 20 may, 48 pages", "the Fells get theirs on 27 may"),
        ("abrimos el taller el 15 de enero", "al final abrimos el taller el 2 de febrero"),
        # another wish for the same thing
        ("Whatever the project: two commits a day.", "In all projects: one commit per feature."),
    ],
)
def test_what_may_have_changed_is_told_with_the_later_words(old: str, new: str) -> None:
    assert told(old, new) == "" or "no longer" in told(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Mia's birthday is 3 may", "Tom's birthday is 9 june"),
        ("tram 4 leaves at 7:12", "tram 6 leaves at 7:30"),
        ("lunch is at 12:30", "the train leaves at 14:05 now"),
        ("the exam has 40 questions", "i answered 12 questions yesterday"),
        ("A ticket costs 12 euros for adults.", "A ticket costs 8 euros for children."),
        ("we fly to Oslo on 3 june", "the dentist is on 5 june"),
        ("I swim on mondays", "we play chess on thursdays now"),
        ("the report has 12 pages", "the invoice has 3 pages"),
        ("we sing in the chapel on sundays", "the bus stops at the market now"),
        ("the parser is in C", "the docs are in Sphinx now"),
        # more of the same thing, what one thinks of it, and what only happened
        ("My mountain bike is a Giant TCX", "Plus, I've had my mountain bike since 2018"),
        (
            "My river kayak is a Perch Nine, and I've had it since 2018, so it knows every creek.",
            "Plus, I've had my river kayak since 2018, and I'm attached to it, so I'd rather bring "
            "it with me than rent one in Old Ferry.",
        ),
        ("the vase cost 800", "I'm actually using Vallejo paints on my current vase project"),
        ("I've been meaning to try the Korean tacos", "Now that I have the tacos, a drink is next"),
        # values of one kind that are of two things
        (
            "My knees are sore after my Saturday morning ride.",
            "Since I do yoga at home on Fridays, I'm thinking of making soup on Sundays.",
        ),
        (
            "I took shots of the tulips on April 20th.",
            "I know the dates of the fittings: it's on April 5th and 19th.",
        ),
        (
            "I played in a league game on March 5th and scored a goal.",
            "By the way, I went birding on Saturday, March 12th, and saw robins.",
        ),
        (
            "I ordered it on the 15th of April and it arrived on the 20th.",
            "I'll be arriving on August 15th, so I need a place soon.",
        ),
    ],
)
def test_what_is_about_something_else_changes_nothing(old: str, new: str) -> None:
    assert told(old, new) == old


def test_the_name_of_the_project_says_what_a_day_is_of() -> None:
    old, new = "wir ziehen am 28. mai um, nach Ulm", "der umzug ist jetzt am 12. juni."
    assert told(old, new) == old
    assert (
        told(old, new, topic="umzug")
        == f"wir ziehen am 28. mai um (perhaps no longer: {new}), nach Ulm"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("book a table for 6 people", "8 sorry, i forgot the twins"),
        ("the parcel is in room 214", "ah 241"),
        ("the deadline is friday", "thursday i mean"),
        ("the call is at 9:45 each day", "sorry, 9:15."),
    ],
)
def test_a_bare_value_corrects_what_was_just_said(old: str, new: str) -> None:
    assert told(old, new, soon=True) in ("", f"{old} (part of it no longer holds: {new})")
    assert told(old, new) == old


def test_each_clause_of_a_long_sentence_has_its_own_note() -> None:
    old = (
        "for the leaflet: we are 14 gardeners at the moment, the chair is Oda, "
        "the summer party is in the orchard, and everybody brings a chair."
    )
    later = "we are 17 gardeners now. The summer party is in the barn because of the wasps."
    assert told(old, later) == (
        "for the leaflet: we are 14 gardeners at the moment (no longer: we are 17 gardeners now.), "
        "the chair is Oda, the summer party is in the orchard (perhaps no longer: The summer party "
        "is in the barn because of the wasps.), and everybody brings a chair."
    )


def test_of_a_list_what_was_reported_is_marked_as_done() -> None:
    stale = Stale([])
    task = Utterance("todo: order the skip, call the plumber, mail the keys", 100, "talk", 1)
    stale.learn([Utterance("skip is ordered. plumber: 0151 2345", 200, "later", 1)])
    assert stale.undone(task) == (
        "todo: order the skip (done, it seems: skip is ordered), call the plumber, mail the keys"
    )
    stale.learn([Utterance("keys went out in the mail, plumber called", 300, "last", 1)])
    assert stale.undone(task) == ""
    assert stale.undone(task._replace(at=400)) == task.text


def test_of_a_fact_that_lists_what_is_open_the_same_is_marked() -> None:
    stale = Stale([])
    said = Utterance("things for the club site: fix the widget, do a dark mode", 100, "talk", 1)
    stale.learn([Utterance("skip the dark mode, nobody wanted it", 200, "later", 1)])
    shown = "do a dark mode (done, it seems: skip the dark mode)"
    assert stale.undone(said, listed=False) == f"things for the club site: fix the widget, {shown}"
    other = said._replace(text="the club has a widget, a dark mode")
    assert stale.undone(other, listed=False) == other.text


def test_a_mark_stands_behind_what_one_has_one_of() -> None:
    stale = Stale([])
    stale.learn([Utterance("we moved to Bergen two weeks ago, it was chaos", 200, "later", 1)])
    old = Utterance("i'm Sam, i live in Tromso and work as an analyst at Polarlicht", 100, "a", 1)
    found = stale.correction(old)
    assert found and "i live in Tromso (no longer: we moved to Bergen" in found.told(old.text)


def test_a_note_points_to_what_was_told_above() -> None:
    text = "We meet at Nadia's (perhaps no longer: we meet at Bo's now), on fridays."
    assert once(text, lambda new: new == "we meet at Bo's now") == (
        "We meet at Nadia's (perhaps no longer, see above), on fridays."
    )
    assert once(text, lambda new: False) == text


def test_a_start_names_the_newer_words_once(memory: Memory, projects: Path) -> None:
    old = "Our quiz team meets every second friday at Nadia's place, and everybody pays 5 euros."
    claude = Claude(projects).user(old)
    claude.agent("Noted.").pause(days=3)
    memory.catch_up()
    claude.user("Oh, and we play on sundays now, Nadia has choir on fridays.").agent("Fine.")
    memory.catch_up(closing=True)
    start = memory.wake()
    assert "at Nadia's place (perhaps no longer" in start
    assert "), and everybody pays 5 euros." in start
    assert start.count("we play on sundays now") == 1


def test_what_is_replaced_in_part_is_told_with_the_rest(memory: Memory, projects: Path) -> None:
    old = "the summer stall has 30 jars of plum jam, and 4 crates of cider"
    Claude(projects).user(f"note: {old}.").agent("Noted.")
    memory.catch_up(closing=True)
    claude = Claude(projects, "5e551012-0000-4000-8000-000000000002").pause(days=3)
    claude.user("the summer stall is down to 12 jars of plum jam").agent("Nice!")
    memory.catch_up(closing=True)
    (newer,) = (it for it in memory.log.entries(Query()) if "down to 12" in it.content)
    assert newer.detail == f"In part no longer: note: {old}."
    assert "down to 12 jars of plum jam (in part no longer: …, and 4 crates of" in memory.wake()
    assert "4 crates of cider" in memory.context("how much cider does the stall have?").text


def test_what_was_doubted_is_told_with_the_newer_words() -> None:
    old, new = "the pipeline is on Jenkins, three jobs", "we ripped all that out, it's Buildkite"
    stale = Stale([Replaced(old, new, 300, False)])
    shown = "the pipeline is on Jenkins (perhaps no longer: we ripped all that out, it's Buildkite)"
    assert stale.current(f"{old}. Ask Tom.", Utterance("", 100)).startswith(shown)
    assert stale.current(old, Utterance("", 500)) == old, "said again since"
    assert Stale([]).current(old, Utterance("", 100)) == old


def test_a_change_may_begin_with_what_it_is_about() -> None:
    old = "the worktop is granite, and the floor is oak"
    new = "and about the worktop, at that price we'd rather go with laminate"
    assert told(old, new).startswith(f"the worktop is granite (perhaps no longer: {new})")
    assert told("the floor is oak", new) == "the floor is oak"
