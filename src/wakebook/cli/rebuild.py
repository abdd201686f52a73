"""wakebook rebuild"""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wakebook.cli.shared import COLOURS, Progress, When, console, emit, many, options, show_planned

if TYPE_CHECKING:
    from rich.console import Console

    from wakebook.log.entry import Entry
    from wakebook.memory import Memory
    from wakebook.rebuild.compare import Rebuild
    from wakebook.rebuild.rebuilds import Built


@click.command()
@click.option(
    "--extractor", type=click.Choice(["rules", "model"]), help="What reads (default: rules)."
)
@click.option("--model", default="", metavar="M", help="provider/model, instead of [models] main.")
@click.option("--branch", default="", metavar="NAME", help="Its name (default: extractor and day).")
@click.option("--since", type=When(), help="Only conversations that began later; the rest stays.")
@click.option(
    "--questions",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Labelled questions (JSONL): how many does search answer, before and after?",
)
@click.option("--dry-run", is_flag=True, help="Say what would be read, and sent to a model.")
@click.option("--list", "listing", is_flag=True, help="The rebuilds that there are.")
@click.option("--show", default="", metavar="NAME", help="Compare one with the memory as it is.")
@click.option("--merge", default="", metavar="NAME", help="Put one in the place of the log.")
@click.option("--drop", default="", metavar="NAME", help="Remove one.")
@options
def command(
    memory: Memory,
    extractor: str | None,
    model: str,
    branch: str,
    since: datetime | None,
    questions: Path | None,
    dry_run: bool,
    listing: bool,
    show: str,
    merge: str,
    drop: str,
    as_json: bool,
) -> None:
    """Read all archived conversations anew, on a branch, and compare.

    Nothing of your memory changes until you merge. The branch extract/NAME is checked out
    below .cache/rebuild, so that your own checkout stays where it is. What you wrote by hand,
    corrected, renamed or had forgotten comes along; so does what is said meanwhile. A rebuild
    that was stopped goes on with the same command, also on another day.

    \b
    wakebook rebuild                                  by rules: free, the same each time
    wakebook rebuild --extractor model --dry-run      what a model would be sent, its price
    wakebook rebuild --extractor model --model anthropic/claude-sonnet-5-5 --branch better
    wakebook rebuild --show better --questions questions.jsonl
    wakebook rebuild --merge better                   or: --drop better

    \b
    A line of questions.jsonl:
    {"question": "When do we open?", "expect": "21 November"}
    """
    chosen = [bool(one) for one in (listing, show, merge, drop)]
    reading = any((extractor, model, branch, since, dry_run))
    if sum(chosen) > 1 or (any(chosen) and reading):
        raise click.UsageError("Of --list, --show, --merge and --drop give one, by itself.")
    if questions and (listing or merge or drop or dry_run):
        raise click.UsageError("--questions goes with a rebuild or with --show.")
    if model and extractor != "model":
        raise click.UsageError("--model needs --extractor model.")
    if listing:
        _list(memory, as_json)
    elif show:
        _tell(memory.rebuilds.compare(show, questions), as_json)
    elif merge:
        _merge(memory, merge, as_json)
    elif drop:
        _drop(memory, drop, as_json)
    elif dry_run:
        _rehearse(memory, extractor or "rules", model, since, as_json)
    else:
        _build(memory, extractor or "rules", model, branch, since, questions, as_json)


def _build(
    memory: Memory,
    extractor: str,
    model: str,
    branch: str,
    since: datetime | None,
    questions: Path | None,
    as_json: bool,
) -> None:
    if questions:
        memory.rebuilds.check_questions(questions)  # before anything is read or paid for
    with Progress(quiet=as_json) as shown:
        built = memory.rebuilds.build(
            extractor=extractor, model=model, branch=branch, since=since, progress=shown
        )
    if built.done is None:
        _stopped(built, as_json)
        sys.exit(1)
    found = memory.rebuilds.compare(built.name, questions)
    if not as_json:
        out = console()
        read = many(built.read, "conversation")
        if built.read:
            before = f", {built.resumed:,} before" if built.resumed else ""
            out.print(f"[green]●[/green] {read} read{before}")
        else:
            out.print(f"[green]●[/green] The rebuild [bold]{built.name}[/bold] is complete")
    _tell(found, as_json, built)


def _stopped(built: Built, as_json: bool) -> None:
    from rich.markup import escape

    if as_json:
        emit({"name": built.name, "complete": False, "read": built.read, "stopped": built.stopped})
        return
    out = console()
    read = many(built.read, "conversation")
    out.print(f"[yellow]●[/yellow] {read} read; the rebuild is not complete")
    for path, error in built.stopped.failed.items():
        out.print(f"  [red]failed[/red] {escape(path)}: {escape(error)}")
    if built.stopped.left:
        reason = escape(built.stopped.reason)
        out.print(f"  [red]{built.stopped.left:,} not tried[/red]: {reason}")
    out.print("  [dim]The same command goes on where it stopped; nothing is paid twice.[/dim]")


def _tell(found: Rebuild, as_json: bool, built: Built | None = None) -> None:
    if as_json:
        emit({"complete": True, "read": built.read if built else 0, "rebuild": found})
        return
    from rich.markup import escape

    out = console()
    total, plan = found.comparison.total, found.done.plan
    out.print(
        f"[bold]{escape(found.name)}[/bold] [dim]({escape(found.branch)} {found.commit}, by "
        f"{escape(plan.extractor)}, {many(len(plan.transcripts), 'transcript')})[/dim]"
    )
    out.print(
        f"  what holds: [bold]{total.same:,} the same[/bold], "
        f"[green]{total.added:,} added[/green], [red]{total.lost:,} lost[/red], "
        f"[yellow]{total.changed:,} changed[/yellow]{_moved(found)}"
    )
    _table(out, "type", found.comparison.by_type)
    _table(out, "subject", found.comparison.by_subject)
    _samples(out, found)
    _rest(out, found)
    name = escape(found.name)
    out.print(f"\n[dim]wakebook rebuild --merge {name}   takes it over[/dim]")
    out.print(f"[dim]wakebook rebuild --drop {name}    removes it[/dim]")


def _moved(found: Rebuild) -> str:
    moved = found.comparison.moved
    return f" [dim]({moved:,} only in what they are about)[/dim]" if moved else ""


def _table(out: Console, title: str, tallies: dict[str, Any]) -> None:
    """Only where something is different."""
    from rich.markup import escape

    rows = {name: one for name, one in tallies.items() if one.added or one.lost or one.changed}
    if not rows:
        return
    width = max(len(name or "(none)") for name in (*rows, title))
    out.print(f"\n  [dim]{title:{width}}  same  added  lost  changed[/dim]")
    for name, one in rows.items():
        label = escape(f"{name or '(none)':{width}}")
        out.print(f"  {label}  {one.same:4}  {one.added:5}  {one.lost:4}  {one.changed:7}")


def _samples(out: Console, found: Rebuild) -> None:
    comparison = found.comparison
    for mark, colour, entries in (
        ("+", "green", comparison.added),
        ("-", "red", comparison.lost),
    ):
        for number, entry in enumerate(entries):
            out.print("" if number else "\n", end="")
            out.print(f"  [{colour}]{mark}[/{colour}] {_line(entry)}")
    for number, (was, is_) in enumerate(comparison.changed):
        out.print("" if number else "\n", end="")
        out.print(f"  [yellow]~[/yellow] {_line(was)}")
        out.print(f"    [dim]now:[/dim] {_after(was, is_)}")


def _after(was: Entry, is_: Entry) -> str:
    """What an entry has become: in other words, or in what differs."""
    from rich.markup import escape

    if was.content != is_.content:
        return escape(is_.content)
    fields = ("subject", "type", "kind", "status", "pinned", "detail")
    told = {"subject": "about"}
    new = [(told.get(one, one), getattr(is_, one)) for one in fields
           if getattr(was, one) != getattr(is_, one)]  # fmt: skip
    return escape(", ".join(f"{name} {value or 'nothing'}" for name, value in new))


def _line(entry: Entry) -> str:
    from rich.markup import escape

    colour = COLOURS[entry.type]
    about = f"[bold]{escape(entry.subject)}[/bold] " if entry.subject else ""
    return f"[{colour}]{entry.type:8}[/{colour}] {about}{escape(entry.content)}"


def _rest(out: Console, found: Rebuild) -> None:
    from rich.markup import escape

    from wakebook.models.prices import dollars

    notes, done = found.notes, found.done
    out.print(
        f"\n  notes: {many(notes.files, 'file')} differ, "
        f"[green]+{notes.added:,}[/green] [red]-{notes.removed:,}[/red] lines"
    )
    for path, added, removed in notes.most[:5]:
        out.print(f"    [dim]{escape(path)} +{added} -{removed}[/dim]")
    if done.calls:
        unknown = f" ({done.unpriced:,} without a known price)" if done.unpriced else ""
        out.print(f"  cost: {many(done.calls, 'call')}, {dollars(done.cost)}{unknown}")
    else:
        out.print("  cost: nothing, no model was asked")
    for path in done.kept:
        out.print(f"  [yellow]kept as it was read before[/yellow]: {escape(path)}")
    quality = found.quality
    if quality:
        out.print(
            f"  questions: {quality.before:.0%} answered now, [bold]{quality.after:.0%}[/bold] by "
            f"the rebuild, of {quality.questions:,} [dim]({quality.definition})[/dim]"
        )
        for question in quality.gained[:5]:
            out.print(f"    [green]+[/green] {escape(question)}")
        for question in quality.lost[:5]:
            out.print(f"    [red]-[/red] {escape(question)}")


def _rehearse(
    memory: Memory, extractor: str, model: str, since: datetime | None, as_json: bool
) -> None:
    with Progress(quiet=as_json) as shown:
        done, models = memory.rebuilds.plan(
            extractor=extractor, model=model, since=since, progress=shown
        )
    if models is not None:
        show_planned(memory, models, as_json)
    elif as_json:
        emit(done)
    else:
        console().print(
            f"[green]●[/green] {many(done.transcripts, 'conversation')} would be read: "
            f"{many(done.entries, 'entry')}, by rules, for nothing. Nothing was changed."
        )


def _list(memory: Memory, as_json: bool) -> None:
    from rich.markup import escape

    found = memory.rebuilds.listed()
    if as_json:
        emit(found)
        return
    out = console()
    if not found:
        out.print("[green]●[/green] No rebuilds. `wakebook rebuild` makes one.")
    for one in found:
        state = "complete" if one.complete else f"{one.read:,} of {one.transcripts:,} read"
        when = f"{one.began:%Y-%m-%d %H:%M}, by {escape(one.extractor)}, " if one.began else ""
        note = f" [yellow]{escape(one.note)}[/yellow]" if one.note else ""
        told = state if one.began else "nothing to merge"
        out.print(f"[bold]{escape(one.name)}[/bold]  [dim]{when}{told}[/dim]{note}")


def _merge(memory: Memory, name: str, as_json: bool) -> None:
    from rich.markup import escape

    done = memory.rebuilds.merge(name)
    if as_json:
        emit(done)
        return
    out = console()
    if done.completed:
        out.print(f"[green]●[/green] {escape(name)} was merged before; what was left of it is gone")
        return
    since = f", {many(done.gained, 'entry')} of them since it began" if done.gained else ""
    out.print(f"[green]●[/green] Merged: {many(done.entries, 'entry')} in the log{since}")
    if done.passed:
        out.print(
            f"  [yellow]{many(done.passed, 'entry')}[/yellow] of another reading that was made "
            "meanwhile gave way to it"
        )
    if done.unreadable:
        out.print(
            f"  [yellow]{many(done.unreadable, 'line')}[/yellow] of the old log that nobody can "
            "read: kept, at its end (`wakebook status`)"
        )
    if done.untold:
        out.print(
            f"  [yellow]{many(done.untold, 'entry')}[/yellow] of condensed notes that it has not "
            "found again"
        )
    for path, why in done.problems.items():
        out.print(f"  [yellow]{escape(path)}[/yellow]: {escape(why)}")
    out.print(f"  [dim]commit {done.commit}, tag {done.tag}; as it was before: {done.before}[/dim]")


def _drop(memory: Memory, name: str, as_json: bool) -> None:
    from rich.markup import escape

    done = memory.rebuilds.drop(name)
    if as_json:
        emit(done)
        return
    out = console()
    out.print(f"[green]●[/green] Dropped {escape(name)}")
    if done.restore:
        out.print(
            f"  [dim]It was at {done.commit[:12]}; to bring it back: {escape(done.restore)}[/dim]"
        )
