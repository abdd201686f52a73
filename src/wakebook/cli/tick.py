"""wakebook tick"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, options

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.upkeep.jobs import Ran


@click.command()
@click.argument("names", nargs=-1, metavar="[JOB]...")
@options
def command(memory: Memory, names: tuple[str, ...], as_json: bool) -> None:
    """Run the jobs that are due, each at most once, and end.

    For cron, a systemd timer or a host's scheduler: call it every few minutes; mostly there
    is nothing to do. Jobs that were missed run once. With names, these run now, due or not.

    \b
    wakebook tick                 what is due
    wakebook tick briefing        the briefing, now
    wakebook jobs                 which jobs there are, and a line for your crontab

    Exit code 1 if a job failed; failures go to standard error, and are tried again later.
    """
    done = memory.tick(names, told=(lambda ran: None) if as_json else show)
    if as_json:
        emit({"jobs": done})
    elif not done:
        _idle(memory)
    if any(ran.outcome == "failed" for ran in done):
        sys.exit(1)


def show(ran: Ran) -> None:
    """What became of a job, in a line."""
    from rich.markup import escape

    failed = ran.outcome == "failed"
    mark = {"ok": "[green]●[/green]", "failed": "[red]✗[/red]"}.get(ran.outcome, "[dim]○[/dim]")
    took = f" [dim]({ran.seconds:.1f} s)[/dim]" if ran.seconds >= 0.1 else ""
    said = f"[red]failed[/red]: {escape(ran.said)}" if failed else escape(ran.said)
    console(stderr=failed).print(f"{mark} [bold]{ran.job:9}[/bold] {said}{took}")


def _idle(memory: Memory) -> None:
    """The usual case: said without loading what draws tables."""
    coming = [(standing.next, standing.job) for standing in memory.jobs.listed() if standing.next]
    text = "Every job is switched off: see [schedule] in config.toml."
    if coming:
        at, job = min(coming)
        text = f"Nothing is due. Next: {job}, {at:%a %H:%M}."
    click.echo(f"{click.style('●', fg='green')} {text}")
