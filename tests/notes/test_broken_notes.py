"""Notes that cannot be written, disks and processes that die: told of, and nothing is lost."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.crash import run_and_die
from tests.notes.test_write import edit, note, plain, quiet, tell, tree
from tests.store.making import lose_derived
from wakebook import Memory
from wakebook.base import markdown
from wakebook.notes.moves import rename

__all__ = ["plain"]  # the fixture

# --- what can be wrong with a note --------------------------------------------------------


def broken(path: Path, how: str) -> None:
    text = path.read_text()
    end = "<!-- wakebook:end notes -->\n"
    if how == "no end":
        path.write_text(text.replace(end, "") + "mine\n")
    elif how == "no begin":
        path.write_text(text.replace("<!-- wakebook:begin notes -->\n", "") + "mine\n")
    elif how == "doubled":
        path.write_text(text + text + "mine\n")
    elif how == "words behind":
        path.write_text(text.replace("begin notes -->", "begin notes --> mine"))
    elif how == "not UTF-8":
        path.write_bytes(text.replace("# Auth", "# Auth\nmine").encode() + b"\xff\xfe\n")
    elif how == "read-only":
        path.write_text(text + "mine\n")
        path.chmod(0o444)
    elif how == "a folder":
        path.unlink()
        path.mkdir()
        (path / "mine").write_text("mine")


HOW = ["no end", "no begin", "doubled", "words behind", "not UTF-8", "read-only", "a folder"]


@pytest.mark.parametrize("how", HOW)
def test_a_note_that_cannot_be_written_is_left_alone_told_of_and_healed(
    plain: Memory, how: str
) -> None:
    tell(plain, "one", subject="auth")
    plain.notes.update()
    path = note(plain, "projects/auth/notes.md")
    good = path.read_text()
    broken(path, how)
    before = path.read_bytes() if path.is_file() else b""
    tell(plain, "two", subject="auth")
    tell(plain, "other", subject="shop")
    done = plain.notes.update()
    assert list(done.problems) == ["knowledge/projects/auth/notes.md"]
    assert (path.read_bytes() if path.is_file() else b"") == before
    assert "- other" in note(plain, "projects/shop/notes.md").read_text()  # the others are written
    assert "- two" in note(plain, "journal/2026-11-09.md").read_text()
    for memory in (plain, Memory(plain.home.root)):
        [told] = [one for one in memory.status().problems if "projects/auth/notes.md" in one]
        if how in ("no end", "no begin", "doubled", "words behind", "not UTF-8"):
            assert "line " in told
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.chmod(0o600)
    path.write_text(good + "mine\n")
    healed = Memory(plain.home.root)
    assert healed.notes.update().problems == {}
    assert "- two" in path.read_text()
    assert path.read_text().endswith("mine\n")
    assert healed.status().problems == ()
    assert plain.notes.update(full=True).written == ()


@pytest.mark.parametrize("front", ["---\ntype: [broken\n---\n", "---\ntype: x\n# no end\n"])
def test_broken_frontmatter_is_told_with_its_line_and_the_block_is_written_all_the_same(
    plain: Memory, front: str
) -> None:
    tell(plain, "one")
    plain.notes.update()
    path = note(plain, "projects/auth/notes.md")
    path.write_text(front + markdown.split(path.read_text())[1])
    tell(plain, "two")
    plain.notes.update()
    text = path.read_text()
    assert text.startswith(front)
    assert "- two" in text
    told = [one for one in plain.status().problems if "projects/auth/notes.md" in one]
    assert told
    assert all("line " in one for one in told)
    path.write_text(text.replace(front, "---\ntype: x\n---\n"))
    plain.notes.update()
    assert plain.status().problems == ()


def test_an_open_fence_above_a_block_does_not_make_more_of_them(plain: Memory) -> None:
    tell(plain, "one")
    plain.notes.update()
    path = note(plain, "projects/auth/notes.md")
    edit(path, "# Auth", "```\ncode without an end\n\n# Auth")
    for number in range(3):
        tell(plain, f"more {number}")
        plain.notes.update()
    assert path.read_text().count("<!-- wakebook:begin") == 1


def test_notes_of_ones_own_are_in_nobodys_way(plain: Memory) -> None:
    own = ["journal/ideas.md", "journal/2026-13-40.md", "reference/_mine.md", "people/Zoë B.md"]
    own += ["projects/My Plan/notes.md", "projects/auth/todo.md", "mine.md"]
    for name in own:
        note(plain, name).parent.mkdir(exist_ok=True)
        note(plain, name).write_text("mine")
    tell(plain, "one")
    plain.notes.update()
    plain.notes.update(full=True)
    lose_derived(plain)
    assert Memory(plain.home.root).notes.update().problems == {}
    assert {note(plain, name).read_text() for name in own} == {"mine"}


def test_a_log_of_nonsense_dates_does_not_stop_the_notes(plain: Memory) -> None:
    plain.home.config.write_text('[git]\nenabled = false\n[schedule]\ntime_zone = "Asia/Tokyo"\n')
    tell(plain, "the end", at="9999-12-31T23:00:00+00:00")
    tell(plain, "the beginning", at="0001-01-01T00:00:00+00:00")
    memory = Memory(plain.home.root)
    memory.notes.update()
    text = note(plain, "projects/auth/notes.md").read_text()
    assert "- the end" in text
    assert "- the beginning" in text
    assert memory.notes.update(full=True).written == ()


def test_links_to_nothing_are_reported_with_their_line(plain: Memory) -> None:
    tell(plain, "one [[not ours]]")
    plain.notes.update()
    path = note(plain, "projects/auth/notes.md")
    path.write_text(path.read_text() + "\nsee [[no-such-note]] and [[2026-11-09]] `[[code]]`\n")
    [found] = plain.notes.missing_links()
    lines = path.read_text().split("\n")
    assert (found.path, found.target) == ("knowledge/projects/auth/notes.md", "no-such-note")
    assert "[[no-such-note]]" in lines[found.line - 1]
    assert any(f"{found.path}:{found.line}" in hint for hint in plain.status().notes)
    note(plain, "reference/no-such-note.md").write_text("now there is")
    assert plain.notes.missing_links() == []


# --- killed, and a damaged cache ----------------------------------------------------------


def test_killed_at_any_step_every_note_is_whole_and_the_next_update_completes(
    tmp_path: Path,
) -> None:
    start = quiet(tmp_path / "start")
    tell(start, "one", subject="auth")
    start.notes.update()
    path = note(start, "projects/auth/notes.md")
    path.write_text(path.read_text() + "\nmine\n")
    old = tree(start)
    tell(start, "two", subject="auth")
    tell(start, "Ylva is the photographer", kind="relationship", subject="shop")
    with start.home.locked():
        rename(start.home, start.history.git(), "auth", "login")
    shutil.copytree(start.home.root, tmp_path / "reference")
    reference = Memory(tmp_path / "reference")
    reference.notes.update()
    expected = tree(reference)
    step = 0
    while True:
        step += 1
        shutil.copytree(start.home.root, tmp_path / "home")
        home = tmp_path / "home"
        died = run_and_die(lambda home=home: Memory(home).notes.update(), step)  # type: ignore[misc]
        whole = set(old.values()) | set(expected.values())
        for name, text in tree(Memory(home)).items():
            assert text in whole or "project: login" in text, (step, name)
        Memory(home).notes.update()
        assert tree(Memory(home)) == expected, step
        Memory(home).catch_up()
        assert not list(home.rglob(".wakebook-*.tmp")), step
        shutil.rmtree(home)
        if not died:
            break
    assert step > 20  # otherwise nothing was counted


@pytest.mark.parametrize("first", [0, 4096])
def test_a_damaged_catalogue_stops_nobody(plain: Memory, first: int) -> None:
    tell(plain, *(f"fact {number} " * 20 for number in range(60)))
    plain.notes.update()
    path = plain.home.index
    data = bytearray(path.read_bytes())
    assert len(data) > 8192
    data[first:] = os.urandom(len(data) - first)
    path.write_bytes(data)
    plain.remember("one more", subject="auth")
    assert "- one more" in note(plain, "projects/auth/notes.md").read_text()
    assert Memory(plain.home.root).status().problems == ()


# --- topics ------------------------------------------------------------------------------


def test_bad_topic_files_are_problems_until_they_are_mended(plain: Memory) -> None:
    (plain.home.root / "topics/deep").mkdir()
    wrong = plain.home.root / "topics/deep/wrong.md"
    wrong.write_text("---\ntype: topic\nactivation: gatd\n---\nText.\n")
    (plain.home.root / "topics/none.md").write_text("Text.\n")
    (plain.home.root / "topics/_draft.md").write_text("Text.\n")
    told = Memory(plain.home.root).status().problems
    assert told == (
        "topics/deep/wrong.md:3: activation is 'gatd'; it is one of auto, gated, manual. "
        "Did you mean gated? It is left out.",
        "topics/none.md:1: no frontmatter. A topic begins with --- and `type: topic`. "
        "It is left out.",
    )
    wrong.write_text("---\ntype: topic\nactivation: gated\n---\nText.\n")
    (plain.home.root / "topics/none.md").unlink()
    assert Memory(plain.home.root).status().problems == ()


def test_a_topic_file_of_several_lines_of_trouble_is_one_line(plain: Memory) -> None:
    (plain.home.root / "topics/odd.md").write_text("---\ndescription: a\x7fb\n---\nText.\n")
    told = Memory(plain.home.root).status().problems
    assert all("\n" not in one for one in told) and any("topics/odd.md:2" in one for one in told)
