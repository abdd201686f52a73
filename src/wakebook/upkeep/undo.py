"""Undo: the last rewrite taken back, with whatever was written since left in place.

A rewrite is a commit whose message has a line `Rewrite: NAME`. Each of its files is put back to
what it was before; where it has changed since, the two changes are put together, and if they
contradict each other nothing at all is changed. In a note with generated blocks only these are
put back: whatever stands outside of them is somebody's own. Taking back is a commit like any other.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import Path

import msgspec

from wakebook.base import markdown
from wakebook.base.errors import GitError, NotFound
from wakebook.history import revisions
from wakebook.history.history import REWRITE, History
from wakebook.history.repository import Repository
from wakebook.history.revisions import Commit
from wakebook.log import forgotten
from wakebook.notes import condensed
from wakebook.notes.write import FRONT
from wakebook.upkeep import forget

UNDOING = "undoing"  # in the cache: the rewrite that is being taken back
REVERTS = "Reverts"
_NAME = re.compile(rf"^{REWRITE}: (.+)$", re.MULTILINE)
_BACK = re.compile(rf"^{REVERTS}: ([0-9a-f]{{40,64}})$", re.MULTILINE)


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


def rewrites(history: History, most: int = 50) -> list[Rewrite]:
    """The rewrites of the current branch, newest first."""
    marked = ("--extended-regexp", f"--grep=^({REWRITE}|{REVERTS}): ", f"--max-count={most * 2}")
    found = revisions.commits(history.required(), *marked)
    back = {identity for commit in found for identity in _BACK.findall(commit.body)}
    return [_rewrite(commit, back) for commit in found if _NAME.search(commit.body)][:most]


def _rewrite(commit: Commit, back: set[str]) -> Rewrite:
    named = _NAME.search(commit.body)
    assert named is not None
    return Rewrite(
        name=named[1],
        commit=commit.id,
        at=commit.at,
        summary=commit.summary,
        undone=commit.id in back,
    )


def undo(history: History, now: datetime) -> Undone:
    """Take the last rewrite back that still stands. Under the writer lock."""
    repository = history.required()
    if obstacle := repository.obstacle():
        raise GitError(obstacle)
    history.finish()  # the last rewrite may not have its commit yet: it is the one that goes
    standing = [one for one in rewrites(history) if not one.undone]
    raw, mark = history.home.root / "raw", history.home.cache / UNDOING
    begun = mark.read_text(encoding="ascii") if mark.exists() else ""  # killed before its commit
    half = {path for one in standing if one.commit == begun for path in _paths(repository, one)}
    waiting = [one for one in history.waiting() if one not in half and not one.is_relative_to(raw)]
    history.backup("before undo", waiting)
    gone = forgotten.load(history.home).ids
    last: Rewrite | None = None
    after: dict[Path, bytes | None] = {}
    for last in standing:
        after = _merged(repository, last, gone)
        if after or last.commit == begun:  # otherwise somebody has put it back by hand
            break
    if last is None or not (after or last.commit == begun):
        raise NotFound("There is no rewrite to take back. `wakebook undo --list` shows them all.")
    history.home.replace(mark, last.commit)
    for path, data in after.items():
        if data is None:
            path.unlink(missing_ok=True)
        else:
            history.home.replace(path, data, _mode(path))
    body = f"{last.summary}\n\n{REVERTS}: {last.commit}"
    done = repository.commit("maintenance", f"undo {last.name}", _paths(repository, last), body)
    mark.unlink(missing_ok=True)
    return Undone(
        rewrite=msgspec.structs.replace(last, undone=True),
        restored=tuple(repository.name(path) for path, data in after.items() if data is not None),
        removed=tuple(repository.name(path) for path, data in after.items() if data is None),
        moved=_moved(repository, last, after),
        commit=done or "",
    )


def _paths(repository: Repository, rewrite: Rewrite) -> list[Path]:
    """The files that a rewrite changed."""
    changes = revisions.changes(repository, f"{rewrite.commit}^", rewrite.commit, (".",))
    return [repository.root / change.path for change in changes]


def _moved(
    repository: Repository, rewrite: Rewrite, after: Mapping[Path, bytes | None]
) -> dict[str, str]:
    """Which of the files that came back are those that went."""
    went = {
        repository.show(rewrite.commit, repository.name(path)): repository.name(path)
        for path, data in after.items()
        if data is None
    }
    return {
        repository.name(path): went[data]
        for path, data in after.items()
        if data is not None and data in went
    }


def _merged(
    repository: Repository, rewrite: Rewrite, gone: Collection[str]
) -> dict[Path, bytes | None]:
    """What each file of a rewrite becomes; None: it goes. Complains before anything is done."""
    parent = f"{rewrite.commit}^"
    after: dict[Path, bytes | None] = {}
    clashes: list[str] = []
    for change in revisions.changes(repository, parent, rewrite.commit, (".",)):
        path = repository.root / change.path
        then = repository.show(rewrite.commit, change.path)
        before = repository.show(parent, change.path)
        now = path.read_bytes() if path.exists() else None
        if now == before:
            continue  # somebody put it back already
        record = change.path == condensed.NAME
        forgot = record and any(one.encode() in (before or b"") for one in gone)
        if not forgot and _own(now) == _own(then) and _is_ours(then, before):
            after[path] = before  # what is generated is written anew afterwards
        elif record:
            after[path] = _records(now, then, before, gone)
            clashes += [change.path] if after[path] is None else []
        elif (left := _blocks_back(now, then, before)) is not None:
            after[path] = left
        elif now is None or then is None or before is None:
            clashes.append(change.path)
        else:
            after[path] = revisions.merged(repository, now, then, before)
            clashes += [change.path] if after[path] is None else []
    if clashes:
        raise GitError(
            f"{rewrite.name} ({rewrite.commit[:7]}) cannot be taken back: "
            f"{', '.join(clashes)} changed in the same places since. Nothing was changed. "
            f"`git -C {repository.root} show {rewrite.commit[:7]}` shows what it did; put back by "
            "hand what you miss."
        )
    return after


def _own(data: bytes | None) -> bytes | None:
    """What is not generated in a note: everything outside of its blocks, but for its dates."""
    if data is None:
        return None
    text = data.decode("utf-8", "surrogateescape")
    try:
        for name in markdown.names(text):
            text = markdown.put(text, name, [])
    except markdown.BrokenBlock:
        return data
    same = dict.fromkeys(FRONT, "")
    return markdown.set_front(text, same).encode("utf-8", "surrogateescape")


def _is_ours(then: bytes | None, before: bytes | None) -> bool:
    """Whether a rewrite changed nothing but generated blocks, or a file that has none."""
    if then is None or before is None or not markdown.names(_text(then)):
        return True
    return _words(then) == _words(before)


def _words(data: bytes) -> list[str]:
    """The lines that are not generated, wherever the blocks stand between them."""
    own = _text(_own(data) or b"").splitlines()
    marks = markdown.marker_lines(own)
    return [line for number, line in enumerate(own) if line.strip() and number not in marks]


def _blocks_back(now: bytes | None, then: bytes | None, before: bytes | None) -> bytes | None:
    """A note with its earlier blocks, and every word that somebody wrote; None if it is none."""
    if now is None or then is None or before is None or not markdown.names(_text(then)):
        return None
    text = _text(now)
    try:
        for name in markdown.names(text):
            old = markdown.block(_text(before), name)
            new = markdown.block(_text(then), name)
            there = markdown.block(text, name)
            if there and new and there.lines == new.lines:  # otherwise it is written anew
                text = markdown.put(text, name, old.lines if old else [])
    except markdown.BrokenBlock:
        return None
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _records(
    now: bytes | None, then: bytes | None, before: bytes | None, gone: Collection[str]
) -> bytes | None:
    """condensed.json without what a rewrite put down. None if a later rewrite builds on it.

    What was forgotten since does not come back.
    """
    decoder = msgspec.json.Decoder(dict[str, condensed.Rewrite])
    try:
        current, made, earlier = (
            forget.without(condensed.Condensed(decoder.decode(data or b"{}")), gone).blocks
            for data in (now, then, before)
        )
    except msgspec.MsgspecError:
        return None
    for key, value in made.items():
        if earlier.get(key) == value:
            continue
        if current.get(key) != value:
            return None
        if key in earlier:
            current[key] = earlier[key]
        else:
            del current[key]
    data = msgspec.json.encode(dict(sorted(current.items())))
    return msgspec.json.format(data, indent=1) + b"\n"


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
