"""Which project a conversation belongs to: by git remote, root commit or folder."""

from __future__ import annotations

import subprocess
from pathlib import Path
from uuid import uuid4

import pytest

from wakebook import Memory, WakebookError
from wakebook.capture import project
from wakebook.capture.project import Projects, agent_of, load, noted


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=Mira", "-c", "user.email=mira@example.org", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def repository(folder: Path, remote: str = "") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", f"Begin {folder.name} {uuid4()}")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


@pytest.mark.parametrize(
    "url",
    [
        "git@example.org:acme/heron.git",
        "https://mira:secret@example.org/acme/heron.git",
        "ssh://git@example.org:2222/acme/heron",
        "https://EXAMPLE.org/acme/heron/",
    ],
)
def test_a_remote_is_the_same_whatever_the_way_to_it(tmp_path: Path, url: str) -> None:
    folder = repository(tmp_path / "code" / "heron", url)
    assert next(project.marks(str(folder))) == "example.org/acme/heron"
    assert next(project.marks(str(folder / "src" / "deep"))) == "example.org/acme/heron"


def test_a_moved_repository_and_its_worktrees_are_one_project(
    memory: Memory, tmp_path: Path
) -> None:
    first = repository(tmp_path / "code" / "heron")
    key = noted(memory.home, str(first))
    assert key.startswith("git:")
    git(first, "worktree", "add", "-q", "-b", "try", str(tmp_path / "elsewhere" / "try"))
    assert noted(memory.home, str(tmp_path / "elsewhere" / "try")) == key
    assert noted(memory.home, str(first / ".claude" / "worktrees" / "deleted-by-now")) == key
    moved = first.rename(tmp_path / "code" / "grey-heron")
    assert noted(memory.home, str(moved)) == key
    assert load(memory.home).name(key) == "heron"


def test_a_remote_that_comes_later_is_a_mark_of_the_same_project(
    memory: Memory, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "code" / "heron")
    key = noted(memory.home, str(folder))
    git(folder, "remote", "add", "origin", "git@example.org:acme/heron.git")
    assert noted(memory.home, str(folder)) == key
    clone = repository(tmp_path / "clone", "https://example.org/acme/heron")
    assert noted(memory.home, str(clone)) == key


def test_a_fork_and_another_repository_in_the_same_place_are_others(
    memory: Memory, tmp_path: Path
) -> None:
    origin = repository(tmp_path / "code" / "heron", "git@example.org:acme/heron.git")
    key = noted(memory.home, str(origin))
    git(tmp_path, "clone", "-q", str(origin), "fork")
    git(tmp_path / "fork", "remote", "set-url", "origin", "git@example.org:mira/heron.git")
    assert noted(memory.home, str(tmp_path / "fork")) == "example.org/mira/heron"
    origin.rename(tmp_path / "old")
    other = repository(tmp_path / "code" / "heron")
    assert noted(memory.home, str(other)) not in ("", key)


def test_a_folder_that_was_deleted_is_known_by_where_it_was(memory: Memory, tmp_path: Path) -> None:
    folder = repository(tmp_path / "code" / "heron")
    key = noted(memory.home, str(folder))
    folder.rename(tmp_path / "gone")
    assert noted(memory.home, str(folder)) == key


@pytest.mark.parametrize(
    "folder",
    ["", "/", "/home/mira", "/Users/mira", "/tmp", "~", "~/Downloads", "~/.openclaw/workspace"],
)
def test_folders_that_say_nothing_are_no_project(folder: str) -> None:
    assert Projects({}).of(folder.replace("~", str(Path.home()))) == ""


def test_a_plain_folder_is_a_project_by_its_path() -> None:
    assert Projects({}).of("/home/mira/tidepool") == "/home/mira/tidepool"
    assert Projects({}).of("/home/mira/home/garden") == "/home/mira/home/garden"
    assert Projects({}).of(str(Path.home() / "notes-of-a-trip")) == "~/notes-of-a-trip"


def test_an_agent_of_openclaw_is_a_project_of_its_own(memory: Memory) -> None:
    assert [agent_of(key) for key in ("agent:main:main", "agent:work:main", "x", "")] == [
        *("", "work", "", "")
    ]
    assert noted(memory.home, "/home/mira/tidepool", "work") == "agent:work"


def test_a_person_names_a_project_by_name_folder_or_key(memory: Memory, tmp_path: Path) -> None:
    one = noted(memory.home, "/home/mira/tidepool")
    noted(memory.home, "/home/mira/a/lagoon")
    noted(memory.home, "/home/mira/b/lagoon")
    known = load(memory.home)
    assert known.find("Tidepool") == known.find("/home/mira/tidepool/") == one
    assert known.find("/home/mira/b/lagoon") == "/home/mira/b/lagoon"
    with pytest.raises(WakebookError, match="fits 2 projects"):
        known.find("lagoon")
    with pytest.raises(WakebookError, match=r"knows no project .*\. It knows lagoon, tidepoo"):
        known.find("tidepol")


def test_a_broken_registry_says_what_to_do(memory: Memory) -> None:
    memory.home.projects.write_text("{")
    with pytest.raises(WakebookError, match=r"projects\.json: cannot be read .* or delete it"):
        load(memory.home)


def test_transcripts_entries_and_the_index_say_the_project(knowing: Memory) -> None:
    key = "/home/mira/tidepool"
    entries = [one for one in knowing.opened.chains().entries if one.transcript]
    assert entries
    assert {one.project for one in entries} == {key}
    [text] = [path.read_text() for path in knowing.home.conversations.glob("*/*/*/*.md")]
    assert f"project: {key}" in text
    with knowing.index.store.reading():
        rows = knowing.index.store.db.execute("SELECT project FROM chunk WHERE turn").fetchall()
    assert {row[0] for row in rows} == {key}


def test_a_project_can_be_off_or_read_only(memory: Memory, claude: object) -> None:
    text = memory.home.config.read_text()
    for mode in ("off", "read-only"):
        line = f'[projects]\n"/home/mira/tidepool" = "{mode}"\n'
        memory.home.config.write_text(text.replace("[projects]\n", line))
        done = Memory(memory.home.root).catch_up(closing=True)
        assert list(done.skipped.values()) == [f"project {mode}"]
        assert not list(memory.home.conversations.glob("*/*/*/*.md"))
    # by its name, of which nothing was captured yet
    memory.home.config.write_text(text.replace("[projects]\n", '[projects]\ntidepool = "off"\n'))
    named = Memory(memory.home.root)
    assert list(named.catch_up(closing=True).skipped.values()) == ["project off"]
    assert named.opened.is_off("/home/mira/tidepool")
    assert not named.opened.is_off("/home/mira/lagoon")
    memory.home.config.write_text(text.replace("[projects]\n", '[projects]\ntidepool = "of"\n'))
    with pytest.raises(WakebookError, match=r"\[projects\] 'tidepool' is 'of'; write one of 'off'"):
        Memory(memory.home.root).catch_up()
