"""A model reads: references, what is not trusted, and the forms an answer comes in."""

from __future__ import annotations

from typing import Any

import pytest

from tests.learn.telling import (
    MODEL,
    RECENT,
    Tale,
    answer,
    block,
    decision,
    fact,
    handoff,
    line,
    question,
    ref,
    task,
)
from tests.server import Chat, Say
from tests.story import Claude, chat
from wakebook.log.entry import derived_id

PORT = "Which port should the relay listen on?"
EARLIER = (
    "Let's use SQLite for the bookings of the harbour app, it is the simplest.",
    "Fine.",
    "I have to renew the certificate of the relay. Mira brings the projector to the workshop.",
    "Noted. " + PORT,
    "I don't know yet which port the relay should listen on.",
)
LATER = (
    "No, SQLite locks up. Use Postgres for the bookings of the harbour app instead.",
    "Understood.",
    "I renewed the certificate of the relay this morning. The relay listens on port 8443 now.",
    "Good.",
    "And don't forget: Mira brings the projector to the workshop.",
)
SQLITE = decision("Use SQLite for the bookings of the harbour app", 1, subject="harbour")
RENEW = task("Renew the certificate of the relay", 3, subject="relay")
PROJECTOR = fact("Mira brings the projector to the workshop", 3)
ASKED = question(PORT, 4, 5, subject="relay")


def known(tale: Tale) -> None:
    """A decision, an open task, a fact and an open question, from an earlier session."""
    tale.talk(*EARLIER, number=1)
    tale.says(answer(SQLITE, RENEW, PROJECTOR, ASKED, handoff()))
    tale.memory.catch_up()
    assert tale.learned() == [
        "Use SQLite for the bookings of the harbour app",
        "Renew the certificate of the relay",
        "Mira brings the projector to the workshop",
        PORT,
    ]


def chain(tale: Tale, part: str) -> list[str]:
    """The contents of an entry's whole history."""
    chains = tale.memory.log.chains()
    [entry] = [one for one in chains.current() if part in one.content]
    return [one.content for one in chains.history(entry.id)]


# --- known entries -----------------------------------------------------------------------


def test_a_session_corrects_finishes_answers_and_repeats(tale: Tale) -> None:
    known(tale)
    tale.talk(*LATER, number=2)

    def reply(chat: Chat) -> str:
        return answer(
            decision(
                "Use Postgres for the bookings of the harbour app",
                1,
                detail="SQLite locks up",
                subject="harbour",
                replaces=[ref(chat, "SQLite")],
            ),
            task(
                "Renewed the certificate of the relay",
                3,
                status="done",
                subject="relay",
                replaces=[ref(chat, "certificate")],
            ),
            fact("The relay listens on port 8443", 3, subject="relay", replaces=[ref(chat, PORT)]),
            fact("Mira brings the projector to the workshop", 5),
            handoff("The relay is done, Postgres for the bookings is next"),
        )

    tale.server.reply = reply
    tale.memory.catch_up()
    assert len(tale.log()) == 4 + 1 + 3 + 1
    assert chain(tale, "Postgres for the bookings of") == [
        "Use SQLite for the bookings of the harbour app",
        "Use Postgres for the bookings of the harbour app",
    ]
    assert chain(tale, "Renewed") == [
        "Renew the certificate of the relay",
        "Renewed the certificate of the relay",
    ]
    assert chain(tale, "8443") == [PORT, "The relay listens on port 8443"]
    assert chain(tale, "Mira") == ["Mira brings the projector to the workshop"]
    chains = tale.memory.log.chains()
    assert not [entry for entry in chains.entries if chains.is_open(entry)]
    assert [entry.status for entry in chains.current() if entry.type == "task"] == ["done"]
    assert tale.valid()


def test_a_finished_task_finds_what_it_finishes_by_itself(tale: Tale) -> None:
    known(tale)
    tale.talk(*LATER, number=2)
    done = task("The certificate of the relay was renewed", 3, status="done")
    tale.says(answer(done, handoff()))
    tale.memory.catch_up()
    assert len(chain(tale, "was renewed")) == 2
    assert tale.memory.status().open_tasks == 0


def test_what_is_known_nearly_word_for_word_is_not_written_again(tale: Tale) -> None:
    known(tale)
    tale.talk(*LATER, number=2)
    tale.says(answer(fact("Mira brings the projector to the workshop.", 5), handoff()))
    tale.memory.catch_up()
    assert len(tale.contents("fact")) == 1


@pytest.mark.parametrize(
    "entry",
    [
        fact("The workshop has the projector of Mira", 5, replaces=["PORT"]),
        task("Bring the projector to the workshop", 5, replaces=["SQLite"]),
        question("Does Mira bring the projector for the relay?", 5, replaces=["certificate"]),
    ],
    ids=["no word in common", "another type", "a question for a task"],
)
def test_what_replaces_something_unrelated_is_kept_and_replaces_nothing(
    tale: Tale, entry: str
) -> None:
    known(tale)
    tale.talk(*LATER, number=2)
    before = {one.id for one in tale.current() if one.type != "handoff"}

    def reply(chat: Chat) -> str:
        given = entry
        for part in ("PORT", "SQLite", "certificate"):
            name = ref(chat, PORT if part == "PORT" else part)
            given = given.replace(f'["{part}"]', f'["{name}"]')
        return answer(given, handoff())

    tale.server.reply = reply
    tale.memory.catch_up()
    assert len(tale.learned()) == 5
    assert before < {one.id for one in tale.current()}
    assert not tale.repairs


# --- what is not trusted -----------------------------------------------------------------


def test_an_answer_has_no_say_in_who_when_and_where(tale: Tale) -> None:
    claude = tale.talk("We meet in Lund.", "Ok.", "The relay listens on port 8443.", "Good.")
    claims: dict[str, Any] = {
        "id": "AAAAAAAAAAAA",
        "timestamp": "2020-01-01T00:00:00Z",
        "session": "somebody-else",
        "transcript": "raw/conversations/other.md",
        "pinned": True,
        "by": "the user",
        "kind": "gospel",
        "extra": {"a": 1},
    }
    tale.says(answer(fact("The relay listens on port 8443", 3, **claims), handoff(**claims)))
    tale.memory.catch_up()
    [kept, last] = tale.log()
    for entry in (kept, last):
        assert entry.session == claude.session
        assert entry.by == f"{MODEL} extract/3"
        assert not entry.pinned and entry.kind is None and not entry.extra
        assert entry.transcript.endswith(".md") and "other" not in entry.transcript
    source = f"{claude.session}/1/3"
    assert kept.id == derived_id(source, "fact", "The relay listens on port 8443")
    assert kept.timestamp.isoformat() == "2026-10-30T10:03:00+00:00"
    assert kept.evidence == (3,)


BROKEN = [
    (fact("The port is 8443", 17), "there is no message 17"),
    (fact("The port is 8443", -1), "there is no message -1"),
    (fact("The port is 8443"), '"evidence" must be a list of message numbers'),
    (line("fact", "The port is 8443", evidence="all"), '"evidence" must be a list'),
    (line("fact", "The port is 8443", evidence=[True]), '"evidence" must be a list'),
    (line("rumour", "The port is 8443", 1), "type must be one of task, fact"),
    (task("Change the port", 1, status="later"), 'the "status" of a task is "open" or'),
    (fact("The port is 8443. " * 50, 1), "characters; at most 600"),
    (fact("The port is 8443", 1, detail="Why? " * 500), "characters; at most 2000"),
    (fact("The port is 8443", 1, subject="港"), "is no slug in lower-case-kebab-case"),
    (fact("The port is 8443", 1, replaces=["k9"]), "there is no known entry of that reference"),
    (fact("The port is 8443", 1, replaces=["*"]), "there is no known entry of that reference"),
    (fact(" ", 1), "content is empty"),
    (line("fact", "", 1, content=["The port is 8443"]), "content must be text"),
    ('{"type":"fact","content":"The port', "no valid JSON"),
]


@pytest.mark.parametrize(("bad", "reason"), BROKEN, ids=[reason for _, reason in BROKEN])
def test_a_line_that_breaks_the_rules_is_asked_for_again_with_the_reason(
    tale: Tale, bad: str, reason: str
) -> None:
    tale.talk("The port is 8443, change it.", "Ok.", "We meet in Lund.")
    good = fact("The meeting is in Lund", 3)
    tale.says(answer(good, bad, handoff()), answer(fact("The port is 8443", 1)))
    tale.memory.catch_up()
    [repair] = tale.repairs
    assert reason in repair and bad[:40] in repair
    assert "Lund" not in repair  # what was right is not asked for again
    assert tale.learned() == ["The meeting is in Lund", "The port is 8443"]
    assert not tale.traced("rejected")


def test_what_stays_broken_is_left_out_and_told(tale: Tale) -> None:
    tale.talk("The port is 8443.", "Ok.", "We meet in Lund.")
    good, bad = fact("The meeting is in Lund", 3), fact("The port is 8443", 17)
    tale.says(answer(good, bad, handoff()), bad)
    tale.memory.catch_up()
    assert tale.learned() == ["The meeting is in Lund"]
    assert tale.traced("rejected") == ["there is no message 17"]
    assert any("there is no message 17" in one for one in tale.told())


def test_evidence_in_the_context_alone_is_not_enough(tale: Tale) -> None:
    claude = tale.talk("The port is 8443.", "Ok.", at=RECENT)
    tale.says('{"type":"nothing"}')
    tale.memory.catch_up()
    claude.user("It will be 9443 from Monday on.").agent("Noted.")
    entry = fact("From Monday on the port is 9443", 1)
    both = fact("From Monday on the port is 9443", 1, 3)
    tale.says(entry, both)
    tale.memory.catch_up()
    assert "must name at least one of the new messages" in tale.repairs[0]
    [kept] = tale.log()
    assert kept.evidence == (1, 3)
    assert kept.timestamp.isoformat() == "2026-11-09T07:03:00+00:00"


@pytest.mark.parametrize("name", ["Harbour App", "harbour_app", "HARBOUR-APP", "harbour  app!"])
def test_a_subject_becomes_a_slug(tale: Tale, name: str) -> None:
    tale.talk("The harbour app gets a new port: 8443.")
    tale.says(answer(fact("The port of the harbour app is 8443", 1, subject=name), handoff()))
    tale.memory.catch_up()
    assert tale.log()[0].subject == "harbour-app"


def test_a_subject_has_the_slug_of_its_other_names(tale: Tale) -> None:
    tale.memory.log.add_subject("harbour-app", display="Der Hafen")
    tale.talk("The harbour app gets a new port: 8443.")
    entry = fact("The port of the harbour app is 8443", 1, subject="der hafen")
    tale.says(answer(entry, handoff()))
    tale.memory.catch_up()
    assert tale.log()[0].subject == "harbour-app"


# --- forms -------------------------------------------------------------------------------

LUND = fact("The meeting is in Lund", 1)
SHAPES = {
    "fenced": f"```json\n{LUND}\n{handoff()}\n```",
    "prose": f"Here are the entries:\n\n{LUND}\n\nand finally\n{handoff()}\n\nThat is all.",
    "a list": f"[{LUND},\n {handoff()}]",
    "wrapped": f'{{"entries": [{LUND}, {handoff()}]}}',
    "pretty": answer(LUND, handoff()).replace(", ", ",\n  ").replace("{", "{\n  "),
    "one line": f"{LUND} {handoff()}",
    "a trailing comma": f"{LUND},\n{handoff()},",
    "evidence as a number": answer(LUND.replace("[1]", "1"), handoff()),
    "evidence as texts": answer(LUND.replace("[1]", '["1"]'), handoff()),
    "evidence as a text": answer(LUND.replace("[1]", '"[1]"'), handoff()),
    "two handoffs": answer(handoff("Nothing yet"), LUND, handoff()),
    "the same twice": answer(LUND, LUND, handoff()),
    "with nothing": answer(LUND, '{"type":"nothing"}', handoff()),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_lines_are_found_in_whatever_stands_around_them(tale: Tale, shape: str) -> None:
    tale.talk("We meet in Lund.", "Noted.")
    tale.says(SHAPES[shape])
    tale.memory.catch_up()
    assert tale.contents() == ["The meeting is in Lund", "This is where we are"]
    assert len(tale.server.chats) == 1


def test_nothing_worth_keeping_is_a_handoff_alone(tale: Tale) -> None:
    tale.talk("Good morning! Look at the notes.", "They are fine.", "Good, thanks.")
    tale.says('{"type":"nothing"}', handoff())
    tale.memory.catch_up()
    assert [entry.type for entry in tale.log()] == ["handoff"]
    assert "there is no handoff" in tale.repairs[0]
    tale.memory.catch_up()
    assert len(tale.server.chats) == 2


# --- the same rules as without a model -------------------------------------------------------


def chatting(tale: Tale, *texts: str) -> None:
    """A session in which the agent does nothing but talk."""
    chat(
        Claude(tale.projects), [("agent" if n % 2 else "user", one) for n, one in enumerate(texts)]
    )


def test_talk_leaves_no_handoff_whatever_the_model_says(tale: Tale) -> None:
    chatting(tale, "Is it 'a hymn' or 'an hymn'?", "It is 'a hymn'.", "I see.")
    tale.says(answer(handoff("The hymn is settled", title="Hymns")))
    tale.memory.catch_up()
    assert not tale.log() and len(tale.server.chats) == 1
    assert "if it was only talk, write none" in tale.asked[0].messages[0][1]
    [front] = tale.fronts()
    assert front["closed"] is True and front["topic"] != "Hymns"


@pytest.mark.parametrize("last", [handoff("Redis it is for the queue"), ""])
def test_talk_in_which_something_was_decided_leaves_one(tale: Tale, last: str) -> None:
    chatting(tale, "Let's use Redis for the queue.", "Fine.", "I have to call Ida about it.")
    made = decision("Use Redis for the queue", 1)
    tale.says(answer(made, task("Call Ida about the queue", 3), last), "{}")
    tale.memory.catch_up()
    [kept] = tale.current("handoff")
    assert kept.by.endswith(", rules") == (not last)
    assert kept.subject == "tidepool"


def test_a_handoff_with_numbers_that_nobody_named_gives_way(tale: Tale) -> None:
    tale.talk("Put shoes and milk on the list.", "Both are on the list.", "Thanks.")
    tale.says(answer(handoff("All 157 tests of the list pass")))
    tale.memory.catch_up()
    [kept] = tale.current("handoff")
    assert "157" not in kept.content and kept.by.endswith(", rules")
    assert any("157 was not said" in one for one in tale.traced("refused"))


def test_what_only_the_agent_decided_is_refused(tale: Tale) -> None:
    tale.talk("What would you take for the queue?", "Take Redis for the queue.", "Hm.", "Ok.")
    tale.says(answer(decision("Take Redis for the queue", 2), handoff()))
    tale.memory.catch_up()
    assert not tale.learned()
    assert any("only the agent says it" in one for one in tale.traced("refused"))


def test_the_project_is_not_the_subject_of_the_users_own_life(tale: Tale) -> None:
    tale.talk(
        "My dentist appointment is on Friday. The voucher import runs at night.", "Noted.", "Ok."
    )
    tale.says(
        answer(
            fact("The user's dentist appointment is on Friday", 1, subject="tidepool"),
            fact("The voucher import runs at night", 1, subject="tidepool"),
            handoff(),
        )
    )
    tale.memory.catch_up()
    assert [(one.content[:12], one.subject) for one in tale.log()] == [
        ("The user's d", ""),
        ("The voucher ", "tidepool"),
        ("This is wher", "tidepool"),
    ]


def test_a_new_subject_comes_with_its_type(tale: Tale) -> None:
    tale.memory.log.add_subject("relay", type_="tool")
    tale.talk("Halina runs the relay of the harbour app.", "Noted.")
    tale.says(
        answer(
            fact("Halina runs the relay", 1, subject="halina", subject_type="Person"),
            fact("Halina has the relay of the harbour", 1, subject="relay", subject_type="person"),
            fact("The harbour app has a relay", 1, subject="harbour", subject_type="gospel"),
            handoff(),
        )
    )
    tale.memory.catch_up()
    found = {one.slug: one.type for one in tale.memory.log.registry().known()}
    assert found == {"relay": "tool", "halina": "person", "harbour": "project"}


def test_a_task_without_a_status_is_open(tale: Tale) -> None:
    tale.talk("I have to renew the certificate.", "Noted.")
    tale.says(answer(line("task", "Renew the certificate", 1), handoff()))
    tale.memory.catch_up()
    assert [one.status for one in tale.current("task")] == ["open"] and not tale.repairs


def test_tool_calls_are_shown_in_a_line_each(tale: Tale) -> None:
    claude = Claude(tale.projects).user("Run the tests.")
    for n in range(300):
        claude.call("Bash", f"c{n}", command=f"pytest -k part{n}").result(f"c{n}", f"{n} passed")
    claude.agent("They pass.").user("Thanks.")
    tale.says(answer(handoff("299 passed in the last part")))
    tale.memory.catch_up()
    lines = block(tale.asked[0], "messages").splitlines()
    calls = [one for one in lines if one.startswith("    > Bash: ")]
    assert "part299" in calls[-1] and calls[-1].endswith("→ 299 passed")
    assert 20 < len(calls) < 300
    assert f"    > [... {300 - len(calls)} tool calls before left out ...]" in lines
    assert [one.content for one in tale.log()] == ["299 passed in the last part"]


def test_without_a_handoff_even_when_asked_again_rules_write_it(tale: Tale) -> None:
    tale.talk("We meet in Lund.", "Ok.", "Maja brings the plans.")
    tale.says(LUND, fact("Maja brings the plans", 3))
    tale.memory.catch_up()
    assert tale.learned() == ["The meeting is in Lund", "Maja brings the plans"]
    [last] = tale.current("handoff")
    assert last.by.endswith("rules") and last.evidence == (3,)


def test_a_handoff_while_the_conversation_goes_on_is_ignored(tale: Tale) -> None:
    tale.talk("We meet in Lund.", "Ok.", at=RECENT)
    tale.says(answer(LUND, handoff(title="Too early")))
    tale.memory.catch_up()
    assert tale.contents() == ["The meeting is in Lund"]
    [front] = tale.fronts()
    assert front["closed"] is False and front["topic"] != "Too early"


def test_the_title_becomes_the_topic_of_the_transcript(tale: Tale) -> None:
    tale.talk("We meet in Lund.", "Noted.")
    tale.says(answer(LUND, handoff(title='Lund: "where" we meet')))
    tale.memory.catch_up()
    [front] = tale.fronts()
    assert front["topic"] == 'Lund: "where" we meet' and front["closed"] is True


@pytest.mark.parametrize(
    "said",
    [Say("", stop="refusal"), Say("I can't help with that."), Say(""), Say("<html>502</html>")],
    ids=["refusal", "prose", "empty", "html"],
)
def test_an_answer_without_lines_is_no_answer(tale: Tale, said: Say) -> None:
    tale.talk("We meet in Lund.", "Noted.")
    tale.server.script(said, said)
    [error] = tale.memory.catch_up().held.values()
    assert MODEL in error and "extract/3" in error
    assert not tale.log()
    assert any(error in one for one in tale.memory.status().problems)


def test_ten_thousand_entries_are_no_answer(tale: Tale) -> None:
    tale.talk("We meet in Lund.", "Noted.")
    many = answer(*(fact(f"The meeting {n} is in Lund", 1) for n in range(10_000)))
    tale.says(many, many)
    [error] = tale.memory.catch_up().held.values()
    assert "more than 64 objects" in error and "more than 64 objects" in tale.repairs[0]
    assert not tale.log()


@pytest.mark.parametrize("spoilt", ["Lund \\ud800 today", "Lund \\u0000 today", "Lund \\u001b[2J"])
@pytest.mark.parametrize("where", ["content", "detail", "title"])
def test_half_characters_and_controls_do_not_get_into_the_home(
    tale: Tale, spoilt: str, where: str
) -> None:
    tale.settings(git=True)
    tale.talk("We meet in Lund today.", "Noted.")
    given = fact("The meeting is in Lund today", 1, **({} if where == "title" else {where: "X"}))
    last = handoff(**({"title": "X"} if where == "title" else {}))
    tale.says(answer(given, last).replace('"X"', f'"{spoilt}"'))
    done = tale.memory.catch_up()
    assert not done.failed and len(done.closed) == 1
    assert len(tale.log()) == 2
    written = tale.memory.home.log.read_text() + str(tale.fronts())
    assert not any(code in written for code in ("\\u0000", "\\u001b", "\\x00", "\\x1b"))
    assert not tale.memory.status().uncommitted
