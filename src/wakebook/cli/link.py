"""wakebook link: what a host's plugin starts."""

from __future__ import annotations

import io
import os
import signal
import sys

import click


@click.command(hidden=True)
@click.argument("host")
@click.option("--home", metavar="PATH", help="The home to use.")
@click.option("--lend", is_flag=True, help="The host answers questions to its own model.")
@click.pass_context
def command(ctx: click.Context, host: str, home: str | None, lend: bool) -> None:
    """A persistent child of a host's plugin: one JSON object a line (see wakebook.hosts.link).

    Nothing else is ever written to standard output.
    """
    from wakebook.hosts.link import Link
    from wakebook.memory import Memory

    memory = Memory(home or ctx.obj)
    memory.home.require()
    out = io.TextIOWrapper(os.fdopen(os.dup(1), "wb"), "utf-8", errors="replace", newline="\n")
    os.dup2(2, 1)  # whatever else prints goes to standard error
    lines = io.TextIOWrapper(sys.stdin.buffer, "utf-8", errors="replace", newline="\n")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the host decides when it ends
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # which first does what is left
    Link(str(memory.home.root), host, out, lend=lend).run(lines)
