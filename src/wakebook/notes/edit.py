"""Edit: what a person has changed in a generated block, as entries that would say so.

A changed line corrects its entry, a ticked task is done, a line that was taken out holds no longer,
and a new line is a new entry. What a line says besides its entry (dates, marks, links) is
recognised and left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import msgspec

from wakebook.capture.transcript import one_line
from wakebook.log.entry import Entry
from wakebook.notes.book import CONTEXT, NOTES, PERSON, PROGRESS
from wakebook.notes.item import DETAIL, NoteLine, harmless, plain, told

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
_SECTIONS = {  # heading -> type and kind of what is added below it
    "Next": ("task", None),
    "Pending": ("task", None),
    "Open Questions": ("question", None),
    "Key Decisions": ("decision", None),
    "Recent Decisions": ("decision", None),
    "Decisions": ("decision", None),
    "Lessons": ("fact", "lesson"),
    "Lessons Learned": ("fact", "lesson"),
    "Preferences": ("fact", "preference"),
    "Communication": ("fact", "preference"),
    "Procedures": ("fact", "procedure"),
    "How Things Are Done": ("fact", "procedure"),
    "Events": ("fact", "event"),
}
_OURS = {*_SECTIONS, *CONTEXT.values(), *PROGRESS.values(), *NOTES.values(), *PERSON.values()}


class Change(msgspec.Struct, frozen=True, kw_only=True):
    kind: str  # changed, done, removed or added
    old: str = ""
    new: str = ""
    section: str = ""
    ids: tuple[str, ...] = ()  # of the entries behind the old line
    tells: bool = True  # the old line said what they say, and did not only refer to them


class Words(NamedTuple):
    """What a line says, without what the note says about it."""

    text: str
    box: str = ""  # " " or "x" where it is a task


class _New(NamedTuple):
    text: str
    section: str


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
    new: list[_New] = []
    section = ""
    for text in after:
        section = text.lstrip("#").strip() if text.startswith("#") else section
        same = next((line for line in left if line.text.rstrip() == text.rstrip()), None)
        if same is not None:
            left.remove(same)  # still there, wherever it stands now
        elif _counts(text) and text.rstrip() not in said:  # or a copy of a line
            new.append(_New(text, section))
    old = [line for line in left if line.ids]  # the others say that there is nothing to say
    texts = [line.text.rstrip() for line in old], [one.text.rstrip() for one in new]
    found: list[Change] = []
    for what, i1, i2, j1, j2 in SequenceMatcher(None, *texts, False).get_opcodes():
        if what != "equal":
            found += _hunk(old[i1:i2], new[j1:j2])
    return found


def _counts(text: str) -> bool:
    """Whether a line says something: no heading, and no bullet without words."""
    bare = text.strip()
    return bool(words(bare).text.strip("-*+ ")) and not bare.startswith(("#", "- … and", "<!--"))


def _hunk(old: Sequence[NoteLine], new: Sequence[_New]) -> Iterator[Change]:
    """Lines that stand for each other, the most alike first; and those that stand alone."""
    pairs = [
        (SequenceMatcher(None, words(line.text).text, words(one.text).text, False).ratio(), -i, -j)
        for i, line in enumerate(old)
        for j, one in enumerate(new)
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


# --- as entries ------------------------------------------------------------------------


def draft(change: Change, subject: str, behind: Sequence[Entry]) -> dict[str, object] | None:
    """The fields of the entry that says what a change says. None where there is nothing to say.

    `behind`: the entries of the old line that still hold.
    """
    if change.kind == ADDED:
        return _added(change, subject)
    if not behind or not change.tells:
        return None
    first = behind[0]
    fields: dict[str, object] = {
        "type": first.type,
        "kind": first.kind,
        "subject": first.subject,
        "status": first.status,
        "pinned": first.pinned,
        "content": first.content,
        "detail": first.detail,
        "replaces": tuple(entry.id for entry in behind),
    }
    if change.kind == DONE:
        return fields | {"status": "done", "pinned": False} if first.type == "task" else None
    if change.kind == REMOVED and first.type == "task":
        return fields | {"status": "done", "detail": "taken off the list", "pinned": False}
    if change.kind == REMOVED:
        gone = {"type": "fact", "kind": None, "status": None, "pinned": False, "detail": ""}
        return fields | gone | {"content": f"No longer holds: {first.content}", "retracted": True}
    said = _said(change, first)
    same = all(fields[name] == value for name, value in said.items())
    return None if same else fields | said  # only something around it: a mark, a date


def _added(change: Change, subject: str) -> dict[str, object] | None:
    text, box = words(change.new)
    if not text:
        return None
    type_, kind = ("task", None) if box else _SECTIONS.get(change.section, ("fact", None))
    return {
        "type": type_,
        "kind": kind,
        "subject": subject,
        "status": ("done" if box == "x" else "open") if type_ == "task" else None,
        "content": text,
        "detail": "",
        "pinned": False,
        "replaces": (),
    }


def _said(change: Change, first: Entry) -> dict[str, object]:
    """The new words of a changed line."""
    found: dict[str, object] = dict(zip(("content", "detail"), _own(change, first), strict=True))
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
    """With the end of a long text, where the note had left it out and nobody changed that."""
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
