"""wakebook why"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, options

if TYPE_CHECKING:
    from wakebook.memory import Memory


WHOLE = 5  # entries that are shown with the words behind them


@click.command()
@click.argument("place", metavar="FILE:LINE")
@options
def command(memory: Memory, place: str, as_json: bool) -> None:
    """Where a line of a note comes from: its entries, and the words behind them.

    \b
    FILE is relative to the home or to its knowledge folder:
      wakebook why projects/auth/context.md:12
      wakebook why memory/MEMORY.md:20
    """
    if not re.search(r"(?::|#L?)\d+$", place.strip()):
        raise click.UsageError(f"{place!r} is no line of a file. Write it like notes.md:12.")
    found = memory.notes.why(place)
    whole = found.entries if as_json or len(found.entries) <= WHOLE else ()
    shown = [memory.get(entry.id) for entry in whole]
    if as_json:
        emit({"why": found, "shown": shown})
        return
    from rich.markup import escape

    from wakebook.cli.show import show

    out = console()
    out.print(f"[bold]{escape(f'{found.path}:{found.line}')}[/bold]  {escape(found.text)}")
    if found.rewritten:
        out.print(f"  [dim]put into these words by {escape(found.rewritten)}[/dim]")
    for one in shown:
        out.print()
        show(memory, one, out)
    for entry in found.entries if not whole else ():
        out.print(f"  [bold]{entry.id}[/bold] {entry.type}: {escape(entry.content)}")
    if found.entries and not whole:
        out.print("  [dim]wakebook show ID tells where one of them was said[/dim]")
    for said in (found.note, found.commit):
        if said:
            out.print(f"  {escape(said)}")
