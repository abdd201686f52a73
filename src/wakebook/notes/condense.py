"""Condense: the one guarded rewrite. A block of items that has grown too long is said in fewer.

Journals by the day, MEMORY.md by the week, notes by the month, and observations when they have
become too many. A model does it, or rules. Whatever comes out is refused if it is empty, larger
than what went in, over the cap, or without an item that is pinned or open; then the old text stays.

A block is read under the lock; the model is asked without it; what it said is written under the
lock again, between two commits, so that `wakebook history undo` can take it back. A block
that a person has edited is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from wakebook.base import markdown, words
from wakebook.base import text as tokens
from wakebook.base.errors import ModelError, ModelUnavailable, TooLong, WakebookError
from wakebook.learn.extract import RULES
from wakebook.notes import condensed as record
from wakebook.notes import page as pages
from wakebook.notes.book import OBSERVED, ROLLUP, Book, NoteBlock, rollup_items
from wakebook.notes.book import key as block_key
from wakebook.notes.condensed import Condensed, CondensedLine, applied
from wakebook.notes.page import KNOWLEDGE, Bullet, ids_of, linked, note_lines, notes_below
from wakebook.notes.write import update

if TYPE_CHECKING:
    from wakebook.models.chat import Models
    from wakebook.notes.notes import Notes

ALIKE = 0.75  # of the terms: two items say the same
COMPARED = 60  # items of a section that one is compared with
GROUNDED = 0.5  # of a new line's words must stand in its items
LONGEST = 400
WORTH = timedelta(days=30)  # that a heavier item may be older than a lighter one
_DAY = re.compile(r"\[\[\d{4}-\d\d-\d\d\]\]|^(?:[🔴🟡🟢] )?\d{4}-\d\d-\d\d:? ")
_NOT = re.compile(r"(?i)\b(?:not|no|never|none|without|cannot|nicht|kein\w*|nie)\b|n[’\']t\b")
_LIVE = re.compile(
    r"\w+://[^\s)]+|www\.[^\s)]+|!?\[[^\]]*\]\([^)]*\)|[\w.+-]+@[\w-]+\.[\w.]+|`[^`]+`"
)
_NEGATION = "¬"


class Refused(WakebookError):
    """A rewrite that must not be used. The old text stays."""


class Cap(msgspec.Struct, frozen=True):
    lines: int = 0
    words: int = 0

    def over(self, items: Sequence[Bullet]) -> bool:
        too_long = bool(self.lines) and len(note_lines(items)) > self.lines
        return too_long or (bool(self.words) and _words(items) > self.words)

    def __str__(self) -> str:
        return f"{self.lines} lines" if self.lines else f"{self.words:,} words"


def _words(items: Sequence[Bullet]) -> int:
    return sum(item.words for item in items)


def condense(
    items: Sequence[Bullet], cap: Cap, purpose: str, now: datetime, models: Models | None = None
) -> Condensed:
    """What to tell of these items. Raises Refused."""
    if not items:
        raise Refused("there is nothing to condense")
    if models is not None and models.has("condense"):
        try:
            lines, by = _by_model(items, cap, purpose, now, models)
            return _guarded(items, cap, lines, by, now)
        except (ModelUnavailable, TooLong):
            pass  # traced where it happened; rules do it
    return _guarded(items, cap, _by_rules(items, cap), RULES, now)


def _guarded(
    items: Sequence[Bullet], cap: Cap, lines: Sequence[CondensedLine], by: str, now: datetime
) -> Condensed:
    kept = {one for line in lines for one in line.ids}
    dropped = tuple(one for item in items for one in item.ids if one not in kept)
    condensed = Condensed(at=now, by=by, lines=tuple(lines), dropped=dropped)
    after = applied(items, condensed)  # what will be written
    if not after or not lines:
        raise Refused("the result is empty")
    if _words(after) > _words(items) or len(after) > len(items):
        raise Refused(
            f"the result ({_words(after):,} words) is larger than what it was made from "
            f"({_words(items):,})"
        )
    lost = [item for item in items if item.held and not kept.issuperset(item.ids)]
    if lost:
        raise Refused(f"the result loses {len(lost)} open or pinned: {lost[0].text[:80]!r}")
    if cap.over(after):
        raise Refused(f"the result is over its cap of {cap}")
    return condensed


def _by_rules(items: Sequence[Bullet], cap: Cap) -> list[CondensedLine]:
    """Items that say the same become one; then the lightest and oldest go until it fits."""
    groups = _alike(items)
    kept = [group[0] for group in groups]
    order = sorted(kept, key=lambda item: item.at + item.weight * WORTH)
    going = [item for item in order if not item.held]
    gone: set[tuple[str, ...]] = set()
    while going and cap.over([item for item in kept if item.ids not in gone]):
        gone.add(going.pop(0).ids)
    return [_line(group) for group in groups if group[0].ids not in gone]


def _line(group: Sequence[Bullet]) -> CondensedLine:
    first, ids = group[0], ids_of(group)
    if len(group) == 1 and not first.rewritten:
        return CondensedLine(ids)
    return CondensedLine(ids, first.text, first.section)


def _alike(items: Sequence[Bullet]) -> list[list[Bullet]]:
    """Items of a section that say the same, the newest first. What is open stands alone."""
    groups: list[list[Bullet]] = []
    by_section: dict[str, list[tuple[frozenset[str], list[Bullet]]]] = {}
    for item in items:
        text = _DAY.sub("", item.text)
        terms = words.terms(text) | ({_NEGATION} if _NOT.search(text) else set())
        known = by_section.setdefault(item.section, [])
        near = known[-COMPARED:] if not item.held and len(terms) > 3 else ()
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


def _by_model(
    items: Sequence[Bullet], cap: Cap, purpose: str, now: datetime, models: Models
) -> tuple[list[CondensedLine], str]:
    """The lines, and by what model and prompt."""
    refs = {f"i{number}": item for number, item in enumerate(items, 1)}
    sections = {item.section for item in items}

    def check(raw: dict[str, Any]) -> CondensedLine:
        names = raw.get("from")
        if not isinstance(names, list) or not names or not all(str(n) in refs for n in names):
            raise ValueError(f"from {names!r} is not a list of references like i2")
        parts = [refs[str(name)] for name in names]
        text = raw.get("text") or ""
        if any(part.held for part in parts) and (text or len(parts) > 1):
            raise ValueError("an item marked (keep) stays as it is, on a line of its own")
        if not text and len(parts) > 1:
            raise ValueError("several items need a text that says them together")
        if not text:
            return _line(parts)
        wanted = str(raw.get("section") or "").removeprefix("#").strip()
        section = wanted if wanted in sections else parts[0].section
        return CondensedLine(ids_of(parts), checked(text, parts), section)

    def missing(lines: list[CondensedLine]) -> str:
        there = {one for line in lines for one in line.ids}
        lost = [ref for ref, item in refs.items() if item.held and not there.issuperset(item.ids)]
        return f"these marked (keep) are missing: {', '.join(lost)}" if lost else ""

    shown: list[str] = []
    for section, several in groupby(refs.items(), key=lambda one: one[1].section):
        shown += [f"## {section}"] if section or shown else []
        shown += [f"{ref}{' (keep)' * item.held}: {item.text}" for ref, item in several]
    answer = models.lines(
        "condense",
        check,
        len(items),
        missing,
        today=f"{now:%Y-%m-%d}",
        purpose=purpose,
        limit=f"At most {cap}, headings included.",
        items="\n".join(shown),
    )
    if answer.cut:
        raise Refused("the model's answer was cut off")
    used: set[str] = set()
    lines: list[CondensedLine] = []
    for line in answer.kept:
        if not used.intersection(line.ids):
            used.update(line.ids)
            lines.append(line)
    return lines, answer.by


def checked(text: object, parts: Sequence[Bullet]) -> str:
    """A model's line, if it says what these items say, and nothing else. Raises ValueError."""
    from wakebook.learn.judge.verdict import suspicious

    if not isinstance(text, str) or not text.strip():
        raise ValueError("text is empty")
    line = linked(tokens.printable(text).lstrip("-*#> ").strip())
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
    said, new = words.terms(whole), words.terms(line)
    invented = {term for term in new - said if any(map(str.isdigit, term))}
    if invented:
        raise ValueError(f"text has a number that its items do not have: {min(invented)}")
    if new and len(new & said) < GROUNDED * len(new):
        raise ValueError("text says what its items do not say")
    return line


# --- what is too long ------------------------------------------------------------------------
DAYS = 7  # that a rollup looks back behind the last one
FIRST = datetime(1970, 1, 1, tzinfo=UTC)
LEAST = 3  # a heading and two lines
SPARE = 6  # lines of MEMORY.md: markers, and a little room for the next days
LEFT = 0.75  # of the words that observations may have, after reflecting upon them
SUBJECTS = ("project", "person", "reference", "procedure")
OPENING = 200_000  # bytes: a note that is larger was not written by us alone

PURPOSES = {
    "journal": "This is the journal of one day. It has to say what was learned, decided and left "
    "open on that day, by subject.",
    "rollup": "This is the long-term part of MEMORY.md, which the agent reads in every session, "
    "with what came in this week. Be strict: keep what will still matter in half a year.",
    "condense": "This is the note about one subject. It has to say what holds about it.",
    "reflect": "These are the observations of an agent, by priority. Put together what says the "
    "same, drop what is outdated, and be brief about what is low.",
    "prune": "This is the long-term part of MEMORY.md, which has become too long.",
}


class LongBlock(msgspec.Struct, frozen=True):
    purpose: str
    key: str  # path#block
    items: tuple[Bullet, ...]
    cap: Cap
    ids: frozenset[str] = frozenset()  # of all that the block could tell


def keep(notes: Notes, job: str, now: datetime) -> str:
    """Condense what a job finds too long, and say what was done."""
    with notes.book(now) as book:
        found = [one for find in JOBS[job] for one in find(notes, book)]
    done, saved, refused = 0, 0, []
    for block in found:
        try:
            purpose, models = PURPOSES[block.purpose], notes.opened.models
            condensed = condense(block.items, block.cap, purpose, now, models)
        except (Refused, ModelError) as error:
            refused.append(f"{block.key} stays as it is: {error}")
            notes.home.trace("failure", where=f"condense {block.key}", error=str(error))
            continue
        done += 1
        saved += _write(notes, now, block, condensed)
    lines = f" ({saved} lines saved)" if saved > 0 else ""
    parts = [f"{done} condensed{lines}"] if done else []
    return "; ".join([*parts, *refused]) or "nothing to condense"


def _write(notes: Notes, now: datetime, block: LongBlock, condensed: Condensed) -> int:
    """Put a block down as condensed and write its note, between two commits. Lines saved."""
    home, git, path = notes.home, notes.git(), notes.file(block.key)
    inside = [path] if path.is_relative_to(home.root) and path.exists() else []
    file = home.root / record.NAME
    summary = f"{block.purpose} {block.key.partition('#')[0]}"
    with home.locked(), git.rewrite("maintenance", summary, [*inside, file]) as touched:
        before = record.load(home)
        # what was dropped the time before stays dropped, if the block could tell it
        last, told = before.get(block.key), {one for line in condensed.lines for one in line.ids}
        dropped = dict.fromkeys((*(last.dropped if last else ()), *condensed.dropped))
        kept = tuple(one for one in dropped if one in block.ids and one not in told)
        condensed = msgspec.structs.replace(condensed, dropped=kept)
        record.save(home, {**before, block.key: condensed})
        update(home, notes.config, now, before=notes.backup)
        path = notes.file(block.key)
        touched += [path] if path.is_relative_to(home.root) and path not in inside else []
    return len(note_lines(block.items)) - len(note_lines(applied(block.items, condensed)))


def journals(notes: Notes, book: Book) -> Iterator[LongBlock]:
    """The active journals that are too long, the newest first. One that was condensed may grow
    again, when what it says is corrected."""
    return _long(notes, book, "journal", ("journal",), notes.config.notes.journal_lines)


def long_notes(notes: Notes, book: Book) -> Iterator[LongBlock]:
    """Every other note that is too long."""
    return _long(notes, book, "condense", SUBJECTS, notes.config.notes.note_lines)


def _long(
    notes: Notes, book: Book, purpose: str, kinds: Sequence[str], lines: int
) -> Iterator[LongBlock]:
    for path in sorted(notes_below(notes.home, KNOWLEDGE), reverse=purpose == "journal"):
        name = path.relative_to(notes.home.root / KNOWLEDGE).as_posix()
        page = pages.at(name)
        if page.partition("/")[0] in kinds and _is_long(path, lines):
            found = [one for one in book.blocks(page) if one.path == name]
            yield from _over(notes, purpose, found, Cap(lines=lines))


def observations(notes: Notes, book: Book) -> Iterator[LongBlock]:
    """The observations, if they have more words than they may."""
    most = notes.config.notes.observations_words
    found = [one for one in book.blocks("observations") if Cap(words=most).over(one.items)]
    yield from _over(notes, "reflect", found, Cap(words=int(most * LEFT)))


def _over(notes: Notes, purpose: str, blocks: Sequence[NoteBlock], cap: Cap) -> Iterator[LongBlock]:
    for one in blocks:
        if cap.over(one.items) and not _is_edited(notes.file(one.key), one.name):
            yield LongBlock(purpose, one.key, one.items, cap, one.ids)


def rollup(notes: Notes, book: Book) -> Iterator[LongBlock]:
    """What MEMORY.md keeps, with what came in since the last time."""
    key = block_key(pages.MEMORY, "memory")
    last = book.condensed.get(key)
    since = last.at - timedelta(days=DAYS) if last else FIRST
    found = [item for one in book.blocks("memory") for item in one.items]
    known = {one for item in found for one in item.ids}
    fresh = book.catalogue.recent(since, OBSERVED, telling=True)
    wanted = rollup_items(fresh, book.zone, book.of_user)
    new = [item for item in wanted if not known.issuperset(item.ids)]
    lines = min(notes.config.notes.rollup_lines, _room(notes))
    if new and lines >= LEAST and not _is_edited(notes.memory, "memory"):
        order = list(ROLLUP.values())
        items = sorted([*new, *found], key=lambda item: item.at, reverse=True)
        items.sort(key=lambda item: order.index(item.section))
        yield LongBlock("rollup", key, tuple(items), _with_held(items, lines))


def memory(notes: Notes, book: Book) -> Iterator[LongBlock]:
    """The long-term part of MEMORY.md, if the file has more lines than it may."""
    room = _room(notes)
    for one in book.blocks("memory"):
        if len(one.lines) > room >= LEAST and not _is_edited(notes.memory, "memory"):
            yield LongBlock("prune", one.key, one.items, _with_held(one.items, room))


def _with_held(items: Sequence[Bullet], lines: int) -> Cap:
    """So many lines, or more if what is pinned needs them: MEMORY.md tells what it has room for,
    and how many more there are."""
    return Cap(lines=max(lines, len(note_lines([item for item in items if item.held]))))


def _is_long(path: Path, lines: int) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(OPENING).count(b"\n") > lines
    except OSError:
        return False  # a folder, say: `status` tells


def _is_edited(path: Path, name: str) -> bool:
    """Whether a person has changed a block, or it cannot be told."""
    try:
        there = markdown.block(path.read_bytes().decode("utf-8"), name)
    except FileNotFoundError:
        return False
    except (OSError, UnicodeDecodeError, markdown.BrokenBlock):
        return True
    return there is not None and there.edited


def _room(notes: Notes) -> int:
    """Lines that the long-term part of MEMORY.md may have now: the cap without all others."""
    try:
        text = notes.memory.read_bytes().decode("utf-8")
        there = markdown.block(text, "memory")
    except (OSError, UnicodeDecodeError, markdown.BrokenBlock):
        return 0
    others = text.count("\n") - (len(there.lines) if there else -SPARE)
    return notes.config.notes.memory_cap - others - SPARE


JOBS: dict[str, tuple[Callable[[Notes, Book], Iterator[LongBlock]], ...]] = {
    "daily": (journals, observations),
    "weekly": (rollup,),
    "monthly": (long_notes,),
    "prune": (memory,),
}
