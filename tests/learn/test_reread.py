"""Upgrade: a model reads again what rules have read, and nothing is doubled, lost or revived."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from tests.crash import run_and_die
from tests.learn.telling import (
    MODEL,
    RECENT,
    Tale,
    answer,
    block,
    by_rules,
    decision,
    fact,
    handoff,
    numbers,
    per_message,
    ref,
    task,
)
from tests.server import Chat, Status
from tests.story import WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base.errors import ConfigError
from wakebook.capture import state as states
from wakebook.capture.state import Pending
from wakebook.log.entry import Entry, as_dict

BY = f"{MODEL} extract/3"
POSTGRES = decision("Use Postgres for the bookings", 1, detail="SQLite locks up")
UV = fact("The user prefers uv over pip", 3, kind="preference")
FORM = task("Send Ankerpolice the insurance form", 3)
LAUNCH = fact("The launch of the bookings is on 14 November 2026", 5)


def workday(tale: Tale, number: int = 1) -> Claude:
    return chat(tale.session(number), WORKDAY)


def named(tale: Tale, old: Entry) -> list[Entry]:
    """The entries that name an entry as replaced."""
    return [entry for entry in tale.log() if old.id in entry.replaces]


def rules_left(tale: Tale) -> list[str]:
    return [entry.content for entry in tale.current() if entry.by in ("", "rules")]


def launch(tale: Tale, *dates: str, first: int = 1) -> None:
    """A session for each date, which corrects the one before."""
    for number, date in enumerate(dates, first):
        no = "" if number == 1 else "No, actually "
        tale.talk(f"{no}the launch is on {date} November.", "Noted.", number=number)


def launches(chat: Chat) -> str:
    """A model that knows how to read such a session."""
    date = block(chat, "messages").partition(" November")[0].split()[-1]
    content = f"The launch of the app is on {date} November"
    older = [row.split() for row in block(chat, "known").splitlines() if "launch" in row]
    names = [row[0] for row in older if row[-2].isdigit() and int(row[-2]) < int(date)]
    return answer(fact(content, 1, detail="launch", replaces=names), handoff())


# --- what takes the place of what --------------------------------------------------------


def test_each_entry_of_the_rules_has_one_successor(tale: Tale) -> None:
    workday(tale)
    old = by_rules(tale)
    assert len(old) > 3 and tale.memory.status().by_rules == 1
    before = tale.memory.home.log.read_bytes()
    tale.says(answer(POSTGRES, UV, FORM, LAUNCH, handoff()))
    done = tale.memory.upgrade()
    assert (done.transcripts, done.failed, done.left) == (1, {}, 0)
    assert done.entries == 5
    assert tale.memory.home.log.read_bytes().startswith(before)
    assert not rules_left(tale)
    assert {entry.by for entry in tale.current()} == {BY}
    for entry in old:
        assert len(named(tale, entry)) == 1, entry.content
    chains = tale.memory.log.chains()
    for part in ("Postgres", "prefers uv", "Ankerpolice", "launch"):
        [entry] = [one for one in chains.current() if part in one.content]
        [was] = [one for one in chains.history(entry.id) if one.by == "rules"]
        assert part.split()[-1] in was.content
    assert len(tale.current("handoff")) == 1 and tale.valid()
    assert [account.status for account in tale.memory.audit()] == ["ok"]


def test_what_the_model_does_not_find_goes_into_the_handoff(tale: Tale) -> None:
    workday(tale)
    old = by_rules(tale)
    tale.says(answer(POSTGRES, handoff()))
    tale.memory.upgrade()
    assert [entry.type for entry in tale.current()] == ["decision", "handoff"]
    successors = [named(tale, entry) for entry in old]
    assert all(len(found) == 1 for found in successors)
    assert [found[0].type for found in successors].count("handoff") == len(old) - 1


def test_twice_is_once_and_asks_nobody(tale: Tale) -> None:
    workday(tale)
    by_rules(tale)
    tale.says(answer(POSTGRES, UV, FORM, LAUNCH, handoff()))
    tale.memory.upgrade()
    before, asked = tale.memory.home.log.read_bytes(), len(tale.server.chats)
    assert tale.memory.status().by_rules == 0
    done = tale.memory.upgrade()
    assert (done.transcripts, done.entries) == (0, 0)
    tale.memory.catch_up()
    assert tale.memory.home.log.read_bytes() == before
    assert len(tale.server.chats) == asked


def test_the_very_words_of_the_rules_do_not_wait_for_a_model_for_ever(tale: Tale) -> None:
    workday(tale)
    old = by_rules(tale)
    [same] = [entry for entry in old if "launch" in entry.content and entry.type == "fact"]
    tale.server.reply = lambda chat: answer(
        POSTGRES, UV, FORM, fact(same.content, *same.evidence), handoff()
    )
    tale.memory.upgrade()
    assert not rules_left(tale)
    assert tale.contents().count(same.content) <= 2
    assert len([one for one in tale.current() if one.content == same.content]) == 1
    assert tale.memory.upgrade().transcripts == 0
    assert len(tale.asked) == 1


def test_a_model_without_a_handoff_leaves_nothing_of_the_rules_either(tale: Tale) -> None:
    tale.talk(WORKDAY[0][1], "Fine.", "I prefer uv over pip.", "Noted.")
    assert len(by_rules(tale)) == 3
    tale.server.reply = lambda chat: POSTGRES
    tale.memory.upgrade()
    assert not rules_left(tale)
    assert [entry.type for entry in tale.current()].count("handoff") == 1
    assert [entry.by for entry in tale.current("decision")] == [BY]
    assert tale.memory.upgrade().transcripts == 0


# --- what others say about it ------------------------------------------------------------


def test_what_a_later_session_has_corrected_is_not_brought_back(tale: Tale) -> None:
    launch(tale, "7", "14", "21")
    by_rules(tale)
    assert [one.content.split()[-2] for one in tale.current("fact")] == ["21"]
    tale.server.reply = launches
    for session in ("5e550002", "", ""):
        done = tale.memory.upgrade(session)
        assert [one.content.split()[-2] for one in tale.current("fact")] == ["21"]
    assert not rules_left(tale)
    assert done.transcripts == 0 and tale.valid()


def test_what_a_model_has_corrected_since_is_not_brought_back(tale: Tale) -> None:
    launch(tale, "7", "14")
    by_rules(tale)
    launch(tale, "21", first=3)
    tale.server.reply = launches
    tale.memory.catch_up()
    tale.memory.upgrade()
    assert [one.content.split()[-2] for one in tale.current("fact")] == ["21"]
    assert not rules_left(tale) and tale.valid()


def test_what_was_corrected_within_and_later_is_not_brought_back(tale: Tale) -> None:
    tale.talk(
        "The launch is on 7 November.",
        "Noted.",
        "No, actually the launch is on 14 November.",
        "Noted.",
    )
    launch_later = "No, actually the launch is on 21 November."
    tale.talk(launch_later, "Noted.", number=2)
    by_rules(tale)

    def reply(chat: Chat) -> str:
        if launch_later in block(chat, "messages"):
            return launches(chat)
        return answer(fact("The launch of the app is on 7 November", 1, detail="launch"), handoff())

    tale.server.reply = reply
    tale.memory.upgrade()
    assert [one.content.split()[-2] for one in tale.current("fact")] == ["21"]


def test_what_rules_had_replaced_by_mistake_holds_again(tale: Tale) -> None:
    launch(tale, "14", "21")
    by_rules(tale)
    [wrong] = tale.current("fact")
    [right] = [entry for entry in tale.log() if entry.id in wrong.replaces]

    def reply(chat: Chat) -> str:
        if "21 November" in block(chat, "messages"):
            return answer(handoff("Another launch was on 21 November"))
        return launches(chat)

    tale.server.reply = reply
    tale.memory.upgrade()
    [held] = tale.current("fact")
    assert "14 November" in held.content
    assert right.id in tale.memory.log.chains().by_id and tale.valid()
    before = tale.memory.home.log.read_bytes()
    assert tale.memory.upgrade().transcripts == 0  # also for what holds again
    assert tale.memory.home.log.read_bytes() == before


def test_the_model_knows_all_but_what_came_out_of_the_same_conversation(tale: Tale) -> None:
    tale.memory.remember("Ankerpolice has moved to Kiel", subject="insurance")
    workday(tale)
    by_rules(tale)
    tale.memory.upgrade()
    known = block(tale.asked[0], "known").splitlines()
    assert len(known) == 1 and known[0].endswith("insurance] Ankerpolice has moved to Kiel")


def test_a_later_part_corrects_an_earlier_part(tale: Tale) -> None:
    texts = ["The launch is on 7 November.", "No, the launch is on 14 November.", "Maja has a key."]
    tale.talk(*(f"{text} {'And so on. ' * 60}" for one in texts for text in (one, "Ok.")))
    by_rules(tale)
    tale.settings(request_tokens=400)
    known: list[str] = []

    def reply(chat: Chat) -> str:
        if 1 in numbers(chat):
            return fact("The launch is on 7 November this year", 1)
        if 3 in numbers(chat):
            old = [ref(chat, "7 November this year")]
            return fact("The launch is on 14 November this year", 3, replaces=old)
        if 5 in numbers(chat):
            known.append(block(chat, "known"))
            return fact("Maja has a key", 5)
        return handoff()

    tale.server.reply = reply
    assert not tale.memory.upgrade().failed
    assert "14 November this year" in known[0] and "7 November this year" not in known[0]
    kept = [entry.content for entry in tale.current("fact")]
    assert kept == ["The launch is on 14 November this year", "Maja has a key"]
    assert len(tale.current("handoff")) == 1 and not rules_left(tale)


# --- failures ----------------------------------------------------------------------------


def test_a_failure_in_the_middle_leaves_everything_as_it_was(tale: Tale) -> None:
    tale.talk(*(f"Let's use shelf {n} for the jars of kind {n}. " * 20 for n in range(100, 110)))
    by_rules(tale)
    before = tale.memory.home.log.read_bytes()
    tale.settings(request_tokens=500)
    tale.says('{"type":"nothing"}')
    tale.server.script(Status(500))
    done = tale.memory.upgrade()
    assert len(tale.asked) == 2
    [error] = done.failed.values()
    assert "answers 500" in error and done.transcripts == 0
    assert tale.memory.home.log.read_bytes() == before
    assert tale.memory.status().by_rules == 1
    assert any("answers 500" in problem for problem in tale.memory.status().problems)
    tale.server.reply = lambda chat: handoff()
    assert tale.memory.upgrade().transcripts == 1
    assert [entry.type for entry in tale.current()] == ["handoff"]


def test_a_model_that_fails_again_and_again_is_not_asked_for_everything(tale: Tale) -> None:
    for number in range(1, 6):
        tale.talk(f"Let's use shelf {number} for the jars.", "Fine.", number=number)
    by_rules(tale)
    tale.server.script(*[Status(401)] * 9)
    done = tale.memory.upgrade()
    assert (done.transcripts, len(done.failed), done.left) == (0, 3, 2)
    assert len(tale.asked) == 3


def test_a_transcript_that_somebody_removed_stops_nobody(tale: Tale) -> None:
    workday(tale, 1)
    workday(tale, 2)
    by_rules(tale)
    first = sorted(tale.memory.home.conversations.glob("*/*/*/*.md"))[0]
    first.unlink()
    done = tale.memory.upgrade()
    assert done.transcripts == 1 and list(done.failed) == [tale.memory.home.relative(first)]


def test_a_conversation_that_goes_on_is_not_read_again(tale: Tale) -> None:
    chat(tale.session(1, RECENT), WORKDAY)
    by_rules(tale)
    done = tale.memory.upgrade()
    assert not tale.asked
    assert (done.transcripts, done.failed) == (0, {})
    assert tale.memory.status().by_rules == 0


def test_killed_at_any_step_the_result_is_the_same(tale: Tale, tmp_path: Path) -> None:
    workday(tale, 1)
    launch(tale, "7", "14")
    by_rules(tale)
    tale.server.reply = per_message()

    def outcome(root: Path) -> set[tuple[str, str, str]]:
        chains = Memory(root).log.chains()
        assert states.load(Memory(root).home).pending is None
        assert not (chains.repeated or chains.dangling or chains.cycles)
        return {(one.type, one.content, one.by) for one in chains.current()}

    reference = tmp_path / "reference"
    shutil.copytree(tale.root, reference)
    Memory(reference).upgrade()
    for step in range(1, 60, 4):
        root = tmp_path / f"home-{step}"
        shutil.copytree(tale.root, root)
        died = run_and_die(Memory(root).upgrade, step)
        Memory(root).upgrade()
        Memory(root).catch_up()
        assert outcome(root) == outcome(reference), step
        shutil.rmtree(root)
        if not died:
            break


def test_a_batch_that_was_on_its_way_arrives_once(tale: Tale) -> None:
    workday(tale)
    old = by_rules(tale)
    home = tale.memory.home
    [(name, progress)] = states.load(home).sessions.items()
    new = old[0].with_(id="AAAAAAAAAAAA", replaces=(old[0].id,), by=BY)
    pending = Pending(name, home.log.stat().st_size, [as_dict(new)], None)
    states.save(home, msgspec.structs.replace(states.load(home), pending=pending))
    tale.memory.remember("Maja has the key")
    assert [entry.id for entry in named(tale, old[0])] == ["AAAAAAAAAAAA"]
    after = states.load(home)
    assert after.pending is None and after.sessions == {name: progress}
    assert tale.valid()


# --- which -------------------------------------------------------------------------------


def test_only_the_session_that_was_asked_for(tale: Tale) -> None:
    first, second = workday(tale, 1), workday(tale, 2)
    by_rules(tale)
    assert tale.memory.upgrade(second.session[:8]).transcripts == 1
    assert {one.session for one in tale.current() if one.by == "rules"} == {first.session}


@pytest.mark.parametrize("how", [{"main": ""}, {"off": ["extract"]}])
def test_without_a_model_there_is_nothing_to_upgrade_with(tale: Tale, how: dict[str, str]) -> None:
    workday(tale)
    by_rules(tale)
    tale.settings(**how)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"name one as main in \[models\] of config.toml"):
        tale.memory.upgrade()
