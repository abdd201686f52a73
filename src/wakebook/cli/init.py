"""wakebook init"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, options
from wakebook.hosts import HOSTS
from wakebook.hosts import host as module_of

if TYPE_CHECKING:
    from wakebook.hosts.plan import Plan
    from wakebook.memory import Memory

LONG, WIDE = 100, 300  # lines of a new file, and characters of a line, that are shown


@click.command()
@click.argument("path", required=False)
@click.option("--host", type=click.Choice(HOSTS), help="Wire this host to the home.")
@click.option("--undo", is_flag=True, help="With --host: put the host back as it was.")
@click.option("--dry-run", is_flag=True, help="With --host: show what would change, and stop.")
@click.option("--yes", "-y", is_flag=True, help="With --host: do not ask.")
@options
def command(
    memory: Memory,
    path: str | None,
    host: str | None,
    undo: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Make a home at PATH (default: --home, WAKEBOOK_HOME or ~/.wakebook), and wire a host to it.

    Running it again is safe: it adds what is missing and leaves alone what is there.

    With --host, the host's configuration is changed so that its agents remember. What will
    change is shown first; every file that is touched is kept in the home, and --undo puts
    everything back, byte by byte.

    \b
    wakebook init                               a home in ~/.wakebook
    wakebook init --host claude-code            wire Claude Code
    wakebook init --host openclaw --dry-run     only show what would change
    wakebook init --host codex --undo           as if it had never been there
    """
    if path:
        from wakebook.memory import Memory

        memory = Memory(path)
    if not host and (undo or dry_run):
        raise click.UsageError("--undo and --dry-run go with --host.")
    if as_json and host and not (yes or dry_run or undo):
        raise click.UsageError("With --json nobody can be asked: give --yes as well.")
    if host and undo:
        _undo(memory, host, dry_run, as_json)
        return
    if not dry_run:
        _init(memory, quiet=as_json and bool(host), brief=bool(host), as_json=as_json)
    if host:
        _wire(memory, host, dry_run, yes, as_json)


def _init(memory: Memory, *, quiet: bool, brief: bool, as_json: bool) -> None:
    made = memory.init()
    if as_json:
        if not quiet:
            emit({"home": str(memory.home.root), "made": made})
        return
    from rich.markup import escape

    out = console()
    root = escape(str(memory.home.root))
    if brief and not made.created:
        return
    out.print(f"[bold green]●[/bold green] Your home is [bold]{root}[/bold]")
    if made.created:
        out.print(f"  created     {', '.join(made.created)}")
    if made.kept:
        out.print(f"  left alone  {', '.join(made.kept)}")
    for note in made.notes:
        out.print(f"  note        {escape(note)}")
    if not brief:
        out.print("\nNext: [bold]wakebook catch-up[/bold] reads your agents' sessions, and")
        out.print("[bold]wakebook init --host claude-code[/bold] (codex, openclaw, pi) wires one.")


def _wire(memory: Memory, name: str, dry: bool, yes: bool, as_json: bool) -> None:
    from wakebook.hosts import wiring

    host = module_of(name)
    plan = host.plan(wiring.where(memory, name))
    if as_json:
        notes = [] if dry else wiring.wire(memory, name, plan)
        emit(_json(name, plan) | {"done": not dry, "problems": notes})
        return
    from rich.markup import escape

    out = console()
    if dry and not memory.home.exists():
        out.print(f"A home will be made in {escape(str(memory.home.root))}.")
    _show(memory, host.LABEL, plan)
    if dry:
        out.print("[dim]Nothing was changed.[/dim]")
        return
    if not yes and (plan.changes or plan.commands) and not _agreed(host.LABEL):
        raise click.ClickException("Nothing of it was changed. --yes does not ask.")
    notes = wiring.wire(memory, name, plan, lambda line: out.print(f"[dim]$ {escape(line)}[/dim]"))
    root = escape(str(memory.home.root))
    ready = plan.changes or plan.commands or not plan.by_hand
    done = f"is wired to {root}" if ready else "is not wired yet: this is left to do"
    out.print(f"[bold green]●[/bold green] {host.LABEL} {done}")
    for note in (*notes, *plan.notes):
        out.print(f"  note  {escape(note)}")
    here = "" if memory.home.root == Path.home() / ".wakebook" else f" --home {shlex.quote(root)}"
    out.print(f"\nTake it back: [bold]wakebook init --host {name} --undo{here}[/bold]")
    out.print(f"Check it:     [bold]wakebook doctor --host {name}{here}[/bold]")


def _agreed(label: str) -> bool:
    try:
        return click.confirm(f"Change {label} like this?", default=True)
    except click.Abort:  # nobody is there to answer
        click.echo()
        return False


def _undo(memory: Memory, name: str, dry: bool, as_json: bool) -> None:
    from rich.markup import escape

    from wakebook.hosts import wiring

    memory.home.require()
    done = wiring.wired(memory, name)
    notes = [] if dry and done else wiring.unwire(memory, name)
    files = [one.path for one in done.kept] if done else []
    if as_json:
        emit({"host": name, "undone": not dry, "files": files, "notes": notes})
        return
    out, label = console(), module_of(name).LABEL
    if dry and done:
        for command in done.undo_commands:
            out.print(f"will run: [bold]{escape(shlex.join(command))}[/bold]")
        for file in files:
            out.print(f"will be put back: [bold]{escape(file)}[/bold]")
        out.print("[dim]Nothing was changed.[/dim]")
        return
    but = " but for what you have changed in it since" if notes else ""
    out.print(f"[bold green]●[/bold green] {label} is as it was{but}.")
    for note in notes:
        out.print(f"  note  {escape(note)}")
    out.print("Your memory stays where it is.")


def _show(memory: Memory, label: str, plan: Plan) -> None:
    from rich.markup import escape

    out = console()
    for change in plan.changes:
        _diff(change.path, change.before, change.after)
    for name, value in plan.settings.items():
        if not _is_set(memory, name, value):
            out.print(f"config.toml: [green]{escape(name)} = {escape(json.dumps(value))}[/green]")
    for command in plan.commands:
        out.print(f"will run: [bold]{escape(shlex.join(command))}[/bold]")
    for path in plan.touched if plan.commands else ():
        out.print(
            f"  which may change [bold]{escape(str(path))}[/bold] (kept, and put back by --undo)"
        )
    if not (plan.changes or plan.commands):
        out.print(f"Nothing of {label}'s own files has to change.")


def _is_set(memory: Memory, name: str, value: object) -> bool:
    section, _, key = name.partition(".")
    now = getattr(getattr(memory.config, section), key) if memory.home.exists() else None
    return bool(now == (tuple(value) if isinstance(value, list) else value))


def _diff(path: Path, before: bytes | None, after: bytes | None) -> None:
    import difflib

    from rich.markup import escape

    out = console()
    old = (before or b"").decode("utf-8", "replace").splitlines()
    new = (after or b"").decode("utf-8", "replace").splitlines()
    kind = "new file" if before is None else "removed" if after is None else "changed"
    if before is None and len(new) > LONG:
        out.print(f"[bold]{escape(str(path))}[/bold] (new file, {len(new)} lines)")
        return
    out.print(f"[bold]{escape(str(path))}[/bold] ({kind})")
    for line in list(difflib.unified_diff(old, new, lineterm="", n=1))[2:]:
        colour = {"+": "green", "-": "red"}.get(line[:1], "dim")
        shown = line if len(line) <= WIDE else f"{line[:WIDE]}…"
        out.print(f"  [{colour}]{escape(shown)}[/{colour}]")


def _json(name: str, plan: Plan) -> dict[str, object]:
    return {
        "host": name,
        "changes": [
            {
                "path": str(one.path),
                "before": None if one.before is None else one.before.decode("utf-8", "replace"),
                "after": None if one.after is None else one.after.decode("utf-8", "replace"),
            }
            for one in plan.changes
        ],
        "settings": plan.settings,
        "commands": [list(one) for one in plan.commands],
        "notes": list(plan.notes),
    }
