"""wakebook forget"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, entry_json, many, options, print_entries

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.upkeep.forget import Forgetting


@click.command(context_settings={"ignore_unknown_options": True})  # an id may begin with -
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--chain", is_flag=True, help="With all that it replaced, and that replaced it.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@options
def command(memory: Memory, ids: tuple[str, ...], chain: bool, yes: bool, as_json: bool) -> None:
    """Take entries out of the log, the notes and the index, for good.

    A receipt without their words (forgotten.jsonl) keeps every later reading of the same
    conversation from bringing them back. What an entry had replaced holds again when it is
    gone; this says what, and --chain forgets that, too.

    The conversation itself and git's history still hold the words.

    \b
    wakebook forget k3J_x9QmZ2aB            shows what goes, and asks
    wakebook forget k3J_ --chain --yes
    """
    going = memory.plan_forget(ids, chain=chain)
    if as_json and not yes:
        raise click.UsageError("With --json nobody can be asked: give --yes as well.")
    if not yes:
        _show(memory, going)
        click.confirm("Forget this?", abort=True)
    rows = [entry_json(memory, entry) for entry in going.entries]
    done = memory.forget(ids, chain=chain)
    if as_json:
        emit(
            {
                "forgotten": rows,
                "hold_again": [entry_json(memory, entry) for entry in done.again],
                "shortened": [entry.id for entry in done.shorter],
                "say_it_too": [entry_json(memory, entry) for entry in done.also],
                "still_in": [*done.transcripts, *done.notes],
            }
        )
    else:
        _told(done)


def _show(memory: Memory, going: Forgetting) -> None:
    out = console()
    out.print(f"[bold]{many(len(going.entries), 'entry')}[/bold] will be forgotten:")
    print_entries(memory, going.entries, out=out)
    if going.again:
        out.print("\nReplaced by it so far, and [yellow]holds again[/yellow] without it (--chain "
                  "forgets it, too):")  # fmt: skip
        print_entries(memory, going.again, out=out)
    if going.shorter:
        out.print("\nHandoffs that lose the lines that say it:")
        print_entries(memory, going.shorter, out=out)
    if going.also:
        out.print("\n[yellow]Say it as well[/yellow], and stay unless you name them, too:")
        print_entries(memory, going.also, out=out)


def _told(done: Forgetting) -> None:
    from rich.markup import escape

    out = console()
    out.print(f"[green]●[/green] {many(len(done.entries), 'entry')} forgotten")
    out.print("  [dim]The words are still in git's history and in branches of rebuilds.[/dim]")
    for path in done.transcripts:
        out.print(f"  [dim]The conversation still says it: {escape(path)}[/dim]")
    for path in done.notes:
        out.print(f"  [yellow]Somebody wrote it here, too:[/yellow] {escape(path)}")
