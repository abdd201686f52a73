"""Revisions: commits, how files were in them, and what has changed since.

Nothing here changes the checkout or the index.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from wakebook.base import clock
from wakebook.base.errors import GitError
from wakebook.history.repository import Repository, run

FORMAT = "--format=%x01%H%x00%cI%x00%s%x00%b%x02"
PLAIN = ("--no-color", "--no-ext-diff")


class Commit(msgspec.Struct, frozen=True):
    """A commit; of a search, with the lines that hold the text."""

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


class Versions(NamedTuple):
    """A file that a commit changed."""

    name: str
    now: bytes | None
    then: bytes | None  # as the commit left it
    before: bytes | None


class Put(NamedTuple):
    """What a file becomes when a change of it is taken back."""

    data: bytes | None  # None: the file goes
    clash: bool = False  # it has changed in the same place since


CLASH = Put(None, clash=True)


def commits(repository: Repository, *arguments: str, below: Sequence[str] = (".",)) -> list[Commit]:
    """Commits that touched these paths, newest first."""
    if not repository.head():
        return []
    return [commit for commit, _ in _log(repository, *arguments, "--", *below)]


def commit_before(repository: Repository, moment: datetime) -> Commit | None:
    """The newest commit of the current branch that is not younger than this moment."""
    if not repository.head():
        return None
    before = f"--before=@{int(moment.timestamp())}"
    return next((one for one, _ in _log(repository, "-1", "--first-parent", before)), None)


def describe(repository: Repository, name: str) -> Commit:
    """The commit that a name stands for."""
    identity = repository.resolve(name)
    if identity is None:
        raise GitError(f"git knows no commit {name!r} in {repository.top}.")
    return next(commit for commit, _ in _log(repository, "-1", identity))


def search(repository: Repository, text: str, below: Sequence[str]) -> list[Commit]:
    """Commits that brought or removed a text (whatever its case), oldest first, each with the
    lines in question."""
    if not repository.head():
        return []
    wanted = ("--reverse", f"-S{text}", "-i", "-p", "--unified=0", "--relative", *PLAIN)
    found = _log(repository, *wanted, "--", *below)
    return [_holding(commit, patch, text.lower()) for commit, patch in found]


def blame(repository: Repository, path: str, line: int) -> Commit:
    """The commit that wrote a line of a file, as the file is in the last commit."""
    done = repository.attempt("blame", "--porcelain", "-L", f"{line},{line}", "HEAD", "--", path)
    if done.code != 0:
        raise GitError(f"git blame of {path}, line {line}: {done.error.strip()}")
    return describe(repository, done.text.split(" ", 1)[0])


def _log(repository: Repository, *arguments: str) -> Iterator[tuple[Commit, str]]:
    """Commits, each with the patch behind it."""
    for part in repository.git("log", FORMAT, *arguments).split("\x01")[1:]:
        head, _, patch = part.partition("\x02")
        fields = head.split("\0", 3)
        at = clock.parse(fields[1]) if len(fields) == 4 else None
        if at is not None:
            yield Commit(fields[0], at, fields[2], fields[3].strip()), patch


def _holding(commit: Commit, patch: str, wanted: str) -> Commit:
    lines: dict[str, list[tuple[str, str]]] = {"+": [], "-": []}
    names = {"+": "", "-": ""}
    heading = False  # between "diff --git" and the first "@@"
    for line in patch.split("\n"):
        sign = line[:1]
        if line.startswith("diff --git "):
            heading = True
        elif line.startswith("@@"):
            heading = False
        elif heading and line.startswith(("--- ", "+++ ")):
            names[sign] = line[4:].rstrip("\t").removeprefix("a/" if sign == "-" else "b/")
        elif not heading and sign in lines and wanted in line.lower():
            lines[sign].append((names[sign], line[1:]))
    return msgspec.structs.replace(commit, added=tuple(lines["+"]), removed=tuple(lines["-"]))


def extract(repository: Repository, commit: str, below: Sequence[str], into: Path) -> None:
    """Write files of a commit into a folder, as they were."""
    import io
    import tarfile

    there = run(repository.root, ["ls-tree", "-r", "-z", "--name-only", commit, "--", *below])
    names = set(there.fields)
    tops = sorted({path for path in below if any(_is_in(name, path) for name in names)})
    if not tops:
        return
    done = run(repository.root, ["archive", "--format=tar", commit, "--", *tops])
    with tarfile.open(fileobj=io.BytesIO(done.data)) as archive:
        for member in archive:
            if member.isreg() and member.name in names:
                stream = archive.extractfile(member)
                assert stream is not None
                path = into / member.name
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                path.touch(mode=0o600)
                path.write_bytes(stream.read())
                os.utime(path, (member.mtime, member.mtime))


def _is_in(name: str, folder: str) -> bool:
    return folder == "." or name == folder or name.startswith(f"{folder}/")


def changes(repository: Repository, since: str, until: str, below: Sequence[str]) -> list[Change]:
    """The files that differ. Without `until`: from then to the files as they are now."""
    span = [since, until] if until else [since]
    command = ["diff", "--numstat", "-z", "--no-renames", "--relative", *span, "--", *below]
    found = [_change(field) for field in run(repository.root, command).fields]
    for name in [] if until else _unknown(repository, below):
        lines: list[str] = []
        with suppress(OSError):
            lines = (repository.root / name).read_text("utf-8", "replace").splitlines()
        found.append(Change(name, len(lines), 0))
    return sorted(found, key=lambda change: change.path)


def _change(field: str) -> Change:
    added, removed, name = field.split("\t", 2)
    return Change(name, *(int(count) if count != "-" else 0 for count in (added, removed)))


def patch(repository: Repository, since: str, until: str, below: Sequence[str]) -> str:
    """The same, line by line."""
    span = [since, until] if until else [since]
    text = repository.git("diff", *PLAIN, "--relative", *span, "--", *below)
    for name in [] if until else _unknown(repository, below):
        text += repository.attempt("diff", *PLAIN, "--no-index", "--", "/dev/null", name).text
    return text


def _unknown(repository: Repository, below: Sequence[str]) -> list[str]:
    """Files that are not in git yet."""
    command = ["ls-files", "--others", "--exclude-standard", "-z", "--", *below]
    return run(repository.root, command).fields


def empty_tree(repository: Repository) -> str:
    """What there was before the first commit."""
    return repository.git("hash-object", "-t", "tree", "/dev/null").strip()


def versions(repository: Repository, commit: str) -> list[Versions]:
    """The files that a commit changed, as they were before, then and now."""
    found: list[Versions] = []
    for name in [change.path for change in changes(repository, f"{commit}^", commit, (".",))]:
        path = repository.root / name
        now = path.read_bytes() if path.exists() else None
        then, before = (repository.show(one, name) for one in (commit, f"{commit}^"))
        found.append(Versions(name, now, then, before))
    return found


def put_back(repository: Repository, file: Versions) -> Put:
    """A text without what a commit changed, and with every change since."""
    if file.now is None or file.then is None or file.before is None:
        return CLASH
    with tempfile.TemporaryDirectory(prefix="wakebook-merge-") as folder:
        paths = [Path(folder, name) for name in ("ours", "base", "theirs")]
        for path, data in zip(paths, (file.now, file.then, file.before), strict=True):
            path.write_bytes(data)
        done = repository.attempt("merge-file", "--stdout", *map(str, paths))
    return Put(done.data) if done.code == 0 else CLASH
