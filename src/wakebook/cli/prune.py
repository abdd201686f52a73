"""wakebook prune"""

from __future__ import annotations

import json
import sys
from typing import IO, TYPE_CHECKING, Any

import click

from wakebook.cli.shared import console, json_in, messages_of, options

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.recall.prune import PruneReport


@click.command()
@click.argument("file", type=click.File("rb"), default="-")
@click.option(
    "--window",
    type=click.IntRange(min=1),
    required=True,
    metavar="TOKENS",
    help="The model's context window.",
)
@click.option(
    "--idle-ms",
    type=click.IntRange(min=0),
    metavar="N",
    help="Milliseconds since the model was last called; not given: long ago.",
)
@click.option("--report", is_flag=True, help="Print what was pruned instead of the messages.")
@options
def command(
    memory: Memory, file: IO[bytes], window: int, idle_ms: int | None, report: bool, as_json: bool
) -> None:
    """Make the old tool results of a message list smaller, as [pruning] in config.toml says.

    FILE (or standard input) is a JSON list of messages as OpenAI, Anthropic, OpenClaw or pi
    have them, or an object with "messages". The pruned list goes to standard output, a
    sentence about it to standard error. Nothing else is changed.

    \b
    wakebook prune request.json --window 200000 > smaller.json
    wakebook prune request.json --window 200000 --report
    """
    given = json_in(file)
    done = memory.window.prune(messages_of(given, file), window, idle_ms=idle_ms)
    smaller = {**given, "messages": done.messages} if isinstance(given, dict) else done.messages
    if as_json:
        found = {"messages": done.messages, "report": _plain(done.report)}
        _print(found["report"] if report else found, indent=2)
    elif report:
        _show(done.report)
    else:
        _print(smaller)
        click.echo(done.report.line, err=True)


def _plain(report: PruneReport) -> dict[str, Any]:
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(report)
    return found


def _print(value: Any, indent: int | None = None) -> None:
    """JSON, also of text with halves of characters in it."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent)
    print(text)


def _show(report: PruneReport) -> None:
    from rich.markup import escape
    from rich.table import Table

    out = console()
    changes = sorted(
        [(one, "trimmed") for one in report.trimmed] + [(one, "cleared") for one in report.cleared],
        key=lambda change: change[0].index,
    )
    if changes:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for name in ("message", "tool", "what", "before", "after"):
            table.add_column(name, justify="left" if name in ("tool", "what") else "right")
        for one, what in changes:
            numbers = f"{one.before:,}", f"{one.after:,}"
            table.add_row(str(one.index), escape(one.tool or "?"), what, *numbers)
        out.print(table)
    before, after = f"{report.characters_before:,}", f"{report.characters_after:,}"
    out.print(f"[green]●[/green] {escape(report.line)}")
    out.print(f"  [dim]{before} characters before, {after} after[/dim]")
