"""What tests call in their own process is what people run: the same bytes, the same exit code."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from tests.journeys.command import call, process
from tests.story import Claude, chat
from wakebook import Memory

CALLS: list[tuple[list[str], str]] = [
    (["--help"], ""),
    (["status"], ""),
    (["log"], ""),
    (["wake"], ""),
    (["catch-up"], ""),
    (["search", "Postgres"], ""),
    (["log", "--json"], ""),
    (["context", "-"], "Which database for the bookings?"),
    (["subjects", "list", "--json"], ""),
    (["topics"], ""),
    (["show", "nothing-like-it"], ""),
    (["show", "nothing-like-it", "--json"], ""),
    (["search", "--since", "the day before"], ""),
    (["serch"], ""),
    (["prune"], "no JSON"),
    (["log", "--home", "/nowhere"], ""),
    (["hook", "claude-code"], "{}"),
]


def test_the_same_as_a_process_of_its_own(memory: Memory, claude: Claude, tmp_path: Path) -> None:
    memory.catch_up()
    chat(claude, [("user", "Let's go with Grafana for the charts."), ("agent", "Café ⚓ it is.")])
    root, kept = memory.home.root, tmp_path / "kept"
    shutil.copytree(root, kept)
    codes = set()
    for words, stdin in CALLS:
        found = []
        for way in (process, call):
            shutil.rmtree(root)
            shutil.copytree(kept, root)
            found.append(
                way(*words, *([] if "--home" in words else ["--home", str(root)]), stdin=stdin)
            )
        assert found[0] == found[1], words
        codes.add(found[0].code)
    assert codes == {0, 1, 2, 3, 9}


def test_everything_is_as_it_was_afterwards(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(memory.home.root)
    before = _surroundings()
    assert call("demo").code == 0
    assert call("log").code == 3
    assert _surroundings() == before


def _surroundings() -> tuple[object, ...]:
    streams = [(os.fstat(number).st_dev, os.fstat(number).st_ino) for number in range(3)]
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    own = sys.argv, sys.stdin, sys.stdout, sys.stderr
    return dict(os.environ), Path.cwd(), streams, handlers, own
