"""Where an upgrade, or a model's one line, could take away or bring back too much."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.learn.telling import (
    MODEL,
    RECENT,
    Tale,
    answer,
    block,
    by_rules,
    decision,
    ends,
    fact,
    handoff,
    per_message,
    task,
)
from tests.server import Chat, Status
from wakebook.capture import state as states

PAD = "This is a long winded aside about nothing at all that fills the page. " * 30
POSTGRES = "We decided to use Postgres for the billing service."
SIXTEEN = "Make that Postgres 16 for the billing service."
NOT_FOUND = "Sixteen of Postgres, on the big host, is what billing gets, I guess?"  # by rules
NOTHING = '{"type":"nothing"}'
LATER = "2026-11-09T12:00:00Z"


def held(tale: Tale, *types: str) -> list[str]:
    return [entry.content for entry in tale.current(*types)]


def number(chat: Chat, text: str) -> int:
    """Of the message that begins like this."""
    found = re.search(rf"^\[(\d+)\] .*\n    {re.escape(text)}", block(chat, "messages"), re.M)
    assert found
    return int(found[1])


def names(chat: Chat, *parts: str) -> list[str]:
    """The references of the known entries that have one of these in them; of all for none."""
    rows = block(chat, "known").splitlines()
    return [
        row.split()[0]
        for row in rows
        if row != "(none)" and (not parts or any(part in row for part in parts))
    ]


def tail(chat: Chat) -> list[str]:
    return [handoff()] if ends(chat) else []


# --- long transcripts, in parts ----------------------------------------------------------


def in_parts(tale: Tale, later: str, first: str, second: str) -> None:
    """Read by rules; a model has to read it in parts. It says this of the two messages."""
    tale.talk(POSTGRES, f"Ok. {PAD}", later, "Fine.")
    by_rules(tale)
    tale.settings(request_tokens=450)

    def reply(chat: Chat) -> str:
        shown = block(chat, "messages")
        lines: list[str] = []
        if POSTGRES in shown:
            lines.append(decision(first, number(chat, POSTGRES)))
        if later in shown:
            known = names(chat, first)
            assert known
            lines.append(decision(second, number(chat, later), replaces=known))
        return answer(*(lines or [NOTHING]), *tail(chat))

    tale.server.reply = reply


def test_the_same_words_in_a_first_part_do_not_stay_beside_their_correction(tale: Tale) -> None:
    same = POSTGRES
    in_parts(tale, SIXTEEN, same, "Use Postgres 16 for the billing service")
    assert same in tale.contents("decision")  # rules found it in the very same words
    done = tale.memory.upgrade()
    assert not done.failed and len(tale.asked) > 1
    assert held(tale, "decision") == ["Use Postgres 16 for the billing service"]
    assert tale.valid() and tale.memory.upgrade().transcripts == 0


def test_a_part_that_depends_on_one_that_was_dropped_goes_with_it(tale: Tale) -> None:
    second = "Sixteen of Postgres on the big host is what billing gets"
    in_parts(tale, NOT_FOUND, "Billing service uses Postgres", second)
    for entry in tale.current("decision"):
        tale.memory.remember("Use MySQL for billing", type_="decision", replaces=[entry.id])
    before = held(tale, "decision")
    assert set(before) == {"Use MySQL for billing"}
    done = tale.memory.upgrade()
    assert not done.failed and len(tale.asked) > 1
    assert held(tale, "decision") == before
    assert not tale.memory.log.chains().dangling and tale.valid()


# --- what nobody did ---------------------------------------------------------------------


def test_a_withdrawn_task_is_neither_done_nor_there_twice(tale: Tale) -> None:
    tale.talk(
        "I need to call the bank about the loan. I also need to buy four life jackets.",
        "Ok.",
        "Whether the loan is enough for the new engine of the boat is still open.",
        "Hard to say.",
    )
    old = [entry for entry in by_rules(tale) if entry.type in ("task", "question")]
    assert [entry.type for entry in old].count("task") == 2 and old[-1].type == "question"
    tale.says(answer(task("Call the bank about the loan", 1), handoff()))
    tale.memory.upgrade()
    memory = tale.memory
    assert [memory.log.status_of(entry) for entry in old] == ["replaced"] * len(old)
    woken = memory.wake()
    assert "[done]" not in woken and "[replaced]" not in woken
    assert woken.count("Call the bank about the loan") == 1
    assert "life jackets" not in woken


def test_a_finished_task_is_not_pending_again_because_nobody_mentions_it(tale: Tale) -> None:
    about = "Anna went sailing with the children."
    tale.talk(f"I need to buy four life jackets for the children. {about}", "Ok.", number=1)
    tale.talk(f"I bought the four life jackets for the children. {about}", "Ok.", number=2)
    tasks = [entry for entry in by_rules(tale) if entry.type == "task"]
    assert [entry.status for entry in tasks] == ["open", "done"]
    tale.memory.upgrade()
    assert len(tale.asked) == 2 and not held(tale, "task")
    assert "life jackets" not in tale.memory.wake()
    assert tale.valid() and tale.memory.upgrade().transcripts == 0


def test_what_was_corrected_by_hand_does_not_come_back_in_two_halves(tale: Tale) -> None:
    tale.talk("The harbour launch with Jonas is on 14 November.", "Ok.")
    [old] = [entry for entry in by_rules(tale) if entry.type == "fact"]
    moved = "The harbour launch was moved to 21 November"
    tale.memory.remember(moved, replaces=[old.id])
    jonas = fact("Jonas leads the harbour launch", 1)
    launch = fact("The harbour launch is on 14 November", 1)
    tale.says(answer(jonas, launch, handoff()))
    tale.memory.upgrade()
    assert "The harbour launch is on 14 November" not in held(tale)
    assert moved in held(tale) and tale.valid()


def test_a_model_that_finds_nothing_at_all_changes_nothing_and_is_told_of(tale: Tale) -> None:
    tale.talk(POSTGRES, "Ok.", "I need to call the bank about the loan.", "Ok.")
    by_rules(tale)
    before = tale.memory.home.log.read_bytes()
    tale.server.reply = lambda chat: NOTHING
    done = tale.memory.upgrade()
    assert done.transcripts == 0 and done.entries == 0
    [why] = done.failed.values()
    assert "found nothing" in why
    assert tale.memory.home.log.read_bytes() == before
    assert tale.memory.status().by_rules == 1


# --- which transcripts -------------------------------------------------------------------


def test_a_part_in_which_rules_found_nothing_is_read_again_once(
    tale: Tale, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = "Otetaan Postgres."
    claude = tale.talk(first, "Gut.", at=RECENT)
    for _ in range(2):  # it fails twice: rules stand in
        tale.server.script(Status(500))
        done = tale.memory.catch_up()
    assert done.covered == 1 and not tale.log()
    tale.server.reply = per_message()
    claude.user("Anna segelt im Mai nach Schweden.").agent("Schön.")
    monkeypatch.setenv("WAKEBOOK_NOW", LATER)
    tale.memory.catch_up(closing=True)
    assert tale.learned() == ["Anna segelt im Mai nach Schweden."]
    assert [front["closed"] for front in tale.fronts()] == [True]
    assert tale.memory.status().by_rules == 1
    assert tale.memory.upgrade().transcripts == 1
    assert first in held(tale) and tale.valid()
    assert len(tale.current("handoff")) == 1 and len(tale.current("fact")) == 2
    asked = len(tale.asked)
    assert tale.memory.status().by_rules == 0 and tale.memory.upgrade().transcripts == 0
    assert len(tale.asked) == asked


def test_a_session_that_the_state_has_forgotten_can_be_named(tale: Tale) -> None:
    claude = tale.talk(POSTGRES, "Ok.")
    by_rules(tale)
    states.save(tale.memory.home, states.State())
    done = tale.memory.upgrade(claude.session[:8])
    assert done.transcripts == 1 and not done.failed
    assert {entry.by for entry in tale.current()} == {f"{MODEL} extract/3"}


# --- what a model's line may say and take away -------------------------------------------


@pytest.mark.parametrize(
    ("known", "new"),
    [
        (
            "The rent of the boat house at the old pier in Kiel is 900 euros a month",
            "The rent of the boat house at the old pier in Kiel is 1200 euros a month",
        ),
        (
            "The sailing course for small children of the club in the old harbour starts on 14 May",
            "The sailing course for small children of the club in the old harbour starts on 21 May",
        ),
        (
            "Boat number 1 of the sailing club in the harbour gets a new engine in spring",
            "Boat number 2 of the sailing club in the harbour gets a new engine in spring",
        ),
        (
            "The old pier of the boat house in Kiel is safe for the children in winter",
            "The old pier of the boat house in Kiel is not safe for the children in winter",
        ),
    ],
)
def test_what_differs_in_a_number_a_date_or_a_not_is_kept(tale: Tale, known: str, new: str) -> None:
    tale.talk(f"{known}.", "Ok.", number=1)
    tale.talk(f"{new}.", "Ok.", number=2)
    tale.server.reply = lambda chat: answer(
        *(fact(text, 1) for text in (known, new) if f"{text}." in block(chat, "messages")),
        *tail(chat),
    )
    tale.memory.catch_up()
    assert tale.learned() == [known, new]


def replacing_all(content: str, **more: str) -> Callable[[Chat], str]:
    return lambda chat: answer(fact(content, 1, replaces=names(chat), **more), *tail(chat))


def test_one_line_does_not_replace_all_that_is_known_of_a_subject(
    tale: Tale, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-10-01T08:00:00Z")
    by_hand = ["Anna sails to Sweden in May", "The engine is a Volvo D2"]
    for text in by_hand:
        tale.memory.remember(text, subject="tidepool")
    tale.memory.remember("Never sell the Otter", subject="tidepool", pinned=True)
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T08:00:00Z")
    said = ["Olaf paints the tower", "The harbour master is Erik"]
    tale.talk(". ".join(said), "Ok.", number=1)
    tale.says(answer(*(fact(text, 1, subject="tidepool") for text in said), handoff()))
    tale.memory.catch_up()
    tale.talk("The harbour master of tidepool is Piet.", "Ok.", number=2)
    tale.server.reply = replacing_all("The harbour master is Piet", subject="tidepool")
    tale.memory.catch_up()
    assert len(names(tale.asked[-1])) >= 4  # it was shown them
    assert sorted(held(tale, "fact")) == sorted(
        [*by_hand, "Never sell the Otter", said[0], "The harbour master is Piet"]
    )


def test_one_line_replaces_a_few_at_most(tale: Tale) -> None:
    said = [f"Harbour boat {name} needs paint" for name in "Ada Bea Cleo Dora Elsa Fee Gro".split()]
    tale.talk(". ".join(said), "Ok.", number=1)
    tale.says(answer(*(fact(text, 1) for text in said), handoff()))
    tale.memory.catch_up()
    assert len(held(tale, "fact")) == 7
    tale.talk("No harbour boat needs paint any more.", "Ok.", number=2)
    tale.server.reply = replacing_all("No harbour boat needs paint any more")
    tale.memory.catch_up()
    assert len(names(tale.asked[-1])) == 7
    assert len([text for text in held(tale, "fact") if text in said]) >= 3


def test_a_done_task_does_not_close_a_short_one_that_shares_a_word(
    tale: Tale, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-01T08:00:00Z")
    tale.memory.remember("Call Jonas", type_="task")
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T08:00:00Z")
    tale.talk("Jonas sent the invoice for the mast.", "Ok.")
    tale.says(answer(task("Jonas sent the invoice for the mast", 1, status="done"), handoff()))
    tale.memory.catch_up()
    [call] = [entry for entry in tale.current("task") if entry.content == "Call Jonas"]
    assert tale.memory.log.status_of(call) == "open"
    assert "Call Jonas" in tale.memory.wake()
