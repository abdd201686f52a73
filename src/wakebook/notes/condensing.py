"""Condensing: journals by the day, MEMORY.md by the week, notes by the month, and observations
when they have become too many.

What is to be condensed is read under the lock; the model is asked without it; what it said is
written under the lock again, between two commits, so that `wakebook history undo` can take it back.
A block that a person has edited is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from wakebook.base import markdown
from wakebook.base.errors import ModelError
from wakebook.models.chat import Models
from wakebook.notes import condense as derive
from wakebook.notes import condensed
from wakebook.notes import page as pages
from wakebook.notes import pages as overview
from wakebook.notes import write as notes
from wakebook.notes.book import Block, Book
from wakebook.notes.book import key as block_key
from wakebook.notes.condense import Cap, Refused
from wakebook.notes.condensed import Rewrite
from wakebook.notes.desk import Desk
from wakebook.notes.item import Item, block

DAYS = 7  # that a rollup looks back behind the last one
FIRST = datetime(1970, 1, 1, tzinfo=UTC)
LEAST = 3  # a heading and two lines
SPARE = 6  # lines of MEMORY.md: markers, and a little room for the next days
LEFT = 0.75  # of the words that observations may have, after reflecting upon them
OPENING = 200_000  # bytes: a note that is larger was not written by us alone

PURPOSES = {
    "journal": "This is the journal of one day. It has to say what was learned, decided and left "
    "open on that day, by subject.",
    "rollup": "This is the long-term part of MEMORY.md, which the agent reads in every session, "
    "with what came in this week. Be strict: keep what will still matter in half a year.",
    "distil": "This is the note about one subject. It has to say what holds about it.",
    "reflect": "These are the observations of an agent, by priority. Put together what says the "
    "same, drop what is outdated, and be brief about what is low.",
    "prune": "This is the long-term part of MEMORY.md, which has become too long.",
}


class Target(msgspec.Struct, frozen=True):
    """A block that is to be condensed."""

    name: str  # of the purpose
    key: str  # path#block
    items: tuple[Item, ...]
    cap: Cap
    ids: frozenset[str] = frozenset()  # of all that the block could tell


class Condensing(msgspec.Struct, frozen=True, kw_only=True):
    """What a run did."""

    done: dict[str, str] = {}  # block -> by what
    refused: dict[str, str] = {}  # block -> why its old text stays
    lines: int = 0  # that were saved


Find = Callable[[Desk, Book], Iterator[Target]]


def run(desk: Desk, models: Models, *finds: Find) -> Condensing:
    """Condense what these find."""
    with desk.book() as book:
        targets = [target for find in finds for target in find(desk, book)]
    result = Condensing()
    for target in targets:
        try:
            rewrite = derive.condense(
                target.items, target.cap, PURPOSES[target.name], desk.now, models
            )
        except (Refused, ModelError) as error:
            result = _plus(result, refused={target.key: str(error)})
            desk.home.trace("failure", where=f"condense {target.key}", error=str(error))
            continue
        saved = _keep(desk, target, rewrite)
        result = _plus(result, done={target.key: rewrite.by}, lines=saved)
    return result


def _plus(
    result: Condensing,
    done: dict[str, str] | None = None,
    refused: dict[str, str] | None = None,
    lines: int = 0,
) -> Condensing:
    return Condensing(
        done=result.done | (done or {}),
        refused=result.refused | (refused or {}),
        lines=result.lines + lines,
    )


def _keep(desk: Desk, target: Target, rewrite: Rewrite) -> int:
    """Write a rewrite down and the note anew, between two commits. Lines that were saved."""
    home = desk.home
    path = desk.path(target.key)
    inside = [path] if path.is_relative_to(home.root) and path.exists() else []
    record = home.root / condensed.NAME
    summary = f"{target.name} {target.key.partition('#')[0]}"
    with home.locked(), desk.history.rewrite("maintenance", summary, [*inside, record]) as touched:
        kept = condensed.load(home)
        rewrite = _after(kept.blocks.get(target.key), rewrite, target.ids)
        condensed.save(home, kept.with_(target.key, rewrite))
        notes.update(home, desk.config, desk.now, before=desk.before)
        path = desk.path(target.key)
        touched += [path] if path.is_relative_to(home.root) and path not in inside else []
    after = condensed.apply(target.items, rewrite)
    return len(block(target.items)) - len(block(after))


def _after(last: Rewrite | None, rewrite: Rewrite, ids: frozenset[str]) -> Rewrite:
    """A rewrite of what an earlier one had left: what that one dropped stays dropped.

    What the block would not tell any more (`ids`) need not be remembered.
    """
    told = {one for line in rewrite.lines for one in line.ids}
    dropped = dict.fromkeys((*(last.dropped if last else ()), *rewrite.dropped))
    kept = tuple(one for one in dropped if one in ids and one not in told)
    return msgspec.structs.replace(rewrite, dropped=kept)


# --- what there is to condense --------------------------------------------------------------


def journals(desk: Desk, book: Book) -> Iterator[Target]:
    """The active journals that are too long. One that was condensed may grow again, when what
    it says is corrected."""
    cap = Cap(lines=desk.config.notes.journal_lines)
    folder = desk.home.root / notes.KNOWLEDGE / "journal"
    for path in sorted(folder.glob("*.md"), reverse=True):
        page = pages.at(f"journal/{path.name}")
        if page and _is_long(path, cap.lines):
            yield from _too_long(desk, "journal", book.blocks(page), cap)


def observations(desk: Desk, book: Book) -> Iterator[Target]:
    """The observations, if they have more words than they may."""
    most = desk.config.notes.observations_words
    for found in book.blocks("observations"):
        if Cap(words=most).over(found.items) and not _edited(desk, found):
            cap = Cap(words=int(most * LEFT))
            yield Target("reflect", found.key, found.items, cap, found.ids)


def rollup(desk: Desk, book: Book) -> Iterator[Target]:
    """What MEMORY.md keeps, with what came in since the last time."""
    key = block_key(pages.MEMORY, "memory")
    rewrite = book.rewrites.blocks.get(key)
    since = rewrite.at - timedelta(days=DAYS) if rewrite else FIRST
    found = [item for one in book.blocks("memory") for item in one.items]
    known = {one for item in found for one in item.ids}
    fresh = book.catalogue.recent(since, overview.OBSERVED, telling=True)
    new = [
        item for item in overview.rollup(fresh, desk.now.tzinfo) if not known.issuperset(item.ids)
    ]
    lines = min(desk.config.notes.rollup_lines, _room(desk))
    if new and lines >= LEAST and not _memory_edited(desk):
        order = list(overview.ROLLUP.values())
        items = sorted([*new, *found], key=lambda item: item.at, reverse=True)
        items.sort(key=lambda item: order.index(item.section))
        yield Target("rollup", key, tuple(items), Cap(lines=lines))


def long_notes(desk: Desk, book: Book) -> Iterator[Target]:
    """Every other note that is too long."""
    cap = Cap(lines=desk.config.notes.note_lines)
    folder = desk.home.root / notes.KNOWLEDGE
    for path in notes.files(desk.home, notes.KNOWLEDGE):
        page = pages.at(path.relative_to(folder).as_posix())
        kind = page.partition("/")[0]
        if kind in ("project", "person", "reference", "procedure") and _is_long(path, cap.lines):
            name = path.relative_to(folder).as_posix()
            found = [one for one in book.blocks(page) if one.path == name]
            yield from _too_long(desk, "distil", found, cap)


def memory(desk: Desk, book: Book) -> Iterator[Target]:
    """The long-term part of MEMORY.md, if the file has more lines than it may."""
    for found in book.blocks("memory"):
        room = _room(desk)
        if len(found.lines) > room >= LEAST and not _memory_edited(desk):
            yield Target("prune", found.key, found.items, Cap(lines=room))


def _too_long(desk: Desk, name: str, blocks: Sequence[Block], cap: Cap) -> Iterator[Target]:
    for found in blocks:
        if cap.over(found.items) and not _edited(desk, found):
            yield Target(name, found.key, found.items, cap, found.ids)


def _is_long(path: Path, lines: int) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(OPENING).count(b"\n") > lines
    except OSError:
        return False  # a folder, say: `status` tells


def _edited(desk: Desk, found: Block) -> bool:
    return _is_edited(desk.path(found.key), found.name)


def _memory_edited(desk: Desk) -> bool:
    return _is_edited(desk.memory, "memory")


def _is_edited(path: Path, name: str) -> bool:
    """Whether a person has changed a block, or it cannot be told."""
    try:
        there = markdown.block(path.read_bytes().decode("utf-8"), name)
    except FileNotFoundError:
        return False
    except (OSError, UnicodeDecodeError, markdown.BrokenBlock):
        return True
    return there is not None and there.edited


def _room(desk: Desk) -> int:
    """Lines that the long-term part of MEMORY.md may have now: the cap without all others."""
    try:
        text = desk.memory.read_bytes().decode("utf-8")
        there = markdown.block(text, "memory")
    except (OSError, UnicodeDecodeError, markdown.BrokenBlock):
        return 0
    others = text.count("\n") - (len(there.lines) if there else -SPARE)
    return desk.config.notes.memory_cap - others - SPARE
