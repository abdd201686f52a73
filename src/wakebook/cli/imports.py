"""wakebook import"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import Progress, console, emit, many, options

if TYPE_CHECKING:
    from rich.console import Console

    from wakebook.imports.take import Imported
    from wakebook.memory import Memory

SOURCES = ("chatgpt", "claude", "markdown", "mem0", "openclaw-memory")
SHOWN = 10  # of the things that could not be read
NOUNS = {"chatgpt": "conversation", "claude": "conversation", "mem0": "user"}


@click.command(name="import")
@click.argument("source", type=click.Choice(SOURCES), metavar="SOURCE")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Say what would be imported; write nothing.")
@options
def command(memory: Memory, source: str, path: Path, dry_run: bool, as_json: bool) -> None:
    """Take over conversations and memories from elsewhere.

    \b
    wakebook import chatgpt ~/Downloads/chatgpt-export.zip
    wakebook import claude ~/Downloads/data-2026-10-02.zip
    wakebook import markdown ~/notes                 a note, or all notes of a folder
    wakebook import mem0 memories.json               or .jsonl, or history.db
    wakebook import openclaw-memory ~/.openclaw/workspace

    Conversations become transcripts, and are read as any session is: with their own dates,
    entries and handoffs. Of old memories every bullet, paragraph or memory becomes an entry,
    as it stands; what the log says already is not added again.

    The same import twice adds nothing, a newer export adds what is new in it, and one that
    was stopped goes on. --dry-run shows what would happen, on a copy.
    """
    with Progress(quiet=as_json) as shown:
        done = memory.import_(source, path, dry=dry_run, progress=shown)
    if as_json:
        emit(done)
    else:
        _report(done, console())
    if not done.ok:
        sys.exit(1)


def _report(done: Imported, out: Console) -> None:
    from rich.markup import escape

    noun = NOUNS.get(done.source, "file")
    thing = "message" if done.talk else "item"
    dates = f", {done.first:%Y-%m-%d} to {done.last:%Y-%m-%d}" if done.first and done.last else ""
    out.print(f"[dim]{many(done.found, noun)} with {many(done.messages, thing)}{dates}[/dim]")
    if done.fresh or done.entries:
        would = "would be imported" if done.dry else "imported"
        out.print(
            f"[green]●[/green] {many(done.fresh, thing)} of {many(done.new, noun)} {would}, "
            f"[bold]{many(done.entries, 'entry')}[/bold] {_verb(done)}"
        )
    else:
        out.print("[green]●[/green] Nothing new: all of it was imported before.")
    _details(done, out, thing)
    for name, why in done.passed.items():
        out.print(f"  [dim]left out {escape(name)}: {escape(why)}[/dim]")
    _troubles(done, out)
    if done.dry:
        out.print("[dim]Nothing was written. Without --dry-run it is.[/dim]")
    elif done.entries:
        out.print("[dim]`wakebook log` shows the newest, `wakebook search` finds all.[/dim]")


def _verb(done: Imported) -> str:
    return "would be remembered" if done.dry else "remembered"


def _details(done: Imported, out: Console, thing: str) -> None:
    from rich.markup import escape

    lines = [
        (done.known, f"{many(done.known, thing)} known already"),
        (done.elsewhere, f"{many(done.elsewhere, thing)} that another conversation holds"),
        (done.gone, f"{many(done.gone, thing)} not there any more: what they said stays"),
        (
            done.refused,
            f"{many(done.refused, thing)} kept out: forgotten before, or giving orders to agents",
        ),
        (done.redacted, f"{many(done.redacted, 'secret')} redacted before anything was written"),
        (done.cut, f"{many(done.cut, thing)} too long: only the beginning was taken"),
    ]
    for count, text in lines:
        if count:
            out.print(f"  [dim]{text}[/dim]")
    if done.skipped:
        listed = ", ".join(f"{count} {reason}" for reason, count in sorted(done.skipped.items()))
        out.print(f"  [dim]skipped: {escape(listed)}[/dim]")
    if done.questions:
        from wakebook.models.prices import dollars

        cost = "price not known" if done.cost is None else f"about {dollars(done.cost)}"
        out.print(f"  [yellow]a model would be asked {done.questions:,} times, {cost}[/yellow]")


def _troubles(done: Imported, out: Console) -> None:
    from rich.markup import escape

    for label, found in (("cannot be read", done.bad), ("failed", done.failed)):
        for name, why in list(found.items())[:SHOWN]:
            out.print(f"  [red]{label}[/red] {escape(name)}: {escape(why)}")
        if len(found) > SHOWN:
            out.print(f"  [red]{len(found) - SHOWN} more {label}[/red]: --json lists all")
