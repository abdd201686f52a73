"""wakebook at"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from wakebook.cli.shared import console, emit, entry_json, options, print_entries

if TYPE_CHECKING:
    from wakebook.history.past import Moment
    from wakebook.memory import Memory

WHAT = ("show", "log", "wake", "search")


@click.command(context_settings={"ignore_unknown_options": True})  # an id may begin with -
@click.argument("when")
@click.argument("what", type=click.Choice(WHAT))
@click.argument("words", nargs=-1)
@click.option("--limit", "-n", type=click.IntRange(min=1), default=20, show_default=True)
@options
def command(
    memory: Memory, when: str, what: str, words: tuple[str, ...], limit: int, as_json: bool
) -> None:
    """The memory as it was WHEN: on a day (at its end), at a moment, or at a tag.

    Nothing is checked out, and nothing of today is changed. It is the state of the last commit
    before then; what was never committed is not in it. A search looks at entries and notes.

    \b
    wakebook at 2026-02-16 show k3J_x9QmZ2aB
    wakebook at 2026-02-16 show knowledge/memory/MEMORY.md
    wakebook at 7d wake
    wakebook at memory/before/the-rewrite log
    wakebook at 2026-02-16 search which database
    """
    if what in ("show", "search") and not words:
        raise click.UsageError(f"Say what to {what}, like: wakebook at {when} {what} …")
    run = {"show": _show, "log": _log, "wake": _wake, "search": _search}[what]
    run(memory, when, words, limit, as_json)


def _show(memory: Memory, when: str, words: tuple[str, ...], limit: int, as_json: bool) -> None:
    from wakebook.cli import show
    from wakebook.upkeep.then import show_at

    found, shown = show_at(memory, when, " ".join(words))
    if as_json:
        emit(_head(found) | {"shown": shown})
    else:
        _title(found)
        show.show(memory, shown)


def _log(memory: Memory, when: str, words: tuple[str, ...], limit: int, as_json: bool) -> None:
    from wakebook.log.query import Query

    with memory.at(when) as (then, found, _):
        entries = then.log.entries(Query(text=" ".join(words)))
        newest = sorted(entries, key=lambda entry: entry.timestamp)[-limit:]
        if as_json:
            emit(_head(found) | {"entries": [entry_json(then, entry) for entry in newest]})
        else:
            _title(found)
            print_entries(then, newest)


def _wake(memory: Memory, when: str, words: tuple[str, ...], limit: int, as_json: bool) -> None:
    from wakebook.upkeep.then import wake_at

    found, text = wake_at(memory, when)
    if as_json:
        emit(_head(found) | {"text": text})
    else:
        _title(found)
        click.echo(text, nl=False)


def _search(memory: Memory, when: str, words: tuple[str, ...], limit: int, as_json: bool) -> None:
    from wakebook.cli import search

    with memory.at(when) as (then, found, _):
        hits = then.search(" ".join(words), limit=limit)
        if as_json:
            emit(_head(found) | {"found": hits})
        else:
            _title(found)
            search.report(hits)
        if not hits.hits:
            sys.exit(1)


def _head(found: Moment) -> dict[str, Any]:
    return {"at": found.at, "name": found.name, "commit": found.commit}


def _title(found: Moment) -> None:
    """On standard error: what follows can be piped."""
    from rich.markup import escape

    commit = found.commit
    assert commit is not None
    made = commit.at.astimezone(found.at.tzinfo)
    of = f", commit {commit.short} of {made:%Y-%m-%d %H:%M}"
    console(stderr=True).print(f"[dim]as of {escape(found.name)}{of}[/dim]")
