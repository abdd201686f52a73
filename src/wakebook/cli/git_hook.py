"""wakebook git-hook: what Wakebook's own git hooks call. Not for people."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from wakebook.base.errors import GitError
from wakebook.cli.shared import emit, options

if TYPE_CHECKING:
    from wakebook.memory import Memory

REFUSED = GitError.exit_code  # the hook stops a commit for this exit code alone


@click.command(hidden=True)
@click.argument("name", type=click.Choice(["pre-commit", "post-commit", "push"]))
@options
def command(memory: Memory, name: str, as_json: bool) -> None:
    """Check what is staged, bring the index up to date, or push."""
    if not memory.home.exists():  # a branch without a home in it
        return
    if name == "pre-commit":
        _check(memory, as_json)
    elif name == "post-commit":
        memory.opened.quietly("index", memory.index.sync)
    else:
        memory.history.push()


def _check(memory: Memory, as_json: bool) -> None:
    problems = memory.history.check_staged()
    refused = [problem for problem in problems if problem.refused]
    if as_json:
        emit(problems)
    else:
        for problem in problems:
            click.echo(f"wakebook: {'' if problem.refused else 'warning: '}{problem}", err=True)
        if refused:
            click.echo("wakebook: nothing was committed.", err=True)
    sys.exit(REFUSED if refused else 0)
