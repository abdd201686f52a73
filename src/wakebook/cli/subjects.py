"""wakebook subjects"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, options

if TYPE_CHECKING:
    from wakebook.memory import Memory

TYPES = click.Choice(["project", "person", "system", "tool", "place", "other"])


@click.group(name="subjects")
def command() -> None:
    """What entries are about. A new slug in an entry makes a subject by itself."""


@command.command(name="list")
@options
def list_(memory: Memory, as_json: bool) -> None:
    """Every subject, with the number of its current entries."""
    found = memory.log.subjects()
    if as_json:
        emit([{"subject": item, "entries": count} for item, count in found])
        return
    from rich.table import Table

    table = Table(box=None, header_style="dim", pad_edge=False)
    for name in ("slug", "name", "type", "entries", "also known as"):
        table.add_column(name, justify="right" if name == "entries" else "left")
    for item, count in sorted(found, key=lambda pair: (-pair[1], pair[0].slug)):
        table.add_row(item.slug, item.display, item.type, str(count), ", ".join(item.aliases))
    out = console()
    out.print(table if found else "No subjects yet.")


@command.command()
@click.argument("name")
@click.option("--type", "type_", type=TYPES, default="project", show_default=True)
@click.option("--display", default="", help="The name to show.")
@options
def add(memory: Memory, name: str, type_: str, display: str, as_json: bool) -> None:
    """Add a subject. NAME becomes a slug: "Auth Migration" -> auth-migration."""
    item = memory.log.add_subject(name, type_, display)
    if as_json:
        emit(item)
    else:
        console().print(f"[green]●[/green] Added [bold]{item.slug}[/bold] ({item.display})")


@command.command(name="type")
@click.argument("name")
@click.argument("type_", metavar="TYPE", type=TYPES)
@options
def retype(memory: Memory, name: str, type_: str, as_json: bool) -> None:
    """Say what a subject is, like: wakebook subjects type jane-doe person. Its notes move along."""
    item = memory.log.retype_subject(name, type_)
    if as_json:
        emit(item)
    else:
        console().print(f"[green]●[/green] [bold]{item.slug}[/bold] is a {item.type}")


@command.command()
@click.argument("old")
@click.argument("new")
@options
def rename(memory: Memory, old: str, new: str, as_json: bool) -> None:
    """Rename a subject here and in the log. The old slug stays as an alias."""
    _changed(*memory.log.rename_subject(old, new), old, as_json)


@command.command()
@click.argument("duplicate")
@click.argument("into")
@options
def merge(memory: Memory, duplicate: str, into: str, as_json: bool) -> None:
    """Put the entries of DUPLICATE under INTO. DUPLICATE stays as an alias."""
    _changed(*memory.log.rename_subject(duplicate, into, merge=True), duplicate, as_json)


def _changed(slug: str, count: int, old: str, as_json: bool) -> None:
    if as_json:
        emit({"subject": slug, "entries": count})
    else:
        console().print(f"[green]●[/green] {old} is now [bold]{slug}[/bold]: {count} entries")


@command.command()
@click.argument("name")
@options
def delete(memory: Memory, name: str, as_json: bool) -> None:
    """Take a subject out of use. Its entries keep it; new ones do not get it."""
    gone = memory.log.delete_subject(name)
    if as_json:
        emit({"deleted": gone.slug})
    else:
        console().print(f"[green]●[/green] {gone.slug} is not used any more")
