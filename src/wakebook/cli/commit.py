"""wakebook commit"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, options, show_planned, tell_troubles

if TYPE_CHECKING:
    from wakebook.memory import Memory


@click.command()
@click.option("--message", "-m", default="", help="The summary line.")
@click.option("--dry-run", is_flag=True, help="Show what a model would be sent, and its price.")
@options
def command(memory: Memory, message: str, dry_run: bool, as_json: bool) -> None:
    """Commit what is waiting now, instead of with the next half-hourly batch.

    Without --message, a model in config.toml ([models] cheap) writes it from the changes.
    """
    if dry_run:
        show_planned(memory, memory.history.plan_commit(message), as_json)
        return
    done = memory.history.commit(message)
    tell_troubles(memory)
    if as_json:
        emit({"commit": done})
    else:
        console().print(f"[green]●[/green] {f'Committed {done}' if done else 'Nothing to commit'}")
