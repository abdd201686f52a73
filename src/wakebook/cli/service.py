"""wakebook service"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wakebook.cli.shared import console, emit, options

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.service.address import Running
    from wakebook.service.unit import Unit

SECONDS = 200.0  # a clean stop takes its time


@click.group()
def command() -> None:
    """Start the service at login: install, uninstall, status.

    The service watches your agents' sessions, runs the jobs and answers hooks at once. Everything
    works without it, only slower. On Linux this writes a systemd user unit, on a Mac a launchd
    agent.

    \b
    wakebook service install             write the unit, enable and start it
    wakebook service install --dry-run   only show it
    wakebook service status              does it run, since when, on which port
    wakebook service uninstall           stop it and remove the unit
    """


def unit_of(memory: Memory) -> Unit:
    from wakebook.service.unit import unit

    return unit(memory.home.root, Path.home(), os.environ, sys.platform, sys.executable)


# --- install -----------------------------------------------------------------------------


@command.command()
@click.option("--dry-run", is_flag=True, help="Print the unit and write nothing.")
@options
def install(memory: Memory, dry_run: bool, as_json: bool) -> None:
    """Start the service now and at every login.

    Run it again after an update of Python or Wakebook: the unit is brought up to date. Where no
    systemd or launchd runs (a container), the unit is written and you are told what to run.
    """
    from wakebook.service.unit import SAFE, is_ours

    memory.home.require()
    unit = unit_of(memory)
    if dry_run:
        _show(unit, as_json)
        return
    again = is_ours(unit.path)
    memory.home.replace(unit.path, unit.text, SAFE)
    started = _there(unit)
    if started:
        if again and unit.kind == "launchd":
            _run(unit.stop, must=False)  # it is not loaded twice
        _run(unit.start)
    notes = [*_beside(memory, unit), *_keys(memory)]
    if as_json:
        emit(
            _facts(unit) | {"started": started, "notes": notes, "run": _lines(unit.start, started)}
        )
        return
    from rich.markup import escape

    out = console()
    out.print(
        f"[bold green]●[/bold green] {'updated' if again else 'written'}: {escape(str(unit.path))}"
    )
    if started:
        out.print("  The service runs, and starts at every login.")
    else:
        out.print(f"  note        {_nobody(unit)} Where it does, run:")
        for line in _lines(unit.start, started):
            out.print(f"    {escape(line)}")
    for note in notes:
        out.print(f"  note        {escape(note)}")


def _show(unit: Unit, as_json: bool) -> None:
    if as_json:
        emit(_facts(unit) | {"text": unit.text, "run": _lines(unit.start, False)})
        return
    click.echo(unit.text, nl=False)
    click.echo(f"would be written to {unit.path}", err=True)


def _facts(unit: Unit) -> dict[str, Any]:
    return {"kind": unit.kind, "name": unit.name, "path": str(unit.path)}


def _beside(memory: Memory, unit: Unit) -> list[str]:
    """A service that was started by hand keeps the unit's from starting."""
    from wakebook.service.address import look

    found = look(memory.home)
    if found.state != "up" or _pid_of(unit) in (0, found.pid):
        return []
    return [
        f"a service runs already (process {found.pid}), started by hand: the unit takes over when "
        "it ends."
    ]


def _pid_of(unit: Unit) -> int:
    """The process that systemd has started; -1: none that we know of."""
    if unit.kind != "systemd" or not shutil.which(unit.there[0]):
        return -1
    done = _call(("systemctl", "--user", "show", "--property=MainPID", "--value", unit.name))
    return int(text) if done and (text := done.stdout.strip()).isdigit() and int(text) else -1


def _keys(memory: Memory) -> list[str]:
    """A key that only this shell knows is no use at login."""
    config = memory.config
    notes = []
    for name in dict.fromkeys(filter(None, (config.models.main, config.models.cheap))):
        section = name.partition("/")[0]
        if section in ("anthropic", "openai", "gemini") and not getattr(config, section).key_file:
            notes.append(
                f"{name}: the service does not see the variables of your shell. Put the key into "
                f"a file (mode 0600) and name it as key_file in [{section}]."
            )
    return notes


# --- uninstall ---------------------------------------------------------------------------


@command.command()
@options
def uninstall(memory: Memory, as_json: bool) -> None:
    """Stop the service and remove its unit. Your memory stays as it is.

    Only a unit that Wakebook wrote is removed. A service that was started by hand goes on.
    """
    from wakebook.service.unit import is_ours

    unit = unit_of(memory)
    there = is_ours(unit.path)
    stopped = there and _there(unit)
    if there:
        if stopped:
            _run(unit.stop, must=unit.kind == "systemd")
        unit.path.unlink()
        _unlink(unit)
        if stopped:
            _run(unit.gone)
    if as_json:
        emit(_facts(unit) | {"removed": there, "stopped": stopped})
        return
    from rich.markup import escape

    out = console()
    if not there:
        out.print(f"Nothing to remove: there is no {escape(str(unit.path))}")
        return
    out.print(f"[bold green]●[/bold green] removed: {escape(str(unit.path))}")
    if not stopped:
        out.print(f"  note        {_nobody(unit)} So nothing was stopped.")


def _unlink(unit: Unit) -> None:
    """What `enable` has made, where nobody could be asked to disable it."""
    link = unit.path.parent / "default.target.wants" / unit.path.name
    if link.is_symlink():
        link.unlink()


# --- status ------------------------------------------------------------------------------


@command.command()
@options
def status(memory: Memory, as_json: bool) -> None:
    """Does the service run, and does it start at login?

    A service that was started by hand (`wakebook serve`) is found as well. Exit code 1 if one
    should run and does not, or does not answer.
    """
    from wakebook.service.address import look
    from wakebook.service.unit import is_ours

    memory.home.require()
    unit, found = unit_of(memory), look(memory.home)
    installed = is_ours(unit.path)
    current = installed and unit.path.read_text("utf-8", "replace") == unit.text
    wrong = found.state in ("silent", "dead") or (installed and found.state == "off")
    if as_json:
        emit(
            {"running": found.state == "up", "service": found}
            | _facts(unit)
            | {"installed": installed, "current": current}
        )
    else:
        _report(memory, unit, found, installed, current)
    sys.exit(1 if wrong else 0)


def _report(memory: Memory, unit: Unit, found: Running, installed: bool, current: bool) -> None:
    from rich.markup import escape

    out = console()
    rows = [("service", _said(memory, unit, found, installed))]
    if found.pid and found.state != "dead":
        rows += [
            ("process", str(found.pid)),
            ("version", found.version),
            ("since", found.started),
            ("port", f"127.0.0.1:{found.port}"),
            ("socket", found.socket),
        ]
    at_login = str(unit.path) if installed else "no: `wakebook service install` does it"
    if installed and not current:
        at_login += " (out of date: `wakebook service install` writes it anew)"
    for name, value in (*rows, ("at login", at_login)):
        out.print(f"[dim]{name:13}[/dim] {escape(value)}")


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


# --- running systemctl and launchctl -----------------------------------------------------


def _there(unit: Unit) -> bool:
    """Whether somebody is here who starts units."""
    done = _call(unit.there)
    return done is not None and done.returncode == 0


def _nobody(unit: Unit) -> str:
    who = "systemd" if unit.kind == "systemd" else "launchd"
    return f"No {who} runs for you here (a container has none)."


def _lines(commands: tuple[tuple[str, ...], ...], done: bool) -> list[str]:
    return [] if done else [shlex.join(words) for words in commands]


def _run(commands: tuple[tuple[str, ...], ...], must: bool = True) -> None:
    from wakebook import WakebookError

    for words in commands:
        done = _call(words)
        if must and (done is None or done.returncode != 0):
            said = done.stderr.strip() if done else "it could not be run"
            raise WakebookError(f"`{shlex.join(words)}` failed: {said}. Run it by hand to see why.")


def _call(words: tuple[str, ...]) -> subprocess.CompletedProcess[str] | None:
    if not shutil.which(words[0]):
        return None
    try:
        return subprocess.run(
            words, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
