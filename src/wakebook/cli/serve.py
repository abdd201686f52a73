"""wakebook serve"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from wakebook.cli.shared import console, emit_line, many, options

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.service.address import Address


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65_535), help="Instead of [service] port; 0: any free one."
)
@options
def command(memory: Memory, port: int | None, as_json: bool) -> None:
    """The service: watch, jobs, HTTP and MCP in one process, until you press Ctrl-C.

    With it, hooks and tools are answered by a process that is there already, conversations
    are read as they happen, and jobs run when they are due. Everything works without it,
    too. `wakebook service install` starts it at login.

    \b
    wakebook serve
    curl -H "Authorization: Bearer $(cat ~/.wakebook/token)" -d '{"text": "which database"}' \\
         -H "Content-Type: application/json" http://127.0.0.1:7311/v1/search

    With --json, one line for everything that happens. /openapi.json describes all paths.
    """
    from wakebook.hosts.backlog import Hooks
    from wakebook.service.serve import serve

    serve(memory.home, port, _told_json if as_json else _Told(memory), Hooks)


class _Told:
    """Tells people what happens."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._out = console()

    def __call__(self, what: str, about: Any) -> None:
        if what == "ready":
            self._ready(about)
        elif what == "caught up":
            from wakebook.cli.watch import _told

            _told(about)
        elif what == "ran":
            from wakebook.cli.watch import _ran

            _ran(about)
        elif what == "failed":
            console(stderr=True).print(f"wakebook: {about}", markup=False)
        elif what == "stopping":
            left = f": {many(about, 'session')} still to read" if about else ""
            self._out.print(f"Stopping{left}. Once more ends it at once; nothing is lost.")

    def _ready(self, address: Address) -> None:
        from rich.markup import escape

        url = f"http://127.0.0.1:{address.port}"
        home = self._memory.home
        rows = [
            ("home", str(home.root)),
            ("HTTP", f"{url}  (paths: {url}/openapi.json)"),
            ("MCP", f"{url}/mcp"),
            ("socket", f"{address.path}  (needs no token)"),
            ("token", f"cat {home.root / 'token'}"),
            ("reads", "your agents' sessions, as they are written; jobs when they are due"),
        ]
        self._out.print("[green]●[/green] The service is ready. Ctrl-C ends it.")
        for name, text in rows:
            self._out.print(f"  [dim]{name:7}[/dim] {escape(text)}")


def _told_json(what: str, about: Any) -> None:
    if what == "ready":
        emit_line({"ready": True, "port": about.port, "socket": str(about.path)})
    elif what == "caught up":
        from wakebook.cli.watch import _told_json as told

        told(about)
    elif what == "ran":
        from wakebook.cli.watch import _ran_json

        _ran_json(about)
    elif what == "failed":
        emit_line({"error": about})
    else:
        emit_line({what: True})
