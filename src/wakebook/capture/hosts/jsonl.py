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
from typing import IO, Any, TypeVar

import msgspec

from wakebook.capture import source
from wakebook.capture.session import Session
from wakebook.capture.transcript import Event, Ignored, one_line

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


# -----------------------------------------------------------------------------
# One line for a tool call, one for its result, one for an attachment.
#
# A transcript shows what an agent did, never the full arguments or output: those stay in
# the host's own file, where the record's id finds them.

TELLING = (
    "command", "cmd", "file_path", "notebook_path", "pattern", "query", "url", "path",
    "prompt", "description", "message", "question", "text", "input", "skill", "subject",
)  # fmt: skip

ROUGH = 1000  # the final cut is made after redaction, lest half a secret survive it
_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def arguments(text: str) -> Any:
    """Arguments that a host keeps as JSON inside a string; the string if they are not."""
    try:
        return _ANY.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text


def summary(given: Any) -> str:
    """The most telling argument of a call, else all of them as compact JSON."""
    if isinstance(given, str):
        return one_line(given, ROUGH)
    if isinstance(given, dict):
        for key in TELLING:
            if line := _words(given.get(key)):
                return one_line(line, ROUGH)
    if not given:
        return ""
    return one_line(msgspec.json.encode(given).decode(), ROUGH)


def _words(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        value = " ".join(value)
    return value.strip() if isinstance(value, str) else ""


def result(text: str) -> str:
    """The first line that says something, and how many others there are."""
    text = text.strip()
    line, others = _telling(text), text.count("\n")
    if not others:
        return one_line(line, ROUGH)
    more = f" (+{others} line{'s' if others > 1 else ''})"
    return one_line(line, ROUGH) + more


def _telling(text: str) -> str:
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start : min(end, start + ROUGH * 8)]
        if any(character.isalnum() for character in line):
            return line
        start = end + 1
    return text[: ROUGH * 8].partition("\n")[0]


def attachment(kind: str, size: int, record: str) -> str:
    """A reference to something that stays in the host's file."""
    kilobytes = max(1, round(size / 1024))
    return f"{kind} {kilobytes} KB (source line {record})"


def base64_size(encoded: int) -> int:
    """How many bytes so many characters of base64 stand for."""
    return encoded * 3 // 4
