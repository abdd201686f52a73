"""Calls: every question that a model was asked, with what it cost (costs/YYYY-MM.jsonl).

The records are the only memory of the budget and of the circuit breaker, so that both hold
across processes: what was spent is a sum over the month, and a model that failed several times
in a row is left alone until some minutes after its last failure.
"""

import json
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock

import msgspec

from wakebook.base import clock
from wakebook.base.decode import decode
from wakebook.base.home import Home

HURRIED = ("gate",)  # asked with little patience: that one fails says nothing about the others
BREAKS = ("unavailable", "bad", "unusable", "empty")  # a model that goes on like this is left alone
FAILED = (*BREAKS, "cut", "late", "refused", "too large")
TRIES = 6  # answers without one usable line: then `status` says that the model cannot do it


class Called(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    at: str
    operation: str
    model: str
    prompt: str  # with its version; "" for texts that were embedded
    outcome: str  # ok, poor, cut, refused, empty, unusable, late, too large, unavailable, bad
    tokens_in: int = 0  # cached ones included
    tokens_out: int = 0
    cached: int = 0
    estimated: bool = False  # the provider did not count the tokens
    cost: float | None = None  # dollars; None: the model's price is not known
    seconds: float = 0.0
    batch: str = ""  # its id in a batch, which costs half
    repair: bool = False
    lines: int | None = None  # that could be used; None: no lines were asked for
    error: str = ""


class Calls:
    def __init__(self, home: Home) -> None:
        self._home, self._lock = home, Lock()
        self._month, self._size = "", 0
        self._read: list[Called] = []
        self._unwritten: list[Called] = []

    def ready(self, now: datetime) -> None:
        """Raises OSError if a call could not be written down: then none must be made."""
        path = self._path(clock.iso(now))
        self._home.folder(path.parent)
        self._home.append(path, b"")

    def add(self, call: Called) -> None:
        path = self._path(call.at)
        line = msgspec.json.encode(call) + b"\n"
        try:
            self._home.folder(path.parent)
            self._home.append(path, line if _ends_whole(path) else b"\n" + line)
        except OSError:  # it was paid for: at least we know
            self._unwritten.append(call)
            raise

    def _path(self, at: str) -> Path:
        return self._home.root / "costs" / f"{at[:7]}.jsonl"

    def all(self) -> Iterator[Called]:
        for path in sorted((self._home.root / "costs").glob("????-??.jsonl")):
            yield from decoded(path.read_bytes())

    def of_month(self, now: datetime) -> list[Called]:
        """Those of the month of `now`. Reads only what was added since the last time."""
        month, path = clock.iso(now)[:7], self._path(clock.iso(now))
        with self._lock:
            if month != self._month:
                self._month, self._size, self._read = month, 0, []
            try:
                with path.open("rb") as stream:
                    if os.fstat(stream.fileno()).st_size < self._size:
                        self._size, self._read = 0, []
                    stream.seek(self._size)
                    data = stream.read()
            except (FileNotFoundError, NotADirectoryError):
                self._size, self._read = 0, []
                return list(self._unwritten)
            whole = data[: data.rfind(b"\n") + 1]
            self._size += len(whole)
            self._read += decoded(whole)
            return self._read + self._unwritten

    def promised(self) -> float:
        """Dollars, about, of questions in batches that are not answered yet."""
        try:
            found = json.loads((self._home.root / "costs" / "batches.json").read_bytes())
            waiting = [one for one in found if one.get("answers") is None]
            return float(sum(one.get("cost", 0) for batch in waiting for one in batch["asked"]))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return 0.0

    def spent(self, now: datetime) -> float:
        return sum(call.cost or 0.0 for call in self.of_month(now))

    def paused(
        self,
        model: str,
        now: datetime,
        failures: int,
        pause: timedelta,
        hurried: bool = False,
        since: str = "",
    ) -> Called | None:
        """The last failure of a model that is not to be asked again yet. Calls with little
        patience are counted by themselves. `since`: earlier calls say nothing about it."""
        calls = [one for one in self.of_month(now) if one.model == model and one.at >= since]
        recent = [call for call in calls if (call.operation in HURRIED) == hurried][-failures:]
        if len(recent) < failures or any(call.outcome not in BREAKS for call in recent):
            return None
        last = clock.parse(recent[-1].at)
        return recent[-1] if last and last <= now < last + pause else None

    def useless(self, model: str, now: datetime) -> Called | None:
        """The last answer of a model none of whose last answers had a usable line."""
        said = [one for one in self.of_month(now) if one.model == model and one.lines is not None]
        recent = said[-TRIES:]
        bad = len(recent) == TRIES and not any(one.lines for one in recent)
        return recent[-1] if bad else None


def _ends_whole(path: Path) -> bool:
    """Whether the last line is complete, and not the half that a crash left."""
    try:
        with path.open("rb") as stream:
            stream.seek(-1, os.SEEK_END)
            return stream.read(1) == b"\n"
    except OSError:
        return True  # there is no file, or nothing in it


def decoded(data: bytes) -> Iterator[Called]:
    """The calls on some lines."""
    for line in data.splitlines():
        try:
            yield decode(line, Called)
        except msgspec.MsgspecError:
            continue  # half a line that a crash left
