"""The service's threads: the one that is warm works again."""

import threading
from pathlib import Path

import pytest

from wakebook import Memory
from wakebook.service.pool import THREADS, Pool, Threads


def test_one_after_the_other_is_one_thread() -> None:
    threads = Threads(4, "asked")
    names = {threads.submit(lambda: threading.current_thread().name).result() for _ in range(50)}
    threads.end()
    assert names == {"asked_0"}


def test_at_once_is_as_many_as_there_are_and_the_rest_waits() -> None:
    threads, go = Threads(3, "asked"), threading.Event()
    started = threading.Semaphore(0)

    def work(number: int) -> int:
        started.release()
        go.wait(60)
        return number

    futures = [threads.submit(lambda number=number: work(number)) for number in range(8)]  # type: ignore[misc]
    for _ in range(3):
        assert started.acquire(timeout=60)
    assert not started.acquire(blocking=False)
    go.set()
    threads.end()  # what waits is done, too
    assert [one.result() for one in futures] == list(range(8))
    with pytest.raises(RuntimeError):
        threads.submit(lambda: 1)


def test_of_those_that_are_idle_the_first_works() -> None:
    threads, go = Threads(2, "asked"), threading.Event()
    first = threads.submit(lambda: go.wait(60))
    second = threads.submit(lambda: threading.current_thread().name)
    assert second.result() == "asked_1"  # the other one is busy
    go.set()
    assert first.result()
    assert threads.submit(lambda: threading.current_thread().name).result() == "asked_0"
    threads.end()


def test_what_goes_wrong_reaches_whoever_waits() -> None:
    threads = Threads(1, "asked")
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 // 0).result()
    assert threads.submit(lambda: 7).result() == 7
    threads.end()


def test_asked_one_after_the_other_one_memory_reads(tmp_path: Path) -> None:
    Memory(tmp_path / "home").init()
    pool = Pool(tmp_path / "home")
    try:
        seen = {pool.submit(id).result() for _ in range(2 * THREADS)}
    finally:
        pool.end()
    assert len(seen) == 1
