"""wakebook log"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from wakebook.cli.shared import console, emit, entry_json, filters, options, print_entries, query_of

if TYPE_CHECKING:
    from wakebook.memory import Memory


@click.command()
@filters
@click.option("--limit", "-n", type=click.IntRange(min=1), default=20, show_default=True)
@click.option("--details", "-d", is_flag=True, help="Show the details below each entry.")
@options
def command(memory: Memory, details: bool, limit: int, as_json: bool, **arguments: Any) -> None:
    """The newest entries, oldest first. Replaced ones are left out unless --all."""
    found = sorted(memory.log.entries(query_of("", arguments)), key=lambda entry: entry.timestamp)[
        -limit:
    ]
    if as_json:
        emit([entry_json(memory, entry) for entry in found])
    elif found:
        print_entries(memory, found, details)
    else:
        console().print("No entries. `wakebook catch-up` reads your agents' sessions.")
