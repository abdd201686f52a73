"""Rows: a home in the database, and how a working copy follows it and adds to it.

A file is its segments, so that an append costs what it adds. There are three kinds of files:

    own     the memory itself: a commit checks that its version has not moved meanwhile
    spool   conversations, which only grow (sessions/, uploads/): a commit checks that file alone,
            so that what is being said never disturbs what is being read
    loose   notes about the work (trace.jsonl, costs/): lines are added, else the last one wins

Everything of a commit happens in one transaction: files, history, version, counters, and the name
of the work, so that the same work is never done twice. Times are the database's.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from wakebook.base import clock
from wakebook.base.errors import Locked, NotFound, OverQuota, WakebookError
from wakebook.base.home import PREFIX
from wakebook.team import bundles
from wakebook.team.bundles import Refs
from wakebook.team.database import Database

if TYPE_CHECKING:
    from psycopg import Connection

    from wakebook.team.database import Row

PIECE = 1 << 20  # bytes of a segment, at most
SOON = 30  # minutes after a change, the tenant's jobs look at it
MANY = 200  # segments of a file, before it is written as one
SPOOL = ("sessions/", "uploads/")
LOOSE = ("trace.jsonl", "trace.old.jsonl", "fired.json", ".cache/briefing.json")
COSTS = re.compile(r"costs/\d{4}-\d\d\.jsonl")  # loose as well: what was paid for is never lost
REWRITES = ".cache/rewrites"  # which log it is: it has to be the same in every working copy
LEFT = tuple(  # of one machine alone
    ".cache .git token machine.json machine.toml sync.key server.json unsent .lock scratch".split()
)


class Overtaken(WakebookError):
    """Another commit came first: what was done is thrown away, and done again."""


class Rowed(msgspec.Struct, frozen=True, array_like=True):
    """A file as it was when it was last like its rows."""

    epoch: int
    size: int
    digest: bytes
    segments: int
    stat: tuple[int, int, int] = (0, 0, 0)  # size, time, inode


class Manifest(msgspec.Struct):
    """What a working copy has."""

    version: int = 0
    change: int = 0
    refs: Refs = Refs()
    files: dict[str, Rowed] = {}
    most: float | None = None  # dollars a month for models
    whole: int = 0  # how far what only writers need is here (see bring)


class Delta(NamedTuple):
    """How a file differs from its rows."""

    path: str
    start: int  # the byte from which it is new; 0: all of it
    size: int  # -1: it is gone
    digest: bytes
    mode: int
    stat: tuple[int, int, int]


class Committed(NamedTuple):
    manifest: Manifest
    result: bytes
    again: bool = False  # it had been done before


def kind_of(path: str) -> str:
    if path.startswith(SPOOL):
        return "spool"
    return "loose" if path in LOOSE or COSTS.fullmatch(path) else "own"


# --- the working copy ----------------------------------------------------------------------------


def stat_of(path: Path | os.DirEntry[str]) -> tuple[int, int, int]:
    found = path.stat(follow_symlinks=False)
    return found.st_size, found.st_mtime_ns, found.st_ino


def walk(root: Path, below: str = "") -> Iterator[tuple[str, os.DirEntry[str]]]:
    """The files of a home that are rows."""
    if below == "" and (root / ".cache").is_dir():
        with os.scandir(root / ".cache") as found:
            yield from ((REWRITES, one) for one in found if one.name == "rewrites")
    with os.scandir(root / below if below else root) as found:
        for one in found:
            name = f"{below}{one.name}"
            if below == "" and (one.name in LEFT or one.name.startswith("index.db")):
                continue
            if one.is_dir(follow_symlinks=False):
                yield from walk(root, f"{name}/")
            elif one.is_file(follow_symlinks=False) and not one.name.startswith(PREFIX):
                yield name, one


def differences(root: Path, manifest: Manifest, *, loose: bool = False) -> list[Delta]:
    """What has changed in a working copy; `loose`: of the loose files alone, which is quick."""
    found: list[Delta] = []
    seen: set[str] = set()
    costs = [f"costs/{path.name}" for path in (root / "costs").glob("????-??.jsonl")]
    for name in (*LOOSE, *costs):
        path = root / name
        if path.is_file():
            seen.add(name)
            if (now := stat_of(path)) != _known(manifest, name):
                found.append(_delta(path, name, now, manifest.files.get(name)))
    if loose:
        return found
    for name, entry in walk(root):
        if name not in seen:
            seen.add(name)
            if (now := stat_of(entry)) != _known(manifest, name):
                found.append(_delta(root / name, name, now, manifest.files.get(name)))
    gone = (name for name in manifest.files if name not in seen)
    found += [Delta(name, 0, -1, b"", 0, (0, 0, 0)) for name in gone]
    return [one for one in found if not _same(one, manifest.files.get(one.path))]


def _known(manifest: Manifest, name: str) -> tuple[int, int, int] | None:
    known = manifest.files.get(name)
    return known.stat if known else None


def _same(delta: Delta, known: Rowed | None) -> bool:
    """Whether it was only touched."""
    return known is not None and (delta.size, delta.digest) == (known.size, known.digest)


def _delta(path: Path, name: str, stat: tuple[int, int, int], known: Rowed | None) -> Delta:
    whole, begun = hashlib.sha256(), b""
    left = known.size if known and known.size <= stat[0] else -1
    with path.open("rb") as stream:
        while data := stream.read(min(PIECE, left) if left > 0 else PIECE):
            whole.update(data)
            left -= len(data)
            if left == 0:
                begun = whole.digest()
        size, mode = stream.tell(), os.fstat(stream.fileno()).st_mode & 0o777
    start = known.size if known and known.size and begun == known.digest else 0
    return Delta(name, start, size, whole.digest(), mode, stat)


# --- into the database ---------------------------------------------------------------------------


def commit(
    connection: Connection[Row],
    tenant: int,
    root: Path,
    manifest: Manifest,
    deltas: list[Delta],
    *,
    work: str = "",
    result: bytes = b"",
    holder: str = "",
    made: bundles.Bundle | None = None,
    erased: bool = False,
) -> Committed:
    """Write what has changed, as a part of a transaction. Raises Overtaken, Locked, OverQuota."""
    own = bool(made) or any(kind_of(one.path) == "own" for one in deltas)
    home = _taken(connection, tenant)
    if work:
        before = connection.execute("SELECT result FROM done WHERE work = %s", (work,))
        if (found := before.fetchone()) is not None:
            return Committed(manifest, bytes(found[0]), again=True)
    if own and home.version != manifest.version:
        raise Overtaken(f"Tenant {tenant} was changed by another commit.")
    if own and home.held.startswith("!") and home.held != f"!{holder}":
        raise Locked("A long piece of work holds this memory. Try again in a few seconds.")
    now = Manifest(home.version + own, home.change + 1, manifest.refs, dict(manifest.files))
    now.most = home.most_dollars
    now.whole = now.change if manifest.whole == manifest.change else manifest.whole
    size = home.bytes + sum(_put(connection, root, manifest, now, one) for one in deltas)
    if made is not None:
        size += _history(connection, made)
        now.refs = made.refs
    _count(connection, home, root, size, deltas)
    refs = msgspec.json.encode(made.refs).decode() if made else None  # others may have moved them
    connection.execute(
        "UPDATE home SET version = %s, change = %s, refs = coalesce(%s::jsonb, refs), "
        "erased_at = CASE WHEN %s THEN clock_timestamp() ELSE erased_at END, "
        "due_at = least(due_at, now() + %s * interval '1 minute')",
        (now.version, now.change, refs, erased, SOON),
    )
    if work:
        connection.execute(
            "INSERT INTO done (tenant, work, result) VALUES (%s, %s, %s)",
            (tenant, work, result),
        )
    if home.change != manifest.change:
        now.change, now.whole = manifest.change, manifest.whole  # what others changed is to come
    if not own:
        now.version = manifest.version
    return Committed(now, result)


class _Home(NamedTuple):
    tenant: int
    version: int
    change: int
    held: str  # by whom, if anybody
    bytes: int
    entries: int
    dollars: float
    month: str
    most_bytes: int | None
    most_entries: int | None
    most_dollars: float | None


def removed(tenant: int) -> NotFound:
    return NotFound(f"There is no tenant {tenant} any more: it was removed.")


def _taken(connection: Connection[Row], tenant: int) -> _Home:
    """The home row, locked until this transaction ends: commits come one after another."""
    found = connection.execute(
        "SELECT tenant, version, change, "
        "CASE WHEN held_until > clock_timestamp() THEN holder ELSE '' END, "
        "bytes, entries, dollars, month, most_bytes, most_entries, most_dollars "
        "FROM home FOR UPDATE"
    ).fetchone()
    if found is None:
        raise removed(tenant)
    return _Home._make(found)


def _put(
    connection: Connection[Row], root: Path, manifest: Manifest, now: Manifest, one: Delta
) -> int:
    """Write a file's rows: how many bytes it has more than before."""
    found = connection.execute(
        "SELECT epoch, size, segments, gone FROM file WHERE path = %s", (one.path,)
    ).fetchone()
    known = now.files.pop(one.path, None)
    epoch, size, segments, gone = found or (0, 0, 0, True)
    mine = (known.epoch, known.size) if known else (0, 0)
    moved = mine != ((0, 0) if gone else (epoch, size))
    if moved and kind_of(one.path) != "loose":
        raise Overtaken(f"{one.path} was changed by another commit.")
    if one.size < 0:
        connection.execute("DELETE FROM segment WHERE path = %s", (one.path,))
        connection.execute(
            "UPDATE file SET gone = true, size = 0, segments = 0, change = %s WHERE path = %s",
            (now.change, one.path),
        )
        return -int(size)
    adds = bool(one.start) and not gone and segments < MANY
    if not adds:
        epoch, segments = epoch + 1, 0
        connection.execute("DELETE FROM segment WHERE path = %s", (one.path,))
    shift = size - one.start if adds else 0  # not 0: others have added lines meanwhile
    pieces = list(_pieces(root / one.path, one.start if adds else 0, one.size))
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO segment (tenant, path, epoch, place, data) "
            "VALUES (tenant(), %s, %s, %s, %s)",
            [(one.path, epoch, place + shift, data) for place, data in pieces],
        )
    grown = one.size + shift
    digest = b"" if moved else one.digest
    connection.execute(
        "INSERT INTO file (tenant, path, epoch, size, digest, mode, segments, change, modified) "
        "VALUES (tenant(), %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (tenant, path) DO UPDATE "
        "SET epoch = EXCLUDED.epoch, size = EXCLUDED.size, digest = EXCLUDED.digest, "
        "mode = EXCLUDED.mode, segments = EXCLUDED.segments, change = EXCLUDED.change, "
        "modified = EXCLUDED.modified, gone = false",
        (
            one.path,
            epoch,
            grown,
            digest,
            one.mode,
            segments + len(pieces),
            now.change,
            one.stat[1],
        ),
    )
    if not moved:  # else it comes with the next refresh
        now.files[one.path] = Rowed(epoch, grown, digest, segments + len(pieces), one.stat)
    return int(grown - size)


def _pieces(path: Path, start: int, size: int) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as stream:
        stream.seek(start)
        while start < size and (data := stream.read(min(PIECE, size - start))):
            yield start, data
            start += len(data)


def _history(connection: Connection[Row], made: bundles.Bundle) -> int:
    gone = 0
    if made.whole:
        old = connection.execute("SELECT coalesce(sum(length(data)), 0) FROM bundle").fetchone()
        gone = int(old[0]) if old else 0
        connection.execute("DELETE FROM bundle")
    if made.data:
        number = made.refs.last
        connection.execute("INSERT INTO bundle VALUES (tenant(), %s, %s)", (number, made.data))
    return len(made.data) - gone


def append(
    db: Database, tenant: int, path: str, offset: int, data: bytes, *, anew: bool = False
) -> int:
    """Add a piece to a spooled file: its size. If the file has another size than `offset`, nothing
    is added. `anew`: it begins again with this piece."""
    assert kind_of(path) == "spool" and len(data) <= PIECE
    with db.tenant(tenant) as connection:
        home = _taken(connection, tenant)
        found = connection.execute(
            "SELECT epoch, size, segments FROM file WHERE path = %s AND NOT gone", (path,)
        ).fetchone()
        epoch, size, segments = found or (0, 0, 0)
        if anew:
            connection.execute("DELETE FROM segment WHERE path = %s", (path,))
            before, epoch, size, segments = size, epoch + 1, 0, 0
        elif size != offset:
            return int(size)
        else:
            before = size
        grown = home.bytes + size + len(data) - before
        if home.most_bytes is not None and grown > home.most_bytes and data:
            raise over("bytes", home.most_bytes, grown)
        if data:
            connection.execute(
                "INSERT INTO segment (tenant, path, epoch, place, data) "
                "VALUES (tenant(), %s, %s, %s, %s)",
                (path, epoch, size, data),
            )
        connection.execute(
            "INSERT INTO file (tenant, path, epoch, size, digest, mode, segments, change) "
            "VALUES (tenant(), %s, %s, %s, '', 384, %s, %s) ON CONFLICT (tenant, path) DO UPDATE "
            "SET epoch = EXCLUDED.epoch, size = EXCLUDED.size, digest = '', "
            "segments = EXCLUDED.segments, change = EXCLUDED.change, modified = NULL, gone = false",
            (path, epoch, size + len(data), segments + 1, home.change + 1),
        )
        connection.execute(
            "UPDATE home SET change = change + 1, bytes = %s, "
            "due_at = least(due_at, now() + %s * interval '1 minute')",
            (grown, SOON),
        )
    return int(size + len(data))


def uploaded(db: Database, tenant: int, path: str) -> int:
    """How much of a spooled file there is."""
    with db.tenant(tenant) as connection:
        found = connection.execute(
            "SELECT size FROM file WHERE path = %s AND NOT gone", (path,)
        ).fetchone()
    return int(found[0]) if found else 0


# --- what a tenant may hold ----------------------------------------------------------------------


def _count(
    connection: Connection[Row], home: _Home, root: Path, size: int, deltas: Iterable[Delta]
) -> None:
    """Keep the counters, and refuse what goes beyond them. What shrinks is never refused, nor is
    what was paid for: a month's dollars are a limit for the next question to a model."""
    month, entries = clock.iso(clock.now())[:7], home.entries
    dollars = home.dollars if month == home.month else 0.0
    for one in deltas:
        if one.path == "log.jsonl":
            entries = _new(root, one).count(b"\n") + (entries if one.start else 0)
        elif one.path == f"costs/{month}.jsonl":
            dollars = _paid(_new(root, one)) + (dollars if one.start else 0.0)
    for name, value, before, most in (
        ("bytes", size, home.bytes, home.most_bytes),
        ("entries", entries, home.entries, home.most_entries),
    ):
        if most is not None and value > most and value > before:
            raise over(name, most, value)
    connection.execute(
        "UPDATE home SET bytes = %s, entries = %s, dollars = %s, month = %s",
        (size, entries, dollars, month),
    )


def over(name: str, most: int, value: int) -> OverQuota:
    return OverQuota(
        f"This memory may hold {most:,} {name}, and would have {value:,}. Nothing was changed. "
        "Erase something, or ask your administrator (`wakebook team quota`)."
    )


def _new(root: Path, one: Delta) -> bytes:
    return b"".join(data for _, data in _pieces(root / one.path, one.start, one.size))


def _paid(lines: bytes) -> float:
    """Dollars of the calls to models on some lines."""
    from wakebook.models.calls import decoded

    return sum(one.cost or 0.0 for one in decoded(lines))


def quota(db: Database, tenant: int) -> dict[str, Any]:
    """What a tenant holds and may hold."""
    names = "version change bytes entries dollars month most_bytes most_entries most_dollars"
    with db.tenant(tenant) as connection:
        found = connection.execute(f"SELECT {names.replace(' ', ', ')} FROM home".encode())  # noqa: S608
        row = found.fetchone()
    if row is None:
        raise removed(tenant)
    return dict(zip(names.split(), row, strict=True))
