"""wakebook prompts"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, options

if TYPE_CHECKING:
    from wakebook.memory import Memory


@click.command()
@click.argument("name", default="")
@click.option("--copy", is_flag=True, help="Put a copy into the home's prompts/, to be changed.")
@options
def command(memory: Memory, name: str, copy: bool, as_json: bool) -> None:
    """The questions that models are asked. With NAME: the text of one.

    To change one, copy it and edit the copy: it takes the place of the shipped one.

    \b
      wakebook prompts extract --copy
    """
    known = memory.models.prompts()
    if name:
        found = next((one for one in known if one.name == name), None)
        if found is None:
            names = ", ".join(one.name for one in known)
            raise click.UsageError(f"There is no prompt {name!r}; there are {names}.")
        if copy:
            path = memory.models.copy_prompt(name)
            emit({"path": path}) if as_json else click.echo(f"Copied to {path}")
            return
        text = found.text if found.text.strip() else found.shipped
        emit(found) if as_json else click.echo(text, nl=not text.endswith("\n"))
        return
    if copy:
        raise click.UsageError("--copy needs the NAME of a prompt.")
    if as_json:
        emit(known)
        return
    from rich.markup import escape

    out = console()
    for one in known:
        whose = "[cyan]yours[/cyan]  " if one.own else "[dim]shipped[/dim]"
        whose += "" if one.shipped else " [dim](nothing of Wakebook's asks it)[/dim]"
        about = f"version {one.version}, {one.role} model, gives {one.output}"
        out.print(f"[bold]{one.name:15}[/bold] {whose}  {escape(about if one.version else '')}")
        if one.problem:
            out.print(f"  [red]{escape(one.problem)}[/red]")
