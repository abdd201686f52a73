"""The briefing: the state of the world, derived from the log, on at most 80 lines of MEMORY.md.

A pure function of entries, subjects, the date, the settings, and what a model has said about
them (`prose`), if anything. Six sections, each a window on the log: what is active, what was
decided, what is to be done, what is unsettled, what went quiet and came back, and what seems to
contradict itself. Long sections give up their oldest lines first, and say how many.

It is written between its markers; every byte outside of them stays.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wakebook.base import markdown
from wakebook.base.config import Briefing
from wakebook.base.errors import WakebookError
from wakebook.base.text import EMPTY
from wakebook.capture.transcript import one_line
from wakebook.log.chains import Chains
from wakebook.log.entry import RETRACTED, Entry, present
from wakebook.log.subjects import Registry
from wakebook.notes import prose as proses
from wakebook.notes.page import MEMORY, NoteLine, harmless, ids_of, lines_json
from wakebook.notes.prose import Prose

if TYPE_CHECKING:
    from wakebook.notes.notes import Notes

WIDTH = 180
RULES = Prose()
QUIET = "Nothing recent, and nothing open."


def briefing(
    chains: Chains, registry: Registry, now: datetime, settings: Briefing, prose: Prose = RULES
) -> list[NoteLine]:
    """The lines between the markers, each with the entries behind it."""
    return _Sections(chains, registry, now, settings, prose).lines()


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
        self, chains: Chains, registry: Registry, now: datetime, settings: Briefing, prose: Prose
    ) -> None:
        self._chains, self._aliases = chains, registry.aliases()
        self._now, self._settings, self._prose = now, settings, prose
        self._all = [entry for entry in chains.current() if not entry.extra.get(RETRACTED)]
        self._current = [entry for entry in self._all if entry.type != "handoff"]
        self._since = now - timedelta(days=settings.active_days)
        self._lately = now - timedelta(days=settings.decision_days)

    def lines(self) -> list[NoteLine]:
        sections = {
            "Active": self._active(),
            "Recent Decisions": self._decisions(),
            "Pending": self._open("task"),
            "Open Questions": self._open("question"),
            "Stale": self._stale(),
            "Contradictions": self._contradictions(),
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
        pinned = [one for one in self._current if one.pinned and one.type in ("fact", "decision")]
        noted = [
            one
            for one in self._current[::-1]
            if one.session == "manual" and one.type == "fact" and not one.subject
            if self._since <= one.timestamp <= self._now and not one.pinned
        ]
        lines = [_line(f"pinned — {one_line(entry.content, WIDTH)}", entry) for entry in pinned]
        handoffs = (entry for entry in self._all if entry.type == "handoff")
        busy = active((*self._current, *handoffs), self._aliases, self._now, self._settings)
        for subject, found in busy.items():
            said = self._prose.line(subject, found[-1])
            text = f"{subject} — {one_line(said or found[-1].content, WIDTH)}"
            lines.append(_line(text, *(found if said else found[-1:]), tells=False))
        return lines + [_line(f"noted — {one_line(one.content, WIDTH)}", one) for one in noted]

    def _decisions(self) -> list[NoteLine]:
        lines: list[NoteLine] = []
        for entry in sorted(self._current, key=lambda entry: entry.timestamp, reverse=True):
            if entry.type == "decision" and entry.timestamp >= self._lately:
                detail = present(entry.detail)
                said = f"{entry.content.rstrip('.')} — {detail}" if detail else entry.content
                lines.append(_line(f"{self._day(entry)}: {one_line(said, WIDTH)}", entry))
        return lines

    def _day(self, entry: Entry) -> str:
        return f"{entry.timestamp.astimezone(self._now.tzinfo):%Y-%m-%d}"

    def _open(self, type_: str) -> list[NoteLine]:
        """What is to be done or answered; pinned tasks first, then the newest."""
        found = [one for one in self._current if one.type == type_ and self._chains.is_open(one)]
        found.sort(key=lambda one: (type_ == "task" and one.pinned, one.timestamp), reverse=True)
        return [
            _line(one_line(one.content, WIDTH) + (f" ({one.subject})" if one.subject else ""), one)
            for one in found
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
        told = "referenced in recent session"
        return [
            _line(f"{slug} — last entry {self._day(last)}, {told}", last, tells=False)
            for slug, last in sorted(before.items())
            if slug in after and self._now - last.timestamp > gap
        ]

    def _contradictions(self) -> list[NoteLine]:
        by_id = {entry.id: entry for entry in self._current}
        known = [pair for pair in self._prose.pairs if by_id.keys() >= set(pair)]
        pairs = [(by_id[old], by_id[new]) for old, new in known]
        pairs = [(old, new) for old, new in pairs if new.timestamp >= self._since]
        for old, new in contradictions(self._current, self._since):
            if not self._prose.compared(old.id, new.id):  # no model has looked at it yet
                pairs.append((old, new))
        lines = []
        for old, new in pairs[: self._settings.max_contradictions]:
            one, other = (f'"{one_line(x.content, 90)}" ({self._day(x)})' for x in (old, new))
            text = f"{new.subject}: {one} may conflict with {other}"
            lines.append(_line(text, old, new, tells=False))
        return lines


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

    opened, path = notes.opened, notes.memory
    made = briefing(opened.chains(), opened.registry(), now, notes.config.briefing, said)
    lines = [line.text for line in made]
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
    if new != old:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
        if not mode & 0o200:
            raise WakebookError(f"{path} is read-only: the briefing was not written.")
        notes.git().before_touching([path])
        if path.exists() and path.read_bytes() != old.encode("utf-8"):
            raise WakebookError(f"{path} was written by another program meanwhile: try again.")
        notes.home.replace(path, new, mode)
        with suppress(sqlite3.Error), closing(Catalogue(notes.home)) as catalogue:
            catalogue.note_block(f"{MEMORY}#{markdown.BRIEFING}", lines_json(made))
    total = len(new.splitlines())
    return Brief(path=path, lines=tuple(lines), changed=new != old, total=total, edited=edited)


# --- contradictions, without a model: same subject, same matter, opposed values -------------------
# An older statement and a newer one are about the same matter when they share enough telling
# words, and they oppose each other when their numbers differ, when one negates what the other
# affirms, or when they name opposites. The newer one is assumed right; the flag asks a human
# to replace or dismiss the older one, so few and good ones count: recall is not the aim.

SHARE = 0.34  # of the shorter statement's telling words
REACH = 400  # older statements of a subject that a new one is compared with
_TOKEN = re.compile(r"[^\W_]+(?:[.,:]\d+)*")
_STOP = frozenset(
    "a an and any are as at be been but by can could did do does for from had has have he her his "
    "i if in into is it its just me my no not now of on or our out she so some than that the their "
    "them then there they this to up us use used uses using user was we were what when which who "
    "will with would you your max min most least only per each all day days".split()
)
_NEGATION = frozenset("no not never without don doesn isn aren won cannot stop stopped".split())
_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_OPPOSITES = [
    frozenset(pair.split("/"))
    for pair in """synchronous/queue synchronous/asynchronous sync/async enable/disable
    enabled/disabled public/private manual/automatic monthly/weekly weekly/daily morning/evening
    mornings/evenings always/never accept/reject allow/forbid light/dark tabs/spaces""".split()
]


def contradictions(current: Sequence[Entry], since: datetime) -> list[tuple[Entry, Entry]]:
    """(older, newer) pairs, the newest first. `newer` is not older than `since`."""
    by_subject: dict[str, list[Entry]] = {}
    for entry in current:
        if entry.subject and entry.type in ("decision", "fact"):
            by_subject.setdefault(entry.subject, []).append(entry)
    found: list[tuple[float, Entry, Entry]] = []
    for entries in by_subject.values():
        entries = sorted(entries, key=lambda entry: entry.timestamp)[-REACH:]
        for index, new in enumerate(entries):
            for old in entries[:index] if new.timestamp >= since else ():
                if strength := _opposed(_terms(old.content), _terms(new.content)):
                    found.append((strength, old, new))
    found.sort(key=lambda pair: (pair[0], pair[2].timestamp), reverse=True)
    return [(old, new) for _, old, new in found]


class _Terms:
    """A statement as a set of telling words, its numbers, and whether it negates."""

    def __init__(self, text: str) -> None:
        tokens = [token.lower() for token in _TOKEN.findall(text.replace("n't", " not"))]
        tokens = [str(_NUMBERS.index(one)) if one in _NUMBERS else one for one in tokens]
        self.numbers = {token for token in tokens if token[0].isdigit()}
        self.negated = any(token in _NEGATION for token in tokens)
        said = (one for one in tokens if not one[0].isdigit() and len(one) > 2)
        self.words = {_stem(token) for token in said if token not in _STOP}
        self.raw = set(tokens)


# a briefing, a wake and the next briefing compare the same statements
_terms = lru_cache(maxsize=8192)(_Terms)


def _stem(word: str) -> str:
    for ending in ("ies", "ing", "ed", "es", "s", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _opposed(old: _Terms, new: _Terms) -> float:
    """How strongly two statements oppose each other; 0 if they do not."""
    shared = old.words & new.words
    smaller = min(len(old.words), len(new.words))
    if not shared or not smaller or (old.words == new.words and old.numbers == new.numbers):
        return 0.0 if old.negated == new.negated or not shared else 1.0
    share = len(shared) / smaller
    counted = old.numbers and new.numbers and not old.numbers & new.numbers
    opposites = any(
        len(pair & old.raw) == 1 and len(pair & new.raw) == 1 and pair & old.raw != pair & new.raw
        for pair in _OPPOSITES
    )
    negation = old.negated != new.negated and share >= 0.6 and len(shared) >= 2
    opposed = (counted and share >= SHARE) or opposites or negation
    return share + 0.5 * opposites if opposed else 0.0
