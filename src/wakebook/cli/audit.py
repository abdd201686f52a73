"""wakebook audit"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, options

if TYPE_CHECKING:
    from wakebook.learn.account import Account
    from wakebook.memory import Memory


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--verbose", "-v", is_flag=True, help="List the skipped sessions too.")
@options
def command(memory: Memory, paths: tuple[Path, ...], verbose: bool, as_json: bool) -> None:
    """Account for every source: what was seen, archived and extracted, and what was not.

    Exit code 1 if anything is unaccounted for (behind, failed, lost or missing).
    """
    from wakebook.learn.account import UNACCOUNTED

    accounts = memory.audit(paths)
    bad = [account for account in accounts if account.status in UNACCOUNTED]
    if as_json:
        emit({"unaccounted": len(bad), "accounts": accounts})
        sys.exit(1 if bad else 0)
    from rich.markup import escape
    from rich.table import Table

    out = console()
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("status", no_wrap=True)
    table.add_column("session", no_wrap=True, min_width=20)
    for name in ("source", "seen", "messages", "entries"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("note", overflow="fold", min_width=12)
    for account in accounts:
        if account.status == "skipped" and not verbose:
            continue
        colour = "red" if account.status in UNACCOUNTED else "green"
        table.add_row(
            f"[{colour}]{account.status}[/{colour}]",
            escape(_short(account.ref) if out.is_terminal else account.ref),
            f"{account.size:,} {account.unit}",
            f"{account.seen:,}",
            str(account.messages),
            str(account.entries),
            _note(account),
        )
    if table.row_count:
        out.print(table)
    skipped = sum(account.status == "skipped" for account in accounts)
    verdict = f"[red]{len(bad)} unaccounted for[/red]" if bad else "[green]nothing behind[/green]"
    out.print(f"\n{len(accounts)} sources, {skipped} skipped on purpose: {verdict}")
    if any(account.status == "behind" for account in bad):
        out.print("Run [bold]wakebook catch-up[/bold].")
    sys.exit(1 if bad else 0)


def _short(ref: str) -> str:
    """A session's name as far as a person needs it: claude-code/5560, enough for --session."""
    host, _, name = ref.partition("/")
    identity, at, part = name.partition("@")
    return f"{host}/{identity[:13]}{at}{part[:16]}"


def _note(account: Account) -> str:
    unread = ", ".join(f"{count} {kind}" for kind, count in account.unread.items())
    parts = (account.note, f"not understood: {unread}" if unread else "")
    from rich.markup import escape

    return escape("; ".join(part for part in parts if part))
