"""wakebook index"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import Progress, emit, options

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.store.index import IndexStatus


@click.command()
@click.option("--full", is_flag=True, help="Throw the index away and make it anew.")
@click.option("--status", "only_status", is_flag=True, help="Only say how it is doing.")
@options
def command(memory: Memory, full: bool, only_status: bool, as_json: bool) -> None:
    """Bring the search index up to date. A search does it by itself, too.

    The index is made from the log, the notes and the transcripts, and can be deleted at any
    time. What changed is found by itself; --full is for when you do not trust it.

    Exit code 1 if something could not be indexed.
    """
    if full and only_status:
        raise click.UsageError("--full and --status exclude each other.")
    done = None
    if not only_status:
        with Progress(quiet=as_json) as progress:
            done = memory.index.sync(full=full, progress=progress)
    found = memory.index.status()
    if as_json:
        emit({"done": done, "status": found})
    else:
        if done:
            click.echo(
                f"{click.style('●', fg='green')} {done.added:,} chunks added, "
                f"{done.removed:,} removed, {done.embedded:,} embedded"
            )
        report(found)
        if done and done.problem:
            click.secho(f"problem       {done.problem}", fg="yellow")
    sys.exit(1 if found.problems or (done and done.problem) else 0)


def report(found: IndexStatus) -> None:
    chunks = ", ".join(f"{count:,} {name}" for name, count in found.chunks.items())
    rows = [
        ("index", f"{found.path} ({found.bytes / 1e6:,.1f} MB)"),
        ("chunks", chunks or "none yet"),
        ("embedder", found.why),
        ("vectors", f"{found.vectors:,}, {found.pending:,} waiting"),
        ("languages", ", ".join(found.languages) or "none yet"),
    ]
    if found.behind:
        rows.append(("behind", f"{found.behind:,} bytes of the log"))
    for name, value in rows:
        click.echo(f"{click.style(f'{name:13}', dim=True)} {value}")
    for problem in found.problems:
        click.echo(f"{click.style('problem      ', fg='yellow')} {problem}")
