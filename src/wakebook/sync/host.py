"""Host: this home is itself the remote that other machines sync with.

So it is with a tenant of a server for teams. Its own branch is what others fetch and push to, by
git's own protocol; a push is taken in like any sync, after the other machine has merged what there
was. Names that others push are looked at before they are ours: nothing but the branch, and what
machines say of themselves.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import IO

from wakebook.base.errors import GitError, WakebookError
from wakebook.history.history import History
from wakebook.history.repository import Repository, environment, run
from wakebook.opened import Opened
from wakebook.sync import carry, erasures, together
from wakebook.sync.together import After

FETCH, PUSH = "upload-pack", "receive-pack"
SPACE = "others"  # git's namespace, in which pushed names are looked at first
SECONDS = 600.0
QUIETLY = ["receive.denyCurrentBranch=ignore", "receive.autogc=false", "core.hooksPath=/dev/null"]


def offered(opened: Opened, history: History, service: str, protocol: str, ours: bool) -> bytes:
    """The names that others may ask for. `ours`: what waits is committed first."""
    if ours:
        with opened.writing():
            together.commit_waiting(history)
    repository = together.repository_of(history)
    shown = (f"refs/heads/{repository.branch()}", carry.MACHINES.rstrip("/"))
    hidden = ["transfer.hideRefs=refs", *(f"transfer.hideRefs=!{one}" for one in shown)]
    return _git(repository, service, None, protocol, hidden, "--advertise-refs")


def given(history: History, asked: IO[bytes], protocol: str) -> bytes:
    """The answer to a fetch."""
    # the names may have moved since they were offered
    may = ["uploadpack.allowReachableSHA1InWant=true", "transfer.hideRefs=refs/namespaces"]
    return _git(together.repository_of(history), FETCH, asked, protocol, may)


def taken(
    opened: Opened,
    history: History,
    pushed: IO[bytes],
    protocol: str,
    *,
    after: After,
    may_erase: Callable[[], None],
) -> bytes:
    """Take in a push: git's answer to it. `may_erase` is asked before a history that was written
    anew takes the place of ours, and raises if it must not."""
    repository, remote = together.repository_of(history), "another machine"
    branch = f"refs/heads/{repository.branch()}"
    before = repository.head()
    _name(repository, {branch: before} | _names(repository, carry.MACHINES))
    try:
        said = _git(repository, PUSH, pushed, protocol, QUIETLY, space=SPACE)
        names = _names(repository, f"refs/namespaces/{SPACE}/")
    finally:
        gone = _names(repository, f"refs/namespaces/{SPACE}/")
        _update(repository, [f"delete {name}" for name in gone])
    own = {name.removeprefix(f"refs/namespaces/{SPACE}/"): commit for name, commit in names.items()}
    machines = {name: one for name, one in own.items() if name.startswith(carry.MACHINES)}
    _update(repository, [f"update {name} {commit}" for name, commit in machines.items()])
    theirs = own.get(branch, before)
    if theirs == before:
        return said
    anew = not carry.is_behind(repository, before, theirs)
    erases = erasures.unknown(repository, before, theirs)
    if anew and not erases:
        raise GitError("A push must not drop what is here: fetch first, or sync.")
    if erases:
        may_erase()
    together.check(repository, remote, theirs)
    with opened.writing():
        if repository.head() != before:
            raise GitError("This memory has changed in the meantime: sync again.")
        change = together.Anew(repository, before, alone=False) if erases else None
        done = together.merged(opened, history, repository, remote, theirs, False, True, change)
    after(done.changed if repository.head() != theirs else None)
    return said


def _names(repository: Repository, below: str) -> dict[str, str]:
    lines = repository.git("for-each-ref", "--format=%(refname) %(objectname)", below).splitlines()
    return {name: commit for name, _, commit in (line.partition(" ") for line in lines)}


def _name(repository: Repository, names: dict[str, str]) -> None:
    """Show these names to a push as they are now."""
    space = f"refs/namespaces/{SPACE}/"
    _update(repository, [f"update {space}{name} {commit}" for name, commit in names.items()])


def _update(repository: Repository, lines: list[str]) -> None:
    if lines:
        given = "".join(f"{line}\n" for line in lines).encode()
        run(repository.root, ["update-ref", "--stdin"], given=given)


def _git(
    repository: Repository,
    service: str,
    asked: IO[bytes] | None,
    protocol: str,
    settings: list[str],
    *words: str,
    space: str = "",
) -> bytes:
    if service not in (FETCH, PUSH):
        raise WakebookError(f"git has no service {service!r:.40} here: {FETCH}, {PUSH}.")
    options = [word for one in settings for word in ("-c", one)]
    more = {b"LC_ALL": "C", b"GIT_NAMESPACE": space, b"GIT_PROTOCOL": protocol}
    try:
        done = subprocess.run(
            ["git", *options, service, "--stateless-rpc", *words, str(repository.common)],
            cwd=repository.root,
            env=environment() | {key: value.encode() for key, value in more.items()},
            stdin=asked or subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(f"git {service}: {error}") from error
    if done.returncode and not done.stdout:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise GitError(f"git {service} failed: {said or done.returncode}")
    return done.stdout
