"""wakebook init"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.adapters.cli.shared import console, emit, options

if TYPE_CHECKING:
    from wakebook.memory import Memory


@click.command()
@click.argument("path", required=False)
@options
def command(memory: Memory, path: str | None, as_json: bool) -> None:
    """Make a home at PATH (default: --home, WAKEBOOK_HOME or ~/.wakebook).

    Running it again is safe: it adds what is missing and leaves alone what is there.
    """
    if path:
        from wakebook.memory import Memory

        memory = Memory(path)
    made = memory.init()
    if as_json:
        emit({"home": str(memory.home.root), "made": made})
        return
    from rich.markup import escape

    out = console()
    root = escape(str(memory.home.root))
    out.print(f"[bold green]●[/bold green] Your home is [bold]{root}[/bold]")
    if made.created:
        out.print(f"  created     {', '.join(made.created)}")
    if made.kept:
        out.print(f"  left alone  {', '.join(made.kept)}")
    for note in made.notes:
        out.print(f"  note        {escape(note)}")
    out.print("\nNext: [bold]wakebook catch-up[/bold] reads your agents' sessions.")
