"""Keep, correct and take out: remember, forget, subjects, notes, export."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wakebook.cli.shared import (
    ANY_ID,
    Out,
    command,
    cwd,
    dry_run,
    entries_json,
    esc,
    group,
    many,
    place,
    spoken,
)
from wakebook.log.entry import ORIGIN, Entry, as_dict

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.notes.review import Proposal
    from wakebook.upkeep.forget import Forgetting

KEPT = click.Choice(["fact", "task", "decision", "question"])
TYPES = click.Choice(["project", "person", "system", "tool", "place", "other"])
MARKS = {"changed": "~", "done": "✓", "removed": "-", "added": "+"}
SHOWN = 20  # pages of a vault


@command()
@click.argument("text", nargs=-1, required=True)
@click.option("--type", "-t", "type_", type=KEPT, default="fact", show_default=True)
@click.option("--subject", "-s", default="", help="What it is about (a slug).")
@click.option("--detail", "-d", default="", help="The reason or the background.")
@click.option("--replaces", "-r", multiple=True, metavar="ID", help="The entry that it corrects.")
@click.option("--done", is_flag=True, help="For a task: it is done.")
@click.option("--pin", "pinned", is_flag=True, help="Keep it in view whatever its age.")
@click.option("--origin", default="", help="A page, a mail: not your words, so it waits for you.")
@place
def remember(
    memory: Memory, out: Out, text: tuple[str, ...], done: bool, everywhere: bool, **given: Any
) -> None:
    """Keep TEXT as an entry of its own, for the project of this folder if the memory knows it. A
    single - reads it from standard input."""
    given["cwd"] = "" if everywhere or given["project"] else cwd()
    if done and given["type_"] != "task":
        raise click.UsageError("--done is for --type task.")
    entry = memory.remember(spoken(text), status="done" if done else "", **given)
    out.json(entries_json(memory, [entry])[0])
    out.ok("Waits for your word (`wakebook review`):" if entry.extra else "Remembered:")
    out.entries(memory, [entry], details=True)


@command(context_settings=ANY_ID)
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--chain", is_flag=True, help="With all that it replaced, and that replaced it.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def forget(memory: Memory, out: Out, ids: tuple[str, ...], chain: bool, yes: bool) -> None:
    """Take back what is told: entries, and the sentences that they came from."""
    going = memory.plan_forget(ids, chain=chain)
    if out.as_json and not yes:
        raise click.UsageError("With --json there is no one to ask: give --yes as well.")
    if not yes:
        _going(memory, out, going)
        click.confirm("Forget this?", abort=True)
    rows = entries_json(memory, going.entries)
    done = memory.forget(ids, chain=chain)
    out.json(
        {
            "forgotten": rows,
            "hold_again": entries_json(memory, done.again),
            "shortened": [entry.id for entry in done.shorter],
            "say_it_too": entries_json(memory, done.also),
            "withheld": done.withheld,
            "still_in": [*done.transcripts, *done.notes],
        }
    )
    out.ok(f"{many(len(done.entries), 'entry')} forgotten")
    said = many(done.withheld, "sentence")
    out.say(f"  [dim]{said} of conversations: told no more[/dim]", when=done.withheld)
    out.say(
        "  [dim]Transcripts and git's history keep the words: `wakebook erase` removes them.[/dim]"
    )
    out.each("  [yellow]It also stands in a text that a person wrote:[/yellow] ", done.notes)


def _going(memory: Memory, out: Out, going: Forgetting) -> None:
    out.say(f"[bold]{many(len(going.entries), 'entry')}[/bold] will be forgotten:")
    out.entries(memory, going.entries)
    again = "Replaced by it so far, and [yellow]holds again[/yellow] without it"
    for title, entries in (
        (f"{again} (--chain forgets it, too):", going.again),
        ("Handoffs that lose the lines that say it:", going.shorter),
        ("[yellow]Say it as well[/yellow], and stay unless you name them, too:", going.also),
    ):
        out.say(f"\n{title}", when=entries)
        out.entries(memory, entries)


@group()
def subjects(memory: Memory, out: Out) -> None:
    """What entries are about. A new slug in an entry makes a subject by itself."""


@command(subjects, "list")
def list_(memory: Memory, out: Out) -> None:
    """Every subject, with the number of its current entries."""
    found = memory.log.subjects()
    out.json([{"subject": item, "entries": count} for item, count in found])
    rows = [
        (item.slug, item.display, item.type, str(count), ", ".join(item.aliases))
        for item, count in sorted(found, key=lambda pair: (-pair[1], pair[0].slug))
    ]
    out.table("slug  name  type  >entries  also known as", rows, "No subjects yet.")


@command(subjects)
@click.argument("name")
@click.option("--type", "type_", type=TYPES, default="project", show_default=True)
@click.option("--display", default="", help="The name to show.")
def add(memory: Memory, out: Out, name: str, type_: str, display: str) -> None:
    """Add a subject. NAME becomes a slug: "Auth Migration" -> auth-migration."""
    item = memory.log.add_subject(name, type_, display)
    out.json(item)
    out.ok(f"Added [bold]{item.slug}[/bold] ({item.display})")


@command(subjects, "type")
@click.argument("name")
@click.argument("type_", metavar="TYPE", type=TYPES)
def retype(memory: Memory, out: Out, name: str, type_: str) -> None:
    """Say what a subject is, like: wakebook subjects type jane-doe person. Its notes move along."""
    item = memory.log.retype_subject(name, type_)
    out.json(item)
    out.ok(f"[bold]{item.slug}[/bold] is a {item.type}")


@command(subjects)
@click.argument("old")
@click.argument("new")
def rename(memory: Memory, out: Out, old: str, new: str) -> None:
    """Rename a subject here and in the log. The old slug stays as an alias."""
    _renamed(out, old, *memory.log.rename_subject(old, new))


@command(subjects)
@click.argument("duplicate")
@click.argument("into")
def merge(memory: Memory, out: Out, duplicate: str, into: str) -> None:
    """Put the entries of DUPLICATE under INTO. DUPLICATE stays as an alias."""
    _renamed(out, duplicate, *memory.log.rename_subject(duplicate, into, merge=True))


def _renamed(out: Out, old: str, slug: str, count: int) -> None:
    out.json({"subject": slug, "entries": count})
    out.ok(f"{old} is now [bold]{slug}[/bold]: {count} entries")


@command(subjects)
@click.argument("name")
def delete(memory: Memory, out: Out, name: str) -> None:
    """Take a subject out of use. Its entries keep it; new ones do not get it."""
    gone = memory.log.delete_subject(name)
    out.json({"deleted": gone.slug})
    out.ok(f"{gone.slug} is not used any more")


@group(alone=True)
@click.option("--full", is_flag=True, help="Write all notes anew, from nothing but the log.")
@click.option("--check", is_flag=True, help="Only look for links that lead nowhere.")
def notes(memory: Memory, out: Out, full: bool, check: bool) -> bool:
    """Bring the notes up to date with the log."""
    if check:
        broken = memory.notes.missing_links()
        out.json(broken)
        out.each("", [f"{link.path}:{link.line}: no note {link.target}" for link in broken])
        out.say("" if broken else "[green]●[/green] Every link leads to a note.")
        return bool(broken)
    with out.progress() as progress:
        done = memory.notes.update(full=full, progress=progress)
    broken = memory.notes.missing_links()
    out.json({"updated": done, "broken_links": broken})
    out.each("  ", done.written)
    out.ok(f"{many(len(done.written), 'note')} written, {many(done.pages, 'page')} looked at")
    for name in done.edited:
        out.say(f"  [yellow]edited by hand:[/yellow] {esc(name)} (`wakebook review`)")
    out.each("  [red]to be mended:[/red] ", done.problems)
    links = [f"{link.path}:{link.line} links to {link.target}" for link in broken]
    out.each("  [yellow]no such note:[/yellow] ", links)
    return bool(done.problems)


@command(notes)
@dry_run
def brief(memory: Memory, out: Out, dry_run: bool) -> bool:
    """Write the briefing between its markers in MEMORY.md. The rest is not touched."""
    if dry_run:
        with memory.rehearsal() as copy:
            copy.notes.brief()
            return out.planned(memory, copy.models)
    done = memory.notes.brief()
    out.troubles(memory)
    if out.json(done):
        return False
    for line in done.lines:
        click.echo(line)
    what = "written to" if done.changed else "unchanged in"
    if done.edited:
        what = "not written, for the block was edited by hand (`wakebook review`):"
    elif done.missing:
        what = "not written, for the folder is not there (\\[briefing] memory_file):"
    out.err.say(f"\n[green]●[/green] {len(done.lines)} lines {what} {done.path}")
    long = f"MEMORY.md has {done.total} lines; agents read the first 200."
    out.err.say(f"[yellow]{long}[/yellow]", when=done.total > 180)
    return False


@group(notes, alone=True)
def review(memory: Memory, out: Out) -> None:
    """What waits for your word: new entries, your edits, contradictions, clashes of machines."""
    found, new = memory.notes.proposals(), memory.log.waiting()
    conflicts = memory.notes.conflicts()
    clashes = memory.sync.clashes() if memory.opened.syncs else ()
    rows = [{"older": as_dict(old), "newer": as_dict(newer)} for old, newer in conflicts]
    waiting = [as_dict(one) for one in new]
    out.json({"waiting": waiting, "edits": found, "contradictions": rows, "clashes": clashes})
    for entry in new:
        out.say(f"  [bold]{entry.id}[/bold] {entry.type}: {esc(entry.content)}")
        out.say(f"    [dim]{esc(_whence(entry))}[/dim]", when=_whence(entry))
    ways = "wakebook review accept | reject [ID]..., or all of them without an ID"
    out.say(f"[green]●[/green] {many(len(new), 'new entry')} to review  {ways}", when=new)
    for number, proposal in enumerate(found, 1):
        _proposal(out, number, proposal)
    hint = "  wakebook review accept | reject [NUMBER or PATH]"
    told = f"[green]●[/green] {many(len(found), 'edited block')} to review{hint}"
    out.say(told, when=found)
    for number, (old, newer) in enumerate(conflicts, 1):
        out.say(f"[bold]contradiction {number}.[/bold] {esc(old.content)} [dim]({old.id})[/dim]")
        out.say(f"  {esc(newer.content)} [dim]({newer.id})[/dim]")
    ways = "wakebook review dismiss [NUMBER], or remember --replaces ID what holds"
    out.say(f"[green]●[/green] {many(len(conflicts), 'contradiction')}  {ways}", when=conflicts)
    out.each("[bold]two machines:[/bold] ", clashes)
    ways = "put it right in the file, then wakebook review dismiss [PATH]"
    out.say(f"[green]●[/green] {many(len(clashes), 'text')} of two machines  {ways}", when=clashes)
    out.say("Nothing to review.", when=not (found or conflicts or new or clashes))


def _whence(entry: Entry) -> str:
    """Where an entry comes from: whose words, and the turn of which conversation."""
    whose = str(entry.extra.get(ORIGIN, ""))
    turn = f", turn {entry.evidence[-1]}" if entry.evidence else ""
    where = f"{entry.transcript}{turn}" if entry.transcript else ""
    return ", ".join(part for part in (f"from {whose}" if whose else "", where) if part)


def _parted(memory: Memory, names: tuple[str, ...]) -> tuple[list[str], tuple[str, ...] | None]:
    """The new entries among these names, and the edits; None: no edit is meant. No name: all."""
    ids = [one.id for one in memory.log.waiting()]
    if not names:
        return ids, () if memory.notes.proposals() else None
    new = [name for name in names if any(one.startswith(name) for one in ids if len(name) > 3)]
    edits = tuple(name for name in names if name not in new)
    return new, edits or None


def _proposal(out: Out, number: int, proposal: Proposal) -> None:
    where = esc(f"{proposal.path}:{proposal.line}")
    out.say(f"[bold]{number}. {where}[/bold] [dim]({esc(proposal.block)})[/dim]")
    for change in proposal.changes:
        mark = MARKS[change.kind]
        out.say(f"  [red]{mark} {esc(change.old)}[/red]", when=change.old)
        new = "+" if change.old else mark
        out.say(f"  [green]{new} {esc(change.new)}[/green]", when=change.new)
    for heading in proposal.headings:
        where = "a heading of your own: move it out of the markers, or it is lost"
        out.say(f"  [yellow]! {esc(heading)}[/yellow] [dim]({where})[/dim]")
    same = not proposal.changes and not proposal.headings
    out.say("  [dim]only spaces, headings or marks differ[/dim]", when=same)


@command(review)
@click.argument("names", nargs=-1, metavar="[ID, NUMBER or PATH]...")
def accept(memory: Memory, out: Out, names: tuple[str, ...]) -> None:
    """Put new entries, and your edits as correcting ones, into the log. Without a name: all."""
    new, edits = _parted(memory, names)
    done = memory.notes.accept(*(edits or ())) if edits is not None or not new else None
    entries = [*memory.log.accept(*new), *(done.entries if done else ())]
    blocks, left = (done.proposals, done.left) if done else ([], [])
    rows = [as_dict(one) for one in entries]
    out.json({"accepted": blocks, "entries": rows, "left": left})
    for entry in entries:
        out.say(f"  [bold]{entry.id}[/bold] {entry.type}: {esc(entry.content)}")
    words = [change.new or change.old for change in left]
    out.each("  [yellow]not an entry's own words, and not taken over:[/yellow] ", words)
    source = f" from {many(len(blocks), 'block')}" if done else ""
    out.ok(f"{many(len(entries), 'entry')}{source}")


@command(review)
@click.argument("names", nargs=-1, metavar="[ID, NUMBER or PATH]...")
def reject(memory: Memory, out: Out, names: tuple[str, ...]) -> None:
    """Drop new entries, and write edited blocks as the log has them: your text stays in git."""
    new, edits = _parted(memory, names)
    dropped = memory.log.refuse(*new)
    found = memory.notes.reject(*(edits or ())) if edits is not None or not new else []
    out.json({"rejected": found, "refused": [as_dict(one) for one in dropped]})
    out.ok(f"{many(len(dropped), 'entry')} dropped", when=dropped)
    out.ok(f"{many(len(found), 'block')} written anew", when=found or not dropped)


@command(review)
@click.argument("names", nargs=-1, metavar="[NUMBER or PATH]...")
def dismiss(memory: Memory, out: Out, names: tuple[str, ...]) -> None:
    """Say that a contradiction is none, or what two machines have changed is settled.

    Contradictions by number, notes by path. Without a name: all that are shown."""
    clashes = memory.sync.clashes() if memory.opened.syncs else ()
    paths = [name for name in names if any(one.startswith(name) for one in clashes)]
    settled = memory.sync.settle(*paths) if clashes and (paths or not names) else ()
    numbers = [name for name in names if name not in paths]
    found = memory.notes.dismiss(*numbers) if numbers or not names else []
    out.json({"dismissed": [[old.id, new.id] for old, new in found], "settled": settled})
    out.ok(f"{many(len(found), 'contradiction')} dismissed", when=found or not settled)
    out.ok(f"{many(len(settled), 'text')} of two machines settled", when=settled)


@group()
def export(memory: Memory, out: Out) -> None:
    """Write the memory for other programs."""


@group()
def vault(memory: Memory, out: Out) -> None:
    """The old name of `wakebook export obsidian`."""


@command(export)
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
def obsidian(memory: Memory, out: Out, path: Path, dry_run: bool) -> bool:
    """Add what is new to the Obsidian vault in PATH: a journal page a day, and a page a subject."""
    with out.progress() as shown:
        built = memory.notes.obsidian(path, dry_run, shown)
    out.json(built)
    where, would = esc(built.path), "would be " if built.dry else ""
    if built.created or built.extended:
        out.ok(
            f"[bold]{many(built.lines, 'line')}[/bold] {would}added in {where}: "
            f"{many(len(built.created), 'page')} {would}made, "
            f"{many(len(built.extended), 'page')} {would}extended"
        )
    elif not built.refused:
        out.ok(f"Nothing new for {where}.")
    for sign, paths in (("+", built.created), ("~", built.extended)):
        out.each(f"  [dim]{sign}[/dim] ", paths[:SHOWN])
        out.say(f"  [dim]{sign} … and {len(paths) - SHOWN:,} more[/dim]", when=len(paths) > SHOWN)
    out.each("  [yellow]", built.notes)
    out.each("  [red]not written[/red] ", built.refused.values())
    return bool(built.refused)


vault.add_command(obsidian, "build")
