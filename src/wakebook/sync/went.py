"""Went: how the last sync went (.cache/sync.json), for `status` and for the next one."""

from __future__ import annotations

from datetime import datetime

import msgspec

from wakebook.base import clock
from wakebook.base.decode import decode
from wakebook.base.home import Home
from wakebook.sync import carry

FILE = "sync.json"  # in .cache
SHOWN = 300


class Went(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the last one went."""

    at: datetime | None = None
    commit: str = ""  # what this machine and the remote had in common then
    before: str = ""  # our commit before the last one that has brought something
    brought: datetime | None = None  # when that was
    failed_at: datetime | None = None
    failures: int = 0
    error: str = ""
    offline: bool = False  # the remote could not be reached
    notes: tuple[str, ...] = ()


def load(home: Home) -> Went:
    try:
        return decode((home.cache / FILE).read_bytes(), Went)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return Went()


def save(home: Home, went: Went) -> None:
    home.replace(home.cache / FILE, msgspec.json.encode(went))


def failed(home: Home, error: Exception) -> None:
    known, offline = load(home), isinstance(error, carry.Offline)
    said = " ".join(str(error).split())[:SHOWN]
    if said != known.error:
        home.trace("sync", error=said)
    save(
        home,
        msgspec.structs.replace(
            known, failed_at=clock.now(), failures=known.failures + 1, error=said, offline=offline
        ),
    )
