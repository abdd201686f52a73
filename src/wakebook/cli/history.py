"""The memory over time: when, diff, at, snapshot, explore, undo, restore, commit."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from wakebook.cli.shared import ANY_ID, Out, command, dry_run, entries_json, esc, group, limit, many
from wakebook.log.query import Query

if TYPE_CHECKING:
    from wakebook.history.past import Commit, Moment
    from wakebook.memory import Memory
    from wakebook.upkeep.again import Forgot
    from wakebook.upkeep.undo import Rewrite

LINES = 3  # of a commit that are shown
BAR = 40


@group()
def history(memory: Memory, out: Out) -> None:
    """The memory over time. Everything is under git, and nothing is lost."""


def _local(memory: Memory, at: datetime) -> str:
    return f"{at.astimezone(memory.opened.now().tzinfo):%Y-%m-%d %H:%M}"


@command(history)
@click.argument("text", nargs=-1, required=True)
def when(memory: Memory, out: Out, text: tuple[str, ...]) -> bool:
    """When TEXT was learned: when it was said, and how it came and went since."""
    found = memory.history.when(" ".join(text))
    entries, commits = found.entries, found.commits
    told = {"entries": entries_json(memory, entries), "turns": found.turns, "commits": commits}
    out.json({"text": found.text} | told | {"note": found.note})
    said = "[bold]Said[/bold] (oldest first; `wakebook show ID` has the words themselves)"
    out.say(said, when=entries)
    out.entries(memory, entries)
    out.say(("\n" if entries else "") + "[bold]In conversations[/bold]", when=found.turns)
    for turn in found.turns:
        out.say(f"[dim]{_local(memory, turn.at)}  {esc(turn.ref)}[/dim]")
        out.say(f"       {esc(turn.speaker)}: {esc(' '.join(turn.text.split())[:160])}")
    out.say(("\n" if entries or found.turns else "") + "[bold]Committed[/bold]", when=commits)
    for number, commit in enumerate(commits):
        _commit(memory, out, commit, number == 0)
    nothing = not entries and not commits and not found.turns
    instead = "`wakebook search` knows other words."
    out.say(f"Nothing says {esc(repr(found.text))}. {instead}", when=nothing)
    out.say(f"[dim]{esc(found.note)}[/dim]", when=found.note)
    return nothing


def _commit(memory: Memory, out: Out, commit: Commit, first: bool) -> None:
    word = "first" if first else "also" if commit.added and not commit.removed else "then"
    word = "gone" if commit.removed and not commit.added else word
    at = f"[dim]{_local(memory, commit.at)}  {commit.short}[/dim]"
    out.say(f"{word:5}  {at}  {esc(commit.summary)}")
    lines = [("+", *line) for line in commit.added] + [("-", *line) for line in commit.removed]
    for sign, file, line in lines[:LINES]:
        shown = "" if file == "log.jsonl" else f" {line.strip()[:120]}"
        out.say(f"       [dim]{sign} {esc(file)}[/dim]{esc(shown)}")
    more = max(0, len(lines) - LINES)
    out.say(f"       [dim]and {many(more, 'line')} more[/dim]", when=more)


@command(history)
@click.option("--since", default="7d", show_default=True, help="A day, an age or a tag.")
@click.option("--until", default="", help="The same; without it: now, committed or not.")
@click.option("--stat", is_flag=True, help="Only which files, and how much.")
@click.option("--log", "with_log", is_flag=True, help="The entries that came and went, too.")
def diff(memory: Memory, out: Out, since: str, until: str, stat: bool, with_log: bool) -> None:
    """What has changed in the knowledge: the notes, and with --log what was learned."""
    found = memory.history.diff(since, until, stat=stat)
    told = {name: getattr(found, name) for name in ("since", "until", "files", "patch")}
    added, gone = (entries_json(memory, entries) for entries in (found.added, found.gone))
    out.json(told | {"entries": added, "gone": gone})
    width = max((len(change.path) for change in found.files), default=0)
    for change in found.files if stat else ():
        total = change.added + change.removed
        scale = min(1.0, BAR / max(total, 1))
        plus = "+" * max(round(change.added * scale), change.added > 0)
        minus = "-" * max(round(change.removed * scale), change.removed > 0)
        bar = f"[green]{plus}[/green][red]{minus}[/red]"
        out.say(f" {esc(change.path):{width}}  {total:5} {bar}")
    for line in found.patch.splitlines():
        colour = {"+": "green", "-": "red", "@": "cyan", "d": "bold"}.get(line[:1], "")
        out.say(f"[{colour}]{esc(line)}[/{colour}]" if colour else esc(line))
    if with_log:
        out.say("[bold]Learned[/bold]" if found.added else "Nothing new in the log.")
        out.entries(memory, found.added)
        out.say("[bold]No longer in the log[/bold]", when=found.gone)
        out.entries(memory, found.gone)
    learned = f"{many(len(found.files), 'note')} changed, {many(len(found.added), 'entry')} learned"
    out.ok(f"{learned} [dim]({esc(f'from {found.since} to {found.until}')})[/dim]")


@command(history, context_settings=ANY_ID)
@click.argument("when")
@click.argument("what", type=click.Choice(("show", "log", "wake", "search")))
@click.argument("words", nargs=-1)
@limit
def at(memory: Memory, out: Out, when: str, what: str, words: tuple[str, ...], limit: int) -> bool:
    """The memory as it was WHEN: on a day (at its end), at a moment, or at a tag."""
    from wakebook.cli.look import report, show_ref
    from wakebook.upkeep.undo import show_at, wake_at

    text = " ".join(words)
    if what in ("show", "search") and not words:
        raise click.UsageError(f"Say what to {what}, like: wakebook history at {when} {what} …")
    if what == "show":
        moment, shown = show_at(memory, when, text)
        if not _as_of(out, moment, shown=shown):
            show_ref(memory, out, shown)
    elif what == "wake":
        moment, woken = wake_at(memory, when)
        if not _as_of(out, moment, text=woken):
            click.echo(woken, nl=False)
    elif what == "log":
        with memory.at(when) as (then, moment, _):
            entries = then.log.entries(Query(text=text))
            newest = sorted(entries, key=lambda entry: entry.timestamp)[-limit:]
            _as_of(out, moment, entries=entries_json(then, newest))
            out.entries(then, newest)
    else:
        with memory.at(when) as (then, moment, _):
            found = then.search(text, limit=limit)
            if not _as_of(out, moment, found=found):
                report(found)
            return not found.hits
    return False


def _as_of(out: Out, moment: Moment, **told: Any) -> bool:
    """Say which moment it is: in JSON, or on standard error, so that the rest can be piped."""
    commit = moment.commit
    if out.json({"at": moment.at, "name": moment.name, "commit": commit} | told):
        return True
    assert commit is not None
    made = commit.at.astimezone(moment.at.tzinfo)
    of = f", commit {commit.short} of {made:%Y-%m-%d %H:%M}"
    out.err.say(f"[dim]as of {esc(moment.name)}{of}[/dim]")
    return False


@command(history)
@click.argument("name", nargs=-1, required=True)
@click.option("--before", is_flag=True, help="NAME is an event that is about to happen.")
def snapshot(memory: Memory, out: Out, name: tuple[str, ...], before: bool) -> None:
    """Give this moment a NAME: what waits is committed, and the commit gets a tag."""
    done = memory.history.snapshot(" ".join(name), before=before)
    out.json(done)
    first = f" [dim](committed {done.committed} first)[/dim]" if done.committed else ""
    out.ok(f"[bold]{done.tag}[/bold] is {done.commit[:7]}{first}")


@command(history)
@click.argument("name", nargs=-1)
@click.option("--drop", is_flag=True, help="Put the exploration away; a tag keeps it.")
@click.option("--list", "listing", is_flag=True, help="Only show what there is.")
def explore(memory: Memory, out: Out, name: tuple[str, ...], drop: bool, listing: bool) -> None:
    """Try something out under NAME, on a branch of its own that is a home of its own."""
    called, git = " ".join(name), f"git -C {memory.home.root}"
    listing = listing or not called
    if listing and drop:
        raise click.UsageError("Say which one to drop: wakebook history explore NAME --drop")
    if listing:
        found = memory.history.explorations()
        out.json(found)
        for one in found:
            where = esc(one.home) or "its folder is gone; calling it again makes one"
            about = f"{_local(memory, one.at)}, {many(one.commits, 'commit')} of its own, {where}"
            out.say(f"[bold]{one.name}[/bold]  [dim]{about}[/dim]")
        none = "There is no exploration. `wakebook history explore NAME` begins one."
        out.say(none, when=not found)
    elif drop:
        gone = memory.history.drop(called)
        out.json(gone)
        out.ok(f"explore/{gone.name} is put away; {gone.tag} keeps it")
        out.say(f"  get it back      {git} branch explore/{gone.name} {gone.tag}", markup=False)
    else:
        made = memory.history.explore(called)
        out.json(made)
        out.ok(f"{'New branch' if made.new else 'Going on with'} [bold]{made.branch}[/bold]")
        out.say(f"  look and change  wakebook --home {made.home} …", markup=False)
        out.say(f"  compare          {git} diff HEAD...{made.branch}", markup=False)
        out.say(f"  keep it          {git} merge {made.branch}", markup=False)
        out.say(f"  put it away      wakebook history explore {made.name} --drop", markup=False)


@command(history)
@click.argument("commit", default="")
@click.option("--list", "listing", is_flag=True, help="Only show what could be taken back.")
def undo(memory: Memory, out: Out, commit: str, listing: bool) -> None:
    """Take back the last rewrite: a condensed note, a rollup, notes that were put away. With the
    COMMIT of a forgetting: remember its words again, as written by hand."""
    if listing:
        found, gone = memory.rewrites(), memory.forgettings.listed()
        out.json({"rewrites": found, "forgettings": gone})
        for one in found:
            _could(memory, out, one, one.name, one.summary)
        for forgot in gone:
            words = "; ".join(entry.content for entry in forgot.entries)
            _could(memory, out, forgot, f"forget {many(len(forgot.entries), 'entry')}", words)
        out.say("There was no rewrite yet.", when=not (found or gone))
        return
    if commit:
        again = memory.forgettings.take_back(commit)
        out.json({"entries": entries_json(memory, again)})
        out.ok("Remembered again, as written by hand:")
        out.entries(memory, again)
        return
    done = memory.undo()
    out.json(done)
    out.ok(
        f"Took back [bold]{esc(done.rewrite.name)}[/bold] of {_local(memory, done.rewrite.at)} "
        f"({done.rewrite.commit[:7]}, undone by {done.commit})"
    )
    moved = done.moved.values()  # those are told as what is back
    out.each("  is back   ", done.restored)
    out.each("  removed   ", [file for file in done.removed if file not in moved])
    out.say("  [dim]What was erased since then stays erased.[/dim]", when=done.erased)


def _could(memory: Memory, out: Out, one: Rewrite | Forgot, name: str, summary: str) -> None:
    at = f"[dim]{one.commit[:7]}  {_local(memory, one.at)}[/dim]"
    state = " [dim](taken back)[/dim]" if one.undone else ""
    out.say(f"{at}  {esc(name)}  [dim]{esc(summary)}[/dim]{state}")


@command(history)
@click.argument("path")
def restore(memory: Memory, out: Out, path: str) -> None:
    """Bring a note back from the archive, to which untouched notes move after a while."""
    old, new = memory.notes.restore(path)
    out.json({"from": old, "to": new})
    out.ok(f"{esc(old)} is {esc(new)} again")


@command(history)
@click.option("--message", "-m", default="", help="The summary line.")
@dry_run
def commit(memory: Memory, out: Out, message: str, dry_run: bool) -> bool:
    """Commit what is waiting now, instead of with the next half-hourly batch."""
    if dry_run:
        return out.planned(memory, memory.history.plan_commit(message))
    done = memory.history.commit(message)
    out.troubles(memory)
    out.json({"commit": done})
    out.ok(f"Committed {done}" if done else "Nothing to commit")
    return False
