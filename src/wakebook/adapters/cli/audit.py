"""wakebook audit"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wakebook.adapters.cli.shared import console, emit, options

if TYPE_CHECKING:
    from wakebook.memory import Memory

GOOD = ("ok", "open", "held", "torn", "skipped", "gone")


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--verbose", "-v", is_flag=True, help="List the skipped sessions too.")
@options
def command(memory: Memory, paths: tuple[Path, ...], verbose: bool, as_json: bool) -> None:
    """Account for every source: what was seen, archived and extracted, and what was not.

    Exit code 1 if anything is unaccounted for (behind, failed or lost).
    """
    accounts = memory.audit(paths)
    bad = [account for account in accounts if account.status not in GOOD]
    if as_json:
        emit({"unaccounted": len(bad), "accounts": accounts})
        sys.exit(1 if bad else 0)
    from rich.table import Table

    out = console()
    table = Table(box=None, header_style="dim", pad_edge=False)
    for name in ("status", "session"):
        table.add_column(name, no_wrap=True)
    for name in ("source", "seen", "messages", "entries"):
        table.add_column(name, justify="right")
    table.add_column("note")
    for account in accounts:
        if account.status == "skipped" and not verbose:
            continue
        colour = "green" if account.status in GOOD else "red"
        unread = ", ".join(f"{count} {kind}" for kind, count in account.unread.items())
        note = "; ".join(
            part for part in (account.note, f"not understood: {unread}" if unread else "") if part
        )
        table.add_row(
            f"[{colour}]{account.status}[/{colour}]",
            account.ref,
            f"{account.size:,} {account.unit}",
            f"{account.seen:,}",
            str(account.messages),
            str(account.entries),
            note,
        )
    if table.row_count:
        out.print(table)
    skipped = sum(account.status == "skipped" for account in accounts)
    verdict = f"[red]{len(bad)} unaccounted for[/red]" if bad else "[green]nothing behind[/green]"
    out.print(f"\n{len(accounts)} sources, {skipped} skipped on purpose: {verdict}")
    if any(account.status == "behind" for account in bad):
        out.print("Run [bold]wakebook catch-up[/bold].")
    sys.exit(1 if bad else 0)
