"""wakebook mcp"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, options

if TYPE_CHECKING:
    from collections.abc import Callable

    from wakebook.memory import Memory


@click.command()
@click.option("--http", is_flag=True, help="Say where the service offers the same over HTTP.")
@options
def command(memory: Memory, http: bool, as_json: bool) -> None:
    """An MCP server on standard input and output: for a client to start, not for people.

    It offers the tools memory_search, memory_get, remember, forget and context; MEMORY.md,
    entries and conversations as resources; and the prompts wake and handoff.

    \b
    claude mcp add wakebook --scope user -- wakebook mcp
    codex mcp add wakebook -- wakebook mcp

    Over HTTP the service does it (`wakebook serve`), at /mcp, with the home's token; --http
    says where. `wakebook init --host` sets up hooks as well, so that nobody has to ask.
    """
    if http:
        _where(memory, as_json)
        return
    from wakebook.service.mcp_stdio import main

    memory.home.require()
    main(_opened(str(memory.home.root)))


def _opened(root: str) -> Callable[[], Memory]:
    def opened() -> Memory:
        from wakebook.service.client import Served

        return Served(root)

    return opened


def _where(memory: Memory, as_json: bool) -> None:
    from wakebook.service.address import look

    memory.home.require()
    found = look(memory.home)
    up = found.state == "up"
    url = f"http://127.0.0.1:{found.port if up else memory.config.service.port}/mcp"
    token = memory.home.root / "token"
    if as_json:
        emit({"url": url, "token_file": str(token), "running": up})
    else:
        from rich.markup import escape

        out = console()
        out.print(f"MCP over HTTP: [bold]{url}[/bold]")
        out.print(f"  [dim]header[/dim]  Authorization: Bearer $(cat {escape(str(token))})")
        if not up:
            out.print("  [yellow]The service is not running.[/yellow] `wakebook serve` starts it.")
    sys.exit(0 if up else 1)
