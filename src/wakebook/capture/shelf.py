"""Shelf: the archived conversations of a home, listed by day and read in parts.

A timeline needs what each transcript says of itself, and a long conversation is read a page at a
time: neither reads more than it shows. Days are kept until their folder changes; a transcript is
only ever replaced as a whole, which changes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import lru_cache
from pathlib import Path

import msgspec

from wakebook.base import clock, markdown
from wakebook.base.errors import NotFound
from wakebook.base.home import Home
from wakebook.capture import archive, withheld
from wakebook.capture.archive import Turn

HEAD = 8192  # bytes that hold the frontmatter of most transcripts
KEPT_DAYS = 4000
_MARK = re.compile(
    rb"## \d\d:\d\d \xe2\x80\x94 (?:user|agent|system)(?: \[[a-z]+\])*"
    rb"|<!-- date: (\d{4}-\d\d-\d\d) -->"
)


class Shelved(msgspec.Struct, frozen=True, kw_only=True):
    """What a transcript says of itself."""

    path: str  # relative to the home
    title: str
    session: str = ""
    host: str = ""
    project: str = ""  # its key
    started: datetime | None = None
    ended: datetime | None = None
    turns: int = 0
    closed: bool = False
    size: int = 0  # bytes
    problem: str = ""  # why it cannot be read


class ShelfPart(msgspec.Struct, frozen=True, kw_only=True):
    """Some turns of a transcript."""

    about: Shelved
    turns: tuple[Turn, ...]
    total: int  # turns that there are


def shelved(
    home: Home,
    most: int,
    before: str = "",
    wanted: Callable[[Shelved], bool] = lambda one: True,
) -> list[Shelved]:
    """Conversations, the newest first: those that came before the one at a path."""
    found: list[Shelved] = []
    marks = withheld.load(home)[0]
    for day in days(home):
        if before and f"raw/conversations/{day}/" > before:
            continue
        for one in _of_day(home, day):
            if before and one.path >= before:
                continue
            if one.path in marks:
                one = about(home, one.path)
            if wanted(one):
                found.append(one)
                if len(found) == most:
                    return found
    return found


def days(home: Home) -> Iterator[str]:
    """Days with conversations, the newest first: 2026/11/08."""
    top = str(home.conversations)
    for year in _numbered(top):
        for month in _numbered(f"{top}/{year}"):
            for day in _numbered(f"{top}/{year}/{month}"):
                yield f"{year}/{month}/{day}"


def count(home: Home) -> int:
    top = home.conversations
    return sum(len(_names(f"{top}/{day}", _changed(home, day))) for day in days(home))


def about(home: Home, path: str) -> Shelved:
    """One of them, without what is told no more."""
    file = _file(home, path)
    found = _front(home, file)
    if path not in withheld.load(home)[0]:
        return found
    front = archive.read(home, path).front
    return msgspec.structs.replace(found, title=str(front.get("topic") or ""))


def part(home: Home, path: str, first: int, most: int) -> ShelfPart:
    """Some turns of a transcript, from a number on."""
    one, file = about(home, path), _file(home, path)
    if path in withheld.load(home)[0]:  # places in the text are counted in whole turns
        turns = archive.read(home, path).turns
        return ShelfPart(about=one, turns=tuple(turns[first - 1 :][:most]), total=len(turns))
    data = file.read_bytes()
    places, ends = _places(data)
    found: list[Turn] = []
    for number in range(max(first, 1), min(first + most, len(places) + 1)):
        start, of = places[number - 1]
        said = data[start : ends[number - 1]].decode("utf-8", "replace")
        [turn] = archive.parse(f"<!-- date: {of.decode()} -->\n{said}")
        line = data.count(b"\n", 0, start) + 1
        last = line + turn.last_line - turn.line
        found.append(msgspec.structs.replace(turn, number=number, line=line, last_line=last))
    return ShelfPart(about=one, turns=tuple(found), total=len(places))


def _places(data: bytes) -> tuple[list[tuple[int, bytes]], list[int]]:
    """Where each turn begins, with its day, and where it ends."""
    places: list[tuple[int, bytes]] = []
    ends: list[int] = []
    day, at = b"0001-01-01", _behind_front(data)
    while at < len(data):
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        match = (
            _MARK.fullmatch(data, at, end) if data.startswith((b"## ", b"<!-- date"), at) else None
        )
        if match:
            ends += [at] * (len(places) - len(ends))
            if match[1]:
                day = match[1]
            else:
                places.append((at, day))
        at = end + 1
    return places, ends + [len(data)] * (len(places) - len(ends))


def _file(home: Home, path: str) -> Path:
    """The file of a transcript, which lies where transcripts lie."""
    there = home.root / path
    inside = path.startswith("raw/conversations/") and ".." not in Path(path).parts
    if not (inside and path.endswith(".md") and there.is_file()):
        raise NotFound(f"There is no conversation {path!r:.300}.")
    return there


def _numbered(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return sorted((one.name for one in found if one.name.isdecimal()), reverse=True)
    except OSError:
        return []


def _changed(home: Home, day: str) -> int:
    try:
        return os.stat(f"{home.conversations}/{day}").st_mtime_ns  # noqa: PTH116 - of every day
    except OSError:
        return 0


@lru_cache(maxsize=KEPT_DAYS)
def _names(folder: str, changed: int) -> tuple[str, ...]:
    try:
        with os.scandir(folder) as found:
            return tuple(sorted((o.name for o in found if o.name.endswith(".md")), reverse=True))
    except OSError:
        return ()


def _of_day(home: Home, day: str) -> tuple[Shelved, ...]:
    return _read_day(str(home.root), day, _changed(home, day))


@lru_cache(maxsize=KEPT_DAYS)
def _read_day(root: str, day: str, changed: int) -> tuple[Shelved, ...]:
    home = Home(Path(root))
    folder = home.conversations / day
    return tuple(_front(home, folder / name) for name in _names(str(folder), changed))


def _front(home: Home, file: Path) -> Shelved:
    path = home.relative(file)
    try:
        with file.open("rb") as stream:
            size, head = os.fstat(stream.fileno()).st_size, stream.read(HEAD)
            front = markdown.read_front(head.decode("utf-8", "ignore"))
            if front.values is None and size > HEAD:
                whole = (head + stream.read()).decode("utf-8", "replace")
                front = markdown.read_front(whole)
    except OSError as error:
        return Shelved(path=path, title=file.stem, problem=str(error.strerror))
    said = front.values
    if said is None:
        why = front.problem or "it has no frontmatter"
        return Shelved(path=path, title=file.stem, size=size, problem=why)
    return Shelved(
        path=path,
        title=str(said.get("topic") or file.stem),
        session=str(said.get("session_id") or ""),
        host=str(said.get("host") or ""),
        project=str(said.get("project") or ""),
        started=clock.parse(str(said.get("started") or "")),
        ended=clock.parse(str(said.get("ended") or "")),
        turns=said["turns"] if isinstance(said.get("turns"), int) else 0,
        closed=said.get("closed") is True,
        size=size,
    )


def _behind_front(data: bytes) -> int:
    front = markdown.read_front(data[:HEAD].decode("utf-8", "ignore"))
    if front.values is None:
        front = markdown.read_front(data.decode("utf-8", "replace"))
    end = data.find(b"\n---", 3)
    return end + 1 if front.values is not None and end > 0 else 0
