"""wakebook doctor"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from wakebook.cli.shared import console, emit, many, options
from wakebook.hosts import HOSTS

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.upkeep.doctor import Check

LAST = "round trip"
SIGNS = {
    "ok": ("✓", "green"),
    "note": ("·", "dim"),
    "warn": ("!", "yellow"),
    "fail": ("✗", "red"),
}


@click.command()
@click.option("--quick", is_flag=True, help="Without the round trip in a temporary home.")
@click.option("--ask", is_flag=True, help="Ask your models a small question; it may cost a little.")
@click.option("--host", type=click.Choice(HOSTS), help="Only look at how this host is wired.")
@options
def command(memory: Memory, quick: bool, ask: bool, host: str | None, as_json: bool) -> None:
    """Check everything, and say what to run.

    Looks at the home, the log, git, the index, the notes, the models, the sessions, hooks and
    jobs, the service, and how each host is wired. Then something is remembered, found and
    forgotten in a temporary home. Nothing is mended by itself: you are told what to run.

    \b
    ✓ well    · worth knowing    ! should be mended    ✗ does not work

    \b
    wakebook doctor                       everything
    wakebook doctor --quick               without the round trip
    wakebook doctor --host claude-code    only Claude Code

    Exit code 1 if something should be mended, 0 otherwise.
    """
    found = dict(_groups(memory, quick, ask, host))
    bad = sum(one.state in ("warn", "fail") for group in found.values() for one in group)
    if as_json:
        emit({"well": not bad, "checks": list(_json(found))})
    else:
        _print(found, bad)
    sys.exit(1 if bad else 0)


def _groups(
    memory: Memory, quick: bool, ask: bool, host: str | None
) -> Iterator[tuple[str, list[Check]]]:
    """What was found, by group."""
    if host is None:
        own = [*memory.doctor(quick=quick, ask=ask), *_service(memory)]
        groups = dict.fromkeys(_split(one)[0] for one in own)
        for group in sorted(groups, key=lambda group: group == LAST):
            yield group, [one for one in own if _split(one)[0] == group]
    for name in HOSTS if host is None else (host,):
        checks = _host(memory, name) if memory.home.exists() else []
        if checks or host:
            yield name, checks or [_unused(name)]


def _split(check: Check) -> tuple[str, str]:
    group, _, name = check.name.partition(": ")
    return group, name or group


def _service(memory: Memory) -> list[Check]:
    from wakebook.cli.service import unit_of
    from wakebook.service import address
    from wakebook.upkeep.doctor import examine

    if not memory.home.exists():
        return []
    look = ("service: process", lambda: address.checks(memory.home, unit_of(memory)))
    return examine([look])


def _host(memory: Memory, name: str) -> list[Check]:
    from wakebook.upkeep.doctor import examine

    return examine([(f"{name} wiring", lambda: _wiring(memory, name))])


def _wiring(memory: Memory, name: str) -> Iterable[Check]:
    """What a host's own module finds; nothing if the host is not used here."""
    from wakebook.hosts import host, wiring

    where, module = wiring.where(memory, name), host(name)
    return module.checks(where, memory) if wiring.is_used(where, module) else []


def _unused(name: str) -> Check:
    from wakebook.upkeep.doctor import Check

    said = "is not used here: neither its command nor its folder was found"
    return Check(f"{name} wiring", "note", said, f"wakebook init --host {name}")


def _json(found: dict[str, list[Check]]) -> Iterator[dict[str, Any]]:
    for group, checks in found.items():
        for one in checks:
            name = _named(group, one)
            yield {
                "group": group,
                "name": name,
                "state": one.state,
                "said": one.said,
                "run": one.run,
            }


def _named(group: str, check: Check) -> str:
    return _split(check)[1].removeprefix(f"{group} ").removeprefix(f"{group}: ")


def _print(found: dict[str, list[Check]], bad: int) -> None:
    out = console()
    for group, checks in found.items():
        out.print(f"[bold]{group}[/bold]")
        for one in checks:
            _line(out, group, one)
    notes = sum(one.state == "note" for group in found.values() for one in group)
    told = f", {many(notes, 'note')}" if notes else ""
    if bad:
        out.print(f"\n[bold red]● {many(bad, 'problem')}[/bold red]{told}")
    else:
        out.print(f"\n[bold green]● all well[/bold green]{told}")


def _line(out: Any, group: str, check: Check) -> None:
    from rich.markup import escape

    from wakebook.base.text import printable

    sign, colour = SIGNS[check.state]
    name = escape(_named(group, check))
    out.print(f"  [{colour}]{sign}[/{colour}] [dim]{name:12}[/dim] {escape(printable(check.said))}")
    run = check.run if check.run.isprintable() else printable(check.run)
    if run and check.state != "ok":
        out.print(f"    [dim]{'':12}[/dim] [bold]{escape(run)}[/bold]")
