"""Export: chats and memories from elsewhere, in the terms of this home.

A conversation is talk between a person and an assistant, or the items of one old memory file;
its channel says which. A part that cannot be read becomes a `Bad` and stops nothing else.

A data export of chats is a zip, a folder or a bare JSON file. Nothing is ever unpacked to disk:
a zip's member is read into memory, up to a limit, and its name is only compared, so that a name
that leads out of the folder leads nowhere.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Literal, TypeVar

import msgspec

from wakebook.base.errors import TranscriptError

T = TypeVar("T")

BETWEEN = " › "  # headings, in the line above an item
LARGEST = 2 << 30  # bytes of one JSON file
SUSPECT = 64 << 20  # a member larger than this is looked at twice
RATIO = 200  # of a member to what it is compressed to: text reaches 20
DEPTH = 3  # folders below the one that was named
WANTED = re.compile(r"conversations(?:[-_]\d+)?\.json")
_RAWS = msgspec.json.Decoder(list[msgspec.Raw])


class Post(msgspec.Struct, frozen=True, kw_only=True):
    """One message, or one item of a memory."""

    role: Literal["user", "assistant"]
    text: str
    id: str = ""  # the source's own; empty: the text identifies it
    at: datetime | None = None
    model: str = ""


class Memo(msgspec.Struct, frozen=True):
    """One thing that an old memory says."""

    headings: tuple[str, ...]
    text: str  # Markdown, as it stands in the note

    def told(self) -> str:
        """The item as a message: its headings in a line above it."""
        above = f"# {BETWEEN.join(self.headings)}\n\n" if self.headings else ""
        return above + self.text

    @classmethod
    def parse(cls, message: str) -> Memo:
        """The inverse of `told`."""
        first, _, rest = message.partition("\n")
        if not first.startswith("# "):
            return cls((), message.strip("\n"))
        return cls(tuple(first[2:].split(BETWEEN)), rest.strip("\n"))


class Thread(msgspec.Struct, frozen=True, kw_only=True):
    id: str  # the same in every later export
    name: str  # for people
    channel: str
    pieces: tuple[Post, ...]
    skipped: Mapping[str, int] = {}  # why messages were left out -> how many


class Bad(msgspec.Struct, frozen=True):
    """A part of an export that cannot be read."""

    name: str
    why: str


class Passed(Bad, frozen=True):
    """A file that is not part of a memory, and why."""


Part = Thread | Bad


class Export(msgspec.Struct, frozen=True):
    count: int  # of the parts, for a progress bar
    parts: Iterator[Part]


class Member(msgspec.Struct, frozen=True):
    """One JSON file of a data export."""

    name: str
    path: Path
    entry: str = ""  # in the zip at `path`


class _Object(msgspec.Struct):
    conversations: list[msgspec.Raw] | None = None


def required(path: Path) -> None:
    """Raises TranscriptError if there is nothing at a path, or nothing that can be read."""
    if not path.exists():
        raise TranscriptError(f"{path}: no such file or folder. Check the path.")
    if not path.is_dir() and not path.is_file():
        raise TranscriptError(f"{path}: neither a file nor a folder.")
    if not os.access(path, os.R_OK):
        raise TranscriptError(f"{path}: no permission to read it. Check its permissions.")


def talk(channel: str, id_: str, name: str | None, found: Iterable[Post | str]) -> Thread:
    """A conversation of what was found in one: messages, and why others were left out."""
    pieces: list[Post] = []
    skipped: Counter[str] = Counter()
    for one in found:
        if isinstance(one, Post) and one.text:
            pieces.append(one)
        else:
            skipped["empty" if isinstance(one, Post) else one] += 1
    return Thread(
        id=id_, name=name or id_, channel=channel, pieces=tuple(pieces), skipped=dict(skipped)
    )


def path_to(leaf: str | None, nodes: Mapping[str, T], parent: Callable[[T], str | None]) -> list[T]:
    """The nodes of a tree from its root to a leaf. A circle ends where it closes."""
    path: dict[str, T] = {}
    while leaf and leaf in nodes and leaf not in path:
        path[leaf] = nodes[leaf]
        leaf = parent(path[leaf])
    return list(reversed(path.values()))


def conversations(path: Path, kind: type[T], made: Callable[[T], Thread], whose: str) -> Export:
    """Every conversation at a path; one that is broken does not stop the others.

    The files of a sharded export are read one after the other: its count is an estimate.
    """
    found = members(path)
    first = _raws(found[0]) if found else []

    def part(raw: msgspec.Raw | Bad, number: int) -> Part:
        if isinstance(raw, Bad):
            return raw
        try:
            return made(msgspec.json.decode(raw, type=kind))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            return Bad(f"conversation {number}", f"not as {whose} writes one ({error})")

    def raws() -> Iterator[msgspec.Raw | Bad]:
        yield from first
        for member in found[1:]:
            yield from _raws(member)

    parts = (part(raw, number) for number, raw in enumerate(raws(), 1))
    return Export(len(first) * len(found), parts)


def members(path: Path) -> list[Member]:
    """The conversation files at a path, in their order. Raises TranscriptError."""
    required(path)
    if path.is_dir():
        return [Member(str(found), found) for found in _below(path)]
    if path.suffix.lower() != ".zip":
        return [Member(str(path), path)]
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(one.filename for one in archive.infolist() if not one.is_dir())
    except (zipfile.BadZipFile, OSError) as error:
        raise TranscriptError(
            f"{path}: not a zip file, or only a part of one ({error}). Download it again."
        ) from error
    return [
        Member(f"{path}: {name}", path, name)
        for name in names
        if WANTED.fullmatch(PurePosixPath(name).name) and not name.startswith("__MACOSX")
    ]


def _below(folder: Path) -> Iterator[Path]:
    top = len(folder.parts)
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith((".", "__MACOSX")))
        if len(Path(place).parts) - top >= DEPTH:
            folders.clear()
        yield from (Path(place, name) for name in sorted(names) if WANTED.fullmatch(name))


def _raws(member: Member) -> list[msgspec.Raw | Bad]:
    """The conversations of one file, not decoded yet."""
    try:
        return _split(_data(member))
    except TranscriptError as error:
        return [Bad(member.name, str(error))]
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        return [Bad(member.name, f"not the JSON of an export ({error}). Download it again.")]


def _data(member: Member) -> bytes:
    """What a file holds. Raises TranscriptError with what is wrong with it."""
    try:
        if not member.entry:
            _check_size(member.path.stat().st_size)
            return member.path.read_bytes()
        with zipfile.ZipFile(member.path) as archive:
            return _unpacked(archive, archive.getinfo(member.entry))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise TranscriptError(
            f"this part of the zip is damaged ({error}). Download it again."
        ) from error
    except OSError as error:
        raise TranscriptError(
            f"cannot be read ({error.strerror or error}). Check its permissions."
        ) from error


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    size, packed = info.file_size, info.compress_size
    if info.flag_bits & 1:
        raise TranscriptError("is encrypted. Unpack it, then import the folder.")
    _check_size(size)
    if size > SUSPECT and size > RATIO * max(packed, 1):
        raise TranscriptError(
            f"would unpack {packed:,} bytes to {size:,}, which no chat does: refused. If it is "
            "yours, unpack it and import the folder."
        )
    with archive.open(info) as stream:  # which gives no more than the size that it says
        return stream.read(size + 1)


def _check_size(size: int) -> None:
    if size > LARGEST:
        raise TranscriptError(f"{size:,} bytes are more than can be read at once ({LARGEST:,}).")


def _split(data: bytes) -> list[msgspec.Raw | Bad]:
    try:
        if data.lstrip()[:1] != b"{":
            return [*_RAWS.decode(data)]
        inside = msgspec.json.decode(data, type=_Object).conversations
        return [msgspec.Raw(data)] if inside is None else [*inside]
    except (msgspec.DecodeError, UnicodeDecodeError):
        # half a surrogate pair, say, costs a character and not an export
        text = json.dumps(json.loads(data.decode("utf-8-sig", "replace")), ensure_ascii=False)
        mended = text.encode("utf-8", "replace")
        if mended == data:
            raise
        return _split(mended)
