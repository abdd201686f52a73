"""Branches: explore/NAME, where something is tried out without touching what holds.

Each is a git worktree below .cache/explore, and a home of its own: every command works there
with --home. One that nobody has committed to for some days is put away. Before a branch goes,
what waits in it is committed and a tag keeps it, so that nothing is ever lost.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime, time, timedelta
from pathlib import Path

import msgspec

from wakebook.base.errors import GitError, NotFound
from wakebook.base.home import FOLDERS, PREFIX, TRACKED, Home
from wakebook.history.history import History
from wakebook.history.repository import Branch, Repository

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


# -----------------------------------------------------------------------------
# Tags: moments with a name.
#
# memory/daily/2026-02-16       every day on which something was committed
# memory/weekly/2026-W07        every such week, as it was at the end of its Sunday
# memory/milestone/NAME         by hand
# memory/before/EVENT           by hand, before something big; and before anything is put away
# memory/extract/NAME           after a rebuild
#
# A tag is never moved. Days and weeks are those of the user's time zone.

DAILY, WEEKLY = "memory/daily/", "memory/weekly/"
MILESTONE, BEFORE, EXTRACT = "memory/milestone/", "memory/before/", "memory/extract/"
SUNDAY = 6


class Snapshot(msgspec.Struct, frozen=True):
    tag: str
    commit: str
    committed: str = ""  # what was waiting, and was committed first


def slug(name: str) -> str:
    """A name that a person typed, as a part of a tag or a branch."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    kept = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("-.")
    kept = re.sub(r"\.\.+", ".", kept).removesuffix(".lock")[:80].strip("-.")
    if not kept:
        raise GitError(f"{name!r} cannot be a name: use letters, digits and hyphens.")
    return kept


def snapshot(history: History, name: str, now: datetime, before: bool = False) -> Snapshot:
    """Commit what waits, and give that moment a name."""
    repository = history.required()
    tag = (BEFORE if before else MILESTONE) + slug(name)
    free(repository, tag)
    done = history.now(now, f"{'before' if before else 'snapshot'} {name}")
    return Snapshot(tag, repository.tag(tag), done or "")


def free(repository: Repository, tag: str) -> None:
    """Complain if a tag is there already, before anything is done."""
    if (commit := repository.resolve(f"refs/tags/{tag}")) is not None:
        raise GitError(
            f"There is a tag {tag} already ({commit[:7]}), and a tag is never moved. "
            "Choose another name."
        )


def daily(history: History, now: datetime) -> str:
    """Tag the day of `now` if something was committed since the last such tag."""
    repository, name = history.repository, f"{DAILY}{now:%Y-%m-%d}"
    if repository is None or repository.resolve(f"refs/tags/{name}"):
        return ""
    end = now.replace(hour=23, minute=59, second=59, microsecond=0)
    commit = repository.commit_before(end)  # a late job still tags the day that it is about
    earlier = [tag for tag in repository.tags(DAILY) if tag < name]
    since = [f"^refs/tags/{earlier[-1]}"] if earlier else []
    if commit is None or not repository.commits("-1", *since, commit.id):
        return ""
    repository.tag(name, commit.id)
    return name


def weekly(history: History, now: datetime) -> str:
    """Tag the week of the last Sunday, which may be today, if something was committed in it.

    A machine that was off on that Sunday tags the week when it is on again.
    """
    sunday = now.date() - timedelta(days=(now.weekday() - SUNDAY) % 7)
    year, week, _ = sunday.isocalendar()
    name, repository = f"{WEEKLY}{year}-W{week:02}", history.repository
    if repository is None or repository.resolve(f"refs/tags/{name}"):
        return ""
    begin, end = (
        datetime.combine(sunday + timedelta(days=days), time(), now.tzinfo) for days in (-6, 1)
    )
    last = repository.commit_before(end - timedelta(seconds=1))
    since = f"--since=@{int(begin.timestamp())}"
    if last is None or not repository.commits("-1", since, last.id):
        return ""
    repository.tag(name, last.id)
    return name
