"""wakebook show"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import COLOURS, console, emit, entry_json, options, print_entries

if TYPE_CHECKING:
    from rich.console import Console

    from wakebook.memory import Memory
    from wakebook.recall.show import Shown


@click.command(context_settings={"ignore_unknown_options": True})  # an id may begin with -
@click.argument("ref")
@click.option("--from", "first", type=click.IntRange(min=1), help="The first line to show.")
@click.option("--lines", type=click.IntRange(min=1), help="How many lines.")
@options
def command(memory: Memory, ref: str, first: int | None, lines: int | None, as_json: bool) -> None:
    """Show what REF points at, and why it is believed.

    \b
    wakebook show k3J_x9QmZ2aB          an entry (the first 4 characters will do)
    wakebook show session:5560          a session: its transcripts and entries
    wakebook show session:5560 --lines 40          how that conversation began
    wakebook show raw/conversations/2026/02/16/1845-….md#12-20
    wakebook show knowledge/memory/MEMORY.md --from 10 --lines 20
    """
    shown = memory.get(ref, first or 0, lines or 0)
    if as_json:
        emit(
            {
                "kind": shown.kind,
                "name": shown.name,
                "entry": entry_json(memory, shown.entry) if shown.entry else None,
                "history": [entry_json(memory, entry) for entry in shown.history],
                "file": shown.file,
                "lines": [{"line": number, "text": text} for number, text in shown.lines],
                "transcripts": shown.transcripts,
                "entries": [entry_json(memory, entry) for entry in shown.entries],
                "note": shown.note,
            }
        )
    else:
        show(memory, shown)


def show(memory: Memory, shown: Shown, out: Console | None = None) -> None:
    from rich.markup import escape

    out = out or console()
    if shown.entry:
        entry = shown.entry
        colour = COLOURS[entry.type]
        state = f" [dim]({shown.status})[/dim]" if shown.status else ""
        out.print(f"[{colour}]{entry.type}[/{colour}] [dim]{entry.id}[/dim]{state}")
        out.print(f"  [bold]{escape(entry.content)}[/bold]")
        if entry.detail:
            out.print(f"  {escape(entry.detail)}")
        about = f"about {entry.subject}, " if entry.subject else ""
        found = f", found by {escape(entry.by)}" if entry.by else ""
        when = f"{entry.timestamp:%Y-%m-%d %H:%M}"
        out.print(f"  [dim]{about}{when}, session {escape(entry.session)}{found}[/dim]")
        if len(shown.history) > 1:
            out.print("\n[bold]How it came to this[/bold] (oldest first)")
            print_entries(memory, shown.history, out=out)
    if shown.kind == "session":
        out.print(f"session [bold]{escape(shown.name)}[/bold]")
        for path in shown.transcripts:
            out.print(f"  {escape(path)}")
        print_entries(memory, shown.entries, out=out)
    if shown.lines:
        if shown.entry:
            out.print(f"\n[bold]Where it was said[/bold] [dim]{escape(shown.file)}[/dim]")
        for number, text in shown.lines:
            out.print(f"[dim]{number:5}[/dim]  {escape(text)}")
    if shown.note:
        out.print(f"[dim]{escape(shown.note)}[/dim]")
