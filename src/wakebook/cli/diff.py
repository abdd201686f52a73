"""wakebook diff"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, entry_json, many, options, print_entries

if TYPE_CHECKING:
    from wakebook.history.past import Difference
    from wakebook.memory import Memory

BAR = 40


@click.command()
@click.option("--since", default="7d", show_default=True, help="A day, an age or a tag.")
@click.option("--until", default="", help="The same; without it: now, committed or not.")
@click.option("--stat", is_flag=True, help="Only which files, and how much.")
@click.option("--log", "with_log", is_flag=True, help="The entries that came and went, too.")
@options
def command(
    memory: Memory, since: str, until: str, stat: bool, with_log: bool, as_json: bool
) -> None:
    """What has changed in the knowledge: the notes, and with --log what was learned.

    \b
    wakebook diff --since yesterday           what did I learn today?
    wakebook diff --since 30d --stat
    wakebook diff --since 2026-02-01 --until 2026-02-14 --log
    wakebook diff --since memory/before/the-rewrite
    """
    found = memory.history.diff(since, until, stat=stat)
    if as_json:
        emit(
            {
                "since": found.since,
                "until": found.until,
                "files": found.files,
                "patch": found.patch,
                "entries": [entry_json(memory, entry) for entry in found.added],
                "gone": [entry_json(memory, entry) for entry in found.gone],
            }
        )
        return
    _report(memory, found, stat, with_log)


def _report(memory: Memory, found: Difference, stat: bool, with_log: bool) -> None:
    from rich.markup import escape

    out = console()
    if stat:
        width = max((len(change.path) for change in found.files), default=0)
        for change in found.files:
            plus, minus = _bar(change.added, change.removed)
            out.print(
                f" {escape(change.path):{width}}  {change.added + change.removed:5} "
                f"[green]{plus}[/green][red]{minus}[/red]"
            )
    for line in found.patch.splitlines():
        colour = {"+": "green", "-": "red", "@": "cyan", "d": "bold"}.get(line[:1], "")
        shown = escape(line)
        out.print(f"[{colour}]{shown}[/{colour}]" if colour else shown)
    if with_log:
        out.print("[bold]Learned[/bold]" if found.added else "Nothing new in the log.")
        print_entries(memory, found.added, out=out)
        if found.gone:
            out.print("[bold]No longer in the log[/bold]")
            print_entries(memory, found.gone, out=out)
    learned = f"{many(len(found.files), 'note')} changed, {many(len(found.added), 'entry')} learned"
    span = f"from {found.since} to {found.until}"
    out.print(f"[green]●[/green] {learned} [dim]({escape(span)})[/dim]")


def _bar(added: int, removed: int) -> tuple[str, str]:
    most = max(added + removed, 1)
    scale = min(1.0, BAR / most)
    return "+" * max(round(added * scale), added > 0), "-" * max(
        round(removed * scale), removed > 0
    )
