"""Prose: the parts of a briefing that a model writes, kept until what they say has changed.

A model puts where each active subject stands into a line, and looks for entries that contradict
each other. Its answers are kept in the cache with the entries that they were made from, so that
the briefing can be written again and again without asking: a line holds while its subject's
newest entry is the same, a contradiction while both its entries hold. What it was not shown, and
what it did not answer, is left to the rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from wakebook.base import text as tokens
from wakebook.base import words
from wakebook.base.cache import PROSE
from wakebook.base.config import Briefing
from wakebook.base.decode import decode
from wakebook.base.errors import ModelError
from wakebook.base.home import Home
from wakebook.base.text import one_line
from wakebook.learn.extract import entry_line
from wakebook.log.entry import Entry

if TYPE_CHECKING:
    from wakebook.models.chat import Models

SUBJECTS = 15
EACH = 8  # entries of a subject that are shown
OLDER = 40  # entries of a subject that are checked
PAIRS_TOKENS = 8000
GROUNDED = 0.3  # of a line's words must stand in the entries


class SubjectLine(msgspec.Struct, frozen=True):
    """Where a subject stands, in a model's words."""

    newest: str  # the id of the entry that it was made from last
    text: str


class Prose(msgspec.Struct, frozen=True, kw_only=True):
    lines: dict[str, SubjectLine] = {}  # by subject
    pairs: tuple[tuple[str, str], ...] = ()  # older and newer, ids
    checked: dict[str, tuple[str, ...]] = {}  # subject -> ids that were compared

    def line(self, subject: str, newest: Entry) -> str:
        kept = self.lines.get(subject)
        return kept.text if kept and kept.newest == newest.id else ""

    def compared(self, *ids: str) -> bool:
        """Whether the model was shown these together."""
        return any(set(ids) <= set(shown) for shown in self.checked.values())


def load(home: Home) -> Prose:
    try:
        return decode((home.root / PROSE).read_bytes(), Prose)
    except (OSError, msgspec.MsgspecError):
        return Prose()


def save(home: Home, prose: Prose) -> None:
    home.replace(home.root / PROSE, msgspec.json.encode(prose))


def write(
    models: Models,
    kept: Prose,
    active: Mapping[str, Sequence[Entry]],
    now: datetime,
    settings: Briefing,
) -> Prose:
    """What a model says about the active subjects. Where it does not answer: what was kept.
    `active`: subject -> its current entries, oldest first; the newest subject first."""
    chosen = dict(list(active.items())[:SUBJECTS])
    stale = {slug: found for slug, found in chosen.items() if not kept.line(slug, found[-1])}
    lines = {slug: line for slug, line in kept.lines.items() if slug in active}
    if stale:
        with suppress(ModelError):  # traced where it happened; rules fill in
            lines |= _lines(models, stale, now)
    since = now - timedelta(days=settings.active_days)
    shown = _comparable(chosen, since)
    changed = {
        slug: found for slug, found in shown.items() if kept.checked.get(slug) != _ids(found)
    }
    checked = {slug: ids for slug, ids in kept.checked.items() if slug in shown}
    pairs = kept.pairs
    if changed:
        with suppress(ModelError):
            pairs = _pairs(models, changed, since, settings)
            told = {one for slug, found in changed.items() for one in _ids(found)}
            pairs += tuple(pair for pair in kept.pairs if not told >= set(pair))
            checked |= {slug: _ids(found) for slug, found in changed.items()}
    return Prose(lines=lines, pairs=pairs, checked=checked)


def _comparable(active: Mapping[str, Sequence[Entry]], since: datetime) -> dict[str, list[Entry]]:
    """What is looked through for contradictions: within a limit, the newest subjects first."""
    found: dict[str, list[Entry]] = {}
    room = PAIRS_TOKENS
    for slug, entries in active.items():
        told = [entry for entry in entries if entry.type in ("decision", "fact")][-OLDER:]
        if len(told) < 2 or told[-1].timestamp < since:
            continue
        room -= sum(tokens.tokens(entry_line("e00", entry)) for entry in told)
        if room < 0:
            break
        found[slug] = told
    return found


def _ids(entries: Sequence[Entry]) -> tuple[str, ...]:
    return tuple(entry.id for entry in entries)


def _lines(
    models: Models, active: Mapping[str, Sequence[Entry]], now: datetime
) -> dict[str, SubjectLine]:
    from wakebook.learn.judge.verdict import suspicious

    shown = {slug: found[-EACH:] for slug, found in active.items()}

    def check(raw: dict[str, Any]) -> tuple[str, str]:
        slug, text = raw.get("subject"), raw.get("line")
        if not isinstance(slug, str) or slug not in shown:
            raise ValueError(f"subject {slug!r} is not one of {', '.join(shown)}")
        if not isinstance(text, str) or not text.strip():
            raise ValueError("line is empty")
        text = tokens.printable(text)
        if len(text) > 180:
            raise ValueError(f"line has {len(text)} characters; at most 160")
        if "<" in text or suspicious(text, False):
            raise ValueError("line is to be plain text that gives no orders")
        entries = " ".join(f"{one.content} {one.detail}" for one in shown[slug])
        said = words.terms(f"{entries} {slug} {slug.replace('-', ' ')}")
        told = words.terms(text)
        if told and len(told & said) < GROUNDED * len(told):
            raise ValueError("line says what the entries do not say")
        return slug, text

    blocks = [
        f"{slug}\n" + "\n".join(entry_line("-", entry) for entry in found)
        for slug, found in shown.items()
    ]
    today, subjects = f"{now:%Y-%m-%d}", "\n\n".join(blocks)
    answer = models.lines("briefing", check, 2 * len(shown), today=today, subjects=subjects)
    return {slug: SubjectLine(shown[slug][-1].id, text) for slug, text in answer.kept}


def _pairs(
    models: Models, shown: Mapping[str, Sequence[Entry]], since: datetime, settings: Briefing
) -> tuple[tuple[str, str], ...]:
    refs: dict[str, tuple[str, Entry]] = {}
    blocks: list[str] = []
    for slug, entries in shown.items():
        lines = [slug]
        for entry in entries:
            ref = f"e{len(refs) + 1}"
            refs[ref] = (slug, entry)
            lines.append(entry_line(ref, entry))
        blocks.append("\n".join(lines))

    def check(raw: dict[str, Any]) -> tuple[str, str] | None:
        if raw.get("none"):
            return None
        first, second = refs.get(str(raw.get("older"))), refs.get(str(raw.get("newer")))
        if first is None or second is None:
            raise ValueError("older and newer must be references of entries, like e2")
        older, newer = first[1], second[1]
        if first[0] != second[0] or older.id == newer.id:
            raise ValueError("both entries must be of the same subject, and two")
        if older.timestamp > newer.timestamp:
            older, newer = newer, older
        if newer.timestamp < since:
            raise ValueError(f"{one_line(newer.content, 60)!r} is not recent")
        return older.id, newer.id

    told, most = "\n\n".join(blocks), settings.max_contradictions
    answer = models.lines("contradictions", check, 50, entries=told, most_pairs=str(most))
    return tuple(dict.fromkeys(pair for pair in answer.kept if pair))[:most]
