"""wakebook catch-up"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import Progress, console, emit, many, options, show_planned

if TYPE_CHECKING:
    from rich.console import Console

    from wakebook.learn.catch_up import Sweep
    from wakebook.memory import Memory


@click.command(name="catch-up")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--all", "everything", is_flag=True, help="Every session of every host (default).")
@click.option("--session", default="", metavar="ID", help="Only this session.")
@click.option("--close", is_flag=True, help="End the sessions' windows now, with a handoff.")
@click.option(
    "--retry-failed",
    is_flag=True,
    help="Try again what was given up on, and a model that is left alone.",
)
@click.option(
    "--upgrade", is_flag=True, help="Have the model read again what rules have read so far."
)
@click.option("--dry-run", is_flag=True, help="Show what a model would be sent, and its price.")
@options
def command(
    memory: Memory,
    paths: tuple[Path, ...],
    everything: bool,
    session: str,
    close: bool,
    retry_failed: bool,
    upgrade: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Read what was said since the last time, and remember it.

    Without arguments: every session in the hosts' folders. PATHS can be session files or
    folders from anywhere; the format is recognised. Running it twice changes nothing.

    With a model in config.toml ([models] main) it reads the conversations; without one, or
    where it fails twice, rules do. --upgrade has it read those again: what it finds replaces
    what the rules found.
    """
    if everything and (paths or session):
        raise click.UsageError("--all takes neither PATHS nor --session.")
    if upgrade and (paths or close):
        raise click.UsageError("--upgrade takes neither PATHS nor --close.")
    if upgrade:
        memory.models.insist = retry_failed
        _upgrade(memory, session, dry_run, as_json)
        return
    with Progress(quiet=as_json) as shown, _stage(memory, dry_run) as chosen:
        done = chosen.catch_up(
            paths, session, closing=close, retry_failed=retry_failed, progress=shown
        )
    if dry_run:
        show_planned(memory, chosen.models, as_json)
        return
    if as_json:
        emit({"messages": done.messages, "entries": done.entries, "sweep": done})
    else:
        report(done)
    if done.failed or done.given_up or done.held:
        sys.exit(1)


def _stage(memory: Memory, dry_run: bool) -> AbstractContextManager[Memory]:
    return memory.rehearsal() if dry_run else nullcontext(memory)


def _upgrade(memory: Memory, session: str, dry_run: bool, as_json: bool) -> None:
    from rich.markup import escape

    with Progress(quiet=as_json) as shown, _stage(memory, dry_run) as chosen:
        done = chosen.upgrade(session, shown)
    if dry_run:
        show_planned(memory, chosen.models, as_json)
        return
    if as_json:
        emit(done)
        sys.exit(1 if done.failed else 0)
    out = console()
    if not done.transcripts and not done.failed:
        out.print("[green]●[/green] Nothing to upgrade: rules have read nothing by themselves.")
    elif done.transcripts:
        out.print(
            f"[green]●[/green] {many(done.transcripts, 'conversation')} read again, "
            f"[bold]{many(done.entries, 'entry')}[/bold] in the place of what rules had found"
        )
    for path, error in done.failed.items():
        out.print(f"  [red]failed[/red] {escape(path)}: {escape(error)}")
    if done.left:
        out.print(f"  [red]{done.left} not tried[/red]: the model failed too often in a row")
    if done.failed:
        sys.exit(1)


def report(done: Sweep, out: Console | None = None) -> None:
    """What a sweep did, in a few lines."""
    from rich.markup import escape

    out = out or console()
    busy = [item for item in done.reports if item.messages or item.closed]
    redacted = sum(item.redacted for item in done.reports)
    if not busy and not done.failed and not done.held and not done.entries:
        out.print("[green]●[/green] Nothing new: everything is up to date.")
    else:
        out.print(
            f"[green]●[/green] {many(done.messages, 'message')} read, "
            f"[bold]{many(done.entries, 'entry')}[/bold] remembered, "
            f"{many(len(done.closed), 'conversation')} closed"
        )
    if redacted:
        was = "was" if redacted == 1 else "were"
        out.print(f"  {many(redacted, 'secret')} {was} redacted before anything was written")
    if done.skipped:
        kinds: dict[str, int] = {}
        for reason in done.skipped.values():
            kinds[reason] = kinds.get(reason, 0) + 1
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        out.print(f"  [dim]skipped: {listed} (no human in them)[/dim]")
    if done.covered:
        parts = many(done.covered, "part")
        out.print(
            f"  [yellow]rules read {parts} that the model should have[/yellow]: "
            "`wakebook status` says why, `wakebook catch-up --upgrade` reads it again"
        )
    for reference, error in done.held.items():
        out.print(f"  [red]the model failed[/red] at {escape(reference)}: {escape(error)}")
    if done.held:
        out.print(
            "  [dim]What was said is archived; the next catch-up tries again, then rules "
            "read it.[/dim]"
        )
    for reference, error in done.failed.items():
        out.print(f"  [red]failed[/red] {escape(reference)}: {escape(error)}")
    if done.given_up:
        out.print(
            f"  [red]{len(done.given_up)} given up on[/red]: see `wakebook audit`, "
            "or try `wakebook catch-up --retry-failed`"
        )
