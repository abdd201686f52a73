"""The pool: where the façade, which is synchronous, is called from the service.

Four threads, each with a Memory of its own. It is made anew when config.toml has changed, so
that a setting counts without a restart. Two of the threads are kept free of what takes long: a
hook is answered while others read whole conversations.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from wakebook.base import config as configs
from wakebook.base.errors import WakebookError
from wakebook.base.home import Home

if TYPE_CHECKING:
    from wakebook.base.config import Config
    from wakebook.memory import Memory

THREADS = 4
LONG = 2  # of them, at most, for what takes long
PATIENCE = 5.0  # seconds that a request waits for another writer

T = TypeVar("T")


class Brisk(Home):
    """A home whose lock a request does not wait for a minute for: somebody waits for it."""

    @contextmanager
    def locked(self, seconds: float = PATIENCE) -> Iterator[None]:
        with super().locked(seconds):
            yield


class Opened:
    """A thread's own Memory of one home."""

    def __init__(self, root: str | os.PathLike[str], *, brisk: bool = False) -> None:
        self.home = Home(root)
        self._config: tuple[object, Config] | None = None
        self._brisk = brisk
        self._own = threading.local()

    def __call__(self) -> Memory:
        now = self.mark()
        kept: tuple[object, Memory] | None = getattr(self._own, "kept", None)
        if kept is None or kept[0] != now:
            kept = now, self._open()
            self._own.kept = kept
        return kept[1]

    def config(self) -> Config:
        """The settings, as config.toml has them by now."""
        now = self.mark()
        if self._config is None or self._config[0] != now:
            self.home.require()
            self._config = now, configs.load(self.home.config)
        return self._config[1]

    def mark(self) -> object:
        """Which config.toml it is."""
        try:
            there = os.stat(self.home.config)  # noqa: PTH116
        except OSError:
            return None
        return there.st_mtime_ns, there.st_size, there.st_ino

    def _open(self) -> Memory:
        from wakebook.memory import Memory

        memory = Memory(self.home.root)
        if self._brisk:
            memory.opened.home = Brisk(self.home.root)
        return memory


class Pool:
    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.opened = Opened(root, brisk=True)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="asked")
        self._long = asyncio.Semaphore(LONG)

    def submit(self, work: Callable[[Memory], T]) -> Future[T]:
        return self._threads.submit(lambda: work(self.opened()))

    async def do(self, work: Callable[[], T]) -> T:
        """In a thread, without opening the home."""
        return await asyncio.wrap_future(self._threads.submit(work))

    async def run(self, work: Callable[[Memory], T], *, long: bool = False) -> T:
        if not long:
            return await asyncio.wrap_future(self.submit(work))
        async with self._long:
            return await asyncio.wrap_future(self.submit(work))

    def warm(self) -> None:
        """What the first question would wait for is loaded before it comes."""
        self._threads.submit(lambda: _warm(self.opened))

    def end(self) -> None:
        """Finish what runs."""
        self._threads.shutdown(wait=True, cancel_futures=False)


def _warm(opened: Opened) -> None:
    """Nothing of this is told to anybody, or written down."""
    with suppress(WakebookError, OSError):  # the first question meets it again, and tells
        memory = opened()
        memory.topics.test("wakebook")
        memory.context("wakebook", have=("topics",))
