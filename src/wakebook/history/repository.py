"""Repository: a home that is, or lies inside, a git work tree; and how git is run for it.

git is run by name, with an argument list. Inside a git hook the environment points at the
repository that is being committed to: what Wakebook runs looks at its own home, and only the
hook's own checks keep that environment (`inside`).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from wakebook.base import clock
from wakebook.base.errors import GitError
from wakebook.history import leftovers

TIMEOUT = 60.0
POINTERS = (b"GIT_DIR", b"GIT_INDEX_FILE", b"GIT_WORK_TREE", b"GIT_PREFIX", b"GIT_COMMON_DIR")
QUIETLY = {
    b"GIT_TERMINAL_PROMPT": b"0",
    b"GIT_OPTIONAL_LOCKS": b"0",
    b"GIT_LITERAL_PATHSPECS": b"1",  # a note may be called [draft].md
    b"LC_ALL": b"C",
}
KINDS = ("conversation", "memory", "identity", "maintenance", "explore", "extract")
LONG = 600.0  # seconds that packing may take
CHECKED = "WAKEBOOK_CHECKED"  # tells the hooks that this commit is Wakebook's own
BRANCH = "refs/heads/"
NO_BRANCH = f"{BRANCH}.invalid"  # stands in HEAD where git keeps its names in another way
COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
SHORT = 7  # letters of a commit's name that people are told
LISTED = ("--pathspec-from-file=-", "--pathspec-file-nul")  # of names on its input: any number
# What git leaves in its folder while something is going on -> what that is, the state, the command
GOING_ON = {
    "MERGE_HEAD": ("a merge", "merging", "merge"),
    "rebase-merge": ("a rebase", "rebasing", "rebase"),
    "rebase-apply": ("a rebase", "rebasing", "rebase"),
    "CHERRY_PICK_HEAD": ("a cherry-pick", "cherry-picking", "cherry-pick"),
    "REVERT_HEAD": ("a revert", "reverting", "revert"),
}


class Answer(NamedTuple):
    """What a git command gave back."""

    code: int
    data: bytes
    error: str

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")

    @property
    def fields(self) -> list[str]:
        """The names of an output that ends each of them with a NUL."""
        return [field for field in self.text.split("\0") if field]


def installed() -> bool:
    return shutil.which("git") is not None


def run(
    root: Path,
    arguments: Sequence[str],
    *,
    settings: Sequence[str] = (),
    check: bool = True,
    inside: bool = False,
    extra: Mapping[str, str] | None = None,
    given: bytes = b"",
    timeout: float = TIMEOUT,
) -> Answer:
    """`inside`: as a part of the git command whose hook this is. `given`: its input, which is whole
    in a file before git starts: to a command that reads names, half of them or none would mean
    others, or everything."""
    given_too = {os.fsencode(key): os.fsencode(value) for key, value in (extra or {}).items()}
    options = [part for setting in ("core.quotepath=false", *settings) for part in ("-c", setting)]
    try:
        with _input(given) as source:
            done = subprocess.run(
                [b"git", *map(_word, (*options, *arguments))],
                cwd=root,
                env=environment(inside) | QUIETLY | given_too,
                stdin=source,
                capture_output=True,
                timeout=timeout,
                check=False,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(f"git in {root}: {error}") from error
    answer = Answer(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))
    if check and answer.code != 0:
        said = (answer.error or answer.text).strip()
        raise GitError(f"git {arguments[0]} in {root} failed: {said}")
    return answer


def environment(inside: bool = False) -> dict[bytes, bytes]:
    """What a process is told that looks at its own repository; `inside`: at that of a hook. As
    bytes, which nobody has to encode again."""
    found = dict(os.environb)
    for name in () if inside else POINTERS:
        found.pop(name, None)
    return found


@contextmanager
def _input(given: bytes) -> Iterator[IO[bytes]]:
    """A file with what a command is given."""
    if not given:
        with Path(os.devnull).open("rb") as source:
            yield source
        return
    import tempfile

    with tempfile.TemporaryFile() as source:
        source.write(given)
        source.seek(0)
        yield source


def _word(text: str) -> bytes:
    """An argument; also where the locale's encoding lacks what a message says."""
    try:
        return os.fsencode(text)
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape")


def listed(names: Iterable[str | bytes]) -> bytes:
    """Names for the input of a command."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def blob(data: bytes, like: str) -> str:
    """What git calls a file's contents, by the kind of hash that another name has."""
    kind = "sha1" if len(like) == 40 else "sha256"
    return hashlib.new(kind, b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()


class Repository:
    def __init__(self, root: Path, top: Path, folder: Path, common: Path) -> None:
        self.root = root  # the home
        self.top = top
        self.folder = folder  # git's own: .git, or .git/worktrees/NAME
        self.common = common  # .git
        # where the home lies in the repository: "." if it is the whole of it
        self.prefix = root.resolve().relative_to(top.resolve()).as_posix()
        self.own = self.prefix == "."  # the home's own, and not one around it
        self._healed = False

    @classmethod
    def find(cls, root: Path) -> Repository | None:
        if not installed() or not root.is_dir():
            return None
        wanted = ["--show-toplevel", "--absolute-git-dir", "--git-common-dir"]
        done = run(root, ["rev-parse", *wanted], check=False)
        lines = done.text.rstrip("\n").split("\n")
        if done.code != 0 or len(lines) != 3:
            return None
        return cls(root, Path(lines[0]), Path(lines[1]), (root / lines[2]).resolve())

    @classmethod
    def create(cls, root: Path) -> Repository:
        run(root, ["init", "--quiet", "--initial-branch=main"])
        (root / ".git").chmod(0o700)  # history holds what the files hold
        return cls(root, root, root / ".git", root / ".git")

    def git(self, *arguments: str) -> str:
        """What a command says. Raises GitError if it fails, and no stale lock was the reason."""
        try:
            return run(self.root, arguments).text
        except GitError as error:
            if ".lock" not in str(error) or not leftovers.heal(self):
                raise
            return run(self.root, arguments).text

    def attempt(self, *arguments: str) -> Answer:
        """A command that may fail."""
        return run(self.root, arguments, check=False)

    # --- how it stands -----------------------------------------------------------------

    def state(self) -> str:
        """clean, detached, or what keeps Wakebook from committing: merging, rebasing,
        cherry-picking, reverting, unmerged."""
        if going_on := self._going_on():
            return going_on[1]
        if self._unmerged():
            return "unmerged"
        return "clean" if self.branch() else "detached"

    def obstacle(self) -> str:
        """What keeps Wakebook from committing, and how it ends; mostly nothing."""
        if going_on := self._going_on():
            what, _, command = going_on
            return (
                f"{self.top} is in the middle of {what}: Wakebook commits nothing until it is "
                f"over. `git {command} --continue` or `git {command} --abort` there ends it."
            )
        unmerged = self._unmerged()
        if not unmerged:
            return ""
        names = ", ".join(unmerged[:3]) + (" …" if len(unmerged) > 3 else "")
        return (
            f"{self.top} has conflicts in {names}: Wakebook commits nothing until they are "
            "settled. Edit these files, then `git add` them there."
        )

    def _going_on(self) -> tuple[str, str, str] | None:
        found = (what for name, what in GOING_ON.items() if (self.folder / name).exists())
        return next(found, None)

    def _unmerged(self) -> list[str]:
        found = run(self.top, ["ls-files", "--unmerged", "-z"], check=False).fields
        return sorted({line.partition("\t")[2] for line in found})

    def branch(self) -> str:
        """The branch that is checked out; nothing on a detached HEAD."""
        ref = self._head_ref()
        if ref.startswith(BRANCH) and ref != NO_BRANCH:
            return ref.removeprefix(BRANCH)
        return self.attempt("symbolic-ref", "--quiet", "--short", "HEAD").text.strip()

    def head(self) -> str:
        """The newest commit, or nothing before the first one."""
        with suppress(OSError):
            if ref := self._head_ref():
                found = (self.common / ref).read_text().strip()
                if COMMIT.fullmatch(found):
                    return found
        return self.resolve("HEAD") or ""

    def _head_ref(self) -> str:
        """What HEAD stands for, read without a process; nothing if git has to be asked."""
        with suppress(OSError, UnicodeDecodeError):
            kind, _, ref = (self.folder / "HEAD").read_text(encoding="utf-8").strip().partition(" ")
            return ref if kind == "ref:" else ""
        return ""

    def resolve(self, name: str) -> str | None:
        """The commit that a name stands for."""
        if not name or name.startswith("-"):
            return None
        command = ("rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}")
        done = self.attempt(*command)
        return done.text.strip() if done.code == 0 else None

    def resolve_tree(self, commit: str) -> str:
        """What identifies all files of a commit together."""
        return self.git("rev-parse", f"{commit}^{{tree}}").strip()

    def last_commit(self) -> tuple[str, str, str] | None:
        """Short hash, ISO date and subject of the newest commit that touched the home."""
        said = self.attempt("log", "-1", "--format=%h%x00%cI%x00%s", "--", ".").text.strip()
        short, date, subject = said.split("\0", 2) if said else ("", "", "")
        return (short, date, subject) if said else None

    # --- files -------------------------------------------------------------------------

    def name(self, path: Path) -> str:
        """A path of the home, as git is told of it."""
        return path.relative_to(self.root).as_posix()

    def show(self, commit: str, name: str, inside: bool = False) -> bytes | None:
        """A file as it was, decrypted where it is encrypted; None if it was not there. Without a
        commit: as it is staged."""
        command = ["cat-file", "--filters", f"{commit}:./{name}"]
        done = run(self.root, command, check=False, inside=inside)
        return done.data if done.code == 0 else None

    def added(self, commit: str, name: str) -> bytes | None:
        """What a file has more at its end than in a commit; None if it differs in another way.
        Hashing the file takes a tenth of the time that git takes to show the old one."""
        about = (
            self.attempt("ls-tree", "--long", commit, "--", name).text.partition("\t")[0].split()
        )
        if len(about) != 4:
            return None
        data, size = (self.root / name).read_bytes(), int(about[3])
        return data[size:] if blob(data[:size], about[2]) == about[2] else None

    def changed(self, *below: str) -> list[Path]:
        """Files below these paths of the home with uncommitted changes."""
        command = ["status", "--porcelain", "--no-renames", "--untracked-files=all", "-z"]
        names = [field[3:] for field in run(self.root, [*command, "--", *below]).fields]
        return [self.root / PurePosixPath(name).relative_to(self.prefix) for name in names]

    def has_all(self, paths: Sequence[Path]) -> bool:
        """Whether the last commit has these files as they are."""
        if not paths:
            return True
        command = ["status", "--porcelain", "--untracked-files=all", "--ignored", "-z", "--"]
        done = run(self.root, [*command, *map(self.name, paths)], check=False)
        return done.code == 0 and not done.data

    def diff(self, paths: Sequence[Path]) -> str:
        """What has changed in these files since the last commit; a new file is all new."""
        text = ""
        for name in map(self.name, paths):
            if self._tracked(name):
                command = ("diff", "--no-color", "--unified=0", "HEAD", "--", name)
                text += self.attempt(*command).text
                continue
            with suppress(OSError, UnicodeDecodeError):
                added = (self.root / name).read_text(encoding="utf-8").splitlines()
                text += f"new file {name}\n" + "".join(f"+{line}\n" for line in added[:200])
        return text

    def _tracked(self, name: str) -> bool:
        return bool(self.attempt("ls-files", "--", name).text.strip())

    def staged(self, below: Sequence[str]) -> list[str]:
        """Files below these paths of the home that are in the index and not in the last commit."""
        there = self.attempt("ls-files", "-z", "--", *below).fields
        kept = set(self.kept(below)) if there else set()
        return [name for name in there if name not in kept]

    def kept(self, below: Sequence[str]) -> list[str]:
        """Files below these paths of the home that are in the last commit."""
        command = ("ls-tree", "-r", "-z", "--name-only", "HEAD", "--", *below)
        return self.attempt(*command).fields

    def staged_though_ignored(self) -> list[str]:
        """Anywhere in the repository, relative to the home; not what is committed as well."""
        rules = ("ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
        names = run(self.top, rules, check=False).fields
        kept = set(
            run(self.top, ["ls-tree", "-r", "-z", "--name-only", "HEAD"], check=False).fields
        )
        return [os.path.relpath(self.top / name, self.root) for name in names if name not in kept]

    # --- commits -----------------------------------------------------------------------

    def commit(self, kind: str, summary: str, paths: Sequence[Path], body: str = "") -> str | None:
        """Commit these paths and nothing else. None if they hold no change.

        They are added even where the user's own ignore rules would not. When git refuses, or
        the user is in the middle of a merge, nothing of ours stays in the index.
        """
        assert kind in KINDS
        there = [path for path in paths if not self._odd(path)]
        names = [self.name(path) for path in there if path.exists()]
        gone = [self.name(path) for path in there if not path.exists()]
        names += [name for name in gone if self._tracked(name)]
        # a kill between the two steps below leaves deletions that the index has already
        missing = [name for name in gone if name not in names]
        staged = [n for n in missing if not self.attempt("cat-file", "-e", f"HEAD:./{n}").code]
        if not names and not staged:
            return None
        if obstacle := self.obstacle():
            raise GitError(obstacle)
        if not self._healed:
            self._healed = True
            leftovers.heal(self)
        message = f"{kind}: {_subject(summary)}\n" + (f"\n{body.strip()}\n" if body else "")
        for again in (True, False):
            try:
                done = self._committed(message, names, staged)
                break
            except GitError:
                self.unstage(names + staged)
                if not (again and leftovers.heal(self)):
                    raise
        return self.head()[:SHORT] if done else None

    def _committed(self, message: str, names: list[str], gone: list[str]) -> bool:
        """Stage names, then commit them and the deletions that are staged. False if there was
        nothing to commit. Neither step ever means more than it is given."""
        if names:
            stage = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"]
            run(self.root, stage, given=listed(names))
        done = run(
            self.root,
            ["commit", "--quiet", "--message", message, "--only", *LISTED],
            settings=["commit.gpgsign=false", *self.identity],
            check=False,
            extra=stamp() | {CHECKED: "1"},
            given=listed(names + gone),
        )
        if done.code and (done.error.strip() or self._differ(names + gone)):
            said = (done.text + done.error).strip()
            raise GitError(f"git commit in {self.root} failed: {said}")
        return done.code == 0

    def _differ(self, names: Sequence[str]) -> bool:
        """Whether what is staged of these files differs from the last commit."""
        staged = self.attempt("diff", "--cached", "--name-only", "-z").fields
        prefix = "" if self.own else f"{self.prefix}/"
        return not {f"{prefix}{name}" for name in names}.isdisjoint(staged)

    def _odd(self, path: Path) -> bool:
        """What git cannot commit as a file: a folder in its place, or below a link. One of them
        must not keep all others out."""
        beyond = any(one.is_symlink() for one in path.parents if one.is_relative_to(self.root))
        return path.is_dir() or (beyond and path.parent != self.root)

    def unstage(self, names: Sequence[str]) -> None:
        """Without a name nothing: to git itself that would be everything."""
        if names:
            run(self.root, ["reset", "--quiet", *LISTED], check=False, given=listed(names))

    def commit_tree(self, message: str, *parents: str) -> str:
        """A commit with the files of its first parent. No branch has it yet."""
        behind = [word for parent in parents for word in ("-p", parent)]
        command = ["commit-tree", "-m", message, *behind, f"{parents[0]}^{{tree}}"]
        return run(self.root, command, settings=self.identity, extra=stamp()).text.strip()

    @cached_property
    def identity(self) -> list[str]:
        """A name to commit under, where the user has none."""
        by_environment = {"GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"} <= os.environ.keys()
        if by_environment or self.attempt("config", "user.email").text.strip():
            return []
        return ["user.name=Wakebook", "user.email=wakebook@localhost"]

    # --- tags --------------------------------------------------------------------------

    def tag(self, name: str, at: str = "HEAD") -> str:
        """Give a commit a name. A name that is taken is never moved."""
        ref = f"refs/tags/{name}"
        self.check_name(ref)
        commit = self.resolve(at)
        if commit is None:
            raise GitError(f"There is nothing to call {name} in {self.top}: no commit yet.")
        if (there := self.resolve(ref)) is not None:
            raise GitError(
                f"There is a tag {name} already ({there[:7]}), and a tag is never moved. "
                f"Choose another name, or remove it: `git -C {self.top} tag -d {name}`."
            )
        self.git("update-ref", ref, commit, "0" * len(commit))
        return commit

    def tags(self, prefix: str = "") -> list[str]:
        """The tags below a prefix, sorted by name."""
        found = self.git("for-each-ref", "--format=%(refname:lstrip=2)", "refs/tags/")
        return sorted(name for name in found.splitlines() if name.startswith(prefix))

    def pack(self, least: int) -> int:
        """Put loose objects together once they take so many bytes: a log that has grown by a line
        is kept whole in each commit until then. How many bytes that saved."""
        before, loose = self._bytes()
        if not self.own or loose < least:
            return 0
        command = ["repack", "-d", "-l", "-q", "--geometric=2"]
        few = ("pack.threads=1", "pack.window=3", "pack.writeBitmaps=false")
        run(self.root, command, settings=few, timeout=LONG)
        return before - self._bytes()[0]

    def _bytes(self) -> tuple[int, int]:
        """What all objects take, and the loose ones."""
        lines = (one.split(": ") for one in self.git("count-objects", "-v").splitlines())
        found = {name: int(value) * 1024 for name, value in lines if name.startswith("size")}
        return found["size"] + found["size-pack"], found["size"]

    def check_name(self, ref: str) -> None:
        if self.attempt("check-ref-format", ref).code != 0:
            short = ref.removeprefix("refs/tags/").removeprefix("refs/heads/")
            raise GitError(f"{short!r} cannot be a name in git: use letters, digits and hyphens.")


def _subject(summary: str) -> str:
    line = " ".join(summary.split())
    return line if len(line) <= 72 else line[:71].rstrip() + "…"


def stamp() -> dict[str, str]:
    """The time of a commit is the clock's, like that of everything else."""
    moment = clock.now().astimezone()
    stamp = f"@{int(moment.timestamp())} {moment:%z}"
    return {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
