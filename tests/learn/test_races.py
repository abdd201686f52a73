"""Others at work while a model reads: they close, rename, forget and read at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import datetime

import msgspec
import pytest

from tests.learn.telling import (
    RECENT,
    Tale,
    answer,
    block,
    ends,
    fact,
    handoff,
    numbers,
    per_message,
)
from tests.server import Chat, Hang
from wakebook.capture import state as states
from wakebook.learn.catch_up import Sweep
from wakebook.learn.reread import Upgraded

LUND = "The meeting is in Lund."
NOTHING = '{"type":"nothing"}'


def quiet(chat: Chat) -> str:
    """A model that finds nothing."""
    return handoff() if ends(chat) else NOTHING


def meanwhile(tale: Tale, action: Callable[[], object], then: Callable[[Chat], str]) -> None:
    """While the model thinks about its first question, something else happens."""

    def reply(chat: Chat) -> str:
        if len(tale.asked) == 1:
            action()
        return then(chat)

    tale.server.reply = reply


def in_process(tale: Tale, *arguments: str) -> str:
    """A command in a process of its own, which is ended if it goes on for ever."""
    done = subprocess.run(
        [sys.executable, "-m", "wakebook", "--home", str(tale.root), *arguments],
        capture_output=True,
        text=True,
        env=os.environ,
        timeout=60,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def transcripts(tale: Tale) -> list[str]:
    return [path.read_text() for path in sorted(tale.root.glob("raw/conversations/*/*/*/*.md"))]


# --- the end of a window -----------------------------------------------------------------


def test_a_window_that_another_closes_while_its_last_words_are_read_gets_its_handoff(
    tale: Tale,
) -> None:
    tale.talk(LUND, "Noted.", "Thanks.", at=RECENT)
    other = threading.Thread(target=lambda: tale.memory.catch_up(closing=True))

    def close() -> None:
        other.start()
        while not any(
            one.window and one.window.ended for one in tale.memory.opened.state().sessions.values()
        ):
            other.join(0.01)

    meanwhile(tale, close, per_message())
    tale.memory.catch_up()
    other.join()
    tale.memory.catch_up()
    assert len(tale.contents("handoff")) == 1
    assert tale.learned() == [LUND] and tale.valid()
    assert [front["closed"] for front in tale.fronts()] == [True]
    [progress] = tale.memory.opened.state().sessions.values()
    assert progress.window is None
    assert len([chat for chat in tale.asked if 1 in numbers(chat)]) == 1  # once for the words


@pytest.mark.parametrize("main", [True, False], ids=["model", "rules"])
def test_a_note_at_the_top_of_an_open_transcript_does_not_make_it_read_for_ever(
    tale: Tale, main: bool
) -> None:
    tale.talk(
        *(
            "Noted, I will keep that in mind." if n % 2 else f"The meeting {n} is in Lund, all day."
            for n in range(13)
        ),
        at=RECENT,
    )
    tale.settings() if main else tale.settings(main="")
    tale.server.reply = quiet
    tale.memory.catch_up()
    [path] = tale.root.glob("raw/conversations/*/*/*/*.md")
    head, mark, rest = path.read_text().partition("\n<!-- date")
    assert mark
    path.write_text(f"{head}\n{'My own note. ' * 20}{mark}{rest}")
    before = len(tale.server.requests)
    in_process(tale, "catch-up", "--close")
    assert len(tale.server.requests) - before <= (2 if main else 0)
    assert len(tale.contents("handoff")) == 1 and tale.valid()
    [progress] = tale.memory.opened.state().sessions.values()
    assert progress.window is None
    before = len(tale.server.requests)
    in_process(tale, "catch-up", "--close")
    assert len(tale.server.requests) == before


# --- the clock ---------------------------------------------------------------------------


def test_what_is_said_during_a_long_sweep_keeps_its_own_time(
    tale: Tale, monkeypatch: pytest.MonkeyPatch
) -> None:
    tale.talk("Old things first.", "Ok.")
    live = tale.talk("Hello there, it is me.", "Hi.", number=2, at=RECENT)

    def hour() -> None:
        monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T10:30:00Z")
        tale.memory.remember("The meeting is in Ystad")
        live.at = datetime.fromisoformat("2026-11-09T10:59:00+00:00")
        live.user(LUND)
        monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T11:01:00Z")

    def reply(chat: Chat) -> str:
        if LUND not in block(chat, "messages"):
            return quiet(chat)
        [number] = [int(n) for n in numbers(chat)][-1:]
        known = [row.split()[0] for row in block(chat, "known").splitlines() if "Ystad" in row]
        return answer(fact("The meeting is in Lund", number, replaces=known), *tail(chat))

    meanwhile(tale, hour, reply)
    tale.memory.catch_up()
    assert any("## 11:00 — user" in text for text in transcripts(tale))
    [kept] = tale.current("fact")
    assert kept.content == "The meeting is in Lund"
    assert kept.timestamp == datetime.fromisoformat("2026-11-09T11:00:00+00:00")


def tail(chat: Chat) -> list[str]:
    return [handoff()] if ends(chat) else []


# --- a session that vanishes -------------------------------------------------------------


def test_a_session_that_vanishes_while_a_model_reads_does_no_harm(tale: Tale) -> None:
    tale.talk(LUND, "Fine.", at=RECENT)
    home = tale.memory.home
    meanwhile(tale, lambda: states.save(home, states.State()), per_message())
    done = tale.memory.catch_up()
    assert not done.failed and not done.held
    assert not [one for one in tale.memory.opened.state().sessions.values() if not one.position]
    tale.memory.catch_up(closing=True)
    assert tale.learned() == [LUND] and len(tale.fronts()) == 1
    assert len(tale.contents("handoff")) == 1 and tale.valid()


def test_a_session_that_goes_by_another_name_while_the_model_fails_does_no_harm(
    tale: Tale,
) -> None:
    claude = tale.talk(LUND, "Fine.", at=RECENT)
    home = tale.memory.home

    def rename() -> None:
        [(name, progress)] = states.load(home).sessions.items()
        state = states.load(home)
        states.save(home, msgspec.structs.replace(state, sessions={f"{name}@reset.1": progress}))

    meanwhile(tale, rename, lambda chat: "I would rather not.")
    done = tale.memory.catch_up(session=claude.session)
    assert not done.failed
    [(name, progress)] = tale.memory.opened.state().sessions.items()
    assert name.endswith("@reset.1") and progress.position and progress.failure is None


def test_a_session_without_a_source_that_vanishes_does_no_harm(tale: Tale) -> None:
    both = [tale.talk(LUND, "Fine.", number=number, at=RECENT) for number in (1, 2)]
    tale.server.reply = lambda chat: NOTHING
    tale.memory.catch_up()
    for claude in both:
        claude.path.unlink()
    home = tale.memory.home
    first = min(states.load(home).sessions)

    def forget() -> None:
        state = states.load(home)
        left = {name: one for name, one in state.sessions.items() if name == first}
        states.save(home, msgspec.structs.replace(state, sessions=left))

    tale.server.chats.clear()
    meanwhile(tale, forget, quiet)
    done = tale.memory.catch_up(closing=True)
    assert not done.failed and list(tale.memory.opened.state().sessions) == [first]
    assert len(tale.contents("handoff")) == 1


# --- two who read ------------------------------------------------------------------------


def test_another_session_is_archived_and_read_while_one_is_being_read(tale: Tale) -> None:
    first = tale.talk(LUND, "Fine.", number=1)
    second = tale.talk("Maja has the key.", "Fine.", number=2)
    third = tale.talk("The boat is red.", "Fine.", number=3)
    found: list[Sweep] = []

    def others() -> None:  # the first question is answered when they are done
        for session in (second.session, ""):
            work = threading.Thread(
                target=lambda name=session: found.append(tale.memory.catch_up(session=name))
            )
            work.start()
            work.join()
        assert sorted(tale.learned()) == ["Maja has the key.", "The boat is red."]
        assert len(tale.fronts()) == 3

    meanwhile(tale, others, per_message())
    tale.memory.catch_up(session=first.session)
    assert len(found) == 2 and not any(one.failed or one.held for one in found)
    assert sorted(tale.learned()) == ["Maja has the key.", "The boat is red.", LUND]
    assert len(tale.server.requests) == 3  # each of them once
    assert len(tale.contents("handoff")) == 3 and tale.valid()
    assert third.session in {entry.session for entry in tale.log()}


def test_a_second_process_for_the_same_session_asks_nothing(tale: Tale) -> None:
    claude = tale.talk(LUND, "Fine.")
    asked: list[int] = []

    def second() -> None:
        in_process(tale, "catch-up", "--session", claude.session)
        asked.append(len(tale.server.requests))

    meanwhile(tale, second, per_message())
    tale.memory.catch_up()
    assert asked == [1] and len(tale.server.requests) == 1
    assert tale.learned() == [LUND] and len(tale.contents("handoff")) == 1


def both_upgrade(tale: Tale) -> tuple[Upgraded, Upgraded]:
    """Two upgrades of four transcripts; the second one while the first one reads its first."""
    tale.settings(main="")
    for number, what in enumerate(("jars", "ropes", "lamps", "paint"), 1):
        tale.talk(f"Let's use shelf {number} for the {what}.", "Fine.", number=number)
    tale.memory.catch_up()
    tale.settings()
    other: list[Upgraded] = []

    def upgrade() -> None:
        work = threading.Thread(target=lambda: other.append(tale.memory.upgrade()))
        work.start()
        work.join()

    meanwhile(tale, upgrade, per_message())
    return tale.memory.upgrade(), other[0]


def test_two_upgrades_at_the_same_time_ask_once_for_each_transcript(tale: Tale) -> None:
    mine, other = both_upgrade(tale)
    assert len(tale.server.requests) == 4
    assert mine.entries + other.entries == 8 and not (mine.failed or other.failed)
    assert len(tale.current("handoff")) == 4 and tale.valid()
    assert not [entry for entry in tale.current() if entry.by == "rules"]
    assert tale.memory.upgrade().transcripts == 0


def test_each_of_two_upgrades_counts_only_what_it_has_read(tale: Tale) -> None:
    mine, other = both_upgrade(tale)
    assert (mine.transcripts, other.transcripts) == (1, 3)


# --- what is changed by hand -------------------------------------------------------------


def test_a_subject_that_is_renamed_while_the_model_reads_does_not_come_back(tale: Tale) -> None:
    tale.memory.remember("Tidepool has a pier", subject="tidepool")
    tale.talk("The meeting of tidepool is in Lund.", "Fine.", at=RECENT)
    told = fact("The meeting of tidepool is in Lund", 1, subject="tidepool")
    meanwhile(
        tale,
        lambda: tale.memory.log.rename_subject("tidepool", "rockpool"),
        lambda chat: answer(told),
    )
    tale.memory.catch_up()
    assert {entry.subject for entry in tale.log()} == {"rockpool"}
    assert len(tale.log()) == 2


def test_remember_asks_nobody_and_waits_for_nobody(tale: Tale) -> None:
    tale.settings(git=True, off=[], timeout_seconds=1)
    tale.server.script(Hang(), Hang())
    tale.memory.remember("Maja has the key")
    assert not tale.server.requests
    assert tale.contents() == ["Maja has the key"]
