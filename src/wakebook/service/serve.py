"""The process of `wakebook serve`: the watcher, the jobs, HTTP and MCP, until it is told to stop.

    requests ──> guard ──> pool of 4 threads ──> façade
    hooks    ──> the same; work that no host waits for is done by one thread in the background
    files    ──> watcher and jobs, in a thread of their own

On SIGTERM or SIGINT it first says that it is gone, so that hosts do their work themselves; then
what runs is finished. A second signal ends it at once: nothing is lost, every write is whole.
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from wakebook.base.errors import WakebookError
from wakebook.base.home import Home
from wakebook.memory import Memory
from wakebook.service import start
from wakebook.service.address import Address, memory
from wakebook.service.app import App, HostEvents
from wakebook.service.guard import Guard, Token
from wakebook.service.metrics import Metrics
from wakebook.service.pool import Memories, Pool

REST_SECONDS = 60.0  # after the watcher has failed, or until config.toml has changed
LOOK_SECONDS = 2.0  # whether config.toml has changed
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
BOUND_SECONDS = 5.0  # between two looks at its bounds
QUIET_SECONDS = 20.0  # before jobs begin that have waited for a service, if a hook started it
SWITCH_SECONDS = 0.001  # a prompt waits so long for a job that computes, each time; usually 0.005
GRACE_SECONDS = 30  # for requests that run when we are told to stop

Told = Callable[[str, Any], None]
Done = Callable[[str, str, Exception | None], None]  # an act, of whom, and what went wrong
MakeHooks = Callable[[Home, Callable[[], Memory], Done], HostEvents]


class Impatient(H11Protocol):
    """A connection whose request never gets complete is closed after a while: half-open ones would
    stay for good, each with a file of ours."""

    looks, pause = 3, 10.0  # and seconds between two of them

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._waited = 0
        self._look()

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        whole = self.conn.their_state not in (h11.IDLE, h11.SEND_BODY)
        self._waited = 0 if whole else self._waited + 1
        if self._waited > self.looks:
            self.transport.close()
        else:
            self.loop.call_later(self.pause, self._look)


class HttpServer(uvicorn.Server):
    """One that says when it is ready, and goes on until it is told to stop, or has to."""

    def __init__(
        self,
        app: App,
        ready: Callable[[], None],
        gone: Callable[[], None],
        over: Callable[[], str],
    ) -> None:
        """`over`: why it has to stop; empty as long as it need not."""
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http=Impatient,
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
        self._over = over
        self._told = asyncio.Event()
        self.why = ""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Ours are set with the loop; a signal is no reason to die of it when all is done."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._signalled, number.name)
        yield

    def _signalled(self, name: str) -> None:
        if self._told.is_set():
            os._exit(1)
        self.why = f"it was told to ({name})"
        self._told.set()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if not self._told.is_set():
            self._ready()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        while not self._told.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._told.wait(), BOUND_SECONDS)
            if not self._told.is_set() and (why := self._over()):
                self.why = why
                break
        self.should_exit = True

    async def shutdown(self, sockets: Any = None) -> None:
        self._gone()
        await super().shutdown(sockets)


class Watching:
    """The watcher and the jobs, in a thread; with new settings, from the start."""

    def __init__(self, home: Home, metrics: Metrics, told: Told, quiet: float = 0.0) -> None:
        """`quiet`: seconds without a request before it begins."""
        self._memories = Memories(home.root)
        self._quiet = quiet
        self._metrics = metrics
        self._told = told
        self._stop = threading.Event()
        self._turn = threading.Event()  # set: the watcher ends, for now or for good
        self._thread = threading.Thread(target=self._run, name="watch")

    def start(self) -> None:
        self._thread.start()
        threading.Thread(target=self._look, name="settings", daemon=True).start()

    def tell(self) -> None:
        """That it is time to end."""
        self._stop.set()
        self._turn.set()

    def end(self) -> None:
        self.tell()
        if self._thread.ident:  # it may never have begun
            self._thread.join()

    def _run(self) -> None:
        while (left := self._quiet - self._metrics.idle) > 0 and not self._stop.wait(left):
            pass
        while not self._stop.is_set():
            self._turn.clear()
            if self._stop.is_set():
                return
            try:
                tells = (partial(self._tell, what) for what in ("caught up", "failed", "ran"))
                self._memories().jobs.watch(self._turn, *tells)
            except Exception as error:  # noqa: BLE001 - config.toml is wrong; or anything passing
                said = str(error) if isinstance(error, WakebookError) else repr(error)
                self._tell("failed", said)
                with suppress(OSError):
                    self._memories.home.trace("failure", where="watch", error=said)
                self._turn.wait(REST_SECONDS)

    def _look(self) -> None:
        seen = self._memories.mark()
        while not self._stop.wait(LOOK_SECONDS):
            if (now := self._memories.mark()) != seen:
                seen = now
                self._turn.set()

    def _tell(self, what: str, about: Any) -> None:
        if what == "caught up":
            self._metrics.caught_up()
        elif what == "failed" or about.outcome == "failed":
            self._metrics.count("failures_total")
        self._told(what, about)


class Bounds:
    """When a service ends by itself: its memory is limited; and one that a hook has started is not
    to outlive its use, nor its home."""

    def __init__(self, memories: Memories, address: Address, metrics: Metrics, hooks: HostEvents):
        self._memories, self._address = memories, address
        self._metrics, self._hooks = metrics, hooks
        self._settings = memories().config.service

    def over(self) -> str:
        if self._address.lost:
            return "its home is gone"
        with suppress(WakebookError, OSError):  # config.toml is wrong for now
            self._settings = self._memories().config.service
        used, most = memory(os.getpid()) >> 20, self._settings.memory_mb
        if 0 < most < used:
            return f"it had {used:,} MB of memory, more than memory_mb in [service] ({most:,})"
        idle, limit = self._metrics.idle / 60, self._settings.idle_minutes
        busy = self._metrics.running or len(self._hooks)
        if self._address.by and 0 < limit <= idle and not busy:
            return f"no request had come for {limit:g} minutes"
        return ""


def serve(
    home: Home,
    port: int | None,
    told: Told,
    make_hooks: MakeHooks,
    *,
    by: str = "",
    held: int = -1,
) -> None:
    """Until a signal comes, or it is over by itself (see `Bounds`). `told` hears of what happens:
    ready, caught up, ran, failed, ... `by`, `held`: see `Address`."""
    home.require()
    settings = Memories(home.root)().config  # an error in it is told now

    def tell(what: str, about: Any) -> None:
        with suppress(OSError):  # a closed output is no reason to stop
            told(what, about)

    at = settings.service.port if port is None else port
    with closing(Address(home, at, by, held)) as address:
        address.why = "it failed"
        _serve(home, address, tell, make_hooks)


def _serve(home: Home, address: Address, told: Told, make_hooks: MakeHooks) -> None:
    guard, metrics, pool = Guard(Token(home), address.port), Metrics(), Pool(home.root)
    watching = Watching(home, metrics, told, QUIET_SECONDS if address.by else 0.0)
    sys.setswitchinterval(SWITCH_SECONDS)

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
    bounds = Bounds(Memories(home.root), address, metrics, hooks)

    def ready() -> None:
        address.tell()
        start.ready(home)
        pool.warm()
        watching.start()
        told("ready", address)

    def gone() -> None:
        told("stopping", len(hooks))
        app.end()
        address.leave()
        watching.tell()

    app = App(pool, hooks, metrics, guard)
    server = HttpServer(app, ready, gone, bounds.over)
    try:
        server.run(sockets=address.sockets)
        address.why = server.why
        if "memory" in server.why:  # and hooks leave it alone for a while
            start.failed(home)
            home.trace("failure", where="service", error=f"The service ended: {server.why}.")
    finally:
        for number in SIGNALS:  # the loop has ended, and its handlers with it
            signal.signal(number, lambda *_: os._exit(1))
        pool.end()
        hooks.end()
        watching.end()
        told("stopped", None)
