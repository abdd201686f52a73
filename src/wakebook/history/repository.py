"""Repository: everything that git does for a home, with what concerns other machines."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from wakebook.base import clock
from wakebook.base.errors import GitError
from wakebook.history.git import run, run_bytes
from wakebook.history.revisions import Remembering

# -----------------------------------------------------------------------------
# Branches with a work tree of their own, so that the user's checkout stays where it is.
#
# In a home that lies inside another repository, only the home's files are checked out; the rest
# of the repository is marked as not wanted in that work tree, without touching any settings.


class Branch(msgspec.Struct, frozen=True):
    name: str
    commit: str
    at: datetime  # of its newest commit
    path: Path | None = None  # of its work tree, if there is one


class Branching(Remembering):
    def branches(self, pattern: str = "*") -> list[Branch]:
        """Branches by name, like explore/*, with their newest commit."""
        form = "--format=%(refname)%00%(objectname)%00%(committerdate:iso-strict)%00%(worktreepath)"
        found: list[Branch] = []
        for line in self._git("for-each-ref", form, f"refs/heads/{pattern}").splitlines():
            name, commit, date, path = line.split("\0")
            at = clock.parse(date)
            assert at is not None
            where = Path(path) if path else None
            found.append(Branch(name.removeprefix("refs/heads/"), commit, at, where))
        return found

    def worktree_add(self, path: Path, branch: str, base: str = "HEAD") -> Path:
        """Check a branch out at `path`, and make it from `base` if it is new. The home in it.

        A folder that somebody removed by hand is forgotten first; those of others, which may be
        on a disk that is away, are not.
        """
        self._valid(f"refs/heads/{branch}")
        if not path.exists():
            self._try("worktree", "remove", "--force", "--force", str(path))
        known = self._try("show-ref", "--verify", "--quiet", f"refs/heads/{branch}")
        new = ["-b", branch] if known.returncode != 0 else []
        start = base if new else branch
        self._git("worktree", "add", "--quiet", "--no-checkout", *new, str(path), start)
        try:
            self._fill(path)
        except GitError:
            self._try("worktree", "remove", "--force", str(path))
            raise
        return path if self.own else path / self._prefix

    def begin(self, message: str, base: str = "HEAD") -> str:
        """A commit without a change that a branch can begin with: its date is the branch's."""
        start = self.resolve(base)
        if start is None:
            raise GitError(f"There is no commit in {self.top} yet to begin a branch from.")
        done = run(
            self.root,
            ["commit-tree", "-m", message, "-p", start, f"{start}^{{tree}}"],
            settings=self._identity(),
            extra=self._stamp(),
        )
        return done.stdout.strip()

    def _fill(self, path: Path) -> None:
        run(path, ["read-tree", "HEAD"])
        if self.own:
            run(path, ["checkout-index", "--all", "--quiet"])
            return
        names = run_bytes(path, ["ls-files", "-z"]).stdout.split(b"\0")
        inside = self._prefix.encode() + b"/"
        ours = [name for name in names if name.startswith(inside)]
        rest = [name for name in names if name and not name.startswith(inside)]
        _feed(path, ["update-index", "--skip-worktree"], rest)
        _feed(path, ["checkout-index", "--quiet"], ours)
        (path / self._prefix).mkdir(parents=True, exist_ok=True)
        run(path, ["update-index", "-q", "--refresh"], check=False)

    def worktree_remove(self, path: Path) -> None:
        """Remove a work tree with all that is in it. One that is gone already is forgotten."""
        command = ["worktree", "remove", "--force", "--force", str(path)]
        if path.exists():
            self._git(*command)
            shutil.rmtree(path, ignore_errors=True)
        else:
            self._try(*command)

    def strays(self) -> list[str]:
        """Files of this work tree that no commit has, also those that git ignores, as they are
        called from its top."""
        others = run_bytes(self.top, ["ls-files", "--others", "-z"]).stdout
        changed = run_bytes(self.top, ["diff", "--name-only", "-z", "HEAD"]).stdout
        names = {os.fsdecode(name) for name in (others + changed).split(b"\0") if name}
        return sorted(name for name in names if (self.top / name).exists())

    def branch_remove(self, branch: str) -> str:
        """Remove a branch, merged or not. The commit that it was at."""
        commit = self.resolve(f"refs/heads/{branch}")
        if commit is None:
            raise GitError(f"There is no branch {branch} in {self.top}.")
        self._git("branch", "--quiet", "--delete", "--force", branch)
        return commit

    def ahead(self, branch: str, of: str = "HEAD") -> int:
        """How many commits a branch has that another one has not."""
        return int(self._git("rev-list", "--count", f"{of}..{branch}").strip() or 0)


def _feed(path: Path, arguments: Sequence[str], names: Sequence[bytes]) -> None:
    if names:
        run_bytes(path, [*arguments, "-z", "--stdin"], given=b"\0".join(names) + b"\0")


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
