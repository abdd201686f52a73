"""wakebook hook"""

from __future__ import annotations

import click


@click.command()
@click.option("--home", metavar="PATH", help="The home to use.")
@click.argument("host")
@click.argument("event")
@click.pass_context
def command(ctx: click.Context, home: str | None, host: str, event: str) -> None:
    """Answer what a host tells: JSON on standard input, JSON or nothing on standard output.

    Hosts run this by themselves once `wakebook init --host HOST` has been there. It answers
    within [hooks] seconds (2 by default) or not at all, never fails, and is fast when the service
    is up (`wakebook serve`). What went wrong is in `wakebook status`.

    \b
    echo '{"session_id": "s1", "prompt": "Which database?"}' |
      wakebook hook claude-code UserPromptSubmit
    """
    from wakebook.hosts import hook as process
    from wakebook.memory import Memory

    process.main(str(Memory(home or ctx.obj).home.root), [host, event])
