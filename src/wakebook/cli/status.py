"""How the memory is doing: status, with every session and all costs; doctor; prompts."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wakebook.cli.shared import Out, command, esc, many, since
from wakebook.hosts import HOSTS

if TYPE_CHECKING:
    from wakebook.learn.account import Account
    from wakebook.memory import Memory
    from wakebook.upkeep.doctor import Check
    from wakebook.upkeep.status import Status, Sum

SIGNS = {"ok": ("✓", "green"), "note": ("·", "dim"), "warn": ("!", "yellow"), "fail": ("✗", "red")}

SHOWN = 3  # things that are wrong, and commands, by `wakebook` alone

paths = click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
verbose = click.option("--verbose", "-v", is_flag=True, help="List the skipped sessions too.")
SUMS = click.Choice(["operation", "model", "day"])
by = click.option("--by", type=SUMS, help="What to add up by (default: operation).")


@command()
@paths
@click.option("--sessions", "of_sessions", is_flag=True, help="Account for every session.")
@verbose
@click.option("--costs", "of_costs", is_flag=True, help="What the models have cost.")
@by
@since
def status(memory: Memory, out: Out, paths: tuple[Path, ...], **asked: Any) -> bool:
    """How the memory is doing: what it holds, what is behind, what went wrong."""
    of_sessions, of_costs, verbose = asked["of_sessions"], asked["of_costs"], asked["verbose"]
    by, since = asked["by"], asked["since"]
    if of_sessions and of_costs:
        raise click.UsageError("Give --sessions or --costs.")
    if (paths or verbose) and not of_sessions:
        raise click.UsageError("PATHS and --verbose go with --sessions.")
    if (by or since) and not of_costs:
        raise click.UsageError("--by and --since go with --costs.")
    if of_sessions:
        return _sessions(memory, out, paths, verbose)
    if of_costs:
        return _costs(memory, out, by, since)
    from msgspec.structs import asdict

    from wakebook.service.address import ended, look

    found, service, last = memory.status(), look(memory.home), ended(memory.home)
    out.json(asdict(found) | {"service": service, "service_ended": last})
    runs = f"does not run; {last}" if last else "does not run"
    if service.state in ("up", "silent"):
        runs = f"{service}{'; it does not answer' if service.state == 'silent' else ''}"
    return _standing(out, found, runs)


def _standing(out: Out, found: Status, service: str) -> bool:
    size = f"{found.log_bytes:,}"
    counts = ", ".join(many(count, name) for name, count in found.counts.items() if count)
    sessions = ", ".join(f"{count} {name}" for name, count in sorted(found.sessions.items()))
    known, edits = found.knowledge, many(len(found.knowledge.edited), "edit")
    notes = many(known.notes, "note")
    notes += f", {known.archived} in the archive" if known.archived else ""
    notes += f"; MEMORY.md {known.memory_lines} lines"
    notes += f"; {edits} to review" if known.edited else ""
    index, waiting = found.index, f", {found.index.pending:,} wait for a vector"
    indexed = f"{many(sum(index.chunks.values()), 'chunk')} indexed"
    indexed += waiting if index.pending else ""
    out.facts(
        [
            ("home", found.home),
            ("log", f"{counts or 'no entries'}; {found.replaced} replaced; {size} bytes"),
            ("open", f"{many(found.open_tasks, 'task')}, {many(found.open_questions, 'question')}"),
            ("subjects", str(found.subjects)),
            ("sessions", sessions or "none found: see [hosts] in config.toml"),
            ("knowledge", notes),
            ("transcripts", str(found.transcripts)),
            ("last handoff", found.last_handoff or "none yet"),
            ("reads", _reads(found)),
            *_waiting(found),
            ("search", f"{indexed}; embedder {index.why}"),
            ("service", service),
            ("git", f"{found.git}; {many(found.uncommitted, 'change')} to commit"),
        ]
    )
    for account in found.accounts:
        out.say(f"[red]{account.status:13}[/red] {esc(account.ref)}: {esc(account.note)}")
    out.each(f"[yellow]{'problem':13}[/yellow] ", found.problems)
    out.each(f"[dim]{'note':13} ", found.notes)
    wrong = bool(found.accounts or found.problems)
    well = f", and {edits} to review" if known.edited else ""
    out.say(f"[green]● all well[/green]{well}", when=not wrong)
    return wrong


def glance(memory: Memory, out: Out) -> int:
    """What `wakebook` alone says: the memory in a few lines, and what to do next. An exit code."""
    from wakebook.base.errors import NotInitialised
    from wakebook.hosts import wiring
    from wakebook.hosts.events import about

    root = esc(memory.home.root)
    if not memory.home.exists():
        out.say(f"There is no memory in {root} yet.")
        _commands(out, memory, [("setup", "finds your agents, wires them, reads what they said")])
        out.say(
            "[dim]`wakebook demo` shows what it does, `wakebook --help` lists all commands.[/dim]"
        )
        return NotInitialised.exit_code
    found = memory.status()
    counts = many(sum(found.counts.values()), "entry")
    here = [name for name in HOSTS if wiring.seen(memory, name)]
    wired = [name for name in here if (wiring.where(memory, name).folder / wiring.LIST).exists()]
    left = [name for name in wired if wiring.unfinished(memory, name)]
    apart = [name for name in here if name not in wired]
    ready = [name for name in wired if name not in left]
    groups = ((ready, "wired"), (left, "not quite wired"), (apart, "not wired"))
    hosts = [f"{', '.join(about(one).label for one in all_)} {how}" for all_, how in groups if all_]
    wrong = [f"{one.ref}: {one.status} {one.note}".strip() for one in found.accounts]
    wrong += found.problems
    sign = "[yellow]●[/yellow]" if wrong else "[green]●[/green]"
    talks = many(found.transcripts, "conversation")
    out.say(f"{sign} [bold]{root}[/bold] holds {counts} of {talks}")
    rows = [
        ("open", f"{many(found.open_tasks, 'task')}, {many(found.open_questions, 'question')}"),
        ("last session", _last(memory)),
        ("agents", "; ".join(hosts) or "none was found on this machine"),
        *_waiting(found),
        *(("wrong", one) for one in wrong[:SHOWN]),
    ]
    for name, value in rows:
        out.cut(f"  [dim]{name:12}[/dim] {esc(value)}")
    more = len(wrong) - SHOWN
    out.say(f"  {'':12} and {more} more: `wakebook status`", when=more > 0)
    _commands(out, memory, _fitting(found, bool(apart or left))[:SHOWN])
    return int(bool(wrong))


def _last(memory: Memory) -> str:
    """How the last session ended."""
    handoffs = [one for one in memory.log.chains().current() if one.type == "handoff"]
    if not handoffs:
        return "none has ended yet"
    last = max(handoffs, key=lambda one: one.timestamp)
    return f"{last.timestamp:%Y-%m-%d %H:%M} UTC: {' '.join(last.content.split())}"


def _fitting(found: Status, apart: bool) -> list[tuple[str, str]]:
    """The commands that fit now, those that are needed first."""
    states = {one.status for one in found.accounts}
    needed = [
        ("catch-up", "reads what was said since", "behind" in states),
        ("catch-up --retry-failed", "tries again what could not be read", "failed" in states),
        ("setup", "wires the agents that are not wired, or says what is left", apart),
        ("review", "shows what waits for your word", found.waiting or found.knowledge.edited),
        ("doctor", "checks everything, and says what to run", found.problems),
        ("catch-up --upgrade", "lets the model read again what rules have read", found.by_rules),
        ("search WORDS", "finds what was said, learned or written", found.counts),
        ("wake", "prints what the next session is told", True),
        ("status", "has all the figures", True),
    ]
    return [(words, about) for words, about, fits in needed if fits]


def _commands(out: Out, memory: Memory, commands: list[tuple[str, str]]) -> None:
    from wakebook.upkeep.doctor import to_run

    out.say("Next:")
    for words, about in commands:
        out.say(f"  [bold]{esc(to_run(memory.home, *words.split())):22}[/bold]  {about}")


def _waiting(found: Status) -> list[tuple[str, str]]:
    told = f"{many(found.waiting, 'new entry')} for your word: `wakebook review`"
    return [("waiting", told)] if found.waiting else []


def _reads(found: Status) -> str:
    """Who reads the conversations, and what that costs."""
    if not found.models:
        return "rules, on this machine (no model is chosen: `wakebook models`)"
    names = ", ".join(f"{name} ({role})" for role, name in found.models.items())
    if len(set(found.models.values())) == 1:
        names = next(iter(found.models.values()))
    text = f"{names}; {_used(found)}"
    if found.held:
        text += f"; {many(found.held, 'conversation')} wait for it"
    if found.by_rules:
        text += f"; {many(found.by_rules, 'conversation')} read by rules (catch-up --upgrade)"
    return text


def _used(found: Status) -> str:
    """What the model has used, and of which limits."""
    from wakebook.models.prices import dollars

    limits = list(map(str, found.limits))
    if not found.budget:
        limits.append(f"{dollars(found.spent)} this month")
    return ", ".join(limits)


@command()
@paths
@verbose
def audit(memory: Memory, out: Out, paths: tuple[Path, ...], verbose: bool) -> bool:
    """Account for every session. The old name of `wakebook status --sessions`."""
    return _sessions(memory, out, paths, verbose)


def _sessions(memory: Memory, out: Out, paths: tuple[Path, ...], verbose: bool) -> bool:
    from wakebook.learn.account import UNACCOUNTED

    accounts = memory.audit(paths)
    bad = [account for account in accounts if account.status in UNACCOUNTED]
    if not out.json({"unaccounted": len(bad), "accounts": accounts}):
        read = [account for account in accounts if account.status != "skipped"]
        _accounts(out, accounts if verbose else read)
        told = f"[red]{len(bad)} unaccounted for[/red]" if bad else "[green]nothing behind[/green]"
        skipped = len(accounts) - len(read)
        out.say(f"\n{len(accounts)} sources, {skipped} skipped on purpose: {told}")
        if any(account.status == "behind" for account in bad):
            out.say("Run [bold]wakebook catch-up[/bold].")
    return bool(bad)


def _accounts(out: Out, accounts: list[Account]) -> None:
    from wakebook.learn.account import UNACCOUNTED

    rows = []
    for account in accounts:
        colour = "red" if account.status in UNACCOUNTED else "green"
        ref = _short(account.ref) if out.console.is_terminal else account.ref
        unread = ", ".join(f"{count} {kind}" for kind, count in account.unread.items())
        note = "; ".join(filter(None, (account.note, unread and f"not understood: {unread}")))
        size, seen = f"{account.size:,} {account.unit}", f"{account.seen:,}"
        counts = (size, seen, str(account.messages), str(account.entries))
        status = f"[{colour}]{account.status}[/{colour}]"
        rows.append((status, esc(ref), *counts, esc(note)))
    columns = "status  session  >source  >seen  >messages  >entries  note"
    out.table(columns, rows, wrap=False)


def _short(ref: str) -> str:
    """A session's name as far as a person needs it: claude-code/5560, enough for --session."""
    host, _, name = ref.partition("/")
    identity, at, part = name.partition("@")
    return f"{host}/{identity[:13]}{at}{part[:16]}"


@command()
@by
@since
def costs(memory: Memory, out: Out, by: str | None, since: datetime | None) -> bool:
    """The old name of `wakebook status --costs`: calls, tokens and dollars, as prices.toml says."""
    return _costs(memory, out, by, since)


def _costs(memory: Memory, out: Out, by: str | None, since: datetime | None) -> bool:
    found = memory.costs(by or "operation", since)
    out.json(found)
    if not found.groups:
        when = f"since {since:%Y-%m-%d %H:%M}" if since else "yet: rules cost nothing"
        out.say(f"No model has been asked {when}.")
        return False
    from wakebook.models.prices import dollars

    rows = []
    for one in found.groups:
        calls, failed, *rest = _cells(one)
        rows.append((esc(one.name), calls, failed if one.failed else "", *rest))
    columns = f"{found.by}  >calls  >failed  >tokens in  >cached  >tokens out  >seconds  >dollars"
    footer = ("total", *_cells(found.total))
    out.table(columns, rows, footer=footer, padding=(0, 2, 0, 0), pad_edge=True)
    budget = f" of a budget of {dollars(found.budget)}" if found.budget else ""
    out.say()
    out.ok(f"{dollars(found.month)}{budget} this month; prices of {found.prices}")
    if found.total.unpriced:
        out.say(f"  [yellow]? calls without a known price: {found.total.unpriced}[/yellow]")
    return False


def _cells(one: Sum) -> tuple[str, ...]:
    counts = (one.calls, one.failed, one.tokens_in, one.cached, one.tokens_out)
    priced = f"{one.cost:,.4f}" + (" ?" if one.unpriced else "")
    return (*(f"{count:,}" for count in counts), f"{one.seconds:,.1f}", priced)


@command()
@click.option("--quick", is_flag=True, help="Without the round trip in a temporary home.")
@click.option("--ask", is_flag=True, help="Ask your models a small question; it may cost a little.")
@click.option("--host", type=click.Choice(HOSTS), help="Only look at how this host is wired.")
@click.option("--secrets", is_flag=True, help="Only look for secrets, in git's history, too.")
@click.option("--fix", is_flag=True, help="With --secrets: redact them, after a look at the plan.")
@click.option("--yes", "-y", is_flag=True, help="With --fix: do not ask.")
def doctor(
    memory: Memory,
    out: Out,
    quick: bool,
    ask: bool,
    host: str | None,
    secrets: bool,
    fix: bool,
    yes: bool,
) -> bool:
    """Check everything, and say what to run."""
    if fix and not secrets:
        raise click.UsageError("--fix is for --secrets. For the rest, doctor says what to run.")
    if secrets:
        from wakebook.cli.erase import leaks

        return leaks(memory, out, fix, yes)
    from msgspec.structs import asdict

    from wakebook.hosts.wiring import examined

    found = examined(memory, host, quick=quick, ask=ask)
    states = [one.state for group in found.values() for one in group]
    bad, notes = states.count("warn") + states.count("fail"), states.count("note")
    told = [{"group": name} | asdict(one) for name, checks in found.items() for one in checks]
    out.json({"well": not bad, "checks": told})
    for group, checks in found.items():
        out.say(f"[bold]{group}[/bold]")
        for one in checks:
            _check(out, one)
    more = f", {many(notes, 'note')}" if notes else ""
    verdict = f"[bold red]● {many(bad, 'problem')}" if bad else "[bold green]● all well"
    out.say(f"\n{verdict}[/]{more}")
    return bool(bad)


def _check(out: Out, check: Check) -> None:
    from wakebook.base.text import printable

    sign, colour = SIGNS[check.state]
    name = esc(check.name)
    out.say(f"  [{colour}]{sign}[/{colour}] [dim]{name:12}[/dim] {esc(printable(check.said))}")
    run = check.run if check.run.isprintable() else printable(check.run)
    out.say(f"{'':17}[bold]{esc(run)}[/bold]", when=run and check.state != "ok")


@command()
@click.argument("name", default="")
@click.option("--copy", is_flag=True, help="Put a copy into the home's prompts/, to be changed.")
def prompts(memory: Memory, out: Out, name: str, copy: bool) -> None:
    """The questions that models are asked. With NAME: the text of one."""
    known = memory.models.prompts()
    if copy and not name:
        raise click.UsageError("--copy needs the NAME of a prompt.")
    if name:
        _prompt(memory, out, {one.name: one for one in known}, name, copy)
        return
    out.json(known)
    for one in known:
        whose = "[cyan]yours[/cyan]  " if one.own else "[dim]shipped[/dim]"
        whose += "" if one.shipped else " [dim](nothing of Wakebook's asks it)[/dim]"
        about = f"version {one.version}, {one.role} model, gives {one.output}"
        out.say(f"[bold]{one.name:15}[/bold] {whose}  {esc(about if one.version else '')}")
        out.say(f"  [red]{esc(one.problem)}[/red]", when=one.problem)


def _prompt(memory: Memory, out: Out, known: dict[str, Any], name: str, copy: bool) -> None:
    if name not in known:
        raise click.UsageError(f"There is no prompt {name!r}; there are {', '.join(known)}.")
    if copy:
        path = memory.models.copy_prompt(name)
        if not out.json({"path": path}):
            click.echo(f"Copied to {path}")
        return
    found = known[name]
    text = found.text if found.text.strip() else found.shipped
    if not out.json(found):
        click.echo(text, nl=not text.endswith("\n"))
