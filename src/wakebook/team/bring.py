"""Bring: how a working copy follows its rows.

What only writers need, git's history and uploads, comes when the whole copy is wanted: a question
does not wait for it. All of it is read in one transaction of the caller's, as it was at one moment,
together with the index: so a reader never sees files of one state and an index of another.
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from wakebook.base.errors import WakebookError
from wakebook.base.home import PREFIX
from wakebook.team import bundles
from wakebook.team.bundles import Refs
from wakebook.team.rows import Manifest, Rowed, removed, stat_of

if TYPE_CHECKING:
    from psycopg import Connection

    from wakebook.team.database import Row

_STANDING = b"""
    SELECT version, change, refs, most_dollars,
        (SELECT digest FROM wakebook.file WHERE path = 'config.toml' AND NOT gone),
        (SELECT value::bigint FROM wakebook_index.meta WHERE key = 'home'),
        (SELECT value::bigint FROM wakebook_index.meta WHERE key = 'version'),
        (SELECT jsonb_object_agg(tenant, name) FROM wakebook.readable())
    FROM wakebook.home"""


class Standing(NamedTuple):
    """How far a tenant is, at one moment."""

    version: int
    change: int
    refs: Refs
    most: float | None  # dollars a month for models
    config: bytes  # the sum of config.toml
    indexed: int  # the version that the index is of; -1: there is none
    edition: int  # of the index
    beside: dict[int, str]  # the team memories that it may read


def standing(connection: Connection[Row], tenant: int) -> Standing:
    """Where the tenant of this transaction is."""
    found = connection.execute(_STANDING, prepare=True).fetchone()
    if found is None:
        raise removed(tenant)
    version, change, refs, most, config, indexed, edition, beside = found
    return Standing(
        version,
        change,
        msgspec.convert(refs, Refs),
        most,
        bytes(config or b""),
        -1 if indexed is None else indexed,
        edition or 0,
        {int(number): name for number, name in sorted((beside or {}).items())},
    )


def behind(manifest: Manifest, now: Standing, *, whole: bool) -> bool:
    """Whether a working copy lacks something."""
    lacks = whole and (manifest.whole != now.change or manifest.refs != now.refs)
    return manifest.change != now.change or not manifest.files or lacks


def refresh(
    connection: Connection[Row], root: Path, manifest: Manifest, now: Standing, *, whole: bool
) -> set[str]:
    """Bring a working copy up to date: the paths that have changed. It must be as it was left."""
    rows = connection.execute(
        "SELECT path, epoch, size, digest, mode, segments, gone, modified FROM wakebook.file "
        "WHERE CASE WHEN path LIKE 'uploads/%%' THEN change > %s ELSE change > %s END",
        (manifest.whole if whole else now.change, manifest.change),
    ).fetchall()
    for path, epoch, size, digest, mode, segments, gone, modified in rows:
        if gone:
            (root / path).unlink(missing_ok=True)
            manifest.files.pop(path, None)
            continue
        stat = _brought(connection, root, manifest, path, epoch, size, mode, modified)
        manifest.files[path] = Rowed(epoch, size, digest, segments, stat)
    old = manifest.refs
    if whole and now.refs != old:
        since = old.last if old.first == now.refs.first and old.head else 0
        data = connection.execute(
            "SELECT data FROM wakebook.bundle WHERE number > %s AND number >= %s ORDER BY number",
            (since, now.refs.first),
        )
        bundles.restore(root, old, now.refs, [bytes(one) for (one,) in data])
        manifest.refs = now.refs
    manifest.version, manifest.change, manifest.most = now.version, now.change, now.most
    manifest.whole = now.change if whole else manifest.whole
    return {row[0] for row in rows}


def settings_alone(connection: Connection[Row], root: Path) -> None:
    """Write config.toml into a copy that has nothing yet: a search needs no more."""
    found = connection.execute(
        "SELECT data FROM wakebook.segment JOIN wakebook.file USING (tenant, path, epoch) "
        "WHERE path = 'config.toml' AND NOT gone ORDER BY place"
    )
    (root / "config.toml").write_bytes(b"".join(bytes(data) for (data,) in found))


def _brought(
    connection: Connection[Row],
    root: Path,
    manifest: Manifest,
    path: str,
    epoch: int,
    size: int,
    mode: int,
    modified: int | None,
) -> tuple[int, int, int]:
    """Write a file, or the end that it lacks."""
    target, known = root / path, manifest.files.get(path)
    same = known and known.epoch == epoch and target.is_file() and stat_of(target) == known.stat
    start = known.size if known and same else 0
    found: Any = connection.cursor().stream(  # a large file is never in memory
        "SELECT data FROM wakebook.segment WHERE path = %s AND epoch = %s AND place >= %s "
        "ORDER BY place",
        (path, epoch, start),
    )
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    scratch = target if start else target.with_name(f"{PREFIX}{target.name[:100]}.tmp")
    if not start:
        scratch.unlink(missing_ok=True)
    with closing(found), scratch.open("ab") as stream:  # or its connection waits for the rest
        for (data,) in found:
            stream.write(data)
    if not start:
        scratch.chmod(mode)
        scratch.replace(target)
    if modified is not None:
        os.utime(target, ns=(modified, modified))
    now = stat_of(target)
    if now[0] != size:
        tenant = connection.execute("SELECT current_setting('wakebook.tenant')").fetchone()
        said = tenant[0] if tenant else "?"
        raise WakebookError(f"{path} of tenant {said} has {now[0]} of {size} bytes.")
    return now
