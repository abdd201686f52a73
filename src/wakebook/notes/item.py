"""Item: one thing that a note says, with the entries that it stands for.

A block is a list of items under headings. Words that are not Wakebook's are made harmless first: a
line break, a marker, a link or a heading in them must not become one of the note.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any

import msgspec

from wakebook.capture.transcript import one_line
from wakebook.log.entry import RETRACTED, Entry

CONTENT, DETAIL = 600, 400  # characters, at most
_HARMLESS = str.maketrans({"\u2028": " ", "\u2029": " ", "\x85": " ", "\x0b": " ", "\x0c": " "})


class NoteLine(msgspec.Struct, frozen=True):
    """A line of a block, and the entries behind it."""

    text: str
    ids: tuple[str, ...] = ()
    rewritten: bool = False  # the words are not those of an entry
    tells: bool = False  # it says what its entries say: to change it is to correct them


class Item(msgspec.Struct, frozen=True, kw_only=True):
    section: str
    text: str
    ids: tuple[str, ...]
    at: datetime
    held: bool = False  # pinned or open: it must not get lost
    weight: int = 1  # the lightest items go first when there are too many
    rewritten: bool = False  # the text is not its entry's own
    tells: bool = True  # it says what its entries say, and does not only refer to them

    @property
    def words(self) -> int:
        return len(self.text.split())


def item_of(entry: Entry, section: str, text: str, **other: Any) -> Item:
    """An entry as an item; `other`: fields that are not as the entry has them."""
    own: dict[str, Any] = {"ids": (entry.id,), "held": held(entry), "weight": weight(entry)}
    return Item(section=section, text=text, at=entry.timestamp, **(own | other))


def ids_of(items: Iterable[Item | NoteLine]) -> tuple[str, ...]:
    """The entries behind these, each once."""
    return tuple(dict.fromkeys(one for item in items for one in item.ids))


def plain(text: str, limit: int = CONTENT) -> str:
    """Words on one line that is nothing but words."""
    return harmless(one_line(text.translate(_HARMLESS), limit))


def harmless(line: str) -> str:
    """Without what would be a marker, a link, a picture or a tag of HTML."""
    line = line.replace("[[", "[ [").replace("]]", "] ]").replace("](", "] (")
    return re.sub(r"<(?=[A-Za-z/!?])", "< ", line)


def linked(text: str) -> str:
    """A model's words on one line: links to days stay, anything else that is not a word goes."""
    line = plain(text)
    return re.sub(r"\[ \[(\d{4}-\d\d-\d\d)\] \]", r"[[\1]]", line)


def told(entry: Entry) -> str:
    """Content and detail of an entry."""
    content = plain(entry.content)
    return f"{content.rstrip('.')} — {plain(entry.detail, DETAIL)}" if entry.detail else content


def local(moment: datetime, zone: tzinfo | None) -> datetime:
    try:
        return moment.astimezone(zone)
    except OverflowError:  # the first and the last day that there are
        return moment.astimezone(UTC)


def day(moment: datetime, zone: tzinfo | None) -> str:
    return local(moment, zone).date().isoformat()


def held(entry: Entry) -> bool:
    """Of an entry that holds: whether it has to stay in view."""
    open_ = entry.type == "question" or (entry.type == "task" and entry.status == "open")
    return entry.pinned or open_


def weight(entry: Entry) -> int:
    """How much would be missing without it: a decision, then a lesson and the like, then facts."""
    if entry.type == "decision":
        return 3
    if entry.type == "fact" and entry.kind is not None:
        return 2
    return 0 if entry.type == "handoff" or entry.status == "done" else 1


def visible(entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if not entry.extra.get(RETRACTED)]


def note_lines(items: Sequence[Item], most: Mapping[str, int] | None = None) -> list[NoteLine]:
    """The items under their headings, in the order in which the headings first come.

    `most`: how many items of a section are shown; the others are counted, but for those that must
    not get lost.
    """
    sections: dict[str, list[Item]] = {}
    for item in items:
        sections.setdefault(item.section, []).append(item)
    lines: list[NoteLine] = []
    for name, found in sections.items():
        lines += [NoteLine("")] if lines else []
        lines.append(NoteLine(f"## {name}", ids_of(found)))
        limit = (most or {}).get(name, len(found))
        rest = [item for item in found[limit:] if not item.held]
        lines += [
            NoteLine(f"- {item.text}", item.ids, item.rewritten, item.tells)
            for number, item in enumerate(found)
            if number < limit or item.held
        ]
        lines += [NoteLine(f"- … and {len(rest)} older", ids_of(rest))] if rest else []
    return lines


def lines_json(lines: Iterable[NoteLine]) -> str:
    """The lines of a block, to be found again when a person has edited it."""
    return msgspec.json.encode(list(lines)).decode()
