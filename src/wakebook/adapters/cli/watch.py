"""wakebook watch"""

from __future__ import annotations

import signal
from threading import Event
from typing import TYPE_CHECKING

import click

from wakebook.adapters.cli.shared import console, emit_line, options

if TYPE_CHECKING:
    from wakebook.memory import Memory, Sweep


@click.command()
@options
def command(memory: Memory, as_json: bool) -> None:
    """Catch up whenever something is said, until you press Ctrl-C.

    At the start everything that is behind is recovered. Then a session is caught up on
    after 40 new records (with a pause of 5 minutes), and everything every 15 minutes; the
    figures stand in [watch] of config.toml. With --json, one line for each catch-up.
    """
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    out = console()

    def told(done: Sweep) -> None:
        if as_json:
            emit_line(
                {
                    "messages": done.messages,
                    "entries": done.entries,
                    "closed": list(done.closed),
                    "failed": done.failed,
                }
            )
        elif done.messages or done.failed:
            from wakebook.adapters.cli.catch_up import report

            report(done)

    if not as_json:
        out.print("Watching your agents' sessions. Ctrl-C ends it; nothing is lost.")

    def failed(error: str) -> None:
        if as_json:
            emit_line({"error": error})
        else:
            console(stderr=True).print(f"wakebook: {error}", markup=False)

    memory.watch(stop, told, failed)
