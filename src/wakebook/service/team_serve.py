"""The process of `wakebook team serve`: HTTP and MCP for every tenant, until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from wakebook.base.errors import WakebookError
from wakebook.service.app import HostEvents
from wakebook.service.metrics import Metrics
from wakebook.service.serve import HttpServer
from wakebook.service.team_app import TeamApp, TeamPool
from wakebook.service.team_work import SWEEP, check_clock, opened
from wakebook.team import schema
from wakebook.team.copies import Copies
from wakebook.team.database import Database
from wakebook.team.logs import tell
from wakebook.team.settings import Settings

BACKLOG = 512


def serve(settings: Settings, hooks: HostEvents, ready: Callable[[int], None]) -> None:
    """Until a signal comes. `ready` hears of the port."""
    db = Database(settings.url, size=settings.threads + 4, patience=settings.wait_seconds)
    schema.require(db)
    check_clock(db)
    reading = Copies(db, settings.place("read"), opened)
    writing = Copies(db, settings.place("write"), opened)
    listening = _listening(settings)
    over = threading.Event()

    def sweep() -> None:
        while not over.wait(SWEEP):
            with suppress(WakebookError, OSError):
                reading.sweep()
                writing.sweep()

    async def run() -> None:
        pool = TeamPool(reading, writing, settings.threads)
        app = TeamApp(db, pool, hooks, Metrics())
        port = listening.getsockname()[1]
        server = HttpServer(app, lambda: ready(port), lambda: tell("info", "stopping"), lambda: "")
        await server.serve(sockets=[listening])
        pool.end()

    sweeper = threading.Thread(target=sweep, name="sweep", daemon=True)
    sweeper.start()
    try:
        asyncio.run(run())
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        over.set()
        reading.close()
        writing.close()
        db.close()
        tell("info", "stopped")


def _listening(settings: Settings) -> socket.socket:
    """A socket that several servers of one machine may share."""
    made = socket.create_server(
        (settings.host, settings.port),
        family=socket.AF_INET6 if ":" in settings.host else socket.AF_INET,
        backlog=BACKLOG,
        reuse_port=True,
    )
    made.set_inheritable(True)
    return made
