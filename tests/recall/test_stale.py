"""What has changed since is not told as if it still held, booked or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.story import Claude
from wakebook import Memory
from wakebook.recall.stale import Stale, Utterance
from wakebook.store.hits import Replaced


def corrected(pair: Replaced, sentence: str, at: int) -> str:
    found = Stale([pair]).correction(Utterance(sentence, at))
    return found.text if found else ""


def test_a_sentence_with_a_lost_value_is_stale() -> None:
    pair = Replaced("and the beta runs on port 8090", "the beta moved to port 9100", 100)
    assert corrected(pair, "The beta listens on port 8090 now.", 50) == pair.new
    assert corrected(pair, "The beta listens on port 8090 again.", 200) == ""  # said later
    assert corrected(pair, "The beta listens on port 9100, not on 8090.", 50) == ""
    assert corrected(pair, "Invoice 8090 is paid.", 50) == ""
    pair = Replaced("tickets are 14 euros", "and tickets are 16 euros, not 14", 100)
    assert corrected(pair, "The shop shows 14 euros.", 50)


def judged(old: str, new: str, soon: bool = False) -> str:
    """What becomes of an old sentence: gone, partly, or stands."""
    stale = Stale([])
    stale.learn([Utterance(new, 200, "talk" if soon else "later", 3)])
    found = stale.correction(Utterance(old, 100, "talk", 1))
    return "stands" if found is None else "gone" if found.wholly else "partly"


@pytest.mark.parametrize(
    ("old", "new", "becomes"),
    [
        ("The loft heater is set to 19 degrees.", "The loft heater is set to 17 degrees.", "gone"),
        ("Our choir meets at 18:30.", "The choir moved to 19:00 because of the trains.", "gone"),
        ("El alquiler del taller es de 450 euros.", "El alquiler del taller sube a 480.", "gone"),
        ("Rye costs 4.10 and spelt costs 5.30.", "Rye costs 4.40.", "partly"),
        ("I live in Lund and I teach physics.", "I've moved to Malmö.", "partly"),
        ("The image is built on node:18 with two stages.", "We're on Node 20 now.", "partly"),
        ("I live in Lund and I teach physics.", "Anna moved the desk to the window.", "stands"),
        ("The choir meets on Tuesdays.", "We also meet on Saturdays in December.", "stands"),
        ("The choir meets on Tuesdays.", "The bakery is closed on Mondays now.", "stands"),
        ("The loft heater is set to 19 degrees.", "Maybe we set the heater to 17.", "stands"),
        ("Chapter 3 is about the ferry.", "Chapter 4 is about the harbour.", "stands"),
    ],
)
def test_a_later_value_for_the_same_thing_counts(old: str, new: str, becomes: str) -> None:
    assert judged(old, new) == becomes


def test_what_is_taken_back_at_once_need_not_be_named_again() -> None:
    old = "The kiln goes to 980 degrees for twelve hours."
    assert judged(old, "no wait, I meant 960", soon=True) == "partly"
    assert judged(old, "no wait, I meant 960") == "stands"  # who knows what
    assert judged(old, "sorry, I meant 6:30 pm", soon=True) == "stands"


def test_a_handoff_tells_what_was_changed_since(memory: Memory, projects: Path) -> None:
    claude = Claude(projects).user("the kiln goes to 980 degrees. write the program for it")
    claude.agent("I wrote kiln.py with the program, and 3 tests pass.")
    claude.user("no wait, I meant 960").agent("Changed to 960, and the tests pass.")
    claude.user("thanks, that is all")
    memory.catch_up(closing=True)
    handoff = memory.wake().split("## Last Session Handoff")[1].split("\n## ")[0]
    assert "980 degrees. (part of it no longer holds: no wait, I meant 960)" in handoff
