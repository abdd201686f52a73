"""wakebook restore"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, options

if TYPE_CHECKING:
    from wakebook.memory import Memory


@click.command()
@click.argument("path")
@options
def command(memory: Memory, path: str, as_json: bool) -> None:
    """Bring a note back from the archive.

    \b
    What has not been touched for long moves to archive/ and can still be found:
      wakebook restore archive/projects/auth
      wakebook restore journal/2026-02-20.md
    """
    old, new = memory.notes.restore(path)
    if as_json:
        emit({"from": old, "to": new})
    else:
        from rich.markup import escape

        console().print(f"[green]●[/green] {escape(old)} is {escape(new)} again")
