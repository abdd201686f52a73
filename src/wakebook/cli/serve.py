"""The service: serve, and install, uninstall, stop, status for one in the background."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from wakebook.cli.shared import Out, command, emit_line, esc, group, many

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.service.address import Address, Running
    from wakebook.service.unit import Unit

NOTE = "  note        "
NONE = "No {} runs for you here (a container has none)."


@group(alone=True)
@click.option("--port", type=click.IntRange(0, 65_535), help="0: any free one.")
@click.option("--by", default="", hidden=True)  # of service/start
@click.option("--lock", "held", default=-1, hidden=True)
def serve(memory: Memory, out: Out, port: int | None, by: str, held: int) -> None:
    """Run the service: watch, jobs, HTTP and MCP in one process."""
    from wakebook.hosts.backlog import Hooks
    from wakebook.service.serve import serve as run

    run(memory.home, port, _told(memory, out), Hooks, by=by, held=held)


def _told(memory: Memory, out: Out) -> Any:
    from wakebook.cli.jobs import Told

    told = Told(out)
    acts: dict[str, Any] = {"caught up": told.caught_up, "ran": told.ran, "failed": told.failed}

    def tell(what: str, about: Any) -> None:
        if what in acts:
            acts[what](about)
        elif what == "ready":
            _ready(memory, out, about)
        elif out.as_json:
            emit_line({what: True})
        elif what == "stopping":
            left = f": {many(about, 'session')} still to read" if about else ""
            out.say(f"Stopping{left}. Once more ends it at once; nothing is lost.")

    return tell


def _ready(memory: Memory, out: Out, address: Address) -> None:
    if out.as_json:
        emit_line({"ready": True, "port": address.port, "socket": str(address.path)})
        return
    url = f"http://127.0.0.1:{address.port}"
    out.ok("The service is ready. Ctrl-C ends it.")
    for name, text in (
        ("home", str(memory.home.root)),
        ("HTTP", f"{url}  (paths: {url}/openapi.json)"),
        ("MCP", f"{url}/mcp"),
        ("socket", f"{address.path}  (needs no token)"),
        ("token", f"cat {memory.home.root / 'token'}"),
        ("reads", "your agents' sessions, as they are written; jobs when they are due"),
    ):
        out.say(f"  [dim]{name:7}[/dim] {esc(text)}")


@command(serve)
@click.option("--dry-run", is_flag=True, help="Print the unit and write nothing.")
def install(memory: Memory, out: Out, dry_run: bool) -> None:
    """Start the service now and at every login."""
    from wakebook.service import unit as units
    from wakebook.service.address import beside, look
    from wakebook.service.start import stop as stop_service

    memory.home.require()
    unit = units.here(memory.home)
    run = [shlex.join(words) for words in unit.start]
    if dry_run:
        if not out.json(_facts(unit) | {"text": unit.text, "run": run}):
            click.echo(unit.text, nl=False)
            click.echo(f"would be written to {unit.path}", err=True)
        return
    if look(memory.home).by:  # the one that a hook has started would be in its way
        stop_service(memory.home)
    again, started = units.install(memory.home, unit)
    notes = [*beside(memory.home, unit), *units.unseen_keys(memory.config)]
    run = [] if started else run
    out.json(_facts(unit) | {"started": started, "notes": notes, "run": run})
    word = "updated" if again else "written"
    out.say(f"[bold green]●[/bold green] {word}: {esc(unit.path)}")
    runs = "  The service runs, and starts at every login."
    out.say(runs if started else f"{NOTE}{NONE.format(unit.kind)} Where it does, run:")
    out.each("    ", run)
    out.each(NOTE, notes)


def _facts(unit: Unit) -> dict[str, Any]:
    return {"kind": unit.kind, "name": unit.name, "path": str(unit.path)}


@command(serve)
def uninstall(memory: Memory, out: Out) -> None:
    """Stop the service and remove its unit. Your memory stays as it is."""
    from wakebook.service import unit as units

    unit = units.here(memory.home)
    there, stopped = units.uninstall(unit)
    out.json(_facts(unit) | {"removed": there, "stopped": stopped})
    if not there:
        out.say(f"Nothing to remove: there is no {esc(unit.path)}")
        return
    out.say(f"[bold green]●[/bold green] removed: {esc(unit.path)}")
    out.say(f"{NOTE}{NONE.format(unit.kind)} So nothing was stopped.", when=not stopped)


@command(serve)
def stop(memory: Memory, out: Out) -> None:
    """End the service that runs, however it was started."""
    from wakebook.service.address import by_hooks
    from wakebook.service.start import stop as stop_service

    memory.home.require()
    found = stop_service(memory.home)
    if out.json({"stopped": found is not None, "pid": found.pid if found else 0}):
        return
    if found is None:
        out.say("No service runs for this home.")
        return
    out.ok(f"The service has ended (process {found.pid}).")
    again = (
        "The next hook starts it again; `auto = false` in \\[service] of config.toml keeps it off."
    )
    out.say(f"{NOTE}{again}", when=by_hooks(memory.home))


@command(serve)
def status(memory: Memory, out: Out) -> bool:
    """Does the service run, and does it start at login?"""
    from wakebook.service.address import by_hooks, ended, look
    from wakebook.service.unit import here, is_ours

    memory.home.require()
    unit, found = here(memory.home), look(memory.home)
    installed = is_ours(unit.path)
    current = installed and unit.path.read_text("utf-8", "replace") == unit.text
    last, auto = ended(memory.home), by_hooks(memory.home)
    told = {"running": found.state == "up", "service": found} | _facts(unit)
    told |= {"memory": found.memory, "last": last, "by hooks": auto}
    out.json(told | {"installed": installed, "current": current})
    rows = [("service", _said(memory, unit, found, installed))]
    if found.pid and found.state != "dead":
        rows += [
            ("process", str(found.pid)),
            ("version", found.version),
            ("since", found.started),
            ("started by", found.by or "a command"),
            ("memory", f"{found.memory >> 20:,} MB"),
            ("port", f"127.0.0.1:{found.port}"),
            ("socket", found.socket),
        ]
    rows += [("last", str(last))] if last else []
    rows += [("by hooks", "the first hook of a wired host starts it")] if auto else []
    at_login = str(unit.path) if installed else "no: `wakebook serve install` does it"
    if installed and not current:
        at_login += " (out of date: `wakebook serve install` writes it anew)"
    out.facts([*rows, ("at login", at_login)])
    dead = found.state == "dead" and not auto  # or the next hook starts another
    return found.state == "silent" or dead or (installed and found.state == "off")


def _said(memory: Memory, unit: Unit, found: Running, installed: bool) -> str:
    if found.state == "up":
        return "runs"
    if found.state == "silent":
        return "runs, and does not answer"
    from wakebook.upkeep.doctor import to_run

    start = shlex.join(unit.restart) if installed else to_run(memory.home, "serve")
    if found.state == "dead":
        return f"{found.problem or 'ended without a word'}: `{start}` starts it again"
    return f"does not run: `{start}` starts it" if installed else "does not run"


@group()
def service(memory: Memory, out: Out) -> None:
    """Start the service at login. The old name of `wakebook serve install`, and so on."""


for one in (install, uninstall, stop, status):
    service.add_command(one)
