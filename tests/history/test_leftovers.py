"""A git that was killed: nothing of the user's is staged, no lock stays, no rebuild is stuck."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.crash import run_and_die
from tests.history.test_git import git
from tests.history.test_githooks import commit
from tests.story import WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base.errors import GitError
from wakebook.history import leftovers
from wakebook.history.repository import Repository

SECRETS = (".env", "secrets/id.key")
LOCKS = ["index.lock", "HEAD.lock", "refs/heads/main.lock", "packed-refs.lock"]


@pytest.fixture(params=["own", "around"])
def home(request: pytest.FixtureRequest, tmp_path: Path, memory: Memory) -> Memory:
    """With files that .gitignore names; the home's own repository, or a project around it."""
    top = memory.home.root
    if request.param == "around":
        top = tmp_path / "work"
        top.mkdir()
        git(top, "init", "-q", "-b", "main")
        (top / ".gitignore").write_text(".env\nsecrets/\n")
        memory = Memory(top / "notes")
        memory.init()
    for name in SECRETS:
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text("KEY=1\n")
    return memory


def top(memory: Memory) -> Path:
    found = Repository.find(memory.home.root)
    assert found is not None
    return found.top


def staged(memory: Memory) -> list[str]:
    return git(top(memory), "diff", "--cached", "--name-only", "--diff-filter=A").splitlines()


def everything(memory: Memory) -> None:
    """What a `git add` did whose list of names never came."""
    add = ["git", "add", "--all", "--force", "--pathspec-from-file=-", "--pathspec-file-nul"]
    subprocess.run(add, cwd=memory.home.root, stdin=subprocess.DEVNULL, check=True)


def private(names: list[str]) -> list[str]:
    return [name for name in names if name.endswith((*SECRETS, "token", "state.json", ".lock"))]


def test_killed_at_every_step_of_a_commit_stages_nothing_else(home: Memory) -> None:
    step = 0
    while True:
        step += 1
        home.remember(f"Number {step}.")
        died = run_and_die(lambda: Memory(home.home.root).history.commit(), step, orphans=True)
        assert private(staged(home)) == [], f"after dying at step {step}"
        if not died:
            break
        for lock in leftovers.locks(_repository(home)):  # as if some time had passed
            os.utime(lock, (0, 0))
            lock.unlink() if top(home) != home.home.root else None
    assert step > 4  # otherwise nothing was counted
    assert git(home.home.root, "show", "HEAD:./log.jsonl").count("Number") == step


def _repository(memory: Memory) -> Repository:
    found = Repository.find(memory.home.root)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "command",
    [
        ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"],
        ["commit", "--message", "x", "--only", "--pathspec-from-file=-", "--pathspec-file-nul"],
    ],
)
def test_without_its_names_a_command_of_ours_does_nothing(
    memory: Memory, command: list[str]
) -> None:
    """Those that `commit` runs, with nothing on their input."""
    (memory.home.root / ".env").write_text("KEY=1\n")
    memory.remember("One.")
    before = git(memory.home.root, "rev-parse", "HEAD")
    subprocess.run(["git", *command], cwd=memory.home.root, stdin=subprocess.DEVNULL)
    assert staged(memory) == [] and git(memory.home.root, "rev-parse", "HEAD") == before
    _repository(memory).unstage([])


def test_a_home_that_was_left_with_everything_staged_is_healed(home: Memory) -> None:
    (top(home) / "draft.txt").write_text("Mine.\n")
    everything(home)
    assert len(private(staged(home))) >= 3
    home.remember("One.")
    home.history.commit()
    assert private(staged(home)) == []
    assert "draft.txt" in staged(home)  # whose doing that was cannot be known
    assert (top(home) / ".env").exists()
    assert private(git(top(home), "ls-tree", "-r", "--name-only", "HEAD").splitlines()) == []


def test_a_forced_file_of_yours_stays_staged(memory: Memory) -> None:
    (memory.home.root / ".env").write_text("KEY=1\n")
    git(memory.home.root, "add", "--force", ".env")
    memory.remember("One.")
    memory.history.commit()
    assert staged(memory) == [".env"]


@pytest.mark.parametrize("names", [["token"], [".env"], ["secrets/id.key", "knowledge/über.key"]])
def test_the_hook_refuses_private_files(memory: Memory, names: list[str]) -> None:
    root = memory.home.root
    for name in names:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("x\n")
    git(root, "add", "--force", *names)
    said = commit(root, code=1)
    assert all(name in said for name in names) and "git restore --staged" in said
    git(root, "restore", "--staged", *names)
    (root / "fine.txt").write_text("x\n")
    git(root, "add", "fine.txt")
    commit(root)


def test_a_private_file_in_the_history_is_seen_in_status(memory: Memory) -> None:
    git(memory.home.root, "add", "--force", "token")
    commit(memory.home.root, "--no-verify")
    [said] = [one for one in memory.status().problems if "in git's history" in one]
    assert said.startswith("token: private") and "rm --cached" in said


# --- locks -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_that_no_git_holds_goes(memory: Memory, name: str) -> None:
    lock = memory.home.root / ".git" / name
    lock.write_text("")
    minute_ago = time.time() - 60
    os.utime(lock, (minute_ago, minute_ago))
    memory.remember("One.")
    memory.history.commit()
    assert not lock.exists()
    assert "One." in git(memory.home.root, "show", "HEAD:log.jsonl")


def test_a_lock_stops_no_other_command_of_ours(memory: Memory) -> None:
    """A merge of a rebuild moves HEAD by itself."""
    repository = _repository(memory)
    lock = memory.home.root / ".git" / "HEAD.lock"
    lock.write_text("")
    os.utime(lock, (0, 0))
    head = repository.head()
    repository.git("update-ref", "-m", "the same", "HEAD", head, head)
    assert not lock.exists()


def test_a_lock_of_a_git_that_is_at_work_stays_and_is_named(memory: Memory) -> None:
    root = memory.home.root
    lock = root / ".git" / "HEAD.lock"
    lock.write_text("")
    os.utime(lock, (0, 0))
    with subprocess.Popen(["git", "cat-file", "--batch"], cwd=root, stdin=subprocess.PIPE) as busy:
        memory.remember("One.")
        memory.history.git().log("one")  # the failure is traced, and stops nothing
        said = [one for one in memory.status().problems if "at work there" in one]
        busy.communicate()
    assert lock.exists()
    assert f"process {busy.pid}" in said[0] and str(lock) in said[0]
    memory.history.commit()
    assert not lock.exists()


def test_in_a_repository_of_yours_a_lock_is_named_and_stays(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q", "-b", "main")
    memory = Memory(work / "notes")
    memory.init()
    lock = work / ".git" / "HEAD.lock"
    lock.write_text("")
    os.utime(lock, (0, 0))
    memory.remember("One.")
    memory.history.git().log("one")
    assert lock.exists()
    assert any(f"rm {lock}" in problem for problem in memory.status().problems)


@pytest.mark.parametrize("name", ["e6/tmp_obj_Xyz123", "pack/tmp_pack_7", "pack/pack-e6.pack"])
def test_half_written_objects_are_removed(memory: Memory, name: str) -> None:
    left = memory.home.root / ".git" / "objects" / name
    left.parent.mkdir(exist_ok=True)
    left.write_bytes(b"half")
    os.utime(left, (0, 0))
    memory.remember("One.")
    memory.history.commit()
    assert not left.exists()


@pytest.mark.parametrize("head", [None, "", "0" * 20, "0" * 40 + "\n"])
def test_a_work_tree_that_git_was_killed_while_adding_goes(
    memory: Memory, tmp_path: Path, head: str | None
) -> None:
    root = memory.home.root
    git(root, "worktree", "add", "-q", "--lock", "-b", "mine", str(tmp_path / "mine"))
    half = root / ".git" / "worktrees" / "again"
    half.mkdir()
    (half / "locked").write_text("initializing\n")
    (half / "gitdir").write_text(str(root)[:5])
    if head is not None:
        (half / "HEAD").write_text(head)
    memory.remember("One.")
    memory.history.commit()
    assert not half.exists()
    assert "mine" in git(root, "worktree", "list")
    git(root, "fsck")


# --- rebuilds ----------------------------------------------------------------------------
@pytest.mark.parametrize("end", ["merge", "drop"])
def test_a_work_tree_whose_removal_was_killed_can_go(
    memory: Memory, projects: Path, end: str
) -> None:
    chat(Claude(projects), WORKDAY)
    memory.catch_up(closing=True)
    memory.rebuilds.build(branch="again")
    folder = memory.home.cache / "rebuild" / "again"
    if end == "merge":  # killed right before the branch was removed
        site = memory.rebuilds._site("again")
        site.tag(site.before_tag)
        site.tag(site.merged_tag)
    (folder / ".git").unlink()
    memory.rebuilds.merge("again") if end == "merge" else memory.rebuilds.drop("again")
    assert not folder.exists() and memory.rebuilds.listed() == []
    assert "again" not in git(memory.home.root, "worktree", "list")


def test_a_repository_further_out_does_not_take_the_place_of_one_that_is_gone(
    tmp_path: Path, memory: Memory
) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "mine.txt").write_text("Mine.\n")
    git(tmp_path, "add", "mine.txt")
    git(tmp_path, "commit", "-q", "-m", "mine")
    root = memory.home.root
    assert root.is_relative_to(tmp_path)
    memory.remember("One.")
    memory.history.commit()
    shutil.rmtree(root / ".git")
    later = Memory(root)
    later.remember("Two.")
    later.catch_up()
    assert any("has no git repository" in one for one in later.status().problems)
    with pytest.raises(GitError, match="not a repository"):
        later.history.commit()
    assert git(tmp_path, "ls-tree", "-r", "--name-only", "HEAD").split() == ["mine.txt"]
    later.init()
    assert (root / ".git").is_dir() and not Memory(root).status().problems
    assert git(tmp_path, "ls-tree", "-r", "--name-only", "HEAD").split() == ["mine.txt"]
