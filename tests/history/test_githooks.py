"""The hooks: what git refuses when somebody commits by hand, and what follows a commit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.history.test_git import git, subjects
from tests.story import WORKDAY, Claude, chat
from wakebook import Memory
from wakebook.base import clock, markdown
from wakebook.base.errors import GitError
from wakebook.history import githooks

BROKEN = "---\ntitle: [one\ntags: two\n---\nText.\n"


def commit(folder: Path, *arguments: str, code: int = 0, **extra: str) -> str:
    """Commit by hand what is staged, with the hooks. What git and they say."""
    done = subprocess.run(
        ["git", "-c", "user.name=Mira", "-c", "user.email=m@x", "commit", "-m", "x", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | extra,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def stage(memory: Memory, name: str, text: str) -> Path:
    path = memory.home.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    git(memory.home.root, "add", name)
    return path


def hook(memory: Memory, name: str) -> Path:
    return memory.home.root / ".git" / "hooks" / name


# --- installing --------------------------------------------------------------------------


def test_init_installs_both_and_brings_its_own_up_to_date(memory: Memory) -> None:
    for name in githooks.NAMES:
        assert os.access(hook(memory, name), os.X_OK)
        assert sys.executable in hook(memory, name).read_text()
        hook(memory, name).write_text(f"#!/bin/sh\n{githooks.MARK}, long ago\n")
    [old] = [one for one in memory.doctor(quick=True) if one.name == "git: hooks"]
    assert old.state == "warn" and old.run.endswith("init")
    assert memory.init().notes == ()
    assert not [one for one in memory.doctor(quick=True) if one.name == "git: hooks"]
    for name in githooks.NAMES:
        assert hook(memory, name).read_text() == githooks.script(name)
        assert os.access(hook(memory, name), os.X_OK)


def test_a_hook_of_the_users_stays_and_can_call_ours(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q", "-b", "main")
    own = "#!/bin/sh\necho mine\n"
    theirs = work / ".git" / "hooks" / "pre-commit"
    theirs.write_text(own)
    theirs.chmod(0o755)
    memory = Memory(work)
    [note] = [note for note in memory.init().notes if "stays as it is" in note]
    assert theirs.read_text() == own
    assert (work / ".git/hooks/pre-commit.wakebook").exists()
    line = note.partition("add to it: ")[2]
    theirs.write_text(own + line + "\n")
    stage(memory, "knowledge/people/ada.md", BROKEN)
    said = commit(work, code=1)
    assert "mine" in said and "knowledge/people/ada.md:3" in said
    assert memory.init() and theirs.read_text() == own + line + "\n"


def test_hooks_shared_by_all_repositories_of_the_user_are_not_written_to(tmp_path: Path) -> None:
    shared = Path.home() / "hooks"
    shared.mkdir()
    git(Path.home(), "config", "--global", "core.hooksPath", str(shared))
    memory = Memory(tmp_path / "home")
    assert any("stays as it is" in note for note in memory.init().notes)
    assert list(shared.iterdir()) == []


def test_a_hooks_path_of_the_homes_own_is_used(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q", "-b", "main")
    git(work, "config", "core.hooksPath", ".githooks")
    memory = Memory(work)
    memory.init()
    assert (work / ".githooks" / "pre-commit").exists()
    stage(memory, "knowledge/people/ada.md", BROKEN)
    assert "ada.md:3" in commit(work, code=1)


def test_switched_off_they_are_removed_but_only_ours(memory: Memory) -> None:
    hook(memory, "post-commit").write_text("#!/bin/sh\necho mine\n")
    memory.home.config.write_text("[git]\nhooks = false\n")
    Memory(memory.home.root).init()
    assert not hook(memory, "pre-commit").exists()
    assert "mine" in hook(memory, "post-commit").read_text()


def test_a_repository_around_the_home_gets_no_hooks_but_our_commits_are_checked(
    tmp_path: Path,
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q", "-b", "main")
    memory = Memory(work / "memory")
    assert any("no git hooks" in note for note in memory.init().notes)
    assert not (work / ".git/hooks/pre-commit").exists()
    (memory.home.root / "knowledge/people/ada.md").write_text(BROKEN)
    with pytest.raises(GitError, match=r"knowledge/people/ada\.md:3"):
        memory.history.commit()


# --- before a commit ---------------------------------------------------------------------


def test_broken_frontmatter_is_refused_with_its_line(memory: Memory) -> None:
    stage(memory, "knowledge/projects/tidepool/context.md", BROKEN)
    said = commit(memory.home.root, code=1)
    assert "knowledge/projects/tidepool/context.md:3: the frontmatter is not YAML" in said
    assert "nothing was committed" in said


@pytest.mark.parametrize(
    "text",
    [
        "# No frontmatter\n\nJust text.\n",
        "---\n\nA line across the page, and text.\n",
        "---\ntitle: fine\ndate: 2026-11-09\n---\nText.\n",
        "---\r\ntitle: fine\r\n---\r\nText.\r\n",
        "",
    ],
)
def test_other_notes_are_their_authors_business(memory: Memory, text: str) -> None:
    stage(memory, "knowledge/reference/note.md", text)
    stage(memory, "code/knowledge.md", BROKEN)  # not one of ours
    commit(memory.home.root)


def test_frontmatter_without_an_end_is_refused(memory: Memory) -> None:
    stage(memory, "knowledge/reference/note.md", "---\ntitle: one\n\nText.\n")
    assert "note.md:1: the frontmatter has no end" in commit(memory.home.root, code=1)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("---\ndate: 2026-02-30\n---\nx\n", False),
        ("---\na line across\n", False),
        ("---\na: 1\n---", False),
        ("---\n- a\n---\nx\n", True),
        ("---\r\ntitle: [one\r\n---\r\nx\r\n", True),
    ],
)
def test_a_commit_and_the_notes_agree_about_frontmatter(
    memory: Memory, text: str, refused: bool
) -> None:
    path = memory.home.root / "knowledge/reference/note.md"
    path.write_bytes(text.encode())
    told = [one for one in memory.history.git().problems() if "note.md" in one]
    assert (bool(told), bool(markdown.front_problem(text))) == (refused, refused)


def test_what_is_staged_counts_and_not_the_file(memory: Memory) -> None:
    path = stage(memory, "knowledge/people/ada.md", BROKEN)
    path.write_text("fine\n")
    assert "ada.md:3" in commit(memory.home.root, code=1)
    git(memory.home.root, "add", "knowledge")
    path.write_text(BROKEN)
    commit(memory.home.root)


def test_a_commit_of_one_path_is_checked_by_what_it_takes(memory: Memory) -> None:
    """`git commit PATH` goes through an index of its own (GIT_INDEX_FILE)."""
    stage(memory, "knowledge/people/ada.md", BROKEN)
    stage(memory, "knowledge/people/bob.md", "fine\n")
    commit(memory.home.root, "knowledge/people/bob.md")
    assert git(memory.home.root, "ls-tree", "-r", "--name-only", "HEAD", "knowledge/people") == (
        "knowledge/people/bob.md"
    )
    assert "ada.md:3" in commit(memory.home.root, "knowledge/people/ada.md", code=1)


def test_a_conversation_needs_its_frontmatter(memory: Memory) -> None:
    stage(memory, "raw/conversations/2026/11/09/0800-a-b.md", "# Talk\n")
    assert "begins with frontmatter" in commit(memory.home.root, code=1)


@pytest.mark.parametrize(
    ("lines", "code", "said"),
    [(180, 0, ""), (181, 0, "warning"), (220, 0, "warning"), (221, 1, "nothing was committed")],
)
def test_the_length_of_memory_md(memory: Memory, lines: int, code: int, said: str) -> None:
    stage(memory, "knowledge/memory/MEMORY.md", "line\n" * lines)
    heard = commit(memory.home.root, code=code)
    assert said in heard and (f"MEMORY.md: {lines} lines" in heard) == bool(said)


TOPIC = "---\ntype: topic\n{}\n---\nText.\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# One\n", "one.md:1: no frontmatter."),
        (TOPIC.format("priority: hig"), "one.md:3: priority is 'hig'"),
        (TOPIC.format("triggers:\n  - type: pattern\n    match: '(['"), "one.md:5: '([' is no"),
        (TOPIC.format("trigers: []"), "one.md:3: unknown key 'trigers'"),
    ],
)
def test_a_bad_topic_file_is_warned_of_and_committed(memory: Memory, text: str, said: str) -> None:
    stage(memory, "topics/one.md", text)
    heard = commit(memory.home.root)
    assert f"warning: topics/{said}" in heard and heard.count("warning") == 1
    assert "The topic is left out until then." in heard
    assert git(memory.home.root, "show", "HEAD:topics/one.md") == text.strip()


def test_a_topic_without_triggers_is_warned_of_and_committed(memory: Memory) -> None:
    stage(memory, "topics/one.md", TOPIC.format("priority: low"))
    heard = commit(memory.home.root)
    assert "warning: topics/one.md:1: it has no triggers" in heard
    assert git(memory.home.root, "show", "HEAD:topics/one.md")


def test_a_topic_that_is_activated_by_hand_needs_no_triggers(memory: Memory) -> None:
    stage(memory, "topics/one.md", TOPIC.format("activation: manual"))
    stage(memory, "topics/_draft.md", "No topic yet.\n")
    stage(memory, "topics/notes.txt", "None at all.\n")
    assert "warning" not in commit(memory.home.root)


def test_wakebook_itself_commits_a_bad_topic_file(memory: Memory) -> None:
    memory.history.commit()
    (memory.home.root / "topics/one.md").write_text(TOPIC.format("priority: hig"))
    assert memory.history.commit() and memory.history.git().problems() == []
    assert "priority: hig" in git(memory.home.root, "show", "HEAD:topics/one.md")


def test_topic_frontmatter_that_nobody_can_read_is_refused_as_everywhere(memory: Memory) -> None:
    stage(memory, "topics/one.md", BROKEN)
    heard = commit(memory.home.root, code=1)
    assert heard.count("topics/one.md:3") == 1 and "nothing was committed" in heard


def closed(memory: Memory, projects: Path) -> Path:
    chat(Claude(projects), WORKDAY)
    [name] = memory.catch_up().closed
    path = memory.home.root / name
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("change", ["edit", "remove", "rename"])
def test_a_closed_conversation_is_immutable(memory: Memory, projects: Path, change: str) -> None:
    path = closed(memory, projects)
    if change == "edit":
        path.write_text(path.read_text().replace("Postgres", "MySQL"))
    elif change == "remove":
        path.unlink()
    else:
        path.rename(path.with_name("0000-other-name.md"))
    git(memory.home.root, "add", "--all", "raw")
    said = commit(memory.home.root, code=1)
    assert f"{memory.home.relative(path)}: this conversation is closed" in said
    assert "WAKEBOOK_REWRITE" in said
    commit(memory.home.root, WAKEBOOK_REWRITE="1")


def test_wakebook_itself_does_not_commit_a_changed_one(memory: Memory, projects: Path) -> None:
    path = closed(memory, projects)
    path.write_text(path.read_text().replace("Postgres", "MySQL"))
    memory.catch_up()
    assert "Postgres" in git(memory.home.root, "show", f"HEAD:{memory.home.relative(path)}")
    assert any("is closed" in problem for problem in memory.history.git().problems())
    assert any("is closed" in problem for problem in memory.status().problems)


# --- Wakebook's own commits --------------------------------------------------------------


def test_what_is_refused_stays_out_and_the_rest_is_committed(memory: Memory) -> None:
    memory.history.commit()
    memory.remember("one")
    path = memory.home.root / "knowledge/people/ada.md"
    path.write_text(BROKEN)
    with pytest.raises(GitError, match=r"ada\.md:3.*Everything else is committed"):
        memory.history.commit()
    assert "one" in git(memory.home.root, "show", "HEAD:log.jsonl")
    path.write_text("fine")
    assert memory.history.commit() and memory.history.git().problems() == []


def test_our_own_commits_start_no_second_process(memory: Memory) -> None:
    ran = memory.home.root.parent / "ran"
    for name in githooks.NAMES:
        text = githooks.script(name).replace("python=", f"touch {ran}\npython=")
        hook(memory, name).write_text(text)
    memory.remember("one")
    (memory.home.root / "knowledge/people/ada.md").write_text("fine")
    memory.history.commit()
    assert not ran.exists()
    stage(memory, "knowledge/people/bob.md", "fine")
    commit(memory.home.root)
    assert ran.exists()


def test_a_hook_of_the_users_that_refuses_is_heard(memory: Memory) -> None:
    hook(memory, "pre-commit").write_text("#!/bin/sh\necho not today\nexit 1\n")
    memory.remember("one")
    with pytest.raises(GitError, match="not today"):
        memory.history.commit()


def test_the_users_words_are_kept_however_many_they_are(memory: Memory) -> None:
    memory.history.commit()
    text = memory.home.memory.read_text()
    memory.home.memory.write_text("mine\n" * 300 + text)
    memory.remember("Deploy to lagoon", type_="task")
    memory.notes.brief()
    assert git(memory.home.root, "show", "HEAD:knowledge/memory/MEMORY.md").startswith("mine\n")


# --- robust ------------------------------------------------------------------------------


def test_a_wakebook_that_is_gone_blocks_nobody(memory: Memory) -> None:
    for name in githooks.NAMES:
        hook(memory, name).write_text(
            githooks.script(name).replace(sys.executable, "/nowhere/python")
        )
    stage(memory, "knowledge/people/ada.md", BROKEN)
    bare = memory.home.root.parent / "bin"
    bare.mkdir()
    for tool in ("git", "sh", "nohup"):
        found = shutil.which(tool)
        assert found
        (bare / tool).symlink_to(found)
    assert "not found" in commit(memory.home.root, PATH=str(bare))


def test_a_check_that_cannot_run_blocks_nobody(memory: Memory) -> None:
    stage(memory, "knowledge/people/ada.md", "fine")
    memory.home.config.write_text("nonsense = 1\n")
    assert "could not be checked" in commit(memory.home.root)


def test_after_a_commit_the_index_is_brought_up_to_date(memory: Memory) -> None:
    stage(memory, "knowledge/people/ada.md", "Ada keeps otters.\n")
    commit(memory.home.root)
    limit = clock.monotonic() + 60
    while not memory.index.status().chunks and clock.monotonic() < limit:
        clock.sleep(0.1)
    assert sum(memory.index.status().chunks.values()) > 0
    assert subjects(memory.home.root)[0] == "x"


def test_what_is_encrypted_and_locked_is_not_looked_at(memory: Memory) -> None:
    path = memory.home.root / "knowledge/people/ada.md"
    path.write_bytes(b"\0GITCRYPT\0---\n[")
    git(memory.home.root, "add", "knowledge")
    commit(memory.home.root)


def test_a_commit_of_other_things_starts_nothing(memory: Memory) -> None:
    ran = memory.home.root.parent / "ran"
    for name in githooks.NAMES:
        text = githooks.script(name).replace("python=", f"touch {ran}\npython=")
        hook(memory, name).write_text(text)
    stage(memory, "code.py", "1")
    commit(memory.home.root)
    assert not ran.exists()
