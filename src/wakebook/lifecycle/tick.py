"""The tick: run the jobs that are due, each at most once, whatever happens to one of them.

A job is claimed by a lock that dies with its process, looked at again under it, run without
the writer lock, and recorded when it has ended. A job that is killed half-way is therefore
not recorded and runs again with the next tick; of two processes one finds the claim taken,
or the work done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from wakebook import clock
from wakebook.capture import state as states
from wakebook.capture.state import JobRun
from wakebook.errors import WakebookError
from wakebook.home import Home
from wakebook.lifecycle.jobs import Body, Job, Slot, due

Now = Callable[[], datetime]
LONGEST = 500  # characters of what a job has to say


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a job in one tick."""

    job: str
    outcome: str  # ok, failed, busy: another process is at it
    said: str
    slot: datetime | None = None
    seconds: float = 0.0


def tick(
    home: Home,
    jobs: Sequence[Job],
    bodies: Mapping[str, Body],
    now: Now,
    *,
    asked: bool = False,
    told: Callable[[Ran], None] = lambda ran: None,
    stopped: Callable[[], bool] = lambda: False,
) -> list[Ran]:
    """Run those of the jobs that are due; with `asked` all of them, due or not.

    `now` gives the time in the user's time zone: a job may take its time, so every job asks
    anew. `told` hears of every job that ran, `stopped` ends the tick between two.
    """
    runs = {} if asked else states.load(home).jobs
    moment = now()
    done: list[Ran] = []
    for job in jobs:
        if not asked and due(job, runs.get(job.name), moment) is None:
            continue
        if stopped():
            break
        ran = _claimed(home, job, bodies[job.name], now, asked)
        if ran is not None:
            done.append(ran)
            told(ran)
            if job.name == "observe" and ran.outcome == "busy":
                break  # the others build on what it reads: they are left to that process
    return done


def _claimed(home: Home, job: Job, body: Body, now: Now, asked: bool) -> Ran | None:
    with home.reading(f"job/{job.name}") as mine:
        if not mine:
            return Ran(job=job.name, outcome="busy", said="another process is running it")
        moment, known = now(), states.load(home).jobs.get(job.name)
        at = moment if asked else due(job, known, moment)
        if at is None:  # another process has done it since
            return None
        slot = Slot(job=job.name, at=at.astimezone(moment.tzinfo), asked=asked)
        return _run(home, slot, body, now)


def _run(home: Home, slot: Slot, body: Body, now: Now) -> Ran:
    started, begun = now(), clock.monotonic()
    try:
        outcome, said = "ok", _line(body(slot))
    except Exception as error:  # noqa: BLE001 - a failing job must not stop the others
        outcome, said = "failed", _line(_reason(error))
        with suppress(OSError):  # a full disk: the others still run
            home.trace("failure", where=f"job {slot.job}", error=said, **_origin(error))
    seconds = round(clock.monotonic() - begun, 3)
    at = clock.iso(slot.at)
    try:
        home.trace("job", job=slot.job, slot=at, seconds=seconds, outcome=outcome, said=said)
        _record(home, slot, started, now(), outcome, said)
    except (WakebookError, OSError) as error:  # a locked home, a full disk: the others still run
        outcome, said = "failed", f"{said} - but that could not be recorded: {error}"
    return Ran(job=slot.job, outcome=outcome, said=said, slot=slot.at, seconds=seconds)


def _record(
    home: Home, slot: Slot, started: datetime, ended: datetime, outcome: str, said: str
) -> None:
    with home.locked():
        state = states.load(home)  # others have changed it meanwhile
        known = state.jobs.get(slot.job)
        failed = outcome == "failed"
        run = JobRun(
            slot=slot.at.astimezone(UTC),
            started=started.astimezone(UTC),
            ended=ended.astimezone(UTC),
            outcome=outcome,
            said="" if failed else said,
            error=said if failed else "",
            failures=(known.failures if known else 0) + 1 if failed else 0,
            well=(known.well if known else None) if failed else started.astimezone(UTC),
        )
        states.save(home, state.with_job(slot.job, run))


def _line(text: str) -> str:
    return " ".join(text.split())[:LONGEST]


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, WakebookError | OSError) else repr(error)


def _origin(error: Exception) -> dict[str, str]:
    """Where an error that nobody foresaw comes from."""
    if isinstance(error, WakebookError | OSError):
        return {}
    import traceback

    frames = traceback.extract_tb(error.__traceback__)[-3:]
    return {"origin": " > ".join(f"{frame.name}:{frame.lineno}" for frame in frames)}
