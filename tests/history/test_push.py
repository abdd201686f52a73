"""Pushing: to a bare repository on this disk, with failures that nobody has to wait for."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.history.test_git import git
from tests.journeys.command import run
from wakebook import Memory
from wakebook.base import clock
from wakebook.history import push


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    bare = tmp_path / "remote.git"
    bare.mkdir()
    git(bare, "init", "-q", "--bare", "-b", "main")
    return bare


@pytest.fixture
def memory(memory: Memory, remote: Path) -> Memory:
    """With a remote, and a history that was never pushed."""
    memory.history.commit()
    git(memory.home.root, "remote", "add", "origin", str(remote))
    memory.home.config.write_text('[git]\npush = "origin"\n')
    return Memory(memory.home.root)


def head(folder: Path) -> str:
    return git(folder, "rev-parse", "--verify", "-q", "refs/heads/main")


def test_branch_and_tags_arrive_and_nothing_is_pushed_twice(memory: Memory, remote: Path) -> None:
    git(memory.home.root, "tag", "memory/milestone/one")
    git(memory.home.root, "tag", "private")
    pushed = memory.history.push()
    assert pushed and pushed.at and not pushed.error
    assert head(remote) == head(memory.home.root)
    assert git(remote, "tag") == "memory/milestone/one"
    history = memory.history.git()
    repository = history.required()
    assert not push.due(memory.home, memory.config, repository, clock.now())
    git(memory.home.root, "tag", "memory/milestone/two")
    assert push.due(memory.home, memory.config, repository, clock.now())
    assert memory.history.push() and "memory/milestone/two" in git(remote, "tag")


def test_a_commit_starts_it_and_does_not_wait(memory: Memory, remote: Path) -> None:
    memory.remember("one")
    memory.history.commit("settings")
    limit = clock.monotonic() + 60
    while not push.load(memory.home).at and clock.monotonic() < limit:
        clock.sleep(0.1)
    assert head(remote) == head(memory.home.root)


def test_failures_back_off_and_are_shown_until_one_works(
    memory: Memory, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = remote.rename(remote.with_name("away.git"))
    repository = memory.history.git().required()
    now = clock.now()
    pauses: list[float] = []
    for _ in range(8):
        failed = push.push(memory.home, memory.config, repository, now)
        assert failed.again_at is not None
        pauses.append((failed.again_at - now) / timedelta(minutes=1))
        early = failed.again_at - timedelta(seconds=1)
        assert not push.due(memory.home, memory.config, repository, early)
        assert not push.start(memory.home, memory.config, repository, early)
        now = failed.again_at
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    [problem] = memory.history.git().problems()
    assert "pushing to origin failed 8 times since 2026-11-09 08:00" in problem
    assert "remote.git" in problem
    assert len(memory.home.traces("push")) == 1  # the same reason is traced once
    away.rename(remote)
    assert push.push(memory.home, memory.config, repository, now).at == now
    assert memory.history.git().problems() == [] and head(remote) == head(memory.home.root)


def test_a_clock_that_goes_back_does_not_stop_it(memory: Memory) -> None:
    git(memory.home.root, "remote", "remove", "origin")
    assert (failed := memory.history.push()) and failed.failures == 1
    repository = memory.history.git().required()
    assert push.due(
        memory.home, memory.config, repository, datetime.fromisoformat("2020-01-01T00:00Z")
    )


def test_a_history_that_went_another_way_is_not_overwritten(
    memory: Memory, remote: Path, tmp_path: Path
) -> None:
    memory.history.push()
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(remote), str(other))
    git(other, "commit", "-q", "--allow-empty", "-m", "theirs")
    git(other, "push", "-q")
    theirs = head(remote)
    memory.remember("one")
    assert memory.history.git().required().commit("memory", "one", [memory.home.log])
    assert (failed := memory.history.push()) and "rejected" in failed.error
    assert head(remote) == theirs


def test_on_no_branch_it_says_so(memory: Memory) -> None:
    git(memory.home.root, "checkout", "-q", "--detach")
    assert (failed := memory.history.push()) and "detached HEAD" in failed.error


def test_without_a_remote_in_the_settings_nothing_is_pushed(memory: Memory, remote: Path) -> None:
    memory.home.config.write_text("")
    quiet = Memory(memory.home.root)
    quiet.remember("one")
    quiet.history.commit()
    pushed = quiet.history.push()
    assert pushed and pushed.at is None and git(remote, "branch") == ""


def test_a_home_in_the_users_repository_is_not_pushed(tmp_path: Path, remote: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q", "-b", "main")
    git(work, "remote", "add", "origin", str(remote))
    memory = Memory(work / "home")
    memory.init()
    memory.home.config.write_text('[git]\npush = "origin"\n')
    memory = Memory(work / "home")
    memory.history.commit()
    memory.history.push()
    assert git(remote, "branch") == ""
    assert any("yours to push" in problem for problem in memory.history.git().problems())


def test_the_hidden_command_is_not_listed(memory: Memory, remote: Path) -> None:
    assert "git-hook" not in run("--help")
    run("--home", str(memory.home.root), "git-hook", "push")
    assert head(remote) == head(memory.home.root)


def test_what_the_last_push_left_is_no_obstacle_when_it_is_broken(memory: Memory) -> None:
    memory.home.folder(memory.home.cache)
    (memory.home.cache / "push.json").write_text("{")
    assert push.load(memory.home) == push.Pushed()
    assert (pushed := memory.history.push()) and pushed.at
