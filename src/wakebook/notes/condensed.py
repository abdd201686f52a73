"""Condensed: how each block was last condensed (condensed.json).

It is kept not as a text but as lines with the entries that each stands for, and which entries are
left out. It is applied whenever the block is written: a line holds while all of its entries do, and
where one does not, the others are told one by one again. What came later is told as usual. What is
pinned or open is never left out.

Here is also how a rewrite is taken back: its record, and in the notes the blocks that it changed.
Whatever stands outside of blocks is the author's own, and stays.
"""

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from wakebook.base import markdown
from wakebook.base.decode import decode
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.history.past import CLASH, Put, Versions
from wakebook.notes.page import Bullet, ids_of

NAME = "condensed.json"
FRONT = ("updated", "line_count", "sessions")  # keys of frontmatter that Wakebook keeps current


class CondensedLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of a condensed block. Without a text, its entry is told as usual."""

    ids: tuple[str, ...]
    text: str = ""
    section: str = ""


class Condensed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    at: datetime
    by: str  # "rules", or a model and its prompt
    lines: tuple[CondensedLine, ...]
    dropped: tuple[str, ...] = ()  # entries that are not told any more


def load(home: Home) -> dict[str, Condensed]:
    """By block: path#name."""
    path = home.root / NAME
    try:
        return decode(path.read_bytes(), dict[str, Condensed])
    except FileNotFoundError:
        return {}
    except msgspec.MsgspecError as error:
        raise WakebookError(
            f"{path}: cannot be read ({error}). Correct it, or restore it with "
            f"`git -C {home.root} checkout {NAME}`."
        ) from error


def save(home: Home, blocks: Mapping[str, Condensed]) -> None:
    home.replace(home.root / NAME, _encoded(blocks))


def _encoded(blocks: Mapping[str, Condensed]) -> bytes:
    data = msgspec.json.encode(dict(sorted(blocks.items())))
    return msgspec.json.format(data, indent=1) + b"\n"


def applied(items: Sequence[Bullet], condensed: Condensed | None) -> list[Bullet]:
    """The items as they were condensed, each section in the place of its first item."""
    if condensed is None:
        return list(items)
    by_id = {one: item for item in items for one in item.ids}
    lines = {one: line for line in condensed.lines if _holds(line, by_id) for one in line.ids}
    dropped = set(condensed.dropped)
    found: list[Bullet] = []
    told: set[tuple[str, ...]] = set()
    for item in items:
        line = next((lines[one] for one in item.ids if one in lines), None)
        if line is None:
            if item.held or item.ids[0] not in dropped:  # the first one is told
                found.append(item)
        elif line.ids not in told:
            told.add(line.ids)
            found.append(_merged(line, by_id, item) if line.text else item)
    return found


def _holds(line: CondensedLine, by_id: Mapping[str, Bullet]) -> bool:
    """Whether all that a line stands for is told, and nothing of it was corrected since."""
    if not all(one in by_id for one in line.ids):
        return False
    return not line.text or all(set(by_id[one].ids) <= set(line.ids) for one in line.ids)


def _merged(line: CondensedLine, by_id: Mapping[str, Bullet], first: Bullet) -> Bullet:
    items = [by_id[one] for one in line.ids]
    return Bullet(
        section=line.section or first.section,
        text=line.text,
        ids=ids_of(items),
        at=max(item.at for item in items),
        held=any(item.held for item in items),
        weight=max(item.weight for item in items),
        rewritten=True,
    )


def without(told: Mapping[str, Condensed], gone: Container[str]) -> dict[str, Condensed]:
    """Without the lines that stand for something that is forgotten. What else such a line stood
    for is told one by one again."""
    return {
        name: msgspec.structs.replace(
            one,
            lines=tuple(line for line in one.lines if not any(id_ in gone for id_ in line.ids)),
            dropped=tuple(other for other in one.dropped if other not in gone),
        )
        for name, one in told.items()
    }


def forgetting(
    home: Home, ids: Collection[str], transcripts: Collection[str]
) -> Callable[[], list[Path]]:
    """The notes' step of forgetting. A record that cannot be read stops it."""
    told = load(home)

    def take_back() -> list[Path]:
        left = without(told, ids)
        if left != told:
            save(home, left)
        return [home.root / NAME]

    return take_back


# --- taking a rewrite back ---------------------------------------------------------------
def taken_back(file: Versions, gone: Container[str]) -> Put | None:
    """A file without what a rewrite changed. None: as git puts texts together."""
    now, then, before = file.now, file.then, file.before
    record = file.name == NAME
    forgot = record and _held(before, gone)
    if not forgot and _own(now) == _own(then) and _only_blocks(then, before):
        return Put(before)  # what is generated is written anew afterwards
    if record:
        return _record_back(file, gone)
    if now is None or then is None or before is None:
        return CLASH
    text, made, earlier = map(_text, (now, then, before))
    if not markdown.names(made):
        return None
    try:
        for name in markdown.names(text):
            old, new, there = (markdown.block(one, name) for one in (earlier, made, text))
            if there and new and there.lines == new.lines:  # otherwise it is written anew
                text = markdown.put(text, name, old.lines if old else [])
    except markdown.BrokenBlock:
        return None
    return Put(text.encode("utf-8", "surrogateescape"))


def _held(data: bytes | None, gone: Container[str]) -> bool:
    """Whether a record tells of something that was forgotten."""
    try:
        told = decode(data or b"{}", dict[str, Condensed])
    except msgspec.MsgspecError:
        return False
    return without(told, gone) != told


def _record_back(file: Versions, gone: Container[str]) -> Put:
    """The record without what a rewrite put down; a clash if a later rewrite builds on it. What was
    forgotten since does not come back."""
    try:
        current, made, earlier = (
            without(decode(data or b"{}", dict[str, Condensed]), gone)
            for data in (file.now, file.then, file.before)
        )
    except msgspec.MsgspecError:
        return CLASH
    for key, value in made.items():
        if earlier.get(key) == value:
            continue
        if current.pop(key, None) != value:
            return CLASH
        current |= {key: earlier[key]} if key in earlier else {}
    return Put(_encoded(current))


def _own(data: bytes | None) -> str | None:
    """What is not generated in a note: everything outside of its blocks, but for its dates."""
    if data is None:
        return None
    text = _text(data)
    try:
        for name in markdown.names(text):
            text = markdown.put(text, name, [])
    except markdown.BrokenBlock:
        return _text(data)
    return markdown.set_front(text, dict.fromkeys(FRONT, ""))


def _only_blocks(then: bytes | None, before: bytes | None) -> bool:
    """Whether a rewrite changed nothing but generated blocks, or a file that has none."""
    if then is None or before is None or not markdown.names(_text(then)):
        return True
    return _own_lines(then) == _own_lines(before)


def _own_lines(data: bytes) -> list[str]:
    """The lines that are not generated, wherever the blocks stand between them."""
    own = (_own(data) or "").splitlines()
    marks = markdown.marker_lines(own)
    return [line for number, line in enumerate(own) if line.strip() and number not in marks]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
