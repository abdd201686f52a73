"""Fired: topics that wait for the next turn.

A webhook, a schedule, or something that the agent itself has said fires a topic; the next context
of that session (or of any main session, if none is named) brings it to the agent, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import msgspec

from wakebook.errors import Locked
from wakebook.home import Home

NAME = "fired.json"
MOST = 100  # that wait, at most; the oldest go first
PAYLOAD = 4000  # characters
LOCK_SECONDS = 1.0


class Fired(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    topic: str
    why: str
    at: datetime
    session: str = ""  # empty: any main session
    hint: str = ""
    payload: str = ""

    def meets(self, session: str) -> bool:
        return self.session in ("", session)


def waiting(home: Home, now: datetime, hours: int) -> list[Fired]:
    """All that wait, oldest first. What has waited too long is left out."""
    try:
        data = (home.root / NAME).read_bytes()
    except FileNotFoundError:
        return []
    try:
        found = msgspec.json.decode(data, type=list[Fired])
    except msgspec.DecodeError as error:
        home.trace("failure", where=NAME, error=f"cannot be read ({error}); it is begun anew")
        return []
    return [one for one in found if now - one.at < timedelta(hours=hours)]


def add(home: Home, news: Sequence[Fired], now: datetime, hours: int) -> None:
    """The same topic for the same reason waits once."""
    if not news:
        return
    with home.locked():
        same = {(one.topic, one.why, one.session) for one in news}
        before = [
            one
            for one in waiting(home, now, hours)
            if (one.topic, one.why, one.session) not in same
        ]
        _write(home, [*before, *news][-MOST:])


def done(home: Home, told: Iterable[Fired], now: datetime, hours: int) -> bool:
    """What the agent was told waits no longer. False: somebody is writing, and it is told again."""
    gone = set(map(msgspec.json.encode, told))
    if not gone:
        return True
    try:
        with home.locked(LOCK_SECONDS):
            kept = [
                one for one in waiting(home, now, hours) if msgspec.json.encode(one) not in gone
            ]
            _write(home, kept)
    except Locked:
        return False
    return True


def _write(home: Home, found: Sequence[Fired]) -> None:
    if found:
        home.replace(home.root / NAME, msgspec.json.encode(found) + b"\n")
    else:
        (home.root / NAME).unlink(missing_ok=True)
