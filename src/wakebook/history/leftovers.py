"""Leftovers: what a git that was killed or ran out of disk leaves in a repository, and its removal.

Locks, which block every later commit; half-written objects, which only take room; half-made work
trees, which `git fsck` complains of; and private files in the index, which a `git add` without its
list of names put there. A lock goes when no git
process is at work there any more. In a repository around the home a lock is its owner's: it is
named and stays.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from wakebook.base import clock

if TYPE_CHECKING:
    from wakebook.history.repository import Repository

# of a home, and never in git; nobody stages one of these on purpose
PRIVATE = "token state.json state.broken.json trace.jsonl trace.old.jsonl index.db".split()
PRIVATE += ".lock .cache costs".split()
SETTLED_SECONDS = 10.0  # a file of git's that is older is not being written by a command
STALE_SECONDS = 600.0  # the same where the system does not tell which processes there are
OBJECTS = ("objects/*/tmp_obj_*", "objects/pack/tmp_*", "objects/tmp_*")
PROCESSES = Path("/proc")


def heal(repository: Repository) -> bool:
    """Remove what can go. Whether anything was in the way. Under the writer lock."""
    old = [*locks(repository), *repository.folder.glob("wakebook-sync.*")]  # an index of a sync's
    found = [*_removable(repository, old)] if repository.own else []
    half = _half_written(repository) if repository.own else []
    for path in [*found, *_removable(repository, half, settled=0.0)]:
        path.unlink(missing_ok=True)
    trees = _half_made(repository) if repository.own else []
    for path in _removable(repository, trees, settled=0.0):
        shutil.rmtree(path, ignore_errors=True)
    return bool(_unstage_private(repository) or found)


def problems(repository: Repository) -> list[str]:
    """What is in the way and stays, with what to do about it."""
    found: list[str] = []
    kept = [path for path in locks(repository) if _age(path) > SETTLED_SECONDS]
    if kept and (process := at_work(repository)):
        found.append(
            f"{kept[0]} is held by a git command that is at work there (process {process}): "
            "nothing is committed until it ends."
        )
    elif kept and not repository.own:
        found.append(
            f"{kept[0]} keeps git from committing, and no git command is at work there: one that "
            f"was killed has left it. Remove it: `rm {shlex.quote(str(kept[0]))}`."
        )
    if names := repository.kept(PRIVATE):
        root = shlex.quote(str(repository.root))
        found.append(
            f"{', '.join(names)}: private, and in git's history. `git -C {root} rm --cached -r "
            f"{shlex.join(names)}` keeps it out of the next commits; if the history was pushed "
            "anywhere, remove `token` and run `wakebook init` for a new one."
        )
    return found


def locks(repository: Repository) -> list[Path]:
    own = [path for at in {repository.folder, repository.common} for path in at.glob("*.lock")]
    return sorted(own) + sorted((repository.common / "refs").rglob("*.lock"))


def at_work(repository: Repository) -> int | None:
    """A git process in this repository; 0: there is none; None: the system does not say."""
    if not (PROCESSES / "self").exists():
        return None
    places = [str(one.resolve()) for one in (repository.top, repository.common)]
    for process in PROCESSES.iterdir():
        with suppress(OSError):  # it has ended
            if not process.name.isdigit() or not _is_git(process):
                continue
            try:
                at = str((process / "cwd").readlink())
            except PermissionError:  # another user's
                at = places[0] if process.stat().st_uid == repository.top.stat().st_uid else ""
            if any(at == place or at.startswith(f"{place}/") for place in places):
                return int(process.name)
    return 0


def _is_git(process: Path) -> bool:
    return (process / "comm").read_text(encoding="utf-8", errors="replace").startswith("git")


def _removable(
    repository: Repository, paths: list[Path], settled: float = SETTLED_SECONDS
) -> Iterator[Path]:
    """Those that no git command is writing: seen first, then the processes are looked at."""
    old = [path for path in paths if _age(path) >= settled]
    if not old:
        return
    process = at_work(repository)
    for path in old:
        if process == 0 or (process is None and _age(path) > STALE_SECONDS):
            yield path


def _age(path: Path) -> float:
    try:
        return clock.age(path.stat().st_mtime)
    except OSError:
        return 0.0


def _half_written(repository: Repository) -> list[Path]:
    """Objects, and packs without the list by which git finds what is in them."""
    found = [path for pattern in OBJECTS for path in repository.common.glob(pattern)]
    packs = repository.common.glob("objects/pack/pack-*")
    return found + [path for path in packs if not path.with_suffix(".idx").exists()]


def _half_made(repository: Repository) -> list[Path]:
    """What git knows of work trees that it was killed while adding: locked, and without a HEAD.
    Neither `git worktree remove` nor `prune` takes one whose address is cut off."""
    found: list[Path] = []
    for folder in repository.common.glob("worktrees/*"):
        head = folder / "HEAD"
        begun = head.read_text(encoding="utf-8", errors="replace") if head.exists() else ""
        if (folder / "locked").exists() and not begun.strip("0\n"):
            found.append(folder)
    return found


def _unstage_private(repository: Repository) -> bool:
    """A private file of the home that is staged is the sign that everything was: then whatever the
    ignore rules name leaves the index again, unless it is committed."""
    if not repository.staged(PRIVATE):
        return False
    repository.unstage(repository.staged(PRIVATE) + repository.staged_though_ignored())
    return True
