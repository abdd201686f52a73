"""What git knows of the past: when something came, how it was then, what has changed since.

Nothing here changes the checkout or the index.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from wakebook.base import clock
from wakebook.base.errors import GitError
from wakebook.history.commit import Committing
from wakebook.history.git import run_bytes, text_of

FORMAT = "%x01%H%x00%cI%x00%s%x00%b%x02"


class Commit(msgspec.Struct, frozen=True):
    """A commit, with what was asked about it: the lines that hold a text, or nothing."""

    id: str
    at: datetime
    summary: str
    body: str = ""
    added: tuple[tuple[str, str], ...] = ()  # file and line
    removed: tuple[tuple[str, str], ...] = ()

    @property
    def short(self) -> str:
        return self.id[:7]


class Change(msgspec.Struct, frozen=True):
    """A file that differs between two moments, with the number of lines that came and went."""

    path: str
    added: int
    removed: int


class Remembering(Committing):
    # --- commits ---------------------------------------------------------------------

    def commits(self, *arguments: str, below: Sequence[str] = (".",)) -> list[Commit]:
        """Commits that touched these paths, newest first."""
        if not self.head():
            return []
        done = self._git("log", f"--format={FORMAT}", *arguments, "--", *below)
        return [commit for commit, _ in _parsed(done)]

    def commit_before(self, moment: datetime) -> Commit | None:
        """The newest commit of the current branch that is not younger than this moment."""
        if not self.head():
            return None
        found = self._git(
            "log", "-1", "--first-parent", f"--format={FORMAT}", f"--before={_epoch(moment)}"
        )
        return next((commit for commit, _ in _parsed(found)), None)

    def describe(self, name: str) -> Commit:
        """The commit that a name stands for."""
        identity = self.resolve(name)
        if identity is None:
            raise GitError(f"git knows no commit {name!r} in {self.top}.")
        found = self._git("log", "-1", f"--format={FORMAT}", identity)
        return next(commit for commit, _ in _parsed(found))

    def search(self, text: str, below: Sequence[str]) -> list[Commit]:
        """Commits that brought or removed a text (whatever its case), oldest first, each with
        the lines in question."""
        if not self.head():
            return []
        done = self._git(
            "log", "--reverse", f"--format={FORMAT}", f"-S{text}", "-i", "-p", "--unified=0",
            "--relative", "--no-color", "--no-ext-diff", "--", *below,
        )  # fmt: skip
        wanted = text.lower()
        return [_holding(commit, patch, wanted) for commit, patch in _parsed(done)]

    def blame(self, path: str, line: int) -> Commit:
        """The commit that wrote a line of a file, as the file is in the last commit."""
        done = self._try("blame", "--porcelain", "-L", f"{line},{line}", "HEAD", "--", path)
        if done.returncode != 0:
            raise GitError(f"git blame of {path}, line {line}: {done.stderr.strip()}")
        return self.describe(done.stdout.split(" ", 1)[0])

    # --- files -----------------------------------------------------------------------

    def show(self, commit: str, path: str) -> bytes | None:
        """A file as it was, decrypted where it is encrypted; None if it was not there."""
        done = run_bytes(self.root, ["cat-file", "--filters", f"{commit}:./{path}"], check=False)
        return done.stdout if done.returncode == 0 else None

    def files(self, commit: str, below: Sequence[str] = (".",)) -> list[str]:
        """The files of the home in a commit."""
        done = self._git("ls-tree", "-r", "-z", "--name-only", commit, "--", *below)
        return [name for name in done.split("\0") if name]

    def extract(
        self, commit: str, below: Sequence[str], into: Path, wanted: Callable[[str], bool]
    ) -> list[str]:
        """Write files of a commit into a folder, as they were. Their names."""
        import io
        import tarfile

        there = {name for name in self.files(commit, below) if wanted(name)}
        tops = sorted({path for path in below if any(_is_in(name, path) for name in there)})
        if not tops:
            return []
        done = run_bytes(self.root, ["archive", "--format=tar", commit, "--", *tops])
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            for member in archive:
                if member.isreg() and member.name in there:
                    stream = archive.extractfile(member)
                    assert stream is not None
                    _write(into / member.name, stream.read(), member.mtime)
        return sorted(there)

    # --- differences -----------------------------------------------------------------

    def changes(self, since: str, until: str, below: Sequence[str]) -> list[Change]:
        """The files that differ. Without `until`: from then to the files as they are now."""
        span = [since, until] if until else [since]
        done = self._git("diff", "--numstat", "-z", "--no-renames", "--relative", *span,
                         "--", *below)  # fmt: skip
        found = [_change(field) for field in done.split("\0") if field]
        if not until:
            found += [Change(name, _lines(self.root / name), 0) for name in self.unknown(below)]
        return sorted(found, key=lambda change: change.path)

    def patch(self, since: str, until: str, below: Sequence[str]) -> str:
        """The same, line by line."""
        span = [since, until] if until else [since]
        command = ["diff", "--no-color", "--no-ext-diff", "--relative", *span, "--", *below]
        text = self._git(*command)
        for name in [] if until else self.unknown(below):
            new = ["diff", "--no-color", "--no-ext-diff", "--no-index", "--", "/dev/null", name]
            text += self._try(*new).stdout
        return text

    def unknown(self, below: Sequence[str]) -> list[str]:
        """Files that are not in git yet."""
        done = self._git("ls-files", "--others", "--exclude-standard", "-z", "--", *below)
        return [name for name in done.split("\0") if name]

    def empty_tree(self) -> str:
        """What there was before the first commit."""
        return self._git("hash-object", "-t", "tree", "/dev/null").strip()

    def merged(self, ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
        """Two changes of one text, put together; None where they contradict each other."""
        import tempfile

        with tempfile.TemporaryDirectory(prefix="wakebook-merge-") as folder:
            paths = []
            for name, data in (("ours", ours), ("base", base), ("theirs", theirs)):
                path = Path(folder) / name
                path.write_bytes(data)
                paths.append(str(path))
            done = run_bytes(self.root, ["merge-file", "--stdout", *paths], check=False)
        return done.stdout if done.returncode == 0 else None

    # --- tags ------------------------------------------------------------------------

    def tag(self, name: str, at: str = "HEAD") -> str:
        """Give a commit a name. A name that is taken is never moved."""
        ref = f"refs/tags/{name}"
        self._valid(ref)
        commit = self.resolve(at)
        if commit is None:
            raise GitError(f"There is nothing to call {name} in {self.top}: no commit yet.")
        if (there := self.resolve(ref)) is not None:
            raise GitError(
                f"There is a tag {name} already ({there[:7]}), and a tag is never moved. "
                f"Choose another name, or remove it: `git -C {self.top} tag -d {name}`."
            )
        self._git("update-ref", ref, commit, "0" * len(commit))
        return commit

    def tags(self, prefix: str = "") -> list[str]:
        """The tags below a prefix, sorted by name."""
        found = self._git("for-each-ref", "--format=%(refname)", "refs/tags/").splitlines()
        names = sorted(name.removeprefix("refs/tags/") for name in found)
        return [name for name in names if name.startswith(prefix)]


def _parsed(text: str) -> Iterator[tuple[Commit, str]]:
    """Commits of `git log --format=FORMAT`, each with the patch behind it."""
    for part in text.split("\x01")[1:]:
        head, _, patch = part.partition("\x02")
        fields = head.split("\0", 3)
        at = clock.parse(fields[1]) if len(fields) == 4 else None
        if at is not None:
            yield Commit(fields[0], at, fields[2], fields[3].strip()), patch


def _holding(commit: Commit, patch: str, wanted: str) -> Commit:
    added: list[tuple[str, str]] = []
    removed: list[tuple[str, str]] = []
    old = new = ""
    heading = False  # between "diff --git" and the first "@@"
    for line in patch.split("\n"):
        if line.startswith("diff --git "):
            heading = True
        elif line.startswith("@@"):
            heading = False
        elif heading and line.startswith("--- "):
            old = line[4:].rstrip("\t").removeprefix("a/")
        elif heading and line.startswith("+++ "):
            new = line[4:].rstrip("\t").removeprefix("b/")
        elif not heading and line[:1] == "+" and wanted in line.lower():
            added.append((new, line[1:]))
        elif not heading and line[:1] == "-" and wanted in line.lower():
            removed.append((old, line[1:]))
    return msgspec.structs.replace(commit, added=tuple(added), removed=tuple(removed))


def _change(field: str) -> Change:
    added, removed, name = field.split("\t", 2)
    return Change(name, int(added) if added != "-" else 0, int(removed) if removed != "-" else 0)


def _lines(path: Path) -> int:
    try:
        return len(text_of(path.read_bytes()).splitlines())
    except OSError:
        return 0


def _is_in(name: str, folder: str) -> bool:
    return folder == "." or name == folder or name.startswith(f"{folder}/")


def _write(path: Path, data: bytes, modified: float) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(mode=0o600)
    path.write_bytes(data)
    os.utime(path, (modified, modified))


def _epoch(moment: datetime) -> str:
    return f"@{int(moment.timestamp())}"
