"""Prose: how notes and other texts that people write are merged.

People's lines three ways, as git does it: changes in different places are both taken, and where
both have changed the same lines both versions stay, one after the other. Wakebook's own blocks are
not merged at all: they are written anew from the merged log. A block that a person has edited
keeps the edit, so that it is still found in `wakebook review`.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from wakebook.base import markdown
from wakebook.history.repository import run
from wakebook.sync.records import Whole

FRONT = ("updated", "line_count", "sessions")  # keys of frontmatter that Wakebook keeps current
_FRONT = re.compile(rf"(?m)^(?:{'|'.join(FRONT)}):.*$")


def text(name: str, base: bytes, ours: bytes, theirs: bytes) -> Whole:
    """A text that people write, perhaps with Wakebook's blocks in it."""
    try:
        was, one, two = (data.decode("utf-8") for data in (base, ours, theirs))
    except UnicodeDecodeError:
        return binary(name, ours, theirs)
    first, second = sorted((one, two))  # the same on every machine
    try:
        blocks = _blocks(first, second)
    except markdown.BrokenBlock:
        blocks = {}
    bare = [_bare(side, blocks, second) for side in (was, first, second)]
    merged, clashes = _three(bare[0], bare[1], bare[2])
    for block, lines in blocks.items():
        merged = _with_block(merged, block, lines, (first, second))
    said = f"{name}: two machines changed the same lines; both versions are in it."
    return Whole(merged.encode(), (), (said,) if clashes else ())


def _blocks(first: str, second: str) -> dict[str, str]:
    """What stands between the markers of each block, in the merged text."""
    found: dict[str, str] = {}
    for name in dict.fromkeys((*markdown.names(first), *markdown.names(second))):
        sides = [(side, markdown.block(side, name)) for side in (first, second)]
        there = [(side, one) for side, one in sides if one is not None]
        edited = [(side, one) for side, one in there if one.edited]
        chosen = (edited or there)[-1][0]
        found[name] = _inside(chosen, name)
    return found


def _inside(side: str, name: str) -> str:
    begin, end = markdown.markers(name)
    at = side.index(begin) + len(begin)
    return side[at : side.index(end, at)]


def _bare(side: str, blocks: dict[str, str], other: str) -> str:
    """A text with nothing between its markers, and the values that Wakebook keeps current those of
    one side."""
    for name in blocks:
        try:
            if markdown.block(side, name) is not None:
                side = side.replace(_inside(side, name), "\n", 1)
        except markdown.BrokenBlock:
            continue
    values = {match[0].partition(":")[0]: match[0] for match in _FRONT.finditer(_front(other))}
    front = _front(side)
    after = _FRONT.sub(lambda match: values.get(match[0].partition(":")[0], match[0]), front)
    return after + side[len(front) :]


def _front(side: str) -> str:
    found = markdown.read_front(side)
    return side[: found.end] if found.values is not None else ""


def _with_block(merged: str, name: str, inside: str, sides: tuple[str, str]) -> str:
    begin, end = markdown.markers(name)
    both = f"{begin}\n{end}"
    if merged.count(begin) == merged.count(end) == 1 and both in merged.replace("\r\n", "\n"):
        return merged.replace(both, f"{begin}{inside}{end}", 1)
    for marker in (begin, end):  # a person has moved or doubled it: one block, at the end
        merged = "".join(line for line in merged.splitlines(True) if line.strip() != marker)
    gap = "" if merged.endswith("\n") or not merged else "\n"
    return f"{merged}{gap}\n{begin}{inside}{end}\n"


def _three(base: str, first: str, second: str) -> tuple[str, bool]:
    """Three texts as one, with both versions where they clash; and whether they do."""
    if first == second or second == base:
        return first, False
    if first == base:
        return second, False
    with tempfile.TemporaryDirectory(prefix="wakebook-merge-") as folder:
        paths = [Path(folder) / name for name in ("first", "base", "second")]
        for path, side in zip(paths, (first, base, second), strict=True):
            path.write_text(side if side.endswith("\n") or not side else f"{side}\n", "utf-8")
        names = [path.name for path in paths]
        plain = run(Path(folder), ["merge-file", "-p", "-q", *names], check=False)
        if plain.code == 0:
            return plain.data.decode("utf-8"), False
        both = run(Path(folder), ["merge-file", "-p", "-q", "--union", *names], check=False)
        return both.data.decode("utf-8"), True


def binary(name: str, ours: bytes, theirs: bytes) -> Whole:
    """Something that cannot be merged: one of them stays, and the other is kept beside it."""
    kept, lost = sorted((ours, theirs), key=lambda data: (len(data), data))[::-1]
    said = f"{name}: two machines changed it; the other version is beside it."
    return Whole(kept, (lost,), (said,))
