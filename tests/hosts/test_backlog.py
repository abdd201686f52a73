"""The backlog: what nobody waits for is done all the same, once, and before the end."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from tests.hosts.hooking import SECONDS
from wakebook.hosts.backlog import Backlog
from wakebook.hosts.events import Errand

KEEP = Errand("keep", "pi", "a")
CLOSE = Errand("close", "pi", "a")


class Worker:
    """Does nothing until it may, and notes what it did."""

    def __init__(self) -> None:
        self.done: list[Errand] = []
        self.begun = threading.Semaphore(0)
        self.may = threading.Semaphore(0)

    def __call__(self, work: Errand) -> None:
        self.begun.release()
        assert self.may.acquire(timeout=SECONDS)
        self.done.append(work)


@pytest.fixture
def worker() -> Worker:
    return Worker()


def let(worker: Worker, count: int = 99) -> None:
    worker.may.release(count)


def test_all_that_was_put_is_done_in_order_before_the_end(worker: Worker, tmp_path: Path) -> None:
    backlog = Backlog(tmp_path, worker)
    works = [Errand("keep", "pi", str(number)) for number in range(20)]
    for work in works:
        backlog.put(work)
    let(worker)
    backlog.end()
    assert worker.done == works
    assert len(backlog) == 0


def test_the_same_work_waits_only_once(worker: Worker, tmp_path: Path) -> None:
    backlog = Backlog(tmp_path, worker)
    backlog.put(Errand("sweep"))
    assert worker.begun.acquire(timeout=SECONDS)
    for _ in range(5):
        backlog.put(KEEP)
    assert len(backlog) == 2
    let(worker)
    backlog.end()
    assert worker.done == [Errand("sweep"), KEEP]


def test_what_runs_is_done_again_for_what_was_said_since(worker: Worker, tmp_path: Path) -> None:
    backlog = Backlog(tmp_path, worker)
    backlog.put(KEEP)
    assert worker.begun.acquire(timeout=SECONDS)
    backlog.put(KEEP)
    let(worker)
    backlog.end()
    assert worker.done == [KEEP, KEEP]


def test_a_close_takes_the_place_of_a_keep(worker: Worker, tmp_path: Path) -> None:
    backlog = Backlog(tmp_path, worker)
    backlog.put(Errand("sweep"))
    assert worker.begun.acquire(timeout=SECONDS)
    backlog.put(KEEP)
    backlog.put(Errand("keep", "pi", "b"))
    backlog.put(CLOSE)
    let(worker)
    backlog.end()
    assert worker.done == [Errand("sweep"), Errand("keep", "pi", "b"), CLOSE]


def test_waiting_ends_when_what_was_put_before_is_done(worker: Worker, tmp_path: Path) -> None:
    backlog = Backlog(tmp_path, worker)
    backlog.put(CLOSE)
    waited = threading.Event()

    def wait() -> None:
        backlog.wait(SECONDS)
        waited.set()

    thread = threading.Thread(target=wait)
    thread.start()
    assert worker.begun.acquire(timeout=SECONDS)
    time.sleep(0.05)
    backlog.put(Errand("sweep"))  # later than the one who waits
    assert not waited.is_set()
    let(worker, 1)
    assert waited.wait(SECONDS)  # although the sweep has not been done
    assert worker.done == [CLOSE]
    let(worker)
    backlog.end()
    thread.join()


def test_waiting_does_not_last_longer_than_it_may(worker: Worker, tmp_path: Path) -> None:
    backlog = Backlog(tmp_path, worker)
    backlog.put(CLOSE)
    backlog.wait(0.01)
    assert worker.done == []
    let(worker)
    backlog.end()


def test_waiting_for_nothing_takes_no_time(worker: Worker, tmp_path: Path) -> None:
    backlog = Backlog(tmp_path, worker)
    backlog.wait(SECONDS * 99)
    backlog.end()
    backlog.wait(SECONDS * 99)


def test_many_who_put_and_wait_at_once(tmp_path: Path) -> None:
    done: list[Errand] = []
    backlog = Backlog(tmp_path, done.append)

    def put(name: int) -> None:
        for number in range(50):
            backlog.put(Errand("keep", "pi", f"{name}.{number}"))
            backlog.wait(SECONDS)

    threads = [threading.Thread(target=put, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    backlog.end()
    assert len(done) == len(set(done)) == 300


def test_other_processes_see_that_there_is_work(worker: Worker, tmp_path: Path) -> None:
    """Two of them: the service and a link, say. Each waits for what the other has to do."""
    one, other = Backlog(tmp_path, worker), Backlog(tmp_path, worker)
    one.put(CLOSE)
    assert worker.begun.acquire(timeout=SECONDS)
    waited = threading.Event()

    def wait() -> None:
        other.wait(SECONDS)
        waited.set()

    thread = threading.Thread(target=wait)
    thread.start()
    assert not waited.wait(0.1)
    let(worker)
    assert waited.wait(SECONDS)
    assert worker.done == [CLOSE]
    thread.join()
    one.end()
    other.end()


def test_two_that_wait_for_each_other_do_not_hang(worker: Worker, tmp_path: Path) -> None:
    one, other = Backlog(tmp_path, worker), Backlog(tmp_path, worker)
    one.put(CLOSE)
    other.put(KEEP)
    let(worker)
    one.wait(SECONDS)
    other.wait(SECONDS)
    one.end()
    other.end()
    assert sorted(worker.done) == [CLOSE, KEEP]


def test_work_that_comes_while_the_thread_goes_is_not_lost(worker: Worker, tmp_path: Path) -> None:
    class Late(Backlog):
        def _run(self) -> None:
            super()._run()
            self.put(CLOSE)  # the thread is still there, and takes no more

    let(worker)
    Late(tmp_path, worker).end()
    assert worker.done == [CLOSE]
