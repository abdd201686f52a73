"""wakebook init"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wakebook.adapters.cli.shared import console, emit, options

if TYPE_CHECKING:
    from wakebook.adapters.hosts.wiring import Plan
    from wakebook.memory import Memory

HOSTS = ("openclaw", "claude-code", "codex", "pi")


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
    if undo and dry_run:
        raise click.UsageError("--undo or --dry-run, not both.")
    if dry_run and not memory.home.exists():
        raise click.UsageError(
            f"There is no home in {memory.home.root} yet: `wakebook init` first."
        )
    if as_json and host and not (yes or dry_run or undo):
        raise click.UsageError("With --json nobody can be asked: give --yes as well.")
    if host and undo:
        _undo(memory, host, as_json)
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
    from wakebook.adapters.hosts import wiring

    host = wiring.host(name)
    plan = host.plan(wiring.where(memory, name))
    if as_json:
        notes = [] if dry else wiring.wire(memory, name, plan)
        emit(_json(name, plan) | {"done": not dry, "problems": notes})
        return
    from rich.markup import escape

    out = console()
    _show(host.LABEL, plan)
    if dry:
        out.print("[dim]Nothing was changed.[/dim]")
        return
    if not yes and (plan.changes or plan.commands):
        click.confirm(f"Change {host.LABEL} like this?", default=True, abort=True)
    notes = wiring.wire(memory, name, plan, lambda line: out.print(f"[dim]$ {escape(line)}[/dim]"))
    out.print(
        f"[bold green]●[/bold green] {host.LABEL} is wired to {escape(str(memory.home.root))}"
    )
    for note in (*notes, *plan.notes):
        out.print(f"  note  {escape(note)}")
    out.print(f"\nTake it back: [bold]wakebook init --host {name} --undo[/bold]")
    out.print(f"Check it:     [bold]wakebook doctor --host {name}[/bold]")


def _undo(memory: Memory, name: str, as_json: bool) -> None:
    from rich.markup import escape

    from wakebook.adapters.hosts import wiring

    memory.home.require()
    done = wiring.wired(memory, name)
    notes = wiring.unwire(memory, name)
    files = [one.path for one in done.kept] if done else []
    if as_json:
        emit({"host": name, "undone": True, "files": files, "notes": notes})
        return
    out = console()
    out.print(f"[bold green]●[/bold green] {wiring.host(name).LABEL} is as it was.")
    for note in notes:
        out.print(f"  note  {escape(note)}")
    out.print("Your memory stays where it is.")


def _show(label: str, plan: Plan) -> None:
    from rich.markup import escape

    out = console()
    for change in plan.changes:
        _diff(change.path, change.before, change.after)
    for name, value in plan.settings.items():
        out.print(f"config.toml: [green]{escape(name)} = {escape(repr(value))}[/green]")
    for command in plan.commands:
        out.print(f"will run: [bold]{escape(' '.join(command))}[/bold]")
    if not (plan.changes or plan.commands):
        out.print(f"Nothing of {label}'s own files has to change.")


def _diff(path: Path, before: bytes | None, after: bytes | None) -> None:
    import difflib

    from rich.markup import escape

    out = console()
    old = (before or b"").decode("utf-8", "replace").splitlines()
    new = (after or b"").decode("utf-8", "replace").splitlines()
    kind = "new file" if before is None else "removed" if after is None else "changed"
    out.print(f"[bold]{escape(str(path))}[/bold] ({kind})")
    for line in list(difflib.unified_diff(old, new, lineterm="", n=1))[2:]:
        colour = {"+": "green", "-": "red"}.get(line[:1], "dim")
        out.print(f"  [{colour}]{escape(line)}[/{colour}]")


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
