"""wakebook commit"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.adapters.cli.shared import console, emit, options

if TYPE_CHECKING:
    from wakebook.memory import Memory


@click.command()
@click.option("--message", "-m", default="", help="The summary line.")
@options
def command(memory: Memory, message: str, as_json: bool) -> None:
    """Commit what is waiting now, instead of with the next half-hourly batch."""
    done = memory.commit(message)
    if as_json:
        emit({"commit": done})
    else:
        console().print(f"[green]●[/green] {f'Committed {done}' if done else 'Nothing to commit'}")
