"""Reading a host's files: by complete lines, from an offset, in flat memory.

A line without its newline is still being written. It is not read, unless the session is
closing and the line is whole JSON all the same. A line beyond the size limit is passed
over without being loaded, and reported.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from wakebook.base.errors import TranscriptError

CHUNK = 1 << 20


class Line(msgspec.Struct, frozen=True):
    start: int
    end: int
    data: bytes  # without its newline; empty when `oversized`
    oversized: bool = False


def lines(path: Path, offset: int, limit: int, closing: bool = False) -> Iterator[Line]:
    """Complete lines from a byte offset on. `limit` is the largest line to load."""
    try:
        with path.open("rb", buffering=0) as stream:
            yield from _lines(stream.fileno(), offset, limit, closing)
    except OSError as error:
        raise TranscriptError(
            f"{path}: cannot be read ({error.strerror or error}). "
            "If the host moved or deleted the session, nothing more can be taken from it."
        ) from error


def _lines(descriptor: int, offset: int, limit: int, closing: bool) -> Iterator[Line]:
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
                yield Line(skipped, end, b"", oversized=True)
                skipped = -1
            elif len(piece) > limit:
                yield Line(start, end, b"", oversized=True)
            else:
                yield Line(start, end, piece)
            start = end
        if len(rest) > limit or skipped >= 0:
            skipped = start if skipped < 0 else skipped
            start += len(rest)
            rest = b""
    if closing and rest and skipped < 0 and _is_json(rest):
        yield Line(start, start + len(rest), rest)


def _is_json(data: bytes) -> bool:
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
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
            head = stream.read(4096)
    except OSError as error:
        raise TranscriptError(f"{path}: {error.strerror}.") from error
    line, newline, _ = head.partition(b"\n")
    if not newline and len(head) < 4096:
        return ""  # the first line is not complete yet
    return hashlib.sha256(line).hexdigest()[:16]


def tail(path: Path, position: int) -> str:
    """A fingerprint of the bytes just before a position: were they changed since?"""
    start = max(0, position - 256)
    return digest(path, start, position)[:16] if position else ""


def digest(path: Path, start: int, end: int) -> str:
    """SHA-256 of a byte range."""
    sha = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            stream.seek(start)
            left = end - start
            while left > 0 and (chunk := stream.read(min(CHUNK, left))):
                sha.update(chunk)
                left -= len(chunk)
    except OSError as error:
        raise TranscriptError(f"{path}: {error.strerror}.") from error
    if left:
        raise TranscriptError(f"{path}: ends before byte {end}; the host has cut it short.")
    return sha.hexdigest()
