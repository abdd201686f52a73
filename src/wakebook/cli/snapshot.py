"""wakebook snapshot"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, options

if TYPE_CHECKING:
    from wakebook.memory import Memory


@click.command()
@click.argument("name", nargs=-1, required=True)
@click.option("--before", is_flag=True, help="NAME is an event that is about to happen.")
@options
def command(memory: Memory, name: tuple[str, ...], before: bool, as_json: bool) -> None:
    """Give this moment a NAME: what waits is committed, and the commit gets a tag.

    \b
    wakebook snapshot first release          memory/milestone/first-release
    wakebook snapshot --before the-rewrite   memory/before/the-rewrite

    Later, `wakebook at NAME …` shows the memory of that moment, and `wakebook diff --since NAME`
    what has changed since. A tag is never moved.
    """
    done = memory.history.snapshot(" ".join(name), before=before)
    if as_json:
        emit(done)
        return
    first = f" [dim](committed {done.committed} first)[/dim]" if done.committed else ""
    console().print(f"[green]●[/green] [bold]{done.tag}[/bold] is {done.commit[:7]}{first}")
