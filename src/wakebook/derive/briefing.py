"""The briefing: the state of the world, derived from the log, on at most 80 lines.

A pure function of entries, subjects, the date, the settings, and what a model has said about
them (`prose`), if anything. Six sections, each a window on the log: what is active, what was
decided, what is to be done, what is unsettled, what went quiet and came back, and what seems to
contradict itself. Long sections give up their oldest lines first, and say how many.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from wakebook.capture.transcript import one_line
from wakebook.config import Briefing
from wakebook.derive.contradict import contradictions
from wakebook.derive.prose import Prose
from wakebook.log.chains import Chains
from wakebook.log.entry import Entry
from wakebook.log.subjects import Registry

WIDTH = 180
RULES = Prose()
EMPTY = "Nothing yet: the log holds no entries."
QUIET = "Nothing recent, and nothing open."


def briefing(
    chains: Chains, registry: Registry, now: datetime, settings: Briefing, prose: Prose = RULES
) -> list[str]:
    """The lines between the markers."""
    current = [entry for entry in chains.current() if entry.type != "handoff"]
    handoffs = [entry for entry in chains.current() if entry.type == "handoff"]
    aliases = registry.aliases()
    sections = [
        ("Active", _active(current, handoffs, aliases, now, settings, prose)),
        ("Recent Decisions", _decisions(current, now, settings)),
        ("Pending", _pending(current, chains)),
        ("Open Questions", _questions(current, chains)),
        ("Stale", _stale(chains, aliases, now, settings)),
        ("Contradictions", _contradictions(current, now, settings, prose)),
    ]
    filled = [(name, lines) for name, lines in sections if lines]
    if not filled:
        return [QUIET if chains.by_id else EMPTY]
    return _fit(filled, settings.max_lines)


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


def _active(
    current: Sequence[Entry],
    handoffs: Sequence[Entry],
    aliases: dict[str, str],
    now: datetime,
    settings: Briefing,
    prose: Prose,
) -> list[str]:
    """A line for each active subject: the model's, or else its most recent entry.

    A handoff says where a subject stands better than any single entry, so the newest
    handoff of the subject is preferred when nothing was learned after it. What is pinned
    stays in view whatever its age; what was noted by hand without a subject, for as long as
    a subject would be active.
    """
    since = now - timedelta(days=settings.active_days)
    pinned = [entry for entry in current if entry.pinned and entry.type in ("fact", "decision")]
    noted = [
        entry
        for entry in current
        if entry.session == "manual" and entry.type == "fact" and not entry.subject
        if since <= entry.timestamp <= now and not entry.pinned
    ]
    lines = [f"- pinned — {one_line(entry.content, WIDTH)}" for entry in pinned]
    for subject, found in active((*current, *handoffs), aliases, now, settings).items():
        line = prose.line(subject, found[-1]) or found[-1].content
        lines.append(f"- {subject} — {one_line(line, WIDTH)}")
    return lines + [f"- noted — {one_line(entry.content, WIDTH)}" for entry in reversed(noted)]


def _decisions(current: Sequence[Entry], now: datetime, settings: Briefing) -> list[str]:
    since = now - timedelta(days=settings.decision_days)
    recent = [entry for entry in current if entry.type == "decision" and entry.timestamp >= since]
    return [
        f"- {entry.timestamp:%Y-%m-%d}: {one_line(_with_reason(entry), WIDTH)}"
        for entry in sorted(recent, key=lambda entry: entry.timestamp, reverse=True)
    ]


def _with_reason(entry: Entry) -> str:
    return f"{entry.content.rstrip('.')} — {entry.detail}" if entry.detail else entry.content


def _pending(current: Sequence[Entry], chains: Chains) -> list[str]:
    tasks = [entry for entry in current if entry.type == "task" and chains.is_open(entry)]
    tasks.sort(key=lambda entry: (entry.pinned, entry.timestamp), reverse=True)
    return [f"- {one_line(entry.content, WIDTH)}{_about(entry)}" for entry in tasks]


def _questions(current: Sequence[Entry], chains: Chains) -> list[str]:
    asked = [entry for entry in current if entry.type == "question" and chains.is_open(entry)]
    asked.sort(key=lambda entry: entry.timestamp, reverse=True)
    return [f"- {one_line(entry.content, WIDTH)}{_about(entry)}" for entry in asked]


def _about(entry: Entry) -> str:
    return f" ({entry.subject})" if entry.subject else ""


def _stale(chains: Chains, aliases: dict[str, str], now: datetime, settings: Briefing) -> list[str]:
    """Subjects that were silent for long and came up again lately.

    "Came up" is an entry of the last days; the entry before it is older than the threshold.
    """
    lately = now - timedelta(days=settings.decision_days)
    gap = timedelta(days=settings.stale_days)
    times: dict[str, list[datetime]] = {}
    for entry in chains.entries:
        if entry.subject:
            times.setdefault(aliases.get(entry.subject, entry.subject), []).append(entry.timestamp)
    lines: list[str] = []
    for subject, moments in sorted(times.items()):
        before = [moment for moment in moments if moment < lately]
        if before and max(moments) >= lately and now - max(before) > gap:
            lines.append(
                f"- {subject} — last entry {max(before):%Y-%m-%d}, referenced in recent session"
            )
    return lines


def _contradictions(
    current: Sequence[Entry], now: datetime, settings: Briefing, prose: Prose
) -> list[str]:
    since = now - timedelta(days=settings.active_days)
    by_id = {entry.id: entry for entry in current}
    pairs = [(by_id[old], by_id[new]) for old, new in prose.pairs if {old, new} <= by_id.keys()]
    pairs = [(old, new) for old, new in pairs if new.timestamp >= since]
    for old, new in contradictions(current, since):  # what no model has looked at yet
        if not prose.compared(old.id, new.id):
            pairs.append((old, new))
    return [
        f'- {new.subject}: "{one_line(old.content, 90)}" ({old.timestamp:%Y-%m-%d}) may conflict '
        f'with "{one_line(new.content, 90)}" ({new.timestamp:%Y-%m-%d})'
        for old, new in pairs[: settings.max_contradictions]
    ]


def _fit(sections: list[tuple[str, list[str]]], limit: int) -> list[str]:
    """All sections within the limit: the longest ones lose their last lines, and say so."""
    sizes = [len(lines) for _, lines in sections]
    frame = 3 * len(sections) - 1  # a heading and a blank line each, and room for "… more"
    while sum(sizes) + frame > limit and max(sizes) > 1:
        sizes[sizes.index(max(sizes))] -= 1
    result: list[str] = []
    for (name, lines), size in zip(sections, sizes, strict=True):
        result += [""] if result else []
        result += [f"## {name}", *lines[:size]]
        if size < len(lines):
            result.append(f"- … and {len(lines) - size} more")
    return result[:limit]
