"""Review: what people have changed in generated blocks, and what becomes of it.

A block that differs from what Wakebook wrote is a proposal. It stays in the file as it is until you
accept it, which adds correcting entries to the log, or reject it; then the block is written anew.
Either way the edited file is committed first, or copied to archive/edits/ where git cannot keep it.

A changed line corrects its entry, a ticked task is done, a line that was taken out holds no longer,
and a new line is a new entry. What a line says besides its entry (dates, marks, links) is
recognised and left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from wakebook.base import markdown
from wakebook.base.decode import decode
from wakebook.base.errors import NotFound
from wakebook.base.home import Home
from wakebook.base.text import one_line
from wakebook.capture import secrets
from wakebook.history.history import History
from wakebook.history.past import commits
from wakebook.log import log, subjects
from wakebook.log.chains import Chains, extend
from wakebook.log.entry import RETRACTED, TYPES, Entry, derived_id, fitted, validate
from wakebook.log.subjects import Registry, Subject
from wakebook.notes import page as pages
from wakebook.notes.book import CONTEXT, NOTES, PERSON, PROGRESS, Book
from wakebook.notes.book import key as block_key
from wakebook.notes.check import edited_blocks, note_files
from wakebook.notes.contradictions import CONFLICT, dismiss
from wakebook.notes.page import ARCHIVE, DETAIL, EDITS, NoteLine, harmless, plain, shown, told
from wakebook.notes.why import made_lines

if TYPE_CHECKING:
    from wakebook.notes.notes import Notes

_HEADING = re.compile(r"\[\[(?:projects|people|reference)/([^/|\]]+)")
VERSIONS = 20  # of a file that are looked through for what Wakebook had written
CHANGED, DONE, REMOVED, ADDED = "changed", "done", "removed", "added"
PIN = "📌 "
ALIKE = 0.5  # of the letters: the same line in other words
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])(?:\s+|$)")
_BOX = re.compile(r"^\[([ xX])\](?:\s+|$)")
_LEAD = re.compile(
    r"^(?:📌\s*|[🔴🟡🟢]\s*|(?:\[\[)?\d{4}-\d\d-\d\d(?:\]\])?(?::\s*|\s+)|To do:\s+|Open:\s+"
    r"|\*\*(?:Decided|Open):\*\*\s+|(?:pinned|noted) — )"
)
_TAIL = re.compile(r"\s+\((?:since )?\[\[\d{4}-\d\d-\d\d\]\]\)\s*$")
_SECTIONS = {  # heading -> type or kind of what is added below it
    **dict.fromkeys(("Next", "Pending"), "task"),
    "Open Questions": "question",
    **dict.fromkeys(("Key Decisions", "Recent Decisions", "Decisions"), "decision"),
    **dict.fromkeys(("Lessons", "Lessons Learned"), "lesson"),
    **dict.fromkeys(("Preferences", "Communication"), "preference"),
    **dict.fromkeys(("Procedures", "How Things Are Done"), "procedure"),
    "Events": "event",
}
_OURS = {*_SECTIONS, *CONTEXT.values(), *PROGRESS.values(), *NOTES.values(), *PERSON.values()}


class Change(msgspec.Struct, frozen=True, kw_only=True):
    kind: str  # changed, done, removed or added
    old: str = ""
    new: str = ""
    section: str = ""
    ids: tuple[str, ...] = ()  # of the entries behind the old line
    tells: bool = True  # the old line said what they say, and did not only refer to them


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A block that a person has edited."""

    path: str  # relative to the home, or absolute where it lies elsewhere
    block: str
    line: int  # where the block begins
    changes: tuple[Change, ...]
    headings: tuple[str, ...]  # of one's own, which no entry can say
    key: str  # as the notes call it: path below knowledge/, and block
    sum: str  # of what had been written

    @property
    def about(self) -> tuple[str, str]:
        """The kind of its page, and the subject or day."""
        kind, _, slug = pages.at(self.key.partition("#")[0]).partition("/")
        return kind, slug


def proposals(notes: Notes) -> list[Proposal]:
    """Every block that differs from what was written."""
    edited = [(path, block) for path in note_files(notes) for block in edited_in(path)]
    if not edited:
        return []
    with notes.book(notes.opened.now()) as book:
        return [_proposal(notes, book, path, block) for path, block in edited]


def edited_in(path: Path) -> tuple[markdown.Block, ...]:
    """The edited blocks of a note; a file that has not changed is not read again."""
    try:
        found = os.stat(path)  # noqa: PTH116
        return _blocks(str(path), found.st_mtime_ns, found.st_size, found.st_ino)
    except (OSError, UnicodeDecodeError):
        return ()


@lru_cache(maxsize=20_000)
def _blocks(path: str, *stamp: int) -> tuple[markdown.Block, ...]:
    return tuple(edited_blocks(Path(path).read_bytes().decode("utf-8")))


def _proposal(notes: Notes, book: Book, path: Path, block: markdown.Block) -> Proposal:
    key, fresh = block_key(notes.below(path), block.name), made_lines(notes, book, path, block.name)
    base = _base(notes, book, path, block, key, fresh)
    found = changes(fresh if base is None else base, block.lines)
    if base is None:  # without what had been written: what is not there may never have been
        found = [change for change in found if change.kind != REMOVED]
    return Proposal(
        path=shown(notes.home, path),
        block=block.name,
        key=key,
        sum=block.sum,
        line=block.first,
        changes=tuple(found),
        headings=tuple(headings(fresh, block.lines)),
    )


def _base(
    notes: Notes, book: Book, path: Path, block: markdown.Block, key: str, fresh: list[NoteLine]
) -> list[NoteLine] | None:
    """What Wakebook had written: as it would now, as it noted it down, or as git has it."""
    noted = decode(book.catalogue.block(key) or "[]", list[NoteLine])
    for lines in (fresh, noted):
        if markdown.sum_of([line.text for line in lines]) == block.sum:
            return lines
    by_text = {line.text.rstrip(): line for line in fresh}
    for text in _versions(notes, path):
        with suppress(markdown.BrokenBlock):
            there = markdown.block(text, block.name)
            if there and there.sum == block.sum == markdown.sum_of(there.lines):
                chains = notes.opened.chains()
                return [by_text.get(line.rstrip()) or _guess(line, chains) for line in there.lines]
    return None


def _guess(line: str, chains: Chains) -> NoteLine:
    """A line that is not written any more, with the entries whose words it has."""
    said = words(line).text.lower()
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
                f"No proposal {name!r}. `wakebook review` lists them with their numbers."
            )
        picked += same
    return list({one.key: one for one in picked}.values()) if names else list(found)


def set_aside(home: Home, history: History, found: Sequence[Proposal]) -> None:
    """Edited files, somewhere safe before their blocks are written anew: in git, or as a copy.
    Raises GitError if git refuses: then nothing is written."""
    paths = [home.root / one.path for one in found]
    ours = [path for path in paths if path.is_relative_to(home.root)]
    if history.repository is not None:
        history.backup("what was edited by hand", ours)
    for path in paths if history.repository is None else set(paths) - set(ours):
        digest = derived_id(str(path), "edit", path.read_text(encoding="utf-8", errors="replace"))
        home.replace(home.root / ARCHIVE / EDITS / f"{path.stem}-{digest}.md", path.read_bytes())


SAID = ("type", "subject", "status", "content")


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
            if change.kind == REMOVED and CONFLICT in change.old and len(change.ids) == 2:
                dismiss(notes.home, [(change.ids[0], change.ids[1])], notes.opened.now())
                continue
            # the same edit gives the same entry, however often it is accepted
            seed = f"review/{proposal.key}/{proposal.sum}/{number}/{change.old}/{change.new}"
            identity = derived_id(seed, change.kind, ",".join(change.ids))
            over = _is_over(change, chains)
            entry = known.by_id.get(identity)
            if entry is None and not over:
                subject = _subject(proposal, change, registry)
                fields = draft(change, subject, _behind(change, chains))
                over = fields is not None and _holds(fields, chains)
                fields = None if over else fields
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


def _holds(fields: dict[str, Any], chains: Chains) -> bool:
    """Whether an entry says it already: an acceptance was killed before the block was written anew,
    and what the block said before is not known any more."""
    said = [fields[name] for name in SAID]
    found = ([getattr(one, name) for name in SAID] for one in chains.current())
    return not fields["replaces"] and said in found


def _is_over(change: Change, chains: Chains) -> bool:
    """Whether a change says what another note's change has said already."""
    latest = [chains.by_id[chains.latest(one)] for one in change.ids if one in chains.by_id]
    done = any(entry.status == "done" for entry in latest)
    if change.kind == REMOVED:
        return done or any(entry.extra.get(RETRACTED) for entry in latest)
    return change.kind == DONE and done


def _entry(notes: Notes, identity: str, fields: dict[str, Any]) -> Entry:
    said = {name: secrets.redact(fields[name])[0] for name in ("content", "detail")}
    at = notes.opened.now().astimezone(UTC)
    return validate(fitted(Entry(id=identity, timestamp=at, session="manual", **(fields | said))))


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
    kind, slug = proposal.about
    if kind == "journal":
        linked = _HEADING.match(change.section)
        kind, slug = ("project", linked[1]) if linked else ("", "")
    known = kind in ("project", "person", "reference", "procedure") and slug in registry.subjects
    return registry.for_entry(slug) if known else ""


def _with_person(proposal: Proposal, registry: Registry) -> Registry:
    """A person who was only mentioned becomes a subject when you write about them."""
    kind, slug = proposal.about
    added = any(change.kind == ADDED for change in proposal.changes)
    if kind != "person" or not added or slug in registry.subjects:
        return registry
    return registry.with_(Subject(slug, subjects.title(slug), "person"))


# --- what has become of a block ------------------------------------------------------------------
class Words(NamedTuple):
    """What a line says, without what the note says about it."""

    text: str
    box: str = ""  # " " or "x" where it is a task


def words(line: str) -> Words:
    text = _BULLET.sub("", line.strip(), count=1)
    box = _BOX.match(text)
    text = _BOX.sub("", text, count=1)
    while (lead := _LEAD.match(text)) and len(lead[0]) < len(text):
        text = text[lead.end() :]
    text = _TAIL.sub("", text)
    return Words(text.strip(), box[1].lower() if box else "")


def headings(before: Sequence[NoteLine], after: Sequence[str]) -> list[str]:
    """Headings of people's own: no entry can say them, but people should know."""
    ours = {line.text.strip() for line in before} | {f"## {name}" for name in _OURS}
    return [line.strip() for line in after if line.startswith("#") and line.strip() not in ours]


def changes(before: Sequence[NoteLine], after: Sequence[str]) -> list[Change]:
    """What has become of a block. Headings and empty lines do not count, and neither does order."""
    left = [line for line in before if _counts(line.text)]
    said = {line.text.rstrip() for line in left}
    new: list[tuple[str, str]] = []  # text and section
    section = ""
    for text in after:
        section = text.lstrip("#").strip() if text.startswith("#") else section
        same = next((line for line in left if line.text.rstrip() == text.rstrip()), None)
        if same is not None:
            left.remove(same)  # still there, wherever it stands now
        elif _counts(text) and text.rstrip() not in said:  # or a copy of a line
            new.append((text, section))
    old = [line for line in left if line.ids]  # the others say that there is nothing to say
    texts = [line.text.rstrip() for line in old], [text.rstrip() for text, _ in new]
    found: list[Change] = []
    for what, i1, i2, j1, j2 in SequenceMatcher(None, *texts, False).get_opcodes():
        if what != "equal":
            found += _hunk(old[i1:i2], new[j1:j2])
    return found


def _counts(text: str) -> bool:
    """Whether a line says something: no heading, and no bullet without words."""
    bare = text.strip()
    return bool(words(bare).text.strip("-*+ ")) and not bare.startswith(("#", "- … and", "<!--"))


def _hunk(old: Sequence[NoteLine], new: Sequence[tuple[str, str]]) -> Iterator[Change]:
    """Lines that stand for each other, the most alike first; and those that stand alone."""
    pairs = [
        (SequenceMatcher(None, words(line.text).text, words(text).text, False).ratio(), -i, -j)
        for i, line in enumerate(old)
        for j, (text, _) in enumerate(new)
    ]
    least = 0.0 if len(old) == len(new) == 1 else ALIKE
    taken: dict[int, int] = {}  # new -> old
    for alike, i, j in sorted(pairs, reverse=True):
        if alike >= least and -i not in taken.values() and -j not in taken:
            taken[-j] = -i
    for j, (text, section) in enumerate(new):
        if j not in taken:
            yield Change(kind=ADDED, new=text, section=section)
            continue
        line = old[taken[j]]
        was, is_ = words(line.text), words(text)
        ticked = was.box == " " and is_.box == "x" and was.text == is_.text
        yield Change(
            kind=DONE if ticked else CHANGED,
            old=line.text,
            new=text,
            section=section,
            ids=line.ids,
            tells=line.tells,
        )
    for i, line in enumerate(old):
        if i not in taken.values():
            yield Change(kind=REMOVED, old=line.text, ids=line.ids, tells=line.tells)


# --- edits as entries ------------------------------------------------------------------
def draft(change: Change, subject: str, behind: Sequence[Entry]) -> dict[str, Any] | None:
    """The fields of the entry that says what a change says. None where there is nothing to say.
    `behind`: the entries of the old line that still hold."""
    if change.kind == ADDED:
        return _added(change, subject)
    if not behind or not change.tells:
        return None
    first = behind[0]
    same = "type kind subject status pinned content detail".split()
    fields: dict[str, Any] = {name: getattr(first, name) for name in same}
    fields["replaces"] = tuple(entry.id for entry in behind)
    if change.kind == DONE:
        return fields | {"status": "done", "pinned": False} if first.type == "task" else None
    if change.kind == REMOVED and first.type == "task":
        return fields | {"status": "done", "detail": "taken off the list", "pinned": False}
    if change.kind == REMOVED:
        gone = {"type": "fact", "kind": None, "status": None, "pinned": False, "detail": ""}
        said = f"No longer holds: {first.content}"
        return fields | gone | {"content": said, "extra": {RETRACTED: True}}
    new = fields | _said(change, first)
    return None if new == fields else new  # only something around it: a mark, a date


def _added(change: Change, subject: str) -> dict[str, Any] | None:
    text, box = words(change.new)
    if not text:
        return None
    role = "task" if box else _SECTIONS.get(change.section, "fact")
    type_ = role if role in TYPES else "fact"
    return {
        "type": type_,
        "kind": role if role != type_ else None,
        "subject": subject,
        "status": ("done" if box == "x" else "open") if type_ == "task" else None,
        "content": text,
        "detail": "",
        "pinned": False,
        "replaces": (),
    }


def _said(change: Change, first: Entry) -> dict[str, Any]:
    """The new words of a changed line."""
    found: dict[str, Any] = dict(zip(("content", "detail"), _own(change, first), strict=True))
    if first.type == "task":
        found["status"] = "done" if words(change.new).box == "x" else "open"
        if first.status == "done" and found["status"] == "open":
            found["detail"] = ""  # which said how it was done
    if PIN in change.old or PIN in change.new:
        found["pinned"] = PIN in change.new
    return found


def _own(change: Change, first: Entry) -> tuple[str, str]:
    """Content and detail: the new line without what stood around the entry in the old one."""
    old, new = (
        _BOX.sub("", _BULLET.sub("", text.strip(), count=1), count=1).replace(PIN, "", 1)
        for text in (change.old, change.new)
    )
    short = one_line(first.content, 180)
    for said in (told(first), plain(first.content), one_line(told(first), 180), short):
        said = harmless(said)
        at = old.find(said)
        if at < 0:
            continue
        before, after = old[:at], old[at + len(said) :]
        if new.startswith(before) and new.endswith(after):
            core = new[len(before) : len(new) - len(after)]
            return _parted(_uncut(core, said, first), first)
    return _parted(words(change.new).text, first)


def _uncut(text: str, said: str, first: Entry) -> str:
    """With the end of a long text, where the note had left it out and the edit kept that."""
    if not (said.endswith("…") and text.endswith("…")):
        return text
    content, detail = (harmless(" ".join(one.split())) for one in (first.content, first.detail))
    for whole in (content, f"{content.rstrip('.')} — {detail}"):
        if whole.startswith(said[:-1]):
            return text[:-1] + whole[len(said) - 1 :]
    return text


def _parted(text: str, first: Entry) -> tuple[str, str]:
    """Content and detail of a text that had both."""
    detail = plain(first.detail, DETAIL)
    if not detail:
        return text, ""
    if text.endswith(f" — {detail}"):
        return text.removesuffix(f" — {detail}"), first.detail
    dashes = plain(first.content).count(" — ")
    parts = text.split(" — ")
    return " — ".join(parts[: dashes + 1]), " — ".join(parts[dashes + 1 :])
