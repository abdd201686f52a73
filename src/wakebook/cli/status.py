"""wakebook status"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from wakebook.cli.shared import console, emit, many, options

if TYPE_CHECKING:
    from wakebook.memory import Memory
    from wakebook.store.index import IndexStatus
    from wakebook.upkeep.status import Status


@click.command()
@options
def command(memory: Memory, as_json: bool) -> None:
    """How the memory is doing: what it holds, what is behind, what went wrong.

    Exit code 1 if something needs attention.
    """
    found = memory.status()
    wrong = bool(found.accounts or found.problems)
    if as_json:
        emit(found)
        sys.exit(1 if wrong else 0)
    from rich.markup import escape

    out = console()
    counts = ", ".join(many(count, name) for name, count in found.counts.items() if count)
    sessions = ", ".join(f"{count} {name}" for name, count in sorted(found.sessions.items()))
    rows = [
        ("home", found.home),
        ("log", f"{counts or 'no entries'}; {found.replaced} replaced; {found.log_bytes:,} bytes"),
        ("open", f"{many(found.open_tasks, 'task')}, {many(found.open_questions, 'question')}"),
        ("subjects", str(found.subjects)),
        ("sessions", sessions or "none found: see [hosts] in config.toml"),
        ("knowledge", _knowledge(found)),
        ("transcripts", str(found.transcripts)),
        ("last handoff", found.last_handoff or "none yet"),
        ("reads", _reads(found)),
        ("search", _search(found.index)),
        ("git", f"{found.git}; {many(found.uncommitted, 'change')} to commit"),
    ]
    for name, value in rows:
        out.print(f"[dim]{name:13}[/dim] {escape(value)}")
    for account in found.accounts:
        out.print(f"[red]{account.status:13}[/red] {escape(account.ref)}: {escape(account.note)}")
    for problem in found.problems:
        out.print(f"[yellow]{'problem':13}[/yellow] {escape(problem)}")
    for note in found.notes:
        out.print(f"[dim]{'note':13} {escape(note)}[/dim]")
    if not wrong:
        edits = many(len(found.knowledge.edited), "edit")
        waiting = f", and {edits} to review" if found.knowledge.edited else ""
        out.print(f"[green]● all well[/green]{waiting}")
    sys.exit(1 if wrong else 0)


def _knowledge(found: Status) -> str:
    known = found.knowledge
    archived = f", {known.archived} in the archive" if known.archived else ""
    waiting = f"; {many(len(known.edited), 'edit')} to review" if known.edited else ""
    return f"{many(known.notes, 'note')}{archived}; MEMORY.md {known.memory_lines} lines{waiting}"


def _reads(found: Status) -> str:
    """Who reads the conversations, and what that costs."""
    from wakebook.models.prices import dollars

    if not found.models:
        return "rules, on this machine (no model is configured)"
    names = ", ".join(f"{name} ({role})" for role, name in found.models.items())
    if len(set(found.models.values())) == 1:
        names = next(iter(found.models.values()))
    budget = f" of {dollars(found.budget)}" if found.budget else ""
    text = f"{names}; {dollars(found.spent)}{budget} this month"
    if found.by_rules:
        text += f"; {many(found.by_rules, 'conversation')} read by rules (catch-up --upgrade)"
    return text


def _search(index: IndexStatus) -> str:
    chunks = sum(index.chunks.values())
    waiting = f", {index.pending:,} wait for a vector" if index.pending else ""
    return f"{many(chunks, 'chunk')} indexed{waiting}; embedder {index.why}"
