"""wakebook remember"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, entry_json, options, print_entries, spoken

if TYPE_CHECKING:
    from wakebook.memory import Memory


@click.command()
@click.argument("text", nargs=-1, required=True)
@click.option(
    "--type",
    "-t",
    "type_",
    type=click.Choice(["fact", "task", "decision", "question"]),
    default="fact",
    show_default=True,
)
@click.option("--subject", "-s", default="", help="What it is about (a slug).")
@click.option("--detail", "-d", default="", help="The reason or the background.")
@click.option("--replaces", "-r", multiple=True, metavar="ID", help="The entry that it corrects.")
@click.option("--done", is_flag=True, help="For a task: it is done.")
@click.option("--pin", is_flag=True, help="Keep it in view whatever its age.")
@options
def command(
    memory: Memory,
    text: tuple[str, ...],
    type_: str,
    subject: str,
    detail: str,
    replaces: tuple[str, ...],
    done: bool,
    pin: bool,
    as_json: bool,
) -> None:
    """Keep TEXT as an entry of its own. A single - reads it from standard input.

    \b
    wakebook remember "Jonas has the boat inspection on the 14th"
    wakebook remember --type decision -s billing -d "fewer fees" "Switch to Kassetta"
    wakebook remember --replaces k3J_x9QmZ2aB "The launch is on 21 November"
    """
    if done and type_ != "task":
        raise click.UsageError("--done is for --type task.")
    words = spoken(text)
    entry = memory.remember(
        words,
        type_=type_,
        subject=subject,
        detail=detail,
        replaces=replaces,
        status="done" if done else "",
        pinned=pin,
    )
    if as_json:
        emit(entry_json(memory, entry))
    else:
        console().print("[green]●[/green] Remembered:")
        print_entries(memory, [entry], details=True)
