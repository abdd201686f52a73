"""rebuild: read all conversations anew, on a branch, and compare: list, show, merge, drop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wakebook.cli.shared import COLOURS, Out, When, command, esc, group, many

if TYPE_CHECKING:
    from wakebook.log.entry import Entry
    from wakebook.memory import Memory
    from wakebook.rebuild.compare import Rebuild
    from wakebook.rebuild.rebuilds import Built

SHOWN = 5  # of what was not taken
READERS = click.Choice(["rules", "model"])
questions = click.option(
    "--questions",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Labelled questions (JSONL): how many does search answer, before and after?",
)


@group(alone=True)
@click.option("--extractor", type=READERS, help="What reads (default: rules).")
@click.option("--model", default="", metavar="M", help="provider/model, instead of [models] main.")
@click.option("--branch", default="", metavar="NAME", help="Its name (default: extractor and day).")
@click.option("--since", type=When(), help="Only conversations that began later; the rest stays.")
@click.option("--batch", is_flag=True, help="With a model: at half the price, over some days.")
@questions
@click.option("--dry-run", is_flag=True, help="Say what would be read, and sent to a model.")
@click.option("--list", "listed", is_flag=True, hidden=True)  # the old names of the subcommands
@click.option("--show", "shown", default="", hidden=True)
@click.option("--merge", "merged", default="", hidden=True)
@click.option("--drop", "dropped", default="", hidden=True)
def rebuild(
    memory: Memory, out: Out, questions: Path | None, dry_run: bool, **reading: Any
) -> bool:
    """Read all archived conversations anew, on a branch, and compare."""
    names = {list_: "listed", show: "shown", merge: "merged", drop: "dropped"}
    old = {done: reading.pop(name) for done, name in names.items()}
    chosen = [(done, name) for done, name in old.items() if name]
    if len(chosen) > 1 or (chosen and (dry_run or any(reading.values()))):
        raise click.UsageError("Of --list, --show, --merge and --drop give one, by itself.")
    if questions and (dry_run or (chosen and not old[show])):
        raise click.UsageError("--questions goes with a rebuild or with --show.")
    for name in ("model", "batch"):
        if reading[name] and reading["extractor"] != "model":
            raise click.UsageError(f"--{name} needs --extractor model.")
    if chosen:
        done, name = chosen[0]
        given = {} if done is list_ else {"name": name}
        given |= {"questions": questions} if done is show else {}
        click.get_current_context().invoke(done, **given)
        return False
    reading["extractor"] = reading["extractor"] or "rules"
    if dry_run:
        return _rehearse(memory, out, **reading)
    return _build(memory, out, questions, reading)


def _build(memory: Memory, out: Out, questions: Path | None, reading: dict[str, Any]) -> bool:
    if questions:
        memory.rebuilds.check_questions(questions)  # before anything is read or paid for
    with out.progress() as shown:
        built = memory.rebuilds.build(**reading, progress=shown)
    if built.done is None:
        _stopped(out, built)
        return True
    found = memory.rebuilds.compare(built.name, questions)
    if built.read:
        before = f", {built.resumed:,} before" if built.resumed else ""
        out.ok(f"{many(built.read, 'conversation')} read{before}")
    else:
        out.ok(f"The rebuild [bold]{built.name}[/bold] is complete")
    _tell(out, found, built.read)
    return False


def _stopped(out: Out, built: Built) -> None:
    stopped = built.stopped
    out.json({"name": built.name, "complete": False, "read": built.read, "stopped": stopped})
    read = many(built.read, "conversation")
    out.say(f"[yellow]●[/yellow] {read} read; the rebuild is not complete")
    out.each("  [red]failed[/red] ", stopped.failed)
    out.say(f"  [red]{stopped.left:,} not tried[/red]: {esc(stopped.reason)}", when=stopped.left)
    out.say("  [dim]The same command goes on where it stopped; nothing is paid twice.[/dim]")


def _rehearse(memory: Memory, out: Out, branch: str, **reading: Any) -> bool:
    with out.progress() as shown:
        done, models = memory.rebuilds.plan(**reading, progress=shown)
    if models is not None:
        return out.planned(memory, models)
    out.json(done)
    out.ok(
        f"{many(done.transcripts, 'conversation')} would be read: "
        f"{many(done.entries, 'entry')}, by rules, for nothing. Nothing was changed."
    )
    return False


def _tell(out: Out, found: Rebuild, read: int = 0) -> None:
    if out.json({"complete": True, "read": read, "rebuild": found}):
        return
    total, plan, name = found.comparison.total, found.done.plan, esc(found.name)
    moved = found.comparison.moved
    only = f" [dim]({moved:,} only in what they are about)[/dim]" if moved else ""
    out.say(
        f"[bold]{name}[/bold] [dim]({esc(found.branch)} {found.commit}, by "
        f"{esc(plan.extractor)}, {many(len(plan.transcripts), 'transcript')})[/dim]"
    )
    out.say(
        f"  what holds: [bold]{total.same:,} the same[/bold], "
        f"[green]{total.added:,} added[/green], [red]{total.lost:,} lost[/red], "
        f"[yellow]{total.changed:,} changed[/yellow]{only}"
    )
    _table(out, "type", found.comparison.by_type)
    _table(out, "subject", found.comparison.by_subject)
    _samples(out, found)
    _rest(out, found)
    out.say(f"\n[dim]wakebook rebuild merge {name}   takes it over[/dim]")
    out.say(f"[dim]wakebook rebuild drop {name}    removes it[/dim]")


def _table(out: Out, title: str, tallies: dict[str, Any]) -> None:
    """Only where something is different."""
    rows = {name: one for name, one in tallies.items() if one.added or one.lost or one.changed}
    width = max(len(name or "(none)") for name in (*rows, title))
    out.say(f"\n  [dim]{title:{width}}  same  added  lost  changed[/dim]", when=rows)
    for name, one in rows.items():
        label = esc(f"{name or '(none)':{width}}")
        out.say(f"  {label}  {one.same:4}  {one.added:5}  {one.lost:4}  {one.changed:7}")


def _samples(out: Out, found: Rebuild) -> None:
    comparison = found.comparison
    for mark, entries in (("[green]+", comparison.added), ("[red]-", comparison.lost)):
        out.say(when=entries)
        for entry in entries:
            out.say(f"  {mark}[/] {_line(entry)}")
    out.say(when=comparison.changed)
    for was, is_ in comparison.changed:
        out.say(f"  [yellow]~[/yellow] {_line(was)}")
        out.say(f"    [dim]now:[/dim] {_after(was, is_)}")


def _after(was: Entry, is_: Entry) -> str:
    """What an entry has become: in other words, or in what differs."""
    if was.content != is_.content:
        return esc(is_.content)
    names = {"subject": "about"}
    differs = [
        f"{names.get(field, field)} {getattr(is_, field) or 'nothing'}"
        for field in ("subject", "type", "kind", "status", "pinned", "detail")
        if getattr(was, field) != getattr(is_, field)
    ]
    return esc(", ".join(differs))


def _line(entry: Entry) -> str:
    colour = COLOURS[entry.type]
    about = f"[bold]{esc(entry.subject)}[/bold] " if entry.subject else ""
    return f"[{colour}]{entry.type:8}[/{colour}] {about}{esc(entry.content)}"


def _rest(out: Out, found: Rebuild) -> None:
    from wakebook.models.prices import dollars

    notes, done, answers = found.notes, found.done, found.answers
    out.say(
        f"\n  notes: {many(notes.files, 'file')} differ, "
        f"[green]+{notes.added:,}[/green] [red]-{notes.removed:,}[/red] lines"
    )
    for path, added, removed in notes.most[:5]:
        out.say(f"    [dim]{esc(path)} +{added} -{removed}[/dim]")
    unknown = f" ({done.unpriced:,} without a known price)" if done.unpriced else ""
    cost = f"{many(done.calls, 'call')}, {dollars(done.cost)}{unknown}"
    out.say(f"  cost: {cost if done.calls else 'nothing, no model was asked'}")
    out.each("  [yellow]kept as it was read before[/yellow]: ", done.kept)
    out.say(
        f"  [yellow]{many(len(done.held), 'entry')} not taken[/yellow]: only a pasted text, a page "
        "or a tool says it. `wakebook remember` keeps one that you want.",
        when=done.held,
    )
    out.each("    ", done.held[:SHOWN])
    out.say(f"    [dim]… and {len(done.held) - SHOWN:,} more[/dim]", when=len(done.held) > SHOWN)
    for label, one in (("entries", answers.drawn), ("questions", answers.labelled)):
        if one:
            out.say(
                f"  {label}: {one.before:.0%} answered now, [bold]{one.after:.0%}[/bold] by "
                f"the rebuild, of {one.questions:,} [dim]({one.definition})[/dim]"
            )
            out.each("    [green]+[/green] ", one.gained[:5])
            out.each("    [red]-[/red] ", one.lost[:5])
            out.say("    [red]The rebuild knows less. Look before you merge.[/red]", when=one.worse)
    if sound := answers.sound:
        out.say(
            f"  sound: {sound.before:.0%} now, [bold]{sound.after:.0%}[/bold] by the rebuild "
            f"[dim]({sound.definition})[/dim]"
        )


@command(rebuild, "list")
def list_(memory: Memory, out: Out) -> None:
    """The rebuilds that there are."""
    found = memory.rebuilds.listed()
    out.json(found)
    if not found:
        out.ok("No rebuilds. `wakebook rebuild` makes one.")
    for one in found:
        state = "complete" if one.complete else f"{one.read:,} of {one.transcripts:,} read"
        when = f"{one.began:%Y-%m-%d %H:%M}, by {esc(one.extractor)}, " if one.began else ""
        note = f" [yellow]{esc(one.note)}[/yellow]" if one.note else ""
        told = state if one.began else "nothing to merge"
        out.say(f"[bold]{esc(one.name)}[/bold]  [dim]{when}{told}[/dim]{note}")


@command(rebuild)
@click.argument("name")
@questions
def show(memory: Memory, out: Out, name: str, questions: Path | None) -> None:
    """Compare the rebuild NAME with the memory as it is."""
    _tell(out, memory.rebuilds.compare(name, questions))


@command(rebuild)
@click.argument("name")
def merge(memory: Memory, out: Out, name: str) -> None:
    """Put the rebuild NAME in the place of the log. Commits before and after keep both."""
    done = memory.rebuilds.merge(name)
    out.json(done)
    if done.completed:
        out.ok(f"{esc(name)} was merged before; what was left of it is gone")
        return
    since = f", {many(done.gained, 'entry')} of them since it began" if done.gained else ""
    out.ok(f"Merged: {many(done.entries, 'entry')} in the log{since}")
    old = "of the old log that cannot be read: kept, at its end (`wakebook status`)"
    for count, noun, text in (
        (done.passed, "entry", "of another reading that was made meanwhile gave way to it"),
        (done.unreadable, "line", old),
        (done.untold, "entry", "of condensed notes that it has not found again"),
    ):
        out.say(f"  [yellow]{many(count, noun)}[/yellow] {text}", when=count)
    out.each("  [yellow]", done.problems)
    out.say(f"  [dim]commit {done.commit}, tag {done.tag}; as it was before: {done.before}[/dim]")


@command(rebuild)
@click.argument("name")
def drop(memory: Memory, out: Out, name: str) -> None:
    """Remove the rebuild NAME. It says how to bring it back."""
    done = memory.rebuilds.drop(name)
    out.json(done)
    out.ok(f"Dropped {esc(name)}")
    back = f"to bring it back: {esc(done.restore)}"
    out.say(f"  [dim]It was at {done.commit[:12]}; {back}[/dim]", when=done.restore)
