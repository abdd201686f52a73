"""wakebook costs"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import When, console, emit, options

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.upkeep.costs import Costs


@click.command()
@click.option(
    "--by",
    type=click.Choice(["operation", "model", "day"]),
    default="operation",
    show_default=True,
    help="What to add up by.",
)
@click.option("--since", type=When(), help="Not older: 2026-02-20, 7d, yesterday.")
@options
def command(memory: Memory, by: str, since: datetime | None, as_json: bool) -> None:
    """What the models have cost: calls, tokens and dollars.

    Every call is written down in <home>/costs/ with its tokens and its price, which comes
    from a table with a date; prices.toml in the home changes or adds to it.
    """
    found = memory.costs(by, since)
    if as_json:
        emit(found)
    else:
        _show(found, since)


def _show(found: Costs, since: datetime | None) -> None:
    from rich.markup import escape
    from rich.table import Table

    from wakebook.models.prices import dollars

    out = console()
    if not found.groups:
        when = f"since {since:%Y-%m-%d %H:%M}" if since else "yet: rules cost nothing"
        out.print(f"No model has been asked {when}.")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_footer=True)
    total = found.total
    columns = [
        (found.by, "total", "left"),
        ("calls", f"{total.calls:,}", "right"),
        ("failed", f"{total.failed:,}", "right"),
        ("tokens in", f"{total.tokens_in:,}", "right"),
        ("cached", f"{total.cached:,}", "right"),
        ("tokens out", f"{total.tokens_out:,}", "right"),
        ("seconds", f"{total.seconds:,.1f}", "right"),
        ("dollars", f"{total.cost:,.4f}" + (" ?" if total.unpriced else ""), "right"),
    ]
    for name, footer, side in columns:
        table.add_column(name, footer, justify=side, footer_style="bold")  # type: ignore[arg-type]
    for one in found.groups:
        table.add_row(
            escape(one.name),
            f"{one.calls:,}",
            f"{one.failed:,}" if one.failed else "",
            f"{one.tokens_in:,}",
            f"{one.cached:,}",
            f"{one.tokens_out:,}",
            f"{one.seconds:,.1f}",
            f"{one.cost:,.4f}" + (" ?" if one.unpriced else ""),
        )
    out.print(table)
    budget = f" of a budget of {dollars(found.budget)}" if found.budget else ""
    month = f"{dollars(found.month)}{budget} this month"
    out.print(f"\n[green]●[/green] {month}; prices of {found.prices}")
    if total.unpriced:
        out.print(f"  [yellow]? calls without a known price: {total.unpriced}[/yellow]")
