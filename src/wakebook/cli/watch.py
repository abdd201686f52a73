"""wakebook watch"""

from __future__ import annotations

import signal
from threading import Event
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit_line, options

if TYPE_CHECKING:
    from wakebook.learn.catch_up import Sweep
    from wakebook.memory import Memory
    from wakebook.upkeep.jobs import Ran


@click.command()
@options
def command(memory: Memory, as_json: bool) -> None:
    """Catch up whenever something is said, and run the jobs, until you press Ctrl-C.

    At the start everything that is behind is recovered. Then a session is caught up on
    after 40 new records (with a pause of 5 minutes; [watch] in config.toml), and every job
    runs when it is due (`wakebook jobs`; [schedule] in config.toml). You need no cron then.

    With --json, one line for each catch-up, and one with "job" for each job that ran.
    """
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    if not as_json:
        console().print("Watching your agents' sessions. Ctrl-C ends it; nothing is lost.")
    if as_json:
        memory.jobs.watch(stop, _told_json, lambda error: emit_line({"error": error}), _ran_json)
    else:
        memory.jobs.watch(stop, _told, _failed, _ran)


def _told(done: Sweep) -> None:
    if done.messages or done.failed:
        from wakebook.cli.catch_up import report

        report(done)


def _failed(error: str) -> None:
    console(stderr=True).print(f"wakebook: {error}", markup=False)


def _ran(ran: Ran) -> None:
    told = ran.job == "observe" and ran.outcome == "ok"  # as a catch-up
    if not told and ran.outcome != "busy":  # which is for the other process to tell
        from wakebook.cli.tick import show

        show(ran)


def _told_json(done: Sweep) -> None:
    emit_line(
        {
            "messages": done.messages,
            "entries": done.entries,
            "closed": list(done.closed),
            "failed": done.failed,
        }
    )


def _ran_json(ran: Ran) -> None:
    if ran.outcome != "busy":
        said = {"outcome": ran.outcome, "said": ran.said, "seconds": ran.seconds}
        emit_line({"job": ran.job, **said})
