"""Jobs: what is done again and again, when it was last done, and what is due.

A job has slots: the moments of its cron expression, in the user's time zone. It is due when
its newest slot is newer than the one it last ran for. So a machine that was off for a week runs it
once, and a job at half past two runs once on the night that has no such hour and once on the
night that has it twice.

A tick runs the jobs that are due, each at most once, whatever happens to one of them. A job is
claimed by a lock that dies with its process, looked at again under it, run without the writer
lock, and recorded when it has ended. A job that is killed half-way is therefore not recorded and
runs again with the next tick; of two processes one finds the claim taken, or the work done.

To add a job, add a line to JOBS, and its expression to [schedule] (CONTRIBUTING.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec
from cronsim import CronSim, CronSimError

from wakebook.base import clock
from wakebook.base.config import Schedule, expand, meanings
from wakebook.base.errors import ConfigError, NotFound, WakebookError
from wakebook.base.home import Home
from wakebook.capture import state as states
from wakebook.capture.state import JobRun

if TYPE_CHECKING:
    from threading import Event

    from wakebook.capture.state import Session
    from wakebook.history.timeline import Timeline
    from wakebook.learn.catch_up import Sweep
    from wakebook.notes.notes import Notes
    from wakebook.opened import Opened
    from wakebook.recall.topics.book import Book

RETRY = timedelta(minutes=15)  # after a first failure; twice as long after every further one
DOUBLINGS = 12
REPEATED = timedelta(hours=2, seconds=1)  # no clock is set back further
UNKNOWN = timedelta(minutes=15)  # how far a first look for due topics goes back
SOME_DAY = datetime(2001, 1, 1, tzinfo=UTC)
LONGEST = 500  # characters of what a job has to say


class JobSlot(msgspec.Struct, frozen=True, kw_only=True):
    """What a job is asked to do its work for. What it does belongs to the day of `at`, which
    was yesterday for a job that missed its hour."""

    job: str
    at: datetime  # in the user's time zone
    asked: bool = False  # by name, whenever it is due


class Rooms(Protocol):
    """The façade, as far as jobs need it."""

    @property
    def opened(self) -> Opened: ...
    @property
    def topics(self) -> Book: ...
    @property
    def notes(self) -> Notes: ...
    @property
    def history(self) -> Timeline: ...
    def sync_soon(self) -> None: ...


Body = Callable[[JobSlot], str]  # does the work, and says in a line what it did
Work = Callable[[Rooms, JobSlot], str]


def _fire(rooms: Rooms, slot: JobSlot) -> str:
    """Fire the topics whose cron trigger is due since the last time that this job ran."""
    now, last = rooms.opened.now(), rooms.opened.state().jobs.get("topics")
    since = last.well if last and last.well and last.well <= now else now - UNKNOWN

    def is_due(schedule: str) -> bool:
        newest = Job(name="topic", expression=schedule).previous(now)
        return newest is not None and newest > since

    found = rooms.topics.fire_due(is_due)
    names = dict.fromkeys(one.topic for one in found)
    return f"fired: {', '.join(names)}" if found else "nothing is due"


def _brief(rooms: Rooms, slot: JobSlot) -> str:
    done = rooms.notes.brief()
    lines = "1 line" if len(done.lines) == 1 else f"{len(done.lines)} lines"
    said = f"{lines} {'written to' if done.changed else 'unchanged in'} {done.path.name}"
    if done.edited:
        said = f"{done.path.name} was edited by hand, and waits for `wakebook review`"
    elif done.missing:
        said = f"not written: there is no folder {done.path.parent} ([briefing] memory_file)"
    if vault := rooms.opened.config.notes.vault:
        built = rooms.notes.obsidian(expand(vault))
        refused = "".join(f"; {page}: {why}" for page, why in built.refused.items())
        said += f"; {built.lines} lines added to {built.path}{refused}"
    return said


def _commit(rooms: Rooms, slot: JobSlot) -> str:
    git = rooms.history.git()
    if git.repository is None:  # which `status` shows; it is no failure every half hour
        return f"nothing committed: {git.note()}"
    done = rooms.history.commit()
    return f"committed {done}" if done else "nothing to commit"


def _sync(rooms: Rooms, slot: JobSlot) -> str:
    rooms.sync_soon()
    return "looked at the remote"


# All jobs but `observe`, which comes first and reads the news. In the order of one tick: what is
# made of the news, then what keeps it.
JOBS: dict[str, Work] = {
    "topics": _fire,
    "briefing": _brief,
    "daily": lambda rooms, slot: rooms.notes.daily(slot.at),
    "weekly": lambda rooms, slot: rooms.notes.weekly(slot.at),
    "monthly": lambda rooms, slot: rooms.notes.monthly(slot.at),
    "prune": lambda rooms, slot: rooms.notes.prune(slot.at),
    "commit": _commit,
    "tags": lambda rooms, slot: rooms.history.tag(slot.at),
    "sync": _sync,
}
ORDER = ("observe", *JOBS)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    expression: str  # empty: never by itself
    about: str = ""
    idle: str = "switched off"  # why it never runs by itself

    def previous(self, now: datetime) -> datetime | None:
        """The newest slot that is not after `now`, in UTC."""
        # From a little later: in the hour that comes twice, a slot of its first half may
        # have a later wall time than `now`.
        later = (now.astimezone(UTC) + REPEATED).astimezone(now.tzinfo)
        slots = self._slots(later, reverse=True)
        return next((slot for slot in slots if slot <= now.astimezone(UTC)), None)

    def following(self, now: datetime) -> datetime | None:
        """The first slot after `now`, in UTC."""
        return next((slot for slot in self._slots(now) if slot > now.astimezone(UTC)), None)

    def _slots(self, start: datetime, reverse: bool = False) -> Iterator[datetime]:
        if self.expression:
            yield from (at.astimezone(UTC) for at in CronSim(self.expression, start, reverse))

    def words(self) -> str:
        if not self.expression:
            return self.idle
        said = str(CronSim(self.expression, SOME_DAY).explain())
        return said[:1].lower() + said[1:]


class JobStatus(msgspec.Struct, frozen=True, kw_only=True):
    job: str
    about: str
    expression: str
    words: str
    last: JobRun | None
    due: bool
    next: datetime | None  # in the user's time zone; None: never


def table(schedule: Schedule, config: Path) -> tuple[Job, ...]:
    """Every job with its expression, in the order of a tick. `config`: where that stands."""
    about = meanings("schedule")
    return tuple(
        Job(
            name=name,
            expression=_checked(str(getattr(schedule, name)), f"{config}: [schedule] {name}"),
            about=about[name],
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
    wanted, known = set(names), {job.name for job in jobs}
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
    """When the job runs next, if there is a tick."""
    if due(job, run, now) is not None:
        return now
    coming = job.following(now)
    if coming is not None and run is not None and run.outcome == "failed":
        coming = min(coming, again(run))
    return coming.astimezone(now.tzinfo) if coming else None


def standing(job: Job, run: JobRun | None, now: datetime) -> JobStatus:
    return JobStatus(
        job=job.name,
        about=job.about,
        expression=job.expression,
        words=job.words(),
        last=run,
        due=due(job, run, now) is not None,
        next=upcoming(job, run, now),
    )


# --- the tick ----------------------------------------------------------------------------
Now = Callable[[], datetime]


class Ran(msgspec.Struct, frozen=True, kw_only=True):
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
        slot = JobSlot(job=job.name, at=at.astimezone(moment.tzinfo), asked=asked)
        return _run(home, slot, body, now)


def _run(home: Home, slot: JobSlot, body: Body, now: Now) -> Ran:
    started, begun = now(), clock.monotonic()
    try:
        outcome, said = "ok", _line(body(slot))
    except Exception as error:  # noqa: BLE001 - a failing job must not stop the others
        foreseen = isinstance(error, WakebookError | OSError)
        outcome, said = "failed", _line(str(error) if foreseen else repr(error))
        origin = {} if foreseen else {"origin": _origin(error)}
        with suppress(OSError):  # a full disk: the others still run
            home.trace("failure", where=f"job {slot.job}", error=said, **origin)
    seconds, at = round(clock.monotonic() - begun, 3), clock.iso(slot.at)
    try:
        home.trace("job", job=slot.job, slot=at, seconds=seconds, outcome=outcome, said=said)
        _record(home, slot, started, now(), outcome, said)
    except (WakebookError, OSError) as error:  # a locked home, a full disk: the others still run
        outcome, said = "failed", f"{said} - but that could not be recorded: {error}"
    return Ran(job=slot.job, outcome=outcome, said=said, slot=slot.at, seconds=seconds)


def _record(
    home: Home, slot: JobSlot, started: datetime, ended: datetime, outcome: str, said: str
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


def _origin(error: Exception) -> str:
    """Where an unforeseen error comes from."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)[-3:]
    return " > ".join(f"{frame.name}:{frame.lineno}" for frame in frames)


# --- the handle --------------------------------------------------------------------------
class Jobs:
    """The jobs of a home: which there are, those that are due, and watching."""

    def __init__(
        self,
        rooms: Rooms,
        observe: Callable[..., Sweep],
        afterwards: Callable[[], None],
        works: Mapping[str, Work] = JOBS,
    ) -> None:
        """`observe` catches up on sessions; with `absent`, also on those whose source is gone.
        `afterwards` hears that a job has run."""
        self._opened, self._home = rooms.opened, rooms.opened.home
        self._observe, self._afterwards = observe, afterwards
        self._bodies = {name: partial(work, rooms) for name, work in works.items()}

    def listed(self) -> list[JobStatus]:
        """Every job: what it does, how its last run went, and when it runs next."""
        runs, now = self._opened.state().jobs, self._opened.now()
        return [standing(job, runs.get(job.name), now) for job in self._table()]

    def tick(
        self, names: Iterable[str] = (), *, told: Callable[[Ran], None] = lambda ran: None
    ) -> list[Ran]:
        """Run the jobs that are due; or those with these names, due or not."""
        wanted, jobs = tuple(names), self._table()
        return self._tick(named(jobs, wanted) if wanted else jobs, bool(wanted), told)

    def watch(
        self,
        stop: Event,
        told: Callable[[Sweep], None] = lambda done: None,
        failed: Callable[[str], None] = lambda error: None,
        ran: Callable[[Ran], None] = lambda ran: None,
    ) -> None:
        """Catch up as things are said, and run the jobs, until `stop` is set. `told` hears of every
        catch-up, `ran` of every job, `failed` of a passing error."""
        from wakebook.upkeep.watch import watch

        recovery = [job for job in self._table() if job.name == "observe" and job.expression]
        self._opened.now()  # what is wrong with config.toml is told at once, not once a minute

        def safely(work: Callable[[], object]) -> None:
            try:
                work()
            except (WakebookError, OSError) as error:
                failed(str(error))
                with suppress(OSError):
                    self._home.trace("failure", where="watch", error=str(error))

        def catch_up(found: list[Session]) -> None:
            safely(lambda: told(self._observe(found, absent=False, stopped=stop.is_set)))

        def due() -> None:  # with the topics that there are by then
            safely(lambda: self._tick(self._table(), False, ran, told, stop.is_set))

        safely(lambda: self._tick(recovery, True, ran, told, stop.is_set))
        watch(self._opened.config, self._opened.state, catch_up, stop, due)

    def _table(self) -> tuple[Job, ...]:
        self._home.require()
        jobs = table(self._opened.config.schedule, self._home.config)
        idle: dict[str, str] = {}  # what need not run every five minutes, and why
        if not any(map(_mentions_cron, (self._home.root / "topics").rglob("*.md"))):
            idle["topics"] = "when a topic has a cron trigger"
        if not self._opened.syncs:
            idle["sync"] = "when a remote was added: `wakebook sync add`"
        return tuple(
            msgspec.structs.replace(job, expression="", idle=idle[job.name])
            if job.name in idle and job.expression
            else job
            for job in jobs
        )

    def _tick(
        self,
        jobs: Sequence[Job],
        asked: bool,
        told: Callable[[Ran], None],
        caught_up: Callable[[Sweep], None] = lambda done: None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> list[Ran]:
        def observe(slot: JobSlot) -> str:
            found = self._opened.sessions()
            # what a new session is told is made when all jobs are done
            done = self._observe(found, absent=True, sparing=True, wakes=False, stopped=stopped)
            caught_up(done)
            return _swept(done)

        bodies: dict[str, Body] = {"observe": observe, **self._bodies}
        now = self._opened.now
        done = tick(self._home, jobs, bodies, now, asked=asked, told=told, stopped=stopped)
        if any(ran.outcome != "busy" for ran in done):
            self._afterwards()
        return done


def _mentions_cron(path: Path) -> bool:
    """Whether a topic may have a cron trigger. Reading them all takes longer than this."""
    try:
        return b"cron" in path.read_bytes()
    except OSError:
        return path.is_file()  # it may, for all we know


def _swept(done: Sweep) -> str:
    said = "nothing new"
    if done.messages or done.entries or done.closed:
        said = f"messages read: {done.messages}, entries remembered: {done.entries}"
    if troubled := len(done.failed) + len(done.held):
        said += f", sessions that failed: {troubled} (`wakebook status --sessions`)"
    return said
