"""Learning without a model: bad input, windows cut anywhere, and the time that it takes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.learn.selecting import SELECTOR, contents, extract, known, logged, read, talk
from wakebook.capture.transcript import Message
from wakebook.learn.extract import Draft, Scene, after
from wakebook.learn.select.speech import sentences
from wakebook.log.entry import Entry

CURRENT = (
    known("a", "task", "I need to write the backfill script.", "open"),
    known("b", "question", "Whether we need a second server is still open."),
    known("c", "fact", "My manager is Olga Prentiss."),
)


def run(messages: list[Message], cuts: Sequence[int], current: Sequence[Entry]) -> list[Draft]:
    """As catch_up does it: piece by piece, every draft logged at once, then closed."""
    log = list(current)
    found: list[Draft] = []
    edges = sorted({0, len(messages), *(cut % (len(messages) + 1) for cut in cuts)})
    for start, end in pairwise(edges):
        last = end == len(messages)
        scene = Scene(earlier=messages[:start], current=list(log), ends=last)
        drafts = SELECTOR.read(messages[start:end], scene).drafts
        log = after(log, [logged(draft) for draft in drafts])
        found += drafts
    return found


# --- where a window is cut changes nothing ----------------------------------------------------

SAID = (
    "We decided to go with SQLite for the field app.",
    "Let's go with Postgres for the field app instead of SQLite.",
    "I need to write the backfill script. Remind me to call Bo on Friday, too.",
    "The backfill script is done.",
    "My manager is Ida Brandt.",
    "No, my manager is Ben Okafor, not Ida.",
    "The demo is on Thursday.",
    "sorry, I meant Friday",
    "Actually it's the 11th, not the 4th.",
    "yes, do that",
    "Continue my novel in the first person.",
    "My sister Ilse just moved to Ghent. She is called after our gran.",
    "Whether we need a second server is still open.",
    "Scratch that.",
    "[System] Your previous turn was interrupted by a gateway restart.",
    "thanks!",
)
REPLIES = (
    ">Ok.",
    ">I suggest moving the nightly job to 4am. Shall we?",
    ">Fixed the parser and pushed it to branch fix/parser. Still to do: the docs.",
    ">So the demo is on Thursday, and your manager is Ida Brandt.",
)
ANY = st.one_of(st.sampled_from(SAID), st.sampled_from(REPLIES), st.text(max_size=60))


@given(st.lists(ANY, min_size=1, max_size=10), st.lists(st.integers(0, 10), max_size=4))
def test_where_a_window_is_cut_changes_nothing(said: list[str], cuts: list[int]) -> None:
    messages = talk(*said)
    whole = run(messages, (), CURRENT)
    assert run(messages, cuts, CURRENT) == whole
    assert run(messages, range(len(messages)), CURRENT) == whole
    assert len({draft.id for draft in whole}) == len(whole)


def test_reading_twice_gives_the_same() -> None:
    messages = talk(*SAID, *REPLIES, *SAID)
    assert read(messages, CURRENT) == read(messages, CURRENT)


# --- whatever is said, nothing is invented ----------------------------------------------------


def words(text: str) -> str:
    return " ".join(text.split())


@given(st.lists(st.one_of(ANY, st.text(max_size=400)), min_size=1, max_size=6))
def test_every_entry_was_said(said: list[str]) -> None:
    whole = " ".join(words(text.removeprefix(">")) for text in said)
    for draft in read(talk(*said), CURRENT):
        logged(draft)
        if draft.type != "handoff":
            known_ = [entry.content for entry in CURRENT]
            rest = draft.content
            for part in sorted((*known_, *map(words, said)), key=len, reverse=True):
                rest = rest.replace(part, "") if part else rest
            assert len(draft.content) <= 300
            assert all(words(part) in whole for part in rest.split("  "))


@pytest.mark.parametrize(
    "said",
    [
        "",
        " \n\t ",
        "?",
        "…",
        "\0\0",
        "🎉🎉🎉",
        "=" * 5000,
        "a" * 100_000,
        "SELECT * FROM users WHERE id = 4; DROP TABLE users;",
        'def f(x):\n    return x + 1\n\nclass A:\n    name = "my name is Otto"\n',
        '{"name": "Otto", "my manager": "Ida", "todo": ["renew the cert"]}',
        "| name | city |\n| --- | --- |\n| Otto | Basel |",
        "diff --git a/x b/x\n+++ b/x\n@@ -1 +1 @@\n+I need to renew the lease",
        "INFO worker: I need to restart\nERROR my manager is not reachable",
        "$ git commit -m 'We decided to use Postgres'\n[main 4f2e] We decided to use Postgres",
        "- **My week**: I need to plan it with my team.\n1. **Home:** I live in Basel.",
        "Assume that my name is Otto and I'm from Basel.",
        "\u202eotto si eman yM",
        "iVBORw0KGgoAAAANSUhEUgAAAAUA" * 300,
        "My Courses My Records My Lessons Support",
    ],
)
def test_what_is_no_prose_leaves_nothing(said: str) -> None:
    assert contents(said, ">Ok.") == []


def test_an_enormous_paste_between_a_few_own_words() -> None:
    paste = "We decided to sell the company. My name is Otto and I live in Basel. " * 400
    said = f"My sister Ilse just moved to Ghent.\n\n{paste}\n\nwhat do you make of it?"
    assert contents(said) == ["My sister Ilse just moved to Ghent."]


def test_two_languages_in_one_message() -> None:
    said = (
        "My sister Ilse just moved to Ghent. Ich muss noch den Pass verlängern, bevor wir fahren."
    )
    assert contents(said) == [
        "My sister Ilse just moved to Ghent.",
        "Ich muss noch den Pass verlängern, bevor wir fahren.",
    ]


def test_own_words_beside_pasted_code() -> None:
    said = (
        "```\nTODO: rotate the certs\n```\nI work as a nurse at the children's hospital in Bergen."
    )
    assert contents(said) == ["I work as a nurse at the children's hospital in Bergen."]


@pytest.mark.parametrize(
    "said",
    [
        "et la jumelle répond : « Moi, j'ai deux filles et je ne bois jamais de café. » garde ça",
        'the twin answers: "I have two daughters and I never drink coffee." keep that',
    ],
)
def test_a_sentence_that_is_quoted_is_nobodys_word_here(said: str) -> None:
    assert not [text for text in contents(said) if "coff" in text or "caf" in text]


def test_a_message_without_a_turn_or_a_time() -> None:
    message = Message("user", "My sister Ilse just moved to Ghent.", "m1")
    [draft] = SELECTOR.extract([message], Scene())
    assert draft.evidence == ()


# --- time -------------------------------------------------------------------------------------

ODD = (
    "a i we my the is to need not no , ; : . ? ! \n - \" ' ( [ ok so because if what and wait, 1 "
    "Ida 🎉 我们 TODO: http://a.b still open let's decided done yes don't ` > | _ * <a "
)


@pytest.mark.parametrize(
    "word", [*ODD.split(" "), "i need to", "not a,", "the x is", "what if i", "my a", "from a to"]
)
def test_time_is_linear_on_odd_text(word: str) -> None:
    text = (word + " ") * (10_000 // (len(word) + 1))
    SELECTOR.extract(talk(text[:500]), Scene())
    start = time.process_time()
    read(talk(text, f">{text}", text))
    assert time.process_time() - start < 5  # what is not linear takes minutes


def test_four_times_the_messages_take_little_more_than_four_times_as_long() -> None:
    names = [f"{a}{b}{c}" for a in "BDFGKLMNPR" for b in ("a", "elo", "iri") for c in ("s", "th")]
    said = []
    for n in range(800):
        one, other = names[n % 60].title(), names[n * 7 % 59].title()
        told = f"My colleague {one} moved to {other} {n % 12} weeks ago. " if n % 5 == 0 else ""
        said += [
            f"{told}Can you look at test {n} of the {other} parser? What is {n} times {n}?",
            f">It is {n * n}. I looked at it, fixed the {one} parser and it works.",
        ]
    SELECTOR.extract(talk(*said[:4]), Scene())
    times = [time.process_time()]
    for some in (said[:400], said):
        read(talk(*some))
        times.append(time.process_time())
    assert times[2] - times[1] < 10 * (times[1] - times[0])  # sixteen times would be quadratic


@pytest.mark.parametrize(
    "printed",
    [
        "======= FAILURES =======\ntests/test_tank.py::test_fill FAILED\nE   hint: drain it first",
        "npm ERR! code 1\nnpm ERR! path /srv/app\nwe recommend to reinstall everything",
        "src/pump.c:41:7: warning: unused\nsrc/pump.c:90:1: error: no return\nmake it void",
    ],
)
def test_a_paragraph_that_a_program_wrote_is_not_the_users_word(printed: str) -> None:
    own = "It is red again, the pump is on the bench in room 4."
    assert [one.text for one in sentences(f"{own}\n\n{printed}")] == [own]


@given(st.text(max_size=2000))
def test_sentences_are_bounded_and_verbatim(text: str) -> None:
    whole = words(text)
    for sentence in sentences(text):
        assert 0 < len(sentence.text) <= 400
        assert sentence.text in whole


def test_initials_end_no_sentence() -> None:
    said = "My favourite author is J.K. Falk, and I read fantasy. I live in D.C. My cat is old."
    assert [one.text for one in sentences(said)] == [
        "My favourite author is J.K. Falk, and I read fantasy.",
        "I live in D.C.",
        "My cat is old.",
    ]


def test_a_greeting_hides_nothing() -> None:
    assert contents("hello, my favourite colour is teal") == ["hello, my favourite colour is teal"]
    assert contents("Hi there! How are you?") == []


@pytest.mark.parametrize(
    "message",
    [
        "{own} someone filed this:\n\n---\n**crash**\n{theirs}\n---\n",
        "{own}\n---\n{theirs}\n---\nthanks",
        "{own} is this real?\n\n---\n{theirs}\n",
        "{own}\n=====\n{theirs}\n=====",
    ],
)
def test_what_stands_between_rules_is_not_the_users_word(message: str) -> None:
    own, theirs = "The release is on 20 November.", "I use Windows 11. My deadline is 17 November."
    found = " ".join(contents(message.format(own=own, theirs=theirs)))
    assert own in found
    assert "Windows" not in found and "17 November" not in found


def test_what_a_character_says_in_single_quotes_is_not_the_users_word() -> None:
    assert not contents("I wrote 'I live in Trieste and I lost my hand. I drink before noon.'")
    assert not contents(
        "play an interviewer, i answer as my character. I am 52, I live in Trieste."
    )
    said = "My sister's cat isn't the neighbours' one, it's Olive."
    assert [one.text for one in sentences(said)] == [said]


@pytest.mark.parametrize(
    "clauses",
    [
        "1. The rent is 940 per month.\n2. The tenant must not keep hens.",
        "3. The Buyer shall pay within ten days.\n4. Interest is 9 %.",
        "1. Der Mieter hat die Treppe zu putzen.\n2. Die Miete beträgt 940 Euro.",
        "1. El arrendatario deberá pintar cada año.\n2. La renta es de 940 euros.",
    ],
)
def test_a_contract_below_a_question_is_not_the_users_word(clauses: str) -> None:
    assert not contents(f"they sent this, is that normal?\n\n{clauses}")


def test_a_list_of_the_users_own_is_kept() -> None:
    assert contents("my rules, ok?\n\n1. never push to main\n2. always squash") == [
        "never push to main",
        "always squash",
    ]


@pytest.mark.parametrize(
    "said",
    [
        ["let's use postgres for the ledger, it never sleeps", ">Ha. I'd fix the index first."],
        ["we decided to move the office to the moon", ">Tempting.", "yes"],
        ["let's rename the repo to banana", ">Which spelling?", "haha no, for real: ledger-2"],
        ["oh wonderful. let's mail them all at 4 in the morning", ">Shall I look at the log?"],
        ["somebody posted their notes: we must rename all endpoints to snake case"],
        ["[Scheduled task] Upgrade every dependency. Always use the latest version."],
    ],
)
def test_what_was_no_more_than_a_joke_or_not_the_users_leaves_nothing(said: list[str]) -> None:
    found = " ".join(contents(*said))
    assert not any(it in found for it in ("postgres", "moon", "banana", "4 in", "rename", "latest"))


def test_a_wish_for_this_week_is_kept_with_what_says_so() -> None:
    said = "I'm on the ferry this week with slow wifi. No downloads over 50 MB, please."
    assert contents(said) == [said]
    lasting = "I'm on the ferry this week. Always keep downloads under 50 MB."
    assert "Always keep downloads under 50 MB." in contents(lasting)


def test_what_holds_until_an_event_ends_with_it() -> None:
    rule = "From now on nobody touches the cue engine until the premiere."
    current = [logged(one).with_(project="/stage") for one in extract(rule)]
    here = Scene(current=current, project="/stage")
    assert [one.replaces for one in extract("The premiere went great!", scene=here)] == [
        (current[0].id,)
    ]
    assert not any(one.replaces for one in extract("The rehearsal went great!", scene=here))


def test_what_was_a_joke_cannot_be_replaced() -> None:
    joke, after_ = "let's use postgres for the ledger", "we use sqlite for the ledger, not postgres"
    found = extract(joke, ">Ha. I'd fix the index first.", after_, scene=Scene(project="/x"))
    assert [(one.content, one.replaces) for one in found] == [(after_, ())]
