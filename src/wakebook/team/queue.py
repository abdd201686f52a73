"""Queue: the jobs of all tenants, on procrastinate. A job names a tenant, a verb and its request.

A tenant has one job at a time (procrastinate's lock), and a job is committed together with what it
did (`rows.commit`), so that a job that is run again, because its worker was killed or its answer
lost, changes nothing. Jobs of workers whose heart has stopped are taken up by others; one that
fails again and again, or kills its worker, is set aside with its error.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from wakebook.base.errors import Locked, Unavailable, WakebookError
from wakebook.team.database import APP, SCHEMA, WATCHFUL, Database

if TYPE_CHECKING:
    from procrastinate import App, JobContext

TASK = "wakebook"
ATTEMPTS = 5  # of a job that fails
KILLS = 10  # of its workers, after which a job is to blame
PATIENT = 100  # attempts of one that only has to wait
FIRST, LONGEST = 2, 300  # seconds before a job is tried again: twice as long every time
TICKS = 200  # tenants whose jobs are begun at once

Do = Callable[[int, str, "Chore"], bytes]  # does a tenant's job, under a name that is done once


class Chore(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is to be done."""

    verb: str
    ask: dict[str, Any] = {}
    batch: str = ""  # the jobs that were asked for together
    killed: int = 0  # workers that have ended over it without a word


class Aside(msgspec.Struct, frozen=True, kw_only=True):
    """A job that was set aside."""

    tenant: str
    job: int
    at: datetime
    arguments: dict[str, Any]
    attempts: int
    error: str


class Waiting(NamedTuple):
    """A job that waits, or is being done."""

    verb: str
    begun: bool
    attempts: int  # that have failed
    at: datetime | None  # of the next one


class Waits(Exception):
    """A job that is tried again later, as often as it takes."""


def connected(url: str) -> dict[str, Any]:
    """How procrastinate connects: as the role that owns nothing, among our tables."""
    options = f"-c search_path={SCHEMA} -c role={APP}"
    return {"conninfo": url, "kwargs": {"options": options, **WATCHFUL}}


def app(db: Database, do: Do) -> App:
    """procrastinate's own object, for a worker."""
    from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision

    class Again(BaseRetryStrategy):
        def get_retry_decision(self, *, exception: BaseException, job: Any) -> RetryDecision | None:
            most = PATIENT if isinstance(exception, Waits) else ATTEMPTS
            if job.attempts + 1 >= most:
                return None
            wait = min(FIRST * 2**job.attempts, LONGEST)
            return RetryDecision(retry_in={"seconds": wait})

    made = App(connector=PsycopgConnector(**connected(db.url)))

    @made.task(name=TASK, pass_context=True, retry=Again())
    def work(context: JobContext, /, tenant: int, **given: Any) -> None:
        number, attempts = int(context.job.id or 0), context.job.attempts
        job = msgspec.convert(given, Chore)
        if job.killed >= KILLS:
            set_aside(db, tenant, number, job, attempts, f"It has killed {KILLS} workers.")
            return
        try:
            do(tenant, f"job {number}", job)
        except (Locked, Unavailable) as error:
            raise Waits(str(error)) from error
        except OSError as error:  # this machine's disk: another worker, or a later try
            raise Waits(f"{error.strerror or error} ({error.filename or 'disk'})") from error
        except Exception as error:
            if attempts + 1 >= ATTEMPTS:
                known = isinstance(error, WakebookError)
                said = str(error) if known else f"{type(error).__name__}: {error}"
                set_aside(db, tenant, number, job, attempts + 1, said)
            raise

    return made


def set_aside(
    db: Database, tenant: int, number: int, job: Chore, attempts: int, error: str
) -> None:
    with db.tenant(tenant) as connection:
        connection.execute(
            "INSERT INTO aside (tenant, job, task, arguments, attempts, error) "
            "VALUES (%s, %s, %s, %s::jsonb, %s, %s) ON CONFLICT DO NOTHING",
            (tenant, number, job.verb, msgspec.json.encode(job).decode(), attempts, error[:2000]),
        )


def put(
    db: Database,
    tenant: int,
    job: Chore,
    *,
    once: bool = False,
    priority: int = 0,
    connection: Any = None,
) -> int:
    """Have a job done: its number. `once`: not if the same one waits already (0). `connection`: a
    transaction that it is a part of."""
    sql = (
        "INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, args) "
        "SELECT 'default', %(task)s, %(priority)s, %(lock)s, %(args)s::jsonb WHERE NOT (%(once)s "
        "AND EXISTS (SELECT FROM procrastinate_jobs WHERE status = 'todo' AND lock = %(lock)s "
        "AND args = %(args)s::jsonb)) RETURNING id"
    )
    args = json.dumps({"tenant": tenant, **msgspec.to_builtins(job)}, ensure_ascii=False)
    given: dict[str, Any] = {"task": TASK, "lock": f"tenant {tenant}", "args": args}
    given |= {"once": once, "priority": priority}
    with nullcontext(connection) if connection is not None else db.anyone() as own:
        found = own.execute(sql, given).fetchone()
    return int(found[0]) if found else 0


def put_due(db: Database, pause: timedelta = timedelta(minutes=10)) -> int:
    """Begin the jobs of tenants whose hour has come: how many tenants."""
    with db.anyone() as connection:
        found = connection.execute("SELECT * FROM take_due(%s, %s)", (TICKS, pause)).fetchall()
        for (tenant,) in found:
            put(db, tenant, Chore(verb="tick"), once=True, connection=connection)
    return len(found)


def take_up(db: Database, seconds: float) -> int:
    """Give the jobs of workers that have not been heard of for so long to others: how many."""
    with db.anyone() as connection:
        return connection.execute(
            "UPDATE procrastinate_jobs SET status = 'todo', scheduled_at = NULL, worker_id = NULL, "
            "args = args || jsonb_build_object('killed', coalesce((args->>'killed')::int, 0) + 1) "
            "WHERE id IN ("
            "SELECT job.id FROM procrastinate_jobs job LEFT JOIN procrastinate_workers worker "
            "ON worker.id = job.worker_id WHERE job.status = 'doing' AND (worker.id IS NULL "
            "OR worker.last_heartbeat < now() - %s * interval '1 second') FOR UPDATE OF job "
            "SKIP LOCKED)",
            (seconds,),
        ).rowcount


def tidy(db: Database) -> None:
    """Forget jobs that are long done."""
    with db.anyone() as connection:
        connection.execute(
            "DELETE FROM procrastinate_jobs WHERE id IN (SELECT job_id FROM procrastinate_events "
            "WHERE type IN ('succeeded', 'failed') AND at < now() - interval '2 days' LIMIT 10000)"
        )


def counts(db: Database, batch: str = "") -> dict[str, int]:
    """How many jobs there are: todo, doing, succeeded, failed."""
    with db.anyone() as connection:
        found = connection.execute(
            "SELECT status::text, count(*) FROM procrastinate_jobs "
            "WHERE %s IN ('', args->>'batch') GROUP BY 1",
            (batch,),
        )
        return {"todo": 0, "doing": 0, "succeeded": 0, "failed": 0} | dict(found.fetchall())


def waiting(db: Database, tenant: int) -> list[Waiting]:
    """The jobs of a tenant that are not done yet, in their order."""
    with db.tenant(tenant) as connection:
        found = connection.execute(
            "SELECT args->>'verb', status = 'doing', attempts, scheduled_at "
            "FROM procrastinate_jobs WHERE lock = %s AND status IN ('todo', 'doing') ORDER BY id",
            (f"tenant {tenant}",),
        ).fetchall()
    return [Waiting(*row) for row in found]


def aside(db: Database, tenant: int = 0) -> list[Aside]:
    """The jobs that were set aside, newest last: of all tenants, or of one."""
    with db.tenant(tenant) if tenant else db.admin() as connection:
        found = connection.execute(
            "SELECT name, job, at, arguments, attempts, error FROM aside JOIN home USING (tenant) "
            "ORDER BY at"
        ).fetchall()
    names = Aside.__struct_fields__
    return [Aside(**dict(zip(names, row, strict=True))) for row in found]


def again(db: Database, number: int) -> int:
    """Have a job that was set aside done once more: its new number."""
    with db.admin() as connection:
        found = connection.execute(
            "DELETE FROM aside WHERE job = %s RETURNING tenant, arguments", (number,)
        ).fetchone()
        if found is None:
            raise WakebookError(f"No job {number} was set aside. `wakebook team jobs` shows them.")
        tenant, given = found
        return put(db, tenant, msgspec.convert(given, Chore), connection=connection)


def forget(db: Database, number: int) -> None:
    """Drop a job that was set aside."""
    with db.admin() as connection:
        connection.execute("DELETE FROM aside WHERE job = %s", (number,))
