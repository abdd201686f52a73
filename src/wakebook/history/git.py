"""Running git: by name, with an argument list, and never with somebody else's repository.

Inside a git hook the environment points at the repository that is being committed to. What
Wakebook runs looks at its own home; only the hook's own checks keep that environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from subprocess import CompletedProcess
from typing import Self

from wakebook.base.errors import GitError

TIMEOUT = 60.0
POINTERS = ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_PREFIX", "GIT_COMMON_DIR")


def installed() -> bool:
    return shutil.which("git") is not None


def run_bytes(
    root: Path,
    arguments: Sequence[str],
    *,
    settings: Sequence[str] = (),
    check: bool = True,
    inside: bool = False,
    extra: Mapping[str, str] | None = None,
    given: bytes = b"",
    timeout: float = TIMEOUT,
) -> subprocess.CompletedProcess[bytes]:
    """`inside`: as a part of the git command whose hook this is. `given`: its input."""
    environment = {key: value for key, value in os.environ.items() if inside or key not in POINTERS}
    environment |= {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LITERAL_PATHSPECS": "1",  # a note may be called [draft].md
        "LC_ALL": "C",
    }
    environment |= extra or {}
    options = [part for setting in ("core.quotepath=false", *settings) for part in ("-c", setting)]
    try:
        done = subprocess.run(
            ["git", *options, *arguments],
            cwd=root,
            env=environment,
            input=given,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(f"git in {root}: {error}") from error
    if check and done.returncode != 0:
        said = text_of(done.stderr or done.stdout).strip()
        raise GitError(f"git {arguments[0]} in {root} failed: {said}")
    return done


def run(
    root: Path,
    arguments: Sequence[str],
    *,
    settings: Sequence[str] = (),
    check: bool = True,
    extra: Mapping[str, str] | None = None,
    given: bytes = b"",
    timeout: float = TIMEOUT,
) -> subprocess.CompletedProcess[str]:
    done = run_bytes(
        root,
        arguments,
        settings=settings,
        check=check,
        extra=extra,
        given=given,
        timeout=timeout,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, text_of(done.stdout), text_of(done.stderr)
    )


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


# -----------------------------------------------------------------------------
# Place: where the repository of a home is, and what it is in the middle of.

# What git leaves in its folder while something is going on -> what that is, how it ends
GOING_ON = {
    "MERGE_HEAD": ("a merge", "git merge --continue", "git merge --abort"),
    "rebase-merge": ("a rebase", "git rebase --continue", "git rebase --abort"),
    "rebase-apply": ("a rebase", "git rebase --continue", "git rebase --abort"),
    "CHERRY_PICK_HEAD": ("a cherry-pick", "git cherry-pick --continue", "git cherry-pick --abort"),
    "REVERT_HEAD": ("a revert", "git revert --continue", "git revert --abort"),
}
NAMES = {"a merge": "merging", "a rebase": "rebasing", "a cherry-pick": "cherry-picking"}


class Place:
    """A home that is, or lies inside, a git work tree."""

    def __init__(self, root: Path, top: Path, folder: Path, common: Path) -> None:
        self.root = root
        self.top = top
        self.folder = folder  # git's own: .git, or .git/worktrees/NAME
        self.common = common  # .git
        self._prefix = root.resolve().relative_to(top.resolve()).as_posix()

    @property
    def own(self) -> bool:
        """Whether the repository is the home's own, and not one around it."""
        return self.root.resolve() == self.top.resolve()

    @property
    def prefix(self) -> str:
        """Where the home lies in the repository: "." if it is the whole of it."""
        return self._prefix

    @classmethod
    def find(cls, root: Path) -> Self | None:
        if not installed() or not root.is_dir():
            return None
        wanted = ["--show-toplevel", "--absolute-git-dir", "--git-common-dir"]
        done = run(root, ["rev-parse", *wanted], check=False)
        lines = done.stdout.rstrip("\n").split("\n")
        if done.returncode != 0 or len(lines) != 3:
            return None
        return cls(root, Path(lines[0]), Path(lines[1]), (root / lines[2]).resolve())

    @classmethod
    def create(cls, root: Path) -> Self:
        run(root, ["init", "--quiet", "--initial-branch=main"])
        (root / ".git").chmod(0o700)  # history holds what the files hold
        return cls(root, root, root / ".git", root / ".git")

    # --- what it is in the middle of ---------------------------------------------------

    def state(self) -> str:
        """clean, detached, or what keeps us from committing: merging, rebasing,
        cherry-picking, reverting, unmerged."""
        going_on = self._going_on()
        if going_on:
            return NAMES.get(going_on[0], "reverting")
        if self._unmerged():
            return "unmerged"
        return "clean" if self.branch() else "detached"

    def obstacle(self) -> str:
        """What keeps Wakebook from committing, and how it ends; mostly nothing."""
        going_on = self._going_on()
        if going_on:
            what, on, off = going_on
            return (
                f"{self.top} is in the middle of {what}: Wakebook commits nothing until it is "
                f"over. `{on}` or `{off}` there ends it."
            )
        unmerged = self._unmerged()
        if not unmerged:
            return ""
        names = ", ".join(unmerged[:3]) + (" …" if len(unmerged) > 3 else "")
        return (
            f"{self.top} has conflicts in {names}: Wakebook commits nothing until they are "
            "settled. Edit these files, then `git add` them there."
        )

    def branch(self) -> str:
        """The branch that is checked out; nothing on a detached HEAD."""
        done = run(self.root, ["symbolic-ref", "--quiet", "--short", "HEAD"], check=False)
        return done.stdout.strip()

    def head(self) -> str:
        """The newest commit, or nothing before the first one."""
        return self.resolve("HEAD") or ""

    def resolve(self, name: str) -> str | None:
        """The commit that a name stands for."""
        if not name or name.startswith("-"):
            return None
        command = ["rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}"]
        done = run(self.root, command, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    def _going_on(self) -> tuple[str, str, str] | None:
        for name, what in GOING_ON.items():
            if (self.folder / name).exists():
                return what
        return None

    def _unmerged(self) -> list[str]:
        done = run(self.top, ["ls-files", "--unmerged", "-z"], check=False)
        return sorted({line.partition("\t")[2] for line in done.stdout.split("\0") if line})

    # --- names -------------------------------------------------------------------------

    def name(self, path: Path) -> str:
        """A path of the home, as git is told of it."""
        return path.relative_to(self.root).as_posix()

    def _path(self, name: str) -> Path:
        """A name that counts from the repository's top, as a path of the home."""
        return self.root / PurePosixPath(name).relative_to(self._prefix)

    def _git(self, *arguments: str, settings: Sequence[str] = ()) -> str:
        return run(self.root, arguments, settings=settings).stdout

    def _try(self, *arguments: str) -> CompletedProcess[str]:
        return run(self.root, arguments, check=False)

    def _valid(self, ref: str) -> None:
        done = self._try("check-ref-format", ref)
        if done.returncode != 0:
            short = ref.removeprefix("refs/tags/").removeprefix("refs/heads/")
            raise GitError(f"{short!r} cannot be a name in git: use letters, digits and hyphens.")
