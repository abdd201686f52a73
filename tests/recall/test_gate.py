"""Most messages are about nothing that is remembered; then nothing is told."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from tests.story import Claude
from wakebook import Memory
from wakebook.recall.days import dated, over, passes, resolved
from wakebook.recall.gate import is_chat, weight

SAID = [
    ("user", "hello! how are you today? the ferry always has berth 12, berths go up to 48"),
    ("agent", "Hello! Noted: the ferry has berth 12. You're welcome!"),
    ("user", "which courier should we use abroad?"),
    ("agent", "DHL or DPD. Which one do you prefer?"),
    ("user", "dpd then. write a python function for the labels, parcels over 5 kg go with Rask"),
    ("agent", "Done: `labels.py` has the function. The no-show rate was 15% in October."),
    ("user", "perfect, thanks a lot, great work"),
]


@pytest.fixture
def harbour(memory: Memory, projects: Path) -> Memory:
    claude = Claude(projects)
    for role, text in SAID:
        (claude.user if role == "user" else claude.agent)(text)
    memory.catch_up()
    return memory


def found(memory: Memory, message: str) -> str:
    fixed = ("identity", "memory", "projects", "handoff", "journal", "topics", "history")
    return memory.context(message, skip=fixed, session="new").text


@pytest.mark.parametrize(
    "message",
    [
        "hello, how are you today?",
        "Say hi",
        "Okay, noted.",
        "thanks a lot, that was great work today",
        "perfect, go ahead",
        "k",
        "just testing",
        "what's 15% of 2,480?",
        "whats 17% of 230",
        "how many dpi does a phone screen have, roughly?",
        "ferries vs trains, in one sentence?",
        "ok thanks, thats all for today",
        "just curious, what happens in a ferry strike in general",
        "what is 12 * 48?",
        "whats 12 times 48",
        "wie viele einwohner hat eigentlich graz",
        "how many hours are there in 12 days?",
        "how many grams are 40 ounces?",
        "good evening, how was your monday?",
        "what is the capital of Norway?",
        "what is a ferry?",
        "explain how DPD makes money",
        "write a python function that reverses a list",
        "how do i sort a dict in python?",
        "tell me a joke about parcels",
        "wie viel sind 12 mal 48?",
        "danke, das passt so",
        "muchas gracias, eso es todo!",
        "sorry wrong window",
        "haha ok ferry crew out, long day",
        "signing off, the ferry waits",
        "morning! coffee first",
        "morning! raining on the ferry again lol, hope youre dry in there",
        "c'est quoi la capitale du ferry?",
        "comment on dit ferry en anglais ?",
        "how do you say ferry in german",
        "<system-reminder>\nThe file ferry.toml was opened.\n</system-reminder>",
    ],
)
def test_small_talk_sums_and_common_knowledge_bring_nothing(harbour: Memory, message: str) -> None:
    assert found(harbour, message) == ""


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("which berth does the ferry have?", "berth 12"),
        ("which courier do we use abroad?", "dpd"),
        ("a parcel of 7 kg, who takes it?", "Rask"),
        ("what was our no-show rate?", "15%"),
        ("how do i send a parcel of 9 kg with Rask?", "over 5 kg"),
    ],
)
def test_a_question_about_something_known_brings_it(
    harbour: Memory, message: str, answer: str
) -> None:
    assert answer in found(harbour, message)


@pytest.mark.parametrize(
    ("said", "message", "answer"),
    [
        (
            "Spare fuses are in the drawer below the console.",
            "one of the lamps on the panel went dark after the storm last night, I think it is only"
            " a fuse, do you remember where the spare ones are kept?",
            "drawer",
        ),
        (
            "El notario se llama Rivas y su despacho cierra los miércoles.",
            "¿Qué día no puedo ir al despacho?",
            "miércoles",
        ),
        ("Elegimos ostras para la cena del coro.", "¿Qué elegimos para cenar?", "ostras"),
        ("Die Schleuder steht bei Familie Brandt.", "Wo kann ich die Schleuder holen?", "Brandt"),
    ],
)
def test_a_long_or_foreign_question_brings_what_it_asks_for(
    memory: Memory, projects: Path, said: str, message: str, answer: str
) -> None:
    Claude(projects).user(said).agent("Noted.")
    memory.catch_up()
    assert answer in found(memory, message)


def test_a_line_needs_evidence_of_its_own(memory: Memory, projects: Path) -> None:
    claude = Claude(projects).user("The pump is a Sulzer of 1998.").agent("It is in pumps.md.")
    claude.user("Lunch was good.").agent("Glad to hear that.")
    memory.catch_up()
    text = found(memory, "Which pump do we have?")
    assert "Sulzer" in text and "Glad" not in text and "Lunch" not in text


def test_questions_asked_before_and_small_talk_are_no_findings(harbour: Memory) -> None:
    text = found(harbour, "which courier do we use abroad?")
    assert "should we use" not in text and "do you prefer" not in text
    assert "great work" not in found(harbour, "which berth does the ferry have?")


def test_the_best_line_comes_first(harbour: Memory) -> None:
    first = found(harbour, "which berth does the ferry have?").split("# Found\n")[1].split("\n")[1]
    assert "berth 12" in first


def test_words_weigh_by_how_rare_they_are() -> None:
    assert weight("eigentlich") < 0.2 < weight("trompeter")  # of no English vocabulary
    assert weight("today") < weight("berth") <= weight("gnomon") == 1.0
    assert is_chat("You're welcome!") and is_chat("thanks a lot, great work")
    assert not is_chat("the key is with Marten")


def test_what_no_longer_holds_is_not_told_from_the_conversation(
    memory: Memory, projects: Path
) -> None:
    claude = Claude(projects).user("the beta runs on port 8090")
    claude.agent("Got it: the beta listens on port 8090.")
    claude.user("the beta moved to port 9100, not 8090 any more")
    claude.agent("Changed to 9100.")
    memory.catch_up()
    text = found(memory, "on which port is the beta?")
    assert "9100" in text and "listens on port 8090" not in text


def test_tomorrow_comes_with_its_day() -> None:
    thursday = date(2026, 11, 5)
    assert resolved("the papers are due next friday", thursday).endswith(
        "friday (13 November 2026)"
    )
    leiden = resolved("the race is in five weeks, on the sunday", date(2026, 10, 16))
    assert leiden.endswith("on the sunday (22 November 2026)")
    assert "in two weeks (19 November 2026)" in resolved("in two weeks the race", thursday)
    assert "tomorrow (6 November 2026)" in resolved("tomorrow at 11", thursday)
    assert "on monday (9 November 2026)" in resolved("on monday", thursday)
    assert "on monday (2 November 2026)" in resolved("we moved on monday", thursday)
    assert "on Monday (9 November 2026)" in resolved("We decided to ship on Monday", thursday)
    assert "on friday (6 November 2026)" in resolved("I've got practice on friday", thursday)
    for named in ("Monday the 9th", "Monday, 9 November", "Monday 9. Nov", "Monday, November 9"):
        assert resolved(f"we ship on {named}", thursday) == f"we ship on {named}"
    assert "(9 November 2026) 10:30" in resolved("see you on Monday 10:30", thursday)
    assert resolved("in a minute", thursday) == "in a minute"
    assert "last night (4 November 2026)" in resolved("last night i moved the ewes", thursday)
    for habit in ("on monday mornings", "on Monday, Wednesday and Friday evenings"):
        assert resolved(habit, thursday) == habit
    assert dated("it broke last week", thursday) == "2026-11-05: it broke last week"
    assert "a week from tomorrow (13 Nov" in resolved("it is a week from tomorrow", thursday)
    assert "(" not in resolved("the play is on the last friday of november", thursday)
    after = resolved("the christening is the day after tomorrow", thursday)
    assert after.endswith("the day after tomorrow (7 November 2026)")


def test_an_appointment_passes_and_a_habit_does_not() -> None:
    assert passes("I've got viva practice on friday and I'm panicking a bit.")
    assert passes("we have the inspector here next tuesday")
    assert not passes("answer me in whichever language I use, from today")
    assert not passes("guten morgen, wir duzen unsere kunden") and passes("wir kommen morgen")
    assert not passes("I have choir on fridays") and not passes("the kiln runs on tuesday")


def test_what_is_done_is_no_answer_to_what_is_left(memory: Memory, projects: Path) -> None:
    claude = Claude(projects)
    claude.user("todo: 1) book the catering for the fair 2) choose the fonts for the fair")
    claude.agent("Two things.")
    claude.user("I booked the catering for the fair, that's done.")
    claude.agent("Ticked off.")
    memory.catch_up()
    assert "[task, done" in found(memory, "who has booked the catering for the fair?")
    for left in ("what's still to do for the fair?", "what is left for the fair, the catering?"):
        assert "[task, done" not in found(memory, left)
        missed = memory.context(left, session="new").missed
        assert "done, and not left" in {one.reason for one in missed}


@pytest.mark.parametrize(
    ("text", "is_over"),
    [
        ("i'm flying to Lisbon on november 6, back november 11, so nothing from me then", True),
        ("I'm on holiday from 20 November", False),
        ("wir haben urlaub bis 3. November", True),
        ("the gate was off on 3 November", False),
        ("Until the fair on 25 October only texts go out.", True),
        ("Bis zum 3. November ist die Halle gesperrt.", True),
        ("Nothing is merged until Friday.", True),
        ("Only texts go out until the fair on 25 November.", False),
        ("Jusqu'au 1er mars on ferme à midi.", False),
        ("I worked at the harbour until 25 October.", False),
        ("The fair is on 25 October.", False),
        ("It holds until 31 February.", False),
        ("on the 2nd I have to load the van", True),
        ("on the 30th someone has to stamp the papers", True),
        ("The rent is due on the 2nd.", False),
        ("The contract runs until 31 August 2027.", False),
        ("It ran until August 31, 2025.", True),
        ("nothing gets restarted while i'm gone", True),
        ("bis ich zurück bin, nichts löschen", True),
        ("nothing is restarted while it is gone", False),
        ("no schema changes until the end of the month", True),
        ("bis Monatsende nichts löschen", True),
        ("until the end of october Marguerite does the releases", True),
        ("bis Ende Januar kein Release", False),
        ("no schema changes until new year", False),
        ("no releases until christmas", False),
        ("i need the stamped papers by the 30th", True),
        ("only plan, no code today", True),
        ("heute nichts mehr ändern", True),
        ("nothing is in stock, today's list says so", False),
    ],
)
def test_what_held_until_a_day_is_over_after_it(text: str, is_over: bool) -> None:
    assert over(text, date(2026, 10, 14), date(2026, 11, 15)) == is_over
