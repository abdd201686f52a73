"""wakebook notes"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import Progress, console, emit, many, options

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.notes.page import Broken


@click.command()
@click.option("--full", is_flag=True, help="Write all notes anew, from nothing but the log.")
@click.option("--check", is_flag=True, help="Only look for links that lead nowhere.")
@options
def command(memory: Memory, full: bool, check: bool, as_json: bool) -> None:
    """Bring the notes below knowledge/ up to date with the log.

    `catch-up` and the jobs do it by themselves. Only what stands between the markers of a
    note is written; everything outside is yours. A block that you have edited waits for
    `wakebook review`. Ask `wakebook why FILE:LINE` where a line comes from.
    """
    broken = memory.notes.missing_links() if check else []
    if check:
        _show_broken(broken, as_json)
        return
    with Progress(as_json) as progress:
        done = memory.notes.update(full=full, progress=progress)
    broken = memory.notes.missing_links()
    if as_json:
        emit({"updated": done, "broken_links": broken})
    else:
        from rich.markup import escape

        out = console()
        for path in done.written:
            out.print(f"  {escape(path)}")
        written = many(len(done.written), "note")
        out.print(f"[green]●[/green] {written} written, {many(done.pages, 'page')} looked at")
        for name in done.edited:
            out.print(f"  [yellow]edited by hand:[/yellow] {escape(name)} (`wakebook review`)")
        for path, why in done.problems.items():
            out.print(f"  [red]to be mended:[/red] {escape(path)}: {escape(why)}")
        for link in broken:
            where = escape(f"{link.path}:{link.line}")
            out.print(f"  [yellow]no such note:[/yellow] {where} links to {escape(link.target)}")
    if done.problems:
        sys.exit(1)


def _show_broken(broken: list[Broken], as_json: bool) -> None:
    if as_json:
        emit(broken)
    else:
        from rich.markup import escape

        out = console()
        for link in broken:
            out.print(escape(f"{link.path}:{link.line}: no note {link.target}"))
        out.print("" if broken else "[green]●[/green] Every link leads to a note.", end="\n")
    if broken:
        sys.exit(1)
