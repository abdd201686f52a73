"""Again: what was forgotten can be remembered once more, as long as git's history holds the words.

The receipts of a forgetting stay, and win on every machine. So the words come back as new entries,
as if a person had written them by hand; the sentences of conversations stay withheld. Nothing but
the history knows them: after `erase` there is nothing left to bring back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

import msgspec

from wakebook.base.errors import InvalidEntry, NotFound
from wakebook.history.past import commits, patch
from wakebook.history.repository import Repository
from wakebook.history.timeline import Timeline
from wakebook.log.entry import Entry, decode
from wakebook.opened import Opened
from wakebook.store.index import Index
from wakebook.upkeep.forget import FORGET

MOST = 10


class Forgot(msgspec.Struct, frozen=True, kw_only=True):
    """A forgetting that can be taken back, or was."""

    commit: str
    at: datetime
    entries: tuple[Entry, ...]  # that went, and held until then; in the log's order
    undone: bool = False


class Forgettings:
    """The handle of what was forgotten."""

    def __init__(self, opened: Opened, history: Timeline, remember: Callable[..., Entry]) -> None:
        self._opened, self._history, self._remember = opened, history, remember

    def listed(self) -> list[Forgot]:
        """The last ones that git's history still knows the words of; the newest first."""
        repository = self._history.git().repository
        if repository is None:
            return []
        wanted = ("--extended-regexp", f"--grep=^maintenance: {FORGET} ", f"--max-count={MOST}")
        found = ((one, tuple(_gone(repository, one.id))) for one in commits(repository, *wanted))
        return [
            Forgot(
                commit=one.id,
                at=one.at,
                entries=gone,
                undone=all(_holds(self._opened.index, each, one.at) for each in gone),
            )
            for one, gone in found
            if gone
        ]

    def take_back(self, commit: str) -> list[Entry]:
        """Remember what a forgetting took out; what it had corrected is corrected once more."""
        gone = next((one for one in self.listed() if one.commit.startswith(commit)), None)
        if gone is None:
            raise NotFound(
                f"No forgetting {commit!r} can be taken back: git's history has none of that name, "
                "or its words were erased. `wakebook history undo --list` shows what there is."
            )
        if gone.undone:
            raise NotFound("That was remembered again already. Nothing was done.")
        holds, new = self._opened.chains().current(), dict[str, Entry]()
        for old in gone.entries:
            links = [new[one].id for one in old.replaces if one in new]
            links += [one.id for one in holds if one.id in old.replaces]
            new[old.id] = self._remember(
                old.content, type_=old.type, subject=old.subject, detail=old.detail, replaces=links,
                status=old.status or "", pinned=old.pinned, project=old.project,
            )  # fmt: skip
        return list(new.values())


def _holds(index: Index, entry: Entry, since: datetime) -> bool:
    """Whether the log says it since."""
    said = f'"content":{msgspec.json.encode(entry.content).decode()}'
    sql = "SELECT count(*) FROM entry WHERE at >= ? AND instr(line, ?) > 0"
    values = (int(since.timestamp()), said)
    return bool(index.ask(lambda db: db.execute(sql, values).fetchone()[0]))


def _gone(repository: Repository, commit: str) -> Iterator[Entry]:
    """What a forgetting has taken out, without handoffs, and without what stands corrected by
    something that stayed."""
    lines = patch(repository, f"{commit}^", commit, ("log.jsonl",)).split("\n")
    before = {one.id: one for one in _entries(lines, "-{")}
    after = {one.id: one for one in _entries(lines, "+{")}
    corrected = {
        name for id_, one in after.items() if id_ in before for name in before[id_].replaces
    }
    for one in before.values():
        if one.id not in after and one.id not in corrected and one.type != "handoff":
            yield one


def _entries(lines: list[str], sign: str) -> Iterator[Entry]:
    for line in lines:
        if line.startswith(sign):
            try:
                yield decode(line[1:].encode())
            except InvalidEntry:
                continue
