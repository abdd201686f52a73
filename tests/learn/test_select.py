"""The rule-based extractor: an exact example for each rule, the hard filter, and properties."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wakebook.learn.select.sentences import clauses, sentences

from wakebook.capture.transcript import Message, Role
from wakebook.learn.extract import Draft, Scene
from wakebook.learn.select.extractor import RuleExtractor
from wakebook.log.entry import Entry, Status, Type, validate

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
RULES = RuleExtractor()


def talk(*said: str) -> list[Message]:
    """Messages by turns; the user starts. A leading ">" makes it the agent's."""
    found = []
    for turn, text in enumerate(said, 1):
        role: Role = "agent" if text.startswith(">") else "user"
        found.append(Message(role, text.removeprefix(">"), f"m{turn}", NOW, turn=turn))
    return found


def known(identity: str, kind: Type, content: str, status: Status | None = None) -> Entry:
    return Entry(
        id=identity.ljust(12, "-"),
        timestamp=NOW,
        type=kind,
        content=content,
        session="before",
        status=status,
    )


def extract(*said: str, current: Sequence[Entry] = (), scene: Scene | None = None) -> list[Draft]:
    return RULES.extract(talk(*said), scene or Scene(current=current))


def one(*said: str, current: Sequence[Entry] = ()) -> Draft:
    drafts = extract(*said, current=current)
    assert len(drafts) == 1, drafts
    return drafts[0]


def logged(draft: Draft) -> Entry:
    return validate(
        Entry(
            id=draft.id,
            timestamp=NOW,
            type=draft.type,
            content=draft.content,
            session="now",
            detail=draft.detail,
            subject=draft.subject,
            replaces=draft.replaces,
            status=draft.status,
            kind=draft.kind,
            evidence=draft.evidence,
        )
    )


def run(messages: list[Message], cuts: Sequence[int], current: Sequence[Entry]) -> list[Draft]:
    """As catch_up does it: delta by delta, every draft logged at once, then closed."""
    log = list(current)
    found: list[Draft] = []
    edges = sorted({0, len(messages), *(cut % (len(messages) + 1) for cut in cuts)})
    for start, end in pairwise(edges):
        scene = Scene(earlier=messages[:start], current=list(log))
        for draft in RULES.extract(messages[start:end], scene):
            log = [entry for entry in log if entry.id not in draft.replaces]
            log.append(logged(draft))
            found.append(draft)
    return found + RULES.close(messages, Scene(current=log))


def questions(*said: str) -> list[str]:
    return [draft.content for draft in run(talk(*said), (), ()) if draft.type == "question"]


# Decisions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "content", "detail"),
    [
        (
            "ok so let's go with Postgres for the bookings because we need joins",
            "Go with Postgres for the bookings",
            "We need joins",
        ),
        ("we decided to drop the mobile app", "Drop the mobile app", ""),
        ("I'm going to switch to uv for the scripts", "Switch to uv for the scripts", ""),
        ("Decision: no meetings on Fridays", "No meetings on Fridays", ""),
        (
            "we're switching from Jest to Vitest, it takes 12 minutes",
            "Switch from Jest to Vitest",
            "It takes 12 minutes",
        ),
        ("the night train it is", "The night train", ""),
        ("We've picked Elixir for the gateway", "Pick Elixir for the gateway", ""),
        (
            "for analytics we're not going to use a tracker",
            "Analytics: not going to use a tracker",
            "",
        ),
        ("we're writing off the oven, agreed that with Greta", "Write off the oven", ""),
        ("no retries though, they'd hide the problem", "No retries", "They'd hide the problem"),
    ],
)
def test_decision(said: str, content: str, detail: str) -> None:
    draft = one(said)
    assert (draft.type, draft.content, draft.detail) == ("decision", content, detail)


def test_proposal_is_a_decision_when_accepted() -> None:
    draft = one("how do I speed it up?", ">I suggest caching the results. Ok?", "yes, do that")
    assert (draft.type, draft.content) == ("decision", "Caching the results")
    assert draft.evidence == (2, 3)
    assert draft.source == "m3"


def test_proposal_by_number() -> None:
    options = ">Options:\n1. Postgres\n2. SQLite\n3. DuckDB"
    assert [one.content for one in extract("hi", options, "1 and 3 yes")] == ["Postgres", "DuckDB"]
    assert [one.content for one in extract("hi", options, "the second one")] == ["SQLite"]


@pytest.mark.parametrize("reply", ["fine by me", "sold", "works, do that", "yes, like that", "yep"])
def test_proposal_accepted_in_few_words(reply: str) -> None:
    draft = one("hm?", ">I'd put the compost on the north side. It stays moist there.", reply)
    assert (draft.type, draft.content) == ("decision", "Put the compost on the north side")


@pytest.mark.parametrize(
    "reply", ["B it is", "the second one please", "let's go with B", "option b"]
)
def test_option_by_letter_or_place(reply: str) -> None:
    options = ">Two ways:\nA) Rent the van, 90\nB) Ask the movers, 240"
    assert one("how?", options, reply).content == "Ask the movers, 240"


@pytest.mark.parametrize("reply", ["no, too expensive", "hmm, not sure", "what would that cost?"])
def test_proposal_not_accepted(reply: str) -> None:
    assert extract("hi", ">I suggest a hosted plan.", reply) == []


def test_offer_to_act_is_no_decision() -> None:
    assert extract("hi", ">Want me to run the tests?", "yes go ahead") == []


# Tasks --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("I need to write the backfill script", "Write the backfill script"),
        ("TODO: rotate the certs before the 30th", "Rotate the certs before the 30th"),
        ("remind me to call Bo", "Call Bo"),
        ("could you remind me on sunday to bring her glasses?", "Bring her glasses on sunday"),
        ("next step is to load test the queue", "Load test the queue"),
        ("I'll file a ticket after lunch", "File a ticket after lunch"),
        (
            "I promised Lorna I'd send her the list by Wednesday",
            "Send Lorna the list by Wednesday",
        ),
        (
            "the payroll journal, I need to reconcile that before we close the month",
            "Reconcile the payroll journal before we close the month",
        ),
        ("waiting on Bo for the contract", "Waiting on Bo for the contract"),
        ("The invoices still need sorting", "The invoices still need sorting"),
        ("I have yet to ask Mireille for the insurance", "Ask Mireille for the insurance"),
    ],
)
def test_task(said: str, content: str) -> None:
    draft = one(said)
    assert (draft.type, draft.content, draft.status) == ("task", content, "open")


def test_two_tasks_in_a_sentence() -> None:
    drafts = extract("I need to book the physio and also get new insoles")
    assert [draft.content for draft in drafts] == ["Book the physio", "Get new insoles"]


def test_list_under_a_heading() -> None:
    drafts = extract("TODO:\n- write the docs\n- [ ] tag the release")
    assert [(one.type, one.content) for one in drafts] == [
        ("task", "Write the docs"),
        ("task", "Tag the release"),
    ]


@pytest.mark.parametrize(
    "said",
    [
        "the backfill script is done",
        "finished the backfill script last night",
        "backfill script: done",
        "you can cross the backfill script off",
    ],
)
def test_done_closes_the_open_task(said: str) -> None:
    tasks = [known("a", "task", "Write the backfill script", "open")]
    tasks.append(known("b", "task", "Call Bo about the lease", "open"))
    draft = one(said, current=tasks)
    assert (draft.status, draft.replaces) == ("done", (tasks[0].id,))
    assert draft.content == "Write the backfill script"


def test_done_in_other_words_keeps_the_words() -> None:
    tasks = [known("a", "task", "Send Priya the tax documents", "open")]
    tasks.append(known("b", "task", "Ask Bram for the ladder", "open"))
    draft = one("Priya has her forms now btw", current=tasks)
    assert (draft.replaces, draft.detail) == ((tasks[0].id,), "Priya has her forms now")


def test_list_in_a_sentence() -> None:
    drafts = extract("Not done: the footer, the contact form and the map")
    assert [draft.content for draft in drafts] == ["The footer", "The contact form", "The map"]


def test_done_by_pronoun_is_what_the_agent_asked_about() -> None:
    tasks = [known("a", "task", "Call Bo about the lease", "open")]
    tasks.append(known("b", "task", "Renew the passport", "open"))
    draft = one("hi", ">Did you call Bo about the lease?", "yes, that's done", current=tasks)
    assert draft.replaces == (tasks[0].id,)


def test_agent_may_close_a_task_but_open_none() -> None:
    tasks = [known("a", "task", "Write the backfill script", "open")]
    draft = one("go", ">I've finished the backfill script.", current=tasks)
    assert (draft.status, draft.replaces) == ("done", (tasks[0].id,))
    assert extract("go", ">You need to renew the certificate. TODO: add tests.") == []


@pytest.mark.parametrize("said", ["the script isn't done yet", "that's done", "shipped!"])
def test_done_without_a_clear_task(said: str) -> None:
    tasks = [known("a", "task", "Write the backfill script", "open")]
    tasks.append(known("b", "task", "Call Bo about the lease", "open"))
    assert extract(said, current=tasks) == []


# Facts --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "content", "kind"),
    [
        ("I prefer uv over pip", "User prefers uv over pip", "preference"),
        ("my manager is Ida", "User's manager is Ida", "relationship"),
        ("I'm allergic to hazelnuts", "User is allergic to hazelnuts", None),
        ("btw we use Terraform for everything", "We use Terraform for everything", None),
        ("call me Teo", "User wants to be called Teo", "preference"),
        ("please always use metric units", "User wants: always use metric units", "preference"),
        ("I moved to Ghent in May", "User moved to Ghent in May", "event"),
        ("Noor has the on-call phone this month", "Noor has the on-call phone this month", None),
        ("the deadline is March 14", "The deadline is March 14", None),
        ("home quota is 20 GB", "Home quota is 20 GB", None),
        ("I don't work on Mondays", "User doesn't work on Mondays", None),
        ("turns out our proxy strips the header", "Our proxy strips the header", "lesson"),
    ],
)
def test_fact(said: str, content: str, kind: str | None) -> None:
    draft = one(said)
    assert (draft.type, draft.content, draft.kind) == ("fact", content, kind)


def test_bundle_is_split() -> None:
    said = "for your notes: our wiki is on outline, tickets live in linear, and I work from Oslo"
    assert [draft.content for draft in extract(said)] == [
        "Our wiki is on outline",
        "Tickets live in linear",
        "User works from Oslo",
    ]


def test_pronoun_stands_for_the_last_name() -> None:
    drafts = extract("I have to ask Ida. she's our platform lead")
    assert [draft.content for draft in drafts] == ["Ask Ida", "Ida is our platform lead"]


def test_somebody_is_introduced_in_passing() -> None:
    assert one("that's pub quiz with Tomek, my partner").content == "Tomek is the user's partner"


@pytest.mark.parametrize(
    "said",
    ["I always mix it up", "let's stop here", "I'll have to call them", "I take it all back"],
)
def test_what_means_nothing_alone_is_dropped(said: str) -> None:
    assert extract("hi", ">ok", said) == []


def test_fragment_answers_the_agents_question() -> None:
    assert one("hi", ">And the launch date?", "3rd of october").content == (
        "Launch date: 3rd of october"
    )


@pytest.mark.parametrize(
    "said",
    [
        "hey!",
        "thanks, that's perfect",
        "Can you write a function that adds two numbers?",
        "what's the capital of Peru?",
        "make it shorter",
        "I like it",
        "I need you to fix the header",
        "let's see what happens",
        "what if we used Redis here?",
        "maybe we should move to Kubernetes someday",
        "do I need to install anything?",
        "The function returns None when the list is empty",
        "I get an error on line 14",
        "my tests are failing",
        "Python is a programming language created in 1991",
        "I have a list of 100 numbers and need to sort it",
        "I'm trying to understand closures",
        "I'll try that",
        '"We decided to sell the company and I need to tell my wife about it."',
        "> We decided to deprecate v1 because it was slow.",
        "```\nTODO: rotate the certs\nI prefer tabs\n```",
        "2026-03-01T10:00:00Z we decided to restart the worker on node 4",
        'translate please: "I need to call my lawyer before Friday, my name is Otto."',
        "summarise this: We use Postgres. I need to renew the contract by Friday.",
        "https://example.org/we-decided-to-use-it",
    ],
)
def test_hard_filter(said: str) -> None:
    assert run(talk(said, ">Ok."), (), ())[:-1] == []


def test_agents_prose_is_not_extracted() -> None:
    lecture = ">You need to renew it. We decided on TLS. Remember: the deadline is May 3. I use it."
    assert extract("how does tls work", lecture) == []


def test_branches_and_system_messages_are_ignored() -> None:
    off = Message("user", "I prefer uv over pip", "m1", turn=1, branch=True)
    system = Message("system", "I prefer tabs", "m2", turn=2)
    assert RULES.extract([off, system], Scene()) == []
    assert RULES.close([off, system], Scene()) == []


def test_what_is_known_is_not_extracted_again() -> None:
    assert extract("I prefer uv over pip") != []
    assert (
        extract("I prefer uv over pip", current=[known("a", "fact", "Prefers uv over pip")]) == []
    )
    assert len(extract("I prefer uv over pip", ">ok", "as I said, I prefer uv over pip")) == 1


# Corrections and answers --------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "old", "content"),
    [
        ("no, actually my manager is Ben", "User's manager is Ida", "User's manager is Ben"),
        ("my manager is Ben now", "User's manager is Ida", "User's manager is Ben now"),
        ("that's wrong, the demo is on Friday", "The demo is on Thursday", "The demo is on Friday"),
        ("the demo moved to Friday", "The demo is on Thursday", "The demo moved to Friday"),
        ("correction: 14 customers, not 12", "We have 12 customers", "We have 14 customers"),
        ("not Viktor, Dagny is the landlord", "Landlord is Viktor", "Dagny is the landlord"),
    ],
)
def test_correction_replaces(said: str, old: str, content: str) -> None:
    wrong = known("a", "fact", old)
    draft = one(said, current=[known("b", "fact", "User works in Oslo"), wrong])
    assert (draft.content, draft.replaces) == (content, (wrong.id,))
    assert draft.detail == f"Was: {old}"


def test_bare_value_corrects_what_was_just_said() -> None:
    first, second = extract("the table is refreshed every tuesday", ">ok", "sorry, I meant friday")
    assert second.content == "The table is refreshed every friday"
    assert second.replaces == (first.id,)


def test_bare_value_corrects_what_the_agent_repeats() -> None:
    old = known("a", "fact", "Year 8 class has 27 pupils")
    draft = one("groups?", ">With 27 pupils, seven.", "that's out of date, it's 29", current=[old])
    assert (draft.content, draft.replaces) == ("Year 8 class has 29 pupils", (old.id,))


def test_scrapped_decision() -> None:
    first, second = extract("let's go with sqlite", ">ok", "wait, scrap that. we'll take couchdb")
    assert (second.content, second.replaces) == ("Take couchdb", (first.id,))


def test_unclear_correction_replaces_nothing() -> None:
    assert extract("no, that's wrong", current=[known("a", "fact", "User works in Oslo")]) == []


def test_answer_replaces_the_question() -> None:
    question = known("a", "question", "Which venue for the spring concert?")
    draft = one("we're taking the old chapel for the spring concert", current=[question])
    assert (draft.type, draft.replaces) == ("decision", (question.id,))


# Questions and the handoff ------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("not sure yet if we need a second server", "Whether we need a second server?"),
        ("who brings the backline is still up in the air", "Who brings the backline?"),
        (
            "still an open question: do we charge VAT in Switzerland?",
            "Do we charge VAT in Switzerland?",
        ),
        ("we need to figure out who owns the billing code", "Who owns the billing code?"),
    ],
)
def test_parked_question(said: str, question: str) -> None:
    assert questions(said, ">Noted.") == [question]


def test_question_that_the_agent_could_not_answer() -> None:
    asked = "has autovacuum been switched on for our events table?"
    assert questions(asked, ">I cannot see your settings, so I can't tell.") == [
        "Has autovacuum been switched on for our events table?"
    ]


def test_question_left_for_later() -> None:
    asked = "do I include the 2021 season?"
    assert questions(asked, ">It adds power.", "I'll sleep on it") == [
        "Do I include the 2021 season?"
    ]


def test_answered_question_is_not_kept() -> None:
    assert questions("should we use a queue for our mails?", ">Yes, it is safer.", "thanks") == []
    settled = ("not sure yet which venue we take for the concert", ">ok")
    assert questions(*settled, "we decided on the chapel venue for the concert") == []


def test_handoff() -> None:
    drafts = run(talk("let's plan the launch", ">Sure.", "I need to write the store text"), (), ())
    handoff = drafts[-1]
    assert handoff.type == "handoff"
    assert handoff.content == "Let's plan the launch — open: Write the store text"
    assert "Unresolved: Write the store text" in handoff.detail
    assert "Agent last: Sure." in handoff.detail
    assert sum(draft.type == "handoff" for draft in drafts) == 1


def test_handoff_has_the_state_in_the_users_words() -> None:
    said = ("the replay button, then", ">Done.", "Not done: the double click. bye", ">Bye!")
    handoff = run(talk(*said), (), ())[-1]
    assert "State: Not done: the double click" in handoff.detail
    assert all(len(line) <= 320 for line in handoff.detail.splitlines())


def test_no_answer_leaves_the_question_open() -> None:
    asked = "Is the retry strategy enough for the voucher burst?"
    assert questions(asked, ">Hard to say. What peak do you expect?") == [asked]


def test_correction_needs_the_same_matter() -> None:
    other = known("b", "fact", "Afternoons belong to Jonas and the boats")
    old = known("a", "fact", "User opens Tidepool to the public on 14 November")
    said = "No, actually the launch is on 21 November, Jonas has the boat inspection on the 14th."
    drafts = extract(said, current=[old, other])
    assert (drafts[0].content, drafts[0].replaces) == ("The launch is on 21 November", (old.id,))


def test_no_handoff_without_human_words() -> None:
    assert RULES.close(talk(">Hello"), Scene()) == []


# Subjects -----------------------------------------------------------------------------


def test_subjects() -> None:
    names = {"auth": "auth", "auth migration": "auth-migration", "bo": "bo"}
    scene = Scene(subjects=names, subject="shop")
    said = "I need to finish the auth migration", "I need to pay rent", "I'm allergic to nuts"
    drafts = RULES.extract(talk(*said, "we use Terraform for hosting"), scene)
    assert [draft.subject for draft in drafts] == ["auth-migration", "shop", "", "shop"]


def test_new_subject_only_from_a_clear_name() -> None:
    assert one("our app is called Tidepool").subject == "tidepool"
    assert one("my dog is called Rex").subject == ""


# Properties ---------------------------------------------------------------------------

PHRASES = (
    "let's go with sqlite for the field app",
    "hm wait, scrap that. we'll take couchdb",
    "I need to write the backfill script and also call Bo",
    "the backfill script is done",
    "that's done",
    "my manager is Ida",
    "no, actually my manager is Ben",
    "the demo is on tuesday",
    "sorry, I meant friday",
    "yes, do that",
    "the second one",
    "not sure yet whether we need a second server",
    "we don't need a second server, decided",
    "what about our events table?",
    "thanks!",
)
REPLIES = (
    ">Ok.",
    ">I suggest moving the job to 4am.",
    ">Options:\n1. Postgres\n2. SQLite",
    ">I've finished the backfill script.",
    ">And the launch date?",
    ">I can't tell.",
)
ANY = st.one_of(st.sampled_from(PHRASES), st.sampled_from(REPLIES), st.text(max_size=60))
LOG = (
    known("a", "task", "Write the backfill script", "open"),
    known("b", "question", "Do we need a second server?"),
    known("c", "fact", "User's manager is Olga"),
)


@given(st.lists(ANY, min_size=1, max_size=10), st.lists(st.integers(0, 10), max_size=4))
@settings(max_examples=150, deadline=None)
def test_cutting_into_deltas_changes_nothing(said: list[str], cuts: list[int]) -> None:
    messages = talk(*said)
    whole = run(messages, (), LOG)
    assert run(messages, cuts, LOG) == whole
    assert run(messages, range(len(messages)), LOG) == whole
    assert len({draft.id for draft in whole}) == len(whole)


@given(st.lists(st.text(max_size=400), min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_any_text_gives_valid_drafts(said: list[str]) -> None:
    for draft in run(talk(*said), (), LOG):
        logged(draft)
        assert draft.content.strip()
        assert len(draft.content) <= 281
        assert len(draft.detail) <= 1200


WORDS = (
    "a i we my the is to need not no , ; : . ? ! \n - \" ' ( [ ok so because if what and wait, 1 "
    "Ida 🎉 我们 TODO: http://a.b still open let's decided done yes don't ` > | _ * "
)


@pytest.mark.parametrize(
    "word", [*WORDS.split(" "), "i need to", "not a,", "the x is", "what if i"]
)
def test_time_is_linear_on_odd_text(word: str) -> None:
    text = (word + " ") * (10_000 // (len(word) + 1))
    RULES.extract(talk(text[:500]), Scene())
    start = time.perf_counter()
    run(talk(text, f">{text}", text), (), ())
    assert time.perf_counter() - start < 1


@given(st.text(max_size=2000))
@settings(max_examples=100, deadline=None)
def test_sentences_and_clauses_are_bounded(text: str) -> None:
    for sentence in sentences(text):
        assert 0 < len(sentence.text) <= 400
        assert all(clause.text for clause in clauses(sentence.text))


def test_long_contents_are_cut_at_a_clause() -> None:
    said = "I need to call Bo about the lease, " + "and about the very long list of things, " * 20
    content = one(said).content
    assert len(content) <= 280
    assert content.endswith("things")


def test_what_was_redacted_keeps_its_bracket() -> None:
    from wakebook.learn.select import wording

    assert wording.sentence("the key is [redacted:api-key]") == "The key is [redacted:api-key]"
    assert wording.sentence("the key is [redacted:api-key") == "The key is [redacted:api-key]"


def test_what_waits_for_something_to_be_done_is_not_done() -> None:
    """ "Before the parser is done" says nothing about the task that is open."""
    task = known("camera", "task", "Measure the camera before the parser is done", "open")
    drafts = extract("I need to replace the camera before the parser is done.", current=[task])
    assert [(draft.type, draft.status, draft.replaces) for draft in drafts] == [
        ("task", "open", ())
    ]
