"""wakebook when"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, entry_json, many, options, print_entries

if TYPE_CHECKING:
    from rich.console import Console

    from wakebook.history.past import Learned
    from wakebook.history.revisions import Commit
    from wakebook.memory import Memory

LINES = 3  # of a commit that are shown


@click.command()
@click.argument("text", nargs=-1, required=True)
@options
def command(memory: Memory, text: tuple[str, ...], as_json: bool) -> None:
    """When TEXT was learned: when it was said, and how it came and went since.

    TEXT is looked for as it is, whatever its case. The entries of the log say when it was said;
    git says when it first stood in the log or in a note, and what became of it.

    \b
    wakebook when Postgres
    wakebook when "file-based memory"
    """
    found = memory.history.when(" ".join(text))
    if as_json:
        emit(
            {
                "text": found.text,
                "entries": [entry_json(memory, entry) for entry in found.entries],
                "commits": found.commits,
                "note": found.note,
            }
        )
    else:
        _report(memory, found)
    if not found.entries and not found.commits:
        sys.exit(1)


def _report(memory: Memory, found: Learned) -> None:
    from rich.markup import escape

    out = console()
    if found.entries:
        out.print("[bold]Said[/bold] (oldest first; `wakebook show ID` has the words themselves)")
        print_entries(memory, found.entries, out=out)
    if found.commits:
        out.print(("\n" if found.entries else "") + "[bold]Committed[/bold]")
        for number, commit in enumerate(found.commits):
            _commit(memory, commit, number == 0, out)
    if not found.entries and not found.commits:
        out.print(f"Nothing says {escape(repr(found.text))}. `wakebook search` knows other words.")
    if found.note:
        out.print(f"[dim]{escape(found.note)}[/dim]")


def _commit(memory: Memory, commit: Commit, first: bool, out: Console) -> None:
    from rich.markup import escape

    word = "first" if first else "also" if commit.added and not commit.removed else "then"
    word = "gone" if commit.removed and not commit.added else word
    at = commit.at.astimezone(memory.opened.now().tzinfo)
    out.print(f"{word:5}  [dim]{at:%Y-%m-%d %H:%M}  {commit.short}[/dim]  {escape(commit.summary)}")
    lines = [("+", *line) for line in commit.added] + [("-", *line) for line in commit.removed]
    for sign, file, line in lines[:LINES]:
        shown = "" if file == "log.jsonl" else f" {line.strip()[:120]}"
        out.print(f"       [dim]{sign} {escape(file)}[/dim]{escape(shown)}")
    if len(lines) > LINES:
        out.print(f"       [dim]and {many(len(lines) - LINES, 'line')} more[/dim]")
