"""Jobs: what is done again and again, when it was last done, and what is due.

A job has slots: the moments of its cron expression, in the user's time zone. It is due when
its newest slot is newer than the one it last ran for. So whoever was away for a week runs it
once, and a job at half past two runs once on the night that has no such hour and once on the
night that has it twice. Everything here is pure: `now` and the last run are arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from cronsim import CronSim, CronSimError

from wakebook.capture.state import JobRun
from wakebook.config import Schedule
from wakebook.errors import ConfigError, NotFound

# The order of one tick: first what brings news, then what is made of it, then what keeps it.
ORDER = (
    "observe",
    "topics",
    "briefing",
    "daily",
    "weekly",
    "monthly",
    "prune",
    "commit",
    "tags",
)
RETRY = timedelta(minutes=15)  # after a first failure; twice as long after every further one
DOUBLINGS = 12
REPEATED = timedelta(hours=2, seconds=1)  # no clock is set back further
SOME_DAY = datetime(2001, 1, 1, tzinfo=UTC)


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """What a job is asked to do its work for. What it does belongs to the day of `at`, which
    was yesterday for a job that missed its hour."""

    job: str
    at: datetime  # in the user's time zone
    asked: bool = False  # by name, whenever it is due


Body = Callable[[Slot], str]  # does the work, and says in a line what it did


class Job(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    expression: str  # empty: never by itself
    about: str = ""
    idle: str = "switched off"  # why it never runs by itself

    def previous(self, now: datetime) -> datetime | None:
        """The newest slot that is not after `now`, in UTC."""
        if not self.expression:
            return None
        # From a little later: in the hour that comes twice, a slot of its first half may
        # have a later wall time than `now`.
        later = (now.astimezone(UTC) + REPEATED).astimezone(now.tzinfo)
        slots = (slot.astimezone(UTC) for slot in CronSim(self.expression, later, reverse=True))
        return next((slot for slot in slots if slot <= now.astimezone(UTC)), None)

    def following(self, now: datetime) -> datetime | None:
        """The first slot after `now`, in UTC."""
        if not self.expression:
            return None
        slots = (slot.astimezone(UTC) for slot in CronSim(self.expression, now))
        return next((slot for slot in slots if slot > now.astimezone(UTC)), None)

    def words(self) -> str:
        """The expression for people."""
        if not self.expression:
            return self.idle
        said = str(CronSim(self.expression, SOME_DAY).explain())
        return said[:1].lower() + said[1:]


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How things stand with a job."""

    job: str
    about: str
    expression: str
    words: str
    last: JobRun | None
    due: bool
    next: datetime | None  # in the user's time zone; None: never


def table(schedule: Schedule, config: Path) -> tuple[Job, ...]:
    """Every job with its expression, in the order of a tick. `config`: where that stands."""
    return tuple(
        Job(
            name=name,
            expression=_checked(str(getattr(schedule, name)), f"{config}: [schedule] {name}"),
            about=schedule.settings[name].doc,
        )
        for name in ORDER
    )


def _checked(text: str, where: str) -> str:
    expression = " ".join(text.split())
    if not expression:
        return ""
    try:
        if len(expression.split()) != 5:
            raise CronSimError("it needs five fields: minute, hour, day, month, weekday")
        if next(CronSim(expression, SOME_DAY), None) is None:
            raise CronSimError("there is no such day")
    except CronSimError as error:
        raise ConfigError(
            f"{where}: {text!r} is no cron expression: {error}. "
            'Write one like "0 23 * * *" (every day at 23:00), or "" to switch the job off.'
        ) from error
    return expression


def named(jobs: Sequence[Job], names: Iterable[str]) -> tuple[Job, ...]:
    """The jobs with these names, in the order of a tick."""
    known = {job.name for job in jobs}
    wanted = set(names)
    for name in sorted(wanted - known):
        import difflib

        close = difflib.get_close_matches(name, known, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"There are {', '.join(ORDER)}."
        raise NotFound(f"There is no job {name!r}. {hint}")
    return tuple(job for job in jobs if job.name in wanted)


def due(job: Job, run: JobRun | None, now: datetime) -> datetime | None:
    """The slot that the job has to run for now, or None."""
    newest, coming = job.previous(now), job.following(now)
    if newest is None:
        return None
    if run is None or newest > run.slot:
        return newest
    if coming is not None and run.slot > coming:  # from a clock that was ahead of this one
        return newest
    if run.outcome == "failed" and (again(run) <= now or run.ended > now):
        return run.slot
    return None


def again(run: JobRun) -> datetime:
    """When a job that failed is tried again, if no new slot comes before."""
    return run.ended + RETRY * (1 << max(0, min(run.failures - 1, DOUBLINGS)))


def upcoming(job: Job, run: JobRun | None, now: datetime) -> datetime | None:
    """When the job runs next, if somebody ticks."""
    if due(job, run, now) is not None:
        return now
    coming = job.following(now)
    if coming is not None and run is not None and run.outcome == "failed":
        coming = min(coming, again(run))
    return coming.astimezone(now.tzinfo) if coming else None


def standing(job: Job, run: JobRun | None, now: datetime) -> Standing:
    return Standing(
        job=job.name,
        about=job.about,
        expression=job.expression,
        words=job.words(),
        last=run,
        due=due(job, run, now) is not None,
        next=upcoming(job, run, now),
    )
