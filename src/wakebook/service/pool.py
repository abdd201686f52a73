"""The pool: where the façade, which is synchronous, is called from the service.

Four threads, each with a Memory of its own, made anew when config.toml has changed. Verbs that
take long get two of them at most, so that a hook is answered while others read conversations. Of
the threads that are idle, the first works next: what a Memory has read stays with it, so that the
service grows with what is asked at once, not with what is asked.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from functools import partial
from heapq import heappop, heappush
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

from wakebook.base.errors import WakebookError
from wakebook.base.home import LOCK_SECONDS, Home
from wakebook.memory import Memory

THREADS = 4
LONG = 2  # of them, at most, for verbs that take long
PATIENCE = 5.0  # seconds that a request waits for another writer

T = TypeVar("T")
Work = Callable[[], Callable[[], None]]


class Memories:
    """The Memory of one home for each thread, by the config.toml that there is now."""

    def __init__(self, root: Path, patience: float = LOCK_SECONDS) -> None:
        self.home = Home(root)
        self._patience = patience
        self._own = threading.local()

    def __call__(self) -> Memory:
        now = self.mark()
        if getattr(self._own, "mark", self) != now:
            self._own.memory, self._own.mark = Memory(self.home.root), now
            self._own.memory.home.patience = self._patience
        found: Memory = self._own.memory
        return found

    def mark(self) -> object:
        """Which config.toml it is."""
        try:
            there = os.stat(self.home.config)  # noqa: PTH116
        except OSError:
            return None
        return there.st_mtime_ns, there.st_size, there.st_ino


class Threads:
    """Do work in some threads; of those that are idle, in the first."""

    def __init__(self, number: int, name: str) -> None:
        self._number, self._name = number, name
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._idle: list[tuple[int, SimpleQueue[Work | None]]] = []  # a heap
        self._waiting: deque[Work] = deque()
        self._ended = False

    def submit(self, work: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()

        def done() -> Callable[[], None]:
            """What tells whoever waits."""
            if not future.set_running_or_notify_cancel():
                return lambda: None
            try:
                return partial(future.set_result, work())
            except BaseException as error:  # noqa: BLE001 - whoever waits gets it
                return partial(future.set_exception, error)

        with self._lock:
            if self._ended:
                raise RuntimeError("The service is ending.")
            if self._idle:
                heappop(self._idle)[1].put(done)
            elif (place := len(self._threads)) < self._number:
                name = f"{self._name}_{place}"
                thread = threading.Thread(
                    target=self._run, args=(place, done), name=name, daemon=True
                )
                self._threads.append(thread)
                thread.start()
            else:
                self._waiting.append(done)
        return future

    def _run(self, place: int, work: Work | None) -> None:
        mine: SimpleQueue[Work | None] = SimpleQueue()
        while work:
            tell = work()
            with self._lock:
                work = self._waiting.popleft() if self._waiting else None
                if work is None and not self._ended:
                    heappush(self._idle, (place, mine))  # before it is told: the next one finds it
                last = work is None and self._ended
            tell()
            work = work or (None if last else mine.get())

    def end(self) -> None:
        """Finish what runs and what waits."""
        with self._lock:
            self._ended = True
            for _, mine in self._idle:
                mine.put(None)
        for thread in self._threads:
            thread.join()


class Pool:
    def __init__(self, root: Path) -> None:
        self.memories = Memories(root, PATIENCE)
        self._threads = Threads(THREADS, "asked")
        self._long = asyncio.Semaphore(LONG)

    def submit(self, work: Callable[[Memory], T]) -> Future[T]:
        return self._threads.submit(lambda: work(self.memories()))

    async def run(
        self, work: Callable[[Memory], T], *, long: bool = False, needs: str = "read"
    ) -> T:
        """`needs`: what whoever asks must be allowed to do; here, whoever comes this far is the
        owner."""
        async with self._long if long else nullcontext():
            return await asyncio.wrap_future(self.submit(work))

    async def do(self, work: Callable[[], T]) -> T:
        """In a thread, without opening the home."""
        return await asyncio.wrap_future(self._threads.submit(work))

    def warm(self) -> None:
        """Load what the first question would wait for. Nothing of this is told or written down."""

        def ask() -> None:
            with suppress(WakebookError, OSError):  # the first question meets it again, and tells
                memory = self.memories()
                memory.topics.test("wakebook")
                memory.context("wakebook", have=("topics",))

        self._threads.submit(ask)

    def end(self) -> None:
        """Finish what runs."""
        self._threads.end()
