"""Forget: entries leave the log for good, and do not come back.

The lines are taken out of log.jsonl between two commits; a receipt without their words keeps
every later reading from bringing them back (`log.forgotten`). The handoff of the same
conversation loses the lines that say it, and what was condensed loses those that stand for it.
What a forgotten entry had replaced would hold again. That is never silent: it is said before
anything is done, and the whole chain can be forgotten instead. The transcript and git's history
still hold the words.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec

from wakebook.base import words
from wakebook.base.errors import GitError
from wakebook.base.home import Home
from wakebook.capture import state as states
from wakebook.history.history import History
from wakebook.log import forgotten, log
from wakebook.log.chains import Chains, resolve
from wakebook.log.entry import Entry, encode
from wakebook.log.forgotten import Forgotten
from wakebook.notes import condensed
from wakebook.notes.condensed import Condensed

TOLD = 5  # entries that say it, too


class Forgetting(msgspec.Struct, frozen=True, kw_only=True):
    """What goes, and what follows from it."""

    entries: tuple[Entry, ...]
    again: tuple[Entry, ...] = ()  # were replaced by what goes, and hold again
    shorter: tuple[Entry, ...] = ()  # handoffs that lose the lines that say it
    also: tuple[Entry, ...] = ()  # say the same in the same conversation, and stay
    transcripts: tuple[str, ...] = ()  # that still hold the words
    notes: tuple[str, ...] = ()  # with the words in what a person has written


def plan(chains: Chains, ids: Sequence[str], chain: bool) -> Forgetting:
    """`chain`: with everything that these replaced and that replaced these."""
    wanted = {one.id for name in ids for one in chains.history(name)} if chain else set(ids)
    entries = [entry for entry in chains.entries if entry.id in wanted]
    left = resolve(entry for entry in chains.entries if entry.id not in wanted)
    again = [
        entry
        for entry in left.current()
        if entry.id in chains.replaced_by and entry.id not in wanted
    ]
    shorter = [one for one in chains.entries if one.id not in wanted and _tells(one, entries)]
    wanted |= {one.id for one in shorter}
    return Forgetting(
        entries=tuple(entries),
        again=tuple(again),
        shorter=tuple(shorter),
        also=tuple(_also(chains, entries, wanted)),
        transcripts=tuple(dict.fromkeys(one.transcript for one in entries if one.transcript)),
    )


def _also(chains: Chains, gone: Sequence[Entry], wanted: Collection[str]) -> list[Entry]:
    """Other entries of the same conversations that have all of the words."""
    found: list[Entry] = []
    for entry in chains.entries:
        if entry.id in wanted or not entry.transcript:
            continue
        said = words.terms(f"{entry.content} {entry.detail}")
        if any(_holds(said, one) for one in gone if one.transcript == entry.transcript):
            found.append(entry)
    return found[:TOLD]


def _tells(entry: Entry, gone: Sequence[Entry]) -> bool:
    """Whether a line of a handoff says what is forgotten."""
    lines = (entry.content, *entry.detail.split("\n")) if entry.type == "handoff" else ()
    mine = [one for one in gone if one.transcript == entry.transcript and one.transcript]
    return any(_holds(words.terms(line), one) for line in lines for one in mine)


def _holds(said: frozenset[str], entry: Entry) -> bool:
    terms = words.terms(entry.content)
    return len(terms) >= forgotten.LEAST and terms <= said


def forget(home: Home, history: History, going: Forgetting, now: datetime) -> int:
    """Take the entries out. Under the writer lock, between two commits. How many lines went."""
    wanted = {entry.id for entry in going.entries}
    told = condensed.load(home)  # if it cannot be read, nothing is forgotten
    history.log("before something is forgotten")
    # the receipts first: from now on nothing brings them back, whatever happens
    forgotten.add(home, [forgotten.receipt(one, words.terms, now) for one in going.entries])
    left_out = without(told, wanted | {entry.id for entry in going.shorter})
    if left_out != told:
        condensed.save(home, left_out)
    lines = home.log.read_bytes().splitlines(keepends=True)
    shorter = {entry.id: entry for entry in going.shorter}
    receipts = forgotten.load(home)
    kept: list[bytes] = []
    for line in lines:
        name = _id(line)
        if name in shorter:
            left = receipts.without(shorter[name], words.terms)
            kept += [encode(left)] if left else []
        elif name not in wanted:
            kept.append(line)
    if kept != lines:
        log.rewrite(home, kept)
    _redraw(home, going, receipts, now)
    _commit(home, history, len(wanted))
    return len(lines) - len(kept)


def without(told: Condensed, gone: Collection[str]) -> Condensed:
    """What was condensed, without the lines that stand for something that is forgotten.

    What else such a line stood for is told one by one again.
    """
    return Condensed(
        {
            name: msgspec.structs.replace(
                one,
                lines=tuple(line for line in one.lines if not set(line.ids) & set(gone)),
                dropped=tuple(other for other in one.dropped if other not in gone),
            )
            for name, one in told.blocks.items()
        }
    )


def _redraw(home: Home, going: Forgetting, receipts: Forgotten, now: datetime) -> None:
    """The handoffs that conversations would have which still go on lose such lines, too."""
    state = states.load(home)
    for ref, progress in state.sessions.items():
        window = progress.window
        if window is None or not window.draft or window.path not in going.transcripts:
            continue
        drawn = Entry(
            id="",
            timestamp=now,
            type="handoff",
            content=window.draft,
            detail=window.draft_detail,
            session=progress.id,
            transcript=window.path,
        )
        left = receipts.without(drawn, words.terms) or drawn.with_(content="", detail="")
        window = msgspec.structs.replace(window, draft=left.content, draft_detail=left.detail)
        state = state.with_session(ref, msgspec.structs.replace(progress, window=window))
    if state != states.load(home):
        states.save(home, state)


def still_there(home: Home, gone: Forgetting) -> Forgetting:
    """With the notes that say it word for word outside of what Wakebook writes."""
    found: list[str] = []
    contents = [entry.content for entry in gone.entries]
    for top in ("knowledge", "topics", "archive"):
        for path in sorted((home.root / top).rglob("*.md")):
            text = path.read_text(encoding="utf-8", errors="replace")
            if any(content in text for content in contents):
                found.append(home.relative(path))
    said = [line.text for one in condensed.load(home).blocks.values() for line in one.lines]
    if any(content in text for content in contents for text in said):
        found.append(condensed.NAME)
    return msgspec.structs.replace(gone, notes=tuple(found))


def _id(line: bytes) -> str:
    try:
        raw = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return str(raw.get("id", "")) if isinstance(raw, dict) else ""


def _commit(home: Home, history: History, count: int) -> None:
    if history.repository is None:
        return
    paths = [home.log, home.root / forgotten.FILE, home.root / condensed.NAME]
    summary = f"forget {count} {'entry' if count == 1 else 'entries'}"
    try:
        history.repository.commit("maintenance", summary, paths)
    except GitError as error:
        home.trace("failure", where="git", error=str(error))


def untold(home: Home) -> None:
    """Sessions that go on may have been told what is gone: they are told everything again."""
    shutil.rmtree(home.cache / "told", ignore_errors=True)
