"""wakebook brief"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, options, show_planned, tell_troubles

if TYPE_CHECKING:
    from wakebook.memory import Memory


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what a model would be sent, and its price.")
@options
def command(memory: Memory, dry_run: bool, as_json: bool) -> None:
    """Write the briefing between its markers in MEMORY.md. The rest is not touched.

    With a model in config.toml, it puts what is active into words and looks for
    contradictions; what it said is kept and used until something changes.
    """
    if dry_run:
        with memory.rehearsal() as copy:
            copy.notes.brief()
            show_planned(memory, copy.models, as_json)
        return
    done = memory.notes.brief()
    tell_troubles(memory)
    if as_json:
        emit(done)
        return
    for line in done.lines:
        click.echo(line)
    what = "written to" if done.changed else "unchanged in"
    out = console(stderr=True)
    out.print(f"\n[green]●[/green] {len(done.lines)} lines {what} {done.path}")
    if done.total > 180:
        out.print(f"[yellow]MEMORY.md has {done.total} lines; agents read the first 200.[/yellow]")
