"""Merge: a rebuilt log takes the place of the old one, with what came since.

All of it happens under the lock, between two commits, and each step can be done again: a merge
that was killed is completed by the same command. The old log stays in git, below the tag
memory/before/extract-NAME.
"""

import codecs
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import msgspec

from wakebook.base import clock, words
from wakebook.base.config import Config
from wakebook.base.errors import GitError, InvalidEntry, NotFound
from wakebook.base.home import Home
from wakebook.capture import state as states
from wakebook.history.history import REWRITE, History
from wakebook.learn.entries import settle
from wakebook.log import forgotten, log, subjects
from wakebook.log.chains import Chains, extend, resolve
from wakebook.log.entry import Entry, decode, encode
from wakebook.log.subjects import Registry
from wakebook.notes import write as notes
from wakebook.rebuild import carry
from wakebook.rebuild.site import Redone, Site


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    entries: int = 0  # of the log as it is now
    gained: int = 0  # that came since the rebuild began, and are in it
    passed: int = 0  # newer readings of rebuilt transcripts that the rebuild has overruled
    commit: str = ""
    before: str = ""  # the tag of what was before
    tag: str = ""
    completed: bool = False  # it was merged before; only the rest was left to do
    unreadable: int = 0  # lines of the old log that are no entries: they stay, at its end
    untold: int = 0  # entries of condensed notes that the rebuild has not found again
    problems: dict[str, str] = {}  # notes that were left alone, and why


class DroppedRebuild(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    commit: str  # where the branch was
    restore: str = ""  # the command that brings it back


def merge(home: Home, config: Config, history: History, site: Site, now: datetime) -> Merged:
    if site.merged():  # a merge was killed at its very end
        site.remove()
        return Merged(
            name=site.name,
            commit=site.merged()[:7],
            before=site.before_tag,
            tag=site.merged_tag,
            completed=True,
        )
    if obstacle := site.repository.obstacle():
        raise GitError(obstacle)
    with home.reading(f"rebuild/{site.name}") as alone, home.locked():
        if not alone:
            raise GitError(f"The rebuild {site.name} is being built. Wait for it, then merge.")
        done = site.required()
        settle(home)
        main = resolve(log.read(home).entries)
        before, built = subjects.load(home), subjects.load(site.home)
        entries, gained = _merged_log(home, main, site, done, before)
        _, unreadable = _lines(home.log.read_bytes())
        lines = [encode(entry) for entry in entries] + unreadable
        if home.log.read_bytes() != b"".join(lines):
            history.now(now, f"before the rebuild {site.name} is merged", ask=False)
        site.tag(site.before_tag)
        used = {entry.subject for entry in entries}
        was = {entry.subject for entry in main.entries}
        # the registry first: a subject without entries does no harm
        subjects.save(home, carry.completed(built, before, used | was, was))
        untold = carry.follow(home, main, resolve(entries))  # again, if it is killed now
        log.rewrite(home, lines)
        subjects.save(home, carry.completed(built, before, used, was))
        _recount(home, entries)
        before_touching = history.before_touching
        updated = notes.update(home, config, now, full=True, before=before_touching)
        body = f"{_body(done, gained)}\n{REWRITE}: rebuild {site.name}"  # `undo` looks for it
        commit = site.repository.commit("extract", site.name, history.waiting(), body)
        related = site.relate()
        site.tag(site.merged_tag)
        if not related:  # its own commits stay reachable
            site.tag(f"{site.before_tag}-branch", site.branch)
        site.remove()
    return Merged(
        name=site.name,
        entries=len(entries),
        gained=gained,
        passed=_passed(site, main, entries, done),
        commit=commit or site.repository.head()[:7],
        before=site.before_tag,
        tag=site.merged_tag,
        unreadable=len(unreadable),
        untold=untold,
        problems=updated.problems,
    )


def _merged_log(
    home: Home, main: Chains, site: Site, done: Redone, registry: Registry
) -> tuple[list[Entry], int]:
    """The rebuilt entries, and behind them what is only in the log of now. How many those are. What
    was forgotten meanwhile is not brought back, and renamed subjects have their new names."""
    gone, replayed = forgotten.load(home), done.replayed
    kept: list[Entry] = []
    for entry in log.read(site.home).entries:
        if entry.transcript not in replayed and entry.id not in main.by_id:
            continue  # carried then, and taken out of the log since
        if left := gone.without(entry, words.terms):
            kept.append(left.with_(subject=registry.canonical(left.subject)))
    new, found = resolve(kept), carry.by_transcript(kept)
    count = 0
    for entry in main.entries:
        if entry.transcript not in replayed and entry.id not in new.by_id:
            new = extend(new, carry.linked(entry, main, new, found))
            count += 1
    return list(new.entries), count


def _passed(site: Site, main: Chains, new: Sequence[Entry], done: Redone) -> int:
    """Entries of rebuilt transcripts that came since it began: of an upgrade, say."""
    ids, _ = _lines(site.repository.show(done.plan.base, "log.jsonl") or b"")
    known = {entry.id for entry in new} | ids
    return sum(
        entry.transcript in done.replayed and entry.id not in known for entry in main.entries
    )


def _recount(home: Home, entries: Sequence[Entry]) -> None:
    """How many entries each session gave, by the new log: `audit` compares."""
    left = Counter(entry.session for entry in entries)
    state = states.load(home)
    sessions = {
        ref: msgspec.structs.replace(known, entries=left.pop(known.id, 0))
        for ref, known in state.sessions.items()
    }
    states.save(home, msgspec.structs.replace(state, sessions=sessions))


def _lines(data: bytes) -> tuple[set[str], list[bytes]]:
    """The ids of a log's entries, and its lines that are none: those are the user's to mend, not
    Wakebook's to lose."""
    ids: set[str] = set()
    rest: list[bytes] = []
    for line in data.removeprefix(codecs.BOM_UTF8).split(b"\n"):
        try:
            ids |= {decode(line).id} if line.strip() else set()
        except InvalidEntry:
            rest.append(line + b"\n")
    return ids, rest


def _body(done: Redone, gained: int) -> str:
    since = f", since {clock.iso(done.plan.since)}" if done.plan.since else ""
    read = f"Extractor: {done.plan.extractor}{since}\nTranscripts: {len(done.plan.transcripts)}"
    return f"{read}\nSince then: {gained} entries"


def drop(home: Home, site: Site) -> DroppedRebuild:
    if not site.commit() and not site.there():
        raise NotFound(
            f"There is no rebuild {site.name}. `wakebook rebuild list` shows what there is."
        )
    with home.reading(f"rebuild/{site.name}") as alone:
        if not alone:
            raise GitError(f"The rebuild {site.name} is being built. Stop it, then drop it.")
        finished = site.done() is not None
        commit = site.remove()
    top = site.repository.top
    restore = f"git -C {top} branch {site.branch} {commit[:12]}" if finished else ""
    return DroppedRebuild(name=site.name, commit=commit, restore=restore)
