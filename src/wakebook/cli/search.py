"""wakebook search"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from wakebook.cli.shared import COLOURS, Progress, emit, filters, options, query_of

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.store.hits import Found, Hit

CATEGORIES = "identity memory journal project person procedure reference conversation topic".split()


@click.command()
@click.argument("words", nargs=-1)
@filters
@click.option("--category", "categories", type=click.Choice(CATEGORIES), multiple=True)
@click.option("--host", default="", help="Only from this host, like claude-code.")
@click.option("--sessions", is_flag=True, help="Whole conversations instead of places in them.")
@click.option("--limit", "-n", type=click.IntRange(min=1), help="Hits, at most.")
@click.option(
    "--min-score", type=click.FloatRange(0, 1), help="Leave out what fits less than this."
)
@click.option("--explain", is_flag=True, help="Show what each score is made of, and the time.")
@options
def command(
    memory: Memory,
    words: tuple[str, ...],
    sessions: bool,
    limit: int | None,
    min_score: float | None,
    explain: bool,
    as_json: bool,
    **arguments: Any,
) -> None:
    """Find what was said, learned or written, by its words and by its meaning.

    Nothing in WORDS is syntax: ask as you would ask a person. What was replaced gives way to
    what replaced it; --all shows it, too. Filters alone need no WORDS.

    \b
    wakebook search which database did we take, and why
    wakebook search --type task --status open
    wakebook search --subject auth-migration --since 30d webhook
    wakebook search --sessions the day we lost the backup
    wakebook search --explain retry queue
    """
    query = query_of(" ".join(words), arguments)
    if not query.text.strip() and not query.filtered and not query.all:
        raise click.UsageError("Give some words, or a filter like --type task.")
    with Progress(quiet=as_json) as progress:
        found = memory.search(
            query,
            limit=limit or 0,
            min_score=min_score,
            sessions=sessions,
            explain=explain,
            progress=progress,
        )
    if as_json:
        emit(found)
    else:
        report(found, explain)
    if not found.hits:
        sys.exit(1)


def report(found: Found, explain: bool = False) -> None:
    for note in found.notes:
        click.secho(f"! {note}", fg="yellow", err=True)
    if not found.hits:
        click.echo("Nothing found. Other words, fewer filters, --min-score 0 or --all may help.")
    for hit in found.hits:
        _print(hit, explain)
    if explain:
        _print_steps(found)


def _print(hit: Hit, explain: bool) -> None:
    kind = hit.type or hit.category
    when = f"{hit.timestamp:%Y-%m-%d}" if hit.timestamp else ""
    name = click.style(f"{kind:12}", fg=COLOURS.get(hit.type, "white"))
    score = click.style(f"{hit.score:.2f}", bold=hit.score >= 0.5)
    state = f"({hit.status})" if hit.status else ""
    title = hit.title if hit.category != "conversation" else ""
    about = " ".join(part for part in (when, hit.subject, state, hit.speaker, title) if part)
    click.echo(f"{score}  {name}  {about}")
    for line in _wrapped(hit.snippet):
        click.echo(f"      {_marked(line)}")
    lines = [hit.why, hit.ref]
    if explain:
        lines.append("  ".join(f"{name} {value:g}" for name, value in hit.parts.items()))
        lines.append(f"from {hit.provenance}" if hit.provenance else "")
    for text in lines:
        for line in _wrapped(text):
            click.secho(f"      {line}", dim=True)


def _wrapped(text: str) -> list[str]:
    """Lines that fit into the terminal; elsewhere the text as it is."""
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


def _print_steps(found: Found) -> None:
    used = f"words and {found.embedder} vectors" if found.embedder else "words alone"
    steps = ", ".join(f"{name} {spent:.1f}" for name, spent in found.steps.items())
    total = sum(found.steps.values())
    click.echo(f"\n{found.candidates} candidates by {used}; {total:.1f} ms: {steps}")
