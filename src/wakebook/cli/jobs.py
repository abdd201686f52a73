"""Jobs: what is due, what ran, and a process that runs them: list, run, watch."""

from __future__ import annotations

import signal
from datetime import datetime, timedelta
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from wakebook.cli.shared import Out, command, emit_line, esc, group, paint

if TYPE_CHECKING:
    from wakebook.learn.catch_up import Sweep
    from wakebook.memory import Memory
    from wakebook.upkeep.jobs import JobStatus, Ran


@group(alone=True)
def jobs(memory: Memory, out: Out) -> None:
    """The jobs, how their last run went, and when they run next."""
    _list(memory, out)


@command(jobs, "list")
def list_(memory: Memory, out: Out) -> None:
    """The jobs, how their last run went and when they run next; lines for cron and systemd."""
    _list(memory, out)


def _list(memory: Memory, out: Out) -> None:
    from wakebook.service.unit import timers

    found, now = memory.jobs.listed(), memory.opened.now()
    (crontab, systemd), zone = timers(memory.home), str(now.tzinfo)
    if out.json({"time_zone": zone, "jobs": found, "crontab": crontab, "systemd": systemd}):
        return
    rows = [
        (
            f"[bold]{standing.job}[/bold]",
            f"{esc(standing.words)}\n[dim]{esc(standing.about)}[/dim]",
            _last(standing, now),
            _next(standing, now),
        )
        for standing in found
    ]
    style: dict[str, Any] = {"header_style": "table.header", "pad_edge": True}
    out.table(f"job  when  last run  next [dim]({zone})[/dim]", rows, **style)
    out.say("\n[bold]To run them, add this line to your crontab[/bold] (crontab -e)")
    out.say(f"  {crontab}", markup=False)
    out.say(
        "\n[bold]or these two files[/bold]; then `systemctl --user enable --now wakebook.timer`"
    )
    out.say("".join(f"  {line}\n" for line in systemd.splitlines()), markup=False)
    out.say("[bold]or keep `wakebook jobs watch` running.[/bold]")


def _last(standing: JobStatus, now: datetime) -> str:
    run = standing.last
    if run is None:
        return "[dim]never[/dim]"
    ago = _ago(now - run.ended)
    if run.outcome == "ok":
        return f"[green]ok[/green] {ago}\n[dim]{esc(run.said)}[/dim]"
    times = f", {run.failures} times in a row" if run.failures > 1 else ""
    return f"[red]failed[/red] {ago}{times}\n{esc(run.error)}"


def _next(standing: JobStatus, now: datetime) -> str:
    if standing.next is None:
        return "[dim]never[/dim]"
    if standing.due:
        return "[yellow]due now[/yellow]"
    today = standing.next.date() == now.date()
    return f"today {standing.next:%H:%M}" if today else f"{standing.next:%a %Y-%m-%d %H:%M}"


def _ago(passed: timedelta) -> str:
    """A rough length of time: 12 minutes ago."""
    minutes = int(passed.total_seconds() // 60)
    if minutes < 0:
        return "in the future (the clock was set back)"
    for length, noun in ((1440, "day"), (60, "hour"), (1, "minute")):
        if minutes >= length:
            count = minutes // length
            return f"{count} {noun}{'s' if count > 1 else ''} ago"
    return "just now"


@command(jobs)
@click.argument("names", nargs=-1, metavar="[JOB]...")
def run(memory: Memory, out: Out, names: tuple[str, ...]) -> bool:
    """Run the jobs that are due, each at most once, and end."""
    done = memory.tick(names, told=lambda ran: None if out.as_json else show(out, ran))
    out.json({"jobs": done})
    if not done and not out.as_json:
        _idle(memory)
    return any(ran.outcome == "failed" for ran in done)


def show(out: Out, ran: Ran) -> None:
    """What became of a job, in a line."""
    failed = ran.outcome == "failed"
    mark = {"ok": "[green]●[/green]", "failed": "[red]✗[/red]"}.get(ran.outcome, "[dim]○[/dim]")
    took = f" [dim]({ran.seconds:.1f} s)[/dim]" if ran.seconds >= 0.1 else ""
    said = f"[red]failed[/red]: {esc(ran.said)}" if failed else esc(ran.said)
    (out.err if failed else out).say(f"{mark} [bold]{ran.job:9}[/bold] {said}{took}")


def _idle(memory: Memory) -> None:
    """The usual case: said without loading rich."""
    coming = [(standing.next, standing.job) for standing in memory.jobs.listed() if standing.next]
    text = "Every job is switched off: see [schedule] in config.toml."
    if coming:
        at, job = min(coming)
        text = f"Nothing is due. Next: {job}, {at:%a %H:%M}."
    paint(f"{click.style('●', fg='green')} {text}")


tick = run  # its old name


@command(jobs)
def watch(memory: Memory, out: Out) -> None:
    """Catch up whenever something is said, and run the jobs, until you press Ctrl-C."""
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    out.say("Watching your agents' sessions. Ctrl-C ends it; nothing is lost.")
    told = Told(out)
    memory.jobs.watch(stop, told.caught_up, told.failed, told.ran)


class Told:
    """Tells what a watch does: a line of JSON each, or text."""

    def __init__(self, out: Out) -> None:
        self.out = out

    def caught_up(self, done: Sweep) -> None:
        if self.out.as_json:
            told = {"messages": done.messages, "entries": done.entries}
            emit_line(told | {"closed": list(done.closed), "failed": done.failed})
        elif done.messages or done.failed:
            from wakebook.cli.read import report

            report(self.out, done)

    def failed(self, error: str) -> None:
        if self.out.as_json:
            emit_line({"error": error})
        else:
            self.out.err.say(f"wakebook: {error}", markup=False)

    def ran(self, ran: Ran) -> None:
        if ran.outcome == "busy":  # which is for the other process to tell
            return
        if self.out.as_json:
            said = {"outcome": ran.outcome, "said": ran.said, "seconds": ran.seconds}
            emit_line({"job": ran.job, **said})
        elif ran.job != "observe" or ran.outcome != "ok":  # that one is told as a catch-up
            show(self.out, ran)
