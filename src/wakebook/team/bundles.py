"""Bundles: a home's git history as rows, each with what the ones before it lack.

git's own folder is disposable like the rest of a working copy. After work that has moved a branch,
the new commits become one more bundle; a history that was rewritten, as an erase does, replaces
all of them, so that nothing of the old one is kept.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from wakebook.base.errors import GitError
from wakebook.history.repository import Repository, run

MOST = 50  # bundles, before they become one
NONE = "0" * 40
LONG = 600.0  # seconds for all the history of a large home


class Refs(msgspec.Struct, frozen=True):
    """What git's names stand for, and which bundles hold it."""

    head: str = ""  # as in .git/HEAD; empty: there is no repository
    names: dict[str, str] = {}
    first: int = 1  # the number of the oldest bundle that counts
    last: int = 0


class Bundle(NamedTuple):
    refs: Refs
    data: bytes  # a bundle with number refs.last, or nothing
    whole: bool  # all others go


def here(root: Path, before: Refs) -> Refs:
    """The names as they are in a working copy now, read from git's files: no process is needed."""
    git = root / ".git"
    try:
        head = (git / "HEAD").read_text().strip()
    except OSError:
        return Refs(first=before.first, last=before.last)
    names: dict[str, str] = {}
    with suppress(OSError):
        for line in (git / "packed-refs").read_text().splitlines():
            if line[:1] not in ("#", "^"):
                commit, _, name = line.partition(" ")
                names[name] = commit
    for path in sorted((git / "refs").rglob("*")):
        if path.is_file() and not path.name.endswith(".lock"):
            names[path.relative_to(git).as_posix()] = path.read_text().strip()
    return Refs(head, names, before.first, before.last)


def make(root: Path, before: Refs) -> Bundle | None:
    """What is to be kept of a working copy's history; None if nothing has moved."""
    now = here(root, before)
    if (now.head, now.names) == (before.head, before.names):
        return None
    tips = sorted(set(before.names.values()))
    grown = bool(tips) and before.last - before.first < MOST and _grown(root, before, now)
    if grown:
        done = _bundled(root, [f"^{tip}" for tip in tips])
        if done is None:  # a name for what is there already, or one less
            return Bundle(now, b"", False)
        return Bundle(msgspec.structs.replace(now, last=before.last + 1), done, False)
    data = _bundled(root, []) or b""
    number = before.last + 1
    return Bundle(msgspec.structs.replace(now, first=number, last=number), data, True)


def _grown(root: Path, before: Refs, now: Refs) -> bool:
    """Whether every branch has only moved on. One that was rewritten has to go."""
    for name, old in before.names.items():
        new = now.names.get(name)
        if new == old:
            continue
        if new is None or not name.startswith("refs/heads/"):
            return False
        if run(root, ["merge-base", "--is-ancestor", old, new], check=False).code:
            return False
    return True


def _bundled(root: Path, without: list[str]) -> bytes | None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bundle"
        words = ["bundle", "create", "--quiet", str(file), "--all", *without]
        done = run(root, words, check=False, timeout=LONG)
        if done.code and "empty bundle" in done.error:
            return None
        if done.code:
            raise GitError(f"git bundle in {root} failed: {done.error.strip()}")
        return file.read_bytes()


def restore(root: Path, before: Refs, now: Refs, bundles: list[bytes]) -> None:
    """Bring git's folder of a working copy up to date with new bundles, or make it anew if the old
    ones count no more (`bundles` are all of them then). Files are left as they are."""
    if before.first != now.first or not now.head:
        shutil.rmtree(root / ".git", ignore_errors=True)
        before = Refs()
    if not now.head:
        return
    if not (root / ".git" / "HEAD").exists():
        Repository.create(root)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bundle"
        for data in bundles:
            file.write_bytes(data)
            run(root, ["bundle", "unbundle", str(file)], timeout=LONG)
    (root / ".git" / "HEAD").write_text(now.head + "\n")
    gone = [name for name in before.names if name not in now.names]
    lines = [f"delete {name}\n" for name in gone]
    lines += [f"update {name} {commit}\n" for name, commit in now.names.items()]
    run(root, ["update-ref", "--stdin"], given="".join(lines).encode())
    if run(root, ["rev-parse", "--verify", "--quiet", "HEAD"], check=False).code == 0:
        run(root, ["reset", "--quiet"], check=False)
