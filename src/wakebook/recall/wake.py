"""The first words of a new session: the last handoff, the briefing, and where to look.

The handoff comes with the decisions and tasks of its own window, so that it need not
repeat them. A session that ended without telling anybody has no handoff yet; what it would
be is shown as a session still open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from wakebook.base import cache, clock
from wakebook.capture.clean import wrap
from wakebook.capture.state import Progress
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry
from wakebook.log.query import status

if TYPE_CHECKING:
    from wakebook.opened import Opened


EACH = 8  # decisions or tasks that are listed with a handoff
FURTHER = """## Looking further
- `wakebook search WORDS` finds what was said or learned, in any words (filters: --type, --since)
- `wakebook show ID` gives an entry with its history and the conversation lines behind it
- `wakebook log --subject SLUG` lists what is known about a subject
- `wakebook remember "TEXT"` keeps something for the next session"""


class Handoff(NamedTuple):
    session: str
    entry: str  # its id; empty for a session that is still open
    text: str


def last_handoff(chains: Chains) -> Entry | None:
    handoffs = [entry for entry in chains.current() if entry.type == "handoff"]
    # of the same minute, the one that was written last
    return max(reversed(handoffs), key=lambda entry: entry.timestamp, default=None)


def wake(chains: Chains, sessions: Iterable[Progress], briefing: Iterable[str]) -> str:
    parts = [one.text for one in handoffs(chains, sessions)]
    if not parts:
        parts = ["No session has been closed yet, so there is no handoff."]
    parts.append("\n".join(briefing))
    parts.append(FURTHER)
    return wrap("\n\n".join(parts))


def cached(opened: Opened, briefing: Callable[[], Iterable[str]]) -> str:
    """What a new session should be told, kept until something changes."""
    home = opened.home
    home.require()
    kept = cache.read(str(home.root), "wake.md")
    if kept is not None:
        return kept
    key = cache.key(str(home.root))
    text = wake(opened.chains(), opened.state().sessions.values(), briefing())
    with suppress(OSError):  # a read-only home still wakes, only slower
        home.replace(home.cache / "wake.md", f"{key}\n{text}")
    return text


def handoffs(chains: Chains, sessions: Iterable[Progress]) -> list[Handoff]:
    """What the last session left behind, and sessions that are still open."""
    last = last_handoff(chains)
    found = [Handoff(last.session, last.id, _handoff(last, chains))] if last else []
    return found + [Handoff(one.id, "", _open(one)) for one in _still_open(sessions, last)]


def _handoff(handoff: Entry, chains: Chains) -> str:
    lines = [
        "## Last Session Handoff",
        f"Session: {handoff.session} ({clock.iso(handoff.timestamp)})",
        handoff.content,
    ]
    if handoff.detail:
        lines.append(f"Detail: {handoff.detail}")
    window = [
        entry
        for entry in chains.entries
        if entry.session == handoff.session and entry.transcript == handoff.transcript
        if not _overtaken(entry, chains)
    ]
    decided = [entry for entry in window if entry.type == "decision"]
    tasks = [entry for entry in window if entry.type == "task"]
    lines += _listed("Decided in it:", [_marked(entry, chains) for entry in decided])
    lines += _listed(
        "Its tasks:", [f"[{status(entry, chains)}] {_marked(entry, chains)}" for entry in tasks]
    )
    return "\n".join(lines)


def _overtaken(entry: Entry, chains: Chains) -> bool:
    """Whether the same conversation itself has the better word on it."""
    by = chains.replaced_by.get(entry.id)
    return by is not None and chains.by_id[by].transcript == entry.transcript


def _marked(entry: Entry, chains: Chains) -> str:
    later = chains.latest(entry.id)
    note = "" if later == entry.id or entry.type == "task" else f", since replaced by {later}"
    return f"{entry.content} ({entry.id}{note})"


def _listed(title: str, lines: list[str]) -> list[str]:
    if not lines:
        return []
    shown = [f"- {line}" for line in lines[:EACH]]
    more = [f"- … and {len(lines) - EACH} more"] if len(lines) > EACH else []
    return [title, *shown, *more]


def _still_open(sessions: Iterable[Progress], handoff: Entry | None) -> list[Progress]:
    """Sessions with an open window that is newer than the last handoff, newest first."""
    found = [
        progress
        for progress in sessions
        if progress.window
        and progress.window.draft
        and (handoff is None or progress.window.last_at > handoff.timestamp)
    ]
    found.sort(key=lambda progress: progress.window.last_at, reverse=True)  # type: ignore[union-attr]
    return found[:2]


def _open(progress: Progress) -> str:
    window = progress.window
    assert window is not None
    return "\n".join(
        line
        for line in (
            "## Session Still Open",
            f"Session: {progress.id} (last words {clock.iso(window.last_at)}, not closed)",
            window.draft,
            f"Detail: {window.draft_detail}" if window.draft_detail else "",
        )
        if line
    )
