"""Objects of git: read through one process, written into one pack.

A file to which lines are only added has as many versions as there are commits, each nearly as long
as the newest one: 3,000 versions of a log of 20 MB unpack to 29 GB. So a version that begins a
longer one is never read: git's name for it is a hash of its bytes, and that of the longer one's
beginning is the same. And when it is written, it is written as the lines that it has more.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from wakebook.base.errors import GitError
from wakebook.history.repository import Repository, environment, run

LONG = 24 * 3600.0  # seconds that git may take
HEADER = 12  # bytes of a pack before its first entry
FAR = 1 << 31  # places from here on need eight bytes
BLOB, DELTA = 3, 7  # kinds of entries in a pack
COPIED = 0xFFFFFF  # bytes that one instruction of a delta copies, at most
LINE_END = ord("\n")
ADDED = 127  # or adds
RECENT = 3  # versions that an older one may be the beginning of: branches take turns


class Objects:
    """What git keeps. Nothing that was written is there before `close`."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self.folder = repository.common / "objects"
        self.digest = repository.attempt("rev-parse", "--show-object-format").text.strip() or "sha1"
        self._reader: subprocess.Popen[bytes] | None = None
        self._pack: _Pack | None = None

    @property
    def size(self) -> int:
        """Bytes of an id."""
        return hashlib.new(self.digest).digest_size

    def read(self, name: str) -> tuple[str, bytes]:
        """The type and the bytes of an object."""
        process = self._reader = self._reader or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(name.encode() + b"\n")
        process.stdin.flush()
        head = process.stdout.readline().split()
        if len(head) != 3:
            raise GitError(
                f"git cannot read {name} in {self._repository.top}: its history is damaged. "
                "`git fsck` there says more. Nothing was changed."
            )
        data = process.stdout.read(int(head[2]))
        process.stdout.read(1)
        return head[1].decode(), data

    def name(self, kind: str, data: bytes | memoryview) -> str:
        found = hashlib.new(self.digest, f"{kind} {len(data)}\0".encode())
        found.update(data)
        return found.hexdigest()

    def write(self, kind: str, data: bytes) -> str:
        name = self.name(kind, data)
        if kind == "blob":
            self._packed().add(name, BLOB, data)
            return name
        path = self.folder / name[:2] / name[2:]
        if not path.exists():
            path.parent.mkdir(mode=0o700, exist_ok=True)
            temporary = path.with_name(f"tmp_obj_{os.getpid()}")
            temporary.write_bytes(zlib.compress(f"{kind} {len(data)}\0".encode() + data, 1))
            temporary.chmod(0o444)
            temporary.replace(path)
        return name

    def write_beginnings(self, data: bytes, sizes: Sequence[int]) -> list[str]:
        """Beginnings of these sizes, each longer than the one before, and their names. Each is
        written as what it has more than a shorter one: no more than a few lead to each other, and
        most of them are short."""
        view, names = memoryview(data), [self.name("blob", memoryview(data)[:n]) for n in sizes]
        for number, size in enumerate(sizes):
            base = number & (number - 1)  # without its lowest bit
            if not number or not sizes[base]:
                self._packed().add(names[number], BLOB, view[:size])
                continue
            more, begin = _delta(view, sizes[base], size), bytes.fromhex(names[base])
            self._packed().add(names[number], DELTA, more, begin)
        return names

    def close(self) -> None:
        """Everything is written when this is done. Raises GitError."""
        if self._pack is not None:
            self._pack.store()
        self.abandon()

    def abandon(self) -> None:
        if self._reader is not None and self._reader.poll() is None:
            self._reader.kill()
            self._reader.communicate()
        if self._pack is not None:
            self._pack.close()
        self._reader = self._pack = None

    def _packed(self) -> _Pack:
        if self._pack is None:
            self._pack = _Pack(self.folder / "pack", self.digest)
        return self._pack

    def _started(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["git", "-c", "core.bigFileThreshold=2g", "cat-file", "--batch"],
            cwd=self._repository.root,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def sizes(self, names: Sequence[str]) -> dict[str, int]:
        """How long these objects are."""
        given = "".join(f"{name}\n" for name in names).encode()
        told = run(self._repository.root, ["cat-file", "--batch-check"], given=given, timeout=LONG)
        found = {}
        for name, line in zip(names, told.text.splitlines(), strict=True):
            words = line.split()
            found[name] = int(words[2]) if len(words) == 3 else len(self.read(name)[1])
        return found

    def every(self) -> Iterator[tuple[str, str, bytes]]:
        """All objects, whether anything leads to them or not: name, type, bytes. The largest come
        in the order of their size, so that versions of a growing file follow each other."""
        command = ["cat-file", "--batch-all-objects", "--batch-check"]
        lines = run(self._repository.root, command, timeout=LONG).text.splitlines()
        for _, name in sorted((int(line.split()[2]), line.split()[0]) for line in lines):
            yield name, *self.read(name)


def unpacked(repository: Repository) -> Iterator[tuple[str, str, bytes]]:
    """Every object that git has, whether anything leads to it or not: name, type and bytes."""
    objects = Objects(repository)
    try:
        yield from objects.every()
    finally:
        objects.abandon()


# --- a pack ----------------------------------------------------------------------------------
class _Pack:
    """Objects on their way into git. Killed, its file is one that `leftovers` removes."""

    def __init__(self, folder: Path, digest: str) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self._path, self._digest = folder / f"tmp_pack_{os.getpid()}", digest
        self.stream = self._path.open("w+b")
        self.stream.write(bytes(HEADER))
        self._at = HEADER
        self._entries: dict[bytes, tuple[int, int]] = {}  # name -> sum, offset

    def add(self, name: str, kind: int, data: bytes | memoryview, base: bytes = b"") -> None:
        called = bytes.fromhex(name)
        if called in self._entries:
            return
        first, left = len(data) & 15, len(data) >> 4
        head = bytes([kind << 4 | first | (128 if left else 0)]) + (_number(left) if left else b"")
        entry = head + base + zlib.compress(data, 1)
        self.stream.write(entry)
        self._entries[called] = zlib.crc32(entry), self._at
        self._at += len(entry)

    def store(self) -> None:
        """Give it to git: first the objects, then the list by which git finds them."""
        self.stream.seek(0)
        self.stream.write(b"PACK" + _int(2) + _int(len(self._entries)))
        self.stream.seek(0)
        found = hashlib.file_digest(self.stream, self._digest).digest()
        self.stream.write(found)
        self.stream.flush()
        listed = self._path.with_name(f"tmp_idx_{os.getpid()}")
        listed.write_bytes(self._listed(found))
        for path in (self._path, listed):
            with path.open("rb+") as stream:
                os.fsync(stream.fileno())
            path.chmod(0o444)
        self._path.replace(self._path.with_name(f"pack-{found.hex()}.pack"))
        listed.replace(self._path.with_name(f"pack-{found.hex()}.idx"))

    def _listed(self, found: bytes) -> bytes:
        """The names in their order, with the sum and the place of each (gitformat-pack, v2)."""
        names = sorted(self._entries)
        places = [self._entries[name][1] for name in names]
        far = [place for place in places if place >= FAR]
        firsts = Counter(name[0] for name in names)
        parts = [b"\xfftOc" + _int(2)]
        parts += map(_int, accumulate(firsts[first] for first in range(256)))
        parts += names
        parts += [_int(self._entries[name][0]) for name in names]
        parts += [_int(place if place < FAR else FAR + far.index(place)) for place in places]
        parts += [place.to_bytes(8, "big") for place in far]
        data = b"".join([*parts, found])
        return data + hashlib.new(self._digest, data).digest()

    def close(self) -> None:
        self.stream.close()
        self._path.unlink(missing_ok=True)


def _int(value: int) -> bytes:
    return value.to_bytes(4, "big")


def _delta(data: memoryview, base: int, size: int) -> bytes:
    """From a beginning of these bytes to a longer one."""
    parts = [_number(base), _number(size)]
    for at in range(0, base, COPIED):
        parts.append(b"\xff" + at.to_bytes(4, "little"))
        parts.append(min(COPIED, base - at).to_bytes(3, "little"))
    for at in range(base, size, ADDED):
        more = data[at : min(at + ADDED, size)]
        parts += [bytes([len(more)]), bytes(more)]
    return b"".join(parts)


def _number(value: int) -> bytes:
    """In groups of seven bits, the lowest first."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


# --- files that grow -------------------------------------------------------------------------
class Longest(NamedTuple):
    """A version of a file that grows, and those that it begins with: sizes and names."""

    name: str
    shorter: list[tuple[int, str]]


class Growth:
    """Which versions of a file are beginnings of others. What was found once stays true."""

    def __init__(self) -> None:
        self._begins: dict[str, tuple[str, int]] = {}  # version -> a longer one, its own size

    def found(self, repository: Repository, objects: Objects, path: str) -> list[Longest]:
        """The longest versions, from the newest on, each with all that are in it."""
        command = ["rev-list", "--objects", "--all", "--full-history", "--", path]
        lines = run(repository.root, command, check=False, timeout=LONG).text.splitlines()
        whole = path if repository.own else f"{repository.prefix}/{path}"
        names = [line.split(" ", 1)[0] for line in lines if line.endswith(f" {whole}")]
        there = set(names)
        new = [name for name in names if self._begins.get(name, ("", 0))[0] not in there]
        sizes = objects.sizes(new)
        recent: list[tuple[str, memoryview]] = []
        for name, size in sizes.items():
            fitting = (
                longer
                for longer, data in recent
                if size <= len(data)
                and data[size - 1] == LINE_END
                and objects.name("blob", data[:size]) == name
            )
            if size and (longer := next(fitting, "")):
                self._begins[name] = longer, size
                continue
            recent = [(name, memoryview(objects.read(name)[1])), *recent[: RECENT - 1]]
            self._begins[name] = name, size
        groups: dict[str, list[tuple[int, str]]] = {}
        for name in names:
            longer, size = self._begins[name]
            groups.setdefault(longer, []).append((size, name))
        return [Longest(name, sorted(shorter)) for name, shorter in groups.items()]
