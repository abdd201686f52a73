"""wakebook gates"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, options

if TYPE_CHECKING:
    from wakebook.memory import Memory

SHOWN = 15
WORDS = {None: "", True: " [green]useful[/green]", False: " [red]useless[/red]"}
AS_JSON = "wakebook.gates.json"  # whether it was said before the subcommand


@click.group(name="gates", invoke_without_command=True)
@click.option("--topic", default="", help="Only this topic.")
@click.option("--limit", "-n", type=click.IntRange(min=0), default=SHOWN, show_default=True)
@options
@click.pass_context
def command(context: click.Context, memory: Memory, topic: str, limit: int, as_json: bool) -> None:
    """What was decided about topics, whether it helped, and which thresholds would do better.

    Say which decisions were right: `useful` if the topic helped (or would have), `useless` if
    not. From five judgements on, a similarity_threshold is proposed for the topic's file.

    \b
    wakebook gates --topic email-triage
    wakebook gates useful Vq3x
    wakebook gates useless 8Jd0
    """
    if context.invoked_subcommand:
        context.obj = str(memory.home.root)
        context.meta[AS_JSON] = as_json
        return
    standings, decisions = memory.topics.decided(topic)
    judged = memory.topics.judgements()
    if as_json:
        emit({"topics": standings, "decisions": decisions, "judged": judged})
        return
    from rich.markup import escape
    from rich.table import Table

    out = console()
    table = Table(box=None, header_style="dim", pad_edge=False)
    for name in ("topic", "in question", "told", "useful", "useless", "missed", "precision"):
        table.add_column(name, justify="left" if name == "topic" else "right")
    table.add_column("threshold")
    for row in standings:
        precision = f"{row.precision:.0%}" if row.precision is not None else "–"
        counts = (row.decided, row.activated, row.useful, row.useless, row.missed)
        own = "–" if row.threshold is None else f"{row.threshold:g}"
        proposed = f"{own} → [green]{row.proposed:g}[/green]" if row.proposed is not None else own
        why = f" [dim]{escape(row.why)}[/dim]" if row.why else ""
        table.add_row(escape(row.topic), *map(str, counts), precision, f"{proposed}{why}")
    out.print(table if standings else "Nothing has been decided yet: no topic was in question.")
    if not decisions or not limit:
        return
    out.print("\n[bold]Newest decisions[/bold]")
    for one in decisions[-limit:]:
        mark = "[green]●[/green]" if one.activated else "[dim]○[/dim]"
        out.print(
            f"{mark} [dim]{one.id}  {one.at}[/dim]  {escape(one.topic)}  {one.similarity:.2f}  "
            f"[dim]{escape(one.reason)}[/dim]{WORDS[judged.get(one.id)]}\n    {escape(one.message)}"
        )


@command.command()
@click.argument("decision")
@options
def useful(memory: Memory, decision: str, as_json: bool) -> None:
    """The topic helped; or it was not told, and would have."""
    _judge(memory, decision, True, as_json)


@command.command()
@click.argument("decision")
@options
def useless(memory: Memory, decision: str, as_json: bool) -> None:
    """The topic did not help; or it was not told, and rightly."""
    _judge(memory, decision, False, as_json)


def _judge(memory: Memory, decision: str, is_useful: bool, as_json: bool) -> None:
    done = memory.topics.judge(decision, useful=is_useful)
    if as_json or click.get_current_context().meta.get(AS_JSON):
        emit({"useful": is_useful, "decision": done})
    else:
        word = "useful" if is_useful else "useless"
        click.echo(f"Noted: {done.topic} was {word} for “{done.message}”")
