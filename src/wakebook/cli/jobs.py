"""wakebook jobs"""

from __future__ import annotations

import shlex
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, options

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.upkeep.jobs import Standing

SERVICE = """\
# ~/.config/systemd/user/wakebook.service
[Unit]
Description=Wakebook: run the jobs that are due

[Service]
Type=oneshot
ExecStart={command}

# ~/.config/systemd/user/wakebook.timer
[Unit]
Description=Wakebook: look for jobs that are due

[Timer]
OnCalendar=*:0/5
Persistent=true

[Install]
WantedBy=timers.target
"""


@click.command()
@options
def command(memory: Memory, as_json: bool) -> None:
    """The jobs: when they run, how the last run went, and when they run next.

    Change when in [schedule] of config.toml, with a cron expression and your time zone; an
    empty expression switches a job off:

    \b
    [schedule]
    time_zone = "Europe/Lisbon"
    briefing = "30 6 * * 1-5"
    weekly = ""

    Something has to call `wakebook tick` every few minutes, or `wakebook watch` has to run.
    Below the jobs stand the lines for your crontab and for a systemd timer.
    """
    found, now = memory.jobs.listed(), memory.opened.now()
    crontab, systemd = _crontab(memory), SERVICE.format(command=_unit_command(memory))
    if as_json:
        zone = str(now.tzinfo)
        emit({"time_zone": zone, "jobs": found, "crontab": crontab, "systemd": systemd})
        return
    _print(found, now)
    out = console()
    out.print("\n[bold]To run them, add this line to your crontab[/bold] (crontab -e)")
    out.print(f"  {crontab}", markup=False)
    out.print(
        "\n[bold]or these two files[/bold]; then `systemctl --user enable --now wakebook.timer`"
    )
    out.print("".join(f"  {line}\n" for line in systemd.splitlines()), markup=False)
    out.print("[bold]or keep `wakebook watch` running.[/bold]")


def _print(found: list[Standing], now: datetime) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("job", "when", "last run", f"next [dim]({now.tzinfo})[/dim]", box=None)
    for standing in found:
        table.add_row(
            f"[bold]{standing.job}[/bold]",
            f"{escape(standing.words)}\n[dim]{escape(standing.about)}[/dim]",
            _last(standing, now),
            _next(standing, now),
        )
    console().print(table)


def _last(standing: Standing, now: datetime) -> str:
    from rich.markup import escape

    run = standing.last
    if run is None:
        return "[dim]never[/dim]"
    ago = _ago(now - run.ended)
    if run.outcome == "ok":
        return f"[green]ok[/green] {ago}\n[dim]{escape(run.said)}[/dim]"
    times = f", {run.failures} times in a row" if run.failures > 1 else ""
    return f"[red]failed[/red] {ago}{times}\n{escape(run.error)}"


def _next(standing: Standing, now: datetime) -> str:
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


def _words(memory: Memory) -> list[str]:
    """The command in full: cron knows neither your PATH nor WAKEBOOK_HOME."""
    script = Path(sys.executable).with_name("wakebook")
    program = [str(script)] if script.exists() else [sys.executable, "-m", "wakebook"]
    return [*program, "--home", str(memory.home.root), "tick"]


def _crontab(memory: Memory) -> str:
    command = shlex.join(_words(memory)).replace("%", "\\%")  # a % is a new line to cron
    return f"*/5 * * * * {command} >/dev/null"


def _unit_command(memory: Memory) -> str:
    return " ".join(_unit_word(word) for word in _words(memory))


def _unit_word(word: str) -> str:
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{word}"' if not word or any(sign in word for sign in " \t;'\"\\") else word
