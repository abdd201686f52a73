"""From archived turns to entries: running an extractor over what is new in a window.

What an extractor proposes is never trusted with an entry's identity: id, timestamp and
session are set here, evidence must exist, and a draft that breaks the schema is traced as
rejected and left out.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import PurePosixPath

import msgspec

from wakebook.capture.archive import Turn
from wakebook.capture.session import Session
from wakebook.capture.state import Window
from wakebook.capture.transcript import Message
from wakebook.derive.extract import Draft, Extractor, Scene
from wakebook.errors import InvalidEntry
from wakebook.home import Home
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry, slugify, validate
from wakebook.log.ledger import Ledger
from wakebook.log.subjects import Registry

REACH = 1500  # of the newest entries
# folders that say nothing about what somebody works on
GENERIC = frozenset("workspace tmp temp home desktop documents downloads root users".split())


def extract(
    home: Home,
    ledger: Ledger,
    extractor: Extractor,
    registry: Registry,
    session: Session,
    cwd: str,
    window: Window,
    turns: list[Turn],
    ends: bool,
    now: datetime,
) -> tuple[list[Entry], Window]:
    """The new entries of a window, and the window with its extraction advanced."""
    said = [as_message(turn, session.id, window.number) for turn in turns]
    complete = len(said) if ends else _complete(turns)
    chains = ledger.chains()
    current = _related(chains)
    scene = Scene(
        earlier=said[: window.extracted],
        current=current,
        subjects=registry.names(),
        subject=registry.for_entry(project(cwd)),
    )
    fresh = said[window.extracted : complete]
    entries: list[Entry] = []

    def keep(drafts: Sequence[Draft]) -> None:
        taken = {entry.id for entry in entries}
        for draft in drafts:
            entry = _entry(home, draft, turns, session, window, registry, now)
            entry = entry and _not_outdated(home, entry, chains)
            if entry and entry.id not in chains.by_id and entry.id not in taken:
                taken.add(entry.id)
                entries.append(entry)

    keep(extractor.extract(fresh, scene))
    scene = msgspec.structs.replace(scene, earlier=(), current=_current(current, entries))
    final = extractor.close(said, scene)
    if ends:
        keep(final)
    handoff = next((draft for draft in final if draft.type == "handoff"), None)
    used = dict.fromkeys((*window.subjects, *(entry.subject for entry in entries if entry.subject)))
    return entries, msgspec.structs.replace(
        window,
        extracted=complete,
        entries=window.entries + tuple(entry.id for entry in entries),
        subjects=tuple(used),
        draft=handoff.content if handoff else "",
        draft_detail=handoff.detail if handoff else "",
    )


def _related(chains: Chains) -> list[Entry]:
    """The current entries that new words may be about: all that is open, and the newest."""
    current = chains.current()
    older = [entry for entry in current[:-REACH] if chains.is_open(entry)]
    return older + current[-REACH:]


def _complete(turns: Sequence[Turn]) -> int:
    """How many turns cannot grow any more: an agent's last turn still may."""
    count = len(turns)
    while count and turns[count - 1].role == "agent":
        count -= 1
    return count


def _current(current: Sequence[Entry], new: Sequence[Entry]) -> list[Entry]:
    replaced = {old for entry in new for old in entry.replaces}
    return [entry for entry in (*current, *new) if entry.id not in replaced]


def as_message(turn: Turn, session: str, window: int) -> Message:
    """An archived turn as an extractor sees it. Its id is the same whenever it is read."""
    return Message(
        role=turn.role,  # type: ignore[arg-type]
        text=turn.text,
        id=f"{session}/{window}/{turn.number}",
        at=turn.at,
        branch=turn.branch,
        turn=turn.number,
    )


def _entry(
    home: Home,
    draft: Draft,
    turns: Sequence[Turn],
    session: Session,
    window: Window,
    registry: Registry,
    now: datetime,
) -> Entry | None:
    numbers = [number for number in draft.evidence if 1 <= number <= len(turns)]
    said_at = turns[numbers[-1] - 1].at if numbers else window.last_at
    entry = Entry(
        id=draft.id,
        timestamp=min(said_at, now),
        type=draft.type,
        content=draft.content,
        detail=draft.detail,
        subject=registry.for_entry(draft.subject) if draft.subject else "",
        session=session.id,
        status=draft.status,
        kind=draft.kind,
        replaces=tuple(old for old in draft.replaces if old != draft.id),
        evidence=tuple(numbers),
        transcript=window.path,
    )
    try:
        return validate(entry)
    except InvalidEntry as error:
        home.trace("rejected", session=session.ref, reason=str(error), content=draft.content)
        return None


def _not_outdated(home: Home, entry: Entry, chains: Chains) -> Entry | None:
    """Older words never replace newer ones, in whatever order they were read.

    A correction of something that was said after it has been corrected itself by then: it
    stays in the transcript, and is not kept as if it held today.
    """
    kept = tuple(
        old
        for old in entry.replaces
        if old not in chains.by_id or chains.by_id[old].timestamp <= entry.timestamp
    )
    if kept == entry.replaces:
        return entry
    if kept:
        return entry.with_(replaces=kept)
    home.trace("outdated", session=entry.session, content=entry.content)
    return None


def project(cwd: str) -> str:
    """The subject that a working folder stands for, if it is somebody's project."""
    path = PurePosixPath(cwd.replace(os.sep, "/"))
    name = slugify(path.name)
    if not name or name in GENERIC or len(path.parts) < 3 or path.parent.name in ("home", "Users"):
        return ""
    return name
