"""Export: what somebody brings from elsewhere, in the terms of this home.

A conversation is talk between a person and an assistant, or the items of one old memory file;
its channel says which. What cannot be read is told as `Bad` and stops nothing else.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Literal, TypeVar

import msgspec

from wakebook.base.errors import TranscriptError


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One message, or one item of a memory."""

    role: Literal["user", "assistant"]
    text: str
    id: str = ""  # the source's own; empty: what it says identifies it
    at: datetime | None = None
    model: str = ""


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    id: str  # the same in every later export
    name: str  # for people
    channel: str
    lines: tuple[Line, ...]
    skipped: Mapping[str, int] = {}  # why messages were left out -> how many


class Bad(msgspec.Struct, frozen=True):
    """A part of an export that cannot be read."""

    name: str
    why: str


class Passed(msgspec.Struct, frozen=True):
    """A file that is none of a memory's, and why."""

    name: str
    why: str


Part = Conversation | Bad | Passed


class Export(msgspec.Struct, frozen=True):
    count: int  # of the parts, for a progress bar
    parts: Iterator[Part]


# -----------------------------------------------------------------------------
# Parcel: the JSON files of a data export, in its zip, in a folder, or bare.
#
# Nothing is ever unpacked to disk: a zip's member is read into memory, up to a limit, and its
# name is only compared. So a name that leads out of the folder leads nowhere.

T = TypeVar("T")

LARGEST = 2 << 30  # bytes of one JSON file
SUSPECT = 64 << 20  # a member larger than this is looked at twice
RATIO = 200  # of a member to what it is compressed to: text reaches 20
DEPTH = 3  # folders below the one that was named
WANTED = re.compile(r"conversations(?:[-_]\d+)?\.json")
_PARTS = msgspec.json.Decoder(list[msgspec.Raw])


class _Object(msgspec.Struct):
    conversations: list[msgspec.Raw] | None = None


class Member(msgspec.Struct, frozen=True):
    """One JSON file of an export."""

    name: str
    path: Path
    entry: str = ""  # in the zip at `path`

    def data(self) -> bytes:
        """Raises TranscriptError."""
        try:
            if not self.entry:
                return _limited(self.path)
            with zipfile.ZipFile(self.path) as archive:
                return _unpacked(archive, archive.getinfo(self.entry), self.name)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise TranscriptError(
                f"{self.name}: this part of the zip is damaged ({error}). Download it again."
            ) from error
        except OSError as error:
            raise TranscriptError(
                f"{self.name}: cannot be read ({error.strerror or error}). Check its permissions."
            ) from error


def members(path: Path) -> list[Member]:
    """The conversation files at a path, in their order. Raises TranscriptError."""
    required(path)
    if path.is_dir():
        return [Member(str(found), found) for found in _below(path)]
    if path.suffix.lower() == ".zip":
        return _zipped(path)
    return [Member(str(path), path)]


def conversations(
    path: Path, kind: type[T], made: Callable[[T], Conversation], whose: str
) -> Export:
    """Every conversation of an export; one that is broken does not stop the others."""

    def part(found: msgspec.Raw | Bad, number: int) -> Part:
        if isinstance(found, Bad):
            return found
        try:
            return made(msgspec.json.decode(found, type=kind))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            return Bad(f"conversation {number}", f"not as {whose} writes one ({error})")

    count, each = opened(path)
    return Export(count, (part(one, number) for number, one in enumerate(each, 1)))


def required(path: Path) -> None:
    """Raises if there is nothing at a path, or nothing that can be read."""
    if not path.exists():
        raise TranscriptError(f"{path}: no such file or folder. Check the path.")
    if not path.is_dir() and not path.is_file():
        raise TranscriptError(f"{path}: neither a file nor a folder.")
    if not os.access(path, os.R_OK):
        raise TranscriptError(f"{path}: no permission to read it. Check its permissions.")


def _below(folder: Path) -> list[Path]:
    found: list[Path] = []
    top = len(folder.parts)
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith((".", "__MACOSX")))
        if len(Path(place).parts) - top >= DEPTH:
            folders.clear()
        found += [Path(place, name) for name in sorted(names) if WANTED.fullmatch(name)]
    return found


def _zipped(path: Path) -> list[Member]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = [one.filename for one in archive.infolist() if not one.is_dir()]
    except (zipfile.BadZipFile, OSError) as error:
        raise TranscriptError(
            f"{path}: not a zip file, or only a part of one ({error}). Download it again."
        ) from error
    wanted = [
        name
        for name in names
        if WANTED.fullmatch(PurePosixPath(name).name) and not name.startswith("__MACOSX")
    ]
    return [Member(f"{path}: {name}", path, name) for name in sorted(wanted)]


def _limited(path: Path) -> bytes:
    if path.stat().st_size > LARGEST:
        raise TranscriptError(_too_large(str(path), path.stat().st_size))
    return path.read_bytes()


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> bytes:
    if member.flag_bits & 1:
        raise TranscriptError(f"{name}: is encrypted. Unpack it, then import the folder.")
    if member.file_size > LARGEST:
        raise TranscriptError(_too_large(name, member.file_size))
    swollen = member.file_size > RATIO * max(member.compress_size, 1)
    if member.file_size > SUSPECT and swollen:
        raise TranscriptError(
            f"{name}: would unpack {member.compress_size:,} bytes to {member.file_size:,}, which "
            "no chat does: refused. If it is yours, unpack it and import the folder."
        )
    with archive.open(member) as stream:  # which gives no more than the size that it says
        return stream.read(member.file_size + 1)


def _too_large(name: str, size: int) -> str:
    return f"{name}: {size:,} bytes are more than can be read at once ({LARGEST:,})."


def parts(member: Member) -> list[msgspec.Raw] | Bad:
    """The conversations of one file, not decoded yet."""
    try:
        return _split(member.data())
    except TranscriptError as error:
        return Bad(member.name, str(error).removeprefix(f"{member.name}: "))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        return Bad(member.name, f"not the JSON of an export ({error}). Download it again.")


def _split(data: bytes) -> list[msgspec.Raw]:
    try:
        if data.lstrip()[:1] != b"{":
            return _PARTS.decode(data)
        inside = msgspec.json.decode(data, type=_Object).conversations
        return [msgspec.Raw(data)] if inside is None else inside
    except (msgspec.DecodeError, UnicodeDecodeError):
        mended = _mended(data)
        if mended == data:
            raise
        return _split(mended)


def _mended(data: bytes) -> bytes:
    """Half a surrogate pair, say, costs a character and not an export."""
    text = json.dumps(json.loads(data.decode("utf-8-sig", "replace")), ensure_ascii=False)
    return text.encode("utf-8", "replace")


def opened(path: Path) -> tuple[int, Iterator[msgspec.Raw | Bad]]:
    """How many conversations lie at a path, and each of them.

    The files of a sharded export are read one after the other; of all but the first, the
    number is not known before.
    """
    found = members(path)
    first = parts(found[0]) if found else []
    count = (1 if isinstance(first, Bad) else len(first)) * len(found)

    def each() -> Iterator[msgspec.Raw | Bad]:
        for number, member in enumerate(found):
            inside = parts(member) if number else first
            if isinstance(inside, Bad):
                yield inside
            else:
                yield from inside

    return count, each()
