"""Explorations: a branch and a home of its own, put away without losing anything."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests import homes
from tests.history.test_git import git, subjects
from tests.journeys.command import run, run_json
from wakebook import Memory
from wakebook.base.errors import GitError, NotFound

NOTE = "knowledge/people/ada.md"
GONE = "memory/before/explore-idea-gone"


@pytest.fixture(params=["own", "inside"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Memory:
    if request.param == "own":
        memory = homes.made(tmp_path / "home")
    else:
        outer = tmp_path / "outer"
        (outer / "src").mkdir(parents=True)
        git(outer, "init", "-q", "-b", "main")
        (outer / "src" / "code.py").write_text("1")
        git(outer, "add", "src")
        git(outer, "commit", "-qm", "code")
        memory = Memory(outer / "notes" / "home")
        memory.init()
    memory.history.commit()
    return memory


def explored(memory: Memory, name: str = "idea") -> Memory:
    return Memory(memory.history.explore(name).home)


def test_an_exploration_is_a_home_and_the_users_checkout_stays(memory: Memory) -> None:
    root = memory.home.root
    memory.remember("known before")  # not due: it waits
    settings = git(root, "config", "--list", "--local")
    there = explored(memory)
    assert git(root, "branch", "--show-current") == "main"
    assert git(root, "config", "--list", "--local") == settings
    assert [entry.content for entry in there.log.chains().entries] == ["known before"]
    there.remember("tried")
    (there.home.root / NOTE).write_text("Ada")
    there.history.commit("something else")
    assert subjects(there.home.root)[0] == "explore: something else"
    assert [entry.content for entry in memory.log.chains().entries] == ["known before"]
    assert git(root, "status", "--porcelain") == ""
    assert git(there.home.root, "status", "--porcelain") == ""


def test_only_the_home_is_checked_out(memory: Memory) -> None:
    there = explored(memory)
    top = Path(git(there.home.root, "rev-parse", "--show-toplevel"))
    assert not (top / "src").exists()
    there.remember("tried")
    there.history.commit()
    files = git(top, "ls-tree", "-r", "--name-only", "--full-tree", "HEAD").splitlines()
    outer = memory.history.git().required().top
    assert set(files) >= set(git(outer, "ls-files").splitlines())  # and nothing is removed


def test_calling_it_again_goes_on_with_it(memory: Memory) -> None:
    there = explored(memory)
    there.remember("tried")
    there.history.commit()
    again = memory.history.explore("idea")
    assert not again.new and again.home == str(there.home.root)
    shutil.rmtree(
        there.home.root if memory.history.git().required().own else there.home.root.parents[1]
    )
    [listed] = memory.history.explorations()
    assert listed.home == "" and listed.commits == 2
    assert [entry.content for entry in explored(memory).log.chains().entries] == ["tried"]


def test_dropping_one_loses_nothing(memory: Memory) -> None:
    there = explored(memory)
    (there.home.root / NOTE).write_text("Ada, not committed")
    gone = memory.history.drop("idea")
    assert gone.tag == GONE and gone.committed
    assert not there.home.root.exists()
    assert memory.history.explorations() == []
    assert git(memory.home.root, "branch", "--list", "explore/*") == ""
    assert git(memory.home.root, "show", f"{GONE}:./{NOTE}") == "Ada, not committed"
    assert git(memory.home.root, "worktree", "list").count("\n") == 0
    explored(memory)
    assert memory.history.drop("idea").tag == f"{GONE}-2"


def test_files_that_no_branch_would_keep_stop_it(memory: Memory) -> None:
    there = explored(memory)
    (there.home.root / "draft.txt").write_text("precious")
    with pytest.raises(GitError, match=r"draft\.txt"):
        memory.history.drop("idea")
    assert (there.home.root / "draft.txt").read_text() == "precious"
    assert len(memory.history.explorations()) == 1


def test_one_whose_folder_was_removed_can_be_dropped(memory: Memory) -> None:
    there = explored(memory)
    there.remember("tried")
    there.history.commit()
    shutil.rmtree(there.home.root)
    memory.history.drop("idea")
    assert "tried" in git(memory.home.root, "show", f"{GONE}:./log.jsonl")


def test_old_ones_are_put_away_and_young_ones_stay(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.history.explore("old")
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-14T08:00:00Z")
    memory.history.explore("young")  # from a commit as old as the other's
    assert memory.history.put_away(datetime(2026, 11, 16, 7, tzinfo=UTC)) == []
    [gone] = memory.history.put_away(datetime(2026, 11, 16, 9, tzinfo=UTC))
    assert gone.name == "old" and gone.tag == "memory/before/explore-old-gone"
    assert [one.name for one in memory.history.explorations()] == ["young"]


def test_one_that_cannot_be_put_away_is_told_of_and_kept(memory: Memory) -> None:
    there = explored(memory)
    (there.home.root / "draft.txt").write_text("precious")
    memory.history.explore("other")
    gone = memory.history.put_away(datetime(2027, 1, 1, tzinfo=UTC))
    assert [one.name for one in gone] == ["other"]
    assert any("draft.txt" in str(trace) for trace in memory.home.traces("failure"))
    assert there.home.root.is_dir()


def test_names(memory: Memory) -> None:
    assert memory.history.explore("Another way!").branch == "explore/Another-way"
    with pytest.raises(GitError, match="cannot be a name"):
        memory.history.explore("//")
    with pytest.raises(NotFound, match="There are: Another-way"):
        memory.history.drop("nothing")


def test_an_exploration_can_be_merged(memory: Memory) -> None:
    there = explored(memory)
    (there.home.root / NOTE).write_text("Ada")
    there.remember("tried")
    there.history.commit()
    (memory.home.root / "knowledge/people/bob.md").write_text("Bob")
    memory.history.commit()
    git(memory.home.root, "merge", "--quiet", "--no-edit", "explore/idea")
    assert (memory.home.root / NOTE).read_text() == "Ada"
    assert (memory.home.root / "knowledge/people/bob.md").read_text() == "Bob"
    assert [entry.content for entry in memory.log.chains().entries] == ["tried"]


def test_the_command_explore(memory: Memory) -> None:
    home = str(memory.home.root)
    assert "There is no exploration" in run("--home", home, "explore", "--list")
    said = run("--home", home, "explore", "idea")
    [one] = run_json("--home", home, "explore", "--list")
    assert f"wakebook --home {one['home']} …" in said
    assert "explore/idea" in said and "git -C" in said
    assert "idea" in run("--home", home, "explore")
    assert GONE in run("--home", home, "explore", "idea", "--drop")
    assert "which one" in run("--home", home, "explore", "--drop", code=2)


@pytest.mark.parametrize(
    "name", ["costs-of-the-trip.md", "trace-of-thought.md", "tmp/draft.md", "my.key", "costs/a.md"]
)
def test_files_that_only_look_like_ours_or_are_ignored_stop_it_too(
    memory: Memory, name: str
) -> None:
    there = explored(memory)
    path = there.home.root / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("precious")
    with pytest.raises(GitError, match=name):
        memory.history.drop("idea")
    assert memory.history.put_away(datetime(2027, 1, 1, tzinfo=UTC)) == []
    assert path.read_text() == "precious"
    path.unlink()
    assert memory.history.drop("idea").tag == GONE


def test_what_comes_back_by_itself_does_not_stop_it(memory: Memory) -> None:
    there = explored(memory)
    there.remember("tried")
    there.search("tried")
    there.wake()
    there.home.trace("failure", where="x", error="y")
    for name in ("costs/2026-11.jsonl", "trace.old.jsonl", "index.db-wal", "index.db.broken-1",
                 "knowledge/.wakebook-x.tmp", "state.json"):  # fmt: skip
        (there.home.root / name).parent.mkdir(exist_ok=True)
        (there.home.root / name).touch()
    assert memory.history.drop("idea").tag == GONE


def test_files_elsewhere_in_the_work_tree_stop_it(memory: Memory) -> None:
    there = explored(memory)
    top = Path(git(there.home.root, "rev-parse", "--show-toplevel"))
    (top / "elsewhere.txt").write_text("precious")
    with pytest.raises(GitError, match=r"elsewhere\.txt"):
        memory.history.drop("idea")


def test_a_change_of_a_file_that_is_not_ours_stops_it(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "own")
    memory.init()
    (memory.home.root / "code.py").write_text("1")
    git(memory.home.root, "add", "code.py")
    git(memory.home.root, "commit", "-qm", "code")
    there = explored(memory)
    (there.home.root / "code.py").write_text("2")
    with pytest.raises(GitError, match=r"code\.py"):
        memory.history.drop("idea")


def test_a_work_tree_of_the_users_that_is_away_is_not_forgotten(
    memory: Memory, tmp_path: Path
) -> None:
    """On a disk that is not mounted, say."""
    top = memory.history.git().required().top
    git(top, "worktree", "add", "--quiet", "--detach", str(tmp_path / "disk"))
    (tmp_path / "disk").rename(tmp_path / "unmounted")
    there = explored(memory)
    shutil.rmtree(there.home.root)
    memory.history.drop("idea")
    explored(memory)
    memory.history.drop("idea")
    assert str(tmp_path / "disk") in git(top, "worktree", "list", "--porcelain")
    (tmp_path / "unmounted").rename(tmp_path / "disk")
    assert git(tmp_path / "disk", "rev-parse", "HEAD")
