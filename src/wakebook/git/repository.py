"""Repository: everything that git does for a home, with what concerns other machines."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from wakebook.errors import GitError
from wakebook.git.command import run, run_bytes
from wakebook.git.worktree import Branching

PUSH_SECONDS = 120.0
TAGS = "refs/tags/memory/*:refs/tags/memory/*"


class Repository(Branching):
    """A home that is, or lies inside, a git work tree."""

    # --- the hooks -------------------------------------------------------------------

    def hooks(self) -> Path:
        """Where git looks for this repository's hooks (core.hooksPath, or its own folder)."""
        return (self.root / self._git("rev-parse", "--git-path", "hooks").strip()).resolve()

    def staged(self, below: Sequence[str]) -> list[str]:
        """Files that the commit would change whose hook we are."""
        command = ["diff", "--cached", "--name-only", "--no-renames", "--relative", "-z"]
        done = run_bytes(self.root, [*command, "--", *below], inside=True)
        return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]

    def content(self, name: str, where: str = "") -> bytes | None:
        """A file as it is staged, or in a commit (`where`). None if it is not there."""
        done = run_bytes(
            self.root, ["cat-file", "--filters", f"{where}:./{name}"], check=False, inside=True
        )
        return done.stdout if done.returncode == 0 else None

    # --- other machines --------------------------------------------------------------

    def remotes(self) -> list[str]:
        return self._git("remote").split()

    def mark(self) -> str:
        """Changes with everything that a push would send."""
        refs = self._try("for-each-ref", "--format=%(refname) %(objectname)", "refs/tags/memory/")
        text = f"{self.branch()} {self.head()}\n{refs.stdout}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def push(self, remote: str, seconds: float = PUSH_SECONDS) -> None:
        """Send the current branch and the memory/ tags. Nothing is ever forced."""
        branch = self.branch()
        if not branch:
            raise GitError(f"{self.top} is on no branch (detached HEAD): nothing was pushed.")
        wanted = [f"refs/heads/{branch}:refs/heads/{branch}"]
        wanted += [TAGS] if self.tags("memory/") else []
        run(
            self.root,
            ["push", "--quiet", "--no-progress", "--", remote, *wanted],
            extra={"SSH_ASKPASS_REQUIRE": "never"},
            timeout=seconds,
        )
