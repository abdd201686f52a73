"""Look into the memory: search, log, show, index."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import click

from wakebook.base.text import visible
from wakebook.cli.shared import (
    ANY_ID,
    COLOURS,
    EVERYWHERE,
    ONE,
    Out,
    When,
    command,
    cwd,
    entries_json,
    entry_json,
    esc,
    limit,
    paint,
    since,
)
from wakebook.log.query import Query

if TYPE_CHECKING:
    from collections.abc import Callable

    from wakebook.memory import Memory
    from wakebook.recall.show import Shown
    from wakebook.store.hits import Found, Hit
    from wakebook.store.index import IndexStatus

CATEGORIES = "identity memory journal project person procedure reference conversation topic".split()
TYPES = click.Choice([*COLOURS])
KINDS = click.Choice(["lesson", "procedure", "preference", "event", "relationship"])
STATUS = click.Choice(["open", "done", "answered"])
WHOLE = 5  # entries behind a line that are shown with the words behind them


def filters(function: Callable[..., Any]) -> Callable[..., Any]:
    """The filters of `log` and `search`, by the names that a Query gives them."""
    some: Any = {"multiple": True}
    for option in (
        click.option("--type", "-t", "types", type=TYPES, help="Only this type.", **some),
        click.option("--subject", "-s", "subjects", help="Only about this.", **some),
        click.option("--status", type=STATUS),
        click.option("--kind", "kinds", type=KINDS, help="Only this kind of fact.", **some),
        click.option("--session", default="", help="Only from this session (a beginning will do)."),
        since,
        click.option("--until", type=When(), help="Older than this moment."),
        click.option("--project", "projects", help="Only what was said in this project.", **some),
        click.option("--all", is_flag=True, help="Replaced entries too."),
    ):
        function = option(function)
    return function


def _query(text: str, asked: dict[str, Any]) -> Query:
    return Query(text=text, **asked | {"status": asked["status"] or ""})


@command()
@click.argument("words", nargs=-1)
@filters
@click.option("--category", "categories", type=click.Choice(CATEGORIES), multiple=True)
@click.option("--host", default="", help="Only from this host, like claude-code.")
@click.option("--sessions", is_flag=True, help="Whole conversations instead of places in them.")
@click.option("--limit", "-n", type=ONE, help="Hits, at most.")
@click.option("--min-score", type=click.FloatRange(0, 1), help="Leave out what fits less.")
@click.option("--explain", is_flag=True, help="Show what each score is made of, and the time.")
@click.option("--everywhere", is_flag=True, help=EVERYWHERE)
def search(memory: Memory, out: Out, words: tuple[str, ...], **asked: Any) -> bool:
    """Find what was said, learned or written, by its words and by its meaning."""
    how = {name: asked.pop(name) for name in ("sessions", "min_score", "explain", "everywhere")}
    how["cwd"] = cwd() if memory.opened.project(cwd()) else ""
    how["limit"] = asked.pop("limit") or 0
    query = _query(" ".join(words), asked)
    if not query.text.strip() and not query.filtered and not query.all:
        raise click.UsageError("Give some words, or a filter like --type task.")
    with out.progress() as progress:
        found = memory.search(query, **how, progress=progress)
    if not out.json(found):
        report(found, how["explain"])
    return not found.hits


def report(found: Found, explain: bool = False) -> None:
    """Without rich, which takes longer to load than a search takes."""
    for note in found.notes:
        paint(click.style(f"! {visible(note)}", fg="yellow"), err=True)
    if not found.hits:
        click.echo("Nothing found. Try other words, fewer filters, --everywhere, --min-score 0.")
    for hit in found.hits:
        _print(hit, explain)
    if explain:
        used = f"words and {found.embedder} vectors" if found.embedder else "words alone"
        steps = ", ".join(f"{name} {spent:.1f}" for name, spent in found.steps.items())
        total = sum(found.steps.values())
        click.echo(f"\n{found.candidates} candidates by {used}; {total:.1f} ms: {steps}")


def _print(hit: Hit, explain: bool) -> None:
    kind = hit.type or hit.category
    when = f"{hit.timestamp:%Y-%m-%d}" if hit.timestamp else ""
    name = click.style(f"{kind:12}", fg=COLOURS.get(hit.type, "white"))
    score = click.style(f"{hit.score:.2f}", bold=hit.score >= 0.5)
    state = f"({hit.status})" if hit.status else ""
    title = hit.title if hit.category != "conversation" else ""
    about = " ".join(part for part in (when, hit.subject, state, hit.speaker, title) if part)
    paint(f"{score}  {name}  {visible(about)}")
    for line in _wrapped(hit.snippet):
        paint(f"      {_marked(line)}")
    lines = [hit.why, hit.ref]
    if explain:
        lines.append("  ".join(f"{name} {value:g}" for name, value in hit.parts.items()))
        lines.append(f"from {hit.provenance}" if hit.provenance else "")
    for text in lines:
        for line in _wrapped(text):
            paint(click.style(f"      {line}", dim=True))


def _wrapped(text: str) -> list[str]:
    """Lines that fit into the terminal; elsewhere the text in one. Nothing in them moves it."""
    text = visible(text)
    if not sys.stdout.isatty():
        return [text] if text else []
    import shutil
    import textwrap

    width = max(30, shutil.get_terminal_size().columns - 7)
    return textwrap.wrap(text, width, break_on_hyphens=False)


def _marked(snippet: str) -> str:
    """The snippet, with **matches** in bold."""
    parts = snippet.split("**")
    if len(parts) % 2 == 0:  # the text has stars of its own
        return snippet
    return "".join(
        click.style(part, bold=True) if number % 2 else part for number, part in enumerate(parts)
    )


@command()
@filters
@limit
@click.option("--details", "-d", is_flag=True, help="Show the details below each entry.")
def log(memory: Memory, out: Out, details: bool, limit: int, **asked: Any) -> None:
    """The newest entries, oldest first. Replaced ones are left out unless --all."""
    found = sorted(memory.log.entries(_query("", asked)), key=lambda entry: entry.timestamp)
    newest = found[-limit:]
    out.json(entries_json(memory, newest) if out.as_json else ())
    out.entries(memory, newest, details)
    out.say("No entries. `wakebook catch-up` reads your agents' sessions.", when=not newest)


@command(context_settings=ANY_ID)
@click.argument("ref")
@click.option("--from", "first", type=ONE, help="The first line to show.")
@click.option("--lines", type=ONE, help="How many lines.")
def show(memory: Memory, out: Out, ref: str, first: int | None, lines: int | None) -> None:
    """Show what REF points at, and why it is believed."""
    if re.fullmatch(r"(?!session:).+:\d+", ref.strip()) and not (first or lines):
        _why(memory, out, ref)
        return
    shown = memory.get(ref, first or 0, lines or 0)
    if not out.as_json:
        show_ref(memory, out, shown)
        return
    told: dict[str, Any] = {"kind": shown.kind, "name": shown.name}
    told["entry"] = entry_json(memory, shown.entry) if shown.entry else None
    told |= {"history": entries_json(memory, shown.history), "file": shown.file}
    told["lines"] = [{"line": at, "text": text} for at, text in shown.lines]
    told |= {"transcripts": shown.transcripts, "entries": entries_json(memory, shown.entries)}
    out.json(told | {"note": shown.note})


def show_ref(memory: Memory, out: Out, shown: Shown) -> None:
    if entry := shown.entry:
        colour = COLOURS[entry.type]
        state = f" [dim]({shown.status})[/dim]" if shown.status else ""
        out.say(f"[{colour}]{entry.type}[/{colour}] [dim]{entry.id}[/dim]{state}")
        out.say(f"  [bold]{esc(entry.content)}[/bold]")
        out.say(f"  {esc(entry.detail)}", when=entry.detail)
        about = f"about {entry.subject}, " if entry.subject else ""
        found = f", found by {esc(entry.by)}" if entry.by else ""
        when = f"{entry.timestamp:%Y-%m-%d %H:%M}"
        out.say(f"  [dim]{about}{when}, session {esc(entry.session)}{found}[/dim]")
        if len(shown.history) > 1:
            out.say("\n[bold]How it came to this[/bold] (oldest first)")
            out.entries(memory, shown.history)
    if shown.kind == "session":
        out.say(f"session [bold]{esc(shown.name)}[/bold]")
        out.each("  ", shown.transcripts)
        out.entries(memory, shown.entries)
    said = f"\n[bold]Where it was said[/bold] [dim]{esc(shown.file)}[/dim]"
    out.say(said, when=shown.lines and shown.entry)
    for at, text in shown.lines:
        out.say(f"[dim]{at:5}[/dim]  {esc(text)}")
    out.say(f"[dim]{esc(shown.note)}[/dim]", when=shown.note)


@command()
@click.argument("place", metavar="FILE:LINE")
def why(memory: Memory, out: Out, place: str) -> None:
    """Where a line of a note comes from. The old name of `wakebook show FILE:LINE`."""
    if not re.search(r"(?::|#L?)\d+$", place.strip()):
        raise click.UsageError(f"{place!r} is no line of a file. Write it like notes.md:12.")
    _why(memory, out, place)


def _why(memory: Memory, out: Out, place: str) -> None:
    found = memory.notes.why(place)
    whole = found.entries if out.as_json or len(found.entries) <= WHOLE else ()
    shown = [memory.get(entry.id) for entry in whole]
    if out.json({"why": found, "shown": shown}):
        return
    out.say(f"[bold]{esc(f'{found.path}:{found.line}')}[/bold]  {esc(found.text)}")
    out.say(f"  [dim]put into these words by {esc(found.rewritten)}[/dim]", when=found.rewritten)
    for one in shown:
        out.say()
        show_ref(memory, out, one)
    for entry in () if whole else found.entries:
        out.say(f"  [bold]{entry.id}[/bold] {entry.type}: {esc(entry.content)}")
    hint = "  [dim]wakebook show ID tells where one of them was said[/dim]"
    out.say(hint, when=found.entries and not whole)
    out.each("  ", filter(None, (found.note, found.commit)))


@command()
@click.option("--full", is_flag=True, help="Throw the index away and make it anew.")
@click.option("--status", "only_status", is_flag=True, help="Only say how it is doing.")
def index(memory: Memory, out: Out, full: bool, only_status: bool) -> bool:
    """Bring the search index up to date. A search does it by itself, too."""
    if full and only_status:
        raise click.UsageError("--full and --status exclude each other.")
    done = None
    if not only_status:
        with out.progress() as progress:
            done = memory.index.sync(full=full, progress=progress)
    found = memory.index.status()
    if not out.json({"done": done, "status": found}):
        if done:
            counts = f"{done.added:,} chunks added, {done.removed:,} removed"
            out.ok(f"{counts}, {done.embedded:,} embedded")
        _standing(out, found)
        out.each("[yellow]problem       ", filter(None, [done and done.problem]))
    return bool(found.problems or (done and done.problem))


def _standing(out: Out, found: IndexStatus) -> None:
    chunks = ", ".join(f"{count:,} {name}" for name, count in found.chunks.items())
    rows = [
        ("index", f"{found.path} ({found.bytes / 1e6:,.1f} MB)"),
        ("chunks", chunks or "none yet"),
        ("embedder", found.why),
        ("vectors", f"{found.vectors:,}, {found.pending:,} waiting"),
        ("languages", ", ".join(found.languages) or "none yet"),
    ]
    if found.behind:
        rows.append(("behind", f"{found.behind:,} bytes of the log"))
    out.facts(rows)
    out.each("[yellow]problem      [/yellow] ", found.problems)
