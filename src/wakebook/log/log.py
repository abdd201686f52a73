"""Log: log.jsonl, one entry a line, append-only.

Reading never fails on a bad line: it is skipped and reported with its number. Appending
costs the same whatever the log's size. A last line without its newline is what a crash
left: before the next append it is moved to `log.torn`, so that nothing is glued to it and
nothing is thrown away.
"""

import mmap
import os
from collections.abc import Iterable

import msgspec

from wakebook.base.errors import InvalidEntry
from wakebook.base.home import Home
from wakebook.log.chains import Chains, extend, resolve
from wakebook.log.entry import Entry, decode, encode, validate


class BadLine(msgspec.Struct, frozen=True):
    number: int
    reason: str


class Reading(msgspec.Struct, frozen=True):
    """All entries in log order, and the lines that are none."""

    entries: tuple[Entry, ...]
    bad: tuple[BadLine, ...] = ()
    size: int = 0  # bytes read: where the next reading can go on


def read(home: Home, offset: int = 0, most: int = -1) -> Reading:
    """The log from a byte offset on (which must be a line's beginning). With `most`, about so many
    bytes of it and only complete lines."""
    try:
        with home.log.open("rb") as stream:
            stream.seek(offset)
            data = stream.read(most)
            if most >= 0 and not data.endswith(b"\n"):
                data += stream.readline()
                data = data[: data.rfind(b"\n") + 1]
            size = offset + len(data)
    except FileNotFoundError:
        return Reading((), (), 0)
    data = data.removeprefix(b"\xef\xbb\xbf")
    entries: list[Entry] = []
    bad: list[BadLine] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            entries.append(decode(line))
        except InvalidEntry as error:
            bad.append(BadLine(number, str(error)))
    return Reading(tuple(entries), tuple(bad), size)


def append(home: Home, entries: Iterable[Entry]) -> None:
    """Add entries in one write and fsync. Under the writer lock."""
    data = b"".join(encode(validate(entry)) for entry in entries)
    if data:
        set_torn_aside(home)
        home.append(home.log, data)


def set_torn_aside(home: Home) -> bool:
    """Move an unfinished last line to log.torn. Whether there was one. A line that is whole but for
    its newline (the file was edited by hand) gets the newline."""
    try:
        stream = home.log.open("r+b", buffering=0)
    except FileNotFoundError:
        return False
    with stream:
        size = stream.seek(0, os.SEEK_END)
        if size == 0 or os.pread(stream.fileno(), 1, size - 1) == b"\n":
            return False
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as text:
            start = text.rfind(b"\n") + 1
            torn = text[start:]
        if _is_entry(torn):
            home.append(home.log, b"\n")
            return False
        home.append(home.root / "log.torn", torn + b"\n")
        os.ftruncate(stream.fileno(), start)
        home.sync(stream.fileno())
    home.trace("torn", file="log.jsonl", bytes=len(torn), kept_in="log.torn")
    return True


def _is_entry(line: bytes) -> bool:
    try:
        decode(line)
    except InvalidEntry:
        return False
    return True


def rewrite(home: Home, lines: Iterable[bytes]) -> None:
    """Replace the whole log, atomically. Only rename, merge, forget, and taking back what a person
    has just decided may do this. A new number says so to every process that has read the old log:
    inode and size may be the same again."""
    home.replace(home.rewrites, os.urandom(6).hex())
    home.replace(home.log, b"".join(lines))


def rewrites(home: Home) -> str:
    """Which log it is: another text after every rewrite."""
    try:
        return home.rewrites.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""


class Ledger:
    """The log in memory, kept current by reading only what was added.

    A rewrite (rename, merge, forget) gives the log a new inode and a new number, and a shrunk log
    was set aside by hand: both make the ledger start over.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._bad: list[BadLine] = []
        self._size = self._inode = 0
        self._number = ""
        self._chains = resolve(())

    def chains(self) -> Chains:
        """The log's entries with their replacements, as of now."""
        self._refresh()
        return self._chains

    def bad(self) -> list[BadLine]:
        self._refresh()
        return self._bad

    def size(self) -> int:
        self._refresh()
        return self._size

    def _refresh(self) -> None:
        try:
            found = os.stat(self._home.log)  # noqa: PTH116
            size, inode = found.st_size, found.st_ino
        except FileNotFoundError:
            size, inode = 0, 0
        number = rewrites(self._home)
        same = (inode, number) == (self._inode, self._number)
        if same and size == self._size:
            return
        if not same or size < self._size or self._bad:
            self._chains, self._bad, self._size = resolve(()), [], 0
        reading = read(self._home, self._size)
        if reading.bad and self._size:  # line numbers count from the file's beginning
            self._chains = resolve(())
            reading = read(self._home)
        self._bad += reading.bad
        self._size, self._inode, self._number = reading.size, inode, number
        self._chains = extend(self._chains.copy(), reading.entries)  # others hold the old ones
