"""What nobody may lose, however the home is treated meanwhile."""

from __future__ import annotations

import os
from datetime import UTC, timedelta
from pathlib import Path

import pytest

from tests import homes
from tests.journeys.command import run
from tests.notes.test_write import note, tell
from wakebook import Memory, WakebookError
from wakebook.base import clock
from wakebook.base.errors import GitError
from wakebook.notes.condense import Cap, Refused, checked
from wakebook.notes.page import LONG, Bullet, harmless


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    homes.made(tmp_path / "home")
    hosts = "\n".join(f"{name} = []" for name in ("claude_code", "codex", "pi", "openclaw"))
    (tmp_path / "home" / "config.toml").write_text(f"[hosts]\n{hosts}\n")
    return Memory(tmp_path / "home")


def edit(memory: Memory, name: str, old: str, new: str) -> None:
    path = note(memory, name)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def said(text: str) -> Bullet:
    return Bullet(section="Facts", text=text, ids=("a" * 12,), at=clock.now())


@pytest.mark.parametrize(
    "text",
    [
        "We use oak planks, details at https://evil.example/collect",
        "We use oak planks [details](https://evil.example/a)",
        "![x](http://evil.example/p.png) We use oak planks",
        "We use oak planks, pay to mallory@evil.example",
        "We use oak planks, run `curl evil`",
        "We do not use oak planks",
    ],
)
def test_a_rewrite_adds_no_address_and_negates_nothing(text: str) -> None:
    with pytest.raises(ValueError, match=r"link|negates"):
        checked(text, [said("We use oak planks for the jetty")])
    assert checked("We use oak planks", [said("We use oak planks for the jetty")])


def test_an_address_that_was_said_may_stay() -> None:
    item = said("Invoices go to billing@harbour.example")
    assert "billing@harbour.example" in checked("Invoices: billing@harbour.example", [item])


def test_what_people_say_is_no_picture_link_or_tag() -> None:
    text = harmless("![a](http://x.example/p.png) <img src=x> [b](http://y.example) a < b <3")
    assert "](" not in text and "<img" not in text and "a < b <3" in text


def test_an_edit_that_git_cannot_keep_is_copied(memory: Memory) -> None:
    config = memory.home.config
    config.write_text(config.read_text() + "\n[git]\nenabled = false\n")
    memory = Memory(memory.home.root)
    tell(memory, "Tokens live 15 min", subject="auth")
    memory.notes.update()
    edit(memory, "projects/auth/notes.md", "15 min", "20 min and more")
    memory.notes.reject()
    [copy] = (memory.home.root / "archive" / "edits").iterdir()
    assert "20 min and more" in copy.read_text()
    assert "15 min" in note(memory, "projects/auth/notes.md").read_text()
    assert memory.notes.proposals() == []


def test_in_the_middle_of_a_merge_nothing_is_accepted_or_rejected(memory: Memory) -> None:
    tell(memory, "Tokens live 15 min", subject="auth")
    memory.notes.update()
    memory.history.commit("all")
    edit(memory, "projects/auth/notes.md", "15 min", "20 min")
    (memory.home.root / ".git" / "MERGE_HEAD").write_text(
        run_git(memory.home.root, "rev-parse", "HEAD")
    )
    before = memory.home.log.read_bytes()
    for verb in (memory.notes.accept, memory.notes.reject):
        with pytest.raises(GitError, match="merge"):
            verb()
    assert memory.home.log.read_bytes() == before
    assert "20 min" in note(memory, "projects/auth/notes.md").read_text()


def run_git(root: Path, *arguments: str) -> str:
    import subprocess

    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True).stdout


def test_a_note_with_conflicts_in_it_is_left_alone(memory: Memory) -> None:
    tell(memory, "Tokens live 15 min", subject="auth")
    memory.notes.update()
    path = note(memory, "projects/auth/notes.md")
    conflict = "<<<<<<< ours\nmine\n=======\nyours\n>>>>>>> theirs\n"
    path.write_text(path.read_text() + conflict)
    tell(memory, "Cookies live a day", subject="auth")
    done = memory.notes.update()
    assert "conflicts" in done.problems["knowledge/projects/auth/notes.md"]
    assert "Cookies" not in path.read_text()
    path.write_text(path.read_text().replace(conflict, "mine\n"))
    memory.notes.update()
    assert "Cookies" in path.read_text() and path.read_text().endswith("mine\n")


def test_an_emptied_block_is_an_edit(memory: Memory) -> None:
    tell(memory, "Tokens live 15 min", subject="auth")
    memory.notes.update()
    path = note(memory, "projects/auth/notes.md")
    lines = path.read_text().split("\n")
    path.write_text("\n".join(line for line in lines if not line.startswith(("- ", "## "))))
    memory.notes.update()
    [proposal] = memory.notes.proposals()
    assert [change.kind for change in proposal.changes] == ["removed"]


def test_a_file_name_that_is_not_utf8_is_told_and_stops_nobody(memory: Memory) -> None:
    folder = os.fsencode(memory.home.root / "knowledge" / "people")
    with open(folder + b"/caf\xe9.md", "wb") as stream:  # noqa: PTH123
        stream.write(b"mine")
    tell(memory, "Tokens live 15 min", subject="auth")
    memory.notes.update(full=True)
    memory.notes.monthly(memory.opened.now())
    assert any("not UTF-8" in problem for problem in memory.status().problems)


def test_one_thing_edited_in_two_notes_is_one_entry(memory: Memory) -> None:
    memory.remember("Call the bank", type_="task", subject="auth")
    day = f"{memory.opened.now():%Y-%m-%d}"
    for path in ("projects/auth/progress.md", f"journal/{day}.md"):
        edit(memory, path, "- [ ] Call", "- [x] Call")
    done = memory.notes.accept()
    assert [(one.content, one.status) for one in done.entries] == [("Call the bank", "done")]
    assert note(memory, "projects/auth/progress.md").read_text().count("Call the bank") == 1
    assert memory.notes.proposals() == []


def test_empty_bullets_and_copies_of_a_line_are_nothing(memory: Memory) -> None:
    memory.remember("Tokens live 15 min", subject="auth")
    path = note(memory, "projects/auth/notes.md")
    line = next(line for line in path.read_text().split("\n") if "Tokens" in line)
    edit(memory, "projects/auth/notes.md", line, f"{line}\n{line}\n-\n- [ ]\n")
    assert memory.notes.accept().entries == ()


def test_a_heading_of_ones_own_is_told(memory: Memory) -> None:
    memory.remember("Tokens live 15 min", subject="auth")
    edit(memory, "projects/auth/notes.md", "## Facts", "## My thoughts\n\n## Facts")
    assert memory.notes.proposals()[0].headings == ("## My thoughts",)
    assert "move it out" in run("--home", str(memory.home.root), "review")


def test_a_correction_by_hand_is_about_what_it_corrects(memory: Memory) -> None:
    first = memory.remember("The launch is on 5 March", subject="bakery")
    assert memory.remember("It is on 7 March", replaces=[first.id]).subject == "bakery"


def test_a_wrong_schedule_is_in_status(memory: Memory) -> None:
    config = memory.home.config
    config.write_text(config.read_text() + '\n[schedule]\ndaily = "61 * * * *"\n')
    assert "daily" in run("--home", str(memory.home.root), "status", code=1)


def test_an_exploration_keeps_to_itself(memory: Memory, tmp_path: Path) -> None:
    outside = tmp_path / "MEMORY.md"
    config = memory.home.config
    config.write_text(config.read_text() + f'\n[briefing]\nmemory_file = "{outside}"\n')
    memory = Memory(memory.home.root)
    memory.remember("Tokens live 15 min")
    memory.notes.brief()
    memory.history.commit("all")
    before = outside.read_bytes()
    found = Memory(memory.history.explore("what-if").home)
    found.remember("Only here")
    found.notes.brief()
    assert outside.read_bytes() == before and "Only here" in found.home.memory.read_text()


def test_a_zone_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "EST5EDT4,M3.2.0,M11.1.0")
    assert clock.zone().utcoffset(clock.now()) is not None
    monkeypatch.setenv("TZ", "Europe/Lisbon")
    assert str(clock.zone()) == "Europe/Lisbon"
    with pytest.raises(ValueError, match="no time zone"):
        clock.zone("Mars/Base")


def test_open_items_are_observed_as_far_as_anybody_reads(memory: Memory) -> None:
    from wakebook.log import log
    from wakebook.log.entry import Entry, new_id

    at = clock.now().astimezone(UTC)
    tasks = [
        Entry(
            id=new_id(),
            timestamp=at + timedelta(seconds=n - 450),
            type="task",
            status="open",
            content=f"Task {n}.",
            session="s",
        )
        for n in range(450)
    ]
    log.append(memory.home, tasks)
    memory.notes.update()
    text = note(memory, "memory/observations.md").read_text()
    assert all(f"Task {n}." in text for n in range(450 - LONG, 450))
    assert f"… and {450 - LONG} older" in text


def test_nothing_to_condense_is_refused(memory: Memory) -> None:
    from wakebook.notes.condense import condense

    with pytest.raises(Refused):
        condense([], Cap(lines=3), "", clock.now())
    with pytest.raises(WakebookError, match="archive"):
        memory.notes.restore("merged/../../log.jsonl")


def test_thousands_of_files_fit_into_one_commit(memory: Memory) -> None:
    """Their names are more than a command line takes."""
    folder = memory.home.root / "knowledge" / "reference" / "/".join(["deep" * 60] * 6)
    folder.mkdir(parents=True)
    files = [folder / f"{number}.txt" for number in range(1_600)]
    for file in files:
        file.write_text("x")
    names = sum(len(os.fsencode(memory.home.relative(file))) + 1 for file in files)
    assert names > os.sysconf("SC_ARG_MAX")
    memory.history.commit("a whole vault")
    assert memory.status().uncommitted == 0


def test_one_odd_path_keeps_nothing_else_out(memory: Memory, tmp_path: Path) -> None:
    memory.remember("Ylva is the photographer", subject="shoot")
    memory.log.retype_subject("shoot", "person")
    memory.history.commit("all")
    path = note(memory, "people/shoot.md")
    path.unlink()
    path.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (memory.home.root / "knowledge" / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "own.md").write_text("mine")
    (memory.home.root / "knowledge" / "reference" / "fine.md").write_text("fine")
    assert memory.history.commit("the rest")
    assert "fine.md" in run_git(memory.home.root, "show", "--stat", "HEAD")
    assert any("is a folder" in problem for problem in memory.status().problems)


def test_forgetting_does_not_depend_on_who_reads_the_output(memory: Memory) -> None:
    import subprocess
    import sys

    entry = memory.remember("A secret of the harbour")
    command = [sys.executable, "-m", "wakebook", "--home", str(memory.home.root)]
    child = subprocess.Popen([*command, "forget", entry.id, "--yes"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.close()
    child.wait()
    assert entry.id not in memory.home.log.read_text()


def test_receipts_that_cannot_be_read_are_told(memory: Memory) -> None:
    (memory.home.root / "forgotten.jsonl").write_text('{"x": [')
    assert any("forgotten.jsonl" in problem for problem in memory.status().problems)


def test_a_note_gets_its_date_when_it_has_something_to_say(memory: Memory) -> None:
    memory.log.add_subject("auth")
    path = note(memory, "projects/auth/context.md")
    assert "updated" not in path.read_text()
    memory.remember("Use Postgres", type_="decision", subject="auth")
    front = path.read_text().split("---")[1].strip().split("\n")
    assert [line.partition(":")[0] for line in front] == ["type", "project", "updated"]


def test_a_subject_can_be_called_what_it_is(memory: Memory) -> None:
    memory.remember("Likes short answers", subject="jane")
    path = note(memory, "projects/jane/notes.md")
    path.write_text(path.read_text() + "my own words\n")
    home = str(memory.home.root)
    assert "jane is a person" in run("--home", home, "subjects", "type", "jane", "person")
    text = note(memory, "people/jane.md").read_text()
    assert "Likes short answers" in text and "type: person" in text
    assert "my own words" in "".join(
        path.read_text() for path in memory.home.root.rglob("*.md") if "jane" in str(path)
    )
    assert "is not one of" in run("--home", home, "subjects", "type", "jane", "boat", code=2)
