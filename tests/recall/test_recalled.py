"""What was found, packed into a budget: what holds, of many conversations, nothing known."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.making import (
    NOW,
    WORDS_ALONE,
    again,
    append,
    entry,
    fresh,
    name,
    note,
    sentences,
    transcript,
)
from wakebook import Memory
from wakebook.log.query import Query
from wakebook.models.tokenizer import count
from wakebook.recall import recalled
from wakebook.recall.lately import said_after, said_before
from wakebook.recall.lines import TITLE
from wakebook.recall.recalled import MISSED, Around
from wakebook.recall.slot import Packed
from wakebook.recall.texts import Once, bare
from wakebook.store import Row
from wakebook.store.hits import Passage, Passages
from wakebook.store.index import Index

BOOST = 0.1


@pytest.fixture
def home(tmp_path: Path) -> Memory:
    return fresh(tmp_path / "home", WORDS_ALONE)


def found(memory: Memory, message: str) -> Passages:
    opened = again(memory)
    return Index(opened.home, opened.config).passages(Query(text=message), NOW, recalled.MOST)


def pack(memory: Memory, message: str, room: int = 2000, **more: Any) -> Packed:
    known = Once()
    known.add(more.pop("known", ""))
    boost = more.pop("boost", BOOST)
    return recalled.pack(found(memory, message), room, Around(known, **more), boost)


def lines(packed: Packed) -> list[str]:
    return [line for line in packed.text.split("\n") if line.startswith("- ")]


def talk(memory: Memory, session: str, *texts: str, days: float = 2) -> str:
    start = NOW - timedelta(days=days)
    turns = [("agent" if n % 2 else "user", text) for n, text in enumerate(texts)]
    return transcript(memory, session, turns, start=start)


# --- how it looks ------------------------------------------------------------------------


def test_the_best_comes_first_under_its_heading(home: Memory) -> None:
    append(home, entry(1, "the zebra eats grass"))
    append(home, entry(2, "feed the zebra", type="task", days=3))
    note(home, "knowledge/reference/zoo.md", "# Zoo\n\nIt has one zebra.\n")
    talk(home, "s2", "I saw a zebra", days=2)
    talk(home, "s1", "A zebra came by", days=4)
    packed = pack(home, "zebra")
    assert set(packed.text.split("\n")) == {
        TITLE,
        "## Remembered",
        f"- [task, open 2026-11-06] feed the zebra ({name(2)})",
        f"- [fact 2026-11-08] the zebra eats grass ({name(1)})",
        "## knowledge/reference/zoo.md",
        "- zoo › Zoo: It has one zebra.",
        "## 2026-11-05 session:s1",
        "- user: A zebra came by",
        "## 2026-11-07 session:s2",
        "- user: I saw a zebra",
    }
    first = packed.text.split("\n")[2].removeprefix("- ")
    assert first == packed.items[0].label and packed.items[0].score == max(
        item.score or 0 for item in packed.items
    )
    assert count(packed.text) <= packed.tokens <= count(packed.text) + 12


def test_every_item_has_a_score_a_reason_and_what_show_takes(home: Memory) -> None:
    append(home, entry(1, "the zebra eats grass"))
    path = talk(home, "s1", "I saw a zebra")
    packed = pack(home, "zebra")
    assert {item.ref.partition("#")[0] for item in packed.items} == {name(1), path}
    for item in packed.items:
        assert item.score and item.tokens > 0
        assert "zebra" in item.reason and "zebra" in item.label
        assert again(home).get(item.ref)


def test_a_long_turn_is_cut_to_what_answers(home: Memory) -> None:
    filler = "The weather over the harbour was calm and the gulls were loud. " * 20
    talk(home, "s1", f"{filler}The zebra is called Otto, by the way. {filler}")
    [line] = lines(pack(home, "What is the zebra called?"))
    assert "The zebra is called Otto" in line
    assert count(line) < 110


def test_nothing_was_found(home: Memory) -> None:
    assert (pack(home, "zebra").text, pack(home, "zebra").items) == ("", ())
    append(home, entry(1, "the horse eats grass"))
    assert (pack(home, "zebra").text, pack(home, "zebra").items) == ("", ())


# --- what holds --------------------------------------------------------------------------


def test_what_was_replaced_is_never_shown_as_current(home: Memory) -> None:
    append(
        home,
        entry(1, "the launch of the zebra is on 14 November"),
        entry(2, "the launch of the zebra is on 21 November", replaces=(name(1),)),
        entry(3, "the launch of the zebra is on 28 November", replaces=(name(2),)),
    )
    packed = pack(home, "launch of the zebra 14 November")
    assert "28 November" in packed.text
    assert "14 November" not in packed.text and "21 November" not in packed.text
    assert not [item for item in packed.missed if name(1) in item.ref or name(2) in item.ref]


def test_a_turn_that_no_longer_holds_says_so(home: Memory) -> None:
    path = talk(home, "s1", "The launch of the zebra is on 14 November")
    append(
        home,
        entry(1, "launch on 14 November", evidence=(1,), session="s1", transcript=path),
        entry(2, "the zebra launch is on 21 November", replaces=(name(1),)),
    )
    for line in lines(pack(home, "launch of the zebra 14 November")):
        assert "14 November" not in line or line.endswith(f"(no longer holds: {name(2)})")


# --- what is known -----------------------------------------------------------------------


def test_the_turns_of_the_window_that_goes_on_are_known(home: Memory) -> None:
    talk(home, "s1", "An early zebra came by", days=4)
    path = talk(home, "s1", "I saw a zebra")
    assert lines(pack(home, "zebra", current=path)) == ["- user: An early zebra came by"]
    assert len(lines(pack(home, "zebra"))) == 2


def test_a_handoff_only_repeats_what_was_said_and_is_not_told(home: Memory) -> None:
    append(home, entry(1, "We stopped at the zebra", type="handoff", session="s1"))
    append(home, entry(2, "the zebra eats grass", days=3))
    assert lines(pack(home, "zebra")) == [f"- [fact 2026-11-06] the zebra eats grass ({name(2)})"]


def test_days_are_those_of_the_user(home: Memory) -> None:
    append(home, entry(1, "the zebra eats grass"))  # at eight in the morning, UTC
    assert "2026-11-07" in pack(home, "zebra", zone=ZoneInfo("Pacific/Honolulu")).text
    assert "2026-11-08" in pack(home, "zebra", zone=ZoneInfo("Europe/Lisbon")).text


def test_what_was_learned_in_this_session_is_told(home: Memory) -> None:
    append(home, entry(1, "the zebra eats grass", session="s1"))
    assert len(lines(pack(home, "zebra", current="raw/conversations/x.md"))) == 1


def test_what_is_in_the_context_is_not_told_again(home: Memory) -> None:
    append(home, entry(1, "the zebra eats grass"), entry(2, "the zebra has stripes"))
    talk(home, "s1", "I saw a zebra")
    note(home, "knowledge/reference/zoo.md", "# Zoo\n\n- One zebra\n- Two horses of the zebra\n")
    known = (
        f"# Core\n\n- 2026-11-08: the **zebra** eats grass ({name(1)})\n- i saw a zebra\n"
        "- One zebra\n- two horses of the zebra"
    )
    assert lines(pack(home, "zebra", known=known)) == [
        f"- [fact 2026-11-08] the zebra has stripes ({name(2)})"
    ]


def test_what_has_a_slot_of_its_own_is_not_told_here(home: Memory) -> None:
    note(home, "knowledge/identity/SOUL.md", "# Soul\n\nI am a zebra.\n")
    note(home, "topics/zebra.md", "# Zebra\n\nFeed the zebra.\n")
    assert pack(home, "zebra").text == ""


def test_a_long_line_that_is_in_the_context_is_not_told_again_in_pieces(home: Memory) -> None:
    """The index cuts it, and a piece of a line is another line."""
    long = " ".join(f"The zebra number {n} lives in house number {n}." for n in range(60))
    note(home, "knowledge/journal/2026-11-09.md", f"# Day\n\n{long}\n")
    flat = {"knowledge/journal/": f"day {long.casefold()}"}
    assert pack(home, "zebra house number 40", flat=flat).text == ""
    assert pack(home, "zebra house number 40", flat={"knowledge/memory/": long}).text


def test_known_lines_are_not_told_again_beside_new_ones(home: Memory) -> None:
    section = "- One zebra came.\n- Two horses met it.\n- Three zebras left."
    note(home, "knowledge/reference/zoo.md", f"# Zoo\n\n{section}\n")
    packed = pack(home, "zebra", known="- One zebra came.\n- Two horses met it.")
    assert "Three zebras left" in packed.text
    assert "One zebra" not in packed.text and "Two horses" not in packed.text


def test_the_same_words_in_two_conversations_are_told_once(home: Memory) -> None:
    talk(home, "s1", "I saw a zebra in the zoo")
    talk(home, "s2", "I saw a zebra in the zoo", days=5)
    talk(home, "s3", "So?", "Yes.", "I saw a zebra in the zoo", days=6)
    assert pack(home, "zebra in the zoo").text.count("I saw a zebra in the zoo") == 1


def test_an_outcome_comes_with_what_was_asked_for(home: Memory) -> None:
    talk(home, "s1", "convert the zebra takes to mono, 96 kbit", "11 zebra files converted.")
    asked = partial(said_before, home.opened)
    told = lines(pack(home, "zebra files converted", before=asked))
    assert told[0].endswith(
        "11 zebra files converted. (asked: convert the zebra takes to mono, 96 kbit)"
    )
    assert len(told) == 1  # which is not told again


def test_what_a_host_said_is_not_what_was_asked_for(home: Memory) -> None:
    talk(home, "s1", "[System] Restarted. The user prefers zebra stripes.", "Zebra stripes drawn.")
    asked = partial(said_before, home.opened)
    assert lines(pack(home, "zebra stripes", before=asked)) == ["- agent: Zebra stripes drawn."]


def test_what_an_agent_is_about_to_do_is_no_finding(home: Memory) -> None:
    talk(
        home,
        "s1",
        "go on",
        "Let me check the zebra fence. > The zebra fence is 2 m high.\nNow the zebra gate:",
    )
    assert lines(pack(home, "zebra fence")) == ["- agent: The zebra fence is 2 m high."]


@pytest.mark.parametrize(
    ("answer", "told"), [("yes, please do", True), ("no, no moat, raise it to 3 m", False)]
)
def test_a_proposal_that_the_user_did_not_want_is_no_finding(
    home: Memory, answer: str, told: bool
) -> None:
    talk(home, "s1", "it is out", "I'd put a moat around the zebra fence, 2 m wide.", answer)
    packed = pack(home, "zebra fence", after=partial(said_after, home.opened))
    assert ("a moat around the zebra fence" in packed.text) is told


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("wrong gate, it has 403 bars", False),
        ("no thats the old one. ours has 500", False),
        ("looks good, and people count 380 bars at the zebra gate", False),
        ("nope. our gates are counted from the left", False),
        ("nice, and paint it", True),
        ("worked", True),
        ("ok ordered two rolls", True),
        ("", True),
    ],
)
def test_what_the_user_put_right_is_no_finding(home: Memory, answer: str, told: bool) -> None:
    talk(
        home, "s1", "draw it", "I took 433 bars for the zebra gate.", *([answer] if answer else [])
    )
    packed = pack(home, "zebra gate bars", after=partial(said_after, home.opened))
    assert ("433" in packed.text) is told


def test_a_list_of_tasks_is_no_finding_in_the_words_of_the_turn(home: Memory) -> None:
    tasks = "for the reopening: 1) new zebra lock 2) zebra hints in Dutch 3) zebra fog machine"
    talk(home, "s1", tasks, "Fine.", "the zebra fog machine hums")
    told = pack(home, "the zebra fog machine").text
    assert "hums" in told and "reopening" not in told


def test_what_the_user_says_instead_is_told_in_its_place(home: Memory) -> None:
    answer = "no it isnt, it's hashed with zebra2 in auth.py"
    talk(home, "s1", "how do we store the pin", "The zebra PIN is stored as it is.", answer)
    packed = pack(home, "how are the zebra PINs stored?", after=partial(said_after, home.opened))
    assert "stored as it is" not in packed.text
    assert f"- user, putting it right: {answer}" in packed.text or f"user: {answer}" in packed.text


def test_a_question_without_its_mark_is_no_finding(home: Memory) -> None:
    talk(
        home,
        "s1",
        "whats the number of zebra stripes",
        "Ok.",
        "the zebra stripes are brown",
        days=3,
    )
    told = pack(home, "zebra stripes").text
    assert "brown" in told and "whats the number" not in told


def test_what_the_user_said_to_a_proposal_is_told_in_its_place(home: Memory) -> None:
    proposed = "I propose a zebra fence of glass, and to charge 4 euros extra."
    talk(home, "s1", "ideas for the zebra", proposed, "hm. it stays wood, and it's free")
    packed = pack(home, "zebra fence", after=partial(said_after, home.opened))
    assert "4 euros" not in packed.text
    assert "- user, to a proposal: hm. it stays wood, and it's free" in packed.text


def test_a_choice_is_told_with_what_the_user_chose(home: Memory) -> None:
    offered = "Two options. A: a zebra fence of glass. B: we keep the old one and paint it."
    talk(home, "s1", "it is out", offered, "A is overkill for us. B, go on")
    packed = pack(home, "zebra fence", after=partial(said_after, home.opened))
    assert lines(packed)[0].endswith(f"{offered} (user: A is overkill for us. B, go on)")


@pytest.mark.parametrize(
    "asked", ["what if we had ten zebras?", "let's role play, you are the keeper", "in our novel"]
)
def test_what_is_only_supposed_or_a_story_is_no_finding(home: Memory, asked: str) -> None:
    begins = "my novel is about a zoo, go on" if asked == "in our novel" else asked
    talk(home, "s1", begins, "Ten zebras then eat 90 kg a day.", "ten zebras eat me out of house")
    packed = pack(home, "zebras", before=partial(said_before, home.opened))
    assert "90 kg" not in packed.text
    assert ("out of house" in packed.text) is (asked == "what if we had ten zebras?")


def test_what_is_said_about_a_story_is_a_finding(home: Memory) -> None:
    rule = "zebra scenes in the present tense, the rest in the past."
    talk(home, "s1", "my novel is about a zoo, go on", "Ten zebras ate it all.", f"love it. {rule}")
    assert rule in pack(home, "zebra tense", before=partial(said_before, home.opened)).text


def test_when_something_was_is_told_though_it_is_over(home: Memory) -> None:
    talk(home, "s1", "i'm at the zebra farm, away until may 11", "Enjoy.", days=200)
    assert "may 11" in pack(home, "when was i at the zebra farm?").text
    assert "may 11" not in pack(home, "feed the zebra farm").text


def test_where_a_password_is_kept_is_no_secret(home: Memory) -> None:
    talk(home, "s1", "the zebra passphrase is in the vault, entry 'attic'", "Fine.")
    assert "attic" in pack(home, "where is the zebra passphrase?").text
    talk(home, "s2", "the lion password is hunter2", "Fine.")
    assert "hunter2" not in pack(home, "what is the lion password?").text


def test_mockery_within_a_turn_is_left_out(home: Memory) -> None:
    mocks = "sure, lets put them all on the motorway while we're at it"
    talk(home, "s1", f"the owner asks whether zebras may go out. {mocks}", "Then not.")
    told = pack(home, "may zebras go out?").text
    assert "motorway" not in told


def test_what_a_request_presupposes_is_a_finding(home: Memory) -> None:
    talk(home, "s1", "now that we're 14 zebras, can you redo the stalls?", "Done.")
    assert "14 zebras" in pack(home, "how many zebras are there?").text
    said = "my niece Ida loves the lion, so maybe a lion cake for her birthday?"
    talk(home, "s2", said, "Lovely.")
    assert "Ida loves the lion" in pack(home, "which animal does my niece love?").text


def test_what_was_reported_anew_and_told_is_not_told_as_it_was(home: Memory) -> None:
    last = "The zebra total is 3.9 million, with the part-timers."
    talk(home, "s1", "count them", "The zebra total is 4.6 million.", days=9)
    talk(home, "s2", "and the part-timers", last, days=2)
    assert "4.6" in pack(home, "zebra total").text
    told = f"Report: {last}"
    packed = pack(home, "zebra total", known=told, told=told, words=bare(told))
    assert "4.6" not in packed.text
    assert "reported anew since, and told" in [one.reason for one in packed.missed]


def test_mockery_quotes_and_what_is_over_are_no_findings(home: Memory) -> None:
    talk(home, "s1", "Wonderful, another zebra count. Nothing makes me happier than zebras.", "Ok.")
    talk(home, "s2", 'It says "My zebra farm has 300 zebras. We hate the road."', "Ok.")
    talk(home, "s3", "No zebra leaves the yard until the fair on 3 March.", "Fine.", days=400)
    append(home, entry(1, "Until the fair on 3 March no zebra is sold.", days=400))
    told = pack(home, "our zebra").text
    assert not any(word in told for word in ("happier", "300", "fair"))


def test_a_fact_that_was_told_is_not_told_again_as_a_turn(home: Memory) -> None:
    append(home, entry(1, "The zebra doctor, Dr. Okonjo, comes every second Thursday."))
    said = "As I said, the zebra doctor, Dr. Okonjo, comes every second Thursday."
    talk(home, "s1", f"{said} Add it to the calendar.", "Added.")
    assert pack(home, "when does the zebra doctor come?").text.count("second Thursday") == 1


def test_what_a_machine_wrote_and_single_words_are_no_findings(home: Memory) -> None:
    log = "2026-11-11 09:58:02 WARN zebra.timeout must always be 45000"
    talk(home, "s1", f"why does the zebra feeder stop?\n{log}\nthe zebra feeder is new", "Zebra!")
    told = pack(home, "zebra feeder").text
    assert "the zebra feeder is new" in told and "45000" not in told and "Zebra!" not in told


DID = ("ate grass", "slept late", "kicked a bucket", "drank water")


def test_who_said_it(home: Memory) -> None:
    talk(home, "s1", "I saw a zebra", "A zebra is an animal, Mira")
    group = [f"{who}: the zebra {did}" for who, did in zip(["Mira", "Jonas"] * 2, DID, strict=True)]
    talk(home, "s2", *group, days=5)
    told = lines(pack(home, "zebra"))
    assert "- user: I saw a zebra" in told and "- agent: A zebra is an animal, Mira" in told
    assert {f"- {line}" for line in group} <= set(told)  # they say it themselves


def test_the_same_words_as_an_entry_and_as_a_turn_are_told_once(home: Memory) -> None:
    talk(home, "s1", "The zebra eats grass")
    append(home, entry(1, "The zebra eats grass"))
    assert pack(home, "zebra").text.count("The zebra eats grass") == 1


def test_a_turn_is_told_without_the_sentence_that_an_entry_is(home: Memory) -> None:
    talk(home, "s1", "The zebra eats grass. Its neighbour is another zebra of the north.")
    append(home, entry(1, "The zebra eats grass."))
    told = lines(pack(home, "zebra eats grass"))
    assert len(told) == 2 and "The zebra eats grass." in told[0]
    assert told[1] == "- user: Its neighbour is another zebra of the north."


def test_what_happened_twice_is_told_twice(home: Memory) -> None:
    append(home, entry(1, "2026-11-05: the zebra fled"), entry(2, "2026-11-06: the zebra fled"))
    assert len(lines(pack(home, "zebra"))) == 2


# --- the budget --------------------------------------------------------------------------


def test_many_conversations_before_one_of_them_whole(home: Memory) -> None:
    long = [f"The zebra of the zoo number {n} eats the grass of the zoo" for n in range(30)]
    talk(home, "long", *long)
    for n in range(8):
        talk(home, f"s{n}", f"In town {n} the zebra of the zoo eats leaves", days=3 + n)
    packed = pack(home, "What does the zebra of the zoo eat?", room=600)
    sessions = set(re.findall(r"session:(\S+)", packed.text))
    assert len(sessions) >= 6


def test_what_does_not_fit_is_listed_with_a_reason(home: Memory) -> None:
    append(home, *(entry(n, f"the zebra number {n} eats grass") for n in range(40)))
    packed = pack(home, "zebra grass", room=200)
    assert count(packed.text) <= 200
    assert 1 <= len(packed.missed) <= MISSED
    assert {item.reason for item in packed.missed} == {"no room"}
    assert not {item.ref for item in packed.missed} & {item.ref for item in packed.items}
    scores = [item.score or 0 for item in packed.missed]
    assert scores == sorted(scores, reverse=True)
    assert max(scores) <= max(item.score or 0 for item in packed.items)


@pytest.mark.parametrize("room", [-50, 0, 5, 12])
def test_no_room_is_nothing(home: Memory, room: int) -> None:
    append(home, entry(1, "the zebra eats grass"))
    packed = pack(home, "zebra", room=room)
    assert (packed.text, packed.items) == ("", ())
    assert len(packed.missed) == 1


def test_what_is_worth_little_beside_the_best_is_left_out(home: Memory) -> None:
    append(home, entry(1, "Mira postponed the retry queue of the zebra"))
    append(home, *(entry(n + 2, text) for n, text in enumerate(sentences(80))))
    packed = pack(home, "Mira postponed the retry queue of the zebra", room=8000)
    best = max(item.score or 0 for item in packed.items)
    assert len(packed.items) < 81
    assert min(item.score or 0 for item in packed.items) >= recalled.FLOOR * best * 0.5


# --- references --------------------------------------------------------------------------


def made(number: int, score: float, text: str) -> Passage:
    """An entry that was found."""
    row: dict[str, Any] = dict.fromkeys(Row._fields, 0) | {
        "id": number, "name": name(number), "category": "memory", "type": "fact", "subject": "",
        "status": "", "speaker": "", "replaced_by": "", "at": 1_790_000_000, "place": number,
    }  # fmt: skip
    rest: dict[str, Any] = dict.fromkeys(Passage._fields, "") | {
        "id": number, "row": Row(**row), "score": score, "text": text, "content": text,
        "language": "english", "why": lambda: "words",
    }  # fmt: skip
    return Passage(**{key: rest[key] for key in Passage._fields})


def order(passages: Passages, boost: float = BOOST, room: int = 2000) -> list[str]:
    return [item.ref for item in recalled.pack(passages, room, Around(Once()), boost).items]


def test_what_is_referred_to_comes_first() -> None:
    two = [made(1, 0.80, "one thing"), made(2, 0.75, "another thing")]
    assert order(Passages(two)) == [name(1), name(2)]
    assert order(Passages(two, references={2: 3})) == [name(2), name(1)]
    assert order(Passages(two, references={2: 3}), boost=0.0) == [name(1), name(2)]
    assert order(Passages(two, references={1: 3, 2: 3})) == [name(1), name(2)]


def test_an_entry_that_was_replaced_is_not_told_whoever_hands_it_over() -> None:
    old = made(1, 0.9, "on 14 November")._replace(replaced_by=name(2))
    packed = recalled.pack(Passages([old, made(2, 0.5, "on the 21st")]), 200, Around(Once()), BOOST)
    assert [item.ref for item in packed.items] == [name(2)]
    assert [item.reason for item in packed.missed] == [f"no longer holds, see {name(2)}"]
    assert "14" not in packed.text


def test_what_everybody_refers_to_does_not_push_the_rest_out() -> None:
    three = [made(1, 0.9, "the answer"), made(2, 0.3, "a hub"), made(3, 0.5, "more of it")]
    found = Passages(three, references={2: 500})
    assert set(order(found)) == {name(1), name(2), name(3)}
    assert order(found)[0] == name(1)


@given(
    st.lists(
        st.tuples(
            st.floats(0, 1), st.sampled_from(["a b", "c d e " * 30, "数据库" * 30, "🫨" * 60])
        ),
        max_size=25,
    ),
    st.dictionaries(st.integers(0, 24), st.integers(0, 50)),
    st.integers(-20, 600),
)
def test_it_always_fits_and_nothing_is_there_twice(
    given: list[tuple[float, str]], references: dict[int, int], room: int
) -> None:
    found = [made(n, score, f"{text} {n}") for n, (score, text) in enumerate(given)]
    packed = recalled.pack(Passages(found, references=references), room, Around(Once()), BOOST)
    assert count(packed.text) <= max(room, 0)
    told = lines(packed)
    assert len(told) == len(set(told)) == len(packed.items)
    assert not {item.ref for item in packed.items} & {item.ref for item in packed.missed}
    again = recalled.pack(Passages(found, references=references), room, Around(Once()), BOOST)
    assert again == packed


def test_what_was_then_said_in_confidence_is_no_finding(home: Memory) -> None:
    private = "that's confidential, don't keep that number anywhere"
    talk(home, "s1", "the zebra keeper wants 7,900 a month", "Noted.", private)
    packed = pack(home, "what does the zebra keeper want?", after=partial(said_after, home.opened))
    assert "7,900" not in packed.text


def test_a_mocking_answer_to_a_proposal_is_no_finding(home: Memory) -> None:
    mocks = "oh lovely, zebras at 7am, they will adore me. add a trumpet"
    talk(home, "s1", "when?", "I could feed the zebras at 7am.", mocks)
    assert "trumpet" not in pack(home, "feed zebras", after=partial(said_after, home.opened)).text


def test_a_report_of_something_else_keeps_no_finding_back(home: Memory) -> None:
    talk(home, "s1", "zebra 429s?", "The 429s come from the zebra burst at the start.", days=9)
    last = "The zebra test fails since the new rounding."
    talk(home, "s2", "zebra test", last, days=2)
    told = f"Report: {last}"
    packed = pack(home, "what were those zebra 429s?", known=told, told=told, words=bare(told))
    assert "burst" in packed.text


def test_a_brain_dump_before_one_forgets_it_is_no_secret(home: Memory) -> None:
    talk(home, "s1", "before i forget it all: the zebra pages are 50 since yesterday", "Fine.")
    assert "50" in pack(home, "how many zebra pages?").text


def test_the_rest_of_a_turn_that_was_replaced_in_part_is_a_finding(home: Memory) -> None:
    said = "the zebra stall has 30 boxes. its door is painted green. we feed the zebras at 7"
    path = talk(home, "s1", said, "Noted.", days=9)
    old = entry(1, "we feed the zebras at 7", evidence=(1,), transcript=path, session="s1")
    append(home, old)
    append(home, entry(2, "we feed the zebras at 9 now", replaces=(old.id,)))
    assert "painted green" in pack(home, "what colour is the door of the zebra stall?").text


def test_an_order_to_write_something_down_says_it(home: Memory) -> None:
    talk(home, "s1", "add that the zebra key hangs behind the clock. does it?", "Added.")
    assert "behind the clock" in pack(home, "where is the zebra key?").text


def test_a_list_of_tasks_below_its_heading_is_no_finding(home: Memory) -> None:
    talk(
        home, "s1", "off to the zebra farm. things to do:\n- buy zebra hay\n- paint the zebra shed"
    )
    told = pack(home, "zebra farm hay shed").text
    assert "off to the zebra farm" in told and "hay" not in told


def test_whether_something_is_done_is_told_beside_what_was_to_be(home: Memory) -> None:
    plan = "before the zebra show we need a fence, a limit on zebra rides and a gate for the zebras"
    talk(home, "s1", plan, "Fine.", days=9)
    talk(home, "s2", "go on", "The zebra rides end after 60 minutes. The oats are cheap.", days=2)
    known = f"- {plan}"
    told = pack(home, "is there a limit on zebra rides yet?", known=known, words=bare(known)).text
    assert "60 minutes" in told


def test_a_number_of_a_file_that_was_told_anew_is_not_told_as_it_was(home: Memory) -> None:
    talk(home, "s1", "count the zebra names", "22 zebra names are in names.csv.", days=9)
    assert "22" in pack(home, "how many zebra names are left?").text
    told = "Report: Set. names.csv has 13 left."
    packed = pack(home, "how many zebra names are left?", known=told, told=told, words=bare(told))
    assert "22" not in packed.text


def test_what_goes_on_with_a_yes_puts_nothing_right(home: Memory) -> None:
    done = "The zebra sandbox is in, it gets 2 ms a frame."
    talk(home, "s1", "sandbox the zebras", done, "good. the zebra editor crashes on undo btw")
    assert "putting it right" not in pack(home, "how is the zebra sandbox?").text
