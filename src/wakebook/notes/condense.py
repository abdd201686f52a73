"""Condense: the one guarded rewrite. A text of items is said in fewer of them.

A model does it, or rules. Whatever comes out is refused if it is empty, larger than what went in,
over the cap, or without an item that is pinned or open; then the old text stays. What is kept is
not a text but which items are told, together or not at all (`Rewrite`), so that it goes on
holding when the text is written again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from wakebook.base import text as tokens
from wakebook.base import words
from wakebook.base.errors import ModelUnavailable, TooLong, WakebookError
from wakebook.learn.extract import RULES
from wakebook.learn.judge.verdict import suspicious
from wakebook.notes import item as notes
from wakebook.notes.condensed import Kept, Rewrite, apply
from wakebook.notes.item import Item

if TYPE_CHECKING:
    from wakebook.models.chat import Models

ALIKE = 0.75  # of the terms: two items say the same
COMPARED = 60  # items of a section that one is compared with
GROUNDED = 0.5  # of a new line's words must stand in its items
LONGEST = 400
_DAY = re.compile(r"\[\[\d{4}-\d\d-\d\d\]\]|^(?:[🔴🟡🟢] )?\d{4}-\d\d-\d\d:? ")
_NOT = re.compile(r"(?i)\b(?:not|no|never|none|without|cannot|nicht|kein\w*|nie)\b|n[’\']t\b")
_LIVE = re.compile(
    r"\w+://[^\s)]+|www\.[^\s)]+|!?\[[^\]]*\]\([^)]*\)|[\w.+-]+@[\w-]+\.[\w.]+|`[^`]+`"
)
_NEGATION = "¬"
WORTH = timedelta(days=30)  # that a heavier item may be older than a lighter one


class Refused(WakebookError):
    """A rewrite that must not be used. The old text stays."""


class Cap(msgspec.Struct, frozen=True):
    """How long a block may be."""

    lines: int = 0
    words: int = 0

    def over(self, items: Sequence[Item]) -> bool:
        too_long = bool(self.lines) and len(notes.block(items)) > self.lines
        return too_long or (bool(self.words) and _words(items) > self.words)

    def __str__(self) -> str:
        return f"{self.lines} lines" if self.lines else f"{self.words:,} words"


def _words(items: Sequence[Item]) -> int:
    return sum(item.words for item in items)


def condense(
    items: Sequence[Item], cap: Cap, purpose: str, now: datetime, models: Models | None = None
) -> Rewrite:
    """What to tell of these items. Raises Refused."""
    if not items:
        raise Refused("there is nothing to condense")
    if models is not None and models.has("condense"):
        try:
            return _guarded(items, cap, _by_model(items, cap, purpose, now, models))
        except (ModelUnavailable, TooLong):
            pass  # traced where it happened; rules do it
    return _guarded(items, cap, _by_rules(items, cap, now))


# --- the guard -------------------------------------------------------------------------


def _guarded(items: Sequence[Item], cap: Cap, rewrite: Rewrite) -> Rewrite:
    after = apply(items, rewrite)  # what will be written
    if not after or not rewrite.lines:
        raise Refused("the result is empty")
    if _words(after) > _words(items) or len(after) > len(items):
        raise Refused(
            f"the result ({_words(after):,} words) is larger than what it was made from "
            f"({_words(items):,})"
        )
    kept = {one for line in rewrite.lines for one in line.ids}
    lost = [item for item in items if item.held and not kept.issuperset(item.ids)]
    if lost:
        raise Refused(f"the result loses {len(lost)} open or pinned: {lost[0].text[:80]!r}")
    if cap.over(after):
        raise Refused(f"the result is over its cap of {cap}")
    return rewrite


def _rewrite(items: Sequence[Item], lines: Sequence[Kept], by: str, now: datetime) -> Rewrite:
    kept = {one for line in lines for one in line.ids}
    dropped = tuple(one for item in items for one in item.ids if one not in kept)
    return Rewrite(at=now, by=by, lines=tuple(lines), dropped=dropped)


# --- by rules ---------------------------------------------------------------------------


def _by_rules(items: Sequence[Item], cap: Cap, now: datetime) -> Rewrite:
    """Items that say the same become one; then the lightest and oldest go until it fits."""
    groups = _alike(items)
    kept = [group[0] for group in groups]
    order = sorted(kept, key=lambda item: item.at + item.weight * WORTH)
    going = [item for item in order if not item.held]
    gone: set[tuple[str, ...]] = set()
    while going and cap.over([item for item in kept if item.ids not in gone]):
        gone.add(going.pop(0).ids)
    lines = [_kept(group) for group in groups if group[0].ids not in gone]
    return _rewrite(items, lines, RULES, now)


def _kept(group: Sequence[Item]) -> Kept:
    first = group[0]
    ids = tuple(dict.fromkeys(one for item in group for one in item.ids))
    if len(group) == 1 and not first.rewritten:
        return Kept(ids)
    return Kept(ids, first.text, first.section)


def _alike(items: Sequence[Item]) -> list[list[Item]]:
    """Items of a section that say the same, the newest first. What is open stands alone."""
    groups: list[list[Item]] = []
    by_section: dict[str, list[tuple[frozenset[str], list[Item]]]] = {}
    for item in items:
        terms = _terms(item)
        known = by_section.setdefault(item.section, [])
        same = None
        if not item.held and len(terms) > 3:
            near = known[-COMPARED:]
            same = next((found for other, found in near if _same(terms, other)), None)
        if same is not None and not same[0].held:
            same.append(item)
            same.sort(key=lambda one: one.at, reverse=True)
            continue
        groups.append([item])
        known.append((terms, groups[-1]))
    return groups


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two items say the same: not where a number differs, or one of them negates."""
    differ = one ^ other
    telling = any(_NEGATION in term or any(map(str.isdigit, term)) for term in differ)
    nested = one <= other or other <= one  # otherwise each names something of its own
    return nested and words.alike(one, other) >= ALIKE and not telling


def _terms(item: Item) -> frozenset[str]:
    """What an item says, without its day, and with its negations."""
    text = _DAY.sub("", item.text)
    found = words.terms(text)
    return found | {_NEGATION} if _NOT.search(text) else found


# --- by a model ----------------------------------------------------------------------------


def _by_model(
    items: Sequence[Item], cap: Cap, purpose: str, now: datetime, models: Models
) -> Rewrite:
    refs = {f"i{number}": item for number, item in enumerate(items, 1)}
    sections = list(dict.fromkeys(item.section for item in items))

    def check(raw: dict[str, Any]) -> Kept:
        names = raw.get("from")
        if not isinstance(names, list) or not names or not all(str(n) in refs for n in names):
            raise ValueError(f"from {names!r} is not a list of references like i2")
        parts = [refs[str(name)] for name in names]
        ids = tuple(dict.fromkeys(one for part in parts for one in part.ids))
        text = raw.get("text") or ""
        if any(part.held for part in parts) and (text or len(parts) > 1):
            raise ValueError("an item marked (keep) stays as it is, on a line of its own")
        if not text and len(parts) > 1:
            raise ValueError("several items need a text that says them together")
        if not text:
            return _kept(parts)
        return Kept(ids, _checked(text, parts), _section(raw, parts, sections))

    def missing(kept: list[Kept]) -> str:
        there = {one for line in kept for one in line.ids}
        lost = [ref for ref, item in refs.items() if item.held and not there.issuperset(item.ids)]
        return f"these marked (keep) are missing: {', '.join(lost)}" if lost else ""

    answer = models.lines(
        "condense",
        check,
        len(items),
        missing,
        today=f"{now:%Y-%m-%d}",
        purpose=purpose,
        limit=f"At most {cap}, headings included.",
        items=_shown(refs),
    )
    if answer.cut:
        raise Refused("the model's answer was cut off")
    used: set[str] = set()
    lines: list[Kept] = []
    for line in answer.kept:
        if not used.intersection(line.ids):
            used.update(line.ids)
            lines.append(line)
    return _rewrite(items, lines, answer.by, now)


def _shown(refs: dict[str, Item]) -> str:
    lines: list[str] = []
    section = ""
    for ref, item in refs.items():
        if item.section != section:
            section = item.section
            lines.append(f"## {section}")
        lines.append(f"{ref}{' (keep)' if item.held else ''}: {item.text}")
    return "\n".join(lines)


def _checked(text: object, parts: Sequence[Item]) -> str:
    if not isinstance(text, str) or not text.strip():
        raise ValueError("text is empty")
    line = notes.linked(tokens.printable(text).lstrip("-*#> ").strip())
    if len(line) > LONGEST:
        raise ValueError(f"text has {len(line)} characters; at most {LONGEST}")
    if "<" in line or suspicious(line, False):
        raise ValueError("text is to be plain and must not give orders")
    whole = " ".join(part.text for part in parts)
    foreign = [one for one in _LIVE.findall(line) if one not in whole]
    if foreign:
        raise ValueError(f"text has a link or an address that its items do not have: {foreign[0]}")
    if bool(_NOT.search(line)) != bool(_NOT.search(whole)):
        raise ValueError("text negates what its items say, or the other way round")
    said = words.terms(whole)
    new = words.terms(line)
    invented = {term for term in new - said if any(map(str.isdigit, term))}
    if invented:
        raise ValueError(f"text has a number that its items do not have: {min(invented)}")
    if new and len(new & said) < GROUNDED * len(new):
        raise ValueError("text says what its items do not say")
    return line


def _section(raw: dict[str, Any], parts: Sequence[Item], sections: Sequence[str]) -> str:
    wanted = str(raw.get("section") or "").removeprefix("#").strip()
    return wanted if wanted in sections else parts[0].section
