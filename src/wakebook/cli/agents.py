"""For agents and their hosts: wake, context, window, mcp; and the plumbing hook, link, git-hook."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING, Any

import click

from wakebook.base.decode import loads
from wakebook.base.errors import GitError
from wakebook.base.text import visible
from wakebook.cli.shared import (
    ONE,
    Command,
    Out,
    command,
    cwd,
    dumped,
    esc,
    group,
    many,
    paint,
    place,
    spoken,
)

if TYPE_CHECKING:
    from wakebook.learn.flush import Flushed
    from wakebook.memory import Memory
    from wakebook.recall.prune import PruneReport
    from wakebook.recall.slot import Context, Slot

KINDS = click.Choice(["main", "group", "subagent", "cron", "hook"])
ANY = click.IntRange(min=0)
BAR = 24  # characters
SHOWN = 12  # items of a slot


@command()
@place
def wake(memory: Memory, out: Out, project: str, everywhere: bool) -> None:
    """What a new session should be told: here, if the memory knows this folder's project."""
    text = memory.wake(cwd(), project=project, everywhere=everywhere)
    if not out.json({"text": text}):
        click.echo(text, nl=False)


@command()
@click.argument("message", nargs=-1)
@click.option("--session", help="The session that the message belongs to.")
@click.option("--kind", type=KINDS, help="Of the session; by default main.")
@click.option("--budget", type=ONE, help="Tokens, at most.")
@click.option("--have", multiple=True, metavar="SLOT", help="A slot that your host loads itself.")
@click.option("--topic", "topics", multiple=True, metavar="NAME", help="Activate this topic.")
@click.option("--path", "paths", multiple=True, help="A file that the turn's tool calls touch.")
@click.option("--history", type=click.File("rb"), help="The messages so far: JSON, a file or -.")
@click.option("--explain", is_flag=True, help="Show what is in it and why, instead of its text.")
@click.option("--told", is_flag=True, help="What sessions, or --session, were really told.")
@click.option("--turn", default="", metavar="ID", help="What this turn was told, and what missed.")
@click.option("--useful", default="", metavar="REF", help="With --turn: this finding helped.")
@click.option("--useless", default="", metavar="REF", help="With --turn: it did not.")
@click.option("--unrated", default="", metavar="REF", help="With --turn: take that back.")
@place
def context(
    memory: Memory, out: Out, message: tuple[str, ...], history: Any, explain: bool, **asked: Any
) -> None:
    """What an agent needs to know for MESSAGE, within a budget of tokens."""
    named = {name: asked.pop(name) for name in ("useful", "useless", "unrated")}
    turn, told = asked.pop("turn"), asked.pop("told")
    if turn or told or any(named.values()):
        from wakebook.cli import told as record

        if message or history:
            raise click.UsageError("--told and --turn show what was told; they take no MESSAGE.")
        record.show(memory, out, asked["session"] or "", turn, named)
        return
    if message == ("-",) and history is not None and history.name in ("-", "<stdin>", 0):
        raise click.UsageError("Standard input can be the message or the history, not both.")
    text = spoken(message)
    if history:
        asked["history"] = _messages_of(_json_in(history), history)
    if not (asked["project"] or asked["session"]):
        asked["cwd"] = cwd() if memory.opened.project(cwd()) else ""
    found = memory.context(text, **{name: value for name, value in asked.items() if value})
    if out.json(found):
        return
    for note in found.notes:
        paint(click.style(f"! {visible(note)}", fg="yellow"), err=True)
    if explain:
        explained(out, found, text)
    else:
        click.echo(found.text, nl=False)


def explained(out: Out, found: Context, message: str) -> None:
    from wakebook.base.text import printable

    spent, asked = sum(found.steps.values()), printable(message)
    about = f"“{asked[:70]}{'…' if len(asked) > 70 else ''}”" if asked else "a new session"
    out.say(
        f"[bold]Context for {esc(about)}[/bold]\n"
        f"{found.tokens:,} of {found.budget:,} tokens, {found.left:,} left, {spent:.1f} ms\n"
    )
    slots = {slot.name: slot for slot in found.slots}
    for slot in found.slots:
        _slot(out, slot, found.budget)
    _topics(out, found)
    for name in ("recalled", "history"):
        if name in slots:
            _items(out, slots[name])
    out.say("\n[bold]Just missed[/bold]", when=found.missed)
    for item in found.missed:
        score = f"{item.score:.2f}" if item.score is not None else "    "
        why = f"[dim]{item.tokens} tokens, {esc(item.reason)}[/dim]"
        out.cut(f"  {score}  {esc(item.label)} {why}")
    steps = ", ".join(f"{name} {value:.1f}" for name, value in found.steps.items())
    out.say(f"\n[dim]Milliseconds: {steps}[/dim]")


def _slot(out: Out, slot: Slot, budget: int) -> None:
    full = max(min(BAR, round(BAR * slot.tokens / budget)), int(slot.tokens > 0))
    bar = f"[green]{'█' * full}[/green][dim]{'·' * (BAR - full)}[/dim]"
    size = f"{slot.tokens:,} / {slot.budget:,}" if slot.tokens else "–"
    counted = many(len(slot.items), "thing") if slot.items else ""
    note = slot.note or (slot.items[0].label if len(slot.items) == 1 else counted)
    out.cut(f"  P{slot.priority}  {slot.name:9} {bar} {size:>15}  [dim]{esc(note)}[/dim]")


def _topics(out: Out, found: Context) -> None:
    told = [item for slot in found.slots if slot.name == "topics" for item in slot.items]
    passed = [one for one in found.decisions if not one.activated]
    out.say("\n[bold]Topics[/bold]", when=told or passed)
    for item in told:
        why = f"[dim]{item.tokens} tokens, {esc(item.reason)}[/dim]"
        out.say(f"  [green]●[/green] {esc(item.label)} {why}")
    for one in passed[:SHOWN]:
        matched = f"{', '.join(one.matched)}; " if one.matched else ""
        reason = esc(f"{matched}{one.reason}, {one.similarity:.2f} of {one.threshold:g}")
        out.say(f"  [dim]○ {esc(one.topic)} not told: {reason}[/dim]")
    if found.decisions:
        out.say("  [dim]`wakebook topics decisions` has the ids: say there what was useful.[/dim]")


def _items(out: Out, slot: Slot) -> None:
    out.say(f"\n[bold]{slot.name.capitalize()}[/bold]", when=slot.items)
    for item in slot.items[:SHOWN]:
        score = f"{item.score:.2f}  " if item.score is not None else ""
        out.cut(f"  {score}{esc(item.label)}")
        about = ", ".join(filter(None, (f"{item.tokens} tokens", item.reason, item.ref)))
        out.cut(f"        [dim]{esc(about)}[/dim]")
    more = max(0, len(slot.items) - SHOWN)
    out.say(f"  [dim]and {more} more (--json has all)[/dim]", when=more)


@group()
def window(memory: Memory, out: Out) -> None:
    """Save and shorten a conversation before a model's context window is full."""


@command(window)
@click.argument("session")
@click.option("--tokens", type=ANY, metavar="N", help="Tokens that the session uses now.")
@click.option("--window", type=ONE, metavar="N", help="The model's context window.")
@click.option("--round", "compactions", type=ANY, metavar="N", help="How often it was compacted.")
def flush(memory: Memory, out: Out, session: str, **given: Any) -> bool:
    """Save SESSION before its host compacts it, and check that it is saved."""
    if not session.strip():
        raise click.UsageError("Name a session: `wakebook status --sessions` lists them.")
    if (given["tokens"] is None) != (given["window"] is None):
        raise click.UsageError("--tokens and --window belong together.")
    done = memory.flush(session, **given)
    out.json(done)
    _flushed(out, done)
    return not done.ok


def _flushed(out: Out, done: Flushed) -> None:
    name, why = esc(done.session), esc(done.why)
    saved = f"{many(done.messages, 'message')}, {many(done.entries, 'entry')}"
    if not done.due:
        out.say(f"[dim]●[/dim] {name}: not now, {why}.")
    elif not done.kept:
        out.say(f"[yellow]●[/yellow] {name} is not saved, on purpose: {why}.")
    elif not done.ok:
        out.say(f"[red]●[/red] {name} is not saved: {why}")
        out.say(f"  saved so far: {saved}", when=done.messages or done.entries)
        out.say("  [dim]`wakebook status` shows it until it is; compacting can wait.[/dim]")
    else:
        out.ok(f"{name} is saved and checked: " + (f"{why}." if why else f"[bold]{saved}[/bold]"))
    out.say(f"  [dim]{esc(done.note)}[/dim]", when=done.note)


@command(window)
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--window", type=ONE, required=True, metavar="TOKENS", help="The context window.")
@click.option("--idle-ms", type=ANY, metavar="N", help="Since the model was last called.")
@click.option("--report", is_flag=True, help="Print what was pruned instead of the messages.")
def prune(
    memory: Memory, out: Out, file: IO[bytes], window: int, idle_ms: int | None, report: bool
) -> None:
    """Make the old tool results of a message list smaller, as [pruning] in config.toml says."""
    import msgspec

    given = _json_in(file)
    done = memory.window.prune(_messages_of(given, file), window, idle_ms=idle_ms)
    if out.as_json:
        told = msgspec.to_builtins(done.report)
        print(dumped(told if report else {"messages": done.messages, "report": told}, 2))
    elif report:
        _pruned(out, done.report)
    else:
        whole = isinstance(given, dict)
        print(dumped({**given, "messages": done.messages} if whole else done.messages))
        click.echo(done.report.line, err=True)


def _json_in(file: IO[bytes]) -> Any:
    """The JSON of a file or of standard input."""

    name = _named(file)
    if name == "standard input" and file.isatty():
        raise click.UsageError("Give a FILE, or pipe a JSON list of messages into it.")
    try:
        return loads(file.read(), strict=True)
    except ValueError as error:
        raise click.UsageError(f"{name} is not JSON: {error}.") from error


def _messages_of(found: Any, file: IO[bytes]) -> list[Any]:
    messages = found.get("messages") if isinstance(found, dict) else found
    if not isinstance(messages, list):
        wanted = 'expected a list of messages, or {"messages": [...]}'
        raise click.UsageError(f"{_named(file)}: {wanted}.")
    return messages


def _named(file: IO[bytes]) -> str:
    return "standard input" if file.name in ("-", "<stdin>", 0) else file.name


def _pruned(out: Out, report: PruneReport) -> None:
    changes = [(one, "trimmed") for one in report.trimmed]
    changes += [(one, "cleared") for one in report.cleared]
    rows = [
        (str(one.index), esc(one.tool or "?"), what, f"{one.before:,}", f"{one.after:,}")
        for one, what in sorted(changes, key=lambda change: change[0].index)
    ]
    columns = ">message  tool  what  >before  >after"
    out.table(columns, rows, padding=(0, 2, 0, 0), pad_edge=True)
    before, after = f"{report.characters_before:,}", f"{report.characters_after:,}"
    out.ok(esc(report.line))
    out.say(f"  [dim]{before} characters before, {after} after[/dim]")


@command()
@click.option("--http", is_flag=True, help="Say where the service offers the same over HTTP.")
def mcp(memory: Memory, out: Out, http: bool) -> bool:
    """An MCP server on standard input and output."""
    from wakebook.service.call import elsewhere

    if elsewhere(str(memory.home.root)) and not http:
        from wakebook.service.remote import joined, speak

        if line := joined(memory.home.root):
            speak(line, sys.stdin.buffer, sys.stdout.buffer)
        return False
    memory.home.require()
    if not http:
        from wakebook.service.mcp_stdio import main

        main(lambda: type(memory)(str(memory.home.root)))
        return False
    from wakebook.service.address import look

    found = look(memory.home)
    up = found.state == "up"
    url = f"http://127.0.0.1:{found.port if up else memory.config.service.port}/mcp"
    token = str(memory.home.root / "token")
    out.json({"url": url, "token_file": token, "running": up})
    out.say(f"MCP over HTTP: [bold]{url}[/bold]")
    out.say(f"  [dim]header[/dim]  Authorization: Bearer $(cat {esc(token)})")
    off = "  [yellow]The service is not running.[/yellow] `wakebook serve` starts it."
    out.say(off, when=not up)
    return not up


@click.command(cls=Command)
@click.option("--home", metavar="PATH", help="The home to use.")
@click.argument("host")
@click.argument("event")
@click.pass_context
def hook(ctx: click.Context, home: str | None, host: str, event: str) -> None:
    """Answer a host's event: JSON on standard input, JSON or nothing on standard output."""
    from wakebook.hosts import hook as process
    from wakebook.memory import Memory

    process.main(str(Memory(home or ctx.obj).home.root), [host, event])


@click.command(cls=Command)
@click.argument("host")
@click.option("--home", metavar="PATH", help="The home to use.")
@click.option("--lend", is_flag=True, help="The host answers questions to its own model.")
@click.pass_context
def link(ctx: click.Context, host: str, home: str | None, lend: bool) -> None:
    """A persistent child of a host's plugin: one JSON object a line (see wakebook.hosts.link)."""
    from wakebook.hosts.link import main
    from wakebook.memory import Memory

    home_ = Memory(home or ctx.obj).home
    home_.require()
    main(str(home_.root), host, lend)


@command()
@click.argument("name", type=click.Choice(["pre-commit", "post-commit", "push"]))
def git_hook(memory: Memory, out: Out, name: str) -> int:
    """For Wakebook's own git hooks: check what is staged, update the index, or push."""
    if not memory.home.exists():  # a branch without a home in it
        return 0
    if name == "post-commit":
        memory.opened.quietly("index", memory.index.sync)
        return 0
    if name == "push":
        memory.history.push()
        return 0
    problems = memory.history.check_staged()
    refused = any(problem.refused for problem in problems)
    if not out.json(problems):
        for problem in problems:
            click.echo(f"wakebook: {'' if problem.refused else 'warning: '}{problem}", err=True)
        if refused:
            click.echo("wakebook: nothing was committed.", err=True)
    return GitError.exit_code if refused else 0  # the hook stops a commit for this code alone
