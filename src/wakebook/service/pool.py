"""The pool: where the façade, which is synchronous, is called from the service.

Four threads, each with a Memory of its own, made anew when config.toml has changed. Verbs that
take long get two of them at most, so that a hook is answered while others read conversations.
"""

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TypeVar

from wakebook.base.errors import WakebookError
from wakebook.base.home import LOCK_SECONDS, Home
from wakebook.memory import Memory

THREADS = 4
LONG = 2  # of them, at most, for verbs that take long
PATIENCE = 5.0  # seconds that a request waits for another writer

T = TypeVar("T")


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


class Pool:
    def __init__(self, root: Path) -> None:
        self.memories = Memories(root, PATIENCE)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="asked")
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
        self._threads.shutdown()
