"""wakebook search"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from wakebook.adapters.cli.shared import (
    console,
    emit,
    entry_json,
    filters,
    options,
    print_entries,
    query_of,
)

if TYPE_CHECKING:
    from wakebook.memory import Memory


@click.command()
@click.argument("words", nargs=-1)
@filters
@click.option("--details", "-d", is_flag=True, help="Show the details below each entry.")
@options
def command(
    memory: Memory,
    words: tuple[str, ...],
    details: bool,
    limit: int,
    as_json: bool,
    **arguments: Any,
) -> None:
    """Find entries that hold every one of WORDS, newest first.

    \b
    wakebook search retry queue
    wakebook search --type decision --subject auth-migration
    wakebook search --type task --status open
    """
    found = memory.search(query_of(" ".join(words), arguments))
    found.sort(key=lambda entry: entry.timestamp, reverse=True)
    if as_json:
        emit([entry_json(memory, entry) for entry in found[:limit]])
        sys.exit(0 if found else 1)
    if not found:
        console().print("Nothing found. Fewer words, or --all for replaced entries, may help.")
        sys.exit(1)
    print_entries(memory, found[:limit], details)
    if len(found) > limit:
        console().print(f"[dim]… and {len(found) - limit} more (--limit)[/dim]")
