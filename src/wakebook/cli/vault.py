"""wakebook vault"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import Progress, console, emit, many, options

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.notes.vault import Built

SHOWN = 20


@click.group(name="vault")
def command() -> None:
    """The memory as an Obsidian vault: a journal page a day, and a page a subject."""


@command.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@options
def build(memory: Memory, path: Path, dry_run: bool, as_json: bool) -> None:
    """Add what is new to the vault in PATH, a new folder or a vault of yours.

    \b
    wakebook vault build ~/Vault --dry-run     which pages would be made or added to
    wakebook vault build ~/Vault               do it; again whenever you like

    Lines are only ever added, at the end of their section. What you write, move or delete in the
    pages stays so, and a note of yours is never touched: a page that would have its name gets
    another one. `wakebook subjects` gives the names.
    """
    with Progress(quiet=as_json) as shown:
        built = memory.notes.obsidian(path, dry_run, shown)
    if as_json:
        emit(built)
    else:
        report(built)
    if built.refused:
        sys.exit(1)


def report(built: Built) -> None:
    from rich.markup import escape

    out = console()
    changed = [*built.created, *built.extended]
    if not changed and not built.refused:
        out.print(f"[green]●[/green] Nothing new for {escape(str(built.path))}.")
    elif changed:
        would = "would be " if built.dry else ""
        out.print(
            f"[green]●[/green] [bold]{many(built.lines, 'line')}[/bold] {would}added in "
            f"{escape(str(built.path))}: {many(len(built.created), 'page')} {would}made, "
            f"{many(len(built.extended), 'page')} {would}extended"
        )
    for sign, paths in (("+", built.created), ("~", built.extended)):
        for name in paths[:SHOWN]:
            out.print(f"  [dim]{sign}[/dim] {escape(name)}")
        if len(paths) > SHOWN:
            out.print(f"  [dim]{sign} … and {len(paths) - SHOWN:,} more[/dim]")
    for note in built.notes:
        out.print(f"  [yellow]{escape(note)}[/yellow]")
    for problem in built.refused.values():
        out.print(f"  [red]not written[/red] {escape(problem)}")
