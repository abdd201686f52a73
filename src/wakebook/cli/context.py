"""wakebook context"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, json_in, many, messages_of, options, spoken

if TYPE_CHECKING:
    from rich.console import Console

    from wakebook.memory import Memory
    from wakebook.recall.slot import Context, Slot

KINDS = click.Choice(["main", "group", "subagent", "cron", "hook"])
BAR = 24  # characters
SHOWN = 12  # items of a slot


@click.command()
@click.argument("message", nargs=-1)
@click.option("--session", default="", help="The session that the message belongs to.")
@click.option("--kind", type=KINDS, help="Of the session; by default main.")
@click.option("--budget", type=click.IntRange(min=1), help="Tokens, at most.")
@click.option("--have", multiple=True, metavar="SLOT", help="A slot that your host loads itself.")
@click.option("--topic", "topics", multiple=True, metavar="NAME", help="Activate this topic.")
@click.option("--path", "paths", multiple=True, help="A file that the turn's tool calls touch.")
@click.option(
    "--history",
    type=click.File("rb"),
    help="The messages so far, as a JSON list: a file, or - for standard input.",
)
@click.option("--explain", is_flag=True, help="Show what is in it and why, instead of its text.")
@options
def command(
    memory: Memory,
    message: tuple[str, ...],
    session: str,
    kind: str | None,
    budget: int | None,
    have: tuple[str, ...],
    topics: tuple[str, ...],
    paths: tuple[str, ...],
    history: IO[bytes] | None,
    explain: bool,
    as_json: bool,
) -> None:
    """What an agent needs to know for MESSAGE, within a budget of tokens.

    Identity, memory, handoff, journal and projects come first, then the topics that the message
    activates, then what was found for it, then the session so far. MESSAGE "-" is read from
    standard input; without one it is what a session begins with. With --session it counts as a
    turn: what waited for that session is told, once.

    \b
    wakebook context "which database did we take?" --explain
    wakebook context "review this PR" --budget 2000 --have memory --have identity
    echo "..." | wakebook context - --session 5560 --json
    """
    if message == ("-",) and history is not None and history.name in ("-", "<stdin>", 0):
        raise click.UsageError("Standard input can be the message or the history, not both.")
    text = spoken(message)
    found = memory.context(
        text,
        session=session,
        kind=kind or "",
        budget=budget or 0,
        have=have,
        topics=topics,
        paths=paths,
        history=messages_of(json_in(history), history) if history else (),
    )
    if as_json:
        emit(found)
        return
    for note in found.notes:
        click.secho(f"! {note}", fg="yellow", err=True)
    if explain:
        report(found, text)
    else:
        click.echo(found.text, nl=False)


def report(found: Context, message: str, out: Console | None = None) -> None:
    from rich.markup import escape

    from wakebook.base.text import printable

    out = out or console()
    spent = sum(found.steps.values())
    asked = printable(message)
    about = f"“{asked[:70]}{'…' if len(asked) > 70 else ''}”" if asked else "a new session"
    out.print(
        f"[bold]Context for {escape(about)}[/bold]\n"
        f"{found.tokens:,} of {found.budget:,} tokens, {found.left:,} left, {spent:.1f} ms\n"
    )
    for slot in found.slots:
        _slot(slot, found.budget, out)
    _topics(found, out)
    for name in ("recalled", "history"):
        for slot in found.slots:
            if slot.name == name and slot.items:
                _items(slot, out)
    if found.missed:
        out.print("\n[bold]Just missed[/bold]")
        for item in found.missed:
            score = f"{item.score:.2f}" if item.score is not None else "    "
            label, reason = escape(item.label), escape(item.reason)
            line = f"  {score}  {label} [dim]{item.tokens} tokens, {reason}[/dim]"
            out.print(line, no_wrap=True, overflow="ellipsis")
    steps = ", ".join(f"{name} {value:.1f}" for name, value in found.steps.items())
    out.print(f"\n[dim]Milliseconds: {steps}[/dim]")


def _slot(slot: Slot, budget: int, out: Console) -> None:
    from rich.markup import escape

    full = min(BAR, round(BAR * slot.tokens / budget))
    if slot.tokens and not full:
        full = 1
    bar = f"[green]{'█' * full}[/green][dim]{'·' * (BAR - full)}[/dim]"
    size = f"{slot.tokens:,} / {slot.budget:,}" if slot.tokens else "–"
    note = slot.note or (slot.items[0].label if len(slot.items) == 1 else _counted(slot))
    line = f"  P{slot.priority}  {slot.name:9} {bar} {size:>15}  [dim]{escape(note)}[/dim]"
    out.print(line, no_wrap=True, overflow="ellipsis")


def _counted(slot: Slot) -> str:
    return many(len(slot.items), "thing") if slot.items else ""


def _topics(found: Context, out: Console) -> None:
    from rich.markup import escape

    told = [item for slot in found.slots if slot.name == "topics" for item in slot.items]
    passed = [one for one in found.decisions if not one.activated]
    if not told and not passed:
        return
    out.print("\n[bold]Topics[/bold]")
    for item in told:
        reason, label = escape(item.reason), escape(item.label)
        out.print(f"  [green]●[/green] {label} [dim]{item.tokens} tokens, {reason}[/dim]")
    for one in passed[:SHOWN]:
        matched = f"{', '.join(one.matched)}; " if one.matched else ""
        why = escape(f"{matched}{one.reason}, {one.similarity:.2f} of {one.threshold:g}")
        out.print(f"  [dim]○ {escape(one.topic)} not told: {why}[/dim]")
    if found.decisions:
        out.print("  [dim]`wakebook gates` has the ids: say there what was useful.[/dim]")


def _items(slot: Slot, out: Console) -> None:
    from rich.markup import escape

    out.print(f"\n[bold]{slot.name.capitalize()}[/bold]")
    for item in slot.items[:SHOWN]:
        score = f"{item.score:.2f}  " if item.score is not None else ""
        out.print(f"  {score}{escape(item.label)}", no_wrap=True, overflow="ellipsis")
        about = ", ".join(filter(None, (f"{item.tokens} tokens", item.reason, item.ref)))
        out.print(f"        [dim]{escape(about)}[/dim]", no_wrap=True, overflow="ellipsis")
    if len(slot.items) > SHOWN:
        out.print(f"  [dim]and {len(slot.items) - SHOWN} more (--json has all)[/dim]")
