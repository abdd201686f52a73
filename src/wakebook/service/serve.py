"""The process of `wakebook serve`: the watcher, the jobs, HTTP and MCP, until it is told to stop.

    asked ──> guard ──> pool of 4 threads ──> façade
    hooks ──> the same; what nobody waits for goes to the backlog, worked off by one thread
    files ──> watcher and jobs, in a thread of their own

On SIGTERM or SIGINT it first says that it is gone, so that hosts do their work themselves; then
what runs is finished and the backlog is worked off. A second signal ends it at once. Whatever
ends it, nothing is lost: the hosts' files are the source, and every write is whole.
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

from wakebook.base import clock
from wakebook.base.errors import WakebookError
from wakebook.service.address import Address
from wakebook.service.app import App, Hooks, Service
from wakebook.service.guard import Guard, Token
from wakebook.service.metrics import Metrics
from wakebook.service.pool import Opened, Pool

if TYPE_CHECKING:
    from wakebook.base.home import Home
    from wakebook.learn.catch_up import Sweep
    from wakebook.memory import Memory
    from wakebook.upkeep.jobs import Ran

REST_SECONDS = 60.0  # after the watcher has failed
LOOK_SECONDS = 2.0  # whether config.toml has changed
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
GRACE_SECONDS = 30  # for requests that run when we are told to stop

Told = Callable[[str, Any], None]
Done = Callable[[str, str, Exception | None], None]  # an act, of whom, and what went wrong
MakeHooks = Callable[["Home", Callable[[], "Memory"], Done], Hooks]


class Server(uvicorn.Server):
    """One that says when it is ready, and sleeps until it is told to stop."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], gone: Any) -> None:
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
        self._opened = Opened(home.root)
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
            seen = self._opened.mark()
            try:
                self._opened().jobs.watch(self._turn, self._swept, self._failed, self._ran)
            except Exception as error:  # noqa: BLE001 - config.toml is wrong; or anything passing
                said = str(error) if isinstance(error, WakebookError) else repr(error)
                self._failed(said)
                with suppress(OSError):
                    self._opened.home.trace("failure", where="watch", error=said)
                self._rest(seen)

    def _rest(self, seen: object) -> None:
        """Until config.toml has changed, or a while has passed."""
        until = clock.monotonic() + REST_SECONDS
        while self._opened.mark() == seen and clock.monotonic() < until:
            if self._stop.wait(LOOK_SECONDS):
                return

    def _look(self) -> None:
        seen = self._opened.mark()
        while not self._stop.wait(LOOK_SECONDS):
            now = self._opened.mark()
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


def serve(home: Home, port: int | None, told: Told, hooks: MakeHooks) -> None:
    """Until a signal comes. `told` hears of what happens: ready, caught up, ran, failed, ..."""
    home.require()
    settings = Opened(home.root).config()  # what is wrong with it is told now

    def tell(what: str, about: Any) -> None:
        with suppress(OSError):  # nobody reads what we print: that is no reason to stop
            told(what, about)

    address = Address(home, settings.service.port if port is None else port)
    try:
        token = Token(home)
        token.make(home)
        _serve(home, address, token, tell, hooks)
    finally:
        address.close()


def _serve(home: Home, address: Address, token: Token, told: Told, make_hooks: MakeHooks) -> None:
    metrics = Metrics()
    pool = Pool(home.root)
    watching = Watching(home, metrics, told)
    hooks = make_hooks(home, Opened(home.root), _done(home, metrics, told))

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
        Server(_settings(app), ready, gone).run(sockets=address.sockets)
    finally:
        for number in SIGNALS:  # the loop has ended, and its handlers with it
            signal.signal(number, lambda *_: os._exit(1))
        pool.end()
        hooks.end()
        watching.end()
        told("stopped", None)


def _settings(app: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,  # what it has to say goes to standard error, as it is
        access_log=False,
        proxy_headers=False,  # nobody stands between us and the client
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def _done(home: Home, metrics: Metrics, told: Told) -> Done:
    """Counts the work of hooks in the background, and tells and traces what failed."""

    def done(act: str, whose: str, error: Exception | None) -> None:
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

    return done
