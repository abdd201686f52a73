"""What each turn was really told: kept, bounded, looked at, compared, taken back, and rated."""

from __future__ import annotations

import json
import os
import signal
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.recall.contexts import topic
from tests.store.making import NOW, WORDS_ALONE, again, append, entry, fresh, name, note, transcript
from wakebook import Memory
from wakebook.base.errors import NotFound, WakebookError
from wakebook.hosts.events import answer
from wakebook.recall import ratings, tellings
from wakebook.recall.recalled import BESIDE_TOLD, TOLD_BEFORE
from wakebook.recall.told import Look, difference

GRASS, LEAVES = "the zebra of the zoo eats grass", "the zebra of the zoo eats leaves"
SELLS = "What does the kiosk at the harbour sell?"
ASKED = "What does the zebra of the zoo eat?"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.setenv("WAKEBOOK_NOW", NOW.isoformat())
    memory = fresh(tmp_path / "home", WORDS_ALONE)
    append(memory, entry(1, GRASS), entry(2, "the ticket office opens at nine"))
    return memory


def last(memory: Memory) -> Look:
    return memory.told.look(memory.told.turns()[-1].id)


class Behind:
    def put(self, work: object) -> None: ...

    def wait(self, seconds: float) -> None: ...


def prompt(memory: Memory, message: str, **more: Any) -> dict[str, Any]:
    """As Claude Code's hook brings it."""
    payload = {"session_id": "s1", "prompt": message, "cwd": "", **more}
    return answer(memory, "claude-code", "UserPromptSubmit", payload, Behind())


def test_once_the_answer_was_told_what_is_much_worse_is_left_out(home: Memory) -> None:
    append(home, entry(3, "Mira feeds the zebra of the zoo every morning"))
    assert "Mira" in str(prompt(home, ASKED))  # both at once
    append(home, entry(4, "Odo weighs the zebra of the zoo every evening"))
    assert prompt(home, f"{ASKED} I forgot.") == {}
    why = {one.item.ref: one.item for one in last(home).missed}
    told, worse = why[name(1)], why[name(4)]
    assert told.score and worse.score and told.reason == TOLD_BEFORE
    floor = BESIDE_TOLD * told.score
    assert worse.reason == f"worth too little: {worse.score:.2f} of {floor:.2f}"


# --- kept ----------------------------------------------------------------------------------------


def test_a_turn_of_an_agent_of_your_own_is_kept_as_it_was_told(home: Memory) -> None:
    made = home.context(ASKED, session="s1")
    look = last(home)
    turn = look.turn
    assert turn.text == made.text and GRASS in turn.text
    assert (turn.session, turn.event, turn.message) == ("s1", "context", ASKED)
    assert (turn.tokens, turn.budget) == (made.tokens, made.budget)
    assert {slot.name: slot.tokens for slot in turn.slots} == {
        slot.name: slot.tokens for slot in made.slots
    }
    [found] = [one for one in look.told if one.slot == "recalled"]
    assert (found.item.ref, found.type, found.text) == (name(1), "fact", GRASS)
    assert found.item.score and "zebra" in found.item.reason
    assert look.arrived == "yes" and look.difference is None


def test_what_nobody_was_told_is_not_kept(home: Memory) -> None:
    home.context(ASKED)
    home.told.trial(ASKED)
    assert home.told.turns() == [] and not (home.home.root / "trace.jsonl").exists()


def test_a_hook_keeps_start_prompts_and_silence(home: Memory) -> None:
    note(home, "knowledge/memory/MEMORY.md", "# Core Memory\n\n- The alarm code is 4711\n")
    note(home, "knowledge/reference/kiosk.md", "# Kiosk\n\nThe kiosk at the harbour sells ice.\n")
    answer(home, "claude-code", "SessionStart", {"session_id": "s1", "cwd": ""}, Behind())
    told = prompt(home, SELLS)
    prompt(home, "ok, thanks")
    turns = home.told.turns("s1")
    assert [one.event for one in turns] == ["start", "prompt", "prompt"]
    start, asked, thanks = (home.told.turn(one.id) for one in turns)
    assert "4711" in start.text and start.tokens > 0 and start.host == "claude-code"
    assert asked.text == told["hookSpecificOutput"]["additionalContext"]
    assert (thanks.text, thanks.tokens) == ("", 0)
    [session] = home.told.sessions()
    assert (session.session, session.turns, session.told) == ("s1", 3, 2)
    assert session.message == SELLS


def test_an_answer_that_came_too_late_says_with_which_turn_it_came(home: Memory) -> None:
    payload = {"session_id": "s1", "prompt": ASKED, "cwd": ""}
    answer(home, "claude-code", "UserPromptSubmit", payload, Behind(), 1_000)
    first = home.told.turns()[-1]
    assert home.told.look(first.id).arrived == "not yet"
    payload["prompt"] = "And when does the ticket office open?"
    answer(home, "claude-code", "UserPromptSubmit", payload, Behind(), 2_000)
    second = home.told.turns()[-1]
    assert home.told.look(first.id).arrived == second.id
    assert GRASS in home.told.turn(second.id).text


def test_secrets_of_a_message_are_not_kept(home: Memory) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    home.context(f"{ASKED} {secret}", session="s1")
    assert secret not in (home.home.cache / tellings.NAME).read_text()


def test_it_is_bounded_by_size_and_by_age(home: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    small = home.config.with_(state=home.config.state.with_(told_megabytes=1, told_days=10))
    memory = Memory(home.home.root, config=small)
    note(memory, "knowledge/identity/SOUL.md", "# Soul\n\n" + "I am calm and long. " * 900)
    for _ in range(80):
        memory.context("", session="s1", budget=20_000)
    sizes = [(memory.home.cache / one).stat().st_size for one in (tellings.NAME, tellings.OLD)]
    assert all(0 < size < 600_000 for size in sizes)
    kept = memory.told.turns()
    assert 10 < len(kept) < 80 and kept[-1].id == tellings.read(memory.home)[-1].id
    monkeypatch.setenv("WAKEBOOK_NOW", (NOW + timedelta(days=11)).isoformat())
    assert memory.told.turns() == []  # even before another turn takes them out
    memory.context("", session="s2")
    assert [one.session for one in memory.told.turns()] == ["s2"]
    monkeypatch.setenv("WAKEBOOK_NOW", (NOW + timedelta(days=22)).isoformat())
    memory.context("", session="s3")
    assert b'"s1"' not in (memory.home.cache / tellings.OLD).read_bytes()


def test_nothing_is_kept_if_the_settings_say_so(home: Memory) -> None:
    none = home.config.with_(state=home.config.state.with_(told_megabytes=0))
    Memory(home.home.root, config=none).context(ASKED, session="s1")
    assert home.told.turns() == []


def test_a_turn_survives_the_process(home: Memory) -> None:
    child = os.fork()
    if child == 0:
        try:
            Memory(home.home.root).context(ASKED, session="s1")
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert [one.message for one in home.told.turns()] == [ASKED]


def test_half_a_line_is_passed_over(home: Memory) -> None:
    home.context(ASKED, session="s1")
    path = home.home.cache / tellings.NAME
    path.write_bytes(path.read_bytes() + b'{"id":"half\n{"id": 7}\n')
    home.context(ASKED, session="s2")
    assert [one.session for one in again(home).told.turns()] == ["s1", "s2"]


# --- what just missed ----------------------------------------------------------------------------


def test_what_just_missed_says_why(home: Memory) -> None:
    home.context(ASKED, session="s1")
    home.context(ASKED, session="s1", told=last(home).turn.text)
    reasons = {one.item.ref: one.item.reason for one in last(home).missed}
    assert reasons[name(1)] == "told before"
    home.context("Please sort this list of numbers for the zebra", session="s1")
    assert any("not surely" in one.item.reason for one in last(home).missed)


def test_what_other_projects_say_is_shown_and_not_told(home: Memory, tmp_path: Path) -> None:
    places = [tmp_path / "harbour", tmp_path / "meadow"]
    for place in places:
        place.mkdir()
        with home.opened.writing():
            home.turns.noted(cwd=str(place))
    known = {one.name: home.opened.project(str(one)) for one in places}
    append(home, entry(4, "the giraffe of the zoo eats acacia", project=known["meadow"]))
    home.context("What does the giraffe eat?", session="s1", cwd=str(places[0]))
    look = last(home)
    assert look.project == "harbour" and "acacia" not in look.turn.text
    [other] = look.elsewhere
    assert other.ref == name(4) and "meadow" in other.reason


# --- compared, tried -----------------------------------------------------------------------------


def test_a_turn_is_compared_with_the_one_before(home: Memory) -> None:
    home.context(ASKED, session="s1")
    home.context("other", session="s2")
    home.context("When does the ticket office open?", session="s1")
    found = last(home).difference
    assert found and found.before == home.told.turns("s1")[0].id
    assert [name(2) in one for one in found.new] == [True]
    assert [name(1) in one for one in found.gone] == [True]
    one = home.told.turn(found.before)
    assert difference(one, one).new == () and len(difference(one, one).again) == 1


def test_a_trial_writes_nothing_and_knows_what_a_session_was_told(home: Memory) -> None:
    topic(home, "feeding", "Carry the bucket.", match="zebra")
    home.context(ASKED, session="s1")
    kept = {path: path.read_bytes() for path in home.home.root.rglob("*.jsonl")}
    assert GRASS in home.told.trial(ASKED).text
    within = home.told.trial(ASKED, session="s1")
    assert GRASS not in within.text
    assert {path: path.read_bytes() for path in home.home.root.rglob("*.jsonl")} == kept
    assert home.told.trial(ASKED, budget=500).budget == 500
    with pytest.raises(WakebookError, match="project"):
        home.told.trial(ASKED, project="nowhere")


def test_a_turn_is_known_by_the_beginning_of_its_id(home: Memory) -> None:
    home.context(ASKED, session="s1")
    turn = home.told.turns()[0]
    assert home.told.turn(turn.id[:6]).id == turn.id
    for bad in ("", "nothing"):
        with pytest.raises(NotFound, match="context --told"):
            home.told.turn(bad)


# --- taken back ----------------------------------------------------------------------------------


def test_forget_takes_it_out_of_the_record(home: Memory) -> None:
    path = transcript(home, "s9", [("user", f"By the way, {GRASS}. We open at nine.")])
    append(home, entry(5, LEAVES, transcript=path, evidence=(1,)))
    home.context(ASKED, session="s1")
    home.context(f"I said that {LEAVES}. Where is the key?", session="s1")
    turns = [one.id for one in home.told.turns()]
    home.told.rate(turns[0], name(5), False)
    home.told.rate(turns[0], name(1), True)
    home.forget([name(5)])
    kept = (home.home.cache / tellings.NAME).read_text()
    assert "leaves" not in kept and name(5) not in kept
    assert GRASS in kept and "Where is the key?" in kept
    assert [one.id for one in again(home).told.turns()] == turns
    assert [one.finding.ref for one in ratings.ratings(home.home)] == [name(1)]
    assert "leaves" not in (home.home.root / ratings.NAME).read_text()


# --- rated ---------------------------------------------------------------------------------------


def refs(memory: Memory, message: str) -> dict[str, float]:
    """What is found for a message, with its worth."""
    [slot] = [one for one in memory.context(message).slots if one.name == "recalled"]
    return {one.ref: one.score or 0.0 for one in slot.items}


def test_what_was_useless_for_like_messages_is_told_less_and_then_not(home: Memory) -> None:
    append(home, entry(3, "Mira feeds the zebra of the zoo every morning"))
    before, best = refs(home, ASKED), name(1)
    assert before.keys() == {name(1), name(3)}
    home.context(ASKED, session="s1")
    home.told.rate(home.told.turns()[-1].id, best, False)
    assert refs(home, ASKED)[best] < 0.7 * before[best]
    like = "What is it that the zebra of our zoo eats?"
    home.context(like, session="s1")
    home.told.rate(home.told.turns()[-1].id, best, False)
    assert best not in refs(home, ASKED) and best not in refs(home, like)
    missed = {one.ref: one.reason for one in home.context(ASKED).missed}
    assert missed[best] == "rated useless for messages like this"
    assert best in refs(home, "Do we have enough grass for the zebra this winter?")
    [rated] = [one for one in last(home).told if one.item.ref == best]
    assert rated.useful is False
    for turn in home.told.turns():
        home.told.rate(turn.id, best, None)  # taken back
    assert refs(home, ASKED) == before and ratings.ratings(home.home) == []


def test_what_was_useful_is_told_sooner_sure_or_not(home: Memory) -> None:
    message = "Please make a list of snacks for the animals of the zoo"
    assert name(1) not in refs(home, message)
    home.context(message, session="s1")
    assert name(1) in {one.item.ref for one in last(home).missed}
    home.told.rate(home.told.turns()[-1].id, name(1), True)
    assert name(1) in refs(home, message)


def test_a_topic_is_judged_by_the_turn_that_told_it(home: Memory) -> None:
    topic(home, "feeding", "Carry the bucket.", match="zebra")
    home.context(ASKED, session="s1")
    turn = home.told.turns()[-1].id
    home.told.rate(turn, "feeding", False)
    [standing] = home.topics.decided("feeding")[0]
    assert (standing.useful, standing.useless) == (0, 1)
    [told] = [one for one in last(home).told if one.slot == "topics"]
    assert told.useful is False
    home.told.rate(turn, "feeding", None)
    assert home.topics.judgements() == {}
    with pytest.raises(NotFound, match="no finding"):
        home.told.rate(turn, "nothing", True)


def test_likeness_of_messages() -> None:
    assert ratings.likeness(ASKED, ASKED) == 1.0
    assert ratings.likeness(ASKED, "what does our zebra in the zoo eat") >= ratings.ALIKE
    assert ratings.likeness(ASKED, "Deploy the billing service to Frankfurt") < ratings.ALIKE
    assert ratings.factor(-1) < 1 == ratings.factor(0) < ratings.factor(1) < ratings.factor(9) < 2


def test_a_broken_line_of_feedback_is_passed_over(home: Memory) -> None:
    ratings.rate(home.home, name(1), ASKED, True, NOW)
    path = home.home.root / ratings.NAME
    path.write_bytes(path.read_bytes() + b'{"at": 3}\n{"at":')
    ratings.rate(home.home, name(2), ASKED, True, NOW)
    assert len(ratings.ratings(home.home)) == 2
    assert json.loads(path.read_bytes().splitlines()[-1])["finding"]["id"] == name(2)
