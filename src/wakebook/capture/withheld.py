"""Withheld: sentences of conversations that are told no more (withheld.jsonl).

A transcript never changes. What you forget of it is marked here, beside it: which turn, and from
where to where in its text. Whoever reads the transcript through `archive` reads it without. If its
first words are meant, which are its name as well, the file gets another name; the line says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from wakebook.base.decode import decode
from wakebook.base.errors import WakebookError
from wakebook.base.home import WITHHELD, Home
from wakebook.base.needles import Needles

if TYPE_CHECKING:
    from wakebook.capture.archive import Turn

FILE = WITHHELD
MARK = "[forgotten]"
_kept: dict[str, tuple[object, dict[str, list[Mark]], dict[str, str]]] = {}


class Mark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    transcript: str
    turn: int = 0
    start: int = 0  # in the turn's text
    end: int = 0
    was: str = ""  # instead of these: what the file was called before


def load(home: Home) -> tuple[dict[str, list[Mark]], dict[str, str]]:
    """Marks by transcript, and files that were renamed: from, to. Read again when they change."""
    path = home.root / FILE
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return {}, {}
    stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
    kept = _kept.get(str(path))
    if kept is None or kept[0] != stamp:
        marks: dict[str, list[Mark]] = {}
        moved: dict[str, str] = {}
        for one in read(path.read_bytes(), path):
            if one.was:
                moved[one.was] = one.transcript
            else:
                marks.setdefault(one.transcript, []).append(one)
        kept = _kept[str(path)] = (stamp, marks, moved)
    return kept[1], kept[2]


def read(data: bytes, where: object = FILE) -> list[Mark]:
    found: list[Mark] = []
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            found += [decode(line, Mark)] if line.strip() else []
        except msgspec.MsgspecError as error:
            raise WakebookError(
                f"{where}, line {number}: not a mark ({error}). Correct or remove that line: "
                "the sentence that it stands for could be told again."
            ) from error
    return found


def add(home: Home, marks: Iterable[Mark]) -> None:
    """Write marks down, those that are not there yet. Under the writer lock."""
    path = home.root / FILE
    known = read(path.read_bytes(), path) if path.exists() else []
    moved = {one.was: one.transcript for one in (*known, *marks) if one.was}
    every = [*known, *marks]
    after = [
        one if one.was else msgspec.structs.replace(one, transcript=_now(moved, one.transcript))
        for one in every
    ]
    after = list(dict.fromkeys(after))
    if after != known:
        home.replace(path, b"".join(msgspec.json.encode(one) + b"\n" for one in after))


def renamed(home: Home, path: str) -> str:
    """What a transcript is called now."""
    return _now(load(home)[1], path)


def former(home: Home, path: str) -> list[str]:
    """What a transcript was called before."""
    moved = load(home)[1]
    return [old for old in moved if old != path and _now(moved, old) == path]


def _now(moved: dict[str, str], path: str) -> str:
    seen = {path}
    while path in moved and moved[path] not in seen:
        path = moved[path]
        seen.add(path)
    return path


def _of(home: Home, path: str) -> list[Mark]:
    marks, _ = load(home)
    return marks.get(path.removeprefix("archive/"), []) if marks else []


def apart(home: Home, path: str, turns: list[Turn]) -> list[Turn]:
    """The turns without what is withheld of them."""
    marks = _of(home, path)
    if not marks:
        return turns
    needles = _needles(marks, turns)
    found = []
    for turn in turns:
        text = turn.text
        mine = sorted((one for one in marks if one.turn == turn.number), key=lambda m: -m.start)
        for one in mine:
            text = text[: one.start] + MARK + text[one.end :]
        if mine:
            turn = msgspec.structs.replace(
                turn,
                text="" if text.replace(MARK, "").strip(" \n.,;") == "" else text,
                report=_swapped(needles, turn.report),
                quotes=tuple(_swapped(needles, one) for one in turn.quotes),
            )
        found.append(turn)
    return found


def front(home: Home, path: str, values: dict[str, Any], turns: Sequence[Turn]) -> dict[str, Any]:
    """The frontmatter without it: the topic is the first words. `turns`: as they were said."""
    marks = _of(home, path)
    if not marks or "topic" not in values:
        return values
    return values | {"topic": _swapped(_needles(marks, turns), str(values["topic"]))}


def shown(home: Home, path: str, text: str, turns: Sequence[Turn]) -> str:
    """A transcript's own text without it. `turns`: as they were said."""
    marks = _of(home, path)
    return _swapped(_needles(marks, turns), text) if marks else text


def _needles(marks: Iterable[Mark], turns: Sequence[Turn]) -> Needles:
    said = {turn.number: turn.text for turn in turns}
    texts = (said.get(one.turn, "")[one.start : one.end] for one in marks)
    return Needles((text for text in texts if text.strip()), MARK, exact=True)


def _swapped(needles: Needles, text: str) -> str:
    return needles.swapped(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
