"""The right thing in the right project, in time: real clients on a busy machine, with a service
that hangs, in two projects at once, and after a typed /new. All with the default time box."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.clients.responses import Ask
from tests.clients.test_claude_code import FIRST, WIKI, Desk, desk, wired
from tests.clients.test_codex import DECIDED, WEIGHT, Codex, Screen, codex
from tests.clients.test_pi import Pi, Turns, pi
from tests.clients.wired import told, until
from wakebook.base.home import Home
from wakebook.service.address import look

__all__ = ["codex", "desk", "pi", "wired"]  # fixtures
LOAD = 16  # busy loops
HERON = "We decided to paint the heron hide green."
LANTERN = "We decided to keep the lantern keys in Ghent."


@contextmanager
def busy() -> Iterator[None]:
    """A machine that has other things to do on all of its cores."""
    loop = [sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(loop) for _ in range(LOAD)]
    try:
        yield
    finally:
        for one in loops:
            one.kill()
            one.wait()


@contextmanager
def hanging(home: Path) -> Iterator[None]:
    """The service that the first hook has started does not go on."""
    until(lambda: look(Home(home)).state == "up")
    process = look(Home(home)).pid
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def waits(home: Path, word: str) -> bool:
    """Whether an answer with this word was made and has not arrived."""
    found = (home / ".cache" / "told").glob("*.wait")
    return any(word in path.read_text(encoding="utf-8") for path in found)


def repository(folder: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


# --- a busy machine ------------------------------------------------------------------------------


def test_every_start_on_a_busy_machine_is_told(wired: Desk) -> None:
    wired.say(FIRST)
    with busy():
        for _ in range(3):
            wired.claude("-p", "Good morning.", "--output-format", "json")
    starts = [one for one in wired.server.asked if "Good morning." in one.text]
    assert len(starts) == 3
    for one in starts:
        assert FIRST in wired.told(one), one.text


def test_what_was_said_on_a_busy_machine_is_remembered(wired: Desk) -> None:
    with busy():
        session = wired.say(FIRST)["session_id"]
        wired.say(WIKI, "--resume", session)
    wired.say("Where were we?")
    assert FIRST in wired.told() and WIKI in wired.told()
    assert sorted(wired.contents("decision")) == [WIKI, FIRST]
    assert wired.audit()["unaccounted"] == 0


def test_codex_on_a_busy_machine_is_told(codex: Codex) -> None:
    codex.wire()
    codex.say(DECIDED)
    with busy():
        _, asks = codex.say("Good morning.")
    assert DECIDED.rstrip(".") in told(asks[0])


# --- a service that hangs ------------------------------------------------------------------------


def test_a_prompt_that_nobody_answered_is_answered_with_the_next_and_once(wired: Desk) -> None:
    reference = wired.home / "knowledge" / "reference"
    (reference / "kiosk.md").write_text("# Kiosk\n\nThe launch of the kiosk is on 24 December.\n")
    session = wired.say(FIRST)["session_id"]
    with hanging(wired.home):
        wired.say("When is the launch of the kiosk?", "--resume", session)
        assert "24 December" not in wired.told()  # the turn went on without it
    until(lambda: waits(wired.home, "24 December"))
    for _ in range(2):
        wired.say("Go on, please.", "--resume", session)
        assert wired.told().count("24 December") == 1


def test_a_start_that_nobody_answered_is_told_what_the_last_one_was(wired: Desk) -> None:
    repository(wired.project)
    wired.say(FIRST)
    below = wired.project / "src"
    below.mkdir()
    with hanging(wired.home):
        wired.project = below  # of the same project
        wired.say("Where were we?")
        assert FIRST in wired.told()
        wired.project = repository(wired.home.parent / "another")
        wired.say("And here?")
        assert FIRST not in wired.told()


def test_pi_does_not_wait_for_a_service_that_hangs(pi: Pi) -> None:
    pi.init("--yes")
    pi.say(DECIDED)
    with hanging(pi.home):
        _, asks = pi.say("When is the launch?")
        assert "14 November" in told(asks[0])


# --- two projects at once ------------------------------------------------------------------------


def test_two_projects_at_once_stay_apart(wired: Desk, tmp_path: Path) -> None:
    said = {
        repository(tmp_path / "heron"): HERON,
        repository(tmp_path / "lantern"): LANTERN,
    }
    for prompts in (said, dict.fromkeys(said, "What have we decided here?")):
        wired.server.forget()
        running = []
        for folder, prompt in prompts.items():
            wired.project = folder
            running.append(wired.command("-p", prompt))
        for process in running:
            _, error = process.communicate(timeout=120)
            assert process.returncode == 0, error
        wired.settle()
    for folder, mine in said.items():
        (asked,) = [one for one in wired.server.asked if str(folder) in one.text]
        (other,) = {HERON, LANTERN} - {mine}
        assert mine in wired.told(asked)
        assert other not in wired.told(asked)


def test_codex_in_two_projects(codex: Codex, tmp_path: Path) -> None:
    codex.wire()
    first, second = repository(codex.project), repository(tmp_path / "second")
    codex.say(DECIDED)
    codex.project = second
    _, asks = codex.say(WEIGHT)
    assert "14 November" not in told(asks[0])
    codex.project = first
    _, asks = codex.say("Where were we?")
    assert "14 November" in told(asks[0]) and "3 kilos" not in told(asks[0])


# --- a typed /new --------------------------------------------------------------------------------


def test_a_new_session_of_pi_knows_the_one_before(pi: Pi) -> None:
    pi.init("--yes")
    with Turns(pi) as turns:
        turns.say(DECIDED)
        turns.ask("new_session")
        turns.say("Where were we?")
        last = pi.server.asks[-1]
        assert DECIDED not in [text for role, text in last.said if role == "user"]
        assert "## Last Session Handoff" in told(last) and "14 November" in told(last)


def test_a_typed_new_in_codex(codex: Codex) -> None:
    """Codex ends the session before only a minute later: it is told as it stands."""
    codex.configure("check_for_update_on_startup = false")
    codex.wire()
    codex.say("Hello.")  # a client that has been used before

    def asked(text: str) -> list[Ask]:
        return [one for one in codex.server.asks if ("user", text) in one.said]

    with Screen(codex) as screen:
        until(lambda: screen.shows("To get started"))
        screen.enter(DECIDED, lambda: bool(asked(DECIDED)))
        until(lambda: screen.shows("Understood."))
        before = screen.drawn.count(b">_ OpenAI Codex")
        screen.enter("/new", lambda: screen.drawn.count(b">_ OpenAI Codex") > before)
        screen.enter("Where were we?", lambda: bool(asked("Where were we?")))
    [last] = asked("Where were we?")
    assert last not in asked(DECIDED)
    assert "## Session Still Open" in told(last) and "14 November" in told(last)
