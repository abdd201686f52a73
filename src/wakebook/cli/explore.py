"""wakebook explore"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, many, options

if TYPE_CHECKING:
    from wakebook.history.branches import Exploration
    from wakebook.memory import Memory


@click.command()
@click.argument("name", nargs=-1)
@click.option("--drop", is_flag=True, help="Put the exploration away; a tag keeps it.")
@click.option("--list", "listing", is_flag=True, help="Only show what there is.")
@options
def command(
    memory: Memory, name: tuple[str, ...], drop: bool, listing: bool, as_json: bool
) -> None:
    """Try something out under NAME, on a branch of its own that is a home of its own.

    Your home stays as it is. An exploration without a commit for a week is put away; its tag
    memory/before/explore-NAME-gone keeps all of it.

    \b
    wakebook explore another-structure
    wakebook explore --list
    wakebook explore another-structure --drop
    """
    called = " ".join(name)
    if listing or not called:
        if drop:
            raise click.UsageError("Say which one to drop: wakebook explore NAME --drop")
        _list(memory, as_json)
    elif drop:
        _drop(memory, called, as_json)
    else:
        _explore(memory, called, as_json)


def _explore(memory: Memory, name: str, as_json: bool) -> None:
    made = memory.history.explore(name)
    if as_json:
        emit(made)
        return
    out = console()
    done = "New branch" if made.new else "Going on with"
    out.print(f"[green]●[/green] {done} [bold]{made.branch}[/bold]")
    out.print("  look and change  ", end="")
    out.print(f"wakebook --home {made.home} …", markup=False)
    out.print("  compare          ", end="")
    out.print(f"git -C {memory.home.root} diff HEAD...{made.branch}", markup=False)
    out.print("  keep it          ", end="")
    out.print(f"git -C {memory.home.root} merge {made.branch}", markup=False)
    out.print("  put it away      ", end="")
    out.print(f"wakebook explore {made.name} --drop", markup=False)


def _drop(memory: Memory, name: str, as_json: bool) -> None:
    gone = memory.history.drop(name)
    if as_json:
        emit(gone)
        return
    out = console()
    out.print(f"[green]●[/green] explore/{gone.name} is put away; {gone.tag} keeps it")
    out.print("  get it back      ", end="")
    out.print(f"git -C {memory.home.root} branch explore/{gone.name} {gone.tag}", markup=False)


def _list(memory: Memory, as_json: bool) -> None:
    found = memory.history.explorations()
    if as_json:
        emit(found)
        return
    out = console()
    for one in found:
        out.print(f"[bold]{one.name}[/bold]  {_described(memory, one)}")
    if not found:
        out.print("There is no exploration. `wakebook explore NAME` begins one.")


def _described(memory: Memory, one: Exploration) -> str:
    from rich.markup import escape

    at = one.at.astimezone(memory.opened.now().tzinfo)
    where = escape(one.home) or "its folder is gone; calling it again makes one"
    return f"[dim]{at:%Y-%m-%d %H:%M}, {many(one.commits, 'commit')} of its own, {where}[/dim]"
