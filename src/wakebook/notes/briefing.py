"""The briefing: the state of the world, derived from the log, on at most 80 lines of MEMORY.md.

A pure function of entries, subjects, the date, the settings, and what a model has said about
them (`prose`), if anything. First what is true of the user (`about`), then windows on the log: what
is active, what was decided, what is to be done, what is unsettled, what went quiet and came back,
and what seems to contradict itself. Tasks and questions that were not mentioned for some weeks are
left to the search. Long sections give up their oldest lines first, and say how many.

It is written between its markers; every byte outside of them stays.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterable
from contextlib import closing, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wakebook.base import markdown, words
from wakebook.base.config import Briefing
from wakebook.base.errors import WakebookError
from wakebook.base.text import EMPTY, one_line
from wakebook.learn.about import FIRST, Weights, unclear
from wakebook.learn.extract import RULES as BY_RULES
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry, present
from wakebook.log.subjects import Registry
from wakebook.notes import condensed
from wakebook.notes import prose as proses
from wakebook.notes.contradictions import CONFLICT, contradictions, dismissed, is_correction
from wakebook.notes.page import MEMORY, NoteLine, harmless, ids_of, lines_json, role, stated
from wakebook.notes.prose import Prose
from wakebook.recall.start import WIDTH, Known, State

if TYPE_CHECKING:
    from wakebook.notes.notes import Notes

RULES = Prose()
QUIET = "Nothing recent, and nothing open."
MORE = "More About You"  # and what MEMORY.md says besides, at the end
SAME = 0.5  # of the words of two tasks that are one
LEAST = 8  # lines of a briefing, however much else MEMORY.md says
MARKERS = 8  # lines around two blocks


def briefing(
    chains: Chains,
    registry: Registry,
    now: datetime,
    settings: Briefing,
    prose: Prose = RULES,
    dismissed: Collection[frozenset[str]] = (),
    weights: Weights | None = None,
) -> list[NoteLine]:
    """The lines between the markers, each with the entries behind it."""
    return _Sections(chains, registry, now, settings, prose, dismissed, weights).lines()


def made(notes: Notes, now: datetime, prose: Prose) -> list[NoteLine]:
    """The briefing of a home, no longer than MEMORY.md has room for."""
    opened, settings = notes.opened, notes.config.briefing
    settings = settings.with_(max_lines=min(settings.max_lines, _room(notes)))
    gone = dismissed(condensed.load(notes.home))
    weights = Weights(notes.home)
    lines = briefing(opened.chains(), opened.registry(), now, settings, prose, gone, weights)
    weights.keep()
    return lines


def conflicts(notes: Notes, now: datetime, prose: Prose) -> list[tuple[Entry, Entry]]:
    """The contradictions that it tells, (older, newer)."""
    opened, gone = notes.opened, dismissed(condensed.load(notes.home))
    settings = notes.config.briefing
    made = _Sections(opened.chains(), opened.registry(), now, settings, prose, gone)
    return made.conflicts()


def active(
    entries: Iterable[Entry], aliases: dict[str, str], now: datetime, settings: Briefing
) -> dict[str, list[Entry]]:
    """The subjects with an entry in the window, newest first, each with all its entries."""
    since = now - timedelta(days=settings.active_days)
    by_subject: dict[str, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.timestamp, entry.type == "handoff")):
        subject = aliases.get(entry.subject, entry.subject)
        if subject and entry.timestamp <= now:
            by_subject.setdefault(subject, []).append(entry)
    recent = {slug: found for slug, found in by_subject.items() if found[-1].timestamp >= since}
    return dict(sorted(recent.items(), key=lambda pair: pair[1][-1].timestamp, reverse=True))


class _Sections:
    def __init__(
        self,
        chains: Chains,
        registry: Registry,
        now: datetime,
        settings: Briefing,
        prose: Prose,
        dismissed: Collection[frozenset[str]],
        weights: Weights | None = None,
    ) -> None:
        self._chains, self._aliases = chains, registry.aliases()
        self._now, self._settings, self._prose = now, settings, prose
        self._dismissed = dismissed
        self._state = State(Known(chains, registry, now, settings, weights=weights))
        self._all, self._current = self._state.all, self._state.current
        self._since = now - timedelta(days=settings.active_days)
        self._lately = now - timedelta(days=settings.decision_days)

    def lines(self) -> list[NoteLine]:
        told = [_line(self._state.dated(entry), entry) for entry in self._state.about]
        sections = {
            "About You": told[:FIRST],
            "Active": self._active(),
            "Recent Decisions": self._decisions(),
            "Pending": self._open("task"),
            "Open Questions": self._open("question"),
            "Stale": self._stale(),
            "Contradictions": self._contradictions(),
            MORE: told[FIRST:],
        }
        filled = {name: lines for name, lines in sections.items() if lines}
        if not filled:
            return [NoteLine(QUIET if self._chains.by_id else EMPTY)]
        return _fit(filled, self._settings.max_lines - 1)  # one is for the sum

    def _active(self) -> list[NoteLine]:
        """A line for each active subject: the model's, or else its most recent entry. A handoff
        says where a subject stands better than any single entry, so the newest handoff of the
        subject is preferred when nothing was learned after it. What is pinned stays in view
        whatever its age; what was noted by hand without a subject, for as long as a subject would
        be active."""
        others = [one for one in self._current if one not in self._state.about]
        pinned = [one for one in others if one.pinned and one.type in ("fact", "decision")]
        noted = [
            one
            for one in others[::-1]
            if one.session == "manual" and one.type == "fact" and not one.subject
            if self._since <= one.timestamp <= self._now and not one.pinned
        ]
        lines = [_line(f"pinned — {one_line(entry.content, WIDTH)}", entry) for entry in pinned]
        handoffs = (entry for entry in self._all if entry.type == "handoff")
        busy = active((*others, *handoffs), self._aliases, self._now, self._settings)
        done = {words.terms(one.content) for one in self._current if role(one) == "done"}
        for subject, found in busy.items():
            said = self._prose.line(subject, found[-1])
            text = f"{subject} — {one_line(said or stated(found[-1], done), WIDTH)}"
            lines.append(_line(text, *(found if said else found[-1:]), tells=False))
        return lines + [_line(one_line(one.content, WIDTH), one) for one in noted]

    def _decisions(self) -> list[NoteLine]:
        lines: list[NoteLine] = []
        for entry in sorted(self._current, key=lambda entry: entry.timestamp, reverse=True):
            if entry.type == "decision" and entry.timestamp >= self._lately and _reads(entry):
                detail = present(entry.detail)
                said = f"{entry.content.rstrip('.')} — {detail}" if detail else entry.content
                lines.append(_line(f"{self._state.day(entry)}: {one_line(said, WIDTH)}", entry))
        return lines

    def _open(self, type_: str) -> list[NoteLine]:
        """What is to be done or answered; pinned tasks first, then the newest. Once, though it was
        said in other words."""
        told: list[Entry] = []
        for entry in self._state.open(type_):
            terms = words.terms(entry.content)
            if not any(words.alike(terms, words.terms(one.content)) >= SAME for one in told):
                told.append(entry)
        return [
            _line(self._state.dated(one) + (f" ({one.subject})" if one.subject else ""), one)
            for one in told
        ]

    def _stale(self) -> list[NoteLine]:
        """Subjects that were silent for long and came up again lately. "Came up" is an entry of the
        last days; the entry before it is older than the threshold."""
        gap = timedelta(days=self._settings.stale_days)
        before: dict[str, Entry] = {}
        after: set[str] = set()
        for entry in self._chains.entries:
            subject = self._aliases.get(entry.subject, entry.subject)
            if not subject:
                continue
            if entry.timestamp >= self._lately:
                after.add(subject)
            elif subject not in before or entry.timestamp > before[subject].timestamp:
                before[subject] = entry
        return [
            _line(f"{slug} — before, on {self._state.day(last)}: {stated(last)}", last, tells=False)
            for slug, last in sorted(before.items())
            if slug in after and self._now - last.timestamp > gap
        ]

    def _contradictions(self) -> list[NoteLine]:
        lines = []
        for old, new in self.conflicts():
            one, other = (f'"{one_line(x.content, 90)}" ({self._state.day(x)})' for x in (old, new))
            lines.append(_line(f"{new.subject}: {one}{CONFLICT}{other}", old, new, tells=False))
        return lines

    def conflicts(self) -> list[tuple[Entry, Entry]]:
        by_id = {entry.id: entry for entry in self._current}
        known = [pair for pair in self._prose.pairs if by_id.keys() >= set(pair)]
        pairs = [(by_id[old], by_id[new]) for old, new in known]
        pairs = [(old, new) for old, new in pairs if new.timestamp >= self._since]
        pairs = [(old, new) for old, new in pairs if not is_correction(old, new)]
        for old, new in contradictions(self._current, self._since):
            if not self._prose.compared(old.id, new.id):  # no model has looked at it yet
                pairs.append((old, new))
        left = [pair for pair in pairs if {one.id for one in pair} not in self._dismissed]
        return left[: self._settings.max_contradictions]


def _reads(entry: Entry) -> bool:
    """Whether it can be read alone, if it was said by the way and in no project."""
    return (
        entry.by != BY_RULES or bool(entry.subject or entry.project) or unclear(entry.content) < 1
    )


def _line(text: str, *entries: Entry, tells: bool = True) -> NoteLine:
    return NoteLine(f"- {harmless(text)}", tuple(entry.id for entry in entries), tells=tells)


def _fit(sections: dict[str, list[NoteLine]], limit: int) -> list[NoteLine]:
    """All sections within the limit: the longest ones lose their last lines, and say so."""
    sizes = [len(lines) for lines in sections.values()]
    frame = 3 * len(sections) - 1  # a heading and a blank line each, and room for "… more"
    while sum(sizes) + frame > limit and max(sizes) > 1:
        sizes[sizes.index(max(sizes))] -= 1
    result: list[NoteLine] = []
    for (name, lines), size in zip(sections.items(), sizes, strict=True):
        result += [NoteLine("")] if result else []
        result += [NoteLine(f"## {name}", ids_of(lines)), *lines[:size]]
        if size < len(lines):
            result.append(NoteLine(f"- … and {len(lines) - size} more", ids_of(lines[size:])))
    return result[:limit]


# --- writing it ----------------------------------------------------------------------------------
class Brief(msgspec.Struct, frozen=True, kw_only=True):
    path: Path
    lines: tuple[str, ...]
    changed: bool
    total: int  # lines of the whole file
    edited: bool = False  # a person has changed the block, and it was left alone
    missing: bool = False  # its folder, which is not ours to make, is not there


def asked(notes: Notes, now: datetime) -> Prose:
    """What a model says now, kept for the next time. Not under the lock."""
    kept, opened = proses.load(notes.home), notes.opened
    if not (opened.models.has("briefing") or opened.models.has("contradictions")):
        return kept
    settings, aliases = notes.config.briefing, opened.registry().aliases()
    busy = active(opened.chains().current(), aliases, now, settings)
    said = proses.write(opened.models, kept, busy, now, settings)
    if said != kept:
        proses.save(notes.home, said)
    return said


def write(notes: Notes, now: datetime, said: Prose, overwrite: bool = False) -> Brief:
    """Under the writer lock; what was there is committed first."""
    import sqlite3

    from wakebook.store.catalogue import Catalogue

    path = notes.memory
    fresh = made(notes, now, said)
    lines = [line.text for line in fresh]
    try:
        # bytes, not text: line ends belong to their author
        old = path.read_bytes().decode("utf-8") if path.exists() else ""
        there = markdown.block(old, markdown.BRIEFING)
    except UnicodeDecodeError as error:
        raise WakebookError(f"{path} is not UTF-8: {error}. Convert it first.") from error
    except markdown.BrokenBlock as error:
        again = "Then run `wakebook notes brief` again."
        raise markdown.BrokenBlock(f"{path}: {error}. {again}") from error
    edited = there is not None and there.edited and list(there.lines) != lines and not overwrite
    new = old
    if not edited:
        new = markdown.put(old, markdown.BRIEFING, lines)
        new = markdown.set_front(new, {"line_count": new.count("\n")})
    missing = not path.is_relative_to(notes.home.root.resolve()) and not path.parent.is_dir()
    changed = new != old and not missing
    if changed:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
        if not mode & 0o200:
            raise WakebookError(f"{path} is read-only: the briefing was not written.")
        notes.git().before_touching([path])
        if path.exists() and path.read_bytes() != old.encode("utf-8"):
            raise WakebookError(f"{path} was written by another program meanwhile: try again.")
        notes.home.replace(path, new, mode)
        with suppress(sqlite3.Error), closing(Catalogue(notes.home)) as catalogue:
            catalogue.note_block(f"{MEMORY}#{markdown.BRIEFING}", lines_json(fresh))
    total, kept = len(new.splitlines()), {"edited": edited, "missing": missing}
    return Brief(path=path, lines=tuple(lines), changed=changed, total=total, **kept)


def _room(notes: Notes) -> int:
    """Lines that the cap of MEMORY.md leaves: what a person wrote in it comes first."""
    try:
        text = notes.memory.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return notes.config.notes.memory_cap
    own = len(text.splitlines()) - len(markdown.generated(text.split("\n")))
    return max(notes.config.notes.memory_cap - own - MARKERS, LEAST)
