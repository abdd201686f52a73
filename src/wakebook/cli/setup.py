"""Start: setup wires all agents of this machine to one home and reads what they have said.

It shows first and asks once. Hosts are wired and put back by the code of `init --host`; whatever
cannot be done for one of them is said, and the others go on.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from wakebook.base import clock
from wakebook.base.errors import WakebookError
from wakebook.cli.init import UNASKED, agreed, kind, outline, put_back
from wakebook.cli.models import check, first_reading, named, offer, proposed
from wakebook.cli.shared import Out, command, cwd, esc
from wakebook.hosts import HOSTS

if TYPE_CHECKING:
    from wakebook.hosts.plan import Wires
    from wakebook.learn.catch_up import Sweep
    from wakebook.memory import Memory
    from wakebook.service.address import Running

INDENT = " " * 12
NONE = "none"  # as a --model: no model
STARTING = 20.0  # seconds in which the service should answer


class FoundHost(NamedTuple):
    """A host, and what wiring it would do; or why it cannot be wired."""

    name: str
    label: str
    seen: str  # its program or its folder
    plan: Wires | None
    problem: str = ""
    notes: tuple[str, ...] = ()
    wired: bool = False


@command()
@click.option("--host", "hosts", type=click.Choice(HOSTS), multiple=True, help="Only this one.")
@click.option("--undo", is_flag=True, help="Put the hosts back as they were; the memory stays.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and stop.")
@named
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def setup(
    memory: Memory,
    out: Out,
    hosts: tuple[str, ...],
    undo: bool,
    dry_run: bool,
    model: str | None,
    yes: bool,
) -> bool:
    """Begin: find the agents of this machine, wire them to a memory, read what they have said."""
    from wakebook.hosts import wiring

    if out.as_json and not (yes or dry_run or undo):
        raise click.UsageError(UNASKED)
    check(model)
    names = [one for one in HOSTS if one in hosts or not hosts]
    if undo:
        return _undo(memory, out, names, dry_run)
    found = [_planned(memory, one) for one in names if hosts or wiring.seen(memory, one)]
    if not found:
        return _nothing(memory, out)
    _show(memory, out, found, model, notes=not yes)  # which stand below the wired host anyway
    if not any(one.plan for one in found):
        out.json(_told(memory, found))
        out.say("Nothing was changed: none of them can be wired yet.")
        return True
    if dry_run:
        out.json(_told(memory, found))
        out.say("[dim]Nothing was changed.[/dim]")
        return any(one.problem for one in found)
    if not yes:
        _ask()
    return _begin(memory, out, found, model, ask=not (yes or out.as_json))


def _planned(memory: Memory, name: str) -> FoundHost:
    from wakebook.hosts import host, wiring
    from wakebook.hosts.events import about

    one = FoundHost(name, about(name).label, wiring.seen(memory, name), None)
    try:
        plan = host(name).plan(wiring.where(memory, name))
        wired = memory.home.exists() and wiring.wired(memory, name) is not None
        wired = wired and not wiring.unfinished(memory, name)
        return one._replace(plan=plan, wired=wired)
    except WakebookError as error:
        return one._replace(problem=str(error))


def _nothing(memory: Memory, out: Out) -> bool:
    """No host was found."""
    from wakebook.hosts import wiring
    from wakebook.hosts.events import about

    sought = {
        name: (about(name).program, str(wiring.folder(wiring.where(memory, name), name)))
        for name in HOSTS
    }
    out.json(_told(memory, []) | {"sought": sought})
    out.say("No agent was found on this machine, and nothing was changed. These were looked for:")
    for name, (program, folder) in sought.items():
        out.say(f"  {about(name).label:11} the command {program}, the folder {esc(folder)}")
    out.say("\nNext: install one of them, or put its command on the PATH, and run this again.")
    out.say("[bold]wakebook setup --host NAME[/bold] wires one all the same.")
    out.say("[bold]wakebook init[/bold] makes a memory without one, for an MCP client of your own")
    out.say("(it runs `wakebook mcp`) or for what `wakebook import` brings.")
    return True


def _show(memory: Memory, out: Out, found: list[FoundHost], model: str | None, notes: bool) -> None:
    from wakebook.base import config

    there, settings = memory.home.exists(), config.load(memory.home.config)
    _row(out, "home", f"{esc(memory.home.root)} {'is there' if there else 'will be made'}")
    for one in found:
        again = " (wired already)" if one.wired else ""
        _row(out, one.label, f"{esc(one.seen) or 'was not found here'}{again}")
        if one.plan is None:
            out.say(f"{INDENT}[red]is left out:[/red] {esc(one.problem)}")
            continue
        for change in one.plan.changes:
            out.say(f"{INDENT}{kind(change)}: [bold]{esc(change.path)}[/bold]")
        outline(memory, out, one.label, one.plan, INDENT)
        out.each(f"{INDENT}note  ", one.plan.notes if notes else ())
    starts = "starts now, and later with an agent's first hook"
    off = r"is not started: auto is false in \[service] of config.toml"
    _row(out, "service", starts if settings.service.auto else off)
    now = memory.models.name("main") if there and memory.models.has("extract") else ""
    reader = now if model in (None, "") else model.replace(NONE, "")
    by = f"{esc(reader)} reads" if reader else "rules read, on this machine,"
    cost = " (`wakebook catch-up --dry-run` says what that costs)" if reader else ""
    _row(out, "sessions", f"{by} what your agents have said so far{cost}")
    if model is None and (better := proposed(memory)):
        said = f"{esc(better.name)} was found; it is asked for nothing without your word"
        _row(out, "model", said)
    out.say("[dim]`wakebook init --host NAME --dry-run` shows every line that changes.[/dim]")


def _row(out: Out, name: str, text: str) -> None:
    out.say(f"[bold]{name:12}[/bold]{text}")


def _ask() -> None:
    if not sys.stdin.isatty():
        said = "There is no terminal to ask on, so nothing was changed."
        raise click.ClickException(f"{said} `wakebook setup --yes` does not ask.")
    if not agreed("Do all this?"):
        raise click.ClickException("Nothing was changed.")


def _begin(memory: Memory, out: Out, found: list[FoundHost], model: str | None, ask: bool) -> bool:
    from wakebook.memory import Memory

    made = memory.init()
    out.say()
    out.say(f"[bold green]●[/bold green] Your home is [bold]{esc(memory.home.root)}[/bold]")
    found = [_wired(memory, out, one) for one in found]
    memory = Memory(memory.home.root)  # wiring may have changed its config.toml
    chosen = offer(memory, out, model, ask)
    memory = Memory(memory.home.root)  # and so may this
    sweep, unread = _caught_up(memory, out)
    wired = next((one.name for one in found if one.wired), "")
    if wired:
        _start(memory, wired)
    text = memory.wake(cwd())
    service = _answering(memory)
    runs = _running(memory, out, service, bool(wired))
    told = _told(memory, found) | {
        "done": True,
        "created": made.created,
        "wake": text,
        "model": chosen,
    }
    told |= {"service": service, "problem": unread}
    told |= {"messages": sweep.messages, "entries": sweep.entries} if sweep else {}
    if not out.json(told):
        _next(memory, out, text)
    failed = unread or not sweep or sweep.failed or sweep.given_up or sweep.held
    return bool(failed or not runs or any(one.problem or one.notes for one in found))


def _wired(memory: Memory, out: Out, one: FoundHost) -> FoundHost:
    from wakebook.hosts import wiring

    if one.plan is None:
        out.say(f"[red]●[/red] {one.label} is left out, as said above.")
        return one
    try:
        notes = wiring.wire(memory, one.name, one.plan, lambda line: out.say(f"[dim]$ {esc(line)}"))
    except WakebookError as error:
        out.say(f"[red]●[/red] {one.label} is not wired: {esc(error)}")
        return one._replace(problem=str(error))
    done = "is not wired yet: this is left to do" if one.plan.by_hand else "is wired"
    out.say(f"[bold green]●[/bold green] {one.label} {done}")
    out.each("  note  ", (*notes, *one.plan.notes))
    return one._replace(notes=tuple(notes), wired=True)


def _caught_up(memory: Memory, out: Out) -> tuple[Sweep | None, str]:
    """What was read; or why nothing was."""
    from wakebook.cli.read import report

    try:
        with out.progress() as shown:
            sweep = first_reading(memory, shown)
    except WakebookError as error:
        out.say(f"[red]●[/red] The sessions are not read yet: {esc(error)}")
        out.say("  [bold]wakebook catch-up[/bold] reads them.")
        return None, str(error)
    report(out, sweep)
    return sweep, ""


def _start(memory: Memory, wired: str) -> None:
    """The service, for this host; in the place of one that a hook of an older version started."""
    from wakebook.service.address import look
    from wakebook.service.start import start, stop
    from wakebook.version import __version__

    now = look(memory.home)
    if now.by and now.version != __version__:
        stop(memory.home)
    start(memory.home, memory.config.service, wired, by="`wakebook setup`")


def _answering(memory: Memory) -> Running:
    """The service, which has had time to answer."""
    from wakebook.service.address import is_locked, look

    until = clock.monotonic() + STARTING
    while is_locked(memory.home) and clock.monotonic() < until:
        if look(memory.home).state == "up":
            break
        clock.sleep(0.1)
    return look(memory.home)


def _running(memory: Memory, out: Out, service: Running, wanted: bool) -> bool:
    """Tell whether it runs. Returns whether that is as it should be."""
    from wakebook.service.address import is_locked

    if service.state == "up":
        out.ok(f"The service runs (process {service.pid}).")
        return True
    if not wanted or not memory.config.service.auto:
        out.say("[dim]●[/dim] No service runs: hooks do the work themselves, only slower.")
        return True
    if is_locked(memory.home):
        out.ok("The service is starting.")
        return True
    log = memory.home.cache / "service.log"
    out.say(f"[red]●[/red] The service has not started: {esc(log)} says why.")
    out.say("  Everything works without it, only slower; a later hook starts it again.")
    return False


def _next(memory: Memory, out: Out, text: str) -> None:
    from wakebook.upkeep.doctor import to_run

    out.say("\n[bold]This is what your next session is told:[/bold]\n")
    click.echo(text)
    out.say("[bold]Next:[/bold] begin a new session with your agent, and ask it what it remembers.")
    for words, about in (
        ((), "how the memory is doing, and what to do next"),
        (("doctor",), "checks that everything works"),
        (("setup", "--undo"), "takes all this back; your memory stays"),
    ):
        out.say(f"  [bold]{esc(to_run(memory.home, *words)):22}[/bold]  {about}")


def _told(memory: Memory, found: list[FoundHost]) -> dict[str, Any]:
    hosts = []
    for one in found:
        known = {name: getattr(one, name) for name in ("label", "seen", "wired", "problem")}
        known = {"host": one.name} | known | {"problems": one.notes}
        if plan := one.plan:
            changes = [{"path": str(each.path), "kind": kind(each)} for each in plan.changes]
            known |= {"changes": changes, "commands": plan.commands, "notes": plan.notes}
        hosts.append(known)
    return {"home": str(memory.home.root), "done": False, "hosts": hosts}


def _undo(memory: Memory, out: Out, names: list[str], dry: bool) -> bool:
    """Every host as it was. The service ends with the last of them, if a hook or we started it."""
    from wakebook.service.address import look

    memory.home.require()
    root, before = str(memory.home.root), look(memory.home)
    undone = [told for name in names if (told := _put_back(memory, out, name, dry))]
    after = look(memory.home)
    stopped = bool(before.pid and before.state != "dead" and after.state in ("off", "dead"))
    out.json({"home": root, "undone": not dry, "hosts": undone, "stopped": stopped})
    out.say(f"Nothing to take back: no such agent is wired to {esc(root)}.", when=not undone)
    out.ok(f"The service has ended (process {before.pid}).", when=stopped)
    if after.state == "up" and undone and not dry:
        out.say(f"The service runs on (process {after.pid}): `wakebook serve stop` ends it.")
    out.say("[dim]Nothing was changed.[/dim]" if dry else f"Your memory stays in {esc(root)}.")
    return any(one["problem"] for one in undone)


def _put_back(memory: Memory, out: Out, name: str, dry: bool) -> dict[str, Any] | None:
    """What was done about a host; None if it is not wired."""
    from wakebook.hosts import wiring
    from wakebook.hosts.events import about

    told: dict[str, Any] = {"host": name, "files": [], "notes": [], "problem": ""}
    try:
        done = wiring.wired(memory, name)
        if done is None:
            return None
        told["files"] = [one.path for one in done.kept]
        told["notes"] = put_back(memory, out, name, dry)
    except WakebookError as error:
        told["problem"] = str(error)
        out.say(f"[red]●[/red] {about(name).label} is not put back: {esc(error)}")
    return told
