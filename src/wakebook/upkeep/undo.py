"""Undo: the last rewrite taken back, with whatever was written since left in place.

A rewrite is a commit whose message has a line `Rewrite: NAME`. Each of its files is put back to
what it was before; where it has changed since, the two changes are put together, and if they
contradict each other nothing at all is changed. How a room's own files are put together it knows
best: the façade lists the rooms' rules, and git merges the rest. Taking back is a commit like any
other.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Container, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from wakebook.base.errors import GitError, NotFound
from wakebook.history.history import REWRITE, History
from wakebook.history.past import (
    Moment,
    Put,
    Versions,
    changes,
    commits,
    needed,
    put_back,
    versions,
)
from wakebook.history.repository import Repository
from wakebook.log import erased, forgotten
from wakebook.notes.notes import Notes
from wakebook.opened import Opened
from wakebook.recall.turn import wake

if TYPE_CHECKING:
    from wakebook.recall.show import Shown
    from wakebook.sync.together import Exchange

UNDOING = "undoing"  # in the cache: the rewrite that is being taken back
REVERTS = "Reverts"
_NAME = re.compile(rf"^{REWRITE}: (.+)$", re.MULTILINE)
_BACK = re.compile(rf"^{REVERTS}: ([0-9a-f]{{40,64}})$", re.MULTILINE)
# How a room takes a change of a file back, without entries that were forgotten since; None: it
# is not the room's file.
Rule = Callable[[Versions, Container[str]], Put | None]


class Rewrite(msgspec.Struct, frozen=True, kw_only=True):
    """A rewrite that can be, or was, taken back."""

    name: str
    commit: str
    at: datetime
    summary: str
    undone: bool = False


class Undone(msgspec.Struct, frozen=True, kw_only=True):
    rewrite: Rewrite
    restored: tuple[str, ...]  # files whose earlier text came back
    removed: tuple[str, ...]  # files that the rewrite had made
    moved: dict[str, str] = {}  # of both: where a file went back to, and where it was until now
    commit: str = ""
    erased: bool = False  # something was erased since, and stays so


def rewrites(history: History, most: int = 50) -> list[Rewrite]:
    marked = ("--extended-regexp", f"--grep=^({REWRITE}|{REVERTS}): ", f"--max-count={most * 2}")
    found = commits(history.required(), *marked)
    back = {identity for commit in found for identity in _BACK.findall(commit.body)}
    named = [(match[1], one) for one in found if (match := _NAME.search(one.body))][:most]
    return [
        Rewrite(name=name, commit=one.id, at=one.at, summary=one.summary, undone=one.id in back)
        for name, one in named
    ]


def undo(history: History, rules: Sequence[Rule]) -> Undone:
    """Take the last rewrite back that still stands. Under the writer lock."""
    repository, home = history.required(), history.home
    if obstacle := repository.obstacle():
        raise GitError(obstacle)
    history.finish()  # the last rewrite may not have its commit yet: it is the one that goes
    standing = [one for one in rewrites(history) if not one.undone]
    raw, mark = home.root / "raw", home.cache / UNDOING
    begun = mark.read_text(encoding="ascii") if mark.exists() else ""  # killed before its commit
    half = {path for one in standing if one.commit == begun for path in _paths(repository, one)}
    waiting = [one for one in history.waiting() if one not in half and not one.is_relative_to(raw)]
    history.backup("before undo", waiting)
    gone = forgotten.load(home)
    last: Rewrite | None = None
    after: dict[str, bytes | None] = {}
    for last in standing:
        after = _after(repository, last, rules, gone)
        if after or last.commit == begun:  # otherwise it was put back by hand
            break
    if last is None or not (after or last.commit == begun):
        raise NotFound(
            "There is no rewrite to take back. `wakebook history undo --list` shows them all."
        )
    home.replace(mark, last.commit)
    for name, data in after.items():
        path = home.root / name
        if data is None:
            path.unlink(missing_ok=True)
        else:
            mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
            home.replace(path, data, mode)
    body = f"{last.summary}\n\n{REVERTS}: {last.commit}"
    done = repository.commit("maintenance", f"undo {last.name}", _paths(repository, last), body)
    mark.unlink(missing_ok=True)
    return Undone(
        rewrite=msgspec.structs.replace(last, undone=True),
        restored=tuple(name for name, data in after.items() if data is not None),
        removed=tuple(name for name, data in after.items() if data is None),
        moved=_moved(repository, last, after),
        commit=done or "",
        erased=any(one.at >= last.at for one in erased.load(home).all),
    )


def _paths(repository: Repository, rewrite: Rewrite) -> list[Path]:
    found = changes(repository, f"{rewrite.commit}^", rewrite.commit, (".",))
    return [repository.root / change.path for change in found]


def _moved(
    repository: Repository, rewrite: Rewrite, after: Mapping[str, bytes | None]
) -> dict[str, str]:
    """Which of the files that came back are those that went."""
    gone = [name for name, data in after.items() if data is None]
    went = {repository.show(rewrite.commit, name): name for name in gone}
    return {name: went[data] for name, data in after.items() if data is not None and data in went}


def _after(
    repository: Repository, rewrite: Rewrite, rules: Sequence[Rule], gone: Container[str]
) -> dict[str, bytes | None]:
    """What each file of a rewrite becomes; None: it goes. Complains before anything is done."""
    after: dict[str, bytes | None] = {}
    clashes: list[str] = []
    for file in versions(repository, rewrite.commit):
        if file.now == file.before:
            continue  # it was put back already
        answers = (rule(file, gone) for rule in rules)
        put = next((one for one in answers if one is not None), None) or put_back(repository, file)
        after[file.name] = put.data
        clashes += [file.name] if put.clash else []
    if clashes:
        raise GitError(
            f"{rewrite.name} ({rewrite.commit[:7]}) cannot be taken back: "
            f"{', '.join(clashes)} changed in the same places since. Nothing was changed. "
            f"`git -C {repository.root} show {rewrite.commit[:7]}` shows what it did; put back by "
            "hand what you miss."
        )
    return after


def take_back(opened: Opened, git: History, notes: Notes, *, rules: Sequence[Rule]) -> Undone:
    """Undo the last rewrite, and write the notes as the log has them now."""
    with opened.writing():
        done = undo(git, rules)
        notes.wanted_back(done.restored, done.removed)
        opened.quietly("notes", lambda: notes.update(full=True))
        opened.quietly("brief", lambda: notes.brief(ask=False))
        git.backup(f"notes after undo {done.rewrite.name}", git.waiting())
    return done


def of_sync(done: Exchange, at: datetime) -> Undone:
    """What is told of a sync that was taken back."""
    name = f"sync with {done.remote}"
    rewrite = Rewrite(name=name, commit=done.before, at=at, summary="", undone=True)
    return Undone(rewrite=rewrite, restored=done.changed, removed=done.gone, commit=done.commit[:7])


# --- looking back: what the memory said at an earlier moment -------------------------------
def show_at(memory: Any, when: str, ref: str) -> tuple[Moment, Shown]:
    """What a reference pointed at then. `memory`: the façade."""
    with memory.at(when) as (then, moment, bring):
        try:
            bring(needed(ref, then.log.entry))
            return moment, then.get(ref)
        except NotFound as error:
            said = str(error).replace(str(then.home.root), str(memory.home.root))
            raise NotFound(f"At {moment.name}: {said}") from error


def wake_at(memory: Any, when: str) -> tuple[Moment, str]:
    """What a new session would have been told then."""
    with memory.at(when) as (then, moment, _):
        return moment, wake(then.opened, then=moment.at)
