"""What hosts that keep a session in a file of JSON lines have in common.

A line that is not quite JSON (bytes that are no UTF-8, half a surrogate pair, a byte
order mark) is mended and read all the same: one bad character must not cost a message.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TypeVar

import msgspec

from wakebook.capture import source
from wakebook.capture.session import Session
from wakebook.capture.transcript import Event, Ignored

T = TypeVar("T")
HEAD = 1 << 16  # how much of a file is looked at to recognise it
LONGEST = 64 << 20  # of a first line, say a log file that somebody pasted

UNREADABLE = (Ignored("unreadable", unknown=True),)
OVERSIZED = (Ignored("oversized", unknown=True),)
BLANK = (Ignored("blank"),)


class Files:
    """The part of `Host` that is the same wherever a position is a byte offset."""

    unit = "bytes"

    def size(self, session: Session) -> int:
        return source.size(session.path)

    def digest(self, session: Session, start: int, end: int) -> str:
        return source.digest(session.path, start, end)

    def beginning(self, session: Session, captured: Callable[[Path], bool]) -> int:
        return 0


def load(decoder: msgspec.json.Decoder[T], data: bytes | msgspec.Raw) -> T | None:
    """Decoded data, mended if need be; None when it is beyond that, or of another shape."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _mend(decoder, bytes(data))
    except RecursionError:
        return None


def _mend(decoder: msgspec.json.Decoder[T], data: bytes) -> T | None:
    try:
        value = json.loads(data.decode("utf-8", "replace").lstrip("\ufeff"))
        text = json.dumps(value, ensure_ascii=False)
        return decoder.decode(text.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def unloaded(line: source.Line) -> tuple[Event, ...] | None:
    """The events of a line that holds nothing to decode."""
    if line.oversized:
        return OVERSIZED
    return None if line.data.strip() else BLANK


def files(root: Path, *suffixes: str) -> Iterator[tuple[Path, int]]:
    """A file itself, or every file below a folder with one of these suffixes; with its size.

    What cannot be read is passed over: discovery is never fatal.
    """
    if root.is_file():
        yield root, root.stat().st_size
        return
    seen: set[tuple[int, int]] = set()  # a link to a session is not another session
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            if name.endswith(suffixes):
                path = Path(folder, name)
                try:
                    found = path.stat()
                except OSError:
                    continue
                identity = (found.st_dev, found.st_ino)
                if stat.S_ISREG(found.st_mode) and identity not in seen:
                    seen.add(identity)
                    yield path, found.st_size


def head(path: Path, length: int = HEAD) -> bytes:
    """The beginning of a file, or nothing when it cannot be read."""
    try:
        with path.open("rb") as stream:
            return beginning(stream, length)
    except OSError:
        return b""


def beginning(stream: IO[bytes], length: int = HEAD) -> bytes:
    """So much of a file, and on to the end of the first line if that is longer."""
    found = stream.read(length)
    if len(found) == length == HEAD and b"\n" not in found:
        found += stream.readline(LONGEST)
    return found


def first(decoder: msgspec.json.Decoder[T], beginning: bytes, count: int = 10) -> Iterator[T]:
    """The first few lines of a file's beginning that can be decoded."""
    for line in beginning.split(b"\n", count)[:count]:
        if line.strip() and (value := load(decoder, line)) is not None:
            yield value


def past(path: Path, shared: Callable[[bytes], bool | None]) -> int:
    """Where a fork's own lines begin: after the last leading line that is shared.

    `shared` says None of a line that has no identity. Such lines are not counted: they are
    skipped before a shared line, and left to the fork after the last one.
    """
    end = 0
    for line in source.lines(path, 0, source.CHUNK * 64):
        verdict = None if line.oversized else shared(line.data)
        if verdict is False:
            break
        if verdict:
            end = line.end
    return end
