"""Read what was said: catch-up and import."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import Out, command, dry_run, esc, many

if TYPE_CHECKING:
    from wakebook.imports.take import Imported
    from wakebook.learn.catch_up import Sweep
    from wakebook.memory import Memory

SOURCES = ("chatgpt", "claude", "markdown", "mem0", "openclaw-memory")
SHOWN = 10  # of the things that could not be read
NOUNS = {"chatgpt": "conversation", "claude": "conversation", "mem0": "user"}


@command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--all", "everything", is_flag=True, help="Every session of every host (default).")
@click.option("--session", default="", metavar="ID", help="Only this session.")
@click.option("--close", is_flag=True, help="End the sessions' windows now, with a handoff.")
@click.option("--retry-failed", is_flag=True, help="Try again what was given up on.")
@click.option("--upgrade", is_flag=True, help="Let the model read again what rules have read.")
@click.option("--batch", is_flag=True, help="With --upgrade: at half the price, within a day.")
@dry_run
def catch_up(
    memory: Memory, out: Out, paths: tuple[Path, ...], session: str, **given: bool
) -> bool:
    """Read what was said since the last time, and remember it."""
    close, retry, dry = given["close"], given["retry_failed"], given["dry_run"]
    if given["everything"] and (paths or session):
        raise click.UsageError("--all takes neither PATHS nor --session.")
    if given["upgrade"] and (paths or close):
        raise click.UsageError("--upgrade takes neither PATHS nor --close.")
    if given["upgrade"]:
        memory.models.insist = retry
        return _upgrade(memory, out, session, dry, given["batch"])
    if given["batch"]:
        raise click.UsageError("--batch goes with --upgrade.")
    with out.progress() as shown, _stage(memory, dry) as chosen:
        done = chosen.catch_up(paths, session, closing=close, retry_failed=retry, progress=shown)
    if dry:
        return out.planned(memory, chosen.models)
    if not out.json({"messages": done.messages, "entries": done.entries, "sweep": done}):
        report(out, done)
    return bool(done.failed or done.given_up or done.held)


def _stage(memory: Memory, dry_run: bool) -> AbstractContextManager[Memory]:
    return memory.rehearsal() if dry_run else nullcontext(memory)


def _upgrade(memory: Memory, out: Out, session: str, dry_run: bool, batch: bool) -> bool:
    with out.progress() as shown, _stage(memory, dry_run) as chosen:
        done = chosen.upgrade(session, shown, batch=batch)
    if dry_run:
        return out.planned(memory, chosen.models)
    out.json(done)
    if not done.transcripts and not done.failed and not done.waiting:
        out.ok("Nothing to upgrade: rules have read nothing by themselves.")
    elif done.transcripts:
        out.ok(
            f"{many(done.transcripts, 'conversation')} read again, "
            f"[bold]{many(done.entries, 'entry')}[/bold] in the place of what rules had found"
        )
    out.say(
        f"  {many(done.waiting, 'conversation')} in a batch: run the same command again later, "
        "it collects the answers",
        when=done.waiting,
    )
    out.each("  [red]failed[/red] ", done.failed)
    why = "the model failed too often in a row"
    out.say(f"  [red]{done.left} not tried[/red]: {why}", when=done.left)
    return bool(done.failed)


def report(out: Out, done: Sweep) -> None:
    """What a sweep did, in a few lines."""
    busy = [item for item in done.reports if item.messages or item.closed]
    redacted = sum(item.redacted for item in done.reports)
    if not busy and not done.failed and not done.held and not done.entries:
        out.ok("Nothing new: everything is up to date.")
    else:
        out.ok(
            f"{many(done.messages, 'message')} read, "
            f"[bold]{many(done.entries, 'entry')}[/bold] remembered, "
            f"{many(len(done.closed), 'conversation')} closed"
        )
    secrets = f"{many(redacted, 'secret')} {'was' if redacted == 1 else 'were'} redacted"
    out.say(f"  {secrets} before anything was written", when=redacted)
    kinds = sorted(Counter(done.skipped.values()).items())
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds)
    out.say(f"  [dim]skipped: {listed}[/dim]", when=kinds)
    if done.covered:
        parts = many(done.covered, "part")
        out.say(
            f"  [yellow]rules read {parts} that the model should have[/yellow]: "
            "`wakebook status` says why, `wakebook catch-up --upgrade` reads it again"
        )
    out.each("  [red]the model failed[/red] at ", done.held)
    told = "What was said is archived; the next catch-up tries again, then rules read it."
    out.say(f"  [dim]{told}[/dim]", when=done.held)
    out.each("  [red]failed[/red] ", done.failed)
    if done.given_up:
        out.say(
            f"  [red]{len(done.given_up)} given up on[/red]: see `wakebook status --sessions`, "
            "or try `wakebook catch-up --retry-failed`"
        )


@command(name="import")
@click.argument("source", type=click.Choice(SOURCES), metavar="SOURCE")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Say what would be imported; write nothing.")
def import_(memory: Memory, out: Out, source: str, path: Path, dry_run: bool) -> bool:
    """Take over conversations and memories from elsewhere."""
    with out.progress() as shown:
        done = memory.import_(source, path, dry=dry_run, progress=shown)
    if not out.json(done):
        _imported(out, done)
    return not done.ok


def _imported(out: Out, done: Imported) -> None:
    noun = NOUNS.get(done.source, "file")
    thing = "message" if done.talk else "item"
    dates = f", {done.first:%Y-%m-%d} to {done.last:%Y-%m-%d}" if done.first and done.last else ""
    would = "would be " if done.dry else ""
    out.say(f"[dim]{many(done.found, noun)} with {many(done.messages, thing)}{dates}[/dim]")
    if done.fresh or done.entries:
        out.ok(
            f"{many(done.fresh, thing)} of {many(done.new, noun)} {would}imported, "
            f"[bold]{many(done.entries, 'entry')}[/bold] {would}remembered"
        )
    else:
        out.ok("Nothing new: all of it was imported before.")
    _details(out, done, thing)
    out.each("  [dim]left out ", done.passed)
    for label, found in (("cannot be read", done.bad), ("failed", done.failed)):
        out.each(f"  [red]{label}[/red] ", dict(list(found.items())[:SHOWN]))
        more = max(0, len(found) - SHOWN)
        out.say(f"  [red]{more} more {label}[/red]: --json lists all", when=more)
    if done.dry:
        out.say("[dim]Nothing was written. Without --dry-run it is.[/dim]")
    elif done.entries:
        out.say("[dim]`wakebook log` shows the newest, `wakebook search` finds all.[/dim]")


def _details(out: Out, done: Imported, thing: str) -> None:
    for count, noun, text in (
        (done.known, thing, "known already"),
        (done.elsewhere, thing, "that another conversation holds"),
        (done.gone, thing, "not there any more: what they said stays"),
        (done.refused, thing, "kept out: forgotten before, or giving orders to agents"),
        (done.redacted, "secret", "redacted before anything was written"),
        (done.cut, thing, "too long: only the beginning was taken"),
    ):
        out.say(f"  [dim]{many(count, noun)} {text}[/dim]", when=count)
    listed = ", ".join(f"{count} {reason}" for reason, count in sorted(done.skipped.items()))
    out.say(f"  [dim]skipped: {esc(listed)}[/dim]", when=listed)
    if done.questions:
        from wakebook.models.prices import dollars

        cost = "price not known" if done.cost is None else f"about {dollars(done.cost)}"
        out.say(f"  [yellow]a model would be asked {done.questions:,} times, {cost}[/yellow]")
