"""The command line: one table of commands, each loaded when it is called.

This is the one place where errors become text and exit codes.
"""

import importlib
import os
import sys
from typing import Any

import click

from wakebook import WakebookError, __version__
from wakebook.cli.shared import Out, Screen, help_text

GROUPS = {  # what a person wants, and the commands for it
    "Start": "setup init models catch-up import serve",
    "Look": "page search show log history status",
    "Keep": "remember forget erase review notes subjects topics",
    "Care": "doctor jobs rebuild sync",
    "For agents": "wake context",
}
COMMANDS = [name for names in GROUPS.values() for name in names.split()]

FILES = {  # where they are written; also the old names of some, and what only hosts and hooks call
    "agents": "wake context window mcp hook link git-hook flush prune",
    "demo": "demo",
    "erase": "erase",
    "history": "history when diff at snapshot explore undo restore commit",
    "init": "init completion",
    "jobs": "jobs tick watch",
    "keep": "remember forget subjects notes brief review export vault",
    "look": "search log show why index",
    "models": "models",
    "page": "page",
    "read": "catch-up import",
    "rebuild": "rebuild",
    "serve": "serve service",
    "setup": "setup",
    "status": "status audit costs doctor prompts",
    "sync": "sync",
    "team": "team",
    "topics": "topics gates",
}
PLACES = {name: file for file, names in FILES.items() for name in names.split()}


class Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return COMMANDS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in PLACES:
            return None
        module = importlib.import_module(f"wakebook.cli.{PLACES[cmd_name]}")
        name = {"import": "import_"}.get(cmd_name, cmd_name.replace("-", "_"))
        command: click.Command = getattr(module, name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            close = difflib.get_close_matches(args[0], PLACES, n=1) if args else []
            if not close:
                raise
            raise click.UsageError(f"{error.message} Did you mean {close[0]!r}?", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, self._about(ctx, name)) for name in names.split()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.epilog = help_text("epilog")
        super().format_epilog(ctx, formatter)

    def _about(self, ctx: click.Context, name: str) -> str:
        """A command's first sentence, and the names of its subcommands."""
        command = self.get_command(ctx, name)
        assert command is not None
        about = command.get_short_help_str(limit=100)
        if isinstance(command, click.Group):
            about = f"{about.rstrip('.')}: {', '.join(command.commands)}."
        return about


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="wakebook")
@click.option("--home", metavar="PATH", help="The home (default: WAKEBOOK_HOME or ~/.wakebook).")
@click.pass_context
def cli(ctx: click.Context, home: str | None) -> None:
    """A local-first memory for AI agents: the book an agent reads when it wakes."""
    ctx.obj = home
    if ctx.invoked_subcommand is None:
        from wakebook.cli.status import glance
        from wakebook.memory import Memory

        ctx.exit(glance(Memory(home), Out()))


def main() -> None:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed before we began: `wakebook log >&-`
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        if not isinstance(getattr(sys, name), Screen):
            setattr(sys, name, Screen(getattr(sys, name)))
    try:
        code = cli.main(standalone_mode=False, prog_name="wakebook")
    except click.exceptions.Exit as done:
        code = done.exit_code
    except click.Abort:
        code = 130
    except click.ClickException as error:
        if "--json" in sys.argv:
            code = _complain(error.format_message(), "UsageError", error.exit_code)
        else:
            error.show()
            code = error.exit_code
    except WakebookError as error:
        code = _complain(str(error), type(error).__name__, error.exit_code)
    except BrokenPipeError:  # the reader has closed the pipe: `wakebook log | head`
        code = 0
    except SystemExit as done:  # which click turns into this, with a wrapper around stdout
        code = 0 if "PacifyFlush" in type(sys.stdout).__name__ else done.code
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        text = f"{error.strerror or error}{where}. Nothing was lost; repair that, and try again."
        code = _complain(text, "OSError", 10)
    leave(code if isinstance(code, int) else 0)


def leave(code: int) -> None:
    """End, with everything written. A reader that went away is no failure."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _mute()
    except OSError as error:
        _mute()
        code = _complain(f"the output cannot be written: {error.strerror}", "OSError", 10)
    sys.exit(code)


def _mute() -> None:
    """Send the rest of the buffer nowhere, instead of failing once more at the very end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _complain(text: str, kind: str, code: int) -> int:
    if "--json" in sys.argv:
        import json

        print(json.dumps({"error": {"kind": kind, "message": text}}, ensure_ascii=False))
    else:
        click.echo(f"wakebook: {text}", err=True)
    return code
