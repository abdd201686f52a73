"""wakebook catch-up"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wakebook.adapters.cli.shared import Progress, console, emit, options

if TYPE_CHECKING:
    from rich.console import Console

    from wakebook.memory import Memory, Sweep


@click.command(name="catch-up")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--all", "everything", is_flag=True, help="Every session of every host (default).")
@click.option("--session", default="", metavar="ID", help="Only this session.")
@click.option("--close", is_flag=True, help="End the sessions' windows now, with a handoff.")
@click.option("--retry-failed", is_flag=True, help="Try again what was given up on.")
@options
def command(
    memory: Memory,
    paths: tuple[Path, ...],
    everything: bool,
    session: str,
    close: bool,
    retry_failed: bool,
    as_json: bool,
) -> None:
    """Read what was said since the last time, and remember it.

    Without arguments: every session in the hosts' folders. PATHS can be session files or
    folders from anywhere; the format is recognised. Running it twice changes nothing.
    """
    if everything and (paths or session):
        raise click.UsageError("--all takes neither PATHS nor --session.")
    with Progress(quiet=as_json) as shown:
        done = memory.catch_up(
            paths, session, closing=close, retry_failed=retry_failed, progress=shown
        )
    if as_json:
        emit({"messages": done.messages, "entries": done.entries, "sweep": done})
    else:
        report(done)
    if done.failed or done.given_up:
        sys.exit(1)


def report(done: Sweep, out: Console | None = None) -> None:
    """What a sweep did, in a few lines."""
    from rich.markup import escape

    out = out or console()
    busy = [item for item in done.reports if item.messages or item.closed]
    redacted = sum(item.redacted for item in done.reports)
    if not busy and not done.failed:
        out.print("[green]●[/green] Nothing new: everything is up to date.")
    else:
        out.print(
            f"[green]●[/green] {done.messages} messages read, "
            f"[bold]{done.entries} entries[/bold] remembered, "
            f"{len(done.closed)} conversations closed"
        )
    if redacted:
        out.print(f"  {redacted} secrets were redacted before anything was written")
    if done.skipped:
        kinds: dict[str, int] = {}
        for reason in done.skipped.values():
            kinds[reason] = kinds.get(reason, 0) + 1
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        out.print(f"  [dim]skipped: {listed} (no human in them)[/dim]")
    for reference, error in done.failed.items():
        out.print(f"  [red]failed[/red] {escape(reference)}: {escape(error)}")
    if done.given_up:
        out.print(
            f"  [red]{len(done.given_up)} given up on[/red]: see `wakebook audit`, "
            "or try `wakebook catch-up --retry-failed`"
        )
