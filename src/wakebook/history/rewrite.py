"""Rewrite: git's whole history without some texts, and with everything else as it was.

Every commit that can be reached from a branch, a tag, the stash or a work tree is read once, from
the oldest on. A commit whose files, message and parents do not change keeps its id. The new
objects are written beside the old ones, which harms nothing; then all names move in one
transaction, and only then do the old objects go. Killed before that transaction, nothing has
changed; killed after it, running it once more does the rest.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Protocol

from wakebook.history.objects import LONG, Growth, Longest, Objects
from wakebook.history.repository import Repository, run

PSEUDO = ("ORIG_HEAD", "FETCH_HEAD", "AUTO_MERGE", "COMMIT_EDITMSG", "MERGE_MSG", "gc.log")
STASH = "refs/stash"
FOLDER = b"40000"
_HASH = re.compile(rb"\b[0-9a-f]{40,64}\b")

Progress = Callable[[str, int, int], None]


class Change(Protocol):
    """What happens to files and messages. Paths are relative to the home."""

    def path(self, path: str) -> str | None:
        """What a file is called from now on. None: it goes."""

    def data(self, path: str, data: bytes) -> bytes:
        """A file's bytes from now on."""

    @property
    def growing(self) -> tuple[str, ...]:
        """Files to which lines are only ever added, each of which can be changed by itself."""

    def text(self, data: bytes) -> bytes:
        """A message from now on."""


class Counted(NamedTuple):
    """What of git's history holds it."""

    commits: int
    all: int
    names: tuple[str, ...]  # branches and tags that move
    reflog: int
    files: frozenset[str] = frozenset()  # of which some version changes


class Rewriting:
    """One pass over the history. Nothing is moved before `apply`."""

    def __init__(self, repository: Repository, change: Change, growth: Growth) -> None:
        self.repository, self._change, self._growth = repository, change, growth
        self._objects = Objects(repository)
        self.commits: dict[str, str] = {}  # every commit, and what it becomes
        self._trees: dict[tuple[str, str], str | None] = {}
        self._blobs: dict[tuple[str, str], str] = {}
        self._dry = False
        self.moved: dict[str, tuple[str, str]] = {}  # names of git: from, to

    # --- looking ---------------------------------------------------------------------------

    def count(self, progress: Progress) -> Counted:
        """What would change. Writes nothing."""
        self._dry = True
        try:
            self._walk(progress)
        finally:
            self._objects.abandon()
        changed = sum(old != new for old, new in self.commits.items())
        folder = self.repository.common
        logs = [*folder.glob("logs/**/*"), *folder.glob("worktrees/*/logs/**/*")]
        reflog = sum(path.read_bytes().count(b"\n") for path in logs if path.is_file())
        files = frozenset(path for (old, path), new in self._blobs.items() if old != new)
        return Counted(changed, len(self.commits), tuple(self.moved), reflog, files)

    # --- doing -----------------------------------------------------------------------------

    def apply(self, progress: Progress) -> None:
        """Write the new history, and move every name to it. The old objects stay (`drop`)."""
        try:
            self._walk(progress)
            self._objects.close()
        except BaseException:
            self._objects.abandon()
            raise
        lines = [f"update {ref}\0{new}\0{old}\0" for ref, (old, new) in self.moved.items()]
        remote = [ref for ref in self._refs() if ref.startswith("refs/remotes/")]
        lines += [f"delete {ref}\0\0" for ref in remote] if any(self._changes()) else []
        if lines:
            given = "".join(lines).encode()
            run(self.repository.root, ["update-ref", "--no-deref", "-z", "--stdin"], given=given)
        for tree in self._work_trees():
            self._move_head(tree)
            self._index(tree)
        self._stash_log()

    def _changes(self) -> Iterator[bool]:
        return (old != new for old, new in self.commits.items())

    def drop(self) -> None:
        """Take the old history away: reflogs, names of the moment, and objects."""
        repository = self.repository
        for folder in (repository.common, *repository.common.glob("worktrees/*")):
            for name in PSEUDO:
                (folder / name).unlink(missing_ok=True)
            for path in sorted((folder / "logs").rglob("*"), reverse=True):
                if path.is_file() and not path.as_posix().endswith(f"logs/{STASH}"):
                    path.unlink()
        for name in ("commit-graph", "commit-graphs"):
            path = repository.common / "objects" / "info" / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        loose = ["-c", "core.bigFileThreshold=2g", "-c", "gc.writeCommitGraph=false"]
        run(repository.root, [*loose, "repack", "-a", "-d", "-q"], timeout=LONG)
        run(repository.root, ["prune", "--expire=now"], timeout=LONG)
        run(repository.root, ["prune-packed", "--quiet"], timeout=LONG)

    # --- one pass --------------------------------------------------------------------------

    def _refs(self) -> dict[str, str]:
        """Names of git, and the objects that they stand for."""
        told = self.repository.git("for-each-ref", "--format=%(objectname) %(symref) %(refname)")
        found = {}
        for line in told.splitlines():
            name, _, rest = line.partition(" ")
            symbolic, _, ref = rest.rpartition(" ")
            if not symbolic:
                found[ref] = name
        return found

    def _walk(self, progress: Progress) -> None:
        refs = self._refs()
        kept = {ref: name for ref, name in refs.items() if not ref.startswith("refs/remotes/")}
        heads = [head for tree in self._work_trees() if (head := _head(tree))]
        stashed = self.repository.attempt("reflog", "show", "--format=%H", STASH).text.split()
        roots = "\n".join({*kept.values(), *heads, *stashed})
        command = ["rev-list", "--topo-order", "--reverse", "--stdin"]
        if not roots:
            return
        listed = run(self.repository.root, command, given=roots.encode(), timeout=LONG, check=False)
        names = listed.text.split()
        for path in self._change.growing:
            for longest in self._growth.found(self.repository, self._objects, path):
                self._grown(path, longest)
        for number, name in enumerate(names, 1):
            self.commits[name] = self._commit(name)
            if number % 50 == 0 or number == len(names):
                progress("commits", number, len(names))
        for ref, name in kept.items():
            if (new := self._pointed(name)) != name:
                self.moved[ref] = (name, new)

    def _pointed(self, name: str) -> str:
        """What a name of git stands for from now on: a commit, or a tag with a message."""
        if name in self.commits:
            return self.commits[name]
        kind, data = self._objects.read(name)
        if kind == "commit":
            self.commits[name] = self._commit(name)
            return self.commits[name]
        if kind == "tree":
            return self._tree(name, "") or name
        if kind != "tag":
            return name
        head, gap, message = data.partition(b"\n\n")
        lines = head.split(b"\n")
        target = lines[0].split(b" ")[1].decode()
        lines[0] = b"object " + self._pointed(target).encode()
        after = b"\n".join(lines) + gap + self._message(message)
        if after != data:  # what was signed is another one now
            after = after.split(b"-----BEGIN PGP SIGNATURE-----")[0]
        return self._write("tag", data, after, name)

    def _commit(self, name: str) -> str:
        _, data = self._objects.read(name)
        head, gap, message = data.partition(b"\n\n")
        lines: list[bytes] = []
        for line in head.split(b"\n"):
            key, _, value = line.partition(b" ")
            if key == b"tree":
                tree = self._tree(value.decode(), "")
                line = b"tree " + (tree or self._write("tree", b"", b"", "")).encode()
            elif key == b"parent":
                old = value.decode()
                line = b"parent " + self.commits.get(old, old).encode()
            lines.append(line)
        after = b"\n".join(lines) + gap + self._message(message)
        if after != data:
            after = _unsigned(after)
        return self._write("commit", data, after, name)

    def _message(self, message: bytes) -> bytes:
        """With the ids that other commits have now: `undo` goes by them."""

        def renamed(match: re.Match[bytes]) -> bytes:
            name = match[0].decode()
            return self.commits.get(name, name).encode()

        return self._change.text(_HASH.sub(renamed, message))

    def _write(self, kind: str, before: bytes, after: bytes, name: str) -> str:
        if after == before and name:
            return name
        return self._objects.name(kind, after) if self._dry else self._objects.write(kind, after)

    def _tree(self, name: str, path: str) -> str | None:
        """A folder. None: nothing is left in it."""
        known = self._trees.get((name, path), "")
        if known != "":
            return known
        _, data = self._objects.read(name)
        size, at = self._objects.size, 0
        entries: dict[bytes, tuple[bytes, bytes]] = {}
        same = True
        while at < len(data):
            space, null = data.index(b" ", at), data.index(b"\0", at)
            mode, title = data[at:space], data[space + 1 : null]
            old = data[null + 1 : null + 1 + size]
            at = null + 1 + size
            called, new = self._entry(mode, title, old, path)
            if called is None or new is None:
                same = False
                continue
            same = same and (called, new) == (title, old)
            entries[_free(called, entries)] = (mode, new)
        after = name
        if not same:
            order = sorted(entries, key=lambda one: one + b"/" * (entries[one][0] == FOLDER))
            text = b"".join(b"%b %b\0%b" % (entries[t][0], t, entries[t][1]) for t in order)
            after = self._write("tree", data, text, name) if entries else ""
        self._trees[name, path] = after or None
        return after or None

    def _entry(
        self, mode: bytes, title: bytes, old: bytes, path: str
    ) -> tuple[bytes | None, bytes | None]:
        """A file or folder of a folder: what it is called from now on, and its object."""
        whole = f"{path}/{os.fsdecode(title)}" if path else os.fsdecode(title)
        home = self.repository.prefix
        if mode == b"160000" or not _meets(whole, home):
            return title, old  # another repository, or not the home's
        if mode == FOLDER:
            found = self._tree(old.hex(), whole)
            called = self._folder(whole, home)
            return called, bytes.fromhex(found) if found else None
        inside = whole if home == "." else PurePosixPath(whole).relative_to(home).as_posix()
        moved = self._change.path(inside)
        if moved is None:
            return None, None
        called = os.fsencode(PurePosixPath(moved).name)
        if mode == b"120000":
            return called, old
        return called, bytes.fromhex(self._blob(old.hex(), inside))

    def _folder(self, whole: str, home: str) -> bytes:
        if home != "." and (whole == home or not whole.startswith(f"{home}/")):
            return os.fsencode(PurePosixPath(whole).name)
        inside = whole if home == "." else PurePosixPath(whole).relative_to(home).as_posix()
        moved = self._change.path(f"{inside}/x") or f"{inside}/x"
        return os.fsencode(PurePosixPath(moved).parent.name)

    def _grown(self, path: str, longest: Longest) -> None:
        """All versions of a file that begin one of them: what each has more is read once."""
        _, data = self._objects.read(longest.name)
        after, at, same = bytearray(), 0, True
        ends: dict[str, int] = {}  # of those that change: how long they are then
        for size, name in longest.shorter:
            piece = data[at:size]
            new = self._change.data(path, piece)
            after += new
            at, same = size, same and new == piece
            if same:
                self._blobs[name, path] = name
            else:
                ends[name] = len(after)
        sizes = sorted({*ends.values()})
        if self._dry:
            made = [self._objects.name("blob", b"%d" % size) for size in sizes]
        else:
            made = self._objects.write_beginnings(bytes(after), sizes)
        called = dict(zip(sizes, made, strict=True))
        self._blobs |= {(name, path): called[size] for name, size in ends.items()}

    def _blob(self, name: str, path: str) -> str:
        if (name, path) not in self._blobs:
            _, data = self._objects.read(name)
            after = self._change.data(path, data)
            self._blobs[name, path] = self._write("blob", data, after, name)
        return self._blobs[name, path]

    # --- what stands beside the history ----------------------------------------------------

    def _work_trees(self) -> list[Path]:
        told = self.repository.git("worktree", "list", "--porcelain").splitlines()
        paths = [Path(line[9:]) for line in told if line.startswith("worktree ")]
        return [path for path in paths if path.is_dir()]

    def _move_head(self, tree: Path) -> None:
        """Of a work tree that is on no branch."""
        if run(tree, ["symbolic-ref", "--quiet", "HEAD"], check=False).code == 0:
            return
        head = _head(tree)
        if head and (new := self.commits.get(head, head)) != head:
            run(tree, ["update-ref", "--no-deref", "HEAD", new, head])

    def _index(self, tree: Path) -> None:
        """What is staged, or as it was: with the new names and objects."""
        told = run(tree, ["ls-files", "--stage", "-z"], check=False).data.split(b"\0")
        zero = "0" * (2 * self._objects.size)
        lines: list[bytes] = []
        objects = self._objects
        for line in told:
            about, _, title = line.partition(b"\t")
            if not title:
                continue
            mode, name, stage = about.split(b" ")
            whole, home = os.fsdecode(title), self.repository.prefix
            inside = PurePosixPath(whole)
            if mode in (b"160000", b"120000") or (home != "." and not whole.startswith(f"{home}/")):
                continue
            inside = inside if home == "." else inside.relative_to(home)
            moved = self._change.path(inside.as_posix())
            new = self._blob(name.decode(), inside.as_posix()) if moved else zero
            if moved == inside.as_posix() and new == name.decode():
                continue
            lines.append(b"0 %b\t%b\0" % (zero.encode(), title))
            if moved:
                there = os.fsencode(moved if home == "." else f"{home}/{moved}")
                lines.append(b"%b %b %b\t%b\0" % (mode, new.encode(), stage, there))
        objects.close()  # a new object has to be there before it is named
        if lines:
            given = b"".join(lines)
            run(tree, ["update-index", "-z", "--index-info"], given=given, timeout=LONG)

    def refresh(self) -> None:
        """Tell git's index how the files are now."""
        for tree in self._work_trees():
            run(tree, ["update-index", "-q", "--refresh"], check=False, timeout=LONG)

    def _stash_log(self) -> None:
        """The stash keeps all but its newest entry in a reflog alone."""
        path = self.repository.common / "logs" / STASH
        with suppress(FileNotFoundError):
            data = path.read_bytes()
            after = self._message(data)
            if after != data:
                temporary = path.with_suffix(".new")
                temporary.write_bytes(after)
                temporary.replace(path)


def _head(tree: Path) -> str:
    done = run(tree, ["rev-parse", "--quiet", "--verify", "HEAD"], check=False)
    return done.text.strip() if done.code == 0 else ""


def _meets(path: str, home: str) -> bool:
    """Whether a path is in the home, or leads to it."""
    return home == "." or path == home or path.startswith(f"{home}/") or home.startswith(f"{path}/")


def _free(title: bytes, taken: Sequence[bytes] | dict[bytes, tuple[bytes, bytes]]) -> bytes:
    number, found = 2, title
    while found in taken:
        stem, dot, suffix = title.rpartition(b".")
        found = b"%b-%d%b%b" % (stem or suffix, number, dot, suffix if stem else b"")
        number += 1
    return found


def _unsigned(data: bytes) -> bytes:
    """A commit without the signature of the one that it was."""
    head, gap, message = data.partition(b"\n\n")
    kept: list[bytes] = []
    signed = False
    for line in head.split(b"\n"):
        signed = line.startswith((b"gpgsig ", b"gpgsig-sha256 ")) or (
            signed and line.startswith(b" ")
        )
        kept += [] if signed else [line]
    return b"\n".join(kept) + gap + message
