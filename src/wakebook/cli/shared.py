"""What every command shares: how it is declared, and how it tells its result.

A command gets the opened memory and an `Out`, which prints JSON for machines or text for people,
and returns its exit code: nothing, or True for "something needs attention".
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wakebook.base import clock
from wakebook.base.text import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from wakebook.log.entry import Entry
    from wakebook.memory import Memory
    from wakebook.models.chat import Models

COLOURS = {
    "task": "yellow",
    "fact": "cyan",
    "decision": "green",
    "question": "magenta",
    "handoff": "blue",
}
# commands about the memory of the home itself
OWN = "log forget erase review catch-up wake notes history subjects import rebuild".split()
JSON = "wakebook.json"  # in click's meta: --json was given before a subcommand
ANY_ID: Any = {"ignore_unknown_options": True}  # an id may begin with -

Function = Callable[..., Any]


def help_text(name: str) -> str:
    """A section of help.md as click formats it: what is fenced is not wrapped."""
    whole = Path(__file__).with_name("help.md").read_text(encoding="utf-8")
    found = whole.partition(f"\n## {name}\n\n")[2].partition("\n## ")[0]
    return re.sub(r"```\n(.*?)```\n", "\b\n\\1", found, flags=re.DOTALL)


class Command(click.Command):
    """Its help is the docstring of its function, and goes on in help.md (## file.function)."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        assert self.callback is not None
        name = f"{self.callback.__module__}.{self.callback.__name__}"
        more = help_text(name.removeprefix("wakebook.cli."))
        self.help = f"{inspect.getdoc(self.callback)}\n\n{more}"
        super().format_help_text(ctx, formatter)


class Group(Command, click.Group):
    """The same, with commands below it."""


def command(
    under: click.Group | None = None,
    name: str | None = None,
    kind: type[click.Command] = Command,
    **settings: Any,
) -> Callable[[Function], Any]:
    """A command of a group, or one by itself. Its function gets a Memory and an Out first."""

    def made(function: Function) -> click.Command:
        done = click.command(name, kind, **settings)(_opened(function))
        if under is not None:
            under.add_command(done)
        return done

    return made


def group(under: click.Group | None = None, alone: bool = False) -> Callable[[Function], Any]:
    """A group, whose --home and --json hold for its commands. `alone`: it works without one."""
    return command(under, kind=Group, invoke_without_command=alone)


def _opened(function: Function) -> Function:
    """Add --home and --json, behind the function's own options."""

    @functools.wraps(function)
    def run(*, home: str | None, as_json: bool, **arguments: Any) -> None:
        context = click.get_current_context()
        context.obj = home or context.obj
        context.meta[JSON] = as_json = as_json or context.meta.get(JSON, False)
        if context.invoked_subcommand:
            _alone(context, arguments)
            return
        from wakebook.service.client import Served

        given = {name: _read(value) for name, value in arguments.items()}
        memory = Served(context.obj)
        _say_where(context, memory)
        code = function(memory, Out(as_json), **given)
        if code:
            sys.exit(int(code))

    own = getattr(function, "__click_params__", [])
    run.__click_params__ = [  # type: ignore[attr-defined]
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON for machines."),
        click.Option(["--home"], metavar="PATH", help="The home to use."),
        *own,
    ]
    return run


def _say_where(context: click.Context, memory: Memory) -> None:
    """In a home that is joined to a server, a command about this home's own memory says so."""
    from wakebook.service.call import elsewhere

    name = " ".join(context.command_path.split()[1:2])
    if name in OWN and elsewhere(str(memory.home.root)):
        said = "Your memory is on a server. search, show, context, remember and page ask it;"
        paint(f"{said} {name} is about the files of this home.", err=True)


def _read(value: Any) -> Any:
    """What was typed, as UTF-8, whatever the locale says. Paths stay as the system has them."""
    if isinstance(value, tuple):
        return tuple(map(_read, value))
    odd = isinstance(value, str) and any("\ud800" <= c < "\ue000" for c in value)
    return os.fsencode(value).decode("utf-8", "replace") if odd else value


def _alone(context: click.Context, names: Iterable[str]) -> None:
    """Refuse a group's own options before a subcommand, which would not heed them."""
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if option.name in names and source is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"{option.opts[0]} does not go with {context.invoked_subcommand!r}."
            )


class Screen:
    """Standard output or error: the one place where commands print. Whatever was stored is shown
    and moves nothing, and what the terminal's encoding lacks becomes a question mark."""

    encoding = "utf-8"  # it takes any text

    def __init__(self, stream: Any, styled: bool = False) -> None:
        """`styled`: the text comes with our own colours, and was made visible before."""
        self._stream, self._styled = stream, styled

    @property
    def holds(self) -> str:
        """The encoding of what it is written to."""
        return self._stream.encoding or "utf-8"

    def write(self, text: str) -> int:
        shown = text if self._styled else visible(text)
        self._stream.write(shown.encode(self.holds, "replace").decode(self.holds))
        return len(text)

    def styled(self) -> Screen:
        return Screen(self._stream, styled=True)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def screen(*, err: bool = False) -> Screen:
    stream: Any = sys.stderr if err else sys.stdout
    return stream if isinstance(stream, Screen) else Screen(stream)


def paint(text: str, *, err: bool = False) -> None:
    """A line with click's colours, without rich. Text from elsewhere needs `visible`."""
    click.echo(text, file=screen(err=err).styled())  # type: ignore[arg-type]


class Out:
    """Tells a result as JSON or as text. The one that is not wanted is silent."""

    def __init__(self, as_json: bool = False, *, stderr: bool = False) -> None:
        self.as_json = as_json
        self._stderr = stderr

    def json(self, value: Any) -> bool:
        """Structs, dates and paths included. Returns whether JSON is wanted."""
        if self.as_json:
            print(dumped(value, 2))
        return self.as_json

    def say(self, text: Any = "", *, when: object = True, **style: Any) -> None:
        """A line with rich's markup, if there is a reason. Text from elsewhere needs `esc`."""
        if when and not self.as_json:
            self.console.print(text, **style)

    def ok(self, text: str, when: object = True) -> None:
        self.say(f"[green]●[/green] {text}", when=when)

    def cut(self, text: str) -> None:
        """A line that ends with … where the terminal does."""
        self.say(text, no_wrap=True, overflow="ellipsis")

    def each(self, before: str, items: Iterable[object]) -> None:
        """A line for each item, or for each "key: value" of a mapping."""
        if isinstance(items, Mapping):
            items = [f"{key}: {value}" for key, value in items.items()]
        for item in () if self.as_json else items:
            self.say(f"{before}{esc(item)}")

    def facts(self, rows: Iterable[tuple[str, str]]) -> None:
        for name, value in () if self.as_json else rows:
            self.say(f"[dim]{name:13}[/dim] {esc(value)}")

    def table(
        self,
        columns: str,
        rows: Sequence[Sequence[str]],
        empty: str = "",
        footer: Iterable[str] = (),
        wrap: bool = True,
        **style: Any,
    ) -> None:
        """Columns are separated by two spaces; one that begins with > is set to the right.

        `empty`: said where there are no rows. Without `wrap` only the last column wraps.
        """
        if self.as_json:
            return
        from rich.table import Table

        if not rows:
            self.say(empty, when=empty)
            return
        style = {"box": None, "header_style": "dim", "pad_edge": False} | style
        table = Table(**style, show_footer=bool(footer))
        for name, foot in zip_longest(columns.split("  "), footer, fillvalue=""):
            side: Any = "right" if name[0] == ">" else "left"
            table.add_column(name.lstrip(">"), foot, justify=side, footer_style="bold")
        for column in () if wrap else table.columns[:-1]:
            column.no_wrap = True
        for row in rows:
            table.add_row(*row)
        self.say(table)

    def entries(self, memory: Memory, entries: Iterable[Entry], details: bool = False) -> None:
        """A line for each entry; on a terminal long ones wrap below themselves."""
        if self.as_json:
            return
        from rich.table import Table

        grid = Table.grid(padding=(0, 2))
        for _ in range(3):
            grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for entry in entries:
            cells = (
                f"[dim]{entry.id}[/dim]",
                f"[dim]{entry.timestamp:%Y-%m-%d %H:%M}[/dim]",
                f"[{COLOURS[entry.type]}]{entry.type:8}[/]",
                _described(memory, entry, details),
            )
            if self.console.is_terminal:
                grid.add_row(*cells)
            else:
                self.say("  ".join(cells))
        if grid.row_count:
            self.say(grid)

    def troubles(self, memory: Memory) -> None:
        """Why no model did a piece of work, on standard error."""
        self.err.each("[yellow]without a model:[/yellow] ", dict.fromkeys(memory.models.troubles))

    def planned(self, memory: Memory, dry: Models) -> bool:
        """The questions that a dry run would have asked, word for word, and their price.

        `dry` are the models that were not asked; `memory` knows what would stop them.
        """
        from wakebook.models.prices import dollars

        planned, count = dry.planned, many(len(dry.planned), "call")
        cost = sum(one.cost or 0.0 for one in planned)
        unpriced = sorted({one.model for one in planned if one.cost is None})
        wrong = list(dict.fromkeys((*dry.troubles, *memory.models.problems())))
        told = {"calls": planned, "cost": round(cost, 6), "unpriced": unpriced, "problems": wrong}
        self.json(told)
        for one in planned:
            head = f"{one.operation} · {one.model} · {one.prompt} · {one.tokens_in:,} tokens"
            self.say(f"[bold]── {esc(head)}[/bold]")
            self.say(f"[dim]{esc(one.system)}[/dim]\n\n{esc(one.message)}\n")
        if planned:
            asked = sum(one.tokens_in for one in planned)
            said = sum(one.tokens_out for one in planned)
            self.ok(
                f"{count}, about {asked:,} tokens in and {said:,} out, [bold]about "
                f"{dollars(cost)}[/bold]. Nothing was sent, nothing was changed."
            )
            self.say(
                "  [dim]The answers' length is a guess, questions that build on answers differ, "
                "and a catch-up may also ask for a commit's message.[/dim]"
            )
        else:
            self.ok("Nothing would be sent to a model.")
        for name in unpriced:
            self.say(f"  [yellow]the price of {esc(name)} is not known[/yellow]")
        self.each("  [yellow]", wrong)
        return bool(dry.troubles)

    def progress(self) -> ProgressBar:
        return ProgressBar(quiet=self.as_json)

    @cached_property
    def err(self) -> Out:
        """Standard error, which is for people, with --json, too."""
        return Out(stderr=True)

    @cached_property
    def console(self) -> Console:
        from rich.console import Console

        class Honest(Console):
            def on_broken_pipe(self) -> None:
                raise BrokenPipeError  # for the one place where errors become exit codes

            def render_str(self, text: str, **options: Any) -> Text:
                return super().render_str(visible(text), **options)

        stream: Any = screen(err=self._stderr).styled()
        there = stream.isatty()
        width = None if there else 100_000
        return Honest(file=stream, highlight=False, soft_wrap=not there, width=width)


def esc(text: object) -> str:
    """Text from elsewhere, whose [brackets] are no markup."""
    plain = str(text)
    if "[" not in plain and not plain.endswith("\\"):
        return plain  # without the import: JSON needs none of this
    from rich.markup import escape

    return escape(plain)


def many(count: int, noun: str) -> str:
    """3 entries, 1 entry."""
    if count == 1:
        return f"1 {noun}"
    ies = noun.endswith("y") and noun[-2] not in "aeou"
    return f"{count:,} {noun[:-1]}ies" if ies else f"{count:,} {noun}s"


def emit_line(value: Any) -> None:
    """JSON on one line, at once: for a reader that follows."""
    print(dumped(value), flush=True)


def dumped(value: Any, indent: int | None = None) -> str:
    """JSON, also of text with halves of characters in it, that standard output can hold."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=_plain)
    try:
        text.encode(screen().holds)
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent, default=_plain)
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return clock.iso(value)
    names = getattr(value, "__struct_fields__", None) or getattr(value, "__dataclass_fields__", ())
    return {name: getattr(value, name) for name in names} if names else str(value)


def entry_json(memory: Memory, entry: Entry) -> dict[str, Any]:
    """An entry as it stands in the log, with its state and the entry that replaced it."""
    from wakebook.log.entry import as_dict

    found = as_dict(entry)
    if status := memory.log.status_of(entry):
        found["state"] = status
    if newer := memory.log.chains().replaced_by.get(entry.id):
        found["replaced_by"] = newer
    return found


EVERYWHERE = "Not only for the project of this folder."


def place(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say where, instead of the folder that one is in."""
    about = "A project by name, folder or remote."
    function = click.option("--everywhere", is_flag=True, help=EVERYWHERE)(function)
    return click.option("--project", default="", help=about)(function)


def cwd() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:  # it was deleted
        return ""


def entries_json(memory: Memory, entries: Iterable[Entry]) -> list[dict[str, Any]]:
    return [entry_json(memory, entry) for entry in entries]


def _described(memory: Memory, entry: Entry, details: bool) -> str:
    status = memory.log.status_of(entry)
    replaced = memory.log.chains().replaced_by.get(entry.id)
    text = "📌 " if entry.pinned else ""
    text += f"[bold]{esc(entry.subject)}[/bold] " if entry.subject else ""
    text += esc(entry.content)
    text += f" [dim]({status})[/dim]" if status and status != "replaced" else ""
    text += f" [red]replaced by {replaced}[/red]" if replaced else ""
    if details and entry.detail:
        text += f"\n[dim]{esc(entry.detail)}[/dim]"
    return text


class ProgressBar:
    """A progress bar on a terminal for what takes more than a moment; elsewhere nothing."""

    def __init__(self, quiet: bool) -> None:
        self._wanted = not quiet and sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def __call__(self, what: str, done: int, total: int) -> None:
        """So much of so many is done. The bar appears with the first part of a longer job."""
        if not self._wanted or (not self._bar and done >= total):
            return
        if not self._bar:
            from rich import progress as rich

            text = rich.TextColumn("{task.description}")
            columns = (text, rich.BarColumn(), rich.MofNCompleteColumn())
            console = Out(stderr=True).console
            self._bar = rich.Progress(*columns, console=console, transient=True)
            self._bar.start()
            self._task = self._bar.add_task(what)
        self._bar.update(self._task, description=what[:40], completed=done, total=total)


class When(click.ParamType[datetime]):
    """A date (2026-02-20), a moment (2026-02-20T14:00), or an age (7d, 12h, 3w)."""

    name = "when"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        text = str(value).strip().lower()
        units = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
        if text in ("today", "yesterday"):
            midnight = clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
            return midnight - timedelta(days=text == "yesterday")
        if text[:-1].isdigit() and text[-1] in units:
            try:
                return clock.now() - timedelta(**{units[text[-1]]: int(text[:-1])})
            except OverflowError:
                self.fail(f"{value!r} is too long ago.", param)
        moment = clock.parse(value)
        if moment is None:
            self.fail(f"{value!r} is no date. Write 2026-02-20, 2026-02-20T14:00 or 7d.", param)
        return moment.astimezone(UTC)


ONE = click.IntRange(min=1)
limit = click.option("--limit", "-n", type=ONE, default=20, show_default=True)
since = click.option("--since", type=When(), help="Not older: 2026-02-20, 7d, yesterday.")
dry_run = click.option(
    "--dry-run", is_flag=True, help="Show what a model would be sent, and its price."
)


def spoken(words: Sequence[str]) -> str:
    """The words that were typed. A single "-" stands for standard input."""
    if tuple(words) != ("-",):
        return " ".join(words)
    return sys.stdin.buffer.read().decode("utf-8", "replace")
