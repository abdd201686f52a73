"""wakebook wake"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import emit, options

if TYPE_CHECKING:
    from wakebook.memory import Memory


@click.command()
@options
def command(memory: Memory, as_json: bool) -> None:
    """Print what a new session should be told.

    The last handoff with its decisions and tasks, the briefing, and how to look further. The
    text carries a marker, so that it is never taken for something that was said.
    """
    text = memory.wake()
    if as_json:
        emit({"text": text})
    else:
        click.echo(text, nl=False)
