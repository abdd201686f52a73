"""What was stored is shown on a terminal, and does nothing to it."""

from __future__ import annotations

import json
import os
import pty
import sys

import pytest

from tests.journeys.command import call, process, run
from wakebook import Memory
from wakebook.base.errors import InvalidEntry
from wakebook.base.text import visible
from wakebook.log.entry import CONTENT, DETAIL, fitted

HOSTILE = "Boat \x1b[31;8mred\x1b]0;owned\x07 \x9b2J \u202egnp.exe \u200bzero \U000e0041tag"
SIGNS = ("\x1b", "\x07", "\x9b", "\u202e", "\u200b", "\U000e0041")


@pytest.fixture(autouse=True)
def _home() -> None:
    run("init")
    memory = Memory()
    memory.remember(HOSTILE, subject="boat", detail=HOSTILE)
    memory.notes.update()


@pytest.mark.parametrize(
    "words",
    [
        "log --details", "search boat", "show ID", "wake", "context boat", "brief", "log --json",
        "search boat --json", "subjects list", "notes review", "history", "forget nothing-\x1b[2J",
        "remember \x1b[2Jmore", "topics",
    ],
)  # fmt: skip
def test_no_command_prints_what_moves_a_terminal(words: str) -> None:
    entry = next(iter(Memory().log.chains().by_id))
    done = call(*words.replace("ID", entry).split())
    said = (done.out + done.err).decode()
    assert not [sign for sign in SIGNS if sign in said]
    if words.split()[0] in ("log", "search", "show", "context"):
        assert "\\u202e" in said  # it is shown, not dropped


def test_our_own_colours_reach_a_terminal_and_stored_ones_do_not() -> None:
    pid, terminal = pty.fork()
    if not pid:  # the child, on a terminal of its own
        environ = os.environ | {"TERM": "xterm", "COLUMNS": "200"}
        os.execvpe(sys.executable, [sys.executable, "-m", "wakebook", "log"], environ)
    said = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        if not piece:
            break
        said += piece
    os.waitpid(pid, 0)
    text = said.decode()
    assert "\x1b[" in text and "fact" in text
    assert "\\u001b[31;8mred" in text and "\x1b[31;8m" not in text and "\x1b]0" not in text


def test_an_encoding_that_lacks_a_character_is_no_failure() -> None:
    Memory().remember("Café in Łódź — 日本", subject="boat")
    Memory().wake()
    for command in ("log", "wake", "search Café", "context Café", "status", "log --json"):
        done = process(*command.split(), PYTHONIOENCODING="ascii", PYTHONUTF8="0", LANG="C")
        assert b"Traceback" not in done.err, command
        done.out.decode("ascii")
        if command == "log":
            assert b"Caf? in" in done.out
        if command == "log --json":
            assert "Café in Łódź — 日本" in [one["content"] for one in json.loads(done.out)]


def test_what_is_typed_is_utf_8_whatever_the_locale_says() -> None:
    memory = Memory()
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for command in ("remember größer", "history commit", "erase größer --dry-run"):
        done = process(*command.split(), **plain)
        assert (done.code, done.err) == (0, b""), command
    assert process("remember", b"x\xffy").code == 0
    assert [one.content for one in memory.log.chains().entries][-2:] == ["größer", "x\ufffdy"]
    repository = memory.history.git().repository
    assert repository and "größer" in repository.git("log", "--format=%s")


def test_plain_text_and_scripts_stay_as_they_are() -> None:
    for text in ("a\tb\nc\r\nd", "می‌خواهم", "👩‍🔬", "naïve — “x”"):
        assert visible(text) == text
    assert json.loads(f'"{visible(HOSTILE)}"') == HOSTILE


def test_an_entry_has_a_largest_size() -> None:
    memory = Memory()
    memory.remember("x" * CONTENT, detail="y" * DETAIL)
    with pytest.raises(InvalidEntry, match=r"8,001 characters; an entry holds 8,000\. Say"):
        memory.remember("x" * (CONTENT + 1))
    assert "an entry holds 32,000" in run("remember", "x", "--detail", "y" * 32_001, code=7)
    entry = next(iter(memory.log.chains().by_id.values()))
    cut = fitted(entry.with_(content="z" * 7_000_000))
    assert len(cut.content) == CONTENT
    assert cut.content.endswith(" … [cut: 7,000,000 characters]")


def test_why_knows_no_file_that_is_not_content() -> None:
    memory = Memory()
    for name in ("token", "state.json", "hosts/x.json"):
        path = memory.home.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("something private\n")
        for place in (f"{name}:1", f"{path}:1", f"knowledge/../{name}:1"):
            assert "There is no note" in run("why", place, code=9)
