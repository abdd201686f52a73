"""wakebook review"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, many, options

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.notes.review import Proposal

_MARKS = {"changed": "~", "done": "✓", "removed": "-", "added": "+"}


@click.group(invoke_without_command=True)
@options
def command(memory: Memory, as_json: bool) -> None:
    """What you have edited in generated text, as proposals.

    A line that you changed corrects its entry, a ticked task is done, a line that you took
    out holds no longer, a new line is a new entry. Nothing happens until you say so:

    \b
      wakebook review              what waits, with numbers
      wakebook review accept 1     put it into the log; the note is written anew
      wakebook review reject 1     write the note as the log has it (git keeps your edit)
    """
    if click.get_current_context().invoked_subcommand:
        return
    found = memory.notes.proposals()
    if as_json:
        emit(found)
        return
    out = console()
    for number, proposal in enumerate(found, 1):
        _show(number, proposal)
    what = many(len(found), "edited block")
    hint = "  wakebook review accept | reject [NUMBER or PATH]" if found else ""
    out.print(f"[green]●[/green] {what} to review{hint}" if found else "Nothing to review.")


def _show(number: int, proposal: Proposal) -> None:
    from rich.markup import escape

    out = console()
    where = escape(f"{proposal.path}:{proposal.line}")
    out.print(f"[bold]{number}. {where}[/bold] [dim]({escape(proposal.block)})[/dim]")
    for change in proposal.changes:
        mark = _MARKS[change.kind]
        if change.old:
            out.print(f"  [red]{mark} {escape(change.old)}[/red]")
        if change.new:
            out.print(f"  [green]{'+' if change.old else mark} {escape(change.new)}[/green]")
    for heading in proposal.headings:
        where = "a heading of your own: move it out of the markers, or it is lost"
        out.print(f"  [yellow]! {escape(heading)}[/yellow] [dim]({where})[/dim]")
    if not proposal.changes and not proposal.headings:
        out.print("  [dim]only spaces, headings or marks differ[/dim]")


@command.command()
@click.argument("names", nargs=-1, metavar="[NUMBER or PATH]...")
@options
def accept(memory: Memory, names: tuple[str, ...], as_json: bool) -> None:
    """Put what was edited into the log, as correcting entries. Without a name: all of it."""
    done = memory.notes.accept(*names)
    if as_json:
        from wakebook.log.entry import as_dict

        entries = [as_dict(entry) for entry in done.entries]
        emit({"accepted": done.proposals, "entries": entries, "left": done.left})
        return
    from rich.markup import escape

    out = console()
    for entry in done.entries:
        out.print(f"  [bold]{entry.id}[/bold] {entry.type}: {escape(entry.content)}")
    for change in done.left:
        text = escape(change.new or change.old)
        out.print(f"  [yellow]not an entry's own words, and not taken over:[/yellow] {text}")
    blocks = many(len(done.proposals), "block")
    out.print(f"[green]●[/green] {many(len(done.entries), 'entry')} from {blocks}")


@command.command()
@click.argument("names", nargs=-1, metavar="[NUMBER or PATH]...")
@options
def reject(memory: Memory, names: tuple[str, ...], as_json: bool) -> None:
    """Write the blocks as the log has them. What you had written stays in git."""
    found = memory.notes.reject(*names)
    if as_json:
        emit({"rejected": found})
    else:
        console().print(f"[green]●[/green] {many(len(found), 'block')} written anew")
