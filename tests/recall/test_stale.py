"""What has changed since is not told as if it still held, booked or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


def test_an_assumption_that_the_user_denies_no_longer_holds() -> None:
    stale = Stale([])
    stale.learn([Utterance("no, our carrier takes 20 kg at most", 200, "talk", 3)])
    assumed = Utterance("I took the usual limit of 31.5 kg per parcel.", 100, "talk", 2, True)
    found = stale.correction(assumed)
    assert found and found.text.startswith("no, our carrier")
    assert stale.correction(assumed._replace(text="It has 12 tests.")) is None


def test_an_agents_echo_is_no_surer_than_the_users_words() -> None:
    stale = Stale([Replaced("3 weeks lead time", "lead time has to say 5 weeks", 200, False)])
    echo = Utterance("Noted: oak from Brandt with 3 weeks of lead time.", 100, "talk", 2, True)
    found = stale.correction(echo)
    assert found and found.wholly and found.text.startswith("lead time has to say 5")
    assert stale.correction(echo._replace(at=300)) is None  # said since
    assert stale.correction(echo._replace(text="The template has a line for lead time.")) is None


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
        ("The exam is on 12 february in hall C.", "The exam was moved to 19 february.", "partly"),
        (
            "The texts come from Dr. Falk, she has to sign off each recording.",
            "Sign-off of recordings is with Wren now.",
            "partly",
        ),
        ("The site listens on 5173, the api on 4000.", "Also, the api listens on 4600.", "partly"),
        ("We fly to Iceland in December.", "Iceland isn't happening, Runa is ill.", "gone"),
        ("Der Beitrag liegt bei 48 Euro im Jahr.", "Der Beitrag steigt auf 60 Euro.", "gone"),
        ("A ticket costs 12 euros for adults.", "A ticket costs 8 euros for children.", "stands"),
        ("Staff meeting: Tuesdays at 10.", "We shifted the staff meeting to Fridays.", "partly"),
        ("The Oak Hall holds 60.", "Wrong, the Oak Hall takes 48 because of the stairs.", "gone"),
        (
            "We decided to use Flask for the desk tool, one process per desk.",
            "Going with FastAPI, one worker per desk tool.",
            "partly",
        ),
        (
            "Le contrôle chez la dentiste est le 3 mars à 8 h, place du Marché.",
            "La dentiste me voit pour le contrôle le 1er avril à 10 h, place du Marché.",
            "partly",
        ),
    ],
)
def test_a_later_value_for_the_same_thing_counts(old: str, new: str, becomes: str) -> None:
    assert judged(old, new) == becomes


def test_what_a_change_says_nothing_about_is_told_without_the_rest() -> None:
    stale = Stale([])
    stale.learn([Utterance("the course is 165 euros now", 200, "later", 3)])
    found = stale.correction(Utterance("The course costs 140 euros, eight places at most.", 100))
    assert found is not None and found.lost == {"140"}
    told = found.told("")
    assert told == "… eight places at most. (the rest no longer holds: the course is 165 euros now)"
    whole = "Ida has violin at 16:15 with Mrs Halloran, Bo swims at 17:00."
    stale.learn([Utterance("violin is at 15:30 now", 300, "later", 5)])
    found = stale.correction(Utterance(whole, 100))  # the first clause says more than the time
    assert found is not None
    assert found.told(whole) == f"{whole} (part of it no longer holds: violin is at 15:30 now)"


def test_what_is_taken_back_at_once_need_not_be_named_again() -> None:
    old = "The kiln goes to 980 degrees for twelve hours."
    assert judged(old, "no wait, I meant 960", soon=True) == "partly"
    assert judged(old, "no wait, I meant 960") == "stands"  # who knows what
    assert judged(old, "sorry, I meant 6:30 pm", soon=True) == "stands"
    assert judged("The preview is on 8554.", "argh no, 8554 is the camera", soon=True) != "stands"


def test_a_handoff_tells_what_was_changed_since(memory: Memory, projects: Path) -> None:
    claude = Claude(projects).user("write the program for the kiln, it goes to 980 degrees")
    claude.agent("I wrote kiln.py with the program, and 3 tests pass.")
    claude.user("no wait, I meant 960").agent("Changed to 960, and the tests pass.")
    claude.user("thanks, that is all")
    memory.catch_up(closing=True)
    handoff = memory.wake().split("## Last Session Handoff")[1].split("\n## ")[0]
    assert "Report: Changed to 960, and the tests pass." in handoff and "980" not in handoff


def test_a_wish_is_not_told_elsewhere_after_it_was_taken_back(
    memory: Memory, projects: Path
) -> None:
    claude = Claude(projects).user("from now on answer me in bullet points, always")
    claude.agent("Will do.").pause(days=1)
    memory.catch_up()
    assert "bullet points" in memory.turns.start(cwd="/home/mira/elsewhere").text
    claude.user("forget the bullet points, i find them hard to read").agent("Fine.")
    memory.catch_up()
    told = memory.turns.start(cwd="/home/mira/elsewhere").text
    assert "bullet points, always" not in told


def test_a_change_in_one_project_casts_no_doubt_on_another(memory: Memory, projects: Path) -> None:
    first = Claude(projects).user("from now on answer me in bullet points, always").agent("Sure.")
    folder = projects.parent / "-home-mira-plumb"
    folder.mkdir()
    other = Elsewhere(folder, "5e550002-0000-4000-8000-000000000002")
    other.user("plumb is different: yarn, two spaces, commits start with PLB-12.").agent("OK.")
    memory.catch_up(closing=True)
    assert "PLB-12" in memory.turns.start(cwd="/home/mira/plumb").text
    first.pause(days=1)
    first.user("we gave up on tabs here, prettier default from today, so two spaces").agent("Fine.")
    memory.catch_up(closing=True)
    assert "PLB-12" in memory.turns.start(cwd="/home/mira/plumb").text


class Elsewhere(Claude):
    def record(self, kind: str, **fields: Any) -> dict[str, Any]:
        return super().record(kind, **{"cwd": "/home/mira/plumb"} | fields)


def test_words_that_were_not_kept_are_in_doubt_sooner() -> None:
    stale = Stale([])
    later = ["Der Kassenwart ist jetzt Bruno Halm.", "The kiln now fires on Sundays."]
    stale.learn([Utterance(text, 200, "later", 3) for text in later])
    for old in ("Kassenfrau ist Erna Toll.", "The kiln is in the yard."):
        assert stale.doubted(Utterance(old, 100, "talk", 1)) == ("kiln" in old)
    stale.learn([Utterance("Obmann ist jetzt Bruno Halm.", 200, "later", 4)])
    assert stale.doubted(Utterance("Obfrau ist Erna Toll.", 100, "talk", 1))
    assert not stale.doubted(Utterance("Obfrau ist Erna Toll.", 300, "last", 1))


def test_a_sentence_that_the_next_one_corrects_is_not_told() -> None:
    said = "The gate opens at 7pm. no 6:30pm, sorry. Parking is free."
    assert Stale([]).current(said, Utterance(said, 100)) == "no 6:30pm, sorry. Parking is free."


def test_another_value_in_the_same_list_stays() -> None:
    stale = Stale([])
    stale.learn([Utterance("Oak board is 52 as of today.", 200, "later", 3)])
    found = stale.correction(Utterance("Prices: dowels 3, oak board 46, pine board 19.", 100))
    assert found is not None and "pine board 19" in found.told("") and "46" not in found.told("")


def test_another_numbered_thing_takes_nothing_back() -> None:
    later = Utterance("The gauge 78 of the ledger stands in hall 1, behind the pump", 200)
    stale = Stale([])
    stale.learn([later])
    first = Utterance("The gauge 45 of the ledger stands in hall 3, behind the pump", 100)
    assert stale.correction(first) is None
    moved = Utterance("The gauge 45 of the ledger stands in hall 6 now, behind the pump", 300)
    stale.learn([moved])
    found = stale.correction(first)
    assert found is not None and "hall 6" in found.text


def test_a_thing_with_another_number_takes_nothing_back_even_in_the_same_place() -> None:
    stale = Stale([])
    stale.learn([Utterance("The gauge 49 of the ledger stands in hall 0, behind the pump", 200)])
    first = Utterance("The gauge 42 of the ledger stands in hall 0, behind the pump", 100)
    assert stale.correction(first) is None


def test_a_number_that_was_lost_need_only_stand_beside_one_word_in_an_agents_answer() -> None:
    old = "46 goats in milk, the dairy pays us 1.12 a litre, the truck comes mondays at 6"
    stale = Stale([Replaced(old, "yes they pay 1.19 now", 100)])
    answer = Utterance("I added a milk price of 1.12, the sums and a chart to `settings.toml`.", 50)
    assert stale.correction(answer._replace(agent=True))
    assert stale.correction(answer) is None  # the user may mean something else
    other = answer._replace(text="Version 1.12 of the parser is in.", agent=True)
    assert stale.correction(other) is None


def test_a_mail_that_was_pasted_takes_nothing_back() -> None:
    old = "The loft heater is set to 19 degrees."
    mail = "From: Ada Bell\nSubject: heater\n\nThe loft heater is set to 17 degrees."
    assert judged(old, f"what do you make of this?\n\n{mail}") == "stands"
    assert judged(old, "a note:\nThe loft heater is set to 17 degrees.") == "gone"
