"""Branches with a work tree of their own, and tags: moments with a name.

The user's checkout is never switched. In a home that lies inside another repository, only the
home's files are checked out; the rest of the repository is marked as not wanted in that work
tree, without touching any settings.

explore/NAME is a branch to try something out without touching what holds: a work tree below
.cache/explore, which is a home of its own, so that every command works there with --home. One
without a new commit for some days is put away. Before a branch goes, what waits in it is
committed and a tag keeps it, so that nothing is ever lost.

memory/daily/2026-02-16       every day on which something was committed
memory/weekly/2026-W07        every such week, as it was at the end of its Sunday
memory/milestone/NAME         by hand
memory/before/EVENT           by hand, before something big; and before anything is put away
memory/extract/NAME           after a rebuild

A tag is never moved. Days and weeks are those of the user's time zone.
"""

import os
import re
import shutil
import unicodedata
from datetime import datetime, time, timedelta
from pathlib import Path

import msgspec

from wakebook.base import clock
from wakebook.base.errors import GitError, NotFound
from wakebook.base.home import FOLDERS, PREFIX, TRACKED, Home
from wakebook.history.history import History
from wakebook.history.past import commit_before, commits
from wakebook.history.repository import Repository, listed, run

EXPLORE = "explore/"
DAILY, WEEKLY = "memory/daily/", "memory/weekly/"
MILESTONE, BEFORE = "memory/milestone/", "memory/before/"
SUNDAY = 6
# What a home holds that is not for git, and comes back by itself
MACHINE = re.compile(
    r"state\.json|trace(\.old)?\.jsonl|costs/\d{4}-\d\d\.jsonl|\.lock|\.cache/.*"
    rf"|index\.db(-wal|-shm|-journal|\.broken-.*)?|(.*/)?{re.escape(PREFIX)}[^/]*\.tmp",
    re.DOTALL,
)


class Branch(msgspec.Struct, frozen=True):
    name: str
    commit: str
    at: datetime  # of its newest commit
    path: Path | None = None  # of its work tree, if there is one

    @property
    def there(self) -> Path | None:
        """Its work tree, unless the folder is gone."""
        return self.path if self.path is not None and self.path.is_dir() else None


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


class Snapshot(msgspec.Struct, frozen=True):
    tag: str
    commit: str
    committed: str = ""  # what was waiting, and was committed first


# --- branches and their work trees -------------------------------------------------------
def branches(repository: Repository, pattern: str) -> list[Branch]:
    """Branches by name, like explore/*, with their newest commit."""
    form = "--format=%(refname)%00%(objectname)%00%(committerdate:iso-strict)%00%(worktreepath)"
    found: list[Branch] = []
    for line in repository.git("for-each-ref", form, f"refs/heads/{pattern}").splitlines():
        name, commit, date, path = line.split("\0")
        at = clock.parse(date)
        assert at is not None
        where = Path(path) if path else None
        found.append(Branch(name.removeprefix("refs/heads/"), commit, at, where))
    return found


def check_out(repository: Repository, path: Path, branch: str, base: str = "HEAD") -> Path:
    """Check a branch out at `path`, and make it from `base` if it is new. The home in it.

    A folder that was removed by hand is forgotten first; other work trees, which may be on a
    disk that is away, are not.
    """
    repository.check_name(f"refs/heads/{branch}")
    forget = ("worktree", "remove", "--force", "--force", str(path))
    if not path.exists():
        repository.attempt(*forget)
    known = repository.resolve(f"refs/heads/{branch}")
    new = ("-b", branch, str(path), base) if known is None else (str(path), branch)
    repository.git("worktree", "add", "--quiet", "--no-checkout", *new)
    try:
        _fill(repository, path)
    except GitError:
        repository.attempt(*forget)
        raise
    return path / repository.prefix


def _fill(repository: Repository, path: Path) -> None:
    run(path, ["read-tree", "HEAD"])
    if repository.own:
        run(path, ["checkout-index", "--all", "--quiet"])
        return
    names = [name for name in run(path, ["ls-files", "-z"]).data.split(b"\0") if name]
    inside = repository.prefix.encode() + b"/"
    ours = [name for name in names if name.startswith(inside)]
    rest = [name for name in names if not name.startswith(inside)]
    if rest:
        run(path, ["update-index", "--skip-worktree", "-z", "--stdin"], given=listed(rest))
    if ours:
        run(path, ["checkout-index", "--quiet", "-z", "--stdin"], given=listed(ours))
    (path / repository.prefix).mkdir(parents=True, exist_ok=True)
    run(path, ["update-index", "-q", "--refresh"], check=False)


def remove(repository: Repository, branch: str, path: Path | None) -> str:
    """Remove a branch, merged or not, and its work tree with all that is in it. The commit that
    the branch was at; nothing if there is no such branch."""
    if path is not None:
        command = ("worktree", "remove", "--force", "--force", str(path))
        repository.attempt(*command)
        if path.exists():  # an earlier removal was killed: git takes it for no work tree any more
            shutil.rmtree(path, ignore_errors=True)
            repository.attempt(*command)
    commit = repository.resolve(f"refs/heads/{branch}") or ""
    if commit:
        repository.git("branch", "--quiet", "--delete", "--force", branch)
    return commit


def ahead(repository: Repository, branch: str, of: str = "HEAD") -> int:
    """How many commits a branch has that another one has not."""
    return int(repository.git("rev-list", "--count", f"{of}..{branch}").strip() or 0)


# --- explorations ------------------------------------------------------------------------
def explore(history: History, name: str, now: datetime) -> Exploration:
    """A branch to try something out, from what holds now; or the one that is there."""
    repository, home = history.required(), history.home
    branch = EXPLORE + slug(name)
    known = _branch(repository, branch)
    if known is None or known.there is None:
        history.now(now, f"before exploring {name}", ask=False)
        home.folder(home.cache / "explore")
        try:
            base = "HEAD" if known else _begin(repository, f"explore: begin {slug(name)}")
            made = Home(check_out(repository, home.cache / branch, branch, base))
        except GitError as error:
            raise GitError(f"{branch} cannot be checked out: {error}") from error
        for folder in FOLDERS:  # git keeps no empty ones
            made.folder(made.root / folder)
    found = _branch(repository, branch)
    assert found is not None
    return msgspec.structs.replace(_exploration(repository, found), new=known is None)


def _begin(repository: Repository, message: str) -> str:
    """A commit without a change, so that a branch does not look as old as what it begins from."""
    head = repository.head()
    if not head:
        raise GitError(f"There is no commit in {repository.top} yet to begin a branch from.")
    return repository.commit_tree(message, head)


def explorations(history: History) -> list[Exploration]:
    """All of them, the newest first."""
    repository = history.required()
    found = [_exploration(repository, branch) for branch in branches(repository, f"{EXPLORE}*")]
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
    committed = _settle(repository, branch.there) if branch.there else ""
    short = branch.name.removeprefix(EXPLORE)
    tag = stem = f"{BEFORE}explore-{short}-gone"
    taken, number = set(repository.tags(stem)), 1
    while tag in taken:
        number += 1
        tag = f"{stem}-{number}"
    commit = repository.tag(tag, f"refs/heads/{branch.name}")
    remove(repository, branch.name, branch.path)
    return Dropped(name=short, commit=commit, tag=tag, committed=committed)


def prune(history: History, now: datetime, days: int) -> list[Dropped]:
    """Put the branches away that have had no commit for so many days."""
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


def _settle(repository: Repository, worktree: Path) -> str:
    """Commit what waits in a worktree. Complains about files that git would not keep."""
    inside = Repository.find(worktree / repository.prefix)
    if inside is None:
        return ""
    done = inside.commit("explore", "what was still waiting", inside.changed(*TRACKED))
    below = "" if inside.own else f"{inside.prefix}/"
    strays = [
        name
        for name in _strays(inside.top)
        if not name.startswith(below) or not MACHINE.fullmatch(name.removeprefix(below))
    ]
    if strays:
        raise GitError(
            f"{worktree} holds files that are in no branch: {', '.join(strays[:5])}. Move or "
            "commit them, then drop it again."
        )
    return done or ""


def _strays(top: Path) -> list[str]:
    """Files of a work tree that no commit has, also those that git ignores."""
    others = run(top, ["ls-files", "--others", "-z"]).data
    changed = run(top, ["diff", "--name-only", "-z", "HEAD"]).data
    names = {os.fsdecode(name) for name in (others + changed).split(b"\0") if name}
    return sorted(name for name in names if (top / name).exists())


def _branch(repository: Repository, name: str) -> Branch | None:
    return next((one for one in branches(repository, name) if one.name == name), None)


def _exploration(repository: Repository, branch: Branch) -> Exploration:
    return Exploration(
        name=branch.name.removeprefix(EXPLORE),
        branch=branch.name,
        home=str(branch.there / repository.prefix) if branch.there else "",
        at=branch.at,
        commits=ahead(repository, branch.name),
    )


# --- tags --------------------------------------------------------------------------------
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
    if (commit := repository.resolve(f"refs/tags/{tag}")) is not None:
        raise GitError(
            f"There is a tag {tag} already ({commit[:7]}), and a tag is never moved. "
            "Choose another name."
        )
    done = history.now(now, f"{'before' if before else 'snapshot'} {name}")
    return Snapshot(tag, repository.tag(tag), done or "")


def daily(history: History, now: datetime) -> str:
    """Tag the day of `now` if something was committed since the last such tag."""
    repository, name = history.repository, f"{DAILY}{now:%Y-%m-%d}"
    if repository is None or repository.resolve(f"refs/tags/{name}"):
        return ""
    earlier = [tag for tag in repository.tags(DAILY) if tag < name]
    since = [f"^refs/tags/{earlier[-1]}"] if earlier else []
    # a late job still tags the day that it is about
    return _tag_last(repository, name, now.replace(hour=23, minute=59, second=59), *since)


def weekly(history: History, now: datetime) -> str:
    """Tag the week of the last Sunday, which may be today, if something was committed in it. A
    machine that was off on that Sunday tags the week when it is on again."""
    sunday = now.date() - timedelta(days=(now.weekday() - SUNDAY) % 7)
    year, week, _ = sunday.isocalendar()
    name, repository = f"{WEEKLY}{year}-W{week:02}", history.repository
    if repository is None or repository.resolve(f"refs/tags/{name}"):
        return ""
    begin = datetime.combine(sunday - timedelta(days=6), time(), now.tzinfo)
    end = datetime.combine(sunday + timedelta(days=1), time(), now.tzinfo)
    since = f"--since=@{int(begin.timestamp())}"
    return _tag_last(repository, name, end - timedelta(seconds=1), since)


def _tag_last(repository: Repository, name: str, end: datetime, *since: str) -> str:
    """Tag the last commit up to a moment, if there is one since another."""
    last = commit_before(repository, end)
    if last is None or not commits(repository, "-1", *since, last.id):
        return ""
    repository.tag(name, last.id)
    return name
