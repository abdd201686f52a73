"""The verbs of the clock: the jobs, those that are due, and watching."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from wakebook.base.errors import WakebookError
from wakebook.memory.condensing import Condensing
from wakebook.memory.context import Turns

if TYPE_CHECKING:
    from threading import Event

    from wakebook.capture.state import Session
    from wakebook.learn.catch_up import Sweep
    from wakebook.upkeep.jobs import Body, Job, Ran, Slot, Standing


class Schedule(Turns, Condensing):
    def jobs(self) -> list[Standing]:
        """Every job: what it does, how its last run went, and when it runs next."""
        from wakebook.upkeep.jobs import standing

        runs, now = self.state().jobs, self.now()
        return [standing(job, runs.get(job.name), now) for job in self._table()]

    def tick(
        self, names: Iterable[str] = (), *, told: Callable[[Ran], None] = lambda ran: None
    ) -> list[Ran]:
        """Run the jobs that are due; or those with these names, due or not."""
        from wakebook.upkeep.jobs import named

        wanted = tuple(names)
        table = self._table()
        return self._tick(named(table, wanted) if wanted else table, bool(wanted), told)

    def watch(
        self,
        stop: Event,
        told: Callable[[Sweep], None] = lambda done: None,
        failed: Callable[[str], None] = lambda error: None,
        ran: Callable[[Ran], None] = lambda ran: None,
    ) -> None:
        """Catch up as things are said, and run the jobs, until `stop` is set.

        `told` hears of every catch-up, `ran` of every job, `failed` of a passing error.
        """
        from wakebook.upkeep.watch import watch

        table = self._table()
        self.now()  # what is wrong with config.toml is told at once, not once a minute

        def safely(work: Callable[[], object]) -> None:
            try:
                work()
            except (WakebookError, OSError) as error:
                failed(str(error))
                with suppress(OSError):
                    self.home.trace("failure", where="watch", error=str(error))

        def catch_up(found: list[Session]) -> None:
            safely(lambda: told(self._sweep(found, stopped=stop.is_set)))

        def tick(jobs: tuple[Job, ...], asked: bool = False) -> None:
            safely(lambda: self._tick(jobs, asked, ran, told, stop.is_set))

        recovery = tuple(job for job in table if job.name == "observe" and job.expression)
        tick(recovery, asked=True)

        def due() -> None:  # with the topics that there are by then
            safely(lambda: self._tick(self._table(), False, ran, told, stop.is_set))

        watch(self.config, self.state, catch_up, stop, due)

    def _table(self) -> tuple[Job, ...]:
        from msgspec.structs import replace

        from wakebook.upkeep.jobs import table

        self.home.require()
        jobs = table(self.config.schedule, self.home.config)
        if self._any_cron():
            return jobs
        # nobody waits for it: then it need not run every five minutes
        idle = {"expression": "", "idle": "when a topic has a cron trigger"}
        return tuple(
            replace(job, **idle) if job.name == "topics" and job.expression else job for job in jobs
        )

    def _any_cron(self) -> bool:
        """Whether a topic may have a cron trigger. Reading them all takes longer than this."""
        files = (self.home.root / "topics").rglob("*.md")
        return any(map(_mentions_cron, files))

    def _tick(
        self,
        jobs: tuple[Job, ...],
        asked: bool,
        told: Callable[[Ran], None],
        caught_up: Callable[[Sweep], None] = lambda done: None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> list[Ran]:
        from wakebook.upkeep.jobs import tick

        bodies = self._bodies(caught_up, stopped)
        done = tick(self.home, jobs, bodies, self.now, asked=asked, told=told, stopped=stopped)
        if any(ran.outcome != "busy" for ran in done):
            self._quietly("wake", self.wake)  # it depends on state.json, which has changed
        return done

    def _bodies(
        self, caught_up: Callable[[Sweep], None], stopped: Callable[[], bool]
    ) -> dict[str, Body]:
        def observe(slot: Slot) -> str:
            done = self._sweep(self.sessions(), absent=True, stopped=stopped)
            caught_up(done)
            return _swept(done)

        return {
            "observe": observe,
            "briefing": lambda slot: self._briefed(),
            "daily": lambda slot: self.daily(slot.at),
            "weekly": lambda slot: self.weekly(slot.at),
            "monthly": lambda slot: self.monthly(slot.at),
            "topics": lambda slot: self._fired(),
            "prune": lambda slot: self.prune(slot.at),
            "commit": lambda slot: self._committed(),
            "tags": lambda slot: self.tag(slot.at),
        }

    def _fired(self) -> str:
        fired = self.fire_due()
        names = dict.fromkeys(one.topic for one in fired)
        return f"fired: {', '.join(names)}" if fired else "nothing is due"

    def _briefed(self) -> str:
        done = self.brief()
        lines = "1 line" if len(done.lines) == 1 else f"{len(done.lines)} lines"
        return f"{lines} {'written to' if done.changed else 'unchanged in'} {done.path.name}"

    def _committed(self) -> str:
        history = self.history()
        if history.repository is None:  # which `status` shows; it is no failure every half hour
            return f"nothing committed: {history.note()}"
        done = self.commit()
        return f"committed {done}" if done else "nothing to commit"


def _mentions_cron(path: Path) -> bool:
    try:
        return b"cron" in path.read_bytes()
    except OSError:
        return path.is_file()  # it may, for all we know


def _swept(done: Sweep) -> str:
    said = f"messages read: {done.messages}, entries remembered: {done.entries}"
    if not (done.messages or done.entries or done.closed):
        said = "nothing new"
    troubled = len(done.failed) + len(done.held)
    return f"{said}, sessions that failed: {troubled} (`wakebook audit`)" if troubled else said
