"""wakebook topics"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, many, options, spoken

if TYPE_CHECKING:
    from rich.console import Console

    from wakebook.memory import Memory
    from wakebook.recall.topics.activation import Activation
    from wakebook.recall.topics.topic import Topic

ABOUT = 70  # characters


@click.group(name="topics")
def command() -> None:
    """Playbooks that come to the agent when a message calls for them: topics/*.md.

    \b
    wakebook topics new email-triage     a file to fill in
    wakebook topics check                is every file right?
    wakebook topics test "any news in my inbox?"
    """


@command.command(name="list")
@options
def list_(memory: Memory, as_json: bool) -> None:
    """Every topic, what triggers it, and what waits for the next turn."""
    read, waiting = memory.topics.read(), memory.topics.waiting()
    if as_json:
        emit({"topics": read.topics, "bad": read.bad, "waiting": waiting})
        return
    from textwrap import shorten

    from rich.markup import escape
    from rich.table import Table

    out = console()
    table = Table(box=None, header_style="dim", pad_edge=False)
    for name in ("topic", "activation", "priority", "triggers", "about"):
        table.add_column(name)
    for topic in read.topics:
        triggers = ", ".join(dict.fromkeys(trigger.type for trigger in topic.triggers)) or "–"
        about = escape(shorten(topic.about, ABOUT, placeholder="…"))
        table.add_row(escape(topic.name), topic.activation, topic.priority, triggers, about)
    out.print(table if read.topics else "No topics yet. `wakebook topics new NAME` begins one.")
    for one in waiting:
        out.print(f"[yellow]●[/yellow] {escape(one.topic)} waits: {escape(one.why)}")
    _bad(memory, out)


@command.command()
@options
def check(memory: Memory, as_json: bool) -> None:
    """Look for mistakes. Exit code 1 if a file cannot be used."""
    read = memory.topics.read()
    loose = [
        (topic, name)
        for topic in read.topics
        for name in topic.subscriptions
        if not (memory.home.root / name).is_file()
    ]
    if as_json:
        emit(
            {
                "topics": len(read.topics),
                "bad": read.bad,
                "missing": [{"topic": topic.name, "file": name} for topic, name in loose],
            }
        )
    else:
        from rich.markup import escape

        out = console()
        _bad(memory, out)
        for topic, name in loose:
            out.print(
                f"[yellow]●[/yellow] {escape(topic.path)}: {escape(name)} is not there (yet); "
                "it is left out."
            )
        for topic in read.topics:
            if not topic.is_filled_in:
                out.print(f"[yellow]●[/yellow] {escape(topic.path)}: not filled in yet.")
        out.print(f"{many(len(read.topics), 'topic')} can be used.")
    if read.bad:
        sys.exit(1)


@command.command()
@click.argument("name")
@click.option("--about", default="", help="What it is about, in a line.")
@options
def new(memory: Memory, name: str, about: str, as_json: bool) -> None:
    """Begin a topic: a file with every key that it may have."""
    path = memory.topics.new(name, about)
    if as_json:
        emit({"path": path})
    else:
        click.echo(f"{path}\nFill it in, then: wakebook topics test “a message”")


@command.command()
@click.argument("message", nargs=-1, required=True)
@click.option("--output", is_flag=True, help="MESSAGE is what the agent itself says.")
@click.option("--path", "paths", multiple=True, help="A file that the turn's tool calls touch.")
@options
def test(
    memory: Memory, message: tuple[str, ...], output: bool, paths: tuple[str, ...], as_json: bool
) -> None:
    """What MESSAGE would activate, and why. Nothing is written down."""
    text = spoken(message)
    direction = "output" if output else "input"
    found = memory.topics.test(text, direction=direction, paths=paths)
    if as_json:
        emit([one.decision for one in found])
        return
    out = console()
    for one in found:
        _activation(one, out)
    if not any(one.decision.activated for one in found):
        out.print("No topic is activated.")
    _bad(memory, out)


@command.command()
@click.argument("source", required=False, default="")
@click.argument("event", required=False, default="")
@click.option("--topic", "name", default="", help="Activate this topic by name instead.")
@click.option("--session", default="", help="For the next turn of this session only.")
@click.option(
    "--payload",
    type=click.File("r", encoding="utf-8", errors="replace"),
    help="What came with it: a file, or - for standard input.",
)
@options
def fire(
    memory: Memory,
    source: str,
    event: str,
    name: str,
    session: str,
    payload: IO[str] | None,
    as_json: bool,
) -> None:
    """A webhook SOURCE has sent EVENT: topics that wait for it come with the next turn.

    \b
    wakebook topics fire email new_message --payload message.txt
    wakebook topics fire --topic release-day --session 5560
    """
    if bool(name) == bool(source):
        raise click.UsageError("Give the SOURCE of a webhook, or --topic NAME.")
    text = payload.read() if payload else ""
    if name:
        fired = [memory.topics.fire_topic(name, payload=text, session=session)]
    else:
        fired = memory.topics.fire(source, event, payload=text, session=session)
    if as_json:
        emit(fired)
    for one in () if as_json else fired:
        click.echo(f"{one.topic} comes with the next turn ({one.why})")
    if not fired and as_json:
        sys.exit(1)
    if not fired:
        topics = memory.topics.read().topics
        known = {one.source for topic in topics for one in topic.triggers if one.source}
        waits = f" There are {', '.join(sorted(known))}." if known else ""
        click.echo(f"No topic has a webhook trigger for that.{waits}")
        sys.exit(1)


@command.command()
@click.argument("output", nargs=-1, required=True)
@click.option("--session", required=True, help="Whose next turn a hint is for.")
@click.option("--path", "paths", multiple=True, help="A file that the turn's tool calls touch.")
@options
def observe(
    memory: Memory, output: tuple[str, ...], session: str, paths: tuple[str, ...], as_json: bool
) -> None:
    """Look at what the agent has just said (OUTPUT, or - for standard input).

    A topic whose trigger has the scope output or both, and matches, waits for the next turn of
    the session, with its hint.
    """
    text = spoken(output)
    found = memory.observe(text, session=session, paths=paths)
    if as_json:
        emit(found)
        return
    for one in found:
        if one.activated:
            click.echo(f"{one.topic} comes with the next turn: {', '.join(one.matched)}")
    if not any(one.activated for one in found):
        click.echo("Nothing to correct.")


def _activation(one: Activation, out: Console) -> None:
    from rich.markup import escape

    topic: Topic = one.topic
    decision = one.decision
    mark = "[green]●[/green]" if decision.activated else "[dim]○[/dim]"
    out.print(
        f"{mark} [bold]{escape(topic.name)}[/bold] ({topic.activation}, {topic.priority}): "
        f"{escape(decision.reason)}"
    )
    matched = ", ".join(decision.matched) or "no trigger"
    out.print(
        f"    [dim]{escape(matched)}; likeness {decision.similarity:.2f}, "
        f"held against {decision.threshold:g}[/dim]"
    )


def _bad(memory: Memory, out: Console) -> None:
    from rich.markup import escape

    for one in memory.topics.read().bad:
        where = escape(f"{Path(one.path)}:{one.line}")
        out.print(f"[red]●[/red] {where}: {escape(one.problem)}")
