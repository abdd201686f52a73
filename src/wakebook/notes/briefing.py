"""The briefing: the state of the world, derived from the log, on at most 80 lines.

A pure function of entries, subjects, the date, the settings, and what a model has said about
them (`prose`), if anything. Six sections, each a window on the log: what is active, what was
decided, what is to be done, what is unsettled, what went quiet and came back, and what seems to
contradict itself. Long sections give up their oldest lines first, and say how many.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from wakebook.base.config import Briefing
from wakebook.capture.transcript import one_line
from wakebook.log.chains import Chains
from wakebook.log.entry import RETRACTED, Entry, present
from wakebook.log.subjects import Registry
from wakebook.notes.item import Line, harmless
from wakebook.notes.prose import Prose
from wakebook.recall.texts import EMPTY

WIDTH = 180
RULES = Prose()
QUIET = "Nothing recent, and nothing open."


def briefing(
    chains: Chains, registry: Registry, now: datetime, settings: Briefing, prose: Prose = RULES
) -> list[str]:
    """The lines between the markers."""
    return [line.text for line in sources(chains, registry, now, settings, prose)]


def sources(
    chains: Chains, registry: Registry, now: datetime, settings: Briefing, prose: Prose = RULES
) -> list[Line]:
    """The lines between the markers, each with the entries behind it."""
    holding = [entry for entry in chains.current() if not entry.extra.get(RETRACTED)]
    current = [entry for entry in holding if entry.type != "handoff"]
    handoffs = [entry for entry in holding if entry.type == "handoff"]
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
        return [Line(QUIET if chains.by_id else EMPTY)]
    return _fit(filled, settings.max_lines - 1)  # one is for the sum


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
) -> list[Line]:
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
    lines = [_line(f"pinned — {one_line(entry.content, WIDTH)}", entry) for entry in pinned]
    for subject, found in active((*current, *handoffs), aliases, now, settings).items():
        said = prose.line(subject, found[-1])
        text = f"{subject} — {one_line(said or found[-1].content, WIDTH)}"
        lines.append(_line(text, *(found if said else found[-1:]), tells=False))
    noted.reverse()
    return lines + [_line(f"noted — {one_line(entry.content, WIDTH)}", entry) for entry in noted]


def _line(text: str, *entries: Entry, tells: bool = True) -> Line:
    ids = tuple(entry.id for entry in entries)
    return Line(f"- {harmless(text)}", ids, tells=tells)


def _decisions(current: Sequence[Entry], now: datetime, settings: Briefing) -> list[Line]:
    since = now - timedelta(days=settings.decision_days)
    recent = [entry for entry in current if entry.type == "decision" and entry.timestamp >= since]
    return [
        _line(f"{_day(entry, now)}: {one_line(_with_reason(entry), WIDTH)}", entry)
        for entry in sorted(recent, key=lambda entry: entry.timestamp, reverse=True)
    ]


def _day(entry: Entry, now: datetime) -> str:
    return f"{entry.timestamp.astimezone(now.tzinfo):%Y-%m-%d}"


def _with_reason(entry: Entry) -> str:
    detail = present(entry.detail)
    return f"{entry.content.rstrip('.')} — {detail}" if detail else entry.content


def _pending(current: Sequence[Entry], chains: Chains) -> list[Line]:
    tasks = [entry for entry in current if entry.type == "task" and chains.is_open(entry)]
    tasks.sort(key=lambda entry: (entry.pinned, entry.timestamp), reverse=True)
    return [_line(f"{one_line(entry.content, WIDTH)}{_about(entry)}", entry) for entry in tasks]


def _questions(current: Sequence[Entry], chains: Chains) -> list[Line]:
    asked = [entry for entry in current if entry.type == "question" and chains.is_open(entry)]
    asked.sort(key=lambda entry: entry.timestamp, reverse=True)
    return [_line(f"{one_line(entry.content, WIDTH)}{_about(entry)}", entry) for entry in asked]


def _about(entry: Entry) -> str:
    return f" ({entry.subject})" if entry.subject else ""


def _stale(
    chains: Chains, aliases: dict[str, str], now: datetime, settings: Briefing
) -> list[Line]:
    """Subjects that were silent for long and came up again lately.

    "Came up" is an entry of the last days; the entry before it is older than the threshold.
    """
    lately = now - timedelta(days=settings.decision_days)
    gap = timedelta(days=settings.stale_days)
    before: dict[str, Entry] = {}
    after: set[str] = set()
    for entry in chains.entries:
        subject = aliases.get(entry.subject, entry.subject)
        if not subject:
            continue
        if entry.timestamp >= lately:
            after.add(subject)
        elif subject not in before or entry.timestamp > before[subject].timestamp:
            before[subject] = entry
    return [
        _line(
            f"{slug} — last entry {_day(before[slug], now)}, referenced in recent session",
            last,
            tells=False,
        )
        for slug, last in sorted(before.items())
        if slug in after and now - last.timestamp > gap
    ]


def _contradictions(
    current: Sequence[Entry], now: datetime, settings: Briefing, prose: Prose
) -> list[Line]:
    since = now - timedelta(days=settings.active_days)
    by_id = {entry.id: entry for entry in current}
    pairs = [(by_id[old], by_id[new]) for old, new in prose.pairs if {old, new} <= by_id.keys()]
    pairs = [(old, new) for old, new in pairs if new.timestamp >= since]
    for old, new in contradictions(current, since):  # what no model has looked at yet
        if not prose.compared(old.id, new.id):
            pairs.append((old, new))
    return [
        _line(
            f'{new.subject}: "{one_line(old.content, 90)}" ({_day(old, now)}) may conflict '
            f'with "{one_line(new.content, 90)}" ({_day(new, now)})',
            old,
            new,
            tells=False,
        )
        for old, new in pairs[: settings.max_contradictions]
    ]


def _fit(sections: list[tuple[str, list[Line]]], limit: int) -> list[Line]:
    """All sections within the limit: the longest ones lose their last lines, and say so."""
    sizes = [len(lines) for _, lines in sections]
    frame = 3 * len(sections) - 1  # a heading and a blank line each, and room for "… more"
    while sum(sizes) + frame > limit and max(sizes) > 1:
        sizes[sizes.index(max(sizes))] -= 1
    result: list[Line] = []
    for (name, lines), size in zip(sections, sizes, strict=True):
        result += [Line("")] if result else []
        result += [Line(f"## {name}", _ids(lines)), *lines[:size]]
        if size < len(lines):
            result.append(Line(f"- … and {len(lines) - size} more", _ids(lines[size:])))
    return result[:limit]


def _ids(lines: Sequence[Line]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for line in lines for one in line.ids))


# -----------------------------------------------------------------------------
# Contradictions, without a model: same subject, same matter, opposed values.
#
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
_NUMBERS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_OPPOSITES = [
    frozenset(pair.split("/"))
    for pair in (
        "synchronous/queue synchronous/asynchronous sync/async enable/disable enabled/disabled "
        "public/private manual/automatic monthly/weekly weekly/daily morning/evening "
        "mornings/evenings always/never accept/reject allow/forbid light/dark tabs/spaces"
    ).split()
]


def contradictions(current: Sequence[Entry], since: datetime) -> list[tuple[Entry, Entry]]:
    """(older, newer) pairs, the newest first. `newer` is not older than `since`."""
    by_subject: dict[str, list[Entry]] = {}
    for entry in current:
        if entry.subject and entry.type in ("decision", "fact"):
            by_subject.setdefault(entry.subject, []).append(entry)
    found: list[tuple[float, Entry, Entry]] = []
    for entries in by_subject.values():
        entries.sort(key=lambda entry: entry.timestamp)
        if entries[-1].timestamp < since:
            continue
        entries = entries[-REACH:]
        terms = {entry.id: _terms(entry.content) for entry in entries}
        for index, new in enumerate(entries):
            if new.timestamp < since:
                continue
            for old in entries[:index]:
                strength = _opposed(terms[old.id], terms[new.id])
                if strength:
                    found.append((strength, old, new))
    found.sort(key=lambda pair: (pair[0], pair[2].timestamp), reverse=True)
    return [(old, new) for _, old, new in found]


class _Terms:
    """A statement as a set of telling words, its numbers, and whether it negates."""

    def __init__(self, text: str) -> None:
        tokens = [token.lower() for token in _TOKEN.findall(text.replace("n't", " not"))]
        tokens = [_NUMBERS.get(token, token) for token in tokens]
        self.numbers = {token for token in tokens if token[0].isdigit()}
        self.negated = any(token in _NEGATION for token in tokens)
        self.words = {
            _stem(token)
            for token in tokens
            if not token[0].isdigit() and token not in _STOP and len(token) > 2
        }
        self.raw = set(tokens)


@lru_cache(maxsize=8192)  # a briefing, a wake and the next briefing compare the same statements
def _terms(text: str) -> _Terms:
    return _Terms(text)


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
    numbers_differ = bool(
        old.numbers and new.numbers and not old.numbers & new.numbers and share >= SHARE
    )
    opposites = any(
        len(pair & old.raw) == 1 and len(pair & new.raw) == 1 and pair & old.raw != pair & new.raw
        for pair in _OPPOSITES
    )
    negation = old.negated != new.negated and share >= 0.6 and len(shared) >= 2
    if numbers_differ or opposites or negation:
        return share + 0.5 * opposites
    return 0.0
