"""Workers: jobs of many tenants, killed workers, jobs that fail, and the hours of a tenant."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wakebook.base import clock
from wakebook.service.team_work import Worker, fill, next_due, opened
from wakebook.team import queue, tenants
from wakebook.team.copies import Copies
from wakebook.team.database import Database
from wakebook.team.queue import Chore

WORKER = """
import sys
from pathlib import Path
from wakebook.service.team_work import Worker, opened
from wakebook.team.copies import Copies
from wakebook.team.database import Database
db = Database(sys.argv[1])
Worker(db, Copies(db, Path(sys.argv[2]), opened), heart=0.3).run(lambda: print("ready", flush=True))
"""
Until = Callable[[Callable[[], object]], None]


@pytest.fixture
def db(url: str) -> Iterator[Database]:
    made = Database(url)
    yield made
    made.close()


@pytest.fixture
def copies(db: Database, tmp_path: Path) -> Iterator[Copies]:
    made = Copies(db, tmp_path / "copies", opened)
    yield made
    made.close()


@pytest.fixture
def workers(url: str, tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Starts worker processes."""
    made: list[subprocess.Popen[str]] = []

    def another() -> subprocess.Popen[str]:
        words = [sys.executable, "-c", WORKER, url, str(tmp_path / "work")]
        made.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
        return made[-1]

    yield another
    for one in made:
        one.kill()
        one.communicate()


def until(found: Callable[[], object], seconds: float = 60.0) -> None:
    end = clock.monotonic() + seconds
    while not found():
        assert clock.monotonic() < end, "it takes too long"
        clock.sleep(0.05)


def texts(memory: Any) -> list[str]:
    return [entry.content for entry in memory.log.chains().entries]


def idle(db: Database) -> bool:
    found = queue.counts(db)
    return not (found["todo"] or found["doing"])


def remember(text: str) -> Chore:
    return Chore(verb="remember", ask={"text": text})


def test_killed_workers_lose_and_double_nothing(
    db: Database, copies: Copies, workers: Callable[[], subprocess.Popen[str]]
) -> None:
    numbers = [fill(db, copies, f"tenant-{number}") for number in range(3)]
    for turn in range(4):
        for tenant in numbers:
            queue.put(db, tenant, remember(f"Thing {turn} of tenant {tenant}."))
    running = [workers(), workers()]
    for kill in range(3):
        until(lambda least=kill: queue.counts(db)["succeeded"] > 3 * least)  # type: ignore[misc]
        os.kill(running.pop(0).pid, signal.SIGKILL)
        running.append(workers())
    until(lambda: idle(db))
    for tenant in numbers:
        want = [f"Thing {turn} of tenant {tenant}." for turn in range(4)]
        assert copies(tenant).read(texts) == want
    running[-1].terminate()
    assert running[-1].wait(30) == 0


def test_a_job_of_a_silent_worker_is_taken_up_and_not_done_twice(
    db: Database, copies: Copies
) -> None:
    tenant = fill(db, copies, "ada")
    number = queue.put(db, tenant, remember("Once."))
    worker = Worker(db, copies)
    worker.do(tenant, f"job {number}", remember("Once."))  # and then it was killed
    with db.anyone() as connection:
        connection.execute("UPDATE procrastinate_jobs SET status = 'doing'")
    assert queue.take_up(db, 60) == 1
    assert queue.counts(db)["todo"] == 1
    worker.do(tenant, f"job {number}", remember("Once."))
    assert copies(tenant).read(texts) == ["Once."]


def test_a_job_that_fails_is_set_aside_and_can_be_tried_again(db: Database, copies: Copies) -> None:
    tenant = fill(db, copies, "ada")
    bad = Chore(verb="get", ask={"ref": "nowhere"})
    queue.set_aside(db, tenant, 7, bad, 5, "There is no such file.")
    [found] = queue.aside(db)
    assert (found.tenant, found.job, found.error) == ("ada", 7, "There is no such file.")
    assert tenants.listed(db)[0].aside == 1
    assert queue.again(db, 7) > 0
    assert queue.aside(db) == [] and queue.counts(db)["todo"] == 1


def test_poison_ends_in_the_side_room_and_the_tenant_goes_on(
    db: Database,
    copies: Copies,
    workers: Callable[[], subprocess.Popen[str]],
) -> None:
    tenant = fill(db, copies, "ada")
    queue.put(db, tenant, Chore(verb="no-such-verb"))
    with db.anyone() as connection:  # it has failed before
        connection.execute("UPDATE procrastinate_jobs SET attempts = 4")
    queue.put(db, tenant, Chore(verb="get", ask={"ref": "x"}, killed=queue.KILLS))
    queue.put(db, tenant, remember("Still here."))
    workers()
    until(lambda: idle(db))
    assert copies(tenant).read(texts) == ["Still here."]
    assert sorted(one.error for one in queue.aside(db)) == [
        "It has killed 10 workers.",
        "There is no job 'no-such-verb'. Is this worker older than the server?",
    ]


def test_the_hours_of_a_tenant_are_its_own(db: Database, copies: Copies) -> None:
    tenant = fill(db, copies, "ada")
    with db.tenant(tenant) as connection:
        connection.execute("UPDATE home SET due_at = now()")
    assert queue.put_due(db) == 1
    assert queue.put_due(db) == 0  # nobody else is given it
    Worker(db, copies).do(tenant, "job 1", Chore(verb="tick"))
    with db.tenant(tenant) as connection:
        [at] = connection.execute("SELECT due_at FROM home").fetchall()
    assert at[0] == copies(tenant).read(next_due)

    def move(memory: Any) -> bytes:
        memory.home.config.write_text('[schedule]\ntime_zone = "Asia/Tokyo"\n')
        return b""

    copies(tenant).write(move)
    assert (
        copies(tenant).read(next_due).utcoffset()
        == clock.now().astimezone(clock.zone("Asia/Tokyo")).utcoffset()
    )


def test_a_home_goes_in_and_comes_out_as_it_was(
    db: Database, copies: Copies, tmp_path: Path
) -> None:
    from wakebook import Memory

    plain = Memory(tmp_path / "plain")
    plain.init()
    plain.remember("The ferry leaves at six.", subject="ferry")
    plain.history.commit("by hand")
    tenant = fill(db, copies, "ada", tmp_path / "plain")
    root = copies(tenant).read(lambda memory: memory.home.root)
    log = ["git", "log", "--format=%H"]
    assert subprocess.check_output(log, cwd=root) == subprocess.check_output(
        log, cwd=tmp_path / "plain"
    )
    for name in ("log.jsonl", "subjects.json", "knowledge/memory/MEMORY.md"):
        assert (root / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()
