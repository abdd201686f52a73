"""wakebook brief"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.adapters.cli.shared import console, emit, options

if TYPE_CHECKING:
    from wakebook.memory import Memory


@click.command()
@options
def command(memory: Memory, as_json: bool) -> None:
    """Write the briefing between its markers in MEMORY.md. The rest is not touched."""
    done = memory.brief()
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
