"""The process of `wakebook serve`: the watcher, the jobs, HTTP and MCP, until it is told to stop.

    requests ──> guard ──> pool of 4 threads ──> façade
    hooks    ──> the same; work that no host waits for is done by one thread in the background
    files    ──> watcher and jobs, in a thread of their own

On SIGTERM or SIGINT it first says that it is gone, so that hosts do their work themselves; then
running requests and the work in the background are finished. A second signal ends it at once.
Whatever ends it, nothing is lost: the hosts' files are the source, and every write is whole.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import uvicorn

from wakebook.base.errors import WakebookError
from wakebook.service.address import Address
from wakebook.service.app import App, Hooks, Service
from wakebook.service.guard import Guard, Token
from wakebook.service.metrics import Metrics
from wakebook.service.pool import Memories, Pool

if TYPE_CHECKING:
    from wakebook.base.home import Home
    from wakebook.learn.catch_up import Sweep
    from wakebook.memory import Memory
    from wakebook.upkeep.jobs import Ran

REST_SECONDS = 60.0  # after the watcher has failed, or until config.toml has changed
LOOK_SECONDS = 2.0  # whether config.toml has changed
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
GRACE_SECONDS = 30  # for requests that run when we are told to stop

Told = Callable[[str, Any], None]
Done = Callable[[str, str, Exception | None], None]  # an act, of whom, and what went wrong
MakeHooks = Callable[["Home", Callable[[], "Memory"], Done], Hooks]


class Server(uvicorn.Server):
    """One that says when it is ready, and sleeps until it is told to stop."""

    def __init__(self, app: App, ready: Callable[[], None], gone: Callable[[], None]) -> None:
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,  # its messages go to standard error, as they are
            access_log=False,
            proxy_headers=False,  # nothing stands between us and the client
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        super().__init__(config)
        self._ready = ready
        self._gone = gone
        self._told = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ours are set with the loop; a signal is no reason to die of it when all is done."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._signalled)
        yield

    def _signalled(self) -> None:
        if self._told.is_set():
            os._exit(1)
        self._told.set()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if not self._told.is_set():
            self._ready()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._told.wait()
        self.should_exit = True

    async def shutdown(self, sockets: Any = None) -> None:
        self._gone()
        await super().shutdown(sockets)


class Watching:
    """The watcher and the jobs, in a thread; with new settings, from the start."""

    def __init__(self, home: Home, metrics: Metrics, told: Told) -> None:
        self._memories = Memories(home.root)
        self._metrics = metrics
        self._told = told
        self._stop = threading.Event()
        self._turn = threading.Event()  # set: the watcher ends, for now or for good
        self._thread = threading.Thread(target=self._run, name="watch")
        self._looker = threading.Thread(target=self._look, name="settings", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._looker.start()

    def tell(self) -> None:
        """That it is time to end."""
        self._stop.set()
        self._turn.set()

    def end(self) -> None:
        self.tell()
        if self._thread.ident:  # it may never have begun
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._turn.clear()
            if self._stop.is_set():
                return
            try:
                self._memories().jobs.watch(self._turn, self._swept, self._failed, self._ran)
            except Exception as error:  # noqa: BLE001 - config.toml is wrong; or anything passing
                said = str(error) if isinstance(error, WakebookError) else repr(error)
                self._failed(said)
                with suppress(OSError):
                    self._memories.home.trace("failure", where="watch", error=said)
                self._turn.wait(REST_SECONDS)

    def _look(self) -> None:
        seen = self._memories.mark()
        while not self._stop.wait(LOOK_SECONDS):
            now = self._memories.mark()
            if now != seen:
                seen = now
                self._turn.set()

    def _swept(self, done: Sweep) -> None:
        self._metrics.caught_up()
        self._told("caught up", done)

    def _failed(self, error: str) -> None:
        self._metrics.count("failures_total")
        self._told("failed", error)

    def _ran(self, ran: Ran) -> None:
        if ran.outcome == "failed":
            self._metrics.count("failures_total")
        self._told("ran", ran)


def serve(home: Home, port: int | None, told: Told, make_hooks: MakeHooks) -> None:
    """Until a signal comes. `told` hears of what happens: ready, caught up, ran, failed, ..."""
    home.require()
    settings = Memories(home.root)().config  # an error in it is told now

    def tell(what: str, about: Any) -> None:
        with suppress(OSError):  # a closed output is no reason to stop
            told(what, about)

    address = Address(home, settings.service.port if port is None else port)
    try:
        token = Token(home)
        token.make(home)
        _serve(home, address, token, tell, make_hooks)
    finally:
        address.close()


def _serve(home: Home, address: Address, token: Token, told: Told, make_hooks: MakeHooks) -> None:
    metrics = Metrics()
    pool = Pool(home.root)
    watching = Watching(home, metrics, told)

    def done(act: str, whose: str, error: Exception | None) -> None:
        """Work in the background has ended."""
        metrics.count("works_total", act=act, outcome="failed" if error else "ok")
        if error is None:
            metrics.caught_up()
            return
        known = isinstance(error, WakebookError)
        said = str(error) if known else f"{type(error).__name__}: {error}"
        metrics.count("failures_total")
        with suppress(OSError):
            home.trace("failure", where=f"{act} {whose}", error=said)
        told("failed", said)

    hooks = make_hooks(home, Memories(home.root), done)

    def ready() -> None:
        address.tell()
        pool.warm()
        watching.start()
        told("ready", address)

    def gone() -> None:
        told("stopping", len(hooks))
        address.leave()
        watching.tell()

    try:
        app = App(Service(pool, hooks, metrics), Guard(token, address.port))
        Server(app, ready, gone).run(sockets=address.sockets)
    finally:
        for number in SIGNALS:  # the loop has ended, and its handlers with it
            signal.signal(number, lambda *_: os._exit(1))
        pool.end()
        hooks.end()
        watching.end()
        told("stopped", None)
