"""Review: what people have changed in generated blocks, and what becomes of it.

A block that differs from what Wakebook wrote is a proposal. It stays in the file as it is until
you accept it, which adds correcting entries to the log, or reject it; then the block is written
anew. Either way the edited file is committed first, or copied to archive/edits/ where git cannot
keep it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wakebook.base import markdown
from wakebook.base.errors import NotFound
from wakebook.base.home import Home
from wakebook.capture import clean
from wakebook.history.history import History
from wakebook.history.past import commits
from wakebook.log import log, subjects
from wakebook.log.chains import Chains, extend
from wakebook.log.entry import RETRACTED, Entry, derived_id, validate
from wakebook.log.subjects import Registry, Subject
from wakebook.notes import edit
from wakebook.notes import page as pages
from wakebook.notes.book import Book
from wakebook.notes.book import key as block_key
from wakebook.notes.check import edited_blocks, note_files
from wakebook.notes.edit import Change
from wakebook.notes.item import NoteLine
from wakebook.notes.page import ARCHIVE, EDITS, shown
from wakebook.notes.why import made_lines

if TYPE_CHECKING:
    from wakebook.notes.notes import Notes

_HEADING = re.compile(r"\[\[(?:projects|people|reference)/([^/|\]]+)")
VERSIONS = 20  # of a file that are looked through for what Wakebook had written


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A block that a person has edited."""

    path: str  # relative to the home, or absolute where it lies elsewhere
    block: str
    line: int  # where the block begins
    changes: tuple[Change, ...]
    headings: tuple[str, ...]  # of one's own, which no entry can say
    key: str  # as the notes call it: path below knowledge/, and block
    sum: str  # of what had been written


def proposals(notes: Notes) -> list[Proposal]:
    """Every block that differs from what was written."""
    edited: list[tuple[Path, markdown.Block]] = []
    for path in note_files(notes):
        try:
            text = path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        edited += [(path, block) for block in edited_blocks(text)]
    if not edited:
        return []
    with notes.book(notes.opened.now()) as book:
        return [_proposal(notes, book, path, block) for path, block in edited]


def _proposal(notes: Notes, book: Book, path: Path, block: markdown.Block) -> Proposal:
    key, fresh = block_key(notes.below(path), block.name), made_lines(notes, book, path, block.name)
    base = _base(notes, book, path, block, key, fresh)
    changes = edit.changes(fresh if base is None else base, block.lines)
    if base is None:  # without what had been written: what is not there may never have been
        changes = [change for change in changes if change.kind != edit.REMOVED]
    return Proposal(
        path=shown(notes.home, path),
        block=block.name,
        key=key,
        sum=block.sum,
        line=block.first,
        changes=tuple(changes),
        headings=tuple(edit.headings(fresh, block.lines)),
    )


def _base(
    notes: Notes,
    book: Book,
    path: Path,
    block: markdown.Block,
    key: str,
    fresh: list[NoteLine],
) -> list[NoteLine] | None:
    """What Wakebook had written: as it would now, as it noted it down, or as git has it."""
    noted = msgspec.json.decode(book.catalogue.block(key) or "[]", type=list[NoteLine])
    for lines in (fresh, noted):
        if markdown.sum_of([line.text for line in lines]) == block.sum:
            return lines
    by_text = {line.text.rstrip(): line for line in fresh}
    for text in _versions(notes, path):
        try:
            there = markdown.block(text, block.name)
        except markdown.BrokenBlock:
            continue
        if there and there.sum == block.sum == markdown.sum_of(there.lines):
            chains = notes.opened.chains()
            return [by_text.get(line.rstrip()) or _guess(line, chains) for line in there.lines]
    return None


def _guess(line: str, chains: Chains) -> NoteLine:
    """A line that is not written any more, with the entries whose words it has."""
    said = edit.words(line).text.lower()
    ids = [one.id for one in chains.current() if said and one.content.lower().strip(".") in said]
    return NoteLine(line, tuple(ids[-1:]), tells=True)


def _versions(notes: Notes, path: Path) -> Iterator[str]:
    repository = notes.git().repository
    if repository is None or not path.is_relative_to(notes.home.root):
        return
    name = notes.home.relative(path)
    for commit in commits(repository, f"-{VERSIONS}", below=[name]):
        data = repository.show(commit.id, name)
        if data is not None:
            yield data.decode("utf-8", "replace")


# --- deciding ------------------------------------------------------------------------------


def chosen(found: Sequence[Proposal], names: Sequence[str]) -> list[Proposal]:
    """Proposals by number or path; without names, all."""
    picked: list[Proposal] = []
    for name in names:
        if name.isdigit() and 1 <= int(name) <= len(found):
            picked.append(found[int(name) - 1])
            continue
        same = [one for one in found if one.path == name or one.path.endswith(f"/{name}")]
        if not same:
            raise NotFound(
                f"No proposal {name!r}. `wakebook notes review` lists them with their numbers."
            )
        picked += same
    return list({one.key: one for one in picked}.values()) if names else list(found)


def set_aside(home: Home, history: History, found: Sequence[Proposal]) -> None:
    """Edited files, somewhere safe before their blocks are written anew: in git, or as a copy.

    Raises GitError if git refuses: then nothing is written.
    """
    paths = [home.root / one.path for one in found]
    ours = [path for path in paths if path.is_relative_to(home.root)]
    if history.repository is not None:
        history.backup("what was edited by hand", ours)
    for path in paths if history.repository is None else set(paths) - set(ours):
        digest = derived_id(str(path), "edit", path.read_text(encoding="utf-8", errors="replace"))
        home.replace(home.root / ARCHIVE / EDITS / f"{path.stem}-{digest}.md", path.read_bytes())


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    proposals: tuple[Proposal, ...]
    entries: tuple[Entry, ...]  # that are in the log now
    left: tuple[Change, ...]  # that no entry can say: a list, a link, something that is over


def accept(notes: Notes, accepted: Sequence[Proposal]) -> Accepted:
    """Put what people have changed into the log, once. Under the writer lock."""
    before = registry = subjects.load(notes.home)
    known = notes.opened.chains()
    entries: dict[str, Entry] = {}
    left: list[Change] = []
    chains = known.copy()  # which grows: one thing may be edited in two notes
    for proposal in accepted:
        registry = _with_person(proposal, registry)
        for number, change in enumerate(proposal.changes):
            # the same edit gives the same entry, however often it is accepted
            seed = f"review/{proposal.key}/{proposal.sum}/{number}/{change.old}/{change.new}"
            identity = derived_id(seed, change.kind, ",".join(change.ids))
            over = _is_over(change, chains)
            entry = known.by_id.get(identity)
            if entry is None and not over:
                subject = _subject(proposal, change, registry)
                fields = edit.draft(change, subject, _behind(change, chains))
                entry = _entry(notes, identity, fields) if fields else None
            if entry is None:
                left += [] if over else [change]
            elif identity not in entries:
                entries[identity] = entry
                chains = extend(chains, [] if identity in known.by_id else [entry])
    if registry != before:
        subjects.save(notes.home, registry)
    log.append(notes.home, [one for one in entries.values() if one.id not in known.by_id])
    return Accepted(proposals=tuple(accepted), entries=tuple(entries.values()), left=tuple(left))


def _is_over(change: Change, chains: Chains) -> bool:
    """Whether a change says what another note's change has said already."""
    latest = [chains.by_id[chains.latest(one)] for one in change.ids if one in chains.by_id]
    done = any(entry.status == "done" for entry in latest)
    if change.kind == edit.REMOVED:
        return done or any(entry.extra.get(RETRACTED) for entry in latest)
    return change.kind == edit.DONE and done


def _entry(notes: Notes, identity: str, fields: dict[str, object]) -> Entry:
    retracted = fields.pop("retracted", False)
    content, detail = str(fields.pop("content")), str(fields.pop("detail"))
    return validate(
        Entry(
            id=identity,
            timestamp=notes.opened.now().astimezone(UTC),
            session="manual",
            content=clean.redact(content)[0],
            detail=clean.redact(detail)[0],
            extra={RETRACTED: True} if retracted else {},
            **fields,  # type: ignore[arg-type]
        )
    )


def _behind(change: Change, chains: Chains) -> list[Entry]:
    """The entries that a line told, as they hold today. One that was taken back is what it was."""
    found: dict[str, Entry] = {}
    for one in change.ids:
        latest = chains.by_id.get(chains.latest(one))
        if latest is None or latest.type == "handoff":
            continue
        if latest.extra.get(RETRACTED):
            latest = chains.by_id[one].with_(id=latest.id)
        found.setdefault(latest.id, latest)
    return list(found.values())


def _subject(proposal: Proposal, change: Change, registry: Registry) -> str:
    """What a line that is added to this note is about: its page, or the heading above it."""
    kind, _, slug = pages.at(proposal.key.partition("#")[0]).partition("/")
    if kind == "journal":
        linked = _HEADING.match(change.section)
        kind, slug = ("project", linked[1]) if linked else ("", "")
    known = kind in ("project", "person", "reference", "procedure") and slug in registry.subjects
    return registry.for_entry(slug) if known else ""


def _with_person(proposal: Proposal, registry: Registry) -> Registry:
    """Somebody who was only mentioned becomes a subject when people write about them."""
    kind, _, slug = pages.at(proposal.key.partition("#")[0]).partition("/")
    added = any(change.kind == edit.ADDED for change in proposal.changes)
    if kind != "person" or not added or slug in registry.subjects:
        return registry
    return registry.with_(Subject(slug, subjects.title(slug), "person"))
