"""Start: init makes a home and connects a host to it; completion helps a shell."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wakebook.cli.models import check, choose, named, offer
from wakebook.cli.shared import Command, Out, command, esc
from wakebook.hosts import HOSTS

if TYPE_CHECKING:
    from wakebook.hosts.plan import Change, Wires
    from wakebook.memory import Memory

LONG, WIDE = 100, 300  # lines of a new file, and characters of a line, that are shown
UNASKED = "With --json there is no one to ask: give --yes as well."


@command()
@click.argument("path", default="")
@click.option("--host", type=click.Choice(HOSTS), help="Wire this host to the home.")
@click.option("--undo", is_flag=True, help="With --host: put the host back as it was.")
@click.option("--dry-run", is_flag=True, help="With --host: show what would change, and stop.")
@named
@click.option("--yes", "-y", is_flag=True, help="With --host: do not ask.")
def init(
    memory: Memory,
    out: Out,
    path: str,
    host: str | None,
    undo: bool,
    dry_run: bool,
    model: str | None,
    yes: bool,
) -> None:
    """Make a home for the memory, and wire a host to it."""
    if path:
        from wakebook.memory import Memory

        memory = Memory(path)
    check(model)
    if not host and (undo or dry_run):
        raise click.UsageError("--undo and --dry-run go with --host.")
    if out.as_json and host and not (yes or dry_run or undo):
        raise click.UsageError(UNASKED)
    if host and undo:
        _undo(memory, out, host, dry_run)
        return
    if not dry_run:
        _init(memory, out, host)
    if host:
        _wire(memory, out, host, dry_run, yes)
    if model and not dry_run:
        choose(memory, model)
        out.ok(f"{esc(model)}: [bold]wakebook models[/bold] changes that.")
    elif host not in (None, "openclaw") and not (dry_run or out.as_json):
        offer(memory, out, None, ask=not yes)


def _init(memory: Memory, out: Out, host: str | None) -> None:
    made = memory.init()
    if host and (out.as_json or not made.created):  # only the host is told
        return
    out.json({"home": str(memory.home.root), "made": made})
    out.say(f"[bold green]●[/bold green] Your home is [bold]{esc(memory.home.root)}[/bold]")
    out.say(f"  created     {', '.join(made.created)}", when=made.created)
    out.say(f"  left alone  {', '.join(made.kept)}", when=made.kept)
    out.each("  note        ", made.notes)
    next_ = "\nNext: [bold]wakebook setup[/bold] wires your agents and reads their sessions;\n"
    reads = "[bold]wakebook catch-up[/bold] only reads them."
    out.say(next_ + reads, when=not host)


def _wire(memory: Memory, out: Out, name: str, dry: bool, yes: bool) -> None:
    from wakebook.hosts import host, wiring
    from wakebook.hosts.events import about

    plan, label = host(name).plan(wiring.where(memory, name)), about(name).label
    if out.as_json:
        notes = [] if dry else wiring.wire(memory, name, plan)
        changes = [
            {"path": str(one.path), "before": _text(one.before), "after": _text(one.after)}
            for one in plan.changes
        ]
        told = {name: getattr(plan, name) for name in ("settings", "commands", "notes")}
        told |= {"done": not dry, "problems": notes}
        out.json({"host": name, "changes": changes, **told})
        return
    root = esc(memory.home.root)
    out.say(f"A home will be made in {root}.", when=dry and not memory.home.exists())
    for change in plan.changes:
        _diff(out, change)
    outline(memory, out, label, plan)
    if dry:
        out.say("[dim]Nothing was changed.[/dim]")
        return
    if not yes and (plan.changes or plan.commands) and not agreed(f"Change {label} like this?"):
        raise click.ClickException("Nothing of it was changed. --yes does not ask.")
    notes = wiring.wire(memory, name, plan, lambda line: out.say(f"[dim]$ {esc(line)}[/dim]"))
    done = "is not wired yet: this is left to do" if plan.by_hand else f"is wired to {root}"
    out.say(f"[bold green]●[/bold green] {label} {done}")
    out.each("  note  ", (*notes, *plan.notes))
    here = "" if memory.home.root == Path.home() / ".wakebook" else f" --home {shlex.quote(root)}"
    out.say(f"\nTake it back: [bold]wakebook init --host {name} --undo{here}[/bold]")
    out.say(f"Check it:     [bold]wakebook doctor --host {name}{here}[/bold]")


def agreed(question: str) -> bool:
    try:
        return click.confirm(question, default=True)
    except click.Abort:  # standard input has no answer
        click.echo()
        return False


def _undo(memory: Memory, out: Out, name: str, dry: bool) -> None:
    from wakebook.hosts import wiring

    memory.home.require()
    done = wiring.wired(memory, name)
    notes = put_back(memory, out, name, dry)
    files = [one.path for one in done.kept] if done else []
    out.json({"host": name, "undone": not dry, "files": files, "notes": notes})
    out.say("[dim]Nothing was changed.[/dim]" if dry else "Your memory stays where it is.")


def put_back(memory: Memory, out: Out, name: str, dry: bool) -> list[str]:
    """Unwire a host, or say what that would do. Notes on what the user should look at."""
    from wakebook.hosts import wiring
    from wakebook.hosts.events import about

    done = wiring.wired(memory, name)
    if dry and done:
        out.each("will run: [bold]", map(shlex.join, done.undo_commands))
        out.each("will be put back: [bold]", [one.path for one in done.kept])
        return []
    notes = wiring.unwire(memory, name)
    but = " but for what you have changed in it since" if notes else ""
    out.say(f"[bold green]●[/bold green] {about(name).label} is as it was{but}.")
    out.each("  note  ", notes)
    return notes


def outline(memory: Memory, out: Out, label: str, plan: Wires, indent: str = "") -> None:
    """What a plan does besides its changes of the host's files."""
    for name, value in plan.settings.items():
        section, _, key = name.partition(".")
        now = getattr(getattr(memory.config, section), key) if memory.home.exists() else None
        if now != (tuple(value) if isinstance(value, list) else value):
            out.say(f"{indent}config.toml: [green]{esc(name)} = {esc(json.dumps(value))}[/green]")
    out.each(f"{indent}will run: [bold]", map(shlex.join, plan.commands))
    if plan.touched and plan.commands:
        out.say(f"{indent}  which may change (kept, and put back by --undo):")
        out.each(f"{indent}  [bold]", plan.touched)
    if not (plan.changes or plan.commands):
        out.say(f"{indent}Nothing of {label}'s own files has to change.")


def _diff(out: Out, change: Change) -> None:
    import difflib

    before, after = change.before, change.after
    old, new = (_text(one) or "" for one in (before, after))
    lines = new.splitlines()
    if before is None and len(lines) > LONG:
        out.say(f"[bold]{esc(change.path)}[/bold] (new file, {len(lines)} lines)")
        return
    out.say(f"[bold]{esc(change.path)}[/bold] ({kind(change)})")
    for line in list(difflib.unified_diff(old.splitlines(), lines, lineterm="", n=1))[2:]:
        colour = {"+": "green", "-": "red"}.get(line[:1], "dim")
        shown = line if len(line) <= WIDE else f"{line[:WIDE]}…"
        out.say(f"  [{colour}]{esc(shown)}[/{colour}]")


def kind(change: Change) -> str:
    if change.before is None:
        return "new file"
    return "removed" if change.after is None else "changed"


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script for your shell."""
    from click.shell_completion import get_completion_class

    from wakebook.cli import cli

    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(cli, {}, "wakebook", "_WAKEBOOK_COMPLETE").source())
