"""Learning without a model: corrections, replacements that must not happen, tasks done."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec import structs

from tests.learn.selecting import (
    NOW,
    SELECTOR,
    contents,
    extract,
    known,
    logged,
    one,
    remembered,
    talk,
)
from wakebook.learn.extract import Heard, Scene, after
from wakebook.learn.select import changes
from wakebook.learn.select.said import read
from wakebook.learn.select.worth import stated, untold
from wakebook.log.entry import DOUBTS, PARTLY, Entry

BETWEEN = ["How do tides work?", ">The moon pulls.", "My cat Olive is nine years old."]
CAT = "My cat Olive is nine years old."

# --- corrections ------------------------------------------------------------------------------

FORMS = [
    # numbers
    ("The workshop in Leeds has 42 seats.", "Correction: the workshop in Leeds has 45 seats."),
    ("The workshop in Leeds has 42 seats.", "Scratch that, the workshop in Leeds has 45 seats."),
    ("My flight to Oslo leaves at 7:40.", "Oops, typo: my flight to Oslo leaves at 9:40."),
    ("I run 5 km every Tuesday.", "I bumped my Tuesday run from 5 km to 8 km."),
    (
        "The budget for the kitchen is 12,000 euros.",
        "As of today the budget for the kitchen is 15,000 euros, not 12,000.",
    ),
    # days
    ("The grant deadline is 3 May.", "I was wrong about the grant deadline, it's 10 May."),
    ("The demo is on Thursday.", "that's wrong, the demo is on Friday"),
    ("My dentist appointment is on Thursday at 9.", "My dentist appointment moved to Friday."),
    (
        "The demo for Corvid is on Thursday.",
        "The demo for Corvid was pushed from Thursday to Tuesday.",
    ),
    (
        "The launch of the newsletter is on 4 January.",
        "Actually the launch of the newsletter is on 11 January, not 4 January.",
    ),
    # names
    ("My manager is Ida Brandt.", "No, my manager is Ben Okafor, not Ida."),
    ("My manager is Ida Brandt.", "My new manager is Ben Okafor, he took over from Ida."),
    ("Our landlord is Viktor.", "It turns out our landlord is Dagny, not Viktor."),
    (
        "My daughter's name is Marta.",
        "My daughter's name is Martha, with an h, Marta was a typo.",
    ),
    (
        "Our production server runs on Hetzner in Falkenstein.",
        "We no longer run on Hetzner, production is at OVH.",
    ),
    (
        "Our production server runs on Hetzner in Falkenstein.",
        "We're not on Hetzner any more, it's OVH now.",
    ),
    (
        "My sister Ilse lives in Ghent.",
        "My sister Ilse moved to Bruges, she's no longer in Ghent.",
    ),
    (
        "We decided to go with SQLite for the field app.",
        "Let's go with Postgres for the field app instead of SQLite.",
    ),
    # preferences
    ("I drink my coffee black.", "Actually I take my coffee with milk now, not black."),
    (
        "I prefer tea in the morning.",
        "I used to prefer tea in the morning, but now it's coffee.",
    ),
    (
        "I prefer tabs for indentation.",
        "I changed my mind about indentation: I prefer spaces instead of tabs.",
    ),
]


@pytest.mark.parametrize(("old", "new"), FORMS)
def test_a_correction_replaces_in_the_same_session(old: str, new: str) -> None:
    [now] = remembered([old, ">Noted.", new])
    assert new in now.content
    assert now.replaces
    assert now.detail in (f"Was: {old}", "")


@pytest.mark.parametrize(("old", "new"), FORMS)
def test_a_correction_replaces_two_sessions_later(old: str, new: str) -> None:
    cat, now = remembered([old, ">Noted."], BETWEEN, [new, ">Ok."])
    assert cat.content == CAT
    assert new in now.content
    assert now.replaces


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I run 5 km every other morning.", "I now run 10 km every other morning."),
        ("Our Postgres is version 14.", "We're on Postgres 16 these days."),
        ("My rent is 840 euros a month.", "The rent went up to 910 euros a month."),
        (
            "I'm on level 12 of the Korean course.",
            "I'm on level 19 of my Korean course these days.",
        ),
        ("My piano lesson is on Mondays.", "My piano lesson is on Thursdays."),
    ],
)
def test_a_new_value_of_the_same_thing_replaces_without_a_correcting_word(
    old: str, new: str
) -> None:
    cat, now = remembered([old, ">Noted."], BETWEEN, [new, ">Ok."])
    assert (cat.content, now.content, bool(now.replaces)) == (CAT, new, True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The grant deadline is 3 May.", "Actually it's the 10th, not the 3rd."),
        ("The shifts are on Monday and on Tuesday.", "sorry, I meant Friday"),  # which of the two?
    ],
)
def test_a_correction_that_says_too_little_alone_stands_behind_what_it_corrects(
    old: str, new: str
) -> None:
    [now] = remembered([old, ">Noted.", new])
    assert now.content == f"{old} {new}"


@pytest.mark.parametrize(
    ("old", "new", "meant"),
    [
        (
            "The workshop in Leeds has 42 seats.",
            "Sorry, I meant 45 seats.",
            "The workshop in Leeds has 45 seats.",
        ),
        ("The demo is on Thursday.", "sorry, I meant Friday", "The demo is on Friday."),
        ("Our tenant is called Marlis.", "oops, Marlies", "Our tenant is called Marlies."),
        (
            "The rehearsal is on the 14th of May.",
            "15th, sorry",
            "The rehearsal is on the 15th of May.",
        ),
        (
            "the staging bucket is eu-west, private",
            "*eu-north",
            "the staging bucket is eu-north, private",
        ),
        ("we board at gate B12 at 9:40", "argh, B21", "we board at gate B21 at 9:40"),
        ("we board at gate B12 at 9:40", "no wait, 9:20", "we board at gate B12 at 9:20"),
        (
            "batch size 152 for the bird model, 40 epochs",
            "typo: 512",
            "batch size 512 for the bird model, 40 epochs",
        ),
        ("Die Probe ist am Dienstag.", "Quatsch, Donnerstag", "Die Probe ist am Donnerstag."),
        ("El ensayo es el martes.", "perdón, el jueves", "El ensayo es el jueves."),
    ],
)
def test_a_slip_that_is_put_right_is_kept_as_it_was_meant(old: str, new: str, meant: str) -> None:
    [now] = remembered([old, ">Noted.", new])
    assert now.content == meant
    assert now.detail.startswith(f"Was: {old}")


def test_a_slip_is_put_right_where_a_value_is_written_alike() -> None:
    found = remembered(
        [
            "Our flight to Lisbon leaves at 7:40. The airport is 50 minutes away.",
            ">ok",
            "wait, 6:40",
        ]
    )
    assert [one.content for one in found] == ["Our flight to Lisbon leaves at 6:40."]


@pytest.mark.parametrize(
    "said",
    [
        "sorry, one moment",
        "oops, wrong window",
        "sorry, can you shorten it",
        "wait, no",
        "my bad",
        "make it 5",  # lines of the text, say
    ],
)
def test_an_apology_puts_nothing_right(said: str) -> None:
    old = "The doors open at 7 and Kwame does the lights."
    assert [one.content for one in remembered([old, ">Noted.", said])] == [old]


def test_what_an_order_says_besides_may_change_something() -> None:
    said = "mach mir neue etiketten, der honig kostet ab jetzt 7,20. danke"
    [now] = remembered(["honig verkaufe ich für 6,50 das glas.", ">ok"], [said, ">Fertig."])
    assert now.content == "der honig kostet ab jetzt 7,20" and now.replaces


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "By the way, I just reached 500 followers last week, and I hope that goes on.",
            "By the way, I just checked and I'm now at 600 followers, which is nice!",
        ),
        (
            "I've been keeping a list, and I've spotted 27 different species so far in the park.",
            "I saw a flicker in the park, which brings my total species count to 32.",
        ),
    ],
)
def test_a_count_that_moves_on_replaces_the_last_one(old: str, new: str) -> None:
    assert [one.content for one in remembered([old, ">Nice!"], [new, ">Great!"])] == [new]


def test_a_count_of_something_else_replaces_nothing() -> None:
    old = (
        "By the way, I just reached 500 followers on Instagram last week, and I hope that goes on."
    )
    new = "By the way, I just checked, and I'm now at 90 followers on Mastodon, which is nice!"
    assert [one.content for one in remembered([old, ">Nice!"], [new, ">Great!"])] == [old, new]


def test_a_bare_value_corrects_what_the_agent_repeats() -> None:
    old = known("a", "fact", "The year 8 class has 27 pupils.")
    said = ("How many groups?", ">With 27 pupils in the year 8 class, seven.", "No, it's 29.")
    draft = one(*said, current=[old])
    assert draft.content == "The year 8 class has 29 pupils."
    assert draft.replaces == (old.id,)


def test_the_latest_of_two_corrections_stands() -> None:
    said = [
        "The workshop in Leeds has 42 seats.",
        "Correction: the workshop in Leeds has 45 seats.",
    ]
    said.append("Sorry, the workshop in Leeds has 48 seats, not 45.")
    [now] = remembered(said)
    assert "48 seats" in now.content


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "Mein Zahnarzttermin ist am Donnerstag um 9.",
            "Mein Zahnarzttermin wurde auf Freitag verschoben.",
        ),
        (
            "Unser Server läuft bei Hetzner in Falkenstein.",
            "Wir sind nicht mehr bei Hetzner, sondern bei OVH.",
        ),
        (
            "Mi cita con el dentista es el jueves a las 9.",
            "Mi cita con el dentista ya no es el jueves, es el viernes.",
        ),
        (
            "Mon rendez-vous chez le dentiste est jeudi à 9 h.",
            "Mon rendez-vous chez le dentiste est vendredi, pas jeudi.",
        ),
    ],
)
def test_corrections_in_other_languages(old: str, new: str) -> None:
    assert [entry.content for entry in remembered([old, ">Ok.", new])] == [new]
    assert [entry.content for entry in remembered([old], [">Ok."], [new])] == [new]


# --- what must not be replaced ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I drive a red Volvo from 2015.", "I just bought a second car, a blue Fiat."),
        ("The budget for the kitchen is 12,000.", "My budget for the trip is 2,000."),
        ("I took over plot 12 in the allotment.", "Marek took over plot 17 in the allotment."),
        ("I run 5 km every morning.", "My wife runs 10 km on Sundays."),
        ("My phone is a Pixel 9.", "My old phone was a Pixel 6."),
        ("My first car was a Volvo.", "My new car is a Fiat."),
        ("My birthday is on 4 March.", "My brother's birthday is on 9 June."),
        ("My sister Ilse lives in Ghent.", "My brother Maarten now lives in Bruges."),
        ("My daughter Nora is 7 years old.", "My son Emil is 9 years old now."),
        (
            "I work at Corvid Labs as a designer.",
            "My wife used to work at Finch, but now she is at Corvid.",
        ),
        ("The demo for Corvid is on Thursday.", "The demo for Finch is on Friday."),
        (
            "My dentist appointment is on Thursday at 9.",
            "My eye doctor appointment moved to Friday.",
        ),
        ("Our staging server runs Debian 12.", "Our production server was upgraded to Debian 13."),
        ("The rent is 900 euros.", "The internet is 45 euros, not 40."),
        ("My colleague Lars moved to Oslo.", "My colleague Inga moved to Ghent."),
        ("I read 12 books last year.", "I have read 14 books so far this year."),
        (
            "My sister's wedding is on 12 June in Ghent.",
            "My cousin's wedding was moved to 19 June.",
        ),
        ("My budget for the new keyboard is around $1,000.", "My budget is around $20."),
        (
            "I went to Lisbon in May for five days.",
            "I went to Porto in June for three days, not for work.",
        ),
    ],
)
def test_another_thing_replaces_nothing(first: str, second: str) -> None:
    for sessions in ([[first, ">Noted.", second]], [[first], [">Hello."], [second]]):
        assert [entry.content for entry in remembered(*sessions)] == [first, second]


@pytest.mark.parametrize(
    "said",
    [
        "Actually it's the 11th, not the 4th.",
        "Scratch that.",
        "no, that's wrong",
        "sorry, I meant friday",
        "I was wrong about the boiler.",
    ],
)
def test_a_correction_of_something_never_said_leaves_nothing(said: str) -> None:
    assert contents(said) == []
    assert contents(CAT, ">Noted.", said) == [CAT]


def test_what_may_have_changed_stays_and_the_newer_words_say_so() -> None:
    old = "The kiosk closes at 6 on Mondays, and a cone is 2 euros."
    first, second = remembered([old], ["we stay open longer since my cousin joined, 8 on mondays"])
    changed = "The kiosk closes at 6 on Mondays"
    assert (first.content, second.detail) == (old, f"Perhaps no longer: {changed}")
    assert not second.replaces


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "The kiosk closes at 6 on Mondays, and a cone is 2 euros.",
            "the kiosk is open until 8 on Mondays since my cousin joined",
        ),
        (
            "The pump is from 2011, a Kestrel, and it has 40 metres of hose.",
            "I looked at the plate and it turns out the pump is from 2006.",
        ),
    ],
)
def test_of_several_things_one_is_replaced_and_the_rest_kept(old: str, new: str) -> None:
    [now] = remembered([old], [new])
    assert (now.content, now.detail) == (new, f"In part no longer: {old}")
    assert now.replaces


def test_other_numbers_of_the_same_things_replace_no_part() -> None:
    old = "We have two boats, Otter takes 8 guests and Puffin 6."
    new = "We've decided to charge the boats at night: Otter from ten, Puffin from three."
    assert [it.content for it in remembered([old], [new])] == [old, new]


def test_what_is_taken_back_by_name_is_replaced_whatever_else_was_said() -> None:
    old = "Jonas and I open the pier to the public on 14 November, that's a Saturday."
    new = "Actually we open the pier on 21 November, not on 14 November."
    [now] = remembered([old], [new])
    assert (now.content, now.detail) == (new, f"Was: {old}")


def test_what_has_nothing_in_common_is_not_replaced() -> None:
    pump = known("a", "fact", "the pump is in the shed").with_(project="p")
    scene = Scene(current=[pump], project="p")
    [new] = extract("Our landlord is Dagny now", scene=scene)
    assert (new.replaces, new.detail) == ((), "")
    pipeline = known("b", "fact", "CI runs on circleci").with_(project="p")
    said = "we ripped all that out, everything runs on woodpecker now"
    [new] = extract(said, scene=Scene(current=[pipeline], project="p"))
    assert new.replaces == (pipeline.id,)


def test_words_of_change_about_something_else_leave_no_doubt() -> None:
    for told in extract(CAT, ">Noted.", "We're not on Hetzner any more, it's OVH now."):
        assert "Perhaps" not in told.detail


def test_what_is_like_another_thing_of_the_same_kind_replaces_nothing() -> None:
    said = "Releases of tidewheel go out every Tuesday."
    first, *others = remembered([said], ["releases of the docs site go out on Thursdays"])
    assert first.content == said
    assert not any(one.replaces for one in others)


def test_a_correction_that_says_enough_stands_alone() -> None:
    said = "We're not on Hetzner any more, it's OVH now."
    first, second = extract(CAT, ">Noted.", said)
    assert (first.content, second.content, second.replaces) == (CAT, said, ())


def test_what_a_person_wrote_or_pinned_needs_more_to_be_replaced() -> None:
    pinned = known("a", "fact", "The demo is on Thursday.")
    fixed = structs.replace(pinned, pinned=True)
    assert one("The demo is Friday now.", current=[fixed]).replaces == ()


def test_another_project_keeps_its_own_value() -> None:
    old = structs.replace(known("a", "fact", "The beta is on 27 February."), project="kestrel")
    for project, expected in (("kestrel", (old.id,)), ("heron", ())):
        scene = Scene(current=[old], project=project)
        [draft] = extract("The beta moved to 13 March.", scene=scene)
        assert draft.replaces == expected


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (
            "We haven't decided whether to use SQLite or Postgres for the field app.",
            "We decided to use Postgres for the field app.",
        ),
        ("Open question: who moderates the panel in Leeds.", "Ines moderates the panel in Leeds."),
    ],
)
def test_a_statement_answers_an_open_question(question: str, said: str) -> None:
    [now] = remembered([question], [said])
    assert (now.content, now.detail) == (said, f"Answers: {question}")
    other = "We decided to paint the shed green."
    assert [entry.content for entry in remembered([question], [other])] == [question, other]


# --- tasks done and dropped -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "report"),
    [
        ("I need to write the backfill script.", "The backfill script is done."),
        ("I need to write the backfill script.", "I finished the backfill script last night."),
        ("Remind me to call the dentist on Thursday.", "I called the dentist, all good."),
        ("I need to renew my passport before May.", "My passport is renewed."),
        ("I still have to pay the invoice from Finch.", "The invoice from Finch is paid."),
        ("TODO: order the tiles for the bathroom.", "I ordered the bathroom tiles yesterday."),
        ("I need to book the ferry to Texel.", "The ferry is booked."),
        ("I need to write the backfill script.", "We don't need the backfill script any more."),
        (
            "I need to book the ferry to Texel.",
            "Forget about the ferry to Texel, we cancelled the trip.",
        ),
    ],
)
def test_a_report_closes_the_task_of_this_session(task: str, report: str) -> None:
    other = "Remind me to water the ficus on Sunday."
    left, done = remembered([task, other, ">Ok.", report])
    assert (left.content, left.status) == (other, "open")
    assert (done.type, done.content, done.status, done.detail) == ("task", task, "done", report)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("I need to write the backfill script.", "The backfill script isn't done yet."),
        ("I need to write the backfill script.", "That's done."),
        ("I need to write the backfill script.", "Shipped!"),
        ("I need to write the backfill script.", "I'll be done with the script tomorrow."),
        ("I need to write the backfill script.", "When the backfill script is done, I'll call Bo."),
        ("I need to write the backfill script.", "Is the backfill script done?"),
        ("I need to send Priya the tax documents.", "I sent Priya a birthday card."),
        ("I need to call Bo about the lease.", "I called Ida about the garden."),
        ("I need to call Bo about the lease.", "I called Bo about the garden."),
    ],
)
def test_a_task_stays_open_without_a_clear_report(task: str, said: str) -> None:
    found = remembered([task, ">Ok.", said])
    assert [entry.status for entry in found if entry.content == task] == ["open"]


def test_the_agents_report_closes_nothing() -> None:
    said = ["I need to write the backfill script.", ">I've finished the backfill script.", "ok"]
    assert [entry.status for entry in remembered(said)] == ["open"]


def test_a_task_of_the_project_is_closed_in_a_later_session() -> None:
    task, report = "We need to rotate the certs of the gateway.", "The gateway certs are rotated."
    [done] = remembered([task], [report], project="heron")
    assert (done.content, done.status, done.subject) == (task, "done", "heron")


def test_a_task_of_another_project_stays_open() -> None:
    task = known("a", "task", "We need to rotate the certs of the gateway before May.", "open")
    scene = Scene(current=[task], subject="heron")
    assert all(not draft.replaces for draft in extract("The certs are rotated.", scene=scene))


def test_a_report_that_fits_two_tasks_closes_none() -> None:
    tasks = [
        known("a", "task", "Send the invoice to Finch", "open"),
        known("b", "task", "Send the invoice to Corvid", "open"),
    ]
    assert all(not draft.replaces for draft in extract("I sent the invoice.", current=tasks))


def test_a_request_leaves_what_was_said_as_it_is() -> None:
    talk = ["Our standup is at 9:15.", ">Noted.", "Put it on the team page, please.", ">Done."]
    kept = extract(*talk, "Good.", scene=Scene(project="a"))
    assert [draft.content for draft in kept] == ["Our standup is at 9:15."]


def test_what_happened_once_replaces_nothing_else_that_happened() -> None:
    old = "I ordered the lamp on the 15th of April and it arrived on the 20th."
    new = "I went to Norway before, from April 15th to 22nd, and I loved the fjords."
    assert not any(it.replaces or it.detail for it in remembered([old], [new]))
    assert not any(
        it.detail for it in remembered(["wedding is sept 19"], ["the nurse comes weds at 10."])
    )


# --- said again -------------------------------------------------------------------------------
RULE = "We always ship on Fridays, never on Mondays."


@pytest.mark.parametrize("again", ["and we always ship on Fridays", RULE.lower()])
def test_what_has_none_but_clauses_of_what_is_known_is_not_kept_again(again: str) -> None:
    assert [it.content for it in remembered([RULE], [again])] == [RULE]
    assert len(remembered([RULE], ["We always ship on Fridays, never by train."])) == 2


def test_what_is_said_in_two_projects_is_kept_for_both_unless_it_is_about_the_user() -> None:
    here, user = "We indent with tabs in this repo.", "I'm allergic to peanuts."
    others = [structs.replace(known(it[:6], "fact", it), project="/a") for it in (here, user)]
    for project, kept in (("/a", []), ("/b", [here])):
        scene = Scene(current=others, project=project)
        assert [it.content for it in extract(here, user, scene=scene)] == kept


def test_a_reminder_casts_no_doubt_on_what_it_repeats() -> None:
    old = "I'm deaf in my left ear and can't do phone calls."
    new = "reminder, I'm deaf in my left ear, the beep in the cli is no use for me."
    assert [it.detail for it in remembered([old], [new])] == ["", ""]
    assert changes._says_again("Theo eats no nuts, as you know.", "Theo eats no nuts at all.")
    assert not changes._says_again("We're open on Mondays again.", "We're closed on Mondays.")


def test_a_request_that_tells_something_can_change_what_is_known() -> None:
    old, new = "My advisor is Professor Lindqvist.", "send it to Dr Amari, she advises me now"
    assert any("Lindqvist" in it.detail for it in remembered([old], [new]))
    assert not any(it.detail for it in remembered([old], ["send it to Dr Amari, and print it"]))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "Die Glocke hat einen Riss und ist auf 440 Hertz gestimmt.",
            "der Gießer war da und hat gemessen, die Stimmung liegt bei 438 Hertz",
        ),
        (
            "Le four est dans la cave et il monte à 900 degrés.",
            "l'électricien est venu et il a mesuré, le four monte à 850 degrés",
        ),
    ],
)
def test_small_words_of_other_languages_keep_no_two_things_apart(old: str, new: str) -> None:
    number = "440" if "440" in old else "900"
    assert number in remembered([old], [new])[-1].detail


CONFIRMED = [
    ("We recruit 48 people in two arms.", "ethics want sixty participants"),
    ("The rehearsal room is open until 22:00.", "we have to be out by nine, the neighbours moan"),
]


@pytest.mark.parametrize(("old", "new"), CONFIRMED)
def test_an_agent_that_has_changed_something_shows_what_was_meant(old: str, new: str) -> None:
    scene = Scene(current=[known("a", "fact", old).with_(project="p")], project="p")
    said = extract(new, ">Changed on the page.", scene=scene)[-1]
    assert said.content == new
    assert said.detail == f"Perhaps no longer: {old}"
    assert said.evidence == (1, 2)
    assert not [one for one in extract(new, ">Nice.", scene=scene) if one.detail]
    nowhere = Scene(current=scene.current)
    assert not [one for one in extract(new, ">Changed on the page.", scene=nowhere) if one.detail]


@pytest.mark.parametrize(("old", "new"), CONFIRMED)
def test_the_report_may_be_read_later_than_what_it_confirms(old: str, new: str) -> None:
    scene = Scene(current=[known("a", "fact", old).with_(project="p")], project="p")
    said = talk(new, ">Changed on the page.")
    first = SELECTOR.extract(said[:1], scene)
    then = [one.entry("now", NOW).with_(project="p") for one in first]
    later = Scene(current=after(scene.current, then), project="p", earlier=said[:1])
    assert [*first, *SELECTOR.extract(said[1:], later)] == SELECTOR.extract(said, scene)


def test_she_is_does_not_speak_of_somebody_elses_thing() -> None:
    old = known("a", "fact", "I take 40 mg of famotidine every evening.")
    said = one("saw the doctor. she's put me on half a tablet at night, so 20 mg", current=[old])
    assert said.replaces == (old.id,)


def test_what_was_said_and_not_kept_is_doubted() -> None:
    old = "Maëlle tient la caisse"
    heard = Heard(content=old, said=old, source="s", turn=1, project="p", transcript="t")
    new = "comme maëlle part en stage, pour la caisse c'est Thibault"
    said = extract(new, scene=Scene(project="p", heard=lambda: [heard]))
    assert [one.content for one in said] == [old, new]
    assert said[1].detail == f"Perhaps no longer: {old}"


def test_a_decision_that_is_carried_out_holds() -> None:
    old = known("a", "decision", "Let's use a queue for the reminder mails: a table in Postgres.")
    scene = Scene(current=[old.with_(project="p")], project="p")
    said = extract("So the reminder mails go through the queue now.", scene=scene)
    assert not [one for one in said if one.replaces or one.detail]


def test_what_one_must_do_next_week_is_a_task_in_german_too() -> None:
    said = "Ich muss nächste Woche den Nachsendeauftrag stellen und den Schlüssel abgeben."
    assert [(it.type, it.status) for it in extract(said)] == [("task", "open")]


def here(*sessions: Sequence[str]) -> list[Entry]:
    """What is current after some sessions in one project."""
    current: list[Entry] = []
    for number, said in enumerate(sessions):
        heard = [one for earlier in sessions[:number] for one in stated(talk(*earlier))]
        told = [f"{one.content} {one.detail}" for one in current]
        scene = Scene(current=current, project="p", heard=lambda: [*untold(heard, told)])  # noqa: B023
        drafts = SELECTOR.extract(talk(*said, name=f"s{number}-"), scene)
        current = after(current, [logged(it).with_(project="p") for it in drafts])
    return current


@pytest.mark.parametrize(
    "said",
    [
        (
            "decision: inkwell uses postgres",
            "i'm going with sqlite for inkwell, one less server to feed",
            "we return to postgres, that's final",
        ),
        (
            "decided: dispatch uses rabbitmq for the job queue",
            "we go with kafka after all, the platform team runs one anyway",
            "back to rabbit",
        ),
        (
            "transport for the birdcam: we decided on mqtt",
            "changed my mind, we go with plain http polling, one thing less to run",
            "so mqtt after all",
        ),
        (
            "decided: the readings of the station go into duckdb, one file per month",
            "im moving the storage to influx, everybody at the club has it",
            "back to what we had, one duckdb file per month",
        ),
        (
            "queue for the parcel events: redis streams, one consumer group per depot",
            "we moved the queue to rabbitmq yesterday, dario insists on dead letter queues.",
            "we're back on redis streams, dead letters go into their own stream",
        ),
    ],
)
def test_who_goes_back_replaces_what_came_between(said: tuple[str, str, str]) -> None:
    *first, now = here(*([one] for one in said))
    assert now.content == said[-1]
    assert now.detail == f"Was: {said[1]}"
    assert [one.content for one in first] in ([], [said[0]])  # which holds again


def test_who_goes_back_to_work_replaces_nothing() -> None:
    old = "we decided on mqtt for the birdcam"
    assert old in [one.content for one in here([old], ["back to work then, the lens is wet"])]


def test_the_sentence_before_says_of_what_there_is_another_value() -> None:
    old = "delgados called, church is taken, they take the 24th of april."
    new = here([old], ["guess what. delgado again. 8 may now, and thats final they say"])[-1]
    assert new.content == "delgado again. 8 may now, and thats final they say"
    assert old.rstrip(".") in new.detail


def test_all_of_a_kind_do_not_change_one_of_them() -> None:
    [room, *_] = here(["good. room 2 it is."], ["price list 2027: all rooms plus 5"])
    assert room.content == "room 2 it is."


@pytest.mark.parametrize(
    ("old", "new", "reply"),
    [
        (
            "deploys are rsync over ssh to the strato box",
            "ah no wait, theres no ssh there",
            "I've removed the rsync step; `render.yaml` builds and deploys from main now.",
        ),
        (
            "Benno drives the saturday round",
            "his back is bad, tilda has the van keys",
            "Noted: Tilda drives the Saturday round instead of Benno.",
        ),
    ],
)
def test_an_answer_shows_what_the_users_words_change(old: str, new: str, reply: str) -> None:
    """They are kept as they were said, and with nobody else's."""
    told = here([old, ">Noted."], [new, f">{reply}"])
    assert any(old in one.detail for one in told)
    assert all(one.content in f"{old}\n{new}" for one in told)
    assert not any(old in one.detail for one in here([old], [new, ">Let me look at it."]))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("we dont eat pork", "and we cook on induction since thursday"),
        ("ma sœur Maud est végane, pense à elle pour le menu", "le resto est complet finalement."),
        ("die suche findet ß nicht", "und deployen tut ab sofort gitlab ci"),
    ],
)
def test_what_only_the_judge_sees_replaces_nothing(old: str, new: str) -> None:
    assert old in [one.content for one in here([old], [new])]


def test_what_is_read_once_more_replaces_not_itself() -> None:
    """ "About the glass: ..." begins like a correction, and its message is no limit to that."""
    old = "Anton there takes our orders, direct line 0662 4471."
    new = "about the glass: he quit at the end of october. Ilse has his customers"
    told = here([old], [new, ">I changed the contact for Clearpane to Ilse."])
    assert not [one for one in told if one.content in one.detail]


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("before the regatta: 1. print start numbers 2. buoy positions on the map", True),
        ("for the reopening: 1) new lock for the safe 2) fog machine", True),
        ("vor dem umzug: 1) kartons kaufen 2) strom ummelden", True),
        ("before each commit: 1. run ruff 2. run the tests", False),
        ("for this repo: 1) tabs 2) no emojis", False),
    ],
)
def test_a_numbered_list_for_an_event_is_to_be_done(text: str, task: bool) -> None:
    assert all((one.type == "task") is task for one in extract(text))
    assert len(extract(text)) == 2 or not task


def test_what_goes_on_with_a_pronoun_can_be_changed_later() -> None:
    first = "Bruno gets 10 mg of prednisolone, mornings. he weighs 31 kilos."
    told = here([first], ["weight is 29.5, he slimmed down nicely"])
    assert [one.detail for one in told if "29.5" in one.content] == ["Was: he weighs 31 kilos."]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "8b writes the fractions test on 24 november in room 204.",
            "that test, i had to push it to 1 december, half of them have the flu",
        ),
        (
            "the x-ray machine is leased, 410 a month",
            "the x-ray thing: we bought it out, it's ours",
        ),
        (
            "ok decided: moth lantern gets permadeath",
            "we take permadeath back, autosave at every lantern",
        ),
    ],
)
def test_a_change_needs_no_value_and_no_word_of_change(old: str, new: str) -> None:
    found = here([old], [new])
    [it] = [one for one in found if one.content == new]
    assert it.detail.partition(": ")[2] in old


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "Je prends des cours de violoncelle le jeudi à 18 h avec Madame Ferrand.",
            "Je cours depuis un an, trois fois par semaine.",
        ),
        ("I swim on Mondays at 7.", "I've been swimming for two years, mostly on Fridays at 8"),
    ],
)
def test_what_has_been_so_for_years_changes_nothing_that_was_said_since(old: str, new: str) -> None:
    told = here([old], [new])
    assert not [one for one in told if one.replaces]


def test_strangers_beside_the_nearest_sentence_do_not_hide_its_change() -> None:
    before = ["Theo is allergic to peanuts.", "I'm baking for my nephew Theo's party."]
    before += [
        "My brother listens to My Brother, My Brother and Me.",
        "I need a gift for my brother.",
    ]
    new = (
        "I asked my brother to be sure and I was wrong about Theo's allergy: he can't have cashews."
    )
    current = after([], [logged(one) for one in extract(*before)])
    found = SELECTOR.extract(talk(new), Scene(current=current))
    assert [one.detail for one in found if one.content == new] == [f"Was: {before[0]}"]


# --- who is a year older, what is excused, what goes back ----------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "clause"),
    [
        ("the kids are Bo (7) and Fenna (4).", "long day, Fenna turned 5", "Fenna (4)"),
        ("My kids are Mila, 6, and Ole, 39.", "Mila wurde 7 und wir feiern", "My kids are Mila"),
    ],
)
def test_a_birthday_unsettles_an_age(old: str, new: str, clause: str) -> None:
    [kept] = extract(new, scene=Scene(current=[known("a", "fact", old)], project="p"))
    assert kept.detail == f"Perhaps no longer: {clause}"


def test_an_excuse_puts_the_last_number_right() -> None:
    found = extract(
        "First whistle is 10 in the hall of the harbour school.",
        ">Noted.",
        "sorry sorry. 9:45. just read the mail",
        scene=Scene(project="p"),
    )
    assert "First whistle is 9:45 in the hall of the harbour school." in [
        one.content for one in found
    ]


def test_a_wish_is_taken_back_in_another_project() -> None:
    said = "general thing: answer me in bullet points, i skim"
    old = known("a", "fact", said).with_(project="tram", kind="preference")
    for new in (
        "i dont want the bullet points any more, anywhere.",
        "you know what, i take back that thing with the bullets.",
    ):
        [kept] = extract(new, scene=Scene(current=[old], project="stops"))
        assert kept.replaces == (old.id,) or kept.detail.startswith("Perhaps no longer")


def test_one_of_several_wishes_is_changed_in_part() -> None:
    said = "no animations, nothing blinking, dark theme only"
    old = known("a", "fact", said).with_(project="p", kind="preference")
    new = "turns out dark makes it worse, so light background from now on, everywhere."
    [kept] = extract(new, scene=Scene(current=[old], project="p"))
    assert kept.kind == "preference" and not kept.detail.startswith("Was:")


def test_a_number_that_is_said_again_changes_nothing() -> None:
    old = known("a", "fact", "the PO number 4500218 has to be on every invoice").with_(project="p")
    new = "check that 4500218 is on the invoice this time, i dont see it"
    for kept in extract(new, scene=Scene(current=[old], project="p")):
        assert "no longer" not in kept.detail and not kept.replaces


@pytest.mark.parametrize(
    "said",
    [
        (
            "les colis partent le mardi, préparation la veille.",
            "les colis partent le jeudi désormais, le transporteur a changé sa tournée.",
            "le transporteur est revenu, donc on est de nouveau au mardi.",
        ),
        ("wir duzen die kunden im newsletter", "ab jetzt siezen wir im newsletter"),
    ],
)
def test_what_changes_in_other_languages(said: tuple[str, ...]) -> None:
    current: list[Entry] = []
    for number, text in enumerate(said):
        found = SELECTOR.extract(
            talk(text, name=f"s{number}-"), Scene(current=current, project="p")
        )
        current = after(current, [logged(one).with_(project="p") for one in found])
    assert [one.content for one in current] == [said[-1]]


def test_what_goes_back_to_where_it_was() -> None:
    first = known("a", "fact", "login service: sessions expire after 45 minutes idle")
    then = known("b", "fact", "idle timeout goes down to 20 minutes")
    scene = Scene(current=[one.with_(project="p") for one in (first, then)], project="p")
    [kept] = extract("put the idle timeout back where it was at first.", scene=scene)
    assert kept.replaces == (then.id,)


def test_the_other_one_unsettles_the_last_decision() -> None:
    decided = "i'm going with tellu, their support answers within the hour."
    old = known("a", "decision", decided).with_(project="p")
    scene = Scene(current=[old], project="p")
    [kept] = extract("slept on it a month, its the other vendor after all.", scene=scene)
    assert kept.detail == "Perhaps no longer: i'm going with tellu"
    assert not any(one.detail for one in extract("the other one is red.", scene=scene))


def test_who_gave_up_is_named_as_what_no_longer_holds() -> None:
    old = known("a", "fact", "der elektriker ist die firma brinkmann, zahlung bar vor ort.")
    scene = Scene(current=[old.with_(project="p")], project="p")
    [kept] = extract("seit brinkmann hingeworfen hat, macht das Yildiz elektro.", scene=scene)
    assert kept.replaces or kept.detail.startswith("Perhaps no longer")


def test_mockery_takes_no_sentence_with_it() -> None:
    said = "oh lovely, a ping at 7am, they will adore me. make it sundays and add a trumpet now"
    old = known("a", "fact", "we meet 9:30").with_(project="p")
    assert not extract(said, scene=Scene(current=[old], project="p"))


def test_a_word_that_is_put_right_stays_with_what_it_puts_right() -> None:
    said = "ruth doesnt hear well so ring her after lunch.. argh i mean text her, never ring"
    assert contents(f"my mother-in-law is Ruth. {said}")[-1].endswith("mean text her, never ring")


def test_who_has_to_go_replaces_nothing() -> None:
    demo = "the hallwil demo is thu 26.11. at 2pm and needs a fake ward, call it ward tulip."
    old = known("a", "fact", demo).with_(project="p")
    found = extract("ward tulip tomorrow, gotta go, its 4", scene=Scene(current=[old], project="p"))
    assert not any(one.replaces for one in found)


def test_a_meeting_that_moves_in_french() -> None:
    old = "la réunion des parents de timo c'est le mardi 24 novembre à 18h30, salle 4."
    scene = Scene(current=[known("a", "fact", old).with_(project="p")], project="p")
    [kept] = extract("bon, la réunion passe au jeudi 26, même heure même salle", scene=scene)
    assert kept.replaces


def test_the_same_number_again_casts_no_doubt() -> None:
    old = known("a", "fact", "i wear 41.5 and i need a wide toe box").with_(project="p")
    scene = Scene(current=[old], project="p")
    for new in ("trail shoes now, 41.5 again, budget 160", "in those 41.5 fits too"):
        assert not any("41.5" in one.detail for one in extract(new, scene=scene))


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("the cafe gets its own opening hours, 9 to 5", "also"),
        ("leave the bakery alone, 9 to 5 is for the cafe", "stays"),
        ("some day the bakery opens at 6", "plans"),
        ("Mona wonders if the bakery could open at 6", "plans"),
    ],
)
def test_what_changes_nothing_is_heard(text: str, cue: str) -> None:
    assert cue in read(text).cues


def test_the_same_names_and_one_more_change_nothing() -> None:
    old = known("a", "fact", "invoices go to Farrukh Aziz at the town hall").with_(project="p")
    new = "invoices go to Farrukh Aziz, and a copy goes to Beatrix Olsen"
    for kept in extract(new, scene=Scene(current=[old], project="p")):
        assert not kept.replaces and not kept.detail


def test_an_order_with_another_number_is_compared_with_what_is_known_here() -> None:
    decided = "we go with a sum of 15000 for the kitchen"
    old = known("a", "decision", decided).with_(project="p")
    scene = Scene(current=[old], project="p")
    [kept] = extract("make the whole sum 16500", ">Updated the sum to 16500.", scene=scene)
    assert kept.replaces or kept.detail.startswith("Perhaps no longer")


def test_half_an_hour_is_a_number() -> None:
    old = known("a", "fact", "a visit to the workshop takes 45 minutes").with_(project="p")
    new = "a visit to the workshop takes half an hour now"
    [kept] = extract(new, scene=Scene(current=[old], project="p"))
    assert kept.replaces == (old.id,)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        # for a while, or one thing more
        (
            "we train in the sports hall on Saturdays",
            "that one saturday we train in the park instead",
        ),
        (
            "parcels go out on Saturday",
            "only that week parcels go out on friday instead of saturday",
        ),
        ("we're closed on Mondays", "from november on we're closed on Sundays as well"),
        ("die Theorie ist dienstags", "ausnahmsweise ist die Theorie diese Woche montags"),
        ("le cours est le mardi à 20h", "cette semaine seulement, le cours est le jeudi à 20h"),
        # what did not happen
        ("the budget for the kitchen is 18,000", "we nearly raised the kitchen budget to 24,000"),
        (
            "one matinee, saturday 2:30",
            "they asked for a matinee on sunday at 2 but that's not happening",
        ),
        # of others, and of an earlier time
        ("the gateway is a Raspberry Pi 4", "someone on the forum had a pi 5 as gateway for that"),
        ("a ticket costs 14 euros", "last winter we sold the tickets for 11 euros"),
        ("backups run at 01:00", "in 2019 backups ran at noon and everything froze"),
        ("our participants get a 5 euro voucher", "the Ghent study gives a 10 euro voucher"),
        ("Café Lune pays 0.85 for a croissant", "schools pay 0.60 for a croissant"),
        ("la cuota adulta es de 140 euros", "la cuota infantil es de 95 euros"),
        # of another one by its number
        ("9B has maths in room 204", "9C has maths in room 112 now"),
        (
            "year 9 parents' evening is on 14 october",
            "year 10's parents' evening moved to 21 october",
        ),
        ("call time on day one is 6:00", "call time on day two is 9:00"),
        # of another thing, of a case of its own, or of nothing yet
        ("the kiln has 3 shelves", "the oven has 4 shelves"),
        ("the bakery in Ulm opens at 7 on weekdays", "the cafe opens at 9 on weekdays"),
        ("die Halle öffnet um 9 Uhr", "das Büro öffnet um 8 Uhr"),
        ("table 4 seats 6 people", "table 7 seats 8 people"),
        ("pickers get 13.50 an hour", "the Kellers pay their pickers 14.20 an hour"),
        ("a shelf costs 35 a month", "the studio in Fenwick has gone up to 42 a month for a shelf"),
        ("the player has three lives", "in easy mode the player starts with five lives"),
        ("handover is at 6:45", "on New Year's Eve the handover was brought forward to 6:30"),
        ("the church is heated to 16 degrees", "turning it down to 14 degrees was rejected"),
        ("the opening is on 8 May", "the textile show upstairs opens on 22 May and isn't ours"),
        ("ingest runs every 15 minutes", "ingest once ran hourly, back when we had two customers"),
        ("a large loaf costs 4.20", "a large loaf might have to be 4.60, but not for now"),
    ],
)
def test_what_is_no_lasting_change_of_the_same_thing_replaces_nothing(
    older: str, newer: str
) -> None:
    old = known("a", "fact", older).with_(project="p")
    for kept in extract(newer, scene=Scene(current=[old], project="p")):
        assert not kept.replaces and not kept.detail


def test_the_same_thing_by_its_number_may_change() -> None:
    old = known("a", "fact", "9B has maths in room 204").with_(project="p")
    [kept] = extract("9B has maths in room 118 now", scene=Scene(current=[old], project="p"))
    assert kept.replaces == (old.id,)


def test_what_remains_by_the_agents_word_closes_the_rest_of_a_list() -> None:
    said = "brain is soup. things to do:\n- hire a van\n- have the post redirected\n- quit the gym"
    [*tasks] = extract(said, scene=Scene(project="p"))
    assert [(one.type, one.content) for one in tasks] == [
        ("task", "hire a van"),
        ("task", "have the post redirected"),
        ("task", "quit the gym"),
    ]
    current = [logged(one).with_(project="p") for one in tasks]
    report = ("the van and the gym are sorted out, one way or the other", ">Then the post remains.")
    later = talk(*report, name="s2-")
    done = SELECTOR.extract(later, Scene(current=current, project="p"))
    assert {one.content for one in done if one.status == "done"} >= {"hire a van", "quit the gym"}
    assert not [one for one in done if one.content == "have the post redirected"]


def test_a_reproach_takes_nothing_back() -> None:
    rule = "never touch calibration/*.json, these come from the manufacturer."
    old = known("a", "fact", rule).with_(project="p", kind="preference")
    scene = Scene(current=[old], project="p")
    for new in (
        "AND you just edited a calibration file, those are off limits!!",
        "you touched the calibration files again",
    ):
        assert not any(one.replaces or one.detail for one in extract(new, scene=scene))


def test_what_is_back_on_its_old_number() -> None:
    first = known("a", "fact", "prod runs node 20, dont use anything newer")
    then = known("b", "fact", "infra bumped us to node 22 last night").with_(
        detail="Was: prod runs node 20, dont use anything newer", project="p"
    )
    scene = Scene(current=[first.with_(project="p"), then], project="p")
    found = extract("22 leaks memory. prod is back on 20 till they fix it.", scene=scene)
    assert any(then.id in one.replaces for one in found)


def test_another_shift_of_the_user_is_heard_in_another_project() -> None:
    old = known("a", "fact", "im Ayo, a nurse on night shifts, i learn to code since spring")
    scene = Scene(current=[old.with_(project="budgeter")], project="rota-app")
    [kept] = extract("since november i am on day shifts btw, finally sleeping.", scene=scene)
    assert kept.replaces or kept.detail.startswith("Perhaps no longer")


def test_what_stands_beside_a_value_that_is_taken_back_stays() -> None:
    old = "abstract for the symposium is due nov 30, 300 words max, upload via the oxford portal"
    new = "the due date of the abstract isnt nov 30 any more, they gave us until dec 7."
    scene = Scene(current=[known("a", "fact", old).with_(project="p")], project="p")
    [kept] = extract(new, scene=scene)
    assert kept.replaces and kept.detail == f"In part no longer: {old}"


@pytest.mark.parametrize(
    ("before", "said", "meant"),
    [
        ("the daily summary goes out at 6", "hm make it 16, nobody is up", "goes out at 16"),
        ("the alarm limit is 18 kg", "no, make that 24", "the alarm limit is 24 kg"),
        ("the alarm limit is 18 kg", "make it 5 pixels wider", ""),
    ],
)
def test_what_was_just_said_may_be_made_otherwise(before: str, said: str, meant: str) -> None:
    messages = [before, ">Done.", said]
    found = [one for one in extract(*messages) if one.detail == f"Was: {before}"]
    assert bool(found) is bool(meant)
    assert not meant or meant in found[0].content


@pytest.mark.parametrize(
    ("first", "then", "back"),
    [
        (
            "mossgolem is a small platformer in godot 4",
            "i want to do this in bevy, rust is more fun",
            "its godot again and this time for good",
        ),
        (
            "site for my podcast, its called Low Tide",
            "i'm renaming the show: Salt and Static",
            "its Low Tide again, put the feed title back",
        ),
    ],
)
def test_what_was_taken_in_between_is_over(first: str, then: str, back: str) -> None:
    scene = Scene(project="/x")
    found = extract(first, ">ok", then, ">ok", back, scene=scene)
    (then_id,) = [one.id for one in found if one.content == then]
    assert any(then_id in one.replaces for one in found)


def test_what_is_scratched_is_replaced_by_what_follows() -> None:
    old, new = "and export the sheet music list every night at 2", "no automatic export, i run it"
    found = extract(old, ">I added a cron line.", f"scratch that. {new}", scene=Scene(project="/x"))
    assert [(one.content, bool(one.replaces)) for one in found] == [(old, False), (new, True)]
    other = extract(old, ">ok", "scratch that. the hall is cold", scene=Scene(project="/x"))
    assert not any(one.replaces for one in other)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "The windows get delivered on 24 November.",
            "the window people called, they're bringing them 8 December.",
        ),
        (
            "Rehearsals are Wednesday 7.30 pm in the parish hall.",
            "oh no, the caretaker just called me, so rehearsals have to move to Monday.",
        ),
        ("Price will be 14.99.", "nah, let's make it 11.99 instead, it's a short game."),
    ],
)
def test_another_value_replaces_though_a_call_is_done_or_no_word_is_shared(
    old: str, new: str
) -> None:
    said = (old, ">ok", "put that in the press kit", ">done", new)
    found = extract(*said, scene=Scene(project="/x"))
    gone = {its for one in found for its in one.replaces}
    assert [one.content for one in found if one.id in gone] == [old]


def test_who_does_it_now_stands_behind_who_does_not() -> None:
    old, gone = (
        "Goran drives the minibus",
        "the minibus: he doesnt drive it any more, knee surgery.",
    )
    found = extract(old, ">ok", f"{gone} Wilhelmina does", scene=Scene(project="/x"))
    assert [one.content for one in found if one.replaces] == [f"{gone} Wilhelmina does"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "we're open mon to fri 8 to 6 and saturdays 9 to 1.",
            "since dr. Ngu went part time we close saturdays at noon",
        ),
        (
            "food inspection at the canteen is on thursday 26 november, 10 am.",
            "the inspector rang, she is coming a week earlier because of her holidays.",
        ),
    ],
)
def test_other_hours_and_a_week_earlier_cast_a_doubt(old: str, new: str) -> None:
    found = extract(old, ">ok", "the form is too wide", ">done", new, scene=Scene(project="/x"))
    assert [one.content for one in found if DOUBTS in one.detail] == [new]


def test_what_is_so_on_a_day_of_every_week_says_enough() -> None:
    assert "fridays im off" in contents("about me: i'm Tadeusz, i teach in Gdynia. fridays im off")


def test_a_spanish_thing_ends_at_its_verb() -> None:
    old = "el hotel Almena recoge a las 6:15, pregunta por Tomás."
    new = "los de almena vienen ahora a las 5:40 porque abren antes"
    found = extract(old, ">vale", "suma por semana", ">hecho", new, scene=Scene(project="/x"))
    assert [one.content for one in found if one.replaces] == [new]


def test_what_is_replaced_in_part_may_change_once_more() -> None:
    rules = (
        "rules for the workshop: shoes off at the door, radio under 5, always sign the tool book"
    )
    shoes, book = "no more shoes rule, the floor is heated", "and you can stop with the tool book"
    found = extract(rules, ">ok", shoes, ">ok", book, scene=Scene(project="/x"))
    details = {one.content: one.detail for one in found}
    assert details[shoes] == f"{PARTLY}{rules}"
    assert details[book] == f"{DOUBTS}always sign the tool book"
    kept = logged(found[1]).with_(project="/x")
    later = extract(book, scene=Scene(current=[kept], project="/x"))
    assert [one.detail for one in later] == [f"{DOUBTS}always sign the tool book"]


def test_a_number_may_stand_at_its_unit() -> None:
    old, new = "warn me if there is less than 11h between shifts", "make it 12 hours instead of 11"
    found = extract(old, ">ok", new, scene=Scene(project="/x"))
    assert [one.detail for one in found if one.replaces] == [f"Was: {old}"]


def test_who_shut_casts_a_doubt_on_what_they_did() -> None:
    old = "flyers: budget 300, printed by brindle, 9x7cm"
    new = "the flyers are printed by stickleback, brindle shut"
    found = extract(old, ">ok", "the header is too wide", ">done", new, scene=Scene(project="/x"))
    assert [one.detail for one in found if one.detail] == [f"{DOUBTS}printed by brindle"]


def test_what_is_done_takes_no_decision_back() -> None:
    said = "I deployed the worker to the beta and let it send me three reminders, all arrived."
    decided = "Let's use a queue for the reminder mails: a jobs table and a small worker."
    found = extract(decided, ">ok", said, scene=Scene(project="/x"))
    assert not any(one.detail for one in found)
