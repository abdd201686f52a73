"""Erasures: what was erased on one machine goes from the others, and from the remote.

An erase has written git's history anew. The remote still has the old one: fetching it would bring
the words back, so it is read in a folder that is thrown away, and what other machines have added
since is put on top of the new history. That is pushed over the one commit that was looked at, and
over no other. A machine that meets a history written anew takes it over in the same way, and lets
its own old objects, names and caches go.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from wakebook.base.home import Home
from wakebook.history.repository import Repository, run
from wakebook.log import erased
from wakebook.sync import carry

KEPT = ("refs/heads/", carry.MACHINES)  # names that stay when an old history goes
CACHES = ("told", "start", "wake", "embeddings.db", "gates.json", "about.json")


def since(home: Home, at: datetime | None) -> bool:
    """Whether something was erased here after that."""
    return at is not None and any(one.at > at for one in erased.load(home).all)


def unknown(repository: Repository, ours: str, theirs: str) -> bool:
    """Whether another machine has erased something that this one does not know of."""
    mine, other = (set(_lines(repository, commit)) for commit in (ours, theirs))
    return bool(other - mine)


def _lines(repository: Repository, commit: str) -> list[bytes]:
    return (repository.show(commit, erased.FILE) or b"").splitlines()


@contextmanager
def apart(home: Home, repository: Repository, remote: str, seconds: float) -> Iterator[Repository]:
    """A repository that has ours and what the remote has, and is thrown away."""
    with home.scratch("sync-") as scratch:
        made = Repository.create(scratch.root)
        objects = repository.common / "objects"
        (made.common / "objects" / "info" / "alternates").write_text(f"{objects}\n")
        run(made.root, ["symbolic-ref", "HEAD", f"refs/heads/{repository.branch()}"])
        carry.fetch(made, remote, seconds)
        yield made


def let_go(home: Home, repository: Repository) -> None:
    """Drop the history that was written anew elsewhere: names, reflogs, objects, caches."""
    names = repository.git("for-each-ref", "--format=%(refname)").split()
    head = repository.head()
    for name in names:
        if not name.startswith(KEPT) and not carry.is_behind(repository, name, head):
            repository.git("update-ref", "-d", name)
    for path in sorted((repository.common / "logs").rglob("*"), reverse=True):
        if path.is_file():
            path.unlink()
    run(repository.root, ["repack", "-a", "-d", "-q"], timeout=carry.SECONDS * 10)
    run(repository.root, ["prune", "--expire=now"], timeout=carry.SECONDS * 10)
    for name in CACHES:
        kept = home.cache / name
        shutil.rmtree(kept) if kept.is_dir() else kept.unlink(missing_ok=True)
    for path in home.root.glob("index.db*"):
        path.unlink()
