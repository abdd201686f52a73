"""Heal: what plain merges and file-sync tools have left in a home.

A file-sync tool that meets two versions of a file keeps one beside the other ("log (conflicted
copy).jsonl", "log.sync-conflict-….jsonl"); a plain `git merge` leaves markers, or the same line
twice. All of it is found by `doctor`, and put together here by the rules of syncing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from wakebook.base.home import TRACKED, Home
from wakebook.log import log
from wakebook.sync import merge, records
from wakebook.sync.merge import LOG, RECEIPTS, WAITING

# what tools add to a name: "a (conflicted copy 2026-02-20).md", "a.sync-conflict-20260220-1.md",
# "a (Ada's conflicted copy).md", "a 2.md" is too ordinary to be one
_COPY = re.compile(
    r"(?: \([^)]*conflict[^)]*\)|\.sync-conflict-[^.]*)(?=\.[^.]+$|$)", re.IGNORECASE
)
_MARKED = re.compile(
    rb"^<{7} [^\n]*\n(?P<ours>.*?)(?:^\|{7}[^\n]*\n.*?)?^={7}\n(?P<theirs>.*?)^>{7} [^\n]*\n?",
    re.MULTILINE | re.DOTALL,
)


class Wound(NamedTuple):
    path: str
    kind: str  # copy, markers or twice
    of: str = ""  # the file that a copy is of


def wounds(home: Home) -> list[Wound]:
    """What is wrong, file by file. Changes nothing."""
    found: list[Wound] = []
    for path in _files(home):
        name = home.relative(path)
        if _COPY.search(path.name):
            found.append(Wound(name, "copy", home.relative(_original(path))))
        elif path.suffix in (".md", ".json", ".jsonl", ".toml") and not name.startswith("raw/"):
            data = path.read_bytes()
            if _MARKED.search(data):
                found.append(Wound(name, "markers"))
            elif name == LOG and _twice(data):
                found.append(Wound(name, "twice"))
    return found


def _files(home: Home) -> Iterator[Path]:
    for name in TRACKED:
        path = home.root / name
        if path.is_dir():
            yield from (one for one in sorted(path.rglob("*")) if one.is_file())
        elif path.is_file():
            yield path
    yield from (
        one for one in sorted(home.root.glob("*")) if one.is_file() and _COPY.search(one.name)
    )


def _original(path: Path) -> Path:
    return path.with_name(_COPY.sub("", path.name))


def _twice(data: bytes) -> bool:
    lines = [line for line in data.splitlines() if line.strip()]
    return len(records.by_id(data)) < len(lines)


def heal(home: Home) -> list[Wound]:
    """Put together what can be. Under the lock, after a commit of what there is."""
    done = wounds(home)
    for one in done:
        path = home.root / one.path
        if one.kind == "copy":
            whole = home.root / one.of
            if whole.exists():
                _put(home, one.of, _together(one.of, whole.read_bytes(), path.read_bytes()))
                path.unlink()
            else:
                path.rename(whole)
        elif one.kind == "markers":
            data = path.read_bytes()
            sides = (_MARKED.sub(side, data) for side in (rb"\g<ours>", rb"\g<theirs>"))
            _put(home, one.path, _together(one.path, *sides))
        else:
            _put(home, one.path, b"".join(records.by_id(path.read_bytes()).values()))
    return done


def _together(name: str, ours: bytes, theirs: bytes) -> bytes:
    """Two versions of a file, of which nobody knows what they had in common."""
    if name == LOG:
        return records.log(b"", ours, theirs).data
    if name == RECEIPTS:
        return records.receipts(b"", ours, theirs).data
    if name == WAITING:
        return records.waiting(b"", ours, theirs, ()).data
    return merge.one(name, b"", ours, theirs).data


def _put(home: Home, name: str, data: bytes) -> None:
    if name == LOG:
        log.rewrite(home, [data])
    else:
        home.replace(home.root / name, data)
