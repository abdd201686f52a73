from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.story import WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base.errors import GitError
from wakebook.history.repository import Repository


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=Mira", "-c", "user.email=m@x", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def subjects(folder: Path) -> list[str]:
    return git(folder, "log", "--format=%s").splitlines()


def test_a_closed_conversation_is_committed_at_once_with_its_session(
    memory: Memory, projects: Path
) -> None:
    memory.history.commit()
    chat(Claude(projects), WORKDAY)
    [path] = memory.catch_up().closed
    body = git(memory.home.root, "log", "--grep=^conversation", "--format=%s%n%b")
    assert body.startswith("conversation: Good morning! Let's go with Postgres")
    assert f"Session: {path}" in body
    assert path not in git(memory.home.root, "status", "--porcelain")


def test_other_changes_wait_for_their_batch(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.history.commit()
    before = len(subjects(memory.home.root))
    memory.remember("one")
    assert len(subjects(memory.home.root)) == before
    assert memory.home.log in memory.history.git().waiting()
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T08:31:00Z")
    memory.remember("two")
    assert subjects(memory.home.root)[0].startswith("memory: ")
    assert "two" in git(memory.home.root, "show", "HEAD:log.jsonl")
    memory.remember("three")
    assert memory.history.commit("by hand")
    assert subjects(memory.home.root)[0] == "memory: by hand"
    assert memory.history.commit() is None


def test_a_clock_that_goes_back_does_not_stop_the_batches(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.history.commit()
    monkeypatch.setenv("WAKEBOOK_NOW", "2020-01-01T00:00:00Z")
    memory.remember("one")
    assert memory.status().uncommitted == 0


def test_identity_changes_are_named_so(memory: Memory) -> None:
    memory.history.commit()
    (memory.home.root / "knowledge/identity/SOUL.md").write_text("I am Silas.")
    memory.history.commit()
    assert subjects(memory.home.root)[0] == "identity: SOUL.md"


def test_the_users_words_are_committed_before_the_briefing_touches_their_file(
    memory: Memory,
) -> None:
    memory.history.commit()
    memory.remember("Deploy to lagoon", type_="task")
    text = memory.home.memory.read_text().replace("# Core Memory\n", "# Core Memory\n- ship it\n")
    memory.home.memory.write_text(text)
    memory.notes.brief()
    assert subjects(memory.home.root)[0] == "memory: MEMORY.md as it was"
    assert "- ship it" in git(memory.home.root, "show", "HEAD:knowledge/memory/MEMORY.md")


def test_an_open_transcript_is_not_committed(memory: Memory, projects: Path) -> None:
    from datetime import UTC, datetime

    claude = Claude(projects)
    claude.at = datetime(2026, 11, 9, 7, 50, tzinfo=UTC)
    claude.user("hello there, let's go with Postgres")
    memory.catch_up()
    memory.history.commit()
    assert git(memory.home.root, "ls-files", "raw") == ""


def test_a_home_in_the_users_repository_leaves_their_index_alone(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q", "-b", "main")
    (work / "code.py").write_text("1")
    git(work, "add", "code.py")
    memory = Memory(work / "notes" / "memory")
    made = memory.init()
    assert any("lies in your repository" in note for note in made.notes)
    assert not (memory.home.root / ".git").exists()
    memory.remember("one")
    memory.history.commit()
    assert git(work, "status", "--porcelain") == "A  code.py"
    assert "notes/memory/log.jsonl" in git(work, "ls-files")
    assert "in your repository" in memory.status().git


def test_without_git_everything_works_and_says_so(
    tmp_path: Path, projects: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    memory = Memory(tmp_path / "home")
    made = memory.init()
    assert any("git is not installed" in note for note in made.notes)
    chat(Claude(projects), WORKDAY)
    assert memory.catch_up().entries > 0
    with pytest.raises(GitError, match="not installed"):
        memory.history.commit()
    assert "not installed" in memory.status().git
    memory.notes.brief()


def test_git_switched_off(memory: Memory, projects: Path) -> None:
    memory.home.config.write_text("[git]\nenabled = false\n")
    before = subjects(memory.home.root)
    chat(Claude(projects), WORKDAY)
    memory.catch_up()
    assert subjects(memory.home.root) == before
    assert "switched off" in memory.status().git


def test_a_git_that_refuses_stops_nothing_and_is_seen_in_status(
    memory: Memory, projects: Path
) -> None:
    lock = memory.home.root / ".git" / "index.lock"
    lock.write_text("")
    chat(Claude(projects), WORKDAY)
    assert memory.catch_up().entries > 0
    assert any("index.lock" in problem for problem in memory.status().problems)
    lock.unlink()
    memory.catch_up()  # the leftovers are committed by the next sweep
    assert any(subject.startswith("conversation:") for subject in subjects(memory.home.root))


def test_a_hook_of_another_repository_does_not_redirect_us(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
    memory.history.commit()
    memory.remember("one")
    assert memory.history.commit()
    found = Repository.find(memory.home.root)
    assert found is not None and found.own
    assert os.environ["GIT_DIR"] == str(other / ".git")


def test_a_repository_that_was_there_keeps_its_own_files_to_itself(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q", "-b", "main")
    (work / "code.py").write_text("1")
    (work / "staged.py").write_text("2")
    git(work, "add", "staged.py")
    memory = Memory(work)
    assert any("a repository already" in note for note in memory.init().notes)
    memory.remember("one")
    memory.history.commit()
    assert git(work, "status", "--porcelain").splitlines() == ["A  staged.py", "?? code.py"]


def test_a_git_that_refuses_the_first_commit_is_a_note_and_leaves_no_trace(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / ".git-hooks").mkdir(parents=True)
    git(work, "init", "-q", "-b", "main")
    hook = work / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho no commits here\nexit 1\n")
    hook.chmod(0o755)
    memory = Memory(work / "memory")
    assert any("git refused" in note for note in memory.init().notes)
    assert git(work, "diff", "--cached", "--name-only") == ""
    memory.remember("one")
    with pytest.raises(GitError, match="no commits here"):
        memory.history.commit()
    hook.unlink()
    assert memory.init().commit
    assert "memory/log.jsonl" in git(work, "ls-files")


def test_ignore_rules_of_the_user_do_not_hide_the_log(tmp_path: Path) -> None:
    ignore = Path.home() / "ignore"
    ignore.write_text("*.jsonl\n")
    git(Path.home(), "config", "--global", "core.excludesFile", str(ignore))
    memory = Memory(tmp_path / "home")
    memory.init()
    assert "log.jsonl" in git(memory.home.root, "ls-files").splitlines()
    memory.remember("one")
    memory.history.commit()
    assert "one" in git(memory.home.root, "show", "HEAD:log.jsonl")


def test_what_the_history_holds_is_nobody_elses(memory: Memory) -> None:
    assert (memory.home.root / ".git").stat().st_mode & 0o777 == 0o700


def test_a_lock_that_a_killed_git_left_is_cleared_when_it_is_old(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = memory.home.root / ".git" / "index.lock"
    lock.write_text("")
    os.utime(lock, (0, 0))
    memory.remember("one")
    memory.history.commit()
    assert not lock.exists()
    assert "one" in git(memory.home.root, "show", "HEAD:log.jsonl")


def test_on_a_detached_head_commits_go_on_and_status_says_so(memory: Memory) -> None:
    memory.history.commit()
    git(memory.home.root, "checkout", "--quiet", "--detach")
    memory.remember("one")
    assert memory.history.commit()
    assert "one" in git(memory.home.root, "show", "HEAD:log.jsonl")
    assert "detached HEAD" in memory.status().git and "switch -c NAME" in memory.status().git


def conflicted(folder: Path, name: str) -> None:
    """Leave a merge with a conflict in a file, in the middle of it."""
    (folder / name).write_text("base\n")
    git(folder, "add", "--force", name)
    git(folder, "commit", "--quiet", "--no-verify", "-m", "base")
    git(folder, "checkout", "--quiet", "-b", "side")
    for branch, text in (("side", "theirs\n"), ("main", "ours\n")):
        git(folder, "checkout", "--quiet", branch)
        (folder / name).write_text(text)
        git(folder, "commit", "--quiet", "--no-verify", "-am", branch)
    with pytest.raises(subprocess.CalledProcessError):
        git(folder, "merge", "side")


@pytest.mark.parametrize("name", ["knowledge/people/ada.md", "code.py"])
def test_in_the_middle_of_a_merge_nothing_is_committed_and_the_index_stays(
    memory: Memory, name: str
) -> None:
    root = memory.home.root
    memory.history.commit()
    conflicted(root, name)
    before, head = git(root, "ls-files", "--stage"), git(root, "rev-parse", "HEAD")
    memory.remember("one")
    with pytest.raises(GitError, match=r"middle of a merge.*git merge --abort"):
        memory.history.commit()
    assert "merging" in memory.status().git
    assert any("middle of a merge" in problem for problem in memory.history.git().problems())
    assert git(root, "ls-files", "--stage") == before and git(root, "rev-parse", "HEAD") == head
    git(root, "merge", "--abort")
    assert memory.history.commit()
    assert memory.history.git().problems() == []


def test_a_batch_in_the_middle_of_a_merge_is_traced_and_made_up_for(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.history.commit()
    conflicted(memory.home.root, "code.py")
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T09:00:00Z")
    memory.remember("one")
    assert any("middle of a merge" in problem for problem in memory.status().problems)
    git(memory.home.root, "merge", "--abort")
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T10:00:00Z")
    memory.remember("two")
    assert "one" in git(memory.home.root, "show", "HEAD:log.jsonl")


@pytest.mark.parametrize(
    ("command", "state"), [("rebase", "rebasing"), ("cherry-pick", "cherry-picking")]
)
def test_a_rebase_and_a_cherry_pick_are_left_alone_too(
    memory: Memory, command: str, state: str
) -> None:
    root = memory.home.root
    conflicted(root, "code.py")
    git(root, "merge", "--abort")
    with pytest.raises(subprocess.CalledProcessError):
        git(root, command, "side")
    repository = memory.history.git().required()
    assert repository.state() == state
    memory.remember("one")
    with pytest.raises(GitError, match=f"git {command} --abort"):
        memory.history.commit()
    git(root, command, "--abort")
    assert repository.state() == "clean"


def test_conflicts_without_a_merge_are_seen(memory: Memory) -> None:
    root = memory.home.root
    conflicted(root, "code.py")
    (root / ".git" / "MERGE_HEAD").unlink()  # as a `stash pop` leaves it
    assert memory.history.git().required().state() == "unmerged"
    memory.remember("one")
    with pytest.raises(GitError, match=r"conflicts in code\.py"):
        memory.history.commit()


@pytest.mark.parametrize(
    ("paths", "kind"),
    [
        (["knowledge/identity/SOUL.md"], "identity"),
        (["knowledge/identity/SOUL.md", "knowledge/people/ada.md"], "memory"),
        (["config.toml", "prompts/extract.md"], "maintenance"),
        (["archive/journal/2026-01-01.md"], "maintenance"),
        (["archive/people/ada.md", "-topics/release-day.md"], "maintenance"),
        (["topics/release-day.md"], "memory"),
    ],
)
def test_a_commit_is_called_after_what_is_in_it(
    memory: Memory, paths: list[str], kind: str
) -> None:
    memory.history.commit()
    for name in paths:
        path = memory.home.root / name.removeprefix("-")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("---\ntriggers: [a]\n---\nnew\n")
        if name.startswith("-"):
            path.unlink()
    memory.history.commit()
    assert subjects(memory.home.root)[0].startswith(f"{kind}: ")


def test_a_name_with_brackets_is_only_itself(memory: Memory) -> None:
    memory.history.commit()
    people = memory.home.root / "knowledge" / "people"
    (people / "[ab].md").write_text("one")
    (people / "a.md").write_text("two")
    repository = memory.history.git().required()
    repository.commit("memory", "one", [people / "[ab].md"])
    assert git(memory.home.root, "show", "--name-only", "--format=") == "knowledge/people/[ab].md"


def test_commits_carry_the_time_of_the_clock(memory: Memory) -> None:
    assert git(memory.home.root, "log", "-1", "--format=%at %ct") == "1794211200 1794211200"


def test_attachments_are_committed_without_lfs(memory: Memory) -> None:
    attributes = (memory.home.root / ".gitattributes").read_text()
    for kind in "png jpg jpeg gif webp pdf mp4 mov mp3 wav zip".split():
        path = memory.home.root / "attachments" / f"file.{kind}"
        path.write_bytes(b"\x00\x01" + kind.encode())
        assert f"*.{kind} filter=lfs" in attributes
    assert memory.history.commit()
    repository = memory.history.git().required()
    assert repository.show("HEAD", "attachments/file.webp") == b"\x00\x01webp"
    assert "filter: lfs" in git(
        memory.home.root, "check-attr", "filter", "attachments/2026/deep/file.webp"
    )


def test_failures_of_git_and_of_the_commit_job_are_over_once_a_commit_worked(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.history.commit()
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-11-09T08:10:00Z")
    conflicted(memory.home.root, "code.py")
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T09:00:00Z")
    memory.remember("one")
    [ran] = memory.tick(["commit"])
    assert ran.outcome == "failed"
    git(memory.home.root, "merge", "--abort")
    told = [one for one in memory.status().problems if "middle of a merge" in one]
    assert len(told) == 2 and any("job commit" in one for one in told)
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T09:10:00Z")
    assert memory.history.commit()
    assert not [one for one in memory.status().problems if "middle of a merge" in one]
    monkeypatch.setenv("WAKEBOOK_NOW", "2026-11-09T09:20:00Z")
    (memory.home.root / ".git" / "index.lock").touch()
    memory.remember("two")
    assert memory.tick(["commit"])[0].outcome == "failed"
    assert [one for one in memory.status().problems if "job commit" in one]


def test_judgements_are_committed_and_what_waits_is_not(memory: Memory) -> None:
    (memory.home.root / "topics/tea.md").write_text(
        "---\ntype: topic\ntriggers:\n  - type: webhook\n    source: kettle\n"
        "  - type: keyword\n    match: tea\nactivation: auto\n---\nTea is made like this.\n"
    )
    [decision] = memory.context("tea").decisions
    memory.topics.judge(decision.id, useful=True)
    assert memory.topics.fire("kettle")
    assert memory.home.root / "feedback.jsonl" in memory.history.git().waiting()
    assert memory.history.commit()
    tracked = git(memory.home.root, "ls-files").splitlines()
    assert {"feedback.jsonl", "topics/tea.md"} <= set(tracked)
    assert (memory.home.root / "fired.json").exists() and "fired.json" not in tracked
    assert decision.id in git(memory.home.root, "show", "HEAD:feedback.jsonl")
    assert git(memory.home.root, "status", "--porcelain", "--untracked-files=all") == ""
    merge = git(memory.home.root, "check-attr", "merge", "feedback.jsonl")
    assert merge == "feedback.jsonl: merge: union"


@pytest.mark.parametrize("standing", ["new", "committed", "packed", "on a branch", "detached"])
def test_what_head_stands_for_is_what_git_says(tmp_path: Path, standing: str) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    repository = Repository.find(tmp_path)
    assert repository is not None
    if standing == "new":
        assert repository.branch() == "main" and not repository.head()
        return
    git(tmp_path, "commit", "--allow-empty", "--message", "one")
    if standing == "packed":
        git(tmp_path, "pack-refs", "--all")
    if standing == "on a branch":
        git(tmp_path, "switch", "--quiet", "--create", "explore/tides")
    if standing == "detached":
        git(tmp_path, "switch", "--quiet", "--detach")
    assert repository.head() == git(tmp_path, "rev-parse", "HEAD")
    assert repository.branch() == git(tmp_path, "branch", "--show-current")


def test_a_work_tree_of_its_own_has_a_head_of_its_own(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    git(first, "init", "--quiet", "--initial-branch=main")
    git(first, "commit", "--allow-empty", "--message", "one")
    git(first, "worktree", "add", "--quiet", "-b", "other", str(second))
    git(second, "commit", "--allow-empty", "--message", "two")
    repository = Repository.find(second)
    assert repository is not None and repository.branch() == "other"
    assert repository.head() == git(second, "rev-parse", "HEAD") != git(first, "rev-parse", "HEAD")


def test_a_note_is_committed_before_it_is_touched_even_if_it_is_ignored(memory: Memory) -> None:
    memory.history.commit()
    history, root = memory.history.git(), memory.home.root
    before = subjects(root)
    history.before_touching([memory.home.memory])
    assert subjects(root) == before  # it is there as it is
    (root / ".git" / "info" / "exclude").write_text("ideas.md\n")
    ideas = root / "knowledge/reference/ideas.md"
    ideas.parent.mkdir(parents=True, exist_ok=True)
    ideas.write_text("Mine.\n")
    history.before_touching([ideas])
    assert git(root, "show", "HEAD:knowledge/reference/ideas.md") == "Mine."


def test_closing_a_conversation_takes_few_processes(
    memory: Memory, projects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.history.commit()
    chat(Claude(projects), WORKDAY)
    trace = tmp_path / "trace"
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(trace))
    Memory(memory.home.root).catch_up(closing=True)
    started = [line for line in trace.read_text().splitlines() if '"event":"start"' in line]
    assert len(subjects(memory.home.root)) > 1 and len(started) <= 10, len(started)
