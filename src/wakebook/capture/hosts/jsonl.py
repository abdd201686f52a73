"""What hosts that keep a session in a file have in common: reading it by lines, from an offset,
in flat memory, and saying what a tool did in one line.

A line without its newline is still being written. It is not read, unless the session is closing
and the line is whole JSON all the same. A line beyond the size limit is passed over without being
loaded, and reported. A line that is not quite JSON (bytes that are no UTF-8, half a surrogate
pair, a byte order mark) is mended and read: one bad character must not cost a message.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from wakebook.base.decode import decode
from wakebook.base.errors import TranscriptError
from wakebook.base.text import one_line
from wakebook.capture.state import Session
from wakebook.capture.transcript import Event, Ignored, Record

T = TypeVar("T")
CHUNK = 1 << 20
HEAD = 1 << 16  # how much of a file is looked at to recognise it
LONGEST = 64 << 20  # of a first line, say a log file that was pasted

_string = msgspec.json.Decoder(str)
UNREADABLE = (Ignored("unreadable", unknown=True),)
OVERSIZED = (Ignored("oversized", unknown=True),)
BLANK = (Ignored("blank"),)


class RawLine(msgspec.Struct, frozen=True):
    start: int
    end: int
    data: bytes  # without its newline; empty when `oversized`
    oversized: bool = False

    def undecoded(self) -> tuple[Event, ...]:
        """The events of a line that cannot be decoded."""
        if self.oversized:
            return OVERSIZED
        return UNREADABLE if self.data.strip() else BLANK


class Host:
    """The one interface behind which an agent's format disappears; what it does by itself holds
    wherever a session is a file of its own. Positions are of the host's own unit."""

    name = ""
    unit = "bytes"  # or "seq"
    tree = False  # records name their parent, and only the last one's ancestors are live
    suffixes: tuple[str, ...] = (".jsonl",)

    def discover(self, root: Path) -> Iterator[Session]:
        """Every session below a folder (or the ones in a single file), of every kind."""
        for path, size in files(root, *self.suffixes):
            beginning = head(path)
            if self.recognises(path, beginning):
                yield self.session(path, size, beginning)

    def search(self, root: Path) -> Iterator[Session]:
        """The same for a folder that a person names, which may stand above this host's own."""
        return self.discover(root)

    def recognises(self, path: Path, head: bytes) -> bool:
        """Whether a file with this beginning is this host's."""
        raise NotImplementedError

    def session(self, path: Path, size: int, head: bytes) -> Session:
        """The session in a file that this host recognises."""
        raise NotImplementedError

    def format(self, session: Session) -> Host:
        """How to read this session: a host may keep them in more than one form."""
        return self

    def records(
        self, session: Session, position: int, limit: int, closing: bool
    ) -> Iterator[Record]:
        """Records from a position on, in order, each saying at most one thing.

        Raises TranscriptError when the source cannot be read. A record that cannot be
        understood becomes `Ignored(unknown=True)`: it is never fatal.
        """
        raise NotImplementedError

    def size(self, session: Session) -> int:
        """The position just past the last complete or incomplete record."""
        return size(session.path)

    def digest(self, session: Session, start: int, end: int) -> str:
        """SHA-256 of the source between two positions."""
        return digest(session.path, start, end)

    def beginning(self, session: Session, captured: Callable[[Path], bool]) -> int:
        """Where this session's own words begin.

        A fork repeats its parent's records under a new session id. When the parent is
        already captured, the fork begins past what they share; otherwise at 0.
        """
        return 0


def lines(path: Path, offset: int, limit: int, closing: bool = False) -> Iterator[RawLine]:
    """Complete lines from a byte offset on. `limit` is the largest line to load."""
    try:
        with path.open("rb", buffering=0) as stream:
            yield from _lines(stream.fileno(), offset, limit, closing)
    except OSError as error:
        raise TranscriptError(
            f"{path}: cannot be read ({error.strerror or error}). "
            "If the host moved or deleted the session, nothing more can be taken from it."
        ) from error


def _lines(descriptor: int, offset: int, limit: int, closing: bool) -> Iterator[RawLine]:
    os.lseek(descriptor, offset, os.SEEK_SET)
    rest = b""
    start = offset  # of `rest`
    skipped = -1  # where an oversized line began, while inside one
    while chunk := os.read(descriptor, CHUNK):
        pieces = chunk.split(b"\n")
        pieces[0] = rest + pieces[0] if rest else pieces[0]
        rest = pieces.pop()
        for piece in pieces:
            end = start + len(piece) + 1
            if skipped >= 0:
                yield RawLine(skipped, end, b"", oversized=True)
                skipped = -1
            elif len(piece) > limit:
                yield RawLine(start, end, b"", oversized=True)
            else:
                yield RawLine(start, end, piece)
            start = end
        if len(rest) > limit or skipped >= 0:
            skipped = start if skipped < 0 else skipped
            start += len(rest)
            rest = b""
    if closing and rest and skipped < 0 and is_json(rest):
        yield RawLine(start, start + len(rest), rest)


def is_json(data: bytes) -> bool:
    try:
        decode(data, Any)
    except msgspec.DecodeError:
        return False
    return True


def size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise TranscriptError(f"{path}: {error.strerror}.") from error


def fingerprint(path: Path) -> str:
    """What identifies a file whatever its name: a digest of its first line, up to 4 KB."""
    try:
        with path.open("rb") as stream:
            start = stream.read(4096)
    except OSError as error:
        raise TranscriptError(f"{path}: {error.strerror}.") from error
    line, newline, _ = start.partition(b"\n")
    if not newline and len(start) < 4096:
        return ""  # the first line is not complete yet
    return hashlib.sha256(line).hexdigest()[:16]


def tail(path: Path, position: int) -> str:
    """A fingerprint of the bytes just before a position: were they changed since?"""
    return digest(path, max(0, position - 256), position)[:16] if position else ""


def digest(path: Path, start: int, end: int) -> str:
    """SHA-256 of a byte range."""
    sha, left = hashlib.sha256(), end - start
    try:
        with path.open("rb") as stream:
            stream.seek(start)
            while left > 0 and (chunk := stream.read(min(CHUNK, left))):
                sha.update(chunk)
                left -= len(chunk)
    except OSError as error:
        raise TranscriptError(f"{path}: {error.strerror}.") from error
    if left:
        raise TranscriptError(f"{path}: ends before byte {end}; the host has cut it short.")
    return sha.hexdigest()


def load(decoder: msgspec.json.Decoder[T], data: bytes | msgspec.Raw) -> T | None:
    """Decoded data, mended if need be; None when it is beyond that, or of another shape."""
    try:
        return decoder.decode(data)
    except (msgspec.ValidationError, RecursionError):
        return None
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:
        value = json.loads(bytes(data).decode("utf-8", "replace").lstrip("\ufeff"))
        text = json.dumps(value, ensure_ascii=False)
        return decoder.decode(text.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def files(root: Path, *suffixes: str) -> Iterator[tuple[Path, int]]:
    """A file itself, or every file below a folder with one of these suffixes; with its size. What
    cannot be read is passed over: discovery is never fatal."""
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


def matched(pattern: re.Pattern[bytes], head: bytes) -> str:
    """The JSON string that a pattern finds in a file's beginning."""
    found = pattern.search(head)
    return (load(_string, found[1]) or "") if found else ""


def past(path: Path, shared: Callable[[bytes], bool | None]) -> int:
    """Where a fork's own lines begin: after the last leading line that is shared.

    `shared` says None of a line that has no identity. Such lines are not counted: they are
    skipped before a shared line, and left to the fork after the last one.
    """
    end = 0
    for line in lines(path, 0, CHUNK * 64):
        verdict = None if line.oversized else shared(line.data)
        if verdict is False:
            break
        if verdict:
            end = line.end
    return end


# --- tools ---------------------------------------------------------------------------------
# A transcript shows what an agent did, never the full arguments or output: those stay in the
# host's own file, where the record's id finds them.
TELLING = (
    "command", "cmd", "file_path", "notebook_path", "pattern", "query", "url", "path",
    "prompt", "description", "message", "question", "text", "input", "skill", "subject",
)  # fmt: skip
ROUGH = 1000  # the final cut is made after redaction, lest half a secret survive it
LOOKED_AT = 8 * ROUGH  # characters of a line
SUMMARY, SUMMARY_LINES = 200, 12  # characters of a test run's summary; lines in which it stands
_SUMMED = re.compile(
    r"(?i)\b\d+ (?:tests? )?(?:passed|passing|failed|failing|errors?|failures?)\b"
    r"|\bran \d+ tests?\b|\b\d+ tests? (?:ok|run)\b|^(?:OK|FAILED) \(.*\d|\btests run: \d"
)
_TELLING = re.compile(rf"^[^\n]{{0,{LOOKED_AT - 1}}}?[^\W_]", re.MULTILINE)


def arguments(text: str) -> Any:
    """Arguments that a host keeps as JSON inside a string; the string if they are not."""
    try:
        return decode(text, Any)
    except msgspec.DecodeError:
        return text


def summary(given: Any) -> str:
    """The most telling argument of a call, else all of them as compact JSON."""
    if isinstance(given, str):
        return one_line(given, ROUGH)
    if isinstance(given, dict):
        for key in TELLING:
            if line := _words(given.get(key)):
                return one_line(line, ROUGH)
    return one_line(msgspec.json.encode(given).decode(), ROUGH) if given else ""


def _words(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        value = " ".join(value)
    return value.strip() if isinstance(value, str) else ""


def result(text: str) -> str:
    """The first line that says something, the line at the end in which a test run sums itself up,
    and how many others there are."""
    text = text.strip()
    telling = _TELLING.search(text)
    start = telling.start() if telling else 0
    first = one_line(text[start : start + LOOKED_AT].partition("\n")[0], ROUGH)
    summed = _summed_up(text[-LOOKED_AT:]) if "\n" in text else ""
    summed = f" … {summed}" if summed and summed not in first else ""
    others = text.count("\n") - bool(summed)
    more = f" (+{others} line{'s' if others > 1 else ''})" if others else ""
    return first[: ROUGH - len(summed)] + summed + more


def _summed_up(text: str) -> str:
    """18 passed, 1 failed in 2.31s; Ran 18 tests in 0.4s; test result: ok. 18 passed; ..."""
    last = [line.strip("= \t\r") for line in text.split("\n")[-SUMMARY_LINES:]]
    return next((one_line(line, SUMMARY) for line in reversed(last) if _SUMMED.search(line)), "")


def image(url: str, record: str) -> str:
    """A picture: what is said of one that stands in the file, or where it is."""
    if not url.startswith("data:"):
        return f"image {one_line(url, ROUGH)}"
    return attachment(url[5:].partition(";")[0], url.partition(",")[2], record)


def attachment(kind: str, base64: str, record: str) -> str:
    """A reference to something that stays in the host's file."""
    kilobytes = max(1, round(len(base64) * 3 // 4 / 1024))
    return f"{kind} {kilobytes} KB (source line {record})"
