"""Every generated line leads to what it was made from; any other line to its commit."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.notes.test_write import NOW, Life, edit, note, plain, quiet, tell, tree
from tests.story import NEXT_DAY, WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base import markdown
from wakebook.base.errors import NotFound, WakebookError
from wakebook.notes import condensed
from wakebook.notes.book import NOTHING
from wakebook.notes.condensed import Condensed, CondensedLine
from wakebook.notes.why import Why

__all__ = ["plain"]  # the fixture


def at(memory: Memory, path: str, part: str) -> Why:
    """Why the first line with this in it."""
    lines = (memory.home.root / path).read_bytes().decode().split("\n")
    number = next(number for number, line in enumerate(lines, 1) if part in line)
    found = memory.notes.why(f"{path}:{number}")
    assert part in found.text
    assert found.line == number
    return found


def generated(text: str) -> list[int]:
    """The numbers of all lines in blocks that say something."""
    found: list[int] = []
    for name in markdown.names(text):
        there = markdown.block(text, name)
        assert there is not None
        numbered = enumerate(there.lines, there.first)
        found += [number for number, line in numbered if line.strip() and line != NOTHING]
    return found


def test_every_generated_line_of_a_home_with_200_entries_resolves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = quiet(tmp_path / "home", "[schedule]", 'time_zone = "Pacific/Auckland"')
    life = Life(memory, 42, monkeypatch)
    for number in range(200):
        life.now += timedelta(hours=number % 7)
        life.correct() if number % 3 == 2 else life.say()
    keep = [one.id for one in memory.log.chains().current() if one.type == "decision"][:5]
    rewrite = Condensed(at=NOW, by="rules", lines=tuple(CondensedLine((one,)) for one in keep))
    condensed.save(memory.home, {"memory/MEMORY.md#memory": rewrite})
    memory.notes.brief()
    memory.notes.update()
    asked = 0
    for path, text in tree(memory).items():
        if "/merged/" in path:
            continue
        for number in generated(text):
            found = memory.notes.why(f"{path}:{number}")
            assert found.entries, (path, number, found)
            assert found.block
            assert found.note == ""
            asked += 1
    assert asked > 300


def test_the_entry_behind_a_line_leads_to_the_words_that_were_said(
    memory: Memory, projects: Path
) -> None:
    chat(Claude(projects), WORKDAY)
    chat(Claude(projects, "5e551011-0000-4000-8000-000000000002").pause(hours=12), NEXT_DAY)
    memory.catch_up()
    [entry] = at(memory, "knowledge/projects/tidepool/notes.md", "21 November").entries
    assert entry.transcript.startswith("raw/conversations/")
    assert entry.evidence
    shown = memory.get(entry.id)
    assert "No, actually the launch is on 21 November" in str(shown)


def test_a_heading_stands_for_all_below_it_and_what_was_left_out_for_itself(plain: Memory) -> None:
    ids = [tell(plain, f"done {n}", type="task", status="done")[0].id for n in range(25)]
    plain.notes.update()
    path = "knowledge/projects/auth/progress.md"
    assert {one.id for one in at(plain, path, "## Done").entries} == set(ids)
    assert {one.id for one in at(plain, path, "… and 5 older").entries} == set(ids[:5])


def test_of_two_lines_with_the_same_words_each_has_its_own_entry(plain: Memory) -> None:
    first, second = tell(plain, "the same words"), tell(plain, "the same words")
    plain.notes.update()
    path = "knowledge/projects/auth/notes.md"
    lines = (plain.home.root / path).read_text().split("\n")
    places = [number for number, line in enumerate(lines, 1) if "the same words" in line]
    found = [plain.notes.why(f"{path}:{number}").entries[0].id for number in places]
    assert found == [second[0].id, first[0].id]


def test_a_corrected_line_of_a_journal_has_both_entries(plain: Memory) -> None:
    [old] = tell(plain, "On the 14th", at="2026-11-01T10:00:00+00:00")
    [new] = tell(plain, "On the 21st", replaces=(old.id,))
    plain.notes.update()
    found = at(plain, "knowledge/journal/2026-11-01.md", "~~On the 14th~~")
    assert [one.id for one in found.entries] == [old.id, new.id]


def test_what_a_rewrite_put_into_words_says_so(plain: Memory) -> None:
    entries = tell(plain, "one", "two")
    ids = tuple(one.id for one in entries)
    rewrite = Condensed(at=NOW, by="model x", lines=(CondensedLine(ids, "both of them", "Facts"),))
    condensed.save(plain.home, {"projects/auth/notes.md#notes": rewrite})
    plain.notes.update()
    found = at(plain, "knowledge/projects/auth/notes.md", "both of them")
    assert found.rewritten == "model x"
    assert {one.id for one in found.entries} == set(ids)


# --- lines that are not generated ---------------------------------------------------------


def test_a_line_of_a_persons_leads_to_its_commit(memory: Memory) -> None:
    memory.remember("one", subject="auth")
    path = note(memory, "projects/auth/notes.md")
    path.write_text(path.read_text() + "\nmine\n")
    name = "knowledge/projects/auth/notes.md"
    assert at(memory, name, "mine").commit == "not committed yet"
    memory.history.commit("my own summary")
    found = at(memory, name, "mine")
    assert found.entries == ()
    assert found.block == ""
    assert found.commit.startswith("20")
    assert found.commit.endswith("memory: my own summary")
    assert "a person" in found.note
    assert "frontmatter" in at(memory, name, "project: auth").note
    assert "marker" in at(memory, name, "wakebook:begin").note
    assert "marker" in at(memory, name, "wakebook:sum").note


def test_without_git_a_line_of_a_persons_is_still_theirs(plain: Memory) -> None:
    tell(plain, "one")
    plain.notes.update()
    path = note(plain, "projects/auth/notes.md")
    path.write_text(path.read_text() + "\nmine\n")
    found = at(plain, "knowledge/projects/auth/notes.md", "mine")
    assert (found.commit, found.entries) == ("", ())
    assert "a person" in found.note
    assert "title" in at(plain, "knowledge/projects/auth/notes.md", "# Auth").note


def test_an_edited_or_outdated_line_says_what_to_do(plain: Memory) -> None:
    tell(plain, "Tokens live 15 min")
    plain.notes.update()
    edit(note(plain, "projects/auth/notes.md"), "15 min", "20 min")
    found = at(plain, "knowledge/projects/auth/notes.md", "20 min")
    assert found.entries == ()
    assert "wakebook review" in found.note


def test_a_line_in_a_broken_block_is_not_taken_for_ours(plain: Memory) -> None:
    tell(plain, "Tokens live 15 min")
    plain.notes.update()
    edit(note(plain, "projects/auth/notes.md"), "<!-- wakebook:end notes -->", "")
    found = at(plain, "knowledge/projects/auth/notes.md", "15 min")
    assert found.block == ""


@pytest.mark.parametrize("mark", ["\x0c", "\u2028", "\x85", "\r\n", "\x0b\x1c"])
def test_lines_are_counted_as_editors_count_them(plain: Memory, mark: str) -> None:
    tell(plain, "Tokens live 15 min")
    plain.notes.update()
    edit(note(plain, "projects/auth/notes.md"), "# Auth", f"# Mine{mark}mine{mark}mine\n\n# Auth")
    assert at(plain, "knowledge/projects/auth/notes.md", "15 min").entries
    assert at(plain, "knowledge/projects/auth/notes.md", "## Facts").entries


# --- which file -------------------------------------------------------------------------------


def test_a_file_is_found_from_the_home_from_knowledge_from_here_and_absolutely(
    plain: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(plain, "Tokens live 15 min")
    plain.notes.update()
    path = note(plain, "projects/auth/notes.md")
    number = path.read_text().split("\n").index("## Facts") + 2
    monkeypatch.chdir(path.parent)
    for name in (
        f"knowledge/projects/auth/notes.md:{number}",
        f"projects/auth/notes.md:{number}",
        f"projects/auth/notes.md#L{number}",
        f"{path}:{number}",
        f"notes.md:{number}",
    ):
        [entry] = plain.notes.why(name).entries
        assert entry.content == "Tokens live 15 min"


def test_memory_md_elsewhere_is_found(tmp_path: Path) -> None:
    path = tmp_path / "workspace" / "MEMORY.md"
    path.parent.mkdir()
    memory = quiet(tmp_path / "home", "[briefing]", f'memory_file = "{path}"')
    tell(memory, "Send the form", type="task", status="open")
    memory.notes.brief()
    number = path.read_text().split("\n").index("## Pending") + 2
    for name in (f"MEMORY.md:{number}", f"{path}:{number}"):
        assert [one.content for one in memory.notes.why(name).entries] == ["Send the form"], name


@pytest.mark.parametrize("place", ["notes.md", "notes.md:", ":3", "notes.md:x", ""])
def test_what_is_no_place_is_refused_with_an_example(plain: Memory, place: str) -> None:
    with pytest.raises(WakebookError, match=r"notes\.md:12"):
        plain.notes.why(place)


def test_a_line_or_file_that_is_not_there(plain: Memory, tmp_path: Path) -> None:
    tell(plain, "one")
    plain.notes.update()
    for line in (0, 1000):
        with pytest.raises(NotFound, match="lines"):
            plain.notes.why(f"projects/auth/notes.md:{line}")
    outside = tmp_path / "secret.md"
    outside.write_text("secret\n")
    for name in ("none.md", str(outside), "../secret.md"):
        with pytest.raises(NotFound, match="no note or other text"):
            plain.notes.why(f"{name}:1")
    note(plain, "mine.md").write_bytes(b"\xff\xfe\n")
    with pytest.raises(WakebookError, match="UTF-8"):
        plain.notes.why("mine.md:1")
