"""Fired: topics that wait for the next turn.

A webhook, a schedule, or something that the agent itself has said fires a topic; the next context
of that session (or of any main session, if none is named) brings it to the agent, once. A turn
claims what it tells before it tells it; a claim whose turn was killed ends after a minute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Annotated

import msgspec

from wakebook.base.errors import Locked
from wakebook.base.home import Home

NAME = "fired.json"
MOST = 100  # that wait, at most; the oldest go first
PAYLOAD = 4000  # characters
LOCK_SECONDS = 1.0
CLAIM = timedelta(minutes=1)


class Fired(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    topic: str
    why: str
    at: Annotated[datetime, msgspec.Meta(tz=True)]
    session: str = ""  # empty: any main session
    hint: str = ""
    payload: str = ""
    claimed: Annotated[datetime, msgspec.Meta(tz=True)] | None = None  # by a turn, since then

    def meets(self, session: str) -> bool:
        return self.session in ("", session)


def waiting(home: Home, now: datetime, hours: int) -> list[Fired]:
    """All that wait, oldest first. What has waited too long is left out."""
    path = home.root / NAME
    try:
        found = msgspec.json.decode(path.read_bytes(), type=list[Fired])
    except FileNotFoundError:
        return []
    except OSError as error:
        with suppress(OSError):
            home.trace("failure", where=NAME, error=str(error))
        return []
    except msgspec.DecodeError as error:
        with suppress(OSError):
            path.replace(path.with_suffix(".broken"))  # or it would be told at every turn
            home.trace("failure", where=NAME, error=f"{error}: it is kept as fired.broken")
        return []
    return [one for one in found if now - one.at < timedelta(hours=hours)]


def add(home: Home, news: Sequence[Fired], now: datetime, hours: int) -> None:
    """The same thing waits once."""
    if not news:
        return
    with home.locked():
        same = set(map(_same, news))
        before = [one for one in waiting(home, now, hours) if _same(one) not in same]
        _write(home, [*before, *news][-MOST:])


def _same(one: Fired) -> tuple[str, ...]:
    return one.topic, one.why, one.session, one.payload, one.hint


def claim(home: Home, wanted: Callable[[Fired], bool], now: datetime, hours: int) -> list[Fired]:
    """What this turn may tell: nobody else will, for a minute. Nothing if nobody may write."""
    if not any(wanted(one) and _free(one, now) for one in waiting(home, now, hours)):
        return []
    try:
        with home.locked(LOCK_SECONDS):
            all_ = waiting(home, now, hours)
            mine = [wanted(one) and _free(one, now) for one in all_]
            claimed = [
                msgspec.structs.replace(one, claimed=now) if own else one
                for one, own in zip(all_, mine, strict=True)
            ]
            _write(home, claimed)
            return [one for one, own in zip(claimed, mine, strict=True) if own]
    except (Locked, OSError):
        return []


def _free(one: Fired, now: datetime) -> bool:
    return one.claimed is None or not timedelta() <= now - one.claimed < CLAIM


def settle(
    home: Home, claimed: Sequence[Fired], told: Sequence[Fired], now: datetime, hours: int
) -> None:
    """What was told waits no longer; what was claimed and not told waits on."""
    if not claimed:
        return
    ours, gone = set(map(_same, claimed)), set(map(_same, told))
    try:
        with home.locked(LOCK_SECONDS):
            _write(
                home,
                [
                    msgspec.structs.replace(one, claimed=None) if _same(one) in ours else one
                    for one in waiting(home, now, hours)
                    if _same(one) not in gone
                ],
            )
    except (Locked, OSError) as error:
        with suppress(OSError):
            home.trace("failure", where=NAME, error=f"{error} It may be told again.")


def _write(home: Home, found: Sequence[Fired]) -> None:
    if found:
        home.replace(home.root / NAME, msgspec.json.encode(found) + b"\n")
    else:
        (home.root / NAME).unlink(missing_ok=True)
