"""Erase: the command."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from wakebook.cli.shared import ANY_ID, Out, When, command, entries_json, esc, many, spoken

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.upkeep.erase import Erased, Erasing
    from wakebook.upkeep.leaks import Leak

SHOWN = 12  # files that a plan names
PLACES = 3  # of one secret


@command(context_settings=ANY_ID)
@click.argument("what", nargs=-1, metavar="[ID | TEXT]...")
@click.option("--session", default="", metavar="ID", help="A whole conversation.")
@click.option("--since", type=When(), help="All that was said from then on: 2026-02-20, 7d.")
@click.option("--redact", is_flag=True, help="Put [redacted] in its place, and keep the entries.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def erase(
    memory: Memory,
    out: Out,
    what: tuple[str, ...],
    session: str,
    since: datetime | None,
    redact: bool,
    dry_run: bool,
    yes: bool,
) -> bool:
    """Remove a text, an entry or a conversation for good, from git's history, too."""
    from wakebook.upkeep.erase import REDACTED

    text = spoken(what).strip() if what else ""
    if out.as_json and not (yes or dry_run):
        raise click.UsageError("With --json there is no one to ask: give --yes as well.")
    if redact and not text:
        raise click.UsageError("--redact is for a text.")
    asked: dict[str, Any] = {"what": text, "session": session, "since": since}
    if redact:
        asked = {"strings": [text], "placeholder": REDACTED}
    with out.progress() as shown:
        if not text and not session and since is None:
            return _finished(memory, out, shown)
        planned = memory.eraser.plan(**asked, progress=shown)
    if not out.as_json or dry_run:
        _planned(memory, out, planned)
    if dry_run or planned.nothing:
        return out.json(_told(memory, planned)) and False
    if not yes:
        click.confirm("Erase this for good?", abort=True)
    done = _done(memory, out, asked)
    out.json(done)
    return _receipt(out, done)


def leaks(memory: Memory, out: Out, fix: bool, yes: bool) -> bool:
    """For `doctor --secrets`: which secrets there are, and with `fix` their redaction."""
    from wakebook.upkeep.erase import REDACTED

    if out.as_json and fix and not yes:
        raise click.UsageError("With --json there is no one to ask: give --yes as well.")
    with out.progress() as shown:
        found = memory.eraser.leaks(shown)
    for one in found.found:
        _leak(out, one)
    looked = f"{many(found.files, 'file')} and {found.objects:,} objects of git"
    looked += f" ({found.bytes / 1e6:,.1f} MB)"
    out.ok(f"No secrets in {looked}.", when=not found.found)
    common, rest = sum(one.common for one in found.found), len(found.strings)
    if found.found:
        out.say(f"\n[bold]{many(len(found.found), 'secret')}[/bold] in {looked}.")
    if common:
        out.say(
            f"[dim]·[/dim] {common:,} of them cannot be redacted everywhere: too short, or a plain "
            "word, so that other text would go, too. Edit the place, or give the whole sentence to "
            "`wakebook erase --redact -`."
        )
    told: dict[str, Any] = {"found": found.found, "files": found.files, "objects": found.objects}
    told |= {"bytes": found.bytes, "receipt": None}
    if not fix or not rest:
        which = "the others" if common else "it" if rest == 1 else "them"
        out.say(f"`wakebook doctor --secrets --fix` redacts {which}.", when=rest)
        out.json(told)
        return bool(found.found)
    asked: dict[str, Any] = {"strings": found.strings, "placeholder": REDACTED}
    with out.progress() as shown:
        planned = memory.eraser.plan(**asked, progress=shown)
    if not out.as_json:
        out.say()
        _planned(memory, out, planned)
    if not yes:
        click.confirm(f"Redact {many(rest, 'secret')} for good?", abort=True)
    done = _done(memory, out, asked)
    out.json(told | {"receipt": done})
    return _receipt(out, done) or bool(common)


def _leak(out: Out, one: Leak) -> None:
    sign = "[dim]·[/dim]" if one.common else "[yellow]![/yellow]"
    out.say(f"{sign} {esc(one.kind)}  [bold]{esc(one.hint)}[/bold]")
    out.each("    ", one.places[:PLACES])
    out.say(
        f"    [dim]… and {len(one.places) - PLACES:,} more[/dim]", when=len(one.places) > PLACES
    )


def _done(memory: Memory, out: Out, asked: dict[str, Any]) -> Erased:
    _service_stopped(memory)
    with out.progress() as shown:
        return memory.eraser.erase(**asked, progress=shown)


def _finished(memory: Memory, out: Out, shown: Any) -> bool:
    """Without anything to erase: finish what was interrupted."""
    done = memory.eraser.finish(shown)
    if done is None:
        raise click.UsageError("Give an entry's id or a text, --session ID or --since DATE.")
    out.json(done)
    return _receipt(out, done)


def _service_stopped(memory: Memory) -> None:
    """A service has the old index open, and texts in its memory. A hook starts it again."""
    from wakebook.base.errors import WakebookError
    from wakebook.service.start import stop

    with suppress(WakebookError):
        stop(memory.home)


def _told(memory: Memory, planned: Erasing) -> dict[str, Any]:
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(planned)
    entries = {name: getattr(planned, name) for name in ("entries", "shorter")}
    return found | {name: entries_json(memory, some) for name, some in entries.items()}


def _planned(memory: Memory, out: Out, planned: Erasing) -> None:
    if planned.nothing:
        out.say("Nothing in the home holds it.")
        return
    out.say(f"[bold]{many(len(planned.entries), 'entry')}[/bold] will go:", when=planned.entries)
    out.entries(memory, planned.entries)
    out.say("\nHandoffs that lose the words:", when=planned.shorter)
    out.entries(memory, planned.shorter)
    for title, names in (
        ("will change", [*planned.files]),
        ("will be removed", [*planned.removed]),
        ("will have another name", [*planned.renamed]),
    ):
        out.say(f"\n[bold]{many(len(names), 'file')}[/bold] {title}:", when=names)
        out.each("  ", names[:SHOWN])
        out.say(f"  [dim]… and {len(names) - SHOWN:,} more[/dim]", when=len(names) > SHOWN)
    if planned.of_commits:
        moved = ", ".join(name.split("/", 2)[2] for name in planned.names[:SHOWN]) or "none"
        out.say(
            f"\n[bold]git:[/bold] {planned.commits:,} of {many(planned.of_commits, 'commit')} are "
            f"written anew; branches and tags that move: {esc(moved)}"
            f"{' …' if len(planned.names) > SHOWN else ''}; the reflog "
            f"({planned.reflog:,} lines) and all old objects go."
        )
    out.say("\n[yellow]Not in Wakebook's hands[/yellow], and there it stays:")
    out.each("  ", planned.remains)


def _receipt(out: Out, done: Erased) -> bool:
    looked = done.scan
    size = f"{looked.bytes / 1e6:,.1f} MB"
    where = f"{many(looked.files, 'file')} and {looked.objects:,} objects of git, unpacked ({size})"
    out.say(
        f"\n[bold]Receipt[/bold] {done.at:%Y-%m-%d %H:%M} UTC: {many(done.entries, 'entry')}, "
        f"{many(done.files + done.removed, 'file')}, {many(done.commits, 'commit')}"
    )
    out.ok(f"Looked at every byte of {where}: nothing is left.", when=done.well)
    if not done.well:
        out.say(f"[red]●[/red] Looked at every byte of {where}. It is [red]still[/red] in:")
        out.each("  ", looked.found[:SHOWN])
        out.say(
            "  [dim]A binary file is not changed: remove it, and erase again. A pack with a .keep "
            "file and an alternate of git are not rewritten.[/dim]"
        )
    out.each("  [dim]it may still be in[/dim] ", done.remains)
    return not done.well
