"""The command line: one file per command, loaded when it is called.

This is the one place where errors become text and exit codes.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from wakebook import WakebookError, __version__

COMMANDS = {
    "init": "Make a home, or complete one.",
    "catch-up": "Read what was said since the last time.",
    "watch": "Catch up whenever something is said, and run the jobs.",
    "serve": "The service: watch, jobs, HTTP and MCP in one process.",
    "service": "Start the service at login: install, uninstall, status.",
    "mcp": "An MCP server on standard input and output.",
    "hook": "Answer a host's event: JSON in, JSON out.",
    "import": "Take over conversations and memories from elsewhere.",
    "tick": "Run the jobs that are due, once.",
    "jobs": "The jobs, when they ran and when they run next.",
    "flush": "Save a session before its host compacts it, and check that.",
    "audit": "Account for every session of every host.",
    "wake": "What a new session should be told.",
    "context": "What an agent needs to know for a message.",
    "topics": "Playbooks that come with a message: list, check, new, test, fire.",
    "gates": "What was decided about topics, and whether it helped.",
    "prune": "Make the old tool results of a message list smaller.",
    "log": "The newest entries.",
    "search": "Find what was said, learned or written.",
    "index": "Bring the search index up to date.",
    "show": "An entry with its history, a session, or lines of a file.",
    "remember": "Keep something by hand.",
    "forget": "Take entries out of the log.",
    "subjects": "What entries are about: list, add, type, rename, merge, delete.",
    "brief": "Write the briefing into MEMORY.md.",
    "notes": "Bring the notes up to date, and list them.",
    "review": "What was edited by hand in generated text: accept or reject it.",
    "why": "Where a line of a note comes from.",
    "when": "When something was learned.",
    "diff": "What has changed in the knowledge since then.",
    "at": "The memory as it was on a day.",
    "snapshot": "Give this moment a name.",
    "undo": "Take back the last rewrite.",
    "explore": "Try something out on a branch of its own.",
    "restore": "Bring a note back from the archive.",
    "rebuild": "Read all conversations anew, on a branch, and compare.",
    "vault": "Write journals and topic pages into an Obsidian vault.",
    "status": "How the memory is doing.",
    "doctor": "Check everything, and say what to run.",
    "costs": "What the models have cost.",
    "prompts": "The questions that models are asked.",
    "commit": "Commit what is waiting to git, now.",
    "demo": "Three weeks of somebody's work, remembered.",
    "completion": "Shell completion for bash, zsh or fish.",
}

HIDDEN = ("git-hook", "link")  # what Wakebook's own hooks and plugins call
FILES = {"import": "imports"}  # where a command cannot be the name of its module

EPILOG = """\b
A first day:
  wakebook init             make ~/.wakebook
  wakebook catch-up         read your agents' sessions
  wakebook wake             what the next session is told
  wakebook show ID          why the memory believes something

\b
Exit codes: 0 fine · 1 something needs attention · 2 wrong usage · 3 no home ·
4 home is locked · 5 config.toml · 6 unreadable session · 7 invalid entry ·
8 git · 9 not found · 10 the system refused (disk full, permissions) ·
11 a model (unavailable, or its answer is unusable) · 12 the search index
"""


class Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS and cmd_name not in HIDDEN:
            return None
        name = FILES.get(cmd_name, cmd_name.replace("-", "_"))
        module = importlib.import_module(f"wakebook.cli.{name}")
        command: click.Command = module.command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            close = difflib.get_close_matches(args[0], COMMANDS, n=1) if args else []
            if not close:
                raise
            raise click.UsageError(f"{error.message} Did you mean {close[0]!r}?", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Commands,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="wakebook")
@click.option("--home", metavar="PATH", help="The home (default: WAKEBOOK_HOME or ~/.wakebook).")
@click.pass_context
def cli(ctx: click.Context, home: str | None) -> None:
    """A local-first memory for AI agents: the book an agent reads when it wakes."""
    ctx.obj = home


def main() -> None:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed before we began: `wakebook log >&-`
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
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
    except BrokenPipeError:  # somebody closed the pipe: `wakebook log | head`
        code = 0
    except SystemExit as done:  # which click turns into this, with a wrapper around stdout
        code = 0 if "PacifyFlush" in type(sys.stdout).__name__ else done.code
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        text = f"{error.strerror or error}{where}. Nothing was lost; try again when it is mended."
        code = _complain(text, "OSError", 10)
    leave(code if isinstance(code, int) else 0)


def leave(code: int) -> None:
    """End, with everything written; a reader that went away is no failure."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _mute()
    except OSError as error:
        _mute()
        code = _complain(f"the output cannot be written: {error.strerror}", "OSError", 10)
    sys.exit(code)


def _mute() -> None:
    """What is still in a buffer goes nowhere, instead of failing once more at the very end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _complain(text: str, kind: str, code: int) -> int:
    if "--json" in sys.argv:
        import json

        print(json.dumps({"error": {"kind": kind, "message": text}}, ensure_ascii=False))
    else:
        click.echo(f"wakebook: {text}", err=True)
    return code
