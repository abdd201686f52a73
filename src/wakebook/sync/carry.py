"""Carry: the git side of syncing. Fetch, read trees, commit with two parents, push.

Nothing here checks out or merges: no marker ever reaches the disk, no setting of git has to be
made on a machine, and a kill at any point leaves commits that nobody refers to. A push is never
forced, except after an erase, and then only over the one commit that was looked at.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from wakebook.base.errors import GitError
from wakebook.history.repository import Repository, listed, run, stamp

SECONDS = 60.0
THEIRS = "refs/wakebook/theirs"  # what was fetched
MACHINES = "refs/wakebook/machines/"
WHOLE = (  # see `_beside`
    "core.bigFileThreshold=1m",
    "pack.compression=1",
    "receive.unpackLimit=1",
)
QUIET = {
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_ASKPASS": "true",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
}
OFFLINE = (
    "Could not resolve",
    "onnect to",
    "Connection refused",
    "timed out",
    "unreachable",
    "No route",
    "error: 502",
)
DENIED = (
    "could not read Username",
    "Permission denied",
    "Authentication failed",
    "error: 403",
    "error: 401",
)
REFUSED = ("[rejected]", "fetch first", "non-fast-forward", "stale info", "cannot lock ref")

TEAM = "/v1/git"  # where a server for teams has a tenant's memory for git
_tokens: dict[str, str] = {}  # by remote


class Offline(GitError):
    """The remote cannot be reached just now, which is normal."""


class Moved(GitError):
    """Another machine has pushed in the meantime."""


class File(NamedTuple):
    mode: str
    blob: str


def tree(repository: Repository, commit: str) -> dict[str, File]:
    """Every file of a commit."""
    if not commit:
        return {}
    found: dict[str, File] = {}
    for line in run(repository.root, ["ls-tree", "-r", "-z", "--full-tree", commit]).fields:
        about, _, name = line.partition("\t")
        mode, kind, blob = about.split(" ")
        if kind == "blob":
            found[name] = File(mode, blob)
    return found


def contents(repository: Repository, wanted: Mapping[str, str]) -> dict[str, bytes]:
    """What files hold, by their names and blobs; decrypted where they are encrypted."""
    if not wanted:
        return {}
    asked = "".join(f"{blob} {name}\n" for name, blob in wanted.items())
    if any("\n" in name for name in wanted):
        raise GitError("A file's name has a line end in it; rename it first.")
    done = run(repository.root, ["cat-file", "--batch", "--filters"], given=os.fsencode(asked))
    found: dict[str, bytes] = {}
    at = 0
    for name in wanted:
        head, _, _ = done.data[at:].partition(b"\n")
        size = int(head.rsplit(b" ", 1)[1])
        at += len(head) + 1
        found[name] = done.data[at : at + size]
        at += size + 1
    return found


def keep(repository: Repository, name: str, data: bytes) -> str:
    """The blob of a file's contents, as git would keep them under that name."""
    command = ["hash-object", "-w", "--stdin", f"--path={name}"]
    return run(repository.root, command, given=data).text.strip()


def commit(
    repository: Repository,
    files: Mapping[str, File | None],
    onto: str,
    message: str,
    parents: Sequence[str],
) -> str:
    """A commit of another one's files with some of them changed. No branch has it yet."""
    index = {"GIT_INDEX_FILE": str(repository.folder / f"wakebook-sync.{os.getpid()}")}
    try:
        run(repository.root, ["read-tree", onto] if onto else ["read-tree", "--empty"], extra=index)
        staged(repository, files, index)
        made = run(repository.root, ["write-tree"], extra=index).text.strip()
    finally:
        with_lock = (index["GIT_INDEX_FILE"], index["GIT_INDEX_FILE"] + ".lock")
        for name in with_lock:
            if os.path.exists(name):  # noqa: PTH110
                os.unlink(name)  # noqa: PTH108
    behind = [word for parent in parents for word in ("-p", parent)]
    command = ["commit-tree", "-m", message, *behind, made]
    done = run(repository.root, command, settings=repository.identity, extra=stamp())
    return done.text.strip()


def staged(
    repository: Repository, files: Mapping[str, File | None], extra: Mapping[str, str] | None = None
) -> None:
    """Give git's index these files; None: it goes."""
    gone = "0" * 40
    lines = [
        f"{one.mode} {one.blob}\t{name}" if one else f"0 {gone}\t{name}"
        for name, one in files.items()
    ]
    command = ["update-index", "-z", "--index-info"]
    run(repository.root, command, given=listed(lines), extra=extra)


def base(repository: Repository, ours: str, theirs: str) -> str:
    """The last commit that both have; nothing if there is none."""
    return repository.attempt("merge-base", ours, theirs).text.strip()


def is_behind(repository: Repository, one: str, other: str) -> bool:
    """Whether a commit is another one, or among those before it."""
    return repository.attempt("merge-base", "--is-ancestor", one, other).code == 0


def fetch(repository: Repository, remote: str, seconds: float = SECONDS) -> str:
    """What the remote has of our branch, or nothing if it is empty; with what machines have said
    of themselves. Raises GitError."""
    branch = repository.branch()
    if not branch:
        raise GitError(
            f"{repository.top} is on no branch (detached HEAD), so there is nothing to sync. "
            f"`git -C {repository.top} switch main` goes back to it."
        )
    name = f"refs/heads/{branch}"
    quiet = ("--quiet", "--no-tags", "--no-write-fetch-head")
    wanted = [f"+{name}:{THEIRS}", f"+{MACHINES}*:{MACHINES}*"]
    command = ["fetch", *quiet, *_beside(remote, "upload-pack"), "--", remote, *wanted]
    try:
        done = run(
            repository.root,
            command,
            settings=["fetch.unpackLimit=1"],  # writing the log once more takes longest
            extra=_quiet(remote),
            timeout=seconds,
            check=False,
        )
    except GitError as error:
        raise Offline(f"{remote} does not answer. The next sync tries again.") from error
    if done.code and "couldn't find remote ref" in done.error:
        others = [one[11:] for one in asked(repository, remote, seconds) if "/heads/" in one]
        if not others:
            return ""
        raise GitError(
            f"{remote} has no branch {branch}, only {', '.join(others[:3])}. Is it a Wakebook "
            "memory? If so, rename your branch to that name."
        )
    if done.code:
        raise _unreached(remote, done.error)
    return repository.resolve(THEIRS) or ""


def _beside(remote: str, program: str) -> list[str]:
    """How git is to serve a remote that is a folder here: a large log goes there whole. To find out
    what is new in it takes longer than to copy it; over a network it is the other way round."""
    if not Path(remote).is_dir():
        return []
    settings = " ".join(f"-c {one}" for one in WHOLE)
    return [f"--{program}=git {settings} {program}"]


def let_in(remote: str, token: str) -> None:
    """This remote wants a token."""
    if token:
        _tokens[remote] = token


def _quiet(remote: str) -> dict[str, str]:
    """git asks nobody. A token is in no list of processes."""
    if remote not in _tokens:
        return QUIET
    header = f"Authorization: Bearer {_tokens[remote]}"
    return QUIET | {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"http.{remote}.extraHeader",
        "GIT_CONFIG_VALUE_0": header,
    }


def address(remote: str, token: str = "") -> str:
    """A remote as it can be asked from anywhere: a folder by its whole path, a server for teams,
    which wants a token, by the place that it has for git."""
    if not remote.strip() or remote.startswith("-"):
        raise GitError(f"{remote!r} is no remote. Give an address or a folder, as for git.")
    if token:
        if not remote.startswith(("https://", "http://")):
            raise GitError(f"{remote!r} is no server for teams, which a token is for: https://….")
        remote = remote.rstrip("/").removesuffix(TEAM) + TEAM
        let_in(remote, token)
        return remote
    folder = Path(remote).expanduser()
    return str(folder.resolve()) if folder.is_dir() else remote


def asked(repository: Repository, remote: str, seconds: float = SECONDS) -> dict[str, str]:
    """The refs of a remote."""
    command = ["ls-remote", "--quiet", "--refs", "--", remote]
    try:
        done = run(repository.root, command, extra=_quiet(remote), timeout=seconds, check=False)
    except GitError as error:  # it took too long
        raise Offline(f"{remote} does not answer. The next sync tries again.") from error
    if done.code:
        raise _unreached(remote, done.error)
    pairs = (line.split("\t") for line in done.text.splitlines() if "\t" in line)
    return {name: commit for commit, name in pairs}


def _unreached(remote: str, said: str) -> GitError:
    line = next((one for one in said.splitlines() if one.strip()), "git said nothing")
    if ".lock" in line:
        return GitError(
            f"A git that was killed has left a lock ({line}). The next sync removes it."
        )
    if any(words in said for words in OFFLINE):
        return Offline(f"{remote} cannot be reached ({line}). The next sync tries again.")
    if any(words in said for words in DENIED):
        return GitError(
            f"{remote} wants a password or a key that git does not have ({line}). Set up git's "
            "own access to it, by SSH or a credential helper; `git ls-remote` there must work."
        )
    return GitError(
        f"{remote} is no git repository that can be read ({line}). Nothing was changed."
    )


def push(
    repository: Repository,
    remote: str,
    refs: Mapping[str, str],
    over: str = "",
    seconds: float = SECONDS,
) -> None:
    """Give the remote these commits under these names. `over`: a commit of the branch that may be
    overwritten, after an erase. Raises Moved if another machine was faster."""
    branch = f"refs/heads/{repository.branch()}"
    lease = [f"--force-with-lease={branch}:{over}"] if over else []
    wanted = [f"{commit}:{name}" for name, commit in refs.items()]
    beside = _beside(remote, "receive-pack")
    quiet = ("--quiet", "--no-progress", "--no-verify")
    done = run(
        repository.root,
        ["push", *quiet, *lease, *beside, "--", remote, *wanted],
        settings=WHOLE if beside else (),
        extra=_quiet(remote),
        timeout=seconds,
        check=False,
    )
    if done.code == 0:
        return
    said = " ".join((done.error or done.text).split())
    if any(words in said for words in REFUSED):
        raise Moved(f"{remote} has changed in the meantime.")
    raise GitError(f"Pushing to {remote} failed: {said}")
