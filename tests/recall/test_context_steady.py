"""The same bytes every time, and an answer whatever is wrong with the home."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from tests.recall.contexts import SECRET, TODAY, full, said, topic
from tests.store.making import (
    NOW,
    WORDS_ALONE,
    again,
    append,
    entry,
    fresh,
    note,
    python,
    transcript,
)
from wakebook import Memory
from wakebook.recall.slot import CALLED_FOR, FOUND


@pytest.fixture
def home(tmp_path: Path) -> Memory:
    return fresh(tmp_path / "home", WORDS_ALONE)


# --- the same every time -----------------------------------------------------------------

TELL = """
import sys
from wakebook import Memory
found = Memory(sys.argv[1]).context("What does the zebra eat? Who is Mira?", session="s1")
sys.stdout.write(found.text)
"""


def test_the_same_bytes_in_every_process(home: Memory) -> None:
    full(home)
    for number in range(12):
        append(home, entry(10 + number, f"zebra number {number} eats oats", days=2))
        transcript(home, f"t{number}", [("user", f"zebra {number} ate oats"), ("agent", "Fine.")])
        topic(home, f"z{number}", f"Look at zebra {number}.", match="zebra")
    here = home.context("What does the zebra eat? Who is Mira?", session="s1").text
    assert home.context("What does the zebra eat? Who is Mira?", session="s1").text == here
    assert again(home).context("What does the zebra eat? Who is Mira?", session="s1").text == here
    for seed in ("1", "2"):
        assert python(TELL, str(home.home.root), PYTHONHASHSEED=seed) == here


def test_the_same_bytes_from_an_index_that_was_made_anew(home: Memory) -> None:
    """The order in which things came in must not show."""
    transcript(home, "t1", [("user", "zebra one")], start=NOW - timedelta(days=2))
    home.context("zebra")
    transcript(home, "t0", [("user", "zebra two")], start=NOW - timedelta(days=2))
    home.context("zebra")
    note(home, "knowledge/reference/b.md", "# B\n\nzebra three\n")
    append(home, entry(1, "zebra four", days=2))
    home.context("zebra")
    note(home, "knowledge/reference/a.md", "# A\n\nzebra five\n")
    before = again(home).context("zebra").text
    again(home).index.sync(full=True)
    assert again(home).context("zebra").text == before


def test_another_message_leaves_the_beginning_as_it_is(home: Memory) -> None:
    full(home)
    first = home.context("What does the zebra eat?").text
    second = home.context("When does the zoo open?", history=said(5), session="s1").text
    start = first.index(FOUND) if CALLED_FOR not in first else first.index(CALLED_FOR)
    assert second.startswith(first[:start])
    assert "The zebra woke" in first[:start]


def test_a_new_journal_entry_leaves_all_before_it_as_it_is(home: Memory) -> None:
    full(home)
    first = home.context("zebra").text
    note(home, TODAY, f"# 2026-11-09\n\n- The zebra woke, {SECRET}.\n- It had breakfast.\n")
    second = home.context("zebra").text
    start = first.index("- The zebra woke") + len(f"- The zebra woke, {SECRET}.")
    assert second[:start] == first[:start]
    assert second[start:].startswith("\n- It had breakfast.")


def test_one_more_message_of_the_history_comes_at_the_end(home: Memory) -> None:
    full(home)
    first = home.context("zebra", history=said(4)).text
    second = home.context("zebra", history=said(5)).text
    end = len("\n</wakebook-memory>\n")
    assert second.startswith(first[:-end])


def test_time_that_passes_leaves_the_beginning_as_it_is(
    home: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    full(home)
    first = home.context("zebra").text
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T22:59:00Z")
    assert home.context("zebra").text == first


# --- whatever is wrong -------------------------------------------------------------------


def test_a_broken_index(home: Memory) -> None:
    full(home)
    home.home.index.write_bytes(b"not a database" * 1000)
    found = home.context("What does the zebra eat?")
    assert any("The index was broken" in one for one in found.notes)
    assert "the zebra eats grass" in found.text and "Otto" in found.text
    assert home.context("What does the zebra eat?").notes == ()


def test_no_index_at_all(home: Memory) -> None:
    full(home)
    home.home.index.mkdir()
    found = home.context("What does the zebra eat?")
    assert any("Found by reading the files" in one for one in found.notes)
    assert "the zebra eats grass" in found.text and "Otto" in found.text
    private = home.context("What does the zebra eat?", kind="group").text
    assert SECRET not in private and "It opens at nine" in private


def test_broken_state_of_fired_topics(home: Memory) -> None:
    full(home)
    (home.home.root / "fired.json").write_text("garbage")
    assert "Carry the bucket." in home.context("zebra", session="s1").text
    assert home.home.traces("failure")


def test_files_that_are_no_text(home: Memory) -> None:
    full(home)
    note(home, "knowledge/identity/SOUL.md", bytes(range(256)) * 40)
    note(home, "knowledge/memory/MEMORY.md", b"\xff\xfe\x00" * 4000)
    (home.home.root / TODAY).unlink()
    (home.home.root / TODAY).mkdir()
    found = home.context("zebra", budget=1000)
    assert found.tokens <= 1000 and "Ask before you feed." in found.text
    found.text.encode()


def test_a_file_whose_name_is_no_text(home: Memory) -> None:
    note(home, "knowledge/identity/SOUL.md", "I am calm.\n")
    folder = os.fsencode(home.home.root / "knowledge" / "identity")
    try:
        Path(os.fsdecode(folder + b"/\xff.md")).write_text("Words of it.\n")
    except OSError:
        pytest.skip("no such names on this disk")
    text = home.context("hello").text
    assert "Words of it." in text
    text.encode()


READ_ONLY = """
import sys
from wakebook import Memory
found = Memory(sys.argv[1]).context("What does the zebra eat?", session="s1")
print(found.text)
print(*found.notes, sep="\\n")
"""


@pytest.mark.parametrize("indexed", [True, False])
def test_a_home_that_may_not_be_written(home: Memory, indexed: bool) -> None:
    full(home).topics.fire_topic("feeding")
    if indexed:
        home.index.sync()
        home.opened.index.store.close()
    root = str(home.home.root)
    command = [sys.executable, "-c", READ_ONLY, root]
    if os.geteuid() == 0:  # root ignores permissions: mount it read-only for the child alone
        mount = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'
        command = ["unshare", "-m", "sh", "-c", mount, "sh", root, *command]
        if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
            pytest.skip("root without the right to mount: a read-only home cannot be made here")
    else:
        for path in (*home.home.root.rglob("*"), home.home.root):
            path.chmod(0o500 if path.is_dir() else 0o400)
    done = subprocess.run(command, capture_output=True, text=True)
    home.home.root.chmod(0o700)
    assert done.returncode == 0, done.stderr
    assert "the zebra eats grass" in done.stdout and "Otto" in done.stdout
    assert "Carry the bucket." in done.stdout
