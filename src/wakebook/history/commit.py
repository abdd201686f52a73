"""Committing: some paths of the home, by name, and nothing else."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from wakebook.base import clock
from wakebook.base.errors import GitError
from wakebook.history.git import Place, run

STALE_SECONDS = 600
KINDS = ("conversation", "memory", "identity", "maintenance", "explore", "extract")
CHECKED = "WAKEBOOK_CHECKED"  # tells the hooks that this commit is Wakebook's own
NOTHING = ("nothing to commit", "no changes added", "nothing added")


LISTED = ("--pathspec-from-file=-", "--pathspec-file-nul")  # of names on its input: any number


def _listed(names: Sequence[str]) -> bytes:
    return b"\0".join(os.fsencode(name) for name in names)


class Committing(Place):
    _named: bool | None = None

    def commit(self, kind: str, summary: str, paths: Sequence[Path], body: str = "") -> str | None:
        """Commit these paths and nothing else. None if they hold no change.

        They are added even where the user's own ignore rules would not. When git refuses, or
        the user is in the middle of a merge, nothing of ours stays in the index.
        """
        assert kind in KINDS
        names = self._there(paths)
        if not names:
            return None
        if obstacle := self.obstacle():
            raise GitError(obstacle)
        self._clear_stale_locks()
        message = f"{kind}: {_subject(summary)}\n" + (f"\n{body.strip()}\n" if body else "")
        try:
            run(self.root, ["add", "--all", "--force", *LISTED], given=_listed(names))
            done = run(
                self.root,
                ["commit", "--message", message, "--only", *LISTED],
                settings=["commit.gpgsign=false", *self._identity()],
                check=False,
                extra=self._stamp() | {CHECKED: "1"},
                given=_listed(names),
            )
        except GitError:
            self._unstage(names)
            raise
        if done.returncode == 0:
            found = re.match(r"\[[^\]]*?([0-9a-f]{7,})\]", done.stdout)
            return found[1] if found else "?"
        said = done.stdout + done.stderr
        if any(words in said for words in NOTHING):
            return None
        self._unstage(names)
        raise GitError(f"git commit in {self.root} failed: {said.strip()}")

    def _there(self, paths: Sequence[Path]) -> list[str]:
        """The names of those that exist, or that git knows and are gone."""
        there = [path for path in paths if not self._odd(path)]
        names = [self.name(path) for path in there if path.exists()]
        gone = [self.name(path) for path in there if not path.exists()]
        return names + [name for name in gone if self._tracked(name)]

    def _odd(self, path: Path) -> bool:
        """What git cannot commit as a file: a folder in its place, or below a link. One of them
        must not keep all others out."""
        beyond = any(one.is_symlink() for one in path.parents if one.is_relative_to(self.root))
        return path.is_dir() or (beyond and path.parent != self.root)

    def _clear_stale_locks(self) -> None:
        """A git that was killed leaves its lock. In the home's own repository, where nobody
        else works for minutes, an old one is nobody's."""
        if not self.own:
            return
        limit = clock.now().timestamp() - STALE_SECONDS
        for lock in self.folder.glob("*index*.lock"):
            with suppress(OSError):
                if lock.stat().st_mtime < limit:
                    lock.unlink()

    def _unstage(self, names: Sequence[str]) -> None:
        run(self.root, ["reset", "--quiet", *LISTED], check=False, given=_listed(names))

    def changed(self, *below: str) -> list[Path]:
        """Files below these paths of the home with uncommitted changes."""
        command = ["status", "--porcelain", "--no-renames", "--untracked-files=all", "-z"]
        fields = self._git(*command, "--", *below).split("\0")
        return [self._path(field[3:]) for field in fields if field]

    def diff(self, paths: Sequence[Path]) -> str:
        """What has changed in these files since the last commit; a new file is all new."""
        names = [self.name(path) for path in paths]
        known = [name for name in names if self._tracked(name)]
        text = ""
        for name in names:
            if name in known:
                command = ["diff", "--no-color", "--unified=0", "HEAD", "--", name]
                text += self._try(*command).stdout
            else:
                with suppress(OSError, UnicodeDecodeError):
                    added = (self.root / name).read_text(encoding="utf-8").splitlines()
                    text += f"new file {name}\n" + "".join(f"+{line}\n" for line in added[:200])
        return text

    def last_commit(self) -> tuple[str, str, str] | None:
        """Short hash, ISO date and subject of the newest commit that touched the home."""
        done = self._try("log", "-1", "--format=%h%x00%cI%x00%s", "--", ".")
        parts = done.stdout.strip().split("\0")
        return (parts[0], parts[1], parts[2]) if len(parts) == 3 else None

    def _tracked(self, name: str) -> bool:
        return bool(self._try("ls-files", "--", name).stdout.strip())

    def _identity(self) -> list[str]:
        """A name to commit under, where the user has none."""
        if self._named is None:
            done = self._try("config", "user.email")
            by_environment = {"GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"} <= os.environ.keys()
            self._named = bool(done.stdout.strip()) or by_environment
        return [] if self._named else ["user.name=Wakebook", "user.email=wakebook@localhost"]

    def _stamp(self) -> dict[str, str]:
        """The time of a commit is the clock's, like that of everything else."""
        moment = clock.now().astimezone()
        stamp = f"@{int(moment.timestamp())} {moment:%z}"
        return {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}


def _subject(summary: str) -> str:
    line = " ".join(summary.split())
    return line if len(line) <= 72 else line[:71].rstrip() + "…"
