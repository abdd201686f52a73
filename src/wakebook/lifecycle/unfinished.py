"""Unfinished: a rewrite that is under way, written down until it is committed.

The record stands in .cache/rewriting.json from before the first file changes until the rewrite
has its commit. If that commit fails, or the process is killed, the next one finds it there and
makes the commit first: so a rewrite is never committed among other things, without the line that
`undo` looks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakSet

import msgspec

from wakebook.home import Home

FILE = "rewriting.json"  # in the cache
OTHER = {"knowledge": "archive", "archive": "knowledge"}

_under_way: WeakSet[Home] = WeakSet()  # a home that is locked has one object, and one thread


class Unfinished(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    summary: str
    name: str
    paths: tuple[str, ...]  # relative to the home

    def files(self, home: Home) -> list[Path]:
        """What is to be committed: also where a note has moved to, if nobody could say it."""
        found = [home.root / name for name in self.paths]
        for path in [path for path in found if not path.exists()]:
            top, _, rest = home.relative(path).partition("/")
            target = home.root / OTHER.get(top, top) / rest
            found += [target] if target not in found and target.exists() else []
        return found


def load(home: Home) -> Unfinished | None:
    """What is left to be committed; nothing while a rewrite is under way in this process."""
    if home in _under_way:
        return None
    with suppress(FileNotFoundError, msgspec.MsgspecError, UnicodeDecodeError):
        return msgspec.json.decode((home.cache / FILE).read_bytes(), type=Unfinished)
    return None


def save(home: Home, found: Unfinished) -> None:
    home.replace(home.cache / FILE, msgspec.json.encode(found))


def clear(home: Home) -> None:
    (home.cache / FILE).unlink(missing_ok=True)


@contextmanager
def under_way(
    home: Home, kind: str, summary: str, name: str, touched: Sequence[Path]
) -> Iterator[None]:
    """Around the rewrite itself. `touched` may grow meanwhile."""

    def note() -> None:
        paths = tuple(home.relative(path) for path in dict.fromkeys(touched))
        save(home, Unfinished(kind=kind, summary=summary, name=name, paths=paths))

    note()
    _under_way.add(home)
    try:
        yield
    finally:
        _under_way.discard(home)
        note()
