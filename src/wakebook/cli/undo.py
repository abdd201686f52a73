"""wakebook undo"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, options

if TYPE_CHECKING:
    from wakebook.memory import Memory


@click.command()
@click.option("--list", "listing", is_flag=True, help="Only show what could be taken back.")
@options
def command(memory: Memory, listing: bool, as_json: bool) -> None:
    """Take back the last rewrite: a condensed note, a rollup, notes that were put away.

    What was written since stays. Where it contradicts what would come back, nothing is changed,
    and you are told. Calling it again takes back the rewrite before that one.

    \b
    wakebook undo --list
    wakebook undo
    """
    if listing:
        _list(memory, as_json)
        return
    done = memory.undo()
    if as_json:
        emit(done)
        return
    from rich.markup import escape

    out = console()
    at = done.rewrite.at.astimezone(memory.opened.now().tzinfo)
    out.print(
        f"[green]●[/green] Took back [bold]{escape(done.rewrite.name)}[/bold] of "
        f"{at:%Y-%m-%d %H:%M} ({done.rewrite.commit[:7]}, undone by {done.commit})"
    )
    moved = set(done.moved.values())  # those are told as what is back
    removed = [file for file in done.removed if file not in moved]
    for word, files in (("is back", done.restored), ("removed", removed)):
        for file in files:
            out.print(f"  {word:8}  {escape(file)}")


def _list(memory: Memory, as_json: bool) -> None:
    found = memory.rewrites()
    if as_json:
        emit(found)
        return
    from rich.markup import escape

    out = console()
    for one in found:
        at = one.at.astimezone(memory.opened.now().tzinfo)
        state = " [dim](taken back)[/dim]" if one.undone else ""
        out.print(
            f"[dim]{one.commit[:7]}  {at:%Y-%m-%d %H:%M}[/dim]  {escape(one.name)}  "
            f"[dim]{escape(one.summary)}[/dim]{state}"
        )
    if not found:
        out.print("There was no rewrite yet.")
