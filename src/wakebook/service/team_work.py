"""The process of `wakebook team work`: takes jobs from the queue, one tenant at a time each.

A worker keeps nothing that matters. It can be killed at any moment: its jobs are taken up by
another, and whatever it had not committed was never there. On SIGTERM it finishes what it does.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from wakebook.base import clock
from wakebook.base.config import Config
from wakebook.base.errors import NotFound, WakebookError
from wakebook.memory import Memory
from wakebook.team import bring, queue, rows, schema
from wakebook.team.copies import Copies
from wakebook.team.database import Database
from wakebook.team.logs import tell
from wakebook.team.queue import Chore
from wakebook.verbs import VERBS

GRACE = 60.0  # seconds that a job has to end when the worker is told to
SWEEP = 60.0  # seconds between two looks at old copies and old jobs
SKEW = 300.0  # seconds that this machine's clock may differ from the database's
LATEST = timedelta(days=1)  # between two looks at a tenant's schedule

Act = Callable[[Memory, dict[str, Any]], bytes]


def opened(tenant: int, root: Path, config: Config) -> Memory:
    return Memory(root, config=config)


def rebuild(memory: Memory, ask: dict[str, Any]) -> bytes:
    """Read every conversation of a tenant anew, and take the result if it is complete."""
    try:
        name = memory.rebuilds.build(**ask).name
    except NotFound:
        return b"nothing to read"
    return msgspec.json.encode(memory.rebuilds.merge(name), enc_hook=str)


def close(memory: Memory, ask: dict[str, Any]) -> bytes:
    """A host says that a session has ended. One that was never uploaded left nothing to read."""
    try:
        memory.catch_up(session=ask["session"], closing=True)
    except NotFound:
        return b"not uploaded"
    return b""


ACTS: Mapping[str, Act] = {
    "rebuild": rebuild,
    "close": close,
}  # jobs that are no verbs of the façade


class Worker:
    def __init__(
        self,
        db: Database,
        copies: Copies,
        *,
        jobs: int = 2,
        heart: float = 5.0,
        acts: Mapping[str, Act] = ACTS,
    ) -> None:
        """`jobs`: at once. `heart`: seconds between two heartbeats; after six without one, its jobs
        are given to others."""
        self._db, self._copies, self._jobs, self._heart = db, copies, jobs, heart
        self._acts = acts
        self._stop = asyncio.Event()

    def do(self, tenant: int, name: str, job: Chore) -> bytes:
        """One job of one tenant."""
        if job.verb in self._acts:
            act = self._acts[job.verb]
            done = self._copies(tenant).write(lambda m: act(m, job.ask), name=name, long=True)
        elif job.verb in VERBS:
            verb = VERBS[job.verb]
            ask = msgspec.convert(job.ask, verb.asks, strict=False)
            done = self._copies(tenant).write(lambda m: verb.answer(m, ask), name=name, long=True)
        else:
            raise NotFound(f"There is no job {job.verb!r}. Is this worker older than the server?")
        if job.verb == "tick":
            self._due(tenant)
        return done

    def _due(self, tenant: int) -> None:
        """When this tenant's jobs run next, by its own settings and time zone."""
        copy = self._copies(tenant)
        at = copy.read(next_due)
        with self._db.tenant(tenant) as connection:
            connection.execute(
                "UPDATE home SET due_at = CASE WHEN change = %s THEN %s "
                "ELSE least(%s, now() + %s * interval '1 minute') END",
                (copy.change, at, at, rows.SOON),
            )
            connection.execute("DELETE FROM done WHERE at < now() - interval '7 days'")

    # --- the process -----------------------------------------------------------------------------

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Until a signal comes."""
        asyncio.run(self._run(ready))

    async def _run(self, ready: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._told, number.name)
        chores = asyncio.ensure_future(self._chores())
        first = True
        while not self._stop.is_set():
            try:
                schema.require(self._db)
                await self._work(ready if first else lambda: None)
                first = False
            except Exception as error:  # noqa: BLE001 - PostgreSQL is gone: it comes back
                tell("error", "worker", said=f"{type(error).__name__}: {error}")
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stop.wait(), 2.0)
        chores.cancel()
        tell("info", "stopped")

    def _told(self, name: str) -> None:
        if self._stop.is_set():
            os._exit(1)
        tell("info", "stopping", why=name)
        self._stop.set()

    async def _work(self, ready: Callable[[], None]) -> None:
        made = queue.app(self._db, self._done)
        async with made.open_async():
            ready()
            worker = asyncio.ensure_future(
                made.run_worker_async(
                    concurrency=self._jobs,
                    install_signal_handlers=False,
                    fetch_job_polling_interval=min(self._heart, 5.0),
                    update_heartbeat_interval=self._heart,
                    stalled_worker_timeout=6 * self._heart,
                    shutdown_graceful_timeout=GRACE,
                )
            )
            stop = asyncio.ensure_future(self._stop.wait())
            await asyncio.wait((worker, stop), return_when=asyncio.FIRST_COMPLETED)
            stop.cancel()
            if not worker.done():
                worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker

    def _done(self, tenant: int, name: str, job: Chore) -> bytes:
        begun = clock.monotonic()
        about = {"tenant": tenant, "job": name, "verb": job.verb}
        try:
            done = self.do(tenant, name, job)
        except Exception as error:
            tell("warning", "job failed", **about, error=f"{type(error).__name__}: {error}")
            self._copies.probe()  # git and SQLite say it in other words: then the job waits
            raise
        tell("info", "job", **about, seconds=round(clock.monotonic() - begun, 3))
        return done

    async def _chores(self) -> None:
        swept = 0.0
        while True:
            try:
                await asyncio.to_thread(queue.take_up, self._db, 6 * self._heart)
                await asyncio.to_thread(queue.put_due, self._db)
                if clock.monotonic() - swept > SWEEP:
                    swept = clock.monotonic()
                    await asyncio.to_thread(self._sweep)
            except Exception as error:  # noqa: BLE001 - the next round tries again
                tell("warning", "chores", said=str(error))
            await asyncio.sleep(self._heart)

    def _sweep(self) -> None:
        self._copies.sweep()
        queue.tidy(self._db)
        check_clock(self._db)


def next_due(memory: Memory) -> datetime:
    """The next hour of a tenant's jobs. Those that only look for news are left out: news come with
    a job of their own (see rows.commit)."""
    now = memory.opened.now()
    quiet = ("observe", "commit", "sync", "topics")
    topics = memory.topics.read().topics
    crons = any(trigger.schedule for topic in topics for trigger in topic.triggers)
    found = [
        one.next
        for one in memory.jobs.listed()
        if one.next and (one.job not in quiet or (one.job == "topics" and crons))
    ]
    return min([*found, now + LATEST])


def check_clock(db: Database, now: datetime | None = None) -> float:
    """Seconds that this machine's clock (or `now`) is ahead of the database's. Raises
    WakebookError if it is too far off."""
    with db.anyone() as connection:
        found = connection.execute("SELECT extract(epoch FROM clock_timestamp())").fetchone()
    assert found is not None
    ahead = (now or clock.now()).timestamp() - float(found[0])
    if abs(ahead) > SKEW and (now or not os.environ.get("WAKEBOOK_NOW")):
        raise WakebookError(
            f"This machine's clock is {ahead:+.0f} s off the database's. Set it: times in memories "
            "are this machine's."
        )
    return ahead


def fill(db: Database, copies: Copies, name: str, source: Path | None = None) -> int:
    """A new tenant: with an empty home, or the files of another one."""
    from wakebook.team import tenants

    tenant = tenants.add(db, name)
    try:
        copies(tenant).write(lambda memory: _filled(memory, source), long=True)
    except BaseException:
        tenants.remove(db, name)
        raise
    return tenant


def taken_out(db: Database, tenant: int, path: Path) -> None:
    """Write a tenant as a plain home."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    with db.tenant(tenant, still=True) as connection:
        now = bring.standing(connection, tenant)
        bring.refresh(connection, path, rows.Manifest(), now, whole=True)
    Memory(path).init()


def _filled(memory: Memory, source: Path | None) -> bytes:
    import shutil

    if source is not None:
        root = memory.home.root
        for path, _ in rows.walk(source):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / path, root / path)
        if (source / ".git").is_dir():
            shutil.copytree(source / ".git", root / ".git", symlinks=True)
            return b""  # what its owner has removed stays removed
    memory.init()
    return b""
