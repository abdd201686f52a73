"""Topics: playbooks that come with a message, and the decisions about them."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING, Any

import click

from wakebook.cli.shared import Out, command, esc, group, many, spoken

if TYPE_CHECKING:
    from wakebook.memory import Memory

ABOUT = 70  # characters
WORDS = {None: "", True: " [green]useful[/green]", False: " [red]useless[/red]"}
ON, OFF, ODD = "[green]●[/green]", "[dim]○[/dim]", "[yellow]●[/yellow]"

touched = click.option(
    "--path", "paths", multiple=True, help="A file that the turn's tool calls touch."
)


@group()
def topics(memory: Memory, out: Out) -> None:
    """Playbooks that come to the agent when a message calls for them."""


@command(topics, "list")
def list_(memory: Memory, out: Out) -> None:
    """Every topic, what triggers it, and what waits for the next turn."""
    read, waiting = memory.topics.read(), memory.topics.waiting()
    if out.json({"topics": read.topics, "bad": read.bad, "waiting": waiting}):
        return
    rows = []
    for topic in read.topics:
        triggers = ", ".join(dict.fromkeys(trigger.type for trigger in topic.triggers)) or "–"
        about = esc(shorten(topic.about, ABOUT, placeholder="…"))
        rows.append((esc(topic.name), topic.activation, topic.priority, triggers, about))
    none = "No topics yet. `wakebook topics new NAME` begins one."
    out.table("topic  activation  priority  triggers  about", rows, none)
    out.each(f"{ODD} ", [f"{one.topic} waits: {one.why}" for one in waiting])
    _bad(memory, out)


@command(topics)
def check(memory: Memory, out: Out) -> bool:
    """Look for mistakes. Exit code 1 if a file cannot be used."""
    read = memory.topics.read()
    loose = memory.topics.missing()
    missing = [{"topic": topic.name, "file": name} for topic, name in loose]
    out.json({"topics": len(read.topics), "bad": read.bad, "missing": missing})
    _bad(memory, out)
    for topic, name in loose:
        out.say(f"{ODD} {esc(topic.path)}: {esc(name)} is not there (yet); it is left out.")
    for topic in read.topics:
        out.say(f"{ODD} {esc(topic.path)}: not filled in yet.", when=not topic.is_filled_in)
        out.say(f"{ODD} {esc(topic.path)}: the sample. Edit it to use it.", when=topic.is_sample)
        rare = "it has no trigger, so only a message very much like it brings it."
        out.say(f"{ODD} {esc(topic.path)}: {rare}", when=topic.is_filled_in and not topic.triggers)
    out.say(f"{many(len(read.told), 'topic')} can be used.")
    return bool(read.bad)


@command(topics)
@click.argument("name")
@click.option("--about", default="", help="What it is about, in a line.")
def new(memory: Memory, out: Out, name: str, about: str) -> None:
    """Begin a topic: a file with every key that it may have."""
    path = memory.topics.new(name, about)
    if not out.json({"path": path}):
        click.echo(f"{path}\nFill it in, then: wakebook topics test “a message”")


@command(topics)
@click.argument("message", nargs=-1, required=True)
@click.option("--output", is_flag=True, help="MESSAGE is what the agent itself says.")
@touched
def test(
    memory: Memory, out: Out, message: tuple[str, ...], output: bool, paths: tuple[str, ...]
) -> None:
    """What MESSAGE would activate, and why. Nothing is written down."""
    direction = "output" if output else "input"
    found = memory.topics.test(spoken(message), direction=direction, paths=paths)
    if out.json([one.decision for one in found]):
        return
    for one in found:
        topic, decision = one.topic, one.decision
        about = f"({topic.activation}, {topic.priority}): {esc(decision.reason)}"
        out.say(f"{ON if decision.activated else OFF} [bold]{esc(topic.name)}[/bold] {about}")
        matched = esc(", ".join(decision.matched) or "no trigger")
        likeness = f"likeness {decision.similarity:.2f}, held against {decision.threshold:g}"
        out.say(f"    [dim]{matched}; {likeness}[/dim]")
    out.say("No topic is activated.", when=not any(one.decision.activated for one in found))
    _bad(memory, out)


@command(topics)
@click.argument("source", default="")
@click.argument("event", default="")
@click.option("--topic", "name", default="", help="Activate this topic by name instead.")
@click.option("--session", default="", help="For the next turn of this session only.")
@click.option("--payload", type=click.File("r", "utf-8", "replace"), help="A file, or -.")
def fire(
    memory: Memory, out: Out, source: str, event: str, name: str, session: str, payload: Any
) -> bool:
    """A webhook SOURCE has sent EVENT: topics that wait for it come with the next turn."""
    if bool(name) == bool(source):
        raise click.UsageError("Give the SOURCE of a webhook, or --topic NAME.")
    text = payload.read() if payload else ""
    if name:
        fired = [memory.topics.fire_topic(name, payload=text, session=session)]
    else:
        fired = memory.topics.fire(source, event, payload=text, session=session)
    if out.json(fired):
        return not fired
    for one in fired:
        click.echo(f"{one.topic} comes with the next turn ({one.why})")
    if not fired:
        triggers = [one for topic in memory.topics.read().topics for one in topic.triggers]
        known = sorted({one.source for one in triggers if one.source})
        waits = f" There are {', '.join(known)}." if known else ""
        click.echo(f"No topic has a webhook trigger for that.{waits}")
    return not fired


@command(topics)
@click.argument("output", nargs=-1, required=True)
@click.option("--session", required=True, help="Whose next turn a hint is for.")
@touched
def observe(
    memory: Memory, out: Out, output: tuple[str, ...], session: str, paths: tuple[str, ...]
) -> None:
    """Look at what the agent has just said (OUTPUT, or - for standard input)."""
    found = memory.observe(spoken(output), session=session, paths=paths)
    if out.json(found):
        return
    told = [one for one in found if one.activated]
    for one in told:
        click.echo(f"{one.topic} comes with the next turn: {', '.join(one.matched)}")
    if not told:
        click.echo("Nothing to correct.")


def _bad(memory: Memory, out: Out) -> None:
    bad = memory.topics.read().bad
    out.each("[red]●[/red] ", [f"{one.path}:{one.line}: {one.problem}" for one in bad])


@group(topics, alone=True)
@click.option("--topic", default="", help="Only this topic.")
@click.option("--limit", "-n", type=click.IntRange(min=0), default=15, show_default=True)
def decisions(memory: Memory, out: Out, topic: str, limit: int) -> None:
    """What was decided about topics, whether it helped, and which thresholds would do better."""
    standings, decided = memory.topics.decided(topic)
    judged = memory.topics.judgements()
    if out.json({"topics": standings, "decisions": decided, "judged": judged}):
        return
    rows = []
    for row in standings:
        precision = f"{row.precision:.0%}" if row.precision is not None else "–"
        counts = (row.decided, row.activated, row.useful, row.useless, row.missed)
        own = "–" if row.threshold is None else f"{row.threshold:g}"
        proposed = f"{own} → [green]{row.proposed:g}[/green]" if row.proposed is not None else own
        why = f" [dim]{esc(row.why)}[/dim]" if row.why else ""
        rows.append((esc(row.topic), *map(str, counts), precision, f"{proposed}{why}"))
    columns = "topic  >in question  >told  >useful  >useless  >missed  >precision  threshold"
    out.table(columns, rows, "Nothing has been decided yet: no topic was in question.")
    newest = decided[-limit:] if limit else []
    out.say("\n[bold]Newest decisions[/bold]", when=newest)
    for one in newest:
        out.say(
            f"{ON if one.activated else OFF} [dim]{one.id}  {one.at}[/dim]  {esc(one.topic)}  "
            f"{one.similarity:.2f}  [dim]{esc(one.reason)}[/dim]{WORDS[judged.get(one.id)]}\n"
            f"    {esc(one.message)}"
        )


@command(decisions)
@click.argument("decision")
def useful(memory: Memory, out: Out, decision: str) -> None:
    """The topic helped; or it was not told, and would have."""
    _judge(memory, out, decision, useful=True)


@command(decisions)
@click.argument("decision")
def useless(memory: Memory, out: Out, decision: str) -> None:
    """The topic did not help; or it was not told, and rightly."""
    _judge(memory, out, decision, useful=False)


def _judge(memory: Memory, out: Out, decision: str, *, useful: bool) -> None:
    done = memory.topics.judge(decision, useful=useful)
    if not out.json({"useful": useful, "decision": done}):
        word = "useful" if useful else "useless"
        click.echo(f"Noted: {done.topic} was {word} for “{done.message}”")


gates = decisions  # its old name
