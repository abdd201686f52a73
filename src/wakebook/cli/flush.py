"""wakebook flush"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, many, options

if TYPE_CHECKING:
    from wakebook.learn.flush import Flushed
    from wakebook.memory import Memory


@click.command()
@click.argument("session")
@click.option(
    "--tokens", type=click.IntRange(min=0), metavar="N", help="Tokens that the session uses now."
)
@click.option(
    "--window", type=click.IntRange(min=1), metavar="N", help="The model's context window."
)
@click.option(
    "--round",
    "compactions",
    type=click.IntRange(min=0),
    metavar="N",
    help="How often the session has been compacted; not given: as its file says.",
)
@options
def command(
    memory: Memory,
    session: str,
    tokens: int | None,
    window: int | None,
    compactions: int | None,
    as_json: bool,
) -> None:
    """Save SESSION before its host compacts it, and check that it is saved.

    It is a catch-up of this one session. With --tokens and --window it is done only when the
    window is nearly full ([flush] in config.toml), and once in each compaction round. Exit
    code 1 if something is left that is not saved.

    \b
    wakebook flush 5560                                   now
    wakebook flush 5560 --tokens 178000 --window 200000   if it is time
    """
    if not session.strip():
        raise click.UsageError("Name a session: `wakebook audit` lists them.")
    if (tokens is None) != (window is None):
        raise click.UsageError("--tokens and --window belong together.")
    done = memory.flush(session, tokens=tokens, window=window, compactions=compactions)
    if as_json:
        emit(done)
    else:
        _show(done)
    if not done.ok:
        sys.exit(1)


def _show(done: Flushed) -> None:
    from rich.markup import escape

    out = console()
    name, why = escape(done.session), escape(done.why)
    saved = f"{many(done.messages, 'message')}, {many(done.entries, 'entry')}"
    if not done.due:
        out.print(f"[dim]●[/dim] {name}: not now, {why}.")
    elif not done.kept:
        out.print(f"[yellow]●[/yellow] {name} is not saved, on purpose: {why}.")
    elif not done.ok:
        out.print(f"[red]●[/red] {name} is not saved: {why}")
        if done.messages or done.entries:
            out.print(f"  saved so far: {saved}")
        out.print("  [dim]`wakebook status` shows it until it is; compacting can wait.[/dim]")
    elif why:
        out.print(f"[green]●[/green] {name} is saved and checked: {why}.")
    else:
        out.print(f"[green]●[/green] {name} is saved and checked: [bold]{saved}[/bold]")
    if done.note:
        out.print(f"  [dim]{escape(done.note)}[/dim]")
