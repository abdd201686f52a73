"""Branches: explore/NAME, where something is tried out without touching what holds.

Each is a git worktree below .cache/explore, and a home of its own: every command works there
with --home. One that nobody has committed to for some days is put away. Before a branch goes,
what waits in it is committed and a tag keeps it, so that nothing is ever lost.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from wakebook.errors import GitError, NotFound
from wakebook.git import Branch, Repository
from wakebook.home import FOLDERS, PREFIX, TRACKED, Home
from wakebook.lifecycle.history import History
from wakebook.lifecycle.tags import BEFORE, slug

EXPLORE = "explore/"
# What a home holds that is not for git, and comes back by itself
MACHINE = re.compile(
    r"state\.json|trace(\.old)?\.jsonl|costs/\d{4}-\d\d\.jsonl|\.lock|\.cache/.*"
    rf"|index\.db(-wal|-shm|-journal|\.broken-.*)?|(.*/)?{re.escape(PREFIX)}[^/]*\.tmp",
    re.DOTALL,
)


class Exploration(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    branch: str
    home: str  # empty: its folder is gone, the branch is not
    at: datetime  # of its newest commit
    commits: int = 0  # that are not in the current branch
    new: bool = False


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    commit: str
    tag: str  # what keeps it
    committed: str = ""  # what was still waiting in it


def explore(history: History, name: str, now: datetime) -> Exploration:
    """A branch to try something out, from what holds now; or the one that is there."""
    repository = history.required()
    branch = EXPLORE + slug(name)
    known = _branch(repository, branch)
    if known is None or known.path is None or not known.path.is_dir():
        history.now(now, f"before exploring {name}", ask=False)
        history.home.folder(history.home.cache / "explore")
        try:
            # a commit of its own, so that it does not look as old as what it begins from
            base = "HEAD" if known else repository.begin(f"explore: begin {slug(name)}")
            made = Home(repository.worktree_add(_folder(history.home, branch), branch, base))
        except GitError as error:
            raise GitError(f"{branch} cannot be checked out: {error}") from error
        for folder in FOLDERS:  # git keeps no empty ones
            made.folder(made.root / folder)
    found = _branch(repository, branch)
    assert found is not None
    return msgspec.structs.replace(_exploration(repository, found), new=known is None)


def explorations(history: History) -> list[Exploration]:
    """All of them, the newest first."""
    repository = history.required()
    found = [_exploration(repository, branch) for branch in repository.branches(f"{EXPLORE}*")]
    return sorted(found, key=lambda one: one.at, reverse=True)


def drop(history: History, name: str) -> Dropped:
    """Put a branch away: commit what waits in it, tag it, then remove worktree and branch."""
    repository = history.required()
    branch = _branch(repository, EXPLORE + slug(name))
    if branch is None:
        names = ", ".join(one.name for one in explorations(history)) or "none"
        raise NotFound(f"There is no exploration {name!r}. There are: {names}.")
    if branch.path == repository.top or repository.branch() == branch.name:
        raise GitError(f"{branch.name} is checked out in {repository.top}: switch away first.")
    committed = _settle(repository, branch)
    short = branch.name.removeprefix(EXPLORE)
    tag = _free(repository, f"{BEFORE}explore-{short}-gone")
    commit = repository.tag(tag, f"refs/heads/{branch.name}")
    if branch.path is not None:
        repository.worktree_remove(branch.path)
    repository.branch_remove(branch.name)
    return Dropped(name=short, commit=commit, tag=tag, committed=committed)


def prune(history: History, now: datetime, days: int) -> list[Dropped]:
    """Put the branches away that nobody has committed to for so many days."""
    if history.repository is None or days <= 0:
        return []
    gone: list[Dropped] = []
    for one in explorations(history):
        if one.at < now - timedelta(days=days):
            try:
                gone.append(drop(history, one.name))
            except GitError as error:
                history.home.trace("failure", where=f"prune {one.branch}", error=str(error))
    return gone


def _settle(repository: Repository, branch: Branch) -> str:
    """Commit what waits in a worktree. Complains about files that git would not keep."""
    if branch.path is None or not branch.path.is_dir():
        return ""
    home = _home(repository, branch.path)
    inside = Repository.find(home)
    if inside is None or not home.is_dir():
        return ""
    done = inside.commit("explore", "what was still waiting", inside.changed(*TRACKED))
    below = "" if inside.own else f"{inside.prefix}/"
    strays = [
        name
        for name in inside.strays()
        if not name.startswith(below) or not MACHINE.fullmatch(name.removeprefix(below))
    ]
    if strays:
        raise GitError(
            f"{branch.path} holds files that are in no branch: {', '.join(strays[:5])}. Move or "
            "commit them, then drop it again."
        )
    return done or ""


def _free(repository: Repository, tag: str) -> str:
    """The tag, with a number if it is taken."""
    taken = set(repository.tags(tag))
    return next(
        name
        for name in (tag, *(f"{tag}-{number}" for number in range(2, 10_000)))
        if name not in taken
    )


def _branch(repository: Repository, name: str) -> Branch | None:
    return next((one for one in repository.branches(name) if one.name == name), None)


def _exploration(repository: Repository, branch: Branch) -> Exploration:
    there = branch.path is not None and branch.path.is_dir()
    home = str(_home(repository, branch.path)) if branch.path and there else ""
    return Exploration(
        name=branch.name.removeprefix(EXPLORE),
        branch=branch.name,
        home=home,
        at=branch.at,
        commits=repository.ahead(branch.name),
    )


def _home(repository: Repository, worktree: Path) -> Path:
    return worktree if repository.own else worktree / repository.prefix


def _folder(home: Home, branch: str) -> Path:
    return home.cache / branch
