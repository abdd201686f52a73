"""The home's history, through the git command.

Only paths of the home are ever staged or committed, and they are committed by name, so
that a home inside the user's own repository leaves the user's index as it was. Git may be
missing: `Repository.find` then gives None, and everything else goes on without it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from wakebook import clock
from wakebook.errors import GitError

TIMEOUT = 60
STALE_SECONDS = 600
KINDS = ("conversation", "memory", "identity", "maintenance", "explore", "extract")


def installed() -> bool:
    return shutil.which("git") is not None


class Repository:
    """A home that is, or lies inside, a git work tree."""

    def __init__(self, root: Path, top: Path) -> None:
        self.root = root
        self.top = top
        self._named: bool | None = None
        self._prefix = root.resolve().relative_to(top.resolve()).as_posix()

    @property
    def own(self) -> bool:
        """Whether the repository is the home's own, and not one around it."""
        return self.root.resolve() == self.top.resolve()

    @classmethod
    def find(cls, root: Path) -> Repository | None:
        if not installed() or not root.is_dir():
            return None
        done = _run(root, ["rev-parse", "--show-toplevel"], check=False)
        return cls(root, Path(done.stdout.rstrip("\n"))) if done.returncode == 0 else None

    @classmethod
    def create(cls, root: Path) -> Repository:
        _run(root, ["init", "--quiet", "--initial-branch=main"])
        (root / ".git").chmod(0o700)  # history holds what the files hold
        return cls(root, root)

    def commit(self, kind: str, summary: str, paths: Sequence[Path], body: str = "") -> str | None:
        """Commit these paths and nothing else. None if they hold no change.

        They are added even where the user's own ignore rules would not. When git refuses,
        nothing of ours stays in the index.
        """
        assert kind in KINDS
        names = [path.relative_to(self.root).as_posix() for path in paths if path.exists()]
        gone = [path.relative_to(self.root).as_posix() for path in paths if not path.exists()]
        names += [name for name in gone if self._tracked(name)]
        if not names:
            return None
        self._clear_stale_locks()
        message = f"{kind}: {_subject(summary)}\n" + (f"\n{body.strip()}\n" if body else "")
        try:
            _run(self.root, ["add", "--all", "--force", "--", *names])
            done = _run(
                self.root,
                ["commit", "--message", message, "--only", "--", *names],
                ["commit.gpgsign=false", *self._identity()],
                check=False,
            )
        except GitError:
            self._unstage(names)
            raise
        if done.returncode == 0:
            found = re.match(r"\[[^\]]*?([0-9a-f]{7,})\]", done.stdout)
            return found[1] if found else "?"
        said = done.stdout + done.stderr
        if "nothing to commit" in said or "no changes added" in said or "nothing added" in said:
            return None
        self._unstage(names)
        raise GitError(f"git commit in {self.root} failed: {said.strip()}")

    def _clear_stale_locks(self) -> None:
        """A git that was killed leaves its lock. In the home's own repository, where nobody
        else works for minutes, an old one is nobody's."""
        if not self.own:
            return
        limit = clock.now().timestamp() - STALE_SECONDS
        for lock in (self.top / ".git").glob("*index*.lock"):
            with suppress(OSError):
                if lock.stat().st_mtime < limit:
                    lock.unlink()

    def _unstage(self, names: Sequence[str]) -> None:
        _run(self.root, ["reset", "--quiet", "--", *names], check=False)

    def changed(self, *below: str) -> list[Path]:
        """Files below these paths of the home with uncommitted changes."""
        command = ["status", "--porcelain", "--untracked-files=all", "-z", "--", *below]
        fields = iter(_run(self.root, command).stdout.split("\0"))
        found: list[Path] = []
        for field in fields:
            if field:
                found.append(self.root / PurePosixPath(field[3:]).relative_to(self._prefix))
                if field[0] in "RC":
                    next(fields, None)
        return found

    def diff(self, paths: Sequence[Path]) -> str:
        """What has changed in these files since the last commit; a new file is all new."""
        names = [path.relative_to(self.root).as_posix() for path in paths]
        if not names:
            return ""
        known = [name for name in names if self._tracked(name)]
        text = ""
        for name in names:
            if name in known:
                command = ["diff", "--no-color", "--unified=0", "HEAD", "--", name]
                text += _run(self.root, command, check=False).stdout
            else:
                with suppress(OSError, UnicodeDecodeError):
                    added = (self.root / name).read_text(encoding="utf-8").splitlines()
                    text += f"new file {name}\n" + "".join(f"+{line}\n" for line in added[:200])
        return text

    def last_commit(self) -> tuple[str, str, str] | None:
        """Short hash, ISO date and subject of the newest commit that touched the home."""
        done = _run(self.root, ["log", "-1", "--format=%h%x00%cI%x00%s", "--", "."], check=False)
        parts = done.stdout.strip().split("\0")
        return (parts[0], parts[1], parts[2]) if len(parts) == 3 else None

    def _tracked(self, name: str) -> bool:
        return bool(_run(self.root, ["ls-files", "--", name], check=False).stdout.strip())

    def _identity(self) -> list[str]:
        """A name to commit under, where the user has none."""
        if self._named is None:
            done = _run(self.root, ["config", "user.email"], check=False)
            by_environment = {"GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"} <= os.environ.keys()
            self._named = bool(done.stdout.strip()) or by_environment
        return [] if self._named else ["user.name=Wakebook", "user.email=wakebook@localhost"]


def _subject(summary: str) -> str:
    line = " ".join(summary.split())
    return line if len(line) <= 72 else line[:71].rstrip() + "…"


def _run(
    root: Path, arguments: list[str], settings: Sequence[str] = (), check: bool = True
) -> subprocess.CompletedProcess[str]:
    environment = {
        key: value
        for key, value in os.environ.items()
        # inside somebody's git hook these would point at their repository
        if key not in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_PREFIX")
    }
    environment |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    options = [part for setting in ("core.quotepath=false", *settings) for part in ("-c", setting)]
    command = ["git", *options, *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=root,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(f"git in {root}: {error}") from error
    if check and done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise GitError(f"git {arguments[0]} in {root} failed: {said}")
    return done
