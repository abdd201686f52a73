"""What closes a task or a question, or may: a report, a list's rest, an answer in other words."""

from __future__ import annotations

import pytest

from tests.learn.selecting import SELECTOR, contents, extract, known, logged, talk
from wakebook.learn.extract import Scene, after
from wakebook.log.entry import DOUBTS, WAS

LIST = "my list for the fair: 1) book the catering 2) get the insurance quote 3) order lanyards"


@pytest.mark.parametrize(
    ("asked", "left", "done"),
    [
        (LIST, "Good. Then only the lanyards are left.", ["book the catering", "get the"]),
        (LIST, "So the insurance and the lanyards are still open.", ["book the catering"]),
        (
            "pendientes: 1) pedir cajas 2) llamar al casero 3) pintar el pasillo",
            "Entonces solo queda el casero.",
            ["pedir cajas", "pintar el pasillo"],
        ),
        (
            "zu tun: 1) heizungsfirma anrufen 2) protokoll verschicken",
            "Gestrichen. Bleibt das Protokoll.",
            ["heizungsfirma anrufen"],
        ),
        (
            "à faire: 1) appeler le traiteur 2) commander les badges",
            "Il ne reste donc que le traiteur.",
            ["commander les badges"],
        ),
        (LIST, "Left: the voucher page.", []),
        (LIST, "Only the voucher page is left.", []),  # of something else
        (LIST, "I can do the lanyards right away.", []),
    ],
)
def test_what_alone_is_left_of_a_list_closes_the_rest(
    asked: str, left: str, done: list[str]
) -> None:
    first = SELECTOR.extract(talk(asked, name="a"), Scene(project="p"))
    current = after([], [logged(one).with_(project="p", transcript="a") for one in first])
    found = SELECTOR.extract(
        talk("ok, next", f">{left}", name="b"), Scene(current=current, project="p")
    )
    closed = [one.content for one in found if one.status == "done"]
    assert len(closed) == len(done)
    assert all(one.startswith(begin) for one, begin in zip(closed, done, strict=True))
    assert all("Agent: " in one.detail for one in found if one.status == "done")
    elsewhere = SELECTOR.extract(
        talk("ok", f">{left}", name="c"), Scene(current=current, project="q")
    )
    assert not [one for one in elsewhere if one.status == "done"]


def test_a_task_of_another_list_stays_open() -> None:
    lists = (LIST, "to do: 1) paint the shed 2) call the roofer")
    drafts = [
        logged(one).with_(project="p", transcript=name)
        for name, said in zip("ab", lists, strict=True)
        for one in SELECTOR.extract(talk(said, name=name), Scene(project="p"))
    ]
    found = SELECTOR.extract(
        talk("ok", ">Only the lanyards are left.", name="c"), Scene(current=drafts, project="p")
    )
    assert {one.content for one in found} == {"book the catering", "get the insurance quote"}


@pytest.mark.parametrize(
    ("said", "done"),
    [
        ("1 and 3 are done. 2 can wait until after the fair", ["book the catering", "order lan"]),
        ("number 2 is done", ["get the insurance quote"]),
        ("ok 1, 2 are finished", ["book the catering", "get the insurance quote"]),
        ("punkt 3 ist erledigt", ["order lan"]),
        ("1 and 3 are not done yet", []),
        ("7 are done", []),  # there is no such number
        ("3 of the twelve boxes are done", []),
    ],
)
def test_tasks_are_closed_by_their_numbers(said: str, done: list[str]) -> None:
    first = SELECTOR.extract(talk(LIST, name="a"), Scene(project="p"))
    current = after([], [logged(one).with_(project="p", transcript="a") for one in first])
    found = SELECTOR.extract(talk(said, name="b"), Scene(current=current, project="p"))
    closed = [one.content for one in found if one.status == "done"]
    assert len(closed) == len(done)
    assert all(one.startswith(begin) for one, begin in zip(closed, done, strict=True))
    later = after(current, [logged(one).with_(project="p", transcript="b") for one in found])
    again = SELECTOR.extract(talk("1 is done", name="c"), Scene(current=later, project="p"))
    assert not done or not [one for one in again if one.status == "done"]  # of what is left?


def test_facts_that_are_told_in_a_row_change_none_of_each_other() -> None:
    said = "the site goes live on 9 December. copy gets signed off by Wendy, not by him."
    assert not [one for one in extract(said, scene=Scene(project="p")) if one.replaces]
    [old, new] = extract("We meet on the 9th. Sorry, I meant we meet on the 10th.")
    assert new.replaces == (old.id,)


def test_a_slip_is_kept_as_it_was_meant_and_as_it_was_said() -> None:
    said = "Greta runs the kiln on tuesdays.", "sorry, I meant thursdays"
    [old, new] = extract(*said)
    assert new.content == "Greta runs the kiln on thursdays." and new.replaces == (old.id,)
    assert new.detail == f"{WAS}{said[0]}"


def test_what_may_be_answered_is_told_with_the_answer() -> None:
    asked = known("a", "question", "do we need a gas permit for the burner on the stall?")
    scene = Scene(current=[asked.with_(project="p")], project="p")
    [new] = extract("fire dept called back, the burner is fine as it is.", scene=scene)
    assert new.detail == f"{DOUBTS}{asked.content}" and not new.replaces
    for open_ in (
        "we still have to ask about the burner.",
        "is the burner heavy, what do you say?",
    ):
        assert not [one for one in extract(open_, scene=scene) if DOUBTS in one.detail]


def test_of_a_list_some_may_have_changed() -> None:
    errands = (
        "errands for the week: bring the coat to the cleaners, renew my passport, buy a present"
    )
    old = known("a", "fact", errands).with_(project="p")
    found = extract("coat is at the cleaners since today.", scene=Scene(current=[old], project="p"))
    assert not [one for one in found if one.replaces]


def test_an_order_replaces_no_fact() -> None:
    old = known("a", "fact", "formatter is biome").with_(project="p")
    for order in ("good, format everything", "pls add to the sheet that biome is on tuesdays"):
        found = extract(order, scene=Scene(current=[old], project="p"))
        assert not [one for one in found if one.replaces]


def test_news_that_are_retold_are_the_users_words() -> None:
    news = "the charter people wrote: pickup is at 3pm instead of five."
    assert [one.content for one in extract(news)] == [news]
    for paste in (
        "the landlord wrote: please remember that you always pay on the first.",
        "the shop wrote: Pickup is at 3pm instead of five.",
        "they wrote: we moved our office to Lisbon.",
    ):
        assert not extract(paste)


def test_what_says_nothing_of_its_own_casts_no_doubt() -> None:
    old = known(
        "a", "decision", "Let's use a queue for the reminder mails: a jobs table, a worker."
    )
    scene = Scene(current=[old.with_(project="p")], project="p")
    for said in (
        "So the reminder mails go through the queue now.",
        "we use a jobs table, as I said",
    ):
        assert not [one for one in extract(said, scene=scene) if DOUBTS in one.detail]


@pytest.mark.parametrize(
    ("task", "one_of_them", "both"),
    [
        (
            "ich muss noch den hausnotruf bestellen und die vollmacht kopieren",
            "vollmacht hab ich erledigt",
            "hausnotruf bestellt und vollmacht kopiert, erledigt",
        ),
        (
            "I have to renew the passport and call the insurance people.",
            "The passport is renewed.",
            "The passport and the insurance are done.",
        ),
    ],
)
def test_one_of_two_things_closes_no_task(task: str, one_of_them: str, both: str) -> None:
    old = known("a", "task", task, "open").with_(project="p", subject="p")
    scene = Scene(current=[old], project="p", subject="p")
    assert not [one for one in extract(one_of_them, scene=scene) if one.replaces]
    assert [one.status for one in extract(both, scene=scene)] == ["done"]


@pytest.mark.parametrize(
    "heading",
    ["for the beta we need:", "things we have to do:", "für diese woche:", "pour demain:"],
)
def test_a_list_of_what_is_needed_is_tasks(heading: str) -> None:
    found = extract(f"{heading}\n- invite links for users\n- gdpr export\n- call the town hall")
    assert [(one.type, one.status) for one in found] == [("task", "open")] * 3


def test_the_user_too_says_what_alone_is_left_of_a_list() -> None:
    said = """my photo exhibition, what i need to do:
1. print the four big ones
2. write the captions
3. email the gallery about hooks"""
    first = SELECTOR.extract(talk(said, name="a"), Scene(project="p"))
    assert [one.status for one in first] == ["open"] * 3
    current = after([], [logged(one).with_(project="p", transcript="a") for one in first])
    left = "thats one less, leaves the big prints and the captions"
    found = SELECTOR.extract(talk(left, name="b"), Scene(current=current, project="p"))
    assert [one.content for one in found if one.status == "done"] == [first[2].content]


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("book st. clara", "st clara: sacristan's away, i ring him again mid november"),
        ("order 35 black folders", "folders can wait til january, we borrow theirs"),
        ("translate the onboarding", "onboarding: german is in, the italian is missing"),
        ("delete the account flow", "so what remains is the italian and the account flow"),
        ("sort out the stock script", "stock script is wrong again, counts the mugs double"),
    ],
)
def test_what_waits_or_is_missing_is_not_done(task: str, said: str) -> None:
    open_ = known("a", "task", task, "open").with_(project="p")
    found = SELECTOR.extract(talk(said), Scene(current=[open_], project="p"))
    assert not [one for one in found if one.status == "done"]


def test_what_is_left_has_to_be_named_to_close_the_others() -> None:
    names = ("translate the onboarding", "raise minSdk to 26", "delete the account")
    current = [
        known(f"t{n}", "task", text, "open").with_(project="p", subject="p")
        for n, text in enumerate(names)
    ]
    scene = Scene(current=current, project="p", subject="p")
    found = SELECTOR.extract(talk("what remains is the italian and the account"), scene)
    assert not [one for one in found if one.status == "done"]
    found = SELECTOR.extract(talk("update: minsdk is merged."), scene)
    assert [one.content for one in found if one.status == "done"] == [names[1]]


def test_an_agreement_may_amend_the_proposal() -> None:
    proposal = ">I would not add a service. My proposal: a `jobs` table that one worker polls."
    said = "actually 3 attempts is plenty, otherwise yes, do it like that."
    [kept] = [one for one in extract("jobs?", proposal, said) if one.type == "decision"]
    assert kept.content == "My proposal: a `jobs` table that one worker polls."
    assert kept.detail == f"Agreed: {said}"


def test_what_is_not_to_be_kept_is_not() -> None:
    said = "Joris is strong in go, wants 7,900 a month. second round with Tobi on the 19th at 10."
    private = "hm the salary, thats confidential. dont keep that number anywhere"
    assert contents(said, ">Written.", private) == ["second round with Tobi on the 19th at 10."]
    for other in ("ok thanks", "don't save it yet", "dont store that in localstorage", "i dont"):
        assert "7,900" in " ".join(contents(said, ">Written.", other))


def test_of_a_list_the_thing_that_may_be_over_is_named() -> None:
    task = "i need to: book the van, write the quote for Pomfret, get the gluten list"
    said = "Pomfret took somebody else so that quote falls away"
    found = extract(task, ">ok", said, scene=Scene(project="/x"))
    assert [(one.type, one.status, one.detail) for one in found] == [
        ("task", "open", ""),
        ("fact", None, f"{DOUBTS}write the quote for Pomfret"),
    ]
